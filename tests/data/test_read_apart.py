"""Small files that ask for much, broken ones, and readings that are stopped or left."""

import contextlib
import datetime
import io
import os
import signal
import subprocess
import tempfile
import time
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth_core.data.read_apart import Reading
from synth_core.data.table import read_table
from synth_core.errors import InputError
from synth_core.system import limits
from tests.conftest import PYTHON, ROOT
from tests.support import mutations
from tests.support.marks import slow_but
from tests.support.mutations import FORMATS

SMALL = b"x,z\n" + b"1.5,2\n2.5,3\n" * 20
SHEET = "xl/worksheets/sheet1.xml"


def workbook(rows):
    """An .xlsx of few bytes with a sheet of many rows."""
    stream, out = io.BytesIO(), io.BytesIO()
    openpyxl.Workbook().save(stream)
    lines = b"".join(b'<row r="%d"><c r="A%d"><v>1</v></c></row>' % (i, i) for i in range(1, rows + 1))
    name = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    with zipfile.ZipFile(stream) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for part in source.namelist():
            sheet = b'<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (name, lines)
            target.writestr(part, sheet if part == SHEET else source.read(part))
    return out.getvalue()


def test_a_file_is_read_as_it_is_here():
    table = Reading(SMALL, "t.csv", confidential=False).table()
    here = read_table(SMALL, "t.csv", confidential=False)
    assert (table.fingerprint, table.columns, table.confidential) == (
        here.fingerprint,
        here.columns,
        False,
    )
    assert table.read_options == here.read_options


def test_words_of_a_refusal_come_back():
    with pytest.raises(InputError, match="is empty"):
        Reading(b"", "t.csv").table()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_too_many_columns_are_refused_before_they_are_read(delimiter):
    line = delimiter.join(["1"] * 150_000).encode()
    started = time.process_time()
    with pytest.raises(InputError, match="150,000 columns"):
        read_table(line + b"\n" + line, "t.csv")
    assert time.process_time() - started < 20  # it took more than 90


def test_a_binary_column_is_named():
    stream = io.BytesIO()
    pq.write_table(pa.table({"a": [1, 2], "b": pa.array([b"ok", b"\xff\xfe"], pa.binary())}), stream)
    with pytest.raises(InputError, match=r"Column 'b' of t.parquet holds binary data; store it"):
        read_table(stream.getvalue(), "t.parquet")


def test_whatever_goes_wrong_while_columns_are_described_is_said(monkeypatch):
    def fails(series, name, entry):
        raise UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret")

    monkeypatch.setattr("synth_core.data.table.describe", fails)
    with pytest.raises(InputError, match="could not be read as csv") as caught:
        read_table(SMALL, "t.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.slow
def test_a_long_reading_ends_at_its_limit(monkeypatch):
    monkeypatch.setattr(limits, "READ_SECONDS", 2)
    started = time.monotonic()
    with pytest.raises(InputError, match="was not read within 2 seconds"):
        Reading(workbook(1_000_000), "t.xlsx").table()
    assert time.monotonic() - started < 15


@pytest.mark.slow
def test_one_that_is_stopped_or_left_leaves_no_process():
    content = workbook(1_000_000)
    for act, words in ((Reading.close, "cancelled"), (lambda reading: time.sleep(2), "page was left")):
        reading = Reading(content, "t.xlsx", abandoned_after=1.0)
        assert not reading.finished(0.5)
        act(reading)
        with pytest.raises(InputError, match=words):
            reading.table()
        with pytest.raises(ProcessLookupError):
            os.kill(reading._child.pid, 0)


@pytest.mark.slow
def test_a_reader_that_crashes_is_a_sentence():
    reading = Reading(workbook(1_000_000), "t.xlsx")
    os.killpg(reading._child.pid, signal.SIGSEGV)
    with pytest.raises(InputError, match="its reader ended"):
        reading.table()


@pytest.mark.slow
def test_the_reader_does_not_outlive_its_server():
    code = (
        "import os, sys, time\n"
        "from synth_core.data.read_apart import Reading\n"
        "reading = Reading(open(sys.argv[1], 'rb').read(), 't.xlsx')\n"
        "print(reading._child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with tempfile.NamedTemporaryFile(suffix=".xlsx") as stream:
        stream.write(workbook(1_000_000))
        stream.flush()
        server = subprocess.Popen(
            [PYTHON, "-c", code, stream.name], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        child = int(server.stdout.readline())
        time.sleep(1)
        server.kill()
        server.wait()
        server.stdout.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("the reader goes on without its server")


def test_memory_is_limited():
    code = (
        "from synth_core.system.apart import limit_process\nlimit_process(900, 60)\nbytearray(2 * 1024**3)\n"
    )
    found = subprocess.run([PYTHON, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "MemoryError" in found.stderr


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_read_or_refused(kind):
    """Two seconds a format; ten minutes once by hand (`python -m tests.support.mutations`)."""
    seed, seconds = 20_261_122, 2.0
    command = [PYTHON, "-X", "faulthandler", "-m", "tests.support.mutations", kind, str(seed), str(seconds)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    numbers = found.stdout.split()
    assert len(numbers) > 10
    if found.returncode < 0:  # a parser written in C ended the process, by this file or by those before it
        sample = mutations.damaged(mutations.sound(kind), np.random.default_rng([seed, int(numbers[-1])]))
        with contextlib.suppress(InputError):  # alone, as the app reads it, it is read or refused in words
            Reading(sample, f"t.{kind}").table()
    else:
        assert found.returncode == 0, found.stderr[-2000:]


@pytest.mark.parametrize("kind", slow_but(["csv", "xlsx", "dta"], FORMATS))
def test_nothing_changes_on_the_way(kind):
    content = mutations.sound(kind)
    here, there = read_table(content, f"t.{kind}"), Reading(content, f"t.{kind}").table()
    assert there.fingerprint == here.fingerprint
    assert list(there.frame.dtypes) == list(here.frame.dtypes)
    assert there.columns == here.columns


def test_mixed_cells_are_text_and_missing_ones_stay():
    stream = io.BytesIO()
    frame = pd.DataFrame(
        {
            "x": [1, "N", 2.5, None],
            "day": [datetime.date(2026, 1, 1), "later", 3, None],
            "whole": [1, None, 3, 2],
            "yes": [True, False, None, True],
            "empty": [None] * 4,
        },
        dtype=object,
    )
    frame.to_excel(stream, index=False)
    here = read_table(stream.getvalue(), "t.xlsx")
    there = Reading(stream.getvalue(), "t.xlsx").table()
    assert list(here.frame["x"][:3]) == ["1", "N", "2.5"]
    assert [c.missing for c in here.columns] == [1, 1, 1, 1, 4]
    assert there.fingerprint == here.fingerprint
    assert there.columns == here.columns


def test_one_long_text_that_many_rows_share_is_refused_before_it_is_unfolded():
    """2 kB of Parquet whose cells share one entry: unfolded it would be their number times its length."""
    stream = io.BytesIO()
    text = pa.array(["x" * 2_000_000]).dictionary_encode()
    pq.write_table(pa.table({"t": text.take(pa.array([0] * 20)), "x": range(20)}), stream, compression="zstd")
    assert len(stream.getvalue()) < 20_000
    with pytest.raises(InputError, match=r"'t' of .* holds a cell of 2,000,000 characters"):
        Reading(stream.getvalue(), "t.parquet").table()


@pytest.mark.slow
def test_an_answer_longer_than_its_file_may_become_is_not_kept(monkeypatch):
    """100 kB of Parquet that share a text below the length of a cell: the reader ends, the server keeps nothing."""
    stream = io.BytesIO()
    text = pa.array(["x" * 30_000]).dictionary_encode()
    pq.write_table(
        pa.table({"t": text.take(pa.array([0] * 200)), "x": range(200)}), stream, compression="zstd"
    )
    monkeypatch.setattr(limits, "UNPACKED_FREE_MB", 1)
    reading = Reading(stream.getvalue(), "t.parquet")
    with pytest.raises(InputError, match="unpacks to more than 1 MB: too large to be read"):
        reading.table()
    with pytest.raises(ProcessLookupError):
        os.kill(reading._child.pid, 0)
    monkeypatch.undo()
    assert Reading(stream.getvalue(), "t.parquet").table().rows == 200


def test_a_cell_far_from_all_others_is_refused_before_the_sheet_is_opened():
    """A reader fills all that lies between: 1.5 kB were 12 GB."""
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "a", 1
    stream = io.BytesIO()
    book.save(stream)
    started = time.process_time()
    with pytest.raises(InputError, match=r"row 1,048,576 and column 16,384.* too far apart"):
        read_table(stream.getvalue(), "t.xlsx")
    assert time.process_time() - started < 5
