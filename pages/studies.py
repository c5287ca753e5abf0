"""Studies: would today's Δ hold for another database of the kind? And the papers' studies, repeated."""

import pandas as pd
import streamlit as st

from synth_core.errors import InputError
from synth_core.figures.study import measure_label, study_figure
from synth_core.studies.online import LIKE, Asked
from synth_core.studies.presets import PRESETS
from synth_core.tasks import study_task
from synth_core.ui import background, session
from synth_core.ui.board import board
from synth_core.ui.waiting import watch

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
}


def choose() -> Asked:
    """Which study, how many databases, and for one's own which mechanisms, targets and sizes."""
    names = [LIKE, *(name for name, preset in PRESETS.items() if not preset.needs)]
    name = st.selectbox("Study", names, format_func=lambda n: TITLES.get(n, n))
    replicates = int(st.number_input("Simulated databases R", 2, 1000, 20, 10,
                                     help="More make it slower and surer; those that are done are kept."))  # fmt: skip
    seed = int(st.number_input("Seed of the study", 1, 2**31 - 1, 1, 1))
    if name != LIKE:
        st.caption("The paper's own design and published numbers; the table in use is not read.")
        return Asked(name, replicates, seed)
    st.caption("Simulated from the model fitted to the table in use, under the settings of the page Compare.")
    epsilon = st.number_input("Target ε", 0.1, 1000.0, float(settings.epsilon), 0.5)
    sizes = st.text_input("Numbers of records", str(session.outcome().size),
                          help="One or more, separated by blanks: shows how Δ contracts as n grows.")  # fmt: skip
    return Asked(
        LIKE, replicates, seed, tuple(browser.choices["mechanisms"]), (float(epsilon),), whole(sizes)
    )


def whole(text: str) -> tuple[int, ...]:
    """Numbers of records from a line of text."""
    try:
        return tuple(int(part) for part in text.replace(",", "").split())
    except ValueError:
        raise InputError(f"Numbers of records must be whole numbers (given: {text}).") from None


def start() -> None:
    """Button callback."""
    background.start(KIND, [study_task(browser.table, settings, asked)], asked=asked)


def show(run: background.Run) -> None:
    """The study's table and violins, or why there are none."""
    found = watch(KIND, run, "Stopped; what was finished is kept.")
    if found is None:
        return
    title, *rest = found["heading"]
    st.markdown(f"**{session.plain(title)}**")
    st.caption(session.plain(" · ".join(rest)))
    measures = [m for m, violins in found["violins"].items() if violins]
    if measures:
        measure = st.segmented_control("Shown", measures, format_func=measure_label, default=measures[0],
                                       required=True, label_visibility="collapsed")  # fmt: skip
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


def as_table(rows: list[dict]) -> pd.DataFrame:
    """The rows in words; columns that say nothing in this study are left out."""
    names = {"quantity": "Quantity", "published": "Published", "ours": "Ours", "error": "Monte Carlo error",
             "verdict": "Verdict", "reason": "Why"}  # fmt: skip
    frame = pd.DataFrame(rows)
    frame["error"] = ["" if row["error"] is None else f"{row['error']:.3g}" for row in rows]
    if set(frame["verdict"]) == {"shown"}:
        frame = frame.drop(columns=["verdict", "reason", "published"])
    return frame.rename(columns=names)


browser = session.current()
asked = None
try:
    settings = session.settings()
    with st.sidebar:
        asked = choose()
        st.button("Run the study", type="primary", width="stretch", on_click=start)
except InputError as error:
    st.error(session.plain(str(error)), icon=":material/error:")
current = background.current(KIND)
if current is None:
    st.info(
        "A study simulates databases, runs mechanisms on each, and tells how Δ and utility vary: the probability "
        "that another database exceeds a target, and the factor of safety that would cover it.",
        icon=":material/science:",
    )
else:
    show(current)
