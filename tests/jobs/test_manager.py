"""Background processes: one computation for all who ask, cancel, and survival of kills."""

import contextlib
import os
import signal
import time

import psutil
import pytest

from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.experiments.explore.knobs import settings_at
from synth_core.experiments.explore.targets import EpsilonTarget
from synth_core.experiments.explore.tuning import NEAR
from synth_core.jobs.job import Job
from synth_core.jobs.manager import JobManager
from synth_core.jobs.study_task import StudyRequest
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import MechanismTask, PointTask, StudyTask, TuneTask
from tests.support.tasks import NamedTask

pytestmark = pytest.mark.stan


@pytest.fixture(scope="module")
def manager():
    manager = JobManager(2)
    yield manager
    pids = manager.worker_pids()
    manager.close()
    deadline = time.monotonic() + 5
    while any(psutil.pid_exists(p) and psutil.Process(p).status() != "zombie" for p in pids):
        assert time.monotonic() < deadline, "workers outlive the manager"
        time.sleep(0.05)
    assert not manager.directory.exists()


TABLE = load_example("beta", 400)


def settings(**more):
    return make_settings(outcome="x", model="beta", **({"draws": 300, "warmup": 300} | more))


def request(manager, owner, table, settings, mechanisms):
    return manager.submit(owner, [MechanismTask(TaskInput.of(table, settings), name) for name in mechanisms])


def wait(jobs, seconds=60):
    for job in jobs:
        assert job.finished.wait(seconds)
    return [job.state for job in jobs]


def samplers(manager):
    found = []
    for pid in manager.worker_pids():
        with contextlib.suppress(psutil.Error):  # a process may end between two looks at it
            for child in psutil.Process(pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if child.is_running() and child.name() == "beta":
                        found.append(child)
    return found


def eventually(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_needs_no_fit_is_begun_first(manager):
    """On NIST's table the measured mechanism waited for the fits of the others, whose picture came first."""
    names = ["unweighted", "weighted", "histogram"]
    bounded = settings(bounds=(0.0, 1.0))
    with manager._condition:  # no lane takes one meanwhile
        jobs = request(manager, "first", TABLE, bounded, names)
        assert [job.task.mechanism for job in manager._queue] == ["histogram", "unweighted", "weighted"]
    assert [job.task.mechanism for job in jobs] == names
    manager.drop("first")


@pytest.mark.slow
def test_two_sessions_share_one_job(manager):
    first = request(manager, "a", TABLE, settings(), ["unweighted", "weighted"])
    second = request(manager, "b", TABLE, settings(), ["unweighted", "weighted"])
    assert all(x is y for x, y in zip(first, second, strict=True))
    assert wait(first) == ["done", "done"]
    assert first[1].answer.numbers.epsilon < first[0].answer.numbers.epsilon


@pytest.mark.slow
def test_a_stored_result_is_shown_before_a_worker_is_there(manager):
    asked = (TABLE, settings(seed=31), ["unweighted"])
    jobs = request(manager, "a", *asked)
    assert wait(jobs) == ["done"]
    later = JobManager(1)  # of a server that has just started
    try:
        [job] = request(later, "b", *asked)
        assert job.state == "done"
        assert not later.worker_pids()
        assert job.answer == jobs[0].answer.from_cache()
        [other] = request(later, "b", TABLE, settings(seed=32), ["unweighted"])
        assert wait([other]) == ["done"]
    finally:
        later.close()


LONG = {"draws": 20_000, "warmup": 20_000, "chains": 4}


def test_what_is_superseded_is_cancelled_with_its_sampler(manager):
    [slow] = request(manager, "a", TABLE, settings(seed=11, **LONG), ["unweighted"])
    eventually(lambda: samplers(manager))
    [quick] = request(manager, "a", TABLE, settings(seed=12), ["unweighted"])
    assert slow.state == "cancelled"
    eventually(lambda: not samplers(manager) or quick.finished.is_set(), 2)
    assert wait([quick]) == ["done"]
    eventually(lambda: not samplers(manager), 2)


def test_cancel_spares_what_another_session_wants(manager):
    asked = settings(seed=13, **LONG)
    [job] = request(manager, "a", TABLE, asked, ["unweighted"])
    request(manager, "b", TABLE, asked, ["unweighted"])
    manager.cancel("a")
    assert job.state in ("queued", "running")
    eventually(lambda: job.progress()[1] > 0)  # progress is reported while it runs
    started = time.monotonic()
    manager.cancel("b")
    assert job.state == "cancelled" and not job.let_go  # its worker may undo what it has begun
    eventually(lambda: not samplers(manager), 2)
    eventually(lambda: job.let_go, 2)
    assert time.monotonic() - started < 2
    [again] = request(manager, "b", TABLE, asked, ["unweighted"])
    assert again.state == "cancelled"  # it stays so until it is asked to run again
    [other] = request(manager, "c", TABLE, asked, ["unweighted"])
    assert other.state in ("queued", "running")  # for another owner it runs
    manager.cancel("c")
    manager.forget("b", [again])
    [anew] = request(manager, "b", TABLE, asked, ["unweighted"])
    assert anew.state in ("queued", "running")
    manager.drop("b")
    assert anew.state == "cancelled"


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_job_run_again(manager):
    [slow] = request(manager, "a", TABLE, settings(seed=14, draws=20_000, warmup=20_000), ["unweighted"])
    [other] = request(manager, "b", TABLE, settings(seed=15), ["unweighted"])
    found = []

    def busy():
        for pid in manager.worker_pids():
            with contextlib.suppress(psutil.Error):
                if any(child.name() == "beta" for child in psutil.Process(pid).children()):
                    found.append(pid)
        return found

    eventually(busy)
    victim = found[0]
    before = set(manager.worker_pids())
    os.kill(victim, signal.SIGKILL)
    assert wait([slow, other]) == ["done", "done"]
    assert slow.attempts.lost <= 1
    eventually(lambda: len(manager.worker_pids()) == 2)
    assert set(manager.worker_pids()) != before
    assert not psutil.pid_exists(victim) or psutil.Process(victim).status() == "zombie"
    assert not samplers(manager)


def test_bad_input_is_reported_in_words(manager):
    asked = make_settings(outcome="x", model="beta", bounds=(0.0, 0.5))
    [job] = request(manager, "a", TABLE, asked, ["unweighted"])
    assert wait([job]) == ["failed"]
    assert "declared bounds" in job.error


def test_nothing_is_kept_of_finished_jobs(manager):
    eventually(lambda: not any(p.name.isdigit() for p in manager.directory.iterdir()), 5)
    assert all(not job.task.given.tables for job in manager._jobs.values())


def test_working_files_of_a_killed_server_are_removed():
    from synth_core.system.scratch import working_directory

    first = working_directory("synth-jobs")
    stale = first.with_name(first.name.replace(f"-{os.getpid()}-", "-999999999-"))
    first.rename(stale)
    second = working_directory("synth-jobs")
    assert not stale.exists()
    second.rmdir()


def test_a_session_that_went_away_is_forgotten(manager, monkeypatch):
    monkeypatch.setattr("synth_core.jobs.job.ABANDONED_SECONDS", 0.3)
    [job] = request(manager, "gone", TABLE, settings(seed=16, **LONG), ["unweighted"])
    eventually(lambda: job.state == "cancelled", 5)
    eventually(lambda: not samplers(manager), 2)


def background(*scales, seed=1, **more):
    """Points of a map, as the page asks for them."""
    asked = settings(seed=seed, **more)
    return [PointTask(TaskInput.of(TABLE, settings_at(asked, {"scale": c})), "weighted") for c in scales]


@pytest.fixture
def one_lane():
    manager = JobManager(1)
    yield manager
    manager.close()


@pytest.mark.slow
def test_a_map_makes_room_for_a_slider_and_then_goes_on(one_lane):
    tasks = background(0.3, 0.4, seed=21, **LONG)
    points = one_lane.submit("a-map", tasks)
    eventually(lambda: samplers(one_lane))
    [slow] = [job for job in points if job.state == "running"]
    [quick] = request(one_lane, "a", TABLE, settings(seed=22), ["unweighted"])
    assert wait([quick]) == ["done"]
    assert slow.state in ("queued", "running")  # it gave way, and was not lost
    assert not any(job.finished.is_set() for job in points)
    eventually(lambda: slow.state == "running" and samplers(one_lane))  # first in its queue again
    one_lane.cancel("a-map")
    assert {job.state for job in points} == {"cancelled"}
    eventually(lambda: not samplers(one_lane), 3)


@pytest.mark.slow
def test_a_study_gives_way_and_is_not_lost(one_lane):
    """Its fits know nothing of the request: their samplers are ended, which is no failure."""
    asked = StudyRequest("like", 4, 1, ("censored",), (5.0,), (3000,))
    [study] = one_lane.submit(
        "a-study", [StudyTask.of(TABLE, settings(seed=31, draws=5000, chains=1), asked)]
    )
    for turn in range(2):
        eventually(lambda: "simulated databases" in study.progress()[0] and samplers(one_lane), 60)
        assert wait(request(one_lane, "b", TABLE, settings(seed=32 + turn), ["unweighted"])) == ["done"]
    assert wait([study], 120) == ["done"], study.error
    assert study.attempts.lost == 0


def test_a_worker_that_ends_while_it_gives_way_is_no_loss(one_lane):
    job = Job(NamedTask(background=True), one_lane.directory / "x")
    for _ in range(5):
        job.state, job.yielding = "running", True
        one_lane.retry(job)
        assert (job.state, job.attempts.lost) == ("queued", 0)
        job.state = "cancelled"  # so that no lane takes it


def test_a_task_in_the_queue_knows_how_many_go_first(manager):
    """A plan waited for a minute behind runs of Compare, and nothing said for what."""
    names = [NamedTask() for _ in range(3)]
    with manager._condition:  # no lane takes one
        jobs = [Job(each, manager.directory / str(i)) for i, each in enumerate(names)]
        jobs[0].state = "running"
        manager._jobs |= {f"n{i}": job for i, job in enumerate(jobs)}
        manager._queue.extend(jobs[1:])
        assert [manager.ahead_of(job) for job in jobs[1:]] == [1, 2]
        for job in jobs:
            job.state = "cancelled"


@pytest.mark.slow
def test_a_map_stops_and_resumes_without_losing_points(one_lane):
    tasks = background(0.3, 0.5, 0.7, 0.9, seed=23)
    first = one_lane.submit("b-map", tasks)
    eventually(lambda: first[0].finished.is_set())
    one_lane.cancel("b-map")
    done = [job for job in first if job.state == "done"]
    assert 1 <= len(done) < 4
    assert one_lane.submit("b-map", tasks)[-1].state == "cancelled"  # sticky until asked to go on
    one_lane.forget("b-map", first)
    second = one_lane.submit("b-map", tasks)
    assert wait(second) == ["done"] * 4
    one_lane.close()
    restarted = JobManager(1)  # after the server ended: everything comes from the cache
    try:
        third = restarted.submit("c-map", tasks)
        assert wait(third) == ["done"] * 4
        assert all(job.answer.cached for job in third)
        assert [j.answer.epsilon for j in third] == [j.answer.epsilon for j in second]
    finally:
        restarted.close()


@pytest.mark.slow
def test_inverse_tuning_runs_as_a_job_with_progress_and_cancel(one_lane):
    target = EpsilonTarget(2.0)
    [job] = one_lane.submit(
        "a-tuning", [TuneTask(TaskInput.of(TABLE, settings()), "weighted", target=target)]
    )
    eventually(lambda: job.finished.is_set() or "c = " in job.progress()[0])
    assert wait([job]) == ["done"]
    assert NEAR * 2.0 <= job.answer.point.epsilon <= 2.0
    [long] = one_lane.submit(
        "a-tuning", [TuneTask(TaskInput.of(TABLE, settings(**LONG)), "weighted", target=target)]
    )
    eventually(lambda: samplers(one_lane))
    one_lane.cancel("a-tuning")
    assert long.state == "cancelled"
    eventually(lambda: not samplers(one_lane), 3)


def test_a_map_waits_longer_for_its_owner():
    job = Job(NamedTask(background=True), None)
    assert not job.abandoned(job.last_asked + 600)
    assert job.abandoned(job.last_asked + 1000)
    assert Job(NamedTask(), None).abandoned(job.last_asked + 600)


def test_what_lacks_a_declaration_fails_at_once(manager):
    """Without a guess a pilot cannot be anchored: the job has ended before `submit` returns, and asks no worker."""
    pay = make_settings(outcome="x", model="lognormal")
    (job,) = manager.submit("hasty", [MechanismTask(TaskInput.of(TABLE, pay), "anchored")])
    assert (job.state, job.finished.is_set()) == ("failed", True)
    assert job.error.startswith("A pilot starts from a guess")
