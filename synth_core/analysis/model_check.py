"""Does the model fit? Predicted against observed shares, distribution functions, and residuals.

All from the model's cdf averaged over draws and records, so there is no simulation noise. Categories in no order have
no distribution function: their shares are compared, and a residual places a category among those that are likelier.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fit_verdict import KOLMOGOROV_95, FitVerdict, fit_verdict
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.models import Model, OwnProgram
from synth_core.models.categories import OfCategories
from synth_core.system import limits
from synth_core.system.number_text import measured

Array = NDArray[np.float64]

DRAWS_USED = 100
RECORDS_USED = 400
BINS, POINTS, RESIDUAL_BINS = 24, 80, 20
HEAP = 0.01  # share of the records at one value, from which the distribution functions are compared just below it too
BAND = (5.0, 95.0)
MAX_CATEGORIES = 12
CHANCE_SAMPLES = 2_000


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
    bins : the least and the largest value in each bin of `shares`
    residuals : share of records by twentieth of Pr(X <= x_i), which is 1/20 each if the model fits
    groups : by category
    values : of declared categories their names, one for each bin; empty of numbers
    no_order : whether these are in no order, so that "<=" is "not less likely" in `residuals` and `groups`
    chance : the difference that 95 % of samples of a true model stay below
    """

    n_records: int
    bins: list[tuple[float, float]]
    shares: Curve
    distribution: Curve
    residuals: list[float]
    residual_limits: tuple[float, float]
    groups: list[GroupResidual]
    values: list[str]
    no_order: bool
    chance: float

    @property
    def difference(self) -> float:
        """Largest difference between the model's distribution function and that of the data, or half the sum of those
        of the shares of categories in no order: that of their distribution functions in the worst order."""
        if self.no_order:
            return float(np.abs(np.subtract(self.shares.predicted, self.shares.observed)).sum() / 2)
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
            check.chance,
            check.no_order,
            self.diagnostics.longer_helps,
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
        Of the randomisation of residuals of discrete values, and of the records of groups when there are many.
    """
    outcome = model.records.outcome
    rng = np.random.default_rng([seed, 51])
    members = np.flatnonzero(group == level) if level is not None else np.arange(len(outcome))
    draws = posterior.thinned(DRAWS_USED)
    values = outcome[members]
    some = _spread_out(model, posterior.thinned(1), members, float(np.median(values)))
    names = list(model.options.categories) if "categories" in model.uses else []
    if names:  # a code is a name: none lies between two, and each is shown, met with or not
        points = firsts = lasts = np.arange(len(names), dtype=np.float64)
    else:
        points = _points(values, model.discrete)
        firsts, lasts = _bins(values)
    ordered = np.sort(values)
    below = np.searchsorted(ordered, points, side="right") / len(values)
    if names and isinstance(model, OfCategories):
        inside = _shares(model, draws, members)
        upto = np.cumsum(inside, axis=1)
    else:
        inner = _averages(model, draws, lasts[:-1], some)
        inside = np.diff(np.pad(inner, ((0, 0), (1, 1)), constant_values=(0.0, 1.0)), axis=1)
        upto = _averages(model, draws, points, some)
    observed = np.diff(np.searchsorted(ordered, lasts, side="right"), prepend=0) / len(values)
    no_order = in_no_order(model)
    chance = KOLMOGOROV_95 / np.sqrt(len(members))
    if no_order:
        chance = _distance_by_chance(inside.mean(axis=0), len(members), np.random.default_rng([seed, 52]))
    position = residual_positions(model, draws, members, rng)
    counts = np.histogram(position, np.linspace(0, 1, RESIDUAL_BINS + 1))[0] / len(members)
    spread = np.sqrt(1 / RESIDUAL_BINS * (1 - 1 / RESIDUAL_BINS) / len(members))
    limits = (max(0.0, 1 / RESIDUAL_BINS - 2 * spread), 1 / RESIDUAL_BINS + 2 * spread)
    return ModelCheck(
        len(members),
        list(zip(firsts.tolist(), lasts.tolist(), strict=True)),
        _curve((firsts + lasts) / 2, inside, observed),
        _curve(points, upto, below),
        counts.tolist(),
        limits,
        _by_group(model, draws, group, labels, rng),
        names,
        no_order,
        float(chance),
    )


def _bins(values: Array) -> tuple[Array, Array]:
    """The least and the largest value of each bin: of about as many records, but a value of so many is its own."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= BINS:
        return distinct, distinct
    heaps = np.flatnonzero(counts * BINS >= len(values))
    even = np.quantile(values, np.linspace(0, 1, BINS + 1)[1:], method="inverted_cdf")
    lasts = np.unique(np.concatenate([even, distinct[heaps], distinct[np.maximum(heaps - 1, 0)]]))
    return distinct[np.r_[0, np.searchsorted(distinct, lasts[:-1]) + 1]], lasts


def _points(values: Array, discrete: bool) -> Array:
    """Where distribution functions are compared: at quantiles, at heaps, and just below these of what is continuous."""
    distinct, counts = np.unique(values, return_counts=True)
    heaps = distinct[counts >= HEAP * len(values)]
    before = np.maximum(heaps - 1.0, distinct[0]) if discrete else np.nextafter(heaps, -np.inf)
    return np.unique(np.concatenate([np.quantile(values, np.linspace(0.002, 0.998, POINTS)), heaps, before]))


def in_no_order(model: Model) -> bool:
    """Whether it is a model of categories of which none is above another: two are in an order either way."""
    return isinstance(model, OfCategories) and not model.ordered_categories and model.n_categories > 2


def _distance_by_chance(shares: Array, n: int, rng: np.random.Generator) -> float:
    """The total variation distance that 95 % of samples of n records with these shares stay below."""
    sampled = rng.multinomial(n, shares, CHANCE_SAMPLES) / n
    return float(np.quantile(np.abs(sampled - shares).sum(axis=1) / 2, 0.95))


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
    (Dunn and Smyth 1996). Of categories in no order the likelier ones of the record are those below.
    """
    by_likelihood = in_no_order(model)
    width = model.n_categories if isinstance(model, OfCategories) else 1
    positions = np.empty(len(rows))
    for start, part in _parts(draws, rows, width):
        if by_likelihood and isinstance(model, OfCategories):
            positions[start : start + len(part)] = _by_likelihood(model, draws, part, rng)
            continue
        values = model.records.outcome[part]
        upper = model.cdf(draws, values, part).mean(axis=0)
        before = values - 1.0 if model.discrete else np.nextafter(values, -np.inf)
        lower = model.cdf(draws, before, part).mean(axis=0)
        positions[start : start + len(part)] = lower + rng.random(len(part)) * (upper - lower)
    return positions


def _parts(
    draws: dict[str, Array], rows: NDArray[np.int64], width: int = 1
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Rows in parts for which a number of each draw, `width` times, is no burden, and where each part begins."""
    step = max(1, 2**20 // (width * len(next(iter(draws.values())))))
    for start in range(0, len(rows), step):
        yield start, rows[start : start + step]


def _by_likelihood(
    model: OfCategories, draws: dict[str, Array], rows: NDArray[np.int64], rng: np.random.Generator
) -> Array:
    """Where each record's category lies among its categories, the likeliest first."""
    log_shares, index = model.log_shares(draws, rows)
    shares: Array = np.exp(log_shares).mean(axis=0)[:, index]
    own = shares[model.code[rows], np.arange(len(rows))]
    first = (shares == own) & (np.arange(len(shares))[:, None] < model.code[rows])  # of those as likely
    below = np.where((shares > own) | first, shares, 0.0).sum(axis=0)
    return np.asarray(below + rng.random(len(rows)) * own)


def _shares(model: OfCategories, draws: dict[str, Array], rows: NDArray[np.int64]) -> Array:
    """The share of each category by draw, averaged over the records' predictors: (n_draws, n_categories)."""
    total = np.zeros((len(next(iter(draws.values()))), model.n_categories))
    for _, part in _parts(draws, rows, model.n_categories):
        log_shares, index = model.log_shares(draws, part)
        total += np.exp(log_shares) @ np.bincount(index, minlength=log_shares.shape[2])
    return np.asarray(total / len(rows))


def _spread_out(
    model: Model, draw: dict[str, Array], members: NDArray[np.int64], middle: float
) -> NDArray[np.int64]:
    """At most `RECORDS_USED` of some records, evenly by Pr(X <= middle): drawn at random their predictors would differ
    from those of all, by about as much as a model is allowed to be off."""
    if len(members) <= RECORDS_USED:
        return members
    upto = np.concatenate([model.cdf(draw, np.full(len(p), middle), p)[0] for _, p in _parts(draw, members)])
    places = ((np.arange(RECORDS_USED) + 0.5) * len(members) / RECORDS_USED).astype(int)
    return np.asarray(members[np.sort(np.argsort(upto, kind="stable")[places])])


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
