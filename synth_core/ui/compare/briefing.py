"""Take it to a meeting: the picture as slides and as one file, for inside and to leave."""

from __future__ import annotations

import datetime
import importlib.metadata

import streamlit as st

from synth_core.figures.briefing.content import Chapter, Page, Provenance, briefing
from synth_core.ui.shared.refits import Shown
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session

POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
LIBRARIES = ("cmdstanpy", "numpy", "scipy")
INSIDE, OUTSIDE = "Everything, for inside", "What may leave"


def briefing_menu(shown: Shown, subject: Subject) -> None:
    """Two files of what is on the screen, made when they are asked for."""
    table = session.current().table
    with st.popover("Slides and file", icon=":material/slideshow:", disabled=not shown.current):
        kind = (
            st.radio(
                "For whom",
                [INSIDE, OUTSIDE],
                captions=[
                    "With figures and errors. Each page that compares with confidential values says INTERNAL.",
                    "Declared settings, guarantees and their sentences. Nothing that was computed from the table, "
                    "not even its name.",
                ],
            )
            if table.confidential
            else INSIDE
        )
        if session.choices().scenarios and shown.beside is None:
            st.caption(
                "Of what is on the screen. To have two scenarios in it, press the letter of one of them first."
            )
        source = Provenance(table.name, table.confidential, datetime.date.today().isoformat(), _versions())
        told = (
            chapters(shown, subject) if shown.current else []
        )  # here: a file is made later, and apart from the browser's choices

        def pages() -> list[Page]:
            return briefing(source, told, kind == OUTSIDE)

        def slides() -> bytes:
            from synth_core.figures.briefing.powerpoint import powerpoint  # half a second, for few

            return powerpoint(pages())

        def file() -> bytes:
            from synth_core.figures.briefing.web_page import web_page

            return web_page(pages())

        name = "briefing-releasable" if kind == OUTSIDE else "briefing-internal"
        if not table.confidential:
            name = "briefing"
        left, right = st.columns(2)
        left.download_button(
            "PowerPoint",
            slides,
            f"{name}.pptx",
            POWERPOINT,
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            help="Tables and charts can be edited.",
        )
        right.download_button(
            "HTML file",
            file,
            f"{name}.html",
            "text/html",
            icon=":material/download:",
            on_click="ignore",
            width="stretch",
            help="Needs no network. Arrow keys turn the pages; it prints as it is.",
        )


def chapters(shown: Shown, subject: Subject) -> list[Chapter]:
    """The scenario that is shown beside, if one is, and the present settings."""
    assert shown.settings is not None
    policy = session.choices().policy
    if shown.beside is None:
        return [Chapter("These settings", "", shown.settings, shown.summaries, policy, subject.blocks)]
    notes = {each.name: each.note for each in session.choices().scenarios}
    beside = shown.beside
    now = "Now" if beside.now == "now" else beside.now
    other = [beside.summaries[name] for name in beside.mechanisms if name in beside.summaries]
    return [
        Chapter(
            beside.name, notes.get(beside.name, ""), beside.settings, other, policy, beside.subject.blocks
        ),
        Chapter(now, notes.get(beside.now, ""), shown.settings, shown.summaries, policy, subject.blocks),
    ]


def _versions() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
