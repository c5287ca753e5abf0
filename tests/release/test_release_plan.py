"""Plans and frozen maps: closed to strangers, and month after month the same alpha = m(x)."""

import json
import stat

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchor import read_anchor_values
from synth_core.analysis.mechanism_weights import weights_of
from synth_core.analysis.settings import make_settings
from synth_core.cli.data import load_reference
from synth_core.data.design import DesignTransform, select
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.composition import Count
from synth_core.release.plan.column_schema import ColumnSchema
from synth_core.release.plan.frozen_map import SUFFIX, find_map, load_map, to_bytes
from synth_core.release.plan.plan import Plan, Tuning, parse_plan, read_plan
from synth_core.release.plan.planning import Decision, make_plan, save_plan
from synth_core.release.plan.schema import check_schema
from synth_core.system.cache import Cache

pytestmark = pytest.mark.stan
QUICK = {"draws": 200, "warmup": 200, "chains": 1}
DECISION = Decision(series="income", reason="a test", decided_by="tester", tuned_on="historical", limit=10.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


def tuned(store, mechanism, example="lognormal", rows=200, seed=1, **more):
    table = load_example(example, rows, seed)
    known = {"outcome": "x", "model": example, "predictors": ("z",) if "z" in table.frame else ()}
    analysis = Analysis(table, make_settings(**(known | QUICK | more)), store)
    return analysis, analysis.run(mechanism)


def frozen_on(plan, content, table, store):
    settings = plan.settings.model_copy(update={"risk_reference": "plan"})
    return Analysis(table, settings, store, reference=load_map(plan, content))


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("target_epsilon",), "5", "a number, and not a text"),
        (("safety",), True, "a number, and not true or false"),
        (("shuffle",), 1, "true or false, and not a number"),
        (("settings", "epsilon"), "5", "a number, and not a text"),
        (("settings", "chains"), True, "a number, and not true or false"),
        (("settings", "range", 0), "0.4", "a number, and not a text"),
        (("tuned_on", "rows"), "200", "a number, and not a text"),
        (("columns", 0, "whole"), "no", "true or false, and not a text"),
    ],
)
def test_a_plan_takes_no_value_of_another_kind(store, place, value, words):
    analysis, result = tuned(store, "censored")
    values = json.loads(make_plan(analysis, result, DECISION)[0].canonical())
    held = values
    for name in place[:-1]:
        held = held[name]
    held[place[-1]] = value
    with pytest.raises(InputError, match=rf"{'.'.join(map(str, place))}: must be {words}"):
        parse_plan(json.dumps(values).encode())


@pytest.mark.parametrize(
    "content",
    [
        '{"beta": ["3.5"], "sigma": 0.8}',
        '{"beta": [3.5], "sigma": "0.8"}',
        '{"beta": [true], "sigma": 0.8}',
        '{"beta": [3.5], "sigma": true}',
        '{"beta": [3.5], "sigma": 0.8, "sigma": 0.9}',
        '{"beta": [3.5], "sigma": null}',
        '{"beta": 3.5, "sigma": Infinity}',
    ],
)
def test_declared_values_are_numbers_each_once(tmp_path, content):
    (tmp_path / "values.json").write_text(content)
    with pytest.raises(InputError, match="not a JSON object of numbers, each name once"):
        read_anchor_values(tmp_path / "values.json")


@pytest.mark.parametrize(
    "mechanism",
    [
        "censored_weighted",
        "count_weighted",
        "exponential",
        "weighted_final",
        "likelihood+truncation/averaged",
    ],
)
def test_weights_on_the_tuning_table_are_the_tuned_ones_and_depend_on_the_record_alone(store, mechanism):
    analysis, result = tuned(store, mechanism)
    plan, content = make_plan(analysis, result, DECISION)
    again = frozen_on(plan, content, analysis.table, store).run(mechanism)
    np.testing.assert_allclose(again.weights, result.weights, rtol=1e-9, atol=1e-12)

    # The same record in another company: its weight does not move, to the last bit.
    other = load_example("lognormal", 150, 77).frame
    guest = analysis.table.frame.iloc[[3, 42]]
    alone = Table("a", pd.concat([guest, other], ignore_index=True))
    doubled = Table("b", pd.concat([guest, other * 1.5], ignore_index=True))
    weights = [frozen_on(plan, content, t, store).run(mechanism).weights[:2] for t in (alone, doubled)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_allclose(weights[0], result.weights[[3, 42]], rtol=1e-9, atol=1e-12)


def test_likelihood_weights_by_a_naive_loop(store):
    analysis, result = tuned(store, "weighted", scale=0.9, shift=0.05)
    plan, content = make_plan(analysis, result, DECISION)
    frozen = load_map(plan, content)
    table = load_example("lognormal", 60, 5)
    found = weights_of(
        find_mechanism("weighted"), frozen_on(plan, content, table, store).fits, frozen
    ).weights
    z_mean, z_sd = analysis.table.frame["z"].mean(), analysis.table.frame["z"].std(ddof=0)
    draws, (low, high) = frozen.posterior.draws, frozen.spans["max_abs_log_lik"]
    for i in (0, 17, 59):
        x, z = table.frame["x"][i], (table.frame["z"][i] - z_mean) / z_sd
        f = 0.0
        for (b0, b1), sigma in zip(draws["beta"], draws["sigma"], strict=True):
            u = (np.log(x) - b0 - b1 * z) / sigma
            f = max(f, abs(-np.log(x) - np.log(sigma) - 0.5 * np.log(2 * np.pi) - 0.5 * u * u))
        risk = min(max((f - low) / (high - low), 0.0), 1.0)
        assert found[i] == pytest.approx(min(max(0.9 * (1 - risk) + 0.05, 0.0), 1.0), rel=1e-9)


def test_a_map_frozen_on_the_released_table_is_no_strict_promise(store, tmp_path):
    """Whatever the settings were tuned on, and in whatever order its rows stand; nor is the tuning table's."""
    other, released = load_example("lognormal", 200, 1), load_example("lognormal", 200, 2)
    shuffled = Table("again", released.frame.sample(frac=1.0, random_state=1).assign(more=1), True)
    settings = make_settings(outcome="x", model="lognormal", predictors=("z",), risk_reference="r", **QUICK)
    analysis = Analysis(other, settings, store, reference=released)
    plan, content = make_plan(analysis, analysis.run("censored_weighted"), DECISION)
    for table in (released, shuffled, other):
        assert plan.standing(table).guarantee.key == "settings_seen"
    assert plan.standing(load_example("lognormal", 200, 3)).guarantee.label == "ε-DP"
    # Nor does a comparison take the plan's map for the table that it was frozen on.
    save_plan(plan, content, tmp_path / "plan.json")
    named = settings.model_copy(update={"risk_reference": str(tmp_path / "plan.json")})
    with pytest.raises(InputError, match="was frozen on this very table"):
        load_reference(named, 1, shuffled)
    assert load_reference(named, 1, other).closed


OTHER_RISK = [
    ({"unit_column": "u", "unit_size": 3}, r"unit of several records \(there none, here u\)"),
    ({"unit": 1000.0}, r"unit \(there 1, here 1000\)"),
    ({"model": "two_part"}, r"model \(there lognormal, here two_part\)"),
    ({"predictors": ()}, r"predictors \(there z, here none\)"),
    ({"categorical": ("z",)}, r"predictors that are categories \(z\)"),
]


@pytest.mark.parametrize(("changes", "said"), OTHER_RISK)
def test_a_map_is_not_taken_where_risk_is_measured_otherwise(store, tmp_path, changes, said):
    """Its span is of the plan's model, density, design and units: under others weights would be of nothing."""
    analysis, result = tuned(store, "censored_weighted")
    plan, content = make_plan(analysis, result, DECISION)
    save_plan(plan, content, tmp_path / "plan.json")
    mine, other = (
        plan.settings.model_copy(update={"risk_reference": str(tmp_path / "plan.json")}),
        tuned_on(2),
    )
    load_reference(mine.model_copy(update={"prior_scale": 2.0, "epsilon": 3.0}), 1, other)  # moves no span
    with pytest.raises(InputError, match=said):
        load_reference(mine.model_copy(update=changes), 1, other)


def tuned_on(seed):
    return load_example("lognormal", 200, seed)


@pytest.mark.slow
def test_another_mechanism_than_the_plans_is_promised_what_its_map_fixes(store):
    """A map without k lets re-weighting solve for it on the table: every weight then depends on all records."""
    analysis, result = tuned(store, "censored_weighted")
    plan, content = make_plan(analysis, result, DECISION)
    other = frozen_on(plan, content, tuned_on(2), store)
    assert other.run("censored_weighted").guarantee.label == "ε-DP"
    solved = other.run("likelihood+reweighting/censored")
    assert "refits" in solved.tuned
    assert solved.guarantee.key == "weights_seen"
    with pytest.raises(InputError, match="no values that count weights could count in"):
        other.run("count/censored")


def test_a_plan_made_before_records_were_hashed_keeps_its_digest(store):
    analysis, result = tuned(store, "censored_weighted")
    plan, _ = make_plan(analysis, result, DECISION)
    values = json.loads(plan.canonical())
    del values["tuned_on"]["records"], values["frozen"]["records"]
    older = parse_plan(json.dumps(values).encode())
    assert '"records"' not in older.canonical()
    assert older.standing(analysis.table).guarantee.key == "settings_seen"


@pytest.mark.slow
def test_what_was_matched_becomes_a_number(store):
    analysis, result = tuned(store, "weighted", match_epsilon="exponential", epsilon=4.0)
    plan, _ = make_plan(analysis, result, DECISION)
    assert plan.settings.match_epsilon is None
    assert plan.settings.scale == result.tuned["scale"] != 1.0
    analysis, result = tuned(store, "censored", match_epsilon="weighted")
    plan, content = make_plan(analysis, result, DECISION)
    assert content is None
    assert plan.target_epsilon == plan.settings.epsilon == pytest.approx(result.epsilon)


def test_the_target_of_a_measured_epsilon_has_room(store):
    analysis, result = tuned(store, "weighted")
    plan, _ = make_plan(analysis, result, DECISION)
    assert plan.safety == 1.10  # below 1,000 records (PPM 4.5)
    assert result.epsilon * 1.1 <= plan.target_epsilon < result.epsilon * 1.1 + 0.1


@pytest.fixture(scope="module")
def saved(store, tmp_path_factory):
    analysis, result = tuned(store, "censored_weighted", epsilon=6.0)
    plan, content = make_plan(analysis, result, DECISION)
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    save_plan(plan, content, path)
    return plan, content, path


def test_a_plan_survives_its_file_and_stays_private(saved):
    plan, content, path = saved
    assert read_plan(path) == plan
    assert read_plan(path).digest == plan.digest
    assert find_map(plan, [path.parent]) == content
    assert to_bytes(load_map(plan, content))  # loads, and can be written again
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = path.read_text()
    for hidden in ("seed", "risk_reference", "match_epsilon"):
        assert hidden not in json.loads(text)["settings"]


def changed(plan, **values):
    return json.dumps(json.loads(plan.canonical()) | values).encode()


def test_a_plan_holds_what_its_limit_counts_and_an_older_one_reads_unchanged(saved):
    plan = saved[0]
    assert "limit_delta" not in json.loads(plan.canonical())  # the digest of a plan of before is the same
    assert plan.count == Count()
    by_zcdp = parse_plan(changed(plan, limit_delta=1e-6))
    assert by_zcdp.count == Count(1e-6)
    assert parse_plan(by_zcdp.canonical().encode()) == by_zcdp
    assert by_zcdp.digest != plan.digest
    assert parse_plan(changed(plan, limit_delta=None)).digest == plan.digest


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"limit_delta": 0.5}, "limit_delta"),
        ({"limit_delta": 1e-13}, "limit_delta"),
        ({"limit_delta": "x"}, "limit_delta"),
        ({"limit_delta": 1e-6, "limit": None}, "belongs to a limit"),
        ({"extra": 1}, "not known here: extra"),
        ({"__class__": "os.system"}, "not known here: __class__"),
        ({"version": 2}, "version"),
        ({"format": "pickle"}, "not a release plan"),
        ({"series": "../../etc/passwd"}, "series"),
        ({"series": "a/b"}, "series"),
        ({"series": "x" * 65}, "series"),
        ({"series": ""}, "series"),
        ({"reason": "  "}, "reason"),
        ({"reason": "x" * 5000}, "reason"),
        ({"reason": "a\x1b[2Jb"}, "control characters"),
        ({"decided_by": "\u202eevil"}, "control characters"),
        ({"mechanism": "likelihood/censored/averaged"}, "No guarantee"),
        ({"target_epsilon": -1}, "target_epsilon"),
        ({"target_epsilon": 7.0}, "its own epsilon"),
        ({"frozen": None}, "frozen risk map"),
        ({"frozen": {"sha256": "../x", "k": None, "scalar": None}}, "sha256"),
        ({"seed_policy": "fixed"}, "seed_policy"),
        ({"columns": []}, "columns"),
        ({"limit": 0}, "limit"),
        ({"clamp": True}, "declared"),
    ],
)
def test_hostile_plans_are_refused(saved, values, message):
    with pytest.raises(InputError, match=message) as error:
        parse_plan(changed(saved[0], **values))
    assert "\n" not in str(error.value)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize("hidden", ["seed", "risk_reference", "match_epsilon", "earlier", "unknown"])
def test_a_plan_holds_no_seed(saved, hidden):
    values = json.loads(saved[0].canonical())
    with pytest.raises(InputError, match=hidden):
        parse_plan(changed(saved[0], settings=values["settings"] | {hidden: 1}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"[]", "one JSON object"),
        (b'{"a": NaN}', "no number"),
        (b'{"a": -Infinity}', "no number"),
        (b'{"a": 1e999}', "too large"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"\xff\xfe", "not valid JSON"),
        (b'{"a": ' + b"[" * 100_000, "not valid JSON"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not valid JSON"),
        (b" " * (1024**2 + 1), "larger than"),
    ],
)
def test_files_that_are_no_plan(content, message):
    with pytest.raises(InputError, match=message):
        parse_plan(content)


def test_a_file_of_100_mb_is_not_read(tmp_path):
    path = tmp_path / "big.json"
    with path.open("wb") as stream:
        stream.truncate(100 * 1024**2)
    with pytest.raises(InputError, match="larger than"):
        read_plan(path)


def test_another_or_a_damaged_risk_map_is_refused(saved, tmp_path):
    plan, content, _ = saved
    with pytest.raises(InputError, match="checksum"):
        load_map(plan, content[:-1] + b"x")
    (tmp_path / f"{plan.frozen.sha256}{SUFFIX}").write_bytes(b"x")
    with pytest.raises(InputError, match="checksum"):
        load_map(plan, find_map(plan, [tmp_path]))
    with pytest.raises(InputError, match="missing"):
        find_map(plan, [tmp_path / "nowhere"])


def test_a_map_of_python_objects_is_refused(saved):
    """A map whose plan was forged to name it: still nothing is unpickled."""
    import hashlib
    import io

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    stream = io.BytesIO()
    np.savez(stream, outcome=np.array([Bomb()], dtype=object), __json__=np.zeros(2, np.uint8))
    content = stream.getvalue()
    frozen = {"sha256": hashlib.sha256(content).hexdigest(), "k": None, "scalar": None}
    plan = parse_plan(changed(saved[0], frozen=frozen))
    with pytest.raises(InputError, match="cannot be read"):
        load_map(plan, content)


def test_drift_is_refused_and_named(store):

    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "x": rng.lognormal(3, 1, 120),
            "region": rng.choice(["N", "S"], 120),
            "age": rng.integers(20, 60, 120),
        }
    )
    settings = make_settings(
        outcome="x", model="lognormal", predictors=("region", "age"), bounds=(0.0, 1e4), **QUICK
    )
    analysis = Analysis(Table("t", frame), settings, store)
    plan, _ = make_plan(analysis, analysis.run("censored"), DECISION)
    check_schema(plan, Table("same", frame.assign(unused=1)))
    # One value of the sensitive column decides no refusal: whole numbers may have decimals in another table.
    assert any(column.name == "x" for column in plan.columns)
    check_schema(
        plan, Table("decimals", frame.assign(x=frame["x"].round() + np.r_[0.5, np.zeros(len(frame) - 1)]))
    )
    check_schema(plan, Table("fewer categories", frame[frame["region"] == "N"].reset_index(drop=True)))
    for drifted, message in (
        (frame.rename(columns={"age": "Age "}), "column 'age' is missing.*'Age '"),
        (frame.assign(region="W"), "'region' has 1 categories that the plan does not know.*row 1"),
        (frame.assign(age=frame["age"] + 0.5), "'age' has decimals"),
        (frame.assign(age="old"), "'age' holds categories"),
        (frame.assign(x=frame["x"] * 1e4), "'x' has .* beyond the declared bounds"),
        (frame.assign(x="secret-value"), "'x' holds something else than numbers"),
        (frame.assign(x=None), "'x' has no values"),
    ):
        with pytest.raises(InputError, match=message) as error:
            check_schema(plan, Table("t", drifted))
        assert "secret-value" not in str(error.value)
        assert "'W'" not in str(error.value)


def test_a_design_of_categories_survives_as_plain_values(rng):
    frame = pd.DataFrame(
        {
            "x": rng.lognormal(size=90),
            "a": rng.normal(size=90),
            "b": rng.choice(["u", "=v", "w"], 90),
            "c": rng.choice([1, 2, 3], 90),
            "d": rng.random(90) > 0.5,
        }
    )
    names = ("b", "a", "d", "c")
    learnt = select(Table("t", frame), "x", names, ("c",))
    t = learnt.transform
    stored = json.loads(
        json.dumps({k: list(map(str, v)) if k == "b" else list(v) for k, v in t.levels.items()})
    )
    again = DesignTransform.from_parts(
        t.predictors, {k: tuple(v) for k, v in stored.items()}, t.names, t.center, t.scale
    )
    applied = select(Table("t", frame), "x", names, ("c",), again)
    np.testing.assert_array_equal(applied.records.design, learnt.records.design)
    with pytest.raises(InputError, match="stored design"):
        DesignTransform.from_parts(("a",), {}, t.names, t.center, t.scale)


def test_the_digest_of_an_older_plan_stays_the_same():
    """What was added since stands in a plan only where it says something: else its releases could not be repeated."""
    plan = Plan(
        series="monthly",
        reason="r",
        decided_by="d",
        created="2026-01-02T03:04:05Z",
        tuned_on=Tuning(name="t", kind="simulated", rows=100, fingerprint="0123456789abcdef", epsilon=6.0),
        columns=(ColumnSchema(name="x", role="outcome", kind="number", whole=False, levels=()),),
        mechanism="censored",
        settings=make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=6.0),
        target_epsilon=6.0,
    )
    assert (
        plan.digest == "11cd5a142dc4556dcc1fc37e196dc49d5584de37998ad53e382d4f1bd0745208"
    )  # as of November 2026
