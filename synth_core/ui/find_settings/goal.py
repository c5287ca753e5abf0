"""The goal: what is to be reached, as a sentence of boxes above the map, and the search for it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX, MEAN, WORST, is_relative, percentile_of
from synth_core.analysis.records.blocks import common_of, parts_of
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import runs_of_point
from synth_core.experiments.explore.records_point import measured_words
from synth_core.experiments.explore.sweep import duration, together
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.experiments.explore.tuning import expected_fits, variants_for
from synth_core.jobs.task import Task, TaskInput
from synth_core.jobs.tasks import TuneTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.ui.find_settings.controls import COARSE, MAP_RUN, PERCENTILE, TUNING_RUN, MapRequest
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.expected import expected_runs
from synth_core.ui.shared.widgets import number, number_or_none, pick
from synth_core.ui.state import session
from synth_core.ui.state.choices import Choices, ExploreChoices

LONG_SECONDS = 300.0  # of a search: then fewer mechanisms are worth a thought
QUESTIONS = {
    "accuracy": "Least ε for this accuracy",
    "epsilon": "Best accuracy for this ε",
    "same": "Best accuracy at another's ε",
}
MEASURES = {
    ECDF_MAX: "Largest difference of distributions",
    ECDF_AVG: "Average squared difference",
    MEAN: "Error of the mean",
    "median": "Error of the median",
    PERCENTILE: "Error of a percentile",
}
DIFFERENCES = (0.1, 100.0)  # that may be asked for, in percentage points


def choose_goal(asked: MapRequest) -> Target | EpsilonTarget:
    """What is to be reached, and the button that starts the search."""
    a, b, c, d, e = st.columns([3.7, 4.4, 2.2, 2.2, 2.9], gap="small", vertical_alignment="bottom")
    with a:
        pick(
            "selectbox",
            "Goal",
            "explore.question",
            list(QUESTIONS),
            format_func=QUESTIONS.__getitem__,
            help="Searched by bracketing on exact refits, for each mechanism by itself: over c, or over its target ε "
            "where it has one. Other swept settings are tried in turn.",
        )
    with b:
        pick(
            "selectbox",
            "Accuracy, as an error",
            "explore.measure",
            list(MEASURES),
            format_func=MEASURES.__getitem__,
        )
    question = session.choices().explore.question
    percentile = session.choices().explore.measure == PERCENTILE
    if percentile:
        with c if question != "accuracy" else b:
            number("Percentile", "explore.percentile", (1, 99), 1)
    if question == "accuracy":
        with c:
            at_most = _at_most(asked.measure)
        with d:
            number(
                "in % of data sets",
                "explore.share",
                (1, 99),
                1,
                help="A released data set is one random draw: the target is to hold in this share of draws.",
            )
        wanted: Target | EpsilonTarget = Target(asked.measure, at_most, session.choices().explore.share / 100)
        if len(asked.subject.blocks) > 1 and asked.measure == ECDF_MAX:
            _choose_divided()
    elif question == "epsilon":
        with d:
            number("ε at most", "explore.target", limits.EPSILON, 0.5, format="%.2f", help="Of one data set.")
        wanted = EpsilonTarget(session.choices().explore.target, asked.measure)
    else:
        with d:
            pick(
                "selectbox",
                "Whose ε",
                "explore.same",
                asked.mechanisms,
                format_func=lambda key: find_mechanism(key).label,
                help="As it is set on Compare.",
            )
        wanted = EpsilonTarget(None, asked.measure, session.choices().explore.same)
    with e:
        _button(asked, wanted)
    if asked.subject.blocks:
        fits = [part.settings for part in parts_of(asked.subject.blocks, common_of(asked.settings))]
        if words := measured_words(fits, asked.measure):
            st.caption(session.plain(words))
    session.show_message(TUNING_RUN)
    _offer_rule()
    return wanted


def _choose_divided() -> None:
    """Whether ε of whole records is divided before it is searched for."""
    place = "explore.divided"
    key = session.widget_key(place)
    st.session_state.setdefault(key, session.choices().explore.divided)
    st.checkbox(
        "Divide ε among the variables first",
        key=key,
        on_change=session.choose,
        args=(place, key),
        help="Of a strict mechanism: each variable gets the least that it needs for this accuracy. Else the shares of "
        "the page Data stay.",
    )


def _offer_rule() -> None:
    """The rule of Compare as the goal, where it is another one: the same question had another answer here."""
    choices = session.choices()
    asked = asked_by_rule(choices)
    if asked is None or asked == choices.explore:
        return
    st.button(
        session.plain(f"Ask for the rule of Compare: {choices.policy.text}"),
        key="ask_rule",
        icon=":material/rule:",
        on_click=lambda: session.change(session.choices().model_copy(update={"explore": asked})),
        help="Takes its accuracy, or its ε, and those of the mechanisms on Compare that can keep it.",
    )


def asked_by_rule(choices: Choices) -> ExploreChoices | None:
    """What the page asks for where the rule is its goal; None for a rule without an error or ε that can be sought."""
    policy, update = choices.policy, dict[str, Any]()
    percentile = None if policy.measure == WORST else percentile_of(policy.measure)
    if policy.by_variable:  # a search has one target for all
        return None
    if policy.percent is not None and policy.measure == ECDF_MAX:
        update = {"question": "accuracy", "measure": ECDF_MAX, "difference": policy.percent / 100}
    elif policy.percent is not None and percentile is not None and percentile == int(percentile):
        update = {"question": "accuracy", "measure": PERCENTILE, "percentile": int(percentile)}
        update |= {"percent": policy.percent}
    elif policy.percent is not None and policy.measure == MEAN:
        update = {"question": "accuracy", "measure": MEAN, "percent": policy.percent}
    elif policy.epsilon is not None:
        update = {"question": "epsilon"}
    else:
        return None
    kept = choices.mechanisms
    if policy.guarantee == "strict":
        kept = tuple(key for key in kept if find_mechanism(key).guarantee("closed").strict)
    if policy.epsilon is not None:
        # The goal is of one data set, and the same for all that are searched.
        charged = max((find_mechanism(key).charged(choices.settings.datasets) for key in kept), default=1)
        of_one = policy.epsilon / charged
        update |= {"target": of_one} if update["question"] == "epsilon" else {}
        most = max(of_one, 2 * limits.EPSILON[0])
        sweeps = choices.explore.sweeps.model_copy(
            update={"epsilon": (max(most / 10, limits.EPSILON[0]), most, 13)}
        )
        update |= {"sweeps": sweeps}
    return choices.explore.model_copy(update=update | {"mechanisms": kept or choices.explore.mechanisms})


def _at_most(measure: str) -> float:
    """The largest error that is accepted."""
    if is_relative(measure):
        number("Error ≤, in %", "explore.percent", (0.01, 100.0), 0.5, format="%.2f")
        return float(session.choices().explore.percent) / 100
    if measure == ECDF_AVG:
        number("Average ≤", "explore.squared", (1e-6, 1.0), 0.0005, format="%.5f")
        return float(session.choices().explore.squared)
    difference = float(session.choices().explore.difference)
    points = round(100 * difference, 9)
    label, usual = "Difference ≤, in points", f"{100 * ExploreChoices().difference:g}"
    number_or_none(label, "goal difference", points, DIFFERENCES, usual, _take_difference)
    return difference


def _take_difference(points: float | None) -> None:
    """The largest difference that is accepted, given in percentage points; emptied, it is the usual one."""
    session.put("explore.difference", ExploreChoices().difference if points is None else points / 100)


def _button(asked: MapRequest, wanted: Target | EpsilonTarget) -> None:
    """Start the search of every chosen mechanism."""
    searches = {m: variants_for(m, asked.settings, asked.sweeps) for m in asked.mechanisms}
    count = sum(len(v) for v in searches.values())
    if count > limits.MAX_SEARCHES:
        fits = sum(len(v) * _fits_of(m, asked, wanted) for m, v in searches.items())
        raise InputError(
            f"This asks for {count:,} searches, about {fits:,} refits; at most {limits.MAX_SEARCHES} searches are "
            f"made at once. Sweep fewer settings beside c and ε."
        )
    st.button(
        "Find the settings",
        type="primary",
        width="stretch",
        on_click=session.attempt,
        args=(TUNING_RUN, _start_tuning, asked, wanted, searches),
    )


def time_of_search(asked: MapRequest, wanted: Target | EpsilonTarget) -> str:
    """How long the search takes, in words; where that is long, what each mechanism alone would take."""
    once = expected_runs(asked.subject, asked.settings, asked.mechanisms)
    searches = {m: len(variants_for(m, asked.settings, asked.sweeps)) for m in asked.mechanisms}
    runs = {m: expected_fits(find_mechanism(m), asked.settings, wanted, runs_of_point) for m in searches}
    alone = {m: count * runs[m] * once.seconds[m] for m, count in searches.items()}
    seconds = together(alone.values(), manager().n_lanes)  # each search is one task
    words = once.words(seconds)
    if seconds < LONG_SECONDS or len(alone) < 2 or not once.told:
        return words
    each = (f"{find_mechanism(m).label} {duration(alone[m])}" for m in sorted(alone, key=alone.__getitem__))
    return f"{words} for all, {min(manager().n_lanes, len(alone))} at once (alone: {', '.join(each)})"


def _fits_of(key: str, asked: MapRequest, wanted: Target | EpsilonTarget) -> int:
    return expected_fits(find_mechanism(key), asked.settings, wanted)


def _may_be_divided(wanted: Target | EpsilonTarget) -> bool:
    return isinstance(wanted, Target) and wanted.measure == ECDF_MAX


def _start_tuning(asked: MapRequest, wanted: Target | EpsilonTarget, searches: dict[str, Any]) -> None:
    browser, blocks = session.current(), asked.subject.blocks
    tasks: list[Task[Any]] = [
        TuneTask(
            TaskInput.of(browser.table, asked.settings, browser.reference, blocks),
            m,
            target=wanted,
            variants=variants,
            divided=bool(blocks) and session.choices().explore.divided and _may_be_divided(wanted),
        )
        for m, variants in searches.items()
    ]
    filling = background.current(MAP_RUN)
    if filling is not None and filling.asked == COARSE and filling.running:
        background.stop(MAP_RUN)  # nobody asked for it, and the search would wait for its points
    background.start(TUNING_RUN, tasks, wanted)
