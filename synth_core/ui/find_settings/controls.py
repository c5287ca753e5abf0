"""The controls of Find settings, and what its buttons start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from synth_core.analysis.records.blocks import Block, common_of, parts_of, with_shares
from synth_core.analysis.settings import Settings
from synth_core.analysis.utility import statistic_name
from synth_core.errors import InputError
from synth_core.experiments.explore.knobs import KNOBS, knobs_of, settings_at
from synth_core.experiments.explore.point import PointSummary, runs_of_point
from synth_core.experiments.explore.records_point import check_measure
from synth_core.experiments.explore.refine import refined
from synth_core.experiments.explore.sweep import Planned, Sweep, count_points, estimate, plan
from synth_core.experiments.explore.wording import frontier_points
from synth_core.jobs.task import Task, TaskInput
from synth_core.jobs.tasks import PointTask
from synth_core.mechanisms.catalogue import MECHANISMS, find_mechanism
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.expected import ExpectedRuns, expected_runs
from synth_core.ui.shared.subject import Subject, record_subject, say_left_out, show_subject
from synth_core.ui.shared.widgets import key_of, number, pick
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun
from synth_core.ui.state.choices import Choices, replaced

MAP_RUN, TUNING_RUN = "map", "tuning"
PERCENTILE = "percentile"
COARSE = ("coarse",)  # what the page asked for where it started a map by itself
COARSE_STEPS, COARSE_SECONDS = 4, 60.0  # of points that come one by one, and give way to all else


@dataclass(frozen=True)
class MapRequest:
    """What the sidebar asks for."""

    mechanisms: list[str]
    measure: str
    settings: Settings
    sweeps: list[Sweep]
    subject: Subject


def choose_map() -> MapRequest | None:
    """Mechanisms, the settings to sweep and the measure; None while there is nothing to plan."""
    choices, subject = session.choices(), record_subject()
    said = st.empty()
    pick(
        "multiselect",
        "Mechanisms",
        "explore.mechanisms",
        [*MECHANISMS, *choices.composed],
        format_func=lambda key: find_mechanism(key).label,
        help="Those composed on the page Compare can be chosen too.",
    )
    chosen = session.choices().explore.mechanisms
    if words := _of_records(subject, chosen):
        said.caption(session.plain(words))
    settings = subject.settings(session.settings(match_epsilon=None))
    _offer_compared(subject, settings, chosen)
    left_out = subject.left_out(chosen)
    used = set().union(*(find_mechanism(key).tuning for key in chosen if key not in left_out))
    possible = [name for name, kind in KNOBS.items() if kind.tuning in used]
    if possible:
        _choose_sweeps(choices, possible)
    refused = _refused(subject, settings, chosen)
    mapped = [m for m in chosen if m not in refused]
    if not mapped:
        st.info(
            "None of the chosen mechanisms can be mapped here."
            if chosen
            else "Choose at least one mechanism."
        )
    say_left_out(refused)
    if not mapped:
        return None
    explore = session.choices().explore
    sweeps = [Sweep(name, *getattr(explore.sweeps, name)) for name in possible if name in explore.swept]
    if subject.blocks:
        check_measure([part.settings for part in parts_of(subject.blocks, common_of(settings))], measure())
    return MapRequest(mapped, measure(), settings, sweeps, subject)


def _refused(subject: Subject, settings: Settings, mechanisms: Sequence[str]) -> dict[str, str]:
    """Why mechanisms cannot be mapped, by key."""
    refused = subject.left_out(mechanisms)
    refused |= subject.impossible([m for m in mechanisms if m not in refused], settings)
    needing = [find_mechanism(m) for m in mechanisms if m not in refused and settings.bounds is None]
    return refused | {
        each.key: f"{each.label}: it needs declared bounds, on the Data page."
        for each in needing
        if each.likelihood.needs_bounds
    }


def _offer_compared(subject: Subject, settings: Settings, chosen: Sequence[str]) -> None:
    """One press takes the mechanisms of Compare that can be mapped, where others are chosen here."""
    compared = session.choices().mechanisms
    refused = _refused(subject, settings, compared)
    offered = tuple(key for key in compared if key not in refused)
    if offered and set(offered) != set(chosen):
        names = ", ".join(find_mechanism(key).label for key in offered)
        st.button(
            f"Take those of Compare: {names}",
            type="tertiary",
            on_click=_take_compared,
            args=(offered,),
            width="stretch",
        )


def _of_records(subject: Subject, mechanisms: Sequence[str]) -> str:
    """That a map is of whole records, and how ε is divided where variables are fitted apart; empty for one variable."""
    fitted = any(find_mechanism(key).likelihood.samples for key in mechanisms)
    if len(subject.blocks) < 2:
        return ""
    unit = session.choices().settings.unit_column
    of = "Of all variables" if unit is None else f"Of all variables, ε for one {unit}"
    return f"{of}; ε is divided: {subject.share_words}." if fitted else f"{of}."


def _take_compared(mechanisms: tuple[str, ...]) -> None:
    session.change(replaced(session.choices(), "explore.mechanisms", mechanisms))


def _choose_sweeps(choices: Choices, possible: list[str]) -> None:
    place, swept = "explore.swept", choices.explore.swept
    key = key_of(place)
    st.session_state.setdefault(key, [name for name in swept if name in possible])

    def store() -> None:  # those that move no chosen mechanism wait until one is chosen again
        if key in st.session_state and not session.is_late(place, key):
            session.put(place, [n for n in swept if n not in possible] + list(st.session_state[key]))

    st.pills(
        "Settings to sweep",
        possible,
        selection_mode="multi",
        key=key,
        format_func=lambda n: KNOBS[n].symbol,
        on_change=store,
        help="The others stay as they are on Compare. Each mechanism is swept over those that move it: "
        "ε by equal ratios, the others by equal steps.",
    )
    for name in [n for n in possible if n in swept]:
        kind = KNOBS[name]
        columns = st.columns(3, gap="xsmall", vertical_alignment="bottom")
        for i, label in enumerate((f"{kind.symbol} from", "to", "steps")):
            with columns[i]:
                within, step, form = (limits.STEPS, 1, None) if i == 2 else (kind.bounds, kind.step, "%.4g")
                number(label, f"explore.sweeps.{name}.{i}", within, step, format=form)


def measure() -> str:
    """The chosen measure's key."""
    explore = session.choices().explore
    if explore.measure != PERCENTILE:
        return explore.measure
    return statistic_name(explore.percentile)


def map_tasks(asked: MapRequest) -> list[Task[Any]]:
    browser = session.current()
    reference = browser.reference
    planned = plan(
        browser.table.fingerprint,
        asked.mechanisms,
        asked.settings,
        asked.sweeps,
        None if reference is None else reference.fingerprint,
    )
    return _points(planned, asked.subject.blocks)


def map_button(asked: MapRequest) -> tuple[str, ...]:
    """Start the map; what it takes stands beside. Returns the key of the map that is asked for."""
    rows, lanes = session.current().table.rows, manager().n_lanes
    estimate(asked.mechanisms, asked.settings, asked.sweeps, rows, lanes)  # refuses too many points
    tasks = map_tasks(asked)
    run = background.current(MAP_RUN)
    key = tuple(task.key for task in tasks)
    same = run is not None and run.asked == key
    st.button(
        f"Fill the map: {len(tasks)} points",
        width="stretch",
        disabled=same and (run is None or not run.having("cancelled", "failed")),
        on_click=session.attempt,
        args=(MAP_RUN, _start_map, asked),
    )
    if not same:
        st.caption(
            f"{sentence(_time(asked))} on {lanes} processes, less where points are known; Compare goes first."
        )
    session.show_message(MAP_RUN)
    return key


def seconds_of_points(asked: MapRequest) -> dict[str, float]:
    """About how long one point of each mechanism takes, in seconds."""
    return _of_points(asked, _once(asked))


def seconds_of_map(asked: MapRequest) -> float:
    """About how long its points take, in seconds."""
    return _seconds(asked, _once(asked))


def _once(asked: MapRequest) -> ExpectedRuns:
    return expected_runs(asked.subject, asked.settings, asked.mechanisms)


def _of_points(asked: MapRequest, once: ExpectedRuns) -> dict[str, float]:
    """Seconds of a point, of which some are several runs."""
    return {
        key: runs_of_point(find_mechanism(key), asked.settings) * seconds
        for key, seconds in once.seconds.items()
    }


def _seconds(asked: MapRequest, once: ExpectedRuns) -> float:
    each = _of_points(asked, once)
    counts = count_points(asked.mechanisms, asked.settings, asked.sweeps)
    return sum(count * each[key] for key, count in counts.items()) / manager().n_lanes


def _time(asked: MapRequest) -> str:
    """How long its points take, in words."""
    once = _once(asked)
    return once.words(_seconds(asked, once))


def coarse_map(asked: MapRequest) -> None:
    """Start a few points of the map by itself where there is no map yet, and they take seconds: no empty page."""
    run = background.current(MAP_RUN)
    if run is not None and (run.running or is_of(run) == subject_words(asked)):
        return
    try:
        if seconds_of_map(_coarse(asked)) <= COARSE_SECONDS:
            _start_coarse(asked)
    except InputError:  # the button says it
        return


def offer_coarse_map(asked: MapRequest) -> None:
    """On an empty page: a button for a few points that take too long to be started by themselves."""
    few = _coarse(asked)
    try:
        n, time = len(map_tasks(few)), _time(few)
    except InputError:
        return
    st.button(
        f"Fill a coarse map: {n} points, {time}",
        type="primary",
        key="coarse_map",
        on_click=session.attempt,
        args=(MAP_RUN, _start_coarse, asked),
    )


def _coarse(asked: MapRequest) -> MapRequest:
    """The same map of a few points."""
    few = [
        replace(sweep, steps=min(sweep.steps, COARSE_STEPS))
        if sweep.knob in ("scale", "epsilon")
        else replace(sweep, upper=sweep.lower, steps=1)
        for sweep in asked.sweeps
    ]
    return replace(asked, sweeps=few)


def _start_coarse(asked: MapRequest) -> None:
    background.start(MAP_RUN, map_tasks(_coarse(asked)), COARSE, seconds_of_points(asked))


def is_coarse_map_of(run: BackgroundRun, asked: MapRequest | None) -> bool:
    """Whether all points of a run are of the choices as they are now, but for the settings that are swept."""
    if asked is None:
        return False
    browser, swept = session.current(), {KNOBS[sweep.knob].tuning for sweep in asked.sweeps}

    def now(given: TaskInput) -> TaskInput:
        at = settings_at(asked.settings, {name: getattr(given.settings, name) for name in swept})
        return TaskInput.of(browser.table, at, browser.reference, asked.subject.blocks)

    return all(repr(now(task.given)) == repr(task.given) for task in run.tasks)


def subject_words(asked: MapRequest) -> str:
    """The sensitive variables that are asked about, as `is_of` says them."""
    names = asked.subject.names
    return whole_words(names) if names else asked.settings.outcome


def _start_map(asked: MapRequest) -> None:
    tasks = map_tasks(asked)
    background.start(MAP_RUN, tasks, tuple(task.key for task in tasks), seconds_of_points(asked))


def refine_map(measure: str) -> None:
    """Button callback: more points around the frontier of this measure."""
    run = background.current(MAP_RUN)
    if run is None:
        return
    browser, reference = session.current(), session.current().reference
    shown = [replace(job.answer, id=job.key) for job in run.jobs if job.answer is not None]
    best = {p.id for kept in frontier_points(shown, measure).values() for p in kept}
    points = []
    for task in run.tasks:
        mechanism, settings = find_mechanism(task.mechanism), task.given.settings
        points.append(Planned(mechanism.key, settings, knobs_of(mechanism, settings)))
    more = refined(
        browser.table.fingerprint,
        points,
        [task.key in best for task in run.tasks],
        None if reference is None else reference.fingerprint,
    )
    background.start(MAP_RUN, run.tasks + _points(more, run.tasks[0].given.blocks), run.asked, run.expected)


def _points(planned: list[Planned], blocks: tuple[Block, ...]) -> list[Task[Any]]:
    """The tasks of points on the table in use."""
    browser = session.current()
    return [
        PointTask(TaskInput.of(browser.table, each.settings, browser.reference, blocks), each.mechanism)
        for each in planned
    ]


def is_of(run: BackgroundRun) -> str:
    """The sensitive variables that a run is of: all of whole records, or the one of its settings."""
    given = run.tasks[0].given
    names = ", ".join(block.name for block in given.blocks)
    return whole_words(names) if names else given.settings.outcome


def whole_words(names: str) -> str:
    """Whole records of these variables, in words."""
    return f"Whole records ({names})"


def load_point(point: PointSummary, shares: dict[str, float] | None = None) -> None:
    """Button callback: Compare gets the point's settings, and shows its mechanism.

    Parameters
    ----------
    shares : dict of float, optional
        The share of ε of each variable of whole records, where they were divided for it.
    """
    chosen = session.choices().with_settings(**point.knobs | {"match_epsilon": None})
    if shares and shares.keys() == {block.name for block in chosen.whole}:
        chosen = chosen.model_copy(update={"blocks": with_shares(chosen.whole, shares)})
    session.change(chosen.with_mechanisms(*dict.fromkeys((*chosen.mechanisms, point.mechanism))))
    show_subject(bool(chosen.whole))
