"""Noisy counts as an anchor: the law of the noise, what one record changes, and what the fit reads beside them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from synth_core.analysis import anchored as anchored_of
from synth_core.analysis import counts as counting
from synth_core.analysis.analysis import Analysis
from synth_core.analysis.counts import (
    NoisyCounts,
    counting_model,
    greatest_share,
    laplace,
    levels,
    noisy_margins,
    shares_given,
    trend_columns,
    within_brackets,
)
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models.base import GUESS_STEPS

N, CATEGORIES = 600, ("a", "b", "c")
EDGES = (0.0, 0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0)
NUMBERS = {
    "bracketed": {"outcome": "pay", "model": "bracketed", "bracket_edges": EDGES},
    "two_part": {"outcome": "pay", "model": "two_part", "bracket_edges": EDGES},
    "mixture": {
        "outcome": "pay",
        "model": "mixture",
        "components": 2,
        "zero_part": True,
        "transformation": "asinh",
        "asinh_scale": 5.0,
        "bracket_edges": EDGES,
        "anchor_weight": 0.05,
    },
}
QUICK = {"chains": 2, "draws": 600, "warmup": 400, "anchor": "counts", "seed": 4, "drawing": "even"}
SOME = [pytest.param(model, marks=pytest.mark.long) if model == "mixture" else model for model in NUMBERS]


def people(seed=1, n=N):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["f", "m"], n), rng.integers(18, 90, n)
    code = np.minimum((rng.random(n) < 0.3 + 0.4 * (sex == "f")).astype(int) + (age > 60), 2)
    pay = np.where(rng.random(n) < 0.2, 0.0, np.clip(rng.lognormal(2.5 + 0.3 * code, 0.6, n), 0.5, 99.0))
    return pd.DataFrame({"sex": sex, "age": age, "status": np.array(CATEGORIES)[code], "pay": pay.round(2)})


def analysis_of(frame, cache, **more):
    settings = make_settings(
        **{
            "outcome": "status",
            "predictors": ("sex", "age"),
            "model": "categorical",
            "categories": CATEGORIES,
        }
        | QUICK
        | {"epsilon": 2.0}
        | more
    )
    return Analysis(Table("people", frame), settings, cache)


def test_noise_is_discrete_laplace_and_hides_one_record():
    """The mass of k is (1 - a) / (1 + a) a^|k|, a = exp(-epsilon): neighbours differ by exp(epsilon) at most."""
    epsilon, n = 0.4, 200_000
    drawn = laplace((n,), epsilon, np.random.default_rng(2))
    a = np.exp(-epsilon)
    k = np.arange(-60, 61)
    mass = (1 - a) / (1 + a) * a ** np.abs(k)
    assert np.abs(np.diff(np.log(mass))).max() <= epsilon * (1 + 1e-9)
    near = np.abs(k) <= 15
    seen = np.array([(drawn == value).sum() for value in k[near]])
    expected = n * mass[near]
    rest = n - seen.sum(), n - expected.sum()
    assert stats.chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 1e-4
    assert drawn.std() == pytest.approx(np.sqrt(2 * a) / (1 - a), rel=5 * 2 / np.sqrt(n))


def test_withholding_a_value_changes_one_count_of_each_table_by_one(cache, monkeypatch):
    monkeypatch.setattr(counting, "laplace", lambda shape, epsilon, rng: np.zeros(shape))
    frame = people()
    without = frame.copy()
    without.loc[17, "status"] = None
    found, other = (
        noisy_margins(analysis_of(each, cache).fits, 1.0, np.random.default_rng(0))
        for each in (frame, without)
    )
    assert [table.shape for table in found.tables] == [(2, 3), (10, 3)]
    for one, less in zip(found.tables, other.tables, strict=True):
        difference = one - less
        assert np.abs(difference).sum() == 1 == difference[difference != 0][0]
    assert found.total == N


def test_a_missing_predictor_has_no_level(cache):
    frame = people().astype({"sex": "string"})
    frame.loc[[3, 5], "sex"] = None
    (codes, n), _ = levels(analysis_of(frame, cache).fits)
    assert n == 2 and np.array_equal(codes, (frame["sex"].dropna() == "m").astype(int))


@pytest.mark.parametrize(("model", "own", "law"), [
    ("lognormal", {}, stats.lognorm(0.5, scale=12.0)),
    ("mixture", {"components": 2}, stats.lognorm(0.5, scale=12.0)),
    ("two_part", {}, stats.lognorm(0.5, scale=12.0)),
    ("beta", {"bounds": (0.0, 30.0)}, stats.beta(0.4 * 863, 0.6 * 863, scale=30.0)),
])  # fmt: skip
def test_edges_of_a_guess_lie_at_its_deviations(cache, model, own, law):
    """And zeros with a probability of their own have a bracket."""
    frame = people()
    frame["pay"] = frame["pay"].clip(0.0 if model == "two_part" else 0.01, 29.0)
    fits = analysis_of(frame, cache, outcome="pay", model=model, categories=(), guess=(12.0, 0.5), **own).fits
    edges = counting.counting_model(fits).edges
    if model == "two_part":
        assert (edges[:2] == 0).all()
        edges = edges[2:]
    np.testing.assert_allclose(special.ndtri(law.cdf(edges)), GUESS_STEPS, atol=1e-6)


def test_edges_of_a_guess_are_those_of_any_table(cache):
    """They come from the guess alone, and a value beyond them counts in the last bracket instead of being refused."""
    own = {"outcome": "pay", "model": "two_part", "categories": (), "guess": (12.0, 0.5)}
    frame = people()
    far = frame.assign(pay=frame["pay"] * 1e6)
    one, other = (counting.counting_model(analysis_of(each, cache, **own).fits) for each in (frame, far))
    np.testing.assert_array_equal(one.edges, other.edges)
    assert set(other.code) == {0, other.n_categories - 1}


@pytest.mark.slow
@pytest.mark.stan
def test_a_guess_is_enough_for_counts_of_an_amount(cache):
    """Near the table at epsilon 1, in any unit."""
    found = []
    for unit in (1.0, 1000.0):
        frame = people(n=3000).assign(pay=lambda d, unit=unit: d["pay"] * unit)
        own = {"outcome": "pay", "model": "two_part", "categories": (), "guess": (12.0 * unit, 0.8)}
        short = {"epsilon": 1.0, "chains": 1, "draws": 300, "warmup": 300}  # of which one draw is used
        result = analysis_of(frame, cache, **own | short).run("anchored")
        found.append(result)
        assert result.guarantee.label == "ε-DP"
        assert "brackets of pay that a guess makes" in result.anchor
        # The curve of unweighted synthesis is within 0.03 of this table.
        assert stats.ks_2samp(result.synthetic[0], frame["pay"]).statistic < 0.06
    np.testing.assert_allclose(found[1].synthetic, 1000 * found[0].synthetic, rtol=1e-6)
    assert found[0].tuned == found[1].tuned


def test_epsilon_is_divided_among_the_tables(cache, monkeypatch):
    asked = []
    monkeypatch.setattr(
        counting, "laplace", lambda shape, epsilon, rng: asked.append(epsilon) or np.zeros(shape)
    )
    noisy_margins(analysis_of(people(), cache).fits, 0.9, np.random.default_rng(0))
    assert asked == [0.45, 0.45]


@pytest.mark.parametrize("n_tables", range(1, 9))
def test_counts_and_fit_together_are_eps_squared_over_8_zcdp(n_tables):
    share, epsilon = greatest_share(n_tables), 1.7
    tables = n_tables * (share * epsilon / n_tables) ** 2 / 2
    fit = ((1 - share) * epsilon) ** 2 / 8
    assert tables + fit <= epsilon**2 / 8 * (1 + 1e-12)
    for less in np.linspace(0.01, share, 20):
        assert n_tables * (less * epsilon / n_tables) ** 2 / 2 + (
            (1 - less) * epsilon
        ) ** 2 / 8 <= epsilon**2 / 8 * (1 + 1e-12)


@pytest.mark.parametrize("own", [{}, {"model": "ordered"}, NUMBERS["bracketed"]])
def test_shares_keep_the_margins_that_were_counted(cache, monkeypatch, own):
    """With hardly any noise and prior: the moments of a log-linear model are the counts themselves."""
    monkeypatch.setattr(counting, "laplace", lambda shape, epsilon, rng: np.zeros(shape))
    monkeypatch.setattr(counting, "SLOPE_SCALE", 50.0)
    monkeypatch.setattr(counting, "LEVEL_SCALE", 50.0)
    fits = analysis_of(people(), cache, **own).fits
    counts = replace(noisy_margins(fits, 1.0, np.random.default_rng(0)), deviation=0.0)
    shares = shares_given(counts, fits, counting.counting_model(fits).order_scores)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    for (codes, n), table in zip(levels(fits), counts.tables, strict=True):
        kept = np.stack([shares[codes == level].sum(axis=0) for level in range(n)])
        np.testing.assert_allclose(kept, table, atol=0.3)


def test_much_noise_leaves_what_is_known_of_all():
    """The prior holds what the noise does not tell: at a deviation of 1e6 records all categories are alike."""
    told = NoisyCounts((np.array([[500.0, 0.0], [0.0, 400.0]]),), 1e6)

    class Source:
        settings = make_settings(outcome="x", model="categorical", categories=("a", "b"), predictors=("p",))
        selection = type("S", (), {"complete": np.ones(4, dtype=bool)})
        table = Table("t", pd.DataFrame({"p": ["u", "v", "u", "v"]}))
        model = None

    assert np.ptp(shares_given(told, Source(), np.zeros(2)), axis=0).max() < 0.01
    near = shares_given(replace(told, deviation=1.0), Source(), np.zeros(2))
    assert near[0, 0] > 0.9 and near[1, 1] > 0.9


SLOPE = 0.3


def simulated_slopes(cache, epsilon, n_tables):
    """Slopes on a number in tables that are simulated from noisy counts, and in the confidential ones."""
    found, own_slopes = [], []
    for seed in range(n_tables):
        rng = np.random.default_rng([5, seed])
        z = rng.normal(size=1000)
        pay = np.exp(3 + SLOPE * z + 0.7 * rng.normal(size=1000))
        own = {
            "outcome": "pay",
            "predictors": ("age",),
            "model": "lognormal",
            "categories": (),
            "guess": (20.0, 0.8),
        }
        own |= {"epsilon": epsilon, "seed": seed + 1}
        anchored = analysis_of(pd.DataFrame({"pay": pay, "age": z}), cache, **own).anchored
        found.append(np.polyfit(z, np.log(anchored.prior_outcome), 1)[0])
        own_slopes.append(np.polyfit(z, np.log(pay), 1)[0])
    return np.array(found), np.array(own_slopes)


@pytest.mark.slow
def test_noise_of_counts_does_not_flatten_slopes(cache):
    """At epsilon 1 they were too flat by five standard errors of the confidential slope: terms by level are shrunk.

    The prior of a trend leaves a mean within 1.5 of them, beside the Monte Carlo error: 0.054 in all, and 0.11 was off.
    """
    slopes, _ = simulated_slopes(cache, 1.0, 8)
    error = 0.7 / np.sqrt(1000)
    apart = slopes.mean() - SLOPE
    assert abs(apart) < 1.5 * error + 3 * slopes.std() / np.sqrt(8)


@pytest.mark.parametrize("apart", ["missing", "zero"])
def test_a_trend_by_an_earlier_number_is_of_those_who_have_one(apart, cache):
    """Three of ten have none, and grades as of high pay: taken for the lowest pay of all they turned the trend about.

    The top quarter of those with pay was expected 0.8 grades lower than it is, and the bottom one as much higher.
    """
    rng = np.random.default_rng(1)
    none, level = rng.random(2000) < 0.3, rng.normal(size=2000)
    pay = np.where(none, np.nan if apart == "missing" else 0.0, np.exp(10 + 0.8 * level).round())
    place = 2.5 + 1.2 * np.where(none, 1.5, level) + 0.8 * rng.normal(size=2000)
    grade = np.clip(np.round(place), 0, 5).astype(int)
    own = Block("pay", "lognormal", {"unit": 1e3, "guess": (2e4, 0.8)}, missing=())
    if apart == "zero":
        own = Block("pay", "two_part", {"unit": 1e3, "guess": (2e4, 0.8)})
    blocks = (own, Block("grade", "ordered", {"categories": tuple("012345")}))
    frame = pd.DataFrame({"age": rng.integers(20, 70, 2000), "pay": pay, "grade": grade.astype(str)})
    whole = RecordsAnalysis(Table("t", frame), blocks, {"predictors": ("age",), "epsilon": 1.0}, cache)
    fits = whole.analyses(False)[-1].fits
    column = trend_columns(fits)[:, -1]
    assert (column[none] == 0).all() and abs(column[~none].mean()) < 1e-9
    assert column[~none].std() == pytest.approx(1.0, abs=0.01)
    low, high = np.quantile(pay[~none], [0.25, 0.75])
    groups, off = (none, ~none & (pay > high), ~none & (pay < low)), []
    for seed in range(4):
        counts = noisy_margins(fits, 0.2, np.random.default_rng(seed))
        told = shares_given(counts, fits, counting_model(fits).order_scores) @ np.arange(6)
        off.append([told[rows].mean() - grade[rows].mean() for rows in groups])
    assert np.abs(np.mean(off, axis=0)).max() < 0.3


def test_brackets_do_not_flatten_slopes(cache):
    """Without noise what is left is the cut of both variables: values within brackets follow the trend too.

    Beside the slopes of the same tables, from which those of a draw have a deviation of 0.005.
    """
    slopes, own = simulated_slopes(cache, 200.0, 4)
    assert abs((slopes - own).mean()) < 0.04 * SLOPE + 3 * 0.005 / np.sqrt(4)


def test_values_within_a_bracket_follow_the_slope_of_its_neighbours():
    """Of an exponential law cut at declared edges: exactly that law in every bracket, by a Kolmogorov-Smirnov test."""
    edges, rate, n = np.array([-4.0, -3.0, -2.0, -1.0, 0.0]), 1.3, 20_000
    shares = np.diff(np.exp(rate * edges)) / np.ptp(np.exp(rate * edges[[0, -1]]))
    rng = np.random.default_rng(3)
    codes = rng.choice(4, n, p=shares)
    inside = within_brackets(edges, np.tile(shares, (n, 1)), codes, rng.random(n))
    law = stats.truncexpon(rate, scale=1 / rate)  # from the upper end of each bracket down
    assert stats.kstest(1 - inside, law.cdf).pvalue > 1e-3


def test_draws_are_as_even_as_their_shares():
    shares = np.repeat([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]], [50, 70], axis=0)[
        np.random.default_rng(0).permutation(120)
    ]
    codes = counting.spread_draws(shares, np.random.default_rng(1))
    for kind in ([0.2, 0.5, 0.3], [0.9, 0.1, 0.0]):
        mine = (shares == kind).all(axis=1)
        seen = np.bincount(codes[mine], minlength=3)
        assert np.abs(seen - mine.sum() * np.array(kind)).max() <= 1


def test_levels_of_an_earlier_number_are_declared_and_zero_is_one_of_them():
    pay = EarlierVariable("pay", scale=10.0, missing=True)
    codes, n = counting.earlier_codes(pay, np.array([-3.0, 0.0, 1.0, 1e12, np.nan]))
    assert codes.tolist() == [0, 1, 2, n - 2, n - 1]
    assert n == 15


@pytest.mark.stan
@pytest.mark.parametrize("model", ["categorical", *SOME])
def test_the_fit_reads_the_table_through_noisy_counts_and_clamped_terms_alone(cache, monkeypatch, model):
    """With the counts held, a table that differs in a record's value gives the same anchor, prior, c and bound."""
    own = NUMBERS.get(model, {})
    held = noisy_margins(analysis_of(people(), cache, **own).fits, 1.0, np.random.default_rng(9))
    monkeypatch.setattr(anchored_of, "noisy_margins", lambda fits, epsilon, rng: held)
    changed = people()
    changed.loc[3, "status"] = "c" if changed.loc[3, "status"] == "a" else "a"
    changed.loc[3, "pay"] = 97.5
    one, other = (analysis_of(frame, cache, **own).anchored for frame in (people(), changed))
    for name in ("weight", "prior_records", "bound", "n_read"):
        assert getattr(one, name) == getattr(other, name)
    assert np.array_equal(one.prior_outcome, other.prior_outcome)
    assert np.array_equal(one.part, other.part)
    assert all(np.array_equal(one.anchor.draws[k], other.anchor.draws[k]) for k in one.anchor.draws)
    assert np.flatnonzero(one.log_lik != other.log_lik).tolist() == [3]


@pytest.mark.stan
@pytest.mark.parametrize("model", ["categorical", "ordered", *SOME])
def test_a_fit_around_counts_keeps_its_promise_and_the_shares(cache, model):
    own = NUMBERS.get(model, {"model": model})
    analysis = analysis_of(people(), cache, **own)
    result = analysis.run("anchored")
    share = min(0.8, greatest_share(2))
    assert result.guarantee.strict and result.epsilon_promised == 2.0
    assert result.lipschitz_bound <= (1 - share) + 1e-9  # half of what is left of epsilon
    assert f"They cost {100 * share:.0f} % of ε" in result.anchor
    assert result.tuned["fit_epsilon"] == pytest.approx(2 * (1 - share))
    assert result.ecdf_max < 0.1
    assert ("noisy counts of brackets of pay" in result.anchor) == (model in ("two_part", "mixture"))
    again = analysis_of(people(), cache, **own).run("anchored")
    assert np.array_equal(result.synthetic, again.synthetic)


@pytest.mark.stan
def test_whole_records_keep_a_pair_that_a_pilot_loses(cache):
    """Two variables that are nearly the same: at epsilon 1 each the pair survives around counts."""
    rng = np.random.default_rng(8)
    first = rng.choice(["x", "y", "z"], N)
    second = np.where(rng.random(N) < 0.05, rng.choice(["x", "y", "z"], N), first)
    blocks = tuple(
        Block(name, "categorical", {"categories": ("x", "y", "z")}) for name in ("first", "second")
    )
    frame = pd.DataFrame({"first": first, "second": second})
    kept = {}
    for anchor in ("pilot", "counts"):
        common = QUICK | {"predictors": (), "epsilon": 2.0, "anchor": anchor}
        made = RecordsAnalysis(Table("pairs", frame), blocks, common, cache).run("anchored").synthetic[0]
        kept[anchor] = float((made["first"] == made["second"]).mean())
    truth = float((first == second).mean())
    # Noise of a count has a deviation of 3.5 records here, and six of nine cells are nearly empty: 21 of 600 records.
    assert abs(kept["counts"] - truth) < 0.12
    assert kept["counts"] > kept["pilot"] + 0.04


@pytest.mark.parametrize(("own", "words"), [
    ({"model": "two_part"}, "noisy counts of an amount are of brackets.*or a guess that makes them"),
    ({"model": "two_part", "bracket_edges": (0.0, 5.0, 20.0)}, "values lie outside the declared edges"),
    ({"model": "two_part", "bracket_edges": (-50.0, 0.0, 0.0, 100.0)}, "does not take every value between"),
    ({"model": "poisson", "outcome": "age", "predictors": (), "bracket_edges": EDGES}, "or of brackets of amounts"),
])  # fmt: skip
def test_what_cannot_be_counted_is_refused_in_words(cache, own, words):
    with pytest.raises(InputError, match=words):
        analysis_of(people(), cache, **{"outcome": "pay"} | own).run("anchored")


def test_softmax_of_no_predictor_is_the_noisy_shares(cache):
    fits = analysis_of(people(), cache, predictors=()).fits
    counts = noisy_margins(fits, 5.0, np.random.default_rng(3))
    shares = shares_given(counts, fits, np.zeros(3))[0]
    noisy = counts.tables[0][0]
    np.testing.assert_allclose(shares, noisy / noisy.sum(), atol=0.01)
    assert special.entr(shares).sum() > 0.5
