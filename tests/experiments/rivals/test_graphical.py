"""MST and AIM: draws from a model against brute force; both at a large budget where opendp[mbi] is installed."""

import importlib.util
import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.records.blocks import Block
from synth_core.errors import InputError
from synth_core.experiments.rivals import graphical
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.conditional_draws import conditional_draws
from synth_core.experiments.rivals.problem import problem_of

INSTALLED = all(importlib.util.find_spec(name) is not None for name in ("mbi", "jax", "polars"))
needs_mbi = pytest.mark.skipif(
    not INSTALLED, reason=f"MST and AIM need opendp[mbi]: {graphical.INSTALL}; their own tests are skipped"
)


def test_draws_follow_the_model_given_the_public_columns(rng):
    """Against the joint table multiplied out by a loop; axes in any order, cells at the end are never drawn."""
    shape, n_public = (3, 4), (2, 3)
    factors = [
        (("p1", "s0"), rng.normal(size=(4, 4))),
        (("s1", "p0", "s0"), rng.normal(size=(5, 3, 4))),
        (("p0", "p1"), rng.normal(size=(3, 4))),
        (("s1",), rng.normal(size=5)),
    ]
    n = 3000
    for cell in itertools.product(*map(range, n_public)):
        joint = np.zeros(shape)
        for s in itertools.product(*map(range, shape)):
            codes = {"p0": cell[0], "p1": cell[1], "s0": s[0], "s1": s[1]}
            joint[s] = sum(values[tuple(codes[name] for name in names)] for names, values in factors)
        shares = np.exp(joint) / np.exp(joint).sum()
        public = np.tile(cell, (n, 1))
        drawn = conditional_draws(factors, public, shape, rng)
        found = np.bincount(np.ravel_multi_index(tuple(drawn.T), shape), minlength=12)
        # One uniform in each of n equal parts: a count is off by one at either end of its cell at most.
        np.testing.assert_allclose(found, n * shares.ravel(), atol=2)
        freely = conditional_draws(factors, public, shape, rng, even=False)
        counts = np.bincount(np.ravel_multi_index(tuple(freely.T), shape), minlength=12)
        assert stats.chisquare(counts, n * shares.ravel()).pvalue > 1e-5


@pytest.mark.parametrize("joint_cells", [1, 5, 40])
def test_columns_that_are_summed_out_have_the_same_law(rng, monkeypatch, joint_cells):
    """A chain with a triangle, against the joint table by a loop: chi square of 20,000 records, and of each pair."""
    monkeypatch.setattr("synth_core.experiments.rivals.conditional_draws.JOINT_CELLS", joint_cells)
    shape = (3, 2, 4, 2, 3)
    factors = [
        (("s0", "s1"), rng.normal(size=(3, 2))),
        (("s2", "s1", "p0"), rng.normal(size=(4, 2, 2))),
        (("s2", "s3"), rng.normal(size=(4, 2))),
        (("s1", "s3"), rng.normal(size=(2, 2))),  # s4 stands alone: each of its cells as often
    ]
    logs = np.zeros(shape)
    for s in itertools.product(*map(range, shape)):
        codes = {f"s{k}": code for k, code in enumerate(s)} | {"p0": 1}
        logs[s] = sum(values[tuple(codes[name] for name in names)] for names, values in factors)
    shares, n = np.exp(logs) / np.exp(logs).sum(), 20_000
    for even in (False, True):
        drawn = conditional_draws(factors, np.ones((n, 1), dtype=int), shape, rng, even)
        found = np.bincount(np.ravel_multi_index(tuple(drawn.T), shape), minlength=shares.size)
        spread = ((found - n * shares.ravel()) ** 2 / (n * shares.ravel())).sum()
        # Independent records: 143 degrees of freedom, 4 deviations of 17 above. Even ones lie nearer.
        assert spread < (143 + 4 * 17 if not even else 143)


def test_draws_of_mixed_public_cells_and_of_none(rng):
    """The sensitive column repeats the public one."""
    factors = [(("p0", "s0"), np.where(np.eye(3), 0.0, -50.0))]
    public = rng.integers(0, 3, (500, 1))
    np.testing.assert_array_equal(conditional_draws(factors, public, (3,), rng)[:, 0], public[:, 0])
    none = conditional_draws([(("s0",), np.log([0.25, 0.75]))], np.zeros((400, 0), dtype=int), (2,), rng)
    assert none.sum() == pytest.approx(300, abs=1)


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(graphical.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install -r requirements-rivals.txt"):
        graphical.check_installed()


def people(rng, n=1500):
    """pay follows work, and work follows the public area."""
    area = rng.integers(0, 3, n)
    work = np.where(rng.random(n) < 0.85, area, rng.integers(0, 3, n))
    pay = rng.uniform(0, 10, n) + 10 * work
    frame = pd.DataFrame(
        {"work": np.array(["no", "part", "full"], dtype=object)[work], "pay": pay, "area": area}
    )
    blocks = [
        Block("work", "categorical", {"categories": ("no", "part", "full")}),
        Block("pay", "lognormal"),
    ]
    return problem_of(frame, blocks, ("area",), {"pay": (0.0, 10.0, 20.0, 30.0)})


@needs_mbi
@pytest.mark.slow
@pytest.mark.parametrize(("make", "counted"), [(graphical.mst, "rho"), (graphical.aim, "epsilon")])
def test_at_a_large_budget_pairs_are_kept(make, counted, rng):
    """The tree is area, work, pay. Both noise and rounding are below 5 standard errors of a sample."""
    problem = people(rng)
    found = make(problem, Budget(40.0, counted), rng)
    assert found.rows is None
    work = np.array([{"no": 0, "part": 1, "full": 2}[each] for each in found.frame["work"]])
    error = 5 * np.sqrt(0.25 / problem.n)
    assert ((found.frame["pay"] // 10) == work).mean() == pytest.approx(1.0, abs=error)
    kept = (problem.sensitive[:, 0] == problem.public[:, 0]).mean()
    assert (work == problem.public[:, 0]).mean() == pytest.approx(kept, abs=error)


@needs_mbi
@pytest.mark.slow
def test_at_a_tiny_budget_little_is_kept(rng):
    """The noise of a count is larger than the table: what is left does not follow work as it does in truth."""
    problem = people(rng, 300)
    found = graphical.mst(problem, Budget(0.003), rng)
    work = np.array([{"no": 0, "part": 1, "full": 2}[each] for each in found.frame["work"]])
    assert ((found.frame["pay"] // 10) == work).mean() < 0.9


@needs_mbi
@pytest.mark.slow
def test_budgets_that_do_not_divide_are_moved_by_a_hair():
    """opendp refuses some by the last bit of a sum."""
    for n_edges in range(1, 12):
        for spent in (0.03, 1 / 3, 2.0833333333):
            found, share = graphical._dividable(spent, n_edges, Budget(1.0))
            assert spent * (1 - 1e-9) < found <= spent
            assert share == (0.49 if n_edges == 8 else 0.9)


def test_too_many_public_cells_are_refused():
    public = np.column_stack([np.arange(300) % k for k in (97, 98, 99)])
    with pytest.raises(InputError, match="at most 50,000"):
        graphical.check_public_cells(SimpleNamespace(public=public))
