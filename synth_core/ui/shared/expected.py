"""How long work will take: by what Compare measured under the same settings, where it did."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.engine.toolchain import is_compiled
from synth_core.errors import InputError
from synth_core.experiments.explore.sweep import duration, together
from synth_core.jobs.stored_summaries import stored_summary
from synth_core.models import family
from synth_core.system.cache import results_cache
from synth_core.ui.shared.subject import Subject
from synth_core.ui.state import session

WAITED = 10.0  # times as long as expected
COMPILE_SECONDS = 40.0  # of a Stan program, beside another one
STARTING = 10.0  # seconds until a new server's processes have what they run
SHORT = 5.0  # seconds of which nothing is said


@dataclass(frozen=True)
class ExpectedRuns:
    """Seconds of one run of each of some mechanisms, and whether they are told as a number.

    Attributes
    ----------
    seconds : mapping of str to float
        By mechanism: as measured, else as expected times what the measured ones took longer. Never less than
        expected: a measured run may have begun from a fit that was kept, and another table or setting has none.
    told : bool
        Whether Compare measured one of them, or the models tell how long theirs take.
    """

    seconds: Mapping[str, float]
    told: bool

    def words(self, seconds: float) -> str:
        """How long some work takes that is made of these runs, in words; no number where nothing tells one."""
        return f"about {duration(seconds)}" if self.told else "an unknown time"


def expected_runs(subject: Subject, settings: Settings, mechanisms: Iterable[str]) -> ExpectedRuns:
    """How long one run of each mechanism takes."""
    browser, cache = session.current(), results_cache()
    tasks = {key: subject.task(browser, settings, key) for key in mechanisms}
    took = {
        key: known.numbers.seconds
        for key, task in tasks.items()
        if (known := stored_summary(cache, task.key)) is not None
    }
    expected = {key: task.expected_seconds for key, task in tasks.items()}
    models = [block.model for block in subject.blocks] or [settings.model]
    estimated = all(family(model).estimated for model in models)
    if estimated:  # what takes many times as long has waited, for a compiler or for other runs
        took = {key: min(seconds, WAITED * expected[key]) for key, seconds in took.items()}
    slower = sum(took.values()) / sum(expected[key] for key in took) if took else 1.0
    return ExpectedRuns(
        {key: max(took.get(key, slower * usual), usual) for key, usual in expected.items()},
        bool(took) or estimated,
    )


def long_run(subject: Subject, settings: Settings, mechanism: str) -> str:
    """About how long one run of a mechanism takes, in words; empty where that is short, or nothing could be run.

    The mechanisms of Compare tell how slow the table is.
    """
    compared = session.choices().mechanisms
    known = [key for key in compared if key not in subject.left_out(compared)]
    try:
        once = expected_runs(subject, subject.settings(settings), {mechanism, *known})
    except InputError:  # said where it is asked for
        return ""
    return once.words(once.seconds[mechanism]) if once.seconds[mechanism] > SHORT else ""


def compiling_seconds(models: Iterable[str]) -> float:
    """About how long the Stan programs of models compile before a fit can begin; 0 where they are, and of one's own."""
    programs = {getattr(family(model), "program", "") for model in models} - {""}
    return COMPILE_SECONDS * sum(not is_compiled(each) for each in programs)


def expected_end(
    place: str, seconds: Mapping[str, float], open_keys: Collection[str], at_once: int, before: float = 0.0
) -> float:
    """About when the last of some runs is done, by the monotonic clock; runs that were asked for together are a batch.

    Parameters
    ----------
    place : str
        Whose runs these are: a key of the browser's session, under which the batch is remembered.
    seconds : mapping of str to float
        What each run takes, about, by its key; of runs that are done too.
    open_keys : collection of str
        The runs that are not done.
    at_once : int
        How many run at the same time, at most.
    before : float
        Seconds before the first of a batch can begin.
    """
    now, waiting = time.monotonic(), frozenset(open_keys)
    began, batch, known = st.session_state.get(place, (now, waiting, frozenset()))
    if not waiting <= known:  # others were asked for, or some again: what is done tells nothing of these
        began, batch = now + before, waiting
    st.session_state[place] = began, batch, waiting
    left, done = ([seconds[key] for key in keys if key in seconds] for keys in (waiting, batch - waiting))
    usual = together(left, at_once)
    if not sum(done):
        return began + usual if left else now  # where nothing is known, nothing is late
    slower = (now - began + STARTING) / (sum(done) + STARTING)  # a quick first run tells little of the others
    return now + max(usual, sum(left) * slower)


def seconds_left(end: float) -> str:
    """What is left until `end`, in words, or that it has passed; empty where either is short."""
    seconds = end - time.monotonic()
    if seconds < -SHORT:
        return "longer than expected"
    return f"about {duration(seconds)} left in all" if seconds > SHORT else ""
