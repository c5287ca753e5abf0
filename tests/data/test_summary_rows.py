"""Rows that are no records: what stands below or above a table is refused by its row, and a record is none of it."""

import io

import numpy as np
import pandas as pd
import pytest

from synth_core.data.table import read_table
from synth_core.errors import InputError

N = 50
PAY = [1000 + 37 * i % 411 for i in range(N)]


def table(below=(), above=(), head=("name", "pay", "years"), kind="csv", groups=False):
    people = [("south" if i % 2 else "north") if groups else f"p{i}" for i in range(N)]
    rows = [*above, *zip(people, PAY, range(20, 20 + N), strict=True), *below]
    frame, stream = pd.DataFrame(rows, columns=list(head)), io.BytesIO()
    frame.to_csv(stream, index=False) if kind == "csv" else frame.to_excel(stream, index=False)
    return read_table(stream.getvalue(), f"t.{kind}")


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize(
    "below",
    [
        [("Mean", round(np.mean(PAY), 1), 44.5)],
        [("Total", sum(PAY), None), ("Average:", round(np.mean(PAY)), 44)],
        [("N", N, N)],
        [("Min", min(PAY), 20), ("Max", max(PAY), 69)],
        [(None, np.mean(PAY), 44.5)],
    ],
)
def test_a_row_that_says_something_of_the_others_is_refused(below, groups, kind):
    with pytest.raises(InputError, match=f"Row {N + len(below)} of t[.]{kind} .* is no record"):
        table(below, kind=kind, groups=groups)


def test_a_sure_word_below_a_name_for_each_record_is_enough():
    """The mean may be one of weighted records."""
    with pytest.raises(
        InputError, match=f"Row {N + 1} of .* is called a total, a mean or the like in 'name'"
    ):
        table([("Mean", 1234, 50)])


@pytest.mark.parametrize("word", ["Total (weighted)", "Total, all ages", "TOTAL population", "Итого", "合計"])
def test_a_total_that_is_no_plain_sum_is_refused(word):
    """It was a record, with by far the largest values: the sum may be one of weighted records."""
    with pytest.raises(InputError, match=f"Row {N + 1} of .* is called a total"):
        table([(word, 10 * sum(PAY), 5000)])
    with pytest.raises(InputError, match=f"Row {N + 1} of .* is called a total"):
        table([(word, 10 * sum(PAY), None)])


def test_a_firm_whose_name_begins_so_is_a_record():
    assert table([("Total Energies", 1017, 33)]).rows == N + 1
    assert table([("Total Wine", 10 * sum(PAY), 33)]).rows == N + 1


@pytest.mark.parametrize("name", ["Max", "SD", "All", "N"])
def test_a_record_that_is_called_so_is_one(name):
    for groups in (False, True):
        assert table([(name, 1017, 33)], groups=groups).rows == N + 1
    assert table([("Mean", 1017, 33)], groups=True).rows == N + 1


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_title_of_as_many_cells_as_the_table_and_units_are_said(kind):
    """The title was taken for the names, and the names for a record."""
    names = ("name", "pay", "years")
    for head, above in (("Table 1", "all persons", "2023"), names), (names, ("", "EUR", "a")):
        with pytest.raises(InputError, match=r"Row 1 of .* holds words"):
            table(above=[above], head=head, kind=kind)
    assert table(above=[("x", "refused", "refused")], kind=kind).rows == N + 1


def test_a_row_that_repeats_the_names_is_refused():
    with pytest.raises(InputError, match=f"Row {N + 1} of .* repeats the names"):
        table([("name", "pay", "years"), ("q", 2, 3)])


def test_subtotals_without_a_total_are_refused():
    groups = [[1000 + 37 * i for i in range(20)], [2000 + 41 * i for i in range(25)]]
    cells = [cell for group in groups for cell in (*group, sum(group))]
    with pytest.raises(InputError, match=r"in 'pay' groups that are each followed by their sum"):
        read_table(("pay\n" + "\n".join(map(str, cells))).encode(), "t.csv")
    for fine in (cells[:-1], [1, 1] * 20, [1, 2, 3] * 20):
        assert read_table(("pay\n" + "\n".join(map(str, fine))).encode(), "t.csv").rows == len(fine)


def test_a_file_without_names_is_refused_and_quotes_no_record():
    """Its first record became the names of the columns, and was no record."""
    for rows in (
        [(f"p{i % 5}", i % 7, i * 1.5 + 0.25) for i in range(N)],
        [(i % 3, 20 + i % 9) for i in range(N)],
    ):
        with pytest.raises(InputError, match=r"first line of t.csv seems to be a record") as error:
            read_table(pd.DataFrame(rows).to_csv(index=False, header=False).encode(), "t.csv")
        assert not any(str(cell) in str(error.value) for cell in rows[0])
    with pytest.raises(InputError, match="if its first line is a record") as error:
        read_table(b"4711,4711,5\n" + b"1,2,3\n" * 20, "t.csv")
    assert "4711" not in str(error.value)


def test_years_and_codes_are_names():
    for names in (["2023", "2024"], ["area", "7"], ["1", "2"]):
        content = pd.DataFrame([[i * 1.5 + 3, i] for i in range(3, N)], columns=names).to_csv(index=False)
        assert read_table(content.encode(), "t.csv").rows == N - 3
    questions = pd.DataFrame([[i % 5 + 1, i % 4 + 1, i % 3 + 1] for i in range(N)], columns=["1", "2", "3"])
    assert read_table(questions.to_csv(index=False).encode(), "t.csv").rows == N


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("head", [("name", "pay", "years"), ("id", "pay", "years")])
def test_a_note_below_a_table_is_refused(kind, head):
    """It was a record with missing values, or a mark of missing values among numbers."""
    note = ("Source: Office of 2023", None, None)
    with pytest.raises(InputError, match=f"Row {N + 1} of t[.]{kind} .* note below the table"):
        table([note], head=head, kind=kind)
    for record in ("q99", None, None), ("Anna Maria", 1017, None):
        assert table([record], head=head, kind=kind).rows == N + 1
    assert table([("Anna Maria", 1017, 33), ("Jean Paul", None, None)], kind=kind).rows == N + 2


def test_a_note_below_numbers_is_refused():
    rows = "".join(f"{pay},{20 + i}\n" for i, pay in enumerate(PAY))
    with pytest.raises(InputError, match=f"Row {N + 1} of t[.]csv holds words in 'pay' and nothing"):
        read_table(f"pay,years\n{rows}* as estimated,\n".encode(), "t.csv")
