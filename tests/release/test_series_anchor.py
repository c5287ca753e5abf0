"""A series that anchors itself: each release at those before it, by their archives, and the same when repeated."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.anchor import Anchor
from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import guarantees
from synth_core.mechanisms.composition import epsilon_at, rho_of
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.state import private_directory
from synth_core.system.number_text import rounded_up

pytestmark = [pytest.mark.stan]
EPSILON = 3.0


@pytest.fixture
def series(tmp_path, monkeypatch, request):
    """A plan with the anchor `series`, or what else a test asks for, and three tables of one kind."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    rng = np.random.default_rng(4)
    for month in range(4):
        z = rng.normal(0.0, 1.0, 500)
        pd.DataFrame({"x": rng.lognormal(3.5 + 0.3 * z, 0.6), "z": z}).to_csv(
            tmp_path / f"{month}.csv", index=False
        )
    assert main(["plan", str(tmp_path / "0.csv"), "--outcome", "x", "--predictors", "z", "--guess", "40", "0.8",
                 "--mechanism", "anchored", *getattr(request, "param", ["--anchor", "series"]),
                 "--epsilon", str(EPSILON), "--draws", "1500", "--warmup", "500",
                 "--tuned-on", "historical", "--series", "monthly", "--reason", "test", "--decided-by", "me",
                 "--limit", "10", "--out", str(tmp_path / "plan.json")]) == 0  # fmt: skip
    return tmp_path


def apply(series, month, *more):
    return main(
        [
            "apply",
            str(series / "plan.json"),
            str(series / f"{month}.csv"),
            "--out",
            str(series / "out"),
            *more,
        ]
    )


def report(series, number):
    with zipfile.ZipFile(series / "out" / f"monthly-{number:03d}-releasable.zip") as archive:
        return archive.read(f"monthly-{number:03d}/report.html").decode()


@pytest.mark.slow
def test_months(series, capsys):
    assert [apply(series, month) for month in (1, 2, 3)] == [0, 0, 0], capsys.readouterr().err
    assert "pilot on 125 of the 500 records" in report(series, 1)
    assert "the released data of release 1 of monthly" in report(series, 2)
    assert "the released data of releases 1 to 2 of monthly" in report(series, 3)
    ledger = Ledger()
    entries = [e for e in ledger.entries("monthly") if e.kind == "commit"]
    assert all(e.details["anchor_records"] > 2 for e in entries)
    balance = ledger.balance("monthly")
    assert balance.spent == 3 * EPSILON
    assert balance.rho == pytest.approx(3 * EPSILON**2 / 8)
    assert f"{rounded_up(epsilon_at(2 * EPSILON**2 / 8), 4)} at δ" in report(series, 2)
    # An earlier release drawn again has what it had then as its anchor, whatever was released since.
    assert apply(series, 2, "--recompute") == 0, capsys.readouterr().err
    # What a release rests on must be what was released.
    path = next(private_directory("releases", entries[0].release).glob("*-releasable.zip"))
    path.write_bytes(path.read_bytes() + b"x")
    assert apply(series, 2, "--recompute") == 1
    assert "gone or was changed" in capsys.readouterr().err


COUNTS_FIRST = [
    "--anchor",
    "counts+series",
    "--bracket-edges",
    "0",
    "10",
    "20",
    "30",
    "45",
    "70",
    "120",
    "1000",
]


@pytest.mark.slow
@pytest.mark.parametrize("series", [COUNTS_FIRST], indirect=True)
def test_a_series_may_begin_with_noisy_counts(series, capsys):
    assert [apply(series, month) for month in (1, 2)] == [0, 0], capsys.readouterr().err
    assert "noisy counts of brackets of x, by each predictor. They cost 40 % of ε" in report(series, 1)
    assert "the released data of release 1 of monthly" in report(series, 2)
    assert "noisy counts" not in report(series, 2)
    balance = Ledger().balance("monthly")
    assert (balance.spent, balance.rho) == (2 * EPSILON, pytest.approx(2 * EPSILON**2 / 8))
    capsys.readouterr()
    assert main(["ledger", "show", "monthly"]) == 0
    shown = capsys.readouterr().out
    commits = [e.details for e in Ledger().entries("monthly") if e.kind == "commit"]
    assert "INTERNAL" in shown
    for number, numbers in enumerate(commits, start=1):
        line = next(x.split() for x in shown.splitlines() if x.startswith(f"  {number} "))
        assert line[2:4] == ["500", f"{100 * numbers['ecdf_max']:.2f}"]
        assert line[-3:] == [
            f"{EPSILON:g}",
            f"{number * EPSILON:g}",
            rounded_up(epsilon_at(number * EPSILON**2 / 8), 4),
        ]


@pytest.mark.slow
def test_a_release_of_other_variables_of_the_series_is_no_anchor(series, capsys):
    frame = pd.read_csv(series / "1.csv").rename(columns={"x": "y"})
    frame.to_csv(series / "other.csv", index=False)
    plan = json.loads((series / "plan.json").read_text())
    text = json.dumps(plan).replace('"x"', '"y"')
    (series / "mine.json").write_text(json.dumps(plan))
    (series / "plan.json").write_text(text)
    assert apply(series, "other") == 0, capsys.readouterr().err
    (series / "plan.json").write_text((series / "mine.json").read_text())
    assert apply(series, 2) == 0, capsys.readouterr().err
    assert "pilot on 125 of the 500 records" in report(series, 2)


@pytest.mark.slow
def test_a_draw_that_is_too_vague_is_charged_once_for_each_label(series, capsys):
    table = pd.read_csv(series / "1.csv").head(24)
    table.to_csv(series / "1.csv", index=False)

    def refused(*more):
        assert apply(series, 1, *more) == 2
        said = capsys.readouterr().err
        assert "Traceback" not in said
        said = " ".join(said.split())
        assert "ε = 3 stays charged." in said and "another label is another draw and another charge." in said
        return said

    assert "too little to learn from" in refused()
    assert "too little to learn from" in refused()  # the same draw
    assert Ledger().balance("monthly").spent == EPSILON
    assert "too little to learn from" in refused("--release", "second")
    balance = Ledger().balance("monthly")
    assert (balance.spent, balance.committed, balance.releases) == (2 * EPSILON, 2 * EPSILON, 0)
    assert balance.rho == pytest.approx(2 * EPSILON**2 / 8)
    charged = next(e for e in Ledger().entries("monthly") if e.kind == "reserve")
    assert main(["ledger", "cancel", "monthly", charged.release, "--reason", "again"]) == 2
    assert "its charge stays" in " ".join(capsys.readouterr().err.split())


def test_a_draw_from_which_nothing_can_be_simulated_is_charged_too(series, capsys, monkeypatch):
    simulate = Anchor.simulate

    def broken(self, fits, rng):
        if self.kind == "pilot":
            raise InputError("The values simulated from it are no numbers.")
        return simulate(self, fits, rng)

    monkeypatch.setattr(Anchor, "simulate", broken)
    assert apply(series, 1) == 2
    assert "no numbers. A refusal tells of a draw" in " ".join(capsys.readouterr().err.split())
    assert Ledger().balance("monthly").spent == EPSILON


def test_a_refusal_before_any_draw_is_given_back(series, capsys, monkeypatch):
    def broken(self, fits, rng):
        assert self.kind == "guess"
        raise InputError("The guess is no good.")

    monkeypatch.setattr(Anchor, "simulate", broken)
    assert apply(series, 1) == 2
    assert "stays charged" not in capsys.readouterr().err
    assert Ledger().balance("monthly").spent == 0


def test_a_sum_without_rho_where_a_release_has_none():
    assert rho_of(guarantees()["anchored"], 2.0, 3) == pytest.approx(1.5)
    assert rho_of(guarantees()["histogram"], 2.0, 1) == pytest.approx(2.0)
    assert rho_of(guarantees()["weights_seen"], 2.0, 1) is None


@pytest.mark.slow
def test_months_under_a_limit_by_zcdp(series, capsys):
    plan = json.loads((series / "plan.json").read_text())
    (series / "plan.json").write_text(json.dumps(plan | {"limit": 17.0, "limit_delta": 1e-6}))
    assert apply(series, 1) == 0, capsys.readouterr().err
    reached = epsilon_at(EPSILON**2 / 8)
    spent = f"<dd>ε = {rounded_up(reached, 4)} at δ = 1e-06"
    fact = f"{spent}<small>of at most 17, counted by zCDP; the sum of ε is {EPSILON:g}"
    assert f"{fact}</small>" in report(series, 1)
    with zipfile.ZipFile(series / "out" / "monthly-001-INTERNAL.zip") as archive:
        assert (
            f"{fact}; after it room for one more data set"
            in archive.read("monthly-001-INTERNAL/report-INTERNAL.html").decode()
        )
    for arguments, message in (
        (["--limit", "17", "--count", "sum"], "fixed with its first limit"),
        (["--limit", "18"], "is a decision of its own"),
        (["--count", "zcdp"], "belongs to --limit"),
    ):
        assert apply(series, 2, *arguments) == 2
        assert message in capsys.readouterr().err
    assert apply(series, 2, "--limit", "17") == 0, capsys.readouterr().err
    assert apply(series, 0) == 2  # the table it was tuned on: its settings have seen it
    assert "no theorem gives the ρ of this release" in capsys.readouterr().err
    assert apply(series, 3) == 0, capsys.readouterr().err
    assert Ledger().balance("monthly").rho == pytest.approx(3 * EPSILON**2 / 8)
