"""The rule that each row is held against: how much ε, how accurate, which guarantee."""

from __future__ import annotations

from functools import partial

import streamlit as st

from synth_core.analysis.measures import ECDF_MAX, MEAN, WORST
from synth_core.analysis.policy import Policy, measured
from synth_core.analysis.utility import statistic_name
from synth_core.models import family
from synth_core.models.categories import OfCategories
from synth_core.system.characters import sentence
from synth_core.ui.shared.widgets import number_or_none
from synth_core.ui.state import session
from synth_core.ui.state.choices import value_at

BOUNDS = (0.01, 1000.0)
GUARANTEES = {"any": "Any", "strict": "Strict: promised for every table"}


def rule_popover() -> None:
    """State the rule, or take it back."""
    policy, s = session.choices().policy, session.choices().settings
    with st.popover("Rule", icon=":material/rule:"):
        st.caption(
            "What a release must meet. State it before you look at results; each row then passes or fails by what was "
            "drawn here. *Find settings* says in how many of a hundred data sets."
        )
        _limit(
            "ε of all data sets together, at most",
            "policy.epsilon",
            "Compare it within one kind of guarantee. It judges ε as it is set; of a promise in zCDP a limit of the "
            "page Release counts the ρ that this ε names, as (ε, δ). Left empty, any ε.",
        )
        percentiles = [statistic_name(p) for p in s.percentiles]
        measures = dict.fromkeys([*reversed(percentiles), MEAN, WORST, ECDF_MAX, policy.measure])
        labels = {each: sentence(measured(each)) for each in measures}
        _choice("Accuracy of", "policy.measure", labels)
        if s.whose_accuracy:
            st.caption(session.plain(s.whose_accuracy))
        _limit(
            "Largest gap, in percentage points" if policy.measure == ECDF_MAX else "Largest error, in %",
            "policy.percent",
            "Left empty, any accuracy. Where a percentile lies at zero, the share of records at or below 0 is held "
            "against the same number, in percentage points.",
        )
        whole = session.choices().whole
        if policy.percent is not None and len(whole) > 1:
            for block in whole:
                if policy.measure == ECDF_MAX or not issubclass(family(block.model), OfCategories):
                    _limit_of(block.name, policy)
        _choice("Guarantee", "policy.guarantee", GUARANTEES)
        st.button(
            "No rule",
            disabled=not policy.states,
            on_click=lambda: session.change(session.choices().model_copy(update={"policy": Policy()})),
        )


# What is stored is given as the value and names the box: a box in a closed panel does not hear of a value that the
# session sets, and would show an empty one.


def _limit(label: str, place: str, help: str) -> None:
    """A limit at a place of the choices, or none."""
    value = value_at(session.choices(), place)
    number_or_none(label, f"rule {place}", value, BOUNDS, "any", partial(session.put, place), help)


def _limit_of(name: str, policy: Policy) -> None:
    """The limit of one variable, in the place of that of all."""

    def take(limit: float | None) -> None:
        choices = session.choices()
        limited = choices.policy.limiting(name, limit)
        session.change(choices.model_copy(update={"policy": limited}))

    value, usual = dict(policy.by_variable).get(name), f"as for all: {policy.percent:g}"
    label = f"of {session.plain(name)}, in {policy.unit}"
    number_or_none(label, f"rule of {name}", value, BOUNDS, usual, take)


def _choice(label: str, place: str, options: dict[str, str]) -> None:
    """One of several."""
    value = value_at(session.choices(), place)
    key = f"rule {place} {value}"
    st.selectbox(
        label,
        list(options),
        list(options).index(value),
        key=key,
        format_func=options.__getitem__,
        on_change=session.choose,
        args=(place, key),
    )
