"""What an audit of units finds: nothing beyond the promise, and both ways in which it is lost.

Draws come from exact posteriors on a grid, of a logit around an anchor, clamped as the mechanism clamps them; the
audit's own statistics then bound ε from below, on two tables that differ in all that is known of one household of five.
"""

import numpy as np
import pytest
from scipy.special import expit

from synth_core.data.survey_weights import scaled_weights
from synth_core.experiments.audit.lower_bound import measure
from synth_core.mechanisms.censoring import Censoring, weighted_terms

EPSILON, SIZE, RUNS = 1.0, 5, 40_000
GRID = np.linspace(-6, 6, 801)
WEIGHT = np.array([20.0] * 30 + [200.0] * SIZE)  # of 30 others, and of the household
TOTAL, C = 1_050.0, 0.1


def posterior(values, bound, mean=None):
    """Of a flat prior; `values` of the household, or none where all of it is withheld."""
    codes = np.append(np.ones(30), values)
    weights, p = WEIGHT[: len(codes)], expit(GRID)[:, None]
    if mean is None:
        weights = C * scaled_weights(
            weights, TOTAL, len(WEIGHT), 1e9
        )  # n is public: rows stay, values are withheld
    else:
        weights = C * weights / mean(weights)
    log_lik = np.log(np.where(codes == 1, p, 1 - p)) - np.log(0.5)
    terms = weighted_terms(log_lik, weights, Censoring(bound)).sum(axis=1)
    density = np.exp(terms - terms.max())
    return density / density.sum()


def lower_bound(bound, mean=None):
    rng = np.random.default_rng(11)
    tables = [posterior(values, bound, mean) for values in (np.zeros(SIZE), np.empty(0))]
    draws = [rng.choice(GRID, RUNS, p=each) for each in tables]
    return max(each.epsilon_lower for each in measure({"draw": draws[0]}, {"draw": draws[1]}, 0.05))


def test_an_audit_of_a_unit_stays_below_the_promise():
    assert 0.3 < lower_bound(EPSILON / 2 / SIZE) <= EPSILON


@pytest.mark.parametrize(
    "bound, mean",
    [
        (EPSILON / 2, None),  # each record of the household is clamped, and not all of them together
        (
            EPSILON / 2 / SIZE,
            np.mean,
        ),  # W from the table: a household that leaves moves the terms of all others
    ],
)
def test_an_audit_refutes_a_clamp_of_records_and_weights_from_the_table(bound, mean):
    assert lower_bound(bound, mean) > 1.05 * EPSILON
