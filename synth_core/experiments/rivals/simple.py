"""Rivals that need no library beyond the usual: perturbed histograms, and a sample."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic
from synth_core.mechanisms.noise import laplace

MAX_CELLS = 1_000_000
SAMPLE_SHARE = 0.1
GAUSS_REACH = 12  # deviations: beyond lies less than 1e-31

Counts = NDArray[np.int64]


def noisy(counts: Counts, budget: Budget, share: float, rng: np.random.Generator) -> Counts:
    """Counts plus integer noise, where a row more changes one count by one.

    Discrete Laplace of scale 1 / (share * epsilon), or discrete Gauss of scale 1 / sqrt(2 * share * rho). opendp
    confirms what it costs. It is drawn from NumPy's generator: a comparison must be repeatable, and is never released
    (for a release, noise with a known seed would protect nobody).

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
        found = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale).map(1)
        noise = laplace(counts.shape, share * budget.epsilon, rng)
    else:
        spent, scale = share * budget.rho, 1 / math.sqrt(2 * share * budget.rho)
        found = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale).map(1.0)
        most = math.ceil(GAUSS_REACH * scale) + 1
        values = np.arange(-most, most + 1)
        law = np.exp(-0.5 * (values / scale) ** 2)
        noise = rng.choice(values, len(counts), p=law / law.sum())
    if found > spent * (1 + 1e-9):
        raise RuntimeError(f"opendp accounts for {found}, not {spent}")
    return np.asarray(counts + noise, dtype=np.int64)


def check_joint_cells(problem: Problem) -> None:
    """Refuse more cells than can be counted; raises InputError."""
    n_cells = math.prod(problem.shape)
    if n_cells > MAX_CELLS:
        raise InputError(
            f"The histogram of all sensitive variables has {n_cells:,} cells; at most {MAX_CELLS:,} can be counted. "
            f"Declare fewer bins, or leave it out."
        )


def joint_histogram(problem: Problem, budget: Budget, rng: np.random.Generator) -> RivalSynthetic:
    """Noisy counts of all cells of the sensitive variables together; predictors play no part.

    Negative counts to 0, multinomial, as for one variable (`mechanisms.histogram`).
    """
    check_joint_cells(problem)
    n_cells = math.prod(problem.shape)
    cell = np.ravel_multi_index(tuple(problem.sensitive.T), problem.shape)
    drawn = _drawn(noisy(np.bincount(cell, minlength=n_cells), budget, 1.0, rng), problem.n, rng)
    codes = np.column_stack(np.unravel_index(drawn, problem.shape)).astype(np.int64)
    return RivalSynthetic(problem.decoded(codes, rng))


def one_way_histograms(problem: Problem, budget: Budget, rng: np.random.Generator) -> RivalSynthetic:
    """Noisy counts of each sensitive variable alone, each with an equal part of the budget; they are independent."""
    share = 1 / len(problem.cells)
    columns = [
        _drawn(
            noisy(np.bincount(problem.sensitive[:, k], minlength=cells.n), budget, share, rng), problem.n, rng
        )
        for k, cells in enumerate(problem.cells)
    ]
    return RivalSynthetic(problem.decoded(np.column_stack(columns), rng))


def _drawn(counts: Counts, n: int, rng: np.random.Generator) -> Counts:
    """Cells of n records, in random order."""
    kept = np.maximum(counts, 0)
    shares = kept / kept.sum() if kept.sum() else np.full(len(kept), 1 / len(kept))
    return rng.permutation(np.repeat(np.arange(len(kept)), rng.multinomial(n, shares)))


def sample(problem: Problem, budget: Budget, rng: np.random.Generator) -> RivalSynthetic:
    """A tenth of the records as they are: what is often released, and protects nobody who is in it."""
    rows = rng.choice(problem.n, max(1, round(SAMPLE_SHARE * problem.n)), replace=False)
    return RivalSynthetic(problem.frame.iloc[rows].reset_index(drop=True), rows)
