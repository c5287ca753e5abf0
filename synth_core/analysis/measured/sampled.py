"""The posterior of the log-linear model given noisy tables, sampled by Stan (`stan/measured.stan`).

Its density is that whose top `LogLinear.fit` finds: what perturbed refits draw from about. It is for models that are
small enough to be sampled; the program is compiled when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from synth_core.analysis.measured.log_linear import Array, Codes, LogLinear, NoisyTable, PriorScales
from synth_core.analysis.measured.smoothing import Smoothing
from synth_core.engine.sampling import Posterior, Sampler, sample
from synth_core.engine.toolchain import compile_program

PROGRAM = "measured.stan"
MAX_PARAMETERS = 1_000  # a step of the sampler takes their square
MAX_PLACES = 300_000  # public combinations times sensitive cells times tables: and these
# Of a model, its tables, the scales of its priors, its most likely parameters, and a seed.
Sampling = Callable[[LogLinear, Sequence[NoisyTable], PriorScales, Array, int], Posterior]


def sampled(
    model: LogLinear,
    measured: Sequence[NoisyTable],
    scales: PriorScales,
    mode: Array,
    laplace: bool,
    sampler: Sampler,
    progress: Callable[[str, float], None],
) -> Posterior:
    """Draws of the parameters, "theta" of shape (n_draws, n_parameters).

    Parameters
    ----------
    mode : array of shape (n_parameters,)
        About the most likely parameters: coordinates are laid around them, and no answer rests on it.
    laplace : bool
        The noise is discrete Laplace, else discrete Gaussian. Either enters by its density, with the variance of a
        whole number beside it, as in a fit.
    """
    executable = compile_program(
        PROGRAM, lambda: progress("compiling the model (once, a minute or two)", 0.0)
    )
    data = stan_data(model, measured, scales, mode, laplace)
    found = sample(
        executable,
        data,
        ("u",),
        sampler,
        lambda share: progress("sampling the model of the noisy tables", share),
    )
    theta = data["center"] + found.draws["u"] @ data["basis"].T
    return replace(found, draws={"theta": theta})


def stan_data(
    model: LogLinear, measured: Sequence[NoisyTable], scales: PriorScales, mode: Array, laplace: bool
) -> dict[str, Any]:
    """What the program reads; each of its fields is explained there."""
    places, first = cell_places(model)
    counts, told = model.told(measured)
    scale = np.divide(1.0, np.sqrt(told), out=np.zeros_like(told), where=told > 0)
    if (
        laplace
    ):  # without the variance of a whole number, which the program adds; that of a scale is twice its square
        scale = np.where(told > 0, np.sqrt(np.maximum(scale**2 - 1.0, 0.01) / 2), 0.0)
    smoothing, prior = model.smoothing(scales, None), model.deviations(scales)
    return {
        "n_parameters": model.n_parameters,
        "n_table_cells": model.n_cells,
        "center": mode,
        "basis": _basis(model, places, first, told, prior, smoothing, mode),
        "n_scores": model.scores.nnz,
        "score": model.scores.data,
        "score_slope": model.scores.indices + 1,
        "score_first": model.scores.indptr + 1,
        "n_combinations": len(first) - 1,
        "records": model.domain.records,
        "first": first + 1,
        "n_places": places.size,
        "place": places.ravel() + 1,
        "count": counts,
        "scale": scale,
        "laplace": int(laplace),
        "deviation": prior,
        "n_steps": len(smoothing.lower),
        "lower_cell": smoothing.lower + 1,
        "upper_cell": smoothing.upper + 1,
        "step_deviation": smoothing.precisions**-0.5,
    }


def n_places(model: LogLinear) -> int:
    """Cells of records times tables, about what an evaluation of the density costs."""
    domain = model.domain
    return len(domain.public) * math.prod(domain.shape) * len(model.terms)


def cell_places(model: LogLinear) -> tuple[Codes, Codes]:
    """Where each possible cell lies in the tables of the terms, combination by combination.

    Returns
    -------
    places : array of int of shape (n_cells, n_terms)
    first : array of int of shape (n_combinations + 1,)
        The first cell of each combination, and after the last how many cells there are.
    """
    domain = model.domain
    codes = np.unravel_index(np.arange(math.prod(domain.shape)), domain.shape)
    columns, begin = [], 0
    for term in model.terms:
        inner = np.ravel_multi_index(
            tuple(codes[k] for k in term.sensitive), tuple(domain.shape[k] for k in term.sensitive)
        )
        columns.append(begin + term.cell[:, None] * term.n_cells + inner)
        begin += term.n_public_cells * term.n_cells
    places = np.stack(columns, axis=-1)  # (n_combinations, n_sensitive_cells, n_terms)
    there = np.ones(places.shape[:2], dtype=bool)
    if domain.possible is not None:
        there = domain.possible.reshape(there.shape)
    return places[there], np.concatenate([[0], np.cumsum(there.sum(axis=1))])


def _basis(
    model: LogLinear,
    places: Codes,
    first: Codes,
    told: Array,
    prior: Array,
    smoothing: Smoothing,
    mode: Array,
) -> Array:
    """A matrix whose product with its transpose is about the posterior's covariance: of the model as it is linear."""
    n_cells = len(places)
    ones = np.ones(places.size)
    of_terms = scipy.sparse.csr_array(
        (ones, places.ravel(), np.arange(0, places.size + 1, places.shape[1])), (n_cells, model.n_cells)
    )
    of_parameters = scipy.sparse.hstack([of_terms, of_terms @ model.scores]).tocsr()
    expected = model.shares(mode) * model.domain.records.reshape(-1, *(1 for _ in model.domain.shape))
    if model.domain.possible is not None:
        expected = expected[model.domain.possible]
    weighted = of_parameters.multiply(expected.ravel()[:, None]).tocsr()
    combination = np.repeat(np.arange(len(first) - 1), np.diff(first))
    by_combination = scipy.sparse.csr_array(
        (np.ones(n_cells), (combination, np.arange(n_cells))), (len(first) - 1, n_cells)
    )
    held = (by_combination @ weighted).toarray()
    slope = (of_terms.T @ weighted).toarray()
    slope -= held[:, : model.n_cells].T @ (held / model.domain.records[:, None])
    information = slope.T @ (told[:, None] * slope) + np.diag(prior**-2)
    steps = scipy.sparse.csr_array(
        (
            np.concatenate([np.ones(len(smoothing.upper)), -np.ones(len(smoothing.lower))]),
            (
                np.tile(np.arange(len(smoothing.lower)), 2),
                np.concatenate([smoothing.upper, smoothing.lower]),
            ),
        ),
        (len(smoothing.lower), model.n_parameters),
    )
    information += (steps.T @ steps.multiply(smoothing.precisions[:, None])).toarray()
    lower = np.linalg.cholesky(information)
    return np.asarray(scipy.linalg.solve_triangular(lower.T, np.eye(len(lower)), lower=False))
