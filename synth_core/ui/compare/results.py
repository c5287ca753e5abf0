"""The results of Compare: table and figures, one record, the file, the diagnostics."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd
import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.wording.guarantee_sentences import neighbour_words
from synth_core.figures.compare import compare_figures
from synth_core.figures.parts import Figure, Other, saying_unit
from synth_core.figures.records import record_figures
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.compare import play, subgroups
from synth_core.ui.compare.briefing import briefing_menu
from synth_core.ui.compare.closeness import show_closeness
from synth_core.ui.compare.counted import show_counted
from synth_core.ui.compare.inspector import inspect_record, results_csv
from synth_core.ui.compare.intervals import show_intervals
from synth_core.ui.compare.look import show_look
from synth_core.ui.compare.scenarios import decision_bar, stage
from synth_core.ui.shared import refits
from synth_core.ui.shared.chosen_here import say_chosen_here
from synth_core.ui.shared.subject import shown_subject
from synth_core.ui.state import session

Pair = tuple[str, str]
WORST_PAIR: Pair = ("", "")


def choose_pair() -> Pair:
    """The pair of columns of whole records whose cells are shown."""
    choices = session.choices()
    sensitive = [block.name for block in choices.whole]
    columns = [*choices.settings.predictors, *sensitive]
    pairs = [(a, b) for i, a in enumerate(columns) for b in columns[i + 1 :] if {a, b} & set(sensitive)]
    pair: Pair = st.selectbox(
        "Pair whose shares are shown",
        [WORST_PAIR, *pairs],
        format_func=lambda each: (
            "the pair that is furthest off" if each == WORST_PAIR else " and ".join(each)
        ),
        key="pair_shown",
        help="One of them is sensitive. Numbers are cut into ten bins of the confidential table.",
    )
    return pair


def show_results(chosen: tuple[str, ...], pair: Pair = WORST_PAIR) -> None:
    """Refit and show; below the picture what it is made of.

    Parameters
    ----------
    pair : (str, str)
        Of whole records: the columns whose cells are drawn.
    """
    subject, beside = shown_subject(), decision_bar()

    def figures(
        summaries: list[ResultSummary], labels: dict[str, str], used: Settings, other: Other | None = None
    ) -> list[Figure]:
        if subject.blocks:
            return saying_unit(record_figures(summaries, labels, pair, other), used.unit_column)
        made = compare_figures(summaries, labels, used.outcome, other) + subgroups.figures(summaries, labels)
        return saying_unit(made, used.unit_column)

    shown = refits.show(
        "compare",
        chosen,
        figures,
        detail="|".join(pair) if subject.blocks else subgroups.asked(),
        beside=beside,
        stage=stage(),
        subject=subject,
    )
    play.go_on(shown)
    if not shown.summaries:
        return
    mechanisms = [find_mechanism(s.mechanism) for s in shown.summaries]
    if len({mechanism.neighbour for mechanism in mechanisms}) > 1:
        st.caption(session.plain(neighbour_words(mechanisms, session.settings().unit_column)))
    say_chosen_here(mechanisms)
    if shown.current:  # an older picture is of other records, perhaps
        show_intervals()
        inspect_record(shown.summaries, shown.clicked, subject)
    with st.container(horizontal=True):
        st.download_button(
            "Results as CSV (internal)",
            results_csv(
                [s.numbers for s in shown.summaries],
                shown.missing if shown.current else {},  # an older picture is of other choices
                shown.settings or session.settings(),
                session.current().table.name,
                subject.policy,
            ),
            "whole-records-internal.csv" if subject.blocks else "comparison-internal.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        if shown.settings is not None:
            briefing_menu(shown, subject)
    variables = [b.name for b in subject.blocks] or [session.choices().settings.outcome]
    show_counted([s.numbers for s in shown.summaries], variables)
    show_look(shown.summaries)
    show_closeness(shown.summaries)
    words = "Diagnostics of the fits" + (
        "" if subject.blocks else ", identification risk, and how Δ grows with the number of draws"
    )
    if st.toggle(words):
        show_diagnostics(shown.summaries)


def show_diagnostics(summaries: list[ResultSummary]) -> None:
    """Convergence, time, and Delta from the first draws."""
    results = [s.numbers for s in summaries]
    st.dataframe(
        pd.DataFrame(
            {"Mechanism": each.label}
            | ({"Variable": variable.name} if each.several else {})
            | asdict(variable.diagnostics)
            | {"seconds": each.seconds}
            for each in results
            for variable in each.variables
            if variable.diagnostics
        ),
        hide_index=True,
    )
    alone = [each for each in results if not each.several]
    if not alone:
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Mechanism": each.label,
                "Expected match risk": each.match_risk,
                "True match rate": each.true_match_rate,
                "False match rate": each.false_match_rate,
            }
            for each in alone
        ).round(4),
        hide_index=True,
    )
    st.caption(
        "Identification risk rests on an assumed intruder, who knows a record's predictors and its value up "
        "to the radius r and picks among the matches at random. It is no guarantee: another may know more."
    )
    st.caption(
        "Δ is a maximum over draws, hence an estimate from below; where it still grows at the last draws, "
        "take more."
    )
    growth = pd.DataFrame(
        {
            s.numbers.label: pd.Series(s.privacy.growth.bound, s.privacy.growth.draws)
            for s in summaries
            if s.privacy and s.privacy.growth
        }
    )
    growth.index.name = "draws used"
    st.dataframe(growth.round(4).T)
