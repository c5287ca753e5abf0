"""Codes that a typed file keeps as numbers and shows with leading zeros are codes, as in a text file."""

import datetime
import io

import numpy as np
import openpyxl
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from tests.support.typed_files import typed

CODES = [1, 2, 36, 9] * 10
FORMATS = {".sav": "N2", ".dta": "%02.0f", ".xpt": "Z2", ".xlsx": "00"}


def table(suffix, *entries, shown=None):
    options, shown = ReadOptions(codebook=Codebook(columns=entries)), shown or FORMATS[suffix]
    if suffix != ".xlsx":
        columns = {"pay": [float(i) for i in range(40)], "area": [float(code) for code in CODES]}
        return typed(suffix, columns, options, variable_format={"area": shown})
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in [["areas of 2024"], ["pay", "area"], *zip(range(40), CODES, strict=True)]:
        book.active.append(row)
    for cell in book.active["B"][2:]:
        cell.number_format = shown
    book.save(stream)
    return read_table(stream.getvalue(), "t.xlsx", options)


@pytest.mark.parametrize("suffix", FORMATS)
def test_they_leave_as_they_are_shown(suffix):
    """01 left as 1."""
    read = table(suffix)
    assert list(read.as_written(["area"], np.ones(40, bool))["area"][:4]) == ["01", "02", "36", "09"]
    assert (read.column("area").kind, read.codebook.get("area").kind) == ("text", "category")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("marker", ["9", "09", "area=9"])
def test_they_are_declared_by_either_spelling(suffix, marker):
    read = table(suffix)
    assert read.with_missing([marker]).column("area").missing == 10
    for categories in (("01", "02", "36", "09"), ("1", "2", "36", "9")):
        np.testing.assert_array_equal(read.category_places("area", categories)[:4], range(4))


@pytest.mark.parametrize("suffix", FORMATS)
def test_they_are_numbers_where_they_are_declared_so(suffix):
    assert list(table(suffix, Entry(column="area", kind="number")).frame["area"][:4]) == CODES[:4]


@pytest.mark.parametrize(
    ("suffix", "shown"), [(".sav", "F8.2"), (".dta", "%8.0g"), (".xpt", "Z8.2"), (".xlsx", "0.00")]
)
def test_numbers_that_are_shown_without_stay_numbers(suffix, shown):
    assert table(suffix, shown=shown).column("area").kind == "code"


@pytest.mark.parametrize("text", ["N", "unknown area"])
def test_they_are_so_beside_texts_of_a_workbook(text):
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in [["pay", "area"], *[[i, text if i == 5 else code] for i, code in enumerate(CODES)]]:
        book.active.append(row)
    for cell in book.active["B"][1:]:
        cell.number_format = "00"
    book.save(stream)
    read = read_table(stream.getvalue(), "t.xlsx")
    assert list(read.as_written(["area"], np.ones(40, bool))["area"][:6]) == [
        "01",
        "02",
        "36",
        "09",
        "01",
        text,
    ]
    assert read.with_missing(["9", text]).column("area").missing == 11


def test_days_and_logical_values_in_a_header_are_names_as_they_are_shown():
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in [["pay", datetime.date(2024, 3, 1), True, 2019], *[[i, i, i, i] for i in range(40)]]:
        book.active.append(row)
    book.save(stream)
    assert list(read_table(stream.getvalue(), "t.xlsx").frame) == ["pay", "2024-03-01", "TRUE", "2019"]
