"""Does the model fit? Predicted against observed shares, distribution functions, and residuals.

All from the model's cdf averaged over draws and records, so there is no simulation noise.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fit_verdict import FitVerdict, fit_verdict
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.models import Model, OwnProgram
from synth_core.system import limits
from synth_core.system.number_text import measured

Array = NDArray[np.float64]

DRAWS_USED = 100
RECORDS_USED = 400
BINS, POINTS, RESIDUAL_BINS = 24, 80, 20
BAND = (5.0, 95.0)
MAX_CATEGORIES = 12


@dataclass(frozen=True)
class Curve:
    """A predicted curve with its posterior band, and what was observed."""

    at: list[float]
    predicted: list[float]
    lower: list[float]
    upper: list[float]
    observed: list[float]


@dataclass(frozen=True)
class GroupResidual:
    """The mean normal residual of the records of one category, of which at most `RECORDS_USED` are looked at."""

    label: str
    n_records: int
    mean: float
    error: float


@dataclass(frozen=True)
class ModelCheck:
    """The check of a model on the records of one group: shares by bin, distribution function, residuals.

    Attributes
    ----------
    edges : ends of the bins of `shares`, at evenly spaced quantiles and so unevenly wide
    residuals : share of records by twentieth of Pr(X <= x_i), which is 1/20 each if the model fits
    groups : by category
    values : of declared categories their names, one for each bin; empty of numbers
    """

    n_records: int
    edges: list[float]
    shares: Curve
    distribution: Curve
    residuals: list[float]
    residual_limits: tuple[float, float]
    groups: list[GroupResidual]
    values: list[str]

    @property
    def difference(self) -> float:
        """Largest difference between the model's distribution function and that of the data."""
        pairs = zip(self.distribution.predicted, self.distribution.observed, strict=True)
        return max((abs(p - o) for p, o in pairs), default=0.0)

    @property
    def residual_difference(self) -> float:
        """Largest difference between the distribution function of Pr(X <= x_i) and the even one, at the bins' ends."""
        reached = np.cumsum(self.residuals)
        return float(np.abs(reached - np.arange(1, len(reached) + 1) / len(reached)).max())


@dataclass(frozen=True)
class FitCheck:
    """The check of a fit: of its model, with the categories of the column that groups are made by."""

    check: ModelCheck
    categories: list[str]
    diagnostics: Diagnostics
    density_scale: str

    def verdict(self, model: str) -> FitVerdict:
        """Whether the model fits."""
        check = self.check
        return fit_verdict(
            check.difference,
            check.n_records,
            self.diagnostics.problems,
            model,
            check.residual_difference,
        )


@dataclass(frozen=True)
class PriorSensitivity:
    """A mechanism's numbers with its priors' scales multiplied by a factor."""

    factor: float
    numbers: ResultNumbers


def check_model(
    model: Model,
    posterior: Posterior,
    group: NDArray[np.int64],
    labels: tuple[str, ...],
    level: int | None = None,
    seed: int = 1,
) -> ModelCheck:
    """Compare the posterior predictive distribution with the data it was fitted to.

    Parameters
    ----------
    group : array of shape (n_records,)
        Index into `labels`: the category of each record.
    level : int, optional
        The category whose records are compared; None compares all.
    seed : int
        Of the randomisation of residuals of discrete values, and of the records used when there are many.
    """
    outcome = model.records.outcome
    rng = np.random.default_rng([seed, 51])
    members = np.flatnonzero(group == level) if level is not None else np.arange(len(outcome))
    some = members if len(members) <= RECORDS_USED else np.sort(rng.choice(members, RECORDS_USED, False))
    draws = posterior.thinned(DRAWS_USED)
    values = outcome[members]
    names = list(model.options.categories) if "categories" in model.uses else []
    edges = np.unique(np.quantile(values, np.linspace(0, 1, BINS + 1)))
    points = np.unique(np.quantile(values, np.linspace(0.002, 0.998, POINTS)))
    if names:  # a code is a name: none lies between two, and each is shown, met with or not
        points = np.arange(len(names), dtype=np.float64)
        edges = np.arange(-0.5, len(names), dtype=np.float64)

    inner = _averages(model, draws, edges[1:-1], some)
    inside = np.diff(np.pad(inner, ((0, 0), (1, 1)), constant_values=(0.0, 1.0)), axis=1)
    observed = np.histogram(values, np.r_[-np.inf, np.nextafter(edges[1:-1], np.inf), np.inf])[0] / len(
        values
    )
    ordered = np.sort(values)
    below = np.searchsorted(ordered, points, side="right") / len(values)
    position = residual_positions(model, draws, members, rng)
    counts = np.histogram(position, np.linspace(0, 1, RESIDUAL_BINS + 1))[0] / len(members)
    spread = np.sqrt(1 / RESIDUAL_BINS * (1 - 1 / RESIDUAL_BINS) / len(members))
    limits = (max(0.0, 1 / RESIDUAL_BINS - 2 * spread), 1 / RESIDUAL_BINS + 2 * spread)
    return ModelCheck(
        len(members),
        edges.tolist(),
        _curve((edges[1:] + edges[:-1]) / 2, inside, observed),
        _curve(points, _averages(model, draws, points, some), below),
        counts.tolist(),
        limits,
        _by_group(model, draws, group, labels, rng),
        names,
    )


def categories(analysis: Analysis, column: str | None) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Each record's category and the categories' names; numbers with many values are cut at quartiles.

    Raises
    ------
    InputError
        If a column of text has too many categories.
    """
    if column is None:
        return np.zeros(analysis.model.records.n, dtype=np.int64), ("all records",)
    analysis.table.column(column)
    series = analysis.table.frame[column].reset_index(drop=True)[analysis.selection.complete]
    missing = series.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(series) and series.nunique() > MAX_CATEGORIES:
        ends = np.unique(
            np.nanquantile(series.to_numpy(dtype=float, na_value=np.nan), [0, 0.25, 0.5, 0.75, 1])
        )
        codes = (
            pd.cut(series, ends.tolist(), include_lowest=True, labels=False)
            .fillna(-1)
            .to_numpy(dtype=np.int64)
        )
        names = [f"{measured(a)} to {measured(b)}" for a, b in itertools.pairwise(ends)]
    else:
        codes, values = pd.factorize(series, sort=True)
        if len(values) > MAX_CATEGORIES:
            raise InputError(
                f"'{column}' has {len(values):,} categories; at most {MAX_CATEGORIES} can be shown."
            )
        names = [str(value) for value in values]
    if missing.any():
        codes = np.where(missing, len(names), codes)
        names.append("missing")
    return codes.astype(np.int64), tuple(names)


def run_check(analysis: Analysis, column: str | None, level: str | None) -> FitCheck:
    """Check the unweighted fit of an analysis's model.

    Parameters
    ----------
    column, level : str, optional
        A column of the table, and the one of its categories that is shown; None shows all records.
    """
    posterior, _ = analysis.fits.unweighted()
    analysis.progress("comparing with the data", 0.0)
    group, names = categories(analysis, column)
    shown = names.index(level) if level in names else None
    check = check_model(analysis.model, posterior, group, names, shown, analysis.settings.seed)
    return FitCheck(check, list(names), posterior.diagnostics, analysis.model.density_scale)


def run_sensitivity(
    analysis: Analysis, mechanism: str, factors: tuple[float, ...]
) -> tuple[PriorSensitivity, ...]:
    """One mechanism again with its priors' scales multiplied.

    Raises
    ------
    InputError
        If the model is an own program that does not read `prior_scale`.
    """
    model = analysis.model
    if isinstance(model, OwnProgram) and "prior_scale" not in model.declared.inputs:
        raise InputError("The own program does not read 'prior_scale', so its priors cannot be scaled here.")
    rows = []
    for factor in factors:
        scale = analysis.settings.prior_scale * factor
        lower, upper = limits.PRIOR_SCALE
        if not lower <= scale <= upper:
            raise InputError(
                f"The priors' scale must lie between {lower:g} and {upper:g} (asked: {scale:g})."
            )
        result = analysis.with_settings(prior_scale=scale).run(mechanism)
        rows.append(PriorSensitivity(factor, result.summary_numbers))
    return tuple(rows)


def residual_positions(
    model: Model, draws: dict[str, Array], rows: NDArray[np.int64], rng: np.random.Generator
) -> Array:
    """Pr(X <= x_i) under the posterior predictive, uniform if the model fits.

    Where a value has probability of its own the position is drawn between Pr(X < x_i) and Pr(X <= x_i)
    (Dunn and Smyth 1996).
    """
    positions = np.empty(len(rows))
    step = max(1, 2**20 // len(next(iter(draws.values()))))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        values = model.records.outcome[part]
        upper = model.cdf(draws, values, part).mean(axis=0)
        before = values - 1.0 if model.discrete else np.nextafter(values, -np.inf)
        lower = model.cdf(draws, before, part).mean(axis=0)
        positions[start : start + step] = lower + rng.random(len(part)) * (upper - lower)
    return positions


def _averages(model: Model, draws: dict[str, Array], values: Array, rows: NDArray[np.int64]) -> Array:
    """Pr(X <= value) by draw, averaged over the records' predictors: (n_draws, n_values)."""
    if not len(values):
        return np.empty((len(next(iter(draws.values()))), 0))
    return np.column_stack(
        [model.cdf(draws, np.full(len(rows), value), rows).mean(axis=1) for value in values]
    )


def _curve(at: Array, by_draw: Array, observed: Array) -> Curve:
    lower, upper = np.percentile(by_draw, BAND, axis=0)
    return Curve(
        at.tolist(), by_draw.mean(axis=0).tolist(), lower.tolist(), upper.tolist(), observed.tolist()
    )


def _by_group(
    model: Model,
    draws: dict[str, Array],
    group: NDArray[np.int64],
    labels: tuple[str, ...],
    rng: np.random.Generator,
) -> list[GroupResidual]:
    """Mean normal residual of each category, over at most `RECORDS_USED` of its records."""
    from scipy import special

    averages = []
    for level, label in enumerate(labels):
        rows = np.flatnonzero(group == level)
        if not len(rows):
            continue
        some = rows if len(rows) <= RECORDS_USED else np.sort(rng.choice(rows, RECORDS_USED, False))
        position = np.clip(residual_positions(model, draws, some, rng), 1e-6, 1 - 1e-6)
        residual = special.ndtri(position)
        error = float(1 / np.sqrt(len(some)))
        averages.append(GroupResidual(label, len(rows), float(residual.mean()), error))
    return averages
