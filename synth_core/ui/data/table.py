"""The choice of the table: an example or an upload.

What a button does is read from the widgets when it is pressed, not when it was drawn: on a busy server a click may
come with a choice that no page has shown yet.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.data.examples import EXAMPLES
from synth_core.data.readers import DELIMITERS, ENCODINGS, SUFFIXES, ReadOptions
from synth_core.system import limits
from synth_core.ui.shared.uploads import (
    choose_sheet,
    held,
    show_reading,
    stop_reading,
    take_upload,
    upload_of,
)
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session

EXAMPLE, FILE = "Example", "Your file"
DETECT = "detect"
HOW: dict[str, tuple[str, dict[str, str]]] = {  # an option of reading: its label, and its values in words
    "delimiter": ("Delimiter", DELIMITERS),
    "encoding": ("Encoding", {name: name for name in ENCODINGS}),
    "decimal": ("Decimal sign", {".": "point", ",": "comma"}),
    "thousands": ("Sign of thousands", {",": "comma", ".": "point", " ": "space", "'": "apostrophe"}),
}
READ_ONCE = "file_read_once"  # whether the widgets have been used for a file
PARTS = {"All records": None, "First half": 1, "Second half": 2}


def choose_table() -> None:
    """Examples and uploads, each behind a tab: at first that of the table in use; the address may open one."""
    browser = session.current()
    tab_example, tab_file = st.tabs(
        [EXAMPLE, FILE],
        default=EXAMPLE if browser.example is not None or browser.demo else FILE,
        key="table",
        on_change="rerun",
        bind="query-params",
    )
    with tab_example:
        choose_example()
    with tab_file:
        choose_file()


def choose_example() -> None:
    """Controls of the examples that come with the app."""
    names, used = list(EXAMPLES), session.current().example
    at = 0 if used is None else names.index(used.key)
    key = st.selectbox("Example", names, at, format_func=lambda k: EXAMPLES[k].title, key="example")
    example = EXAMPLES[key]
    st.caption(example.source)
    if not example.simulate:
        st.segmented_control(
            "Records",
            list(PARTS),
            default="All records",
            required=True,
            key="example_part",
            help="Tune on one half, release the other.",
        )
    else:
        left, right = st.columns(2)
        own_number(
            "Records",
            (limits.MIN_ROWS, limits.MAX_EXAMPLE_ROWS),
            example.default_rows,
            100,
            f"example_rows_{key}",
            left,
        )
        own_number("Seed of the simulation", limits.SEED, 1, 1, "example_seed", right)
    st.button("Use this example", type="primary", on_click=session.attempt, args=("example", _use_example))
    session.show_message("example")


def _use_example() -> None:
    """Button callback: also in the place of a file that is still being read."""
    stop_reading("file")
    chosen = st.session_state
    key: str = chosen["example"]
    if EXAMPLES[key].simulate:
        rows, seed = chosen.get(f"example_rows_{key}"), chosen.get("example_seed") or 1
        session.use_example(key, None if rows is None else int(rows), int(seed))
    else:
        session.use_example(key, None, 1, PARTS[chosen.get("example_part", "All records")])


def choose_file() -> None:
    """Controls of an upload, which is read and used as soon as it is there; the bytes stay in memory."""
    st.checkbox("The table is confidential", value=True, key="file_confidential", on_change=_take_file)
    st.file_uploader(
        "Table",
        type=[s.lstrip(".") for s in SUFFIXES],
        key="table_file",
        on_change=_take_file,
        args=(True,),
        help=f"At most {limits.MAX_UPLOAD_MB} MB. Read and used at once; kept in memory, never written to disk.",
    )
    show_reading("file")
    used = session.current().table
    upload = upload_of("table_file", used)
    if upload is not None:
        choose_sheet("file", session.use_file, upload, used)
        st.caption(f":material/table: {session.plain(used.name)} is loaded and in use.")
    with st.expander("How to read a text file", key="how_to_read"):
        places = [*st.columns(2), *st.columns(2)]
        for place, (name, (label, known)) in zip(places, HOW.items(), strict=True):
            shown = {DETECT: DETECT} | known
            place.selectbox(
                label,
                list(shown),
                format_func=shown.__getitem__,
                key=f"file_{name}",
                on_change=_take_file,
            )


def _take_file(another: bool = False) -> None:
    """Widget callback: read the upload as the widgets say, and use it; nothing while there is none.

    Parameters
    ----------
    another : bool
        Whether it is another file. How the one before was read does not count for it, nor that it was public.
    """
    chosen = st.session_state
    upload = held(chosen.get("table_file"))
    if upload is None:
        return
    if another and chosen.get(READ_ONCE):
        chosen.update({f"file_{name}": DETECT for name in HOW}, file_confidential=True)
    chosen[READ_ONCE] = True
    how = {name: chosen.get(f"file_{name}", DETECT) for name in HOW}
    given: dict[str, Any] = {name: value for name, value in how.items() if value != DETECT}
    used = session.current().table
    before = ReadOptions() if another or used.name != upload.name else used.read_options
    options = ReadOptions(**given, sheet=before.sheet, codebook=before.codebook)
    confidential = bool(chosen.get("file_confidential", True))
    session.attempt("file", take_upload, "file", session.use_file, upload, options, confidential)
