"""`study rivals`: a table of ours and theirs, stored cells, and one clear line for what cannot be."""

import json

import numpy as np
import pandas as pd
import pytest

from synth_core.cli import main
from synth_core.errors import FitError
from synth_core.experiments.rivals import graphical, registry, study

QUICK = ["--draws", "500", "--warmup", "300", "--chains", "1"]
SEX, PAY = "sex=categorical:categories=f,m", "pay=two_part:unit=10:guess=20,1"


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 300), "area": rng.choice(["north", "south"], 300)})
    frame["pay"] = np.where(rng.random(300) < 0.1, 0.0, rng.lognormal(3, 0.4, 300)).round(1)
    frame.to_csv(tmp_path / "people.csv", index=False)
    return str(tmp_path / "people.csv")


def command(file, *more):
    return ["study", "rivals", file, "--block", SEX, "--block", PAY, "--predictors", "area", *QUICK, *more]


@pytest.mark.slow
@pytest.mark.stan
def test_ours_and_theirs_in_one_table_and_read_again(file, capsys, monkeypatch):
    asked = command(
        file, "--mechanism", "unweighted", "--rival", "histogram", "sample", "--epsilon", "2", "8",
        "--replicates", "2", "--format", "json",
    )  # fmt: skip
    assert main(asked) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert "rivals: 0 of 8, next: Unweighted, seed 1" in err
    assert "Histogram of all cells at ε = 8, seed 2" in err
    assert [(row["who"], row["epsilon"], row["seeds"]) for row in found["rows"]] == [
        ("unweighted", None, 2),
        ("histogram", 2.0, 2),
        ("histogram", 8.0, 2),
        ("sample", None, 2),
    ]
    for row in found["rows"]:
        cells = [c for c in found["cells"] if (c["who"], c["epsilon"]) == (row["who"], row["epsilon"])]
        scores = [c["k_marginal"] for c in cells]
        assert row["mean"]["k_marginal"] == pytest.approx(np.mean(scores))
        assert row["two_standard_errors"]["k_marginal"] == pytest.approx(
            2 * np.std(scores, ddof=1) / np.sqrt(2)
        )
        assert set(row["distance"]) == {"sex", "pay", "area × sex", "area × pay", "sex × pay"}
    sample = [c for c in found["cells"] if c["who"] == "sample"]
    assert all(0 < c["k_marginal"] < 1000 and c["epsilon_found"] is None for c in sample)
    # What MST and AIM draw has no seed: the same numbers again are read and not computed.
    monkeypatch.setattr(study._Runner, "_computed", lambda *_: pytest.fail("computed again"))
    assert main(asked) == 0
    assert json.loads(capsys.readouterr().out) == found
    assert main([*asked[:-2], "--format", "table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["ε", "k-marginal"]
    assert "±" in lines[1]
    assert any("ρ = ε²/8" in line for line in lines)


def test_a_fit_that_fails_leaves_the_others(file, capsys, monkeypatch):
    def fail(*_):
        raise FitError("The sampler stopped.")

    monkeypatch.setattr(study._Runner, "_ours", fail)
    asked = command(file, "--rival", "one-way", "--replicates", "1", "--epsilon", "3")
    assert main(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:3] == ["Anchored", "3", "–"]
    assert lines[2].startswith("Histogram of each variable")
    assert lines[-1] == "! Anchored, seed 1: no result. The sampler stopped."


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["study", "rivals"], "Which table?"),
        (["study", "rivals", "FILE"], "Which sensitive variables?"),
        (["--rival", "tree"], "no rival 'tree'; there are: mst, aim, histogram"),
        (["--rival", "sample", "--mechanism", "magic"], "no mechanism 'magic'"),
        (["--mechanism", "anchored@tree"], "There is no rival 'tree'"),
        (["--mechanism", "weighted@histogram"], "an anchored mechanism can be anchored at"),
        (["--mechanism", "anchored@sample"], "such as anchored@mst"),
        (["--mechanism", "histogram"], "about one sensitive variable"),
        (["--edges", "pay=0,1,a"], "Edges are numbers"),
        (["--edges", "pay=0,1,2", "--edges", "pay=0,1,2"], "'pay' twice"),
        (["--edges", "wage=0,1,2"], "'wage', which is no block and no predictor"),
        (["--epsilon", "0"], "above 0"),
        (["--replicates", "0"], "between 1 and 1,000"),
        (["--format", "csv"], "table, json, markdown"),
        (["--rows", "100"], "--rows is not of: study rivals"),
        (["--unit", "3"], "--unit is of one sensitive variable"),
        (["--scale", "1", "2"], "--scale takes one value"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(arguments, match, file, capsys):
    given = [file if part == "FILE" else part for part in arguments]
    assert main(given if given[0] == "study" else command(file, *given)) == 2
    assert match in capsys.readouterr().err.splitlines()[-1]


def test_a_rival_that_is_not_installed_names_the_command(file, capsys, monkeypatch):
    monkeypatch.setattr(graphical.importlib.util, "find_spec", lambda name: None)
    assert main(command(file, "--rival", "mst")) == 2
    assert "python -m pip install -r requirements-rivals.txt" in capsys.readouterr().err


@pytest.mark.stan
@pytest.mark.slow
def test_an_anchor_that_was_paid_for_has_half_of_the_budget(file, capsys, monkeypatch):
    """rho: half for the release, half for the two blocks, whose epsilon sums to more than they share."""
    budgets = []
    make = registry.RIVALS["one-way"].make
    spied = registry.Rival("One-way", lambda *given: (budgets.append(given[1]), make(*given))[1])
    monkeypatch.setitem(registry.RIVALS, "one-way", spied)
    asked = [*command(file), "--draws", "1000", "--warmup", "500", "--chains", "2"]
    asked += ["--mechanism", "anchored@one-way", "--epsilon", "8", "--replicates", "1", "--format", "json"]
    assert main(asked) == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    assert [budget.rho for budget in budgets] == pytest.approx([4.0])
    assert cell["epsilon_found"] == pytest.approx(2 * np.sqrt(8 * 2.0))  # two blocks, each of rho 2
    assert cell["k_marginal"] > 500


def test_its_options_belong_to_no_other_study(capsys):
    assert main(["study", "anchored", "--rival", "mst", "--budget", "rho"]) == 2
    assert "--rival, --budget belongs to: study rivals DATA" in capsys.readouterr().err
