"""A release of measured records: charged once for all data sets by zCDP, or by a pure ε; no draw to rest on."""

import html
import io
import itertools
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import measured as engine
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.rules import typeset
from synth_core.data.table import Table
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import FitError, InputError
from synth_core.experiments.studies.released_coverage import ReleasedCoverage
from synth_core.mechanisms.composition import Count
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.coverage import OWN_MAPS, coverage_of
from synth_core.release.making.drawing import Request
from synth_core.release.making.outcome import REFUSED
from synth_core.release.making.releasing import CHECKED, RELEASED, REPEATED, release
from synth_core.release.plan.planning import make_plan
from synth_core.release.report.coverage_summary import Coverage
from synth_core.system.cache import Cache
from tests.release.test_whole_records import BLOCKS, COMMON, DECISION, people, read

EPSILON = 4.0


def planned(cache, key, **decided):
    analysis = RecordsAnalysis(people(1), BLOCKS, COMMON | {"epsilon": EPSILON, "datasets": 2}, cache)
    return make_plan(analysis, analysis.run(key), replace(DECISION, **decided))[0]


@pytest.mark.parametrize(
    ("key", "decided", "label", "rho"),
    [
        ("measured", {"limit": 20.0, "limit_delta": 1e-6}, "zCDP", EPSILON**2 / 8),
        pytest.param("measured_laplace", {"limit": 20.0}, "ε-DP", EPSILON**2 / 2, marks=pytest.mark.slow),
    ],
)
def test_two_data_sets_cost_what_one_costs(state, kept, key, decided, label, rho):
    plan = planned(kept, key, **decided)
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    assert outcome.epsilon == pytest.approx(EPSILON)
    balance = Ledger().balance("people")
    assert balance.spent == pytest.approx(EPSILON) and balance.rho == pytest.approx(rho)
    files = read(outcome, "releasable")
    report = files["report.html"].decode()
    loss = "ρ = 2" if key == "measured" else "ε = 4"
    assert f"<dt>Privacy loss of this release</dt><dd>{loss}<small>{label}" in report
    assert "the sum of ε" not in report
    assert label in report and "Measured with discrete" in report and "anchored at" not in report
    assert ("odds grow by at most" in report) == (key == "measured_laplace")  # none follow from a ρ
    assert "made to listen less" not in report and "2 × 4" not in report
    assert ("added to its δ" in report) == (key == "measured")
    internal = read(outcome, "INTERNAL")["report-INTERNAL.html"].decode()
    assert "1 × 4" in internal and "2 × 4" not in internal and "ε = 8" not in internal.split("<p>")[1]
    assert "There is no sampler." in {c.key: c.finding for c in outcome.checks}["convergence"]
    assert sum(name.endswith(".csv") for name in files) >= 2
    cells = {
        each["column"]: each["cells"] for each in json.loads(files["measurements.json"])["public columns"]
    }
    assert cells == {name: sorted(people(2).frame[name].unique()) for name in COMMON["predictors"]}
    measured = json.loads(files["measurements.json"])["tables"]
    shown = pd.read_html(io.StringIO(report), match="Sensitive")[0].set_index("Sensitive")
    names = [block.name for block in BLOCKS]
    assert list(shown.index) == names
    for a, b in itertools.product(names, shown.columns):  # every pair and triple that was counted, by hand
        pairs = [t for t in measured if set(t["columns"]) == {a, b} and a != b]
        triples = [t for t in measured if len(t["columns"]) == 3 and {a, b} < set(t["columns"]) and a != b]
        assert ("±" in shown.loc[a, b]) == bool(pairs) or a == b
        assert (f"{len(triples)} triple" in shown.loc[a, b]) == bool(triples)
    again = release(Request(plan, None, people(2)))
    assert again.state == REPEATED and again.archives == outcome.archives


@pytest.mark.slow
def test_shares_that_sum_to_a_little_more_are_charged_what_was_planned(state, kept):
    """Of a fifth and halves of two fifths ε comes out as 2.0000000000000004: that is no ε of 2.1, nor another ρ."""
    blocks = (replace(BLOCKS[0], share=0.2), *BLOCKS[1:])
    analysis = RecordsAnalysis(people(1), blocks, COMMON | {"epsilon": 2.0}, kept)
    result = analysis.run("measured")
    assert result.epsilon > 2.0
    plan = make_plan(analysis, result, replace(DECISION, limit=20.0, limit_delta=1e-6))[0]
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED and outcome.epsilon == 2.0
    assert [entry.kind for entry in Ledger().entries("people")].count("raise") == 0
    assert "<dd>ρ = 0.5<small>zCDP" in read(outcome, "releasable")["report.html"].decode()


@pytest.mark.slow
def test_a_series_that_sums_epsilon_takes_no_zcdp(state, kept):
    plan = planned(kept, "measured", limit=20.0)
    with pytest.raises(InputError, match=r"promises ρ \(zCDP\) and no pure ε.*count by zCDP"):
        release(Request(plan, None, people(2)))
    assert Ledger().balance("people").releases == 0
    assert release(Request(plan, None, people(2), count=Count(1e-6))).state == RELEASED


@pytest.mark.slow
def test_noise_that_was_looked_at_is_not_drawn_again(state, kept):
    """Where what was kept of it is lost: new noise would be a second look for one charge."""
    from synth_core.release.making.drawing import purge_pending
    from synth_core.release.state import private_directory

    plan = planned(kept, "measured_laplace", limit=20.0)
    looked = release(Request(plan, None, people(2), dry_run=True))
    assert looked.state == CHECKED
    purge_pending()
    (private_directory("noise") / f"{looked.id}.jsonl").unlink()
    with pytest.raises(InputError, match="drawn before, and what was kept of it is gone"):
        release(Request(plan, None, people(2)))


@pytest.mark.slow
def test_settings_that_were_seen_leave_no_way_into_a_sum_of_epsilon(state, kept):
    """Tuned on the confidential table: neither ρ nor a pure ε is promised, so no series takes it."""
    plan = planned(kept, "measured", limit=20.0, tuned_on="confidential")
    assert plan.standing(people(2)).guarantee.label == "zCDP for given settings"
    for count in (None, Count(1e-6)):
        with pytest.raises(InputError, match=r"no pure ε|no theorem gives the ρ"):
            release(Request(plan, None, people(2), count=count))


@pytest.mark.slow
def test_a_release_keeps_rules_after_rounding_and_a_table_that_breaks_one_is_refused(state, kept):
    """Rounding that would change what a rule says is not planned; a refused table is charged nothing."""
    rules = ("area = north and kind = child <-> pay missing", "area = south and kind = child -> pay = 7.5")
    common = COMMON | {"epsilon": EPSILON, "rules": rules, "predictors": ("area", "kind")}

    def keeping(seed):
        frame = people(seed).frame
        kind = np.where(np.arange(len(frame)) % 4 == 0, "child", "adult")
        child, north = kind == "child", frame.area == "north"
        pay = frame.pay.fillna(3.0).mask(child & ~north, 7.5).mask(child & north)
        return Table(f"people {seed}", frame.assign(pay=pay, kind=kind))

    analysis = RecordsAnalysis(keeping(1), BLOCKS, common, kept)
    decision = replace(DECISION, limit=20.0, limit_delta=1e-6, decimals=1)
    result = analysis.run("measured")
    with pytest.raises(
        InputError, match=r"-> pay = 7.5 says a number that rounding to multiples of 10 changes"
    ):
        make_plan(analysis, result, replace(decision, decimals=-1))
    plan = make_plan(analysis, result, decision)[0]
    broken = keeping(2)
    broken.frame.loc[5, "pay"] = np.nan
    with pytest.raises(InputError, match=r"breaks the rule area = north .* in 1 row \(row 6\)"):
        release(Request(plan, None, broken))
    assert Ledger().balance("people").releases == 0
    outcome = release(Request(plan, None, keeping(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    (check,) = [c for c in outcome.checks if c.key == "rules"]
    assert check.status == "passed" and all(rule in check.public for rule in rules)
    page = html.unescape(read(outcome, "releasable")["report.html"].decode())
    assert all(typeset(rule) in page and rule not in page for rule in rules)
    files = read(outcome, "releasable")
    assert "Kept by every synthetic record: area = north and kind = child" in files["report.html"].decode()
    csv = next(
        content for name, content in files.items() if name.endswith(".csv") and b"kind" in content[:99]
    )
    frame = pd.read_csv(io.BytesIO(csv), dtype=str, keep_default_na=False)
    child, north = frame.kind == "child", frame.area == "north"
    assert ((child & north) == (frame.pay == "")).all() and (frame.pay[child & ~north] == "7.5").all()


@pytest.mark.slow
def test_survey_weights_leave_as_they_were_written(state, kept):
    """They are public design: kept beside the synthetic values of the same record, and said to be weights."""
    common = COMMON | {
        "epsilon": EPSILON,
        "weight": "w",
        "weight_total": 90_000.0,
        "accuracy_of": "population",
    }

    def weighted(seed):
        frame = people(seed).frame
        return replace(
            people(seed), frame=frame.assign(w=np.random.default_rng(5).integers(50, 800, len(frame)))
        )

    analysis = RecordsAnalysis(weighted(1), BLOCKS, common, kept)
    decision = replace(DECISION, limit=20.0, limit_delta=1e-6)
    result = analysis.run("measured")
    assert [each.name for each in result.population] == ["sex", "work", "pay"]
    plan = make_plan(analysis, result, decision)[0]
    assert [c.role for c in plan.columns if c.name == "w"] == ["weight"]
    bad = weighted(2)
    bad.frame.loc[7, "w"] = 0
    with pytest.raises(InputError, match=r"column 'w' is 0 or below \(first in row 8\)"):
        release(Request(plan, None, bad))
    assert Ledger().balance("people").releases == 0
    outcome = release(Request(plan, None, weighted(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    files = read(outcome, "releasable")
    csv = next(content for content in files.values() if content.startswith(b"sex,work,pay,area,w"))
    frame = pd.read_csv(io.BytesIO(csv), dtype=str, keep_default_na=False)
    assert sorted(frame.w.astype(int)) == sorted(weighted(2).frame.w)
    internal = read(outcome, "INTERNAL")["report-INTERNAL.html"].decode()
    assert internal.count("Accuracy is of the population, by w.") >= 3  # sentence and tables
    book = json.loads(next(content for name, content in files.items() if name.endswith("codebook.json")))
    assert next(e for e in book["columns"] if e["column"] == "w")["role"] == "weight"


def test_intervals_of_the_population_are_no_bootstrap(state, kept):
    """The internal report of one variable called design-based intervals bootstrap ones, and said not of whom."""

    def weighted(seed):
        frame = people(seed).frame.dropna(subset="pay").reset_index(drop=True)
        return Table(f"w {seed}", frame.assign(w=np.random.default_rng(5).integers(50, 800, len(frame))))

    settings = make_settings(
        outcome="pay",
        model="lognormal",
        guess=(20.0, 0.5),
        predictors=("area",),
        weight="w",
        accuracy_of="population",
        epsilon=EPSILON,
    )
    analysis = Analysis(weighted(1), settings, kept)
    plan = make_plan(analysis, analysis.run("measured_laplace"), replace(DECISION, limit=20.0))[0]
    internal = read(release(Request(plan, None, weighted(2))), "INTERNAL")["report-INTERNAL.html"].decode()
    said = "95 % design-based intervals. Accuracy is of the population, by w."
    assert said in internal and "bootstrap" not in internal


@pytest.mark.slow
def test_a_column_that_was_charged_is_no_survey_weight_and_no_public_column(state, kept):
    """Both leave verbatim, as predictors do; only the columns of predictors were looked at."""
    plan = planned(kept, "measured", limit=20.0, limit_delta=1e-6)
    table = Table("people 2", people(2).frame.assign(pay=people(2).frame.pay.fillna(9.0)))
    assert release(Request(plan, None, table)).state == RELEASED
    frame = table.frame.rename(columns={"pay": "w"}).sample(frac=1, random_state=1).reset_index(drop=True)
    common = {"predictors": ("area",), "epsilon": EPSILON, "weight": "w"}
    frame = frame.assign(bonus=np.random.default_rng(9).lognormal(1, 0.5, len(frame)))[["bonus", "area", "w"]]
    bonus = Block("bonus", "lognormal", {"guess": (2.0, 1.0)})
    analysis = RecordsAnalysis(Table("other", frame), (bonus,), common, kept)
    decision = replace(DECISION, series="other", limit=20.0, limit_delta=1e-6)
    other = make_plan(analysis, analysis.run("measured"), decision)[0]
    with pytest.raises(InputError, match="column 'w', which is kept, has the values of 'pay'"):
        release(Request(other, None, Table("other 2", frame)))


@pytest.mark.slow
def test_a_series_counts_for_one_kind_of_unit(state, kept):
    """A record's ε and a household's do not add up; the gate and the report say whom ε is for."""

    def houses(seed, size):
        frame = people(seed).frame
        return Table(f"people {seed}", frame.assign(house=np.arange(len(frame)) // size))

    def plan_of(**unit):
        common = COMMON | {"epsilon": EPSILON} | unit
        analysis = RecordsAnalysis(houses(1, 3), BLOCKS, common, kept)
        decision = replace(DECISION, limit=20.0, limit_delta=1e-6)
        return make_plan(analysis, analysis.run("measured"), decision)[0]

    unit = plan_of(unit_column="house", unit_size=3)
    with pytest.raises(InputError, match=r"ha(s|ve) more than 3 records \(first in row 1\)"):
        release(Request(unit, None, houses(2, 4)))
    assert Ledger().balance("people").releases == 0
    outcome = release(Request(unit, None, houses(2, 3)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    said = "covers everything sensitive about one 'house', of at most 3 records together"
    assert said in {c.key: c.public for c in outcome.checks}["guarantee"]
    report = read(outcome, "releasable")["report.html"].decode()
    assert said in html.unescape(report) and "about one record, all of its blocks" not in report
    assert "As little for all values of one 'house' replaced" in html.unescape(report)  # of a record, it said
    assert "one record's" not in html.unescape(report)
    with pytest.raises(InputError, match="Their sum would say nothing of either"):
        release(Request(plan_of(), None, houses(3, 3)))


@pytest.mark.slow
def test_coverage_in_a_public_report_is_of_the_released_data_alone(state, tmp_path, monkeypatch):
    """Another table that gives the same data set gives the same coverage; it is asked for, kept and repeated."""
    plan = planned(Cache(tmp_path / "cache"), "measured_laplace", limit=20.0)
    seen = []
    usual = ReleasedCoverage.run

    def run(self, analysis, *rest):
        seen.append(analysis.loaded.frame)
        return usual(self, analysis, *rest)

    monkeypatch.setattr(ReleasedCoverage, "run", run)
    outcome = release(Request(plan, None, people(2)), study=ReleasedCoverage(2))
    files = read(outcome, "releasable")
    (of,) = seen
    released = pd.read_parquet(io.BytesIO(files["synthetic_1.parquet"]))
    pd.testing.assert_frame_equal(of[released.columns], released, check_dtype=False)
    lines = pd.read_csv(io.BytesIO(files["coverage.csv"]))
    titles = {"Mean", "Share", "Shares of missing values", "90th percentile", "Regression coefficients"}
    assert set(lines["estimates"]) == titles
    assert lines["intervals that hold"].between(0, 1).all() and set(lines["rule"]) == {
        "u"
    }  # of Laplace none is known
    report = files["report.html"].decode()
    assert "of 100 intervals at 95 %" in report and "From 2 simulated databases" in report
    shown = pd.read_html(io.StringIO(report), match="Intervals that hold")[0]
    np.testing.assert_allclose(shown["Factor"], lines["factor"], atol=0.006)
    again = release(Request(plan, None, people(2), recompute=True))
    assert again.state == REPEATED and len(seen) == 1
    # Another release of the plan was made without: its archive is not changed afterwards.
    other = release(Request(plan, None, people(2), label="second"))
    assert "coverage.csv" not in read(other, "releasable")
    with pytest.raises(InputError, match="made without a study of its intervals"):
        release(Request(plan, None, people(2), label="second"), study=ReleasedCoverage(2))


@pytest.mark.slow
def test_coverage_that_cannot_be_studied_is_refused_before_a_charge(state, kept):
    plan = planned(kept, "measured_laplace", limit=20.0)
    for unit, why in (
        ("house", "leaves the column of units out of the files"),
        ("area", "It is a survey weight"),
    ):
        settings = plan.settings.model_copy(update={"unit_column": unit})
        with pytest.raises(InputError, match=why):
            ReleasedCoverage(2).check(plan.model_copy(update={"settings": settings}))
    with pytest.raises(InputError, match="Simulated databases for coverage: 2 to"):
        ReleasedCoverage(0)
    assert Ledger().balance("people").releases == 0


@pytest.mark.slow
def test_a_release_whose_coverage_cannot_be_studied_is_to_be_had_without(state, tmp_path, monkeypatch):
    plan = planned(Cache(tmp_path / "cache"), "measured_laplace", limit=20.0)

    def run(*given):
        raise FitError("no draws.")

    monkeypatch.setattr(ReleasedCoverage, "run", run)
    with pytest.raises(
        FitError, match=r"could not be studied: no draws. Ask for it again without .* stays charged"
    ):
        release(Request(plan, None, people(2)), study=ReleasedCoverage(2))
    assert release(Request(plan, None, people(2))).state == RELEASED
    assert Ledger().balance("people").spent == pytest.approx(EPSILON)  # once


@pytest.mark.slow
def test_coverage_says_that_a_frozen_risk_map_is_not_that_of_the_study(state, tmp_path, kept):
    plan, cache = planned(kept, "measured_laplace", limit=20.0), Cache(tmp_path / "c")
    found = Coverage(replicates=2, words=("Half of them.",), lines=())
    study = SimpleNamespace(run=lambda *given: found)
    released, tell = people(2).frame, lambda *given: None
    assert coverage_of(plan, released, study, cache, tell) == found
    # Strata are in no file that leaves.
    design = {"weight": "w", "weight_total": 90_000.0, "strata": "town"}
    of_strata = plan.model_copy(update={"settings": plan.settings.model_copy(update=design)})
    assert coverage_of(of_strata, released.assign(w=9.0), study, cache, tell) == found
    weighted = plan.model_copy(update={"frozen": "a map"})
    assert coverage_of(weighted, released, study, cache, tell).words == ("Half of them.", OWN_MAPS)


@pytest.mark.parametrize(
    ("rhat", "state_then"), [pytest.param(1.0021, RELEASED, marks=pytest.mark.slow), (1.2, REFUSED)]
)
def test_chains_of_the_posterior_are_checked_as_those_of_any_fit(
    state, tmp_path, monkeypatch, rhat, state_then
):
    def sampled(model, tables, scales, mode, laplace, sampler, progress):
        theta = mode + np.random.default_rng(1).normal(0, 0.1, (20, len(mode)))
        return Posterior({"theta": theta}, Diagnostics(rhat, 900.0, 900.0, 0, 2, 2000), 1.0)

    monkeypatch.setattr(engine, "sampled", sampled)
    monkeypatch.setattr(engine, "require_small", lambda *_: None)
    common = COMMON | {"epsilon": EPSILON, "datasets": 2, "measured_posterior": "exact"}
    analysis = RecordsAnalysis(people(1), BLOCKS, common, Cache(tmp_path / "cache"))
    decided = replace(DECISION, limit=20.0)
    plan = make_plan(analysis, analysis.run("measured_laplace"), decided)[0]
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == state_then
    assert (
        f"R-hat {'' if rhat < 1.1 else 'is '}{'1.003' if rhat < 1.1 else '1.200'}"
        in {c.key: c.finding for c in outcome.checks}["convergence"]
    )
