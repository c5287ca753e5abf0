"""The gate tells of a poor release in plain words, never refuses it for that, and lets none of it out."""

import html
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from synth_core.analysis.check.shape import first_rows
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.analysis.summary import ShapeLine
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.table import Table
from synth_core.errors import FitError, InputError
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask
from synth_core.release.making import drawing
from synth_core.release.making.drawing import Request, purge_pending, working_directory
from synth_core.release.making.releasing import RELEASED, release
from synth_core.release.output.closeness_checks import CLOSENESS, PUBLIC, closeness_warnings
from synth_core.release.output.dataset import synthetic_data
from synth_core.release.output.file_checks import file_checks
from synth_core.release.output.source import KeptColumns
from synth_core.release.plan.planning import make_plan
from synth_core.release.state import private_directory
from synth_core.system.cache import Cache
from synth_core.system.locks import file_lock
from tests.release.test_whole_records import DECISION, read
from tests.support.summaries import with_numbers
from tests.ui.conftest import main_module  # noqa: F401 (AppTest would stay the module of processes that start later)

pytestmark = pytest.mark.usefixtures("state")
BLOCKS = (
    Block("degree", "categorical", {"categories": ("none", "BA", "MA", "PhD")}),
    Block("pay", "lognormal", {"unit": 1.0, "guess": (3e4, 1.0)}),
)


def pupils(seed, n=1500):
    """Nobody below 18 has a degree; pay follows from it. Age may be kept though no model knows it."""
    rng = np.random.default_rng(seed)
    age = np.random.default_rng(0).integers(5, 80, n)
    degree = np.where(age < 18, 0, rng.integers(0, 4, n))
    pay = rng.lognormal(9 + 0.5 * degree, 0.5).round()
    names = np.array(["none", "BA", "MA", "PhD"], dtype=object)
    frame = pd.DataFrame({"degree": names[degree], "pay": pay, "age": age, "area": ["n", "s"] * (n // 2)})
    book = Codebook(columns=(Entry(column="age", role="public"),))
    return replace(Table(f"pupils {seed}", frame), codebook=book)


def planned(cache, predictors):
    common = {"predictors": predictors, "epsilon": 100.0, "datasets": 2}
    analysis = RecordsAnalysis(pupils(1), BLOCKS, common, cache)
    decision = replace(DECISION, limit=500.0)
    return make_plan(analysis, analysis.run("measured_laplace"), decision)[0]


@pytest.fixture(scope="module")
def poor(tmp_path_factory):
    return planned(Cache(tmp_path_factory.mktemp("cache")), ("area",))


def gate_rows(outcome):
    """The lines of the gate in the public report."""
    page = read(outcome, "releasable")["report.html"].decode()
    rows = re.findall(
        r"<tr><th scope=\"row\">(.*?)</th><td class=\"status\">(.*?)</td>\s*<td>(.*?)</td>", page, re.S
    )
    return {html.unescape(title): (status, html.unescape(words).strip()) for title, status, words in rows}


@pytest.mark.slow
def test_a_poor_release_is_told_in_plain_words_and_passes(poor, kept):
    outcome = release(Request(poor, None, pupils(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    checks = {check.key: check for check in outcome.checks}
    assert [checks[key].status for key in CLOSENESS] == ["passed", "warning", "warning"]
    assert (
        "of those with age" in checks["combinations"].finding and "degree" in checks["combinations"].finding
    )
    assert "0 % of the confidential ones" in checks["combinations"].finding
    assert (
        "pay off by" in checks["variables"].finding and "degree of those with age" in checks["groups"].finding
    )
    inside = html.unescape(read(outcome, "INTERNAL")["report-INTERNAL.html"].decode())
    assert "Unlikely combinations" in inside and "of those with age" in inside
    assert outcome.look.combinations and len(outcome.look.rows) == 20
    assert ("age", "degree") in [pair.names for pair in outcome.look.pairs]
    # a good release of the same table has the same public lines, whatever was found
    good = release(Request(planned(kept, ("area", "age")), None, pupils(2)))
    statuses = {check.key: check.status for check in good.checks}
    assert statuses["groups"] == "passed"
    titles = [checks[key].title for key in CLOSENESS]
    for made in (outcome, good):
        assert [gate_rows(made)[title] for title in titles] == [("internal", PUBLIC)] * 3
    with pytest.raises(InputError, match="warns and never refuses"):
        release(Request(poor, None, pupils(2), overrides={"groups": "because"}))


@pytest.mark.slow
def test_later_data_sets_pass_the_checks_that_read_the_files_alone(poor, monkeypatch):
    """Nothing of the confidential table is read for them; what breaks what was declared cannot leave."""
    table = pupils(2)
    assert release(Request(poor, None, table)).state == RELEASED

    def wrong(plan, synthetic):
        checks = file_checks(plan, synthetic)
        return [
            replace(checks[0], status="failed", finding="a column too many", advice="Report it."),
            *checks[1:],
        ]

    monkeypatch.setattr(drawing, "file_checks", wrong)
    with pytest.raises(FitError, match=r"cannot leave .*a column too many.*Nothing was written"):
        release(Request(poor, None, table, more_data_sets=1))


@pytest.mark.parametrize("change", ["bounds", "category", "column"])
def test_what_breaks_what_was_declared_is_found_in_the_files(poor, change):
    drawn = {"degree": np.zeros((1, 50)), "pay": np.full((1, 50), 9.0)}
    kept = pd.DataFrame({"age": np.arange(50), "area": ["n", "s"] * 25})
    synthetic = synthetic_data(poor, KeptColumns(kept, kept.astype(str)), drawn, 5)
    failed = [check.key for check in file_checks(poor, synthetic) if check.status == "failed"]
    assert failed == []
    frame, variables = synthetic.frames[0], list(synthetic.variables)
    if change == "bounds":
        variables[1] = replace(variables[1], bounds=(10.0, 20.0))
    elif change == "category":
        frame = frame.assign(degree="Dr")
    else:
        frame = frame.assign(name="A. Person")
    wrong = replace(synthetic, frames=(frame,), variables=tuple(variables))
    assert [c.key for c in file_checks(poor, wrong) if c.status == "failed"] == [
        "bounds" if change == "bounds" else "columns"
    ]


def test_what_a_release_in_the_making_needs_is_not_purged(tmp_path):
    busy, left = (working_directory(name) for name in ("busy", "left"))
    for path in (busy, left):
        (path / "fit.npz").write_bytes(b"x")
    with file_lock(private_directory("locks") / "busy"):
        assert purge_pending() == 1
        assert (busy / "fit.npz").exists() and not left.exists()
    assert purge_pending() == 0 and not busy.exists()


def test_a_rule_of_the_codebook_that_a_plan_does_not_keep_is_said(poor):
    """The app plans a single variable without its rules."""
    rule = "age < 18 -> degree = none"
    book = Codebook(columns=(Entry(column="age", role="public"), Entry(column="degree", rules=(rule,))))
    drawn = {"degree": np.zeros((1, 50)), "pay": np.full((1, 50), 9.0)}
    kept = pd.DataFrame({"age": np.arange(50), "area": ["n", "s"] * 25})
    synthetic = synthetic_data(poor, KeptColumns(kept, kept.astype(str)), drawn, 5)
    [said] = [
        c for c in file_checks(poor.model_copy(update={"codebook": book}), synthetic) if c.key == "rules"
    ]
    assert said.status == "warning" and rule in said.finding and rule in said.public


def test_a_rule_that_no_record_meets_is_said(poor):
    """A misspelt value: the rule was passed as kept by every record, and kept nothing out."""
    drawn = {"degree": np.zeros((1, 50)), "pay": np.full((1, 50), 9.0)}
    kept = pd.DataFrame({"age": np.arange(50), "area": ["n", "s"] * 25})
    synthetic = synthetic_data(poor, KeptColumns(kept, kept.astype(str)), drawn, 5)
    for value, status in (("n", "passed"), ("north", "warning")):
        rules = (f"area = {value} -> degree = none",)
        ruled = poor.model_copy(update={"settings": poor.settings.model_copy(update={"rules": rules})})
        [said] = [c for c in file_checks(ruled, synthetic) if c.key == "rules"]
        assert said.status == status
        assert ("no record meets the condition of area = north" in said.public) == (status == "warning")


def test_a_plan_says_what_stands_out_on_the_table_it_was_tuned_on(kept):
    common = {"predictors": ("area",), "epsilon": 100.0}
    analysis = RecordsAnalysis(pupils(1), BLOCKS, common, kept)
    [combinations, groups] = closeness_warnings(analysis, analysis.run("measured_laplace"))
    assert "Unlikely combinations: " in combinations and "of those with age" in combinations
    assert "Accuracy of groups: " in groups


@pytest.mark.slow
def test_compare_says_what_the_gate_will_say(kept):
    task = MechanismTask(
        TaskInput.of(
            pupils(1),
            make_settings(outcome="degree", model="categorical", predictors=("area",), epsilon=100.0),
            blocks=BLOCKS,
        ),
        "measured_laplace",
    )
    analysis = RecordsAnalysis(pupils(1), BLOCKS, {"predictors": ("area",), "epsilon": 100.0}, kept)
    summary = task.answer(analysis)
    lines = {line.title: line for line in summary.closeness}
    assert not lines["Fit of each variable"].warns and lines["Unlikely combinations"].warns

    def page(summaries):
        from synth_core.ui.compare.closeness import show_closeness

        show_closeness(summaries)

    shown = AppTest.from_function(page, args=([summary],)).run(timeout=30)
    assert not shown.exception and "in 1 of 1 something does" in shown.expander[0].label
    assert "⚠" in shown.table[0].value["Unlikely combinations"].iloc[0]
    older = AppTest.from_function(page, args=([replace(summary, closeness=())],)).run(timeout=30)
    assert not older.exception and not older.expander
    _shows_what_tables_look_like(analysis, summary)


def _shows_what_tables_look_like(analysis, summary):
    """Twenty rows beside the shape of both tables, against pandas."""
    made, mine = analysis.run("measured_laplace").synthetic[0], pupils(1).frame
    look = summary.first_rows
    assert look.columns == ["degree", "pay", "area", "age"] and len(look.rows) == 20
    assert [row[0] for row in look.rows] == list(made.degree[:20])
    assert [row[2:] for row in look.rows] == [
        [a, str(b)] for a, b in zip(mine.area[:20], mine.age[:20], strict=True)
    ]
    shape = {(line.variable, line.what): line for line in summary.shape}
    assert ("pay", "zero") not in shape and ("degree", "missing") not in shape
    none = shape["degree", "none"]
    assert none.confidential == f"{100 * (mine.degree == 'none').mean():.1f} %"
    assert none.synthetic == f"{100 * (made.degree == 'none').mean():.1f} %"
    assert shape["pay", "half is below"].confidential == f"{mine.pay.median():,.0f}"
    assert shape["pay", "a quarter is below"].synthetic == f"{made.pay.quantile(0.25):,.0f}"

    def page(summaries):
        from synth_core.ui.compare.look import show_look

        show_look(summaries)

    shown = AppTest.from_function(page, args=([summary],)).run(timeout=30)
    assert not shown.exception and list(shown.dataframe[0].value.columns) == look.columns
    assert list(shown.table[0].value.columns) == ["Confidential", "Measured, pure ε"]
    below = ShapeLine("pay", "below zero", "0.0 %", "2.0 %")  # of one table alone it is told of all
    other = with_numbers(replace(summary, shape=(*summary.shape, below)), mechanism="measured")
    told = AppTest.from_function(page, args=([summary, other],)).run(timeout=30).table[0].value
    assert list(told.loc[("pay", "below zero")]) == ["0.0 %", "0.0 %", "2.0 %"]
    assert (
        not AppTest.from_function(page, args=([replace(summary, first_rows=None)],)).run(timeout=30).expander
    )


def test_the_first_rows_have_the_survey_weight_as_the_released_file_does():
    frame = pd.DataFrame({"age": [1, 2, 3], "pay": [4.0, 5.0, 6.0], "wt": [7.0, 8.0, 9.0]})
    analysis = SimpleNamespace(
        settings=make_settings(outcome="pay", model="lognormal", predictors=("age",), weight="wt"),
        loaded=Table("t.csv", frame),
        used_rows=SimpleNamespace(complete=np.array([True, False, True])),
        outcomes={"pay": SimpleNamespace(outcome_categories=None)},
        synthetic=lambda result: {"pay": np.array([[4.5, 6.5]])},
    )
    look = first_rows(analysis, None)
    assert look.columns == ["pay", "age", "wt"]
    assert [row[1:] for row in look.rows] == [["1", "7"], ["3", "9"]]
