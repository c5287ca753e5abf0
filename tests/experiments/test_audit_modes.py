"""The audit of a table with two modes, in which a refusal by the convergence check is an outcome as any other.

The neighbour is the record whose presence moves the balance of the modes most: one of those that only the narrow mode
leaves clamped. Outcomes: refused; released from the narrow mode; released from the wide one.
"""

import numpy as np
import pytest
from scipy import stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.system.cache import MemoryCache
from tests.analysis.test_modes import APART, two_modes

RUNS, CONFIDENCE = 120, 0.95
FAR = 299  # a record at -8, where the narrow mode has none of its terms
OUTCOMES = ("refused", "narrow", "wide")


def outcome(table, epsilon, weight, seed):
    settings = make_settings(
        outcome="v", predictors=("x",), model="lognormal", epsilon=epsilon, anchor="values",
        anchor_values={"beta": (0.0, 0.0), "sigma": 8.0}, chains=4, draws=500, warmup=500, anchor_weight=weight,
    )  # fmt: skip
    analysis = Analysis(table, settings, MemoryCache(), entropy=10**9 + seed)
    result = analysis.run("anchored")
    if result.problems:
        return "refused"
    return "narrow" if np.median(analysis.refit(result).draws["sigma"]) < APART else "wide"


def lower_bound(counts, other):
    """Of epsilon, by Clopper and Pearson at a level shared by all events and both directions."""
    level = (1 - CONFIDENCE) / (2 * 2 * len(counts))
    bounds = [0.0]
    for here, there in ((counts, other), (other, counts)):
        for k, m in zip(here, there, strict=True):
            low = stats.beta.ppf(level, k, RUNS - k + 1) if k else 0.0
            high = stats.beta.isf(level, m + 1, RUNS - m) if m < RUNS else 1.0
            bounds.append(np.log(low / high) if low > 0 else 0.0)
    return max(bounds)


def audited(epsilon, weight):
    """Counts of the outcomes on the table and on the one with another value of one record, and the bound."""
    table = two_modes()
    frame = table.frame.copy()
    frame.loc[FAR, "v"] = float(
        np.exp(8.0)
    )  # replaced: from where the narrow mode clamps to where it does not
    found = []
    for place, each in enumerate((table, Table("neighbour", frame))):
        seen = [outcome(each, epsilon, weight, RUNS * place + seed) for seed in range(RUNS)]
        found.append([seen.count(kind) for kind in OUTCOMES])
    return *found, lower_bound(*found)


@pytest.mark.long
@pytest.mark.stan
@pytest.mark.parametrize(("epsilon", "weight"), [(1.4, 0.155), (2.0, 0.3)])
def test_outcomes_with_refusals_tell_no_more_than_the_claim(epsilon, weight):
    here, there, bound = audited(epsilon, weight)
    print(
        f"ε {epsilon}: {dict(zip(OUTCOMES, here, strict=True))}, {dict(zip(OUTCOMES, there, strict=True))}, {bound:.2f}"
    )
    assert bound <= 2 * epsilon  # of a value replaced


def test_the_bound_is_that_of_two_binomials():
    assert lower_bound([120, 0, 0], [0, 120, 0]) == pytest.approx(3.0, abs=0.3)
    assert lower_bound([60, 30, 30], [55, 33, 32]) == 0.0
