"""The codebook of the table in use: what each column is, why, and how it is changed. No value is shown."""

from __future__ import annotations

from typing import Any, get_args

import pandas as pd
import streamlit as st

from synth_core.data.codebook import BETWEEN, KINDS, SEPARATOR, Entry, Role, parse_codebook
from synth_core.data.readers import DELIMITERS, SIGNS
from synth_core.errors import InputError
from synth_core.ui.data.table import read_again
from synth_core.ui.shared.uploads import upload_of
from synth_core.ui.state import session

PLACE = "codebook"
NONE = "none"
BLANK = "–"  # of what does not apply, or is not said: an empty cell of a choice would show None
THOUSANDS = (NONE, ",", ".", " ", "'")
HEIGHT = 284  # seven rows: the page does not jump between files
CHANGED = {  # a heading of the table, and the attribute of an entry that it changes
    "Kind": "kind",
    "Role": "role",
    "Missing marks": "missing",
    "Categories": "categories",
    "Bounds": "bounds",
    "Rules": "rules",
    "Decimal": "decimal",
    "Thousands": "thousands",
}


def describe() -> None:
    """Show which table is in use, how it was read, and its codebook: to be changed where the file is still at hand."""
    used = session.current().table
    kind = "confidential" if used.confidential else "public or simulated"
    st.markdown(
        f"In use: **{session.plain(used.name)}**, {used.rows:,} rows, {len(used.columns)} columns, {kind}{_reading()}"
    )
    for question in used.questions.values():
        st.warning(session.plain(question), icon=":material/help:")
    if upload_of("table_file", used) is None:
        st.dataframe(
            _rows()[["Column", "Kind", "Missing", "Distinct", "Note"]], hide_index=True, height=HEIGHT
        )
        return
    key = f"codebook_{used.identity}"
    st.data_editor(
        _rows(),
        key=key,
        hide_index=True,
        height=HEIGHT,
        num_rows="fixed",
        disabled=["Column", "Missing", "Distinct", "Note"],
        column_config={
            "Column": st.column_config.TextColumn(pinned=True),
            "Kind": st.column_config.SelectboxColumn(options=list(KINDS), required=True),
            "Role": st.column_config.SelectboxColumn(
                options=[BLANK, *get_args(Role)],
                help="Public: kept in a release as it is, a predictor or not. Sensitive: never kept as it is. What "
                "nobody declares stays out of a release unless it is a predictor.",
            ),
            "Missing marks": st.column_config.TextColumn(
                help=f"Texts that mean missing, parted by {SEPARATOR}"
            ),
            "Categories": st.column_config.TextColumn(
                help=f"Declared, in their order, parted by {SEPARATOR}. Take them from the questionnaire."
            ),
            "Bounds": st.column_config.TextColumn(
                help="Declared least and largest value, such as 0 to 100, from knowledge of the variable."
            ),
            "Rules": st.column_config.TextColumn(
                help=f"Structural zeros, which every synthetic record keeps, parted by {SEPARATOR}: AGE < 15 -> INCOME "
                "missing; AGE < 15 -> STATUS = 6. With <-> the value is missing in no other record."
            ),
            "Decimal": st.column_config.SelectboxColumn(options=[BLANK, ".", ","]),
            "Thousands": st.column_config.SelectboxColumn(options=[BLANK, *THOUSANDS]),
            "Note": st.column_config.TextColumn(width="medium"),
        },
        on_change=session.attempt,
        args=(PLACE, _take, key),
    )
    session.show_message(PLACE)
    with st.expander("Save this codebook, or take one from a file"):
        st.download_button(
            "Save this codebook",
            used.codebook.to_json(),
            "codebook.json",
            "application/json",
            help="For the command line and for the next file of the same kind.",
            on_click="ignore",
        )
        st.file_uploader(
            "Codebook",
            type=["json", "csv", "xml"],
            key="codebook_file",
            on_change=session.attempt,
            args=(PLACE, _take_codebook),
            help="As this page and the command `codebook` write it; a data dictionary of NIST; or DDI-Codebook XML.",
        )


def _rows() -> pd.DataFrame:
    """The codebook as rows, in the order of the columns."""
    used = session.current().table
    entries = {entry.column: entry for entry in used.codebook.columns}
    rows: list[dict[str, Any]] = []
    for column in used.columns:
        entry = entries.get(column.name)
        row: dict[str, Any] = {"Column": column.name, "Kind": column.kind if entry is None else entry.kind}
        note = "; ".join(filter(None, (column.note, "" if entry is None else entry.note)))
        row |= {"Role": BLANK, "Missing": column.missing, "Distinct": column.distinct, "Note": note}
        if entry is not None:
            signs = entry.kind == "number" and column.name not in used.questions
            row |= {
                "Role": entry.role or BLANK,
                "Missing marks": SEPARATOR.join(entry.missing),
                "Categories": SEPARATOR.join(entry.categories),
                "Bounds": "" if entry.bounds is None else BETWEEN.join(f"{end:.12g}" for end in entry.bounds),
                "Rules": SEPARATOR.join(entry.rules),
                "Decimal": entry.decimal if signs else BLANK,
                "Thousands": (entry.thousands or NONE) if signs else BLANK,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def _take(key: str) -> None:
    """Widget callback: the file is read again by the changed entries; raises InputError."""
    used = session.current().table
    entries = {entry.column: entry for entry in used.codebook.columns}
    changed = []
    for row, cells in st.session_state[key]["edited_rows"].items():
        entry = entries[used.columns[int(row)].name]
        given = _attributes(entry, {CHANGED[heading]: value for heading, value in cells.items()})
        try:
            changed.append(Entry.model_validate(entry.model_dump() | given | {"note": "declared here"}))
        except ValueError as error:
            raise InputError(f"Column '{entry.column}': {_rule(error)}.") from None
    read_again(used.declared_codebook.updated(changed))


def _attributes(entry: Entry, cells: dict[str, Any]) -> dict[str, Any]:
    """The attributes that the changed cells of a row say; a cell that was cleared is None."""
    given: dict[str, Any] = {name: cell for name, cell in cells.items() if cell not in (None, BLANK)}
    for name in ("missing", "categories", "rules"):
        if name in cells:
            given[name] = tuple(filter(None, (cells[name] or "").split(SEPARATOR)))
    if len(given.get("categories", entry.categories)) != len(entry.labels):
        given["labels"] = ()  # of other categories
    if "role" in cells:
        given.setdefault("role", "")
    if "bounds" in cells:
        ends = [end.strip() for end in (cells["bounds"] or "").split(BETWEEN.strip())]
        if len(ends) != 2 and any(ends):
            raise InputError(f"Column '{entry.column}': bounds are written as 0 to 100.")
        given["bounds"] = tuple(ends) if any(ends) else None
    if "thousands" in cells:
        sign = given["thousands"] = "" if cells["thousands"] in (BLANK, None, NONE) else cells["thousands"]
        if sign and sign == given.get("decimal", entry.decimal):  # a point between thousands: a decimal comma
            given["decimal"] = "," if sign == "." else "."
    return given


def _take_codebook() -> None:
    """Widget callback: read the table again by an uploaded codebook; raises InputError."""
    upload = st.session_state.get("codebook_file")
    if upload is not None:
        read_again(parse_codebook(upload.getvalue(), upload.name))


def _rule(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    return error.errors(include_input=False, include_url=False)[0]["msg"].removeprefix("Value error, ")


def _reading() -> str:
    """How the table in use was read, in words; empty where nothing was to be found out."""
    table = session.current().table
    used = table.read_options
    if used.sheet is not None:
        return f" · sheet {session.plain(used.sheet)}"
    if used.delimiter is None:
        return ""
    word = DELIMITERS.get(used.delimiter, used.delimiter)
    return f" · read as {word}-separated {used.encoding}, decimal {SIGNS[table.decimal]}"
