"""The results of Compare: table and figures, one record, the file, the diagnostics."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.wording.guarantee_sentences import neighbour_words
from synth_core.figures.compare import compare_figures
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.ui.compare import play, subgroups
from synth_core.ui.compare.briefing import briefing_menu
from synth_core.ui.compare.inspector import inspect_record, results_csv
from synth_core.ui.compare.scenarios import decision_bar, stage
from synth_core.ui.shared import refits
from synth_core.ui.shared.refits import Summary
from synth_core.ui.state import session


def show_results(chosen: tuple[str, ...]) -> None:
    """Refit and show; below the picture what it is made of."""
    beside = decision_bar()
    shown = refits.show(
        "compare",
        chosen,
        lambda summaries, labels, used, *other: (
            compare_figures(summaries, labels, used.outcome, *other) + subgroups.figures(summaries, labels)
        ),
        detail=subgroups.asked(),
        beside=beside,
        stage=stage(),
    )
    play.go_on(shown)
    if not shown.summaries:
        return
    mechanisms = [find_mechanism(s["mechanism"]) for s in shown.summaries]
    if len({mechanism.neighbour for mechanism in mechanisms}) > 1:
        st.caption(neighbour_words(mechanisms))
    if shown.current:  # an older picture is of other records, perhaps
        inspect_record(shown.summaries, shown.clicked)
    with st.container(horizontal=True):
        st.download_button(
            "Results as CSV (internal)",
            results_csv(
                shown.summaries,
                shown.missing if shown.current else {},  # an older picture is of other choices
                shown.settings or session.settings(),
                session.current().table.name,
                session.choices().policy,
            ),
            "comparison-internal.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
        if shown.settings is not None:
            briefing_menu(shown)
    if st.toggle("Diagnostics of the fits, identification risk, and how Δ grows with the number of draws"):
        show_diagnostics(shown.summaries)


def show_diagnostics(summaries: list[Summary]) -> None:
    """Convergence, time, and Delta from the first draws."""
    labels = {s["mechanism"]: find_mechanism(s["mechanism"]).label for s in summaries}
    st.dataframe(
        pd.DataFrame(
            {"Mechanism": labels[s["mechanism"]], **s["diagnostics"], "seconds": s["seconds"]}
            for s in summaries
            if s["diagnostics"]
        ),
        hide_index=True,
    )
    st.dataframe(
        pd.DataFrame(
            {
                "Mechanism": labels[s["mechanism"]],
                "Expected match risk": s["match_risk"],
                "True match rate": s["true_match_rate"],
                "False match rate": s["false_match_rate"],
            }
            for s in summaries
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
            labels[s["mechanism"]]: pd.Series(
                s["privacy"]["growth"]["bound"], s["privacy"]["growth"]["draws"]
            )
            for s in summaries
            if s["privacy"]
        }
    )
    growth.index.name = "draws used"
    st.dataframe(growth.round(4).T)
