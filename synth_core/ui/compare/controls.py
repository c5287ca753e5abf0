"""The controls of Compare: mechanisms, what moves them, sampling."""

from __future__ import annotations

import streamlit as st

from synth_core.analysis.drawing import DRAWING_WORDS, DRAWINGS
from synth_core.analysis.records.feasible import refusal
from synth_core.analysis.wording.guarantee_sentences import promise_words
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import ADJUSTMENTS, MECHANISMS, compose, find_mechanism
from synth_core.mechanisms.likelihoods import LIKELIHOODS
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.mechanisms.standards import STANDARDS
from synth_core.mechanisms.weights import WEIGHT_FUNCTIONS
from synth_core.models import family
from synth_core.models.categories import OfCategories
from synth_core.system import limits
from synth_core.system.number_text import measured
from synth_core.ui.compare.named_tables import choose_posterior, choose_tables
from synth_core.ui.shared.guess_boxes import guess_boxes
from synth_core.ui.shared.subject import shown_subject
from synth_core.ui.shared.widgets import number, pick, slider_with_number
from synth_core.ui.state import session


def choose_mechanisms() -> tuple[str, ...]:
    """Any number of mechanisms, the papers' or composed."""
    options = [*MECHANISMS, *session.choices().composed]
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
        adjustments = st.multiselect("Adjustments", list(ADJUSTMENTS), format_func=ADJUSTMENTS.__getitem__)
        likelihood = st.selectbox(
            "Likelihood", list(LIKELIHOODS), index=1, format_func=lambda key: LIKELIHOODS[key].label
        )
        standard = st.selectbox(
            "Privacy standard", list(STANDARDS), format_func=lambda key: STANDARDS[key].label
        )
        try:
            made = compose(scheme, tuple(adjustments), likelihood, standard)
        except InputError as error:
            st.warning(str(error), icon=":material/block:")
        else:
            promised = made.guarantee(session.current().weights_from)
            st.caption(f"**{made.label}**: {promised.label}. {promise_words(promised)[0]}")
            st.button(
                "Add",
                type="primary",
                disabled=made.key in session.choices().mechanisms,
                on_click=add_mechanism,
                args=(made.key,),
            )
    return session.choices().mechanisms


def choose_whose() -> None:
    """Whether accuracy is of the sample or of the population; nothing where no survey weights are named."""
    s = session.choices().settings
    if s.weight is None:
        return
    words = {
        "sample": "the sample: each record once",
        "population": f"the population, by {session.plain(s.weight)}",
    }
    pick(
        "selectbox",
        "Accuracy is of",
        "settings.accuracy_of",
        list(words),
        format_func=words.__getitem__,
        help="Table, rule, figures, groups and slides follow it; what is drawn and its ε stay as they are. With N "
        "declared the model is one of the population, and a sample that takes some records more often differs from it.",
    )


def add_mechanism(key: str) -> None:
    """Button callback: choose a composed mechanism."""
    chosen = session.choices()
    session.change(chosen.with_mechanisms(*chosen.mechanisms, key))


# What moves a mechanism: by setting, the sliders' label, place, bounds, step and help.
SLIDERS: dict[str, list[tuple[str, str, tuple[float, float], float, str]]] = {
    "scale": [
        (
            "Scale c",
            "settings.scale",
            limits.SCALE,
            0.05,
            "Multiplies every weight. Below 1 it makes all records more private.",
        ),
        (
            "Shift g",
            "settings.shift",
            limits.SHIFT,
            0.05,
            "Adds to every weight: weight α = c · (1 − risk) + g, kept within 0 and 1. "
            "Above 0 it returns some say to risky records.",
        ),
    ],
    "epsilon": [
        (
            "Target ε",
            "settings.epsilon",
            (0.05, 20.0),
            0.05,
            "Of the mechanisms that have a target: truncation, censoring, anchored censoring, EM, histogram.",
        )
    ],
    "radius": [
        (
            "Radius r",
            "settings.radius",
            (0.01, 1.0),
            0.01,
            "Relative: a record counts as near when its value is within r·|x|.",
        )
    ],
    "range": [
        ("Range from a ×", "settings.range.0", (0.0, 1.0), 0.05, "Sensitive range: a·x to b·x."),
        (
            "Range to b ×",
            "settings.range.1",
            (1.0, 5.0),
            0.05,
            "Wider tails and absolute brackets: Sensitive range, at the top of this list.",
        ),
    ],
}


def active_settings(chosen: tuple[str, ...]) -> set[str]:
    """The settings that move one of the mechanisms; of whole records, of those that take several variables."""
    refused = shown_subject().left_out(chosen)
    return set().union(*(find_mechanism(key).tuning for key in chosen if key not in refused))


def tuning(chosen: tuple[str, ...], leave_out: frozenset[str] = frozenset()) -> None:
    """Only what moves a chosen mechanism, but for what the page asks elsewhere."""
    used = active_settings(chosen) - leave_out
    for slider in (slider for name, sliders in SLIDERS.items() if name in used for slider in sliders):
        slider_with_number(*slider)
    if "bins" in used and session.choices().bounds is None:
        st.caption("The histogram needs declared bounds: give them on the Data page.")
    settings = session.choices().settings
    guessed = settings.anchor in ("pilot", "series") or (settings.reads_counts and not settings.bracket_edges)
    bounded = _of_bounds(chosen)
    of_guess = [key for key in chosen if "guess" in find_mechanism(key).tuning and key not in bounded]
    if "guess" in used and session.choices().guess is None and guessed and of_guess:
        _missing_guess(of_guess)
    if bounded and session.choices().bounds is None and not settings.bracket_edges:
        _missing_bounds(bounded)
    _missing_of_others(chosen)
    if "count_together" in used:
        choose_tables()
    if "measured_posterior" in used and settings.datasets > 1:  # one is of the most likely parameters
        choose_posterior()
    if used & {"risk_map", "reweight_tolerance", "bins", "match_epsilon"}:
        with st.expander("More of the mechanisms", key="more_of_mechanisms"):
            more_tuning(used, chosen)


def _of_bounds(chosen: tuple[str, ...]) -> list[str]:
    """The mechanisms that count a variable by its bounds: of a count a guess makes no brackets."""
    model = family(session.choices().settings.model)
    if not model.discrete or issubclass(model, OfCategories):
        return []
    return [key for key in chosen if "count_together" in find_mechanism(key).tuning]


def _missing_bounds(mechanisms: list[str]) -> None:
    """The bounds that these mechanisms lack, asked for where they are missed; later they are on the page Data."""
    name = session.plain(session.choices().settings.outcome)
    labels = ", ".join(find_mechanism(key).label for key in mechanisms)
    st.caption(
        f"Missing for **{labels}**: bounds of {name}, known without the table. Later they are on the Data page."
    )
    low, high = st.columns(2, vertical_alignment="bottom")
    with low:
        number(f"{name} lies between", "lower_bound", placeholder="0, say")
    with high:
        number("and", "upper_bound", placeholder="20, say")


def _missing_guess(mechanisms: list[str]) -> None:
    """What these mechanisms lack, asked for where it is missed; once it is given, its boxes are on the page Data."""
    model, outcome = (
        family(session.choices().settings.model),
        session.plain(session.choices().settings.outcome),
    )
    labels = ", ".join(find_mechanism(key).label for key in mechanisms)
    if not model.takes_guess:
        st.caption(
            f"{labels}: an own program needs another anchor than a pilot, or edges of brackets. Give them on the Data "
            "page, under Anchor."
        )
    elif model.needs_guess:
        choices, reference = session.choices(), session.current().reference is not None
        settings, typical = (
            choices.settings.model_copy(update={"bounds": choices.bounds}),
            choices.guess_typical,
        )
        guess = (
            f"a guess of {outcome} that anyone might make who has not seen the table"
            if typical is None
            else f"how far {outcome} spreads around {measured(typical)}, which was said on the Data page to be typical"
        )
        if any(refusal(find_mechanism(key), settings, (), reference) for key in mechanisms):
            said = f"Missing for **{labels}**: {guess}."
        else:  # it is counted by its bounds
            said = (
                f"**{labels}** counts {outcome} in brackets of equal width between its declared bounds. Brackets that "
                f"are narrow where most values lie come of {guess}."
            )
        st.caption(f"{said} Later it is on the Data page, under Anchor.")
        guess_boxes()


def _missing_of_others(chosen: tuple[str, ...]) -> None:
    """Of which other variables of a record something has to be declared, each with a button that opens it here."""
    choices, reference = session.choices(), session.current().reference is not None
    for block in choices.whole if shown_subject().blocks else ():
        if block.name == choices.settings.outcome or not family(block.model).takes_guess:
            continue
        guessing = [key for key in chosen if "guess" in find_mechanism(key).tuning]
        refused = [
            key
            for key in ("unweighted", *guessing)
            if block.name in refusal(find_mechanism(key), choices.settings, (block,), reference)
        ]
        if "unweighted" in refused:  # which takes no guess: what is missing is said by the page
            continue
        lacking = [find_mechanism(key).label for key in refused]
        if lacking:
            name = session.plain(block.name)
            st.caption(f"Missing for **{', '.join(lacking)}**: what is publicly known of {name}.")
            st.button(
                f"Say it of {name}",
                key=f"say_it_of {block.name}",
                on_click=session.describe,
                args=(block.name,),
            )


def more_tuning(used: set[str], chosen: tuple[str, ...]) -> None:
    """What is moved less often."""
    if "risk_map" in used:
        pick("selectbox", "Map from risk to weight", "settings.risk_map", list(WEIGHT_FUNCTIONS))
        if session.choices().settings.risk_map == "threshold":
            slider_with_number(
                "Threshold z*",
                "settings.risk_threshold",
                (0.0, 1.0),
                0.05,
                "Records of relative risk below it keep weight 1.",
            )
    if "risk_span" in used and session.current().reference is None:
        low, high = st.columns(2)
        with low:
            number(
                "Span of risk from",
                "span_low",
                (0.0, None),
                help="In nats, declared without looking at the table. Left empty, the smallest and largest risk of the "
                "table: then a record at either end moves all weights when it leaves.",
                placeholder="the table's",
            )
        with high:
            number("Span of risk to", "span_high", (0.0, None), placeholder="the table's")
    if "bins" in used:
        pick(
            "selectbox",
            "Bins of the histogram",
            "settings.bins",
            ["log", "sqrt", "25", "50", "100"],
            format_func=lambda b: {"log": "⌈ln n⌉", "sqrt": "⌈√n⌉"}.get(b, b),
        )
    if "anchor_weight" in used:
        number(
            "Weight c around the anchor"
            + (f" of {session.choices().settings.outcome}" if session.choices().whole else ""),
            "settings.anchor_weight",
            limits.ANCHOR_WEIGHT,
            help="One weight for all records. Left empty, it is chosen on tables simulated from the anchor, which "
            "costs no ε: half of the largest c that leaves their records unclamped.",
            placeholder="automatic",
        )
        if family(session.choices().settings.model).takes_anchor_prior:
            number(
                "The anchor counts as records",
                "settings.anchor_records",
                limits.ANCHOR_RECORDS,
                help="In the prior. More of them pull a small ε towards the anchor; left empty, what the anchor is "
                "worth.",
                placeholder="automatic",
            )
    if "reweight_tolerance" in used:
        slider_with_number(
            "Tolerance of solved bounds",
            "settings.reweight_tolerance",
            (0.005, 0.1),
            0.005,
            "Re-weighting and matching stop when Δ is this close, relatively.",
        )
    pick(
        "selectbox",
        "Match the ε of",
        "settings.match_epsilon",
        [None, *chosen],
        format_func=lambda key: "no one" if key is None else find_mechanism(key).label,
        help="Tunes every other mechanism until its ε equals this one's.",
    )


def sampling() -> None:
    """Settings of the sampler."""
    with st.expander("Sampling", key="sampling_panel"):
        number("Draws per chain", "settings.draws", limits.DRAWS, 500)
        number("Warm-up per chain", "settings.warmup", limits.WARMUP, 500)
        number("Chains", "settings.chains", limits.CHAINS, 1)
        number("Seed", "settings.seed", limits.SEED, 1, "The same seed gives the same numbers.")
        number(
            "Synthetic data sets m",
            "settings.datasets",
            limits.DATASETS,
            1,
            "Each released data set costs ε: m of them cost m · ε. Measured mechanisms give all for one ε.",
        )
        pick(
            "selectbox",
            "Synthetic values",
            "settings.drawing",
            list(DRAWINGS),
            format_func=lambda key: DRAWING_WORDS[key],
            help="Given a draw of the model. Even: spread over their distribution among records with like predictors. "
            "Balanced: of several draws of each record one is kept, so that tables of two and three columns are near "
            "what the model expects. The file then has less noise at the same ε.",
        )
