"""An upload on its way to a table: read apart, with what it is doing and a way to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile

from synth_core.data.read_apart import Reading
from synth_core.data.readers import ReadOptions
from synth_core.data.table import Table
from synth_core.system.characters import one_line, visible
from synth_core.ui.shared.polling import poll
from synth_core.ui.state import session

QUICK_SECONDS = 2.0  # a file that is read within this is there with the same click
POLL_SECONDS = 0.5
Use = Callable[[Table], None]


def take_upload(
    place: str, use: Use, upload: Any, options: ReadOptions = ReadOptions(), confidential: bool = True
) -> None:
    """Button callback: read an upload, then `use` the table; a longer reading goes on in the background.

    Raises
    ------
    InputError
        If it was refused at once.
    """
    stop_reading(place)
    reading = Reading(upload.getvalue(), upload.name, options, confidential)
    if reading.finished(QUICK_SECONDS):
        use(reading.table())
    else:
        st.session_state[f"reading_{place}"] = (reading, use)


def show_reading(place: str) -> None:
    """On the page: how long a file has been read, and a button to stop it; words if it was refused."""
    session.show_message(place)
    if f"reading_{place}" in st.session_state:
        poll(_progress, POLL_SECONDS, place)


def upload_of(key: str, table: Table) -> Any:
    """The upload of a file widget that became this table, while the browser and the server hold it; else None."""
    upload = held(st.session_state.get(key))
    return upload if upload is not None and visible(one_line(upload.name)) == table.name else None


def held(upload: Any) -> Any:
    """What a file widget holds; None where the browser names a file that a server which began anew does not have."""
    return None if isinstance(upload, DeletedFile) else upload


def choose_sheet(place: str, use: Use, upload: Any, table: Table | None) -> None:
    """On the page: which sheet of the upload that became `table`, where it has several; their names alone are shown."""
    if upload is None or table is None or table.name != visible(one_line(upload.name)):
        return
    read = table.read_options
    if read.sheet is None or len(read.sheets) < 2:
        return
    key = f"sheet_{place}_{table.fingerprint}"
    st.selectbox(
        f"Sheet, of {len(read.sheets)}",
        read.sheets,
        read.sheets.index(read.sheet),
        key=key,
        on_change=_take_sheet,
        args=(key, place, use, upload, table.confidential),
    )


def _take_sheet(key: str, place: str, use: Use, upload: Any, confidential: bool) -> None:
    """Widget callback: read the same file again, another sheet of it."""
    options = ReadOptions(
        sheet=st.session_state[key]
    )  # its columns are others: what was declared is not of them
    session.attempt(place, take_upload, place, use, upload, options, confidential)


def stop_reading(place: str) -> None:
    """Button callback: end a reading, if there is one."""
    reading, _ = st.session_state.pop(f"reading_{place}", (None, None))
    if reading is not None:
        reading.close()


def _progress(place: str) -> None:
    reading, use = st.session_state.get(f"reading_{place}", (None, None))
    if reading is None:
        return
    if reading.finished():
        del st.session_state[f"reading_{place}"]
        session.attempt(place, lambda: use(reading.table()))
        st.rerun()
    left, right = st.columns([6, 2], vertical_alignment="center")
    left.info(
        f"Reading {session.plain(reading.name)}: {reading.seconds:.0f} seconds so far.",
        icon=":material/hourglass:",
    )
    right.button("Stop", key=f"stop_reading_{place}", width="stretch", on_click=stop_reading, args=(place,))
