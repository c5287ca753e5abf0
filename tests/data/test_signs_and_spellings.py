"""Files as programs and people write them: line ends, signs, spellings of one value. Each was read wrongly once."""

import io
import os
import tempfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.design import select
from synth_core.data.readers import ReadOptions, read_again, read_frame
from synth_core.data.table import read_table
from synth_core.errors import InputError

N = 40


def text(content: str, name="t.csv", book=(), **options):
    read = ReadOptions(codebook=Codebook(columns=tuple(book)), **options)
    return read_table(content.encode(), name, read)


def rows(cells, sep=",", end="\n"):
    """So many records: a number of its own, and the given cells in turn."""
    return end.join(f"{i + 100}{sep}{cells[i % len(cells)]}" for i in range(N))


@pytest.mark.parametrize(
    "content",
    [
        f"n,x\r{rows('ab')}",  # the header's line alone ends so
        f"n,x\r{rows('ab', end=chr(13))}\n",
        f'n,"x\ry"\n{rows("ab")}',
        f'n,"x\u2028y"\n{rows("ab")}',
        f"\x0cReport\nn,x\n{rows('ab')}",
        f"Report\rn,x\n{rows('ab')}",
    ],
)
def test_no_record_is_lost_whatever_ends_the_lines_above(content):
    """Lines were counted by one rule and skipped by another: the first records went without a word."""
    table = text(content)
    assert table.rows == N and table.frame.iloc[0, 0] == 100


def test_a_carriage_return_within_a_quoted_cell_stays():
    content = "n,x\r\n" + "\r\n".join(f'{i},"a\rb"' for i in range(N))
    assert set(text(content).frame["x"]) == {"a\rb"}


def test_two_records_that_a_stray_mark_joins_are_refused():
    lines = rows(["firm"]).split("\n")
    lines[9], lines[10] = lines[9].replace("firm", '"firm'), lines[10] + '"'
    with pytest.raises(InputError, match=r"line 11 of t\.csv is not closed"):
        text("n,x\n" + "\n".join(lines))
    address = "n,name,where\n" + "\n".join(f'{i},A,"Main St\nBoston, MA, 02139"' for i in range(N))
    assert text(address).rows == N  # as many commas, and no number where the record has one


def test_one_byte_of_another_encoding_is_said_and_does_not_change_every_letter():
    content = ("n,x\n" + rows(["Zürich"])).encode() + b"\n999,Z\xfcrich"
    with pytest.raises(InputError, match=r"Line 42 of t\.csv holds a byte that is none of UTF-8"):
        read_table(content, "t.csv")
    western = ("n,x\n" + rows(["Zürich"])).encode("cp1252")
    assert set(read_table(western, "t.csv").frame["x"]) == {"Zürich"}


def test_one_column_with_a_decimal_comma_is_one_column():
    table = text("pay\n" + "\n".join(f"{i},5" for i in range(N)))
    assert list(table.frame) == ["pay"] and table.frame["pay"].iloc[3] == 3.5


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1 234,50", "12\u00a0345,00", "999,95"], {1234.5, 12345.0, 999.95}),
        (["1 234", "12\u00a0345", "999"], {1234, 12345, 999}),
        (["1'234", "12’345", "9"], {1234, 12345, 9}),
    ],
)
def test_groups_of_three_may_stand_beside_smaller_numbers_and_look_alike(cells, values):
    assert set(text("n;x\n" + rows(cells, ";")).frame["x"]) == values


def test_codes_with_points_are_no_evidence_for_an_amount():
    """Industry codes 47.11 decided that 1.100 is 1.1; amounts such as 129.95 do decide it."""
    content = "n;x;code\n" + "\n".join(f"{i};{1 + i % 9}.{100 + i};47.{10 + i % 3}" for i in range(N))
    assert "can be read in two ways" in text(content).questions["x"]
    sure = content.replace(";47.1", ";147.1")
    assert text(sure).frame["x"].iloc[0] == 1.1


def test_the_signs_that_were_said_count_between_commas_too():
    content = "n,x\n" + rows(["12.500", "2.250", "3.000"])
    assert set(text(content).frame["x"]) == {12.5, 2.25, 3.0}
    for said in ({"thousands": "."}, {"decimal": ","}):
        assert set(text(content, **said).frame["x"]) == {12500, 2250, 3000}


@pytest.mark.parametrize(("cells", "signs"), [(["1.5", "3"], (",", ".")), (["1,5", "3"], (".", ","))])
def test_a_declared_sign_of_thousands_stands_before_groups(cells, signs):
    """1.5 became 15."""
    entry = Entry(column="x", kind="number", decimal=signs[0], thousands=signs[1])
    with pytest.raises(InputError, match=r"20 of its cells are none \(first in row 1\)"):
        text("n;x\n" + rows(cells, ";"), book=[entry])
    assert set(
        text("n;x\n" + rows(["1,23,456"], ";"), book=[Entry(column="x", kind="number", thousands=",")]).frame[
            "x"
        ]
    ) == {123456}


def test_marks_mean_missing_in_every_spelling_of_their_column():
    book = [Entry(column="x", kind="number", missing=("-9",))]
    assert text("n,x\n" + rows(["-9.0", "1.5"]), book=book).frame["x"].isna().sum() == N / 2
    grouped = text("n;x\n" + rows(["9.999", "1.200.000"], ";"))
    for mark in ("9.999", "9999"):
        assert grouped.with_missing([mark]).frame["x"].isna().sum() == N / 2


@pytest.mark.parametrize(
    ("cells", "categories"),
    [
        (["10.10", "47.11"], ("10.10", "47.11")),
        (["1.0", "2.0"], ("1.0", "2.0")),
        (["1.0", "2.0", ""], ("1", "2")),
        (["+1", "-1", "0"], ("+1", "-1", "0")),
        (["0", "1", "None"], ("0", "1", "None")),
        (["1,5", "2,5"], ("1,5", "2,5")),
    ],
)
def test_categories_may_be_declared_as_the_file_writes_them(cells, categories):
    table = text("n;x\n" + rows(cells, ";"))
    places = table.category_places("x", categories)
    there = [i for i in range(N) if cells[i % len(cells)]]
    assert [categories[int(places[i])].removesuffix(".0") for i in there] == [
        cells[i % len(cells)].removesuffix(".0") for i in there
    ]
    assert np.isnan(places).sum() == N - len(there)


def test_a_category_that_was_said_to_mean_missing_does():
    table = text("n,x\n" + rows(["0", "1", "None"])).with_missing(["None"])
    assert np.isnan(table.category_places("x", ("0", "1", "None"))).sum() == 13


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table({"n": list(range(N)), **columns}), stream)
    return read_table(stream.getvalue(), "t.parquet")


def test_numbers_of_parquet_are_those_of_the_file():
    large, single = [2**60 + 1, 2, None, 5] * 10, [0.1, 1.7, -9.9, 3.0] * 10
    table = parquet(x=pa.array(large, pa.int64()), y=pa.array(single, pa.float32()), z=[True, False] * 20)
    assert int(table.frame["x"][0]) == 2**60 + 1 and table.frame["x"].isna().sum() == 10
    assert set(table.frame["y"]) == {0.1, 1.7, -9.9, 3.0}
    assert table.with_missing(["-9.9"]).frame["y"].isna().sum() == 10
    assert set(table.as_written(["z"], np.ones(N, bool))["z"]) == {"TRUE", "FALSE"}
    for spelled in (("TRUE", "FALSE"), ("True", "False"), ("true", "false")):
        assert set(table.category_places("z", spelled)) == {0.0, 1.0}
    assert set(parquet(x=["M", "M ", " F", "F"] * 10).frame["x"]) == {"M", "F"}


def statistical(suffix, write, frame, **more):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, f"t{suffix}")
        write(frame, path, **more)
        with open(path, "rb") as file:
            return read_table(file.read(), f"t{suffix}")


def test_times_of_more_than_a_day_and_months_are_what_they_are():
    seconds = pd.DataFrame({"n": np.arange(N), "x": [3600.0, 90000.0] * 20})
    times = statistical(".sav", pyreadstat.write_sav, seconds, variable_format={"x": "TIME8"})
    assert set(times.frame["x"]) == {"01:00:00", "25:00:00"}
    months = pd.DataFrame({"n": np.arange(N), "x": [13_790_000_000.0, 13_800_000_000.0] * 20})
    dates = statistical(".sav", pyreadstat.write_sav, months, variable_format={"x": "MOYR8"})
    assert dates.column("x").kind == "date" and dates.frame["x"][0] == pd.Timestamp("2019-10-09")
    days = pd.DataFrame({"n": np.arange(N), "x": [20_000.0, 21_000.0] * 20})
    transport = statistical(".xpt", pyreadstat.write_xport, days, variable_format={"x": "MONYY7"})
    assert transport.column("x").kind == "date" and transport.frame["x"][0] == pd.Timestamp("2014-10-04")


def test_the_code_of_a_label_may_mean_missing():
    frame = pd.DataFrame({"n": np.arange(N), "x": [1, 2, -9, 1] * 10})
    labels = {"x": {1: "Yes", 2: "No", -9: "Refused"}}
    table = statistical(".dta", pyreadstat.write_dta, frame, variable_value_labels=labels)
    assert set(table.frame["x"]) == {"Yes", "No", "Refused"}
    for mark in ("-9", "Refused", "x=-9"):
        assert table.with_missing([mark]).frame["x"].isna().sum() == 10


def test_a_typed_file_is_read_by_a_codebook_with_signs():
    """Real numbers of a workbook, by the codebook of a German text file: 1.5 became 15."""
    stream = io.BytesIO()
    pd.DataFrame({"n": np.arange(N), "x": [1.5, 2.25, -9.0, 3.0] * 10, "y": ["1,5", "2,5"] * 20}).to_excel(
        stream, index=False
    )
    book = Codebook(columns=(Entry(column="x", kind="number", decimal=",", thousands=".", missing=("-9",)),))
    table = read_table(stream.getvalue(), "t.xlsx", ReadOptions(codebook=book, decimal=","))
    assert set(table.frame["x"].dropna()) == {1.5, 2.25, 3.0} and table.frame["x"].isna().sum() == 10
    assert set(table.frame["y"]) == {1.5, 2.5}


def test_months_of_stata_are_months():
    frame = pd.DataFrame({"n": np.arange(N), "x": [720, 721] * 20})
    table = statistical(".dta", pyreadstat.write_dta, frame, variable_format={"x": "%tm"})
    assert table.column("x").kind == "date"
    assert list(table.frame["x"][:2]) == [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")]


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_row_of_totals_is_no_record(suffix, place):
    pay = [1000 + 7 * i for i in range(N)]
    total = [("Total", sum(pay))]
    people = [(f"a{i}", each) for i, each in enumerate(pay)]
    frame = pd.DataFrame(people + total if place == "last" else total + people, columns=["area", "pay"])
    stream = io.BytesIO()
    frame.to_csv(stream, index=False) if suffix == "csv" else frame.to_parquet(stream)
    row = N + 1 if place == "last" else 1
    with pytest.raises(InputError, match=f"Row {row} .* holds in 'pay' the sum of all other rows") as error:
        read_table(stream.getvalue(), f"t.{suffix}")
    assert str(sum(pay)) not in str(error.value)


def test_a_row_of_totals_is_no_record_either_once_it_is_said_how_numbers_are_read():
    """One group of three digits is asked: before the answer the column is text."""
    pay = [1000 + 7 * i for i in range(N)]
    content = "pay;n\n" + "".join(f"{each:,};{i}\n" for i, each in enumerate([*pay, sum(pay)]))
    read = read_frame(content.encode(), "t.csv")
    assert "pay" in read.questions
    book = Codebook(columns=(Entry(column="pay", kind="number", thousands=","),))
    with pytest.raises(InputError, match=f"Row {N + 1} .* the sum of all other rows"):
        read_again(read, "t.csv", replace(read.options, codebook=book))


def test_a_gain_or_loss_may_be_the_sum_of_the_others():
    """Of 200 scores from -2 to 2 the first or the last is in 3 tables of 100, and of 30 in 9."""
    scores = [1, -2] * 20 + [2] * 11
    assert sum(scores) == 2
    table = text("change\n" + "".join(f"{each}\n" for each in [*scores, 2]))
    assert table.rows == len(scores) + 1


def test_a_rare_event_that_adds_up_by_chance_is_a_record():
    table = text("claims\n" + "0\n" * 40 + "1\n1\n2\n")
    assert table.frame["claims"].iloc[-1] == 2


def test_numbers_of_sixteen_bits_are_those_that_were_written():
    numbers = np.tile(np.array([0.1, 1.7, np.nan, 3.0], np.float16), 10)
    table = parquet(x=pa.array(numbers, from_pandas=True))
    np.testing.assert_array_equal(table.frame["x"], np.tile([0.1, 1.7, np.nan, 3.0], 10))


@pytest.mark.parametrize("first", [False, True])
def test_a_total_of_subtotals_is_no_record(first):
    """The mean was three times too large, without a word: the total was not the sum of all other rows."""
    groups = [[1000 + 37 * i for i in range(20)], [2000 + 41 * i for i in range(25)]]
    cells = [*groups[0], sum(groups[0]), *groups[1], sum(groups[1]), sum(map(sum, groups))]
    cells = cells[::-1] if first else cells
    with pytest.raises(InputError, match=f"Row {1 if first else len(cells)} .* a total is no record"):
        text("n,pay\n" + "\n".join(f"p{i},{cell}" for i, cell in enumerate(cells)))
    by_chance = [*range(1000, 1040), sum(range(1000, 1040)) // 2]
    assert len(text("n,pay\n" + "\n".join(f"p{i},{cell}" for i, cell in enumerate(by_chance))).frame) == 41


@pytest.mark.parametrize("cell", ["20000000000000001.0", "20000000000000001.50", "200000000000000000000001."])
def test_a_number_that_would_be_rounded_is_refused_though_it_has_a_point(cell):
    """Whole numbers were refused, and those with .0 became their neighbours without a word."""
    table = text("n,x\n" + rows([cell, *(f"{i}.5" for i in range(20))]))
    for columns in ("x", ()), ("n", ("x",)):
        with pytest.raises(InputError, match=r"numbers beyond .* \(first in row 1\)"):
            select(table, *columns)
    with pytest.raises(InputError, match="so many digits that it would be rounded"):
        text("n,x\n" + rows([cell, "1.5"]), book=[Entry(column="x", kind="number")])


def test_a_large_number_that_is_kept_to_its_last_digit_is_one():
    table = text("n,x\n" + rows(["20000000000000004.0", "1.5", "3e20"]))
    assert set(table.frame["x"]) == {20000000000000004.0, 1.5, 3e20}
