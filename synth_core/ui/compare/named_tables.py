"""Which columns measured synthesis counts together: named before the table is read, or left to the program."""

from __future__ import annotations

import itertools

import streamlit as st

from synth_core.analysis.named_tables import MOST_COLUMNS, joined, named
from synth_core.analysis.setting_words import POSTERIORS
from synth_core.ui.shared.widgets import pick
from synth_core.ui.state import session

BESIDE = {False: "count nothing else", True: "choose others by noisy distances"}


def choose_tables() -> None:
    """The tables, and whether others are chosen beside them."""
    choices = session.choices()
    sensitive = [block.name for block in choices.described]
    columns = [*choices.settings.kept_columns, *sensitive]
    options = [
        joined(each)
        for size in range(2, MOST_COLUMNS + 1)
        for each in itertools.combinations(columns, size)
        if set(each) & set(sensitive)
    ]
    chosen = choices.settings.count_together
    options += [text for text in chosen if text not in options and set(named(text)) <= set(columns)]
    with st.expander("Tables that are counted", expanded=bool(chosen), key="counted_panel"):
        pick(
            "multiselect",
            "Columns counted together",
            "settings.count_together",
            options,
            format_func=lambda text: " × ".join(named(text)),
            placeholder="as the program does",
            help="Left empty, all pairs and triples are counted, or those that are chosen where there are many. Named "
            "ones share the same ε, so each has less noise. What is in no table is not in the synthetic data: a "
            "sensitive column in none of them is counted alone. Name them without looking at the table.",
        )
        if chosen:
            pick(
                "selectbox",
                "Beside them",
                "settings.choose_more",
                list(BESIDE),
                format_func=lambda more: BESIDE[more],
                help="Choosing takes Gaussian noise and a part of ε.",
            )


def choose_posterior() -> None:
    """What several data sets are drawn from."""
    pick(
        "selectbox",
        "Data sets are drawn from",
        "settings.measured_posterior",
        list(POSTERIORS),
        format_func=lambda each: POSTERIORS[each],
        help="Both follow from the same noisy tables, so neither changes the promise. Refits take seconds at any size. "
        "The exact posterior takes up to minutes, and says by R-hat and effective sample size whether it was "
        "reached.",
    )
