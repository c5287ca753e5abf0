"""One record under every mechanism, and the results as a file."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from synth_core.figures.compare import worst_statistic
from synth_core.mechanisms.catalogue import find_mechanism
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
    number = left.number_input(
        "Record inspector", 1, n, None, key="inspected", placeholder="a record's number, or click a dot"
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
            bound, limit = result.lipschitz_bounds[i], s.epsilon / 2
            if point.likelihood == "anchored" and result.tuned.get("pilot_records") == result.weights.size:
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


def results_csv(summaries: list[Summary]) -> str:
    """The results table with guarantees, for a spreadsheet. Internal."""
    out = io.StringIO()
    writer = csv.writer(out)
    statistics = [t["name"] for t in summaries[0]["statistics"]]
    writer.writerow(
        [
            "mechanism",
            "guarantee",
            "epsilon",
            "data_sets",
            "epsilon_total",
            "epsilon_replace",
            "lipschitz_bound",
            "oscillation",
            "oscillation_joint",
            "ecdf_max",
            "ecdf_avg",
            "largest_relative_error",
            *(f"{name}_synthetic" for name in statistics),
            "match_risk",
            "converged",
        ]
    )
    for s in summaries:
        writer.writerow(
            [
                s["mechanism"],
                find_mechanism(s["mechanism"]).guarantee(s["weights_from"], s["tuned"]).label,
                s["epsilon"],
                s["n_datasets"],
                s["epsilon"] * s["n_datasets"],
                s["epsilon_replace"],
                s["lipschitz_bound"],
                s["oscillation"],
                s["oscillation_joint"],
                s["ecdf_max"],
                s["ecdf_avg"],
                worst_statistic(s)["relative_error"],
                *(t["synthetic"] for t in s["statistics"]),
                s["match_risk"],
                not s["problems"],
            ]
        )
    return out.getvalue()
