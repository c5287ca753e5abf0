"""`study` on the command line: bad input in words, and the named studies."""

import json

import numpy as np
import pytest

from synth_core.cli import _parser, main
from synth_core.cli.study import _like
from synth_core.experiments.studies.study import SAMPLER
from tests.conftest import shared_file

pytestmark = pytest.mark.stan


def run(capsys, *arguments):
    status = main(["study", *arguments])
    out = capsys.readouterr()
    return status, out.out, out.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "There is no study 'nothing'"),
        (["censor-4", "--replicates", "0"], "at least 1"),
        (["censor-4", "--replicates", "-1"], "at least 1"),
        (["censor-4", "--replicates", "20000"], "1 to 10,000 replicates"),
        (["censor-4", "--replicates", "two"], "invalid int value"),
        (["censor-4", "--seed", "-1"], "--seed must lie"),
        (["censor-4", "--jobs", "-2"], "--jobs must lie"),
        (["censor-4", "--data", "x.csv"], "takes no --data"),
        (["censor-4", "--epsilon", "3"], "belongs to: study like"),
        (["censor-4", "survey.csv"], "belongs to: study like"),
        (
            ["censor-4", "--zero-part", "--asinh-scale", "2"],
            "--asinh-scale, --zero-part belongs to: study like",
        ),
        (["censor-4", "--replicates", "2", "--baseline", "3"], "--baseline must lie"),
        (["range-4.1", "--baseline", "1"], "no per-record program"),
        (["range-5"], "needs the file fatigue.csv"),
        (["range-5", "--data", "/no/such/file.csv"], "There is no file"),
        (["reweight-4"], "needs the file sdr2017_salaryp_freq.csv"),
        (["ppm-4.4", "--out", "/no/such/directory/x.csv"], "--out must name a file"),
        (["like"], "Which table"),
        (["like", "example:beta", "--mechanism", "magic", "--replicates", "1"], "no mechanism 'magic'"),
        (["like", "example:beta", "--epsilon", "-1"], "epsilon"),
        (["like", "example:nothing", "--outcome", "x"], "There is no example"),
        (["like", "example:beta", "--share", "x=0.5"], "there are none"),
        (["like", "example:beta", "--rival", "mst"], "belongs to: study rivals DATA"),
        (["like", "example:beta", "--write", "there"], "belongs to: study rivals DATA"),
        (
            ["coverage", "example:beta", "--block", "x=beta", "--rival", "mst"],
            "belongs to: study rivals DATA",
        ),
        (["censor-4", "--block", "x=beta"], "belongs to: a study of DATA: like, coverage or rivals"),
        (["like", "example:beta", "--block", "x=beta", "--outcome", "x"], "is of one sensitive variable"),
    ],
)
def test_bad_input_is_refused_in_words(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err and len(err.strip().splitlines()) == 1


def test_a_file_that_is_not_the_papers_is_refused(capsys, tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n" + "1,2\n3,4\n" * 10)
    for study, message in (("range-5", "stress, cycle and train"), ("reweight-4", "SALARYP")):
        status, _, err = run(capsys, study, "--data", str(tmp_path / "other.csv"))
        assert status == 2 and message in err


def test_a_million_points_are_refused_with_their_cost(capsys):
    many = [str(v) for v in np.linspace(1, 9, 60)]
    status, _, err = run(
        capsys, "like", "example:beta", "--mechanism", "weighted_e", "--epsilon", *many,
        "--scale", *[str(v) for v in np.linspace(0.1, 1, 40)], "--replicates", "1000",
    )  # fmt: skip
    assert status == 2
    assert "2,400,000 results" in err and "hours" in err


@pytest.mark.slow
def test_named_studies_run_and_are_written(capsys, tmp_path):
    """One replicate, in this process; the verdicts need more and are not looked at."""
    files = {"range-5": "fatigue.csv", "reweight-4": "sdr2017_salaryp_freq.csv"}
    for name in ("range-4.3", "range-5", "reweight-4"):
        extra = ["--data", str(shared_file(files[name]))] if name in files else []
        path = tmp_path / f"{name}.json"
        status, out, err = run(
            capsys, name, "--replicates", "1", "--jobs", "0", "--format", "json", "--out", str(path), *extra
        )
        assert (status, out) == (0, ""), err
        assert path.stat().st_mode & 0o777 == 0o600
        found = json.loads(path.read_text())
        assert found["replicates"] == 1
        assert {row["verdict"] for row in found["rows"]} <= {"agrees", "differs", "undecided", "shown"}
        assert all(row["published"] and row["ours"] for row in found["rows"])


@pytest.mark.slow
def test_like_on_the_command_line(capsys):
    status, out, err = run(
        capsys, "like", "example:beta", "--mechanism", "weighted_e", "--epsilon", "4", "--rows", "120",
        "--replicates", "3", "--jobs", "0",
    )  # fmt: skip
    assert status == 0, err
    assert "δ, Δ above 2: Weighted-e, ε = 4" in out and "Do not publish it" in out
    assert "Δ above today's" in out and "Δ above 1.1 × today's" in out


@pytest.mark.long
def test_table_1_of_censor_with_40_replicates(capsys):
    """Weighted-e and Censor_uw by definition; the Censor_w column is counted otherwise in the paper."""
    status, out, err = run(capsys, "censor-4", "--replicates", "40", "--baseline", "1", "--format", "json")
    assert status == 0, err
    found = json.loads(out)
    rows = [row for row in found["rows"] if row["quantity"].startswith("Table 1: records")]
    assert len(rows) == 63
    for row in rows:
        if "Censor_w" not in row["quantity"]:
            assert row["verdict"] == "agrees", row
    censor_w = [row for row in rows if "Censor_w, " in row["quantity"] and row["quantity"].endswith("mean")]
    assert all(row["verdict"] == "differs" and row["reason"] for row in censor_w)
    assert "times less" in found["baseline"]


@pytest.mark.slow
def test_databases_like_a_table_with_zeros_and_another_unit(capsys, tmp_path):
    """The options of `compare` reach the fit that databases are simulated from, and every replicate."""
    rng = np.random.default_rng(1)
    values = np.where(np.arange(120) % 4, np.exp(rng.normal(10, 1, 120)), 0.0)
    (tmp_path / "t.csv").write_text("x\n" + "\n".join(f"{value:.1f}" for value in values))
    shown = {}
    for unit in ("1", "1000"):
        status, out, err = run(
            capsys, "like", str(tmp_path / "t.csv"), "--outcome", "x", "--model", "two_part", "--transformation",
            "asinh", "--asinh-scale", "1000", "--unit", unit, "--mechanism", "unweighted", "--replicates", "24",
            "--jobs", "0", "--chains", "1", "--draws", "150", "--warmup", "150", "--format", "json",
        )  # fmt: skip
        assert status == 0, err
        shown[unit] = json.loads(out)
    bounds = {unit: float(found["rows"][0]["ours"].split()[1].rstrip(",")) for unit, found in shown.items()}
    # The same fit, other densities, databases of their own: three standard errors of a mean over 24 of them.
    errors = [found["rows"][0]["error"] for found in shown.values()]
    assert bounds["1"] - bounds["1000"] == pytest.approx(np.log(1000), abs=3 * np.hypot(*errors))


def test_a_studys_sampler_can_be_set():
    args = _parser().parse_args(["study", "like", "example:beta", "--draws", "200", "--epsilon", "3"])
    study, _ = _like(args)
    assert {name: study.cases[0].settings.get(name) for name in ("chains", "draws", "warmup")} == {
        "chains": None,
        "draws": 200,
        "warmup": None,
    }
    assert SAMPLER["draws"] == 1000


@pytest.mark.slow
def test_databases_of_whole_records(capsys, tmp_path, monkeypatch):
    """As the app has them: the same study gives the same numbers, and each variable has its own."""
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path / "results"))
    options = [
        "--mechanism",
        "weighted",
        "--epsilon",
        "5",
        "--replicates",
        "2",
        "--jobs",
        "0",
        "--rows",
        "300",
    ]
    options += [
        "--block",
        "marr=categorical:categories=0,1",
        "--block",
        "inc=lognormal:unit=10",
        "--format",
        "json",
    ]
    status, out, _ = run(capsys, "like", "example:401ksubs", *options)
    assert status == 0
    shown = json.dumps(json.loads(out))
    assert (
        "fitted models of marr, inc" in shown and "Associations off by" in shown and "Global \\u03b5" in shown
    )
