"""The model check against simulation, and on models that are wrong."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.model_check import (
    BINS,
    DRAWS_USED,
    Curve,
    FitCheck,
    ModelCheck,
    check_model,
    residual_positions,
    run_check,
    run_sensitivity,
)
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.figures.check import check_figures
from synth_core.models import build_model
from tests.conftest import records_of

N, S = 900, 150
NO_CURVE = Curve([], [], [], [], [])


def posterior(**draws) -> Posterior:
    return Posterior(draws, Diagnostics(1.0, 1000.0, 1000.0, 0, 2, S), 0.0)


@pytest.fixture
def case(rng):
    """Lognormal data, and draws close to the truth."""
    z = np.column_stack([np.ones(N), np.repeat([-1.0, 0.0, 1.0], N // 3)])
    x = np.exp(z @ [1.0, 0.5] + 0.7 * rng.standard_normal(N))
    draws = posterior(beta=rng.normal([1.0, 0.5], 0.02, (S, 2)), sigma=rng.normal(0.7, 0.01, S))
    return build_model("lognormal", records_of(x, z)), draws, np.repeat([0, 1, 2], N // 3)


def test_shares_and_distribution_agree_with_simulated_data(case, rng):
    model, draws, group = case
    found = check_model(model, draws, group, ("a", "b", "c"))
    simulated = np.concatenate([
        model.predict({k: v[s] for k, v in draws.draws.items()}, rng) for s in range(S)
    ])  # fmt: skip
    share = np.mean(simulated[:, None] <= np.array(found.distribution.at), axis=0)
    # A subsample of 400 records' predictors stands for all: its error is the larger one.
    np.testing.assert_allclose(found.distribution.predicted, share, atol=4 * 0.3 / np.sqrt(400))
    assert sum(found.shares.predicted) == pytest.approx(1.0)
    assert sum(found.shares.observed) == pytest.approx(1.0)
    lasts = [last for _, last in found.bins]
    counts = np.histogram(model.records.outcome, [-np.inf, *np.nextafter(lasts, np.inf)])[0] / N
    np.testing.assert_allclose(found.shares.observed, counts, atol=1.5 / N)
    assert all(a <= p <= b for a, p, b in zip(found.shares.lower, found.shares.predicted, found.shares.upper,
                                              strict=True))  # fmt: skip


def test_residuals_are_uniform_for_the_right_model_and_not_for_a_wrong_one(case, rng):
    model, draws, group = case
    position = residual_positions(model, draws.thinned(DRAWS_USED), np.arange(N), rng)
    assert stats.kstest(position, "uniform").pvalue > 1e-4
    wrong = posterior(beta=draws.draws["beta"] * [1.0, 0.0], sigma=draws.draws["sigma"])
    found = check_model(model, wrong, group, ("a", "b", "c"))
    narrow = posterior(beta=draws.draws["beta"], sigma=draws.draws["sigma"] / 2)
    low, high = found.residual_limits
    assert sum(not low <= s <= high for s in check_model(model, narrow, group, ("a", "b", "c")).residuals) > 8
    means = [g.mean for g in found.groups]
    assert means[0] < -5 * found.groups[0].error and means[2] > 5 * found.groups[2].error
    one = check_model(model, draws, group, ("a", "b", "c"), level=2)
    assert one.n_records == N // 3


@pytest.mark.parametrize("name", ["poisson", "two_part"])
def test_values_with_a_probability_of_their_own_have_uniform_residuals(name, rng):
    if name == "poisson":
        model = build_model("poisson", records_of(rng.poisson(3.0, N)))
        draws = posterior(beta=np.full((S, 1), np.log(3.0)))
    else:
        x = np.where(rng.random(N) < 0.3, 0.0, rng.lognormal(1.0, 0.5, N))
        model = build_model("two_part", records_of(x))
        draws = posterior(
            beta=np.full((S, 1), 1.0), sigma=np.full(S, 0.5), gamma=np.full((S, 1), np.log(0.3 / 0.7))
        )
    position = residual_positions(model, draws.thinned(DRAWS_USED), np.arange(N), rng)
    assert stats.kstest(position, "uniform").pvalue > 1e-4
    found = check_model(model, draws, np.zeros(N, dtype=int), ("all",))
    np.testing.assert_allclose(found.shares.observed, found.shares.predicted, atol=5 * 0.5 / np.sqrt(N))


def test_a_bar_of_a_count_is_of_one_value_and_that_of_zeros_of_zeros_alone(rng):
    """The bar at 0 was of 0 and 1, and zeros of earnings stood with the lowest of them."""
    counts = rng.poisson(1.0, N)
    model = build_model("poisson", records_of(counts))
    found = check_model(model, posterior(beta=np.zeros((S, 1))), np.zeros(N, dtype=int), ("all",))
    values, met = np.unique(counts, return_counts=True)
    assert found.bins == [(v, v) for v in values]
    np.testing.assert_allclose(found.shares.observed, met / N)
    np.testing.assert_allclose(found.shares.predicted[:-1], stats.poisson(1.0).pmf(values[:-1]), atol=1e-12)
    [bars] = [f for f in check_figures(found, "jobs", None) if f["key"] == "shares"]
    assert bars["table"]["columns"][0] == "Value" and bars["table"]["rows"][1][0] == "1"
    zeros = rng.random(N) < 0.31
    x = np.where(zeros, 0.0, rng.lognormal(6.0, 1.0, N).round(2))
    draws = posterior(beta=np.full((S, 1), 6.0), sigma=np.ones(S), gamma=np.full((S, 1), np.log(0.31 / 0.69)))
    found = check_model(build_model("two_part", records_of(x)), draws, np.zeros(N, dtype=int), ("all",))
    assert found.bins[0] == (0.0, 0.0) and found.shares.observed[0] == pytest.approx(zeros.mean())
    assert found.shares.predicted[0] == pytest.approx(0.31)
    assert sum(found.shares.observed) == pytest.approx(1.0)
    assert max(found.shares.observed[1:]) < 2 / BINS


def test_the_difference_of_distribution_functions_is_that_just_below_a_heap_too(rng):
    """Data said 2.4 points and Compare 7.1 of the same fit: whole hours, 40 of them the commonest."""
    x = np.where(rng.random(N) < 0.3, 40.0, rng.lognormal(np.log(40), 0.3, N).round())
    draws = posterior(beta=np.full((S, 1), np.log(x).mean()), sigma=np.full(S, np.log(x).std()))
    found = check_model(build_model("lognormal", records_of(x)), draws, np.zeros(N, dtype=int), ("all",))
    law, at = stats.norm(np.log(x).mean(), np.log(x).std()), np.unique(x)
    observed = np.searchsorted(np.sort(x), at, side="right") / N
    below = np.searchsorted(np.sort(x), at, side="left") / N
    most = max(np.abs(law.cdf(np.log(at)) - observed).max(), np.abs(law.cdf(np.log(at)) - below).max())
    assert found.difference == pytest.approx(most, abs=1e-6)
    assert most > 0.1


def test_figures_carry_tables_and_words(case, monkeypatch):
    model, draws, group = case
    check = check_model(model, draws, group, ("<b>a</b>", "b", "c"))
    figures = check_figures(check, "<i>x</i>", "<u>g</u>")
    assert [f["key"] for f in figures] == ["shares", "distribution", "residuals", "groups"]
    for f in figures:
        assert f["table"]["rows"] and f["alt"] and f["reading"]
        assert "<i>" not in str(f["layout"]) and "<b>" not in str(f["traces"]) + str(f["layout"])
    assert len(check_figures(check, "x", None)) == 3
    assert "400 are looked at" in figures[3]["reading"]  # its records are counted whole beside
    monkeypatch.setattr(type(check), "difference", 0.30112)
    off = check_figures(check, "x", None)[1]
    assert "the largest difference is 30.2 points" in off["reading"]  # as in the verdict: not less than it is


def test_run_on_a_table_with_categories(cache):
    frame = pd.DataFrame({"x": np.random.default_rng(1).lognormal(size=200), "g": ["a", "b"] * 100,
                          "many": np.arange(200.0)})  # fmt: skip
    frame.loc[3, "g"] = None
    table = Table("t", frame, False)
    settings = make_settings(outcome="x", model="lognormal", chains=1, draws=200, warmup=200)
    analysis = Analysis(table, settings, cache)
    found = run_check(analysis, "g", "b")
    assert found.check.n_records == 99 and found.categories == ["a", "b", "missing"]
    assert [g.n_records for g in found.check.groups] == [100, 99, 1]
    assert len(run_check(analysis, "many", None).categories) == 4
    rows = run_sensitivity(analysis, "weighted", (0.01, 1.0))
    assert rows[1].numbers.epsilon == analysis.run("weighted").epsilon
    assert rows[0].numbers.epsilon != rows[1].numbers.epsilon  # a prior this tight moves the fit
    table = Table("t", frame.assign(g=[f"v{i}" for i in range(200)]), False)
    with pytest.raises(InputError, match="200 categories"):
        run_check(Analysis(table, settings, cache), "g", None)


def test_a_model_of_categories_is_checked_category_by_category():
    """Two categories were one bar of 100 %, between codes; one that nobody has was not there."""
    outcome = np.repeat([0.0, 0.0, 1.0], N // 3)
    model = build_model("categorical", records_of(outcome), categories=("no", "<b>yes</b>", "never"))
    draws = posterior(beta=np.zeros((S, 3)))  # all categories alike
    check = check_model(model, draws, np.zeros(N, dtype=int), ("all",))
    np.testing.assert_allclose(check.shares.observed, [2 / 3, 1 / 3, 0.0])
    np.testing.assert_allclose(check.shares.predicted, [1 / 3] * 3)
    np.testing.assert_allclose(check.distribution.predicted, [1 / 3, 2 / 3, 1.0])
    shares, residuals = check_figures(check, "work", None)
    assert [row[0] for row in shares["table"]["rows"]] == ["no", "<b>yes</b>", "never"]
    assert shares["layout"]["xaxis"]["ticktext"][::2] == ["no", "never"] and "<b>" not in str(
        shares["traces"]
    )
    assert (shares["table"]["columns"][0], residuals["key"]) == ("Category", "residuals")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 0, 3, 1)])
def test_categories_in_no_order_are_judged_alike_in_any_order(order, rng):
    """Distribution functions of codes said 10 points of a misfit of 20 where neighbours make up for each other."""
    true, said = np.array([0.4, 0.2, 0.3, 0.1])[list(order)], np.array([0.3, 0.3, 0.2, 0.2])[list(order)]
    outcome = np.repeat(np.arange(4.0), np.round(N * true).astype(int))
    names = tuple(np.array(["a", "b", "c", "d"])[list(order)])
    draws = posterior(beta=np.tile(np.log(said), (S, 1)))
    model = build_model("categorical", records_of(outcome), categories=names)
    check = check_model(model, draws, np.zeros(N, dtype=int), ("all",))
    assert check.difference == pytest.approx(0.2) and check.no_order
    fitted = FitCheck(check, [], Diagnostics(1.0, 1000.0, 1000.0, 0, 2, S), "")
    assert "20.0 percentage points of the records" in fitted.verdict("categorical").words
    assert "distribution function is" not in fitted.verdict("categorical").words
    assert sum(check.residuals[12:]) == pytest.approx(0.4, abs=1e-9)  # c and d, the least likely, have 0.4
    figures = check_figures(check, "work", "all")
    assert "the likeliest first" in figures[1]["layout"]["xaxis"]["title"]["text"]
    assert "too low" not in figures[2]["reading"]


def test_residuals_of_categories_in_no_order_are_even_where_the_model_is_true(rng):
    z = np.column_stack([np.ones(N), np.repeat([-1.0, 0.0, 1.0], N // 3)])
    beta = np.array([[0.0, 0.0], [0.5, 1.0], [-0.5, -1.0], [0.2, 0.4]])
    shares = np.exp(z @ beta.T) / np.exp(z @ beta.T).sum(axis=1, keepdims=True)
    outcome = (shares.cumsum(axis=1) < rng.random((N, 1))).sum(axis=1).astype(float)
    model = build_model("categorical", records_of(outcome, z), categories=("a", "b", "c", "d"))
    draws = posterior(beta=np.tile(beta.ravel(), (S, 1)))
    position = residual_positions(model, draws.thinned(DRAWS_USED), np.arange(N), rng)
    assert stats.kstest(position, "uniform").pvalue > 1e-3
    alike = build_model("categorical", records_of(np.tile([0.0, 1, 2, 3], N // 4)), categories=tuple("abcd"))
    even = residual_positions(alike, {"beta": np.zeros((S, 4))}, np.arange(N), rng)
    assert stats.kstest(even, "uniform").pvalue > 1e-3  # as likely ones stand one after another
    check = check_model(model, draws, np.zeros(N, dtype=int), ("all",))
    np.testing.assert_allclose(check.shares.predicted, shares.mean(axis=0))
    np.testing.assert_allclose(check.distribution.predicted, shares.mean(axis=0).cumsum())
    sampled = rng.multinomial(N, shares.mean(axis=0), 4_000) / N
    by_chance = np.quantile(np.abs(sampled - shares.mean(axis=0)).sum(axis=1) / 2, 0.95)
    assert check.chance == pytest.approx(by_chance, rel=0.05)


def test_the_records_that_are_looked_at_stand_for_all(rng):
    """400 of 9,000 at random had other predictors: a true model was said to be up to 3.3 points off."""
    n = 9_000
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    model = build_model("lognormal", records_of(np.exp(z @ [1.0, 0.9] + 0.5 * rng.normal(size=n)), z))
    draws = posterior(beta=np.tile([1.0, 0.9], (S, 1)), sigma=np.full(S, 0.5))
    check = check_model(model, draws, np.zeros(n, dtype=int), ("all",))
    at = np.log(check.distribution.at)[:, None]
    all_records = stats.norm.cdf((at - z @ [1.0, 0.9]) / 0.5).mean(axis=1)
    np.testing.assert_allclose(check.distribution.predicted, all_records, atol=0.004)


def test_a_spread_given_the_predictors_that_is_wrong_is_no_fit_whatever_the_values_of_all_together():
    """The residuals tell what the distribution function of all records cannot; of 4,000 positions, counted exactly."""
    rng = np.random.default_rng(4)
    values = rng.normal(0, np.repeat([0.3, 3.0], 2000))
    both = (stats.norm.cdf(values, scale=0.3) + stats.norm.cdf(values, scale=3.0)) / 2
    narrow = stats.norm.cdf(values, scale=0.3)
    for positions, level in ((both, "fits"), (narrow, "misfit")):
        shares = np.histogram(positions, np.linspace(0, 1, 21))[0] / len(positions)
        check = ModelCheck(4000, [], NO_CURVE, NO_CURVE, shares.tolist(), (0.0, 1.0), [], [], False, 0.02)
        fitted = FitCheck(check, [], Diagnostics(1.0, 1000.0, 1000.0, 0, 2, S), "")
        assert check.difference == 0.0 and fitted.verdict("lognormal").level == level
        assert "that of its residuals is up to" in fitted.verdict("lognormal").words
    ends = np.linspace(0.05, 1, 20)
    exact = np.abs(np.searchsorted(np.sort(narrow), ends) / 4000 - ends).max()
    assert check.residual_difference == pytest.approx(exact, abs=1e-9)
