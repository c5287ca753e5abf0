"""Columns of a typed file: its texts are read as those of a text file, for it may keep numbers as text."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc

from synth_core.data.binary_file import TypedColumns, binary_data, hours_text
from synth_core.data.cells import look_at
from synth_core.data.codebook import Codebook, Entry, declared_categories
from synth_core.data.column import FEW_CODES
from synth_core.data.distinct import Distinct
from synth_core.data.meaning import Meaning, meanings, not_numbers
from synth_core.data.missing import as_number, without_markers
from synth_core.data.reading import Read, ReadOptions
from synth_core.data.spellings import COMMA_GROUP, POINT_GROUP, readable
from synth_core.errors import InputError
from synth_core.system.characters import one_line


def of_typed(typed: TypedColumns, name: str, options: ReadOptions) -> Read:
    """The columns of a typed file, each of one kind; raises InputError for lists and binary data."""
    frame = typed.frame
    labelled = {
        column: typed.labels[column]
        for place, column in enumerate(frame.columns)
        if column in typed.labelled
        or _by_labels(options.codebook.get(column), frame.iloc[:, place], typed.labels.get(column, {}))
    }
    for i, column in enumerate(frame.columns):
        cells = _prepared(frame.iloc[:, i], column, name, labelled.get(column, {}))
        frame.isetitem(i, cells.array)
    texts = {
        column: Distinct.of(spelled(frame[column]))
        for column in frame.columns
        if options.codebook.get(column) is None and _may_hold_texts(frame[column])
    }
    found = meanings(texts, options)
    entries, questions = [], {}
    written: dict[str, pyarrow.Array] = {}
    for column in frame.columns:
        cells, declared = frame[column], options.codebook.get(column)
        if declared is not None:
            labels = labelled.get(column, {})
            cells = _codes(cells, labels) if _by_codes(declared, labels) else cells
            frame[column] = values = _as_declared(cells, declared, labels)
            as_texts = _as_texts(values, cells, declared)
            entries.append(declared)
        elif column in found and is_read(found[column], cells):
            entry = found[column].entry
            if found[column].question:
                questions[column] = found[column].question
            as_texts = _as_texts(found[column].values, cells, entry)
            if found[column].numbers and texts_alone(cells):
                entry = entry.model_copy(update={"note": f"kept as text: {entry.note}, perhaps codes"})
            entries.append(entry)
            frame[column] = found[column].values if found[column].numbers else _of_one_kind(cells)
        else:
            as_texts = None
            cells = frame[column] = _of_one_kind(cells) if _may_hold_texts(cells) else cells
            labels = typed.labels.get(column, {})
            entries.append(
                _labelled(column, labels) if column in labelled else _described(column, cells, labels)
            )
        if as_texts is not None:
            written[column] = as_texts
    return Read(frame, options, Codebook(columns=tuple(entries)), written, questions, labelled)


def _prepared(cells: pd.Series, column: str, name: str, labels: Mapping[str, str]) -> pd.Series:
    """Cells without surrounding space; logical values and times as texts, and codes as their labels."""
    if _may_hold_texts(cells):
        return _stripped(cells, column, name)
    if pd.api.types.is_bool_dtype(cells):
        return pd.Series(np.where(cells, "TRUE", "FALSE"), dtype="str")
    if pd.api.types.is_timedelta64_dtype(cells):
        return cells.map(cell_text, na_action="ignore").astype("str")
    return cells.map(cell_text, na_action="ignore").map(labels) if labels else cells


def _may_hold_texts(cells: pd.Series) -> bool:
    return cells.dtype == object or pd.api.types.is_string_dtype(cells)


def _arrow(cells: pd.Series) -> pyarrow.Array:
    """A column of texts as Arrow's, missing ones null."""
    found = pyarrow.array(cells, from_pandas=True)
    return pc.cast(
        found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found, pyarrow.string()
    )


def texts_alone(cells: pd.Series) -> bool:
    """Whether a column's cells are texts, and none is a number or a date."""
    return cells.dtype != object or pd.api.types.infer_dtype(cells, skipna=True) == "string"


def is_read(meaning: Meaning, cells: pd.Series) -> bool:
    """Whether texts are numbers or dates, or may be numbers. A few whole numbers that are kept as text are codes."""
    if not meaning.numbers:
        return bool(meaning.question) or meaning.entry.kind == "date"
    few = meaning.values.nunique() <= FEW_CODES and bool((meaning.values.dropna() % 1 == 0).all())
    return not few or not texts_alone(cells)


def _as_texts(values: pd.Series, cells: pd.Series, how: Entry) -> pyarrow.Array | None:
    """Cells as the file writes them, where numbers were read of texts; None where numbers tell the same.

    Beside numbers texts may be codes that only their spelling tells apart: 10.10, a text, and 10.1. Of other signs than
    a number's they are not kept, for read again as texts they would be other numbers.
    """
    if not pd.api.types.is_numeric_dtype(values) or not _may_hold_texts(cells):
        return None
    if texts_alone(cells):
        return spelled(cells)
    apart = how.decimal == "." and not how.thousands and bool((values.dropna() % 1 != 0).any())
    return _arrow(cells.map(cell_text, na_action="ignore")).fill_null("") if apart else None


def spelled(cells: pd.Series) -> pyarrow.Array:
    """Typed cells as texts; a number among them has no sign that could be read in two ways: 12.5 is 125e-1."""
    texts = cells if texts_alone(cells) else cells.map(_without_signs, na_action="ignore")
    return _arrow(texts).fill_null("")


def _without_signs(cell: object) -> str:
    text = cell_text(cell)
    if not isinstance(cell, int | float | np.number | Decimal) or isinstance(cell, bool) or "." not in text:
        return text
    sign, digits, exponent = Decimal(text).as_tuple()
    return f"{'-' if sign else ''}{''.join(map(str, digits)).lstrip('0') or '0'}e{exponent:+d}"


def _stripped(cells: pd.Series, column: str, name: str) -> pd.Series:
    """Cells of objects without surrounding space, blank ones missing, times as texts, as other formats have them.

    Raises InputError for lists and binary data.
    """
    if cells.dtype != object:
        texts = pc.utf8_trim_whitespace(_arrow(cells))
        return pd.Series(
            pc.if_else(pc.equal(texts, ""), pyarrow.scalar(None, texts.type), texts), dtype="str"
        )
    if any(isinstance(c, list | dict | tuple | set | np.ndarray) for c in cells):
        raise InputError(f"Column '{column}' of {name} holds lists; give it one value a cell.")
    if any(isinstance(c, bytes | bytearray | memoryview) for c in cells):
        raise InputError(binary_data(column, name))
    cells = cells.map(
        lambda cell: cell.strip() if isinstance(cell, str) else _time_text(cell), na_action="ignore"
    )
    blank = cells.map(lambda cell: isinstance(cell, str) and not cell).astype(bool)
    if pd.api.types.infer_dtype(cells, skipna=True) == "boolean":
        return cells.map(cell_text, na_action="ignore").astype("str")
    return cells.mask(blank).infer_objects() if blank.any() else cells


def _time_text(cell: object) -> object:
    return cell_text(cell) if isinstance(cell, datetime.time | datetime.timedelta) else cell


def _of_one_kind(cells: pd.Series) -> pd.Series:
    """Cells of several kinds as texts; beside texts of two readings numbers keep a spelling that has one."""
    if cells.dtype != object:
        return cells
    try:
        pyarrow.array(cells, from_pandas=True)
    except (pyarrow.ArrowException, OverflowError):
        written = cells.map(cell_text, na_action="ignore")
        texts = written[cells.map(lambda cell: isinstance(cell, str))].astype("str")
        grouped = texts.str.match(POINT_GROUP).any() or texts.str.match(COMMA_GROUP).any()
        return cells.map(_without_signs, na_action="ignore") if grouped else written
    return cells


def cell_text(cell: object) -> str:
    """A typed cell as an agency would write it: whole numbers without a point, days without a time."""
    if isinstance(cell, bool | np.bool_):
        return str(cell).upper()  # as spreadsheets and R write it
    if isinstance(cell, np.float32):
        return cell_text(float(str(cell)))
    if isinstance(cell, datetime.datetime) and cell.tzinfo is None and cell == pd.Timestamp(cell).normalize():
        return cell.date().isoformat()
    if isinstance(cell, datetime.timedelta):
        return hours_text(cell.total_seconds())
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) <= 2**53:
        return str(int(cell))
    return str(cell)


def _by_codes(declared: Entry, labels: Mapping[str, str]) -> bool:
    """Whether a column that has become its labels is declared a number, and the labels are none: its codes are."""
    texts = pyarrow.array(list(labels.values()), pyarrow.string())
    return (
        bool(labels) and declared.kind == "number" and not pc.all(readable(texts, declared.numerals)).as_py()
    )


def _by_labels(declared: Entry | None, cells: pd.Series, labels: Mapping[str, str]) -> bool:
    """Whether the declared categories of a column of codes are their labels, and none is a code: it becomes these."""
    categories = set() if declared is None else set(declared_categories(declared))
    if not labels or not categories & set(labels.values()) or categories & set(labels):
        return False
    found = [labels.get(cell_text(code), "") for code in cells.dropna().unique()]
    return all(found) and len(set(found)) == len(found)


def _codes(cells: pd.Series, labels: Mapping[str, str]) -> pd.Series:
    return pd.to_numeric(cells.map({label: code for code, label in labels.items()}))


def labels_of(marks: Iterable[str], labels: Mapping[str, str]) -> list[str]:
    """The labels of those of these texts that are a code, in whatever spelling: 9.0 for 9."""
    numbers = {as_number(code): label for code, label in labels.items() if as_number(code) is not None}
    found = (labels.get(mark, numbers.get(as_number(mark))) for mark in marks)
    return [label for label in found if label is not None]


def _as_declared(cells: pd.Series, declared: Entry, labels: Mapping[str, str]) -> pd.Series:
    """A typed column of the kind that its codebook declares, its missing marks empty."""
    if declared.kind == "number" and pd.api.types.is_numeric_dtype(cells):
        codes = [code for code, label in labels.items() if label in declared.missing]
        return without_markers(cells.to_frame(), (*declared.missing, *codes)).iloc[:, 0]
    if declared.kind == "date":
        return _of_one_kind(cells)
    marks = (*declared.missing, *labels_of(declared.missing, labels))
    if declared.kind != "number":
        return Distinct.of(spelled(cells.map(cell_text, na_action="ignore").astype("str"))).texts(marks)
    distinct, numerals = Distinct.of(spelled(cells)), replace(declared.numerals, missing=marks)
    finding = look_at(distinct, "", numerals)
    if finding.kind == "empty":
        return pd.Series(np.full(len(cells), np.nan))
    numbers = None if finding.numerals is None else distinct.numbers(finding.numerals)
    if numbers is None:
        raise InputError(not_numbers(declared.column, distinct, declared))
    return numbers


def _labelled(column: str, labels: Mapping[str, str]) -> Entry:
    """A column whose codes have become their labels: all that the file names may occur, not those alone that do."""
    names = tuple(dict.fromkeys(map(one_line, labels.values())))
    if all(
        as_number(name) == as_number(code) for code, name in labels.items()
    ):  # codes with their zeros, of the cells
        return Entry(column=column, kind="category", note="text in the file")
    return Entry(column=column, kind="category", note="the file labels its codes", categories=names)


def _described(column: str, cells: pd.Series, labels: Mapping[str, str]) -> Entry:
    if cells.isna().all():
        return Entry(column=column, kind="unused", note="no values")
    if pd.api.types.is_datetime64_any_dtype(cells):
        return Entry(column=column, kind="date", note="dates in the file")
    names = tuple(map(one_line, labels.values()))
    if pd.api.types.is_numeric_dtype(cells):  # logical values have become texts
        said = f"the file labels {len(labels)} of its codes" if labels else "numbers in the file"
        return Entry(column=column, kind="number", note=said, categories=tuple(labels), labels=names)
    if labels and set(cells.dropna()) <= set(labels):
        said = "text in the file, which labels its codes"
        return Entry(column=column, kind="category", note=said, categories=tuple(labels), labels=names)
    return Entry(column=column, kind="category", note="text in the file")
