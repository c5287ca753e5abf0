"""Several sensitive variables: which, in which order, and what share of ε each has."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from synth_core.analysis.records.blocks import Block, shares_of
from synth_core.errors import InputError
from synth_core.models import OF_CATEGORIES, USUAL, family
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session

PLACE = "blocks"
NEW = "new_block"


def choose_blocks() -> None:
    """The blocks in their order, and another one."""
    choices = session.choices()
    st.caption(
        "Whole records: several sensitive variables are synthesized one after the other, each given the predictors and "
        "those before it, and one ε covers everything sensitive about a record."
    )
    blocks = choices.whole
    if blocks:
        _list(blocks)
    columns = session.current().table.offered()
    taken = {choices.settings.outcome, *choices.settings.predictors, *(block.name for block in blocks)}
    left = [column.name for column in columns if column.name not in taken]
    if left:
        a, b, _ = st.columns([3, 2, 3], vertical_alignment="bottom")
        a.selectbox("Another sensitive variable", left, key=f"{NEW}@{session.current().tables}")
        b.button(
            "Add",
            icon=":material/add:",
            width="stretch",
            on_click=session.attempt,
            args=(PLACE, add),
            help="It is described above from now on; the present one is kept as it is.",
        )
    session.show_message(PLACE)


def _list(blocks: tuple[Block, ...]) -> None:
    epsilon = session.choices().settings.epsilon
    try:
        shares: list[float] | None = shares_of(blocks)
    except InputError as error:
        shares = None
        st.error(session.plain(str(error)), icon=":material/error:")
    described = session.choices().settings.outcome
    for i, block in enumerate(blocks):
        a, b, c, d, e, f, g = st.columns(
            [4, 2, 2, 1.4, 1.2, 1.2, 1.4], vertical_alignment="center", gap="small"
        )
        now = " · described above" if block.name == described else ""
        a.markdown(
            f"**{i + 1}. {session.plain(block.name)}**{now}  \n{family(block.model).label}"
            + (f", given {session.plain(', '.join(each.name for each in blocks[:i]))} too" if i else "")
        )
        given = None if block.share is None else round(100 * block.share, 6)
        with b:
            share = own_number(
                f"Share of ε of {block.name}, in %",
                (0.1, 99.9),
                given,
                5.0,
                f"share {block.name} {block.share}",
                placeholder="an equal part" if shares is None else f"{100 * shares[i]:.3g}",
                label_visibility="collapsed",
                format="%g",
            )
            if share != given:
                _put(replace(block, share=None if share is None else share / 100))
                st.rerun()
        if shares is not None:
            c.caption(f"{100 * shares[i]:.3g} % of ε, {shares[i] * epsilon:.3g} of {epsilon:g}")
        d.checkbox(
            "May be missing",
            value=block.missing is not None,
            key=f"missing {block.name} {block.missing}",
            on_change=_put,
            args=(replace(block, missing=() if block.missing is None else None),),
            help="Whether a value is missing is sensitive too: it is modelled, with a fifth of the share. Else rows "
            "without a value are left out, and which they are counts as public.",
        )
        for column, label, action, off in (
            (e, "Earlier", "earlier", i == 0),
            (f, "Describe", "describe", block.name == described),
            (g, "Remove", "remove", False),
        ):
            column.button(
                label,
                key=f"{label} {block.name}",
                type="tertiary",
                disabled=off,
                on_click=session.attempt,
                args=(PLACE, ACTIONS[action], block.name),
            )


def add() -> None:
    """Button callback: the variable in the box becomes the last block, and is described from now on."""
    browser, choices = session.current(), session.choices()
    name = st.session_state.get(f"{NEW}@{browser.tables}")
    if name is None:
        return
    text = browser.table.column(name).kind in ("text", "code")
    before = choices.whole or (Block(choices.settings.outcome, choices.settings.model),)
    started = choices.model_copy(update={"blocks": (*before, Block(name, OF_CATEGORIES if text else USUAL))})
    session.change(started.describing(name))


def describe(name: str) -> None:
    """Button callback: the settings are those of this block from now on."""
    session.change(session.choices().describing(name))


def earlier(name: str) -> None:
    """Button callback: one place earlier in the order of synthesis."""
    blocks = list(session.choices().whole)
    i = next(i for i, block in enumerate(blocks) if block.name == name)
    blocks.insert(i - 1, blocks.pop(i))
    _take(tuple(blocks))


def remove(name: str) -> None:
    """Button callback: this variable is sensitive no more; of two, the other stays alone."""
    choices = session.choices()
    left = tuple(block for block in choices.whole if block.name != name)
    if choices.settings.outcome == name:
        choices = choices.describing(left[0].name)
    session.change(choices.model_copy(update={"blocks": left if len(left) > 1 else ()}))


def _put(changed: Block) -> None:
    _take(tuple(changed if block.name == changed.name else block for block in session.choices().whole))


def _take(blocks: tuple[Block, ...]) -> None:
    session.change(session.choices().model_copy(update={"blocks": blocks}))


ACTIONS = {"earlier": earlier, "describe": describe, "remove": remove}
