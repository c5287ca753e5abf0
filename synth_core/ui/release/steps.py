"""The five steps of a release: where one stands, and what each of them is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.models import family
from synth_core.release.ledger.balances import Balance
from synth_core.release.ledger.limit_room import left_words
from synth_core.ui.release import plan_actions, release_actions, release_job
from synth_core.ui.state import session
from synth_core.ui.state.browser import Desk
from synth_core.ui.state.session import plain

NAMES = ("Plan", "Table", "Checks", "Release", "Ledger")
DONE, HERE, LATER = (f":material/{name}:" for name in ("check_circle", "arrow_circle_right", "circle"))


@dataclass(frozen=True)
class ReleaseProgress:
    """How far a release is, from 1 to 5, and the words that every step shows: table, model, budget left."""

    at: int
    about: str


def standing() -> ReleaseProgress:
    """How far the present release is."""
    now = release_job.state()
    return ReleaseProgress(_reached(now), " · ".join((*_subject(now), _budget(now))))


def _reached(now: Desk) -> int:
    if now.plan is None:
        return 1
    if now.table is None:
        return 2
    outcome = release_actions.outcome()
    if outcome is None or (not outcome.archives and release_actions.release_obstacles(outcome)):
        return 3
    return 5 if outcome.archives else 4


def _subject(now: Desk) -> tuple[str, str]:
    if now.plan is None:
        table, choices = session.current().table.name, session.choices()
        of = _models([block.model for block in choices.whole] or [choices.settings.model])
        words = f"Planned on the table in use, **{plain(table)}**"
    elif now.table is None:
        of = _models([settings.model for settings in now.plan.outcomes.values()])
        words = f"Planned on **{plain(now.plan.tuned_on.name)}**; no table to be released yet"
    else:
        of = _models([settings.model for settings in now.plan.outcomes.values()])
        outcome = release_actions.outcome()
        what = "Released" if outcome is not None and outcome.archives else "To be released"
        words = f"{what}: **{plain(now.table.name)}**, planned on {plain(now.plan.tuned_on.name)}"
    return words, of


def _models(models: list[str]) -> str:
    return f"{len(models)} sensitive variables" if len(models) > 1 else family(models[0]).label


def _budget(now: Desk) -> str:
    series = now.plan.series if now.plan is not None else str(plan_actions.current_form()["series"]).strip()
    if not series:
        return "no series named yet"
    balance = release_actions.series_balance(series)
    if balance is None:
        return f"the ledger of {plain(series)} cannot be read"
    return f"series {plain(series)}: {plain(left_of(balance, now))}"


def left_of(balance: Balance, now: Desk) -> str:
    """The budget left in words; before the first limit is set, the one that the plan will set."""
    if balance.limit is None:
        planned = now.plan.limit if now.plan is not None else None
        return "nothing charged yet" + ("" if planned is None else f", limit will be {planned:g}")
    words = left_words(balance)
    return f"{words} of {balance.limit:g}" if balance.count.delta is None else words


def show_stepper(now: ReleaseProgress) -> None:
    """The five steps in a line, with a mark on the present one."""
    marks = []
    for number, name in enumerate(NAMES, 1):
        words = f"{number} · {name}"
        marks.append(f"{_mark(number, now)} " + (f"**{words}**" if number == now.at else words))
    with st.container(key="stepper"):
        st.markdown("  ›  ".join(marks))


def _mark(number: int, now: ReleaseProgress) -> str:
    return DONE if number < now.at else HERE if number == now.at else LATER


def step(number: int, now: ReleaseProgress) -> Any:
    """The container of a step: open are the present one and the one before it."""
    is_open = number in (now.at - 1, now.at)
    label = f"{number} · {NAMES[number - 1]}"
    # Another key for another state: an expander that stays itself keeps what a user did to it.
    panel = st.expander(label, is_open, icon=_mark(number, now), key=f"step_{number}_{now.at}")
    panel.caption(now.about)
    return panel
