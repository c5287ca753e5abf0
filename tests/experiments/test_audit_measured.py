"""An audit of noisy tables: the law of its density ratio, and faults that it must find."""

import numpy as np
import pytest

from synth_core.analysis.measured import measuring
from synth_core.analysis.measured.cells import PublicSide
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.measured_runs import MeasuredTrials
from synth_core.experiments.audit.neighbour_runs import RATIO
from synth_core.experiments.audit.neighbours import REMOVED, REPLACED
from synth_core.experiments.audit.verdict import BEYOND, CONSISTENT, VIOLATED
from synth_core.mechanisms.guarantees import bounded_range_rho
from synth_core.system.cache import MemoryCache
from tests.release.test_whole_records import BLOCKS, COMMON, people
from tests.support.marks import slow_but

RUNS, EPSILON = 2_000, 1.0


def analysis():
    return RecordsAnalysis(people(1), BLOCKS, COMMON | {"epsilon": EPSILON}, MemoryCache())


def trials(relation, key="measured", runs=RUNS):
    return MeasuredTrials(analysis(), key, "Measured", relation, runs)


@pytest.mark.parametrize(
    ("relation", "least", "most"),
    [(REMOVED, 1.0, 1.0), pytest.param(REPLACED, 1.0, 2.0, marks=pytest.mark.slow)],
)
def test_the_privacy_loss_is_normal_with_the_mean_rho(relation, least, most):
    """Withheld, a record moves one count of each table: the loss is N(ρ, 2ρ). Replaced, at most two counts of each.

    The mean of 1,000 runs is known to sqrt(2ρ / 1000); 4 of them are allowed, half of ρ: twice the loss would be seen.
    Discrete noise of so large a deviation is as good as continuous.
    """
    runs = 1_000
    rho, tried = bounded_range_rho(EPSILON), trials(relation, runs=runs)
    for neighbour, runs_of in tried.find():
        pair = runs_of()
        for values, sign in ((pair.first, 1), (pair.second, -1)):
            loss = sign * values[RATIO]
            error = 4 * np.sqrt(2 * most * rho / runs)
            assert least * rho - error < loss.mean() < most * rho + error, neighbour.why
            assert loss.var() / 2 == pytest.approx(
                loss.mean(), abs=error + 4 * rho * np.sqrt(2 / runs) * most
            )


@pytest.mark.parametrize("key", slow_but(["measured_laplace"], ["measured", "measured_laplace"]))
def test_a_sound_measurement_is_not_refuted(key):
    audit = run_audit(analysis(), AuditRequest((key,), 1_000))
    assert {line.relation for line in audit.lines} == {REMOVED, REPLACED}
    for line in audit.lines:
        assert line.verdict in (CONSISTENT, BEYOND), line
        assert ("at δ = 1e-06" in line.why) == (key == "measured")


def less_noise(monkeypatch):
    """A table costs sixty times what is counted."""
    usual = measuring.NoiseBudget.noisy

    def noisy(self, counts, share, n_tables, noise, whole):
        return usual(self, counts, 60 * share, n_tables, noise, whole)

    monkeypatch.setattr(measuring.NoiseBudget, "noisy", noisy)


def bins_of_the_table(monkeypatch):
    """Fine bins at places that are taken from the values: a record moves them all."""
    usual = measuring.fine_table

    def table(variable, values, codes, parts):
        moved = values * (1 + np.nansum(values) % 1.0)
        return usual(variable, moved, variable.codes(moved), parts)

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


@pytest.mark.parametrize(
    "fault", slow_but([tables_of_the_data], [less_noise, bins_of_the_table, tables_of_the_data])
)
def test_a_fault_is_found(fault, monkeypatch):
    """Each shows in nearly every run: of 1,000 the lower bound reaches 4, and 1 is claimed."""
    fault(monkeypatch)
    (line, *_) = run_audit(analysis(), AuditRequest(("measured_laplace",), 1_000)).lines
    assert line.verdict == VIOLATED, line


# -- units of several records -----------------------------------------------------------------------


def households():
    table = people(1)
    house = np.arange(table.rows) // 4
    house[::4] += 1_000  # singles, and units of three
    units = {"unit_column": "house", "unit_size": 4, "epsilon": EPSILON}
    frame = table.frame.assign(house=house)
    return RecordsAnalysis(Table("households", frame), BLOCKS, COMMON | units, MemoryCache())


@pytest.mark.long
def test_the_promise_of_a_unit_holds_for_all_its_records_and_is_refuted_where_each_counts_as_one(monkeypatch):
    tried = MeasuredTrials(households(), "measured", "Measured", REMOVED, RUNS)
    assert [neighbour.why for neighbour, _ in tried.find()][-1] == "largest unit"
    rho = bounded_range_rho(EPSILON)
    for neighbour, runs_of in tried.find():  # at most ρ: equal where all records of the unit are in one cell
        assert runs_of().first[RATIO].mean() < rho + 4 * np.sqrt(2 * rho / RUNS), neighbour.why
    assert all(
        line.verdict in (CONSISTENT, BEYOND)
        for line in run_audit(households(), AuditRequest(("measured_laplace",), 4_000)).lines
    )
    monkeypatch.setattr(PublicSide, "parts", property(lambda self: np.full(self.n_records, self.whole)))
    mutant = MeasuredTrials(households(), "measured", "Measured", REMOVED, RUNS)
    assert max(runs_of().first[RATIO].mean() for _, runs_of in mutant.find()) > 2 * rho
