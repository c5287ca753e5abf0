"""From the bytes of a file to a data frame: formats, delimiters, encodings, decimal commas.

Nothing is written to disk except for the formats whose reader accepts a path only
(SPSS, SAS): these pass through an unnamed in-memory file.
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from synth_core.data.workbook import read_sheet
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import one_line, unseen, visible

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
ENCODINGS = ("utf-8", "cp1252", "latin-1", "utf-16")
TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".gz")
WORKBOOK = ".xlsx"
SUFFIXES = (*TEXT_SUFFIXES, WORKBOOK, ".parquet", ".dta", ".sav", ".zsav", ".sas7bdat", ".xpt")
_DECIMAL_COMMA = re.compile(r"(?<![\w,.])-?\d+,\d+(?![\w,.])")


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None means detect.

    `sheet` is of a workbook, the first if it is None. `sheets` are all that were found in it, once it was read.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()


def read_frame(
    content: bytes, name: str, options: ReadOptions = ReadOptions()
) -> tuple[pd.DataFrame, ReadOptions]:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    content : bytes
    name : str
        The file's name; its ending decides the format.
    options : ReadOptions
        For text files and workbooks; what is None is detected.

    Returns
    -------
    frame : pandas.DataFrame
    options : ReadOptions
        As used.

    Raises
    ------
    InputError
        For an empty, unknown, broken or oversized file.
    """
    name = visible(one_line(name))
    suffix = PurePath(name).suffix.lower()
    if not content:
        raise InputError(f"The file {name} is empty.")
    if suffix not in SUFFIXES:
        raise InputError(
            f"Files ending in '{suffix or 'nothing'}' cannot be read; use one of {', '.join(SUFFIXES)}."
        )
    if options.sheet is not None and suffix != WORKBOOK:
        raise InputError(f"The file {name} has no sheets: only a workbook ({WORKBOOK}) has.")
    with reader_errors_in_words(name):
        if suffix in TEXT_SUFFIXES:
            frame, options = _read_text(_gunzip(content) if suffix == ".gz" else content, name, options)
        elif suffix == WORKBOOK:
            frame, sheet, sheets = read_sheet(content, name, options.sheet)
            options = replace(options, sheet=sheet, sheets=sheets)
        else:
            frame = _read_binary(content, suffix, name)
        return _checked(frame, name), options


@contextlib.contextmanager
def reader_errors_in_words(name: str) -> Iterator[None]:
    """The border between parsers and people: what goes wrong inside becomes an InputError in plain words."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"The file {name} does not fit into memory.") from None
    except Exception as error:  # a parser's own message may quote cells: not shown
        raise InputError(
            f"The file {name} could not be read as {PurePath(name).suffix.lstrip('.').lower()} "
            f"({type(error).__name__}). Check that it opens in the program that wrote it."
        ) from None


def _gunzip(content: bytes) -> bytes:
    import gzip

    limit = limits.MAX_UNPACKED_MB * 1024**2
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        plain = stream.read(limit + 1)
    if len(plain) > limit:
        raise InputError(f"The file unpacks to more than {limits.MAX_UNPACKED_MB:,} MB.")
    return plain


def _decode(content: bytes, name: str, encoding: str | None) -> tuple[str, str]:
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = encoding or "utf-16"
    elif encoding == "utf-16":
        pass
    elif b"\x00" in content[:8192]:
        raise InputError(f"The file {name} is not text: it contains binary data.")
    for candidate in (encoding,) if encoding else ("utf-8", "cp1252", "latin-1"):
        try:
            return content.decode("utf-8-sig" if candidate == "utf-8" else candidate), candidate
        except (UnicodeError, LookupError):
            continue
    raise InputError(f"The file {name} cannot be decoded as {encoding}; choose another encoding.")


def _detect_delimiter(text: str) -> str:
    """The delimiter that splits the first lines into the most equal columns."""
    sample = text[:65536].splitlines()[:50]
    scores: dict[str, float] = {}
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
        if widths and max(widths) > 1:
            agreement = widths.count(widths[0]) / len(widths)
            scores[delimiter] = agreement * 1000 + widths[0]
    return max(scores, key=lambda key: scores[key]) if scores else ","


def _read_text(content: bytes, name: str, options: ReadOptions) -> tuple[pd.DataFrame, ReadOptions]:
    text, encoding = _decode(content, name, options.encoding)
    if not text.strip():
        raise InputError(f"The file {name} is empty.")
    text = text.lstrip("\r\n")
    delimiter = options.delimiter or _detect_delimiter(text)
    decimal = options.decimal
    if decimal is None:
        sample = text[:65536]
        points = len(re.findall(r"(?<![\w.])-?\d+\.\d+(?![\w.])", sample))
        commas = len(_DECIMAL_COMMA.findall(sample)) if delimiter != "," else 0
        decimal = "," if commas > points else "."
    header = next(csv.reader(io.StringIO(text), delimiter=delimiter, skipinitialspace=True))
    _check_columns(len(header), name)  # before the work: it grows with their square
    try:
        frame = _read_cells(text, delimiter, decimal, len(header))
    except pd.errors.ParserWarning:  # pandas would drop the cells, and shift a decimal comma's
        raise InputError(
            f"Some rows of {name} have more cells than the header has names. If numbers use a decimal comma, "
            f"the file needs another delimiter than the comma."
        ) from None
    frame.columns = pd.Index([cell.strip() for cell in header], dtype=object)
    return frame, ReadOptions(delimiter, encoding, decimal)


def _read_cells(text: str, delimiter: str, decimal: str, columns: int) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(text.encode()),  # a StringIO takes four bytes a character, and longer
            sep=delimiter,
            decimal=decimal,
            header=0,
            names=range(columns),  # names are set by the caller: pandas renames duplicates silently
            index_col=False,
            low_memory=False,
            skipinitialspace=True,
        )


def _read_binary(content: bytes, suffix: str, name: str) -> pd.DataFrame:
    stream = io.BytesIO(content)
    if suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.ParquetFile(stream)
        unpacked = sum(table.metadata.row_group(i).total_byte_size for i in range(table.num_row_groups))
        if unpacked > limits.MAX_UNPACKED_MB * 1024**2:
            raise InputError(f"The file {name} unpacks to more than {limits.MAX_UNPACKED_MB:,} MB.")
        _check_size(table.metadata.num_rows, table.metadata.num_columns, name)
        return table.read().to_pandas(ignore_metadata=True)
    if suffix == ".dta":
        return pd.read_stata(stream, convert_categoricals=True)
    import pyreadstat

    readers: dict[str, Callable[..., Any]] = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }
    if not hasattr(os, "memfd_create"):
        raise InputError(f"Files ending in '{suffix}' need Linux here; save the table as CSV.")
    handle = os.memfd_create("upload")  # memory, not disk: pyreadstat takes paths only
    try:
        os.write(handle, content)
        path = f"/proc/self/fd/{handle}"
        _, about = readers[suffix](path, metadataonly=True)
        _check_size(about.number_rows or 0, about.number_columns or 0, name)
        frame, _ = readers[suffix](path)
    finally:
        os.close(handle)
    return frame


def _check_size(rows: int, columns: int, name: str) -> None:
    """Refuse, before it is unpacked, a small file that says it holds a huge table (run lengths pack that)."""
    _check_columns(columns, name)
    if rows > limits.MAX_ROWS or rows * columns * 8 > limits.MAX_UNPACKED_MB * 1024**2:
        raise InputError(
            f"The file {name} unpacks to {rows:,} rows and {columns:,} columns: too large to be read."
        )


def _mixed(cells: pd.Series) -> bool:
    """Whether cells are of several kinds, as in a workbook: such a column is read as text."""
    import pyarrow

    try:
        pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowException, OverflowError):
        return True
    return False


def _check_columns(columns: int, name: str) -> None:
    if columns > limits.MAX_COLUMNS:
        raise InputError(
            f"The file {name} has {columns:,} columns; at most {limits.MAX_COLUMNS:,} can be read."
        )


def _checked(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    frame.columns = pd.Index([one_line(str(column)) for column in frame.columns], dtype=object)
    _check_columns(frame.shape[1], name)
    _check_names(list(frame.columns), name)
    if frame.shape[0] > limits.MAX_ROWS:
        raise InputError(
            f"The file {name} has {frame.shape[0]:,} rows; at most {limits.MAX_ROWS:,} can be read."
        )
    if frame.shape[0] == 0:
        raise InputError(f"The file {name} has a header but no rows.")
    for i, column in enumerate(frame.columns):
        cells = frame.iloc[:, i]
        if cells.dtype != object:
            continue
        if any(isinstance(c, list | dict | tuple | set | np.ndarray) for c in cells):
            raise InputError(f"Column '{column}' of {name} holds lists; give it one value a cell.")
        binary = [row for row, c in enumerate(cells, 1) if isinstance(c, bytes | bytearray | memoryview)]
        if not binary and _mixed(cells):
            frame.isetitem(i, cells.map(str, na_action="ignore").array)
        if binary:
            raise InputError(
                f"Column '{column}' of {name} holds binary data (first in row {binary[0]:,}); store it as text or "
                "as numbers, or leave the column out."
            )
    return frame


def _check_names(names: list[str], file: str) -> None:
    """Every column has a name of its own, all of which can be seen."""
    for i, column in enumerate(names, 1):
        if not column.strip():
            raise InputError(f"Column {i} of {file} has no name; give every column a name.")
        if found := unseen(column):
            raise InputError(
                f"The name of column {i} of {file} holds a character that cannot be seen ({found}); rename the column."
            )
    if doubled := [column for column, count in Counter(names).items() if count > 1]:
        raise InputError(
            f"The column name '{doubled[0]}' stands more than once in {file}; give every column its own name."
        )
