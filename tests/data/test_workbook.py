"""A workbook of several sheets: the first that has rows, or the one that is named; formulas have stored results."""

import io
import zipfile

import openpyxl
import pandas as pd
import pytest

from synth_core.data.read_apart import Reading
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from synth_core.errors import InputError

NOTES = pd.DataFrame({"note": ["made by hand"] * 12})
PAY = pd.DataFrame({"pay": [1.5, 2.5, 4.0] * 4})


def workbook(**sheets):
    stream = io.BytesIO()
    with pd.ExcelWriter(stream) as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name.replace("_", " "), index=False)
    return stream.getvalue()


BOOK = workbook(Notes=NOTES, Pay_2025=PAY)


@pytest.mark.parametrize(
    ("sheet", "used", "columns"),
    [(None, "Notes", ["note"]), ("Notes", "Notes", ["note"]), ("Pay 2025", "Pay 2025", ["pay"])],
)
def test_a_sheet_is_read_by_its_name_here_and_apart(sheet, used, columns):
    options = ReadOptions(sheet=sheet)
    here, apart = read_table(BOOK, "t.xlsx", options), Reading(BOOK, "t.xlsx", options).table()
    for table in (here, apart):
        assert list(table.frame.columns) == columns
        assert table.read_options == ReadOptions(sheet=used, sheets=("Notes", "Pay 2025"))
    assert here.fingerprint == apart.fingerprint


def test_a_sheet_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(InputError, match=r"no sheet 'pay'\. It has: Notes, Pay 2025\."):
        read_table(BOOK, "t.xlsx", ReadOptions(sheet="pay"))
    with pytest.raises(InputError, match="has no sheets"):
        read_table(b"x\n1\n", "t.csv", ReadOptions(sheet="pay"))


def test_a_sheet_without_rows_stands_before_the_table():
    book = openpyxl.Workbook()
    book.active.append(["Made in May"])
    PAY.to_excel(stream := io.BytesIO(), sheet_name="Pay", index=False)
    table = book.create_sheet("Pay")
    for row in openpyxl.load_workbook(stream).active.iter_rows(values_only=True):
        table.append(row)
    book.save(stream := io.BytesIO())
    read = read_table(stream.getvalue(), "t.xlsx")
    assert (read.read_options.sheet, read.rows) == ("Pay", 12)
    with pytest.raises(InputError, match="no rows"):
        read_table(stream.getvalue(), "t.xlsx", ReadOptions(sheet="Sheet"))


@pytest.mark.parametrize("cell", ["=1+1", "=SUM(A1:A1)&B1"])
def test_formulas_without_stored_results_are_refused_and_not_read_as_missing(cell):
    book = openpyxl.Workbook()
    for row in ["pay", "n"], *[[1.5, 2]] * 12, [cell, 2]:
        book.active.append(row)
    book.save(stream := io.BytesIO())
    with pytest.raises(InputError, match=r"formulas without stored results \(first in A14\)"):
        read_table(stream.getvalue(), "t.xlsx")


@pytest.mark.parametrize("result", ["<v>3</v>", ""])
def test_a_formula_with_its_result_is_its_result(result):
    """Of an empty text the result is stored empty, with the mark of a text."""
    book = openpyxl.Workbook()
    for row in ["pay", "n"], *[[1.5, 2]] * 12, ["=A2*2", 2]:
        book.active.append(row)
    book.save(stream := io.BytesIO())
    stored, kind = io.BytesIO(), b"" if result else b' t="str"'
    with zipfile.ZipFile(stream) as before, zipfile.ZipFile(stored, "w") as after:
        for entry in before.namelist():
            content = before.read(entry).replace(b"<v></v>", b"<v />").replace(b"<v/>", b"<v />")
            content = content.replace(b'r="A14"', b'r="A14"' + kind).replace(b"<v />", result.encode())
            after.writestr(entry, content)
    column = read_table(stored.getvalue(), "t.xlsx").frame["pay"]
    assert column.tolist()[:12] == [1.5] * 12
    assert column.tolist()[12] == 3 if result else column.isna().tolist() == [False] * 12 + [True]


def test_cells_are_whole_however_a_sheet_is_cut(monkeypatch):
    monkeypatch.setattr("synth_core.data.workbook._PART", 64)
    assert read_table(BOOK, "t.xlsx", ReadOptions(sheet="Pay 2025")).rows == 12
    test_formulas_without_stored_results_are_refused_and_not_read_as_missing("=1+1")


def test_a_table_that_does_not_begin_in_the_first_column_is_read():
    stream = io.BytesIO()
    frame = pd.DataFrame({"n": range(40), "pay": [1.5, 2.5] * 20})
    frame.to_excel(stream, index=False, startcol=1, startrow=2)
    table = read_table(stream.getvalue(), "t.xlsx")
    assert list(table.frame) == ["n", "pay"] and table.rows == 40


def saved(book):
    book.save(stream := io.BytesIO())
    return stream.getvalue()


def filled(sheet, title=0):
    for row in *[["Table"]] * title, ["area", "pay"], *[["x", 1.5], ["y", 2.5], ["z", 4]] * 8:
        sheet.append(row)
    return sheet


def test_a_hidden_sheet_and_one_of_a_chart_are_not_the_first():
    book = openpyxl.Workbook()
    book.active.append(["note"])
    book.active.append([1])
    book.active.sheet_state = "hidden"
    filled(book.create_sheet("Pay"))
    book.create_chartsheet("Chart", 0).add_chart(openpyxl.chart.BarChart())
    read = read_table(saved(book), "t.xlsx")
    assert (read.read_options.sheet, read.read_options.sheets) == ("Pay", ("Pay", "Sheet"))


def test_rows_that_a_sheet_hides_and_errors_of_formulas_are_told_of():
    """Both were read without a word: a filtered sheet shows some of its records, and #DIV/0! became missing."""
    book = openpyxl.Workbook()
    sheet = filled(book.active, title=1)
    assert read_table(saved(book), "t.xlsx").read_options.notices == ()
    sheet.row_dimensions[1].hidden = True  # above the names
    assert read_table(saved(book), "t.xlsx").read_options.notices == ()
    for row in (5, 6):
        sheet.row_dimensions[row].hidden = True
    sheet["B9"], sheet["B9"].data_type = "#DIV/0!", "e"
    read = read_table(saved(book), "t.xlsx")
    hidden, errors = read.read_options.notices
    assert "hides 2 rows (first row 5)" in hidden and "1 error of a formula" in errors and "B9" in errors
    assert read.rows == 24 and read.frame["pay"].isna().sum() == 1
    reading = Reading(saved(book), "t.xlsx", ReadOptions(), confidential=True)
    assert reading.table().read_options.notices == read.read_options.notices


def test_merged_cells_of_several_records_are_refused_and_those_above_them_are_not():
    """All but the first were empty: groups that are merged lost most of their records without a word."""
    book = openpyxl.Workbook()
    sheet = filled(book.active, title=2)
    sheet.merge_cells("A1:B2")
    assert read_table(saved(book), "t.xlsx").rows == 24
    sheet.merge_cells("A6:A8")
    with pytest.raises(InputError, match=r"merged cells of several rows .*A6"):
        read_table(saved(book), "t.xlsx")
    filled(book.create_sheet("Fine"))
    assert read_table(saved(book), "t.xlsx", ReadOptions(sheet="Fine")).rows == 24


def test_a_character_that_is_written_by_its_number_is_that_character():
    """A cell that ends with a carriage return was a category beside the same without it."""
    book = openpyxl.Workbook()
    sheet = filled(book.active)
    sheet["A2"], sheet["A3"] = "x_x000D_", "y_x005F_x000D_"
    assert set(read_table(saved(book), "t.xlsx").frame["area"]) == {"x", "y", "z", "y_x000D_"}


def test_workbooks_of_other_formats_are_refused_in_words():
    book = openpyxl.Workbook()
    filled(book.active)
    ordinary, strict = zipfile.ZipFile(io.BytesIO(saved(book))), io.BytesIO()
    with zipfile.ZipFile(strict, "w") as archive:
        for part in ordinary.namelist():
            here = ordinary.read(part)
            new = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
            archive.writestr(
                part, here.replace(b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", new)
            )
    with zipfile.ZipFile(other := io.BytesIO(), "w") as archive:
        archive.writestr("content.xml", "<a/>")
    for content, said in (strict, "strict Open XML"), (other, "no Excel workbook"):
        with pytest.raises(InputError, match=said):
            read_table(content.getvalue(), "t.xlsx")
