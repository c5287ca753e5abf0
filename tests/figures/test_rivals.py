"""Rivals on the map: their bands by hand, where they win and lose, and what each promises."""

import json
import math

import plotly.graph_objects as go
import pytest

from synth_core.experiments.rivals.bands import bands_of
from synth_core.experiments.rivals.map_runs import RivalSummary
from synth_core.figures.explore import map_figure
from tests.figures.test_figures import plain
from tests.summary_numbers import map_point


def point(epsilon, error):
    bands = {"ecdf_max": (error * 0.8, error, error * 1.2), "q90": (0.1, 0.2, 0.3)}
    return map_point("anchored", "anchored", epsilon, knobs={"epsilon": epsilon}, bands=bands)


def run(who, epsilon, seed, error, counted="rho"):
    return RivalSummary(
        who, epsilon, seed, counted, 1.0, {"ecdf_max": error, "q90": math.nan}, 20, 1.0, False
    )


POINTS = [point(1.0, 0.05), point(4.0, 0.03)]
RUNS = [
    *(run("mst", 1.0, seed, error) for seed, error in enumerate((0.01, 0.02, 0.03))),  # ahead of us
    *(run("mst", 4.0, seed, error) for seed, error in enumerate((0.008, 0.008, 0.008))),
    *(run("sample", None, seed, error) for seed, error in enumerate((0.06, 0.08))),  # behind us
]


def test_a_band_is_the_mean_and_two_standard_errors():
    figure = map_figure(POINTS, "ecdf_max", rivals=bands_of(RUNS))
    go.Figure(plain(figure["traces"]), plain(figure["layout"]))
    traces = {t["name"]: t for t in figure["traces"] if "name" in t}
    mst, sample = traces["MST (zCDP, ρ = ε²/8)"], traces["Sample of 10 % (no guarantee)"]
    assert mst["x"] == [1.0, 4.0]
    assert mst["y"] == pytest.approx([2, 0.8])
    error = 2 / math.sqrt(3)  # the deviation of 1, 2 and 3 points is 1
    assert mst["error_y"]["array"] == pytest.approx([error, 0])
    areas = [t for t in figure["traces"] if t.get("fill") == "toself"]
    mine = next(t for t in areas if t["legendgroup"] == mst["legendgroup"])
    assert mine["y"] == pytest.approx([2 + error, 0.8, 0.8, 2 - error])
    # A group in another legend would set that one in columns, over the others.
    assert all(t["legend"] == "legend3" for t in figure["traces"] if "legendgroup" in t)
    # The sample has no ε: its line goes from end to end, at the mean, within ± 2 × 1 (two runs, 2 points apart).
    assert sample["y"] == pytest.approx([7, 7])
    assert sample["error_y"]["array"] == pytest.approx([2, 2])
    assert sample["x"][0] < 1.0 < 4.0 < sample["x"][1] or sample["x"] == figure["layout"]["xaxis"]["range"]


def test_the_axis_holds_what_is_better_than_ours():
    y_axis = map_figure(POINTS, "ecdf_max", rivals=bands_of(RUNS))["layout"]["yaxis"]
    low, high = (10**v for v in y_axis["range"]) if y_axis.get("type") == "log" else y_axis["range"]
    assert low < 0.8
    assert high > 7


def test_each_epsilon_stands_beside_its_promise():
    figure = map_figure(POINTS, "ecdf_max", rivals=bands_of(RUNS))
    hovers = [h for t in figure["traces"] if "MST" in t.get("name", "") for h in t["hovertemplate"]]
    assert "ε = 1: zCDP with ρ = ε²/8 = 0.125, one record withheld" in hovers[0]
    assert "ε = 4: zCDP with ρ = ε²/8 = 2," in hovers[1]
    assert "mean ± 2 standard errors of 3 runs" in hovers[0]
    assert all("cannot be released here" in h for h in hovers)
    assert "none can be released here" in figure["reading"]
    rows = [row for row in figure["table"]["rows"] if row[1] == "another synthesizer"]
    assert [row[0] for row in rows] == ["MST", "MST", "Sample of 10 %"]
    assert "MST, not ours (zCDP, ρ = ε²/8): ε 1.00 error 2 points, ε 4.00 error 0.8 points" in figure["alt"]
    pure = map_figure(POINTS, "ecdf_max", rivals=bands_of([run("aim", 2.0, 1, 0.1, "epsilon")]))
    assert "AIM (ε-DP)" in json.dumps(pure["traces"], ensure_ascii=False)
    assert "in the only run" in json.dumps(pure["traces"])


def test_they_cannot_be_picked_and_are_on_no_frontier():
    figure, alone = (map_figure(POINTS, "ecdf_max", rivals=bands) for bands in (bands_of(RUNS), ()))
    assert not any("customdata" in t for t in figure["traces"] if t.get("legend") == "legend3")
    frontier = [next(t for t in f["traces"] if "frontier" in t.get("name", ""))["y"] for f in (figure, alone)]
    assert frontier[0] == frontier[1] == [5.0, 3.0]
    # An error that is no number is not drawn, and nothing is said of it.
    assert map_figure(POINTS, "q90", rivals=bands_of(RUNS)) == map_figure(POINTS, "q90")
