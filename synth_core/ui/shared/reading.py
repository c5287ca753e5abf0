"""An upload on its way to a table: read apart, with what it is doing and a way to stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from synth_core.data.read_apart import Reading
from synth_core.data.readers import ReadOptions
from synth_core.data.table import Table
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
        st.fragment(_progress, run_every=POLL_SECONDS)(place)


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
