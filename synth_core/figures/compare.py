"""What the Compare page shows: a results table and four figures."""

from __future__ import annotations

from typing import Any

from synth_core.analysis.anchor import clamped_warning
from synth_core.figures.palette import color
from synth_core.figures.parts import Figure, Summary, statistic_label
from synth_core.figures.privacy import bounds_figure, weights_figure
from synth_core.figures.utility import ecdf_figure, quantiles_figure
from synth_core.system import limits

MANY_CENSORED = 0.2


def worst_statistic(summary: Summary) -> dict[str, Any]:
    """The statistic with the largest relative error."""
    return max(summary["statistics"], key=lambda t: abs(t["relative_error"]))


def percent(share: float) -> str:
    """A share as percent, short however large."""
    return f"{100 * share:+.1f} %" if abs(share) < 10 else f"{100 * share:+.2g} %"


def _warnings(s: Summary) -> list[str]:
    """Why the numbers of a mechanism should be doubted, in words."""
    hints = []
    if s["problems"]:
        hints.append(
            f"has not converged, do not use its numbers: {'; '.join(s['problems'])}. "
            "Try more draws or a longer warm-up; for a mixture, another concentration or scale (Data page)."
        )
    warning = clamped_warning(s["n_censored"], s["n_records"])
    if s["anchor"] and warning:
        hints.append(f"{warning} (More of the mechanisms).")
    elif s["n_censored"] > MANY_CENSORED * s["n_records"]:
        hints.append(
            f"{s['n_censored'] / s['n_records']:.0%} of the records are censored: ε is small for the "
            "unit in which the density is taken; another unit (Data page) may serve better."
        )
    return hints


def results(
    summaries: list[Summary], labels: dict[str, str], guarantees: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """One row a mechanism: numbers as text, sort keys, each epsilon beside its guarantee.

    `rank` marks the best (1) and second best (2) of a column, as in Censor Table 2.
    """
    rows = []
    for s in summaries:
        worst = worst_statistic(s)
        epsilon = f"{s['epsilon']:.2f}"
        if s["n_datasets"] > 1:
            epsilon += f" × {s['n_datasets']} = {s['epsilon'] * s['n_datasets']:.2f}"
        hints = []
        if s["preview_khat"] is not None:
            epsilon = f"≈ {epsilon}"
            hints.append(
                f"approximate, by importance sampling from an earlier fit (Pareto k-hat {s['preview_khat']:.2f}, "
                f"at most {limits.MAX_KHAT} is shown); the exact fit replaces it."
            )
        hints += _warnings(s)
        rows.append(
            {
                "mechanism": s["mechanism"],
                "label": labels[s["mechanism"]],
                "color": color(s["mechanism"]),
                "guarantee": guarantees[s["mechanism"]],
                "hints": hints,
                "cells": {
                    "epsilon": _cell(epsilon, s["epsilon"]),
                    "delta": _cell(
                        "–" if s["lipschitz_bound"] is None else f"{s['lipschitz_bound']:.2f}",
                        s["lipschitz_bound"],
                        _local(s),
                    ),
                    "ecdf_max": _cell(f"{s['ecdf_max']:.4f}", s["ecdf_max"]),
                    "ecdf_avg": _cell(f"{s['ecdf_avg']:.6f}", s["ecdf_avg"]),
                    "worst": _cell(
                        f"{percent(worst['relative_error'])} ({statistic_label(worst['name'])})",
                        abs(worst["relative_error"]),
                    ),
                    "match": _cell(f"{100 * s['match_risk']:.2f} %", s["match_risk"]),
                },
            }
        )
    usable = [row for row, s in zip(rows, summaries, strict=True) if not s["problems"]]
    if len(usable) > 2:
        for name in rows[0]["cells"]:
            known = sorted(
                {row["cells"][name]["sort"] for row in usable if row["cells"][name]["sort"] is not None}
            )
            for row in usable:
                value = row["cells"][name]["sort"]
                if value is not None and value in known[:2]:
                    row["cells"][name]["rank"] = known.index(value) + 1
    return rows


def _cell(text: str, sort: float | None, beside: str = "") -> dict[str, Any]:
    return {"text": text, "sort": sort, "rank": 0, "beside": beside}


def _local(s: Summary) -> str:
    """The unit-free local figure that stands beside a bound; of a clamped likelihood, none."""
    if s["oscillation"] is None:
        return ""
    return f"local {max(s['oscillation'], s['oscillation_joint'] or 0.0):.2f}"


def compare_figures(summaries: list[Summary], labels: dict[str, str], outcome: str) -> list[Figure]:
    """The four figures, in reading order."""
    return [
        bounds_figure(summaries, labels),
        ecdf_figure(summaries, labels, outcome),
        weights_figure(summaries, labels),
        quantiles_figure(summaries, labels),
    ]
