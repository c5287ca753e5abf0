"""The controls of Explore, and what its buttons start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core import limits
from synth_core.errors import InputError
from synth_core.explore.measures import ECDF_AVG, ECDF_MAX, MEAN, Target, is_relative
from synth_core.explore.point import knobs_of
from synth_core.explore.refine import refined
from synth_core.explore.sweep import KNOBS, Planned, Sweep, duration, estimate, plan
from synth_core.explore.targets import EpsilonTarget
from synth_core.explore.tuning import expected_fits, variants_for
from synth_core.explore.wording import frontier_points
from synth_core.points import HISTOGRAM, MECHANISMS, find_mechanism
from synth_core.settings import Settings
from synth_core.tasks import point_task, tune_task
from synth_core.ui import background, session
from synth_core.ui.server import manager
from synth_core.ui.widgets import number, pick

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
AT_MOST = {  # of a target: choice, bounds, step, format, label
    ECDF_MAX: ("explore_difference", (0.001, 1.0), 0.01, "%.3f", "Difference ≤"),
    ECDF_AVG: ("explore_squared", (1e-6, 1.0), 0.0005, "%.5f", "Average ≤"),
}


@dataclass(frozen=True)
class Asked:
    """What the sidebar asks for."""

    mechanisms: list[str]
    measure: str
    settings: Settings
    sweeps: list[Sweep]


def _without_bounds(mechanisms: list[str], settings: Settings) -> list[str]:
    return [m for m in mechanisms if m != HISTOGRAM or settings.bounds is not None]


def choose_map() -> Asked | None:
    """Mechanisms, the settings to sweep and the measure; None while there is nothing to plan."""
    choices = session.current().choices
    pick(
        "multiselect",
        "Mechanisms on the map",
        "explore_mechanisms",
        [*MECHANISMS, *choices["composed"]],
        format_func=lambda key: find_mechanism(key).label,
        help="Those composed on the page Compare can be chosen too.",
    )
    chosen = choices["explore_mechanisms"]
    used = set().union(*(find_mechanism(key).tuning for key in chosen)) if chosen else set()
    possible = [name for name, kind in KNOBS.items() if kind.tuning in used]
    if possible:
        _choose_sweeps(choices, possible)
    pick("selectbox", "Utility, as an error", "explore_measure", list(MEASURES), format_func=MEASURES.get)
    if choices["explore_measure"] == PERCENTILE:
        number("Percentile", "explore_percentile", (1, 99), 1)
    settings = session.settings().model_copy(update={"match_epsilon": None})
    if HISTOGRAM in chosen and settings.bounds is None:
        st.caption("Histogram is left out: it needs declared bounds, on the Data page.")
    chosen = _without_bounds(chosen, settings)
    if not chosen:
        st.info("Choose at least one mechanism.")
        return None
    sweeps = [
        Sweep(name, *map(float, choices[f"explore_{name}"][:2]), int(choices[f"explore_{name}"][2]))
        for name in possible
        if name in choices["explore_swept"]
    ]
    return Asked(chosen, measure(), settings, sweeps)


def _short(knob: str) -> str:
    return {"epsilon": "target ε", "range_a": "a", "range_b": "b"}.get(knob, KNOBS[knob].label[-1])


def _choose_sweeps(choices: dict[str, Any], possible: list[str]) -> None:
    kept = [name for name in choices["explore_swept"] if name not in possible]
    st.session_state.setdefault("explore_pills", [n for n in choices["explore_swept"] if n in possible])

    def store() -> None:
        session.current().choices["explore_swept"] = kept + list(st.session_state["explore_pills"])
        session.changed()

    st.pills(
        "Settings to sweep",
        possible,
        selection_mode="multi",
        key="explore_pills",
        format_func=lambda n: (
            {"range_a": "a", "range_b": "b"}.get(n, KNOBS[n].label.split()[-1])
            if n != "epsilon"
            else "target ε"
        ),
        on_change=store,
        help="The others stay as they are on Compare. Each mechanism is swept over those that move it.",
    )
    for name in [n for n in possible if n in choices["explore_swept"]]:
        bounds = KNOBS[name].bounds
        columns = st.columns([4, 4, 3], gap="small", vertical_alignment="bottom")
        for i, label in enumerate((f"{_short(name)} from", "to", "steps")):
            with columns[i]:
                if i == 2:
                    number(label, f"explore_{name}", limits.STEPS, 1, i)
                else:
                    number(label, f"explore_{name}", bounds, STEPS[name], i, "%.4g")


def measure() -> str:
    """The chosen measure's key."""
    choices = session.current().choices
    if choices["explore_measure"] != PERCENTILE:
        return str(choices["explore_measure"])
    percentile = choices["explore_percentile"]
    return "median" if percentile == 50 else f"q{percentile:g}"


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
    same = run is not None and run.about["asked"] == key
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
    background.start(MAP, tasks, asked=tuple(task.key for task in tasks))


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
        MAP, run.tasks + [point_task(browser.table, each, reference) for each in more], **run.about
    )


def target(asked: Asked) -> Target | EpsilonTarget:
    """What inverse tuning is to reach."""
    choices = session.current().choices
    pick("selectbox", "Find settings that reach", "explore_question", list(QUESTIONS),
         format_func=QUESTIONS.get,
         help="By bracketing on exact refits, for each mechanism by itself: over c, or over its target ε where "
         "it has one. Other swept settings are tried in turn.")  # fmt: skip
    question = choices["explore_question"]
    if question == "accuracy":
        left, right = st.columns(2, gap="small", vertical_alignment="bottom")
        with left:
            if is_relative(asked.measure):
                number("Error ≤, in %", "explore_percent", (0.01, 100.0), 0.5, None, "%.2f")
                at_most = choices["explore_percent"] / 100
            else:
                name, bounds, step, form, label = AT_MOST[asked.measure]
                number(label, name, bounds, step, None, form)
                at_most = choices[name]
        with right:
            number(
                "in % of releases",
                "explore_share",
                (1, 99),
                1,
                help="A released data set is one random draw: the target is to hold in this share of draws.",
            )
        return Target(asked.measure, float(at_most), choices["explore_share"] / 100)
    if question == "epsilon":
        number("ε of one data set", "explore_target", limits.EPSILON, 0.5, None, "%.2f")
        return EpsilonTarget(float(choices["explore_target"]), asked.measure)
    pick("selectbox", "The ε that this one has on Compare", "explore_same", asked.mechanisms,
         format_func=lambda key: find_mechanism(key).label)  # fmt: skip
    return EpsilonTarget(None, asked.measure, choices["explore_same"])


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
    background.start(TUNING, tasks, target=wanted)


def load_point(point: dict[str, Any]) -> None:
    """Button callback: Compare gets the point's settings, and shows its mechanism."""
    choices = session.current().choices
    choices |= {name: list(v) if isinstance(v, list | tuple) else v for name, v in point["knobs"].items()}
    choices["match_epsilon"] = None
    key = point["mechanism"]
    if key not in MECHANISMS and key not in choices["composed"]:
        choices["composed"] = [*choices["composed"], key]
    if key not in choices["mechanisms"]:
        choices["mechanisms"] = [*choices["mechanisms"], key]
    for widget in [w for w in st.session_state if str(w).startswith("choice_")]:
        if not str(widget).startswith("choice_explore_"):
            del st.session_state[widget]
    session.changed()
