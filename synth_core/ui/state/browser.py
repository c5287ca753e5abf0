"""One browser: its table, its choices with their history, its release desk and its background work."""

from __future__ import annotations

import secrets
import time
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from synth_core.analysis.settings import Settings
from synth_core.data.declared import declared_rules
from synth_core.data.table import Table
from synth_core.experiments.explore.sweep import together
from synth_core.jobs.job import Job
from synth_core.jobs.task import Task
from synth_core.mechanisms.guarantees import WeightsFrom
from synth_core.release.making.outcome import ReleaseOutcome
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.settings_file import Scenario
from synth_core.ui.state.choices import Choices, pairs, replaced, value_at
from synth_core.ui.state.first_choices import first_choices, unusual

UNDO_STEPS = 50


@dataclass
class Desk:
    """What lies on the release desk."""

    plan: Plan | None = None
    problems: tuple[str, ...] = ()  # of the fit that the plan was made from
    warnings: tuple[str, ...] = ()  # how far its synthetic table was from the tuning table
    table: Table | None = None  # the one to be released
    label: str = ""  # of its release; empty until one is proposed
    outcome: ReleaseOutcome | None = None  # of the gate, or of the release
    audit: str = ""  # what of an audit goes into the public report
    task: Task[Any] | None = None  # under way
    what: Literal["plan", "release"] = "plan"  # is under way
    error: str = ""
    cancelled: bool = False  # what was under way
    ending: Job | None = None  # cancelled, and its worker may still undo what it has begun

    @property
    def busy(self) -> bool:
        """Whether something is under way, or is being undone."""
        return self.task is not None or self.ending is not None


@dataclass
class BackgroundRun:
    """Tasks that were started together.

    Attributes
    ----------
    asked
        What the page asked for, so that it can tell whether it asks for the same now.
    expected : dict
        Seconds that one task of each mechanism is expected to take, where the page that started it has told.
    """

    tasks: list[Task[Any]]
    jobs: list[Job]
    asked: Any = None
    expected: dict[str, float] = field(default_factory=dict)

    def having(self, *states: str) -> list[Job]:
        return [job for job in self.jobs if job.state in states]

    @property
    def running(self) -> bool:
        return bool(self.having("queued", "running"))

    def answers(self) -> list[Any]:
        """The answers so far."""
        return [job.answer for job in self.having("done") if job.answer is not None]

    def seconds_left(self, lanes: int) -> float:
        """Seconds that are left, from what finished points of the same mechanism took, else as was expected."""
        took: dict[str, list[float]] = defaultdict(list)
        for job in self.having("done"):
            seconds = job.task.seconds_of(job.answer)
            if seconds is not None:
                took[job.task.mechanism].append(seconds)
        left = []
        for job in self.having("queued", "running"):
            mechanism = job.task.mechanism
            known = took[mechanism]
            expected = self.expected.get(mechanism, job.task.expected_seconds)
            left.append(sum(known) / len(known) if known else expected)
        return together(left, lanes)


@dataclass(frozen=True)
class ExampleTable:
    """The example in use, so that a link can name it."""

    key: str
    rows: int | None = None
    seed: int = 1
    half: int | None = None


@dataclass(frozen=True)
class BeforeDemo:
    """What a demonstration put aside, and its end brings back."""

    table: Table
    choices: Choices
    reference: Table | None
    desk: Desk
    example: ExampleTable | None
    as_read: Table


@dataclass(frozen=True)
class Play:
    """What is being played: the values of a place in turn, and the one to come back to."""

    place: str
    label: str
    values: tuple[float, ...]
    before: float
    at: int = 0
    since: float = 0.0  # when the picture of this value was first whole

    @property
    def value(self) -> float:
        return self.values[self.at]

    @property
    def words(self) -> str:
        return f"{self.label} = {self.value:.3g} ({self.at + 1} of {len(self.values)})"


@dataclass(frozen=True)
class Standing:
    """Choices, with the steps before and after them."""

    choices: Choices
    history: tuple[Choices, ...]
    undone: tuple[Choices, ...]


@dataclass
class Browser:
    """One browser. Its choices are frozen; `change` is the only way to other ones."""

    table: Table
    choices: Choices = field(default_factory=first_choices)
    reference: Table | None = None  # the table that the risk map is frozen on
    demo: bool = False  # a demonstration: only simulated data are shown
    before_demo: BeforeDemo | None = None
    inherited: dict[str, Any] = field(default_factory=dict)  # settings that were chosen on the table before
    tables: int = 0  # counts tables: widgets of a former one are told by it
    revision: int = 0  # counts changes, so that other tabs of this browser see them
    desk: Desk = field(default_factory=Desk)
    history: deque[Choices] = field(default_factory=lambda: deque(maxlen=UNDO_STEPS))
    undone: list[Choices] = field(default_factory=list)  # the last one undone last
    example: ExampleTable | None = None
    playing: Play | None = None  # its value stands in the choices meanwhile
    runs: dict[str, BackgroundRun] = field(default_factory=dict)  # by kind
    name: str = field(default_factory=lambda: secrets.token_urlsafe(16))  # under which its runs ask for jobs
    used: float = field(default_factory=time.monotonic)
    as_read: Table = field(init=False)  # the table before any value was said to mean missing
    pins: dict[tuple[str, ...], tuple[tuple[Scenario, ...], str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.as_read = self.table

    def change(self, choices: Choices, undoable: bool = True) -> None:
        """Take other choices; nothing happens if they are the same.

        Parameters
        ----------
        undoable : bool
            False for what the program puts right by itself, and for what an undo could not restore. The others end a
            play.
        """
        choices = choices.by_rules(self.table)
        if undoable:
            choices = self._unplayed(choices)
            self.end_play()
        if choices == self.choices:
            return
        if undoable:
            self.history.append(self.choices)
            self.undone.clear()
        self.choices = choices
        self.revision += 1

    def _unplayed(self, choices: Choices) -> Choices:
        """With the value from before the play that goes on, unless they have a value of their own there."""
        playing = self.playing
        if playing is None or value_at(choices, playing.place) != playing.value:
            return choices
        return replaced(choices, playing.place, playing.before)

    def end_play(self) -> None:
        """Come back to the value from before, if a play goes on."""
        if self.playing is not None:
            self.choices, self.playing = self._unplayed(self.choices), None
            self.revision += 1

    @property
    def steps(self) -> list[Choices]:
        """All choices that can be gone to, the oldest first, those in use at `len(history)`."""
        return [*self.history, self.choices, *reversed(self.undone)]

    @property
    def standing(self) -> Standing:
        """The choices with all that Undo and Redo know, to be come back to."""
        return Standing(self.choices, tuple(self.history), tuple(self.undone))

    def come_back(self, to: Standing) -> None:
        """Take everything back that was chosen since, as if it had not been."""
        self.end_play()
        self.choices, self.undone = to.choices, list(to.undone)
        self.history = deque(to.history, maxlen=UNDO_STEPS)
        self.revision += 1

    def go_to(self, step: int) -> None:
        """Take the choices of a step over; those before and after it stay to be gone to."""
        self.end_play()
        steps = self.steps
        if not 0 <= step < len(steps) or step == len(self.history):
            return
        self.history = deque(steps[:step], maxlen=UNDO_STEPS)
        self.choices, self.undone = steps[step], steps[:step:-1]
        self.revision += 1

    def use_table(self, table: Table, choices: Choices, example: ExampleTable | None = None) -> None:
        """Replace the table; a step back would name columns of the old one, so there is none.

        Scenarios are of the table that they were pinned on: they stay with it, and are there when it comes again. The
        rule goes along: it was stated before any result.
        """
        choices = self._unplayed(choices).by_rules(table)
        self.choices, self.playing = self._with_pins_of(table, choices), None
        self.example = example
        self.table, self.reference, self.demo, self.before_demo = table, None, False, None
        self.as_read = table
        self.inherited = unusual(self.choices)
        self.tables += 1
        self.history.clear()
        self.undone.clear()
        self.revision += 1

    def _with_pins_of(self, table: Table, choices: Choices) -> Choices:
        """Choices with the scenarios of a table; read in another way it is the same one."""
        here, there = ((each.name, *map(str, each.frame.columns)) for each in (self.table, table))
        if here == there:
            return choices
        self.pins[here] = self.choices.scenarios, self.choices.beside
        scenarios, beside = self.pins.pop(there, ((), None))
        return choices.model_copy(update={"scenarios": scenarios, "beside": beside})

    def use_missing(self, markers: Iterable[str]) -> None:
        """Say which values mean missing, of the table and of the reference; raises InputError.

        What was only proposed gives way to what the table opens with now.
        """
        before, after = self.table, self.as_read.with_missing(markers)
        if after.missing == before.missing:
            return
        if self.reference is not None:
            self.reference = self.reference.with_missing(after.missing)
        if self.choices == self.choices.opening(before):
            self.choices = self.choices.opening(after)
        self.table = after
        self.tables += 1
        self.revision += 1

    def begin_demo(self, table: Table, choices: Choices) -> None:
        """Put what is in use aside, and show simulated data until `end_demo`."""
        choices = self._unplayed(choices)
        self.end_play()
        before = self.before_demo or BeforeDemo(
            self.table, self.choices, self.reference, self.desk, self.example, self.as_read
        )
        self.use_table(table, choices)
        self.demo, self.before_demo, self.desk, self.inherited = True, before, Desk(), {}

    def end_demo(self) -> None:
        """Bring back what was in use before the demonstration."""
        self.end_play()
        before = self.before_demo
        if before is None:  # another tab has ended it
            self.demo = False
            return
        self.use_table(before.table, before.choices, before.example)
        self.reference, self.desk, self.inherited = before.reference, before.desk, {}
        self.as_read = before.as_read

    def use_reference(self, table: Table | None) -> None:
        """Freeze the risk map on a table, or make weights from the current one again."""
        self.reference = None if table is None else table.with_missing(self.table.missing)
        self.revision += 1

    @property
    def weights_from(self) -> WeightsFrom:
        """Where the weights of a mechanism come from that is run now."""
        return "current" if self.reference is None else "frozen"

    def settings(self, **changes: Any) -> Settings:
        """The choices, with `changes`, as validated settings; raises InputError."""
        return self._checked(self.choices, **changes)

    def settings_under(self, choices: Choices) -> Settings:
        """Those of other choices, on the tables in use now; raises InputError."""
        return self._checked(choices)

    def settings_of(self, scenario: Scenario) -> Settings:
        """Those of a scenario, on the tables in use now; raises InputError."""
        for name in scenario.settings.columns:
            self.table.column(name)
        kept = scenario.settings
        update = {"settings": kept} | pairs(kept.bounds, kept.guess, kept.risk_span)
        return self._checked(self.choices.model_copy(update=update))

    def _checked(self, choices: Choices, **changes: Any) -> Settings:
        reference = "current" if self.reference is None else self.reference.name
        names = [block.name for block in choices.whole]
        rules = declared_rules(self.table.codebook, names, choices.settings.rules)
        return choices.checked(reference, self.table.confidential, **{"rules": rules} | changes)
