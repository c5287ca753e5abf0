"""From the bytes of a file to a data frame: the one door of every table.

Text is read as text, and a codebook says what it means: the declared one, and for columns without an entry a proposed
one, whose reasons are said. What can be read in two ways is not guessed (`Read.questions`).
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

import pandas as pd
import pyarrow
import pyarrow.compute as pc

from synth_core.data.binary_file import PARQUET, STATISTICAL, TypedColumns, read_parquet, read_statistical
from synth_core.data.codebook import Codebook
from synth_core.data.distinct import Distinct
from synth_core.data.file_kinds import check_beginning, way_out
from synth_core.data.meaning import SIGNS, meanings
from synth_core.data.missing import as_number
from synth_core.data.quotation_marks import DELIMITERS
from synth_core.data.reading import Read, ReadOptions
from synth_core.data.summary_rows import with_records_alone
from synth_core.data.text_encoding import ENCODINGS
from synth_core.data.text_file import check_columns, read_text
from synth_core.data.typed_file import of_typed
from synth_core.data.workbook import read_sheet
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import one_line, unseen, visible

__all__ = ["DELIMITERS", "ENCODINGS", "SIGNS", "SUFFIXES", "Read", "ReadOptions", "read_frame"]

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".gz")
WORKBOOK = ".xlsx"
SUFFIXES = (*TEXT_SUFFIXES, WORKBOOK, PARQUET, *STATISTICAL)


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
        said = way_out(suffix)
        raise InputError(
            f"Files ending in '{suffix or 'nothing'}' cannot be read; use one of {', '.join(SUFFIXES)}."
            + (f" {said}" if said else "")
        )
    check_beginning(content, suffix, name)
    if options.sheet is not None and suffix != WORKBOOK:
        raise InputError(f"The file {name} has no sheets: only a workbook ({WORKBOOK}) has.")
    with reader_errors_in_words(name):
        if suffix in TEXT_SUFFIXES:
            text = _gunzip(content) if suffix == ".gz" else content
            check_beginning(text, ".csv", name)
            found = _of_text(text, name, options)
        elif suffix == WORKBOOK:
            sheet = read_sheet(content, name, options.sheet)
            used = replace(options, sheet=sheet.title, sheets=sheet.titles, notices=sheet.notices)
            found = _of_typed(sheet.typed, name, used)
        elif suffix == PARQUET:
            found = _of_typed(read_parquet(content, name), name, options)
        else:
            typed = read_statistical(content, suffix, name, options.encoding)
            found = _of_typed(typed, name, replace(options, encoding=typed.encoding))
        return with_records_alone(found, name)


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
            f"({type(error).__name__}): it may be cut short or broken. Does it open in the program that wrote it?"
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


def read_again(read: Read, name: str, options: ReadOptions) -> Read:
    """What was read of a file, by another codebook: from its cells as they were written, or else from typed ones."""
    with reader_errors_in_words(name):
        if read.options.delimiter is not None:
            return with_records_alone(_of_cells(read.written, options), name)
        frame = read.frame.assign(**{column: cells.to_pandas() for column, cells in read.written.items()})
        named = {
            e.column: dict(zip(e.categories, e.labels, strict=False))
            for e in read.codebook.columns
            if e.labels
        }
        typed = TypedColumns(frame, named | read.labelled, frozenset(read.labelled))
        return with_records_alone(of_typed(typed, name, options), name)


def _of_text(content: bytes, name: str, options: ReadOptions) -> Read:
    read = read_text(content, name, options.delimiter, options.encoding)
    kept = [i for i, each in enumerate(read.names) if each or pc.any(pc.not_equal(read.cells[i], "")).as_py()]
    names = _checked_names(read.names, name, kept)
    _check_rows(len(read.cells[0]), name)
    used = replace(options, delimiter=read.delimiter, encoding=read.encoding)
    return _of_cells(dict(zip(names, [read.cells[i] for i in kept], strict=True)), used)


def _of_cells(written: dict[str, pyarrow.Array], options: ReadOptions) -> Read:
    """The columns of a text file, whose delimiter is among the options by now."""
    found = meanings({column: Distinct.of(cells) for column, cells in written.items()}, options)
    frame = pd.DataFrame({column: each.values for column, each in found.items()}, copy=False)
    frame.columns = pd.Index(list(found), dtype=object)
    entries = tuple(options.codebook.get(column) or each.entry for column, each in found.items())
    questions = {column: each.question for column, each in found.items() if each.question}
    return Read(frame, options, Codebook(columns=entries), written, questions)


def _of_typed(typed: TypedColumns, name: str, options: ReadOptions) -> Read:
    given = [str(column) for column in typed.frame.columns]
    kept = [i for i, each in enumerate(given) if each.strip() or typed.frame.iloc[:, i].notna().any()]
    names = _checked_names(given, name, kept)
    _check_rows(len(typed.frame), name)
    frame = typed.frame if len(kept) == len(given) else typed.frame.iloc[:, kept].copy()
    frame.columns = pd.Index(names, dtype=object)
    return of_typed(replace(typed, frame=frame), name, replace(options, delimiter=None))


def _check_rows(rows: int, name: str) -> None:
    if rows > limits.MAX_ROWS:
        raise InputError(f"The file {name} has {rows:,} rows; at most {limits.MAX_ROWS:,} can be read.")
    if rows == 0:
        raise InputError(f"The file {name} has a header but no rows.")


def _checked_names(given: list[str], file: str, kept: list[int]) -> list[str]:
    """Names on one line, of the columns that are kept; each has one of its own, all of which can be seen.

    A column without a name and without a value is none: a delimiter ends each line, or a table begins at B3.
    """
    check_columns(len(given), file)
    if not kept:
        raise InputError(f"The file {file} has neither a name nor a value in any column.")
    names = [one_line(given[i]) for i in kept]
    for i, column in zip((i + 1 for i in kept), names, strict=True):
        if not column.strip():
            raise InputError(f"Column {i} of {file} has no name; give every column a name.")
        if found := unseen(column):
            raise InputError(
                f"The name of column {i} of {file} holds a character that cannot be seen ({found}); rename the column."
            )
    if doubled := [column for column, count in Counter(names).items() if count > 1]:
        if as_number(doubled[0]) is not None:
            raise InputError(
                f"A number stands more than once among the column names of {file}: if its first line is a record, "
                "write a line of names above it; if not, give every column its own name."
            )
        raise InputError(
            f"The column name '{doubled[0]}' stands more than once in {file}; give every column its own name."
        )
    return names
