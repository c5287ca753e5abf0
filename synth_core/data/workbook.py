"""One sheet of an Excel workbook, its first row the header."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

import pandas as pd

from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import one_line, visible


def read_sheet(content: bytes, name: str, sheet: str | None) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """A sheet's cells; without a name, those of the first sheet.

    Returns
    -------
    frame : pandas.DataFrame
    sheet : str
        The one that was read.
    sheets : tuple of str
        All that the workbook has, as they are shown.

    Raises
    ------
    InputError
        If there is no such sheet, or the file unpacks to too much.
    """
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > limits.MAX_UNPACKED_XLSX_MB * 1024**2:
        raise InputError(f"The file {name} unpacks to more than {limits.MAX_UNPACKED_XLSX_MB:,} MB.")
    with pd.ExcelFile(stream, engine="openpyxl") as book:
        shown = {visible(one_line(str(title))): title for title in book.sheet_names}
        chosen = next(iter(shown)) if sheet is None else sheet
        if chosen not in shown:
            listed = ", ".join(list(shown)[:20]) + (", …" if len(shown) > 20 else "")
            raise InputError(f"The workbook {name} has no sheet '{sheet}'. It has: {listed}.")
        frame = book.parse(shown[chosen], header=None, dtype=object)
    header: Iterable[object] = frame.iloc[0] if len(frame) else ()
    frame = frame.iloc[1:].reset_index(drop=True).infer_objects()
    frame.columns = pd.Index([str(cell).strip() for cell in header], dtype=object)
    return frame, chosen, tuple(shown)
