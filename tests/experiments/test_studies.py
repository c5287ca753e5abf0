"""The engine: the same numbers whoever computes them, resume, killed workers, and its table."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.any_analysis import analysis_of
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.experiments.studies import run_study as running
from synth_core.experiments.studies import violins
from synth_core.experiments.studies.databases_like_mine import (
    compare_like,
    design_of,
    fitted_design,
    local_bounds,
    one_population,
    study_like,
)
from synth_core.experiments.studies.replicate import ReplicateTask, run_task
from synth_core.experiments.studies.report import FORMATS, StudyReport, render
from synth_core.experiments.studies.run_study import run_study
from synth_core.experiments.studies.study import (
    SAMPLER,
    Case,
    Study,
    check_study,
    sampler_seed,
    simulate,
    task_of,
)
from synth_core.experiments.studies.verdicts import claim, shown
from synth_core.system.backend import Failure, LokyBackend, SerialBackend
from synth_core.system.cache import Cache, MemoryCache
from tests.conftest import ROOT
from tests.support.studies import small

pytestmark = pytest.mark.stan


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """The small study, computed in this process."""
    return run_study(small(), 4, 1, SerialBackend(), Cache(tmp_path_factory.mktemp("serial")))


def same(one, two):
    assert one.measured.keys() == two.measured.keys()
    for key, values in one.measured.items():
        np.testing.assert_array_equal(values, two.measured[key], err_msg=str(key))


@pytest.mark.slow
def test_processes_give_the_same_numbers_and_a_killed_one_costs_its_task_only(serial, tmp_path):
    with LokyBackend(2, tmp_path / "work") as backend:
        killed = []

        def report(done, total, left):
            if done == 1 and not killed:
                killed.append(backend.worker_pids()[0])
                os.kill(killed[0], signal.SIGKILL)

        found = run_study(small(), 4, 1, backend, Cache(tmp_path / "loky"), report)
        assert killed[0] not in backend.worker_pids()
        pids = backend.worker_pids()
    same(serial, found)
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") and _alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "workers outlive the study"
        time.sleep(0.05)
    assert not (tmp_path / "work").exists()


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_replicate_is_what_a_comparison_gives(serial):
    """The engine adds nothing: the same table and seed through the ordinary path."""
    study = small()
    (case,) = study.cases
    for r in (0, 3):
        settings = make_settings(**(SAMPLER | case.settings), seed=sampler_seed(case, 1, r))
        table = Table("again", simulate(case, 1, r))
        result = Analysis(table, settings, MemoryCache()).run("weighted")
        assert serial.values(case.key, "Weighted", "lipschitz_bound")[r] == result.lipschitz_bound
        assert serial.values(case.key, "Weighted", "ecdf_max")[r] == result.ecdf_max
    tables = [simulate(case, 1, r)["x"].to_numpy() for r in range(3)]
    assert not np.array_equal(tables[0], tables[1])
    assert len(set(serial.values(case.key, "Weighted", "lipschitz_bound"))) == 4


def test_a_stopped_study_goes_on(serial, tmp_path, monkeypatch):
    cache, calls = Cache(tmp_path / "cache"), []
    real = run_task

    def counted(task, check=lambda: None):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(task)
        return real(task, check)

    monkeypatch.setattr(running, "run_task", counted)
    with pytest.raises(Cancelled, match="2 of 4 replicates are stored"):
        run_study(small(), 4, 1, SerialBackend(), cache)
    monkeypatch.setattr(running, "run_task", lambda *a: calls.append(a) or real(*a))
    found = run_study(small(), 4, 1, SerialBackend(), cache)
    assert len(calls) == 4
    assert found.computed == 2
    same(serial, found)
    more = run_study(small(), 5, 1, SerialBackend(), cache)  # only the new one is computed
    assert (more.computed, len(calls)) == (1, 5)
    entry = next((tmp_path / "cache").glob("??/*.npz"))
    assert entry.stat().st_mode & 0o777 == 0o600
    entry.write_bytes(b"torn")  # a damaged entry is computed again
    assert run_study(small(), 5, 1, SerialBackend(), cache).computed == 1
    other = run_study(small(1), 1, 2, SerialBackend(), cache)
    assert other.computed == 1  # another seed, other tables


@pytest.mark.long
def test_a_killed_command_resumes(tmp_path):
    environment = os.environ | {"SYNTH_RESULTS_DIR": str(tmp_path / "results")}
    environment.pop("SYNTH_DASK_SCHEDULER", None)
    command = [sys.executable, "-m", "synth_core", "study", "range-4.2", "--replicates", "6", "--jobs", "1"]
    first = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not list((tmp_path / "results").glob("??/*.npz")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    first.kill()
    first.communicate()
    stored = len(list((tmp_path / "results").glob("??/*.npz")))
    assert 1 <= stored < 6
    again = subprocess.run(
        [*command, "--format", "json"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(again.stdout)["computed"] <= 6 - stored
    assert "6 of 6 replicates" in again.stderr


def test_failures_are_told_with_their_replicate(tmp_path):
    class Broken(SerialBackend):
        def run(self, function, tasks):
            for answer in super().run(function, tasks):
                yield answer if answer.index < 2 else type(answer)(2, Failure("no starting point"))

    cache = Cache(tmp_path)
    with pytest.raises(FitError, match="small, n = 150, replicate 3: no starting point"):
        run_study(small(), 4, 1, Broken(), cache)
    assert run_study(small(), 4, 1, SerialBackend(), cache).computed == 2


def test_other_code_is_refused():
    task = task_of(small().cases[0], 1, 0)
    with pytest.raises(FitError, match="another version"):
        run_task(ReplicateTask(task.frame, task.settings, task.points, "other"))


def test_what_cannot_be_run_is_refused_in_words(tmp_path):
    for replicates, message in ((0, "1 to 10,000 replicates"), (-3, "replicates"), (10**6, "replicates")):
        with pytest.raises(InputError, match=message):
            run_study(small(), replicates, 1, SerialBackend(), Cache(tmp_path))
    case = small().cases[0]
    many = Study("many", "", "", (Case("n", case.design, 100, case.settings, case.points * 100),), 1)
    with pytest.raises(InputError, match=r"hours"):
        check_study(many, 10_000, 1)
    with pytest.raises(InputError, match="rows"):
        check_study(small(rows=2), 4, 1)


def test_reports_say_what_ran_in_four_formats(serial):
    rows = [
        claim("a quantity", "Fig. 1", "1 | 2", False, "a reason, with a comma", 0.25),
        shown("another", "3", float("nan")),
    ]
    report = StudyReport(serial, rows, "a baseline")
    text = {form: render(report, form) for form in FORMATS}
    assert "R = 4, seed 1" in text["table"] and "a reason, with a comma" in text["table"]
    assert list(csv.reader(io.StringIO(text["csv"])))[1] == [
        "a quantity", "Fig. 1", "1 | 2", "0.25", "differs", "a reason, with a comma",
    ]  # fmt: skip
    found = json.loads(text["json"])
    assert (found["replicates"], found["rows"][1]["error"]) == (4, None)
    assert "1 \\| 2" in text["markdown"]


def test_violins_are_the_replicates(serial):
    panels = violins.panels(serial)
    labels = [violin.label for violin in panels["lipschitz_bound"]]
    assert labels == ["Unweighted", "Weighted", "Weighted-e"]  # the histogram has no bound
    assert all(violin.values.shape == (4,) for panel in panels.values() for violin in panel)
    assert next(v.label for v in violins.violins(serial, "median")) == "Data"


@pytest.mark.parametrize("categories", [("1", "0"), ("a", "b")])
def test_databases_of_categories_hold_their_names(categories, cache):
    """They held codes: "1" and "0" declared in this order changed places, and other names were refused as none."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"z": rng.normal(size=300), "x": rng.choice(categories, 300, p=[0.8, 0.2])})
    settings = make_settings(outcome="x", model="categorical", categories=categories, predictors=("z",))
    mine = Analysis(Table("t", frame, confidential=False), settings, cache)
    design = fitted_design(mine)
    for rows in (300, 700):
        drawn = design.simulate(np.random.default_rng(2), rows)
        assert (drawn["x"] == categories[0]).mean() == pytest.approx(0.8, abs=0.1)
        assert Analysis(Table("b", drawn), settings, cache).model.records.n == rows


@pytest.mark.parametrize("several", [False, True])
def test_databases_like_mine_keep_units_and_draw_them_whole(several, cache):
    """A member that was drawn again is another one; a study of units was refused."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.lognormal(size=300), "house": np.sort(rng.integers(0, 120, 300))})
    frame["z"] = frame["house"].astype(float)  # so that it is seen whose record was drawn
    settings = make_settings(
        outcome="x", model="lognormal", predictors=("z",), unit_column="house", unit_size=9, chains=1
    )
    blocks = (Block("x", "lognormal"),) if several else ()
    mine = analysis_of(Table("t", frame, confidential=False), settings, blocks, cache)
    design = design_of(mine)
    same = design.simulate(np.random.default_rng(1), 300)
    pd.testing.assert_frame_equal(same[["house", "z"]], frame[["house", "z"]])
    more = design.simulate(np.random.default_rng(1), 1_000)
    assert more["x"].nunique() == len(more) == 1_000
    *whole, last = [each for _, each in more.groupby("house")]
    assert all(each["z"].nunique() == 1 for each in [*whole, last])
    sizes = frame["z"].value_counts()
    assert [len(each) for each in whole] == [sizes[each["z"].iloc[0]] for each in whole]
    assert len(last) <= sizes[last["z"].iloc[0]]
    assert len(whole) > more["z"].nunique()  # some were drawn twice, as different houses
    study = study_like(mine, ["unweighted"], [1.0], [1.0], [], 2)
    assert "Every 'house' has its records" in study.note
    outcome = run_study(study, 2, 1, SerialBackend(), cache)
    assert outcome.values("n = 300", "Unweighted", "lipschitz_bound").shape == (2,)


@pytest.mark.slow
def test_databases_like_the_analysts(cache, tmp_path, monkeypatch):
    """Simulated outcomes follow the fitted law given their predictors; the table's own are not used."""
    table = load_example("lognormal", 400, 3)
    settings = make_settings(outcome="x", predictors=("z",), model="lognormal", chains=1)
    analysis = Analysis(table, settings, cache)
    design = fitted_design(analysis)
    rng = np.random.default_rng(1)
    same_size = design.simulate(rng, 400)
    np.testing.assert_array_equal(same_size["z"], table.frame["z"])
    assert not np.isin(same_size["x"], table.frame["x"]).any()
    large = pd.concat([design.simulate(rng, 1000) for _ in range(20)])
    assert len(large) == 20_000 and np.isin(large["z"], table.frame["z"]).all()
    # log x ~ N(z + 1, 1) in the design; the fit of 400 rows knows the slope to about 0.05
    slope, intercept = np.polyfit(large["z"], np.log(large["x"]), 1)
    assert (slope, intercept) == (pytest.approx(1, abs=0.2), pytest.approx(1, abs=0.4))
    shifted = Table("shifted", table.frame.assign(z=table.frame["z"] + 1))
    assert fitted_design(Analysis(shifted, settings, cache)).identity != design.identity
    of_one = one_population(analysis, 3).identity
    assert one_population(analysis, 4).identity != of_one
    _, key = analysis.fits.unweighted()
    monkeypatch.setattr("synth_core.system.cache.code_version", lambda *more: "of another program")
    again = Analysis(table, settings, cache)
    assert again.fits.unweighted()[1] != key
    # the same seed has the same databases in every version of the program
    assert (fitted_design(again).identity, one_population(again, 3).identity) == (design.identity, of_one)
    study = study_like(analysis, ["weighted", "weighted_e"], [4.0, 3.0], [1.0, 0.8], [100], 2)
    labels = study.cases[0].labels()
    assert len(labels) == 2 + 4  # epsilon moves Weighted-e alone, c both
    outcome = run_study(study, 2, 1, SerialBackend(), Cache(tmp_path))
    local = local_bounds(analysis, study)
    own = Analysis(table, settings.model_copy(update={"epsilon": 4.0}), cache).run("weighted_e")
    assert local["Weighted-e, ε = 4, c = 1"] == own.lipschitz_bound
    rows = compare_like(outcome, local)
    assert sum("today" in row.quantity for row in rows) == 2 * 6
    assert any(row.quantity.startswith("δ, Δ above 2: Weighted-e, ε = 4") for row in rows)
    asked = [row.quantity for row in compare_like(outcome, local, (4.0, 3.0))]
    for target in ("1.5", "2"):  # of a measured ε every target asked for, of one that is set its own
        assert f"δ, Δ above {target}: Weighted, c = 1" in asked
    assert sum(name.startswith("δ, Δ above 1.5: Weighted-e") for name in asked) == 2
    assert outcome.values("n = 100", "Weighted-e, ε = 4, c = 0.8", "epsilon").shape == (2,)
