"""What typed files hold beside numbers and texts: decimals, days, times, empty labels, empty rows, titles."""

import datetime
import decimal
import io

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.readers import ReadOptions
from synth_core.data.table import declared_again, read_table
from synth_core.errors import InputError
from tests.support.typed_files import file_bytes, typed

N = 40
DAYS = [datetime.date(2024, 1, 1 + i % 28) for i in range(N)]


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return read_table(stream.getvalue(), "t.parquet")


def statistical(kind, path, frame, **more):
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[kind]
    write(frame, str(path / f"t.{kind}"), **more)
    return read_table((path / f"t.{kind}").read_bytes(), f"t.{kind}")


def workbook(*rows):
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return read_table(stream.getvalue(), "t.xlsx")


def written(table, column):
    return list(table.as_written([column], np.ones(table.rows, bool))[column])


def test_days_of_a_parquet_file_are_dates():
    table = parquet(d=pa.array(DAYS), x=pa.array(range(N)))
    assert table.column("d").kind == "date" and table.column("d").distinct == 28
    assert written(table, "d") == [day.isoformat() for day in DAYS]


def test_times_of_a_day_are_text_of_which_equal_ones_are_equal(tmp_path):
    times = [datetime.time(3, i % 4) for i in range(N)]
    for table in (
        parquet(t=pa.array(times)),
        statistical("sav", tmp_path, pd.DataFrame({"t": times})),
    ):
        assert (table.column("t").kind, table.column("t").distinct) == ("text", 4)
        assert all(cell.startswith("03:0") for cell in written(table, "t"))


@pytest.mark.parametrize(
    ("first", "kind"),
    [("12345678901234567890.5", pa.decimal128(30, 1)), ("12345678901234567890", pa.decimal128(30, 0))],
)
def test_a_decimal_that_no_number_holds_stays_as_it_is_written(first, kind):
    numbers = [decimal.Decimal(first) + i for i in range(N)]
    table = parquet(n=pa.array(numbers, kind))
    assert table.column("n").distinct == N and written(table, "n") == [str(n) for n in numbers]


def test_a_decimal_that_a_number_holds_is_one():
    table = parquet(n=pa.array([decimal.Decimal(i) / 4 for i in range(N)], pa.decimal128(20, 2)))
    np.testing.assert_array_equal(table.frame["n"], np.arange(N) / 4)


@pytest.mark.parametrize("kind", [pa.decimal128(8, 2), pa.decimal128(38, 18), pa.decimal128(17, 2)])
def test_decimals_are_the_numbers_that_are_written_so(kind):
    """8661.13 became 8661.130000000001, which is no missing mark and no category, and 18 decimals became text."""
    cells = [decimal.Decimal(int(x)).scaleb(-2) for x in np.random.default_rng(2).integers(10, 999_999, 300)]
    table = parquet(n=pa.array([*cells, decimal.Decimal("99.99")], kind))
    np.testing.assert_array_equal(table.frame["n"], [*map(float, cells), 99.99])
    assert table.with_missing(["99.99"]).frame["n"].isna().iloc[-1]


def test_decimals_that_were_computed_are_numbers():
    table = parquet(
        n=pa.array([decimal.Decimal(f"{i / 7:.18f}") for i in range(1, N)], pa.decimal128(38, 18))
    )
    np.testing.assert_allclose(table.frame["n"], np.arange(1, N) / 7, rtol=1e-15)


def test_codes_with_an_empty_label_stay_codes_and_are_not_missing(tmp_path):
    labels = {"sex": {1: "", 2: "female"}}
    table = statistical("dta", tmp_path, pd.DataFrame({"sex": [1, 2] * 20}), variable_value_labels=labels)
    assert table.column("sex").missing == 0 and set(table.frame["sex"]) == {1, 2}


def test_empty_rows_of_a_sheet_are_no_records():
    rows = [[i, 30 + i % 5] for i in range(N)]
    assert workbook(["inc", "age"], *rows[:20], [], [], *rows[20:], []).rows == N


@pytest.mark.parametrize("above", [[["Incomes"]], [["Incomes"], []], [["Incomes"], ["of 2024"]]])
def test_a_title_above_two_columns_of_a_sheet_is_left_out(above):
    table = workbook(*above, ["inc", "age"], *[[i, 30 + i % 5] for i in range(N)])
    assert (list(table.frame.columns), table.rows) == (["inc", "age"], N)


def test_two_columns_of_which_one_has_no_name_are_not_a_title_and_a_header():
    with pytest.raises(InputError, match=r"Column 2 of t\.xlsx has no name"):
        workbook(["inc"], *[[f"p{i}", f"q{i}"] for i in range(N)])


@pytest.mark.parametrize(
    ("suffix", "kind", "beyond", "usual"),
    [
        (".sav", "DATE11", 1e12, 1.5e10),
        (".sav", "MOYR8", 1e15, 1.5e10),
        (".dta", "%td", 9_999_999, 15_000),
        (".dta", "%tm", 99_999_999, 500),
        (".xpt", "DATE9", -999_999, 15_000),
        (".xpt", "MONYY7", 1e9, 15_000),
    ],
)
def test_a_date_beyond_the_calendar_leaves_its_column_numbers_and_the_others_dates(
    suffix, kind, beyond, usual
):
    """It made the whole file unreadable, or a missing cell without a word."""
    frame = {"n": range(N), "day": [usual] * (N - 1) + [beyond], "ok": [usual] * N, "x": range(N)}
    table = typed(suffix, frame, variable_format={"day": kind, "ok": kind})
    assert table.column("ok").kind == "date" and list(table.frame) == list(frame)
    assert list(table.frame["day"]) == frame["day"]


@pytest.mark.parametrize("suffix", [".sav", ".dta", ".xpt"])
def test_codes_of_sixteen_digits_leave_as_whole_numbers(suffix):
    codes = [1_234_567_890_123_456.0 + i for i in range(N)]
    assert written(typed(suffix, {"n": range(N), "code": codes}), "code") == [f"{code:.0f}" for code in codes]


def test_a_column_name_that_stands_twice_in_a_parquet_file_is_named():
    stream = io.BytesIO()
    columns = [
        pa.array([1, None, 2**60]),
        pa.array([1.5, 2.5, 3.5], pa.float32()),
        pa.array([1, None, 2**61]),
    ]
    pq.write_table(pa.table(columns, names=["age", "x", "age"]), stream)
    with pytest.raises(InputError, match="'age' stands more than once"):
        read_table(stream.getvalue(), "t.parquet")


CITIES = {"n": [1.0, 2.0] * (N // 2), "city": ["Zxrich", "Gxnf"] * (N // 2)}
NAMES = {"n": {1: "Bxle", 2: "Bern"}}


@pytest.mark.parametrize("other", [(b"Zxrich", "Zürich"), (b"Bxle", "Bâle")])
def test_texts_of_spss_that_are_not_in_utf_8_are_read_as_windows_1252(other):
    """A value label or a text that is not what the file says made it unreadable."""
    content = file_bytes(".sav", pd.DataFrame(CITIES), variable_value_labels=NAMES)
    table = read_table(content.replace(other[0], other[1].encode("cp1252")), "t.sav")
    assert table.read_options.encoding == "cp1252"
    assert other[1] in {*table.frame["city"], *table.codebook.get("n").labels}


def test_texts_of_spss_in_two_encodings_are_refused_until_one_is_said():
    content = file_bytes(".sav", pd.DataFrame(CITIES), variable_value_labels=NAMES)
    content = content.replace(b"Zxrich", "Zürich".encode("cp1252")).replace(b"Bxle", "Bâle".encode()[:4])
    with pytest.raises(InputError, match="several encodings"):
        read_table(content, "t.sav")
    assert "Zürich" in set(read_table(content, "t.sav", ReadOptions(encoding="cp1252")).frame["city"])


@pytest.mark.parametrize("encoding", ["cp1250", "cp1251"])
def test_other_encodings_can_be_said(encoding):
    word = {"cp1250": "Łódź", "cp1251": "Москва"}[encoding]
    text = ("n,city\n" + f"1,{word}\n" * N).encode(encoding)
    transport = file_bytes(".xpt", pd.DataFrame({"n": range(N), "city": ["x" * len(word)] * N}))
    transport = transport.replace(b"x" * len(word), word.encode(encoding))
    for content, name in ((text, "t.csv"), (transport, "t.xpt")):
        assert set(read_table(content, name, ReadOptions(encoding=encoding)).frame["city"]) == {word}


@pytest.mark.parametrize(
    ("suffix", "kind", "number", "day"),
    [
        (".dta", "%-td", 15_000, "2001-01-25"),
        (".dta", "%tw", 52 * 41 + 3, "2001-01-22"),
        (".dta", "%th", 83, "2001-07-01"),
        (".xpt", "JULIAN7", 15_000, "2001-01-25"),
        (".xpt", "WORDDATE", 15_000, "2001-01-25"),
        (".xpt", "DTMONYY7", 1_296_000_000, "2001-01-25"),
        (".xpt", "DTDATE9", 1_296_000_000, "2001-01-25"),
    ],
)
def test_days_and_periods_in_more_formats_are_dates(suffix, kind, number, day):
    table = typed(suffix, {"n": range(N), "day": [float(number)] * N}, variable_format={"day": kind})
    assert table.column("day").kind == "date" and set(table.frame["day"]) == {pd.Timestamp(day)}


def test_days_beside_days_as_text_are_dates():
    days = [DAYS[i] if i % 2 else DAYS[i].isoformat() for i in range(N)]
    columns = {"n": range(N), "day": days}
    table = typed(".xlsx", columns)
    later = typed(".xlsx", columns, ReadOptions(codebook=table.codebook_of(["day"])))
    for each in (table, later):
        assert each.column("day").kind == "date" and set(map(type, each.frame["day"])) == {str}


def test_a_time_of_parquet_has_no_empty_fraction():
    assert set(parquet(t=pa.array([datetime.time(8, 22)] * N)).frame["t"]) == {"08:22:00"}


TIMES = {
    "of a day": ([datetime.time(3, i % 4) for i in range(N)], ["03:00:00", "03:01:00", "03:02:00"]),
    "of more than a day": (
        [datetime.timedelta(hours=24 + i % 4) for i in range(N)],
        ["24:00:00", "25:00:00", "26:00:00"],
    ),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_a_workbook_and_durations_of_a_parquet_file_are_texts_as_in_other_formats(kind):
    """They stayed objects, of which a plan could not be written: a traceback."""
    times, texts = TIMES[kind]
    tables = [workbook(["t", "x"], *[[each, i] for i, each in enumerate(times)])]
    if kind != "of a day":
        tables.append(parquet(t=pa.array(times, pa.duration("us")), x=pa.array(range(N))))
    for table in tables:
        assert [type(cell) for cell in table.frame["t"]] == [str] * N
        assert list(table.frame["t"][:3]) == written(table, "t")[:3] == texts


def test_days_beside_a_text_leave_as_days():
    table = workbook(["d", "x"], *[[day if i else "unknown", i] for i, day in enumerate(DAYS)])
    assert written(table, "d")[:2] == ["unknown", "2024-01-02"]


def test_codes_that_a_workbook_keeps_partly_as_texts_are_told_apart():
    """10.10, a text, and 10.1, a number, became one code, and left as 10.1."""
    cells = ["10.10", 10.1, 10.2, "10.20"]
    table = workbook(["x", "nace"], *[[i, cells[i % 4]] for i in range(N)])
    assert written(table, "nace")[:4] == ["10.10", "10.1", "10.2", "10.20"]
    assert pd.api.types.is_numeric_dtype(table.frame["nace"])
    with pytest.raises(InputError, match=r"10\.1 and 10\.10, which may be one code or two"):
        table.check_codes("nace")
    assert set(table.category_places("nace", ("10.1", "10.10", "10.2", "10.20"))) == {0, 1, 2, 3}
    number = Codebook(columns=(Entry(column="nace", kind="number"),))  # as a plan has it of a later table
    later = typed(".xlsx", {"x": range(N), "nace": cells * 10}, ReadOptions(codebook=number))
    for same in (later, declared_again(table, number)):
        assert written(same, "nace")[:4] == ["10.10", "10.1", "10.2", "10.20"]
    declared = declared_again(table, Codebook(columns=(Entry(column="nace", kind="category"),)))
    assert set(declared.frame["nace"]) == {"10.10", "10.1", "10.2", "10.20"}


@pytest.mark.parametrize(("encoding", "letter"), [(None, "\x81"), ("latin-1", "\xfc"), ("latin-1", "\x81")])
def test_texts_of_sas_are_read_as_latin_1(encoding, letter, tmp_path):
    """The reader knows it as ISO-8859-1 alone: the choice was refused for each file, as if it were damaged."""
    pyreadstat.write_xport(pd.DataFrame({"city": ["Zxrich"] * N, "x": np.arange(N)}), str(tmp_path / "t.xpt"))
    content = (tmp_path / "t.xpt").read_bytes().replace(b"Zxrich", f"Z{letter}rich".encode("latin-1"))
    table = read_table(content, "t.xpt", ReadOptions(encoding=encoding))
    assert (set(table.frame["city"]), table.read_options.encoding) == ({f"Z{letter}rich"}, "latin-1")


def test_days_in_a_format_of_old_stata_are_dates(tmp_path):
    """They were numbers of some 20,000."""
    frame = pd.DataFrame({"day": 20_000.0 + np.arange(N), "x": np.arange(N)})
    table = statistical("dta", tmp_path, frame, variable_format={"day": "%dD/N/CY"})
    assert table.column("day").kind == "date"


def test_a_transport_file_that_is_cut_short_is_refused(tmp_path):
    """It says nowhere how many rows it has: those that were left were read as the table."""
    pyreadstat.write_xport(
        pd.DataFrame({"x": np.arange(500.0), "y": np.arange(500.0)}), str(tmp_path / "t.xpt")
    )
    content = (tmp_path / "t.xpt").read_bytes()
    assert read_table(content, "t.xpt").rows == 500
    with pytest.raises(InputError, match=r"t\.xpt is no whole number of records of 80 bytes"):
        read_table(content[:-1234], "t.xpt")
