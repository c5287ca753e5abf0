"""The choice of the model, its options, declared bounds, and the anchor of anchored censoring."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from synth_core.data.codebook_file import LISTS, cell_of
from synth_core.mechanisms.ranges import read_edges
from synth_core.models import MODELS, OwnProgram, family
from synth_core.models.categories import OfCategories
from synth_core.models.transformation import TRANSFORMATIONS
from synth_core.system import limits
from synth_core.ui.server import access
from synth_core.ui.shared.guess_boxes import guess_boxes
from synth_core.ui.shared.widgets import key_of, number, pick, switch
from synth_core.ui.state import session


def choose_model() -> None:
    """The family on the left, what it lets one choose beside it, declared bounds on the right."""
    a, b, c = st.columns([3, 4, 4], gap="medium")
    with a:
        chosen = session.choices().settings
        own = [OwnProgram.name] if chosen.program and access.refusal() is None else []
        pick(
            "selectbox",
            "Model",
            "settings.model",
            [*MODELS, *own],
            format_func=lambda m: family(m).label,
            help="A Stan program of your own can be a model too: page Help, Own programs.",
        )
    with b:
        model_options(family(session.choices().settings.model).uses)
    with c:
        if family(session.choices().settings.model).ordered:
            declare_bounds()


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
    if "categories" in uses:
        declare(
            "settings.categories",
            "Declared categories, separated by commas",
            "1, 2, 3, or 1 to 12",
            "All that may occur, as the file writes them, of an ordered model in their order; parted by | where one "
            "holds a comma. Take them from the questionnaire and not from the table: which of them occur is "
            "confidential.",
        )
        return
    if "bracket_edges" in uses:
        declare_edges("Edges of brackets, separated by commas")
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
            part = "Half a" if family(session.choices().settings.model).asinh_within < 1 else "A"
            number(
                f"{part} typical value (scale of asinh)",
                "settings.asinh_scale",
                (1e-12, None),
                help="About linear within this distance of zero, about a signed logarithm beyond. Best a round "
                "number near half a typical value, of a mixture near a typical one: heaps of small values then do not "
                "stand out.",
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


def declare(
    place: str, label: str, example: str, about: str, read: Callable[[str], tuple[float, ...]] | None = None
) -> None:
    """A list that is typed: categories as in a codebook, or the numbers that `read` makes of it."""
    key = key_of(place)
    chosen = getattr(session.choices().settings, place.removeprefix("settings."))
    st.session_state.setdefault(
        key, ", ".join(f"{each:.12g}" for each in chosen) if read else cell_of(chosen)
    )

    def choose() -> None:
        if key not in st.session_state or session.is_late(place, key):
            return
        session.put(place, (read or LISTS["categories"])(st.session_state[key]))

    st.text_input(
        label,
        key=key,
        placeholder=example,
        on_change=session.attempt,
        args=(f"list {place}", choose),
        help=about,
    )
    session.show_message(f"list {place}")


def declare_edges(label: str) -> None:
    """Brackets of the sensitive variable: those that the model describes, or that noisy counts are of."""
    declare(
        "settings.bracket_edges",
        label,
        "0, 0, 10000, 20000, 50000, 1000000",
        "The first and the last are the smallest and the largest value that may occur. A number that stands twice "
        "is a bracket of its own, such as 0. Take them from knowledge of the variable and not from the table.",
        read_edges,
    )
    st.caption(
        "A value that many records share, such as 0 or a top code, stands twice: it is a bracket of its own."
    )


def declare_bounds() -> None:
    """Bounds that the beta model and the histogram need, and Measured of a count."""
    for column, name in zip(st.columns(2), ("lower", "upper"), strict=True):
        with column:
            number(f"Declared {name} bound", f"{name}_bound", placeholder="none")
    st.caption(
        "The beta model and the histogram need bounds, and a count for Measured. Declare them from knowledge of the "
        "variable, never by looking at the data: bounds taken from the data void the guarantee."
    )


ANCHORS = {
    "pilot": "A pilot: a first fit, of a part of this table",
    "counts": "Noisy counts of this table",
    "series": "What its series released before",
    "counts+series": "Noisy counts first, then what its series released",
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
        "first one, and every picture here, has a pilot or noisy counts. Below ε = 1, and with many predictors, noisy "
        "counts are mostly nearer to the data.",
    )
    chosen = session.choices().settings
    model = family(chosen.model)
    if chosen.reads_counts:
        if model.discrete and not issubclass(model, OfCategories):
            st.warning(
                "Noisy counts are of declared categories, or of brackets of amounts: not of this model.",
                icon=":material/info:",
            )
            return
        if not issubclass(model, OfCategories):
            if model.takes_guess and not chosen.bracket_edges:
                st.caption(
                    "Counted in brackets that a guess makes, or in those whose edges are declared below."
                )
                guess_boxes()
            declare_edges("Counted in brackets with these edges, separated by commas")
        number(
            "Share of ε for the counts",
            "settings.counts_share",
            limits.COUNTS_SHARE,
            help="Of the categories, by each predictor. The fit has the rest of ε, around a table that is simulated "
            "from the noisy counts.",
        )
        return
    if chosen.anchor == "reference":
        if session.current().reference is None:
            st.warning("Choose a reference table first.", icon=":material/info:")
        return
    if not model.takes_guess:
        st.caption("A pilot starts from a guess, and an own program takes none: take the reference table.")
        return
    if not model.needs_guess:
        st.caption("Its pilot starts from all categories alike, so nothing is guessed.")
        pilot_share()
        return
    guess_boxes()
    pilot_share()


def pilot_share() -> None:
    """How many of the records the pilot reads."""
    number(
        "Share in the pilot",
        "settings.pilot_share",
        limits.PILOT_SHARE,
        help="The pilot is a first fit, private too, that says where values lie; the release starts from it. A record "
        "enters the pilot or the release. At 1 all enter both, and each takes half of ε: for small tables. At 0 there "
        "is no pilot, and the guess is the anchor.",
    )
