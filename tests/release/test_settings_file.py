"""Settings as file and link: what comes back is what was saved; strangers' files are refused."""

import base64
import json
import random
import zlib
from dataclasses import replace
from itertools import pairwise

import pytest

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.errors import InputError
from synth_core.release.plan.settings_file import Scenario, chosen, from_bytes, from_link, to_link, to_text

SETTINGS = make_settings(
    outcome="inc\u00e9",
    predictors=("a", "b"),
    model="lognormal",
    scale=0.7,
    brackets=((0, 10), (10, 99)),
    seed=5,
)


def test_there_and_back():
    text = to_text(SETTINGS, ["weighted", "count/censored"])
    for file in (from_bytes(text.encode()), from_link(to_link(text))):
        assert file.settings == SETTINGS
        assert file.mechanisms == ("weighted", "count/censored")
    assert "risk_reference" not in text


SCENARIO = Scenario(
    name="A",
    note="The room chose c = 0.7.",
    mechanisms=("weighted",),
    settings=SETTINGS,
)
RULE = Policy(epsilon=1.0, percent=5.0, guarantee="strict")


def test_a_rule_and_scenarios_come_back_too():
    """The rule goes into a link as well; names and notes only into a file."""
    other = SCENARIO.model_copy(update={"name": "B"})
    text = to_text(SETTINGS, ["weighted"], RULE, (SCENARIO, other))
    file = from_bytes(text.encode())
    assert file.policy == RULE
    assert file.scenarios == (SCENARIO, other)
    linked = to_text(SETTINGS, ["weighted"], RULE)
    assert from_link(to_link(linked)).policy == RULE
    assert "scenarios" not in linked
    assert {"policy", "scenarios"}.isdisjoint(json.loads(to_text(SETTINGS, ["weighted"], Policy())))


def test_values_that_mean_missing_come_back_and_an_older_file_reads_unchanged():
    text = to_text(SETTINGS, ["weighted"], missing=("N", "pay=-9"))
    for file in (from_bytes(text.encode()), from_link(to_link(text))):
        assert file.missing == ("N", "pay=-9")
    assert "missing" not in json.loads(to_text(SETTINGS, ["weighted"]))
    with pytest.raises(InputError, match="missing"):
        from_bytes(json.dumps(json.loads(text) | {"missing": ["N\u202e"]}).encode())


def test_a_scenario_is_told_by_what_it_chooses():
    now = chosen(SETTINGS.model_copy(update={"risk_reference": "old.csv"}), ["weighted"])
    assert SCENARIO.chooses(now)
    assert not SCENARIO.chooses(now.model_copy(update={"mechanisms": ("unweighted",)}))
    assert not SCENARIO.chooses(chosen(SETTINGS.model_copy(update={"scale": 0.6}), ["weighted"]))


def test_the_rule_that_an_earlier_version_wrote_into_each_scenario_is_left_out():
    text = json.loads(to_text(SETTINGS, ["weighted"], RULE, (SCENARIO,)))
    assert "policy" not in text["scenarios"][0]
    text["scenarios"][0]["policy"] = {"epsilon": 3.0}
    file = from_bytes(json.dumps(text).encode())
    assert (file.scenarios, file.policy) == ((SCENARIO,), RULE)


def test_a_scenario_of_whole_records_holds_its_variables_and_their_shares():
    blocks = (
        Block("sex", "categorical", {"categories": ("f", "m")}, share=0.3),
        Block(SETTINGS.outcome, SETTINGS.model, missing=()),
    )
    kept = chosen(SETTINGS, ["anchored"], blocks)
    scenario = Scenario(name="A", **{name: getattr(kept, name) for name in type(kept).model_fields})
    text = to_text(SETTINGS, ["anchored"], RULE, (scenario,), blocks=blocks)
    for file in (from_bytes(text.encode()), from_link(to_link(text))):
        assert file.scenarios == (scenario,)
        assert tuple(each.block for each in file.scenarios[0].blocks) == blocks
    other = chosen(SETTINGS, ["anchored"], (replace(blocks[0], share=0.5), blocks[1]))
    assert not scenario.chooses(other) and not scenario.chooses(chosen(SETTINGS, ["anchored"]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"mechanisms": ["rm -rf"]}, "mechanism"),
        ({"settings": {"risk_reference": "/etc/passwd"}}, "risk_reference"),
    ],
)
def test_a_stranger_s_scenario_is_refused(wrong, message):
    document = json.loads(to_text(SETTINGS, ["weighted"], None, (SCENARIO,)))
    document["scenarios"][0] |= wrong
    with pytest.raises(InputError, match=message):
        from_bytes(json.dumps(document).encode())


def test_two_scenarios_of_one_name_are_refused():
    document = json.loads(to_text(SETTINGS, ["weighted"], None, (SCENARIO,)))
    document["scenarios"] *= 2
    with pytest.raises(InputError, match="same name"):
        from_bytes(json.dumps(document).encode())


def test_the_name_of_a_reference_table_is_not_shared():
    text = to_text(SETTINGS.model_copy(update={"risk_reference": "salaries_2025.csv"}), ["weighted"])
    assert "salaries" not in text


def changed(**values):
    return json.dumps(json.loads(to_text(SETTINGS, ["weighted"])) | values).encode()


INNER = json.loads(to_text(SETTINGS, ["weighted"]))["settings"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed(extra=1), "not known here"),
        (changed(version=99), "version"),
        (changed(format="x"), "does not hold settings"),
        (changed(mechanisms=["rm -rf"]), "mechanism"),
        (changed(settings=INNER | {"earlier": [{"name": "pay", "scale": 10.0}]}), "must not hold earlier"),
        (changed(settings=INNER | {"code": "import os"}), "not known here: settings.code"),
        (changed(settings=INNER | {"scale": "NaN"}), "scale"),
        (changed(settings=INNER | {"bounds": ["-inf", "inf"]}), "bounds"),
        (changed(settings=INNER | {"draws": 10**9}), "draws"),
        (changed(settings=INNER | {"risk_reference": "/etc/passwd"}), "risk_reference"),
        (changed(settings=INNER | {"anchor": "release:/etc/passwd"}), "anchor that names a table"),
        (changed().replace(b"0.7", b"NaN"), "no number"),
        (changed().replace(b"0.7", b"1e400"), "too large"),
        (b"\x80\x04\x95cos\nsystem\n.", "not valid JSON"),
        (b" " * 100 * 1024**2, "larger than"),
        (b"{}", "does not hold settings"),
    ],
)
def test_hostile_files_are_refused(content, message):
    with pytest.raises(InputError, match=message):
        from_bytes(content)


def test_hostile_links_are_refused():
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 5 * 1024**2, 9)).decode()
    for word, message in (
        ("x" * 9_000, "longer"),
        ("%%%", "damaged"),
        ("AAAA", "damaged"),
        (bomb, "larger than"),
        (base64.urlsafe_b64encode(zlib.compress(b'{"a": 1}')).decode(), "does not hold"),
    ):
        with pytest.raises(InputError, match=message):
            from_link(word)


def test_many_brackets_need_a_file():

    rng = random.Random(1)
    edges = sorted(rng.random() * 1e9 for _ in range(1500))
    brackets = tuple(pairwise(edges))
    text = to_text(SETTINGS.model_copy(update={"brackets": brackets}), ["weighted"])
    assert from_bytes(text.encode()).settings.brackets == brackets
    with pytest.raises(InputError, match="too long"):
        to_link(text)


def test_an_anchor_that_names_a_table_is_left_out():
    text = to_text(SETTINGS.model_copy(update={"anchor": "release:salaries_2025.csv"}), ["anchored"])
    assert "salaries_2025" not in text
    assert from_bytes(text.encode()).settings.anchor == "pilot"
    for anchor in ("reference", "series"):
        kept = to_text(SETTINGS.model_copy(update={"anchor": anchor}), ["anchored"])
        assert from_bytes(kept.encode()).settings.anchor == anchor


BLOCKS = (
    Block("inc\u00e9", "lognormal", {"unit": 10.0, "guess": (40.0, 0.8)}, share=0.7),
    Block("marr", "categorical", {"categories": ("0", "1")}, missing=()),
)


def test_the_sensitive_variables_of_whole_records_come_back():
    text = to_text(SETTINGS, ["anchored"], blocks=BLOCKS)
    for file in (from_bytes(text.encode()), from_link(to_link(text))):
        assert tuple(each.block for each in file.blocks) == BLOCKS
    assert "blocks" not in to_text(SETTINGS, ["anchored"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 2.0}, "less than or equal to 1"),
        ({"share": 0.5, "name": "marr"}, "named twice"),
        ({"options": {"program": "a stranger's"}}, "no option of a block"),
        ({"options": {"unit": "many"}}, "unit"),
        ({"model": "nothing"}, "there is no model"),
        ({"name": "b"}, "a predictor too"),
        ({"share": 1.0}, r"nothing is left for .* must sum to 1"),
        ({"name": "other"}, "must be one of the blocks"),
        ({"code": 1}, "code"),
    ],
)
def test_a_stranger_s_blocks_are_refused(change, message):
    values = json.loads(to_text(SETTINGS, ["anchored"], blocks=BLOCKS))
    values["blocks"][0] |= change
    with pytest.raises(InputError, match=message):
        from_bytes(json.dumps(values).encode())
