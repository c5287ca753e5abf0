"""Play a setting: its values one after another, each picture when its fits are there; and neighbours fetched ahead."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from synth_core.errors import InputError
from synth_core.jobs.task import Task
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.ui.compare.controls import SLIDERS, active_settings
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.expected import expected_runs
from synth_core.ui.shared.polling import poll
from synth_core.ui.shared.refits import Shown
from synth_core.ui.shared.subject import shown_subject
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.browser import Play
from synth_core.ui.state.choices import Choices, replaced, value_at

FETCHED = "play_fetched"  # whether this session asked for the fits of a play
HOLD_SECONDS = 1.2  # each picture stays: long enough to read an ε
STEPS = 9
AHEAD_SECONDS = 2.0  # a fit that takes longer is not made before it is asked for
AHEAD_STEPS = (1, -1, 2, -2)


def _sliders() -> dict[str, tuple[str, tuple[float, float], float]]:
    """Label, bounds and step of each place that can be played."""
    return {
        place: (label, bounds, step) for each in SLIDERS.values() for label, place, bounds, step, _ in each
    }


def play_menu(mechanisms: tuple[str, ...]) -> None:
    """The menu of Play: which setting, from where to where; or what stops it."""
    used = active_settings(mechanisms)
    offered = [place for name, each in SLIDERS.items() if name in used for _, place, *_ in each]
    if not offered:
        return
    playing = session.current().playing
    if playing is not None:
        st.button(
            f"Stop: {playing.words}", icon=":material/stop:", width="stretch", on_click=stop, key="play"
        )
        return
    sliders = _sliders()
    with st.popover("Play a setting", icon=":material/animation:", width="stretch"):
        place = st.selectbox(
            "Setting", offered, format_func=lambda each: sliders[each][0], key="play_place", help=HELP
        )
        (lower, upper), step = sliders[place][1:]
        left, right = st.columns(2)
        own_number("From", (lower, upper), lower, step, f"play_from_{place}", left, format="%.2f")
        own_number("To", (lower, upper), upper, step, f"play_to_{place}", right, format="%.2f")
        steps = int(own_number("Pictures", limits.PICTURES, STEPS, 1, "play_steps"))
        st.caption(f"{sentence(_time(place, steps))} with these mechanisms, less where fits are known.")
        st.button("Play", type="primary", on_click=start, key="play")


def _time(place: str, steps: int) -> str:
    """How long so many pictures take, in words: fits of the mechanisms that the setting moves, and a look at each."""
    browser = session.current()
    [name] = [name for name, each in SLIDERS.items() if place in {other for _, other, *_ in each}]
    moved = [key for key in browser.choices.mechanisms if name in find_mechanism(key).tuning]
    try:
        settings, subject = browser.settings(), shown_subject()
        refused = subject.impossible(moved, settings)
        once = expected_runs(subject, settings, [key for key in moved if key not in refused])
    except InputError:  # said where the settings are
        return "an unknown time"
    return once.words(steps * (HOLD_SECONDS + sum(once.seconds.values()) / manager().n_lanes))


HELP = "Shows the picture at each value in turn, as soon as its fits are there, and comes back to the present one."


def start() -> None:
    """Button callback: play what the menu says; fits of the values to come begin at once."""
    sliders, chosen = _sliders(), st.session_state
    place: str = chosen.get("play_place") or "settings.scale"
    label, (lower, upper), _ = sliders[place]
    first, last = (float(chosen.get(f"play_{end}_{place}", v)) for end, v in (("from", lower), ("to", upper)))
    steps = np.linspace(first, last, int(chosen.get("play_steps") or STEPS)).round(4).tolist()
    stop()
    browser = session.current()
    # A share of a small ε may be less than a fit can be asked for: its picture would be an error, and hold the play.
    fits = [(v, tasks) for v in steps if (tasks := _tasks(replaced(browser.choices, place, v)))]
    values = tuple(v for v, _ in fits)
    if not values:
        return
    browser.playing = Play(place, label, values, value_at(browser.choices, place))
    _show(browser.playing)
    chosen[FETCHED] = True
    _begin(task for _, tasks in fits for task in tasks)


def stop() -> None:
    """Button callback: come back to the value from before."""
    session.end_play()
    _forget_fits()


def _forget_fits() -> None:
    """The fits of a play that has ended are asked for no more."""
    if st.session_state.pop(FETCHED, False):
        manager().drop(_owner())


def _show(playing: Play) -> None:
    """Take its value without a step of the history; another slider and box show it from the next run on."""
    session.put(playing.place, playing.value, undoable=False)
    session.renew(playing.place)


def toggle() -> None:
    """Play, or stop playing."""
    if session.current().playing is None:
        start()
    else:
        stop()


def go_on(shown: Shown) -> None:
    """Below the picture: hold it, then show the next value's; without a play, fetch the neighbours' fits."""
    browser = session.current()
    if browser.playing is None:
        _forget_fits()
        _fetch_neighbours(shown)
    elif shown.current:
        if not browser.playing.since:
            browser.playing = replace(browser.playing, since=time.monotonic())
        poll(_tick, 0.2)


def _tick() -> None:
    browser = session.current()
    playing = browser.playing
    if playing is None:  # another tab, or a step back, has ended it
        st.rerun()
    if not playing.since or time.monotonic() - playing.since < HOLD_SECONDS:
        return
    if playing.at + 1 == len(playing.values):
        stop()
    else:
        browser.playing = replace(playing, at=playing.at + 1, since=0.0)
        _show(browser.playing)
    st.rerun()


def _owner() -> str:
    return f"{session.owner()}-ahead"


def _begin(tasks: Iterable[Task[Any]]) -> None:
    """Fit in the background what other choices would ask for, each once."""
    unlike: dict[str, Task[Any]] = {task.key: replace(task, background=True) for task in tasks}
    manager().submit(_owner(), list(unlike.values()))


def _tasks(choices: Choices) -> list[Task[Any]]:
    """What a picture of these choices asks for; nothing where they are refused: that is said when asked."""
    browser = session.current()
    try:
        settings, subject = browser.settings_under(choices), shown_subject()
        refused = subject.impossible(choices.mechanisms, settings)
        return [subject.task(browser, settings, name) for name in choices.mechanisms if name not in refused]
    except InputError:
        return []


def _fetch_neighbours(shown: Shown) -> None:
    """Once a picture is whole: fit what one more step of the slider that was moved last would ask for."""
    browser = session.current()
    moved = _moved_last(browser.choices, browser.history[-1]) if browser.history else None
    asked = (moved, browser.choices.settings, shown_subject())
    if not shown.current or moved is None or st.session_state.get("ahead") == asked:
        return
    if sum(s.numbers.seconds for s in shown.summaries) > AHEAD_SECONDS * manager().n_lanes:
        return
    st.session_state["ahead"] = asked
    _, (lower, upper), step = _sliders()[moved]
    value = value_at(browser.choices, moved)
    near = [round(value + by * step, 4) for by in AHEAD_STEPS]
    variants = [replaced(browser.choices, moved, each) for each in near if lower <= each <= upper]
    _begin(task for choices in variants for task in _tasks(choices))


def _moved_last(now: Choices, before: Choices) -> str | None:
    """The one slider in which two choices differ."""
    different = [place for place in _sliders() if value_at(now, place) != value_at(before, place)]
    return different[0] if len(different) == 1 else None
