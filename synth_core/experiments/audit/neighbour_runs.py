"""One mechanism, many times, on a table and on its neighbour: the statistics that an audit counts.

A run of a posterior mechanism is one draw theta, and the synthetic values drawn with it. Draws of one long,
converged fit, thinned to its effective sample size, stand for runs; the histogram is run as often as is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.weighted import Weighted
from synth_core.engine.sampling import Posterior, effective_size
from synth_core.errors import FitError
from synth_core.experiments.audit.neighbours import REMOVED, Neighbour
from synth_core.mechanisms import histogram
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.censoring import weighted_terms
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


def posterior_pair(
    analysis: Analysis, other: Analysis, neighbour: Neighbour, weighted: Weighted, runs: int
) -> Pair:
    """Runs of a posterior mechanism on a table and on its neighbour.

    Parameters
    ----------
    analysis, other : Analysis
        Of D and of D', under the same settings, risk map and design; the same where a value is only withheld.
    weighted : Weighted
        The mechanism's weights on D; those on D' are computed as the mechanism does.
    """
    mechanism, model = weighted.mechanism, analysis.model
    if other is analysis:  # the record's value is withheld: its row stays, and its term is gone
        gone = np.arange(model.records.n) == neighbour.row
        there = replace(weighted, weights=np.where(gone, 0.0, weighted.weights))
    else:
        there = other.weighted(mechanism)
    fits = [_long(c, w, runs, i) for i, (c, w) in enumerate(((analysis, weighted), (other, there)))]
    sides = []
    for posterior in fits:
        ratio, own = _ratio(analysis, other, neighbour, (weighted, there), posterior)
        sides.append({RATIO: ratio, TERM: own} | _parameters(model, posterior))
    kept = _most_different(*sides)
    found, thinned = [], []
    for i, (posterior, side) in enumerate(zip(fits, sides, strict=True)):
        values = {name: side[name] for name in kept}
        thin = _thin(values)
        rows = np.arange(0, posterior.n_draws, thin)
        rows = rows[np.linspace(0, len(rows) - 1, min(runs, len(rows))).astype(int)]
        rng = np.random.default_rng([analysis.settings.seed, 61, i])
        text = f"{mechanism.label}: drawing synthetic data {'on the neighbour' if i else 'on the table'}"
        sets = _predictions(other.model, posterior, rows, rng, partial(analysis.progress, text))
        released = synthetic_statistics(sets, len(rows), neighbour, analysis)
        found.append({name: each[rows] for name, each in values.items()} | released)
        thinned.append(thin)
    problems = tuple(dict.fromkeys(p for fit in fits for p in fit.diagnostics.problems))
    largest = _largest_ratio(sides[0][RATIO], sides[1][RATIO])
    return Pair(found[0], found[1], (thinned[0], thinned[1]), largest, problems)


def _long(analysis: Analysis, weighted: Weighted, runs: int, which: int) -> Posterior:
    """Draws of the refit that the mechanism makes, enough for the runs after thinning."""
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
    return fits.under(s.model_copy(update=changes)).posterior(weighted.weights, weighted.censoring, text)[0]


def _ratio(
    analysis: Analysis,
    other: Analysis,
    neighbour: Neighbour,
    both: tuple[Weighted, Weighted],
    posterior: Posterior,
) -> tuple[Array, Array]:
    """log of the two pseudo posteriors' ratio at every draw, up to a constant, and the record's own part
    of it before weighting and clamping.

    By Neyman and Pearson the first is the best statistic there is to tell the tables apart; the second
    is the best one if the mechanism does not weight or clamp as it says. Each of shape (n_draws,).
    """
    here, there = both
    row, model = neighbour.row, analysis.model
    n = model.records.n
    beyond = there.weights if len(there.weights) == n else np.insert(there.weights, row, 0.0)
    differ = here.weights != beyond
    at = (
        there.censoring if len(there.weights) == n else here.censoring
    )  # an anchor that reads the table differs
    if at is not None and here.censoring is not None:
        differ |= here.censoring.offset(n) != at.offset(n)
    differ = np.union1d(np.flatnonzero(differ), [row])
    ratio, own = np.zeros(posterior.n_draws), np.zeros(posterior.n_draws)
    step = max(1, model.block_elements // posterior.n_draws)
    for start in range(0, len(differ), step):
        rows = differ[start : start + step]
        log_lik = model.log_lik(posterior.draws, rows)
        terms = weighted_terms(log_lik, here.weights[rows], here.censoring_of(rows))
        without = weighted_terms(log_lik, beyond[rows], None if at is None else at.of(rows))
        same = rows != row  # the record itself has another value on the neighbour, or none
        ratio += terms.sum(axis=1) - without[:, same].sum(axis=1)
        if not same.all():
            own += log_lik[:, ~same][:, 0]
        analysis.progress(f"{here.mechanism.label}: density ratios", start / n)
    if neighbour.relation != REMOVED:
        log_lik = other.model.log_lik(posterior.draws, np.array([row]))
        ratio -= weighted_terms(log_lik, there.weights[[row]], there.censoring_of([row]))[:, 0]
        own -= log_lik[:, 0]
    return ratio, own


def _parameters(model: Model, posterior: Posterior) -> Values:
    """Every single parameter that log-likelihoods need, by name."""
    found = {}
    for name in model.parameters:
        values = posterior.draws[name]
        if values.ndim == 1:
            found[name] = values
            continue
        flat = values.reshape(len(values), -1)
        found |= {f"{name}[{j + 1}]": flat[:, j] for j in range(flat.shape[1])}
    return found


def _most_different(first: Values, second: Values) -> list[str]:
    """All statistics, or of many parameters those whose means differ most where thresholds are chosen."""
    names = list(first)
    half = len(next(iter(first.values()))) // 2, len(next(iter(second.values()))) // 2

    def apart(name: str) -> float:
        a, b = first[name][: half[0]], second[name][: half[1]]
        spread = float(a.std() + b.std())
        return abs(float(a.mean() - b.mean())) / spread if spread > 0 else 0.0

    parameters = sorted(names[2:], key=apart, reverse=True)[:PARAMETERS]
    return [name for name in names if name in parameters or name in (RATIO, TERM)]


def _thin(values: Values) -> int:
    """Every how many-th draw is nearly independent of the one before, for all statistics."""
    count = len(next(iter(values.values())))
    finite = [each for each in values.values() if np.isfinite(each).all()]
    smallest = min((effective_size(each.reshape(CHAINS, -1)) for each in finite), default=count)
    return max(1, math.ceil(count / max(smallest, 1.0) - 0.05))


def _largest_ratio(here: Array, there: Array) -> float:
    """max |log density ratio| over the draws, its constant estimated from both tables."""
    if not (np.isfinite(here).all() and np.isfinite(there).all()):
        return math.inf

    def log_mean_exp(values: Array) -> float:
        top = float(values.max())
        return top + float(np.log(np.mean(np.exp(values - top))))

    constant = (log_mean_exp(there) - log_mean_exp(-here)) / 2
    return float(np.abs(np.concatenate([here, there]) - constant).max())


def _predictions(
    model: Model, posterior: Posterior, rows: Array, rng: np.random.Generator, tell: Callable[[float], None]
) -> Iterator[Array]:
    """Synthetic values of the rows that both tables have, one table a run, in batches."""
    step = max(1, BATCH // model.records.n)
    for start in range(0, len(rows), step):
        batch = []
        for s in rows[start : start + step]:
            draw = {name: values[s] for name, values in posterior.draws.items()}
            batch.append(model.predict(draw, rng))
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
    found = {f"synthetic {name}": np.empty(runs) for name in names}
    at = 0
    for batch in sets:
        part = slice(at, at + len(batch))
        at += len(batch)
        near = np.abs(batch - x) <= reach
        rank = math.ceil(0.95 * batch.shape[1]) - 1
        high = np.partition(batch, rank, axis=1)[:, rank]
        columns = (batch.mean(axis=1), high, batch.max(axis=1), batch.min(axis=1), near.mean(axis=1))
        for name, column in zip(found, columns, strict=True):
            found[name][part] = column
    return found


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
    s, rows = analysis.settings, iter(drawn)
    rng = np.random.default_rng([s.seed, 63, stream])
    for start in range(0, len(drawn), step):
        part = drawn[start : start + step]
        # The noise of every bin is drawn by itself: of many runs at once it is the same law.
        part[:] = analysis.noise(np.tile(counts, len(part)), s.epsilon).reshape(part.shape)
        batch = histogram.synthesize(
            values, s.bounds, s.epsilon, rule, len(part), rng, lambda exact, epsilon: next(rows)
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
    found = []
    for i, values in enumerate(outcomes):
        drawn = np.empty((runs, int(rule)), dtype=np.int64)
        text = f"{mechanism.label}: {'the neighbour' if i else 'the table'}"
        sets = _histograms(analysis, values, counts[i], rule, drawn, i, max(1, min(BATCH // n, 500)), text)
        released = synthetic_statistics(
            (each[:, : len(outcomes[1])] for each in sets), runs, neighbour, analysis
        )
        ratio = (s.epsilon / 2) * (np.abs(drawn - counts[1]) - np.abs(drawn - counts[0])).sum(axis=1)
        changed = np.flatnonzero(counts[0] != counts[1])
        bins = {f"noisy count of bin {j + 1}": drawn[:, j].astype(float) for j in changed}
        found.append({RATIO: ratio} | bins | released)
    largest = float(max(np.abs(each[RATIO]).max() for each in found))
    return Pair(found[0], found[1], (1, 1), largest)
