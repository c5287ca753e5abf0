"""The map's parts against naive loops and closed forms: frontier, sweep, measures, search, bands."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.measures import at_zeros, measure_label, percentile_of
from synth_core.analysis.result_key import result_key
from synth_core.analysis.settings import make_settings
from synth_core.analysis.utility import statistics
from synth_core.cli.map import _print as print_map
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore.frontier import frontier, frontiers
from synth_core.experiments.explore.knobs import settings_at
from synth_core.experiments.explore.measures import Ruler, Target, read_target
from synth_core.experiments.explore.point import fits_of_point, predictive_count, run_point, runs_of_point
from synth_core.experiments.explore.refine import refined
from synth_core.experiments.explore.search import TOLERANCE, Trial, smallest
from synth_core.experiments.explore.sweep import (
    Sweep,
    duration,
    estimate,
    plan,
    read_sweep,
    seconds_per_point,
    spread_out,
    time_words,
)
from synth_core.experiments.explore.tuning import tune
from synth_core.experiments.explore.wording import at_zeros_of, frontier_points, knobs_text, points_csv
from synth_core.figures.explore import map_figure
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from tests.summary_numbers import map_point


def settings(**more):
    return make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), **more)


# -- the frontier ------------------------------------------------------------------------------


def naive_frontier(epsilon, error):
    n = len(epsilon)
    kept = []
    for i in range(n):
        if not (math.isfinite(epsilon[i]) and math.isfinite(error[i])):
            continue
        beaten = any(
            epsilon[j] <= epsilon[i]
            and error[j] <= error[i]
            and (epsilon[j] < epsilon[i] or error[j] < error[i])
            for j in range(n)
        )
        if not beaten:
            kept.append(i)
    return kept


def test_frontier_against_a_naive_loop(rng):
    for size in (0, 1, 2, 7, 40):
        for _ in range(20):
            epsilon = np.round(rng.uniform(0, 5, size), 1)  # rounded: ties occur
            error = np.round(rng.uniform(0, 1, size), 1)
            error[rng.random(size) < 0.1] = np.nan
            epsilon[rng.random(size) < 0.1] = np.inf
            found = frontier(epsilon, error)
            assert sorted(found.tolist()) == naive_frontier(epsilon, error)
            assert (np.diff(epsilon[found]) >= 0).all()
            assert (np.diff(error[found]) <= 0).all()


def test_a_guarantee_is_beaten_by_its_own_kind_only():
    # The strict points lose on both counts to the local one, and keep a frontier of their own.
    found = frontiers(np.array([1.0, 3.0, 4.0]), np.array([0.1, 0.2, 0.3]), ["local", "strict", "strict"])
    assert {k: v.tolist() for k, v in found.items()} == {"local": [0], "strict": [1]}


# -- sweeps ------------------------------------------------------------------------------------

MECHANISMS = [
    "unweighted",
    "weighted",
    "count_weighted",
    "exponential",
    "censored_weighted",
    "range_truncated",
]
SWEEPS = [Sweep("scale", 0.5, 1.0, 3), Sweep("epsilon", 2, 4, 2), Sweep("radius", 0.1, 0.3, 2),
          Sweep("range_a", 0.2, 1.0, 2), Sweep("range_b", 1.0, 2.0, 2)]  # fmt: skip

ALONE = Sweep("range_b", 1.0, 1.0, 1)  # with a = 1: the value alone


def test_a_sweep_plans_each_point_once():
    planned = plan("table", MECHANISMS, settings(), SWEEPS)
    keys = [result_key("table", p.settings, find_mechanism(p.mechanism)) for p in planned]
    assert len(set(keys)) == len(keys)
    # Naively: the full product of all knobs for every mechanism, then what differs.
    full = set()
    for name in MECHANISMS:
        for c, e, r, a, b in itertools.product(*(s.values for s in SWEEPS)):
            if a < b:
                changes = {"scale": c, "epsilon": e, "range": (a, b)}
                if name == "count_weighted":
                    changes["radius"] = r  # elsewhere it moves the match risk alone, not the point
                full.add(result_key("table", settings_at(settings(), changes), find_mechanism(name)))
    assert set(keys) == full
    assert [p.mechanism for p in planned].count("range_truncated") == 3 * 3  # (1, 1) is no range
    assert planned[0].knobs == {}


def test_ends_come_first_and_nothing_is_lost():
    for n in (0, 1, 2, 5, 30):
        ranks = spread_out(n)
        assert sorted(ranks) == list(range(n))
        if n > 1:
            assert {ranks.index(0), ranks.index(1)} == {0, n - 1}


def test_refining_halves_the_gaps_around_the_frontier():
    sweeps = [Sweep("scale", 0.4, 1.0, 4), Sweep("shift", 0.0, 0.2, 2)]
    points = plan("table", ["weighted", "unweighted"], settings(), sweeps)
    at = {(p.knobs.get("scale"), p.knobs.get("shift")): p for p in points}
    best = [p is at[0.6, 0.0] or p is at[1.0, 0.2] for p in points]
    more = {tuple(p.knobs.values()) for p in refined("table", points, best)}
    assert more == {(0.5, 0.0), (0.7, 0.0), (0.6, 0.1), (0.9, 0.2), (1.0, 0.1)}
    # With the new points known, the gaps are halved once more.
    again = [*points, *refined("table", points, best)]
    nearer = {tuple(p.knobs.values()) for p in refined("table", again, [*best, *[False] * 5])}
    assert nearer == {(0.55, 0.0), (0.65, 0.0), (0.6, 0.05), (0.95, 0.2), (1.0, 0.15)}
    assert refined("table", points, [p.mechanism == "unweighted" for p in points]) == []


def test_a_grid_of_a_million_is_refused_with_its_cost():
    sweeps = [Sweep("scale", 0.1, 2, 100), Sweep("shift", 0, 1, 100), Sweep("epsilon", 1, 20, 100)]
    for ask in (
        lambda: estimate(["censored_weighted"], settings(), sweeps, 2000),
        lambda: plan("t", ["censored_weighted"], settings(), sweeps),
    ):
        with pytest.raises(InputError, match=r"1,000,000 points, about \d+ days"):
            ask()
    total, seconds = estimate(["weighted"], settings(), sweeps[:1], 2000, lanes=2)
    assert total == 100
    assert 10 < seconds < 200


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda: Sweep("scale", 1.0, 0.5, 3), "larger than to"),
        (lambda: Sweep("scale", 0.5, math.inf, 3), "finite"),
        (lambda: Sweep("scale", math.nan, 1.0, 3), "finite"),
        (lambda: Sweep("scale", 0.5, 9.0, 3), "between 0 and 2"),
        (lambda: Sweep("scale", 0.5, 1.0, 0), "no steps"),
        (lambda: Sweep("flavour", 0.5, 1.0, 2), "no setting 'flavour'"),
        (lambda: read_sweep("scale=1:2"), "not understood"),
        (lambda: read_sweep("scale=1:2:3:4"), "not understood"),
        (lambda: read_sweep("scale=1:2:x"), "not understood"),
        (lambda: plan("t", [], settings(), []), "at least one mechanism"),
        (lambda: plan("t", ["weighted"], settings(), SWEEPS[:1] * 2), "twice"),
        (lambda: plan("t", ["range_truncated"], settings(), [Sweep("range_a", 1, 1, 1), ALONE]), "no points"),
        (lambda: plan("t", ["range_truncated"], settings(brackets=((0.0, 1.0),)), SWEEPS), "brackets"),
        (lambda: read_target("q90<=x", 0.9), "not understood"),
        (lambda: read_target("q0<=1", 0.9), "no utility measure"),
        (lambda: read_target("ecdf_max<=0", 0.9), "above 0"),
        (lambda: read_target("ecdf_max<=inf", 0.9), "above 0"),
        (lambda: read_target("ecdf_max<=0.1", 1.0), "between 0 and 1"),
        (lambda: percentile_of("qq"), "no utility measure"),
    ],
)  # fmt: skip
def test_bad_input_is_said_in_words(bad, words):
    with pytest.raises(InputError, match=words):
        bad()


def test_a_data_set_at_the_limit_meets_it():
    """A difference of 8 in 100 is more than 0.08 in floating point, and was counted as missing it."""
    errors = np.array([0.5 - 0.42, 0.08, 0.09, np.nan])
    assert errors[0] > 0.08
    assert Target("ecdf_max", 0.08).met(errors).tolist() == [True, True, False, False]


def test_targets_as_written():
    assert read_target("q97.5 <= 2%", 0.8) == Target("q97.5", 0.02, 0.8)
    assert percentile_of("median") == 50
    assert measure_label("q1") == "Error of the 1st percentile"
    assert measure_label("q12") == "Error of the 12th percentile"
    assert duration(1.4) == "1 s"


# -- measures ----------------------------------------------------------------------------------


def test_measures_against_a_naive_loop(rng):
    confidential, synthetic = rng.normal(3, 1, 60).round(1), rng.normal(3.2, 1.1, 50).round(1)
    ruler = Ruler(confidential, (12.5, 50.0, 90.0))
    found = dict(zip(ruler.names, ruler.measure(synthetic), strict=True))
    merged = np.concatenate([confidential, synthetic])
    gaps = [np.mean(confidential <= v) - np.mean(synthetic <= v) for v in merged]
    assert found["ecdf_max"] == pytest.approx(max(abs(g) for g in gaps))
    assert found["ecdf_avg"] == pytest.approx(np.mean(np.square(gaps)))
    assert found["mean"] == pytest.approx(abs(synthetic.mean() / confidential.mean() - 1))
    for name, p in (("q12.5", 12.5), ("median", 50), ("q90", 90)):
        expected = abs(np.percentile(synthetic, p) / np.percentile(confidential, p) - 1)
        assert found[name] == pytest.approx(expected)
    symmetric = Ruler(np.array([-1.0, 0.0, 1.0]), (50.0,)).measure(np.array([1.0, 2.0, 3.0]))
    assert np.isnan(symmetric[2])  # a relative error of a mean of zero is no number
    assert symmetric[3] == pytest.approx(2 / 3)  # of a median of zero, how many values are at or below it


def test_percentiles_at_the_zeros_are_measured_by_the_share_at_or_below_zero(rng):
    """As on Compare: a search for "15th percentile within 5 %" of an income with zeros could meet nothing before."""
    x = np.where(rng.random(1_000) < 0.14, 0.0, rng.lognormal(10, 1, 1_000))
    y = np.where(rng.random(1_000) < 0.18, 0.0, rng.lognormal(10, 1, 1_000))
    percentiles = tuple(float(p) for p in range(1, 100))
    ruler = Ruler(x, percentiles)
    found = dict(zip(ruler.names, ruler.measure(y), strict=True))
    for each in statistics(x, y[None, :], percentiles, seed=1):
        assert found[each.name] == pytest.approx(abs(each.error))
    # Where such an error is shown as a percentage of a percentile, the words beside it say what it is.
    assert "share at or below 0" in at_zeros("q15") and at_zeros("median") == at_zeros("q15")
    assert at_zeros("mean") == at_zeros("ecdf_max") == at_zeros("ecdf_max of q15") == ""
    assert found["q15"] == found["q5"] == pytest.approx(abs(np.mean(y <= 0) - np.mean(x <= 0)))


def test_one_error_of_several_variables_says_that_points_and_percents_stand_in_it(capsys):
    """The largest was taken over relative errors and differences of shares, and no word was said of it."""
    bands = {name: (0.01, 0.02, 0.03) for name in ("ecdf_max", "q15", "ecdf_max of pay")}
    several = map_point(bands=bands)
    alone = map_point(bands={name: bands[name] for name in ("ecdf_max", "q15")})
    words = "takes a point for as much as a percent"
    assert words in at_zeros_of(several, "q15") and words in map_figure([several], "q15")["reading"]
    assert at_zeros_of(alone, "q15") == at_zeros("q15") and words not in at_zeros("q15")
    assert at_zeros_of(several, "ecdf_max") == ""
    print_map([several], [True], "q15", [], settings(), several=True)
    assert words in capsys.readouterr().out


def test_large_tables_get_fewer_data_sets():
    assert predictive_count(2000) == 100
    assert predictive_count(1_000_000) == 25
    assert predictive_count(400_000) == 50


# -- the search --------------------------------------------------------------------------------


def rounded(x):
    return float(f"{x:.4g}")


GRID = [rounded(x) for x in np.geomspace(0.05, 50, 12)]


def normal_share(x, within=0.3):
    """Pr(|error| <= within) where the error is normal with variance 1 / x."""
    return 2 * stats.norm.cdf(within * math.sqrt(x)) - 1


def test_search_against_a_closed_form():
    """The smallest x with 2 Phi(t sqrt x) - 1 >= level is (Phi^-1((1 + level) / 2) / t)^2."""
    for level in (0.5, 0.9):
        exact = (stats.norm.ppf((1 + level) / 2) / 0.3) ** 2

        def tried(x):
            return Trial(x, x, round(1e6 * normal_share(x)), 10**6)

        found = smallest(GRID, level, tried, tried, rounded)
        assert exact * 0.999 <= found.trial.at <= exact * (1 + TOLERANCE) * 1.001
        assert found.below.at < exact


def test_search_respects_monte_carlo_error():
    """With 100 noisy data sets a setting, the fresh ones keep the answer honest."""
    level, found = 0.9, []
    for seed in range(60):
        rng = np.random.default_rng(seed)

        def noisy(n, rng=rng):
            return lambda x: Trial(x, x, int(rng.binomial(n, normal_share(x))), n)

        trial = smallest(GRID, level, noisy(100), noisy(400), rounded).trial
        found.append(normal_share(trial.at))
    spread = math.sqrt(level * (1 - level) / 400)
    assert min(found) > level - 4 * spread
    assert level - spread < np.mean(found) < level + 2 * spread


def test_search_says_when_nothing_reaches_it_and_finds_windows():
    never = smallest(GRID, 0.9, lambda x: Trial(x, x, 50, 100), lambda x: Trial(x, x, 50, 100), rounded)
    assert never.trial is None
    assert never.best.share == 0.5

    def window(x):  # errors that cross zero: too low, right, too high
        return Trial(x, x, 100 if 2.0 <= x <= 4.0 else 10, 100)

    inside = smallest(GRID, 0.9, window, window, rounded)
    assert 2.0 <= inside.trial.at <= 2.0 * (1 + TOLERANCE) * 1.001
    always = smallest(GRID, 0.9, lambda x: Trial(x, x, 100, 100), lambda x: Trial(x, x, 100, 100), rounded)
    assert always.trial.at == GRID[0]
    assert always.below is None
    # A first setting that only seemed to meet it is not taken; the search climbs on.
    lucky = smallest(
        GRID, 0.9, lambda x: Trial(x, x, 100, 100), lambda x: Trial(x, x, 100 if x > 1 else 0, 100), rounded
    )
    assert 1 < lucky.trial.at < 1.1
    broken = smallest([1.0], 0.9, *[lambda x: Trial(x, x, 100, 100, usable=False)] * 2, rounded)
    assert broken.trial is None


# -- points ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.stan
def test_a_band_costs_no_refit_and_is_the_spread_of_releases(cache, monkeypatch):
    analysis = Analysis(load_example("beta", 200), settings(), cache)
    for name in ("weighted", "censored", "histogram", "range_averaged"):
        analysis.run(name)

    def no_sampling(*args, **more):
        raise AssertionError("a band must not refit")

    monkeypatch.setattr("synth_core.analysis.fits.sample", no_sampling)
    for name in ("weighted", "censored", "histogram", "range_averaged"):
        point = run_point(analysis, name)
        assert point.errors.shape == (100, len(point.names))
        assert run_point(analysis, name).cached
        # Independently: a release of 100 data sets of the same fit, through the ordinary path.
        release = analysis.with_settings(datasets=100).run(name)
        outcome = analysis.model.records.outcome
        naive = [stats.ks_2samp(outcome, each).statistic for each in release.synthetic]
        error = math.hypot(np.std(naive), np.std(point.draws("ecdf_max"))) / 10
        assert abs(np.mean(naive) - np.mean(point.draws("ecdf_max"))) < 4 * error
        assert point.epsilon == release.epsilon
        summary = point.summary()
        low, middle, high = summary.bands["q90"]
        np.testing.assert_allclose([low, middle, high], np.quantile(point.draws("q90"), [0.05, 0.5, 0.95]))


def test_the_figure_tells_guarantees_apart():
    def point(name, guarantee, epsilon, error, **more):
        bands = {"ecdf_max": (error * 0.8, error, error * 1.2), "q90": (math.nan,) * 3}
        return map_point(name, guarantee, epsilon, bands=bands, **more)

    points = [
        point("unweighted", "none", 20.0, 0.01),
        point("weighted", "asymptotic", 5.0, 0.05),
        point("weighted", "asymptotic", 3.0, 0.04),
        point("censored", "censored", 1.0, 0.9, problems=("R-hat is 2",)),
        point("censored", "censored", 6.0, 0.2),
        point("histogram", "histogram", 2.0, 0.15),  # of a value replaced: beats no ε of a value withheld
        point("range_averaged", "averaged", 2.5, 0.5, problems=("R-hat is 2",)),
    ]
    best = {name: [p.epsilon for p in kept] for name, kept in frontier_points(points, "ecdf_max").items()}
    assert best == {"asymptotic DP": [3.0], "ε-DP": [6.0], "ε-DP, one value replaced": [2.0]}
    figure = map_figure(points, "ecdf_max", at_most=0.1, picked="weighted5.0")
    names = [t["name"] for t in figure["traces"]]
    assert names[:3] == ["asymptotic DP: frontier", "ε-DP: frontier", "ε-DP, one value replaced: frontier"]
    symbols = {t["name"]: t["marker"]["symbol"] for t in figure["traces"] if "marker" in t}
    assert symbols == {
        "asymptotic DP: frontier": "circle",
        "ε-DP: frontier": "square",
        "ε-DP, one value replaced: frontier": "square",
        "Unweighted (no guarantee)": ["x"],
        "Weighted": ["circle", "circle"],
        "Censored": ["square", "square-open"],  # the legend has the first, whatever its ε
        "Histogram": ["square"],
        "Range-averaged": ["triangle-up-open"],
    }
    assert all(
        "(asymptotic DP, one value withheld)" in h
        for t in figure["traces"]
        if t["name"].startswith("Weighted")
        for h in t["hovertemplate"]
    )
    assert "one value replaced" in str(figure["traces"])
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert len(figure["table"]["rows"]) == 7
    assert figure["layout"]["yaxis"]["title"]["text"].startswith(
        "Largest difference of distributions (percentage points)"
    )
    assert figure["traces"][-1]["name"] == "target 10 points"  # in the legend: at its line it lay under dots
    assert figure["traces"][-1]["y"] == pytest.approx([10, 10])
    empty = map_figure(points, "q90")
    assert empty["table"]["rows"] == []  # no number, no dot
    assert "data sets" not in empty["reading"]  # and no bar of none of them
    assert knobs_text({"scale": 0.5, "range": (0.4, 1.8)}) == "c = 0.5, range 0.4 to 1.8 × value"
    lines = points_csv(points, ("ecdf_max",)).splitlines()
    assert len(lines) == 8
    assert lines[1].startswith("unweighted,no guarantee,20.0")


def test_no_number_is_said_of_a_fit_whose_time_is_not_known():
    """A fit of brackets that took minutes was said to take about 1 s."""
    assert time_words(["bracketed"], 1.0) == time_words(["lognormal", "ordered"], 1.0) == "seconds or minutes"
    few, many = (
        make_settings(outcome="x", model="bracketed", bracket_edges=tuple(range(n)), predictors=("a", "b"))
        for n in (5, 40)
    )
    unweighted = find_mechanism("unweighted")
    assert seconds_per_point(unweighted, many, 10_000) > 2 * seconds_per_point(unweighted, few, 10_000)


def test_the_cost_of_an_own_program_is_estimated_too():
    own = make_settings(outcome="x", model="own", program="data {}")
    assert seconds_per_point(find_mechanism("weighted"), own, 1000) > 0


def test_limits_cover_the_default_map():
    assert limits.MAX_SWEEP_POINTS >= 100


@pytest.mark.slow
def test_what_a_point_takes_is_of_all_its_data_sets_and_so_is_what_is_expected(cache):
    """The seconds of its fit alone stood there, and a search over noisy tables took 20 times what the page had said."""
    table = Table("people", pd.DataFrame({"pay": np.random.default_rng(1).lognormal(2, 0.4, 400)}))
    analysis = Analysis(table, make_settings(outcome="pay", model="lognormal", bounds=(0.0, 100.0)), cache)
    run = analysis.run("measured")
    point = run_point(analysis, "measured")
    assert point.seconds > 3 * run.seconds
    measured, weighted = find_mechanism("measured"), find_mechanism("weighted")
    assert runs_of_point(measured, analysis.settings) == 1 + 3 * 4 + 10
    assert runs_of_point(weighted, analysis.settings) == 1 == fits_of_point(weighted, analysis.settings)


@pytest.mark.long  # a minute or three for a bar
def test_a_search_tells_how_far_it_is_by_the_settings_that_it_tries(cache):
    """Of noisy tables it counted fits, four a setting, and the bar ended at a fifth."""
    table = Table("people", pd.DataFrame({"pay": np.random.default_rng(1).lognormal(2, 0.4, 400)}))
    told = []
    settings = make_settings(outcome="pay", model="lognormal", bounds=(0.0, 100.0))
    analysis = Analysis(table, settings, cache, progress=lambda text, share: told.append(share))
    tune(analysis, "measured", Target("ecdf_max", 0.05))
    assert told[-1] > 0.5 and max(told) <= 1.0
