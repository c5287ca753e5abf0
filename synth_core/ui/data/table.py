"""Which table: an example or an upload."""

from __future__ import annotations

import streamlit as st

from synth_core.data.examples import EXAMPLES
from synth_core.data.readers import DELIMITERS, ENCODINGS, SUFFIXES, ReadOptions
from synth_core.system import limits
from synth_core.ui.shared.reading import show_reading, take_upload
from synth_core.ui.state import session

DETECT = "detect"
DECIMALS = {".": "point", ",": "comma"}


def choose_table() -> None:
    """Examples and uploads, each behind a tab."""
    tab_example, tab_file = st.tabs(["Example", "Your file"])
    with tab_example:
        choose_example()
    with tab_file:
        choose_file()


def choose_example() -> None:
    """Controls of the examples that come with the app."""
    key = st.selectbox("Example", list(EXAMPLES), format_func=lambda k: EXAMPLES[k].title)
    example = EXAMPLES[key]
    st.caption(example.source)
    rows, seed, half = None, 1, None
    if not example.simulate:
        parts = {"All records": None, "First half": 1, "Second half": 2}
        half = parts[
            st.segmented_control(
                "Records",
                list(parts),
                default="All records",
                required=True,
                help="Tune on one half, release the other.",
            )
        ]
    else:
        left, right = st.columns(2)
        rows = left.number_input("Records", limits.MIN_ROWS, 1_000_000, example.default_rows, 100)
        seed = right.number_input("Seed of the simulation", *limits.SEED, 1, 1)
    st.button(
        "Use this example",
        type="primary",
        on_click=session.attempt,
        args=("example", session.use_example, key, rows, int(seed), half),
    )
    session.show_message("example")


def choose_file() -> None:
    """Controls of an upload; the bytes stay in memory."""
    upload = st.file_uploader(
        "Table",
        type=[s.lstrip(".") for s in SUFFIXES],
        help=f"At most {limits.MAX_UPLOAD_MB} MB. Kept in memory, never written to disk.",
    )
    with st.expander("How to read a text file"):
        a, b, c = st.columns(3)
        delimiter = a.selectbox(
            "Delimiter", [DETECT, *DELIMITERS], format_func=lambda d: DELIMITERS.get(d, d)
        )
        encoding = b.selectbox("Encoding", [DETECT, *ENCODINGS])
        decimal = c.selectbox("Decimal sign", [DETECT, *DECIMALS], format_func=lambda d: DECIMALS.get(d, d))
    confidential = st.checkbox("The table is confidential", value=True)
    if upload is not None:
        options = ReadOptions(*(None if v == DETECT else v for v in (delimiter, encoding, decimal)))
        st.button(
            "Use this file",
            type="primary",
            on_click=session.attempt,
            args=("file", take_upload, "file", session.use_file, upload, options, confidential),
        )
    show_reading("file")


def reading() -> str:
    """How the table in use was read, in words; empty where nothing was to be found out."""
    used = session.current().table.read_options
    if used.delimiter is None or used.decimal is None:
        return ""
    return (
        f" · read as {DELIMITERS[used.delimiter]}-separated {used.encoding}, decimal {DECIMALS[used.decimal]}"
    )
