"""Data sets drawn later of what was released: of its own noisy counts, at no charge."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.engines import measured as engine
from synth_core.analysis.measured import measuring, model
from synth_core.analysis.measured.prior_scales import STEPS, scaled
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.cli import main
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import FitError, InputError
from synth_core.jobs.tasks import ReleaseTask
from synth_core.jobs.worker import run_job
from synth_core.mechanisms.noise import OpendpNoise, RecordedNoise
from synth_core.release.ledger.balances import Reservation
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request, purge_pending
from synth_core.release.making.kept_noise import end_noise, kept_noise
from synth_core.release.making.outcome import CHECKED, MORE, RELEASED, REPEATED
from synth_core.release.making.releasing import release
from synth_core.release.plan.planning import make_plan
from synth_core.release.state import StateError, private_directory
from synth_core.system.cache import Cache
from tests.release.test_measured_release import planned
from tests.release.test_whole_records import BLOCKS, COMMON, DECISION, people, read

pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture(scope="module", autouse=True)
def short_fits():
    """What is asked here is which data sets are the same and what they cost, not how close they come."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "ITERATIONS", 25)
        patch.setattr(
            model, "learnt_scales", lambda model, measured, rng, heard: (scaled(1.0, STEPS[2]), None)
        )
        yield


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return planned(Cache(tmp_path_factory.mktemp("cache")), "measured_laplace", limit=20.0)


def frames(files):
    return {n: pd.read_csv(pd.io.common.BytesIO(files[n])) for n in files if n.endswith(".csv") and "_" in n}


def lines(outcome):
    """The kept answers, without the mark of their end."""
    *answers, end = noise_file(outcome).read_text().splitlines()
    assert end == "end"
    return answers


def noise_file(outcome):
    return private_directory("noise") / f"{outcome.id}.jsonl"


@pytest.mark.slow
def test_later_data_sets_are_of_the_same_noise_and_cost_nothing(plan, monkeypatch):
    table = people(2)
    first = release(Request(plan, None, table))
    before, spent = lines(first), Ledger().balance("people")

    def drawn_anew(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(OpendpNoise, "laplace", drawn_anew)
    batch = release(Request(plan, None, table, more_data_sets=3))
    assert batch.state == MORE and batch.number == first.number
    files = read(batch, "releasable")
    made = frames(files)
    assert list(made) == [f"synthetic_{j}.csv" for j in (3, 4, 5)]
    # What is said of intervals is what the functions beside it do.
    assert b"No rule is known" in files["README.txt"] and b"u + b" not in files["README.txt"]
    assert b'RULE_OF_SEVERAL = ""' in files["combine.py"]
    own = frames(read(first, "releasable"))
    public = list(COMMON["predictors"])
    for frame in made.values():
        assert list(frame) == list(own["synthetic_1.csv"]) and len(frame) == table.rows
        assert (
            frame[public].value_counts().sort_index().equals(table.frame[public].value_counts().sort_index())
        )
    every = [*own.values(), *made.values()]
    assert len({frame.sort_values(list(frame)).to_csv() for frame in every}) == 5
    again = release(Request(plan, None, table, more_data_sets=1))
    assert list(frames(read(again, "releasable"))) == ["synthetic_6.csv"]
    balance = Ledger().balance("people")
    assert (balance.spent, balance.rho, balance.releases) == (spent.spent, spent.rho, spent.releases)
    assert [e.details["m"] for e in Ledger().later("people", first.id)] == [3, 1]
    assert lines(first) == before
    repeated = release(Request(plan, None, table))
    assert repeated.state == REPEATED and len(repeated.archives) == 4  # both of the release, and both batches


def test_a_version_that_would_count_other_tables_draws_no_more_of_a_release(plan, monkeypatch):
    """Its answers would be taken for counts of other columns; a release of before stays as it is, at its charge."""
    first = release(Request(plan, None, people(2)))
    spent = Ledger().balance("people").spent
    there = measuring.first_and_others

    def in_another_order(public, gaussian):
        counted, others = there(public, gaussian)
        return counted[::-1], others

    monkeypatch.setattr(measuring, "first_and_others", in_another_order)
    with pytest.raises(InputError, match=r"not of what is counted now.*another version of the program"):
        release(Request(plan, None, people(2), more_data_sets=1))
    assert Ledger().balance("people").spent == spent and not Ledger().later("people", first.id)


def test_the_noisy_tables_leave_with_the_release_and_nothing_else_of_the_counts(plan):
    """They are the answers of the noise, in their order, and what they are counts of is said."""
    outcome = release(Request(plan, None, people(2)))
    told = json.loads(read(outcome, "releasable")["measurements.json"])
    answers = [json.loads(line)[3] for line in lines(outcome)]
    fine = [np.ravel(each["counts"]).tolist() for each in told["fine counts"]]
    assert [*fine, *(each["counts"] for each in told["tables"])] == answers
    assert told["spent"] == {"epsilon": 4.0} and told["noise"] == "discrete Laplace"
    sensitive = {each["column"]: each for each in told["sensitive columns"]}
    assert set(sensitive) == {block.name for block in BLOCKS}
    for table in told["tables"]:
        assert np.prod(table["shape"]) == len(table["counts"]) and set(table["columns"]) & set(sensitive)
        spread = 5 * table["deviation"] * np.sqrt(len(table["counts"]))
        assert abs(sum(table["counts"]) - told["records"]) < spread


@pytest.mark.slow
def test_five_at_once_are_two_and_three_later(plan, tmp_path):
    """What is drawn later is what would have been drawn then: the same streams of the same secret."""
    first = release(Request(plan, None, people(2)))
    batch = release(Request(plan, None, people(2), more_data_sets=3))
    known = Ledger().reservation("people", first.id)
    analysis = RecordsAnalysis(
        people(2),
        BLOCKS,
        COMMON | {"epsilon": 4.0, "datasets": 5},
        Cache(tmp_path / "other"),
        entropy=known.secret,
        noise=kept_noise(known),
    )
    result = analysis.run("measured_laplace")
    made = frames(read(batch, "releasable"))
    name = next(
        part.name for part in analysis.parts if part.settings.outcome_categories and not part.of_missing
    )
    for j, frame in zip((2, 3, 4), made.values(), strict=True):
        counted = result.synthetic[j][name].astype(str).value_counts().sort_index()
        assert counted.to_list() == frame[name].astype(str).value_counts().sort_index().to_list()


@pytest.mark.slow
def test_a_release_without_a_seed_is_made_again(plan):
    first = release(Request(plan, None, people(2)))
    again = release(Request(plan, None, people(2), recompute=True))
    assert again.state == REPEATED and again.archives == first.archives
    noise_file(first).unlink()
    with pytest.raises(InputError, match="drawn before, and what was kept of it is gone"):
        release(Request(plan, None, people(2), more_data_sets=1))


@pytest.mark.slow
def test_noise_that_was_looked_at_is_kept_when_unfinished_work_is_purged(plan):
    looked = release(Request(plan, None, people(2), dry_run=True))
    assert looked.state == CHECKED
    purge_pending()
    before = lines(looked)
    assert release(Request(plan, None, people(2))).state == RELEASED
    assert lines(looked) == before


def test_more_of_what_was_not_released_or_is_charged_each_is_refused(plan):
    with pytest.raises(InputError, match="has no release 'first' of this plan from this table"):
        release(Request(plan, None, people(2), more_data_sets=2))
    each = plan.model_copy(update={"mechanism": "anchored"})
    with pytest.raises(InputError, match="each data set is a draw of its own and is charged"):
        release(Request(each, None, people(2), more_data_sets=2))
    assert not Ledger().entries("people")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--more-data-sets", "0"], "must lie between 1 and 100 (given: 0)"),
        (["--more-data-sets", "2", "--limit", "9"], "stands alone"),
        (["--more-data-sets", "2", "--count", "zcdp"], "stands alone"),
        (["--more-data-sets", "2", "--recompute"], "stands alone"),
        (["--measured-posterior", "exact"], "is of --more-data-sets"),
    ],
)
def test_what_stands_alone_is_said_before_anything_is_read(options, said, tmp_path, capsys):
    assert main(["apply", "no-plan.json", "no-table.csv", "--out", str(tmp_path), *options]) == 2
    assert said in capsys.readouterr().err


def test_a_later_batch_on_the_command_line(plan, tmp_path, capsys):
    people(2).frame.to_csv(tmp_path / "2.csv", index=False)
    (tmp_path / "plan.json").write_text(plan.canonical())
    apply = ["apply", str(tmp_path / "plan.json"), str(tmp_path / "2.csv"), "--out", str(tmp_path / "out")]
    assert main(apply) == 0 and main([*apply, "--more-data-sets", "2"]) == 0
    assert "2 more data sets of release 1: nothing is charged" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "people-001-INTERNAL.zip",
        "people-001-data-sets-3-to-4-releasable.zip",
        "people-001-releasable.zip",
    ]


@pytest.mark.parametrize(("rhat", "problem"), [(1.003, ""), (1.2, "has not converged")])
def test_later_data_sets_may_be_of_another_posterior_of_the_same_noise(plan, monkeypatch, rhat, problem):
    """It is noted with them, so that they are made again alike; chains that no check has seen have to have met."""
    table, asked = people(2), []

    def sampled(model, tables, scales, mode, laplace, sampler, progress):
        asked.append(len(mode))
        theta = mode + np.random.default_rng(1).normal(0, 0.1, (20, len(mode)))
        return Posterior({"theta": theta}, Diagnostics(rhat, 900.0, 900.0, 0, 2, 2000), 1.0)

    monkeypatch.setattr(engine, "sampled", sampled)
    monkeypatch.setattr(engine, "require_small", lambda *_: None)
    first = release(Request(plan, None, table))
    before, spent = lines(first), Ledger().balance("people").spent
    later = Request(plan, None, table, more_data_sets=2, posterior="exact")
    if problem:
        with pytest.raises(FitError, match=problem):
            release(later)
        assert not list(Ledger().later("people", first.id))
        return
    batch = release(later)
    assert batch.state == MORE and asked and lines(first) == before
    assert b"which are draws of its exact posterior" in read(batch, "releasable")["README.txt"]
    plain = release(Request(plan, None, table, more_data_sets=1, posterior="refits"))
    assert b"given these tables. " in read(plain, "releasable")["README.txt"]
    noted = [entry.details for entry in Ledger().later("people", first.id)]
    assert [each.get("posterior") for each in noted] == ["exact", None]
    assert Ledger().balance("people").spent == spent
    assert release(Request(plan, None, table, recompute=True)).state == REPEATED  # found the same


def reserved(now="reserved"):
    return Reservation("killed", 7, "2026-01-01", 1.0, now, {})


def test_a_killed_run_goes_on_with_its_noise():
    counts = np.arange(4)
    first = kept_noise(reserved()).gaussian(counts, 3.0)
    path = private_directory("noise") / "killed.jsonl"
    with path.open("a") as out:
        out.write('["gaussian", 3.0, [4], [1, 2')  # what was written when it was killed was not used
    for now in ("reserved", "looked"):  # an error that told of the draw before it was whole
        again = kept_noise(reserved(now))
        assert again.gaussian(counts, 3.0).tolist() == first.tolist()
        assert len(again.gaussian(np.arange(2), 5.0)) == 2
    assert len(path.read_text().splitlines()) == 2
    end_noise(reserved())
    whole = kept_noise(reserved("looked"))
    assert [len(whole.gaussian(each, d)) for each, d in ((counts, 3.0), (np.arange(2), 5.0))] == [4, 2]
    with pytest.raises(InputError, match="New noise is another release"):
        whole.gaussian(counts, 3.0)
    path.unlink()
    with pytest.raises(InputError, match="New noise is another release"):  # and not by deleting what was seen
        kept_noise(reserved("looked")).gaussian(counts, 3.0)


@pytest.mark.parametrize(
    "edit",
    [
        lambda row: row[3].__setitem__(0, row[3][0] + 500),
        lambda row: row.__setitem__(1, 3.0000000001),
        lambda row: row.__setitem__(4, "0" * 64),
    ],
)
def test_an_edited_answer_is_known(edit):
    counts, path = np.arange(4), private_directory("noise") / "killed.jsonl"
    kept_noise(reserved()).gaussian(counts, 3.0)
    row = json.loads(path.read_text())
    edit(row)
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="the file was edited, or another version of the program"):
        kept_noise(reserved()).gaussian(counts, 3.0)


@pytest.mark.parametrize(
    "text", ["no noise\n", '["gaussian", "x", [1], [1], ""]\n', '["gaussian", 3.0, [1], [1e400], ""]\n', "[1]\n",
             '["gaussian", 3.0, [1], [1000000000000000000000000000000], ""]\n']
)  # fmt: skip
def test_a_damaged_file_is_said_to_be_damaged(text):
    (private_directory("noise") / "killed.jsonl").write_text(text)
    with pytest.raises(StateError, match="damaged"):
        kept_noise(reserved())


def test_what_leaves_is_of_one_measurement_though_nothing_can_be_cached(plan, monkeypatch):
    """A full disk costs time and no second draw: the tables that leave are those the data sets were made of."""
    monkeypatch.setattr(Cache, "put", lambda *_: "the disk is full")
    outcome = release(Request(plan, None, people(2)))
    told = json.loads(read(outcome, "releasable")["measurements.json"])
    answers = [json.loads(line)[3] for line in lines(outcome)]
    assert len(answers) == len(told["tables"]) + len(told["fine counts"])
    assert answers[len(told["fine counts"]) :] == [each["counts"] for each in told["tables"]]
    monkeypatch.undo()


def test_noise_that_failed_half_way_goes_on_under_the_same_label(plan, monkeypatch):
    usual, calls = OpendpNoise.laplace, []

    def failing(self, counts, scale):
        calls.append(scale)
        if len(calls) == 3:
            raise MemoryError
        return usual(self, counts, scale)

    monkeypatch.setattr(OpendpNoise, "laplace", failing)
    with pytest.raises(MemoryError):
        release(Request(plan, None, people(2)))
    spent = Ledger().balance("people").spent
    outcome = release(Request(plan, None, people(2)))
    assert outcome.state == RELEASED and Ledger().balance("people").spent == spent
    assert len(calls) == len(lines(outcome)) + 1


@pytest.mark.slow
def test_what_is_lost_of_a_release_and_its_batches_is_drawn_again(plan):
    first = release(Request(plan, None, people(2)))
    batch = release(Request(plan, None, people(2), more_data_sets=2))
    (path,) = batch.archives.values()
    content = path.read_bytes()
    internal = next(each for each in first.archives.values() if each.name.endswith("INTERNAL.zip"))
    internal.unlink()
    path.write_bytes(b"junk")
    again = release(Request(plan, None, people(2)))
    assert set(again.archives) == {*first.archives, *batch.archives}
    assert internal.is_file() and path.read_bytes() == content
    modified = internal.stat().st_mtime_ns
    assert release(Request(plan, None, people(2))).archives == again.archives
    assert internal.stat().st_mtime_ns == modified  # it is there, and is not made again
    path.unlink()
    assert release(Request(plan, None, people(2), recompute=True)).state == REPEATED
    assert path.read_bytes() == content


def test_the_ledger_on_the_command_line_says_how_many_were_drawn_later(plan, capsys):
    release(Request(plan, None, people(2)))
    release(Request(plan, None, people(2), more_data_sets=3))
    assert main(["ledger", "show", "people"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if " more " in each]
    assert "m = 3" in line and "+0" in line


@pytest.mark.slow
def test_a_worker_releases_a_plan_whose_first_variable_has_a_rule(tmp_path, kept):
    def ruled(seed):
        frame = people(seed).frame
        return replace(people(seed), frame=frame.assign(sex=frame.sex.where(frame.area != "north", "f")))

    common = COMMON | {"epsilon": 4.0, "rules": ("area = north -> sex = f",)}
    analysis = RecordsAnalysis(ruled(1), BLOCKS, common, kept)
    made = make_plan(analysis, analysis.run("measured_laplace"), replace(DECISION, limit=20.0))[0]
    task = ReleaseTask.of(Request(made, None, ruled(2)), "click")
    answer = run_job(task.sent, str(tmp_path), list(task.given.tables))
    assert answer.answer.state == RELEASED


def test_recorded_noise_answers_what_was_asked_and_nothing_else():
    answers = []
    first = RecordedNoise([], answers.append, OpendpNoise())
    noisy = first.laplace(np.array([[5, 6]]), 2.0)
    again = RecordedNoise(answers, answers.append, None)
    assert again.laplace(np.array([[99, 99]]), 2.0).tolist() == noisy.tolist()
    with pytest.raises(InputError, match="New noise is another release"):
        again.laplace(np.array([1]), 2.0)
    for ask in (
        lambda noise: noise.gaussian(np.array([[5, 6]]), 2.0),
        lambda noise: noise.laplace(np.array([[5, 6]]), 2.1),
        lambda noise: noise.laplace(np.array([5]), 2.0),
    ):
        with pytest.raises(InputError, match="another version of the program"):
            ask(RecordedNoise(answers, answers.append, None))
