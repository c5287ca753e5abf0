"""`--write`: tables of comparisons as files, marked as not released; what a codebook declares is not asked again."""

import json

import numpy as np
import pandas as pd
import pytest

from synth_core.cli import main
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.declared import declared_model, declared_settings

BOOK = Codebook(
    columns=(
        Entry(column="work", kind="ordered", categories=("low", "high", "N"), missing=("N",)),
        Entry(column="share", kind="number", decimal=",", bounds=(0.0, 1.0)),
        Entry(column="town", kind="category", role="public"),
        Entry(column="person", kind="identifier", role="public"),
    )
)


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    rng = np.random.default_rng(1)
    rows = [
        f"{i};0{rng.integers(1, 4)};{rng.choice(['low', 'high', 'N'], p=[0.5, 0.4, 0.1])};"
        f"{rng.choice(['1', '2'])};{f'{rng.uniform(0.1, 0.9):.2f}'.replace('.', ',')};{10 * rng.integers(5, 90)}"
        for i in range(150)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["person;town;work;sex;share;pay", *rows, ""]))
    (tmp_path / "book.json").write_text(BOOK.to_json())
    return tmp_path


def written(folder):
    return {path.name: pd.read_csv(path, dtype=str, keep_default_na=False) for path in folder.iterdir()}


SHORT = ["--draws", "200", "--warmup", "200", "--chains", "2"]


@pytest.mark.stan
def test_a_comparison_writes_its_tables_and_says_that_they_are_not_released(table, capsys):
    command = ["compare", str(table / "t.csv"), "--codebook", str(table / "book.json"), "--outcome", "pay",
               "--predictors", "sex", "--mechanism", "unweighted", "count/censored", "--datasets", "2",
               "--epsilon", "4", "--write", str(table / "out"), *SHORT]  # fmt: skip
    assert main(command) == 0
    files = written(table / "out")
    assert sorted(files) == [
        f"{n}-{j}-NOT-RELEASED.csv" for n in ("count-censored", "unweighted") for j in (1, 2)
    ]
    assert all((table / "out" / name).stat().st_mode & 0o777 == 0o600 for name in files)
    came = pd.read_csv(table / "t.csv", sep=";", dtype=str)
    one = files["unweighted-1-NOT-RELEASED.csv"]
    assert list(one.columns) == ["town", "sex", "pay", "NOT RELEASED"]  # no identifier, nothing undeclared
    assert one["NOT RELEASED"].str.contains("unweighted-1, not released").all()
    assert one[["town", "sex"]].equals(came[["town", "sex"]]) and not one["pay"].equals(came["pay"])
    assert one["pay"].str.endswith("0").all()
    assert "neither the gate nor the ledger" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.stan
def test_whole_records_and_rivals_write_theirs(table):
    blocks = ["--block", "work=ordered:missing=", "--block", "pay=lognormal:unit=100:guess=300,0.7", "--predictors",
              "sex", "--codebook", str(table / "book.json")]  # fmt: skip
    data = str(table / "t.csv")
    assert (
        main(["compare", data, *blocks, "--mechanism", "unweighted", "--write", str(table / "a"), *SHORT])
        == 0
    )
    rivals = ["study", "rivals", data, *blocks, "--rival", "sample", "--mechanism", "unweighted", "--epsilon", "4",
              "--replicates", "1", "--write", str(table / "b"), *SHORT]  # fmt: skip
    assert main(rivals) == 0
    first = written(table / "b")
    assert main(rivals) == 0  # stored numbers have no tables: they are made again, and are the same
    again = written(table / "b")
    assert len(first) == 2 and all(first[name].equals(again[name]) for name in first)
    for made in (*written(table / "a").values(), *first.values()):
        assert list(made.columns) == ["town", "work", "sex", "pay", "NOT RELEASED"]
        assert set(made["work"]) == {"low", "high", "N"}, made["NOT RELEASED"][0]


def test_what_a_codebook_declares_is_what_a_model_is_given():
    assert declared_settings(BOOK, "work", "ordered") == {"categories": ("low", "high")}
    assert declared_settings(BOOK, "work", "lognormal") == {} == declared_settings(BOOK, "share", "ordered")
    assert declared_settings(BOOK, "pay", "beta") == {}
    assert declared_settings(BOOK, "share", "beta") == {"bounds": (0.0, 1.0)}
    assert declared_settings(BOOK, "share", "lognormal") == {"bounds": (0.0, 1.0)}
    assert declared_model(BOOK, "work") == {"model": "ordered"} and declared_model(BOOK, "town") == {}


@pytest.mark.stan
def test_declared_categories_and_bounds_are_not_asked_again(table, capsys):
    command = ["compare", str(table / "t.csv"), "--codebook", str(table / "book.json"), "--format", "json",
               "--mechanism", "unweighted", *SHORT]  # fmt: skip
    assert main([*command, "--outcome", "work"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["name"] == "ordered"
    assert main([*command, "--outcome", "share", "--model", "beta"]) == 0
    assert json.loads(capsys.readouterr().out)["model"]["bounds"] == [0.0, 1.0]


@pytest.mark.parametrize(
    "options, said",
    [
        (("--outcome", "person"), "'person' is declared an identifier in the codebook"),
        (
            ("--outcome", "pay", "--predictors", "person"),
            "'person' is declared an identifier in the codebook",
        ),
        (("--outcome", "pay", "--predictors", "share"), "'share' is declared sensitive"),
    ],
)
def test_what_is_ruled_out_is_refused_in_a_sentence(table, capsys, options, said):
    book = BOOK.updated([Entry(column="share", kind="number", decimal=",", role="sensitive")])
    (table / "book.json").write_text(book.to_json())
    assert main(["compare", str(table / "t.csv"), "--codebook", str(table / "book.json"), *options]) == 2
    assert said in capsys.readouterr().err


def test_advice_on_declared_categories_reads_the_codebook_and_not_the_table(table, capsys):
    command = ["advise", str(table / "t.csv"), "--codebook", str(table / "book.json"), "--outcome", "work"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "--model ordered --categories low high" in said and "nothing from the table" in said
    assert main([*command[:-1], "person"]) == 2


@pytest.mark.parametrize(
    "variables",
    [["--outcome", "pay"], ["--block", "pay=lognormal", "--block", "work=ordered:categories=low,high"]],
)
def test_what_one_mechanism_lacks_is_said_before_another_is_fitted(table, capsys, variables):
    """The first was fitted, and its tables written, before the second was refused by what was declared."""
    command = ["compare", str(table / "t.csv"), "--codebook", str(table / "book.json"), *variables,
               "--predictors", "sex", "--mechanism", "unweighted", "measured",
               "--epsilon", "1", "--write", str(table / "out")]  # fmt: skip
    assert main(command) == 2
    assert "it is counted in brackets" in capsys.readouterr().err
    assert not (table / "out").exists() or not list((table / "out").iterdir())
