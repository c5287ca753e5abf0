"""An audit of whole records: one record withheld or replaced in everything that is sensitive about it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.audit import neighbour_runs
from synth_core.experiments.audit.audit import AuditRequest, run_audit
from synth_core.experiments.audit.audited import AuditedAnalysis
from synth_core.experiments.audit.neighbours import REMOVED, REPLACED, some_draws
from synth_core.experiments.audit.verdict import CONSISTENT, VIOLATED
from synth_core.experiments.audit.whole_records import _Trials
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models.categorical import Categorical
from synth_core.system.cache import MemoryCache

pytestmark = pytest.mark.stan
N, EPSILON, NAMES = 24, 1.5, "vwxyz"
CODES = ("a", "b", "c")
BLOCKS = tuple(
    Block(name, "categorical", {"categories": CODES}, ("?",) if name == "w" else None) for name in NAMES
)
SOME = BLOCKS[:2]
# Anchored at all categories alike, with the whole weight: what a term may be then decides alone.
COMMON = {"predictors": ("area",), "epsilon": EPSILON, "chains": 2, "draws": 1000, "warmup": 500,
          "pilot_share": 0.0, "anchor_weight": 1.0}  # fmt: skip


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)


def few(n=N, seed=1):
    """A few records, and one that is alone in its area: the others hardly tell of it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(CODES, n).astype(object) for name in NAMES})
    frame.loc[3, "w"] = "?"
    frame["area"] = np.where(np.arange(n) == 0, "far", "near")
    return Table("few", frame, confidential=False)


def audited(mechanism, blocks=SOME, runs=1_000, **common):
    analysis = RecordsAnalysis(few(), blocks, COMMON | common, MemoryCache())
    audit = run_audit(analysis, AuditRequest((mechanism,), runs, as_set=True))
    return {line.relation: line for line in audit.lines}


@pytest.mark.parametrize(
    "mechanism",
    [pytest.param("anchored", marks=pytest.mark.slow), pytest.param("censored", marks=pytest.mark.long)],
)
def test_strict_blocks_keep_the_epsilon_of_a_whole_record(mechanism):
    lines = audited(mechanism)
    assert [lines[each].claimed for each in (REMOVED, REPLACED)] == [EPSILON, 2 * EPSILON]
    for line in lines.values():
        assert line.verdict == CONSISTENT, line
        assert line.epsilon_lower <= line.claimed < line.detectable
        # By the formula, at any draw; a constant is estimated beside it.
        assert 0.2 * line.claimed < line.largest_ratio < 1.05 * line.claimed


@pytest.mark.long
def test_blocks_that_do_not_share_epsilon_are_caught(monkeypatch):
    """Each block takes the whole of epsilon: what a record may change is the sum of theirs."""
    right = Categorical.stan_data

    def whole(self, weights, censoring=None):
        unshared = censoring and replace(censoring, bound=EPSILON / 2)
        return right(self, weights, unshared)

    monkeypatch.setattr(Categorical, "stan_data", whole)
    monkeypatch.setattr(AuditedAnalysis, "relations", lambda self, mechanism: (REMOVED,))
    [line] = audited("anchored", BLOCKS, 4_000).values()
    assert line.verdict == VIOLATED and line.epsilon_lower > 1.05 * EPSILON, line
    assert line.row == 1 and "do not release" in line.why


@pytest.fixture(scope="module")
def analysis():
    return RecordsAnalysis(few(), SOME, COMMON, MemoryCache())


@pytest.mark.slow
def test_another_whole_record_is_another_one_in_every_variable(analysis):
    """And a value that was there may be missing in it, or the other way round: the row then has no term of a value."""
    result = analysis.run("anchored")
    trials = _Trials(analysis, result, REPLACED, 1_000)
    for row in (0, 3):
        [table] = [n.table for n in [trials._neighbour(row, "")]]
        others = np.arange(N) != row
        pd.testing.assert_frame_equal(table.frame[others], analysis.table.frame[others])
        missing = table.frame["w"].isna()
        assert (table.frame.loc[missing, "w is missing"] == "yes").all()
        assert (table.frame.loc[~missing, "w is missing"] == "no").all()
        assert table.frame.loc[row, "area"] == analysis.table.frame.loc[row, "area"]
    assert list(trials._places(trials.analyses[2], np.array([3, 4]))) == [
        3
    ]  # the value of w of the first is missing


@pytest.mark.slow
def test_the_alternative_moves_the_sum_of_terms_most(analysis):
    """Against every candidate by itself, with the formula written out."""
    trials = _Trials(analysis, analysis.run("anchored"), REPLACED, 1_000)
    row, candidates = 0, trials._candidates(0)
    moved = []
    for _, values in candidates.iterrows():
        total = 0.0
        frame = analysis.table.frame.copy()
        for name in candidates:
            frame.loc[row, name] = values[name]
        changed = Table("changed", frame)
        for each, weighted in zip(trials.analyses, trials.weighted, strict=True):
            draws = some_draws(each, weighted)
            terms = []
            for side in (each, each.for_table(changed)):
                if not side.selection.complete[row]:
                    terms.append(0.0)
                    continue
                at = np.array([int(side.selection.complete[:row].sum())])
                log_lik = side.model.log_lik(draws, at)[:, 0] - np.log(1 / len(side.settings.categories))
                bound = weighted.censoring.bound
                terms.append(np.clip(log_lik, -bound, bound))
            total += np.ptp(terms[0] - terms[1])
        moved.append(total)
    best = trials._alternative(row)
    chosen = [i for i, (_, values) in enumerate(candidates.iterrows()) if values.equals(best)]
    np.testing.assert_allclose([moved[i] for i in chosen], max(moved), rtol=1e-9)


@pytest.mark.slow
def test_the_density_ratio_is_the_sum_over_blocks(analysis):
    """Any draw of one block may meet any of another: the largest ratio is larger than at paired draws."""
    trials = _Trials(analysis, analysis.run("anchored"), REMOVED, 200)
    pair = trials.pair(trials._neighbour(0, ""))
    ratios = np.concatenate([pair.first["log density ratio"], pair.second["log density ratio"]])
    assert pair.largest_ratio > np.ptp(ratios) / 2
    assert pair.largest_ratio <= EPSILON * 1.05


def test_what_replacing_costs_is_said_of_strict_mechanisms_only(analysis):
    subject = AuditedAnalysis(analysis)
    assert subject.relations(find_mechanism("anchored")) == (REMOVED, REPLACED)
    assert subject.relations(find_mechanism("weighted")) == (REMOVED,)


def test_a_claim_of_one_variable_is_refused_for_blocks(analysis):
    with pytest.raises(InputError, match="about one sensitive variable"):
        run_audit(analysis, AuditRequest(("histogram",), 1_000))
