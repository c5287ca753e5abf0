"""Delimited text: delimiters, quotation marks, line ends, lines above the header, rows that are too long or short."""

import pytest

from synth_core.data.reading import ReadOptions
from synth_core.data.table import read_table
from synth_core.errors import InputError

ROWS = [f"{i},name {i},{i * 1.5}" for i in range(1, 41)]


def text(header="a,b,c", rows=ROWS, end="\n"):
    return end.join([header, *rows, ""]).encode()


def check(content, columns=("a", "b", "c"), rows=40):
    table = read_table(content, "t.csv")
    assert (tuple(table.frame.columns), table.rows) == (columns, rows)
    return table


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends(end):
    assert check(text(end=end)).frame["c"].sum() == sum(range(1, 41)) * 1.5


@pytest.mark.parametrize(
    "above",
    [
        "sep=,\n",
        "Table 4: incomes\n",
        "Table 4: incomes\n\n",
        "Table 4,,\n",
        "Incomes\n2024\n",
        "\n\n",
        "Table 4. Incomes, 2024\n\n",
        "Incomes of persons, in euros\nSource: the office\n",
    ],
)
def test_lines_above_the_header_are_left_out(above):
    check(above.encode() + text())


@pytest.mark.parametrize("title", ["Table 4", "Table 4,", "Table 4,\n,"])
def test_a_title_above_two_columns_is_left_out(title):
    """A spreadsheet fills it up with delimiters."""
    check(f"{title}\n".encode() + text("a,b", [f"{i},{i}" for i in range(1, 41)]), ("a", "b"))


def test_a_second_column_without_a_name_makes_no_title_of_the_header():
    with pytest.raises(InputError, match=r"Column 2 of .* has no name"):
        read_table(text("a,", [f"n{i},{i}" for i in range(1, 41)]), "t.csv")


@pytest.mark.parametrize("end", ["\x1a", "\r\n\x1a\x1a"])
def test_the_mark_that_ends_a_file_of_dos_is_no_row(end):
    check(text() + end.encode())


@pytest.mark.parametrize(
    ("cell", "missing", "first"),
    [
        ("{:d},5", "NA", 1.5),
        ("{:d},5", "", 1.5),
        ("1,{:03d},000", "NA", 1_001_000),
        ("1,{:03d},000.5", "", 1_001_000.5),
    ],
)
def test_one_column_of_numbers_with_commas_is_one(cell, missing, first):
    """Its first row became the header, or a mark of a missing value made two columns of it."""
    table = check(text("pay", [missing if i == 7 else cell.format(i) for i in range(1, 41)]), ("pay",))
    assert table.frame["pay"].iloc[0] == first and table.column("pay").missing == 1


def test_a_separator_line_says_the_delimiter():
    check(b"sep=|\n" + text().replace(b",", b"|"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found_out(delimiter):
    check(text().replace(b",", delimiter.encode()))


def test_a_decimal_comma_does_not_make_a_delimiter():
    rows = [f"{i}.10;{i},5" for i in range(1, 41)]
    table = check(text("code;x", rows), ("code", "x"))
    assert table.frame["x"].iloc[0] == 1.5 and table.frame["code"].iloc[0] == 1.1


def test_quoted_cells_keep_delimiters_line_breaks_and_marks():
    rows = [f'{i},"one, two",{i}' for i in range(1, 39)] + ['39,"first\nsecond",39', '40,"so ""called""",40']
    table = check(text(rows=rows))
    assert list(table.frame["b"].iloc[-2:]) == ["first\nsecond", 'so "called"']


def test_a_quotation_mark_after_a_space_opens_a_cell():
    table = check(text(rows=[f'{i}, "one, two", {i}' for i in range(1, 41)]))
    assert set(table.frame["b"]) == {"one, two"}


@pytest.mark.parametrize("closing", ['"Jones', 'Jones"'])
def test_a_stray_quotation_mark_is_refused_by_its_line(closing):
    """All rows between two of them would be one cell."""
    rows = [*ROWS]
    rows[9], rows[29] = '10,"Smith,15', f"30,{closing},45"
    with pytest.raises(InputError, match="quotation mark in line 11 of"):
        read_table(text(rows=rows), "t.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "changed",
    [
        {9: '10,"Smith,15', 29: '30,"Jones,45'},
        {9: '10,"Smith,15', 10: '11,Jones",16.5'},
        {9: '10,",15', 10: '11,",16.5'},
        {i: f'{i + 1},",{i}' for i in range(9, 13)},
    ],
)
def test_rows_that_stray_marks_join_are_refused_whatever_ends_the_lines(end, changed):
    rows = [changed.get(i, row) for i, row in enumerate(ROWS)]
    with pytest.raises(InputError, match="quotation mark in line 11 of"):
        read_table(text(rows=rows, end=end), "t.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_mark_within_a_text_is_a_sign_whatever_ends_the_lines(end):
    rows = [*ROWS[:19], '20,5" pipe,30.0', *ROWS[20:]]
    assert check(text(rows=rows, end=end)).frame["b"].iloc[19] == '5" pipe'


def test_a_quoted_cell_that_goes_on_behind_its_mark_is_refused_by_its_line():
    """Marks with a backslash: the cell would be `a \\word\\" or two"`. Marks in a cell without them are a text."""
    rows = [*ROWS]
    rows[19] = r'20,"a \"word\" or two",30.0'
    with pytest.raises(InputError, match="quotation mark in line 21 of"):
        read_table(text(rows=rows), "t.csv")
    rows[19] = '20,5" pipe and 3" rod,30.0'
    assert check(text(rows=rows)).frame["b"].iloc[19] == '5" pipe and 3" rod'


def test_a_header_with_a_name_less_than_its_rows_have_cells_is_not_taken_for_a_title():
    """As R writes row names: the first row of numbers would become the header."""
    with pytest.raises(InputError, match=r"Row 1 of t\.csv has 4 cells, and the header has 3 names"):
        read_table(text(rows=[f'"{i}",{row}' for i, row in enumerate(ROWS)]), "t.csv")


@pytest.mark.parametrize(("row", "cells"), [("20,name", 2), ("20,name,1,2", 4)])
def test_a_row_of_another_length_is_refused_by_its_number(row, cells):
    with pytest.raises(InputError, match=rf"Row 20 of t.csv has {cells} cells, and the header has 3 names"):
        read_table(text(rows=[*ROWS[:19], row, *ROWS[20:]]), "t.csv")


def test_a_column_without_a_name_is_refused_and_not_invented():
    with pytest.raises(InputError, match=r"Column 1 of .* has no name"):
        read_table(text(header=",b,c"), "t.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
def test_an_empty_line_is_an_empty_cell_where_there_is_one_column(end):
    """These records were gone: missing ones were not counted, and rows were numbered wrongly."""
    cells = ["" if i % 20 == 3 else f"{i}.5" for i in range(40)]
    table = check(text("pay", cells, end) + end.encode(), ("pay",))
    assert table.frame["pay"].isna().sum() == 2 and table.frame["pay"].iloc[39] == 39.5
    check(text(rows=[*ROWS[:19], "", *ROWS[19:]], end=end))  # in a wider file it is no record


def test_a_delimiter_at_the_end_of_each_line_makes_no_column():
    check(text("a,b,c,", [f"{row}," for row in ROWS]))
    with pytest.raises(InputError, match=r"Column 4 of t\.csv has no name"):
        check(text("a,b,c,", [f"{row}," for row in ROWS[1:]] + [f"{ROWS[0]},remark"]))


@pytest.mark.parametrize(
    "rows",
    [
        ["age sex     pay", " 35   m   23.35", " 41   f    7.10", "  9   m 1200.00"],
        [" 35 m   23.35", " 41 f    7.10", "  9 m 1200.00"],
        ["a b c", "1 2 3", "4 5 6", "7 8 9"],
    ],
)
def test_columns_of_fixed_width_are_refused_and_are_no_column_of_texts(rows):
    """They were read as one column, its name the first record where there was no line of names."""
    with pytest.raises(InputError, match="fixed width"):
        read_table("\n".join(rows).encode(), "t.txt")


@pytest.mark.parametrize(
    "rows",
    [
        ["pay", "12 345", "1 234", "999"],
        ["pay", "12 345", "71 234", "10 999"],
        ["job", "full time", "part time", "no job"],
        ["pay band", "band 1", "band 2", "band 3"],
        ["day", "1 Jan 2024", "2 Jan 2024", "3 Jan 2024"],
    ],
)
def test_one_column_is_read_whatever_spaces_are_in_its_cells(rows):
    assert list(read_table("\n".join(rows).encode(), "t.txt").frame.columns) == [rows[0]]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("said", [None, "utf-16"])
def test_utf_16_without_a_mark_is_read(encoding, said):
    """Both were refused as binary data; said to be UTF-16, one of them had no rows."""
    content = text(rows=[row.replace("name", "Łódź") for row in ROWS]).decode().encode(encoding)
    table = read_table(content, "t.csv", ReadOptions(encoding=said))
    assert (table.rows, table.frame["b"].iloc[0], table.read_options.encoding) == (40, "Łódź 1", "utf-16")


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("said", [None, "utf-32"])
def test_utf_32_with_its_mark_is_read(encoding, said):
    """It begins as UTF-16 does, and was refused as binary data."""
    content = ("\ufeff" + text(rows=[row.replace("name", "Łódź") for row in ROWS]).decode()).encode(encoding)
    table = read_table(content, "t.csv", ReadOptions(encoding=said))
    assert (table.rows, table.frame["b"].iloc[0], table.read_options.encoding) == (40, "Łódź 1", "utf-32")


def test_a_zero_byte_far_below_is_refused_by_its_line():
    """Beyond the first 8,192 bytes it was part of a cell, which made a text of its column."""
    content = text(rows=[f"{i},name {i},{i}" for i in range(1, 1001)]).replace(b",900\n", b",90\x000\n")
    with pytest.raises(InputError, match=r"contains binary data \(first in line 901\)"):
        read_table(content, "t.csv")


@pytest.mark.parametrize("end", ["\x85", "\u2028"])
def test_line_ends_of_mainframes_and_of_unicode(end):
    check(text(end=end))


def test_a_quotation_mark_that_is_not_closed_in_the_header_is_said():
    for content in text('"a,b,c'), text('a;"b;c', [row.replace(",", ";") for row in ROWS] * 200):
        with pytest.raises(InputError, match=r"quotation mark in line 1 of"):
            read_table(content, "t.csv")
    check(text('"a\nof, one\nperson",b,c'), ("a of, one person", "b", "c"))


@pytest.mark.parametrize("sign", [":", "^", "\x1f"])
def test_a_delimiter_that_is_not_known_is_refused_in_words(sign):
    with pytest.raises(InputError, match="parted by"):
        read_table(text().replace(b",", sign.encode()), "t.csv")


def test_times_in_one_column_are_no_two_cells():
    assert read_table(b"time of day\n" + b"12:30\n9:15\n" * 20, "t.csv").rows == 40


def test_lines_that_a_spreadsheet_quoted_whole_are_refused_in_words():
    quoted = b"\n".join(b'"' + line + b'"' for line in text().splitlines())
    with pytest.raises(InputError, match="it stands between quotation marks"):
        read_table(quoted, "t.csv")
    one = read_table(quoted, "t.csv", ReadOptions(delimiter=","))  # who says so means one column
    assert list(one.frame) == ["a,b,c"]


def test_names_of_rows_without_a_name_are_said():
    with pytest.raises(InputError, match="row names of R"):
        read_table(text("b,c"), "t.csv")


def test_texts_that_a_spreadsheet_is_told_to_leave_are_those_texts():
    """Written as formulas, so that a spreadsheet does not make numbers of codes."""
    rows = [f'="{i:03d}","=""{i % 3:02d}""",{i}' for i in range(40)]
    table = check(text(rows=rows))
    assert list(table.frame["a"][:2]) == ["000", "001"] and set(table.frame["b"]) == {"00", "01", "02"}


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_delimiter_that_ends_each_row_or_the_header_alone_is_no_column(sign, end):
    rows = [sign.join((str(100 + i), "ab"[i % 2], str(i % 7))) for i in range(150)]
    head = sign.join(("x", "g", "y"))
    one_more = (head, sign), (head + sign, ""), (head + sign, sign)
    for names, ended in (*one_more, (head, 2 * sign), (head + 2 * sign, ""), (head + sign, 3 * sign)):
        table = read_table(end.join([names, *(row + ended for row in rows), ""]).encode(), "t.csv")
        assert (table.rows, list(table.frame)) == (150, ["x", "g", "y"])
        assert (int(table.frame["x"].sum()), int(table.frame["y"].sum())) == (26_175, 444)
    beyond = end.join([head, *(row + sign for row in rows), sign.join("1234"), ""]).encode()
    with pytest.raises(InputError, match=r"Column 4 of t\.csv has no name"):
        read_table(beyond, "t.csv")
