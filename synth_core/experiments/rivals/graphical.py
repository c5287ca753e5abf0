"""AIM and MST, the synthesizers that methodologists ask about first, as opendp's extra `mbi` has them.

Both measure noisy tables of counts of a few columns and fit a graphical model to them. What is public costs nothing:
the joint counts of the public columns are given as known, the budget goes to tables with sensitive columns, and every
synthetic record is drawn from the fitted model conditional on the public values of a record.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.balanced_drawing import DRAWS, balanced_choice
from synth_core.errors import InputError
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.cells import Codes
from synth_core.experiments.rivals.conditional_draws import conditional_draws
from synth_core.experiments.rivals.problem import Problem, RivalSynthetic

INSTALL = "python -m pip install -r requirements-rivals.txt"
ONE_WAY = {"mst": 1 / 3, "aim": 0.1}  # of the budget, for the counts of each sensitive column first
PUBLIC_DEVIATION = 1.0  # at which the model takes the public counts, in records: the fit needs a positive one
MAX_PUBLIC_CELLS = 50_000
MEASURED = (
    0.9,
    0.49,
)  # of MST's budget, for measuring edges and not for choosing them; the first is opendp's
TRIES = 200  # budgets below the one asked for, a trillionth each

Array = NDArray[np.float64]


def check_installed() -> None:
    """Raises InputError with the command that installs what is missing."""
    if any(importlib.util.find_spec(name) is None for name in ("mbi", "jax", "polars")):
        raise InputError(
            f"MST and AIM come with opendp's extra mbi, which is not installed here (it brings jax). Install it with: "
            f"{INSTALL}"
        )


def mst(problem: Problem, budget: Budget, rng: np.random.Generator) -> RivalSynthetic:
    """MST: the counts of the pairs of a tree that is chosen privately (McKenna, Miklau and Sheldon 2021)."""
    return _synthesize(problem, budget, rng, "mst")


def aim(problem: Problem, budget: Budget, rng: np.random.Generator) -> RivalSynthetic:
    """AIM: in rounds, the counts of up to three columns that are worst so far (McKenna et al. 2022)."""
    return _synthesize(problem, budget, rng, "aim")


def _synthesize(problem: Problem, budget: Budget, rng: np.random.Generator, which: str) -> RivalSynthetic:
    check_installed()
    check_public_cells(problem)
    factors = _fitted(problem, budget, which)
    times = DRAWS if problem.balanced else 1
    draws = np.stack([conditional_draws(factors, problem.public, problem.shape, rng) for _ in range(times)])
    kept = balanced_choice(draws, problem.public, rng) if problem.balanced else np.zeros(problem.n, dtype=int)
    return RivalSynthetic(problem.decoded(draws[kept, np.arange(problem.n)], rng))


def _fitted(problem: Problem, budget: Budget, which: str) -> list[tuple[tuple[str, ...], Array]]:
    """The log-potentials of the fitted model, over columns p0, p1, … and s0, s1, …; its noise has no seed."""
    import jax
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras import mbi

    dp.enable_features("contrib")
    sensitive = {f"s{k}": problem.sensitive[:, k] for k in range(len(problem.cells))}
    public = {f"p{k}": problem.public[:, k] for k in range(problem.public.shape[1])}
    keys = {name: list(range(problem.cells[k].n)) for k, name in enumerate(sensitive)}
    total = budget.rho if budget.counted == "rho" else budget.epsilon
    first, rest = ONE_WAY[which] * total, (1 - ONE_WAY[which]) * total
    algorithm: mbi.Algorithm = mbi.AIM(oneway="unkeyed")
    alone = len(sensitive) + len(public) == 1
    if alone:  # no pair to be chosen: its counts have all
        first = total
    elif which == "mst":
        rest, share = _dividable(rest, len(sensitive) + len(public) - 1, budget)
        algorithm = mbi.MST(oneway="unkeyed", measure_split=share)
    context = dp.Context.compositor(
        data=pl.LazyFrame(public | sensitive),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=(_measure(budget), total * (1 + 1e-12)),
    )
    table: Any = _public_table(problem.public) if public else None
    one_way = mbi.Fixed(queries=[mbi.Count((name,)) for name in sensitive])
    begin = mbi.Sequential(algorithms=[one_way], oneway="unkeyed")  # alone it takes no table of fewer columns
    for spent, each in ((first, begin), (rest, algorithm))[: 1 if alone else 2]:
        query = context.query(**{budget.counted: spent})
        table = query.contingency_table(keys=keys, table=table, algorithm=each).release()
    potentials = table.model.potentials
    factors = [
        (tuple(potentials[clique].domain.attributes), np.array(potentials[clique].values))
        for clique in potentials.cliques
    ]
    jax.clear_caches()  # half a gigabyte of compiled functions, which no later fit can use
    return factors


def _measure(budget: Budget) -> Any:
    """opendp's measure of what is spent."""
    import opendp.prelude as dp

    return dp.zero_concentrated_divergence() if budget.counted == "rho" else dp.max_divergence()


def check_public_cells(problem: Problem) -> None:
    """Refuse more combinations of public values than the model is given counts of; raises InputError."""
    n_codes = _public_cells(problem.public) if problem.public.shape[1] else []
    if math.prod(n + 1 for n in n_codes) > MAX_PUBLIC_CELLS:
        raise InputError(
            f"The public predictors have {math.prod(n_codes):,} cells together; MST and AIM take at most "
            f"{MAX_PUBLIC_CELLS:,} here. Cut numbers into fewer bins (--edges), or use fewer predictors."
        )


def _public_cells(public: Codes) -> list[int]:
    return [int(n) for n in public.max(axis=0) + 1]


def _public_table(public: Codes) -> Any:
    """The joint counts of the public columns, as opendp takes what was released before."""
    from mbi import Domain, LinearMeasurement
    from opendp.extras import mbi

    n_codes = _public_cells(public)
    names = [f"p{k}" for k in range(len(n_codes))]
    counts = np.zeros([n + 1 for n in n_codes])  # opendp adds a cell for unknown values
    np.add.at(counts, tuple(public.T), 1)
    known = LinearMeasurement(counts.ravel(), clique=tuple(names), stddev=PUBLIC_DEVIATION)
    domain = Domain.fromdict({name: n + 1 for name, n in zip(names, n_codes, strict=True)})
    return mbi.ContingencyTable(
        keys={name: [*range(n), None] for name, n in zip(names, n_codes, strict=True)},
        cuts={},
        marginals=mbi.Marginals({tuple(names): [known]}),
        model=mbi.mirror_descent(domain, [known]),
    )


def _dividable(spent: float, n_edges: int, budget: Budget) -> tuple[float, float]:
    """The largest budget up to this that MST can divide among its edges, and its share for measuring.

    opendp adds up the edges' parts rounding upwards, and refuses where the sum exceeds what it divided by the last bit.
    It does so when it is run, whatever the data: so the same sum is formed here first. Under opendp's own share of 0.9
    a number of edges such as 8 never divides; then about one half is measured with.
    """
    import opendp.prelude as dp

    measure = _measure(budget)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    for share, step in itertools.product(MEASURED, range(TRIES)):
        tried = spent * (1 - step * 1e-12)
        for_edges = np.nextafter(np.nextafter(tried - tried * share, -np.inf), -np.inf)
        each = float(np.nextafter(for_edges / max(n_edges, 1), -np.inf))
        if (
            dp.c.make_adaptive_composition(*space, measure, d_in=1, d_mids=[each] * n_edges).map(1)
            <= for_edges
        ):
            return tried, share
    raise RuntimeError(f"No budget near {spent:g} can be divided among {n_edges} edges.")
