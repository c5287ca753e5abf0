"""Numbers that a typed file keeps as text, whole columns or single cells: they are read, or asked, as in a CSV file."""

import numpy as np
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.design import select
from synth_core.data.outcome import numeric_outcome
from synth_core.data.readers import ReadOptions
from synth_core.data.table import declared_again
from synth_core.errors import InputError
from tests.support.typed_files import typed

FORMATS = (".xlsx", ".parquet", ".sav", ".dta", ".xpt")
N = 40
AMOUNTS = np.arange(N) * 1_111 + 2_345
GROUPED = [f"{amount:,}".replace(",", ".") for amount in AMOUNTS]
OTHER = list(range(100, 100 + N))


def mixed(texts, numbers):
    return [text if i % 2 else number for i, (text, number) in enumerate(zip(texts, numbers, strict=True))]


@pytest.mark.parametrize("suffix", FORMATS)
def test_texts_with_two_readings_are_asked_in_every_format(suffix):
    table = typed(suffix, {"n": OTHER, "pay": GROUPED})
    with pytest.raises(InputError, match="'pay' can be read in two ways: each point"):
        numeric_outcome(table, "pay")
    said = typed(suffix, {"n": OTHER, "pay": GROUPED}, ReadOptions(thousands="."))
    np.testing.assert_array_equal(numeric_outcome(said, "pay"), AMOUNTS)
    book = Codebook(columns=(Entry(column="pay", kind="number", decimal=",", thousands="."),))
    np.testing.assert_array_equal(numeric_outcome(declared_again(table, book), "pay"), AMOUNTS)
    assert list(said.as_written(["pay"], np.ones(N, bool))["pay"]) == GROUPED


@pytest.mark.parametrize("mark", ["NA", "refused"])
def test_a_mark_does_not_hide_the_two_readings(mark):
    table = typed(".xlsx", {"n": OTHER, "pay": [mark, *GROUPED[1:]]}).with_missing([mark])
    with pytest.raises(InputError, match="two ways"):
        numeric_outcome(table, "pay")


@pytest.mark.parametrize("part", [0, 0.125])
def test_real_numbers_beside_texts_have_no_signs(part):
    cells = mixed(GROUPED, AMOUNTS + part if part else [int(a) for a in AMOUNTS])
    with pytest.raises(InputError, match="two ways"):
        numeric_outcome(typed(".xlsx", {"n": OTHER, "pay": cells}), "pay")
    expected = AMOUNTS + np.where(np.arange(N) % 2, 0, part)
    said = typed(".xlsx", {"n": OTHER, "pay": cells}, ReadOptions(thousands="."))
    np.testing.assert_array_equal(numeric_outcome(said, "pay"), expected)
    book = Codebook(columns=(Entry(column="pay", kind="number", decimal=",", thousands="."),))
    declared = typed(".xlsx", {"n": OTHER, "pay": cells}, ReadOptions(codebook=book))
    np.testing.assert_array_equal(numeric_outcome(declared, "pay"), expected)


def test_a_decimal_comma_beside_real_numbers_is_read():
    cells = mixed([f"{amount},5" for amount in AMOUNTS], AMOUNTS + 0.25)
    for options in (ReadOptions(), ReadOptions(decimal=",")):
        found = numeric_outcome(typed(".xlsx", {"n": OTHER, "pay": cells}, options), "pay")
        np.testing.assert_array_equal(found, AMOUNTS + np.where(np.arange(N) % 2, 0.5, 0.25))


def test_a_predictor_half_of_numbers_and_half_of_texts_is_one_of_numbers():
    ages = [20 + i for i in range(N)]
    for texts in ([str(age) for age in ages], [f"{age}.0" for age in ages]):
        table = typed(".xlsx", {"pay": AMOUNTS + np.arange(N) ** 2, "age": mixed(texts, ages)})
        assert select(table, "pay", ("age",)).records.design.shape[1] == 2


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_predictor_of_numbers_kept_as_text_is_one_as_in_a_text_file_and_that_is_said(suffix):
    columns = {"pay": AMOUNTS + np.arange(N) ** 2, "age": [str(20 + i % 15) for i in range(N)]}
    table = typed(suffix, columns)
    assert select(table, "pay", ("age",)).records.design.shape[1] == 2
    assert table.codebook.get("age").note == "kept as text: whole numbers, perhaps codes"
    assert select(table, "pay", ("age",), ("age",)).records.design.shape[1] == 15
    for kind, width in (("number", 2), ("category", 15)):
        book = Codebook(columns=(Entry(column="age", kind=kind),))
        for declared in (typed(suffix, columns, ReadOptions(codebook=book)), declared_again(table, book)):
            assert select(declared, "pay", ("age",)).records.design.shape[1] == width


def test_a_few_codes_kept_as_text_are_categories():
    table = typed(".sav", {"pay": AMOUNTS + np.arange(N) ** 2, "sex": ["1", "2", "9", "1"] * 10})
    assert select(table, "pay", ("sex",)).records.design.shape[1] == 3
    assert select(table.with_missing(["sex=9"]), "pay", ("sex",)).transform.levels == {"sex": ("1", "2")}


def test_dates_kept_as_text_are_dates():
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
    for suffix in (".xlsx", ".parquet", ".sav"):
        assert typed(suffix, {"n": OTHER, "day": days}).column("day").kind == "date"
