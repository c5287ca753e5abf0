"""Codes that a number would merge, codes of labels, and logical values: each is met as it was declared."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.design import select
from synth_core.data.outcome import category_codes
from synth_core.data.readers import ReadOptions
from synth_core.data.table import declared_again, read_table
from synth_core.data.units import check_units
from synth_core.errors import InputError
from tests.support.typed_files import typed

N = 40
EDU = {"edu": {1: "None", 2: "Primary", 3: "Secondary"}}


def text(cells, name="code", sep=";", **options):
    rows = "\n".join(f"{i * i}{sep}{cells[i % len(cells)]}" for i in range(N))
    return read_table(f"n{sep}{name}\n{rows}".encode(), "t.csv", ReadOptions(**options))


def book(**entry):
    return ReadOptions(codebook=Codebook(columns=(Entry(**entry),)))


def education(options=ReadOptions(), labels=EDU, codes=(1, 2, 3, 2)):
    columns = {"n": np.arange(N) ** 2, "edu": list(codes) * (N // len(codes))}
    return typed(".dta", columns, options, variable_value_labels=labels)


@pytest.mark.parametrize(
    "cells", [("10.10", "10.1", "47.11"), ("1.10", "1.1", "2.5"), ("1E3", "1000", "7"), ("1.50", "1.5", "2")]
)
def test_codes_that_are_one_number_are_told_apart_as_the_file_writes_them(cells):
    table = text(cells)
    assert [int(place) for place in table.category_places("code", cells)] == [i % 3 for i in range(N)]
    for use in (lambda: select(table, "n", ("code",), ("code",)), lambda: check_units(table, "code", N)):
        with pytest.raises(InputError, match="'code' can be read in two ways: the file writes one number"):
            use()
    with pytest.raises(InputError, match="none of its 2 declared categories"):
        category_codes(table, "code", cells[1:])  # the first is not the second
    declared = declared_again(table, Codebook(columns=(Entry(column="code", kind="category"),)))
    assert select(declared, "n", ("code",), ("code",)).records.design.shape[1] == 3


def test_who_declares_a_category_that_holds_a_comma_is_told_how():
    """ "Declare the category too" stood where it was declared, and cut at its comma."""
    table = text(("married", "married, apart", "single"))
    for cut in ("married", "apart", "single"), ("married", '"married', 'apart"', "single"):
        with pytest.raises(InputError, match=r"holds a comma, .* write \| between the categories"):
            category_codes(table, "code", cut)
    with pytest.raises(InputError, match="Declare the category too"):
        category_codes(table, "code", ("married, apart", "single"))


@pytest.mark.parametrize("cells", [("1", "1.0", "2"), ("1", "2", ""), ("5.0", "3.0", "7.0")])
def test_a_whole_number_with_and_without_a_point_is_one_code(cells):
    table = text(cells)
    whole = tuple(dict.fromkeys(cell.removesuffix(".0") for cell in cells if cell))
    assert not (table.category_places("code", whole) < 0).any()
    assert select(table, "n", ("code",), ("code",)).records.design.shape[1] == len(whole)


@pytest.mark.parametrize("mark", ["1", "1.0", "None"])
def test_the_code_of_a_label_means_missing_in_a_codebook_too(mark):
    assert education(book(column="edu", kind="category", missing=(mark,))).frame["edu"].isna().sum() == 10
    assert education().with_missing([f"edu={mark}"]).frame["edu"].isna().sum() == 10


@pytest.mark.parametrize("categories", [("1", "2", "3"), ("None", "Primary", "Secondary")])
def test_categories_are_declared_by_code_or_label(categories):
    expected = [0.0, 1.0, 2.0, 1.0] * 10
    assert list(category_codes(education(), "edu", categories)) == expected
    declared = education(book(column="edu", kind="category", categories=categories))
    assert list(category_codes(declared, "edu", categories)) == expected
    select(declared, "n", ("edu",))


def test_labels_that_only_codes_share_which_do_not_occur_leave_the_column_labelled():
    labels = {"edu": EDU["edu"] | {8: "Unknown", 9: "Unknown", 7: ""}}
    assert set(education(labels=labels).frame["edu"]) == set(EDU["edu"].values())
    assert set(education(labels=labels, codes=(1, 2, 8, 9)).frame["edu"]) == {1, 2, 8, 9}


def test_labels_that_are_no_numbers_give_way_to_their_codes_where_a_number_is_declared():
    labels = {"age": {20 + i: f"{20 + i} years" for i in range(10)}}
    columns = {"n": np.arange(N) ** 2, "age": [20 + i % 10 for i in range(N)]}
    number = Codebook(columns=(Entry(column="age", kind="number", missing=("21",)),))
    ages = [np.nan if i % 10 == 1 else 20 + i % 10 for i in range(N)]
    first = typed(".dta", columns, ReadOptions(codebook=number), variable_value_labels=labels)
    again = declared_again(typed(".dta", columns, variable_value_labels=labels), number)
    for table in (first, again):
        np.testing.assert_array_equal(table.frame["age"], ages)
    back = declared_again(again, Codebook(columns=(Entry(column="age", kind="category"),)))
    assert set(back.frame["age"].dropna()) == {f"{20 + i} years" for i in range(10) if i != 1}


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_a_label_of_a_column_of_codes_means_missing(suffix):
    columns = {"n": np.arange(N) ** 2, "age": [20 + i % 19 for i in range(N - 4)] + [97] * 4}
    table = typed(suffix, columns, variable_value_labels={"age": {97: "Refused"}})
    assert table.with_missing(["age=Refused"]).frame["age"].isna().sum() == 4


LOGICAL = {"n": np.arange(N) ** 2, "emp": [True, False, True, True] * 10}


@pytest.mark.parametrize("suffix", [".parquet", ".xlsx"])
@pytest.mark.parametrize("blank", [False, True])
def test_logical_values_are_met_in_three_spellings(suffix, blank):
    columns = pd.DataFrame(LOGICAL)
    if blank:
        columns["emp"] = columns["emp"].astype(object).where(columns["n"] > 0, None)
    table = typed(suffix, columns)
    for spelled in (("TRUE", "FALSE"), ("True", "False"), ("true", "false")):
        declared = typed(suffix, columns, book(column="emp", kind="category", categories=spelled))
        later = typed(suffix, columns, ReadOptions(codebook=table.codebook_of(["emp"])))
        for each in (table, declared, later):
            np.testing.assert_array_equal(
                each.category_places("emp", spelled)[1:], [1.0, 0.0, 0.0] + [0.0, 1.0, 0.0, 0.0] * 9
            )
            assert select(each, "n", ("emp",)).transform.levels == {"emp": ("FALSE", "TRUE")}
    assert table.with_missing(["FALSE"]).frame["emp"].isna().sum() == 10 + blank


def test_codes_that_are_texts_have_the_labels_of_their_file():
    """SPSS labels texts too; the labels were lost, and a mark by a label met no cell."""
    columns = {
        "n": np.arange(N) ** 2,
        "sex": ["F", "M", "R", "M"] * (N // 4),
        "area": ["A", "B", "C", "D"] * (N // 4),
    }
    labels = {"sex": {"F": "Female", "M": "Male", "R": "Refused"}, "area": {"A": "North"}}
    table = typed(".sav", columns, variable_value_labels=labels)
    entry = table.codebook.get("sex")
    assert (entry.kind, entry.categories, entry.labels) == (
        "category",
        ("F", "M", "R"),
        ("Female", "Male", "Refused"),
    )
    assert table.codebook.get("area").categories == ()  # some of its codes have none
    assert list(table.frame["sex"][:4]) == ["F", "M", "R", "M"]
    assert (
        not table.unmet(["sex=Refused"])
        and table.with_missing(["Refused"]).frame["sex"].isna().sum() == N // 4
    )


@pytest.mark.parametrize("other", ["Маle", "male", "Male\u200b", "Ma\u00adle"])
def test_what_looks_like_a_declared_category_is_none_that_is_to_be_declared_too(other):
    """The first has two letters of Cyrillic, the others signs that cannot be seen, or no capital."""
    cells = ["Male", "Female", "Male", other] * 30
    table = read_table(
        ("x,sex\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))).encode(), "t.csv"
    )
    with pytest.raises(InputError, match=r"first in row 4\)\. At least one looks like a declared category"):
        select(table, "sex", categories=("Male", "Female"))
    with pytest.raises(InputError, match=r"Declare the category too, or correct the table\.$"):
        select(table, "sex", categories=("Mals", "Female"))


def test_predictors_do_not_have_one_category_in_two_alphabets():
    cells = ["M", "F", "\u041c"] * 40
    table = read_table(
        ("x,sex\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))).encode(), "t.csv"
    )
    with pytest.raises(InputError, match="'sex' has two categories that look alike"):
        select(table, "x", ("sex",))
