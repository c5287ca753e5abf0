"""`audit` on the command line, its files, and an audit in a release's public report."""

import csv
import io
import json
import zipfile

import pytest

from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.experiments.audit import neighbour_runs
from synth_core.release.plan.plan import read_plan
from synth_core.release.report.audit_summary import parse_audit

pytestmark = pytest.mark.stan
TABLE = ["example:beta", "--rows", "60"]
QUICK = ["--draws", "1500", "--warmup", "500"]


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighbour_runs, "MIN_DRAWS", 1_000)


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))


def run(capsys, *arguments):
    status = main([str(a) for a in arguments])
    out = capsys.readouterr()
    return status, out.out, out.err


def audited(capsys, *arguments):
    status, out, err = run(capsys, "audit", *arguments, "--runs", "1000")
    assert status == 0, err
    return out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "There is no such run"),
        (["missing.json"], "There is no file"),
        (["missing.csv"], "There is no file"),
        (["example:nothing"], "There is no example"),
        ([*TABLE, "example:beta"], "unrecognized arguments"),
        (["example:beta", "example:beta"], "Two tables are named"),
        ([*TABLE, "--mechanism", "magic"], "no mechanism 'magic'"),
        ([*TABLE, "--runs", "5"], "needs 1,000 to 200,000 runs"),
        ([*TABLE, "--runs", "many"], "invalid int value"),
        ([*TABLE, "--confidence", "1"], "confidence must lie"),
        ([*TABLE, "--delta", "-1"], "δ must lie"),
        ([*TABLE, "--out", "/no/such/directory/x.csv"], "--out must name a file"),
        (["example:401ksubs", "--mechanism", "histogram", "--runs", "1000"], "declared bounds"),
    ],
)
def test_bad_input_is_refused_in_words(capsys, state, arguments, message):
    status, out, err = run(capsys, "audit", *arguments)
    assert (status, out) == (2, "")
    assert message in err and len(err.strip().splitlines()) == 1


def test_files_that_are_neither_plan_nor_settings(capsys, tmp_path, state):
    for text, message in (("{}", "neither a release plan nor settings"), ("[1", "not valid JSON")):
        path = tmp_path / "x.json"
        path.write_text(text)
        status, _, err = run(capsys, "audit", path, *TABLE)
        assert status == 2 and message in err


def test_a_table_in_every_format(capsys, tmp_path, state):
    arguments = [*TABLE, "--mechanism", "histogram", "--epsilon", "1"]
    text = audited(capsys, *arguments)
    assert "consistent with the claim" in text and "never prove it" in text and "INTERNAL" not in text
    found = json.loads(audited(capsys, *arguments, "--format", "json"))
    assert [line["relation"] for line in found["lines"]] == ["removed", "replaced"]
    rows = list(csv.DictReader(io.StringIO(audited(capsys, *arguments, "--format", "csv"))))
    assert {row["Status"] for row in rows} == {"public or simulated table"}
    assert float(rows[1]["Lower bound"]) == pytest.approx(found["lines"][1]["epsilon_lower"])
    markdown = audited(capsys, *arguments, "--format", "markdown")
    assert markdown.count("| Histogram | none |") == 2
    out = tmp_path / "audit.csv"
    assert audited(capsys, *arguments, "--format", "csv", "--out", out) == ""
    assert out.stat().st_mode & 0o777 == 0o600


def test_an_audit_of_a_confidential_file_is_marked(capsys, tmp_path, state):
    path = tmp_path / "survey.csv"
    path.write_text("x\n" + "\n".join(f"0.{i}" for i in range(10, 70)))
    arguments = [path, "--outcome", "x", "--model", "beta", "--bounds", "0", "1", "--mechanism", "histogram"]
    assert audited(capsys, *arguments).startswith("INTERNAL")
    assert audited(capsys, *arguments, "--format", "csv").splitlines()[1].startswith("INTERNAL,")
    assert "INTERNAL" not in audited(capsys, *arguments, "--public")


@pytest.mark.slow
def test_a_finished_run_and_its_table(capsys, state):
    run(capsys, "compare", *TABLE, *QUICK, "--mechanism", "unweighted", "--seed", "4")
    _, listed, _ = run(capsys, "runs", "list")
    identifier = listed.split()[0]
    found = json.loads(audited(capsys, identifier, "--format", "json"))  # its example is loaded again
    assert found["lines"][0]["mechanism"] == "unweighted" and found["seed"] == 4
    status, _, err = run(capsys, "audit", identifier, "example:beta", "--rows", "61")
    assert status == 2 and "another table" in err


@pytest.mark.slow
def test_a_plan_is_audited_with_its_map_and_the_report_holds_it(capsys, tmp_path, state):
    plan, found = tmp_path / "plan.json", tmp_path / "audit.json"
    status, _, err = run(capsys, "plan", *TABLE, *QUICK, "--mechanism", "weighted", "--scale", "0.3", "--tuned-on",
                         "simulated", "--series", "s", "--reason", "r", "--decided-by", "w", "--limit", "90",
                         "--target-epsilon", "60", "--out", plan)  # fmt: skip
    assert status == 0, err
    audited(capsys, plan, *TABLE, "--format", "json", "--out", found)
    values = json.loads(found.read_text())
    assert [line["weights"] for line in values["lines"]] == ["frozen on example:beta"] * 2
    release = ["apply", plan, "example:beta", "--rows", "60", "--data-seed", "2", "--out", tmp_path / "out",
               "--override", "convergence", "a short test", "--override", "growth", "a short test"]  # fmt: skip
    for again in ([], ["--recompute"]):  # drawn again, the report is the same
        status, _, err = run(capsys, *release, "--audit", found, *again)
        assert status == 0, err
    with zipfile.ZipFile(next((tmp_path / "out").glob("*releasable.zip"))) as archive:
        page = archive.read(next(n for n in archive.namelist() if n.endswith("report.html"))).decode()
    assert "How the promise was tested" in page and "never prove it" in page
    for line in values["lines"]:
        assert f"{line['epsilon_lower']:.2f}" in page and line["verdict"] in page

    kept = read_plan(plan)
    refused = {
        "confidential table": values | {"confidential": True},
        "not of this plan": values | {"plan": "0" * 64},
        "not a privacy audit": values | {"format": "other"},
        "version": values | {"version": 2},
        "lines": values | {"lines": []},
    }
    for message, changed in refused.items():
        with pytest.raises(InputError, match=message):
            parse_audit(json.dumps(changed).encode(), kept)
    for name in ("fingerprint", "records"):  # the released table, called public; in another order too
        with pytest.raises(InputError, match="confidential table"):
            parse_audit(json.dumps(values).encode(), kept, (values[name],))
    text = parse_audit(found.read_bytes(), kept).text()
    assert not {"row", "value", "findings", "largest_ratio", "seed"} & set(json.loads(text)["lines"][0])
    with pytest.raises(InputError, match="not valid JSON"):
        parse_audit(b"[1", kept)


def test_saved_settings_and_a_table(capsys, tmp_path, state):
    from synth_core.analysis.settings import make_settings
    from synth_core.release.plan.settings_file import to_text

    path = tmp_path / "settings.json"
    settings = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), epsilon=1.0)
    path.write_text(to_text(settings, ["histogram"]))
    assert "Histogram" in audited(capsys, path, *TABLE)
    status, _, err = run(capsys, "audit", path)
    assert status == 2 and "On which table?" in err
