"""What Compare refits, and how its numbers are put: the sensitive variable of the settings, or whole records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block, common_of, settings_of_first, shares_of
from synth_core.analysis.records.feasible import refusal
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.wording.headings import COLUMNS, RECORD_COLUMNS, Word
from synth_core.data.units import records_words
from synth_core.errors import InputError
from synth_core.figures.compare import promises, results
from synth_core.jobs.task import Task, TaskInput
from synth_core.jobs.tasks import MechanismTask
from synth_core.mechanisms.catalogue import find_mechanism, require_several
from synth_core.system.characters import sentence
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

VIEW_OF_RECORDS = "view_of_records"  # the key of the widget of Compare that chooses between these
ALL_VARIABLES, ONE_VARIABLE = "All variables", "Whole range"


@dataclass(frozen=True)
class Subject:
    """What is refitted.

    Attributes
    ----------
    blocks : tuple of Block
        The sensitive variables of whole records; empty: the one of the settings.
    """

    blocks: tuple[Block, ...] = ()

    def task(self, browser: Browser, settings: Settings, mechanism: str) -> Task[Any]:
        """The task of one mechanism; raises InputError."""
        return MechanismTask(TaskInput.of(browser.table, settings, browser.reference, self.blocks), mechanism)

    def rows(
        self,
        summaries: Sequence[ResultSummary],
        labels: dict[str, str],
        settings: Settings,
        missing: Mapping[str, str],
    ) -> list[dict[str, Any]]:
        """The rows of the table, and why others are missing."""
        beside = promises(summaries, settings, self.policy, under_caption=True)
        return results(summaries, labels, beside, missing)

    def caption(self, s: ResultSummary) -> str:
        """What stands above the table, of the first summary."""
        dropped = f", {s.rows_dropped:,} incomplete rows left out" if s.rows_dropped else ""
        now = session.choices().settings
        if now.unit_column is not None:
            unit = f"one {session.plain(now.unit_column)}, of at most {records_words(now.unit_size)}"
            of = f"all that is sensitive about {unit}: {session.plain(self.names or now.outcome)}"
        elif not self.blocks:
            of = f"one record's value withheld, on the {s.density_scale}"
        else:
            of = f"all that is sensitive about one record withheld: {session.plain(self.names)}"
        whose = session.plain(s.numbers.whose_accuracy)
        return f"{s.numbers.n_records:,} records{dropped} · ε for {of}" + (f" · {whose}" if whose else "")

    def settings(self, given: Settings) -> Settings:
        """Settings that name the first variable of whole records, whichever is described now; raises InputError."""
        return settings_of_first(self.blocks, common_of(given)) if self.blocks else given

    def left_out(self, mechanisms: Iterable[str]) -> dict[str, str]:
        """Why mechanisms are not for whole records, by key."""
        refused: dict[str, str] = {}
        for key in mechanisms if self.blocks else ():
            try:
                require_several(find_mechanism(key))
            except InputError as error:
                refused[key] = str(error)
        return refused

    def impossible(self, mechanisms: Iterable[str], settings: Settings) -> dict[str, str]:
        """Why mechanisms cannot be run under these settings, by key: what was not declared for them."""
        reference = session.current().reference is not None
        words = {key: refusal(find_mechanism(key), settings, self.blocks, reference) for key in mechanisms}
        return {key: why for key, why in words.items() if why}

    @property
    def policy(self) -> Policy:
        """The rule as it is of these variables: of one of several that is seen alone, with its own limit."""
        choices = session.choices()
        return choices.policy if self.blocks else choices.policy.alone(choices.settings.outcome)

    @property
    def names(self) -> str:
        """The sensitive variables."""
        return ", ".join(block.name for block in self.blocks)

    @property
    def share_words(self) -> str:
        """How ε of a record is divided: "MSP 25 %, PINCP 75 %"; empty of one variable."""
        if not self.blocks:
            return ""
        shares = zip(self.blocks, shares_of(self.blocks), strict=True)
        return ", ".join(f"{block.name} {100 * share:.3g} %" for block, share in shares)

    @property
    def kind(self) -> str:
        """What numbers of another kind are not shown beside."""
        return "|".join(f"{block.name}{block.missing is not None}" for block in self.blocks)

    @property
    def columns(self) -> Mapping[str, Word]:
        """The columns of the table, from the list of words."""
        return RECORD_COLUMNS if self.blocks else COLUMNS


def shown_subject() -> Subject:
    """What Compare shows: whole records, but where one of several variables is chosen to be seen alone."""
    blocks = session.choices().whole
    alone = len(blocks) > 1 and st.session_state.get(VIEW_OF_RECORDS, ALL_VARIABLES) == ONE_VARIABLE
    return Subject(() if alone else blocks)


def record_subject() -> Subject:
    """What the pages Find settings and Robustness are of: all that is sensitive about a record, whichever of its
    variables Compare shows, since a release is of the record.
    """
    return Subject(session.choices().whole)


def show_subject(several: bool) -> None:
    """Callback: show whole records from the next run on, or the variable of the settings alone."""
    st.session_state[VIEW_OF_RECORDS] = ALL_VARIABLES if several else ONE_VARIABLE


def say_left_out(refused: dict[str, str]) -> None:
    """Say why mechanisms are left out, by key: each reason once, with those that it is of."""
    of: dict[str, list[str]] = {}
    for key, why in refused.items():
        label = find_mechanism(key).label
        of.setdefault(why.removeprefix(f"{label}: "), []).append(label)
    for why, labels in of.items():
        st.caption(session.said(f"Left out: {', '.join(labels)}. {sentence(why)}"))
