"""Settings kept, opened, shared and undone: a small menu."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.errors import InputError
from synth_core.release.plan.settings_file import SettingsFile, from_bytes, from_link, to_link, to_text
from synth_core.ui.state import session

PARAMETER = "settings"


def _open(upload: Any) -> None:
    _take(from_bytes(upload.getvalue()))


def _take(file: SettingsFile) -> None:
    session.use_settings(file.settings, file.mechanisms)
    _leave()


def _leave() -> None:
    st.query_params.pop(PARAMETER, None)


def offered_by_link() -> None:
    """Settings that the address brings: used only when asked, since anyone can write a link."""
    word = st.query_params.get(PARAMETER)
    if not word:
        return
    try:
        file = from_link(word)
    except InputError as error:
        st.error(session.plain(str(error)), icon=":material/error:")
        _leave()
        return
    s = file.settings
    with st.container(border=True):
        st.markdown(
            f"The link brings settings: {session.plain(s.outcome)} by the model {session.plain(s.model)}, scale "
            f"{s.scale:g}, shift {s.shift:g}, ε {s.epsilon:g}, {len(file.mechanisms)} mechanisms."
        )
        left, right = st.columns(2)
        left.button("Use them", type="primary", on_click=session.attempt, args=("link", _take, file))
        right.button("Leave mine", on_click=_leave)
        session.show_message("link")


def settings_menu() -> None:
    """Undo, save, open, share."""
    steps = len(session.current().history)
    st.button(
        f"Undo ({steps})" if steps else "Undo",
        key="undo",  # one button, however many steps its label counts
        icon=":material/undo:",
        disabled=not steps,
        on_click=session.undo,
        width="stretch",
        help="Takes back the last change of a setting, up to fifty of them.",
    )
    with st.popover("Save, open, share settings", width="stretch"):
        try:
            text = to_text(session.settings(), list(session.choices().mechanisms))
        except InputError as error:
            st.error(session.plain(str(error)), icon=":material/error:")
            return
        st.download_button(
            "Save as a file",
            text,
            "settings.json",
            "application/json",
            icon=":material/download:",
            on_click="ignore",
        )
        upload = st.file_uploader("Open a file", ["json"], key="settings_file")
        if upload is not None:
            st.button("Use this file's settings", on_click=session.attempt, args=("settings", _open, upload))
        session.show_message("settings")
        try:
            st.caption("A link with these settings, column names included, and no data:")
            st.code(
                f"{(st.context.url or '').partition('?')[0]}?{PARAMETER}={to_link(text)}",
                language=None,
                wrap_lines=True,
            )
        except InputError as error:
            st.caption(str(error))
