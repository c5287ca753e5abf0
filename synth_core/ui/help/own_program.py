"""An own program: its editor and its check, examples, uploads, the contract."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.ui.help import contract_check as check
from synth_core.ui.help.pages import DOCS, page_text
from synth_core.ui.server import access
from synth_core.ui.state import session

EXAMPLES = {
    "template.stan": "Template (normal regression)",
    "gamma_regression.stan": "Gamma regression",
    "student_t.stan": "Student-t regression",
}
KEY = "own_source"
CODE_STYLE = f"""<style>.st-key-{KEY} textarea {{
  font-family: "Source Code Pro", ui-monospace, monospace; font-size: 0.82rem; line-height: 1.45;
  white-space: pre; overflow-x: auto; tab-size: 2; }}</style>"""


def read(name: str) -> str:
    """An example's source."""
    return (DOCS / "guide" / "own" / name).read_text()


def load(source: str) -> None:
    """Button callback: put a program into the editor."""
    st.session_state[KEY] = source
    check.keep_draft(source)


def take_upload(upload: Any) -> None:
    """Button callback: an uploaded file into the editor."""
    load(check.decode(upload.getvalue()))


def contract() -> None:
    """The documentation, without its title."""
    st.markdown(page_text("guide/own-program.md").partition("\n")[2])


def choose_source(off: bool) -> str:
    """Examples and an upload; returns the example's name."""
    a, b, c = st.columns([4, 3, 2], vertical_alignment="bottom")
    name = a.selectbox("Example", list(EXAMPLES), format_func=EXAMPLES.__getitem__)
    b.button("Load into the editor", on_click=load, args=(read(name),), width="stretch", disabled=off)
    c.download_button("Download", read(name), name, "text/plain", on_click="ignore", width="stretch")
    if not off:
        with st.expander("Or load a file of yours", key="load_program"):
            upload = st.file_uploader("File with a Stan program", ["stan"], max_upload_size=1)
            if upload is not None:
                st.button("Load this file", on_click=session.attempt, args=("own_file", take_upload, upload))
    session.show_message("own_file")
    return name


def edit() -> None:
    """The editor and the button."""
    st.html(CODE_STYLE)
    st.session_state.setdefault(KEY, session.choices().program_draft or read("template.stan"))
    st.text_area("Stan program", key=KEY, height=480, on_change=check.keep_edited, args=(KEY,))
    st.button(
        "Check and use", type="primary", icon=":material/play_arrow:", on_click=check.start, args=(KEY,)
    )


def show() -> None:
    """Editor and check side by side; where own programs are refused, an example and the contract."""
    refused = access.refusal()
    left, right = st.columns([5, 4], gap="large")
    with left:
        st.subheader("1 · Your Stan program", anchor=False)
        if refused is not None:
            st.warning(refused, icon=":material/lock:")
        chosen = choose_source(refused is not None)
        if refused is None:
            edit()
        else:  # a box that scrolls cannot be reached by keys
            st.code(read(chosen), language="cpp", wrap_lines=True)
    with right:
        if refused is None:
            st.subheader("2 · Does it keep the contract?", anchor=False)
            check.show_table()
            check.show()
            with st.expander("The contract: what a program must declare and keep", key="contract_panel"):
                contract()
        else:
            st.subheader("The contract", anchor=False)
            contract()
