"""One sheet of an Excel workbook, its first row the header."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from synth_core.data.binary_file import TypedColumns, with_zeros
from synth_core.data.typed_file import cell_text
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import one_line, visible
from synth_core.system.number_text import number_of

TITLE_ROWS = 20  # above the header, at most
SHOWN_ROWS = 100  # whose formats are looked at
_CELL = re.compile(rb'<c [^>]*?r="([A-Z]{1,4})([0-9]{1,8})"')
_FORMULA_ALONE = re.compile(rb"<c ([^>]*)>\s*<f(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")
_ERROR = re.compile(rb'<c (?=[^>]*?\bt="e")[^>]*?\br="([A-Z]+)([0-9]+)"')
_HIDDEN = re.compile(rb'<row (?=[^>]*?\bhidden="(?:1|true)")[^>]*?\br="([0-9]+)"')
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell ref="([A-Z]+[0-9]+):([A-Z]+[0-9]+)"')
_LONGEST_MERGED = 64  # bytes of such an element, which may lie across two parts
_BY_NUMBER = re.compile(r"_x([0-9A-Fa-f]{4})_")
_PART = 1 << 22


@dataclass(frozen=True)
class Sheet:
    """What was read of a workbook.

    Attributes
    ----------
    typed : TypedColumns
    title : str
        Of the sheet that was read.
    titles : tuple of str
        Of all that the workbook has, as they are shown.
    notices : tuple of str
        What a spreadsheet program shows otherwise: rows that it hides, errors of formulas.
    """

    typed: TypedColumns
    title: str
    titles: tuple[str, ...]
    notices: tuple[str, ...]


def read_sheet(content: bytes, name: str, sheet: str | None) -> Sheet:
    """A sheet's cells; without a name, those of the first sheet that has a row below its header.

    Raises
    ------
    InputError
        If there is no such sheet, or the file unpacks to too much.
    """
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked <= limits.MAX_UNPACKED_XLSX_MB * 1024**2:
            _refuse_strict(archive, name)
            check_extent(archive, name)
    if unpacked > limits.MAX_UNPACKED_XLSX_MB * 1024**2:
        raise InputError(f"The file {name} unpacks to more than {limits.MAX_UNPACKED_XLSX_MB:,} MB.")
    with pd.ExcelFile(stream, engine="openpyxl") as book:
        # One that is hidden comes last, and one of a chart alone is none.
        tables = sorted(book.book.worksheets, key=lambda each: each.sheet_state != "visible")
        shown = {visible(one_line(str(each.title))): each.title for each in tables}
        if sheet is not None and sheet not in shown:
            listed = ", ".join(list(shown)[:20]) + (", …" if len(shown) > 20 else "")
            raise InputError(f"The workbook {name} has no sheet '{sheet}'. It has: {listed}.")
        for chosen in (sheet,) if sheet is not None else shown:
            frame, header = _table(
                book.parse(shown[chosen], header=None, dtype=object, keep_default_na=False, na_values=[""])
            )
            if len(frame):
                break
        with zipfile.ZipFile(stream) as archive:
            entry = book.book[shown[chosen]]._worksheet_path
            _refuse_merged(archive, entry, header, name)
            notices = _notices(archive, entry, header)
        labels = _shown_codes(frame, _digits(book.book[shown[chosen]])) if len(frame) else {}
    return Sheet(TypedColumns(frame, labels, frozenset(labels)), chosen, tuple(shown), notices)


def _shown_codes(frame: pd.DataFrame, digits: dict[int, int]) -> dict[str, dict[str, str]]:
    """Of columns of codes with leading zeros, how each code is shown; beside texts, such as N, they become so here."""
    found = {}
    for place, width in digits.items():
        cells = frame.iloc[:, place]
        codes = cells.map(lambda cell: cell if isinstance(cell, int | float) else None, na_action="ignore")
        shown = with_zeros(pd.to_numeric(codes), width)
        if not shown:
            continue
        found[one_line(frame.columns[place])] = shown
        if cells.dtype == object:
            texts = codes.map(cell_text, na_action="ignore").map(shown)
            frame.isetitem(place, cells.mask(codes.notna(), texts).array)
    return found


def _digits(sheet: Any) -> dict[int, int]:
    """How many digits columns of numbers are filled up to with zeros, by their place: of their first cells all."""
    formats: dict[int, set[str]] = {}
    for row in sheet.iter_rows(max_row=SHOWN_ROWS):
        for place, cell in enumerate(row):
            if isinstance(cell.value, int | float):
                formats.setdefault(place, set()).add(cell.number_format)
    return {
        place: len(next(iter(found)))
        for place, found in formats.items()
        if len(found) == 1 and re.fullmatch("00+", next(iter(found)))
    }


def _table(cells: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """The rows below the header, in columns of its names, and its row in the sheet; an empty row is no record."""
    cells = cells.map(_decoded)[cells.notna().any(axis=1)]
    rows, cells = cells.index, cells.reset_index(drop=True)
    header, first = _header(cells)
    frame = cells.iloc[first:].reset_index(drop=True).infer_objects()
    frame.columns = pd.Index(header, dtype=object)
    return frame, int(rows[first - 1]) + 1 if len(rows) >= first else 0


def _decoded(cell: object) -> object:
    """A cell with the characters that the format writes by their number, such as _x000D_ of a carriage return."""
    if not isinstance(cell, str) or "_x" not in cell:
        return cell
    return _BY_NUMBER.sub(lambda found: chr(int(found[1], 16)), cell)


def _refuse_merged(archive: zipfile.ZipFile, entry: str, header: int, name: str) -> None:
    """Refuse cells of several records that are merged: all but the first would be empty. Raises InputError."""
    with archive.open(entry) as stream:
        rest = b""
        while part := stream.read(_PART):
            for first, last in _MERGED.findall(rest + part):
                low, high = (int(re.sub(rb"\D", b"", end)) for end in (first, last))
                if low > header and high > low:
                    raise InputError(
                        f"A sheet of {name} has merged cells of several rows (as {first.decode()}), of which all "
                        "but the first would be empty. Unmerge them, and fill in each row's own."
                    )
            rest = part[-_LONGEST_MERGED:]


def _notices(archive: zipfile.ZipFile, entry: str, header: int) -> tuple[str, ...]:
    """What is to be said of a sheet that was read: hidden rows, which are records as others, and errors of formulas."""
    hidden, errors = [], []
    for part in _whole_cells(archive, entry):
        hidden += [int(row) for row in _HIDDEN.findall(part) if int(row) > header]
        errors += [f"{column.decode()}{row.decode()}" for column, row in _ERROR.findall(part)]
    found = []
    if hidden:
        rows = f"{number_of(len(hidden), 'row')} (first row {hidden[0]:,})"
        found.append(
            f"The sheet hides {rows}, by a filter or by hand: hidden rows are read as the others are. Delete in the "
            "workbook what is no record."
        )
    if errors:
        cells = f"{number_of(len(errors), 'error')} of a formula, such as #N/A (first in {errors[0]})"
        found.append(f"The sheet has {cells}: missing values here.")
    return tuple(found)


def _header(frame: pd.DataFrame) -> tuple[list[str], int]:
    """The names of the columns, and the first row below them.

    A title stands above them: rows of one cell, in a sheet with more columns. A column without a name has "".
    """
    if frame.empty:
        return [], 1
    filled = frame.notna() & (frame != "")
    several = filled.sum(axis=1) > 1
    if frame.shape[1] < 2 or (frame.shape[1] == 2 and not _names_below_a_title(frame, several)):
        several[:] = True
    row = next((row for row in range(min(len(frame), TITLE_ROWS)) if several.iloc[row]), 0)
    cells = zip(frame.iloc[row], filled.iloc[row], strict=True)
    return ["" if not there else cell_text(cell).strip() for cell, there in cells], row + 1


def _names_below_a_title(frame: pd.DataFrame, several: pd.Series) -> bool:
    """Whether the first row of two cells can be nothing else than names: two texts, with numbers below."""
    rows = frame[several].head(TITLE_ROWS)
    if len(rows) < 2 or not all(isinstance(cell, str) for cell in rows.iloc[0]):
        return False
    return any(isinstance(cell, int | float) for cell in rows.iloc[1:].to_numpy().ravel())


def _refuse_strict(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a workbook of another format of the same ending, which no reader knows; raises InputError."""
    parts = set(archive.namelist())
    if "xl/workbook.bin" in parts or (
        "xl/workbook.xml" in parts and b"//purl.oclc.org/ooxml" in archive.read("xl/workbook.xml")
    ):
        raise InputError(
            f"The workbook {name} is a strict Open XML or a binary one. Save it as an ordinary Excel workbook (.xlsx)."
        )
    if not any(part.startswith("xl/") for part in parts):
        raise InputError(
            f"The file {name} is an archive, and no Excel workbook. Unpack it, or save it as .xlsx."
        )


def check_extent(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a sheet whose cells lie far apart, since a reader fills all that lies between, or that is not computed.

    A formula without a stored result would be read as an empty cell. Raises InputError.
    """
    for entry in archive.namelist():
        if not entry.startswith("xl/worksheets/") or not entry.endswith(".xml"):
            continue
        cells = rows = columns = 0
        for part in _whole_cells(archive, entry):
            for column, row in _CELL.findall(part):
                cells += 1
                rows, columns = max(rows, int(row)), max(columns, _place(column))
            for told in _FORMULA_ALONE.findall(part):
                if b't="str"' not in told:  # the result is the empty text
                    where = _CELL.search(b"<c " + told)
                    at = f" (first in {b''.join(where.groups()).decode()})" if where else ""
                    raise InputError(
                        f"A sheet of {name} has formulas without stored results{at}, which would be read as empty "
                        "cells. Open it in a spreadsheet program, save it, and load that file."
                    )
        if columns > limits.MAX_COLUMNS or rows > limits.MAX_ROWS or rows * columns > 50 * cells + 1_000_000:
            raise InputError(
                f"A sheet of {name} reaches to row {rows:,} and column {columns:,}, and has {cells:,} cells: too "
                "far apart to be read. Delete what stands beside the table."
            )


def _whole_cells(archive: zipfile.ZipFile, entry: str) -> Iterator[bytes]:
    """A sheet in parts, each of whole cells unless one is longer than a part."""
    with archive.open(entry) as stream:
        rest = b""
        while part := stream.read(_PART):
            part = rest + part
            cut = part.rfind(b"<c ")
            cut = cut if cut > 0 and len(part) < 2 * _PART else len(part)
            yield part[:cut]
            rest = part[cut:]
        yield rest


def _place(letters: bytes) -> int:
    """The number of a column: A is 1, XFD 16,384."""
    found = 0
    for letter in letters:
        found = 26 * found + letter - ord("A") + 1
    return found
