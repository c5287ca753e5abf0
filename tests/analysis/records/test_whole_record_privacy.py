"""The theorem of whole records, exactly: posteriors on a grid, for tables that differ in all of one record."""

import numpy as np
import pytest
from scipy.special import logsumexp

from synth_core.data.earlier_variable import EarlierVariable
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.models import build_model
from synth_core.models.records import Records

EPSILON, SHARES, C = 1.0, (0.4, 0.6), 0.7
FIRST = EarlierVariable("first", ("a", "b"))
AXIS = np.linspace(-4.0, 4.0, 61)
N = 40


def tables(rng):
    """Codes of two variables, the second following the first; and three neighbours of record 0."""
    first = (rng.random(N) < 0.15).astype(float)
    second = np.where(rng.random(N) < 0.05, 1 - first, first)
    withheld = np.r_[0.0, np.ones(N - 1)]
    for values in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):  # of a record that stands out
        mine = first.copy(), second.copy()
        mine[0][0], mine[1][0] = values
        yield mine, np.ones(N), "with"
    yield (first, second), withheld, "without"


def log_posteriors(columns, present, clamped):
    """Log posterior of each block on its grid, prior flat; the second is conditional on the first."""
    found = []
    ones = np.ones((N, 1))
    for share, outcome, design in (
        (SHARES[0], columns[0], ones),
        (SHARES[1], columns[1], np.hstack([ones, FIRST.columns(columns[0])])),
    ):
        model = build_model(
            "categorical", Records(outcome, design, ("1",) * design.shape[1]), categories=("a", "b")
        )
        grid = np.stack(np.meshgrid(*[AXIS] * design.shape[1], indexing="ij"), axis=-1).reshape(
            -1, design.shape[1]
        )
        draws = {"beta": np.hstack([-grid / 2, grid / 2])}
        log_lik = model.log_lik(draws, slice(None))
        anchor = model.log_lik({"beta": np.zeros((1, 2 * design.shape[1]))}, slice(None))[0]
        bound = share * EPSILON / 2 if clamped else np.inf
        terms = weighted_terms(log_lik, C * present, Censoring(bound, anchor))
        total = terms.sum(axis=1)
        found.append(total - logsumexp(total))
    return found


def distance(one, other):
    """The largest log ratio of the joint density: the blocks are independent given the table."""
    return sum(max((a - b).max(), (b - a).max()) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_no_record_moves_the_joint_posterior_by_more_than_epsilon(seed):
    rng = np.random.default_rng(seed)
    found = [(kind, log_posteriors(*each, clamped=True)) for *each, kind in tables(rng)]
    *with_it, (_, without) = found
    withheld = [distance(each, without) for _, each in with_it]
    replaced = [distance(a, b) for _, a in with_it for _, b in with_it]
    assert max(withheld) <= EPSILON + 1e-9
    assert max(replaced) <= 2 * EPSILON + 1e-9
    assert max(withheld) > 0.8 * EPSILON  # and not by much less: the bound is met


def test_without_the_clamp_it_does():
    rng = np.random.default_rng(0)
    *with_it, without = [log_posteriors(*each, clamped=False) for *each, _ in tables(rng)]
    assert max(distance(each, without) for each in with_it) > 2 * EPSILON
