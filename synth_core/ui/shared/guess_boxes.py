"""The boxes of a guess, from which a pilot or noisy counts of anchored censoring start."""

from __future__ import annotations

import math

import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.models import family
from synth_core.system import limits
from synth_core.ui.shared.widgets import number
from synth_core.ui.state import session


def guess_boxes() -> None:
    """A typical value and a spread, and of a model with zeros their share."""
    chosen = session.choices().settings
    model = family(chosen.model)
    widest = None if math.isinf(model.widest_spread) else model.widest_spread
    a, b = st.columns(2, vertical_alignment="bottom")
    with a:
        number(
            "A typical value",
            "guess_typical",
            help="From general knowledge, never by looking at the table.",
            placeholder="a guess",
        )
    with b:
        number("A spread", "guess_spread", (1e-12, widest), help=spread_help(chosen), placeholder="a guess")
    if model.has_zeros(chosen.options):
        number("A typical share of zeros", "settings.guess_zeros", limits.GUESS_ZEROS)


def spread_help(chosen: Settings) -> str:
    """What the spread is of under these settings, and which is usual."""
    model = family(chosen.model)
    if "transformation" in model.uses and chosen.transformation == "asinh":
        return (
            "Not in the unit of the variable: the standard deviation of the inverse hyperbolic sine of the value over "
            f"{chosen.asinh_scale:g}. About 1 is usual where that scale is half of a typical value."
        )
    if math.isfinite(model.widest_spread):
        return f"Not in the unit of the variable: the {model.spread_words}. 0.8 is usual for the logarithm of incomes."
    return f"The {model.spread_words}, in the unit of the variable."
