"""Files of another kind than their ending says, or of one that is not read: the refusal says the way out."""

import gzip
import io

import pandas as pd
import pytest

from synth_core.data.readers import SUFFIXES
from synth_core.data.table import read_table
from synth_core.errors import InputError

FRAME = pd.DataFrame({"n": range(20), "x": [1.5, 2.5] * 10})


def written(write):
    stream = io.BytesIO()
    write(FRAME, stream)
    return stream.getvalue()


WORKBOOK, PARQUET = written(pd.DataFrame.to_excel), written(pd.DataFrame.to_parquet)
CSV = FRAME.to_csv(index=False).encode()


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (WORKBOOK, "t.csv", "is a workbook or another archive"),
        (PARQUET, "t.csv", "is a Parquet file"),
        (gzip.compress(CSV), "t.csv", "is packed by gzip"),
        (gzip.compress(WORKBOOK), "t.csv.gz", "is a workbook or another archive"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
            "t.xlsx",
            "an old Excel workbook, or one with a password",
        ),
        (b"\n<!DOCTYPE html>\n<html><p>Sign in, please</html>", "t.csv", "is a web page"),
        (b'\xef\xbb\xbf[{"n": 1, "x": 2}]', "t.txt", "is a JSON file"),
        (WORKBOOK[:-60], "t.xlsx", "cut short"),
        (CSV, "t.dta", "cut short or broken"),
    ],
    ids=lambda each: each if isinstance(each, str) else "content",  # which holds the time
)
def test_a_file_of_another_kind_is_said_to_be_one(content, name, said):
    with pytest.raises(InputError, match=said):
        read_table(content, name)


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("ods", "spreadsheet program"),
        ("xls", "spreadsheet program"),
        ("por", "SPSS"),
        ("sas7bcat", "labels"),
        ("zip", "Unpack"),
        ("rds", "write.csv"),
        ("pdf", "Save the table"),
        ("unknown", "cannot be read; use one of"),
    ],
)
def test_an_ending_that_is_not_read_comes_with_the_way_out(ending, said):
    with pytest.raises(InputError, match=said) as error:
        read_table(CSV, f"t.{ending}")
    assert all(suffix in str(error.value) for suffix in SUFFIXES)


@pytest.mark.parametrize("name", ["PAR1", "BZh", "pk"])
def test_a_header_that_looks_like_a_mark_of_a_format_is_one(name):
    assert read_table(CSV.replace(b"n,", name.encode() + b","), "t.csv").rows == 20


def test_a_cell_without_end_is_said():
    """The reader of CSV had a limit of its own, and the refusal was IndexError."""
    for content in b"0" * (3 << 20), b"a" * 200_000 + b",b\n" + b"1,2\n" * 20:
        with pytest.raises(InputError, match=r"The first line of .* no line of names"):
            read_table(gzip.compress(content), "t.csv.gz")
    long = read_table(b"a,b\n" + b"1,2\n" * 20 + b"x" * 200_000 + b",3\n", "t.csv")
    assert long.rows == 21 and long.frame["b"].iloc[-1] == 3


def test_a_file_of_delimiters_alone_is_refused():
    with pytest.raises(InputError, match="neither a name nor a value"):
        read_table(b",,\n" * 20, "t.csv")
