"""How ε translates into odds, once and with a picture: what becomes of a suspicion of 1 %."""

from __future__ import annotations

import streamlit as st

from synth_core.analysis.wording.belief_sentences import PRIOR, at_most
from synth_core.mechanisms.guarantees import belief_after

SHOWN = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
READING = (
    "Smaller is more private. Somebody who knows all other records holds a suspicion of 1 % about a value of one "
    "record. Once the synthetic data are published, the suspicion can become at most:"
)
WHERE = (
    "Of ε-DP: it is promised for a value withheld, and exchanging a value costs twice as much, as counted here. A "
    "measured ε has a figure of its own for exchanging, of this table alone, which may be more than twice it. zCDP "
    "bounds how often a guess is right: its row says so."
)


def popover() -> None:
    """A small panel that anybody can open."""
    with st.popover("What is ε?", icon=":material/help:"):
        st.caption(READING)
        st.html(picture())
        st.caption(WHERE)


def picture() -> str:
    """A bar for each ε, as long as the largest suspicion."""
    rows = []
    for epsilon in SHOWN:
        after = belief_after(PRIOR, 2 * epsilon)
        rows.append(
            f"<tr><th scope='row'>ε = {epsilon:g}</th><td><span style='display:inline-block; height:.8em; "
            f"width:{max(1.0, 100 * after):.1f}%; background:#2563eb; border-radius:2px'></span></td>"
            f"<td style='white-space:nowrap'>{at_most(after)}</td></tr>"
        )
    return (
        "<table style='width:100%; font-size:.9rem'><colgroup><col style='width:5rem'><col><col style='width:7rem'>"
        f"</colgroup>{''.join(rows)}</table>"
    )
