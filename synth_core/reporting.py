"""A comparison as JSON (the documented contract) and as a table of text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from synth_core.comparison import Comparison
from synth_core.guarantees import explain
from synth_core.points import find_mechanism
from synth_core.result import Result
from synth_core.settings import Settings


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def result_json(result: Result, datasets: int, reference: str) -> dict[str, Any]:
    """One result; `lipschitz_bound`, `weights` and `diagnostics` are null for the histogram."""
    d, w = result.diagnostics, result.weights
    return {
        "mechanism": result.mechanism,
        "label": result.point.label,
        "guarantee": result.guarantee.label,
        "explanation": explain(
            result.guarantee,
            result.epsilon,
            result.epsilon_replace,
            datasets,
            result.point.weighted,
            reference,
            result.point.reads_current(result.tuned),
        ),
        "lipschitz_bound": _number(result.lipschitz_bound),
        "epsilon": _number(result.epsilon),
        "epsilon_total": _number(result.epsilon * datasets),
        "epsilon_replace": _number(result.epsilon_replace),
        "n_zero_weight": result.n_zero_weight,
        "n_truncated": result.n_truncated,
        "n_censored": result.n_censored,
        "weights": {"mean": float(w.mean()), "min": float(w.min()), "max": float(w.max())}
        if w.size
        else None,
        "tuned": result.tuned,
        "utility": {
            "ecdf_max": result.ecdf_max,
            "ecdf_avg": result.ecdf_avg,
            **{s.name: s.synthetic for s in result.statistics},
            "interval_overlap": result.overlap,
            "relative_error": {s.name: _number(s.relative_error) for s in result.statistics},
        },
        "identification_risk": {
            "expected_match_risk": float(result.match_risk.mean()),
            "true_match_rate": result.true_match_rate,
            "false_match_rate": result.false_match_rate,
        },
        "diagnostics": None
        if d is None
        else {
            "rhat": _number(d.rhat),
            "ess_bulk": _number(d.ess_bulk),
            "ess_tail": _number(d.ess_tail),
            "divergences": d.divergences,
            "problems": list(d.problems),
        },
        "seconds": result.seconds,
        "cached": result.cached,
    }


def as_json(comparison: Comparison, results: list[Result]) -> dict[str, Any]:
    """The documented JSON of a comparison; later versions only add to it."""
    settings, model = comparison.settings, comparison.model
    return {
        "table": {
            "rows": model.records.n,
            "rows_dropped": comparison.selection.dropped,
            "outcome": settings.outcome,
            "fingerprint": comparison.table.fingerprint,
        },
        "model": {
            "name": model.name,
            "predictors": list(settings.predictors),
            "bounds": None if model.options.bounds is None else list(model.options.bounds),
            "density_scale": model.density_scale,
        },
        "risk_reference": settings.risk_reference,
        "results": [result_json(r, settings.datasets, settings.risk_reference) for r in results],
    }


def print_table(comparison: Comparison, results: list[Result], out: Callable[[str], None]) -> None:
    """Aligned text, each epsilon beside its guarantee."""
    selection, settings = comparison.selection, comparison.settings
    out(
        f"{comparison.table.name}: {settings.outcome}, {comparison.model.records.n:,} complete rows"
        f" ({selection.dropped:,} dropped); {comparison.model.label}"
        f"{' given ' + ', '.join(settings.predictors) if settings.predictors else ''}, "
        f"{comparison.model.density_scale}"
    )
    names = [s.name for s in results[0].statistics]
    header = [
        "mechanism",
        "Δ",
        "ε",
        "guarantee",
        "ECDF max",
        "ECDF avg",
        *names,
        "zero α",
        "cens.",
        "seconds",
    ]
    rows = [
        ["(confidential)", "", "", "", "", ""]
        + [f"{s.confidential:.5g}" for s in results[0].statistics]
        + ["", "", ""]
    ]
    for r in results:
        rows.append(
            [
                r.mechanism,
                "" if r.lipschitz_bound is None else f"{r.lipschitz_bound:.3f}",
                f"{r.epsilon:.3f}{' !' if r.problems else ''}",
                r.guarantee.label + (" *" if _unfrozen(r, settings) else ""),
                f"{r.ecdf_max:.4f}",
                f"{r.ecdf_avg:.6f}",
                *(f"{s.synthetic:.5g}" for s in r.statistics),
                f"{r.n_zero_weight:,}",
                f"{r.n_censored:,}",
                "cached" if r.cached else f"{r.seconds:.2f}",
            ]
        )
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        out("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    for r in results:
        for problem in r.problems:
            out(f"! {r.mechanism}: the fit has not converged: {problem}")
        if r.tuned:
            out(f"  {r.mechanism}: " + ", ".join(f"{k} {v:.4g}" for k, v in r.tuned.items()))
    out("ε bounds the effect of removing one record, per released data set.")
    if any(_unfrozen(r, settings) for r in results):
        out(
            "* weights come from this table; the claim is fully earned only with a frozen map (--risk-reference)"
        )


def _unfrozen(result: Result, settings: Settings) -> bool:
    """Whether a strict claim rests on weights that read the table itself."""
    return (
        result.guarantee.strict
        and find_mechanism(result.mechanism).weighted
        and settings.risk_reference == "current"
    )
