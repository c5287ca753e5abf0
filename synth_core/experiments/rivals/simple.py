"""Rivals that need no library beyond the usual: perturbed histograms, and a sample."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.problem import Problem, Synthetic

MAX_CELLS = 1_000_000
SAMPLE_SHARE = 0.1

Counts = NDArray[np.int64]


def noisy(counts: Counts, budget: Budget, share: float = 1.0) -> Counts:
    """Counts plus integer noise from opendp, where a row more changes one count by one.

    Laplace of scale 1 / (share * epsilon), or Gauss of deviation 1 / sqrt(2 * share * rho). opendp draws from the
    system's entropy, hence there is no seed.

    Raises
    ------
    RuntimeError
        If opendp's own accounting does not confirm the budget.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if budget.counted == "epsilon":
        spent, scale = share * budget.epsilon, 1 / (share * budget.epsilon)
        noise = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
        found = noise.map(1)
    else:
        spent, scale = share * budget.rho, 1 / math.sqrt(2 * share * budget.rho)
        noise = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
        found = noise.map(1.0)
    if found > spent * (1 + 1e-9):
        raise RuntimeError(f"opendp accounts for {found}, not {spent}")
    return np.array(noise([int(count) for count in counts]), dtype=np.int64)


def joint_histogram(problem: Problem, budget: Budget, rng: np.random.Generator) -> Synthetic:
    """Noisy counts of all cells of the sensitive variables together; predictors play no part.

    Negative counts to 0, multinomial, as for one variable (`mechanisms.histogram`).
    """
    n_cells = math.prod(problem.shape)
    if n_cells > MAX_CELLS:
        raise InputError(
            f"The histogram of all sensitive variables has {n_cells:,} cells; at most {MAX_CELLS:,} can be counted. "
            f"Declare fewer bins, or leave it out."
        )
    cell = np.ravel_multi_index(tuple(problem.sensitive.T), problem.shape)
    drawn = _drawn(noisy(np.bincount(cell, minlength=n_cells), budget), problem.n, rng)
    codes = np.column_stack(np.unravel_index(drawn, problem.shape)).astype(np.int64)
    return Synthetic(problem.decoded(codes, rng))


def one_way_histograms(problem: Problem, budget: Budget, rng: np.random.Generator) -> Synthetic:
    """Noisy counts of each sensitive variable alone, each with an equal part of the budget; they are independent."""
    share = 1 / len(problem.cells)
    columns = [
        _drawn(noisy(np.bincount(problem.sensitive[:, k], minlength=cells.n), budget, share), problem.n, rng)
        for k, cells in enumerate(problem.cells)
    ]
    return Synthetic(problem.decoded(np.column_stack(columns), rng))


def _drawn(counts: Counts, n: int, rng: np.random.Generator) -> Counts:
    """Cells of n records, in random order."""
    kept = np.maximum(counts, 0)
    shares = kept / kept.sum() if kept.sum() else np.full(len(kept), 1 / len(kept))
    return rng.permutation(np.repeat(np.arange(len(kept)), rng.multinomial(n, shares)))


def sample(problem: Problem, budget: Budget, rng: np.random.Generator) -> Synthetic:
    """A tenth of the records as they are: what is often released, and protects nobody who is in it."""
    rows = rng.choice(problem.n, max(1, round(SAMPLE_SHARE * problem.n)), replace=False)
    return Synthetic(problem.frame.iloc[rows].reset_index(drop=True), rows)
