"""Take it to a meeting: the picture as slides and as one file, for inside and to leave."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace

import streamlit as st

from synth_core.analysis.policy import Policy
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.figures.briefing.content import Chapter, Page, Provenance, briefing
from synth_core.jobs.stored_summaries import has_summary, stored_summary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.plan.settings_file import Scenario
from synth_core.system.cache import results_cache
from synth_core.ui.compare.scenarios import of_other_variables, pinned_as, present
from synth_core.ui.shared.refits import Shown
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session

POWERPOINT = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
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
        # Of an older picture nothing is made; the menu is closed.
        pinned, unseen = pinned_chapters(session.choices().scenarios) if shown.current else ([], [])
        if unseen:
            st.caption(session.plain(f"Left out: {'; '.join(unseen)}."))
        source = Provenance(table.name, table.confidential, datetime.date.today().isoformat())
        now = present_chapter(shown, subject) if shown.current else None

        def pages() -> list[Page]:  # called later, and apart from the browser's choices
            return briefing(source, with_present(pinned, now), kind == OUTSIDE, unseen)

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


@dataclass(frozen=True)
class PinnedChapter:
    """A scenario whose results are stored: read when a file is made of them."""

    scenario: Scenario
    settings: Settings
    keys: tuple[str, ...]

    def read(self, policy: Policy) -> Chapter:
        """The chapter, without the mechanisms that have no result."""
        found = [stored_summary(results_cache(), key) for key in self.keys]
        blocks = tuple(each.block for each in self.scenario.blocks)
        summaries = [each for each in found if each is not None]
        return Chapter(self.scenario.name, self.scenario.note, self.settings, summaries, policy, blocks)


def pinned_chapters(
    scenarios: Sequence[Scenario], of: Subject | None = None
) -> tuple[list[PinnedChapter], list[str]]:
    """Every pinned scenario that has results on the table in use; and why others, or some of their mechanisms, are
    left out.

    Parameters
    ----------
    of : Subject, optional
        Whose variables the scenarios must have; None: what Compare shows.
    """
    browser, cache = session.current(), results_cache()
    chapters, left_out = [], []
    for each in scenarios:
        if why := of_other_variables(each, of):
            left_out.append(f"{each.name}, which {why}")
            continue
        subject = Subject(tuple(kept.block for kept in each.blocks))
        try:
            settings = browser.settings_of(each)
            tasks = [subject.task(browser, settings, key) for key in each.mechanisms]
        except InputError as error:
            left_out.append(f"{each.name}: {str(error).rstrip('.')}")
            continue
        there = [task for task in tasks if has_summary(cache, task.key)]
        if not there:
            left_out.append(f"{each.name}, which is not computed: press its letter")
            continue
        missing = [find_mechanism(task.mechanism).label for task in tasks if task not in there]
        if missing:
            left_out.append(f"{', '.join(missing)} of {each.name}, without a result")
        chapters.append(PinnedChapter(each, subject.settings(settings), tuple(task.key for task in there)))
    return chapters, left_out


def present_chapter(shown: Shown, subject: Subject) -> Chapter:
    """What is on the screen; under the name of the scenario that it is, else without one."""
    assert shown.settings is not None
    same = pinned_as(present())
    name = "" if same is None else same.name
    return Chapter(
        name, "", subject.settings(shown.settings), shown.summaries, subject.policy, subject.blocks
    )


def with_present(pinned: Sequence[PinnedChapter], now: Chapter | None) -> list[Chapter]:
    """The chapters of a file: the scenarios in their order, and last what is on the screen where it is not pinned."""
    policy = Policy() if now is None else now.policy
    chapters = [chapter for each in pinned if (chapter := each.read(policy)).summaries]
    names = [each.name for each in chapters]
    if now is None or now.name in names:
        return chapters
    unpinned = "These settings" if not names else "Now" if "Now" not in names else "Now, not pinned"
    return [*chapters, replace(now, name=now.name or unpinned)]
