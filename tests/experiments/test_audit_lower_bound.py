"""The lower bound's statistics against SciPy's own intervals, slow loops and mechanisms of known epsilon."""

import math

import numpy as np
import pytest
from scipy import stats

from synth_core.experiments.audit.lower_bound import (
    choose,
    detectable,
    epsilon_lower,
    measure,
)
from synth_core.experiments.audit.report import cell


def test_detectable_is_the_bound_of_an_event_that_always_and_never_happens():
    exact = stats.binomtest(500, 500).proportion_ci(0.95, "exact").low
    assert detectable((500, 500), 0.05) == pytest.approx(math.log(exact / (1 - exact)))
    assert detectable((500, 500), 0.05, delta=0.5) < detectable((500, 500), 0.05)
    assert epsilon_lower((0, 500), (500, 500), 0.05) == 0.0


@pytest.mark.parametrize("value", [0.0, 0.2599, 0.4805, 1.995, 2.0, 6.1])
def test_a_lower_bound_is_never_shown_larger_than_it_is_and_a_claim_never_smaller(value):
    assert -1e-12 <= value - float(cell("Lower bound", value)) < 0.01
    assert -1e-12 <= float(cell("Claimed ε", value)) - value < 0.01


@pytest.mark.parametrize("likelier_on_first", [True, False])
def test_the_chosen_threshold_is_the_best_of_all(rng, likelier_on_first):
    """Against every threshold on both sides, one by one; few enough values that all are tried."""
    first, second = rng.poisson(10, 300).astype(float), rng.poisson(13, 250).astype(float)
    event = choose("x", first, second, 0.01, 0.0, likelier_on_first)

    def bound(above, threshold):
        inside = [(v >= threshold) if above else (v <= threshold) for v in (first, second)]
        counts = [int(v.sum()) for v in inside]
        p, q = (0, 1) if likelier_on_first else (1, 0)
        runs = (len(first), len(second))
        low = stats.binomtest(counts[p], runs[p]).proportion_ci(0.99, "exact").low
        high = stats.binomtest(counts[q], runs[q]).proportion_ci(0.99, "exact").high
        return math.log(low / high) if low > 0 else -math.inf

    every = [bound(a, t) for a in (True, False) for t in np.unique(np.concatenate([first, second]))]
    assert bound(event.above, event.threshold) == pytest.approx(max(every))


def randomised_response(rng, epsilon, runs):
    """The same answer with probability e^epsilon / (1 + e^epsilon): its epsilon is exact."""
    truth = 1 / (1 + math.exp(-epsilon))
    return ({"answer": (rng.random(runs) < p).astype(float)} for p in (truth, 1 - truth))


def test_a_true_epsilon_is_rarely_exceeded_and_nearly_reached(rng):
    """Of 600 audits with error 0.2 at most 0.2 + 3 Monte Carlo errors exceed it; their median is close below."""
    epsilon, repeats, error = 1.0, 600, 0.2
    found = np.array(
        [
            max(f.epsilon_lower for f in measure(*randomised_response(rng, epsilon, 4000), error))
            for _ in range(repeats)
        ]
    )
    exceeded = (found > epsilon).mean()
    assert exceeded <= error + 3 * math.sqrt(error * (1 - error) / repeats)
    assert exceeded > 0.005  # a bound that never errs is not sharp
    assert 0.85 < np.median(found) < 1.0


def test_the_runs_that_choose_an_event_do_not_count_it(rng):
    first, second = {"x": rng.normal(size=601)}, {"x": rng.normal(0.3, 1, 500)}
    for found in measure(first, second, 0.05):
        both = [first["x"], second["x"]]
        chosen = choose("x", both[0][:301], both[1][:250], 0.05 / 2, 0.0, found.likelier_on_first)
        assert found.event == chosen
        late = [both[0][301:], both[1][250:]]
        order = late if found.likelier_on_first else late[::-1]
        inside = [(v >= chosen.threshold) if chosen.above else (v <= chosen.threshold) for v in order]
        assert found.counts == tuple(int(v.sum()) for v in inside)
        assert found.runs == tuple(len(v) for v in order)
        limits = [stats.binomtest(c, n).proportion_ci(1 - 0.05 / 2, "exact")
                  for c, n in zip(found.counts, found.runs, strict=True)]  # fmt: skip
        assert found.epsilon_lower == pytest.approx(max(0.0, math.log(limits[0].low / limits[1].high)))


def test_two_equal_tables_rarely_look_different(rng):
    """In at most the error asked for, here 0.2, and 3 Monte Carlo errors."""
    repeats, error = 100, 0.2
    alarms = 0
    for _ in range(repeats):
        first, second = ({"a": rng.normal(size=600), "b": rng.normal(size=600)} for _ in range(2))
        alarms += any(f.epsilon_lower > 0 for f in measure(first, second, error))
    assert alarms / repeats <= error + 3 * math.sqrt(error * (1 - error) / repeats)


def test_delta_is_taken_off_the_likelier_probability():
    """A mechanism that reveals the record with probability 0.02 keeps (0, 0.02), and no pure epsilon."""
    rng = np.random.default_rng(5)
    first = {"x": np.where(rng.random(20_000) < 0.02, 9.0, rng.normal(size=20_000))}
    second = {"x": rng.normal(size=20_000)}
    assert max(f.epsilon_lower for f in measure(first, second, 0.05)) > 2
    assert max(f.epsilon_lower for f in measure(first, second, 0.05, delta=0.03)) == 0.0
