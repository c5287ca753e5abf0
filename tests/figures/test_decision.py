"""The record of a decision says what the plan says, with its alternatives, as a web page and as slides."""

import io
import re
from dataclasses import replace

import pytest
from pptx import Presentation

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.utility import Statistic
from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.figures.briefing.decision import decision_record, is_internal
from synth_core.figures.briefing.powerpoint import INTERNAL, powerpoint
from synth_core.figures.briefing.web_page import web_page
from synth_core.release.plan.alternatives import alternatives_of
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import make_plan
from synth_core.system.cache import Cache
from synth_core.system.number_text import points_at_most
from tests import summary_numbers
from tests.release.test_closeness import BLOCKS, pupils
from tests.release.test_whole_records import DECISION
from tests.summary_numbers import variable

WHY = "the board asked for <b>at most</b> 10 points"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    analysis = RecordsAnalysis(
        pupils(1), BLOCKS, {"predictors": ("age",), "epsilon": 8.0}, Cache(tmp_path_factory.mktemp("cache"))
    )
    policy = Policy(epsilon=10.0, percent=10.0, measure="ecdf_max")
    results = {key: analysis.run(key) for key in ("measured", "measured_laplace")}
    taken = [each.summary_numbers for each in results.values()]
    low = analysis.with_settings(epsilon=0.02).run("measured_laplace")
    alternatives = [
        *alternatives_of(taken, "degree", policy, chosen="measured_laplace"),
        *alternatives_of([low.summary_numbers], "degree", policy, "A"),
    ]
    decision = replace(DECISION, limit=50.0, policy=policy, alternatives=tuple(alternatives), reason=WHY)
    return make_plan(analysis, results["measured_laplace"], decision)[0]


@pytest.mark.slow
def test_an_axis_is_named_in_short_and_numbers_of_low_bars_stand_above_them(plan):
    """The axis "ε in each released data set (of ..." was cut at both ends, and a 1 lay on its side in its bar."""
    [page] = [each for each in decision_record(plan) if each.title.startswith("Privacy")]
    title = page.figure["layout"]["yaxis"]["title"]["text"]
    assert title.startswith("ε in ") and "(" not in title
    assert page.chart.y_label.startswith(title) and (
        page.chart.y_label == title or page.lines[1] == f"{page.chart.y_label}."
    )
    [bars] = page.figure["traces"]
    assert bars["textangle"] == 0 and bars["textposition"] == "outside"


def test_a_plan_keeps_what_it_was_chosen_against(plan):
    again = parse_plan(plan.canonical().encode())
    assert again == plan and [each.chosen for each in again.alternatives] == [False, True, False]
    assert [each.name for each in again.alternatives] == ["", "", "A"]
    chosen, low = again.alternatives[1:]
    assert chosen.epsilon == 8.0 and chosen.guarantee == "ε-DP" and set(chosen.off) == {"degree", "pay"}
    assert low.epsilon == pytest.approx(0.02) and low.verdict.startswith("fails: distribution functions")
    text = plan.canonical().replace('"mechanism": "measured"', '"mechanism": "unknown"', 1)
    with pytest.raises(InputError, match="unknown"):
        parse_plan(text.encode())


@pytest.mark.slow
def test_the_chosen_one_is_held_against_the_rule_where_compare_has_no_row_of_it(tmp_path):
    """All rows but that of the chosen one had a verdict: "–" stood beside a mean that was off by 90 %."""
    given = {"predictors": ("age",), "epsilon": 8.0}
    analysis = RecordsAnalysis(pupils(1), BLOCKS, given, Cache(tmp_path))
    policy = Policy(percent=0.01, measure="ecdf_max")
    others = alternatives_of([analysis.run("measured").summary_numbers], "degree", policy)
    decision = replace(DECISION, limit=50.0, policy=policy, alternatives=tuple(others))
    chosen = make_plan(analysis, analysis.run("measured_laplace"), decision)[0].alternatives[-1]
    assert chosen.chosen and chosen.verdict.startswith("fails: distribution functions")


def test_an_alternative_says_what_the_rule_limits_and_which_statistic_is_furthest_off(plan):
    """Compare said 8.5 %, of the rule's percentile, and the record of the decision 22 %, without saying of what."""
    statistics = (
        Statistic("q90", 100.0, (90.0, 110.0), 108.5, (100.0, 120.0)),
        Statistic("q15", 100.0, (90.0, 110.0), 78.0, (70.0, 90.0)),
    )
    results = [summary_numbers.numbers([variable("pay", statistics=statistics)], mechanism="anchored")]
    ruled = Policy(percent=10.0, measure="q90")
    assert alternatives_of(results, "pay", ruled)[0].worst == (
        "90th percentile: 8.5 % high (pay); furthest off the 15th percentile of pay: 22 % low"
    )
    assert alternatives_of(results, "pay", Policy())[0].worst == "the 15th percentile of pay: 22 % low"


def test_plans_without_alternatives_are_what_they_were(plan):
    bare = plan.model_copy(update={"alternatives": (), "rule": ""})
    assert "alternatives" not in bare.canonical() and '"rule"' not in bare.canonical()
    assert "The plan keeps none." in [line for page in decision_record(bare) for line in page.lines]


def test_the_record_says_who_why_and_against_what(plan):
    pages = decision_record(plan)
    text = "\n".join(
        "\n".join([page.title, *page.lines, *("\t".join(row) for row in page.rows)]) for page in pages
    )
    for said in (
        "A. Nalyst",
        WHY,
        "Measured, pure ε — chosen",
        "8 (ε-DP)",
        "Rule: ε ≤ 10",
        "passes",
        "fails:",
        "(A)",
    ):
        assert said in text, said
    off = max(plan.alternatives[1].off.values())
    assert f"{points_at_most(off)} points" in text
    by_title = {page.title: page for page in pages}
    bars = by_title["Accuracy: the worst variable of each"].chart
    assert bars.series[0].y[1] == pytest.approx(100 * off) and bars.categories[1].startswith("✓")
    assert by_title["Privacy: ε of each"].chart.series[0].y[2] == pytest.approx(0.02)
    # the tuning table was confidential: what was computed from it is marked
    assert all(
        by_title[title].internal for title in by_title if title.startswith(("Against", "Accuracy", "Privacy"))
    )


def test_both_files_hold_all_pages(plan):
    pages = decision_record(plan)
    page = web_page(pages).decode()
    assert "<b>at most</b>" not in page and "&lt;b&gt;at most" in page
    assert page.count("<section") == len(pages) and "Plotly" in page
    slides = Presentation(io.BytesIO(powerpoint(pages))).slides
    assert len(slides) == len(pages)
    charts = [shape for slide in slides for shape in slide.shapes if shape.has_chart]
    words = " ".join(s.text_frame.text for slide in slides for s in slide.shapes if s.has_text_frame)
    assert len(charts) == 2 and INTERNAL in words


@pytest.mark.slow
def test_the_record_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    pupils(1).frame.to_csv(tmp_path / "pupils.csv", index=False)
    planned, record = tmp_path / "plan.json", tmp_path / "record.pptx"
    command = [
        *("plan", str(tmp_path / "pupils.csv"), "--block", "degree=categorical:categories=none,BA,MA,PhD"),
        *("--block", "pay=lognormal:guess=30000,1", "--predictors", "age", "--mechanism", "measured_laplace"),
        *("--against", "measured", "--epsilon", "8", "--tuned-on", "historical", "--series", "pupils"),
        *("--reason", "because", "--decided-by", "A. Nalyst", "--out", str(planned)),
    ]
    assert main(command) == 0
    assert main(["record", str(planned), "--out", str(record)]) == 0
    assert "INTERNAL" in capsys.readouterr().out
    assert len(Presentation(str(record)).slides) == len(decision_record(parse_plan(planned.read_bytes())))
    assert main(["record", str(planned), "--out", str(tmp_path / "record.doc")]) == 2


def lines_of(pages):
    return [line for page in pages for line in page.lines]


def test_what_is_promised_is_what_a_release_promises(plan):
    """Of settings that were seen on a confidential table, for its unit, and for the neighbours that ε is of."""
    seen = plan.model_copy(update={"tuned_on": plan.tuned_on.model_copy(update={"kind": "confidential"})})
    said = lines_of(decision_record(seen))
    assert any("ε-DP for given settings, ε = 8" in line for line in said)
    assert any("not promised" in line for line in said)
    assert any("one record withheld" in line for line in lines_of(decision_record(plan)))
    units = plan.settings.model_copy(update={"unit_column": "home", "unit_size": 2})
    said = lines_of(decision_record(plan.model_copy(update={"settings": units})))
    guessed = lines_of(decision_record(plan.model_copy(update={"settings": units, "mechanism": "measured"})))
    assert any("all values of one 'home'" in line for line in guessed)
    assert any("about one 'home', of at most 2 records" in line for line in said)
    assert not any("sensitive about one record withheld" in line for line in said)


def test_shares_of_epsilon_are_of_whole_variables(plan):
    """Of one that may be missing, whether it is and its value share: 95 % in all were told."""
    blocks = tuple(replace_missing(each) for each in plan.blocks)

    def said_of(mechanism):
        changed = plan.model_copy(update={"blocks": blocks, "mechanism": mechanism})
        rows = [row for page in decision_record(changed) for row in page.rows]
        return [cells[1] for cells in rows if cells[0].startswith("Synthetic: ")]

    assert not any("of ε" in words for words in said_of(plan.mechanism))  # one measurement is of all
    assert set(said_of(plan.mechanism)) == {
        "log-linear model of noisy tables"
    }  # and none of their models is fitted
    said = said_of("anchored")
    assert sum(float(re.search(r", ([0-9.]+) % of ε", words)[1]) for words in said) == pytest.approx(
        100.0, abs=0.11
    )


def replace_missing(block):
    return block.model_copy(update={"may_be_missing": True})


def test_settings_are_marked_where_the_public_report_keeps_them(plan):
    def marked(kind):
        of = plan.model_copy(update={"tuned_on": plan.tuned_on.model_copy(update={"kind": kind})})
        pages = decision_record(of)
        return is_internal(of), {page.internal for page in pages if page.title.startswith("What was decided")}

    assert marked("confidential") == marked("historical") == (True, {True})
    assert marked("public") == (False, {False})


def test_the_record_says_whose_accuracy_the_errors_are_of(plan):
    """Errors of the population stood beside no word of it."""
    weighted = plan.settings.model_copy(update={"weight": "w", "accuracy_of": "population"})
    pages = decision_record(plan.model_copy(update={"settings": weighted}))
    said = "Accuracy is of the population, by w."
    of_errors = [page for page in pages if "Against" in page.title or page.title.startswith("Accuracy")]
    assert len(of_errors) == 2 and all(said in " ".join(page.lines) for page in of_errors)
    assert not any(said in " ".join(page.lines) for page in decision_record(plan))


def test_an_epsilon_of_a_bar_is_that_of_the_table_and_says_of_which_data_sets_it_is(plan):
    """The table said 4.51, rounded up, and the bar 4.5; of measured synthesis it was called that of one data set."""
    odd = [each.model_copy(update={"epsilon": 4.5044 + i}) for i, each in enumerate(plan.alternatives)]
    pages = decision_record(plan.model_copy(update={"alternatives": tuple(odd)}))
    [table] = [page for page in pages if "Against" in page.title]
    [bars] = [page for page in pages if page.title.startswith("Privacy")]
    assert bars.chart is not None and bars.figure is not None
    said = [float(row[1].split()[0]) for row in table.rows]
    assert said == list(bars.chart.series[0].y) == [float(t) for t in bars.figure["traces"][0]["text"]]
    assert said == [4.51, 5.51, 6.51]
    assert bars.chart.y_label == "ε in all released data sets together"
