"""One mechanism, many times, on a table and on its neighbour: the statistics that an audit counts.

A run of a posterior mechanism is one draw theta, and the synthetic values drawn with it. Draws of one long,
converged fit, thinned to its effective sample size, stand for runs; the histogram is run as often as is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.drawing import synthetic_values
from synth_core.analysis.weighted import Weighted
from synth_core.engine.sampling import Posterior, effective_size
from synth_core.errors import FitError
from synth_core.experiments.audit.neighbours import REMOVED, Neighbour
from synth_core.mechanisms import histogram
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import weighted_terms
from synth_core.mechanisms.histogram import noisy_bins
from synth_core.mechanisms.noise import NoisyAnswer, RecordedNoise
from synth_core.models import Model

Array = NDArray[np.float64]
Values = dict[str, Array]  # by statistic, of shape (n_runs,), in the order of the runs

CHAINS = 4  # two choose thresholds, two are counted
MIN_DRAWS = 4_000  # of a chain: fewer would leave R-hat to chance
MAX_THIN = 25
PARAMETERS = 8  # that are counted, at most
BATCH = 2**20  # synthetic values held at once
RATIO, TERM = "log density ratio", "log-likelihood of the record"


@dataclass(frozen=True)
class Pair:
    """What both tables gave.

    Attributes
    ----------
    first, second : dict
        Statistics on D and on D'.
    thinned : pair of int
        Every how many-th draw is a run, on D and on D'; 1 for runs that are independent by themselves.
    largest_ratio : float
        The largest |log density ratio| seen, an estimate without confidence, in nats.
    problems : tuple of str
        Why a fit should not be used.
    """

    first: Values
    second: Values
    thinned: tuple[int, int]
    largest_ratio: float
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Side:
    """A fit on one of the two tables.

    Attributes
    ----------
    analysis : Analysis
    weighted : Weighted
        The mechanism's weights on this table.
    places : array of int
        Of the differing records among the records of this fit; empty where none is among them.
    """

    analysis: Analysis
    weighted: Weighted
    places: NDArray[np.int64]

    @property
    def other_weights(self) -> Array:
        """The weights of the records that both tables have."""
        return np.delete(self.weighted.weights, self.places)


@dataclass(frozen=True)
class _Runs:
    """One fit on both tables: statistics at every draw, and which draws are runs."""

    posteriors: tuple[Posterior, Posterior]
    values: tuple[Values, Values]
    thin: tuple[int, int]

    def rows(self, side: int, runs: int) -> NDArray[np.int64]:
        """Draws of a table that stand for runs, `runs` of them at most."""
        rows = np.arange(0, self.posteriors[side].n_draws, self.thin[side])
        return rows[np.linspace(0, len(rows) - 1, min(runs, len(rows))).astype(int)]

    @property
    def centred(self) -> tuple[float, float]:
        """The smallest and the largest log density ratio at any draw."""
        return _extremes(self.values[0][RATIO], self.values[1][RATIO])


def withheld(side: Side) -> Side:
    """The side of the table with the differing values withheld: their rows stay, and their terms are gone."""
    weights = side.weighted.weights.copy()
    weights[side.places] = 0.0
    return replace(side, weighted=replace(side.weighted, weights=weights))


Released = Callable[[int, Sequence[Posterior], list[NDArray[np.int64]]], Values]


def posterior_pair(fits: dict[str, tuple[Side, Side]], relation: str, runs: int, released: Released) -> Pair:
    """Runs of a posterior mechanism on a table and on its neighbour.

    Parameters
    ----------
    fits : dict
        By a word before the names of its parameters: every fit that one run draws from, on D and on D'. Their
        posteriors are independent.
    released : callable
        Statistics of the synthetic tables, from which table it is (0 or 1), its posteriors, and of each the draws
        that are runs.
    """
    runs_by_part = {name: _one_fit(*sides, relation, runs, name) for name, sides in fits.items()}
    kept = _farthest({k: v for each in runs_by_part.values() for k, v in _distances(each.values).items()})
    both = []
    for i in (0, 1):
        rows = [each.rows(i, runs) for each in runs_by_part.values()]
        n_runs = min(map(len, rows))
        rows = [each[np.linspace(0, len(each) - 1, n_runs).astype(int)] for each in rows]
        values: Values = {}
        for each, at in zip(runs_by_part.values(), rows, strict=True):
            for name in (RATIO, TERM):
                values[name] = values.get(name, 0.0) + each.values[i][name][at]
            values |= {name: each.values[i][name][at] for name in each.values[i] if name in kept}
        both.append(values | released(i, [each.posteriors[i] for each in runs_by_part.values()], rows))
    problems = [
        p for each in runs_by_part.values() for fit in each.posteriors for p in fit.diagnostics.problems
    ]
    thinned = [max(each.thin[i] for each in runs_by_part.values()) for i in (0, 1)]
    # Any draw of one fit may meet any draw of another.
    lowest, highest = np.sum([each.centred for each in runs_by_part.values()], axis=0)
    largest = float(max(highest, -lowest))
    return Pair(both[0], both[1], (thinned[0], thinned[1]), largest, tuple(dict.fromkeys(problems)))


def _one_fit(here: Side, there: Side, relation: str, runs: int, name: str) -> _Runs:
    posteriors = tuple(_long(side, runs, i) for i, side in enumerate((here, there)))
    values = []
    for posterior in posteriors:
        ratio, own = _ratio(here, there, relation, posterior)
        values.append({RATIO: ratio, TERM: own} | _parameters(here.analysis.model, posterior, name))
    kept = {RATIO, TERM} | _farthest(_distances(values))
    thin = [_thin({k: v for k, v in each.items() if k in kept}) for each in values]
    return _Runs((posteriors[0], posteriors[1]), (values[0], values[1]), (thin[0], thin[1]))


def _long(side: Side, runs: int, which: int) -> Posterior:
    """Draws of the refit that the mechanism makes, enough for the runs after thinning."""
    analysis, weighted = side.analysis, side.weighted
    label = weighted.mechanism.label
    text = f"{label}: sampling {'the neighbour' if which else 'the table'}"
    fits, s = analysis.fits, analysis.settings
    d = fits.posterior(weighted.weights, weighted.censoring, text)[0].diagnostics
    size = min(d.ess_bulk, d.ess_tail)
    if not size > 0:
        raise FitError(f"{label}: the chains are stuck, so no runs can be drawn from them.")
    thin = min(math.ceil(d.draws / size), MAX_THIN)
    # Another seed on the neighbour: the same one would tie the two chains together.
    seed = int(np.random.default_rng([s.seed, 62, which]).integers(1, 2**31 - 1))
    changes = {"chains": CHAINS, "draws": max(MIN_DRAWS, math.ceil(runs * thin / CHAINS)), "seed": seed}
    return fits.with_settings(s.model_copy(update=changes)).posterior(
        weighted.weights, weighted.censoring, text
    )[0]


def _ratio(here: Side, there: Side, relation: str, posterior: Posterior) -> tuple[Array, Array]:
    """log of the two pseudo posteriors' ratio at every draw, up to a constant, and the differing records' own
    part of it before weighting and clamping.

    By Neyman and Pearson the first is the best statistic there is to tell the tables apart; the second
    is the best one if the mechanism does not weight or clamp as it says. Each of shape (n_draws,).
    """
    model, tell, mine = here.analysis.model, here.analysis.progress, here.weighted
    own_places = np.isin(np.arange(len(mine.weights)), here.places)
    beyond = np.zeros(len(mine.weights))
    beyond[~own_places] = there.other_weights
    differ = (mine.weights != beyond) | own_places
    alike = len(there.weighted.weights) == len(mine.weights)
    at = there.weighted.censoring if alike else mine.censoring  # an anchor that reads the table differs
    if at is not None and mine.censoring is not None:
        differ |= mine.censoring.offset(len(differ)) != at.offset(len(differ))
    differ = np.flatnonzero(differ)
    ratio, own = np.zeros(posterior.n_draws), np.zeros(posterior.n_draws)
    step = max(1, model.block_elements // posterior.n_draws)
    for start in range(0, len(differ), step):
        rows = differ[start : start + step]
        log_lik = model.log_lik(posterior.draws, rows)
        terms = weighted_terms(log_lik, mine.weights[rows], mine.censoring_of(rows))
        without = weighted_terms(log_lik, beyond[rows], None if at is None else at.of(rows))
        same = ~own_places[rows]  # the records themselves have other values on the neighbour, or none
        ratio += terms.sum(axis=1) - without[:, same].sum(axis=1)
        own += log_lik[:, ~same].sum(axis=1)
        tell(f"{mine.mechanism.label}: density ratios", start / len(mine.weights))
    if relation != REMOVED and len(there.places):
        rows, theirs = there.places, there.weighted
        log_lik = there.analysis.model.log_lik(posterior.draws, rows)
        ratio -= weighted_terms(log_lik, theirs.weights[rows], theirs.censoring_of(rows)).sum(axis=1)
        own -= log_lik.sum(axis=1)
    return ratio, own


def _parameters(model: Model, posterior: Posterior, of: str) -> Values:
    """Every single parameter that log-likelihoods need, by name."""
    parameters = {}
    for name in model.parameters:
        values = posterior.draws[name]
        if values.ndim == 1:
            parameters[of + name] = values
            continue
        flat = values.reshape(len(values), -1)
        parameters |= {f"{of}{name}[{j + 1}]": flat[:, j] for j in range(flat.shape[1])}
    return parameters


def _distances(values: Sequence[Values]) -> dict[str, float]:
    """How far apart the means of every parameter are, where thresholds are chosen, in standard deviations."""
    first, second = values

    def apart(name: str) -> float:
        a, b = first[name][: len(first[name]) // 2], second[name][: len(second[name]) // 2]
        spread = float(a.std() + b.std())
        return abs(float(a.mean() - b.mean())) / spread if spread > 0 else 0.0

    return {name: apart(name) for name in first if name not in (RATIO, TERM)}


def _farthest(distances: dict[str, float]) -> set[str]:
    """The parameters that tell the tables apart best."""
    return set(sorted(distances, key=distances.__getitem__, reverse=True)[:PARAMETERS])


def _thin(values: Values) -> int:
    """Every how many-th draw is nearly independent of the one before, for all statistics."""
    count = len(next(iter(values.values())))
    finite = [each for each in values.values() if np.isfinite(each).all()]
    smallest = min((effective_size(each.reshape(CHAINS, -1)) for each in finite), default=count)
    return max(1, math.ceil(count / max(smallest, 1.0) - 0.05))


def _extremes(here: Array, there: Array) -> tuple[float, float]:
    """The smallest and largest log density ratio over the draws, its constant estimated from both tables."""
    if not (np.isfinite(here).all() and np.isfinite(there).all()):
        return -math.inf, math.inf

    def log_mean_exp(values: Array) -> float:
        top = float(values.max())
        return top + float(np.log(np.mean(np.exp(values - top))))

    constant = (log_mean_exp(there) - log_mean_exp(-here)) / 2
    values = np.concatenate([here, there]) - constant
    return float(values.min()), float(values.max())


def predictions(
    analysis: Analysis,
    posterior: Posterior,
    rows: NDArray[np.int64],
    rng: np.random.Generator,
    tell: Callable[[float], None],
) -> Iterator[Array]:
    """Synthetic values of the rows that both tables have, one table a run, in batches."""
    model, drawing = analysis.model, analysis.settings.drawing
    step = max(1, BATCH // model.records.n)
    for start in range(0, len(rows), step):
        batch = []
        for s in rows[start : start + step]:
            draw = posterior.at(s)
            batch.append(synthetic_values(model, draw, rng, drawing))
        tell(start / len(rows))
        yield np.stack(batch)


def synthetic_statistics(
    sets: Iterator[Array], runs: int, neighbour: Neighbour, analysis: Analysis
) -> Values:
    """What an intruder would compute of a synthetic table, each of shape (n_runs,).

    Parameters
    ----------
    sets : iterator of arrays of shape (n_batch, n_rows)
    """
    x = analysis.selection.records.outcome[neighbour.row]
    reach = analysis.settings.radius * abs(x) or analysis.settings.radius * float(
        analysis.selection.records.outcome.std()
    )
    names = ("mean", "95th percentile", "largest value", "smallest value", "share near the record")
    statistics = {f"synthetic {name}": np.empty(runs) for name in names}
    at = 0
    for batch in sets:
        part = slice(at, at + len(batch))
        at += len(batch)
        near = np.abs(batch - x) <= reach
        rank = math.ceil(0.95 * batch.shape[1]) - 1
        high = np.partition(batch, rank, axis=1)[:, rank]
        columns = (batch.mean(axis=1), high, batch.max(axis=1), batch.min(axis=1), near.mean(axis=1))
        for name, column in zip(statistics, columns, strict=True):
            statistics[name][part] = column
    return statistics


def _histograms(
    analysis: Analysis,
    values: Array,
    counts: NDArray[np.int64],
    rule: str,
    drawn: NDArray[np.int64],
    stream: int,
    step: int,
    text: str,
) -> Iterator[Array]:
    """Synthetic values of a table's runs, `step` runs at a time; fills in the noisy counts that were drawn.

    Parameters
    ----------
    drawn : array of shape (n_runs, n_bins)
    """
    s = analysis.settings
    answers = RecordedNoise(NoisyAnswer("laplace", 2.0 / s.record_epsilon, row) for row in drawn)
    rng = np.random.default_rng([s.seed, 63, stream])
    for start in range(0, len(drawn), step):
        part = drawn[start : start + step]
        # The noise of every bin is drawn by itself: of many runs at once it is the same law.
        part[:] = noisy_bins(np.tile(counts, len(part)), s.record_epsilon, analysis.noise).reshape(part.shape)
        batch = histogram.synthesize(
            values, s.bounds, s.record_epsilon, rule, len(part), rng, answers, analysis.model.discrete
        )
        analysis.progress(text, start / len(drawn))
        yield batch


def histogram_pair(
    analysis: Analysis, other: Analysis, neighbour: Neighbour, mechanism: Mechanism, runs: int
) -> Pair:
    """Runs of the histogram: noise, bins and values drawn anew each time.

    The number of records, and with it the number of bins and of synthetic values, is public: the
    neighbour has the same, and of the values of a removed record's table one is left out.
    """
    s = analysis.settings
    outcomes = [c.selection.records.outcome for c in (analysis, other)]
    n = len(outcomes[0])
    rule = str(histogram.bin_count(s.bins, n))
    lower, upper = histogram.check_bounds(outcomes[0], s.bounds)
    edges = np.linspace(lower, upper, int(rule) + 1)
    counts = [np.histogram(values, edges)[0] for values in outcomes]
    statistics = []
    for i, values in enumerate(outcomes):
        drawn = np.empty((runs, int(rule)), dtype=np.int64)
        text = f"{mechanism.label}: {'the neighbour' if i else 'the table'}"
        sets = _histograms(analysis, values, counts[i], rule, drawn, i, max(1, min(BATCH // n, 500)), text)
        released = synthetic_statistics(
            (each[:, : len(outcomes[1])] for each in sets), runs, neighbour, analysis
        )
        ratio = (s.record_epsilon / 2) * (np.abs(drawn - counts[1]) - np.abs(drawn - counts[0])).sum(axis=1)
        changed = np.flatnonzero(counts[0] != counts[1])
        bins = {f"noisy count of bin {j + 1}": drawn[:, j].astype(float) for j in changed}
        statistics.append({RATIO: ratio} | bins | released)
    largest = float(max(np.abs(each[RATIO]).max() for each in statistics))
    return Pair(statistics[0], statistics[1], (1, 1), largest)


# Of likelihoods that sample no posterior, by key: what gives the runs on both tables.
UNSAMPLED_PAIRS: dict[str, Callable[[Analysis, Analysis, Neighbour, Mechanism, int], Pair]] = {
    "histogram": histogram_pair
}
