"""Data sets drawn later of what was released: of its own noisy counts, at no charge."""

import json

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.mechanisms.noise import OpendpNoise, RecordedNoise
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import Request, purge_pending
from synth_core.release.making.kept_noise import kept_noise
from synth_core.release.making.outcome import CHECKED, MORE, RELEASED, REPEATED
from synth_core.release.making.releasing import release
from synth_core.release.state import StateError, private_directory
from synth_core.system.cache import Cache
from tests.release.test_measured_release import planned, state  # noqa: F401
from tests.release.test_whole_records import BLOCKS, COMMON, people, read

pytestmark = pytest.mark.usefixtures("state")


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return planned(Cache(tmp_path_factory.mktemp("cache")), "measured_laplace", limit=20.0)


def frames(files):
    return {n: pd.read_csv(pd.io.common.BytesIO(files[n])) for n in files if n.endswith(".csv") and "_" in n}


def lines(outcome):
    return (private_directory("noise") / f"{outcome.id}.jsonl").read_text().splitlines()


def test_later_data_sets_are_of_the_same_noise_and_cost_nothing(plan, monkeypatch):
    table = people(2)
    first = release(Request(plan, None, table))
    before, spent = lines(first), Ledger().balance("people")

    def drawn_anew(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(OpendpNoise, "laplace", drawn_anew)
    batch = release(Request(plan, None, table, more_data_sets=3))
    assert batch.state == MORE and batch.number == first.number
    made = frames(read(batch, "releasable"))
    assert list(made) == [f"synthetic_{j}.csv" for j in (3, 4, 5)]
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


def test_five_at_once_are_two_and_three_later(plan, tmp_path):
    """What is drawn later is what would have been drawn then: the same streams of the same secret."""
    first = release(Request(plan, None, people(2)))
    batch = release(Request(plan, None, people(2), more_data_sets=3))
    secret = Ledger().reservation("people", first.id).secret
    analysis = RecordsAnalysis(
        people(2),
        BLOCKS,
        COMMON | {"epsilon": 4.0, "datasets": 5},
        Cache(tmp_path / "other"),
        entropy=secret,
        noise=kept_noise(first.id, new=False),
    )
    result = analysis.run("measured_laplace")
    made = frames(read(batch, "releasable"))
    name = next(
        part.name for part in analysis.parts if part.settings.outcome_categories and not part.of_missing
    )
    for j, frame in zip((2, 3, 4), made.values(), strict=True):
        counted = result.synthetic[j][name].astype(str).value_counts().sort_index()
        assert counted.to_list() == frame[name].astype(str).value_counts().sort_index().to_list()


def test_a_release_without_a_seed_is_made_again(plan):
    first = release(Request(plan, None, people(2)))
    again = release(Request(plan, None, people(2), recompute=True))
    assert again.state == REPEATED and again.archives == first.archives
    (private_directory("noise") / f"{first.id}.jsonl").unlink()
    with pytest.raises(InputError, match="what was made of it is gone"):
        release(Request(plan, None, people(2), more_data_sets=1))


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


def test_a_killed_run_goes_on_with_its_noise():
    kept_noise("killed", new=True).gaussian(np.arange(4), 3.0)
    path = private_directory("noise") / "killed.jsonl"
    with path.open("a") as out:
        out.write('["gaussian", 3.0, [4], [1, 2')  # what was written when it was killed was not used
    (known,) = [json.loads(line)[3] for line in path.read_text().splitlines()[:1]]
    again = kept_noise("killed", new=True)
    assert again.gaussian(np.zeros(4, dtype=np.int64), 3.0).tolist() == known
    assert len(again.gaussian(np.arange(2), 5.0)) == 2
    assert len(path.read_text().splitlines()) == 2
    path.write_text("no noise\n")
    with pytest.raises(StateError, match="damaged"):
        kept_noise("killed", new=True)


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
