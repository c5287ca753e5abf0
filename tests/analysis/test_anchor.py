"""Anchored censoring: against closed forms, an exact grid, and tables that try to break it."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import read_anchor_values
from synth_core.analysis.anchored import SHARE_WARNED, Anchored
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table, open_table
from synth_core.engine.sampling import Sampler, sample
from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.models import Model, build_model
from synth_core.models.two_part import TwoPart
from tests.conftest import records_of, shared_file

GRID = np.linspace(-4.0, 4.0, 801)  # of a normal mean, sd 1; a promise holds on any grid
QUICK = {"chains": 2, "draws": 400, "warmup": 300}


def log_posterior(x, anchor_mean, epsilon, weight=1.0):
    """The anchored pseudo posterior of a normal mean on a grid, by the definition and exactly."""
    log_lik = stats.norm.logpdf(x[None, :], GRID[:, None], 1.0)
    at = Censoring(epsilon / 2, stats.norm.logpdf(x, anchor_mean, 1.0))
    total = weighted_terms(log_lik, np.full(len(x), weight), at).sum(axis=1) + stats.norm.logpdf(GRID, 0, 2)
    return total - special.logsumexp(total)


def worst(x, j, epsilon, anchor):
    """Largest log ratio and its range over theta when record j's value is withheld; `anchor` reads a table."""
    there = log_posterior(np.delete(x, j), anchor(np.delete(x, j)), epsilon)
    difference = log_posterior(x, anchor(x), epsilon) - there
    return np.abs(difference).max(), np.ptp(difference)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("n", [3, 30, 300, 3000])
def test_no_record_exceeds_epsilon_and_the_range_stays_bounded(n, epsilon):
    rng = np.random.default_rng([7, n])
    x = np.append(rng.normal(0.3, 1.0, n - 2), [9.0, -30.0])  # extreme records last
    for j in (0, n - 2, n - 1):
        ratio, spread = worst(x, j, epsilon, lambda table: 0.2)
        assert ratio <= epsilon + 1e-9
        assert spread <= epsilon + 1e-9


def test_an_anchor_that_reads_the_table_breaks_the_promise():
    """The mutant: the table's own mean as the anchor. The exact ratio exceeds epsilon, at small n already."""
    x = np.append(np.random.default_rng(3).normal(0.0, 1.0, 19), 12.0)
    assert worst(x, 19, 1.0, lambda table: 0.0)[0] <= 1.0
    assert worst(x, 19, 1.0, np.mean)[0] > 1.5


def two_stages(x, chosen, rest, epsilon):
    """log density of (the pilot's draw, the released draw) on two grids, exactly; both fits at full epsilon."""
    coarse = slice(None, None, 10)  # of the grid: values of the pilot's draw
    pilot = log_posterior(x[chosen], 0.5, epsilon)[coarse]
    pilot = pilot - special.logsumexp(pilot)
    released = np.stack([log_posterior(x[rest], anchor, epsilon) for anchor in GRID[coarse]])
    return pilot[:, None] + released


def test_a_pilot_and_the_rest_cost_the_larger_epsilon_and_a_record_in_both_would_cost_more():
    """Both draws seen by the intruder; the worst records, in either part."""
    epsilon, x = 1.0, np.append(np.random.default_rng(5).normal(0.0, 1.0, 38), [7.0, -20.0])
    part = np.arange(40) % 4 == 2  # holds the first of the two extremes
    for j in (38, 39, 0, 2):
        chosen, rest = np.flatnonzero(part), np.flatnonzero(~part)
        here = two_stages(x, chosen, rest, epsilon)
        there = two_stages(x, chosen[chosen != j], rest[rest != j], epsilon)
        assert np.abs(here - there).max() <= epsilon + 1e-9
    everyone = np.arange(40)  # the mutant: all records in both, at full epsilon
    here = two_stages(x, everyone, everyone, epsilon)
    there = two_stages(x, everyone[:-1], everyone[:-1], epsilon)
    assert np.abs(here - there).max() > 1.2 * epsilon


def test_without_clamping_the_anchor_changes_nothing():
    x = np.random.default_rng(1).normal(0.5, 1.0, 40)
    np.testing.assert_allclose(log_posterior(x, 0.9, 1e9, 0.3), log_posterior(x, -2.0, 1e9, 0.3), atol=1e-9)


@pytest.mark.stan
def test_the_prior_from_an_anchor_is_the_conjugate_one():
    """Poisson without predictors: Gamma(1, 0.001) and n simulated counts of weight w give a Gamma posterior."""
    n, weight, simulated = 50, 0.1, np.random.default_rng(2).poisson(20.0, 50).astype(float)
    model = build_model("poisson", records_of(np.full(n, 3.0)))
    censoring = Censoring(0.5, np.zeros(n), simulated, weight)
    data = model.stan_data(np.zeros(n), censoring)  # no record of the table enters
    fit = sample(model.executable(), data, ("beta",), Sampler(2, 2000, 500, 1))
    mean = np.exp(fit.draws["beta"][:, 0])
    expected = stats.gamma(1.0 + weight * simulated.sum(), scale=1.0 / (1e-3 + weight * n))
    error = expected.std() / np.sqrt(fit.diagnostics.ess_bulk)
    assert abs(mean.mean() - expected.mean()) < 4 * error
    assert mean.std() == pytest.approx(expected.std(), rel=0.1)


@pytest.mark.parametrize("p", [0.001, 0.1, 0.9])
def test_to_give_up_the_records_of_one_answer_pays_only_beyond_half_of_epsilon(p):
    """Expected clamped terms of zeros and of others at every probability of a zero, anchored at the true p."""
    bound, logit = 0.5, np.linspace(-40, 40, 4001)

    def expected(c):
        zero = np.clip(c * (special.log_expit(logit) - np.log(p)), -bound, bound)
        other = np.clip(c * (special.log_expit(-logit) - np.log1p(-p)), -bound, bound)
        return p * zero + (1 - p) * other

    assert expected(bound).max() <= 1e-12
    assert expected(3 * bound).max() > 0.1 * bound * min(p, 1 - p)  # the second mode


@pytest.mark.stan
def test_rare_zeros_do_not_set_the_weight_of_all(cache, monkeypatch):
    frame = income(
        seed=3
    )  # of four seeds c was 1.1, 1.9, 5.3 and 1.6 times as large; the last bits of chains differ by machine
    frame.loc[::50, "x"] = 0.0
    values = {"beta": (3.4, 0.2), "sigma": 0.7, "gamma": (-4.5, 1.5)}
    given = {"model": "two_part", "anchor": "values", "anchor_values": values, "epsilon": 1.0}
    weight = lognormal(cache, frame, **given).anchored.weight
    monkeypatch.setattr(TwoPart, "has_density", Model.has_density)
    assert 2 * lognormal(cache, frame, **given).anchored.weight < weight <= 0.5


def income(n=600, seed=1, unit=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.0, n)
    return pd.DataFrame({"z": z, "x": unit * rng.lognormal(3.5 + 0.3 * z, 0.6)})


def lognormal(cache, frame, **more):
    given = {"outcome": "x", "predictors": ("z",), "model": "lognormal", "guess": (40.0, 0.8), "epsilon": 2.0}
    return Analysis(Table("incomes", frame, False), make_settings(**given | QUICK | more), cache)


@pytest.mark.stan
def test_terms_are_clamped_by_definition_and_the_pilot_is_another_part(kept):
    analysis = lognormal(kept, income())
    result, anchored = analysis.run("anchored"), analysis.anchored
    assert result.epsilon == 2.0 and result.epsilon_replace == 4.0
    assert result.guarantee.label == "ε-DP" and result.guarantee.strict
    assert (~anchored.part).sum() == 150 == result.tuned["pilot_records"]
    np.testing.assert_array_equal(result.weights, np.where(anchored.part, result.tuned["c"], 0.0))
    posterior = analysis.refit(result)
    terms = result.weights * (analysis.model.log_lik(posterior.draws, slice(None)) - anchored.log_lik)
    assert result.lipschitz_bound <= 1.0
    assert result.n_censored == (np.abs(terms) > 1.0).any(axis=0).sum()
    np.testing.assert_allclose(result.lipschitz_bounds, np.abs(np.clip(terms, -1, 1)).max(axis=0))
    assert result.n_censored <= 3 * SHARE_WARNED * 600
    assert "pilot on 150 of the 600 records" in result.anchor


@pytest.mark.stan
def test_nothing_of_the_records_decides_who_is_in_the_pilot_nor_the_weight(kept):
    frame = income()
    other = frame.assign(x=frame["x"].sample(frac=1.0, random_state=4).to_numpy())
    here, there = (lognormal(kept, each).anchored for each in (frame, other))
    np.testing.assert_array_equal(here.part, there.part)
    # Given an anchor, c and the prior are the same whatever the outcome.
    fixed = {"anchor": "values", "anchor_values": {"beta": (3.4, 0.2), "sigma": 0.7}}
    here, there = (lognormal(kept, each, **fixed).anchored for each in (frame, other))
    assert here.weight == there.weight
    np.testing.assert_array_equal(here.prior_outcome, there.prior_outcome)
    # The released part reads the pilot's part through its draw only.
    held = {**fixed, "anchor_weight": 0.2}
    moved = frame.assign(x=np.where(here.part, frame["x"], 2 * frame["x"]))
    weights = [lognormal(kept, each, **held).run("anchored").weights for each in (frame, moved)]
    np.testing.assert_array_equal(*weights)


@pytest.mark.stan
@pytest.mark.parametrize("seed", [1, 2])
def test_dollars_and_thousands_give_the_same(kept, seed):
    here = lognormal(kept, income(seed=seed), seed=seed)
    there = lognormal(kept, income(seed=seed, unit=1000.0), guess=(40_000.0, 0.8), seed=seed)
    first, second = (each.run("anchored") for each in (here, there))
    assert first.tuned == pytest.approx(second.tuned, rel=1e-9)
    np.testing.assert_allclose(second.synthetic, 1000 * first.synthetic, rtol=1e-6)
    assert first.n_censored == second.n_censored


@pytest.mark.slow
@pytest.mark.stan
def test_two_halves_of_epsilon_where_all_are_in_both(kept):
    analysis = lognormal(kept, income(), pilot_share=1.0, epsilon=4.0)
    result, anchored = analysis.run("anchored"), analysis.anchored
    assert anchored.bound == 1.0 and anchored.part.all()
    assert result.lipschitz_bound <= 1.0 and result.epsilon == 4.0
    assert "half of ε" in result.anchor


@pytest.mark.stan
def test_an_earlier_table_covers_its_people_only_if_it_is_public(kept):
    settings = make_settings(outcome="x", predictors=("z",), model="lognormal", anchor="last.csv", **QUICK)
    table = Table("now", income(), False)
    for confidential in (True, False):
        last = Table("last.csv", income(seed=2), confidential)
        found = Analysis(table, settings, kept, anchor=last).run("anchored")
        assert ("not covered" in found.anchor) == confidential
    again = (
        income().sample(frac=1.0, random_state=1).assign(more=1.0)
    )  # in another order, with another column
    with pytest.raises(InputError, match="the table itself"):
        Analysis(table, settings, kept, anchor=Table("again", again, False))


@pytest.mark.stan
@pytest.mark.parametrize(
    ("named", "confidential", "said"),
    [
        ("release:last.csv", True, "charged is declared, and no ledger was asked"),
        ("public:last.csv", True, "declared to be public: if it is not, the people in it are not covered"),
        ("example:last", False, ""),
        ("series", False, "They were paid for when they were released."),
    ],
)
def test_what_is_only_declared_of_an_anchor_is_not_said_to_be_so(kept, named, confidential, said):
    settings = make_settings(outcome="x", predictors=("z",), model="lognormal", anchor=named, **QUICK)
    last = Table("last.csv", income(seed=2), confidential)
    found = Analysis(Table("now", income(), False), settings, kept, anchor=last).anchored.anchor
    assert said in found.after and bool(said) == bool(found.after)


@pytest.mark.stan
@pytest.mark.parametrize("name", ["beta", "poisson", "negative_binomial_mixture"])
def test_other_families_take_a_guess(kept, name):
    table = load_example(name, 400, 1)
    guess = {"beta": (0.2, 0.2), "poisson": (80.0, 10.0), "negative_binomial_mixture": (80.0, 30.0)}[name]
    family = {"beta": "beta", "poisson": "poisson"}.get(name, "negative_binomial")
    bounds = {"bounds": (0.0, 1.0)} if name == "beta" else {}
    settings = make_settings(outcome="x", model=family, guess=guess, epsilon=3.0, **bounds, **QUICK)
    result = Analysis(table, settings, kept).run("anchored")
    assert result.lipschitz_bound <= 1.5
    assert result.ecdf_max < 0.2


def test_what_is_missing_is_said_in_words(kept):
    with pytest.raises(InputError, match="A pilot starts from a guess"):
        lognormal(kept, income(), guess=None).run("anchored")
    with pytest.raises(InputError, match="A spread of 12,000 is too wide for Lognormal regression"):
        lognormal(kept, income(), guess=(40.0, 12000.0)).run("anchored")
    with pytest.raises(InputError, match="lack sigma"):
        lognormal(kept, income(), anchor="values", anchor_values={"beta": (3.0, 0.0)}).run("anchored")
    for beta, sigma in (((3.0,), 0.5), ((3.0, 0.0, 1.0), 0.5), (4.0, 0.5), ((3.0, 0.0), (0.5, 0.6))):
        with pytest.raises(InputError, match="no parameters of Lognormal regression for these 2 columns"):
            given = {"anchor": "values", "anchor_values": {"beta": beta, "sigma": sigma}}
            lognormal(kept, income(), **given).run("anchored")
    with pytest.raises(InputError, match="reference table, and there is none"):
        lognormal(kept, income(), anchor="reference").run("anchored")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{}}",
        '{"beta": [NaN]}',
        '{"sigma": 1e999}',
        '{"beta": "x"}',
        "[1]",
        '{"beta": {"a": 1}}',
    ],
)
def test_a_file_of_values_is_read_or_refused_in_words(tmp_path, text):
    path = tmp_path / "values.json"
    path.write_text('{"beta": [3.5, 0], "sigma": 0.8}')
    assert read_anchor_values(path) == {"beta": (3.5, 0.0), "sigma": 0.8}
    path.write_text(text)
    with pytest.raises(InputError, match="not a JSON object of numbers"):
        read_anchor_values(path)


@pytest.mark.stan
def test_a_table_that_is_too_small_is_refused_before_the_fit(kept):
    with pytest.raises(InputError, match=r"too little to learn from.*About \d+(\.\d)? times as much ε"):
        lognormal(kept, income(19), epsilon=0.5).run("anchored")


@pytest.mark.parametrize("told", [20.0, 60.0, 500.0])
def test_what_a_draw_around_counts_is_worth_by_simulation(told):
    """A normal mean of variance 1: the counts say it to 1 / W, J records to 1 / J, and the posterior is drawn from."""
    rng, own, prior, n = np.random.default_rng(11), 40.0, 700.0, 200_000
    centre, mean = rng.normal(0, told**-0.5, n), rng.normal(0, own**-0.5, n)
    draws = (prior * centre + own * mean) / (prior + own) + rng.normal(0, (prior + own) ** -0.5, n)
    found = Anchored(
        None, np.zeros(80), *2 * [np.ones(80, bool)], 0.5, None, prior, 0.1, 80, counts_worth=told
    )
    assert 1 / found.worth == pytest.approx(draws.var(), rel=5 * np.sqrt(2 / n))


@pytest.mark.stan
@pytest.mark.parametrize(
    "how", [{}, {"pilot_share": 0.0}, {"anchor": "counts", "bracket_edges": (0.0, 3e3, 3e4, 1e6)}]
)
def test_fatigue_has_too_few_rows_for_any_anchor(kept, how):
    """22 specimens of the papers' fatigue data at epsilon 1: a sentence and never a result of the guess alone."""
    table = open_table(str(shared_file("fatigue.csv")))
    given = {
        "outcome": "cycle",
        "predictors": ("stress",),
        "model": "lognormal",
        "guess": (1e4, 1.0),
        "epsilon": 1.0,
    }
    analysis = Analysis(table, make_settings(**given | QUICK | how), kept)
    with pytest.raises(InputError, match="there is too little to learn from"):
        analysis.run("anchored")
