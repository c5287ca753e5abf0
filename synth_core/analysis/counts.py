"""An anchor made of noisy counts: of the outcome, by each predictor (docs/methods/anchored.md).

Each table of counts has Laplace noise. To them a log-linear model without interactions is fitted, given how noisy they
are, and a table is simulated from it. All of that reads the noisy counts alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from synth_core.analysis.drawing import even_uniforms
from synth_core.analysis.fits import Fits
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.errors import InputError
from synth_core.mechanisms.noise import laplace
from synth_core.models import BY_BRACKETS, build_model
from synth_core.models.categories import OfCategories

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

FEW_VALUES = (
    12  # of a public number, each with counts of its own; one of more values is cut at its own quantiles
)
PUBLIC_CUTS = 10
EARLIER_CUTS = 12  # of an earlier sensitive number: at declared multiples of its scale
LEVEL_SCALE, SLOPE_SCALE = 3.0, 1.0  # prior deviations of log-linear terms: of a category, and by a level


@dataclass(frozen=True)
class NoisyCounts:
    """Tables of counts of an outcome's categories, with noise.

    Attributes
    ----------
    tables : tuple of arrays of shape (n_levels, n_categories)
        One for each predictor; without predictors one of a single level.
    deviation : float
        Standard deviation of the noise of a count, in records.
    """

    tables: tuple[Array, ...]
    deviation: float

    @property
    def total(self) -> float:
        """How many records were counted, as the noise tells it; at least 1."""
        return max(1.0, float(np.mean([table.sum() for table in self.tables])))

    @property
    def worth(self) -> float:
        """How many records would tell the shares as well as the noisy counts: the middle one of the tables.

        A count of n p records with noise s knows p as well as m records do where p / m = (s / n)^2. Small counts are
        known worse than large ones, so it is the mean over cells of p (n / s)^2, cells of equal counts supposed.
        """
        records = [(self.total / self.deviation) ** 2 / table.size for table in self.tables]
        return float(np.median(records))


def greatest_share(n_tables: int) -> float:
    """The share of epsilon for counts up to which the zCDP of counts and fit together is at most epsilon^2 / 8.

    With a share f the tables have f epsilon / m each, which is (f epsilon / m)^2 / 2 zCDP (Bun and Steinke 2016), and
    the fit ((1 - f) epsilon)^2 / 8. Their sum is at most epsilon^2 / 8 where f (1 + 4 / m) is at most 2.

    Examples
    --------
    >>> greatest_share(1), greatest_share(4)
    (0.4, 1.0)
    """
    return 2 * n_tables / (n_tables + 4)


def levels(fits: Fits) -> list[tuple[Codes, int]]:
    """For each predictor the level of every complete record, and how many levels there are; without any one level.

    Public predictors have the levels of the table, earlier sensitive variables those that were declared.
    """
    s, complete = fits.settings, fits.selection.complete
    levels_of_columns = []
    for name in s.predictors:
        column = fits.table.frame[name]
        codes, n = _public(column, name in s.categorical)
        levels_of_columns.append((codes[complete], n))
    for each in s.earlier:
        codes, n = earlier_codes(each, each.values(fits.table))
        levels_of_columns.append((codes[complete], n))
    return levels_of_columns or [(np.zeros(fits.model.records.n, dtype=np.int64), 1)]


def _public(column: pd.Series, categorical: bool) -> tuple[Codes, int]:
    numeric = pd.api.types.is_numeric_dtype(column) and not categorical
    if numeric and column.nunique() > FEW_VALUES:
        values = column.to_numpy(dtype=float)
        cuts = np.unique(np.nanquantile(values, np.arange(1, PUBLIC_CUTS) / PUBLIC_CUTS))
        codes = np.searchsorted(cuts, values, side="right")
    else:
        codes = pd.factorize(column.astype(str), sort=True)[
            0
        ]  # a missing value has none, and no complete record
    return codes.astype(np.int64), int(codes.max()) + 1


def earlier_codes(each: EarlierVariable, values: Array) -> tuple[Codes, int]:
    """Levels of an earlier sensitive variable: its categories, or what lies between declared multiples of its scale.

    Examples
    --------
    >>> earlier_codes(EarlierVariable("pay", scale=10.0), np.array([-1.0, 0.0, 4.0, 6.0, 1e9]))[0]
    array([ 0,  1,  2,  3, 13])
    """
    absent = np.isnan(values)
    if each.categories:
        n, codes = len(each.categories), np.where(absent, 0, values)
    else:
        cuts = each.scale * np.sinh(np.arange(EARLIER_CUTS) / 2)
        cuts = np.concatenate([[0.0, np.nextafter(0.0, 1.0)], cuts[1:]])  # zero has a level of its own
        n, codes = len(cuts) + 1, np.searchsorted(cuts, np.where(absent, 0.0, values), side="right")
    codes = np.where(absent, n, codes).astype(np.int64)
    return codes, n + each.missing


def counting_model(fits: Fits) -> OfCategories:
    """The declared categories of the outcome or, of an amount whatever its model, brackets: declared, or of the guess.

    Raises
    ------
    InputError
        If nothing is declared, or the outcome is a count; or a value lies outside declared edges.
    """
    model, s = fits.model, fits.settings
    if isinstance(model, OfCategories):
        return model
    if model.discrete:
        raise InputError(
            f"{model.label}: noisy counts are of declared categories, or of brackets of amounts. Take another anchor."
        )
    edges, records = s.bracket_edges, model.records
    if not edges:
        if s.guess is None or not model.takes_guess:
            raise InputError(
                f"{model.label}: noisy counts of an amount are of brackets. Declare their edges (--bracket-edges)"
                + (
                    ", or a guess that makes them: a typical value and a spread (--guess)."
                    if model.takes_guess
                    else "."
                )
            )
        edges = model.guess_edges(*s.guess)
        # What lies beyond a guess counts in its last brackets: a rule that reads a value alone.
        records = records.with_outcome(np.clip(records.outcome, edges[0], edges[-1]))
    model_of_counts = build_model(BY_BRACKETS, records, bracket_edges=edges)
    assert isinstance(model_of_counts, OfCategories)
    return model_of_counts


def noisy_margins(fits: Fits, epsilon: float, rng: np.random.Generator) -> NoisyCounts:
    """Count the records, which costs epsilon: withholding a value changes one count of each table by one.

    Raises
    ------
    InputError
        If nothing is declared to count by, see `counted`.
    """
    model, by = counting_model(fits), levels(fits)
    each = epsilon / len(by)
    tables = []
    for codes, n in by:
        counts = np.zeros((n, model.n_categories))
        np.add.at(counts, (codes, model.code), 1.0)
        tables.append(counts + laplace(counts.shape, each, rng))
    alpha = np.exp(-each)
    return NoisyCounts(tuple(tables), float(np.sqrt(2 * alpha) / (1 - alpha)))


def shares_given(counts: NoisyCounts, source: Fits) -> Array:
    """Probabilities of the categories of each complete record of `source`, of shape (n_records, n_categories).

    The most likely log-linear model with a term for each category and each pair of a predictor's level and a category,
    given the noise, under normal priors. `source` has the predictors of the records, or where these are sensitive too
    what an anchor says of them.
    """
    by = levels(source)
    n_categories = counts.tables[0].shape[1]
    cells, row_of, count = np.unique(
        np.column_stack([codes for codes, _ in by]), axis=0, return_inverse=True, return_counts=True
    )
    design = scipy.sparse.csr_array(
        np.hstack([np.eye(n)[cells[:, j]] for j, (_, n) in enumerate(by)])  # one column a level
    )
    told = np.vstack(counts.tables)
    mass = count * (counts.total / count.sum())
    # A count varies by chance too, where the source's records are not those that were counted.
    variance = counts.deviation**2 + 1.0

    def loss(at: Array) -> tuple[float, Array]:
        terms = at.reshape(-1, n_categories)
        share = scipy.special.softmax(design @ terms[1:] + terms[0], axis=1)
        short = (told - design.T @ (share * mass[:, None])) / variance
        back = design @ short
        slope = mass[:, None] * share * (back - (share * back).sum(axis=1, keepdims=True))
        prior = np.vstack([terms[:1] / LEVEL_SCALE**2, terms[1:] / SLOPE_SCALE**2])
        value = 0.5 * variance * float((short**2).sum()) + 0.5 * float((prior * terms).sum())
        return value, (prior - np.vstack([slope.sum(axis=0)[None], design.T @ slope])).ravel()

    start = np.zeros((design.shape[1] + 1, n_categories))
    start[0] = np.log(np.maximum(sum(table.sum(axis=0) for table in counts.tables), counts.total / 1000))
    start[0] -= start[0].mean()
    best = scipy.optimize.minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 1000, "maxfun": 2000}
    )
    terms = best.x.reshape(-1, n_categories)
    return scipy.special.softmax(design @ terms[1:] + terms[0], axis=1)[row_of.ravel()]


def spread_draws(shares: Array, rng: np.random.Generator) -> Codes:
    """A category for each record, as even as its shares among records of like shares (systematic sampling).

    Parameters
    ----------
    shares : array of shape (n_records, n_categories)
    """
    _, kind_of = np.unique(shares, axis=0, return_inverse=True)
    place = even_uniforms(kind_of.ravel(), rng)
    upto = np.cumsum(shares, axis=1)[:, :-1]
    return (place[:, None] > upto).sum(axis=1).astype(np.int64)
