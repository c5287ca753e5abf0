"""What an audit of units finds: nothing beyond the promise, and both ways in which it is lost.

Draws come from exact posteriors on a grid, of a logit around an anchor, clamped as the mechanism clamps them; the
audit's own statistics then bound ε from below, on two tables that differ in all that is known of one household of five.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import Settings, make_settings
from synth_core.data.survey_weights import scaled_weights
from synth_core.data.table import Table
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.lower_bound import measure
from synth_core.experiments.audit.neighbour_runs import Side, _ratio, withheld
from synth_core.experiments.audit.neighbours import RELATIONS, REMOVED, REPLACED, neighbours
from synth_core.experiments.audit.power import NEIGHBOURS, n_lines, power
from synth_core.experiments.audit.report import rows
from synth_core.experiments.audit.verdict import VIOLATED
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.censoring import Censoring, weighted_terms
from synth_core.system.cache import MemoryCache

EPSILON, SIZE, RUNS = 1.0, 5, 40_000
GRID = np.linspace(-6, 6, 801)
WEIGHT = np.array([20.0] * 30 + [200.0] * SIZE)  # of 30 others, and of the household
TOTAL, C = 1_050.0, 0.1


def posterior(values, bound, mean=None):
    """Of a flat prior; `values` of the household, or none where all of it is withheld."""
    codes = np.append(np.ones(30), values)
    weights, p = WEIGHT[: len(codes)], expit(GRID)[:, None]
    if mean is None:
        weights = C * scaled_weights(
            weights, TOTAL, len(WEIGHT), 1e9
        )  # n is public: rows stay, values are withheld
    else:
        weights = C * weights / mean(weights)
    log_lik = np.log(np.where(codes == 1, p, 1 - p)) - np.log(0.5)
    terms = weighted_terms(log_lik, weights, Censoring(bound)).sum(axis=1)
    density = np.exp(terms - terms.max())
    return density / density.sum()


def lower_bound(bound, mean=None):
    rng = np.random.default_rng(11)
    tables = [posterior(values, bound, mean) for values in (np.zeros(SIZE), np.empty(0))]
    draws = [rng.choice(GRID, RUNS, p=each) for each in tables]
    return max(each.epsilon_lower for each in measure({"draw": draws[0]}, {"draw": draws[1]}, 0.05))


def test_an_audit_of_a_unit_stays_below_the_promise():
    assert 0.3 < lower_bound(EPSILON / 2 / SIZE) <= EPSILON


@pytest.mark.parametrize(
    "bound, mean",
    [
        (EPSILON / 2, None),  # each record of the household is clamped, and not all of them together
        (
            EPSILON / 2 / SIZE,
            np.mean,
        ),  # W from the table: a household that leaves moves the terms of all others
    ],
)
def test_an_audit_refutes_a_clamp_of_records_and_weights_from_the_table(bound, mean):
    assert lower_bound(bound, mean) > 1.05 * EPSILON


# -- the audit itself: a neighbour differs in all records of a unit --------------------------------


def households(**changes):
    """240 incomes in 120 houses of one record and of three."""
    house = np.arange(240) // 4
    house[::4] += 1_000
    frame = pd.DataFrame({"pay": np.exp(np.random.default_rng(1).normal(3, 0.6, 240)), "house": house})
    units = {"unit_column": "house", "unit_size": 4, "epsilon": 2.0, "bounds": (1.0, 400.0)}
    settings = make_settings(outcome="pay", model="lognormal", chains=2, draws=250, **units | changes)
    return Analysis(Table("households", frame), settings, MemoryCache())


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_log_ratio_of_two_tables_is_the_sum_of_the_terms_of_a_unit(relation):
    """Against a loop over its records; anchored terms, so that none is constant."""
    analysis = households(epsilon=8.0, guess=(20.0, 1.0), anchor="pilot")
    mechanism = find_mechanism("anchored")
    weighted, result, moved = analysis.weighted(mechanism), analysis.run("anchored"), []
    for neighbour in neighbours(analysis, result, weighted, relation):
        house = analysis.table.frame["house"]
        assert list(neighbour.rows) == list(np.flatnonzero(house == house[neighbour.row]))
        here = Side(analysis, weighted, neighbour.rows)
        there = withheld(here)
        if relation == REPLACED:
            other = analysis.for_table(neighbour.table, True)
            there = Side(other, other.weighted(mechanism), neighbour.rows)
        posterior = analysis.fits.posterior(weighted.weights, weighted.censoring)[0]
        ratio, _ = _ratio(here, there, relation, posterior)
        naive = np.zeros_like(ratio)
        for row in neighbour.rows:
            for sign, side in ((1, here), (-1, there)):
                log_lik = side.analysis.model.log_lik(posterior.draws, np.array([row]))[:, 0]
                anchor = side.weighted.censoring.anchor[row]
                naive += sign * np.clip(side.weighted.weights[row] * (log_lik - anchor), -1.0, 1.0)
        np.testing.assert_allclose(ratio, naive, rtol=0, atol=1e-9)
        moved.append(np.ptp(ratio))
    assert max(moved) > 0.01  # the pilot read some units, which the fit does not


@pytest.mark.slow
def test_the_largest_unit_is_tried_and_the_histogram_of_it_keeps_its_epsilon(monkeypatch):
    """Three of at most four records replaced move noisy counts by 3ε/4, and by 3ε if each had all of it."""
    request = AuditRequest(("histogram",), 1_000)
    _, replaced = run_audit(households(), request).lines
    assert "largest unit" in {finding.why for finding in replaced.findings}
    assert replaced.value == "other values of all 3 records"
    assert replaced.largest_ratio == pytest.approx(0.75 * 2.0)
    assert replaced.epsilon_lower <= replaced.claimed == 2.0
    monkeypatch.setattr(Settings, "record_epsilon", property(lambda self: self.epsilon))
    assert run_audit(households(), request).lines[1].verdict == VIOLATED


@pytest.mark.slow
def test_what_replacing_a_unit_costs_is_not_measured_and_not_audited():
    lines = run_audit(households(), AuditRequest(("weighted",), 1_000)).lines
    assert [line.relation for line in lines] == [REMOVED]
    assert lines[0].largest_ratio < lines[0].claimed


def test_a_line_says_that_all_records_of_a_unit_differ():
    audit = run_audit(households(), AuditRequest(("histogram",), 1_000))
    assert [row["Neighbour"] for row in rows(audit)] == [
        "all records of one 'house' removed",
        "all records of one 'house' replaced",
    ]


@pytest.mark.slow
def test_the_power_that_was_said_holds_where_the_largest_unit_is_tried_too():
    """A fourth neighbour shares the error, and what is measured has one line: both were counted as of records."""
    names = ("weighted", "histogram")
    audit = run_audit(households(), AuditRequest(names, 1_000))
    lines = n_lines(map(find_mechanism, names), False, False, together=True)
    assert lines == len(audit.lines) == 3
    said = power(2.0, 1_000, lines, units=True)
    assert said.surely < power(2.0, 1_000, lines).surely
    for line in audit.lines:
        assert len({finding.row for finding in line.findings}) <= NEIGHBOURS[1] + 1
        assert line.detectable <= said.at_most
        if min(line.runs) == 1_000:  # not thinned
            assert line.detectable >= said.surely
