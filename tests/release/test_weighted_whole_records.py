"""A release of several sensitive variables under weights: a frozen risk map of each, in one file beside the plan."""

import hashlib
import zipfile

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.cli import main
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.audit.audit import AuditRequest
from synth_core.experiments.audit.audited import AuditedAnalysis
from synth_core.experiments.audit.neighbours import REMOVED, REPLACED
from synth_core.experiments.audit.subjects import of_plan
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import RELEASED, release
from synth_core.release.plan.frozen_map import load_map, load_maps, pack
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.system.cache import Cache

pytestmark = pytest.mark.stan

BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}),
    Block("pay", "lognormal", {"unit": 10.0, "guess": (20.0, 1.0)}, missing=()),
    Block("grade", "bracketed", {"bracket_edges": (0.0, 10.0, 20.0, 50.0)}),
)
COMMON = {"predictors": ("area",), "epsilon": 20.0, "draws": 1500, "warmup": 500, "chains": 2}
DECISION = Decision("people", "because", "A. Nalyst", "historical", limit=400.0, decimals=2)
UNSURE = {"convergence": "a short test", "growth": "a short test", "target": "a short test"}
STRICT = {"weighted": False, "censored_weighted": True, "anchored_weighted": True}


def people(seed, n=250):
    rng = np.random.default_rng(seed)
    pay = rng.lognormal(3, 0.4, n).round(2)
    pay[rng.random(n) < 0.15] = np.nan
    areas = np.random.default_rng(0).choice(["north", "south"], n)
    columns = {
        "sex": rng.choice(["f", "m"], n, p=[0.8, 0.2]),
        "pay": pay,
        "grade": rng.uniform(1, 49, n).round(1),
    }
    return Table(f"people {seed}", pd.DataFrame(columns | {"area": areas}))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("weighted", marks=pytest.mark.slow),
        pytest.param("censored_weighted", marks=pytest.mark.slow),
        pytest.param("anchored_weighted", marks=pytest.mark.long),
    ],
)
def planned(request, tmp_path_factory):
    cache = Cache(tmp_path_factory.mktemp("cache"))
    analysis = RecordsAnalysis(
        people(1), BLOCKS, COMMON | {"risk_reference": "people 5"}, cache, reference=people(5)
    )
    result = analysis.run(request.param)
    return analysis, result, *make_plan(analysis, result, DECISION)


def released_with(plan, content, table, cache):
    """What a release reads of a table: its weights come from the plan's maps."""
    common = COMMON | {"risk_reference": "people 5"}
    return RecordsAnalysis(table, BLOCKS, common, cache, reference=load_maps(plan, content))


def weights_in(analysis, plan):
    """Of the scheme, without the constant of anchored censoring: of shape (n_parts, n_records), NaN where missing."""
    found = []
    for each in analysis.analyses(plan.point.likelihood.anchors):
        found.append(np.full(analysis.table.rows, np.nan))
        found[-1][each.selection.complete] = each.weighted(plan.point).chosen.weights
    return np.array(found)


def test_the_plan_names_one_file_with_a_map_of_each_part(planned):
    analysis, result, plan, content = planned
    assert parse_plan(plan.canonical().encode()) == plan
    assert plan.frozen.sha256 == hashlib.sha256(content).hexdigest()
    maps = load_maps(plan, content)
    assert len(maps) == len(analysis.parts) == 4 and len({each.key for each in maps}) == 4
    assert {each.name for each in maps} == {"people 5"} and all(each.closed for each in maps)
    assert plan.strict == STRICT[plan.mechanism]
    if plan.strict:
        assert (plan.target_epsilon, plan.safety, plan.guarantee.label) == (20.0, 1.0, "ε-DP")
    else:
        assert plan.target_epsilon >= result.epsilon * plan.safety > result.epsilon
        assert plan.guarantee.label == "asymptotic DP"
    with pytest.raises(InputError, match="risk map is of whole records"):
        load_map(plan, content)


def test_a_release_of_the_table_that_the_maps_were_frozen_on_is_known(planned):
    """In any order of its rows, and with a column more: its weights come from itself, whatever the plan says."""
    _, _, plan, _ = planned
    shuffled = people(5).frame.sample(frac=1.0, random_state=1).reset_index(drop=True)
    for frame in (people(5).frame, shuffled, shuffled.assign(kept="x")):
        assert plan.standing(Table("t", frame)).tuned_on == "confidential"
    assert plan.standing(people(2)).tuned_on == "historical"


def test_the_maps_give_the_weights_of_the_reference(planned, tmp_path):
    """As Compare gives them, from the table that the maps were frozen on."""
    analysis, _, plan, content = planned
    again = released_with(plan, content, people(1), Cache(tmp_path))
    for mine, theirs in zip(weights_in(again, plan), weights_in(analysis, plan), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
        assert 0 < np.nanmean(mine) < 1


def test_a_changed_record_moves_no_other_weight(planned, tmp_path):
    """In any of its values: a weight reads its own record alone."""
    _, _, plan, content = planned
    frame = people(1).frame.copy()
    frame.loc[7, ["sex", "pay", "grade"]] = ["m", 9999.0, 49.0]
    frame.loc[8, ["sex", "pay", "grade"]] = ["m", np.nan, 1.0]
    tables = people(1), Table("changed", frame)
    found = [weights_in(released_with(plan, content, table, Cache(tmp_path)), plan) for table in tables]
    others = ~np.isin(np.arange(len(frame)), [7, 8])
    np.testing.assert_array_equal(found[0][:, others], found[1][:, others])
    assert found[0][2, 7] != found[1][2, 7]


def test_a_release_under_frozen_maps(planned, state):
    _, _, plan, content = planned
    outcome = release(Request(plan, content, people(2), overrides={} if plan.strict else UNSURE))
    assert outcome.state == RELEASED, outcome
    checks = {check.key: check for check in outcome.checks}
    assert "riskier than any" in checks["map"].finding
    assert plan.guarantee.label in checks["guarantee"].finding
    assert Ledger().balance("people").spent == outcome.epsilon >= plan.target_epsilon
    if not plan.strict:
        assert "the second half of" in checks["growth"].finding
        assert "times the factor of safety" in checks["target"].finding
    [internal] = [path for name, path in outcome.archives.items() if "INTERNAL" in name]
    with zipfile.ZipFile(internal) as archive:
        [kept] = [name for name in archive.namelist() if name.endswith(".riskmap.npz")]
        assert archive.read(kept) == content


def test_an_audit_of_the_plan_has_its_maps(planned, tmp_path):
    _, _, plan, content = planned
    asked = AuditRequest((), 1_000)
    found, asked = of_plan(plan, content, people(2), Cache(tmp_path), lambda text, share: None, asked, 3)
    assert isinstance(found, RecordsAnalysis) and asked.mechanisms == (plan.mechanism,)
    assert {each.weights_from for each in found.analyses(False)} == {"closed"}
    assert AuditedAnalysis(found).relations(plan.point) == (
        (REMOVED, REPLACED) if plan.strict else (REMOVED,)
    )


def test_another_map_or_a_damaged_one_is_refused(planned):
    _, _, plan, content = planned
    with pytest.raises(InputError, match="checksum differs"):
        load_maps(plan, content[:-1])
    for maps in ([b""] * 4, [content]):
        wrong = pack(maps)
        digest = hashlib.sha256(wrong).hexdigest()
        other = plan.model_copy(update={"frozen": plan.frozen.model_copy(update={"sha256": digest})})
        with pytest.raises(InputError, match=r"cannot be read|has not one part"):
            load_maps(other, wrong)


@pytest.mark.slow
def test_the_command_line_plans_weights_and_releases(tmp_path, state, capsys):
    for seed in (1, 2, 5):
        people(seed).frame.to_csv(tmp_path / f"{seed}.csv", index=False)
    blocks = ["--block", "sex=categorical:categories=f,m", "--block", "pay=lognormal:unit=10:missing="]
    plan = ["plan", str(tmp_path / "1.csv"), *blocks, "--predictors", "area", "--risk-reference",
            str(tmp_path / "5.csv"), "--mechanism", "weighted", "--draws", "1500", "--warmup", "500",
            "--tuned-on", "historical", "--series", "people", "--reason", "because", "--decided-by", "A. Nalyst",
            "--limit", "200", "--out", str(tmp_path / "plan.json")]  # fmt: skip
    assert main(plan) == 0
    assert "Risk map, INTERNAL" in capsys.readouterr().out
    overrides = [word for each in UNSURE.items() for word in ("--override", *each)]
    assert (
        main(
            [
                "apply",
                str(tmp_path / "plan.json"),
                str(tmp_path / "2.csv"),
                "--out",
                str(tmp_path / "out"),
                *overrides,
            ]
        )
        == 0
    )
    assert "Release 1 of people" in capsys.readouterr().out
    compare = ["compare", str(tmp_path / "2.csv"), *blocks, "--predictors", "area"]
    assert main([*compare, "--risk-reference", str(tmp_path / "plan.json")]) == 2
    assert "risk map is of whole records" in capsys.readouterr().err
