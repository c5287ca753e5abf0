"""An analysis as JSON (the documented contract) and as a table of text."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import clamped_warning
from synth_core.analysis.explained import explained
from synth_core.analysis.flat import FlatResult, flatten
from synth_core.analysis.result import Result
from synth_core.analysis.settings import Settings
from synth_core.system.text_table import aligned


def _number(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)


def result_json(result: Result, settings: Settings) -> dict[str, Any]:
    """One result; `lipschitz_bound`, `weights` and `diagnostics` are null for the histogram."""
    flat = flatten(result)
    d = flat.diagnostics
    return {
        "mechanism": flat.mechanism,
        "label": flat.label,
        "guarantee": flat.guarantee,
        "explanation": explained(vars(flat), settings)[1],
        "anchor": flat.anchor or None,
        "lipschitz_bound": _number(flat.lipschitz_bound),
        "epsilon": _number(flat.epsilon),
        "epsilon_total": _number(flat.epsilon * settings.datasets),
        "epsilon_replace": _number(flat.epsilon_replace),
        "oscillation": _number(flat.oscillation),
        "oscillation_joint": _number(flat.oscillation_joint),
        "n_zero_weight": flat.n_zero_weight,
        "n_truncated": flat.n_truncated,
        "n_censored": flat.n_censored,
        "weights": None
        if flat.weight_mean is None
        else {"mean": flat.weight_mean, "min": flat.weight_min, "max": flat.weight_max},
        "tuned": flat.tuned,
        "utility": {
            "ecdf_max": flat.ecdf_max,
            "ecdf_avg": flat.ecdf_avg,
            **flat.synthetic,
            "interval_overlap": flat.overlap,
            "relative_error": {name: _number(error) for name, error in flat.relative_errors.items()},
        },
        "identification_risk": {
            "expected_match_risk": flat.match_risk,
            "true_match_rate": flat.true_match_rate,
            "false_match_rate": flat.false_match_rate,
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
        "seconds": flat.seconds,
        "cached": flat.cached,
    }


def as_json(analysis: Analysis, results: list[Result]) -> dict[str, Any]:
    """The documented JSON of an analysis; later versions only add to it."""
    settings, model = analysis.settings, analysis.model
    return {
        "table": {
            "rows": model.records.n,
            "rows_dropped": analysis.selection.dropped,
            "outcome": settings.outcome,
            "fingerprint": analysis.table.fingerprint,
        },
        "model": {
            "name": model.name,
            "predictors": list(settings.predictors),
            "bounds": None if settings.bounds is None else list(settings.bounds),
            "density_scale": model.density_scale,
        },
        "risk_reference": settings.risk_reference,
        "results": [result_json(r, settings) for r in results],
    }


def print_table(analysis: Analysis, results: list[Result], out: Callable[[str], None]) -> None:
    """Aligned text, each epsilon beside its guarantee."""
    selection, settings = analysis.selection, analysis.settings
    out(
        f"{analysis.table.name}: {settings.outcome}, {analysis.model.records.n:,} complete rows"
        f" ({selection.dropped:,} dropped); {analysis.model.label}"
        f"{' given ' + ', '.join(settings.predictors) if settings.predictors else ''}, "
        f"{analysis.model.density_scale}"
    )
    flats = [flatten(result) for result in results]
    unfrozen = [_unfrozen(result, settings) for result in results]
    known = flats[0].statistics
    header = ["mechanism", "Δ", "ε", "guarantee", "ECDF max", "ECDF avg", *(s.name for s in known)]
    header += ["zero α", "cens.", "seconds"]
    rows = [["(confidential)", *[""] * 5, *(f"{s.confidential:.5g}" for s in known), *[""] * 3]]
    for flat, star in zip(flats, unfrozen, strict=True):
        rows.append(
            [
                flat.mechanism,
                "" if flat.lipschitz_bound is None else f"{flat.lipschitz_bound:.3f}",
                f"{flat.epsilon:.3f}{' !' if flat.problems else ''}",
                flat.guarantee + (" *" if star else ""),
                f"{flat.ecdf_max:.4f}",
                f"{flat.ecdf_avg:.6f}",
                *(f"{value:.5g}" for value in flat.synthetic.values()),
                f"{flat.n_zero_weight:,}",
                f"{flat.n_censored:,}",
                "cached" if flat.cached else f"{flat.seconds:.2f}",
            ]
        )
    for line in aligned([header, *rows]):
        out(line)
    for flat in flats:
        for problem in flat.problems:
            out(f"! {flat.mechanism}: the fit has not converged: {problem}")
        if flat.anchor:
            out(f"  {flat.mechanism}: {flat.anchor}{clamped_words(flat)}")
        if flat.tuned:
            out(f"  {flat.mechanism}: " + ", ".join(f"{k} {v:.4g}" for k, v in flat.tuned.items()))
    out("ε bounds the effect of removing one record, per released data set.")
    if any(unfrozen):
        out(
            "* strict for given weights, but they come from this table; a frozen map makes it ε-DP (--risk-reference)"
        )


def clamped_words(flat: FlatResult) -> str:
    """How many records an anchored likelihood clamped, and what too many of them mean."""
    few = f"{flat.n_censored / flat.n_records:.2%} of the records were clamped at some draw"
    return f" {clamped_warning(flat.n_censored, flat.n_records) or few}."


def _unfrozen(result: Result, settings: Settings) -> bool:
    """Whether a strict claim rests on weights that read the table itself."""
    return result.guarantee.key == "weights_seen" and settings.risk_reference == "current"
