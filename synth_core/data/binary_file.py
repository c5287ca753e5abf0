"""Typed tables of Stata, SPSS, SAS and Parquet, with their value labels and marks of missing values.

Nothing is written to disk: readers that accept a path only are given an unnamed file in memory.
"""

from __future__ import annotations

import datetime
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synth_core.data.text_file import check_columns
from synth_core.errors import InputError
from synth_core.system import limits

PARQUET = ".parquet"
WHOLE_NUMBERS = 2**53  # beyond, a floating-point number would round them
STATISTICAL = (".dta", ".sav", ".zsav", ".sas7bdat", ".xpt")
XPT_RECORD = 80  # bytes


@dataclass(frozen=True)
class TypedColumns:
    """What a typed file holds.

    Attributes
    ----------
    frame : DataFrame
    labels : dict
        Of a column, what each of its codes is called.
    labelled : frozenset of str
        Columns whose codes become their labels, or are shown with leading zeros.
    encoding : str, optional
        Of its texts, where it was not as the format says.
    """

    frame: pd.DataFrame
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    labelled: frozenset[str] = frozenset()
    encoding: str | None = None


def read_parquet(content: bytes, name: str) -> TypedColumns:
    """The columns of a Parquet file. Texts stay in their dictionaries until they are known to be of ordinary length."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(content))
    unpacked = sum(file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups))
    if unpacked > limits.MAX_UNPACKED_MB * 1024**2:
        raise InputError(f"The file {name} unpacks to more than {limits.MAX_UNPACKED_MB:,} MB.")
    check_size(file.metadata.num_rows, file.metadata.num_columns, name)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    texts = [each.name for each in file.schema_arrow if any(kind(each.type) for kind in kinds)]
    table = pq.ParquetFile(io.BytesIO(content), read_dictionary=texts).read()
    for place, column in enumerate(table.schema.names):
        values = table.column(place)
        if pa.types.is_dictionary(values.type):
            for chunk in values.chunks:
                if pa.types.is_string(chunk.dictionary.type) or pa.types.is_large_string(
                    chunk.dictionary.type
                ):
                    check_length(pc.max(pc.utf8_length(chunk.dictionary)).as_py() or 0, column, name)
                elif pa.types.is_binary(chunk.dictionary.type):
                    raise InputError(binary_data(column, name))
            table = table.set_column(place, column, values.cast(values.type.value_type))
        elif pa.types.is_decimal(values.type):
            table = table.set_column(place, column, _decimals(values))
        elif pa.types.is_date(values.type):
            table = table.set_column(place, column, values.cast(pa.timestamp("ms")))
        elif pa.types.is_time(values.type):
            texts = pc.replace_substring_regex(values.cast(pa.string()), r"\.0+$", "")
            table = table.set_column(place, column, texts)
    return TypedColumns(_exact_frame(table))


def _exact_frame(table: Any) -> pd.DataFrame:
    """A table of Arrow as a data frame, whose numbers are those of the file to the last digit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    frame = table.to_pandas(ignore_metadata=True)
    for place in range(table.num_columns):  # a name may stand twice, which is said later
        values = table.column(place)
        if pa.types.is_integer(values.type) and values.null_count:
            ends = pc.min_max(values).as_py()
            if max(-(ends["min"] or 0), ends["max"] or 0) > WHOLE_NUMBERS:
                kind = "UInt64" if pa.types.is_unsigned_integer(values.type) else "Int64"
                frame.isetitem(place, pd.array(values.to_pandas(integer_object_nulls=True), dtype=kind))
        elif pa.types.is_float32(values.type) or pa.types.is_float16(values.type):
            width = np.float32 if pa.types.is_float32(values.type) else np.float16
            frame.isetitem(place, _of_fewer_bits(frame.iloc[:, place], width))
    return frame


def _of_fewer_bits(series: pd.Series, width: type[np.floating[Any]]) -> pd.Series:
    """Numbers of 32 or 16 bits as those that were written: 0.1, and not the nearest of so many bits to it."""
    index, numbers = pd.factorize(series.astype(np.float32))  # which holds those of 16 bits too
    written = np.array([*(float(str(number)) for number in np.asarray(numbers, width)), np.nan])
    return pd.Series(written[index], index=series.index)


def _decimals(values: Any) -> Any:
    """Decimals as the numbers that are written so; as text where whole numbers are too large for that.

    Through text, for Arrow's own conversion to floating-point numbers is off by a last digit: 8661.13 is none then.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = values.cast(pa.string())
    if values.type.scale <= 0:
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid:
            return texts
    numbers = texts.cast(pa.float64())
    return texts if pc.any(pc.greater(pc.abs(numbers), WHOLE_NUMBERS)).as_py() else numbers


def binary_data(column: str, name: str) -> str:
    """What is said of a column of bytes."""
    return f"Column '{column}' of {name} holds binary data; store it as text or as numbers, or leave the column out."


def check_length(characters: int, column: str, name: str) -> None:
    """Refuse a text that no cell of a survey holds: every row that shares it would cost its length again."""
    if characters > limits.MAX_CELL_CHARACTERS:
        raise InputError(
            f"Column '{column}' of {name} holds a cell of {characters:,} characters; at most "
            f"{limits.MAX_CELL_CHARACTERS:,} can be read. Shorten it, or leave the column out."
        )


def read_statistical(content: bytes, suffix: str, name: str, encoding: str | None) -> TypedColumns:
    """The columns of a file of Stata, SPSS or SAS.

    Codes with a label each become their labels in a Stata file, as Stata shows them; where only some have one (9999999:
    Refused) the column stays one of numbers, and where one label is of two codes it stays one of codes.
    """
    if suffix == ".xpt" and len(content) % XPT_RECORD:  # it does not say how many rows it has
        raise InputError(
            f"The file {name} is no whole number of records of {XPT_RECORD} bytes, as a transport file of SAS is: it "
            "is cut short, or was changed on its way. Copy it anew, as it was written."
        )
    with _path_of(content, suffix) as path:
        about, used = _metadata(path, suffix, name, encoding)
        check_size(about.number_rows or 0, about.number_columns or 0, name)
        frame = _with_dates(path, suffix, used, list(about.column_names))
        times = [column for column in frame.columns if _are_times(frame[column])]
        if times:  # a reader takes those of 24 hours or more for times of a day
            frame[times] = _without_dates(path, suffix, used, times)[times].apply(_hours)
    labels = {
        column: {
            _code(code): str(label).strip()
            for code, label in of.items()
            if not _means_missing(code, about.missing_ranges.get(column, ()), suffix)
        }
        for column, of in about.variable_value_labels.items()
    }
    labels = {column: of for column, of in labels.items() if of}
    labelled: set[str] = set()
    for column in frame.columns:
        if suffix == ".dta" and about.readstat_variable_types.get(column) == "float":
            frame[column] = _of_fewer_bits(frame[column], np.float32)
        if column in about.variable_value_labels and suffix == ".dta":
            codes = frame[column]
            frame[column] = named = _labelled(codes, about.variable_value_labels[column])
            labelled |= set() if named is codes else {column}
        if frame[column].dtype == object:
            frame[column] = _plain(frame[column])
        elif pd.api.types.is_numeric_dtype(frame[column]):
            written_as = about.original_variable_types.get(column) or ""
            frame[column] = _dates(frame[column], suffix, written_as)
            zeros = _ZEROS.fullmatch(written_as) if column not in labels else None
            if zeros and (shown := with_zeros(frame[column], int(zeros[zeros.lastindex or 0]))):
                labels[column] = shown
                labelled.add(column)
    return TypedColumns(frame, labels, frozenset(labelled), used)


def with_zeros(codes: pd.Series, digits: int) -> dict[str, str]:
    """Of codes that a file shows filled up with zeros, how each is shown: 01 of 1; empty where none is."""
    present = codes.dropna()
    if not pd.api.types.is_numeric_dtype(present) or pd.api.types.is_bool_dtype(present):
        return {}
    whole = (present >= 0) & (present % 1 == 0) & (present < 10.0**digits)
    if not whole.all() or not (present < 10.0 ** (digits - 1)).any():
        return {}
    return {str(code): f"{code:0{digits}d}" for code in map(int, present.unique())}


def _with_dates(path: str, suffix: str, encoding: str | None, columns: list[str]) -> pd.DataFrame:
    """These columns, dates as such; those of which one lies beyond the calendar as the numbers that the file holds."""
    try:
        return _reader(suffix)(path, usecols=columns, **_encoding(encoding))[0]
    except OverflowError:
        if len(columns) < 2:
            return _without_dates(path, suffix, encoding, columns)
    half = len(columns) // 2
    parts = [_with_dates(path, suffix, encoding, part) for part in (columns[:half], columns[half:])]
    return pd.concat(parts, axis=1)


def _without_dates(path: str, suffix: str, encoding: str | None, columns: list[str]) -> pd.DataFrame:
    read = _reader(suffix)(path, usecols=columns, disable_datetime_conversion=True, **_encoding(encoding))
    return read[0]


def _are_times(series: pd.Series) -> bool:
    present = series.dropna()
    times = present.map(lambda cell: isinstance(cell, datetime.time))
    return len(present) > 0 and series.dtype == object and bool(times.all())


def hours_text(all_seconds: float) -> str:
    """A time as hours, minutes and seconds, of which there may be more than 24 hours."""
    minutes, rest = divmod(abs(all_seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    sign = "-" if all_seconds < 0 else ""
    return f"{sign}{hours:02d}:{minutes:02d}:{rest:09.6f}".removesuffix(".000000")


def _hours(seconds: pd.Series) -> pd.Series:
    return seconds.astype(float).map(hours_text, na_action="ignore").astype(object)


# Formats of dates that pyreadstat leaves numbers, how many seconds one counts, and from when.
_COUNTS = {
    ".sav": ((r"(MOYR|QYR|WKYR)\d*", 1, "1582-10-14"),),
    ".sas": (
        (
            r"(MONYY|MMYY|YYMM|YYMON|YYQ|YYQR|QTR|MONTH|MONNAME|YEAR|WEEKDATE|JULIAN|WORDDATE|NLDATE|EURDF..)\w?[\d.]*",
            86_400,
            "1960-01-01",
        ),
        (r"DT(DATE|MONYY|WKDATX|YEAR|YYQC)[\d.]*", 1, "1960-01-01"),
    ),
    ".dta": ((r"%-?t?d.*", 86_400, "1960-01-01"),),
}
# Formats of whole numbers with leading zeros, of SPSS, SAS and Stata.
_ZEROS = re.compile(r"N(\d+)(?:\.0)?|Z(\d+)\.?0?|%-?0(\d+)\.0[fg]")
_STATA_MONTHS = {"m": 1, "q": 3, "h": 6}  # of a period, which are counted from 1960
_STATA_WEEKS = 52  # of a year: the last has the days that are left


def _dates(numbers: pd.Series, suffix: str, written_as: str) -> pd.Series:
    """Numbers that the file shows as days, weeks, months or quarters as the dates that they are; others as they are."""
    found = _of_period(numbers, written_as) if suffix == ".dta" else None
    kind = {".sav": ".sav", ".zsav": ".sav", ".dta": ".dta"}.get(suffix, ".sas")
    for formats, seconds, origin in _COUNTS[kind]:
        if re.fullmatch(formats, written_as, re.I):
            since = pd.to_timedelta(numbers * seconds, unit="s", errors="coerce")
            found = (pd.Timestamp(origin) + since).dt.normalize()
    if found is None or not found.notna().equals(numbers.notna()):
        return numbers
    return found if found.dropna().dt.year.between(1, datetime.MAXYEAR).all() else numbers


def _of_period(numbers: pd.Series, written_as: str) -> pd.Series | None:
    """The first days of Stata's periods, of which a year has so many; None for another format."""
    period = re.match(r"%-?t([wmqh])", written_as)
    if period is None:
        return None
    weeks = period[1] == "w"
    months = numbers * _STATA_MONTHS.get(period[1], 0)
    year = 1960 + (numbers // _STATA_WEEKS if weeks else months // 12)
    first = pd.to_datetime(pd.DataFrame({"year": year, "month": 1 + months % 12, "day": 1}), errors="coerce")
    return first + pd.to_timedelta(7 * (numbers % _STATA_WEEKS), unit="D") if weeks else first


def check_size(rows: int, columns: int, name: str) -> None:
    """Refuse, before it is unpacked, a small file that says it holds a huge table (run lengths pack that)."""
    check_columns(columns, name)
    if rows > limits.MAX_ROWS or rows * columns * 8 > limits.MAX_UNPACKED_MB * 1024**2:
        raise InputError(
            f"The file {name} unpacks to {rows:,} rows and {columns:,} columns: too large to be read."
        )


@contextmanager
def _path_of(content: bytes, suffix: str) -> Iterator[str]:
    if not hasattr(os, "memfd_create"):
        raise InputError(f"Files ending in '{suffix}' need Linux here; save the table as CSV.")
    handle = os.memfd_create("upload")  # memory, not disk: pyreadstat takes paths only
    try:
        os.write(handle, content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def _reader(suffix: str) -> Any:
    import pyreadstat

    return {
        ".dta": pyreadstat.read_dta,
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }[suffix]


def _encoding(encoding: str | None) -> dict[str, str]:
    """The encoding by the name that the reader knows it by."""
    if encoding is None:
        return {}
    known = {"LATIN-1": "ISO-8859-1", "MAC-ROMAN": "MACINTOSH"}
    name = re.sub(r"^CP(?=125)", "WINDOWS-", encoding.upper())
    return {"encoding": known.get(name, name)}


def _metadata(path: str, suffix: str, name: str, encoding: str | None) -> tuple[Any, str | None]:
    """What the file says of itself, and the encoding that its texts are in: transport files of SAS do not say."""
    import pyreadstat

    for candidate in (encoding,) if encoding else (None, "cp1252", "latin-1"):
        try:
            ranges = {"user_missing": True} if suffix in (".sav", ".zsav") else {}  # told by these alone
            _, about = _reader(suffix)(path, metadataonly=True, **ranges, **_encoding(candidate))
            frame = _without_dates(path, suffix, candidate, list(about.column_names))
        except (UnicodeDecodeError, pyreadstat.ReadstatError) as error:
            if isinstance(error, pyreadstat.ReadstatError) and "convert string" not in str(error):
                raise
            continue
        if candidate is not None and encoding is None:
            _check_one_encoding(frame, about, candidate, name)
        return about, candidate
    raise InputError(
        f"The texts of {name} cannot be decoded as {encoding}; choose another encoding (--encoding)."
    )


def _check_one_encoding(frame: pd.DataFrame, about: Any, found: str, name: str) -> None:
    """Refuse texts in two encodings: by the one that was found, those in UTF-8 would become other letters."""
    labels = {str(label) for of in about.variable_value_labels.values() for label in of.values()}
    texts = (
        frame[column].dropna().unique() for column in frame.columns if frame[column].dtype.kind not in "iuf"
    )
    for text in (*labels, *(text for each in texts for text in each if isinstance(text, str))):
        with suppress(UnicodeError):
            if text.encode(found).decode() != text:
                raise InputError(
                    f"The texts of {name} are in several encodings, UTF-8 and another. Save the file in one, or say "
                    "which it is (--encoding; in the app, How to read a text file)."
                )


def _means_missing(code: Any, ranges: Iterable[Mapping[str, Any]], suffix: str) -> bool:
    """Whether a labelled code marks a missing value, which is read as one: .a to .z of Stata, ranges of SPSS."""
    if isinstance(code, str) and suffix == ".dta":
        return True
    alike = [each for each in ranges if isinstance(each["lo"], str) == isinstance(code, str)]
    return any(each["lo"] <= code <= each["hi"] for each in alike)


def _code(code: object) -> str:
    return str(int(code)) if isinstance(code, float) and code % 1 == 0 else str(code)


def _labelled(series: pd.Series, of: Mapping[Any, Any]) -> pd.Series:
    """The labels of a Stata column, where every code that occurs has one of its own."""
    labels = {code: str(label).strip() for code, label in of.items()}
    found = [labels.get(code, "") for code in series.dropna().unique()]
    return series.map(labels) if all(found) and len(set(found)) == len(found) else series


def _plain(series: pd.Series) -> pd.Series:
    """Dates as dates, times of a day as text, blank text as missing."""
    series = series.map(
        lambda cell: cell.isoformat() if isinstance(cell, datetime.time) else cell, na_action="ignore"
    )
    present = series.dropna()
    if len(present) and present.map(lambda cell: isinstance(cell, datetime.date)).all():
        return pd.to_datetime(series, errors="coerce")
    return series.map(lambda cell: np.nan if isinstance(cell, str) and not cell.strip() else cell)
