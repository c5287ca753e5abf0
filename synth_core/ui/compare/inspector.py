"""One record under every mechanism, and the results as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from synth_core.analysis.by_record import ByRecord
from synth_core.analysis.measures import WORST, VariableError, furthest, variable_error
from synth_core.analysis.policy import Policy, judge
from synth_core.analysis.records.blocks import common_of
from synth_core.analysis.records.table import whole_records
from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers, VariableNumbers
from synth_core.analysis.result_sentences import sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.output.bundle import neutral
from synth_core.system.cache import results_cache
from synth_core.system.entries import read
from synth_core.system.number_text import declared, percent
from synth_core.ui.shared.subject import Subject
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session


def inspect_record(summaries: list[ResultSummary], clicked: int | None, subject: Subject) -> None:
    """A record under each mechanism on screen: its values, weights and bounds, of each variable and of all."""
    n = summaries[0].numbers.n_records
    if clicked is not None:  # a click lasts for one run
        st.session_state["inspected"] = clicked
    if (st.session_state.get("inspected") or 0) > n:
        st.session_state["inspected"] = None
    left, right = st.columns([1, 3])
    number = own_number(
        "Record inspector",
        (1, n),
        None,
        1,
        "inspected",
        left,
        placeholder="number, or click a dot",
    )
    with right.container(border=False):
        if number is None:  # nothing is computed until a record is asked for
            return
        i = int(number) - 1
        st.caption(session.plain(f"Internal. {_of_all(i, subject) if subject.blocks else _of_one(i)}"))
        browser, settings = session.current(), session.settings()
        if settings.unit_column is not None:
            st.caption("Bounds are of all records of its unit.")
        rows = []
        for summary in summaries:
            key = subject.task(browser, settings, summary.mechanism).key
            rows += _several_rows(i, summary, key) if subject.blocks else _one_row(i, summary, key)
        st.dataframe(pd.DataFrame(rows).round(4).dropna(axis=1, how="all"), hide_index=True, placeholder="–")


def _of_one(i: int) -> str:
    outcome = session.outcome()
    value = outcome[i]
    return f"Value {declared(value)}; {percent(np.mean(outcome <= value))} of the records are at or below it."


def _of_all(i: int, subject: Subject) -> str:
    """The values of a record: what is sensitive, and what is kept."""
    table, predictors = session.current().table, session.settings().predictors
    records = whole_records(table, subject.blocks, predictors, categorical=session.settings().categorical)

    row = records.table.frame.iloc[i]

    def value(of: Any) -> str:
        return "missing" if pd.isna(of) else declared(of) if isinstance(of, float) else str(of)

    def values(names: Iterable[str]) -> str:
        return ", ".join(f"{name} = {value(row[name])}" for name in names)

    kept = f"; kept: {values(predictors)}" if predictors else ""
    return f"{values(block.name for block in subject.blocks)}{kept}."


def _one_row(i: int, summary: ResultSummary, key: str) -> list[dict[str, Any]]:
    """One variable under a mechanism; nothing of one without a posterior."""
    result, epsilon = read(results_cache(), Result, key), session.settings().epsilon
    if result is None or not result.weights.size:
        return []
    point, alone = find_mechanism(summary.mechanism), session.settings().unit_column is None
    bound, limit = result.lipschitz_bounds[i], result.tuned.get("fit_epsilon", epsilon) / 2
    if point.likelihood.anchors and result.tuned.get("pilot_records") == result.weights.size:
        limit /= 2  # pilot and release each take half
    return [
        {
            "Mechanism": point.label,
            "Weight α": result.weights[i],
            "Bound Δᵢ (nats)": bound,
            "Share of Δ": bound / result.lipschitz_bound if result.lipschitz_bound else 0.0,
            "λ (leaves its range)": result.outside[i] if result.outside.size else None,
            "Truncated": "yes" if "truncation" in point.adjustments and result.weights[i] == 0 else "",
            # With units the bound is of all records of one, and does not say of this record alone.
            "Censored": ("yes" if point.clamps and bound >= limit else "") if alone else None,
            "Match risk": result.match_risk[i],
        }
    ]


def _several_rows(i: int, summary: ResultSummary, key: str) -> list[dict[str, Any]]:
    """All variables together under a mechanism, then each of them; nothing of one without a posterior."""
    found = read(results_cache(), ByRecord, key)
    if found is None or not found.joint.size:
        return []
    label, largest = find_mechanism(summary.mechanism).label, summary.numbers.lipschitz_bound
    bounds = [("all together", np.nan, found.joint[i])]
    bounds += [
        (name, found.weights[place, i], found.bounds[place, i]) for place, name in enumerate(found.names)
    ]
    return [
        {
            "Mechanism": label,
            "Variable": name,
            "Weight α": weight,
            "Bound Δᵢ (nats)": bound,
            "Share of Δ": bound / largest if largest else 0.0,
        }
        for name, weight, bound in bounds
    ]


def results_csv(
    results: Sequence[ResultNumbers], missing: dict[str, str], settings: Settings, table: str, policy: Policy
) -> str:
    """The results table with guarantees, for a spreadsheet; of several variables with a line for each. Internal.

    A mechanism without a result has a line with the reason, and every line says which table and settings it is of.
    """
    several = any(each.several for each in results)
    of = {"table": table, "settings": _chosen_words(settings, several)}
    lines = []
    for each in results:
        lines.append(_line(each, settings, policy) | of)
        if each.several:
            lines += [_variable_line(each.mechanism, variable) | of for variable in each.variables]
    lines += [{"mechanism": name, "failure": why} | of for name, why in missing.items()]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), restval="")
    writer.writeheader()
    writer.writerows({name: neutral(value) for name, value in line.items()} for line in lines)
    return out.getvalue()


def _line(numbers: ResultNumbers, settings: Settings, policy: Policy) -> dict[str, Any]:
    """The line of a result."""
    worst = furthest(numbers)
    line: dict[str, Any] = {"mechanism": numbers.mechanism}
    if numbers.several:
        line["variable"] = "all"
    line |= {
        "failure": "",
        "guarantee": numbers.guarantee.label,
        "epsilon": numbers.epsilon,
        "data_sets": numbers.n_datasets,
        "epsilon_total": numbers.total_epsilon,
        "epsilon_replace": numbers.epsilon_replace,
        "lipschitz_bound": numbers.lipschitz_bound,
        "oscillation": numbers.oscillation,
        "oscillation_joint": numbers.oscillation_joint,
        "accuracy_of": f"population, by {numbers.accuracy_by}" if numbers.accuracy_by else "sample",
        "ecdf_max": numbers.ecdf_max,
        "ecdf_avg": numbers.ecdf_avg,
        **_largest(worst),
        "match_risk": numbers.match_risk,
        "converged": not numbers.problems,
        "problems": "; ".join(numbers.problems),
        "sentence": sentence(numbers, settings),
    }
    if numbers.joint is not None:
        line |= {"share": None, "n_zero_weight": numbers.n_zero_weight, "n_censored": numbers.n_censored}
        line |= {name: value for name, value in asdict(numbers.joint).items() if name != "worst_pair"}
    if policy.states:
        judged = judge(policy, numbers)
        words = "passes" if judged.passed else f"fails: {'; '.join(judged.reasons)}"
        line |= {"rule": policy.text, "verdict": ". ".join((words, *judged.notes))}
    return line | {f"{name}_synthetic": value for name, value in numbers.synthetic.items()}


def _largest(worst: VariableError | None) -> dict[str, Any]:
    """The error that is furthest off, and what it is of and in."""
    statistic = None if worst is None else worst.statistic
    return {
        "largest_error": None if worst is None else worst.error,
        "largest_error_of": None if statistic is None else f"{statistic.words}, {statistic.unit} / 100",
    }


def _variable_line(mechanism: str, variable: VariableNumbers) -> dict[str, Any]:
    """The line of one variable among several."""
    worst = variable_error(variable, WORST)
    return {
        "mechanism": mechanism,
        "variable": variable.name,
        "epsilon": variable.epsilon,
        "share": variable.share,
        "lipschitz_bound": variable.lipschitz_bound,
        "ecdf_max": variable.ecdf_max,
        **_largest(worst),
        "n_zero_weight": variable.n_zero_weight,
        "n_censored": variable.n_censored,
        "converged": not variable.problems,
        "problems": "; ".join(variable.problems),
    }


def _chosen_words(settings: Settings, several: bool) -> str:
    """Settings as `name=value`, those that are not as they start; of several variables those that all have."""
    fields, left_out = Settings.model_fields, {"program"}
    if several:
        left_out |= settings.model_dump().keys() - common_of(settings).keys()
    return "; ".join(
        f"{name}={value}"
        for name, value in settings.model_dump(mode="json", exclude=left_out).items()
        if fields[name].is_required() or getattr(settings, name) != fields[name].default
    )
