"""A likelihood adds itself with one value: the one of docs/develop/extending.md, wherever a likelihood is asked for."""

import math

import numpy as np
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import ENGINES, Synthesis
from synth_core.analysis.result_sentences import explained
from synth_core.analysis.settings import make_settings
from synth_core.analysis.wording.belief_sentences import suspicion
from synth_core.analysis.wording.guarantee_sentences import explain, neighbour_words
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.data.examples import load_example
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import MECHANISMS, compose, find_mechanism, guarantees, require_several
from synth_core.mechanisms.composition import rho_of
from synth_core.mechanisms.guarantees import REPLACED, Guarantee, pure_rho
from synth_core.mechanisms.likelihoods import LIKELIHOODS, Likelihood
from synth_core.mechanisms.standards import STANDARDS
from synth_core.release.plan.planning import Decision, make_plan
from tests.support.toy_likelihood import likelihood_of_the_page

QUICK = {"draws": 200, "warmup": 200, "chains": 1}


@pytest.fixture
def levelled(monkeypatch):
    """The likelihood of the page, registered."""
    names = likelihood_of_the_page()
    monkeypatch.setitem(LIKELIHOODS, "levelled", names["LEVELLED"])
    return names


def test_it_composes_and_says_what_it_promises(levelled):
    point = find_mechanism("count+truncation/levelled")
    assert point.epsilon_by_construction and point.clamps and point.likelihood.samples
    assert "epsilon" in point.tuning
    assert point.guarantee("closed").key == "levelled_weighted"
    assert point.guarantee("current").key == "weights_seen"
    assert guarantees()["levelled"].strict
    assert rho_of(find_mechanism("none/levelled").guarantee("closed"), 0.5, 2) == pytest.approx(2 * 0.25 / 8)
    assert in_plain_words(find_mechanism("none/levelled")) == "each record's influence beyond a level capped"
    with pytest.raises(InputError, match="sensitive range"):
        find_mechanism("none/levelled/averaged")
    require_several(point)


@pytest.mark.stan
def test_it_runs_as_its_formula_and_is_planned(levelled, cache):
    table = load_example("beta", 120, 1)
    settings = make_settings(outcome="x", model="beta", epsilon=1.0, **QUICK)
    analysis = Analysis(table, settings, cache)
    result = analysis.run("none/levelled")
    assert result.epsilon == 1.0
    assert result.epsilon_replace == 2.0
    guarantee, lines = explained(result.summary_numbers, settings)
    assert guarantee.key == "levelled"
    assert "clamped around a level" in lines[0]
    posterior, model = analysis.refit(result), analysis.model
    terms = model.log_lik(posterior.draws, slice(None)) - levelled["LEVEL"]  # the naive form
    bounds = np.abs(np.clip(terms, -0.5, 0.5)).max(axis=0)
    np.testing.assert_allclose(result.lipschitz_bounds, bounds, rtol=1e-12)
    assert result.n_censored == (np.abs(terms).max(axis=0) > 0.5).sum()
    plan, content = make_plan(
        analysis, result, Decision(series="s", reason="r", decided_by="d", tuned_on="historical")
    )
    assert plan.point == find_mechanism("none/levelled")
    assert content is None
    assert plan.strict and plan.guarantee.key == "levelled"


class Constant:
    """An engine that makes one value, whatever the table."""

    def synthesize(self, inputs, label):
        (fits,) = inputs.parts
        return Synthesis(
            (np.full((fits.settings.datasets, fits.model.records.n), 0.5),), fits.settings.epsilon
        )

    def more(self, inputs, epsilon, count, rng):
        return np.full((count, inputs.parts[0].model.records.n), 0.5)


@pytest.fixture
def once(monkeypatch):
    """A likelihood without a posterior whose data sets are all of one measurement."""
    promise = Guarantee("once", "ε-DP", 2, "P.", "L.", rho=pure_rho, one_charge=True, secret_seed=False)
    made = Likelihood(
        "once", "One measurement", "measured once", promise, no_weights="It has no weights.", samples=False
    )
    monkeypatch.setitem(LIKELIHOODS, "once", made)
    monkeypatch.setitem(ENGINES, "once", Constant())


def test_one_without_a_posterior_goes_through_its_engine(once, cache):
    settings = make_settings(outcome="x", model="beta", epsilon=2.0, datasets=3)
    result = Analysis(load_example("beta", 60, 1), settings, cache).run("none/once")
    assert (result.synthetic == 0.5).all() and result.synthetic.shape == (3, 60)
    assert (result.epsilon, result.epsilon_replace) == (2.0, 4.0)
    assert not result.weights.size and result.diagnostics is None
    with pytest.raises(InputError, match="It has no weights"):
        compose("count", likelihood="once")


def test_data_sets_of_one_measurement_are_charged_once(once):
    point = find_mechanism("none/once")
    guarantee = point.guarantee("closed")
    assert point.charged(5) == 1
    assert find_mechanism("censored").charged(5) == 5
    assert rho_of(guarantee, 1.0, 5) == 0.5
    text = " ".join(explain(guarantee, 1.0, 2.0, 5, False, "current"))
    assert "5 data sets cost what one costs" in text
    assert f"{math.exp(2):,.1f}" in text
    assert "secret random numbers" not in text
    assert suspicion(guarantee, 1.0, 2.0, 5) == suspicion(guarantee, 1.0, 2.0, 1)
    # A lesser promise of the same mechanism is charged the same, and about the same neighbours.
    assert point.guarantee("current", {"epsilon": 1.0}).charged(5) == 1
    assert find_mechanism("histogram").guarantee("current", {"epsilon": 1.0}).neighbour == REPLACED


def test_several_variables_are_refused_in_one_sentence_from_one_place():
    refused = {}
    for key, mechanism in MECHANISMS.items():
        try:
            require_several(mechanism)
        except InputError as error:
            refused[key] = str(error).removeprefix(mechanism.label)
    assert refused == {
        "range_averaged": refused["range_truncated"],
        "range_truncated": ": its sensitive range is about one sensitive variable. With several, or with rules, "
        "take a mechanism of the whole range with an ε of its own.",
        "histogram": ": dividing it into bins is about one sensitive variable. With several, or with rules, "
        "take a mechanism of the whole range with an ε of its own.",
    }
    with pytest.raises(InputError, match="matching the ε of others to it is about one sensitive variable"):
        require_several(find_mechanism("weighted"), matched=True)


def test_each_value_is_registered_under_its_key():
    assert all(key == value.key for key, value in (LIKELIHOODS | STANDARDS).items())
    assert set(ENGINES) == {key for key, value in LIKELIHOODS.items() if not value.samples}


def test_the_sentence_on_neighbours_names_those_that_differ():
    both = neighbour_words([find_mechanism("censored"), find_mechanism("histogram")])
    assert both.endswith(
        "Of the histogram it is for one replaced: and there a strict mechanism has twice its ε."
    )
