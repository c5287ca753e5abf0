"""Audits of whole mechanisms: what must be caught is, what keeps its claim is not; against closed forms."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis import anchored
from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import Anchor
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table, read_table
from synth_core.errors import Cancelled, InputError
from synth_core.experiments.audit import neighbour_runs
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.audited import AuditedAnalysis
from synth_core.experiments.audit.lower_bound import measure
from synth_core.experiments.audit.neighbour_runs import Side
from synth_core.experiments.audit.neighbours import (
    REMOVED,
    REPLACED,
    Neighbour,
    alternatives,
    changed,
    neighbours,
    worst_alternative,
    worst_records,
)
from synth_core.experiments.audit.verdict import BEYOND, CONSISTENT, EXCEEDED, NOT_JUDGED, VIOLATED
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.noise import OpendpNoise, SeededNoise
from synth_core.models.beta import Beta
from synth_core.system.cache import Cache, MemoryCache
from tests.support.marks import slow_but

pytestmark = pytest.mark.stan
QUICK = {"chains": 2, "draws": 1000, "warmup": 500}


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    """Enough for these small posteriors; R-hat is asked for all the same."""
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 2_000)


def outlier_table(seed, n, outlier=None):
    """Beta(4, 6), and one record that lies far from all others."""
    x = np.random.default_rng(seed).beta(4, 6, n)
    if outlier is not None:
        x[0] = outlier
    return Table(f"table {seed}", pd.DataFrame({"x": x}), confidential=False)


def small(noise=None, **changes):
    """100 records with an outlier, low claims, a map frozen on another table; noise with a seed."""
    values = {"outcome": "x", "model": "beta", "bounds": (0.0, 1.0), "risk_reference": "table 2",
              "epsilon": 1.0, "scale": 0.3} | QUICK | changes  # fmt: skip
    table, reference = outlier_table(1, 100, 1e-5), outlier_table(2, 500)
    return Analysis(table, make_settings(**values), MemoryCache(), reference=reference,
                      noise=noise or SeededNoise(1, 2))  # fmt: skip


@pytest.mark.parametrize("value", [None, 0.0])
def test_a_neighbour_of_codes_keeps_those_that_a_number_would_merge(value):
    codes = ("10.1", "10.10", "47.11")
    text = "\n".join(["code", *(codes[i % 3] for i in range(60)), ""]).encode()
    settings = make_settings(outcome="code", model="categorical", categories=codes)
    analysis = Analysis(read_table(text, "t.csv"), settings, MemoryCache())
    neighbour = changed(analysis, 1, value)
    there = [list(codes).index(code) for code in neighbour.frame["code"]]
    expected = [i % 3 for i in range(60)]
    expected[1:2] = [] if value is None else [0]
    assert there == expected


def audited(analysis, mechanism, runs=2_000):
    audit = run_audit(analysis, AuditRequest((mechanism,), runs, as_set=True))
    return {line.relation: line for line in audit.lines}


# -- what must be caught, and what must not ------------------------------------------------------


@pytest.mark.parametrize(
    "mechanism", slow_but(["censored", "histogram"], ["weighted", "censored", "histogram"])
)
def test_a_correct_mechanism_is_not_refuted(mechanism):
    for line in audited(small(), mechanism).values():
        assert line.verdict == CONSISTENT, line
        assert line.epsilon_lower <= line.claimed < line.detectable


def test_weights_that_never_reach_the_sampler_are_caught(monkeypatch):
    right = Beta.stan_data
    monkeypatch.setattr(
        Beta, "stan_data", lambda self, weights, censor=None: right(self, np.ones_like(weights), censor)
    )
    for line in audited(small(), "weighted").values():
        assert line.verdict == VIOLATED and line.epsilon_lower > 2 * line.claimed
        assert line.row == 1  # the outlier, whose weight should have been 0


def test_censoring_that_is_left_out_is_caught(monkeypatch):
    right = Beta.stan_data
    monkeypatch.setattr(Beta, "stan_data", lambda self, alpha, censor=None: right(self, alpha))
    for line in audited(small(), "censored").values():
        assert line.verdict == VIOLATED and line.epsilon_lower > 1.5 * line.claimed
        assert "do not release" in line.why


def test_noise_of_half_the_scale_is_caught():
    """It shows when a record is replaced, which the noise is made for; a removed one moves one count only."""

    class HalfNoise(OpendpNoise):
        def laplace(self, counts, scale):
            return super().laplace(counts, scale / 2)

    lines = audited(small(noise=HalfNoise()), "histogram")
    assert lines[REPLACED].verdict == VIOLATED and 1.3 < lines[REPLACED].epsilon_lower <= 2.0
    assert lines[REMOVED].verdict == CONSISTENT


def anchored_counts(anchored_at, **changes):
    """Forty counts and one that lies far off, anchored at a declared mean."""
    x = np.append(np.random.default_rng(3).poisson(20, 40), 400)
    values = {"outcome": "x", "model": "poisson", "epsilon": 0.5, "anchor": "values", "anchor_weight": 1.0}
    values |= {"anchor_values": {"beta": (np.log(anchored_at),)}, "anchor_records": 0.1} | QUICK | changes
    return Analysis(Table("counts", pd.DataFrame({"x": x}), False), make_settings(**values), MemoryCache())


@pytest.mark.slow
def test_an_anchor_that_is_the_tables_own_fit_is_caught(monkeypatch):
    """At n = 41; what reads no record is found anew on the neighbour and is the same, and nothing is refuted."""
    for line in audited(anchored_counts(20.0), "anchored").values():
        assert line.verdict == CONSISTENT and "held" not in line.why

    def own_fit(model, given):
        at = {"beta": np.log(model.records.outcome.mean(keepdims=True))[None]}
        return Anchor("values", "declared parameter values", at)

    monkeypatch.setattr(anchored, "declared_anchor", own_fit)
    line = audited(anchored_counts(20.0), "anchored")[REPLACED]
    assert line.verdict == VIOLATED and line.epsilon_lower > line.claimed == 1.0
    assert line.largest_ratio > 2.0


@pytest.mark.slow
def test_where_the_anchor_is_drawn_from_the_table_the_audit_says_what_it_left_out():
    changes = {"anchor": "pilot", "anchor_values": None, "anchor_records": None, "guess": (20.0, 5.0)}
    for line in audited(
        anchored_counts(20.0, epsilon=2.0, anchor_weight=0.1, **changes), "anchored"
    ).values():
        assert "was not audited, only the fit around it" in line.why


@pytest.mark.slow
def test_the_histogram_is_measured_near_its_true_epsilon():
    """Its epsilon between two tables is known: all of it for a replaced record, half for a removed one."""
    lines = audited(small(), "histogram", runs=10_000)
    assert 0.75 < lines[REPLACED].epsilon_lower < 1.0
    assert 0.3 < lines[REMOVED].epsilon_lower < 0.5
    assert lines[REPLACED].largest_ratio == pytest.approx(1.0)


# -- against closed forms ------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["unweighted", "exponential"])
def test_a_weighted_poisson_against_its_two_gammas(mechanism):
    """Without predictors exp(beta) ~ Gamma(1 + sum(alpha x), 0.001 + sum(alpha)): every event is known."""
    x = np.append(np.random.default_rng(3).poisson(20, 39), 60)
    reference = Table("earlier", pd.DataFrame({"x": np.random.default_rng(4).poisson(20, 200)}), False)
    settings = make_settings(outcome="x", model="poisson", epsilon=20.0, risk_reference="earlier", **QUICK)
    analysis = Analysis(
        Table("counts", pd.DataFrame({"x": x}), False), settings, MemoryCache(), reference=reference
    )
    point = find_mechanism(mechanism)
    weighted = analysis.weighted(point)
    [neighbour] = [n for n in neighbours(analysis, analysis.run(mechanism), weighted, REMOVED) if n.row == 39]
    [pair] = [
        runs()
        for n, runs in AuditedAnalysis(analysis).trials(analysis.run(mechanism), REMOVED, 8_000)
        if n.row == neighbour.row
    ]
    alpha = weighted.weights[0]
    gammas = [
        stats.gamma(1 + alpha * values.sum(), scale=1 / (1e-3 + alpha * len(values)))
        for values in (x, x[:-1])
    ]
    for side, gamma in zip((pair.first, pair.second), gammas, strict=True):
        draws = np.exp(side["beta[1]"])
        assert stats.kstest(draws, gamma.cdf).pvalue > 1e-4  # thinned draws are as good as independent ones
        t = draws[:50]
        density = gammas[0].logpdf(t) - gammas[1].logpdf(t)
        gap = side["log density ratio"][:50] - density
        np.testing.assert_allclose(gap, gap[0], atol=1e-6)  # the ratio up to its constant
    found = [f for f in measure(pair.first, pair.second, 0.05) if f.event.statistic == "beta[1]"]
    for finding in found:
        at = np.exp(finding.event.threshold)
        chances = [gamma.sf(at) if finding.event.above else gamma.cdf(at) for gamma in gammas]
        exact = np.log(chances[0] / chances[1]) * (1 if finding.likelier_on_first else -1)
        assert 0.5 * exact < finding.epsilon_lower <= exact
    largest = max(abs(gammas[0].logpdf(t) - gammas[1].logpdf(t)).max()
                  for t in (np.exp(side["beta[1]"]) for side in (pair.first, pair.second)))  # fmt: skip
    assert max(f.epsilon_lower for f in found) < pair.largest_ratio
    assert pair.largest_ratio == pytest.approx(largest, rel=0.25)  # of all draws, thinned ones among them


@pytest.mark.parametrize("relation", [REMOVED, REPLACED])
@pytest.mark.parametrize("mechanism", ["weighted", "censored_weighted"])
def test_the_density_ratio_against_whole_targets(mechanism, relation):
    """Against both pseudo log-likelihoods in full, record by record, with weights from each table itself."""
    analysis = small().from_current()
    weighted = analysis.weighted(find_mechanism(mechanism))
    rows, values = np.array([7]), [0.9] if relation == REPLACED else None
    neighbour = Neighbour(relation, 7, rows, values and values[0], "", changed(analysis, rows, values))
    other = analysis.for_table(neighbour.table)
    there = other.weighted(weighted.mechanism)
    posterior, _ = analysis.fits.posterior(weighted.weights, weighted.censoring)
    here, beyond = Side(analysis, weighted, rows), Side(other, there, rows if values else rows[:0])
    ratio, _ = neighbour_runs._ratio(here, beyond, relation, posterior)
    picked = np.arange(0, posterior.n_draws, 150)
    totals = []
    for c, w in ((analysis, weighted), (other, there)):
        a, b = posterior.draws["a"][picked, None], posterior.draws["b"][picked, None]
        terms = w.weights * stats.beta.logpdf(c.table.frame["x"].to_numpy(), a, b)
        totals.append(
            (terms if w.censoring is None else np.clip(terms, -w.censoring.bound, w.censoring.bound)).sum(
                axis=1
            )
        )
    np.testing.assert_allclose(ratio[picked], totals[0] - totals[1], atol=1e-8)
    assert (weighted.weights[:5] != there.weights[:5]).any() or mechanism == "censored"


# -- neighbours ----------------------------------------------------------------------------------


def test_the_worst_records_and_alternatives_against_a_search():
    analysis = small(scale=1.0)
    result, weighted = analysis.run("weighted"), analysis.weighted(find_mechanism("weighted"))
    rows = worst_records(analysis, result, weighted)
    x = analysis.table.frame["x"].to_numpy()
    draws = analysis.fits.posterior(weighted.weights)[0].draws
    log_lik = stats.beta.logpdf(x, draws["a"][:, None], draws["b"][:, None])
    plain = analysis.fits.unweighted()[0].draws
    risk = np.abs(stats.beta.logpdf(x, plain["a"][:, None], plain["b"][:, None])).max(axis=0)
    assert set(rows) >= {int(np.argmax(np.abs(weighted.weights * log_lik).max(axis=0))), int(np.argmax(risk))}
    assert int(np.argmax(risk)) == 0 and weighted.weights[0] == 0.0
    row = int(np.argmax(result.lipschitz_bounds))
    value = worst_alternative(analysis, weighted, result, row)
    assert value in np.delete(x, row)  # a local claim is read from the values of the table
    spread = np.ptp((weighted.weights * log_lik)[:, [row]] - weighted.weights * log_lik, axis=0)
    assert spread[x == value][0] > 0.97 * spread.max()  # a few draws decide, not all


def test_alternatives_keep_to_what_the_claim_covers():
    analysis = small()
    strict = alternatives(analysis, find_mechanism("censored"), 5)
    assert strict.min() < 1e-5 and strict.max() > 1 - 1e-5  # to the declared bounds
    local = alternatives(analysis, find_mechanism("weighted"), 5)
    x = analysis.table.frame["x"].to_numpy()
    assert set(local) <= set(x) - {x[5]}
    within = alternatives(analysis, find_mechanism("range_truncated"), 5)
    assert within.min() >= 0.4 * x[5] and within.max() <= 1.8 * x[5]
    counts = load_example("poisson", 50, 1)
    whole = alternatives(
        Analysis(counts, make_settings(outcome="x", model="poisson"), MemoryCache()),
        find_mechanism("censored"),
        0,
    )
    assert (whole % 1 == 0).all()


def test_the_design_of_predictors_is_held(cache):
    """They are public: a removed record must not shift the scale that coefficients are told on."""
    analysis = Analysis(
        load_example("lognormal", 60, 1),
        make_settings(outcome="x", model="lognormal", predictors=("z",)),
        cache,
    )
    table = changed(analysis, 3, None)
    held, own = analysis.for_table(table), Analysis(table, analysis.settings, cache)
    np.testing.assert_array_equal(
        held.model.records.design, np.delete(analysis.model.records.design, 3, axis=0)
    )
    assert (held.model.records.design != own.model.records.design).any()
    assert held.fits.records_key() != own.fits.records_key()


def test_missing_values_and_whole_numbers_keep_their_rows():
    frame = pd.DataFrame({"x": [None, 4, 9, 1, None, 7, 3, 8, 2, 6, 5, 12]}, dtype="Int64")
    analysis = Analysis(Table("t", frame), make_settings(outcome="x", model="poisson"), MemoryCache())
    assert changed(analysis, 2, 50.0).frame["x"][3] == 50.0  # the third complete row
    removed = changed(analysis, 2, None).frame["x"].dropna().tolist()
    assert removed == [4, 9, 7, 3, 8, 2, 6, 5, 12]


# -- how it runs ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit(monkeypatch):
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)
    first, second, third = (audited(small(seed=seed), "unweighted", 1_000) for seed in (1, 1, 2))
    assert first == second
    assert first[REMOVED].findings != third[REMOVED].findings


@pytest.mark.slow
def test_weights_from_the_table_and_from_the_map_are_both_audited(monkeypatch):
    """The scalar weight of the table itself is set by the outlier, so without it another one is used."""
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)
    audit = run_audit(small(), AuditRequest(("exponential",), 1_500))
    assert [(line.weights, line.relation) for line in audit.lines] == [
        ("frozen on table 2", REMOVED), ("frozen on table 2", REPLACED),
        ("current table", REMOVED), ("current table", REPLACED),
    ]  # fmt: skip
    assert {line.verdict for line in audit.lines[:2]} == {BEYOND}
    assert {line.verdict for line in audit.lines[2:]} == {EXCEEDED}
    assert "no claim covers that" in audit.lines[2].why and "Freeze the risk map" in audit.lines[2].why
    assert audit.error == pytest.approx(0.05 / 4)


def test_a_stopped_audit_keeps_its_finished_lines(tmp_path):
    """And a histogram, whose noise has no seed, is not drawn again."""
    cache = Cache(tmp_path)
    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=1.0)

    def stop(text, share):
        if text.startswith("2 of 2"):
            raise Cancelled("stopped")

    def asked(progress):
        analysis = Analysis(outlier_table(1, 50), settings, cache, progress)
        return run_audit(analysis, AuditRequest(("histogram",), 1_000))

    with pytest.raises(Cancelled):
        asked(stop)
    seen = []
    whole = asked(lambda text, share: seen.append(text))
    assert not [text for text in seen if text.startswith("1 of 2")]
    assert asked(lambda text, share: None) == whole


def test_a_fit_that_has_not_converged_is_not_judged(monkeypatch):
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)
    line = audited(small(draws=100, warmup=100, chains=2), "weighted", 1_000)[REMOVED]
    assert line.verdict == NOT_JUDGED and "not converged" in line.why


@pytest.mark.slow
def test_range_claims_are_judged_only_where_they_claim(monkeypatch):
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)
    lines = audited(small(scale=1.0), "range_truncated", 1_000)
    assert lines[REMOVED].verdict == NOT_JUDGED and "sensitive range" in lines[REMOVED].why
    assert lines[REPLACED].verdict in (CONSISTENT, BEYOND)


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({"mechanisms": ()}, {}, "at least one mechanism"),
        ({"runs": 10}, {}, "needs 1,000 to 200,000 runs"),
        ({"confidence": 1.0}, {}, "confidence must lie"),
        ({"delta": 1.0}, {}, "δ must lie"),
        ({}, {"match_epsilon": "weighted"}, "without matching"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_words(changes, settings, message):
    asked = dataclasses.replace(AuditRequest(("weighted",)), **changes)
    with pytest.raises(InputError, match=message):
        run_audit(small(**settings), asked)


def test_large_tables_and_very_short_ones_are_refused():
    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0))
    with pytest.raises(InputError, match="at most 6,666 runs"):
        run_audit(Analysis(outlier_table(1, 300_000), settings, MemoryCache()), AuditRequest(("weighted",)))
    with pytest.raises(InputError, match="none can be removed"):
        run_audit(Analysis(outlier_table(1, 10), settings, MemoryCache()), AuditRequest(("weighted",)))


def test_statistics_of_synthetic_tables_against_numpy(rng):
    analysis = small()
    neighbour = Neighbour(REMOVED, 5, np.array([5]), None, "", analysis.table)
    sets = rng.random((40, 99))
    found = neighbour_runs.synthetic_statistics(iter([sets[:25], sets[25:]]), 40, neighbour, analysis)
    x = analysis.table.frame["x"][5]
    np.testing.assert_allclose(found["synthetic mean"], sets.mean(axis=1))
    np.testing.assert_array_equal(found["synthetic largest value"], sets.max(axis=1))
    np.testing.assert_array_equal(found["synthetic smallest value"], sets.min(axis=1))
    inverted = np.quantile(sets, 0.95, axis=1, method="inverted_cdf")
    np.testing.assert_array_equal(found["synthetic 95th percentile"], inverted)
    np.testing.assert_allclose(
        found["synthetic share near the record"], (abs(sets - x) <= 0.2 * x).mean(axis=1)
    )


@pytest.mark.long
def test_at_two_thousand_records_censoring_with_weights_from_the_table_exceeds_its_epsilon():
    """The smallest value is 1e-12; an audit at n = 150 saw nothing."""
    values = {"outcome": "x", "model": "beta", "bounds": (0.0, 1.0), "epsilon": 2.0, "draws": 1_000}
    settings = make_settings(**values, risk_reference="table 1001")
    table, reference = load_example("beta", 2_000, 5), load_example("beta", 2_000, 1_001)
    analysis = Analysis(table, settings, MemoryCache(), reference=reference)
    audit = run_audit(analysis, AuditRequest(("censored_weighted",), 2_000))
    frozen, _, current, _ = audit.lines
    assert (frozen.guarantee, frozen.verdict) == ("ε-DP", CONSISTENT)
    assert frozen.epsilon_lower < 2.0
    assert (current.guarantee, current.verdict) == ("ε-DP for given weights", EXCEEDED)
    assert current.epsilon_lower > 4.0


@pytest.mark.long
@pytest.mark.parametrize("span", [None, (0.0, 15.0)])
def test_at_two_thousand_records_a_declared_span_leaves_nothing_to_be_seen(span):
    """With the table's own span the joint local figure says that more than 2Δ is there, and the audit finds it."""
    values = {"outcome": "x", "model": "beta", "bounds": (0.0, 1.0), "epsilon": 2.0, "draws": 1_000}
    settings = make_settings(**values, risk_span=span)
    analysis = Analysis(load_example("beta", 2_000, 5), settings, MemoryCache())
    audit = run_audit(analysis, AuditRequest(("censored_weighted", "weighted"), 2_000))
    strict, weighted = (next(line for line in audit.lines if line.mechanism == name)
                        for name in ("censored_weighted", "weighted"))  # fmt: skip
    joint = analysis.run("weighted").oscillation_joint
    for line in (strict, weighted):
        assert line.relation == REMOVED
        assert line.epsilon_lower <= analysis.run(line.mechanism).oscillation_joint
    if span is None:
        assert joint > 2 * weighted.claimed and weighted.largest_ratio > weighted.claimed
        assert strict.verdict == EXCEEDED and weighted.epsilon_lower > 2.0
    else:
        assert joint == analysis.run("weighted").oscillation < 2.0
        assert strict.epsilon_lower < 0.5 and weighted.epsilon_lower < 0.5
        assert all(line.epsilon_lower <= line.claimed for line in audit.lines)  # one replaced too: about 1


def test_counts_are_as_whole_in_an_audit_as_in_a_release(cache):
    counts = np.random.default_rng(3).poisson(4.0, 60)
    table = Table("visits", pd.DataFrame({"n": counts}))
    settings = make_settings(outcome="n", model="poisson", bounds=(0, 20), bins="4", epsilon=1.0)
    analysis = Analysis(table, settings, cache, noise=SeededNoise(2))
    neighbour = Neighbour(REPLACED, 0, np.array([0]), 20.0, "", table)
    pair = neighbour_runs.histogram_pair(analysis, analysis, neighbour, find_mechanism("histogram"), 8)
    largest = pair.first["synthetic largest value"]
    assert (largest % 1 == 0).all() and largest.max() > 5
