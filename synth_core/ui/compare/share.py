"""Settings kept, opened and shared: a small menu."""

from __future__ import annotations

import re
from typing import Any

import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.data.examples import EXAMPLES
from synth_core.errors import InputError
from synth_core.release.plan.settings_file import SettingsFile, from_bytes, from_link, to_link, to_text
from synth_core.system import limits
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser, ExampleTable

PARAMETER, EXAMPLE = "settings", "with_example"  # the page Data has a box "example"
NAMED = re.compile(r"(\w{1,40})(?:-n(\d{1,7})-seed(\d{1,10}))?(?:-half([12]))?", re.ASCII)


def _open(upload: Any) -> None:
    _take(from_bytes(upload.getvalue()))


def _take(file: SettingsFile) -> None:
    used = (*file.settings.columns, *(block.name for block in file.blocks))
    for name in used:  # before the table is read again
        session.current().table.column(name)
    # A rule and scenarios that a file does not name stay as they are.
    brought: dict[str, Any] = {"blocks": tuple(each.block for each in file.blocks)}
    if file.policy is not None:
        brought["policy"] = file.policy
    if file.scenarios:
        brought["scenarios"] = file.scenarios
    session.use_codebook(file.codebook)
    session.use_missing((*session.current().table.missing, *file.missing))
    session.use_settings(file.settings, file.mechanisms, **brought)
    _leave()


def _take_linked(file: SettingsFile, example: ExampleTable | None) -> None:
    if example is not None:
        session.use_example(example.key, example.rows, example.seed, example.half)
    _take(file)


def _leave() -> None:
    for name in (PARAMETER, EXAMPLE):
        st.query_params.pop(name, None)


def example_word(example: ExampleTable) -> str:
    """An example in an address: "401ksubs-half1", "beta-n500-seed3"."""
    drawn = f"-n{example.rows}-seed{example.seed}" if example.rows is not None else ""
    return f"{example.key}{drawn}" + (f"-half{example.half}" if example.half else "")


def example_named(word: str | None) -> ExampleTable | None:
    """The example that an address names; None for none, raises InputError for what no link of ours says."""
    if not word:
        return None
    match = NAMED.fullmatch(word)
    if match is None or match[1] not in EXAMPLES:
        raise InputError("The link is damaged: it names an example that does not exist.")
    simulated = EXAMPLES[match[1]].simulate is not None
    rows, seed, half = (None if part is None else int(part) for part in match.groups()[1:])
    if (rows is not None and not simulated) or (half is not None and simulated):
        raise InputError("The link is damaged: it asks for a part that its example does not have.")
    if rows is not None and not limits.MIN_ROWS <= rows <= limits.MAX_EXAMPLE_ROWS:
        raise InputError(
            f"The link asks for {rows:,} records; at most {limits.MAX_EXAMPLE_ROWS:,} are simulated."
        )
    if seed is not None and not limits.SEED[0] <= seed <= limits.SEED[1]:
        raise InputError(f"The link asks for a seed outside {limits.SEED[0]} to {limits.SEED[1]:,}.")
    return ExampleTable(match[1], rows, 1 if seed is None else seed, half)


def offered_by_link() -> None:
    """Settings that the address brings: used only when asked, since anyone can write a link."""
    word = st.query_params.get(PARAMETER)
    if not word:
        return
    try:
        file, example = from_link(word), example_named(st.query_params.get(EXAMPLE))
    except InputError as error:
        st.error(session.said(error), icon=":material/error:")
        _leave()
        return
    s = file.settings
    with st.container(border=True):
        st.markdown(
            (
                "The link brings "
                if example is None
                else f"The link brings the example {EXAMPLES[example.key].title} and "
            )
            + f"settings: {session.plain(s.outcome)} by the model {session.plain(s.model)}, scale "
            f"{s.scale:g}, shift {s.shift:g}, ε {s.epsilon:g}, {len(file.mechanisms)} mechanisms"
            + (f"; {len(file.blocks)} sensitive variables" if file.blocks else "")
            + (f"; {len(file.scenarios)} scenarios" if file.scenarios else "")
            + (
                f"; values that mean missing: {session.plain(', '.join(file.missing))}"
                if file.missing
                else ""
            )
            + (f"; and the rule {file.policy.text}." if file.policy else ".")
        )
        left, right = st.columns(2)
        left.button(
            "Use them", type="primary", on_click=session.attempt, args=("link", _take_linked, file, example)
        )
        right.button("Leave mine", on_click=_leave)
        session.show_message("link")


def settings_menu() -> None:
    """Save, open, share."""
    with st.popover("Save, open, share settings", width="stretch"):
        try:
            browser, chosen, settings = session.current(), session.choices(), session.settings()
            text = to_text(
                settings,
                chosen.mechanisms,
                chosen.policy,
                chosen.scenarios,
                browser.table.missing,
                chosen.whole,
                browser.table.declared_codebook,
            )
        except InputError as error:
            st.error(session.said(error), icon=":material/error:")
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
            st.caption(
                "A link with these settings, column names included, and no data:"
                if browser.example is None
                else "A link that opens this example with these settings and scenarios:"
            )
            st.code(_link(browser, settings), language=None, wrap_lines=True)
        except InputError as error:
            st.caption(str(error))


def _link(browser: Browser, settings: Settings) -> str:
    """The page's address with the choices; raises InputError if they are too long for one.

    Scenarios go along with an example only: what was written about a confidential table goes into a file.
    """
    chosen, example = browser.choices, "" if browser.example is None else example_word(browser.example)
    scenarios = chosen.scenarios if example else ()
    missing = browser.table.missing
    word = to_link(to_text(settings, chosen.mechanisms, chosen.policy, scenarios, missing, chosen.whole))
    page = (st.context.url or "").partition("?")[0]
    return f"{page}?{PARAMETER}={word}" + (f"&{EXAMPLE}={example}" if example else "")
