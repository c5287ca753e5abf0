"""A workbook of several sheets: the first, or the one that is named; never a guess by its contents."""

import io

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
