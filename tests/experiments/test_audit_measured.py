"""An audit of noisy tables: the law of its density ratio, and faults that it must find."""

import numpy as np
import pytest

from synth_core.analysis.measured import measuring
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.measured_runs import MeasuredTrials
from synth_core.experiments.audit.neighbour_runs import RATIO
from synth_core.experiments.audit.neighbours import REMOVED, REPLACED
from synth_core.experiments.audit.verdict import BEYOND, CONSISTENT, VIOLATED
from synth_core.mechanisms.guarantees import bounded_range_rho
from synth_core.system.cache import MemoryCache
from tests.release.test_whole_records import BLOCKS, COMMON, people

RUNS, EPSILON = 2_000, 1.0


def analysis():
    return RecordsAnalysis(people(1), BLOCKS, COMMON | {"epsilon": EPSILON}, MemoryCache())


def trials(relation, key="measured"):
    return MeasuredTrials(analysis(), key, "Measured", relation, RUNS)


@pytest.mark.parametrize(("relation", "least", "most"), [(REMOVED, 1.0, 1.0), (REPLACED, 1.0, 2.0)])
def test_the_privacy_loss_is_normal_with_the_mean_rho(relation, least, most):
    """Withheld, a record moves one count of each table: the loss is N(ρ, 2ρ). Replaced, at most two counts of each.

    The mean of 2,000 runs is known to sqrt(2ρ / 2000); 4 of them are allowed. Discrete noise of so large a deviation is
    as good as continuous.
    """
    rho, tried = bounded_range_rho(EPSILON), trials(relation)
    for neighbour, runs_of in tried.find():
        pair = runs_of()
        for values, sign in ((pair.first, 1), (pair.second, -1)):
            loss = sign * values[RATIO]
            error = 4 * np.sqrt(2 * most * rho / RUNS)
            assert least * rho - error < loss.mean() < most * rho + error, neighbour.why
            assert loss.var() / 2 == pytest.approx(
                loss.mean(), abs=error + 4 * rho * np.sqrt(2 / RUNS) * most
            )


@pytest.mark.parametrize("key", ["measured", "measured_laplace"])
def test_a_sound_measurement_is_not_refuted(key):
    audit = run_audit(analysis(), AuditRequest((key,), RUNS))
    assert {line.relation for line in audit.lines} == {REMOVED, REPLACED}
    for line in audit.lines:
        assert line.verdict in (CONSISTENT, BEYOND), line
        assert ("at δ = 1e-06" in line.why) == (key == "measured")


def less_noise(monkeypatch):
    """A table costs sixty times what is counted."""
    usual = measuring.NoiseBudget.noisy

    def noisy(self, counts, share, n_tables, noise):
        return usual(self, counts, 60 * share, n_tables, noise)

    monkeypatch.setattr(measuring.NoiseBudget, "noisy", noisy)


def bins_of_the_table(monkeypatch):
    """Fine bins at places that are taken from the values: a record moves them all."""
    usual = measuring.fine_table

    def table(variable, values):
        return usual(variable, values * (1 + np.nansum(values) % 1.0))

    monkeypatch.setattr(measuring, "fine_table", table)


def tables_of_the_data(monkeypatch):
    """Tables chosen by exact counts, without noise."""
    usual = measuring.candidates
    counts = []

    def chosen(public):
        pairs, triples = usual(public)
        counts.append(len(counts))
        return pairs[: len(pairs) - len(counts) + 1], triples

    monkeypatch.setattr(measuring, "candidates", chosen)


@pytest.mark.parametrize("fault", [less_noise, bins_of_the_table, tables_of_the_data])
def test_a_fault_is_found(fault, monkeypatch):
    fault(monkeypatch)
    (line, *_) = run_audit(analysis(), AuditRequest(("measured_laplace",), 4_000)).lines
    assert line.verdict == VIOLATED, line
