"""A release of several sensitive variables: one plan, one charge, whole synthetic records, and nothing confidential."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import RELEASED, REPEATED, release
from synth_core.release.output.dataset import Variable
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.release.plan.schema import differences
from synth_core.release.report import report

pytestmark = pytest.mark.stan

BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}, share=0.3),
    Block("work", "categorical", {"categories": ("no", "yes")}, missing=("?",)),
    Block("pay", "lognormal", {"unit": 10.0, "guess": (20.0, 1.0)}, missing=()),
)
COMMON = {"predictors": ("area",), "epsilon": 20.0, "draws": 1000, "warmup": 300, "chains": 2}
DECISION = Decision("people", "because", "A. Nalyst", "historical", limit=400.0, decimals=2)
CANARY = 41.7379  # released values have two decimals


def people(seed):
    rng = np.random.default_rng(seed)
    n = 300
    work = rng.choice(["no", "yes", "?"], n, p=[0.3, 0.6, 0.1]).astype(object)
    pay = rng.lognormal(3, 0.4, n).round(2)
    pay[rng.random(n) < 0.15] = np.nan
    pay[7] = CANARY
    areas = np.random.default_rng(0).choice(["north", "south"], n)
    return Table(
        f"people {seed}",
        pd.DataFrame({"sex": rng.choice(["f", "m"], n), "work": work, "pay": pay, "area": areas}),
    )


@pytest.fixture(scope="module")
def plan(kept):
    analysis = RecordsAnalysis(people(1), BLOCKS, COMMON, kept)
    return make_plan(analysis, analysis.run("anchored"), DECISION)[0]


@pytest.mark.long
def test_a_single_variable_may_be_missing_as_one_block(kept, state):
    """Every row stays, and which cells are empty is drawn; without the block the rows leave, and the gate says so."""
    alone = Block("pay", "lognormal", {"unit": 10.0, "guess": (20.0, 0.5)}, missing=())
    cache, common = kept, COMMON | {"epsilon": 8.0, "anchor": "pilot", "draws": 3000}
    analysis = RecordsAnalysis(people(1), (alone,), common, cache)
    one, _ = make_plan(analysis, analysis.run("anchored"), DECISION)
    outcome = release(Request(one, None, people(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    made = pd.read_csv(io.BytesIO(read(outcome, "releasable")["synthetic_1.csv"]))
    before = people(2).frame
    assert len(made) == len(before) == 300
    assert 0.02 < made["pay"].isna().mean() < 0.4
    [said] = [check for check in outcome.checks if check.key == "guarantee"]
    assert said.status == "passed" and "Incomplete" not in said.public

    settings = make_settings(outcome="pay", model="lognormal", **alone.options, **common)
    single = Analysis(people(1), settings, cache)
    plan, _ = make_plan(single, single.run("anchored"), DECISION)
    outcome = release(Request(plan, None, people(2), dry_run=True))
    [said] = [check for check in outcome.checks if check.key == "guarantee"]
    gone = int(before["pay"].isna().sum())
    assert said.status == "warning" and f"They are {gone}." in said.finding and "missing=" in said.advice
    assert "no ε covers" in said.public and str(gone) not in said.public


def read(outcome, kind):
    [path] = [p for n, p in outcome.archives.items() if kind in n]
    with zipfile.ZipFile(path) as archive:
        return {n.split("/", 1)[1]: archive.read(n) for n in archive.namelist()}


@pytest.mark.slow
def test_the_plan_says_what_is_sensitive_and_survives_its_file(plan):
    assert parse_plan(plan.canonical().encode()) == plan
    assert list(plan.outcomes) == ["sex", "work", "pay"]
    assert [c.role for c in plan.columns] == ["outcome"] * 3 + ["predictor"]
    assert [c.levels for c in plan.columns] == [("f", "m"), ("no", "yes"), (), ("north", "south")]
    assert plan.missing == ("work=?",)
    assert plan.target_epsilon == 20.0 and plan.strict
    assert sum(part.settings.epsilon for part in plan.parts) == pytest.approx(20.0)
    assert plan.parts[0].settings.epsilon == pytest.approx(6.0)


@pytest.mark.slow
def test_a_release_of_whole_records(plan, state):
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED, outcome
    assert outcome.epsilon == 20.0 == Ledger().balance("people").spent
    public, internal = read(outcome, "releasable"), read(outcome, "INTERNAL")
    released = pd.read_csv(io.BytesIO(public["synthetic_1.csv"]))
    assert list(released.columns) == ["sex", "work", "pay", "area"]
    assert len(released) == 300
    assert set(released["sex"]) <= {"f", "m"}
    assert set(released["work"]) <= {"no", "yes", "?"}  # the mark that the table has
    # 10 % are missing, and 15 % of the pay: noise is drawn with secrets, so a test can ask for little.
    assert 0 < (released["work"] == "?").mean() < 0.4
    assert 0 < released["pay"].isna().mean() < 0.5
    assert sorted(released["area"]) == sorted(people(2).frame["area"])
    np.testing.assert_allclose(released["pay"], released["pay"].round(2), equal_nan=True)
    dictionary = pd.read_csv(io.BytesIO(public["dictionary.csv"]))
    assert dictionary["type"].tolist() == [
        "category",
        "category, may be missing",
        "number, rounded to 2 decimals, may be missing",
        "category",
    ]
    page = public["report.html"].decode()
    assert "Synthetic data: sex, work, pay" in page and "share of yes" in page and "share missing" in page
    assert "complete in all columns, but for work, pay, are included" in page
    for name, content in public.items():
        assert b"41.737" not in content, name
    # How many values are missing is confidential where some may be: a pilot's sentence once gave it.
    for name in ("work", "pay"):
        there = int(people(2).with_missing(("work=?",)).frame[name].notna().sum())
        assert f" {there} " not in page and f"{300 - there} of" not in page
    inside = internal["report-INTERNAL.html"].decode()
    assert "k-marginal score" in inside and "work is missing" in inside
    by_record = pd.read_parquet(io.BytesIO(internal["records.parquet"]))
    assert by_record["lipschitz_bound"].max() <= 10.0 + 1e-9
    again = release(Request(plan, None, people(2), recompute=True))
    assert again.state == REPEATED and Ledger().balance("people").spent == 20.0


def test_a_data_set_without_a_single_value_is_described():
    values = np.array([[1.0, 2.0, np.nan, 4.0], [np.nan] * 4])
    found = report._described(Variable("pay", values))
    assert (found["chart"], found["statistics"]) == (None, [("share missing", [0.25, 1.0])])


def test_the_shares_of_a_described_variable_sum_to_1():
    """Those of the five with a value, beside three of eight that are missing, summed to 1.375."""
    codes = np.array([[0.0, 0, 1, 1, 1, np.nan, np.nan, np.nan], [0.0] * 8])
    rows = dict(report._described(Variable("work", codes, ("no", "yes")))["statistics"])
    assert rows == {"share of no": [0.25, 1.0], "share of yes": [0.375, 0.0], "share missing": [0.375, 0.0]}


def test_the_largest_value_that_leaves_is_told_beside_a_picture_that_leaves_it_out():
    """A mean lay far above the 95th percentile and beyond the picture, and nothing said why."""
    values = np.append(np.arange(1.0, 1000.0), 2e8)
    rows = dict(report._described(Variable("pay", values[None, :]))["statistics"])
    assert rows["smallest"] == [1.0] and rows["largest"] == [2e8]
    assert list(rows)[:2] == ["mean", "smallest"] and list(rows)[-1] == "largest"


def test_the_measures_of_an_open_table_have_words(plan):
    said = [report._measure_words(name) for name in plan.tuned_on.utility]
    assert "k-marginal score, 1000 at most" in said
    assert not [words for words in said if "_" in words]


def test_another_table_must_have_the_columns_and_the_categories(plan):
    assert differences(plan, people(2).with_missing(plan.missing)) == []
    frame = people(2).frame
    without = Table("later", frame.drop(columns="pay")).with_missing(plan.missing)
    assert differences(plan, without) == ["column 'pay' is missing"]
    odd = Table("later", frame.assign(work=frame["work"].replace("yes", "often"))).with_missing(plan.missing)
    [said] = differences(plan, odd)
    often = odd.frame["work"] == "often"
    assert said == (
        f"column 'work' has {often.sum():,} values that are no declared category (first in row {often.argmax() + 1})"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mechanism": "weighted"}, "frozen risk map"),
        ({"mechanism": "unweighted"}, "weights that a frozen risk map of each variable gives"),
        (
            {"mechanism": "exponential", "frozen": {"sha256": "0" * 64, "scalar": 0.5}},
            "nothing that is solved for",
        ),
        ({"blocks": None}, "Field required|valid tuple|must be"),
        ({"share": 0.9}, "sum"),
        ({"order": True}, "first block|sensitive variables and then"),
    ],
)
def test_an_edited_plan_is_refused(plan, change, words):
    values = json.loads(plan.canonical())
    if "share" in change:
        values["blocks"][1]["share"] = change["share"]
    elif "order" in change:
        values["blocks"].reverse()
    else:
        values |= change
    with pytest.raises(InputError, match=words):
        parse_plan(json.dumps(values).encode())


def test_what_is_solved_for_is_refused_when_the_plan_is_made(kept):
    analysis = RecordsAnalysis(people(1), BLOCKS, COMMON, kept)
    result = replace(analysis.run("anchored"), mechanism="exponential")
    with pytest.raises(InputError, match="with several sensitive variables a plan takes a strict mechanism"):
        make_plan(analysis, result, DECISION)


def test_the_command_line_goes_from_table_to_archives(tmp_path, state, capsys):
    for seed in (1, 2):
        people(seed).frame.to_csv(tmp_path / f"{seed}.csv", index=False)
    blocks = ["sex=categorical:categories=f,m", "work=categorical:categories=no,yes:missing=?",
              "pay=lognormal:unit=10:guess=20,1:missing="]  # fmt: skip
    made = [part for text in blocks for part in ("--block", text)]
    plan = ["plan", str(tmp_path / "1.csv"), *made, "--share", "sex=0.3", "--predictors", "area", "--epsilon", "30",
            "--draws", "1000", "--warmup", "300", "--chains", "1", "--tuned-on", "historical", "--series", "people",
            "--reason", "because", "--decided-by", "A. Nalyst", "--limit", "100",
            "--out", str(tmp_path / "plan.json")]  # fmt: skip
    assert main([*plan, "--mechanism", "exponential"]) == 2
    assert "with several sensitive variables" in capsys.readouterr().err
    assert main([*plan, "--mechanism", "anchored"]) == 0
    apply = ["apply", str(tmp_path / "plan.json"), str(tmp_path / "2.csv")]
    assert main([*apply, "--out", str(tmp_path / "out")]) == 0
    assert "Release 1 of people: ε = 30 charged" in capsys.readouterr().out
    assert len(list((tmp_path / "out").glob("*.zip"))) == 2
