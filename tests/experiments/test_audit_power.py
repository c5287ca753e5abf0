"""Whether an audit can test a claim is said before it runs, and holds for the lines that it then gives."""

import math

import pytest

from synth_core.experiments.audit import audit as auditing
from synth_core.experiments.audit.power import NEIGHBOURS, STATISTICS, n_lines, power
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits


def reach(runs, error):
    """The lower bound of an event that happened in all of n runs and in none of n: limits in closed form."""
    n, each = runs // 2, error / 2
    return math.log(each ** (1 / n)) - math.log(1 - each ** (1 / n))


@pytest.mark.parametrize("runs", [1_000, 7_000, 200_000])
@pytest.mark.parametrize("lines", [1, 4, 12])
def test_the_largest_bound_in_closed_form(runs, lines):
    found = power(3.0, runs, lines)
    few, many = (0.05 / lines / NEIGHBOURS[i] / (2 * STATISTICS[i]) for i in (0, 1))
    assert found.at_most == pytest.approx(reach(runs, few), rel=1e-9)
    assert found.surely == pytest.approx(reach(runs, many), rel=1e-9)
    assert found.surely < found.at_most


@pytest.mark.parametrize("claim", [0.5, 4.0, 6.3, 8.0])
def test_the_runs_that_are_needed_are_enough_and_hardly_more(claim):
    needed = power(claim, 1_000, 4).needed
    assert power(claim, needed, 4).surely > claim
    assert needed == 1_000 or power(claim, needed - 1_000, 4).surely <= claim
    assert power(claim, needed, 4).words.startswith(f"{needed:,} runs can test")


@pytest.mark.parametrize("runs", [1_000, 3_000, 10_000, 70_000])
def test_what_can_surely_be_shown_is_not_said_to_be_more(runs):
    found = power(0.5, runs, 4)
    assert 0 <= found.surely - float(found.words.split("up to ")[1].split()[0]) < 0.1


def test_what_cannot_be_tested_is_said():
    found = power(40.0, 10_000, 2)
    assert found.needed is None
    assert found.words.startswith("too weak to test ε = 40 with 10,000 runs")
    assert f"even {limits.AUDIT_RUNS[1]:,} would not do" in found.words


@pytest.mark.stan
@pytest.mark.slow
@pytest.mark.parametrize("names", [("censored",), ("unweighted", "weighted")])
def test_an_audit_stays_within_what_was_said(names, cache):
    from synth_core.analysis.analysis import Analysis
    from synth_core.analysis.settings import make_settings
    from synth_core.data.examples import load_example

    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=4.0)
    asked = auditing.AuditRequest(names, 1_000)
    audit = auditing.run_audit(Analysis(load_example("beta", 60), settings, cache), asked)
    lines = n_lines(map(find_mechanism, names), False, False)
    assert lines == len(audit.lines)
    said = power(4.0, 1_000, lines)
    for line in audit.lines:
        assert min(line.runs) <= 1_000
        assert line.detectable <= said.at_most
        if min(line.runs) == 1_000:  # not thinned
            assert line.detectable >= said.surely


def test_the_progress_says_how_long_a_line_takes_once_one_was_computed():
    """Of an audit of eight lines one read how long a step takes, and never whether the audit takes minutes or hours."""
    told = []
    for took in ([], [0.01], [100.0, 0.01, 140.0]):
        auditing._LineProgress(lambda text, share: told.append((text, share)), 3, 8, took)("drawing", 0.5)
    assert [text for text, _ in told] == [
        "4 of 8 · drawing",
        "4 of 8 · drawing",
        "4 of 8, about 2 min each · drawing",
    ]
    assert {share for _, share in told} == {0.5}  # the time that is left of a step is told from its own share
