"""The controls of Explore, and what its buttons start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.analysis.utility import statistic_name
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import ECDF_AVG, ECDF_MAX, MEAN, Target, is_relative
from synth_core.experiments.explore.point import knobs_of
from synth_core.experiments.explore.refine import refined
from synth_core.experiments.explore.sweep import KNOBS, Planned, Sweep, duration, estimate, plan
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.experiments.explore.tuning import expected_fits, variants_for
from synth_core.experiments.explore.wording import frontier_points
from synth_core.jobs.tasks import point_task, tune_task
from synth_core.mechanisms.catalogue import HISTOGRAM, MECHANISMS, find_mechanism
from synth_core.system import limits
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.widgets import key_of, number, pick
from synth_core.ui.state import session
from synth_core.ui.state.choices import Choices, value_at

MAP, TUNING = "map", "tuning"
PERCENTILE = "percentile"
MEASURES = {
    ECDF_MAX: "Largest difference of distributions",
    ECDF_AVG: "Average squared difference",
    MEAN: "Error of the mean",
    "median": "Error of the median",
    PERCENTILE: "Error of a percentile",
}
QUESTIONS = {
    "accuracy": "this accuracy, with least ε",
    "epsilon": "this ε",
    "same": "the ε of another mechanism",
}
STEPS = {"scale": 0.05, "shift": 0.05, "epsilon": 0.5, "radius": 0.05, "range_a": 0.05, "range_b": 0.05}
AT_MOST = {  # of a target: place, bounds, step, format, label
    ECDF_MAX: ("explore.difference", (0.001, 1.0), 0.01, "%.3f", "Difference ≤"),
    ECDF_AVG: ("explore.squared", (1e-6, 1.0), 0.0005, "%.5f", "Average ≤"),
}


@dataclass(frozen=True)
class Asked:
    """What the sidebar asks for."""

    mechanisms: list[str]
    measure: str
    settings: Settings
    sweeps: list[Sweep]


def choose_map() -> Asked | None:
    """Mechanisms, the settings to sweep and the measure; None while there is nothing to plan."""
    choices = session.choices()
    pick(
        "multiselect",
        "Mechanisms on the map",
        "explore.mechanisms",
        [*MECHANISMS, *choices.composed],
        format_func=lambda key: find_mechanism(key).label,
        help="Those composed on the page Compare can be chosen too.",
    )
    chosen = session.choices().explore.mechanisms
    used = set().union(*(find_mechanism(key).tuning for key in chosen)) if chosen else set()
    possible = [name for name, kind in KNOBS.items() if kind.tuning in used]
    if possible:
        _choose_sweeps(choices, possible)
    pick(
        "selectbox",
        "Utility, as an error",
        "explore.measure",
        list(MEASURES),
        format_func=MEASURES.__getitem__,
    )
    if session.choices().explore.measure == PERCENTILE:
        number("Percentile", "explore.percentile", (1, 99), 1)
    settings = session.settings(match_epsilon=None)
    if HISTOGRAM in chosen and settings.bounds is None:
        st.caption("Histogram is left out: it needs declared bounds, on the Data page.")
    mapped = [m for m in chosen if m != HISTOGRAM or settings.bounds is not None]
    if not mapped:
        st.info("Choose at least one mechanism.")
        return None
    explore = session.choices().explore
    sweeps = [Sweep(name, *getattr(explore.sweeps, name)) for name in possible if name in explore.swept]
    return Asked(mapped, measure(), settings, sweeps)


def _short(knob: str) -> str:
    return {"epsilon": "target ε", "range_a": "a", "range_b": "b"}.get(knob, KNOBS[knob].label[-1])


def _choose_sweeps(choices: Choices, possible: list[str]) -> None:
    place, swept = "explore.swept", choices.explore.swept
    st.session_state.setdefault(key_of(place), [name for name in swept if name in possible])

    def store() -> None:  # those that move no chosen mechanism wait until one is chosen again
        session.put(place, [n for n in swept if n not in possible] + list(st.session_state[key_of(place)]))

    st.pills(
        "Settings to sweep",
        possible,
        selection_mode="multi",
        key=key_of(place),
        format_func=lambda n: (
            {"range_a": "a", "range_b": "b"}.get(n, KNOBS[n].label.split()[-1])
            if n != "epsilon"
            else "target ε"
        ),
        on_change=store,
        help="The others stay as they are on Compare. Each mechanism is swept over those that move it.",
    )
    for name in [n for n in possible if n in swept]:
        bounds = KNOBS[name].bounds
        columns = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
        for i, label in enumerate((f"{_short(name)} from", "to", "steps")):
            with columns[i]:
                within, step, form = (limits.STEPS, 1, None) if i == 2 else (bounds, STEPS[name], "%.4g")
                number(label, f"explore.sweeps.{name}.{i}", within, step, format=form)


def measure() -> str:
    """The chosen measure's key."""
    explore = session.choices().explore
    if explore.measure != PERCENTILE:
        return explore.measure
    return statistic_name(explore.percentile)


def map_tasks(asked: Asked) -> list[Any]:
    browser = session.current()
    reference = browser.reference
    planned = plan(
        browser.table.fingerprint,
        asked.mechanisms,
        asked.settings,
        asked.sweeps,
        None if reference is None else reference.fingerprint,
    )
    return [point_task(browser.table, each, reference) for each in planned]


def map_button(asked: Asked) -> tuple[str, ...]:
    """Start the map; what it takes stands beside. Returns the key of the map that is asked for."""
    total, seconds = estimate(
        asked.mechanisms,
        asked.settings,
        asked.sweeps,
        len(session.current().table.frame),
        manager().n_lanes,
    )
    tasks = map_tasks(asked)
    run = background.current(MAP)
    key = tuple(task.key for task in tasks)
    same = run is not None and run.asked == key
    st.button(
        f"Fill the map: {len(tasks)} points",
        type="primary",
        width="stretch",
        disabled=same and (run is None or not run.having("cancelled", "failed")),
        on_click=session.attempt,
        args=(MAP, _start_map, asked),
    )
    if not same:
        st.caption(
            f"About {duration(seconds * len(tasks) / max(total, 1))} on {manager().n_lanes} processes, less where "
            "points are known; Compare goes first."
        )
    session.show_message(MAP)
    return key


def _start_map(asked: Asked) -> None:
    tasks = map_tasks(asked)
    background.start(MAP, tasks, tuple(task.key for task in tasks))


def refine_map(measure: str) -> None:
    """Button callback: more points around the frontier of this measure."""
    run = background.current(MAP)
    if run is None:
        return
    browser, reference = session.current(), session.current().reference
    shown = [job.summary | {"id": job.key} for job in run.jobs if job.summary is not None]
    best = {p["id"] for kept in frontier_points(shown, measure).values() for p in kept}
    points = []
    for task in run.tasks:
        mechanism, settings = find_mechanism(task.spec["mechanism"]), Settings(**task.spec["settings"])
        points.append(Planned(mechanism.key, settings, knobs_of(mechanism, settings)))
    more = refined(
        browser.table.fingerprint,
        points,
        [task.key in best for task in run.tasks],
        None if reference is None else reference.fingerprint,
    )
    background.start(
        MAP, run.tasks + [point_task(browser.table, each, reference) for each in more], run.asked
    )


def target(asked: Asked) -> Target | EpsilonTarget:
    """What inverse tuning is to reach."""
    pick(
        "selectbox",
        "Find settings that reach",
        "explore.question",
        list(QUESTIONS),
        format_func=QUESTIONS.__getitem__,
        help="By bracketing on exact refits, for each mechanism by itself: over c, or over its target ε where "
        "it has one. Other swept settings are tried in turn.",
    )
    question = session.choices().explore.question
    if question == "accuracy":
        left, right = st.columns(2, gap="small", vertical_alignment="bottom")
        with left:
            if is_relative(asked.measure):
                number("Error ≤, in %", "explore.percent", (0.01, 100.0), 0.5, format="%.2f")
                at_most = session.choices().explore.percent / 100
            else:
                place, bounds, step, form, label = AT_MOST[asked.measure]
                number(label, place, bounds, step, format=form)
                at_most = value_at(session.choices(), place)
        with right:
            number(
                "in % of releases",
                "explore.share",
                (1, 99),
                1,
                help="A released data set is one random draw: the target is to hold in this share of draws.",
            )
        return Target(asked.measure, float(at_most), session.choices().explore.share / 100)
    if question == "epsilon":
        number("ε of one data set", "explore.target", limits.EPSILON, 0.5, format="%.2f")
        return EpsilonTarget(session.choices().explore.target, asked.measure)
    pick(
        "selectbox",
        "The ε that this one has on Compare",
        "explore.same",
        asked.mechanisms,
        format_func=lambda key: find_mechanism(key).label,
    )
    return EpsilonTarget(None, asked.measure, session.choices().explore.same)


def tune_button(asked: Asked, wanted: Target | EpsilonTarget) -> None:
    """Start the inverse tuning of every chosen mechanism."""
    searches = {m: variants_for(m, asked.settings, asked.sweeps) for m in asked.mechanisms}
    count = sum(len(v) for v in searches.values())
    if count > limits.MAX_SEARCHES:
        fits = count * expected_fits(wanted)
        raise InputError(
            f"This asks for {count:,} searches, about {fits:,} refits; at most {limits.MAX_SEARCHES} searches are "
            f"made at once. Sweep fewer settings beside c and ε."
        )
    st.button(
        "Find the settings",
        width="stretch",
        on_click=session.attempt,
        args=(TUNING, _start_tuning, asked, wanted, searches),
    )
    session.show_message(TUNING)


def _start_tuning(asked: Asked, wanted: Target | EpsilonTarget, searches: dict[str, Any]) -> None:
    browser = session.current()
    tasks = [
        tune_task(browser.table, asked.settings, m, wanted, variants, browser.reference)
        for m, variants in searches.items()
    ]
    background.start(TUNING, tasks, wanted)


def load_point(point: dict[str, Any]) -> None:
    """Button callback: Compare gets the point's settings, and shows its mechanism."""
    knobs = {name: tuple(v) if isinstance(v, list) else v for name, v in point["knobs"].items()}
    chosen = session.choices().with_settings(**knobs | {"match_epsilon": None})
    session.change(chosen.with_mechanisms(*dict.fromkeys((*chosen.mechanisms, point["mechanism"]))))
