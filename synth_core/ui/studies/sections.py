"""A study: which one, how far it is, its table and violins."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.experiments.presets import OURS, PRESETS
from synth_core.figures.study import measure_label, study_figure
from synth_core.jobs.study_task import LIKE, StudyRequest
from synth_core.jobs.tasks import study_task
from synth_core.ui.shared import background
from synth_core.ui.shared.board import board
from synth_core.ui.shared.waiting import watch
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun

KIND = "study"
TITLES = {
    LIKE: "Databases like mine",
    "censor-4": "Censor 4: truncated and censored records",
    "censor-5": "Censor 5: five mechanisms at ε = 5",
    "ppm-4.4": "PPM 4.4: contraction, Poisson",
    "ppm-5.3": "PPM 5.3: the (c, g) curve",
    "range-4.1": "Range 4.1: range standards",
    "range-4.2": "Range 4.2: the same ε by scaling",
    "range-4.3": "Range 4.3: wider ranges in the tail",
    "reweight-3": "Reweight 3: negative binomial mixture",
    "reweight-supp-5": "Reweight Supp 5: local and global Δ",
    "anchored": "Ours: anchored beside the printed censoring",
}


def choose(settings: Settings) -> StudyRequest:
    """Which study, how many databases, and for one's own which mechanisms, targets and sizes."""
    names = [LIKE, *(name for name, preset in PRESETS.items() if not preset.needs)]
    name = st.selectbox("Study", names, format_func=lambda n: TITLES.get(n, n))
    replicates = int(
        st.number_input(
            "Simulated databases R",
            2,
            1000,
            20,
            10,
            help="More make it slower and surer; those that are done are kept.",
        )
    )
    seed = int(st.number_input("Seed of the study", 1, 2**31 - 1, 1, 1))
    if name != LIKE:
        whose = (
            "A design of our own; for “published” stands what we expected of it"
            if name in OURS
            else "The paper's own design and published numbers"
        )
        st.caption(f"{whose}; the table in use is not read.")
        return StudyRequest(name, replicates, seed)
    st.caption("Simulated from the model fitted to the table in use, under the settings of the page Compare.")
    epsilon = st.number_input("Target ε", 0.1, 1000.0, float(settings.epsilon), 0.5)
    sizes = st.text_input(
        "Numbers of records",
        str(session.outcome().size),
        help="One or more, separated by blanks: shows how Δ contracts as n grows.",
    )
    return StudyRequest(
        LIKE, replicates, seed, tuple(session.choices().mechanisms), (float(epsilon),), whole(sizes)
    )


def whole(text: str) -> tuple[int, ...]:
    """Numbers of records from a line of text."""
    try:
        return tuple(int(part) for part in text.replace(",", "").split())
    except ValueError:
        raise InputError(f"Numbers of records must be whole numbers (given: {text}).") from None


def start(settings: Settings, asked: StudyRequest) -> None:
    """Button callback."""
    background.start(KIND, [study_task(session.current().table, settings, asked)], asked)


def show(run: BackgroundRun) -> None:
    """The study's table and violins, or why there are none."""
    found = watch(KIND, run, "Stopped; what was finished is kept.")
    if found is None:
        return
    title, *rest = found["heading"]
    st.markdown(f"**{session.plain(title)}**")
    st.caption(session.plain(" · ".join(rest)))
    measures = [m for m, violins in found["violins"].items() if violins]
    if measures:
        measure = st.segmented_control(
            "Shown",
            measures,
            format_func=measure_label,
            default=measures[0],
            required=True,
            label_visibility="collapsed",
        )
        violins = found["violins"][measure]
        cases = list(dict.fromkeys(v["case"] for v in violins))
        case = cases[0]
        if len(violins) > 10 and len(cases) > 1:
            case = st.segmented_control(
                "Case", cases, default=cases[0], required=True, label_visibility="collapsed"
            )
            violins = [v for v in violins if v["case"] == case]
        board([], [study_figure(violins, measure)], f"study{run.jobs[0].key[:12]}{measure}{case}", False)
    st.dataframe(as_table(found["rows"]), hide_index=True, height=420)


def as_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows in words; columns that say nothing in this study are left out."""
    names = {
        "quantity": "Quantity",
        "published": "Published",
        "ours": "Ours",
        "error": "Monte Carlo error",
        "verdict": "Verdict",
        "reason": "Why",
    }
    frame = pd.DataFrame(rows)
    frame["error"] = ["" if row["error"] is None else f"{row['error']:.3g}" for row in rows]
    if set(frame["verdict"]) == {"shown"}:
        frame = frame.drop(columns=["verdict", "reason", "published"])
    return frame.rename(columns=names)
