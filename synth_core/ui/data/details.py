"""The details of one column: its model and fit where it is sensitive, else what its role lets one say."""

from __future__ import annotations

import streamlit as st

from synth_core.data.column import Column
from synth_core.data.declared import OF_KINDS, declared_rules
from synth_core.data.rules import idle, read_rules, typeset
from synth_core.system import limits
from synth_core.ui.data import advice, fit, model, roles
from synth_core.ui.data.codebook import PLACE, entry_fields
from synth_core.ui.data.columns import opened
from synth_core.ui.data.fit import Fit
from synth_core.ui.data.readiness import Readiness
from synth_core.ui.shared.widgets import number, pick
from synth_core.ui.state import session

BASES = {
    "design": "public design",
    "raked": "raking on sensitive totals",
    "confidential": "what is confidential",
}


def show(ready: Readiness, fits: dict[str, Fit]) -> None:
    """The column that is open."""
    browser = session.current()
    column = browser.table.column(opened())
    role = roles.role_of(browser.choices, browser.table, column.name)
    st.subheader(f"{session.plain(column.name)} · {role}", anchor="column")
    with st.container(border=True, key="details"):
        if role == roles.SENSITIVE:
            _sensitive(column, ready, fits)
        elif role in (roles.PREDICTOR, roles.WEIGHT_TOO):
            _predictor(column)
        if role in (roles.WEIGHT, roles.WEIGHT_TOO):
            _weight()
        if role == roles.UNIT:
            _unit()
        if role == roles.UNUSED:
            st.caption(_why_unused(column))
    session.show_message(PLACE)
    # With a key a panel stays as it was left, whatever appears above it.
    with st.expander(
        "What the codebook declares of this column",
        expanded=role == roles.UNUSED,
        key=f"declared_of {column.name} {role == roles.UNUSED}",
    ):
        entry_fields(column.name)


def _sensitive(column: Column, ready: Readiness, fits: dict[str, Fit]) -> None:
    browser = session.current()
    whole, name = browser.choices.whole, column.name
    if len(whole) > 1:
        place = roles.sensitive_names(browser.choices).index(name)
        a, b, c = st.columns([5, 1, 1], vertical_alignment="center")
        before = session.plain(", ".join(block.name for block in whole[:place]))
        epsilon, unit = browser.choices.settings.epsilon, browser.choices.settings.unit_column
        shares = f"{place + 1} of {len(whole)} in the order of synthesis"
        a.caption(
            shares
            + (f", given {before} too. " if before else ". ")
            + f"One ε of {epsilon:g} covers everything sensitive about "
            + (f"one '{session.plain(unit)}', all of its records." if unit else "a record.")
        )
        for box, label, step, end in ((b, "Earlier", -1, 0), (c, "Later", 1, len(whole) - 1)):
            box.button(
                label,
                icon=":material/arrow_upward:" if step < 0 else ":material/arrow_downward:",
                width="stretch",
                disabled=place == end,
                on_click=_move,
                args=(name, step),
                help=f"One place {label.lower()} in the order: those after a variable are conditional on it.",
            )
    model.choose_model()
    if name in list(ready.problems)[1:]:  # the first is said above the table
        st.warning(session.said(ready.problems[name]), icon=":material/edit:")
    if column.identifier:
        st.warning(
            f"{session.plain(name)} seems to be an ID, which names a record and measures nothing: take another "
            "sensitive variable.",
            icon=":material/badge:",
        )
    # Advice is on numbers: the kind of a category says its model.
    if browser.choices.settings.model not in OF_KINDS.values():
        with st.expander(
            "Which model? A proposal, with its reasons",
            expanded=name in ready.problems or name in ready.seen,
            key=f"which_model {name}",
        ):
            advice.propose()
    if rules := declared_rules(
        browser.table.codebook, roles.sensitive_names(browser.choices), browser.choices.settings.rules
    ):
        st.caption(session.plain(f"Kept by every synthetic record: {typeset('; '.join(rules))}."))
        public = browser.table.frame[list(browser.choices.settings.predictors)]
        for rule in idle(read_rules(rules), public):
            st.warning(
                session.plain(
                    f"No record meets the condition of {typeset(str(rule))}: compare its values with the table's."
                ),
                icon=":material/rule:",
            )
    if name in fits:
        fit.show(fits[name])
    with st.expander("Anchor of anchored censoring: for a strict ε below 1", key=f"anchor_of {name}"):
        model.choose_anchor()


def _move(name: str, step: int) -> None:
    """Button callback."""
    session.change(roles.moved(session.choices(), name, step))


def _predictor(column: Column) -> None:
    """Whether its numbers are codes, and whether it would name a record."""
    browser = session.current()
    st.caption(
        "Not sensitive: kept as it is in the synthetic data, and the sensitive variables are conditional on it."
    )
    if column.kind == "code" or (column.whole and column.distinct <= limits.MAX_LEVELS):
        chosen = browser.choices.settings.categorical
        key = f"categorical_{column.name}_{browser.tables}_{column.name in chosen}"
        st.toggle(
            "Its numbers are codes: a category",
            column.name in chosen,
            key=key,
            on_change=_take_categorical,
            args=(column.name, key),
            help="A code such as 1 = single, 2 = married is not a quantity.",
        )
        if column.name in browser.table.codes_among([column.name]) and column.name not in chosen:
            st.caption("Few whole numbers, as codes have. Taken as quantities unless you say so here.")
    if column.identifier:
        st.warning(
            f"{session.plain(column.name)}: seems to be an ID, and predictors are released as they are. It would "
            "name each record.",
            icon=":material/badge:",
        )


def _take_categorical(name: str, key: str) -> None:
    """Widget callback: whether a predictor's numbers are codes."""
    if name not in session.choices().settings.predictors or key not in st.session_state:
        return  # of a table before
    left = tuple(each for each in session.choices().settings.categorical if each != name)
    categorical = (*left, name) if st.session_state[key] else left
    session.change(session.choices().with_settings(categorical=categorical))


def _weight() -> None:
    """What survey weights stand for, and what they follow from."""
    st.caption(
        "Says for how many of the population a record stands. It is kept in a released file, and accuracy is shown by "
        "it too. Measured synthesis counts by class of weight."
    )
    a, b, c = st.columns([5, 3, 3], vertical_alignment="bottom")
    with a:
        number(
            "N, records of the population that the weights stand for",
            "settings.weight_total",
            limits.WEIGHT_TOTAL,
            placeholder="not declared: weights stay out of the likelihood",
            help="Declared, not summed up from the table. Each record then weighs w/W in the fit, W = N/n, and the "
            "model is one of the population and not of the sample.",
            format="%.0f",
        )
    with b:
        pick(
            "selectbox",
            "The weights follow from",
            "settings.weight_basis",
            list(BASES),
            format_func=BASES.__getitem__,
            help="What follows from other people's answers, or is secret, is covered by no proof.",
        )
    with c:
        browser = session.current()
        public = (roles.PREDICTOR, roles.PUBLIC, roles.UNUSED)
        pick(
            "selectbox",
            "Strata of the sample",
            "settings.strata",
            [None]
            + [
                each.name
                for each in browser.table.offered(kept=True)
                if each.kind != "empty" and roles.role_of(browser.choices, browser.table, each.name) in public
            ],
            format_func=lambda name: "not named" if name is None else name,
            placeholder="not named",
            help="The column that says from which part of the population, such as a region, a record or a unit was "
            "drawn by itself: standard errors are then those within strata. A released file has it where it is kept or "
            "a predictor.",
        )


def _unit() -> None:
    """Units of several records, whose size is declared."""
    st.caption(
        "A household, a firm, a person of a panel: ε then covers everything that this table says of one unit. Released "
        "files keep units together under new identifiers. Another file of the same units is another charge."
    )
    number(
        "Most records of a unit, declared",
        "settings.unit_size",
        limits.UNIT_SIZE,
        step=1,
        help="From knowledge of the survey; a table with a larger unit is refused. Measured synthesis counts a "
        "unit as one record, whatever its size; under anchored and censored mechanisms each record gets this part of "
        "ε; where ε is measured, what all records of a unit do is added up.",
    )


def _why_unused(column: Column) -> str:
    """What happens to a column without a role."""
    entry = session.current().table.codebook.get(column.name)
    if column.kind == "empty":
        return "It has no values."
    if entry is None or not entry.confidential:
        return "Not used, and not released. Choose a role in the table above."
    if entry.never_used:
        return f"Declared {entry.never_used}, so neither synthesized nor a predictor, and never released."
    return "Declared sensitive, so no predictor, which would be released as it is."
