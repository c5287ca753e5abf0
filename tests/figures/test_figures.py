"""Figures are valid plotly, complete in words, and hold no more than they draw."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from synth_core.analysis.result import Result
from synth_core.analysis.summary import CURVE_POINTS, ecdf_points, summarise
from synth_core.analysis.utility import ecdf_distance, statistics
from synth_core.engine.sampling import Diagnostics
from synth_core.figures.compare import compare_figures, results
from synth_core.figures.palette import color
from synth_core.figures.ranges import interval_figure, outside_figure
from synth_core.figures.utility import ecdf_figure
from synth_core.mechanisms.catalogue import HISTOGRAM, MECHANISMS

LABELS = {key: m.label for key, m in MECHANISMS.items()}
GUARANTEES = {
    key: {"label": m.guarantee("closed").label, "strength": 1, "lines": []} for key, m in MECHANISMS.items()
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
            weights=none if key == HISTOGRAM else rng.random(n),
            lipschitz_bounds=none if key == HISTOGRAM else rng.gamma(2, 2, n),
            growth=none if key == HISTOGRAM else np.arange(1.0, 51),
            synthetic=synthetic,
            outside=none,
            match_risk=rng.random(n),
            true_match_rate=0.1,
            false_match_rate=0.9,
            epsilon_promised=5.0 if key == HISTOGRAM else None,
            epsilon_replace=9.0,
            n_truncated=0,
            n_censored=0,
            ecdf_max=distance.ecdf_max,
            ecdf_avg=distance.ecdf_avg,
            ecdf_location=distance.location,
            overlap=None,
            statistics=statistics(outcome, synthetic, (15.0, 50.0, 90.0), 1),
            diagnostics=None if key == HISTOGRAM else Diagnostics(1.0, 900, 900, 0, 2, 2000),
            seconds=0.1,
        )
        found.append(summarise(result, outcome) | {"density_scale": "density", "rows_dropped": 0})
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


def test_payload_is_small_whatever_n(summaries):
    assert len(json.dumps(compare_figures(summaries, LABELS, "x"))) < 60_000 * len(summaries)


def test_each_epsilon_stands_beside_its_guarantee_and_the_best_are_marked(summaries):
    rows = results(summaries, LABELS, GUARANTEES)
    for row, summary in zip(rows, summaries, strict=True):
        assert row["guarantee"]["label"]
        assert (
            row["cells"]["epsilon"]["text"] == f"{summary['epsilon']:.2f} × 2 = {2 * summary['epsilon']:.2f}"
        )
    by_error = sorted(summaries, key=lambda s: s["ecdf_max"])
    ranks = {row["mechanism"]: row["cells"]["ecdf_max"]["rank"] for row in rows}
    assert ranks[by_error[0]["mechanism"]] == 1
    assert ranks[by_error[1]["mechanism"]] == 2
    assert sum(r > 0 for r in ranks.values()) == 2


def test_what_has_not_converged_is_never_marked_best(summaries):
    best = min(summaries, key=lambda s: s["ecdf_max"])
    best["problems"] = ["R-hat is 1.2"]
    rows = {row["mechanism"]: row for row in results(summaries, LABELS, GUARANTEES)}
    assert rows[best["mechanism"]]["cells"]["ecdf_max"]["rank"] == 0
    assert "not converged" in rows[best["mechanism"]]["hints"][0]


def test_every_mechanism_has_a_look_of_its_own():
    assert len({color(key) for key in MECHANISMS}) == len(MECHANISMS)
    assert color("count/censored") == color("count/censored")


def test_the_histogram_alone_draws(summaries):
    alone = [s for s in summaries if s["mechanism"] == HISTOGRAM]
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
    for s in summaries:
        s["statistics"][1]["confidential"] = 0.0
    for figure in compare_figures(summaries, LABELS, "x"):
        go.Figure(plain(figure["traces"]), plain(figure["layout"]))


def test_a_drawn_distribution_function_keeps_jumps_and_leaves_a_far_value_outside(rng):
    """A heap at zero is a step, not a slope from the smallest value; one loss does not press all else into a wall."""
    values = np.sort(np.concatenate([[-638_000.0], np.zeros(850), rng.lognormal(10.4, 1.0, 5600)]))
    drawn = ecdf_points(values)
    where = rng.uniform(values[0], values[-1], 2000)
    steps = np.searchsorted(drawn["at"], where, side="right") - 1  # what the shape "hv" shows
    shown = np.where(steps >= 0, np.array(drawn["share"])[steps], 0.0)
    truth = np.searchsorted(values, where, side="right") / len(values)
    assert np.abs(shown - truth).max() < 1.01 / (CURVE_POINTS - 1) + 1 / len(values)
    summary = {
        "mechanism": "weighted",
        "ecdf": {"confidential": drawn, "synthetic": drawn, "place": 0.0, "at_place": [0.1, 0.1]},
        "ecdf_max": 0.0,
        "ecdf_avg": 0.0,
    }
    shown = ecdf_figure([summary], LABELS, "income")
    lines = [trace for trace in shown["traces"] if trace["mode"] == "lines"]
    assert {trace["line"]["shape"] for trace in lines} == {"hv"}
    assert shown["layout"]["xaxis"]["range"][0] > -50_000
    assert "outside" in shown["layout"]["xaxis"]["title"]["text"]
