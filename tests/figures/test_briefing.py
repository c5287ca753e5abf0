"""A briefing says what the screen says, and its releasable form is a function of what was declared."""

import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from pptx import Presentation

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.policy import CHOSEN_HERE, Policy
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.result import Result
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import PairSummary, PrivacySummary, bounds_of
from synth_core.analysis.utility import Statistic, ecdf_distance, statistics
from synth_core.figures.briefing.content import NO_RULE, Chapter, Provenance, briefing
from synth_core.figures.briefing.powerpoint import INTERNAL, powerpoint
from synth_core.figures.briefing.web_page import web_page
from synth_core.figures.compare import results
from synth_core.mechanisms.catalogue import MECHANISMS, find_mechanism
from tests.summary_numbers import numbers, variable
from tests.support.summaries import of_numbers, summary, with_numbers, with_variable

MECHANISMS_SHOWN = ("unweighted", "weighted", "censored", "anchored", "range_averaged")
NASTY = "</script><img src=x onerror=alert(1)>\u202e\x0b"
SETTINGS = Settings(outcome="income", predictors=("age",), model="lognormal", epsilon=0.5, seed=4711)
SOURCE = Provenance("canary-table.csv", True, "2026-11-23")


def made_up(seed, settings=SETTINGS, mechanisms=MECHANISMS_SHOWN):
    """Results of a table that there is not, without a fit."""
    rng = np.random.default_rng(seed)
    n = 400
    outcome = rng.lognormal(3 + seed, 1.5, n)
    found = []
    for key in mechanisms:
        strict = MECHANISMS[key].guarantee("closed").strict
        synthetic = rng.lognormal(3 + seed, 1.4, (1, n))
        distance = ecdf_distance(outcome, synthetic[0])
        result = Result(
            mechanism=key,
            weights=rng.random(n),
            lipschitz_bounds=rng.gamma(2, 2, n),
            growth=np.arange(1.0, 51),
            synthetic=synthetic,
            outside=np.empty(0),
            match_risk=rng.random(n),
            true_match_rate=0.1,
            false_match_rate=0.9,
            epsilon_promised=settings.epsilon if strict else None,
            epsilon_replace=2 * settings.epsilon if strict else float(rng.uniform(5, 9)),
            n_truncated=0,
            n_censored=int(rng.integers(0, 20)),
            ecdf_max=distance.ecdf_max,
            ecdf_avg=distance.ecdf_avg,
            ecdf_location=distance.location,
            overlap=None,
            statistics=statistics(outcome, synthetic, (50.0, 90.0), 1),
            diagnostics=None,
            seconds=0.1,
        )
        found.append(summary(result, outcome))
    return found


def chapters(seed, settings=SETTINGS):
    return [
        Chapter("A", f"canary-note {seed}", settings, made_up(seed)),
        Chapter("B", "", settings, made_up(seed + 1)[:3]),
    ]


@pytest.fixture
def pages():
    return briefing(SOURCE, chapters(0), releasable=False)


def slides(content):
    return list(Presentation(io.BytesIO(content)).slides)


def texts(slide):
    found = [shape.text_frame.text for shape in slide.shapes if shape.has_text_frame]
    for shape in slide.shapes:
        if shape.has_table:
            found += [cell.text for row in shape.table.rows for cell in row.cells]
    return found


def test_what_may_leave_does_not_depend_on_the_confidential_values():
    """Two tables, two notes, other weights and draws: the releasable pages are equal to the last byte."""
    one = briefing(SOURCE, chapters(0), releasable=True)
    other = briefing(replace(SOURCE, table="other.csv"), chapters(7), releasable=True)
    assert one == other
    assert web_page(one) == web_page(other)
    assert not any(page.internal for page in one)
    assert not any(page.chart or page.figure for page in one)
    shown = web_page(one).decode() + " ".join(t for s in slides(powerpoint(one)) for t in texts(s))
    for canary in ("canary", "4711", "confidential value is"):
        assert canary not in shown
    assert "At ε = 0.5 an intruder" in shown
    assert "measured on the confidential table, so it stays inside" in shown
    inside = web_page(briefing(SOURCE, chapters(0), releasable=False)).decode()
    assert "canary-table.csv" in inside  # the canaries sing where they may
    assert "canary-note 0" in inside


def test_the_file_holds_nothing_beside_its_pages():
    """No name of the machine or its user, and no picture or sheet that the pages do not show."""
    content = powerpoint(briefing(SOURCE, chapters(0), releasable=True))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert not [name for name in archive.namelist() if "embeddings" in name or "media" in name]
        core = archive.read("docProps/core.xml").decode()
        assert b"canary" not in b"".join(archive.read(name) for name in archive.namelist())
    assert re.findall(r"<(?:dc:creator|cp:lastModifiedBy)>([^<]+)<", core) == []


def test_every_number_is_the_one_on_the_screen(pages):
    first = chapters(0)[0]
    labels = {s.mechanism: find_mechanism(s.mechanism).label for s in first.summaries}
    badges = {key: {"label": "", "strength": 0, "lines": [], "sentence": ""} for key in labels}
    screen = results(list(first.summaries), labels, badges)
    drawn = slides(powerpoint(pages))
    assert len(drawn) == len(pages)
    told = [
        slide for slide, p in zip(drawn, pages, strict=True) if p.title.startswith("A: what each promises")
    ]
    cells, inside = [text for slide in told for text in texts(slide)], web_page(pages).decode()
    for row in screen:
        assert any(text.startswith(f"{row['cells']['epsilon']['text']} (") for text in cells)
        assert row["cells"]["worst"]["text"] in cells
        assert row["cells"]["worst"]["text"] in inside
    errors = next(i for i, p in enumerate(pages) if p.chart and p.chart.kind == "bars")
    chart = next(shape.chart for shape in drawn[errors].shapes if shape.has_chart)
    for line, shown in zip(chart.plots[0].series, first.summaries, strict=True):
        assert line.values == pytest.approx([100 * t.error for t in shown.numbers.statistics])
    for slide, page in zip(drawn, pages, strict=True):
        assert (INTERNAL in texts(slide)) == page.internal


def test_the_rule_is_answered_inside_and_stays_there():
    """A meeting asks whether the rule is kept; a rule that may have followed the results does not leave."""
    rule = Policy(epsilon=1.0, percent=5.0, guarantee="strict")
    first, *others = (replace(each, policy=rule) for each in chapters(0))
    clamped = [
        with_variable(s, anchor="a guess", n_censored=20, tuned={"c": 0.125})
        if s.mechanism == "anchored"
        else s
        for s in first.summaries
    ]
    ruled = [replace(first, summaries=clamped), *others]
    title, beside, *others = briefing(SOURCE, ruled, releasable=False)
    assert f"Rule: {rule.text}" in title.lines and CHOSEN_HERE in title.lines
    assert all("passes" in cell or "fails" in cell or cell == "–" for row in beside.rows for cell in row[1:])
    assert all("90th percentile" in row[1] for row in beside.rows)
    table = next(page for page in others if "what it costs" in page.title)
    assert table.columns[2] == "By the rule"
    for row in table.rows:
        assert row[2].startswith(("✓ passes", "✗ fails"))
        assert "90th percentile" in row[-1]
    told = [row for page in others if "what it costs" in page.title for row in page.rows]
    clamped = next(row[-1] for row in told if row[0].startswith("Anchored:"))
    assert "were clamped at some draw" in clamped
    assert "Lower the weight c around the anchor, which is 0.125 now (More of the mechanisms)." in clamped
    assert briefing(SOURCE, ruled, releasable=True) == briefing(SOURCE, chapters(0), releasable=True)


def test_confidential_comparisons_are_marked_and_public_ones_are_not(pages):
    assert all(page.internal for page in pages if page.chart or page.rows)
    assert all(
        "ε" in column or "setting" in column.lower() or page.rows for page in pages for column in page.columns
    )
    public = briefing(replace(SOURCE, confidential=False), chapters(0), releasable=True)
    assert any(page.figure for page in public)
    assert not any(page.internal for page in public)


def test_names_stay_text(tmp_path):
    settings = SETTINGS.model_copy(update={"outcome": NASTY})
    pages = briefing(replace(SOURCE, table=NASTY), chapters(0, settings), releasable=False)
    text = web_page(pages).decode()
    assert "<img" not in text.split("plotly.js v")[0]
    assert "</script><img" not in text
    assert any("onerror" in each for each in texts(slides(powerpoint(pages))[0]))


def test_many_mechanisms_take_several_pages():
    many = [Chapter("A", "", SETTINGS, made_up(3, mechanisms=tuple(list(MECHANISMS)[:12])))]
    pages = [page for page in briefing(SOURCE, many, releasable=False) if "what it costs" in page.title]
    assert [len(page.rows) for page in pages] == [4, 4, 4]
    assert pages[1].title == "What each promises, and what it costs (2 of 3)"


def test_shares_of_categories_are_bars_that_can_be_edited():
    found = made_up(0, mechanisms=("unweighted", "weighted"))
    shares = tuple(
        Statistic(f"share of {name}", mine, (mine, mine), theirs, (theirs, theirs))
        for name, mine, theirs in (("single", 0.25, 0.2), ("married", 0.75, 0.8))
    )
    settings = SETTINGS.model_copy(update={"outcome": "status", "model": "categorical"})
    chapter = Chapter("A", "", settings, [with_variable(each, statistics=shares) for each in found])
    pages = briefing(SOURCE, [chapter], releasable=False)
    deck = Presentation(io.BytesIO(powerpoint(pages)))
    charts = [shape.chart for slide in deck.slides for shape in slide.shapes if shape.has_chart]
    [chart] = [each for each in charts if next(s.name for s in each.series) == "Confidential"]
    assert [list(series.values) for series in chart.series] == [[25.0, 75.0], [20.0, 80.0], [20.0, 80.0]]
    assert list(chart.plots[0].categories) == ["single", "married"]
    assert "shares of the categories" in web_page(pages).decode()


def made_of_records(seed, epsilon=2.0):
    """Summaries of whole records of a table that there is not."""
    rng = np.random.default_rng(seed)
    found = []
    for key in ("weighted", "anchored"):
        joint = Measures(900.0, *rng.uniform(0.01, 0.2, 2), 2.0, *rng.uniform(0.01, 0.1, 2), ("sex", "pay"))
        each = [variable(name, ecdf_max=float(rng.uniform(0.01, 0.2))) for name in ("sex", "pay")]
        strict = {"epsilon": epsilon, "epsilon_replace": 2 * epsilon} if key == "anchored" else {}
        made = numbers(each, joint=joint, mechanism=key, label=key.capitalize(), **strict)
        pair = PairSummary(("sex", "pay"), float(rng.uniform(0, 1)), (["f"], ["1"]), [[1.0]], [[1.0]])
        found.append(of_numbers(made, privacy=PrivacySummary(bounds_of(rng.gamma(2, 2, 400))), pairs=(pair,)))
    return found


BLOCKS = (Block("sex", "categorical", {"categories": ("f", "m")}, share=0.25), Block("pay", "lognormal"))


def test_whole_records_are_told_with_the_rule_of_all_variables():
    rule = Policy(percent=0.5, measure="ecdf_max")
    chapter = Chapter("A", "", SETTINGS, made_of_records(1), rule, BLOCKS)
    title, *others = briefing(SOURCE, [chapter], releasable=False)
    assert "sex, pay" in title.title and f"Rule: {rule.text}" in title.lines
    [table] = [page for page in others if "what it costs" in page.title]
    assert all(
        row[2].startswith("✗ fails") and "points, and 1 variable more beyond 0.5" in row[-1]
        for row in table.rows
    )
    charts = [page.chart.title for page in others if page.chart]
    assert len(charts) == 3 and len(slides(powerpoint([title, *others]))) == 1 + len(others)
    settings = next(page for page in others if page.columns == ("Setting", "Value"))
    assert ("Sensitive variable 1", "sex: Multinomial logit regression, 25.0 % of ε") in settings.rows
    assert not any("range" in name for name, _ in settings.rows)  # no mechanism reads one


def test_a_figure_has_its_mechanisms_named_once():
    """Of whole records the slide named them above the figure, and the figure again."""
    pages = briefing(
        SOURCE, [Chapter("A", "", SETTINGS, made_of_records(1), NO_RULE, BLOCKS)], releasable=False
    )
    named = [each for each in pages if each.figure and each.figure["layout"].get("showlegend")]
    assert named and '<ul class="key">' not in web_page(named).decode()


def test_settings_name_the_model_that_a_mechanism_fits():
    """Of measured synthesis the slides named regressions, with shares of ε, that nothing fits."""
    found = [with_numbers(each, mechanism="measured") for each in made_of_records(1)]
    [settings] = [
        page
        for page in briefing(SOURCE, [Chapter("A", "", SETTINGS, found, NO_RULE, BLOCKS)], releasable=False)
        if page.columns == ("Setting", "Value")
    ]
    assert ("Sensitive variable 1", "sex") in settings.rows
    assert ("Model of Measured", "log-linear model of noisy tables") in settings.rows


def test_what_may_leave_of_whole_records_does_not_depend_on_the_confidential_values():
    one, other = (
        briefing(
            SOURCE, [Chapter("A", "", SETTINGS, made_of_records(seed), NO_RULE, blocks)], releasable=True
        )
        for seed, blocks in ((1, BLOCKS), (2, (replace(BLOCKS[0], share=0.6), BLOCKS[1])))
    )
    assert one == other and web_page(one) == web_page(other)
    assert any("At ε = 2 an intruder" in cell for page in one for row in page.rows for cell in row)


@pytest.mark.parametrize("several", [False, True])
def test_where_nothing_has_converged_there_are_slides_without_charts(several):
    made = made_of_records(1) if several else made_up(1)
    made = [with_numbers(s, problems=("R-hat is 1.2",)) for s in made]
    pages = briefing(SOURCE, [Chapter("A", "", SETTINGS, made, NO_RULE, BLOCKS if several else ())], False)
    assert len(slides(powerpoint(pages))) == len(pages)
    assert not any(page.chart for page in pages)


@pytest.mark.parametrize("several", [False, True])
def test_what_has_not_converged_stands_side_by_side_without_an_error(several):
    """Its percentile stood there as that of any other, and a page told whoever read it to press something."""
    made = made_of_records(1) if several else made_up(1)
    made = [with_numbers(made[0], problems=("R-hat is 1.2",)), *made[1:]]
    told = [Chapter(name, "", SETTINGS, made, NO_RULE, BLOCKS if several else ()) for name in "AB"]
    pages = briefing(SOURCE, told, releasable=False)
    [beside] = [page for page in pages if page.title == "Side by side"]
    bad, *good = beside.rows
    assert all("not for use: not converged" in cell and "off by" not in cell for cell in bad[1:])
    assert not any("not converged" in cell for row in good for cell in row[1:])
    assert not any("press the" in cell for page in pages for row in page.rows for cell in row)


def test_many_scenarios_stand_side_by_side_on_several_pages_and_what_is_left_out_is_said():
    told = [replace(chapter, name=name) for name in "ABCDE" for chapter in chapters(1)[:1]]
    pages = briefing(SOURCE, told, releasable=False, left_out=["F, which is not computed: press its letter"])
    beside = [page for page in pages if page.title.startswith("Side by side")]
    assert [page.columns[1:] for page in beside] == [("A", "B", "C"), ("D", "E")]
    assert [page.title for page in beside] == ["Side by side (1 of 2)", "Side by side (2 of 2)"]
    assert "Left out: F, which is not computed: press its letter." in pages[0].lines
    outside = briefing(SOURCE, told, releasable=True, left_out=["F, which is not computed"])
    assert not any("Left out" in line for page in outside for line in page.lines)


def test_settings_name_the_survey_weight_that_is_released():
    """The settings slide named the predictors only, and the file had a column more."""
    weighted = SETTINGS.model_copy(update={"weight": "wt"})
    for settings, expected in ((weighted, True), (SETTINGS, False)):
        [page] = [
            page
            for page in briefing(SOURCE, [Chapter("A", "", settings, made_up(1, settings))], releasable=False)
            if page.columns == ("Setting", "Value")
        ]
        assert (("Survey weight, kept as it is", "wt") in page.rows) is expected
        assert ("Predictors, kept as they are", "age") in page.rows
