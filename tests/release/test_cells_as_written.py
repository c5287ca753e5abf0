"""What leaves is written as it came: codes, logical values, blanks, marks of missing values; a codebook beside it."""

import io
import json
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synth_core.cli import main
from synth_core.data.codebook import Entry
from synth_core.data.codebook_file import parse_codebook, texts_of
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from synth_core.release.output import data_dictionary
from synth_core.release.output.bundle import dictionary_rows

pytestmark = pytest.mark.stan


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """The releasable archive of a table with awkward cells: planned on one, applied to another."""
    folder = tmp_path_factory.mktemp("written")
    for name, seed in (("a", 1), ("b", 2)):
        rng = np.random.default_rng(seed)
        rows = [
            f"{rng.choice(['01', '02', '13'])};{rng.choice(['TRUE', 'FALSE'])};{rng.choice(['1', '2', '3'])};"
            f"{rng.choice(['0,5', '1,25', '-2,0'])};{rng.choice(['yes', 'no', 'N'])};{int(rng.lognormal(10, 0.5))}"
            for _ in range(300)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["fips;emp;reg;rate;work;pay", *rows, ""]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_RESULTS_DIR", str(folder / "results"))
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        plan = ["plan", str(folder / "a.csv"), "--mechanism", "censored", "--epsilon", "400",
                "--tuned-on", "historical",
                "--block", "work=categorical:categories=yes,no:missing=N",
                "--block", "pay=lognormal:unit=20000", "--predictors", "fips", "emp", "reg", "rate",
                "--categorical", "reg", "--chains", "1", "--draws", "1500", "--warmup", "500", "--decimals", "-2",
                "--series", "s", "--limit", "1000",
                "--reason", "r", "--decided-by", "d", "--out", str(folder / "plan.json")]  # fmt: skip
        assert main(plan) == 0
        assert (
            main(["apply", str(folder / "plan.json"), str(folder / "b.csv"), "--out", str(folder / "out")])
            == 0
        )
    archive = zipfile.ZipFile(next((folder / "out").glob("*releasable.zip")))
    contents = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    return contents, (folder / "b.csv").read_text().splitlines()


@pytest.mark.slow
def test_public_columns_leave_byte_for_byte(released):
    contents, lines = released
    table = pd.read_csv(io.BytesIO(contents["synthetic_1.csv"]), sep=";", dtype=str, keep_default_na=False)
    came = pd.DataFrame([line.split(";") for line in lines[1:]], columns=lines[0].split(";"))
    public = ["fips", "emp", "reg", "rate"]
    assert sorted(map(tuple, table[public].to_numpy())) == sorted(map(tuple, came[public].to_numpy()))


def test_marks_and_rounding_are_those_of_the_table_and_of_the_plan(released):
    table = pd.read_csv(io.BytesIO(released[0]["synthetic_1.csv"]), sep=";", dtype=str, keep_default_na=False)
    assert set(table["work"]) <= {"yes", "no", "N"} and "N" in set(table["work"])
    typed = pd.read_parquet(io.BytesIO(released[0]["synthetic_1.parquet"]))
    assert typed["work"].isna().equals(table["work"] == "N") and set(typed["work"].dropna()) == {"yes", "no"}
    assert all(cell.endswith("00") and cell.isdigit() for cell in table["pay"] if cell != "0")


def test_the_codebook_reads_the_release_back(released):
    contents = released[0]
    book = parse_codebook(contents["codebook.json"], "codebook.json")
    table = read_table(contents["synthetic_1.csv"], "synthetic_1.csv", ReadOptions(codebook=book))
    assert table.codebook.get("fips").categories == ("01", "02", "13")
    assert set(table.frame["fips"]) == {"01", "02", "13"} and table.column("pay").kind == "number"
    assert table.frame["work"].isna().any()
    metadata = json.loads(contents["metadata-sdmetrics.json"])["columns"]
    assert metadata["pay"]["sdtype"] == "numerical" and metadata["emp"]["sdtype"] == "categorical"
    again = parse_codebook(contents["dictionary-nist.json"], "dictionary.json")
    assert again.get("work").missing == ("N",) and set(again.get("work").categories) == {"yes", "no"}


def test_declared_bounds_stand_in_the_dictionary_with_all_of_their_digits():
    """A value that was moved to its bound may lie beyond a rounded one."""
    column = SimpleNamespace(name="pay", role="outcome", kind="number", whole=False, levels=())
    plan = SimpleNamespace(
        blocks=(),
        columns=[column],
        decimals_of=lambda name: 2,
        outcomes={"pay": SimpleNamespace(bounds=(-12345.678, 1234567.0), model="lognormal")},
    )
    low, high = dictionary_rows(plan)[0]["values"].split(" to ")
    assert (float(low), float(high)) == (-12345.678, 1234567.0)


@pytest.mark.parametrize(
    ("model", "decimals", "words"),
    [
        ("poisson", None, "whole number"),
        ("lognormal", None, "number"),
        ("lognormal", 2, "number, rounded to 2 decimals"),
        ("negative_binomial", -1, "whole number, rounded to multiples of 10"),
    ],
)
def test_counts_are_whole_numbers_in_the_dictionary(model, decimals, words):
    column = SimpleNamespace(name="hours", role="outcome", kind="number", whole=True, levels=())
    plan = SimpleNamespace(
        blocks=(),
        columns=[column],
        decimals_of=lambda name: decimals,
        outcomes={"hours": SimpleNamespace(bounds=None, model=model)},
    )
    assert dictionary_rows(plan)[0]["type"] == words


def test_categories_that_hold_a_comma_can_be_told_apart_in_the_dictionary(monkeypatch):
    levels = {"owns": ("no", "yes"), "school": ("some, no degree", "degree")}
    columns = [
        SimpleNamespace(name=n, role="", kind="category", whole=False, levels=v) for n, v in levels.items()
    ]
    entry = lambda plan, column, marks: Entry(column=column.name, categories=column.levels)  # noqa: E731
    monkeypatch.setattr(data_dictionary, "_entry", entry)
    marks = dict.fromkeys(levels, ())
    rows = dictionary_rows(SimpleNamespace(blocks=(), columns=columns, outcomes={}, marks=marks))
    assert [row["values"] for row in rows] == ["no, yes", "some, no degree|degree"]
    assert [texts_of(row["values"]) for row in rows] == list(levels.values())
