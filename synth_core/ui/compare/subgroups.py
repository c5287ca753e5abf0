"""Accuracy within groups: which predictor and statistic, and the figure below the others."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.analysis.measures import measure_label
from synth_core.analysis.selection import selected
from synth_core.analysis.subgroups import GroupAccuracy, by_group, groups_of
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.utility import statistic_name
from synth_core.data.survey_weights import read_survey
from synth_core.errors import InputError
from synth_core.figures.parts import saying_whose
from synth_core.figures.utility import subgroups_figure
from synth_core.models import family
from synth_core.ui.shared.widgets import pick
from synth_core.ui.state import session


def choose_groups() -> None:
    """A predictor, and one statistic; nothing where there are no predictors, or no order to take a mean in."""
    s = session.choices().settings
    if not s.predictors or not family(s.model).ordered:
        return
    pick(
        "selectbox",
        "Accuracy by group of",
        "group_by",
        [None, *s.predictors],
        format_func=lambda name: "no predictor" if name is None else name,
        help="Adds a figure: the error of one statistic within each category, or each quarter, of a predictor.",
    )
    if session.choices().group_by is not None:
        names = ["mean", *(statistic_name(p) for p in s.percentiles)]
        pick("selectbox", "Statistic of the groups", "group_statistic", names, format_func=measure_label)


def asked() -> str:
    """What the picture depends on, as a word; empty where no groups are asked for."""
    chosen = session.choices()
    return "" if chosen.group_by is None else f"|{chosen.group_by}|{chosen.group_statistic}"


def figures(summaries: list[ResultSummary], labels: dict[str, str]) -> list[dict[str, Any]]:
    """The figure, of those results that are of the present choices; none where no groups are asked for."""
    chosen = session.choices()
    if chosen.group_by is None or chosen.group_by not in chosen.settings.predictors:
        return []
    if not family(chosen.settings.model).ordered:
        return []
    found = []
    for summary in summaries:
        if summary.old or summary.approximate:
            continue
        groups = _groups(summary.mechanism, chosen.group_by, chosen.group_statistic)
        if groups:
            found.append((summary, groups))
    if not found:
        return []
    made = subgroups_figure(found, labels, chosen.group_by, chosen.group_statistic)
    return saying_whose([made], found[0][0])


def _groups(mechanism: str, predictor: str, statistic: str) -> list[GroupAccuracy]:
    """The groups of a stored result; computed once for what is on screen."""
    kept = st.session_state.setdefault("groups_shown", {})
    place, key = (mechanism, predictor, statistic), session.key_of_result(mechanism)
    if place in kept and kept[place][0] == key:
        return list(kept[place][1])
    result = session.stored_result(mechanism)
    if result is None:
        return []
    browser, s = session.current(), session.settings()
    try:
        selection = selected(browser.table, s)
        groups = groups_of(browser.table, selection, predictor, s.categorical)
        by = None
        if s.weight and s.accuracy_by:
            by = read_survey(browser.table, s.weight, s.unit_column, s.strata, selection.complete)
        accuracy = by_group(selection.records.outcome, result.synthetic, groups, statistic, s.seed, by)
    except InputError:
        return []
    kept[place] = (key, accuracy)
    return accuracy
