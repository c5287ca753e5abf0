"""The choice of variables: the sensitive one, the predictors, and which numbers are codes."""

from __future__ import annotations

import streamlit as st

from synth_core.analysis.selection import selected
from synth_core.data.declared import declared_rules
from synth_core.data.table import FEW_CODES, Column, Table
from synth_core.errors import InputError
from synth_core.models import build_model
from synth_core.system import limits
from synth_core.ui.shared.widgets import number, pick
from synth_core.ui.state import session

BASES = {
    "design": "public design",
    "raked": "raking on sensitive totals",
    "confidential": "what is confidential",
}


def choose_variables() -> None:
    """Sensitive variable, predictors, and which of them are categories."""
    table, blocks = session.current().table, [block.name for block in session.choices().whole]
    columns, kept = table.offered() or table.columns, table.offered(kept=True)
    a, b, c = st.columns([2, 4, 3], gap="medium")
    with a:
        pick(
            "selectbox",
            "Sensitive variable",
            "settings.outcome",
            [c.name for c in sorted(columns, key=lambda column: column.identifier)],
            disabled=bool(blocks),
            help="To be synthesized. Everything else is kept as it is. IDs stand last. Of whole records it is the "
            "variable that is described now: see below.",
        )
    with b:
        pick(
            "multiselect",
            "Predictors, not sensitive",
            "settings.predictors",
            [c.name for c in kept if c.name not in {session.choices().settings.outcome, *blocks}],
            help="Kept as they are in the synthetic data.",
        )
    codes = [c.name for c in _codes(columns) if c.name in session.choices().settings.predictors]
    with c:
        if codes:
            pick(
                "multiselect",
                "Of these, number codes that are categories",
                "settings.categorical",
                codes,
                help="A code such as 1 = single, 2 = married is not a quantity. Offered are whole numbers of few "
                "distinct values.",
            )
            _ask_of_codes()
        else:
            session.put("settings.categorical", (), undoable=False)
    _choose_weight(table, kept)
    _choose_unit(table)
    sensitive = {session.choices().settings.outcome, *blocks}
    for sentence in ruled_out(table, sensitive):
        st.caption(session.plain(sentence))
    if rules := declared_rules(table.codebook, sensitive, session.choices().settings.rules):
        said = (
            "Kept by every synthetic record"
            if blocks
            else "Kept once several variables are sensitive (below)"
        )
        st.caption(session.plain(f"{said}: {'; '.join(rules)}."))


def _pick_column(label: str, key: str, names: list[str], about: str) -> None:
    """A box for one of these columns, or none."""
    pick(
        "selectbox",
        label,
        key,
        [None, *names],
        format_func=lambda name: "none" if name is None else name,
        placeholder="none",
        help=about,
    )


def _choose_weight(table: Table, kept: tuple[Column, ...]) -> None:
    """Survey weights, their declared total, and what they follow from."""
    names = [
        c.name for c in kept if c.kind in ("number", "code") and c.name != session.choices().settings.outcome
    ]
    declared = {entry.column for entry in table.codebook.columns if entry.role == "weight"}
    names.sort(key=lambda name: name not in declared)
    a, b, c = st.columns([2, 4, 3], gap="medium")
    with a:
        _pick_column(
            "Survey weight",
            "settings.weight",
            names,
            "A column that says for how many of the population a record stands. It is kept in a released file, "
            "and accuracy is shown by it too. Measured synthesis counts by class of weight.",
        )
    if session.choices().settings.weight is None:
        return
    with b:
        number(
            "N, records of the population that the weights stand for",
            "settings.weight_total",
            limits.WEIGHT_TOTAL,
            placeholder="not declared: weights stay out of the likelihood",
            help="Declared, not summed up from the table. Each record then weighs w/W in the fit, W = N/n, and the "
            "model is one of the population and not of the sample.",
            format="%.0f",
        )
    with c:
        pick(
            "selectbox",
            "The weights follow from",
            "settings.weight_basis",
            list(BASES),
            format_func=BASES.__getitem__,
            help="What follows from other people's answers, or is secret, is covered by no proof.",
        )


def _choose_unit(table: Table) -> None:
    """Units of several records, whose size is declared."""
    declared = {entry.column for entry in table.codebook.columns if entry.role == "unit"}
    names = sorted((c.name for c in table.columns), key=lambda name: name not in declared)
    a, b, _ = st.columns([2, 4, 3], gap="medium")
    with a:
        _pick_column(
            "Unit of several records",
            "settings.unit_column",
            names,
            "A household, a firm, a person of a panel: ε then covers everything about one unit together. The "
            "column itself is not released.",
        )
    if session.choices().settings.unit_column is not None:
        with b:
            number(
                "Most records of a unit, declared",
                "settings.unit_size",
                limits.UNIT_SIZE,
                step=1,
                help="From knowledge of the survey. Each record gets this part of ε; a table with a larger unit is "
                "refused.",
            )


def ruled_out(table: Table, synthesized: set[str]) -> list[str]:
    """Columns that the codebook keeps from being chosen, and why, a sentence for each reason."""
    names: dict[str, list[str]] = {}
    for entry in table.codebook.columns:
        column = table.column(entry.column)
        if entry.confidential and column.kind != "empty" and entry.column not in synthesized:
            names.setdefault(entry.confidential, []).append(entry.column)
    return [
        f"Declared {why}, so no predictor, which would be released as it is: {', '.join(columns)}."
        if why == "sensitive"
        else f"Declared {why}, so neither synthesized nor a predictor, and never released: {', '.join(columns)}."
        for why, columns in names.items()
    ]


def _ask_of_codes() -> None:
    """Predictors that look like codes and are taken as quantities."""
    s = session.choices().settings
    codes = session.current().table.codes_among(n for n in s.predictors if n not in s.categorical)
    if codes:
        names = ", ".join(session.plain(name) for name in codes)
        st.caption(f"Few whole numbers, as codes have: {names}. Taken as quantities unless they stand here.")


def _codes(columns: tuple[Column, ...]) -> list[Column]:
    """Whole numbers that may be categories, those of the fewest values first."""
    possible = [c for c in columns if c.kind == "code" or (c.whole and c.distinct <= limits.MAX_LEVELS)]
    return sorted(possible, key=lambda c: c.distinct > FEW_CODES)


def _warn_of_names(outcome: str, predictors: tuple[str, ...]) -> None:
    """Columns that name a record: a synthetic one says nothing, and one that is kept says whose record it is."""
    columns = {c.name for c in session.current().table.columns if c.identifier}
    if outcome in columns:
        st.warning(
            f"{session.plain(outcome)} seems to be an ID, which names a record and measures nothing: take another "
            "sensitive variable.",
            icon=":material/badge:",
        )
    kept = ", ".join(session.plain(name) for name in predictors if name in columns)
    if kept:
        st.warning(
            f"{kept}: seems to be an ID, and predictors are released as they are. It would name each record.",
            icon=":material/badge:",
        )


def check_choice() -> bool:
    """Say whether the choice can be fitted, in words; True if it can."""
    try:
        settings = session.settings()
        selection = selected(session.current().table, settings)
        model = build_model(settings.model, selection.records, **settings.model_options)
    except InputError as error:
        st.error(session.plain(str(error)), icon=":material/error:")
        return False
    _warn_of_names(settings.outcome, settings.predictors)
    lost = {k: v for k, v in selection.dropped_by.items() if v}
    note = (
        ("; missing values: " + ", ".join(f"{session.plain(k)} in {v:,} rows" for k, v in lost.items()))
        if lost
        else ""
    )
    st.info(  # not green: that it can be fitted says nothing of how private or accurate it is
        f"Ready: {selection.records.n:,} complete rows of {session.current().table.rows:,}{note}. "
        f"{model.label}, {model.density_scale}.",
        icon=":material/info:",
    )
    st.page_link("pages/compare.py", label="Compare the synthesizers", icon=":material/compare_arrows:")
    return True
