"""Undo, redo, and the steps by their names."""

from __future__ import annotations

import streamlit as st

from synth_core.analysis.differences import changed_settings
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.plan.settings_file import Scenario
from synth_core.ui.state import session
from synth_core.ui.state.choices import Choices

LISTED = 15  # steps in the list
PARTS = {"policy": "rule", "beside": "shown beside", "explore": "search"}


def steps_menu() -> None:
    """One step back, one forward, and a list of all."""
    browser = session.current()
    back, forward = len(browser.history), len(browser.undone)
    left, right = st.columns(2, gap="small")
    left.button(
        f"Undo ({back})" if back else "Undo",
        key="undo",  # one button, however many steps its label counts
        disabled=not back,
        on_click=session.undo,
        width="stretch",
        help="Takes back the last change of a setting, up to fifty of them.",
    )
    right.button(
        f"Redo ({forward})" if forward else "Redo",
        key="redo",
        disabled=not forward,
        on_click=session.redo,
        width="stretch",
        help="Makes again what was taken back.",
    )
    with st.popover("Changes", icon=":material/history:", width="stretch", disabled=not (back or forward)):
        _list(browser.steps, back)


def _list(steps: list[Choices], now: int) -> None:
    """The steps around the present one, the newest first; a click goes there."""
    last = min(len(steps), max(now + LISTED // 2, LISTED))
    for i in range(last - 1, max(last - LISTED, 0) - 1, -1):
        st.button(
            session.plain(step_words(steps[i - 1], steps[i])) if i else "As it was at first",
            key=f"step {i}",
            icon=":material/radio_button_checked:" if i == now else ":material/radio_button_unchecked:",
            type="tertiary",
            disabled=i == now,
            on_click=session.go_to,
            args=(i,),
        )


def step_words(before: Choices, after: Choices) -> str:
    """What one change was: "c 0.9 → 0.5", "with Censored", "without Weighted"."""
    if blocks := _of_blocks(before, after):  # what else differs is said of another variable
        return "; ".join(blocks)
    words = changed_settings(before.settings, after.settings)
    for verb, some, others in (("with", after, before), ("without", before, after)):
        names = [find_mechanism(key).label for key in some.mechanisms if key not in others.mechanisms]
        if names:
            words.append(f"{verb} {', '.join(names)}")
    for pair in ("bounds", "guess", "span"):
        if getattr(before, pair) != getattr(after, pair):
            words.append({"span": "span of risk"}.get(pair, pair))
    words += _of_scenarios(before.scenarios, after.scenarios)
    words += [name for part, name in PARTS.items() if getattr(before, part) != getattr(after, part)]
    if before.scenarios != after.scenarios:
        words = [each for each in words if each != PARTS["beside"]]  # follows from it
    if not words:
        return "a choice"
    return "; ".join(words[:3]) + (f"; {len(words) - 3} more" if len(words) > 3 else "")


def _of_blocks(before: Choices, after: Choices) -> list[str]:
    """What became of the sensitive variables of whole records; the settings then are those of another of them."""
    old, new = ([block.name for block in some.whole] for some in (before, after))
    if set(old) != set(new):
        joined = [f"sensitive too: {name}" for name in (new if old else new[-1:]) if name not in old]
        return joined + [
            f"not sensitive: {name}" for name in old if name not in (new or [after.settings.outcome])
        ]
    if old and before.settings.outcome != after.settings.outcome:
        return [f"described: {after.settings.outcome}"]
    moved = ["order of the sensitive variables"] if old != new else []
    kept = {block.name: (block.share, block.missing) for block in before.whole}
    if any(kept[block.name] != (block.share, block.missing) for block in after.whole):
        moved.append("shares of ε, or what may be missing")
    return moved


def _of_scenarios(before: tuple[Scenario, ...], after: tuple[Scenario, ...]) -> list[str]:
    old, new = ([each.name for each in some] for some in (before, after))
    words = [f"pinned {name}" for name in new if name not in old]
    words += [f"deleted {name}" for name in old if name not in new]
    if len(words) == 2 and len(old) == len(new):
        return [f"named {words[0].removeprefix('pinned ')}"]
    return words or (["scenarios edited"] if before != after else [])
