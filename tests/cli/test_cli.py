"""The command line as a user calls it: contract, exit statuses, one clear line on error."""

import contextlib
import io
import json
import os
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

from synth_core.cli import main
from synth_core.cli.compare_output import clamped_words
from synth_core.mechanisms.catalogue import MECHANISMS
from tests import summary_numbers
from tests.conftest import PYTHON, ROOT, shared_file

pytestmark = pytest.mark.stan
QUICK = ["--draws", "300", "--warmup", "300"]


def process(*arguments):
    """The command line as a process of its own."""
    return subprocess.run(
        [PYTHON, "-m", "synth_core", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def cli(*arguments):
    """The same in this process: a process takes longer to import than most commands to run."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(list(arguments))
        except SystemExit as ended:  # by the parser
            status = ended.code
    return SimpleNamespace(returncode=status, stdout=out.getvalue(), stderr=err.getvalue())


def test_json_contract():
    done = process(
        "compare",
        "example:401ksubs",
        "--outcome",
        "inc",
        "--predictors",
        "age",
        "marr",
        "male",
        "fsize",
        "--model",
        "lognormal",
        "--format",
        "json",
        *QUICK,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["table"] | {"rows": 9275, "outcome": "inc"} == answer["table"]
    assert len(answer["table"]["fingerprint"]) == 16
    assert [r["mechanism"] for r in answer["results"]] == ["unweighted", "weighted"]
    for r in answer["results"]:
        assert {
            "guarantee",
            "lipschitz_bound",
            "epsilon",
            "n_zero_weight",
            "n_truncated",
            "n_censored",
            "weights",
            "utility",
            "diagnostics",
            "seconds",
            "cached",
        } <= set(r)
        assert {"mean", "min", "max"} <= set(r["weights"])
        assert {"ecdf_max", "ecdf_avg", "mean", "median", "q15", "q90"} <= set(r["utility"])
        assert {"rhat", "ess_bulk", "divergences"} <= set(r["diagnostics"])
        assert r["epsilon"] == 2 * r["lipschitz_bound"]
    unweighted, weighted = answer["results"]
    assert weighted["epsilon"] < unweighted["epsilon"]
    assert weighted["n_zero_weight"] >= 1
    assert answer["model"]["name"] == "lognormal"


def test_table_shows_each_epsilon_beside_its_guarantee():
    done = cli("compare", "example:beta", "--rows", "300", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "asymptotic DP" in done.stdout
    assert "no guarantee" in done.stdout
    assert "ε is for one record's value withheld, its row and its predictors kept" in done.stdout


@pytest.mark.slow
def test_real_file():
    path = shared_file("nist_acs_ma2018.csv")
    done = cli("compare", str(path), "--outcome", "PINCP")
    assert done.returncode == 2
    assert "must be a number" in done.stderr  # "N" marks missing there
    assert "--missing N" in done.stderr


@pytest.mark.slow
def test_a_real_file_with_its_missing_values_said():
    path = str(shared_file("nist_acs_ma2018.csv"))
    options = ("--outcome", "PINCP", "--missing", "PINCP=N", "-9", "--offset", "20000", "--format", "json")
    done = cli("compare", path, *options, "--mechanism", "unweighted", *QUICK)
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["table"]
    assert (table["rows"], table["rows_dropped"]) == (6144, 1100)
    assert table["missing"] == ["PINCP=N", "-9"]


def test_every_command_that_reads_a_table_takes_a_sheet_and_missing_values():
    for command in ("compare", "map", "tune", "study", "plan", "audit", "check-program"):
        usage = cli(command, "--help").stdout
        assert "--missing" in usage, command
        assert "--sheet" in usage, command
    assert "--missing" not in cli("apply", "--help").stdout  # the plan says it


def test_fatigue():
    path = shared_file("fatigue.csv")
    done = cli(
        "compare", str(path), "--outcome", "cycle", "--predictors", "stress", "--format", "json", *QUICK
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["table"]["rows"] == 22


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "nowhere.csv", "--outcome", "x"], "no file"),
        (["compare", "example:nothing"], "no example"),
        (["compare", "example:beta", "--sheet", "Pay"], "--sheet is for an Excel workbook"),
        (["compare", "example:beta", "--missing", "pay=N"], "no column 'pay'"),
        (["study", "censor-4", "--missing", "N"], "--missing belongs to: study like DATA"),
        (["compare", "example:beta", "--mechanism", "magic"], "no mechanism 'magic'"),
        (["compare", "example:beta", "--outcome", "y"], "no column 'y'"),
        (["compare", "example:beta", "--scale", "-1"], "scale"),
        (["compare", "example:beta", "--epsilon", "0"], "epsilon"),
        (["compare", "example:beta", "--draws", "lots"], "invalid int"),
        (["compare", "example:beta", "--model", "gamma"], "no model"),
        (["compare", "example:beta", "--bounds", "0", "0.5"], "declared bounds"),
        (["compare", "example:beta", "--rows", "2"], "--rows"),
        (["compare", "example:401ksubs", "--rows", "20"], "fixed table"),
        (["compare", "example:beta", "--epsilon", "-1"], "epsilon"),
        (["compare", "example:beta", "--radius", "0"], "radius"),
        (["compare", "example:beta", "--range", "1.8", "0.4"], "a ≤ b"),
        (["compare", "example:beta", "--range", "1.1", "1.8"], "leaves out the value"),
        (
            ["compare", "example:beta", "--tail", "0", "0.2", "2.4", "--mechanism", "range_averaged"],
            "percentage",
        ),
        (["compare", "example:lognormal", "--mechanism", "histogram"], "declared bounds"),
        (["compare", "example:beta", "--brackets", "nowhere.csv"], "no file"),
        (["compare", "example:beta", "--match-epsilon", "magic"], "no mechanism"),
        (["compare", "example:beta", "--mechanism", "likelihood/censored/averaged"], "No guarantee"),
        (
            ["compare", "example:beta", "--bins", "none", "--mechanism", "histogram", "--bounds", "0", "1"],
            "Bins",
        ),
        (["compare", "example:beta", "--risk-reference", "example:none"], "no example"),
        (["frobnicate"], "invalid choice"),
        ([], "required"),
    ],
)
def test_bad_input_is_status_two_and_one_line(arguments, message):
    done = (cli if arguments else process)(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_what_is_stopped_says_so_in_a_line(monkeypatch, capsys):
    """Ctrl-C showed where the program was, in fifty lines."""

    def stopped(args):
        raise KeyboardInterrupt

    monkeypatch.setattr("synth_core.cli.compare.run_compare", stopped)
    assert main(["compare", "example:beta"]) == 130
    said = capsys.readouterr().err
    assert said.startswith("stopped: what had finished is kept") and said.count("\n") == 1


def test_a_failed_fit_is_status_one(monkeypatch, tmp_path, capsys):
    from synth_core import cli as module
    from synth_core.errors import FitError

    def fail(*args, **kwargs):
        raise FitError("The sampler stopped: test.")

    monkeypatch.setattr("synth_core.analysis.fits.sample", fail)
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    assert module.main(["compare", "example:beta", "--rows", "100"]) == 1
    assert capsys.readouterr().err.startswith("failed: ")


def test_same_seed_same_numbers(tmp_path):
    rows = "\n".join(f"{v:.9f}" for v in np.random.default_rng(2).lognormal(size=200))
    path = tmp_path / "t.csv"
    path.write_text("x\n" + rows)

    def numbers():
        answer = json.loads(cli("compare", str(path), "--outcome", "x", "--format", "json", *QUICK).stdout)
        return [{k: v for k, v in r.items() if k not in ("seconds", "cached")} for r in answer["results"]]

    assert numbers() == numbers()


@pytest.mark.slow
def test_all_twelve_and_a_composed_one():
    done = cli("compare", "example:beta", "--rows", "300", "--bounds", "0", "1", "--format", "json", *QUICK,
               "--mechanism", *MECHANISMS, "count/censored")  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = {r["mechanism"]: r for r in json.loads(done.stdout)["results"]}
    assert list(results) == [*MECHANISMS, "count/censored"]
    assert results["histogram"]["lipschitz_bound"] is None
    assert results["censored"]["guarantee"] == "ε-DP"
    assert results["censored"]["epsilon_replace"] == 10.0
    assert results["weighted_final"]["tuned"]["k"] > 0
    for r in results.values():
        assert r["explanation"]
        assert 0 <= r["identification_risk"]["expected_match_risk"] <= 1


def test_a_frozen_risk_map(tmp_path):
    done = cli("compare", "example:beta", "--rows", "300", "--risk-reference", "example:beta", "--format",
               "json", *QUICK, "--mechanism", "censored_weighted")  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["risk_reference"] == "example:beta"
    assert any("frozen on example:beta" in line for line in answer["results"][0]["explanation"])


def test_bracket_file(tmp_path):
    path = tmp_path / "brackets.csv"
    path.write_text("lower,upper\n0,0.1\n0.1,1\n")
    done = cli("compare", "example:beta", "--rows", "300", *QUICK, "--brackets", str(path), "--mechanism",
               "range_truncated")  # fmt: skip
    assert done.returncode == 0, done.stderr
    path.write_text("lower,upper\n0,0.1\n0.2,1\n")
    done = cli("compare", "example:beta", "--brackets", str(path))
    assert done.returncode == 2
    assert "gap" in done.stderr


def test_a_mark_that_no_cell_has_is_said(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("pay\n" + "\n".join(f"{1 + i / 7:.2f}" for i in range(60)) + "\nN\n")
    assert main(["advise", str(path), "--outcome", "pay", "--missing", "N", "Refsued"]) == 0
    assert "no cell of t.csv is Refsued" in capsys.readouterr().err


def test_an_encoding_that_was_guessed_is_said(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = [f"{1 + i / 7:.2f},Тверь" for i in range(60)]
    path.write_bytes(("pay,place\n" + "\n".join(rows)).encode("koi8-r"))
    assert main(["advise", str(path), "--outcome", "pay"]) == 0
    assert "t.csv is not in UTF-8 and was read as cp1252" in capsys.readouterr().err
    assert main(["advise", str(path), "--outcome", "pay", "--encoding", "koi8-r"]) == 0
    assert not capsys.readouterr().err


def test_purge(tmp_path, monkeypatch, capsys):
    from synth_core.system.cache import results_cache

    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    results_cache().put("ab" * 32, {"a": np.zeros(10)})
    assert results_cache().size() > 0
    assert main(["purge"]) == 0
    assert results_cache().size() == 0
    assert "Deleted" in capsys.readouterr().out


def test_the_records_of_a_pilot_are_no_base_of_the_share_that_is_clamped():
    """5 of 501 records were 1.00 % and warned of nothing: 125 of them are the pilot's, and clamped by none."""
    alone = summary_numbers.variable(n_records=501, n_zero_weight=125, n_censored=5)
    said = clamped_words(summary_numbers.numbers([alone], mechanism="anchored", n_records=501))
    assert said.startswith(" 1.4 % of the records were clamped at some draw")  # 5 of 376, rounded up
    few = summary_numbers.variable(n_records=501, n_zero_weight=125, n_censored=3)
    assert clamped_words(summary_numbers.numbers([few], mechanism="anchored", n_records=501)).startswith(
        " 0.80%"
    )


@pytest.mark.slow
def test_a_reader_that_has_read_enough_is_no_fault():
    """As `head` is: it was said that a file cannot be written, and that it is to be done again."""
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w") as pipe:
        command = [PYTHON, "-m", "synth_core", "ledger", "show"]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, b"")
