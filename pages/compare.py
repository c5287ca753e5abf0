"""Compare: controls on one side, exact refits of every mechanism beside them."""

import pandas as pd
import streamlit as st

from synth_core import limits
from synth_core.errors import InputError
from synth_core.figures.compare import compare_figures
from synth_core.points import (
    ADJUSTMENTS,
    LIKELIHOODS,
    MECHANISMS,
    STANDARDS,
    compose,
    find_mechanism,
)
from synth_core.schemes import SCHEMES
from synth_core.ui import live, session
from synth_core.ui.inspector import inspect_record, results_csv
from synth_core.ui.presets import presets_menu
from synth_core.ui.share import offered_by_link, settings_menu
from synth_core.ui.widgets import pick, slider_with_number, whole_number
from synth_core.weights import RISK_MAPS


def choose_mechanisms() -> list[str]:
    """Any number of mechanisms, the papers' or composed."""
    choices = session.current().choices
    options = [*MECHANISMS, *choices["composed"]]
    pick(
        "multiselect",
        "Mechanisms",
        "mechanisms",
        options,
        format_func=lambda key: find_mechanism(key).label,
        help="The synthesizers of the papers, and those composed below.",
    )
    with st.popover("Compose another", width="stretch"):
        scheme = st.selectbox("Weights", list(SCHEMES), index=2, format_func=lambda s: SCHEMES[s].label)
        adjustments = st.multiselect("Adjustments", list(ADJUSTMENTS), format_func=ADJUSTMENTS.get)
        likelihood = st.selectbox("Likelihood", list(LIKELIHOODS), index=1, format_func=LIKELIHOODS.get)
        standard = st.selectbox("Privacy standard", list(STANDARDS), format_func=STANDARDS.get)
        try:
            made = compose(scheme, tuple(adjustments), likelihood, standard)
        except InputError as error:
            st.warning(str(error), icon=":material/block:")
        else:
            st.caption(f"**{made.label}**: {made.guarantee.label}. {made.guarantee.promise}")
            st.button("Add", type="primary", disabled=made.key in choices["mechanisms"],
                      on_click=add_mechanism, args=(made.key,))  # fmt: skip
    return choices["mechanisms"]


def add_mechanism(key: str) -> None:
    """Button callback: choose a composed mechanism."""
    choices = session.current().choices
    if key not in MECHANISMS and key not in choices["composed"]:
        choices["composed"] = [*choices["composed"], key]
    choices["mechanisms"] = [*choices["mechanisms"], key]
    st.session_state["choice_mechanisms"] = choices["mechanisms"]


def tuning(chosen: list[str]) -> None:
    """Only what moves a chosen mechanism."""
    choices = session.current().choices
    used = set().union(*(find_mechanism(key).tuning for key in chosen))
    if "scale" in used:
        slider_with_number(
            "Scale c",
            "scale",
            limits.SCALE,
            0.05,
            "Multiplies every weight. Below 1 it makes all records more private.",
        )
        slider_with_number(
            "Shift g",
            "shift",
            limits.SHIFT,
            0.05,
            "Adds to every weight: weight α = c · (1 − risk) + g, kept within 0 and 1. "
            "Above 0 it returns some say to risky records.",
        )
    if "epsilon" in used:
        slider_with_number(
            "Target ε",
            "epsilon",
            (0.5, 20.0),
            0.5,
            "Of the mechanisms that have a target: truncation, censoring, EM, histogram.",
        )
    if "radius" in used:
        slider_with_number(
            "Radius r",
            "radius",
            (0.01, 1.0),
            0.01,
            "Relative: a record counts as near when its value is within r·|x|.",
        )
    if "range" in used:
        slider_with_number("Range from a ×", "range", (0.0, 1.0), 0.05, "Sensitive range: a·x to b·x.", 0)
        slider_with_number(
            "Range to b ×",
            "range",
            (1.0, 5.0),
            0.05,
            "Wider tails and absolute brackets are on the page Sensitive ranges.",
            1,
        )
    if "bins" in used and choices["bounds"] is None:
        st.caption("The histogram needs declared bounds: give them on the Data page.")
    more = used & {"risk_map", "reweight_tolerance", "bins", "match_epsilon"}
    if more:
        with st.expander("More of the mechanisms"):
            if "risk_map" in used:
                pick("selectbox", "Map from risk to weight", "risk_map", list(RISK_MAPS))
                if choices["risk_map"] == "threshold":
                    slider_with_number(
                        "Threshold z*",
                        "risk_threshold",
                        (0.0, 1.0),
                        0.05,
                        "Records of relative risk below it keep weight 1.",
                    )
            if "bins" in used:
                pick(
                    "selectbox",
                    "Bins of the histogram",
                    "bins",
                    ["log", "sqrt", "25", "50", "100"],
                    format_func=lambda b: {"log": "⌈ln n⌉", "sqrt": "⌈√n⌉"}.get(b, b),
                )
            if "reweight_tolerance" in used:
                slider_with_number(
                    "Tolerance of solved bounds",
                    "reweight_tolerance",
                    (0.005, 0.1),
                    0.005,
                    "Re-weighting and matching stop when Δ is this close, relatively.",
                )
            pick(
                "selectbox",
                "Match the ε of",
                "match_epsilon",
                [None, *chosen],
                format_func=lambda key: "no one" if key is None else find_mechanism(key).label,
                help="Tunes every other mechanism until its ε equals this one's.",
            )


def sampling() -> None:
    """Settings of the sampler."""
    with st.expander("Sampling"):
        whole_number("Draws per chain", "draws", limits.DRAWS, 500)
        whole_number("Warm-up per chain", "warmup", limits.WARMUP, 500)
        whole_number("Chains", "chains", limits.CHAINS, 1)
        whole_number("Seed", "seed", limits.SEED, 1, "The same seed gives the same numbers.")
        whole_number(
            "Synthetic data sets m",
            "datasets",
            limits.DATASETS,
            1,
            "Each released data set costs ε: m of them cost m · ε.",
        )


def show_diagnostics(summaries: list) -> None:
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


with st.sidebar:
    presets_menu()
    chosen = choose_mechanisms()
    if chosen:
        tuning(chosen)
    sampling()
    settings_menu()
offered_by_link()
if not chosen:
    st.info("Choose at least one mechanism on the left.")
    st.stop()
shown = live.show(
    "compare", chosen, lambda found, labels, settings: compare_figures(found, labels, settings.outcome)
)
if shown.summaries:
    if shown.current:  # an older picture is of other records, perhaps
        inspect_record(shown.summaries, shown.clicked)
    st.download_button(
        "Results as CSV (internal)",
        results_csv(shown.summaries),
        "comparison-internal.csv",
        "text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    if st.toggle("Diagnostics of the fits, identification risk, and how Δ grows with the number of draws"):
        show_diagnostics(shown.summaries)
