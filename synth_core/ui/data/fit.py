"""Does the model fit? A verdict in words with what to do, figures by group, how much the priors matter."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.fit_verdict import fit_verdict
from synth_core.analysis.settings import Settings
from synth_core.experiments.explore.sweep import duration, seconds_per_point
from synth_core.figures.check import check_figures
from synth_core.figures.parts import statistic_label
from synth_core.jobs.tasks import CheckTask, SensitivityTask, TaskInput
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key
from synth_core.ui.shared.board import board
from synth_core.ui.shared.waiting import wait_for
from synth_core.ui.state import session

ALL = "all records"
FACTORS = (0.1, 0.5, 1.0, 2.0, 10.0)
SHOWN_AS = {"fits": st.success, "roughly": st.warning, "misfit": st.error, "unknown": st.error}
ICONS = {
    "fits": ":material/check_circle:",
    "roughly": ":material/info:",
    "misfit": ":material/cancel:",
    "unknown": ":material/error:",
}
ASKED = "fit_asked"  # keys of the fits that were asked for here


def show(ready: bool) -> None:
    """The check once it is asked for: it is a fit, so it does not start by itself.

    Parameters
    ----------
    ready : bool
        Whether the choice of variables and model can be fitted.
    """
    if not ready:
        st.caption("First a choice of variables and model that can be fitted.")
        return
    settings = session.settings()
    browser = session.current()
    key = CheckTask.of(browser.table, settings, None, None).key
    if key not in st.session_state.setdefault(ASKED, set()):
        seconds = seconds_per_point(find_mechanism("unweighted"), settings, browser.table.rows)
        left, right = st.columns([1, 4], vertical_alignment="center")
        left.button(
            "Check the fit",
            icon=":material/fact_check:",
            width="stretch",
            on_click=st.session_state[ASKED].add,
            args=(key,),
        )
        right.caption(
            f"Privacy numbers of a model that does not fit mean little. Fits it once without weights, about "
            f"{duration(seconds)}; every mechanism starts from that fit."
        )
        return
    verdict = st.container()
    a, b, c = st.columns([2, 2, 3], gap="medium", vertical_alignment="bottom")
    column, level = choose_group(settings, a, b)
    priors = c.toggle("Sensitivity to the priors", help="Runs a mechanism again under five scales of priors.")
    show_check(settings, column, level, verdict)
    if priors:
        show_sensitivity(settings)


def choose_group(settings: Settings, left: Any, right: Any) -> tuple[str | None, str | None]:
    """A column whose categories are compared, and the one that is shown."""
    browser = session.current()
    columns = [c.name for c in browser.table.columns if c.name != settings.outcome and c.kind != "empty"]
    likely = [c for c in settings.predictors if c in columns]
    column = left.selectbox(
        "By the categories of",
        [None, *likely, *(c for c in columns if c not in likely)],
        format_func=lambda c: "none" if c is None else c,
        help="Numbers with many values are cut at their quartiles.",
    )
    names = st.session_state.get("check_categories", {}).get((browser.table.fingerprint, column), [])
    level = right.selectbox("Records shown", [ALL, *names], disabled=column is None)
    return column, None if level == ALL else level


def show_check(settings: Settings, column: str | None, level: str | None, above: Any) -> None:
    """The verdict and the fit's diagnostics `above`, here the figures."""
    browser = session.current()
    with above:
        check = wait_for("check", CheckTask.of(browser.table, settings, column, level))
    if check is None:
        return
    key = (browser.table.fingerprint, column)
    known = st.session_state.setdefault("check_categories", {})
    if column is not None and known.get(key) != check["categories"]:
        known[key] = check["categories"]
        st.rerun()
    verdict = fit_verdict(check, settings.model)
    d = check["diagnostics"]
    with above:
        SHOWN_AS[verdict.level](session.plain(f"{verdict.words} {verdict.advice}"), icon=ICONS[verdict.level])
        st.caption(
            f"{session.plain(level or ALL)}: {check['n_records']:,} records · {check['density_scale']} · R-hat "
            f"{d['rhat']:.3f}, effective draws {d['ess_bulk']:.0f}, {d['divergences']} divergent"
        )
    figures = check_figures(check, settings.outcome, column)
    board([], figures, content_key(figures=figures)[:16], False)


def show_sensitivity(settings: Settings) -> None:
    """Show the same mechanism under narrower and wider priors."""
    browser = session.current()
    mechanisms = [m for m in browser.choices.mechanisms if find_mechanism(m).likelihood.samples]
    if not mechanisms:
        st.caption("Choose a mechanism on the page Compare first.")
        return
    chosen = st.selectbox("Mechanism", mechanisms, format_func=lambda m: find_mechanism(m).label)
    given = TaskInput.of(browser.table, settings, browser.reference)
    answer = wait_for("sensitivity", SensitivityTask(given, chosen, factors=FACTORS))
    if answer is None:
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Priors' scale ×": row["factor"],
                "Δ (nats)": row["lipschitz_bound"],
                "ε": row["epsilon"],
                "Largest ECDF difference": row["ecdf_max"],
                **{statistic_label(k): v for k, v in row["statistics"].items()},
                "Converged": "yes" if not row["problems"] else "no",
            }
            for row in answer["rows"]
        ).round(4),
        hide_index=True,
    )
    guarantee = find_mechanism(chosen).guarantee(browser.weights_from)
    st.caption(
        f"{find_mechanism(chosen).label}: {guarantee.label}. If Δ or the statistics move "
        "with the scale of the priors, the priors speak louder than the data: say in the release why they are right."
    )
