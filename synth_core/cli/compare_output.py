"""An analysis as JSON (the documented contract) and as a table of text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchored import clamped_warning
from synth_core.analysis.population import Population
from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.result_sentences import above_target, explained, sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.subgroups import Group, GroupAccuracy, by_group, in_no_group
from synth_core.analysis.utility import Statistic, statistic_name, statistic_words
from synth_core.analysis.wording.guarantee_sentences import neighbour_words
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import ceiling, measured
from synth_core.system.text_table import aligned


def number(value: float | None) -> float | str | None:
    """A number as JSON takes it: what is not finite is text."""
    return value if value is None or math.isfinite(value) else str(value)


def result_json(result: Result, settings: Settings) -> dict[str, Any]:
    """One result; `lipschitz_bound`, `weights` and `diagnostics` are null for the histogram."""
    flat = result.summary_numbers
    d = flat.diagnostics
    return {
        "mechanism": flat.mechanism,
        "label": flat.label,
        "guarantee": flat.guarantee.label,
        "sentence": sentence(result.summary_numbers, settings),
        "explanation": explained(flat, settings)[1],
        "anchor": flat.anchor or None,
        "lipschitz_bound": number(flat.lipschitz_bound),
        "epsilon": number(flat.epsilon),
        "epsilon_total": number(flat.epsilon * result.point.charged(settings.datasets)),
        "epsilon_replace": number(flat.epsilon_replace),
        "oscillation": number(flat.oscillation),
        "oscillation_joint": number(flat.oscillation_joint),
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
            **errors_json(flat.statistics),
        },
        "accuracy_by": flat.accuracy_by or None,
        "population": [population_json(each) for each in flat.population],
        "identification_risk": {
            "expected_match_risk": flat.match_risk,
            "true_match_rate": flat.true_match_rate,
            "false_match_rate": flat.false_match_rate,
        },
        "diagnostics": None
        if d is None
        else {
            "rhat": number(d.rhat),
            "ess_bulk": number(d.ess_bulk),
            "ess_tail": number(d.ess_tail),
            "divergences": d.divergences,
            "problems": list(d.problems),
        },
        "seconds": flat.seconds,
        "cached": flat.cached,
    }


def errors_json(statistics: Iterable[Statistic]) -> dict[str, dict[str, float | str | None]]:
    """Relative errors by name; of percentiles at the zeros, which have none, the difference of the share up to 0, and
    of the share that is missing that of its own."""
    found = list(statistics)
    relative = {each.name: number(each.error) for each in found if each.instead is None}
    shares: dict[str, dict[str, float | str | None]] = {}
    for each in found:
        if each.instead is not None:
            of = each.instead.name.replace(" ", "_")
            shares.setdefault(f"difference_of_{of}", {})[each.name] = number(each.error)
    return {"relative_error": relative} | shares


def error_text(statistic: Statistic) -> str:
    """An error, with its unit where that is not percent."""
    if statistic.instead is None:
        return f"{statistic.error:+.1%}"
    return f"{100 * statistic.error:+.1f} points at or below 0"


def population_json(population: Population) -> dict[str, Any]:
    """Utility of a variable by survey weights."""
    return {
        "name": population.name,
        "weight": population.weight,
        "ecdf_max": population.ecdf_max,
        **errors_json(population.statistics),
        "within": population.within,
        "standard_error": {each.name: number(each.confidential_error) for each in population.statistics},
        "interval": {each.name: list(each.confidential_interval) for each in population.statistics},
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
            "missing": list(analysis.table.missing),
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
    flats = [result.summary_numbers for result in results]
    unfrozen = [_unfrozen(result, settings) for result in results]
    known = flats[0].statistics
    header = ["mechanism", "Δ", "ε", "guarantee", "ECDF max", "ECDF avg", *(s.name for s in known)]
    header += ["zero α", "cens.", "seconds"]
    rows = [["(confidential)", *[""] * 5, *(measured(s.confidential) for s in known), *[""] * 3]]
    for flat, star in zip(flats, unfrozen, strict=True):
        rows.append(
            [
                flat.mechanism,
                "" if flat.lipschitz_bound is None else ceiling(flat.lipschitz_bound, 3),
                f"{ceiling(flat.epsilon, 3)}{' !' if flat.problems else ''}",
                flat.guarantee.label + (" *" if star else ""),
                f"{flat.ecdf_max:.4f}",
                f"{flat.ecdf_avg:.6f}",
                *(measured(value) for value in flat.synthetic.values()),
                f"{flat.n_zero_weight:,}",
                f"{flat.n_censored:,}",
                "cached" if flat.cached else f"{flat.seconds:.2f}",
            ]
        )
    for line in aligned([header, *rows]):
        out(line)
    for flat, result in zip(flats, results, strict=True):
        out(f"  {flat.mechanism}: {sentence(result.summary_numbers, settings)}")
        if words := above_target(flat, settings):
            out(f"! {flat.mechanism}: {words}")
        for problem in flat.problems:
            out(f"! {flat.mechanism}: the fit has not converged: {problem}")
        if flat.anchor:
            clamped = clamped_words(flat) if find_mechanism(flat.mechanism).likelihood.anchors else ""
            out(f"  {flat.mechanism}: {flat.anchor}{clamped}")
        if flat.tuned:
            out(f"  {flat.mechanism}: " + ", ".join(f"{k} {v:.4g}" for k, v in flat.tuned.items()))
    out(neighbour_words((result.point for result in results), settings.unit_column))
    if any(unfrozen):
        out(
            "* strict for given weights, but they come from this table; a frozen map makes it ε-DP (--risk-reference)"
        )


def _by_groups(analysis: Analysis, result: Result, groups: list[Group]) -> dict[str, list[GroupAccuracy]]:
    """The accuracy within each group, by statistic."""
    s, outcome = analysis.settings, analysis.model.records.outcome
    names = ("mean", *(statistic_name(p) for p in s.percentiles))
    survey = analysis.survey if s.accuracy_by else None
    return {name: by_group(outcome, result.synthetic, groups, name, s.seed, survey) for name in names}


def groups_json(analysis: Analysis, result: Result, groups: list[Group]) -> list[dict[str, Any]]:
    """Accuracy within each group; confidential."""
    accuracies = _by_groups(analysis, result, groups)
    return [
        {
            "group": group.name,
            "records": len(group.rows),
            "ecdf_max": accuracies["mean"][i].ecdf_max,
            **errors_json([replace(each[i].statistic, name=name) for name, each in accuracies.items()]),
        }
        for i, group in enumerate(groups)
    ]


def print_groups(
    analysis: Analysis, results: list[Result], groups: list[Group], by: str, out: Callable[[str], None]
) -> None:
    """A table of errors within groups, a line a group and mechanism."""
    lines = []
    for result in results:
        accuracies = _by_groups(analysis, result, groups)
        for i, group in enumerate(groups):
            errors = [error_text(each[i].statistic) for each in accuracies.values()]
            lines.append(
                [
                    group.name,
                    f"{len(group.rows):,}",
                    result.mechanism,
                    f"{accuracies['mean'][i].ecdf_max:.4f}",
                    *errors,
                ]
            )
    names = [f"error of the {statistic_words(name)}" for name in accuracies]
    said = (
        results[0].summary_numbers.whose_accuracy,
        in_no_group([len(each.rows) for each in groups], analysis.n_records),
    )
    out(" ".join(filter(None, [f"Within groups of {by}:", *said])))
    for line in aligned([["group", "records", "mechanism", "ECDF max", *names], *lines]):
        out(line)


def clamped_words(flat: ResultNumbers) -> str:
    """How many records an anchored likelihood clamped, and what too many of them mean."""
    [own] = flat.variables
    few = f"{own.clamped:.2%} of the records were clamped at some draw"
    return f" {clamped_warning(own.clamped) or few}."


def _unfrozen(result: Result, settings: Settings) -> bool:
    """Whether a strict claim rests on weights that read the table itself."""
    return result.guarantee.key == "weights_seen" and settings.risk_reference == "current"
