"""The check of a model: by group, its figures, how much the priors matter."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.figures.check import check_figures
from synth_core.figures.parts import statistic_label
from synth_core.jobs.tasks import check_task, sensitivity_task
from synth_core.mechanisms.catalogue import HISTOGRAM, find_mechanism
from synth_core.system.cache import content_key
from synth_core.ui.shared.board import board
from synth_core.ui.shared.waiting import wait_for
from synth_core.ui.state import session

ALL = "all records"
FACTORS = (0.1, 0.5, 1.0, 2.0, 10.0)


def choose_group(settings: Settings) -> tuple[str | None, str | None]:
    """A column whose categories are compared, and the one that is shown."""
    browser = session.current()
    columns = [c.name for c in browser.table.columns if c.name != settings.outcome and c.kind != "empty"]
    likely = [c for c in settings.predictors if c in columns]
    column = st.selectbox(
        "By the categories of",
        [None, *likely, *(c for c in columns if c not in likely)],
        format_func=lambda c: "none" if c is None else c,
        help="Numbers with many values are cut at their quartiles.",
    )
    names = st.session_state.get("check_categories", {}).get((browser.table.fingerprint, column), [])
    level = st.selectbox("Records shown", [ALL, *names], disabled=column is None)
    return column, None if level == ALL else level


def show_check(settings: Settings, column: str | None, level: str | None) -> None:
    """Figures of the check, and the diagnostics of the fit."""
    browser = session.current()
    found = wait_for("check", check_task(browser.table, settings, column, level))
    if found is None:
        return
    key = (browser.table.fingerprint, column)
    known = st.session_state.setdefault("check_categories", {})
    if column is not None and known.get(key) != found["categories"]:
        known[key] = found["categories"]
        st.rerun()
    d = found["diagnostics"]
    state = "Converged" if not found["problems"] else "NOT converged: " + "; ".join(found["problems"])
    st.markdown(
        f"**{session.plain(browser.table.name)}**, {session.plain(level or ALL)}: {found['n_records']:,} records · "
        f"{found['density_scale']} · {state} (R-hat {d['rhat']:.3f}, effective draws {d['ess_bulk']:.0f}, "
        f"{d['divergences']} divergent)"
    )
    figures = check_figures(found, settings.outcome, column)
    board([], figures, content_key(figures=figures)[:16], False)


def show_sensitivity(settings: Settings) -> None:
    """The same mechanism under narrower and wider priors."""
    browser = session.current()
    mechanisms = [m for m in browser.choices.mechanisms if m != HISTOGRAM]
    if not mechanisms:
        st.caption("Choose a mechanism on the page Compare first.")
        return
    chosen = st.selectbox("Mechanism", mechanisms, format_func=lambda m: find_mechanism(m).label)
    answer = wait_for(
        "sensitivity", sensitivity_task(browser.table, settings, chosen, FACTORS, browser.reference)
    )
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
