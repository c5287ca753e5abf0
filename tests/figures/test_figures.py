"""Figures are valid plotly, complete in words, and hold no more than they draw."""

import itertools
import json
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from synth_core.analysis.policy import Verdict
from synth_core.analysis.result import Result
from synth_core.analysis.summary import CURVE_POINTS, EcdfSummary, PairSummary, ecdf_points
from synth_core.analysis.utility import AT_ZERO, Statistic, ecdf_distance, statistics
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.engine.sampling import Diagnostics
from synth_core.figures.briefing.charts import associations_chart, errors_chart, values_chart
from synth_core.figures.compare import compare_figures, epsilon_text, results
from synth_core.figures.palette import color, dash
from synth_core.figures.parts import Other, saying_unit
from synth_core.figures.privacy import bounds_figure
from synth_core.figures.ranges import interval_figure, outside_figure
from synth_core.figures.records import _names_in_short, associations_figure, pair_figure
from synth_core.figures.utility import ecdf_figure, quantiles_figure
from synth_core.mechanisms.catalogue import MECHANISMS
from synth_core.system.number_text import ceiling
from tests.summary_numbers import numbers
from tests.support.summaries import summary, with_numbers, with_variable

NOT_CONVERGED = ("R-hat is 1.2",)

LABELS = {key: m.label for key, m in MECHANISMS.items()}
GUARANTEES = {
    key: {"label": m.guarantee("closed").label, "strength": 1, "lines": [], "sentence": "S."}
    for key, m in MECHANISMS.items()
}


@pytest.fixture
def summaries(rng):
    n = 3000
    outcome = rng.lognormal(3, 1.5, n)
    found = []
    for key in MECHANISMS:
        synthetic = rng.lognormal(3, 1.5, (2, n))
        distance = ecdf_distance(outcome, synthetic[0])
        none = np.empty(0)
        result = Result(
            mechanism=key,
            weights=none if not MECHANISMS[key].likelihood.samples else rng.random(n),
            lipschitz_bounds=none if not MECHANISMS[key].likelihood.samples else rng.gamma(2, 2, n),
            growth=none if not MECHANISMS[key].likelihood.samples else np.arange(1.0, 51),
            synthetic=synthetic,
            outside=none,
            match_risk=rng.random(n),
            true_match_rate=0.1,
            false_match_rate=0.9,
            epsilon_promised=5.0 if not MECHANISMS[key].likelihood.samples else None,
            epsilon_replace=9.0,
            n_truncated=0,
            n_censored=0,
            ecdf_max=distance.ecdf_max,
            ecdf_avg=distance.ecdf_avg,
            ecdf_location=distance.location,
            overlap=None,
            statistics=statistics(outcome, synthetic, (15.0, 50.0, 90.0), 1),
            diagnostics=None
            if not MECHANISMS[key].likelihood.samples
            else Diagnostics(1.0, 900, 900, 0, 2, 2000),
            seconds=0.1,
        )
        found.append(summary(result, outcome))
    return found


def plain(value):
    """Theme markers as colours, for plotly's own validation."""
    return json.loads(json.dumps(value).replace("@text", "#000000").replace("@faint", "#cccccc"))


def test_valid_and_described(summaries):
    figures = compare_figures(summaries, LABELS, "income")
    assert len(figures) == 4
    for figure in figures:
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))
        assert figure["reading"].count(".") >= 1
        assert figure["tag"] in ("internal", "releasable")
        assert figure["alt"]
        assert all(len(row) == len(figure["table"]["columns"]) for row in figure["table"]["rows"])
    titles = json.dumps([f["layout"] for f in figures])
    assert "nats" in titles
    assert "income" in titles
    assert "%" in titles


def test_pictures_of_one_data_set_say_so_beside_numbers_that_are_means_over_several(summaries):
    """The mark on the first one's curve was told to be as long as the mean over all of them."""
    [several] = summaries[:1]
    several = with_variable(several, ecdf_max=0.5)  # on average: this one is nearer
    one = with_numbers(several, n_datasets=1)
    words = "Of several data sets the first is shown."
    figure = ecdf_figure([several], LABELS, "income")
    low, high = several.ecdf.at_place
    mark = next(trace for trace in figure["traces"] if trace.get("mode") == "lines+markers")
    assert f"largest difference {100 * abs(high - low):.2f} points at" in mark["hovertemplate"]
    assert figure["table"]["rows"][0][1] == "50.00 points"
    assert "over the 2 data sets" in figure["table"]["columns"][1]
    assert words in figure["reading"] and "over the 2 data sets" in figure["alt"]
    assert words not in ecdf_figure([one], LABELS, "income")["reading"]
    pair = PairSummary(("a", "b"), 0.1, (["0"], ["1"]), [[1.0]], [[0.9]])
    pairs = [replace(each, pairs=(pair,)) for each in (several, one)]
    for make in (associations_figure, lambda s, labels: pair_figure(s, labels, ("a", "b"))):
        assert [words in make([each], LABELS)["reading"] for each in pairs] == [True, False]
    assert [words in associations_chart([each], LABELS).reading for each in pairs] == [True, False]
    assert words in values_chart([several], LABELS, "income").reading


def test_points_are_no_percent_and_what_is_beside_stands_in_its_own_row(summaries):
    """The axis said percent of rows of points, and a setting with fewer percentiles was drawn a row too high."""
    [now] = summaries[:1]
    mean, low, *_ = now.numbers.statistics
    before = with_variable(now, statistics=now.numbers.statistics[1:])
    figure = quantiles_figure([now], LABELS, Other("A", "now", {now.mechanism: before}))
    dots, hollow = figure["traces"][-2:]
    assert hollow["y"] == dots["y"][1:] and hollow["x"] == dots["x"][1:]
    assert figure["layout"]["xaxis"]["ticksuffix"] == " %"
    share = replace(low, name=AT_ZERO, confidential=0.3, synthetic=0.34)
    now = with_variable(now, statistics=(mean, replace(low, instead=share)))
    figure = quantiles_figure([now], LABELS, Other("A", "now", {now.mechanism: now}))
    assert figure["layout"]["xaxis"]["ticksuffix"] == "" and "or points" in json.dumps(
        figure["layout"]["xaxis"]
    )
    assert figure["traces"][-1]["text"][1].endswith("+4.00 points")
    assert figure["alt"].endswith(f"largest error {100 * abs(mean.error):.1f} % and 4.0 points")
    assert errors_chart([now], LABELS).y_label.endswith("or points)")  # of a slide too
    assert errors_chart([before], LABELS).y_label.endswith("(% of confidential)")


def test_payload_is_small_whatever_n(summaries):
    assert len(json.dumps(compare_figures(summaries, LABELS, "x"))) < 60_000 * len(summaries)


def test_each_epsilon_stands_beside_its_guarantee_and_the_best_are_marked(summaries):
    rows = results(summaries, LABELS, GUARANTEES)
    for row, shown in zip(rows, summaries, strict=True):
        assert row["guarantee"]["label"]
        epsilon = shown.numbers.epsilon
        twice = (
            "" if MECHANISMS[shown.mechanism].charged(2) == 1 else f" each, in all {ceiling(2 * epsilon, 2)}"
        )
        assert row["cells"]["epsilon"]["text"] == f"{ceiling(epsilon, 2)}{twice}"


def test_an_epsilon_of_the_table_is_that_of_its_sentence_and_never_less_than_it_is():
    """The table rounded to the nearest: a row of 6.00 was said to have gone to 6.01, and to fail a rule of 6."""
    for sets, text in ((1, "6.01"), (3, "6.01 each, in all 18.01")):
        known = numbers(epsilon=6.0013, n_datasets=sets)
        assert epsilon_text(known) == text and text.endswith(epsilon_number(known.total_epsilon))


def errors_of(summaries, *errors):
    return [with_variable(s, ecdf_max=error) for s, error in zip(summaries, errors, strict=False)]


def ranks(chosen, kinds):
    promises = {
        s.mechanism: {"label": kind, "strength": 1, "lines": [], "sentence": "S."}
        for s, kind in zip(chosen, kinds, strict=True)
    }
    return [row["cells"]["ecdf_max"]["rank"] for row in results(chosen, LABELS, promises)]


@pytest.mark.parametrize(
    ("errors", "kinds", "expected"),
    [
        ((0.1, 0.2, 0.3), "aaa", [1, 2, 0]),
        ((0.1, 0.2, 0.3, 0.4, 0.5), "aabbb", [1, 0, 1, 2, 0]),  # within one guarantee; of two, only the best
        ((0.1, 0.2, 0.3), "abc", [0, 0, 0]),  # nothing to compare with
        ((0.1, 0.1, 0.3), "aaa", [1, 1, 0]),  # a tie for the best leaves no second
        ((0.1, 0.10000001, 0.3), "aaa", [1, 1, 0]),  # what reads the same is a tie
        ((0.1, 0.2, 0.2), "aaa", [1, 2, 2]),
        ((0.1, 0.1, 0.1), "aaa", [0, 0, 0]),
    ],
)
def test_best_is_said_within_one_guarantee_and_ties_are_ties(summaries, errors, kinds, expected):
    assert ranks(errors_of(summaries, *errors), kinds) == expected


def test_a_rule_marks_the_best_of_those_that_pass_and_says_why_others_fail(summaries):
    chosen = summaries[:4]
    passed = [Verdict(True, (), 0.02), Verdict(True, (), 0.020001), Verdict(True, (), 0.01)]
    verdicts = [*passed, Verdict(False, ("ε 6.8 > 1", "90th percentile off by 6 > 5 %"), 0.001)]
    promises = {
        s.mechanism: {"label": kind, "strength": 1, "lines": [], "sentence": "S.", "verdict": verdict}
        for s, kind, verdict in zip(chosen, "aaba", verdicts, strict=True)
    }
    rows = [row["verdict"] for row in results(chosen, LABELS, promises)]
    assert [row["text"] for row in rows] == [
        "✓ passes, ties for best",
        "✓ passes, ties for best",
        "✓ passes",  # alone with its guarantee
        "✗ fails",
    ]
    assert rows[3]["reason"] == "ε 6.8 > 1; 90th percentile off by 6 > 5 %"
    json.dumps(results(chosen, LABELS, promises), allow_nan=False)  # what the browser is sent


def test_each_mechanism_without_numbers_is_a_row_with_its_reason(summaries):
    rows = results(summaries[:1], LABELS, GUARANTEES, {"censored": "ε is too small."})
    assert rows[1] == {
        "mechanism": "censored",
        "label": "Censored",
        "color": color("censored"),
        "missing": "ε is too small.",
    }


def test_what_is_not_for_use_does_not_set_the_scale(summaries):
    doubled = tuple(replace(t, synthetic=2.2 * t.confidential) for t in summaries[1].numbers.statistics)
    summaries[1] = with_numbers(with_variable(summaries[1], statistics=doubled), problems=NOT_CONVERGED)
    low, high = compare_figures(summaries[:3], LABELS, "x")[3]["layout"]["xaxis"]["range"]
    others = [t for s in (summaries[0], summaries[2]) for t in s.numbers.statistics]
    ends = [100 * (v / t.confidential - 1) for t in others for v in t.synthetic_interval]
    assert low <= min(ends) and max(ends) <= high < 119


def test_what_is_seen_beside_is_faint_dashed_and_named(summaries):
    now, before = summaries[:2], {s.mechanism: s for s in summaries[:3]}
    figures = compare_figures(now, LABELS, "x", Other("A", "now", before))
    for figure in figures:
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))
        assert figure["layout"]["showlegend"]
        names = {t["name"] for t in figure["traces"]}
        assert {"Unweighted, now", "Unweighted, A", "Weighted, now", "Weighted, A"} <= names
        legend = [t["name"] for t in figure["traces"] if t.get("showlegend")]
        assert {"Unweighted, now", "Weighted, now", "A, paler"} <= set(legend)
        assert not {"Unweighted, A", "Weighted, A"} & set(legend)  # each twice had no room
        for trace in (t for t in figure["traces"] if t.get("name", "").endswith(", A")):
            assert trace["opacity"] < 1
    curves = [t for t in figures[1]["traces"] if t["mode"] == "lines"]
    assert {t["line"]["dash"] for t in curves if t["name"].endswith(", A")} == {"dot"}
    assert {t["line"]["dash"] for t in curves if t["name"].endswith(", now")} == {"solid"}
    assert "Weighted-e, A" in {t["name"] for t in curves}  # only there


def test_the_confidential_curve_is_on_top_and_what_must_not_be_used_is_faint(summaries):
    summaries[1] = with_numbers(summaries[1], problems=NOT_CONVERGED)
    summaries[2] = replace(summaries[2], old=True)
    for figure in compare_figures(summaries, LABELS, "x"):
        for trace in (t for t in figure["traces"] if "meta" in t):
            faint = trace["meta"] in (summaries[1].mechanism, summaries[2].mechanism)
            assert (trace.get("opacity", 1.0) < 0.5) == faint, trace["meta"]
        named = [t["meta"] for t in figure["traces"] if t.get("showlegend") and "meta" in t]
        shown = [s.mechanism for s in summaries if figure["key"] in ("ecdf", "quantiles") or s.privacy]
        assert named == shown  # a legend in every panel
    assert ecdf_figure(summaries, LABELS, "x")["traces"][-1]["name"] == "Confidential"


def test_what_has_not_converged_is_never_marked_best(summaries):
    best = min(summaries, key=lambda s: s.numbers.ecdf_max)
    summaries[summaries.index(best)] = with_numbers(best, problems=NOT_CONVERGED)
    rows = {row["mechanism"]: row for row in results(summaries, LABELS, GUARANTEES)}
    assert rows[best.mechanism]["cells"]["ecdf_max"]["rank"] == 0
    assert "not converged" in rows[best.mechanism]["hints"][0]
    assert [name for name, row in rows.items() if row["unfit"]] == [
        best.mechanism
    ]  # whose numbers are struck through


def test_more_draws_are_not_advised_where_they_do_not_help(summaries):
    """The row said to take more, and its diagnostics that they change nothing."""
    [some] = summaries[:1]
    fit = some.numbers.variables[0].diagnostics
    for diagnostics, said in (
        (fit, "Take more draws"),
        (replace(fit, divergences=fit.draws), "Take another model"),
    ):
        bad = with_variable(some, diagnostics=diagnostics, problems=NOT_CONVERGED)
        [row] = results([with_numbers(bad, problems=NOT_CONVERGED)], LABELS, GUARANTEES)
        assert said in row["hints"][0]


def test_a_model_that_does_not_fit_is_named_beside_what_leaves_it_as_it_is(summaries):
    """Compare gave 31 points as an error of each mechanism, and said nowhere that the model had them all."""
    bare = next(s for s in summaries if s.mechanism == "unweighted")
    others = [s for s in summaries if s is not bare]

    def hints(off, of):
        rows = results([with_variable(each, ecdf_max=off) for each in of], LABELS, GUARANTEES)
        return [hint for row in rows for hint in row["hints"] if "does not fit" in hint]

    [said] = hints(0.31, [bare])
    assert "off already (31.0 percentage points)" in said
    assert "no closer" not in said  # Weighted was, by a point, on real incomes
    assert not hints(0.03, [bare]) and not hints(0.31, others)
    of_model = [each for each in others if MECHANISMS[each.mechanism].likelihood.samples]
    for each in others:  # who reads a row below it has to know too
        told = hints(0.31, [bare, each])[1:]
        shared = [
            "it has the model that does not fit under Unweighted: a part of its error may be the model's."
        ]
        assert told == (shared if each in of_model else [])
    [brackets] = hints(0.31, [with_variable(bare, model="bracketed")])
    assert "let it stand twice among the edges" in brackets and "another model" not in brackets
    assert "edges" not in said
    few = with_variable(bare, n_records=100, n_zero_weight=0)
    assert not hints(0.15, [few]) and hints(0.25, [few])  # two samples of 100 are up to 0.19 apart by chance
    unknown = with_variable(bare, problems=NOT_CONVERGED)
    # A few large weights take the values further apart by chance.
    weighted = with_numbers(bare, accuracy_by="w")
    assert not hints(0.31, [unknown]) and not hints(0.31, [weighted])


def test_long_names_of_categories_are_cut_on_the_axes_of_a_map_and_whole_where_one_points(summaries):
    """They took three quarters of the figure, and were cut off at the left edge."""
    names = ["Nursery school, Preschool, or Kindergarten", "Nursery school, none", "GED"]
    pair = PairSummary(("sex", "edu"), 0.1, (["f"], names), [[0.5, 0.2, 0.3]], [[0.4, 0.3, 0.3]])
    figure = pair_figure([replace(summaries[0], pairs=(pair,))], LABELS, ("sex", "edu"))
    axis = figure["layout"]["xaxis"]
    assert [len(text) <= 18 for text in axis["ticktext"]] == [True] * 3 and axis["ticktext"][2] == "GED"
    assert axis["tickvals"] == figure["traces"][0]["x"] and "ticktext" not in figure["layout"]["yaxis"]


def test_bounds_say_that_they_are_of_units_where_these_are_named(summaries):
    made = compare_figures(summaries, LABELS, "x")
    said = [each["reading"].endswith("its whole unit, 'house'.") for each in saying_unit(made, "house")]
    assert said == [each["key"] == "bounds" for each in made] and any(said)
    assert saying_unit(made, None) == made


def light(look):
    """Relative luminance of a colour, and its place in CIELAB (D65)."""
    share = np.array([int(look[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1.0, 1.089])
    return linear @ [0.2126, 0.7152, 0.0722], np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("background", ["#ffffff", "#0e1117"])
def test_colours_stand_out_from_either_background(background):
    other = light(background)[0]
    for key in MECHANISMS:
        dark, bright = sorted((light(color(key))[0], other))
        assert (bright + 0.05) / (dark + 0.05) > 2.5, key


def test_colours_that_come_near_each_other_have_unlike_patterns():
    """Twelve curves in near-identical greens could not be told apart."""
    for a, b in itertools.combinations(MECHANISMS, 2):
        apart = float(np.linalg.norm(light(color(a))[1] - light(color(b))[1]))
        assert apart > 20, (a, b)
        assert apart > 30 or dash(a) != dash(b), (a, b)


def test_every_mechanism_has_a_look_of_its_own():
    assert len({color(key) for key in MECHANISMS}) == len(MECHANISMS)
    assert color("count/censored") == color("count/censored")


def test_the_histogram_alone_draws(summaries):
    alone = [s for s in summaries if s.mechanism == "histogram"]
    empty = [f for f in compare_figures(alone, LABELS, "x") if not f["traces"]]
    assert [f["key"] for f in empty] == ["bounds", "weights"]
    assert all("neither bounds nor weights" in f["reading"] for f in empty)  # and no axes of nothing
    assert not any(f["layout"]["yaxis"]["visible"] for f in empty)
    for figure in compare_figures(alone, LABELS, "x"):
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))


def test_range_figures(rng):
    values = rng.lognormal(3, 1, 1000)
    outside = rng.random(1000)
    limits = np.column_stack([0.4 * values, np.full(1000, np.inf)])
    for figure in (outside_figure(values, outside, "x"), interval_figure(values, limits, 7, outside, "x")):
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))
        json.dumps(figure, allow_nan=False)


def test_zero_confidential_statistics_do_not_break_the_figure(summaries):
    for i, s in enumerate(summaries):
        mean, low, *others = s.numbers.statistics
        summaries[i] = with_variable(s, statistics=(mean, replace(low, confidential=0.0), *others))
    for figure in compare_figures(summaries, LABELS, "x"):
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))


def test_a_drawn_distribution_function_keeps_jumps_and_leaves_a_far_value_outside(rng, summaries):
    """A heap at zero is a step, not a slope from the smallest value; one loss does not press all else into a wall."""
    values = np.sort(np.concatenate([[-638_000.0], np.zeros(850), rng.lognormal(10.4, 1.0, 5600)]))
    drawn = ecdf_points(values)
    where = rng.uniform(values[0], values[-1], 2000)
    steps = np.searchsorted(drawn.at, where, side="right") - 1  # what the shape "hv" shows
    shown = np.where(steps >= 0, np.array(drawn.share)[steps], 0.0)
    truth = np.searchsorted(values, where, side="right") / len(values)
    assert np.abs(shown - truth).max() < 1.01 / (CURVE_POINTS - 1) + 1 / len(values)
    curves = EcdfSummary(drawn, drawn, 0.0, (0.1, 0.1))
    of_these = replace(summaries[1], ecdf=curves)
    shown = ecdf_figure([of_these], LABELS, "income")
    lines = [trace for trace in shown["traces"] if trace["mode"] == "lines"]
    assert {trace["line"]["shape"] for trace in lines} == {"hv"}
    assert shown["layout"]["xaxis"]["range"][0] > -50_000
    assert "outside" in shown["layout"]["xaxis"]["title"]["text"]


def test_a_variable_of_categories_shows_shares_and_no_distribution_function(summaries):
    shares = tuple(
        Statistic(
            f"share of {name}", mine, (mine - 0.02, mine + 0.02), theirs, (theirs - 0.03, theirs + 0.03)
        )
        for name, mine, theirs in (("<b>single</b>", 0.3, 0.27), ("married", 0.7, 0.73))
    )
    some = [with_variable(s, statistics=shares) for s in summaries[:2]]
    labels = {s.mechanism: s.mechanism for s in some}
    figures = {each["key"]: each for each in compare_figures(some, labels, "status")}
    shares = figures["ecdf"]
    assert shares["title"] == "Accuracy: shares of the categories"
    assert [trace["y"] for trace in shares["traces"]] == [[30.0, 70.0], [27.0, 73.0], [27.0, 73.0]]
    assert "<b>" not in str(shares["traces"])
    assert shares["traces"][1]["error_y"]["array"] == pytest.approx([3.0, 3.0])
    assert figures["quantiles"]["title"] == "Accuracy: error of each share"
    assert shares["table"]["columns"] == ["Share in %", "<b>single</b>", "married"]


def test_the_pair_that_is_shown_by_itself_is_the_first_of_the_worst(summaries):
    """It was the worst of the first mechanism, beside a figure that had another one on top."""
    cells = ((["0"], ["1"]), [[1.0]], [[0.9]])

    def off(*errors):
        names = (("a", "b"), ("a", "c"))
        return tuple(PairSummary(pair, each, *cells) for pair, each in zip(names, errors, strict=True))

    some = [replace(summaries[0], pairs=off(0.05, 0.02)), replace(summaries[1], pairs=off(0.01, 0.11))]
    assert associations_figure(some, LABELS)["traces"][0]["x"] == [0.05, 0.02]  # counted from below
    assert pair_figure(some, LABELS, ("", ""))["title"].endswith("a and c")
    assert pair_figure(some, LABELS, ("a", "b"))["title"].endswith("a and b")


def test_the_largest_difference_is_in_points_wherever_compare_has_it(summaries):
    """0.0376 stood in a column of details beside 3.8 points."""
    one = with_variable(summaries[0], ecdf_max=0.03764)
    labels = {one.mechanism: "M"}
    [row] = results([one], labels, GUARANTEES)
    drawn = ecdf_figure([one], labels, "income")
    assert (row["cells"]["ecdf_max"]["text"], row["cells"]["gap"]["text"]) == ("3.76 points", "3.8 points")
    assert drawn["table"]["rows"][0][1] == "3.76 points" and "3.76 points" in drawn["alt"]


def test_the_largest_bound_is_written_as_the_table_of_results_has_it(summaries):
    """Δ = 27.3425 stood as 27.34 over a diamond and as 27.35 in the row: nothing of a loss is rounded down."""
    one = next(s for s in summaries if s.privacy is not None)
    five = replace(one.privacy.bounds.five, maximum=27.342411)
    bounds = replace(one.privacy.bounds, five=five)
    one = replace(one, privacy=replace(one.privacy, bounds=bounds))
    drawn = bounds_figure([one], {one.mechanism: "M"})
    [diamond] = [trace for trace in drawn["traces"] if trace.get("mode") == "markers+text"]
    assert diamond["text"] == ["Δ = 27.35"] and "27.35 nats" in drawn["alt"]
    assert drawn["table"]["rows"][0][-1] == "27.3425"


def test_the_caption_of_bounds_says_two_delta_only_where_it_is_so(summaries):
    """Noisy counts had Δ = 0.10 and ε = 1.00 under a caption that said ε = 2Δ."""
    chosen = [with_numbers(s, lipschitz_bound=2.0, epsilon=4.0) for s in summaries if s.privacy is not None][
        :2
    ]
    labels = {s.mechanism: f"M{i}" for i, s in enumerate(chosen)}
    assert bounds_figure(chosen, labels)["reading"].endswith("Lower is more private. ε = 2Δ.")
    chosen[1] = with_numbers(chosen[1], lipschitz_bound=0.1, epsilon=1.0)
    assert "ε = 2Δ, but for M1 ε is what was set" in bounds_figure(chosen, labels)["reading"]
    assert "2Δ" not in bounds_figure(chosen[1:], labels)["reading"]
    bare = replace(chosen[0], privacy=None)  # Measured had no shape, and nothing said why
    assert "Not of M0: what reads noisy counts" in bounds_figure([bare, chosen[1]], labels)["reading"]


def test_the_last_name_of_an_axis_stands_there_where_some_are_left_out():
    """What is missing was the furthest off, in a column without a name."""
    for n in range(1, 40):
        names = [f"c{i}" for i in range(n - 1)] + ["missing"]
        named = _names_in_short(names, 6).get("ticktext", names)
        assert named[-1] == "missing" and len(named) <= 6 and (n > 6 or named == names)
