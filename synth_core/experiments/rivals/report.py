"""The table of a comparison with rivals: means over seeds, with a Monte Carlo band."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from synth_core.analysis.population import accuracy_words
from synth_core.experiments.rivals.study import Cell, RivalStudy, by_who
from synth_core.system.json_text import json_text
from synth_core.system.text_table import aligned

MEASURES = {
    "k_marginal": ("k-marginal", "{:.0f}"),
    "sample_share": ("as a sample of", "{:.1%}"),
    "pmse_ratio": ("pMSE ratio", "{:.1f}"),
    "association": ("assoc.", "{:.3f}"),
    "percentile_error": ("percentiles", "{:.1%}"),
    "percentile_distance": ("of the spread", "{:.1%}"),
    "overlap": ("overlap", "{:.2f}"),
    "meeting": ("meet", "{:.0%}"),
    "slope": ("slope", "{:.2f}"),
    "impossible": ("rules broken", "{:.2%}"),
    "seconds": ("seconds", "{:.1f}"),
}
FORMATS = ("table", "json", "markdown")
EXPLAINED = (
    "Mean over seeds ± 2 standard errors. k-marginal: 1000 for the same tables of three columns; as a sample of: "
    "whose random sample of the records scores the same. pMSE ratio: 1 for a table drawn from the distribution of"
    " the confidential one. assoc.: mean difference of Cramér's V over pairs of columns with a sensitive one. "
    "percentiles: mean absolute relative error of those asked for (--percentiles), but for those at the zeros, "
    "which have none, and numbers with no other; of the spread: the mean distance of all over that between the "
    "quartiles; both of the values that are there. overlap: of the 95 % intervals of a regression of each number "
    "on all other columns, 1 for the same; meet: the share that meet. slope: where a number goes most with "
    "another sensitive variable, that of its tenth over the confidential one, of records with both: on the "
    "other's tenth, on the place of one of two or of ordered categories, else on the mean tenth of the category's"
    " confidential records; below 1 it is too flat. rules broken: records that break a declared rule (--rule)."
)


def band(values: list[float]) -> tuple[float, float | None]:
    """Mean, and two standard errors of it; None for one value. NaN for none.

    Examples
    --------
    >>> band([1.0, 3.0])
    (2.0, 2.0)
    """
    mean = float(np.mean(values)) if values else float("nan")
    if len(values) < 2:
        return mean, None
    return mean, float(2 * np.std(values, ddof=1) / math.sqrt(len(values)))


def render(study: RivalStudy, cells: list[Cell], form: str) -> str:
    """The comparison in one of `FORMATS`."""
    if form == "json":
        return json_text(as_json(study, cells))
    told = [m for m in MEASURES if m != "impossible" or study.common.get("rules")]
    rows = [["", "ε", *(MEASURES[name][0] for name in told)]]
    for same in by_who(cells).values():
        rows.append([same[0].asked.label, _epsilon(same), *(_shown(same, name) for name in told)])
    if form == "markdown":
        rows.insert(1, ["---"] * len(rows[0]))
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([*aligned(rows), *notes(study, cells)])


def notes(study: RivalStudy, cells: list[Cell]) -> list[str]:
    """What the table means and what does not hold in it."""
    weight = study.common.get("weight")
    by = weight if weight and study.common.get("accuracy_of") == "population" else ""
    lines = [*filter(None, [accuracy_words(by, bool(weight))]), EXPLAINED]
    if study.counted == "rho":
        lines.append(
            "ε stands for ρ = ε²/8 of zCDP, for mechanisms with clamped terms and for rivals alike: blocks have their "
            "shares of ρ."
        )
    else:
        lines.append("ε is pure ε-DP on both sides: blocks have their shares of ε.")
    lines.append(
        "Neighbours: all sensitive values of one record there or withheld; predictors and the number of records are "
        "public."
    )
    problems = sum(bool(cell.details["problems"]) for cell in cells if cell.numbers)
    if problems:
        lines.append(f"! {problems} of {len(cells)} results come from a fit that has not converged.")
    for cell in cells:
        if not cell.numbers:
            lines.append(
                f"! {cell.asked.label}, seed {cell.asked.seed}: no result. {cell.details['problems'][0]}"
            )
    return lines


def _epsilon(same: list[Cell]) -> str:
    """The target, or what was measured where there is none."""
    target = same[0].asked.epsilon
    if target is not None:
        return f"{target:g}"
    measured = _found(same, "epsilon_found")
    return f"{np.mean(measured):.1f} (local)" if measured and np.isfinite(measured).all() else "none"


def _found(same: list[Cell], name: str) -> list[float]:
    """A number of every seed that has a result."""
    return [cell.numbers[name] for cell in same if cell.numbers]


def _shown(same: list[Cell], name: str) -> str:
    mean, error = band(_found(same, name))
    if not math.isfinite(mean):
        return "–"
    text = MEASURES[name][1].format(mean)
    return text if error is None else f"{text} ± {MEASURES[name][1].format(error)}"


def as_json(study: RivalStudy, cells: list[Cell]) -> dict[str, Any]:
    """Every cell, and means; later versions only add to it."""
    rows = []
    for (who, epsilon), same in by_who(cells).items():
        bands = {name: band(_found(same, name)) for name in MEASURES}
        done = [cell for cell in same if cell.numbers]
        rows.append(
            {
                "who": who,
                "label": same[0].asked.label,
                "epsilon": epsilon,
                "seeds": len(done),
                "mean": {name: mean for name, (mean, _) in bands.items()},
                "two_standard_errors": {name: error for name, (_, error) in bands.items()},
                "distance": {
                    columns: float(np.mean([cell.details["distance"][columns] for cell in done]))
                    for columns in (done[0].details["distance"] if done else ())
                },
            }
        )
    return {
        "counted": study.counted,
        "blocks": [{"name": block.name, "model": block.model} for block in study.blocks],
        "predictors": list(study.common.get("predictors", ())),
        "fingerprint": study.table.fingerprint,
        "seed": study.seed,
        "replicates": study.replicates,
        "rows": rows,
        "cells": [
            {"who": c.asked.who, "epsilon": c.asked.epsilon, "seed": c.asked.seed, **c.numbers, **c.details}
            for c in cells
        ],
    }
