"""Scenarios: choices that are pinned, named, switched between, and seen beside the present ones."""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from synth_core.analysis.differences import changed_blocks, changed_settings
from synth_core.analysis.policy import CHOSEN_HERE
from synth_core.data.units import unit_words
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models import family
from synth_core.release.plan.settings_file import Scenario, chosen
from synth_core.system import limits
from synth_core.system.characters import visible
from synth_core.ui.compare import odds, play
from synth_core.ui.compare.rule import rule_popover
from synth_core.ui.shared.board import END, Stage
from synth_core.ui.shared.header import origin
from synth_core.ui.shared.refits import ComparedChoice
from synth_core.ui.shared.subject import Subject, show_subject, shown_subject
from synth_core.ui.state import session

UNPINNED = "unpinned_choices"  # what a presentation stepped away from, to be stepped back to
PRESENTED = (
    "presented_from"  # the table and the choices that it began with, and the view: its end brings them back
)
SHOWN_LAST = "presented_last"  # the choices that its last step left


PURPOSE = "**Choose how to release a table as synthetic data: each row trades privacy, ε, against accuracy.**"


def present(subject: Subject | None = None) -> Scenario:
    """The present choices, without a name of their own, of what Compare shows or of another subject; raises InputError.

    Whole records are named by their first variable, whichever is described on the page Data.
    """
    subject = subject or shown_subject()
    kept = chosen(subject.settings(session.settings()), session.choices().mechanisms, subject.blocks)
    return Scenario(name="now", **{name: getattr(kept, name) for name in type(kept).model_fields})


def pinned_as(now: Scenario | None) -> Scenario | None:
    """The scenario that chooses the same as `now`, if there is one."""
    return next((each for each in session.choices().scenarios if now is not None and each.chooses(now)), None)


def proposed_reason() -> str:
    """The note of the scenario that is chosen now, as a proposal for the reason of a plan; empty without one."""
    try:
        same = pinned_as(present())
    except InputError:
        return ""
    return same.note if same else ""


def decision_bar() -> ComparedChoice | None:
    """Pin, show beside, switch, edit; the rule. Returns what is to be shown beside, where it can be."""
    choices = session.choices()
    with st.container(horizontal=True, vertical_alignment="center", key="decision_bar"):
        try:
            now: Scenario | None = present()
        except InputError:  # the page says which
            now = None
        same = pinned_as(now)
        full = len(choices.scenarios) >= limits.MAX_SCENARIOS
        st.button(
            f"Pinned as {same.name}" if same else f"Pin as {_next_name(choices.scenarios)}",
            key="pin",
            icon=":material/push_pin:",
            disabled=now is None or same is not None or full,
            on_click=session.attempt,
            args=("scenario", pin),
            help="Keeps mechanisms and settings under a name, to be seen beside what you try next. The rule is of "
            "all.",
        )
        if choices.scenarios:
            _beside_pills([each.name for each in choices.scenarios])
        beside = choices.shown_beside
        if beside is not None:
            st.button(
                f"Switch to {beside.name}",
                key="switch",
                icon=":material/swap_horiz:",
                disabled=beside is same,
                on_click=session.attempt,
                args=("scenario", switch_to, beside),
            )
        if choices.scenarios:
            with st.popover("Scenarios", icon=":material/edit_note:"):
                edit(choices.scenarios)
        rule_popover()
        odds.popover()
        st.button(
            "Present",
            key="present",  # which the board listens to: it opens in the browser, without a run
            icon=":material/present_to_all:",
            disabled=now is None,
            help="Large, without controls (key P). Arrow keys step through scenarios and figures, Esc ends.",
        )
        st.caption(_words(beside, same, now), width="stretch")
    session.show_message("scenario")
    return None if beside is None or beside is same else _to_show(beside, same.name if same else "now")


def _words(beside: Scenario | None, same: Scenario | None, now: Scenario | None) -> str:
    """What is seen: the rule, and how the present choices differ from what is beside them."""
    policy, parts = shown_subject().policy, []
    if policy.states:
        parts.append(f"**Rule**: {session.plain(policy.stated(session.choices().settings.accuracy_by))}.")
    if policy.guarantee == "strict" and session.current().table.confidential:
        parts.append(CHOSEN_HERE)
    if beside is not None and beside is same:
        parts.append(f"This is **{session.plain(beside.name)}**: move a slider and see what changes.")
    elif beside is not None and now is not None and not of_other_variables(beside):
        changes = changed_settings(beside.settings, now.settings)
        changes += changed_blocks(*([each.block for each in one.blocks] for one in (beside, now)))
        shown = "; ".join(changes[:4]) + (f"; {len(changes) - 4} more" if len(changes) > 4 else "")
        to = same.name if same else "now"
        names = f"**{session.plain(beside.name)} → {session.plain(to)}**"
        words = f"{names}: {session.plain(shown or 'the same settings')}."
        gone = [find_mechanism(m).label for m in beside.mechanisms if m not in now.mechanisms]
        if gone:
            words += f" Only in {session.plain(beside.name)}: {session.plain(', '.join(gone))}."
        parts.append(words)
    return " ".join(parts) or PURPOSE


def _to_show(beside: Scenario, now: str) -> ComparedChoice | None:
    """What is to be computed beside the present choices; None, with words, where it cannot be compared."""
    try:
        settings = session.current().settings_of(beside)
    except InputError as error:
        st.warning(f"{session.plain(beside.name)} cannot be shown: {session.said(error)}")
        return None
    if why := of_other_variables(beside):
        st.warning(f"{session.plain(beside.name)} {session.plain(why)}.")
        return None
    subject = Subject(tuple(each.block for each in beside.blocks))
    return ComparedChoice(beside.name, now, settings, beside.mechanisms, subject)


def of_other_variables(scenario: Scenario, subject: Subject | None = None) -> str:
    """Why a scenario has no place beside a subject, or what is shown: it is of other variables; else empty."""
    its = [each.block.name for each in scenario.blocks] or [scenario.settings.outcome]
    blocks = (subject or shown_subject()).blocks
    shown = [block.name for block in blocks] or [session.choices().settings.outcome]
    return "" if sorted(its) == sorted(shown) else f"is of other variables: {', '.join(its)}"


def _beside_pills(names: list[str]) -> None:
    shown, key = session.choices().beside, session.widget_key("beside")
    if st.session_state.get(key) != shown or key not in st.session_state:
        st.session_state[key] = shown if shown in names else None
    st.pills(
        "Show beside",
        names,
        key=key,
        label_visibility="collapsed",
        on_change=session.choose,
        args=("beside", key),
    )


def _next_name(scenarios: tuple[Scenario, ...]) -> str:
    taken = {each.name for each in scenarios}
    letters = [*string.ascii_uppercase, *(f"A{n}" for n in range(2, limits.MAX_SCENARIOS + 2))]
    return next(letter for letter in letters if letter not in taken)


def _store(scenarios: tuple[Scenario, ...], beside: str | None) -> None:
    update = {"scenarios": scenarios, "beside": beside}
    session.change(session.choices().model_copy(update=update))


def pin() -> None:
    """Button callback: keep the present choices, and show them beside what comes next."""
    kept = session.choices().scenarios
    name = _next_name(kept)
    st.session_state.pop(UNPINNED, None)
    _store((*kept, present().model_copy(update={"name": name})), name)


def switch_to(scenario: Scenario) -> None:
    """Button callback: every control takes the scenario's choices; what was there, if it is pinned, stays beside."""
    left = pinned_as(present()) or scenario
    _take(scenario, left.name)


def _take(scenario: Scenario, beside: str | None) -> None:
    """Take a scenario's choices over; the rule stays, and so do sensitive variables that it does not speak of."""
    more: dict[str, Any] = {"beside": beside}
    if scenario.blocks:
        more["blocks"] = tuple(each.block for each in scenario.blocks)
    session.use_settings(scenario.settings, scenario.mechanisms, **more)
    show_subject(bool(scenario.blocks))


def step(by: int) -> None:
    """Callback of a presentation: the next scenario (1) or the former (-1), around the ends; 0 plays a setting, and
    `END` ends it.

    Choices that are not pinned stay so: after the last scenario they come again.
    """
    if by == 0:
        play.toggle()
        return
    if by == END:
        end_presenting()
        return
    play.stop()
    browser = session.current()
    if PRESENTED not in st.session_state:
        several = bool(shown_subject().blocks)
        st.session_state[PRESENTED] = browser.tables, browser.standing, several
    now, kept = present(), session.choices().scenarios
    here = pinned_as(now)
    if here is None:
        st.session_state[UNPINNED] = now
    unpinned = st.session_state.get(UNPINNED)
    stops = [*kept, *([] if unpinned is None else [unpinned])]
    there = stops[(stops.index(here or unpinned) + by) % len(stops)]
    if there is not (here or unpinned):
        _take(there, here.name if here else there.name if there in kept else None)
    st.session_state[SHOWN_LAST] = session.choices()


def end_presenting() -> None:
    """What a presentation stepped away from comes back, whole: presenting changes nothing.

    But for what was chosen since by other means: where the picture was taken away, nobody heard of its end.
    """
    play.stop()
    st.session_state.pop(UNPINNED, None)
    began, last = (st.session_state.pop(key, None) for key in (PRESENTED, SHOWN_LAST))
    if began is None or began[0] != session.current().tables:  # another tab has chosen another table
        return
    if session.choices() != last:
        return
    _, standing, several = began
    session.come_back(standing)
    show_subject(several)


def stage() -> Stage | None:
    """The words around the picture when it is presented; none where the choices are not whole."""
    try:
        now = present()
    except InputError:
        return None
    choices, browser = session.choices(), session.current()
    here = pinned_as(now)
    s, playing, subject = choices.settings, browser.playing, shown_subject()
    named = subject.names or s.outcome
    words = {
        "title": f"Synthetic {visible(named)}",
        "line": " · ".join(
            (
                f"{visible(browser.table.name)} ({origin(browser.table)})",
                f"sensitive variable{'s' if subject.blocks else ''} {visible(named)}",
                *([] if subject.blocks else [family(s.model).label]),
                *filter(None, (unit_words(s.unit_column, s.unit_size), s.whose_accuracy)),
            )
        ),
        "name": here.name if here else "",
        "note": playing.words if playing else here.note if here else "",
        "names": [each.name for each in choices.scenarios],
        "stops": len(choices.scenarios) + (here is None or UNPINNED in st.session_state),
        "rule": f"Rule: {subject.policy.stated(s.accuracy_by)}" if subject.policy.states else "",
    }
    return Stage(words, partial(session.attempt, "scenario", step))


def edit(scenarios: tuple[Scenario, ...]) -> None:
    """Name, order, delete, and a note for each."""
    for i, one in enumerate(scenarios):
        # What is stored is given as the value and names the box: a box in a closed panel does not hear of a value that
        # the session sets, and would send an empty one.
        own = _number_of(one.name)
        name, note = f"scenario {own} named {one.name}", f"scenario {own} noted {one.note}"
        columns = st.columns([5, 2, 2, 2], vertical_alignment="bottom", gap="small")
        columns[0].text_input(
            f"Name of scenario {i + 1}",
            one.name,
            key=name,
            max_chars=limits.SCENARIO_NAME,
            on_change=session.attempt,
            args=("scenario", rename, own, name),
        )
        buttons: tuple[tuple[str, Callable[..., None], tuple[Any, ...], bool], ...] = (
            ("Earlier", move, (-1,), i == 0),
            ("Later", move, (1,), i == len(scenarios) - 1),
            ("Delete", delete, (), False),
        )
        for column, (label, action, args, off) in zip(columns[1:], buttons, strict=True):
            column.button(
                label,
                key=f"{label} {own}",
                type="tertiary",
                disabled=off,
                on_click=session.attempt,
                args=("scenario", action, own, *args),
            )
        st.text_input(
            f"Note on scenario {i + 1}",
            one.note,
            key=note,
            max_chars=limits.REASON_LENGTH,
            placeholder="Proposed as the reason of a release plan",
            on_change=session.attempt,
            args=("scenario", annotate, own, note),
        )


def _numbers() -> dict[str, int]:
    """Names of scenarios with a number of each that stays its own: what is clicked may be of a page before a change."""
    numbers: dict[str, int] = st.session_state.setdefault("scenario_numbers", {})
    return numbers


def _number_of(name: str) -> int:
    numbers = _numbers()
    return numbers.setdefault(name, max(numbers.values(), default=0) + 1)


def _numbered(number: int) -> tuple[list[Scenario], int]:
    """The scenarios, and the place of one; raises InputError where another tab has left none of it."""
    kept = list(session.choices().scenarios)
    for i, each in enumerate(kept):
        if _numbers().get(each.name) == number:
            return kept, i
    raise InputError("That scenario is not there any more: another tab has changed the scenarios.")


def rename(number: int, box: str) -> None:
    """Widget callback: take the name in a box over; raises InputError for one that is taken or empty."""
    name, choices = str(st.session_state[box]).strip(), session.choices()
    kept, i = _numbered(number)
    old = kept[i].name
    try:
        if not name:
            raise InputError("A scenario needs a name.")
        if name != old and name in {each.name for each in kept}:
            raise InputError(f"There is a scenario '{name}' already.")
    except InputError:
        st.session_state[box] = old
        raise
    _numbers().pop(old)
    _numbers()[name] = number
    kept[i] = kept[i].model_copy(update={"name": name})
    _store(tuple(kept), name if choices.beside == old else choices.beside)


def annotate(number: int, box: str) -> None:
    """Widget callback: take the note in a box over."""
    kept, i = _numbered(number)
    kept[i] = kept[i].model_copy(update={"note": str(st.session_state[box])})
    session.put("scenarios", tuple(kept))


def move(number: int, by: int) -> None:
    """Button callback: one place earlier (-1) or later (1)."""
    kept, i = _numbered(number)
    kept.insert(max(i + by, 0), kept.pop(i))
    _store(tuple(kept), session.choices().beside)


def delete(number: int) -> None:
    """Button callback: forget a scenario; Undo brings it back."""
    kept, i = _numbered(number)
    beside, name = session.choices().beside, kept.pop(i).name
    _store(tuple(kept), None if beside == name else beside)
