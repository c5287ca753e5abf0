"""One record under every mechanism, and the results as a file."""

from __future__ import annotations

import csv
import io
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from synth_core.analysis.measures import worst_statistic
from synth_core.analysis.policy import Policy, judge
from synth_core.analysis.result_sentences import sentence
from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session

Summary = dict[str, Any]


def inspect_record(summaries: list[Summary], clicked: int | None) -> None:
    """Weight, bound and range probability of a record under each mechanism on screen."""
    n = summaries[0]["n_records"]
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
        placeholder="a record's number, or click a dot",
    )
    with right.container(border=False):
        if number is None:  # nothing is computed until a record is asked for
            return
        s, outcome = session.settings(), session.outcome()
        number = int(number)
        value = outcome[number - 1]
        st.caption(
            f"Internal. Value {value:.6g}; {np.mean(outcome <= value):.1%} of the records are at or below it."
        )
        rows = []
        for summary in summaries:
            result = session.stored_result(summary["mechanism"])
            if result is None or not result.weights.size:
                continue
            i, point = number - 1, find_mechanism(summary["mechanism"])
            bound, limit = result.lipschitz_bounds[i], result.tuned.get("fit_epsilon", s.epsilon) / 2
            if point.likelihood.anchors and result.tuned.get("pilot_records") == result.weights.size:
                limit /= 2  # pilot and release each take half
            rows.append(
                {
                    "Mechanism": point.label,
                    "Weight α": result.weights[i],
                    "Bound Δᵢ (nats)": bound,
                    "Share of Δ": bound / result.lipschitz_bound if result.lipschitz_bound else 0.0,
                    "λ (leaves its range)": result.outside[i] if result.outside.size else None,
                    "Truncated": "yes"
                    if "truncation" in point.adjustments and result.weights[i] == 0
                    else "",
                    "Censored": "yes" if point.clamps and bound >= limit else "",
                    "Match risk": result.match_risk[i],
                }
            )
        st.dataframe(pd.DataFrame(rows).round(4).dropna(axis=1, how="all"), hide_index=True)


def results_csv(
    summaries: list[Summary], missing: dict[str, str], settings: Settings, table: str, policy: Policy
) -> str:
    """The results table with guarantees, for a spreadsheet. Internal.

    A mechanism without a result has a line with the reason, and every line says which table and settings it is of.
    """
    columns, statistics = _columns(settings, policy), [t["name"] for t in summaries[0]["statistics"]]
    of = {"table": table, "settings": _chosen_words(settings)}
    lines = [
        {name: read(s) for name, read in columns.items()} | _synthetic(s, statistics) | of for s in summaries
    ]
    lines += [{"mechanism": name, "failure": why} | of for name, why in missing.items()]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(lines[0]), restval="")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _columns(settings: Settings, policy: Policy) -> dict[str, Callable[[Summary], Any]]:
    """The columns that every result has, and how each is read."""

    def promise(s: Summary) -> Guarantee:
        return find_mechanism(s["mechanism"]).guarantee(s["weights_from"], s["tuned"])

    def verdict(s: Summary) -> str:
        judged = judge(policy, s, promise(s))
        words = "passes" if judged.passed else f"fails: {'; '.join(judged.reasons)}"
        return f"{words}. {judged.doubt}" if judged.doubt else words

    plain = ("epsilon_replace", "lipschitz_bound", "oscillation", "oscillation_joint", "ecdf_max", "ecdf_avg")
    return (
        {
            "mechanism": lambda s: s["mechanism"],
            "failure": lambda s: "",
            "guarantee": lambda s: promise(s).label,
            "epsilon": lambda s: s["epsilon"],
            "data_sets": lambda s: s["n_datasets"],
            "epsilon_total": lambda s: s["epsilon"] * promise(s).charged(s["n_datasets"]),
        }
        | {name: operator.itemgetter(name) for name in plain}
        | {
            "largest_relative_error": lambda s: worst_statistic(s)["relative_error"],
            "match_risk": lambda s: s["match_risk"],
            "converged": lambda s: not s["problems"],
            "problems": lambda s: "; ".join(s["problems"]),
            "sentence": lambda s: sentence(s, settings),
        }
        | ({"rule": lambda s: policy.text, "verdict": verdict} if policy.states else {})
    )


def _synthetic(s: Summary, statistics: list[str]) -> dict[str, float]:
    values = {t["name"]: t["synthetic"] for t in s["statistics"]}
    return {f"{name}_synthetic": values[name] for name in statistics}


def _chosen_words(settings: Settings) -> str:
    """Settings as `name=value`, those that are not as they start."""
    fields = Settings.model_fields
    return "; ".join(
        f"{name}={value}"
        for name, value in settings.model_dump(mode="json", exclude={"program"}).items()
        if fields[name].is_required() or getattr(settings, name) != fields[name].default
    )
