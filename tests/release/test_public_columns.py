"""A released file holds what the codebook declares public, as it was written, and nothing that nobody declared."""

import io
import json
import zipfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.codebook_file import parse_codebook
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from synth_core.errors import InputError
from synth_core.release.output.dataset import Variable, cells_of, ends_of, rounded
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.schema import decimals_among, differences, schema_of

BOOK = Codebook(
    columns=(
        Entry(column="person_nr", kind="identifier", role="public"),
        Entry(column="town", kind="category", role="public", categories=("01", "02", "10"), missing=("N",)),
        Entry(column="income", kind="number", role="sensitive"),
        Entry(column="band", kind="ordered", role="public", categories=("0-9", "10-99", "100+")),
        Entry(column="rate", kind="number", decimal=",", role="public", bounds=(0.0, 9.0)),
        Entry(column="day", kind="date", role="public"),
        Entry(column="remark_q", kind="text", role="public"),
    )
)
HEADER = ["person_nr", "town", "sex", "income", "band", "wage", "rate", "day", "remark_q", "undeclared_q"]
RELEASED = ["town", "sex", "income", "band", "wage", "rate", "day"]  # sex is a predictor
KEPT = ["town", "sex", "band", "rate", "day"]


def a_table(seed):
    rng = np.random.default_rng(seed)
    lines = [
        f"P{i};{rng.choice(['01', '02', '10', 'N', ''])};{rng.choice(['1', '2'])};"
        f"{100 * int(rng.lognormal(4, 0.5) + 1)};{rng.choice(['0-9', '10-99', '100+'])};"
        f"{rng.lognormal(3, 0.4) + 0.01:.2f};{rng.choice(['1,50', '2,0', '3'])};2024-0{rng.integers(1, 9)}-01;"
        f"remark {i};{rng.choice(['x', 'y'])}"
        for i in range(200)
    ]
    return "\n".join([";".join(HEADER), *lines, ""])


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A plan of one table, and the releasable archive of another."""
    folder = tmp_path_factory.mktemp("public")
    (folder / "book.json").write_text(BOOK.to_json())
    for name, seed in (("a", 1), ("b", 2)):
        (folder / f"{name}.csv").write_text(a_table(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYNTH_RESULTS_DIR", str(folder / "results"))
        patch.setenv("SYNTH_STATE_DIR", str(folder / "state"))
        plan = ["plan", str(folder / "a.csv"), "--codebook", str(folder / "book.json"),
                "--mechanism", "censored", "--epsilon", "400", "--tuned-on", "historical",
                "--block", "income=lognormal:unit=5000", "--block", "wage=lognormal:unit=20",
                "--predictors", "sex", "--categorical", "sex", "--draws", "2000", "--warmup", "800",
                "--series", "s", "--limit", "1000", "--reason", "r", "--decided-by", "d",
                "--out", str(folder / "plan.json")]  # fmt: skip
        assert main(plan) == 0
        out = ["--out", str(folder / "out")]
        assert main(["apply", str(folder / "plan.json"), str(folder / "b.csv"), *out]) == 0
    archive = zipfile.ZipFile(next((folder / "out").glob("*releasable.zip")))
    contents = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    return contents, (folder / "plan.json").read_bytes()


def as_text(content):
    """Semicolons between cells: numbers of this table have decimal commas."""
    assert b'"' not in content
    return pd.read_csv(io.BytesIO(content), sep=";", dtype=str, keep_default_na=False)


@pytest.mark.slow
@pytest.mark.stan
def test_declared_public_columns_leave_byte_for_byte_in_the_order_of_the_file(released):
    table = as_text(released[0]["synthetic_1.csv"])
    came = pd.DataFrame([line.split(";") for line in a_table(2).splitlines()[1:]], columns=HEADER)
    assert list(table.columns) == RELEASED
    assert sorted(map(tuple, table[KEPT].to_numpy())) == sorted(map(tuple, came[KEPT].to_numpy()))
    assert list(pd.read_parquet(io.BytesIO(released[0]["synthetic_1.parquet"])).columns) == RELEASED


@pytest.mark.stan
def test_what_nobody_declared_public_is_nowhere_in_the_archive(released):
    for name in ("person_nr", "remark_q", "undeclared_q"):
        for file, content in released[0].items():
            assert name.encode() not in content, (name, file)


@pytest.mark.stan
def test_synthetic_numbers_have_the_decimals_of_the_table(released):
    contents, plan = released
    table = as_text(contents["synthetic_1.csv"])
    assert all(cell.endswith("00") and int(cell) > 0 for cell in table["income"])
    assert all(len(cell.partition(".")[2]) <= 2 and float(cell) > 0 for cell in table["wage"])
    typed = pd.read_parquet(io.BytesIO(contents["synthetic_1.parquet"]))
    assert typed["income"].dtype == np.int64 and typed["wage"].dtype == np.float64
    assert {c.name: c.decimals for c in parse_plan(plan).columns if c.role == "outcome"} == {
        "income": -2,
        "wage": 2,
    }
    assert b"income to multiples of 100, wage to 2 decimals" in contents["report.html"]


@pytest.mark.stan
def test_the_dictionaries_list_them_and_read_the_release_back(released):
    contents = released[0]
    book = parse_codebook(contents["codebook.json"], "codebook.json")
    assert [entry.column for entry in book.columns] == RELEASED
    assert (book.get("band").kind, book.get("band").categories) == ("ordered", ("0-9", "10-99", "100+"))
    assert book.get("town").missing == ("N",) and book.get("rate").bounds == (0.0, 9.0)
    table = read_table(contents["synthetic_1.csv"], "synthetic_1.csv", ReadOptions(codebook=book))
    assert table.frame["rate"].isin([1.5, 2.0, 3.0]).all()
    nist = json.loads(contents["dictionary-nist.json"])
    assert nist["wage"]["values"]["min"] > 0 and nist["day"]["values"] == {}
    assert list(nist["band"]["values"]) == ["0-9", "10-99", "100+"] and nist["rate"]["values"]["max"] == 9.0
    metadata = json.loads(contents["metadata-sdmetrics.json"])["columns"]
    assert list(metadata) == RELEASED and metadata["income"]["computer_representation"] == "Int64"


@pytest.mark.stan
def test_a_plan_that_was_edited_keeps_nothing_that_is_not_public(released):
    plan = json.loads(released[1])
    more = [{"name": "undeclared_q", "role": "public", "kind": "category", "whole": False, "levels": []}]
    with pytest.raises(
        InputError, match="'undeclared_q' is kept, and the codebook does not declare it public"
    ):
        parse_plan(json.dumps(plan | {"columns": [*plan["columns"], *more]}).encode())
    entry = next(each for each in plan["codebook"]["columns"] if each["column"] == "sex")
    entry["kind"] = "identifier"
    with pytest.raises(InputError, match="'sex' is kept, and the codebook declares it an identifier"):
        parse_plan(json.dumps(plan).encode())


@pytest.mark.parametrize(
    ("column", "cell", "rule"),
    [
        ("town", "03", "none of its 3 declared categories"),
        ("band", "secret", "none of its 3 declared categories"),
        ("rate", "9,5", "beyond its declared bounds 0 and 9"),
    ],
)
def test_a_kept_cell_that_breaks_the_codebook_is_refused_by_column_row_and_rule(column, cell, rule):
    """In the table of a plan, in a later one, and where it is a predictor; the cell is not quoted."""
    lines = [line.split(";") for line in a_table(1).splitlines()]
    lines[5][HEADER.index(column)] = cell
    content = "\n".join(map(";".join, lines)).encode()
    table = read_table(content, "t.csv", ReadOptions(codebook=BOOK))
    outcomes = {"income": make_settings(outcome="income", model="lognormal")}
    told = rf"'{column}' has 1 cell that is {rule} \(first in row 5\)"
    with pytest.raises(InputError, match=told) as refused:
        schema_of(table, np.ones(200, bool), {}, outcomes, ())
    assert cell not in str(refused.value).partition("'")[2]
    with pytest.raises(InputError, match=told):
        table.check_use(column, kept=True)
    as_it_was = read_table(a_table(1).encode(), "t.csv", ReadOptions(codebook=BOOK))
    columns = schema_of(as_it_was, np.ones(200, bool), {}, outcomes, ())
    plan = SimpleNamespace(columns=columns, codebook=as_it_was.codebook_of(RELEASED), outcomes=outcomes)
    assert differences(plan, as_it_was) == []
    assert differences(plan, table) == [f"column '{column}' has 1 cell that is {rule} (first in row 5)"]


def test_the_fewest_decimals_that_hold_every_number():
    """Against the texts that the numbers were written as."""
    rng = np.random.default_rng(3)
    for decimals in range(-3, 7):
        values = np.array([f"{x:.{max(decimals, 0)}f}" for x in rng.integers(1, 10**6, 60) * 10.0**-decimals])
        assert decimals_among(pd.Series(np.append(values.astype(float), np.nan))) == decimals
    assert decimals_among(pd.Series(rng.normal(size=40))) is None
    assert decimals_among(pd.Series([0.0, 0.0])) is None


def test_rounding_never_leaves_the_values_that_a_model_has():
    amounts = make_settings(outcome="x", model="lognormal")
    values = np.array([[0.3, 12.4, 980.0]])
    assert rounded(values, 0, ends_of(amounts)).tolist() == [[1.0, 12.0, 980.0]]
    assert rounded(values, -2, ends_of(amounts)).tolist() == [[100.0, 100.0, 1000.0]]
    with_zeros = np.array([[0.0, 0.3, 12.4]])  # a zero is a value of its own: 0.3 may become one
    assert rounded(with_zeros, 0, ends_of(amounts)).tolist() == [[0.0, 0.0, 12.0]]
    shares = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0))
    assert rounded(np.array([[0.004, 0.5, 0.998]]), 2, ends_of(shares)).tolist() == [[0.01, 0.5, 0.99]]
    odd = make_settings(outcome="x", model="lognormal", bounds=(0.5, 9.5))
    assert rounded(np.array([[0.6, 9.4]]), 0, ends_of(odd)).tolist() == [[1.0, 9.0]]


def test_synthetic_numbers_have_the_decimal_sign_of_their_column():
    """A file of decimal commas came with "2587,21" in a kept column and 14096.02 beside it."""
    comma = Entry(column="pay", kind="number", decimal=",")
    pay = Variable("pay", np.empty((0, 0)), None, False, None, 2)
    assert list(cells_of(np.array([14096.02, np.nan]), pay, ("N",), comma)) == ["14096,02", "N"]
    assert list(cells_of(np.array([14096.02]), pay, (), None)) == ["14096.02"]
    whole = Variable("visits", np.empty((0, 0)), None, True, None, 0)
    assert list(cells_of(np.array([3.0]), whole, (), comma)) == ["3"]


@pytest.mark.stan
def test_a_public_copy_of_a_sensitive_number_is_named_and_not_released(tmp_path, monkeypatch, capsys):
    """Only as a predictor was it refused; as a public column it would have left beside the synthetic values."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    table = pd.read_csv(io.StringIO(a_table(1)), sep=";")
    table["yearly"] = 12 * table["wage"]
    table["high"] = np.where(table["wage"] > 20, "yes", "no")
    table.to_csv(tmp_path / "a.csv", index=False)
    public = (Entry(column="yearly", kind="number", role="public"), Entry(column="high", role="public"))
    (tmp_path / "book.json").write_text(Codebook(columns=public).to_json())
    of = [
        str(tmp_path / "a.csv"),
        "--codebook",
        str(tmp_path / "book.json"),
        "--outcome",
        "wage",
        "--predictors",
        "sex",
    ]
    quick = ["--draws", "1000", "--warmup", "300", "--mechanism"]
    assert main(["compare", *of, *quick, "unweighted"]) == 0
    err = capsys.readouterr().err
    assert "! column 'yearly' tells 'wage' exactly or nearly" in err
    assert "! column 'high' tells within which range each value of 'wage' lies" in err
    plan = ["plan", *of, *quick, "censored", "--epsilon", "400", "--unit", "20", "--tuned-on", "historical",
            "--series", "s", "--limit", "1000", "--reason", "r", "--decided-by", "d",
            "--out", str(tmp_path / "plan.json")]  # fmt: skip
    assert main(plan) == 0
    assert "! column 'yearly' tells 'wage'" in capsys.readouterr().err
    apply = ["apply", str(tmp_path / "plan.json"), str(tmp_path / "a.csv"), "--out", str(tmp_path / "out")]
    assert main(apply) == 2
    assert "Column 'yearly' tells 'wage' exactly" in capsys.readouterr().err
    assert main(["ledger", "show"]) == 0
    assert "s: releases: 0, ε = 0" in capsys.readouterr().out
