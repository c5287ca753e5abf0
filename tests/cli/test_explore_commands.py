"""`map` and `tune`: the contract of their JSON, files, and bad input."""

import csv
import io
import json

import pytest

from synth_core.cli import main

pytestmark = pytest.mark.stan
SMALL = ["example:beta", "--rows", "200", "--draws", "500", "--warmup", "500"]


def run(capsys, *arguments):
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err


def test_map_json_table_and_csv(capsys):
    asked = ["map", *SMALL, "--mechanism", "unweighted", "weighted", "histogram", "--sweep", "scale=0.5:1:2",
             "--sweep", "epsilon=2:4:2", "--measure", "q97.5"]  # fmt: skip
    status, out, err = run(capsys, *asked, "--format", "json")
    assert status == 0
    assert "5 points" in err
    found = json.loads(out)
    assert [p["mechanism"] for p in found["points"]].count("weighted") == 2
    assert len(found["points"]) == 5
    for p in found["points"]:
        assert p["guarantee"]
        assert p["utility"]["q05"] <= p["utility"]["median"] <= p["utility"]["q95"]
        assert not (p["mechanism"] == "unweighted" and p["on_frontier"])
    assert {p["guarantee"] for p in found["points"] if p["on_frontier"]} == {
        "asymptotic DP",
        "ε-DP, one value replaced",
    }
    status, out, _ = run(capsys, *asked, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(r["epsilon"]) for r in rows] == [p["epsilon"] for p in found["points"]]
    assert "q97.5_median" in rows[0]
    status, out, _ = run(capsys, *asked)
    assert "ε-DP" in out
    assert "frontier of its own" in out


def test_other_synthesizers_beside_a_map(capsys):
    asked = ["map", *SMALL, "--mechanism", "histogram", "--sweep", "epsilon=2:8:2", "--rival", "histogram", "sample",
             "--replicates", "3"]  # fmt: skip
    status, out, err = run(capsys, *asked, "--format", "json")
    assert status == 0
    assert "as the histogram has them between the declared bounds" in err
    found = json.loads(out)
    frontier = sorted(p["epsilon"] for p in found["points"] if p["on_frontier"])
    assert [r["epsilon"] for r in found["rivals"]] == [*frontier, None]
    assert [r["guarantee"] for r in found["rivals"]] == ["zCDP, ρ = ε²/8"] * len(frontier) + ["no guarantee"]
    assert all(
        r["runs"] == 3 and 0 < r["mean"] < 1 and r["two_standard_errors"] >= 0 for r in found["rivals"]
    )
    status, again, _ = run(capsys, *asked, "--format", "json")
    assert json.loads(again)["rivals"] == found["rivals"]
    status, out, _ = run(capsys, *asked)
    assert "(mean ± 2 standard errors of 3 runs)" in out
    assert "none can be released here" in out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--rival", "tree"], "no rival 'tree'"),
        (["--rival", "one-way"], "no rival 'one-way' of one variable"),
        (["--rival", "sample", "--replicates", "0"], "--replicates must be 1 or more"),
        (["--rival", "histogram", "--edges", "0,a"], "Edges are numbers"),
        (["--rival", "histogram", "--edges", "0,2,1"], "ascend"),
    ],
)
def test_bad_input_of_rivals_beside_a_map(capsys, more, words):
    asked = ["map", *SMALL, "--mechanism", "histogram", "--sweep", "epsilon=2:2:1"]
    status, _, err = run(capsys, *asked, *more)
    assert status == 2
    assert words in err.splitlines()[-1]


@pytest.mark.long
def test_tune_json_and_table(capsys):
    asked = ["tune", *SMALL, "--mechanism", "histogram", "--target"]
    status, out, _ = run(
        capsys, "tune", *SMALL, "--mechanism", "exponential", "--target", "ecdf_max<=0.25", "--format", "json"
    )
    assert status == 0
    found = json.loads(out)
    by_name = {a["mechanism"]: a for a in found["answers"]}
    assert by_name["exponential"]["reached"]
    assert by_name["exponential"]["share_meeting_target"] >= 0.9
    low, high = by_name["exponential"]["share_interval_95"]
    assert low < by_name["exponential"]["share_meeting_target"] < high
    status, out, _ = run(capsys, *asked, "epsilon=3")
    assert status == 0
    assert "ε = 3 (ε-DP, one value replaced) with Histogram" in out
    status, out, _ = run(capsys, *asked, "median<=0.0001%")
    assert status == 0
    assert "no setting of the chosen mechanisms reaches it" in out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--sweep", "scale=0.1:2:100", "--sweep", "shift=0:1:100", "--sweep", "epsilon=1:2:100",
          "--mechanism", "censored_weighted"], "1,000,000 points"),
        (["--sweep", "scale=2:1:3"], "larger than to"),
        (["--sweep", "scale=nan:1:3"], "finite"),
        (["--sweep", "scale=0:1:0"], "no steps"),
        (["--predictive", "1"], "--predictive"),
        (["--refine", "-1"], "--refine"),
        (["--measure", "q100"], "no utility measure"),
        (["--mechanism"], "mechanism"),
    ],
)  # fmt: skip
def test_bad_input_of_map(capsys, more, words):
    status, out, err = run(capsys, "map", *SMALL, *more)
    assert status == 2
    assert out == ""
    assert words in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--target", "epsilon=0"], "between"),
        (["--target", "epsilon=nonsense"], "no mechanism"),
        (["--target", "q90"], "not understood"),
        (["--target", "q90<=1%", "--share", "1"], "between 0 and 1"),
        (["--target", "epsilon=4", "--by", "taste"], "no utility measure"),
        (["--target", "epsilon=4", "--mechanism", "range_averaged", "--sweep", "shift=0:1:30",
          "--sweep", "range_a=0:0.9:30"], "900 searches"),
    ],
)  # fmt: skip
def test_bad_input_of_tune(capsys, more, words):
    status, _, err = run(capsys, "tune", *SMALL, *more)
    assert status == 2
    assert words in err


def test_a_histogram_without_bounds_is_refused(capsys):
    status, _, err = run(capsys, "map", "example:401ksubs", "--mechanism", "histogram")
    assert status == 2
    assert "declared bounds" in err
