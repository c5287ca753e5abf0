"""Which variables: the sensitive one, the predictors, the model and its options."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.data.design import select
from synth_core.errors import InputError
from synth_core.models import MODELS, OwnProgram, build_model, family
from synth_core.models.transformation import TRANSFORMATIONS
from synth_core.system import limits
from synth_core.ui.server import access
from synth_core.ui.shared.widgets import number, pick, switch
from synth_core.ui.state import session


def choose_columns() -> None:
    """Sensitive variable, predictors, model and its options."""
    columns = session.current().table.columns
    pick(
        "selectbox",
        "Sensitive variable",
        "settings.outcome",
        [c.name for c in columns],
        help="The number to be synthesized. Everything else is kept as it is.",
    )
    pick(
        "multiselect",
        "Predictors, not sensitive",
        "settings.predictors",
        [c.name for c in columns if c.name != session.choices().settings.outcome],
        help="Kept as they are in the synthetic data.",
    )
    chosen = session.choices().settings
    codes = [c.name for c in columns if c.kind == "code" and c.name in chosen.predictors]
    if codes:
        pick(
            "multiselect",
            "Of these, number codes that are categories",
            "settings.categorical",
            codes,
            help="A code such as 1 = single, 2 = married is not a quantity.",
        )
    else:
        session.put("settings.categorical", (), undoable=False)
    own = [OwnProgram.name] if chosen.program and access.refusal() is None else []
    pick("selectbox", "Model", "settings.model", [*MODELS, *own], format_func=lambda m: family(m).label)
    declare_bounds()
    model_options(family(session.choices().settings.model).uses)


def model_options(uses: frozenset[str]) -> None:
    """What the chosen model lets the analyst choose."""
    if "zero_part" in uses:
        switch(
            "Zeros have a probability of their own",
            "settings.zero_part",
            "A logistic regression for zero or not; the mixture then models the other values.",
        )
    if "transformation" in uses:
        pick(
            "selectbox",
            "Modelled on the scale",
            "settings.transformation",
            list(TRANSFORMATIONS),
            format_func=TRANSFORMATIONS.__getitem__,
        )
    a, b = st.columns(2)
    with a:
        if "offset" in uses and session.choices().settings.transformation == "log":
            number(
                "Offset",
                "settings.offset",
                help="Added before the logarithm, log(x + offset), for values above −offset. Choose it from "
                "knowledge of the variable.",
            )
        if "asinh_scale" in uses and session.choices().settings.transformation == "asinh":
            number(
                "Scale of the asinh",
                "settings.asinh_scale",
                (1e-12, None),
                help="About linear within this distance of zero, about a signed logarithm beyond. Best a round "
                "number near a typical value: heaps of small values then do not stand out.",
            )
        if "components" in uses:
            number(
                "Components K",
                "settings.components",
                limits.COMPONENTS,
                1,
                "More than are needed: at concentration 1 superfluous ones empty themselves.",
            )
    with b:
        number(
            "Unit of the density",
            "settings.unit",
            (1e-12, None),
            help="In the table's unit. A log density depends on the unit of the value, and Δ and ε with it. It is a "
            "policy choice, recorded with a release. Beta models take it on the value scaled to (0, 1), count "
            "models have none.",
            disabled="unit" not in uses,
        )
        if "concentration" in uses:
            number(
                "Concentration a",
                "settings.concentration",
                limits.CONCENTRATION,
                help="Prior mean of a; the components' shares are Dirichlet(a / K). Near 1 superfluous components "
                "empty themselves; at several times K all stay occupied, which can help a mixture that does not "
                "converge because it passes between two numbers of components.",
            )


def declare_bounds() -> None:
    """Bounds that the beta model and the histogram need."""
    for column, name in zip(st.columns(2), ("lower", "upper"), strict=True):
        with column:
            number(f"Declared {name} bound", f"{name}_bound", placeholder="none")
    st.caption(
        "The beta model and the histogram need bounds. Declare them from knowledge of the variable, never by "
        "looking at the data: bounds taken from the data void the guarantee."
    )


ANCHORS = {
    "pilot": "A pilot on a part of this table",
    "series": "What its series released before",
    "reference": "The reference table",
}


def choose_anchor() -> None:
    """What anchored censoring starts from, and a guess made without the table."""
    pick(
        "selectbox",
        "Anchor of anchored censoring",
        "settings.anchor",
        list(ANCHORS),
        format_func=ANCHORS.__getitem__,
        help="Anchored censoring keeps ε below 1 and the accuracy: it bounds what a record says beyond a density that "
        "was fixed without it. A series anchors each release of a plan at those before it, which are paid for; its "
        "first one, and every picture here, has a pilot.",
    )
    chosen = session.choices().settings
    model = family(chosen.model)
    if chosen.anchor == "reference":
        if session.current().reference is None:
            st.warning("Choose a reference table above first.", icon=":material/info:")
        return
    if not model.takes_guess:
        st.caption(
            "A pilot starts from a guess, and an own program takes none: take the reference table. The command line "
            "has more (`--anchor`)."
        )
        return
    a, b = st.columns(2)
    with a:
        number(
            "A typical value",
            "guess_typical",
            help="From general knowledge, never by looking at the table.",
            placeholder="a guess",
        )
    with b:
        number(
            "A spread",
            "guess_spread",
            (1e-12, None),
            help=f"Of this model: the {model.spread_words}. 0.8 is usual for the logarithm of incomes.",
            placeholder="a guess",
        )
    if chosen.model == "two_part" or ("zero_part" in model.uses and chosen.zero_part):
        with b:
            number("A typical share of zeros", "settings.guess_zeros", limits.GUESS_ZEROS)
    with a:
        number(
            "Share in the pilot",
            "settings.pilot_share",
            limits.PILOT_SHARE,
            help="A record enters the pilot or the release. At 1 all enter both, and each takes half of ε: for small "
            "tables. At 0 there is no pilot, and the guess is the anchor.",
        )


def describe_columns() -> None:
    """What is known of each column, without any value."""
    st.dataframe(
        pd.DataFrame(
            {"Column": c.name, "Kind": c.kind, "Missing": c.missing, "Distinct": c.distinct, "Note": c.note}
            for c in session.current().table.columns
        ),
        hide_index=True,
        height=330,
    )


def check_choice() -> None:
    """Say whether the choice can be fitted, in words."""
    try:
        settings = session.settings()
        selection = select(
            session.current().table, settings.outcome, settings.predictors, settings.categorical
        )
        model = build_model(settings.model, selection.records, **settings.model_options)
    except InputError as error:
        st.error(session.plain(str(error)), icon=":material/error:")
        return
    lost = {k: v for k, v in selection.dropped_by.items() if v}
    note = (
        ("; missing values: " + ", ".join(f"{session.plain(k)} in {v:,} rows" for k, v in lost.items()))
        if lost
        else ""
    )
    st.success(
        f"Ready: {selection.records.n:,} complete rows of {session.current().table.rows:,}{note}. "
        f"{model.label}, {model.density_scale}.",
        icon=":material/check_circle:",
    )
    st.page_link("pages/compare.py", label="Compare the synthesizers", icon=":material/compare_arrows:")
