"""A release from plan to bundle: gated, charged once, nothing confidential in what leaves."""

import dataclasses
import hashlib
import html
import inspect
import io
import itertools
import json
import os
import re
import stat
import subprocess
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fits import Fits
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.mechanisms.catalogue import MECHANISMS
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import ReleaseRun, Request, purge_pending
from synth_core.release.making.releasing import (
    CHECKED,
    REFUSED,
    RELEASED,
    REPEATED,
    cancel,
    publish,
    release,
)
from synth_core.release.making.within_bounds import within_bounds
from synth_core.release.output import gate
from synth_core.release.output.bundle import csv_bytes, neutral
from synth_core.release.plan.plan import parse_plan
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.release.report import report
from synth_core.release.state import private_directory
from synth_core.system.cache import Cache
from synth_core.system.number_text import exact
from tests.conftest import PYTHON, ROOT
from tests.support.marks import slow_but

pytestmark = pytest.mark.stan
QUICK = {"draws": 1500, "warmup": 500, "chains": 1}
REASON = "chosen for <b>bold</b> & good utility"
DECISION = Decision(
    series="series", reason=REASON, decided_by="A. Nalyst", tuned_on="historical", limit=100.0, decimals=4
)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A state directory of its own, and secrets that are the same in every run of the tests."""
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    numbers = itertools.count(1)
    monkeypatch.setattr(
        "synth_core.release.ledger.ledger.new_secret",
        lambda: hashlib.sha256(str(next(numbers)).encode()).hexdigest(),
    )
    return tmp_path / "state"


def planned(store, mechanism="censored_weighted", decision=DECISION, table=None, **settings):
    table = table or load_example("lognormal", 300, 1)
    known = {"outcome": "x", "model": "lognormal", "predictors": ("z",), "epsilon": 8.0}
    analysis = Analysis(table, make_settings(**(known | QUICK | settings)), store)
    plan, content = make_plan(analysis, analysis.run(mechanism), decision)
    return Request(plan, content, load_example("lognormal", 300, 2))


@pytest.fixture(scope="module")
def request_(store):
    return planned(store)


def read(outcome, kind):
    [path] = [p for n, p in outcome.archives.items() if kind in n]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {n.split("/", 1)[1]: archive.read(n) for n in archive.namelist()}


def test_a_release_from_plan_to_bundle(request_, state, tmp_path):
    outcome = release(request_)
    assert outcome.state == RELEASED
    assert (outcome.number, outcome.epsilon) == (1, 8.0)
    public, internal = read(outcome, "releasable"), read(outcome, "INTERNAL")
    assert set(public) == {
        "synthetic_1.csv",
        "synthetic_1.parquet",
        "dictionary.csv",
        "codebook.json",
        "metadata-sdmetrics.json",
        "dictionary-nist.json",
        "combine.py",
        "combine.R",
        "report.html",
        "SHA256SUMS",
    }
    assert {"plan.json", "report-INTERNAL.html", "records.parquet", "repeat.sh", "SHA256SUMS"} < set(internal)
    report = public["report.html"].decode()
    for said in (
        "of 100 intervals at 95 % fewer than 95 hold what is true of the people",
        "Which records those are is public: no ε covers it.",
        "holds but for e^ε · δ (e^2ε · δ for a value replaced)",
    ):
        assert said in report
    for files in (public, internal):
        for line in files["SHA256SUMS"].decode().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256(files[name]).hexdigest() == digest
    table = pd.read_csv(io.BytesIO(public["synthetic_1.csv"]))
    pd.testing.assert_frame_equal(table, pd.read_parquet(io.BytesIO(public["synthetic_1.parquet"])))
    assert list(table.columns) == ["x", "z"]
    # predictors are kept, in another order; values are rounded as planned
    np.testing.assert_array_equal(np.sort(table["z"]), np.sort(request_.table.frame["z"]))
    assert (table["z"].to_numpy() != request_.table.frame["z"].to_numpy()).sum() > 250
    np.testing.assert_allclose(table["x"], table["x"].round(4), rtol=0, atol=1e-12)
    # The report had five digits of what the table has exactly.
    assert all(f'<td class="number">{exact(end)}</td>' in report for end in (table.x.min(), table.x.max()))
    paths = publish(outcome, tmp_path / "out")
    assert [stat.S_IMODE(p.stat().st_mode) for p in paths] == [0o600, 0o600]
    assert not (state / "pending" / outcome.id).exists()

    again = release(request_)
    assert again.state == REPEATED
    assert publish(again, tmp_path / "out") == paths
    drawn_again = release(replace(request_, recompute=True))
    assert {n: p.read_bytes() for n, p in drawn_again.archives.items()} == {
        n: p.read_bytes() for n, p in outcome.archives.items()
    }
    for path in outcome.archives.values():  # the archives were lost: the secret gives them again
        os.unlink(path)
    remade = release(request_)
    assert [
        hashlib.sha256(p.read_bytes()).hexdigest() for n, p in remade.archives.items() if "releas" in n
    ] == [hashlib.sha256(p.read_bytes()).hexdigest() for p in paths if "releas" in p.name]
    assert Ledger().balance("series").spent == 8.0
    other = release(replace(request_, label="second"))
    assert (other.number, Ledger().balance("series").spent) == (2, 16.0)
    assert read(other, "releas")["synthetic_1.csv"] != public["synthetic_1.csv"]
    (tmp_path / "out" / next(iter(other.archives))).write_text("someone's own file")
    with pytest.raises(InputError, match="exists with other contents"):
        publish(other, tmp_path / "out")


def numbers_in(files):
    """Every number written anywhere in the releasable files, as text and as values."""
    text = b"\n".join(v for n, v in files.items() if not n.endswith(".parquet")).decode()
    values = [float(v) for v in re.findall(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?", text)]
    for name, content in files.items():
        if name.endswith(".parquet"):
            values += pd.read_parquet(io.BytesIO(content)).to_numpy(dtype=float).ravel().tolist()
    return text, np.array(values)


@pytest.mark.parametrize("mechanism", ["censored_weighted", "weighted_final", "exponential"])
def test_nothing_confidential_is_in_the_releasable_part(store, state, mechanism):
    asked = planned(store, mechanism, replace(DECISION, target_epsilon=None, decimals=None))
    # Of 300 records a distance may be 0.1, and a chart has that on its axis.
    asked = replace(asked, table=load_example("lognormal", 299, 2))
    overrides = {} if asked.plan.strict else {k: "test" for k in ("target", "growth", "convergence")}
    outcome = release(replace(asked, overrides=overrides))
    assert outcome.state == RELEASED
    files = read(outcome, "releasable")
    _, values = numbers_in(files)
    values = np.unique(values)
    ledger = Ledger()
    secret = ledger.reservation("series", outcome.id).secret
    records = pd.read_parquet(io.BytesIO(read(outcome, "INTERNAL")["records.parquet"]))
    fitted = Analysis(
        asked.table, make_settings(outcome="x", model="lognormal", predictors=("z",), **QUICK), store
    )
    draws = fitted.fits.unweighted()[0].draws
    hidden = {
        "raw values": asked.table.frame["x"],
        "weights": records["weight"],
        "bounds": records["lipschitz_bound"],
        "match risk": records["match_risk"],
        "draws": np.concatenate([draws["beta"].ravel(), draws["sigma"]]),
        "statistics": np.quantile(asked.table.frame["x"], [0.15, 0.5, 0.9]),
    }
    plain = {0.0, 1.0}  # weights and risks of 0 and 1 say nothing
    for what, confidential in hidden.items():
        confidential = np.array([v for v in np.unique(confidential) if v not in plain])
        near = np.searchsorted(values, confidential)
        gap = np.minimum(
            np.abs(values[np.minimum(near, len(values) - 1)] - confidential),
            np.abs(values[np.maximum(near - 1, 0)] - confidential),
        )
        assert (gap > 1e-9 * np.abs(confidential)).all(), what
    # also not rounded, where the reports of the two parts would write them
    commit = ledger.reservation("series", outcome.id).commit
    for number in (
        commit["ecdf_max"],
        commit["ecdf_avg"],
        commit["overlap"],
        records["lipschitz_bound"].max(),
    ):
        assert not re.search(rf"(?<![\d.]){re.escape(f'{number:.4g}')}(?!\d)", files["report.html"].decode())
    blob = b"\n".join(files.values())
    frozen = asked.plan.frozen
    for word in (
        str(secret), f"{secret:x}", asked.table.fingerprint, asked.fingerprint, asked.plan.digest, outcome.id,
        frozen.sha256,
        REASON, "A. Nalyst", asked.plan.tuned_on.fingerprint, f"{frozen.k}", f"{frozen.scalar}",
    ):  # fmt: skip
        assert word == "None" or word.encode() not in blob, word
    for name, path in outcome.archives.items():
        if "releas" in name:  # and nothing in names, comments or extra fields of the archive
            with zipfile.ZipFile(path) as archive:
                assert not archive.comment
                assert all(not e.comment and not e.extra for e in archive.infolist())


def test_the_public_report_is_never_given_confidential_things():
    """By its arguments it cannot print what it does not have."""
    annotations = {str(p.annotation) for p in inspect.signature(report.public_report).parameters.values()}
    assert annotations == {
        "Released",
        "list[str]",
        "str",
        "Audited | None",  # parsed from a file that says it is of a public or simulated table
        "Coverage | None",  # of databases drawn from the released data set alone
    }
    given = {field.type for field in dataclasses.fields(report.Released)}
    assert given == {
        "Plan",
        "ReleaseTerms",
        "Synthetic",
        "list[GateCheck]",
        "float",
        "Place",
        "str",
        "tuple[CountedTable, ...]",  # which tables: chosen by noisy distances that ε paid for, or by sizes
    }


def test_synthetic_values_are_drawn_with_the_whole_secret(store):
    """Chains and values follow from the secret of the release, and not from the seed of its settings."""
    table = load_example("lognormal", 100, 3)
    settings = make_settings(outcome="x", model="lognormal", **QUICK)

    def drawn(entropy):
        analysis = Analysis(table, settings, store, entropy=entropy)
        return analysis._synthetic(analysis.fits.unweighted()[0])

    secret = 2**255 + 12345
    np.testing.assert_array_equal(drawn(secret), drawn(secret))
    assert (drawn(secret) != drawn(secret + 1)).all()
    assert (drawn(secret) != drawn(None)).all()


# -- gate ----------------------------------------------------------------------------------------


def status(outcome):
    return {c.key: c.status for c in outcome.checks}


def test_a_target_that_is_missed_is_refused_and_an_override_charges_what_was_measured(store, state):
    asked = planned(store, "weighted", replace(DECISION, target_epsilon=1.0))
    refused = release(asked)
    assert refused.state == REFUSED
    assert status(refused)["target"] == "failed"
    assert Ledger().balance("series").spent == 1.0
    assert not (state / "releases" / refused.id).exists()
    outcome = release(replace(asked, overrides={"target": "the <i>board</i> agreed"}))
    assert outcome.state == RELEASED
    measured = refused.numbers["epsilon"] * asked.plan.safety
    assert measured <= outcome.epsilon <= measured + 0.1
    assert Ledger().balance("series").spent == outcome.epsilon
    for kind, name in (("releasable", "report.html"), ("INTERNAL", "report-INTERNAL.html")):
        assert b"the &lt;i&gt;board&lt;/i&gt; agreed" in read(outcome, kind)[name]


def test_a_fit_that_did_not_converge_is_refused(store, state):
    asked = planned(store, draws=100, warmup=100)
    bad = replace(asked, plan=asked.plan.model_copy(
        update={"settings": asked.plan.settings.model_copy(update={"chains": 8, "warmup": 100})}))  # fmt: skip
    outcome = release(bad)
    failed = [c for c in outcome.checks if c.status == "failed"]
    assert [c.key for c in failed] == ["convergence"]
    assert "draws" in failed[0].advice and not failed[0].overridable
    assert Ledger().balance("series").spent == 8.0
    with pytest.raises(InputError, match="promised of an exact draw"):
        release(replace(bad, overrides={"convergence": "it will do"}))


@pytest.mark.parametrize(("bound", "status"), [(1.0, "passed"), (1.001, "failed")])
def test_a_measured_bound_beyond_half_of_a_promise_fails(bound, status):
    """It cannot be: so it is said before anything is written."""
    plan = SimpleNamespace(target_epsilon=2.0, strict=True)
    result = SimpleNamespace(epsilon=2.0, epsilon_promised=2.0, lipschitz_bound=bound)
    assert gate._target(plan, result).status == status


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_convergence_can_be_overridden_only_where_epsilon_is_measured_or_noise(store, mechanism):
    """Every strict mechanism that samples rests on an exact draw; the histogram's noise is exact."""
    plan = planned(store, "censored").plan
    plan = plan.model_copy(update={"mechanism": mechanism})  # asked by the mechanism alone
    may = "convergence" in gate.overridable(plan)
    measured = not plan.point.guarantee("closed").strict
    assert may == (measured or not plan.point.likelihood.samples)


@pytest.mark.parametrize("key", ["ledger", "columns", "copies", "order", "map", "magic"])
def test_what_protects_the_promise_cannot_be_overridden(request_, state, key):
    with pytest.raises(InputError, match=r"cannot be overridden|no check"):
        release(replace(request_, overrides={key: "because"}))
    with pytest.raises(InputError, match="empty"):
        release(replace(request_, overrides={"target": " "}))
    assert not (state / "ledger").exists()


def test_copied_records_are_refused(request_, state, monkeypatch):
    honest = Analysis._synthetic

    def memorise(self, posterior):
        values = honest(self, posterior)
        values[:, ::15] = self.model.records.outcome[::15]
        return values

    monkeypatch.setattr(Analysis, "_synthetic", memorise)
    outcome = release(request_)
    assert outcome.state == REFUSED
    assert [k for k, v in status(outcome).items() if v == "failed"] == ["copies"]
    assert Ledger().balance("series").spent == 8.0


@pytest.mark.slow
def test_declared_bounds_are_respected_or_enforced(store, state):
    asked = planned(store, "censored", bounds=(0.0, 5e4))
    tight = asked.plan.settings.model_copy(update={"bounds": (0.0, 2000.0)})
    table = asked.table.frame
    kept = Table("kept", table[table["x"] < 2000].reset_index(drop=True))
    refused = release(replace(asked, table=kept, plan=asked.plan.model_copy(update={"settings": tight})))
    if status(refused)["bounds"] == "failed":  # a lognormal tail reaches beyond any bound, at times
        assert "--clamp" in next(c.advice for c in refused.checks if c.key == "bounds")
    clamped = asked.plan.model_copy(update={"settings": tight, "clamp": True})
    outcome = release(replace(asked, table=kept, plan=clamped))
    assert status(outcome)["bounds"] == "passed"
    values = pd.read_csv(io.BytesIO(read(outcome, "releas")["synthetic_1.csv"]))["x"]
    assert values.between(0.0, 2000.0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param(
            {"model": "two_part", "transformation": "asinh", "asinh_scale": 50.0}, marks=pytest.mark.slow
        ),
    ],
)
def test_a_value_far_from_a_guess_is_brought_to_eight_spreads_whatever_it_is(store, state, options):
    """Without declared bounds; a value of 9.9e8 or 1e-12 among fifties decided whether chains agreed."""
    rng = np.random.default_rng(77)
    frame = pd.DataFrame({"x": 50 * np.exp(0.8 * rng.standard_normal(300)), "z": rng.standard_normal(300)})
    known = {"anchor": "pilot", "guess": (50.0, 0.8), "epsilon": 4.0, "chains": 2, "draws": 1000}
    asked = planned(store, "anchored", table=Table("typical", frame), **known | options)
    scale = 50.0
    transformed = (np.log, np.exp) if not options else (
        lambda x: np.arcsinh(x / scale), lambda y: scale * np.sinh(y)
    )  # fmt: skip
    ends = transformed[1](transformed[0](50.0) + 8 * 0.8 * np.array([-1.0, 1.0]))
    for value, end in ((9.9e8, ends[1]), (1e6, ends[1]), (-1e7 if options else 1e-12, ends[0])):
        far = frame.copy()
        far.loc[3, "x"] = value
        table, moved = within_bounds(asked.plan, Table("far", far))
        assert moved.sum() == 1 and table.frame["x"][3] == pytest.approx(end, rel=1e-9)
        np.testing.assert_array_equal(table.frame["x"].drop(3), frame["x"].drop(3))
    if options:
        far.loc[3, "x"] = 0.0  # of a zero part: no far value
        assert not within_bounds(asked.plan, Table("far", far))[1].any()
    with pytest.raises(InputError, match="guess is of another unit"):
        within_bounds(asked.plan, Table("cents", frame.assign(x=frame["x"] * 1e8)))
    if not options:
        far.loc[7, "x"], far.loc[7, "z"] = 9.9e8, np.nan  # left out, so nothing of it is fitted
        outcome = release(replace(asked, table=Table("far", far), dry_run=True))
        [bounds] = [c for c in outcome.checks if c.key == "bounds"]
        assert "1 confidential values beyond 8 guessed spreads" in bounds.finding
        assert "farther from a guessed typical value" in bounds.public and "1 conf" not in bounds.public


@pytest.mark.parametrize(
    ("mechanism", "model"), [("censored", "lognormal"), ("histogram", "lognormal"), ("censored", "beta")]
)
def test_a_value_beyond_its_declared_bounds_is_brought_to_them_whatever_it_is(store, state, mechanism, model):
    """A far value decided whether a fit converged, and so whether a release was refused."""
    more = {"model": "beta", "predictors": ()} if model == "beta" else {}
    asked = planned(store, mechanism, bounds=(-1e6 * (model == "beta"), 1e6), epsilon=30.0, **more)
    frame, drawn = asked.table.frame, []
    for value in (2e6, 9.9e8, 1e12):
        far = frame.copy()
        far.loc[3, "x"] = value
        table, moved = within_bounds(asked.plan, Table("far", far))
        assert moved.sum() == 1
        drawn.append(table.frame["x"].to_numpy())
        np.testing.assert_array_equal(np.delete(drawn[-1], 3), np.delete(frame["x"].to_numpy(), 3))
    np.testing.assert_array_equal(drawn[0], drawn[1])
    np.testing.assert_array_equal(drawn[0], drawn[2])
    assert drawn[0][3] == pytest.approx(1e6, rel=1e-5)
    on = frame.copy()
    on.loc[3, "x"] = (
        1e6  # on the bound: none is beyond it, and a family that takes no bound still gets it inside
    )
    table, moved = within_bounds(asked.plan, Table("on", on))
    assert not moved.any() and (table.frame["x"][3] < 1e6) == (model == "beta")
    if model != "beta":  # of which a chain needs longer
        outcome = release(replace(asked, table=Table("far", far), dry_run=True))
        [bounds] = [c for c in outcome.checks if c.key == "bounds"]
        assert "1 confidential values were brought to them" in bounds.finding
        assert "1 confidential" not in bounds.public
    far["x"] = 2e6
    with pytest.raises(InputError, match="300 values beyond the declared bounds"):
        release(replace(asked, table=Table("another unit", far)))


@pytest.mark.slow
def test_tuning_on_the_confidential_data_costs_the_strict_claim(store, state):
    asked = planned(
        store, decision=replace(DECISION, tuned_on="confidential"), table=load_example("lognormal", 300, 2)
    )
    assert "No" not in asked.plan.warning[:2]
    outcome = release(asked)
    assert status(outcome)["guarantee"] == "warning"
    page = read(outcome, "releas")["report.html"].decode()
    assert "ε-DP for given settings" in page
    assert "the strict claim is lost" in page
    assert Ledger().balance("series").strict == 0


@pytest.mark.slow
def test_the_plan_says_what_means_missing_so_that_a_raw_table_is_released_the_same(store, state):
    """The same file, its markers said or not, is the same release; an older plan has no such field."""
    raw = load_example("lognormal", 300, 2).frame.astype({"x": object}).assign(other="N")
    raw.loc[[3, 8], "x"] = "N"
    table = Table("raw", raw)
    with pytest.raises(InputError, match="must be a number"):
        planned(store, "censored", table=table)
    asked = planned(store, "censored", table=table.with_missing(["x=N", "other=N"]))
    assert asked.plan.missing == ("x=N",)  # the other column is none of the plan's
    assert parse_plan(asked.plan.canonical().encode()) == asked.plan
    assert "missing" not in json.loads(planned(store, "censored").plan.canonical())
    first = replace(asked, table=table)
    assert first.id == replace(asked, table=table.with_missing(["x=N"])).id
    assert first.table.column("x").missing == 2
    outcome = release(first)
    assert (outcome.state, release(first).state) == (RELEASED, REPEATED)
    assert len(pd.read_csv(io.BytesIO(read(outcome, "releasable")["synthetic_1.csv"]))) == 298
    assert '<th scope="row">Values that mean missing</th><td>x=N</td>' in (
        read(outcome, "INTERNAL")["report-INTERNAL.html"].decode()
    )


@pytest.mark.slow
def test_a_look_at_the_gate_is_charged_and_its_release_costs_nothing_more(request_, state):
    looked = release(replace(request_, dry_run=True))
    assert looked.state == CHECKED
    assert Ledger().balance("series").spent == 8.0
    with pytest.raises(InputError, match="looked at, so its charge stays"):
        cancel("series", request_.id, "another draw, please")
    purge_pending()
    again = release(replace(request_, dry_run=True))  # the same draw, from its secret
    assert [c.finding for c in again.checks][1:] == [c.finding for c in looked.checks][1:]
    release(replace(request_, dry_run=True, label="second"))
    assert Ledger().balance("series").spent == 16.0
    outcome = release(request_)
    assert Ledger().balance("series").spent == 16.0
    assert [c.finding for c in looked.checks][1:] == [c.finding for c in outcome.checks][1:]


def test_a_limit_that_was_lowered_below_a_charge_is_said_and_forbids_no_release_of_it(request_, state):
    """The gate said "passed" of ε = 8 of 5, and the public report that the limit allows it."""
    release(replace(request_, dry_run=True))
    Ledger().set_limit("series", 5.0, "less for all", "the board")
    outcome = release(request_)
    [budget] = [check for check in outcome.checks if check.key == "ledger"]
    assert (budget.status, budget.public_status) == (gate.WARN, gate.WARN)
    assert "the limit is 5 now and allows less than what is spent" in budget.finding
    assert "the limit was lowered since" in budget.public
    report = read(outcome, "releasable")["report.html"].decode()
    assert budget.public in report and "the limit allows it" not in report


def test_the_histogram_is_released_once_with_one_noise(store, state):
    asked = planned(store, "histogram", bounds=(0.0, 1e6))
    asked = replace(asked, plan=asked.plan)
    looked = release(replace(asked, dry_run=True))
    outcome = release(asked)
    assert looked.numbers["ecdf_max"] == outcome.numbers["ecdf_max"]  # the noise was not drawn anew
    again = release(replace(asked, recompute=True))  # the noisy counts are kept
    assert again.state == REPEATED and again.archives == outcome.archives
    second = replace(asked, label="second")
    looked = release(replace(second, dry_run=True))
    purge_pending()
    (private_directory("noise") / f"{looked.id}.jsonl").unlink()
    for _ in range(2):  # what was looked at is gone: new noise is another release
        with pytest.raises(InputError, match="drawn before, and what was kept of it is gone"):
            release(second)
    assert Ledger().balance("series").spent == 16.0


@pytest.mark.parametrize("error", slow_but([InputError], [InputError, FitError, MemoryError]))
def test_whatever_fails_after_a_draw_stays_charged_and_is_the_same_draw_again(
    store, state, monkeypatch, error
):
    asked, seen = planned(store, "censored"), []
    honest = Analysis._synthetic

    def failing(self, posterior):
        seen.append(honest(self, posterior))
        raise error("A value is no number.")

    with monkeypatch.context() as broken:
        broken.setattr(Analysis, "_synthetic", failing)
        for _ in range(2):
            with pytest.raises(error):
                release(asked)
        with pytest.raises(error, match="no number"):
            release(replace(asked, label="second"))
    np.testing.assert_array_equal(seen[0], seen[1])
    assert Ledger().balance("series").spent == 16.0
    with pytest.raises(InputError, match="its charge stays"):
        cancel("series", asked.id, "for another draw")
    assert release(asked).state == RELEASED
    assert Ledger().balance("series").spent == 16.0


@pytest.mark.parametrize("error", [Cancelled, KeyboardInterrupt])
def test_what_was_stopped_has_shown_nothing_and_is_given_back(store, state, monkeypatch, error):
    asked = planned(store, "censored")

    def stopped(self, posterior):
        raise error()

    monkeypatch.setattr(Analysis, "_synthetic", stopped)
    with pytest.raises(error):
        release(asked)
    assert Ledger().balance("series").spent == 0


def test_what_was_stopped_after_it_passed_stays_charged(store, state, monkeypatch):
    """Whoever saw it go on knew that the draw had passed, got the charge back, and might have asked for another."""
    asked = planned(store, "censored")

    def stopped(self):
        raise Cancelled("The study was stopped.")

    with monkeypatch.context() as patched:
        patched.setattr(ReleaseRun, "archives", stopped)
        with pytest.raises(
            Cancelled, match=r"The study was stopped\. Its draw was looked at, so ε = .* stays charged"
        ):
            release(asked)
    spent = Ledger().balance("series").spent
    assert spent > 0
    with pytest.raises(InputError, match="its charge stays"):
        cancel("series", asked.id, "for another draw")
    assert release(asked).state == RELEASED and Ledger().balance("series").spent == spent


def test_what_is_refused_before_any_draw_is_given_back(store, state, monkeypatch):
    asked = planned(store, "censored")
    frame = asked.table.frame.copy()
    frame.loc[3, "x"] = -1.0  # none of a lognormal model
    with pytest.raises(InputError, match="row 4"):
        release(replace(asked, table=Table("negative", frame)))
    assert Ledger().balance("series").spent == 0


@pytest.mark.slow
def test_several_data_sets_cost_several_times(store, state):
    # At the default unit of 1 the clamped posterior has modes that chains may miss, on one machine and not on another.
    asked = planned(store, "censored", datasets=3, epsilon=6.0, unit=10.0, draws=2000)
    outcome = release(asked)
    assert outcome.epsilon == 18.0
    files = read(outcome, "releas")
    assert {f"synthetic_{j}.{e}" for j in (1, 2, 3) for e in ("csv", "parquet")} < set(files)
    assert files["synthetic_1.csv"] != files["synthetic_2.csv"]


@pytest.mark.slow
def test_each_data_set_of_a_release_is_a_draw_of_a_chain_of_its_own(store, state, monkeypatch):
    """Draws of one chain are not independent, and m data sets cost m times one only where they are."""
    seen = []
    monkeypatch.setattr(
        "synth_core.analysis.analysis.synthetic_values",
        lambda model, draw, rng, drawing: seen.append(draw) or model.predict(draw, rng),
    )
    posteriors, sampled = [], Fits._sample
    monkeypatch.setattr(
        Fits, "_sample", lambda self, *given: posteriors.append(sampled(self, *given)) or posteriors[-1]
    )
    asked = planned(store, "censored", datasets=6, epsilon=6.0, draws=1000)
    seen.clear()
    release(replace(asked, dry_run=True))
    posterior = posteriors[-1]
    assert posterior.diagnostics.chains == 6
    sigma = posterior.draws["sigma"].reshape(6, -1)
    chains = [int(np.flatnonzero((sigma == draw["sigma"]).any(axis=1))[0]) for draw in seen]
    assert sorted(chains) == list(range(6))
    one = planned(store, "censored", datasets=1, epsilon=6.0, draws=1000)
    release(replace(one, dry_run=True))
    assert posteriors[-1].diagnostics.chains == 4


# -- hostile tables -------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Elements and attributes as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


HARMLESS = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "footer", "h1", "h2", "h3", "p", "ul", "li",
    "dl", "div", "dt", "dd", "small", "strong", "br", "code", "table", "caption", "thead", "tbody", "tr", "th", "td",
    "svg", "line", "text", "rect", "polyline",
}  # fmt: skip


@pytest.mark.slow
def test_hostile_names_and_cells_stay_text(store, state):
    rng = np.random.default_rng(3)
    outcome_name = "<script>alert(1)</script>"
    predictor = '=HYPERLINK("http://evil","x")'
    group = "**g** [a](javascript:alert(1)) {{ 7*7 }}"

    def table(seed):
        rng = np.random.default_rng(seed)
        return Table('"><img src=x onerror=alert(1)>.csv', pd.DataFrame({
            outcome_name: rng.lognormal(2, 1, 200),
            predictor: rng.normal(size=200).round(2),
            group: rng.choice(["=1+1", "@SUM(A1)", "<img src=x onerror=alert(2)>", "-2+3", "plain"], 200),
        }))  # fmt: skip

    settings = make_settings(
        outcome=outcome_name, predictors=(predictor, group), model="lognormal", epsilon=8.0, **QUICK
    )
    analysis = Analysis(table(1), settings, store)
    decision = replace(DECISION, reason="<svg onload=alert(3)>", decided_by="'; DROP TABLE entries; --")
    plan, content = make_plan(analysis, analysis.run("censored_weighted"), decision)
    outcome = release(Request(plan, content, table(2)))
    public = read(outcome, "releas")
    for page in (public["report.html"], read(outcome, "INTERNAL")["report-INTERNAL.html"]):
        seen = Tags(page.decode())
        assert seen.tags <= HARMLESS
        assert not any(name.startswith("on") for name in seen.attributes)
        assert not {"src", "href", "xlink:href"} & seen.attributes  # self-contained, no network
        assert "49" not in page.decode().split("{{")[0][-10:]
        assert "default-src 'none'" in page.decode()
        assert 'lang="en"' in page.decode()
    lines = public["synthetic_1.csv"].decode().splitlines()
    assert lines[0].split(",", 1)[1].lstrip('"').startswith("'=HYPERLINK")
    groups = pd.read_csv(io.BytesIO(public["synthetic_1.csv"])).iloc[:, 2]
    assert set(groups) == {"'=1+1", "'@SUM(A1)", "<img src=x onerror=alert(2)>", "'-2+3", "plain"}
    kept = pd.read_parquet(io.BytesIO(public["synthetic_1.parquet"])).iloc[:, 2]
    assert "=1+1" in set(kept)
    assert b"\n'=HYPERLINK" in public["dictionary.csv"] or b"\n\"'=HYPERLINK" in public["dictionary.csv"]
    assert rng is not None


@pytest.mark.slow
def test_names_from_right_to_left_turn_nothing_round_in_reports(store, state):
    names = {"pay": "\u05e9\u05db\u05e8\u200f", "z": "\u05d2\u05d9\u05dc 1"}

    def table(seed):
        rng = np.random.default_rng(seed)
        return Table(
            f"{names['z']}.csv", pd.DataFrame({v: rng.lognormal(2, 1, 200).round(2) for v in names.values()})
        )

    settings = make_settings(
        outcome=names["pay"], predictors=(names["z"],), model="lognormal", epsilon=8.0, **QUICK
    )
    analysis = Analysis(table(1), settings, store)
    plan, content = make_plan(analysis, analysis.run("censored"), DECISION)
    outcome = release(Request(plan, content, table(2)))
    public, internal = read(outcome, "releas"), read(outcome, "INTERNAL")
    for page in (public["report.html"].decode(), internal["report-INTERNAL.html"].decode()):
        assert (
            page.count("\u2068\u05e9\u05db\u05e8\u200f\u2069") == page.count("\u05e9\u05db\u05e8\u200f") > 1
        )
        assert page.count("\u2068") == page.count("\u2069")
    assert public["synthetic_1.csv"].decode().splitlines()[0] == ",".join(
        names.values()
    )  # data are as they were


@pytest.mark.parametrize(
    "cell",
    ["=1", "+1+1", "-1+1", "-cmd", "@x", "\t=1", "\r=1", " =1", "＝1", "|cmd", "%x", "'=1", "\ufeff=1"],
)
def test_formula_cells_are_neutralised(cell):
    for cut in (";", "\t", "\n", ";;", "; "):  # as a spreadsheet with decimal commas cuts a line
        for part in re.split(r"[;\t\r\n]", neutral(f"a{cut}{cell}{cut}b")):
            assert not part.lstrip(" \ufeff").startswith(("=", "+", "-", "@", "＝", "|", "%"))
    for part in re.split(
        r"[;,]", neutral(f"a,{cell},b;{cell}", ";")
    ):  # with semicolons, one with decimal points cuts
        assert not part.lstrip(" \ufeff").startswith(("=", "+", "-", "@", "＝", "|", "%"))
    assert neutral("a; b;c") == "a; b;c" and neutral("a,-b") == "a,-b"
    assert neutral(cell).startswith("'")
    assert neutral(cell).endswith(cell)
    assert neutral("a=1") == "a=1"
    assert neutral(-1.5) == -1.5
    for code in (
        "-1",
        "+1",
        "-9,5",
        "-0.25",
    ):  # a number is a number to a spreadsheet too: codes stay as written
        assert neutral(code) == code
    for code in (
        "-",
        "--",
        "---",
        "+",
    ):  # of a category, or a mark of missing values: the dictionaries name it so
        assert neutral(code) == code


def test_numbers_with_decimal_commas_stand_between_semicolons():
    """They stood in quotes between commas: "2587,21" was text to whoever read the file."""
    frame = pd.DataFrame({"pay": [2587.21, 3.0], "job": ["a,=1", "b;c"]})
    written = pd.DataFrame({"pay": ["2587,21", "3"], "job": ["a,=1", "b;c"]})
    assert csv_bytes(frame, written) == b'pay;job\n2587,21;a,\'=1\n3;"b;c"\n'
    assert csv_bytes(frame, written.assign(pay=["2587.21", "3"])).startswith(b'pay,job\n2587.21,"a,=1"\n')


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a\\b", ".hidden", "a..b", "", "a\0b", "-x", "con trol", "x" * 65]
)
def test_names_cannot_leave_their_directory(request_, state, name):
    for change in ({"series": name} if name else {"label": ""}, {"label": name}):
        with pytest.raises(InputError, match="letters, digits"):
            release(replace(request_, **change))
    assert not (state / "ledger").exists()


# -- command line ---------------------------------------------------------------------------------


@pytest.fixture
def plan_file(state, tmp_path):
    path = tmp_path / "plan.json"
    assert main(["plan", "example:beta", "--rows", "150", "--data-seed", "100", "--mechanism", "censored",
                 "--epsilon", "6", "--bounds", "0", "1", "--tuned-on", "simulated", "--series", "monthly",
                 "--reason", "test", "--decided-by", "me", "--limit", "24", "--draws", "4000", "--warmup", "500",
                 "--chains", "1", "--out", str(path)]) == 0  # fmt: skip
    return path


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [("measured", "promises ρ (zCDP) and no pure ε"), ("measured_laplace", "One release costs ε = 6, and")],
)
def test_a_plan_that_its_limit_cannot_take_is_told_when_it_is_made(state, tmp_path, capsys, mechanism, said):
    assert main(["plan", "example:beta", "--rows", "150", "--mechanism", mechanism, "--epsilon", "6", "--bounds", "0",
                 "1", "--tuned-on", "simulated", "--series", "monthly", "--reason", "test", "--decided-by", "me",
                 "--limit", "3", "--out", str(tmp_path / "plan.json")]) == 0  # fmt: skip
    assert f"! {'Measured ' if mechanism == 'measured' else ''}{said}" in capsys.readouterr().out


def apply(plan_file, month, out, *more):
    return main(["apply", str(plan_file), "example:beta", "--rows", "150", "--data-seed", str(month),
                 "--out", str(out), *more])  # fmt: skip


def test_four_months_and_the_fifth_is_refused(plan_file, tmp_path, capsys):
    out = tmp_path / "out"
    for month in range(1, 5):
        assert apply(plan_file, month, out) == 0, capsys.readouterr().err
        assert f"Release {month} of monthly: ε = 6 charged" in capsys.readouterr().out
    assert apply(plan_file, 5, out) == 2
    assert "limit of the series monthly has no room" in capsys.readouterr().err
    assert len(list(out.iterdir())) == 8
    assert apply(plan_file, 3, out) == 0  # a repeat is not another charge
    assert "nothing more is charged" in capsys.readouterr().out
    assert (
        main(["apply", str(plan_file), "example:beta", "--rows", "150", "--data-seed", "3", "--dry-run"]) == 0
    )
    assert "Nothing was written" in capsys.readouterr().out
    assert main(["ledger", "show", "monthly"]) == 0
    assert "releases: 4, ε = 24 of 24, 0 left" in capsys.readouterr().out
    assert main(["ledger", "limit", "monthly", "30", "--reason", "a month more", "--who", "board"]) == 0
    assert apply(plan_file, 5, out) == 0
    assert main(["ledger", "verify"]) == 0
    # months differ, and each was drawn with a secret of its own
    with zipfile.ZipFile(out / "monthly-004-INTERNAL.zip") as archive:
        page = archive.read("monthly-004-INTERNAL/report-INTERNAL.html").decode()
    assert all(f"{number} · 20" in page for number in (1, 2, 3))


def test_bad_arguments_are_status_two(plan_file, tmp_path, capsys):
    assert apply(plan_file, 1, tmp_path / "out") == 0
    for arguments, message in (
        (["--limit", "99"], "is a decision of its own"),
        (["--override", "budget", "x"], "no check 'budget'"),
        (["--override", "copies", "x"], "cannot be overridden"),
        (["--series", "../x"], "letters, digits"),
        (["--release", "a b"], "letters, digits"),
        (["--limit", "nan"], "--limit must lie"),
    ):
        capsys.readouterr()
        assert apply(plan_file, 2, tmp_path / "out", *arguments) == 2
        assert message in capsys.readouterr().err
        assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_plan_as_risk_reference_of_a_comparison(state, tmp_path, capsys):
    path = tmp_path / "plan.json"
    common = ["--draws", "300", "--warmup", "300"]
    assert main(["plan", "example:lognormal", "--rows", "200", "--data-seed", "9", "--mechanism", "weighted",
                 "--tuned-on", "simulated", "--series", "s", "--reason", "r", "--decided-by", "me", "--out", str(path),
                 *common]) == 0  # fmt: skip
    capsys.readouterr()
    assert main(["compare", "example:lognormal", "--rows", "200", "--risk-reference", str(path), "--mechanism",
                 "weighted", "--format", "json", *common]) == 0  # fmt: skip
    [result] = json.loads(capsys.readouterr().out)["results"]
    assert any("risk map frozen on" in line for line in result["explanation"])
    assert main(["runs", "list"]) == 0
    assert capsys.readouterr().out.count("weighted") >= 2


@pytest.mark.slow
def test_the_script_in_the_internal_bundle_repeats_the_run(plan_file, tmp_path, capsys):
    data = tmp_path / "month.csv"
    load_example("beta", 150, 50).frame.to_csv(data, index=False)
    assert main(["apply", str(plan_file), str(data), "--out", str(tmp_path / "out")]) == 0
    with zipfile.ZipFile(tmp_path / "out" / "monthly-001-INTERNAL.zip") as archive:
        archive.extractall(tmp_path / "internal")
    done = subprocess.run(
        ["sh", tmp_path / "internal" / "monthly-001-INTERNAL" / "repeat.sh", data, tmp_path / "again"],
        env=os.environ | {"PYTHON": PYTHON, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "drawn again and found the same" in done.stdout
    name = "monthly-001-releasable.zip"
    assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    capsys.readouterr()


@pytest.mark.parametrize("called", ["public", "simulated"])
def test_a_file_is_public_only_where_it_is_said_to_be(tmp_path, state, capsys, called):
    """The command line keeps the app's rule: a table that was loaded is confidential."""
    data, out = tmp_path / "t.csv", tmp_path / "p.json"
    load_example("lognormal", 100, 1).frame.to_csv(data, index=False)
    options = [
        "--outcome",
        "x",
        "--model",
        "lognormal",
        "--mechanism",
        "censored",
        "--epsilon",
        "6",
        "--draws",
        "200",
    ]
    options += ["--warmup", "200", "--chains", "1", "--tuned-on", called, "--series", "s", "--reason", "r"]
    options += ["--decided-by", "me", "--out", str(out)]
    assert main(["plan", str(data), *options]) == 2
    assert "(--public)" in capsys.readouterr().err and not out.exists()
    assert main(["plan", str(data), *options, "--public"]) == 0
    assert parse_plan(out.read_bytes()).tuned_on.kind == called


@pytest.mark.parametrize("called", ["public", "simulated", "historical"])
def test_a_released_table_that_its_plan_calls_public_is_confidential(store, state, called):
    own = replace(load_example("lognormal", 300, 1), confidential=False)
    made = planned(store, decision=replace(DECISION, tuned_on=called), table=own)
    outcome = release(replace(made, table=replace(own, confidential=True), label="own"))
    page = read(outcome, "releasable")["report.html"].decode()
    assert "How close the same settings came" not in page
    for value in made.plan.tuned_on.utility.values():
        assert f"{value:.4g}" not in page
    assert "the strict claim is lost" in page
    less = own.frame.sample(frac=1, random_state=1).iloc[1:]
    more = pd.concat([less, made.table.frame.head(150)])
    for label, frame in {
        "less": less,
        "late": own.frame.assign(x=own.frame["x"] + 1e-9),
        "more": more,
    }.items():
        # One row less, late decimals, other people beside: the table is as confidential as its records.
        standing = made.plan.standing(Table(label, frame))
        assert (standing.tuned_on == "confidential") == (called != "historical"), label
        assert standing.open is False
    other = release(made)  # of another table the same plan may speak of its tuning
    found = read(other, "releasable")["report.html"].decode()
    assert ("How close the same settings came" in found) == (called != "historical")


@pytest.mark.slow
def test_a_measured_epsilon_tells_nothing_of_replacing(store, state):
    """By loops over draws and values: another value moves the log-likelihood by more than twice ε, which was told."""
    asked = planned(store, "count_weighted_final", datasets=2)
    settings = make_settings(outcome="x", model="lognormal", predictors=("z",), epsilon=8.0, **QUICK)
    analysis = Analysis(asked.table, settings, store)
    result = analysis.run("count_weighted_final")
    records, draws = analysis.selection.records, analysis.fits.posterior(result.weights)[0].draws

    def terms(value, record):
        mean = draws["beta"] @ records.design[record]
        density = scipy.stats.norm.logpdf(np.log(value), mean, draws["sigma"]) - np.log(value)
        return result.weights[record] * density

    assert result.epsilon == pytest.approx(
        2 * max(np.abs(terms(x, i)).max() for i, x in enumerate(records.outcome))
    )
    largest = max(
        np.ptp(terms(value, i) - terms(x, i))
        for i, x in enumerate(records.outcome)
        for value in (records.outcome.min(), records.outcome.max())
    )
    assert largest > 2 * result.epsilon
    outcome = release(
        replace(asked, overrides={"target": "a test", "growth": "a test", "convergence": "a test"})
    )
    assert outcome.state == RELEASED, [c for c in outcome.checks if c.status == "failed"]
    page = html.unescape(read(outcome, "releasable")["report.html"].decode())
    assert "ε = " in page and "Beliefs before" not in page and "odds grow" not in page
    assert "for one replaced" not in page and "for a value replaced" not in page
    assert "What replacing it by another value costs is not told" in page
