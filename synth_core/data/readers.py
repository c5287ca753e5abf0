"""From the bytes of a file to a data frame: the one door of every table.

Text is read as text, and a codebook says what it means: the declared one, and for columns without an entry a proposed
one, whose reasons are said. What can be read in two ways is not guessed (`Read.questions`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import numpy as np
import pandas as pd
import pyarrow

from synth_core.data.binary_file import (
    PARQUET,
    STATISTICAL,
    TypedColumns,
    binary_data,
    read_parquet,
    read_statistical,
)
from synth_core.data.cells import MISSING_AMONG_NUMBERS, Distinct, Finding, Numerals, look_at, readable
from synth_core.data.codebook import Codebook, Entry, Kind
from synth_core.data.missing import without_markers
from synth_core.data.text_file import DELIMITERS, ENCODINGS, check_columns, read_text
from synth_core.data.workbook import read_sheet
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import one_line, unseen, visible

__all__ = ["DELIMITERS", "ENCODINGS", "SUFFIXES", "Read", "ReadOptions", "read_frame"]

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".gz")
WORKBOOK = ".xlsx"
SUFFIXES = (*TEXT_SUFFIXES, WORKBOOK, PARQUET, *STATISTICAL)
SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "’": "apostrophe"}


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None means detect.

    `decimal` and `thousands` are the signs of numbers that can be read in two ways. `sheet` is of a workbook, the first
    if it is None. `sheets` are all that were found in it, once it was read. `codebook` holds the declared entries.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    codebook: Codebook = field(default_factory=Codebook)


@dataclass(frozen=True)
class Read:
    """What was read of a file.

    Attributes
    ----------
    frame : DataFrame
        Numbers as numbers, everything else as text without surrounding space; missing cells empty.
    written : dict
        Of a column of a text file, its cells as the file writes them.
    options : ReadOptions
        As used.
    codebook : Codebook
        An entry for every column: as declared, or as proposed with the reason.
    questions : dict
        Of a column that can be read in two ways, both, in words.
    labelled : dict
        Of a column whose codes have become their labels, the label of each code.
    """

    frame: pd.DataFrame
    options: ReadOptions
    codebook: Codebook
    written: dict[str, pyarrow.Array] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    labelled: dict[str, dict[str, str]] = field(default_factory=dict)


def read_frame(content: bytes, name: str, options: ReadOptions = ReadOptions()) -> Read:
    """Read a table from the bytes of a file.

    Parameters
    ----------
    content : bytes
    name : str
        The file's name; its ending decides the format.
    options : ReadOptions
        What is None is detected, and what the codebook does not say is proposed.

    Raises
    ------
    InputError
        For an empty, unknown, broken or oversized file, and for one that breaks its codebook.
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
            found = _of_text(_gunzip(content) if suffix == ".gz" else content, name, options)
        elif suffix == WORKBOOK:
            frame, sheet, sheets = read_sheet(content, name, options.sheet)
            found = _of_typed(TypedColumns(frame), name, replace(options, sheet=sheet, sheets=sheets))
        elif suffix == PARQUET:
            found = _of_typed(read_parquet(content, name), name, options)
        else:
            typed = read_statistical(content, suffix, name, options.encoding)
            found = _of_typed(typed, name, replace(options, encoding=typed.encoding))
        return found


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
    import io

    limit = limits.MAX_UNPACKED_MB * 1024**2
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        plain = stream.read(limit + 1)
    if len(plain) > limit:
        raise InputError(f"The file unpacks to more than {limits.MAX_UNPACKED_MB:,} MB.")
    return plain


def read_again(
    frame: pd.DataFrame, written: dict[str, pyarrow.Array], name: str, options: ReadOptions
) -> Read:
    """What was read of a file, by another codebook: from its cells as they were written, or else from typed ones."""
    with reader_errors_in_words(name):
        return (
            _of_cells(written, options) if written else _of_typed(TypedColumns(frame.copy()), name, options)
        )


def _of_text(content: bytes, name: str, options: ReadOptions) -> Read:
    read = read_text(content, name, options.delimiter, options.encoding)
    names = _checked_names(read.names, name)
    _check_rows(len(read.cells[0]), name)
    used = replace(options, delimiter=read.delimiter, encoding=read.encoding)
    return _of_cells(dict(zip(names, read.cells, strict=True)), used)


def _of_cells(written: dict[str, pyarrow.Array], options: ReadOptions) -> Read:
    """The columns of a text file, whose delimiter is among the options by now."""
    columns = {column: Distinct.of(cells) for column, cells in written.items()}
    findings = {
        column: _found(distinct, options.codebook.get(column), options)
        for column, distinct in columns.items()
    }
    signs = {finding.decided for finding in findings.values()} - {""}
    series, entries, questions = {}, [], {}
    for column, distinct in columns.items():
        declared = options.codebook.get(column)
        series[column], proposed, question = _meaning(
            column, distinct, findings[column], declared, options, signs
        )
        entries.append(declared or proposed)
        if question:
            questions[column] = question
    frame = pd.DataFrame(series, copy=False)
    frame.columns = pd.Index(list(columns), dtype=object)
    return Read(frame, options, Codebook(columns=tuple(entries)), written, questions)


def _meaning(
    column: str,
    distinct: Distinct,
    finding: Finding,
    declared: Entry | None,
    options: ReadOptions,
    signs: set[str],
) -> tuple[pd.Series, Entry, str]:
    """A column's cells, its proposed entry, and a question where it can be read in two ways: it stays text then."""
    numerals = finding.numerals or _reading(finding, options, signs)
    question = _question(column, finding) if finding.readings and numerals is None else ""
    numbers = distinct.numbers(numerals) if finding.kind == "number" and numerals is not None else None
    if declared is not None and declared.kind == "number" and numbers is None and finding.kind != "empty":
        raise InputError(_not_numbers(column, distinct, declared))
    texts = distinct.texts(() if declared is None else declared.missing) if numbers is None else numbers
    return texts, _proposed(column, finding, numerals, question), question


def without_marks(
    column: str, cells: pyarrow.Array, marks: list[str], options: ReadOptions
) -> tuple[pd.Series, Entry, str]:
    """A column of a text file whose cells of these texts are missing too, its entry, and a question if there is one.

    What is left may be numbers, and may then be read in two ways, which the marks had hidden.
    """
    distinct = Distinct.of(cells).without(marks)
    finding = _found(distinct, None, options)
    series, entry, question = _meaning(column, distinct, finding, None, options, set())
    missing = tuple(dict.fromkeys((*entry.missing, *marks)))
    return series, entry.model_copy(update={"missing": missing}), question


def _found(distinct: Distinct, declared: Entry | None, options: ReadOptions) -> Finding:
    if declared is None:
        # Between commas a point is a decimal point, unless the options say otherwise.
        said = options.thousands == "." or options.decimal == ","
        return look_at(distinct, "" if said else options.delimiter or ",")
    if declared.kind == "number":
        return look_at(distinct, "", declared.numerals)
    return Finding("date" if declared.kind == "date" else "text")


def _reading(finding: Finding, options: ReadOptions, signs: set[str]) -> Numerals | None:
    """That of two readings which the options name, or else the decimal sign that the file's other columns show."""
    for each in finding.readings:
        if options.decimal == each.decimal or (options.thousands and options.thousands == each.thousands):
            return each
    if options.decimal is None and options.thousands is None and len(signs) == 1:
        return next((each for each in finding.readings if each.decimal in signs), None)
    return None


def _question(column: str, finding: Finding) -> str:
    sign = next(each.thousands for each in finding.readings if each.thousands)
    word = SIGNS[sign]
    return (
        f"Column '{column}' can be read in two ways: each {word} in it stands before exactly three digits, so it "
        f"may be a decimal {word} or one between thousands. Say which, by the decimal sign, the sign of thousands or a "
        f"codebook."
    )


def _not_numbers(column: str, distinct: Distinct, declared: Entry) -> str:
    texts = distinct.texts((*declared.missing, *MISSING_AMONG_NUMBERS))
    fine = readable(pyarrow.array(texts, pyarrow.string(), from_pandas=True), declared.numerals)
    bad = ~fine.fill_null(True).to_numpy(zero_copy_only=False)
    where = f" (first in row {int(np.argmax(bad)) + 1:,})" if bad.any() else ""
    return (
        f"Column '{column}' is declared a number in the codebook, and {bad.sum():,} of its cells are none{where}. Name "
        "those that mean missing, correct its signs, or declare another kind."
    )


def _proposed(column: str, finding: Finding, numerals: Numerals | None, question: str) -> Entry:
    if finding.kind == "number":
        how = numerals or Numerals(missing=finding.readings[0].missing)
        return Entry(
            column=column,
            kind="number",
            decimal="," if how.decimal == "," else ".",
            thousands=how.thousands,
            missing=how.missing,
            note=question or finding.reason,
        )
    kinds: dict[str, Kind] = {"date": "date", "text": "category", "empty": "unused"}
    note = "no values" if finding.kind == "empty" else finding.reason
    return Entry(column=column, kind=kinds[finding.kind], note=note)


def _of_typed(typed: TypedColumns, name: str, options: ReadOptions) -> Read:
    frame = typed.frame
    names = _checked_names([str(column) for column in frame.columns], name)
    _check_rows(len(frame), name)
    frame.columns = pd.Index(names, dtype=object)
    entries = []
    for i, column in enumerate(names):
        cells = frame.iloc[:, i]
        if cells.dtype == object or pd.api.types.is_string_dtype(cells):
            cells = _one_kind(cells, column, name)
        declared = options.codebook.get(column)
        if declared is not None:
            cells = _as_declared(cells, declared)
        elif (options.decimal == "," or options.thousands) and not pd.api.types.is_numeric_dtype(cells):
            cells = _by_signs(cells, options)
        frame.isetitem(i, cells.array)
        entries.append(declared or _described(column, cells, typed.labels.get(column, {})))
    labelled = {column: typed.labels[column] for column in names if column in typed.labelled}
    return Read(frame, options, Codebook(columns=tuple(entries)), labelled=labelled)


def _one_kind(cells: pd.Series, column: str, name: str) -> pd.Series:
    """Cells of objects as one kind; raises InputError for lists and binary data."""
    if any(isinstance(c, list | dict | tuple | set | np.ndarray) for c in cells):
        raise InputError(f"Column '{column}' of {name} holds lists; give it one value a cell.")
    if any(isinstance(c, bytes | bytearray | memoryview) for c in cells):
        raise InputError(binary_data(column, name))
    cells = cells.map(lambda cell: cell.strip() if isinstance(cell, str) else cell, na_action="ignore")
    blank = cells.map(lambda cell: isinstance(cell, str) and not cell).astype(bool)
    if blank.any():
        cells = cells.mask(blank).infer_objects()
        if pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_datetime64_any_dtype(cells):
            return cells
    try:
        pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowException, OverflowError):
        return cells.map(cell_text, na_action="ignore")
    return cells


def cell_text(cell: object) -> str:
    """A typed cell as an agency would write it: whole numbers without a point, days without a time."""
    if isinstance(cell, bool | np.bool_):
        return str(cell).upper()  # as spreadsheets and R write it
    if isinstance(cell, np.float32):
        return cell_text(float(str(cell)))
    if isinstance(cell, pd.Timestamp) and cell == cell.normalize() and cell.tz is None:
        return cell.date().isoformat()
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 1e15:
        return str(int(cell))
    return str(cell)


def _as_declared(cells: pd.Series, declared: Entry) -> pd.Series:
    """A typed column of the kind that its codebook declares, its missing marks empty."""
    if declared.kind == "number" and pd.api.types.is_numeric_dtype(cells):
        return without_markers(cells.to_frame(), declared.missing).iloc[:, 0]
    if declared.kind == "date":
        return cells

    def written(cell: object) -> str:  # a number among texts has no signs but the declared ones
        number = isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
        return cell_text(cell).replace(".", declared.numerals.decimal) if number else cell_text(cell)

    texts = cells.map(written if declared.kind == "number" else cell_text, na_action="ignore").astype("str")
    distinct = Distinct.of(pyarrow.array(texts.fillna("").to_numpy(dtype=object), pyarrow.string()))
    if declared.kind != "number":
        return distinct.texts(declared.missing)
    finding = look_at(distinct, ",", declared.numerals)
    if finding.kind == "empty":
        return pd.Series(np.full(len(cells), np.nan))
    numbers = None if finding.numerals is None else distinct.numbers(finding.numerals)
    if numbers is None:
        raise InputError(_not_numbers(declared.column, distinct, declared))
    return numbers


def _by_signs(cells: pd.Series, options: ReadOptions) -> pd.Series:
    """A typed column of texts that are numbers by the signs of the options; any other as it is."""
    texts = cells.map(cell_text, na_action="ignore").fillna("").to_numpy(dtype=object)
    distinct = Distinct.of(pyarrow.array(texts, pyarrow.string()))
    finding = _found(distinct, None, options)
    numerals = finding.numerals or _reading(finding, options, set())
    if finding.kind != "number" or numerals is None or not (numerals.thousands or numerals.decimal == ","):
        return cells
    numbers = distinct.numbers(numerals)
    return cells if numbers is None else numbers


def _described(column: str, cells: pd.Series, labels: Mapping[str, str]) -> Entry:
    if cells.isna().all():
        return Entry(column=column, kind="unused", note="no values")
    if pd.api.types.is_datetime64_any_dtype(cells):
        return Entry(column=column, kind="date", note="dates in the file")
    numeric = pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)
    if numeric:
        said = f"the file labels {len(labels)} of its codes" if labels else "numbers in the file"
        names = tuple(map(one_line, labels.values()))
        return Entry(column=column, kind="number", note=said, categories=tuple(labels), labels=names)
    return Entry(column=column, kind="category", note="text in the file")


def _check_rows(rows: int, name: str) -> None:
    if rows > limits.MAX_ROWS:
        raise InputError(f"The file {name} has {rows:,} rows; at most {limits.MAX_ROWS:,} can be read.")
    if rows == 0:
        raise InputError(f"The file {name} has a header but no rows.")


def _checked_names(given: list[str], file: str) -> list[str]:
    """Names on one line; every column has one of its own, all of which can be seen."""
    names = [one_line(str(column)) for column in given]
    check_columns(len(names), file)
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
    return names
