"""The weight c leaves no mode in which a rare answer is given up: against the exact posterior on a grid.

One binary answer without predictors, so that its probability is the only parameter. Where c is too large, all of the
exact posterior lies where a tenth of the records is clamped, and chains that start at the anchor never see it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import special

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor_weight import KEPT, largest_that_keeps_answers
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.system.cache import MemoryCache

LOGIT = np.linspace(-20.0, 20.0, 16_001)
LOG_RARE, LOG_OTHER = special.log_expit(LOGIT), special.log_expit(-LOGIT)


def height(shares, anchor, c, bound, prior):
    """Expected log density at every probability of the rare answer, by record; prior: records for each of these."""
    p, a = shares, anchor
    clamped = [np.clip(c * (lp - np.log(q)), -bound, bound) for lp, q in ((LOG_RARE, a), (LOG_OTHER, 1 - a))]
    return p * clamped[0] + (1 - p) * clamped[1] + prior * (a * LOG_RARE + (1 - a) * LOG_OTHER)


@pytest.mark.parametrize("bound", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("prior", [0.0, 0.01, 1.0, 3.0])
def test_up_to_that_weight_nothing_is_gained_by_giving_an_answer_up(bound, prior):
    """Whatever its share; and of a rare one beyond it there is a gain."""
    c = largest_that_keeps_answers(bound, prior)
    for share in (0.001, 0.1, 0.3, 0.5, 0.9):
        at = height(share, share, c, bound, prior)
        assert at.max() <= at[np.abs(LOGIT - special.logit(share)).argmin()] + 1e-6 * share
    lost = height(0.001, 0.001, 1.2 * c, bound, prior)
    assert lost.max() > lost[np.abs(LOGIT - special.logit(0.001)).argmin()] + 1e-5 * bound


def test_an_answer_may_be_e_squared_times_as_rare_as_the_anchor_says():
    c, bound = KEPT * largest_that_keeps_answers(0.5, 0.0), 0.5
    for share, kept in ((0.05 * np.exp(-1.9), True), (0.05 * np.exp(-2.2), False)):
        at = height(share, 0.05, c, bound, 0.0)
        there = special.expit(LOGIT[at.argmax()])
        assert (there == pytest.approx(share, rel=0.05)) == kept


def analysed(n, share, **more):
    x = np.random.default_rng(0).permutation(np.where(np.arange(n) < round(n * share), "yes", "no"))
    asked = make_settings(
        outcome="x", model="categorical", categories=("no", "yes"), chains=2, draws=300, warmup=300, **more
    )
    return Analysis(Table("answers", pd.DataFrame({"x": x})), asked, MemoryCache(), entropy=5)


def exact_mode(analysis):
    """The probability of the rare answer at which the posterior of an anchored fit is highest."""
    anchored, yes = analysis.anchored, analysis.model.records.outcome == 1
    a = [float(np.exp(anchored.log_lik[rows & anchored.part][0])) for rows in (yes, ~yes)]
    c, bound = anchored.weight, anchored.bound
    total = (yes & anchored.part).sum() * np.clip(c * (LOG_RARE - np.log(a[0])), -bound, bound)
    total += (~yes & anchored.part).sum() * np.clip(c * (LOG_OTHER - np.log(a[1])), -bound, bound)
    of_prior = anchored.censoring.prior_outcome
    total += anchored.censoring.prior_weight * (
        (of_prior == 1).sum() * LOG_RARE + (of_prior == 0).sum() * LOG_OTHER
    )
    return float(special.expit(LOGIT[total.argmax()]))


@pytest.mark.stan
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize(
    ("anchor", "share"),
    [("declared", 0.1), ("half as many are there", 0.1), ("counts", 0.1), ("pilot", 0.1), ("pilot", 0.5)],
)
def test_the_exact_posterior_of_an_anchored_answer_is_where_the_records_are(anchor, share, epsilon):
    said = special.logit(share if anchor == "declared" else 2 * share) / 2
    more = (
        {"anchor": anchor}
        if anchor in ("counts", "pilot")
        else {"anchor": "values", "anchor_values": {"beta": (-said, said)}}
    )
    analysis = analysed(5000, share, epsilon=epsilon, **more)
    # The prior's 4 records, the noise of the counts and a pilot's draw move it; giving up would leave less than a half.
    assert exact_mode(analysis) == pytest.approx(share, rel=0.2 if anchor == "counts" else 0.35)


@pytest.mark.slow
@pytest.mark.stan
def test_zeros_that_are_given_up_are_a_mode_that_short_chains_find():
    """The normal part's own search knows nothing of the probability of a zero."""

    def table(zeros, seed):
        rng = np.random.default_rng(seed)
        return Table(
            f"{seed}",
            pd.DataFrame({"x": np.where(rng.random(5000) < zeros, 0.0, rng.lognormal(3, 0.7, 5000))}),
        )

    def fitted(**more):
        asked = make_settings(
            outcome="x",
            model="two_part",
            epsilon=1.0,
            chains=2,
            draws=300,
            warmup=300,
            anchor="before",
            **more,
        )
        analysis = Analysis(table(0.15, 1), asked, MemoryCache(), entropy=3, anchor=table(0.2, 2))
        result = analysis.run("anchored")
        return special.expit(analysis.refit(result).draws["gamma"]).mean(), result

    share, result = fitted(anchor_weight=0.5)
    assert share == pytest.approx(
        0.15, abs=0.02
    )  # all chains agree; nearly all of the posterior has hardly a zero
    assert "another mode, which no chain was in, holds about 100 %" in "; ".join(result.problems)
    share, result = fitted()
    assert share == pytest.approx(0.15, abs=0.03) and result.diagnostics.unseen < 0.01
