"""What the codebook declares of the sensitive variable becomes a choice, so that it is not asked again."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from synth_core.analysis.records.blocks import Block
from synth_core.data.codebook import Codebook, declared_categories
from synth_core.data.declared import declared_settings
from synth_core.ui.state import session

FOLLOWED = "declared_bounds"  # of the codebook, when choices followed it last


def take_declared() -> None:
    """Declared categories, or bounds, of every sensitive variable where none were chosen. Before the page's widgets.

    Those of another variable, which was described before, count as none, and so do bounds that were the codebook's
    before it was changed.
    """
    choices, codebook = session.choices(), session.current().table.codebook
    s = choices.settings
    given = declared_settings(codebook, s.outcome, s.model)
    others = [entry for entry in codebook.columns if entry.column != s.outcome]
    followed = st.session_state.get(FOLLOWED, {})
    changed = choices
    if "categories" in given and s.categories in ((), *map(declared_categories, others)):
        changed = changed.with_settings(categories=given["categories"])
    chosen = (choices.lower_bound, choices.upper_bound)
    known = ((None, None), followed.get(s.outcome), *(entry.bounds for entry in others))
    if "bounds" in given and chosen in known:
        low, high = given["bounds"]
        changed = changed.model_copy(update={"lower_bound": low, "upper_bound": high})
    blocks = tuple(_following(block, codebook, followed.get(block.name)) for block in choices.blocks)
    changed = changed.model_copy(update={"blocks": blocks})
    st.session_state[FOLLOWED] = {entry.column: entry.bounds for entry in codebook.columns}
    if changed != choices:
        session.change(changed, undoable=False)


def _following(block: Block, codebook: Codebook, before: tuple[float, float] | None) -> Block:
    """A variable with what the codebook declares: categories where it has none, bounds also where those were its."""
    given = declared_settings(codebook, block.name, block.model)
    if "categories" in given and not block.options.get("categories"):
        return replace(block, options=block.options | given)
    if "bounds" not in given or block.options.get("bounds") not in (None, before):
        return block
    return replace(block, options=block.options | given)
