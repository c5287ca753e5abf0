"""Survey designs in releases: units of several records stay together or are left out, strata must be there."""

import contextlib
import html
import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.cli import main
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.studies.released_coverage import ReleasedCoverage
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import RELEASED, release
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import make_plan
from synth_core.system.cache import Cache
from tests.release.test_whole_records import DECISION, read

SICK = Block("sick", "categorical", {"categories": ("no", "yes")})
PAY = Block("pay", "lognormal", {"bounds": (0.5, 200.0)}, ("?",))
COMMON = {"predictors": ("age",), "epsilon": 4.0, "seed": 3, "unit_column": "house", "unit_size": 4}
N = 240


def people(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.choice([1, 2, 3, 4], N)
    house = np.repeat([f"id{k:04}" for k in rng.permutation(9_000)[:N]], sizes)[:N]
    order = rng.permutation(N)  # members of a household do not stand together
    pay = rng.lognormal(2, 0.4, N).round(1).astype(str).astype(object)
    pay[rng.random(N) < 0.1] = "?"
    frame = pd.DataFrame(
        {"sick": rng.choice(["no", "yes"], N), "pay": pay, "age": rng.choice([8, 30, 60], N), "house": house}
    )
    return Table(f"people {seed}", frame.iloc[order].reset_index(drop=True))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    analysis = RecordsAnalysis(people(1), (SICK, PAY), COMMON, Cache(tmp_path_factory.mktemp("cache")))
    return analysis, analysis.run("measured_laplace")


def households(frame, house):
    """How many units there are of each size and ages."""
    return sorted(tuple(sorted(ages)) for _, ages in frame.age.groupby(np.asarray(house)))


def test_a_file_keeps_units_and_who_is_in_them_under_new_identifiers(state, tuned):
    plan = make_plan(*tuned, DECISION)[0]
    assert parse_plan(plan.canonical().encode()) == plan and plan.unit == "house" and "house" not in plan.kept
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    files, mine = read(outcome, "releasable"), people(2).frame
    made = pd.read_csv(io.BytesIO(files["synthetic_1.csv"]))
    typed = pd.read_parquet(io.BytesIO(files["synthetic_1.parquet"]))
    np.testing.assert_array_equal(made[["age", "house"]], typed[["age", "house"]])
    # New: 1, 2, … in the order of the file, a unit's records together; no old one stands anywhere in the archive.
    np.testing.assert_array_equal(made.house, 1 + pd.factorize(made.house)[0])
    assert (made.house.diff().dropna().isin([0, 1])).all()
    assert not any(b"id0" in each or mine.house[0].encode() in each for each in files.values())
    assert households(made, made.house) == households(mine, mine.house)
    old = [tuple(ages) for _, ages in mine.groupby("house", sort=False).age]
    new = [tuple(ages) for _, ages in made.groupby("house", sort=False).age]
    assert sum(a == b for a, b in zip(old, new, strict=True)) < len(old) / 2  # in another order
    book = {entry["column"]: entry for entry in json.loads(files["codebook.json"])["columns"]}
    assert book["house"]["role"] == "unit" and "new identifiers" in book["house"]["note"]
    assert json.loads(files["metadata-sdmetrics.json"])["columns"]["house"] == {"sdtype": "id"}
    assert 'house,"new identifiers' in files["dictionary.csv"].decode()
    assert "units under new identifiers" in files["report.html"].decode()


@pytest.mark.slow
def test_coverage_of_a_release_of_units_is_studied_on_its_own_units(state, tuned, monkeypatch):
    """Databases are drawn from the released file: its units, under their new identifiers, and nothing else."""
    plan, seen = make_plan(*tuned, DECISION)[0], []
    usual = ReleasedCoverage.run

    def run(self, analysis, *rest):
        seen.append(analysis)
        return usual(self, analysis, *rest)

    monkeypatch.setattr(ReleasedCoverage, "run", run)
    outcome = release(Request(plan, None, people(2), label="studied", limit=20.0), study=ReleasedCoverage(2))
    assert outcome.state == RELEASED
    files = read(outcome, "releasable")
    released = pd.read_parquet(io.BytesIO(files["synthetic_1.parquet"]))
    [of] = seen
    np.testing.assert_array_equal(of.loaded.frame["house"], released["house"])
    assert of.settings.unit_column == "house" and of.settings.unit_size == 4
    titles = set(pd.read_csv(io.BytesIO(files["coverage.csv"]))["estimates"])
    assert titles == {
        "Mean",
        "Share",
        "Shares of missing values",
        "90th percentile",
        "Regression coefficients",
    }
    assert "is drawn whole" in html.unescape(files["report.html"].decode())


def test_units_may_be_left_out_of_the_file(state, tuned):
    plan = make_plan(*tuned, replace(DECISION, keep_units=False))[0]
    assert plan.unit is None
    with pytest.raises(InputError, match="leaves the column of units out"):
        ReleasedCoverage(2).check(plan)
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED
    assert "house" not in pd.read_csv(io.BytesIO(read(outcome, "releasable")["synthetic_1.csv"])).columns
    # Who belongs together counts as public, so a column that was charged makes no units, left out or not.
    other = Table("other", people(3).frame.assign(house=people(2).frame.pay))
    with pytest.raises(
        InputError, match=r"'house', which is kept, has the values of 'pay'.* weight and units"
    ):
        release(Request(plan, None, other, series="other", limit=20.0))


def test_a_table_with_a_larger_unit_or_without_units_is_refused_under_the_plan(state, tuned):
    plan = make_plan(*tuned, DECISION)[0]
    table = people(2)
    for frame, why in (
        (table.frame.drop(columns="house"), "column 'house' is missing"),
        (table.frame.assign(house="id1"), "ha(s|ve) more than 4 records"),
    ):
        with pytest.raises(InputError, match=why):
            release(Request(plan, None, Table("other", frame)))


def test_a_plan_with_strata_charges_nothing_of_a_table_without_them(state, tmp_path, capsys):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {"pay": rng.lognormal(3, 0.5, 300).round(2), "w": 2.0, "region": rng.integers(0, 3, 300)}
    )
    for name, rows in (
        ("tuned", frame[:150]),
        ("with", frame[150:]),
        ("without", frame[150:].drop(columns="region")),
    ):
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    plan = str(tmp_path / "plan.json")
    given = ["--outcome", "pay", "--guess", "20", "0.5", "--mechanism", "measured_laplace", "--epsilon", "2"]
    given += [
        "--weight",
        "w",
        "--strata",
        "region",
        "--tuned-on",
        "historical",
        "--series",
        "strata",
        "--limit",
        "9",
    ]
    given += ["--reason", "test", "--decided-by", "me", "--out", plan]
    assert main(["plan", str(tmp_path / "tuned.csv"), *given]) == 0
    assert main(["apply", plan, str(tmp_path / "without.csv"), "--out", str(tmp_path / "out")]) == 2
    assert "has no column 'region'" in capsys.readouterr().err
    with contextlib.closing(Ledger()) as ledger:
        assert ledger.balance("strata").spent == 0.0
    assert main(["apply", plan, str(tmp_path / "with.csv"), "--out", str(tmp_path / "out")]) == 0
    with contextlib.closing(Ledger()) as ledger:
        assert ledger.balance("strata").spent == 2.0
