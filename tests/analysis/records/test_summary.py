"""What a screen shows of whole records: the numbers of the result, the shares of pairs, and rows for each variable."""

import json

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block, scales_in_words
from synth_core.analysis.records.measures import cramers_v
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.analysis.summary import PairSummary, ResultSummary, summary_of
from synth_core.data.table import Table
from synth_core.figures.compare import promises
from synth_core.figures.compare import results as result_rows
from synth_core.figures.records import record_figures
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask
from synth_core.system.entries import from_entry, to_entry
from synth_core.system.number_text import points_at_most

pytestmark = pytest.mark.stan
BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}),
    Block("pay", "lognormal", {"unit": 10.0}, missing=()),
)
COMMON = {"predictors": ("area",), "draws": 400, "warmup": 300, "chains": 1, "epsilon": 6.0}


def people():
    rng = np.random.default_rng(3)
    pay = rng.lognormal(3, 0.4, 250)
    pay[:25] = np.nan
    columns = {"sex": rng.choice(["f", "m"], 250), "pay": pay, "area": rng.choice(["north", "south"], 250)}
    return Table("people", pd.DataFrame(columns))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    from synth_core.system.cache import Cache

    analysis = RecordsAnalysis(people(), BLOCKS, COMMON, Cache(tmp_path_factory.mktemp("cache")))
    results = [analysis.run(key) for key in ("weighted", "censored")]
    return analysis, results, [summary_of(analysis, result) for result in results]


def test_the_numbers_are_those_of_the_result(found):
    analysis, results, summaries = found
    for result, s in zip(results, summaries, strict=True):
        assert (s.numbers.epsilon, s.numbers.lipschitz_bound) == (result.epsilon, result.lipschitz_bound)
        assert [part.name for part in s.numbers.variables] == ["sex", "pay is missing", "pay"]
        assert s.privacy.bounds.five.maximum == result.lipschitz_bound
        assert from_entry(ResultSummary, json.loads(json.dumps(to_entry(s)))) == s
        assert s.numbers == result.summary_numbers
        assert s.numbers.guarantee == result.guarantee
    beside = promises(summaries, analysis.settings, Policy())
    assert "not promised for another table" in beside["weighted"]["sentence"] or summaries[0].numbers.problems
    lines = " ".join(beside["censored"]["lines"])
    assert "everything sensitive about one record" in lines and "for one replaced it is 12" in lines


def test_pairs_are_counted_cell_by_cell(found):
    analysis, results, summaries = found
    frame, synthetic = analysis.table.frame, results[0].synthetic[0]
    pairs = {pair.names: pair for pair in summaries[0].pairs}
    assert set(pairs) == {("area", "sex"), ("area", "pay"), ("sex", "pay")}
    pair = pairs["area", "sex"]
    for shown, sex in ((pair.confidential, frame["sex"]), (pair.synthetic, synthetic["sex"])):
        naive = pd.crosstab(frame["area"], sex.to_numpy(), normalize="all")
        naive = naive.reindex(index=pair.labels[0], columns=pair.labels[1], fill_value=0.0)
        np.testing.assert_allclose(shown, naive)
    area = pd.factorize(frame["area"])[0]
    v = [cramers_v(area, pd.factorize(sex)[0]) for sex in (frame["sex"], synthetic["sex"].to_numpy())]
    assert pair.association == pytest.approx(abs(v[0] - v[1]))
    assert pairs["sex", "pay"].labels[1][-1] == "missing"
    assert np.sum(pairs["sex", "pay"].confidential) == pytest.approx(1.0)
    assert np.sum(pairs["sex", "pay"].confidential, axis=0)[-1] == pytest.approx(0.1)


def test_a_map_has_no_row_or_column_that_nobody_is_in():
    none, labels = 0.0, (["0", "1", "2"], ["a", "b"])
    pair = PairSummary(
        ("x", "y"),
        0.1,
        labels,
        [[none, none], [0.5, none], [0.5, none]],
        [[none, none], [none, none], [1.0, none]],
    )
    only = pair.only(*pair.used)
    assert only.labels == (["1", "2"], ["a"])
    assert (only.confidential, only.synthetic) == ([[0.5], [0.5]], [[none], [1.0]])


def test_rows_and_figures_show_them(found):
    analysis, results, summaries = found
    labels = {"weighted": "Weighted", "censored": "Censored", "anchored": "Anchored"}
    worst = max(results[0].parts, key=lambda part: part.distance)
    rule = Policy(percent=100 * worst.distance - 0.01, measure="ecdf_max")
    beside = promises(summaries, analysis.settings, rule)
    rows = result_rows(summaries, labels, beside, {"anchored": "needs a guess"})
    assert [row["mechanism"] for row in rows] == ["weighted", "censored", "anchored"]
    assert rows[1]["cells"]["epsilon"]["text"] == "6.00" and rows[2]["missing"] == "needs a guess"
    assert [part["label"] for part in rows[0]["parts"]] == ["sex", "pay is missing", "pay"]
    judged = {part["label"]: part["cells"]["verdict"] for part in rows[0]["parts"]}
    assert [name for name, words in judged.items() if words.startswith("✗")] == [worst.part.name]
    if not summaries[0].numbers.problems:
        assert f"of {worst.part.name} off by" in rows[0]["verdict"]["reason"]
    assert rows[0]["cells"]["gap"]["text"] == f"{points_at_most(worst.distance)} points ({worst.part.name})"
    figures = {f["key"]: f for f in record_figures(summaries, labels, ("sex", "pay"))}
    assert figures["pair"]["title"].endswith("sex and pay")
    assert len(figures["pair"]["table"]["rows"]) == 2 * len(figures["pair"]["traces"][0]["z"]) * len(
        figures["pair"]["traces"][0]["x"]
    )
    assert {each["xanchor"] for each in figures["pair"]["layout"]["annotations"]} == {"center"}  # of its map
    assert figures["variables"]["traces"][0]["y"] == [100 * part.distance for part in results[0].parts]
    assert len(figures["associations"]["traces"][0]["x"]) == 3


def test_the_task_is_the_same_whichever_variable_is_described():
    table = people()
    one, other = (
        make_settings(outcome=block.name, model=block.model, **COMMON, **block.options) for block in BLOCKS
    )
    first, second = (
        MechanismTask(TaskInput.of(table, settings, blocks=BLOCKS), "censored") for settings in (one, other)
    )
    assert first.key == second.key and first.given.settings.epsilon == 6.0
    assert (
        MechanismTask(
            TaskInput.of(table, one.model_copy(update={"epsilon": 5.0}), blocks=BLOCKS), "censored"
        ).key
        != first.key
    )


def test_each_scale_is_named_once():
    scales = [("sex", "probability"), ("pay", "density per 1"), ("work", "probability")]
    assert scales_in_words(scales) == "probability (sex, work); density per 1 (pay)"
