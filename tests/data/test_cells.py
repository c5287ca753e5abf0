"""What cells of text mean, rule by rule, and what is asked instead of guessed."""

import numpy as np
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.table import whole_records
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.design import select
from synth_core.data.missing import by_column
from synth_core.data.outcome import numeric_outcome
from synth_core.data.readers import ReadOptions
from synth_core.data.survey_weights import read_weights
from synth_core.data.table import read_table
from synth_core.errors import InputError


def column(cells, delimiter=";", options=ReadOptions(), beside=None):
    """A table of one column of interest, `x`, and another."""
    beside = beside or ["k"] * len(cells)
    rows = "".join(f"{cell}{delimiter}{other}\n" for cell, other in zip(cells, beside, strict=True))
    return read_table(f"x{delimiter}y\n{rows}".encode(), "t.csv", options)


def repeated(*cells):
    return list(cells) * 15


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1", "22", "-3"), (1, 22, -3)),
        (("1.5", "22", "-3e2"), (1.5, 22, -300)),
        (("+1", ".5", "2."), (1, 0.5, 2)),
        (("1,5", "22", "3,25"), (1.5, 22, 3.25)),  # a decimal comma that no group of thousands explains
        (("5287,3", "10", "7"), (5287.3, 10, 7)),
        (("0,125", "0,250", "0,375"), (0.125, 0.25, 0.375)),
        (("1,234,567", "12,345", "7"), (1_234_567, 12_345, 7)),
        (("12,345.50", "7", "1,000.25"), (12_345.5, 7, 1_000.25)),
        (("1.234.567", "12.345", "7"), (1_234_567, 12_345, 7)),
        (("12.345,50", "7", "1.000,25"), (12_345.5, 7, 1_000.25)),
        (("12 345", "7", "1 000 000"), (12_345, 7, 1_000_000)),
        (("12'345.5", "7", "1'000"), (12_345.5, 7, 1_000)),
        (("1", "NA", "3"), (1, np.nan, 3)),  # among numbers no value, whoever wrote it
        (("1", "2", " "), (1, 2, np.nan)),
        ((" 7 ", "8", "9 "), (7, 8, 9)),
    ],
)
def test_numbers_in_every_spelling(cells, values):
    table = column(repeated(*cells))
    assert not table.questions
    np.testing.assert_array_equal(numeric_outcome(table, "x"), values * 15)
    assert list(table.as_written(["x"], np.ones(45, bool))["x"]) == repeated(*cells)


@pytest.mark.parametrize("cells", [("01", "02", "13"), ("-01", "02", "3"), ("007", "1", "2")])
def test_codes_with_leading_zeros_stay_text(cells):
    table = column(repeated(*cells))
    assert list(table.frame["x"]) == repeated(*cells)


@pytest.mark.parametrize(
    "cells", [("NA", "ZA", "BW"), ("None", "Primary", "null"), ("TRUE", "FALSE", "TRUE")]
)
def test_texts_are_categories_whatever_a_program_takes_them_for(cells):
    table = column(repeated(*cells))
    assert table.frame["x"].notna().all()
    assert list(table.frame["x"]) == repeated(*cells)


@pytest.mark.parametrize(("sign", "word"), [(",", "comma"), (".", "point")])
def test_what_can_be_read_in_two_ways_is_asked(sign, word):
    cells = repeated(f"52{sign}873", f"1{sign}250", f"917{sign}004")
    table = column(cells)
    for use in (lambda: numeric_outcome(table, "x"),):
        with pytest.raises(InputError, match=rf"'x' can be read in two ways: each {word}"):
            use()
    decimal = column(cells, options=ReadOptions(decimal=sign))
    np.testing.assert_allclose(decimal.frame["x"][:3], [52.873, 1.25, 917.004])
    thousands = column(cells, options=ReadOptions(thousands=sign))
    np.testing.assert_allclose(thousands.frame["x"][:3], [52_873, 1_250, 917_004])


def test_another_column_says_which_sign_is_the_decimal_one():
    cells = repeated("52,873", "1,250", "917,004")
    points = column(cells, beside=repeated("0.5", "1.25", "7"))
    np.testing.assert_allclose(points.frame["x"][:3], [52_873, 1_250, 917_004])
    commas = column(cells, beside=repeated("0,5", "1,25", "7"))
    np.testing.assert_allclose(commas.frame["x"][:3], [52.873, 1.25, 917.004])


def test_a_point_in_a_comma_separated_file_is_a_decimal_point():
    table = column(repeated("52.873", "1.250", "917.004"), delimiter=",")
    np.testing.assert_allclose(table.frame["x"][:3], [52.873, 1.25, 917.004])


def test_a_mark_that_hid_the_two_readings_does_not_decide_between_them():
    table = column([*repeated("52.873", "1.250", "917.004"), "R"]).with_missing(["R"])
    with pytest.raises(InputError, match="two ways"):
        numeric_outcome(table, "x")


def test_an_answer_given_with_a_mark_is_kept_for_the_next_file():
    """A plan keeps the entries: without the sign its next table would be a thousand times too small."""
    cells = [*repeated("52.873", "1.250", "917.004"), "R"]
    table = column(cells, options=ReadOptions(thousands=".")).with_missing(["R"])
    np.testing.assert_array_equal(table.frame["x"][:3], [52_873, 1_250, 917_004])
    entry = table.codebook.get("x")
    assert (entry.kind, entry.thousands, entry.missing) == ("number", ".", ("R",))
    later = column(cells, options=ReadOptions(codebook=table.codebook_of(["x", "y"]))).with_missing(["R"])
    np.testing.assert_array_equal(later.frame["x"], table.frame["x"])


@pytest.mark.parametrize("missing", [None, ("R",)])
def test_a_column_of_two_readings_is_no_part_of_whole_records(missing):
    cells = repeated("52.873", "1.250", "917.004")
    other = [str(900 + i) for i in range(45)]
    table = column(cells if missing is None else [*cells[:-1], "R"], beside=other)
    with pytest.raises(InputError, match="'x' can be read in two ways"):
        whole_records(table, [Block("x", "lognormal", {}, missing)], ("y",))
    if missing is None:
        with pytest.raises(InputError, match="'x' can be read in two ways"):
            whole_records(table, [Block("y", "lognormal", {}, None)], ("x",))


def test_the_last_row_counts_as_much_as_the_first():
    cells = [str(i) for i in range(30_000)] + ["12,5"]
    np.testing.assert_allclose(column(cells).frame["x"].iloc[-1], 12.5)
    assert column([*cells[:-1], "many"]).column("x").kind == "text"


@pytest.mark.parametrize(
    "cell",
    [
        "2024-01-31",
        "2024-01-31 12:30",
        "31.01.2024",
        "31/01/24",
        "1-Jan-2024",
        "2024/1/31",
        "1/31/2024 0:00",
        "31/01/2024 10:15",
        "31.01.2024 10:15",
        "2024/01/31 00:00",
        "31JAN2024:10:15:00",
        "1/31/2024 12:00:00 AM",
        "2024.01.31",
        "January 31, 2024",
    ],
)
def test_dates_are_said_to_be_dates(cell):
    with pytest.raises(InputError, match="holds dates"):
        numeric_outcome(column([cell] * 40), "x")


def test_codes_that_look_like_dates_can_be_called_categories():
    table = column(repeated("1.1.01", "1.2.01", "2.1.01"), beside=[str(i * i) for i in range(45)])
    assert table.column("x").kind == "date"
    assert select(table, "y", ("x",), ("x",)).records.design.shape[1] == 3


def test_space_beside_a_category_makes_no_other_one_and_leaves_as_it_came():
    table = column(repeated("M", "M ", " F"))
    assert set(table.frame["x"]) == {"M", "F"}
    assert list(table.as_written(["x"], np.ones(45, bool))["x"]) == repeated("M", "M ", " F")


@pytest.mark.parametrize("value", ["5.4e-79", "1e+60", "-3e55", "3.4028235e38", "-1.7976931348623157e308"])
def test_an_outcome_on_an_absurd_scale_is_refused_by_its_row(value):
    table = column([*repeated("10", "20", "30"), value])
    with pytest.raises(InputError, match="first in row 46"):
        numeric_outcome(table, "x")
    if abs(float(value)) > 1:  # of a predictor the largest counts
        pay = column([*repeated("10", "20", "30"), value], beside=[str(900 + i) for i in range(46)])
        with pytest.raises(InputError, match="first in row 46"):
            select(pay, "y", ("x",))


@pytest.mark.parametrize("others", [["refused"], ["refused", "unknown"]])
def test_a_predictor_of_numbers_and_a_few_words_is_not_taken_for_categories(others):
    """An age with one word in it would be as many categories as there are ages."""
    ages = [str(18 + i % 40) for i in range(200)]
    ages[50 : 50 + len(others)] = others
    content = "\n".join(["inc,age", *(f"{1000 + i},{age}" for i, age in enumerate(ages)), ""]).encode()
    table = read_table(content, "t.csv")
    with pytest.raises(
        InputError, match=rf"'age' holds numbers, and {len(others)} .* none \(first in row 51\)"
    ):
        select(table, "inc", ("age",))
    assert select(table.with_missing(others), "inc", ("age",)).records.design.shape[1] == 2
    assert select(table, "inc", ("age",), ("age",)).records.design.shape[1] > 40  # somebody says so


OTHERS = [
    (lambda i: f"{20 + i},5", "k.A.", "numbers"),
    (lambda i: f"{20_000 + 17 * i:,}", "refused", "numbers"),
    (lambda i: f"{20_000 + 17 * i:,}".replace(",", " "), "(12 345)", "numbers"),
    (lambda i: f"{20_000 + 17 * i:,}".replace(",", "."), "-", "numbers"),
    (lambda i: f"{1 + i % 28:02d}.{1 + i // 28:02d}.2024", "unknown", "dates"),
]


def with_another(cell, other):
    rows = [f"{1000 + i};{other if i in (30, 45) else cell(i)}" for i in range(60)]
    return read_table("\n".join(["pay;x", *rows, ""]).encode(), "t.csv")


@pytest.mark.parametrize(("cell", "other", "word"), OTHERS)
def test_a_predictor_of_numbers_in_any_spelling_or_dates_with_a_few_texts_is_refused_by_row(
    cell, other, word
):
    """With a decimal comma or signs of thousands each became a category of its own, silently."""
    table = with_another(cell, other)
    with pytest.raises(InputError, match=rf"'x' holds {word}, and 2 of its 60 .* none \(first in row 31\)"):
        select(table, "pay", ("x",))
    assert select(table, "pay", ("x",), ("x",)).records.design.shape[1] > 28  # somebody says so
    if word == "numbers":
        with pytest.raises(InputError, match=r"2 of its 60 cells are not \(first in row 31\)"):
            numeric_outcome(table, "x")
        with pytest.raises(InputError, match=r"Survey weights are numbers.*\(first in row 31\)"):
            read_weights(table, "x", np.ones(60, bool))
        assert table.column("x").lone_text == other


def test_a_predictor_of_numbers_that_are_written_in_several_ways_is_refused_by_row():
    table = read_table(
        "\n".join(["pay;x", *(f"{i};{i},5" if i == 40 else f"{i};{i}.7" for i in range(1, 61))]).encode(),
        "t.csv",
    )
    with pytest.raises(InputError, match=r"written in several ways.*first in row 40"):
        select(table, "pay", ("x",))


@pytest.mark.parametrize(
    "cell",
    [
        "{:d}.5 %",
        "{:d},5%",
        "$ {:d}",
        "{:d}.000 €",
        "-{:d}%",
        "EUR {:d}",
        "−{:d}",
        "{:d}٫5",
        "1,{:d},000",
        "{:d}`000",
        "({:d})",
        "${:d}-",
        "- {:d}",
        "{:d}+",
        "<{:d}",
        "{:d}*",
        "Rs. {:d}",
        "{:d}.5D+04",
    ],
)
def test_a_predictor_of_numbers_with_signs_is_refused_and_one_of_codes_with_letters_is_not(cell):
    """Each percentage was a category of its own, silently."""
    rows = [f"{1000 + i};{cell.format(10 + i % 25)};D{i % 25}" for i in range(60)]
    table = read_table("\n".join(["pay;x;district", *rows, ""]).encode(), "t.csv")
    with pytest.raises(
        InputError, match=r"with other signs, of a currency, of percent or .*\(first in row 1\)"
    ):
        select(table, "pay", ("x",))
    assert select(table, "pay", ("x",), ("x",)).records.design.shape[1] == 25  # somebody says so
    assert select(table, "pay", ("district",)).records.design.shape[1] == 25


@pytest.mark.parametrize(
    "cells", [["{:d} years"], ["{:d} year", "{:d} years"], ["1.{:d}K", "1.{:d}M"], ["{:d}kg"]]
)
def test_a_predictor_of_numbers_with_their_unit_is_refused_and_codes_with_letters_are_none(cells):
    rows = [
        f"{1000 + i};{cells[i % len(cells)].format(10 + i % 25)};{10 + i % 12}{'abcd'[i % 4]}"
        for i in range(60)
    ]
    table = read_table("\n".join(["pay;x;code", *rows, ""]).encode(), "t.csv")
    with pytest.raises(InputError, match=r"numbers that are written with their unit \(first in row 1\)"):
        select(table, "pay", ("x",))
    assert select(table, "pay", ("code",)).records.design.shape[1] == 12  # 10a, 11b, …: of four kinds


@pytest.mark.parametrize("other", ["{:d} %", "€{:d}"])
def test_a_predictor_half_of_numbers_and_half_of_numbers_with_signs_is_refused(other):
    """Of a few cells it was said, and of most; with half of them each number was a category, silently."""
    cells = [(other if i % 2 else "{:d}").format(10 + i) for i in range(60)]
    table = column(cells, beside=[str(900 + i) for i in range(60)])
    with pytest.raises(InputError, match=r"first in row 2\)"):
        select(table, "y", ("x",))


def test_a_predictor_in_digits_of_another_script_is_refused():
    """Each age was a category of its own, silently."""
    arabic = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    cells = [str(20 + i).translate(arabic) for i in range(60)]
    table = column(cells, beside=[str(900 + i) for i in range(60)])
    with pytest.raises(InputError, match=r"in those of another country \(first in row 1\)"):
        select(table, "y", ("x",))


@pytest.mark.parametrize(
    "pair",
    [
        ("Köln", "Ko\u0308ln"),
        ("North East", "North\u00a0East"),
        ("A b", "A  b"),
        ("A", "A\u200e"),
        ("ab", "a\xadb"),
        ("0-14", "0\u201314"),
        ("O'Neil", "O\u2019Neil"),
    ],
)
def test_categories_that_look_alike_are_no_two_categories_of_a_predictor(pair):
    """Files that were put together from two systems have both; each became a category, without a word."""
    cells = [pair[i % 5 == 3] for i in range(45)]
    table = column(cells, beside=[str(900 + i) for i in range(45)])
    with pytest.raises(InputError, match=r"'x' has two categories that look alike.* row [14]\)"):
        select(table, "y", ("x",))


def test_points_of_thousands_between_commas_are_asked_for_where_some_numbers_have_none():
    """900, 1.500 and 12.625 were 900, 1.5 and 12.625, without a word."""
    assert "x" in column(repeated("900", "1.500", "12.625"), ",").questions
    said = column(repeated("900", "1.500", "12.625"), ",", ReadOptions(thousands="."))
    np.testing.assert_array_equal(numeric_outcome(said, "x"), [900, 1_500, 12_625] * 15)
    for cells in (("900.000", "1.500", "12.625"), ("900", "1.505", "12.625"), ("-9", "1.500", "2.250")):
        assert not column(repeated(*cells), ",").questions


@pytest.mark.parametrize("cells", [["12E4", "13E5", "1402"], ["7e1", "NA", "70"]])
def test_digits_around_a_letter_are_asked_for(cells):
    """Codes 7E1 and 70 became one number."""
    content = ("n,x\n" + "".join(f"{i}.5,{cells[i % 3]}\n" for i in range(30))).encode()
    table = read_table(content, "t.csv", ReadOptions(decimal="."))
    for columns in ("x", ()), ("n", ("x",)):
        with pytest.raises(InputError, match="codes or powers of ten"):
            select(table, *columns)
    assert select(table, "n", ("x",), ("x",)).records.design.shape[1] == len(set(cells))
    number = Codebook(columns=(Entry(column="x", kind="number"),))
    assert read_table(content, "t.csv", ReadOptions(codebook=number)).frame["x"].max() in (1.3e6, 70.0)


@pytest.mark.parametrize("cells", [["1e+05", "100"], ["1.5E5", "2"], ["1e-3", "2"], ["3e4", "2.5"]])
def test_powers_of_ten_as_programs_write_them_are_numbers(cells):
    table = read_table(("x\n" + "\n".join(cells * 10)).encode(), "t.csv")
    assert set(table.frame["x"]) == set(map(float, cells))


@pytest.mark.parametrize(
    ("cells", "periods"),
    [
        (["2024-W05", "2024-W06"], True),
        (["2024Q1", "Q2 2024"], True),
        (["2024-01", "12/2023"], True),
        (["März 2024", "3 août 2023", "5 de mayo de 2024"], True),
        (["2024-13", "2024-14"], False),
        (["12-2400", "type 2"], False),
        (["March 2024", "later"], False),
    ],
)
def test_what_looks_like_a_period_is_said_to_be_a_category(cells, periods):
    entry = read_table(("x\n" + "\n".join(cells * 10)).encode(), "t.csv").codebook.get("x")
    assert (entry.kind, "dates or periods" in entry.note) == ("category", periods)


@pytest.mark.parametrize(
    ("cells", "spoilt"), [(["0-4", "9-May", "15-19"], True), (["0-4", "5-9", "May"], False)]
)
def test_ranges_that_a_spreadsheet_made_days_of_are_said(cells, spoilt):
    entry = read_table(("x\n" + "\n".join(cells * 10)).encode(), "t.csv").codebook.get("x")
    assert (entry.kind, "made of ranges" in entry.note) == ("category", spoilt)


def test_categories_that_differ_in_capitals_alone_are_said():
    assert column(repeated("Bern", "BERN", "Zug")).column("x").note == "some differ in capitals alone"
    assert not column(repeated("Bern", "Zug", "Ulm")).column("x").note


def test_days_written_as_numbers_are_days_and_not_twenty_millions():
    """From the last day of a month to the next is a step of 70."""
    days = [f"2024{month:02d}{day:02d}" for month in (1, 2, 3) for day in (1, 9, 15, 28)]
    table = column(days * 5)
    assert table.column("x").kind == "date"
    with pytest.raises(InputError, match="holds dates"):
        numeric_outcome(table, "x")
    amounts = column([*days * 5, "20249999"])
    assert amounts.column("x").kind == "number" and amounts.frame["x"].max() == 20249999
    number = Codebook(columns=(Entry(column="x", kind="number"),))
    assert column(days * 5, options=ReadOptions(codebook=number)).column("x").kind == "number"


def test_a_marker_is_of_the_longest_column_that_it_names():
    """A column's name may have an equals sign, and another column's name may be its beginning."""
    assert by_column(["a=b=N"], ["a", "a=b"]) == {"a=b": ["N"]}
    assert by_column(["a=b=N"], ["a"]) == {"a": ["b=N"]}
