"""Inverse tuning against a naive fine grid, the definitions, and the paper's scalings."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import FOR_CHECKS, draws_anew, run_point
from synth_core.experiments.explore.search import Trial, smallest
from synth_core.experiments.explore.sweep import Sweep
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer, read_spec
from synth_core.experiments.explore.tuning import NEAR, _interval, _rounded_down, tune, variants_for
from synth_core.experiments.explore.wording import (
    band_text,
    best_answers,
    promise_text,
    reached_text,
    sure_text,
    verdict,
)
from synth_core.experiments.proportions import clustered_interval
from synth_core.mechanisms.catalogue import find_mechanism
from tests.summary_numbers import map_point
from tests.support.marks import slow_but

pytestmark = pytest.mark.stan


def beta(cache, rows=300, **more):
    asked = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), **more)
    return Analysis(load_example("beta", rows), asked, cache)


def naive_share(analysis, scale, within, n=400):
    """Share of synthetic data sets within a largest ECDF difference, by the definitions alone."""
    under = analysis.with_settings(scale=scale)
    result = under.run("weighted")
    posterior, _ = under.fits.posterior(result.weights)
    rng = np.random.default_rng(99)
    outcome = np.sort(analysis.model.records.outcome)
    met = 0
    for _ in range(n):
        s = rng.integers(posterior.n_draws)
        synthetic = np.sort(rng.beta(posterior.draws["a"][s], posterior.draws["b"][s], len(outcome)))
        merged = np.concatenate([outcome, synthetic])
        gap = np.searchsorted(outcome, merged, "right") - np.searchsorted(synthetic, merged, "right")
        met += np.abs(gap).max() / len(outcome) <= within
    return met / n


@pytest.mark.long
def test_least_epsilon_against_a_naive_fine_grid(cache):
    analysis = beta(cache)
    target = Target("ecdf_max", 0.15, 0.9)
    answer = tune(analysis, "weighted", target)
    assert answer.share >= 0.9
    assert answer.interval[0] < answer.share < answer.interval[1]
    assert answer.n == 400
    grid = [float(f"{c:.4g}") for c in np.geomspace(0.6, 1.6, 12)]
    shares = [naive_share(analysis, c, target.at_most) for c in grid]
    # A share of 400 is known to 4 standard errors, and the sampler moves it from fit to fit.
    slack = 4 * math.sqrt(0.9 * 0.1 / 400)
    found = answer.point.knobs["scale"]
    assert naive_share(analysis, found, target.at_most) > 0.9 - slack
    clearly = [c for c, share in zip(grid, shares, strict=True) if share > 0.9 + slack]
    barely = [c for c, share in zip(grid, shares, strict=True) if share > 0.9 - slack]
    assert barely[0] * 0.93 <= found <= clearly[0] * 1.04
    low, high = answer.epsilon_seeds
    assert low <= answer.point.epsilon <= high
    assert "fresh data sets" in sure_text(answer)
    again = tune(analysis, "weighted", target)  # one seed, one answer
    assert replace(again.point, cached=False) == replace(answer.point, cached=False)
    assert (again.share, again.epsilon_seeds, again.below) == (
        answer.share,
        answer.epsilon_seeds,
        answer.below,
    )


@pytest.mark.slow
def test_a_given_epsilon_by_the_definitions(kept):
    """EM: 2 max |alpha l| at the answer is the epsilon asked for; strict mechanisms take it as it is."""
    analysis = beta(kept)
    for name in ("exponential", "weighted_e"):
        answer = tune(analysis, name, EpsilonTarget(3.0))
        under = analysis.with_settings(**answer.point.knobs)
        weights = under.run(name).weights
        posterior, _ = under.fits.posterior(weights)
        terms = weights * under.model.log_lik(posterior.draws, slice(0, 300))
        assert 2.7 <= 2 * np.abs(terms).max() <= 3.0  # never more than was asked for
        assert answer.point.epsilon == pytest.approx(2 * np.abs(terms).max())
        assert answer.epsilon_seeds[0] <= answer.point.epsilon <= answer.epsilon_seeds[1]
    strict = tune(analysis, "censored", EpsilonTarget(3.0))
    assert strict.point.epsilon == 3.0
    assert strict.point.guarantee == "censored"
    assert strict.epsilon_seeds is None
    nothing = tune(analysis, "unweighted", EpsilonTarget(3.0))
    assert nothing.point is None
    assert "no setting" in nothing.why
    assert "cannot reach" in tune(analysis, "count_weighted", EpsilonTarget(30.0)).why
    too_much = tune(analysis, "weighted", EpsilonTarget(200.0))
    assert "cannot reach" in too_much.why


@pytest.mark.slow
def test_shifts_are_tried_beside_the_scale_and_the_best_is_taken(kept):
    analysis = beta(kept)
    sweeps = [Sweep("shift", 0.0, 0.2, 2), Sweep("scale", 0.5, 1.0, 9), Sweep("radius", 0.1, 0.2, 2)]
    variants = variants_for("weighted", analysis.settings, sweeps)
    assert [v["shift"] for v in variants] == [0.0, 0.2]  # the scale is solved for, the radius not its own
    answers = [tune(analysis, "weighted", EpsilonTarget(4.0), (v,)) for v in variants]
    best = tune(analysis, "weighted", EpsilonTarget(4.0), variants)
    errors = [a.point.bands["ecdf_max"][1] for a in answers if a.point is not None]
    assert best.point.bands["ecdf_max"][1] == min(errors)
    assert best.refits >= sum(a.refits for a in answers)


@pytest.mark.parametrize("asked", slow_but([1.7], [4.0, 1.7]))
@pytest.mark.parametrize(
    "name", slow_but(["weighted"], ["weighted", "exponential", "weighted_e", "weighted_final"])
)
def test_an_epsilon_is_never_exceeded_and_nearly_used(kept, asked, name):
    """ε = 4 was answered with 4.02 once: within the tolerance, and more than was allowed."""
    answer = tune(beta(kept), name, EpsilonTarget(asked))
    # Δ is the largest of a few hundred draws: it moves by some percent from fit to fit, and between processors.
    assert NEAR * asked <= answer.point.epsilon <= asked
    words = verdict([answer], EpsilonTarget(asked))
    assert words.startswith(f"Best accuracy at ε of at most {asked:g}: ε = ")
    error = answer.point.bands["ecdf_max"][1]
    assert reached_text(answer, EpsilonTarget(asked)).startswith(
        f"Error reached: largest difference of the distribution functions {100 * error:.3g} points in the middle"
    )


@pytest.mark.parametrize("x", [3.99996, 0.123456, 99.9999, 1e-3, 4.0])
def test_rounding_down_goes_down(x):
    assert x * (1 - 1e-3) <= _rounded_down(x) <= x


@pytest.mark.slow
def test_one_epsilon_for_several(kept):
    analysis = beta(kept, scale=0.8)
    wanted = analysis.run("weighted").epsilon
    target = EpsilonTarget(None, "ecdf_max", "weighted")
    answers = [tune(analysis, m, target) for m in ("weighted", "exponential", "censored")]
    assert answers[0].point.knobs["scale"] == 0.8
    for answer in answers:
        assert answer.wanted == wanted
        assert 0.99 * wanted <= answer.point.epsilon <= wanted
    best = best_answers(answers, target)
    assert len(best) == 2  # one for each guarantee: neither beats the other
    assert "ε taken from these data" in verdict(answers, target)  # no ε-DP: another table has another ε
    assert "asymptotic DP" in verdict(answers, target)


def test_what_came_closest_is_judged_on_fresh_data_sets():
    """At best 93 % was said where 92 % were asked: of the data sets of the search, which flatter their own choice."""
    found = smallest(
        [1.0, 2.0],
        0.92,
        lambda x: Trial(x, x, 93 if x == 2 else 50, 100),
        lambda x: Trial(x, x, 367, 400),
        lambda x: round(x, 3),
    )
    assert found.trial is None and found.best.share < 0.92


@pytest.mark.slow
def test_it_says_when_no_setting_reaches_the_target(kept):
    analysis = beta(kept)
    target = Target("ecdf_max", 0.0001, 0.9)
    answers = [tune(analysis, m, target) for m in ("weighted", "unweighted", "histogram")]
    assert all(a.point is None for a in answers)
    assert all("No setting reaches it" in a.why for a in answers)
    assert "no setting of the chosen mechanisms reaches it" in verdict(answers, target)
    easy = tune(analysis, "unweighted", Target("ecdf_max", 0.5, 0.9))
    assert easy.point is not None
    # What promises nothing reaches it, and stands in the table of all answers: the verdict does not deny that.
    assert "no setting that promises something of the chosen mechanisms reaches it" in verdict([easy], target)
    assert best_answers([easy], target) == []  # no guarantee is no answer


def test_epsilon_targets_are_checked():
    for bad in ({"epsilon": math.nan}, {"epsilon": 0.0}, {"epsilon": math.inf}, {}, {"like": "nonsense"},
                {"epsilon": 1.0, "like": "weighted"}):  # fmt: skip
        with pytest.raises(InputError):
            EpsilonTarget(**bad)
    assert read_spec({"epsilon": 2.0, "measure": "q90", "like": None}) == EpsilonTarget(2.0, "q90")
    assert isinstance(read_spec({"measure": "q90", "at_most": 0.1, "share": 0.5}), Target)


@pytest.mark.long
def test_scalings_of_range_4_2(kept):
    """0.73 (Weighted) and 0.88 ((0.4, 1.8) truncated) bring both to the epsilon of (0.6, 1.2) truncated."""
    found = []
    for seed in range(1, 8):
        asked = make_settings(outcome="x", predictors=("z",), model="lognormal", range=(0.6, 1.2))
        narrow = Analysis(load_example("lognormal", 2000, seed), asked, kept)
        wanted = narrow.run("range_truncated").epsilon
        target = EpsilonTarget(wanted)
        whole = tune(narrow, "weighted", target)
        wide = tune(narrow.with_settings(range=(0.4, 1.8)), "range_truncated", target)
        found.append([whole.point.knobs["scale"], wide.point.knobs["scale"]])
    whole, wide = np.median(found, axis=0)
    error = 1.25 * np.std(found, axis=0, ddof=1) / math.sqrt(len(found))
    print(np.array(found), whole, wide, error)
    assert abs(whole - 0.73) < 0.02 + 4 * error[0]
    assert abs(wide - 0.88) < 0.02 + 4 * error[1]


def test_what_missed_below_is_told_by_its_setting():
    """An ε that is measured may be larger below the answer: "next smaller (ε = 0.93)" beside a smallest ε of 0.92."""
    point = map_point(epsilon=0.92, knobs={"scale": 0.3})
    answer = TuningAnswer(
        "weighted",
        point,
        0.91,
        (0.88, 0.93),
        400,
        epsilon_seeds=(0.9, 0.95),
        below=(0.93, 0.85),
        below_at=0.29,
    )
    words = sure_text(answer)
    assert (
        "with c = 0.29, the next smaller tried, ε is 0.93 and no less, since ε is measured, and only 85.0 % do"
        in words
    )
    below = sure_text(replace(answer, below=(0.89, 0.85)))
    assert "with c = 0.29, the next smaller tried, ε is 0.89, and only 85.0 % do" in below
    strict = replace(answer, mechanism="anchored", below=(0.29, 0.0), epsilon_seeds=None)
    assert "with target ε = 0.29, the next smaller tried, none does" in sure_text(strict)


def test_an_answer_of_a_value_replaced_is_no_answer_of_one_withheld():
    """An ε that was found by looking at data is no guarantee, and still the histogram's is of a value replaced."""
    points = [map_point(name, "data_derived", e) for name, e in (("histogram", 1.0), ("measured", 2.0))]
    answers = [TuningAnswer(each.mechanism, each) for each in points]
    assert best_answers(answers, Target("ecdf_max", 0.1)) == answers
    assert [promise_text(each) for each in points] == [
        "ε taken from these data, one value replaced",
        "ε taken from these data, one value withheld",
    ]
    assert "ε = 1 (ε taken from these data, one value replaced) with Histogram" in verdict(
        answers, Target("ecdf_max", 0.1)
    )


def test_a_band_is_not_told_as_a_limit():
    """Beside "at most 5 % in 90 % of data sets" stood "1 to 5.47 % in 90 % of data sets": a band has two ends."""
    words = band_text(map_point(bands={"q90": (0.01, 0.03, 0.0547)}), "q90")
    assert words == "3 % in the middle; one data set in twenty is above 5.47 %, and one below 1 %"


@pytest.mark.slow
def test_data_sets_of_a_point_are_of_several_fits_where_a_release_draws_noise(kept):
    """A share of data sets of one noise was 99.8 %, and 61 % over noises, of which a release draws another."""
    asked = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=0.5)
    analysis = Analysis(load_example("beta", 200), asked, kept)
    point = run_point(analysis, "measured", 75)
    assert np.unique(point.fit).tolist() == [0, 1, 2] and len(point.errors) == 75 and not point.n_failed
    checked = run_point(analysis, "measured", 75, stream=FOR_CHECKS)
    of_fits = [p.draws("ecdf_max")[p.fit == k].mean() for p in (point, checked) for k in range(3)]
    spread = point.draws("ecdf_max")[point.fit == 0].std() / 5  # of a mean of 25
    assert np.std(of_fits) > 2 * spread  # the noise moves all data sets of a fit alike
    assert len(set(np.round(of_fits, 12))) == 6  # no fit confirms itself
    assert np.unique(run_point(analysis, "weighted", 30).fit).tolist() == [0]


def test_fits_that_failed_count_as_missing_the_target_in_the_interval_too(kept):
    """The interval was of the others alone, and need not have held the share beside it."""
    asked = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=0.5)
    check = run_point(Analysis(load_example("beta", 200), asked, kept), "measured", 75)
    two_failed, target = replace(check, failed=(25, 25)), Target("ecdf_max", 10.0)
    low, high = _interval(two_failed, target, Trial(0.5, 0.5, 75, 125))
    assert two_failed.n_fits == 5 and low < 75 / 125 < high < 1
    assert _interval(check, target, Trial(0.5, 0.5, 75, 75))[1] == 1.0


@pytest.mark.long
def test_a_point_that_cannot_reach_its_target_makes_no_further_fit(cache):
    """Of a mechanism that measures noisy tables a search made all fits of each setting, however far it was off."""
    table = Table("people", pd.DataFrame({"pay": np.random.default_rng(1).lognormal(2, 0.4, 400)}))
    settings = make_settings(outcome="pay", model="lognormal", bounds=(0.0, 100.0))
    analysis, hopeless = Analysis(table, settings, cache), Target("ecdf_max", 1e-6)
    part = run_point(analysis, "measured", target=hopeless)
    assert (part.n_fits, len(part.errors), part.unmeasured) == (1, 25, 75)
    found = Trial(1.0, 1.0, 0, len(part.errors) + part.n_failed)
    assert found.share < hopeless.share
    whole = run_point(analysis, "measured")
    assert (whole.n_fits, len(whole.errors), whole.unmeasured) == (4, 100, 0)
    assert np.array_equal(whole.errors[:25], part.errors)
    # one that is whole serves any target, and one that any target needed in full is whole
    assert np.array_equal(run_point(analysis, "measured", target=hopeless).errors, whole.errors)
    other = analysis.with_settings(seed=3)
    easy = run_point(other, "measured", target=Target("ecdf_max", 0.9))
    assert easy.unmeasured == 0 and run_point(other, "measured").cached


@pytest.mark.parametrize(
    ("name", "changes", "anew"),
    [
        ("measured", {}, True),
        ("measured_laplace", {}, True),
        ("histogram", {}, False),  # its data sets have a noise each
        ("weighted", {}, False),
        ("censored", {}, False),
        ("anchored", {}, True),
        ("anchored", {"anchor": "counts"}, True),
        ("anchored", {"pilot_share": 0.0}, False),
        ("anchored", {"anchor": "series"}, True),
        ("anchored", {"anchor": "series", "pilot_share": 0.0}, False),
    ],
)
def test_what_a_release_draws_before_its_fit(name, changes, anew):
    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), **changes)
    assert draws_anew(find_mechanism(name), settings) is anew


def test_an_interval_of_clustered_trials_holds():
    """16 clusters of 25: of 2,000 intervals 95 % hold the share, where clusters are very much alike 92 or more."""
    rng = np.random.default_rng(5)
    for share, alike, least in ((0.9, 0.3, 0.92), (0.7, 0.1, 0.95), (0.95, 0.0, 0.95)):
        held = 0
        for _ in range(2000):
            own = (
                rng.beta(share * (1 / alike - 1), (1 - share) * (1 / alike - 1), 16)
                if alike
                else np.full(16, share)
            )
            low, high = clustered_interval(rng.binomial(25, own), np.full(16, 25))
            held += low <= share <= high
        assert held / 2000 > least - 3 * math.sqrt(0.95 * 0.05 / 2000), (share, alike, held / 2000)
