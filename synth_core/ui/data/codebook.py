"""The codebook of the table in use: how an entry is changed, saved, and taken from a file. No value is shown."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.data.codebook import BETWEEN, ROLE_WORDS, SEPARATOR, Codebook, Entry
from synth_core.data.codebook_file import LISTS, cell_of, parse_codebook
from synth_core.data.rules import typeset
from synth_core.errors import InputError
from synth_core.ui.data.roles import PUBLIC, UNUSED, role_of
from synth_core.ui.shared.uploads import held
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

PLACE = "codebook"
FILE = "codebook_taken"  # beside the file, which is far from the column that is open
NONE = "none"
BLANK = "–"  # of what does not apply, or is not said
THOUSANDS = (NONE, ",", ".", " ", "'")


def declare(name: str, cells: dict[str, Any]) -> None:
    """The file is read again by an entry in which these cells are changed; raises InputError."""
    used = session.current().table
    if "reading_file" in st.session_state:  # of the table that comes nothing is known yet
        raise InputError("The file is being read. Change it once it is there.")
    entry = used.codebook.get(name)
    if entry is None:
        raise InputError(f"Nothing can be declared of '{name}': the table in use is an example.")
    given = attributes(entry, cells)
    try:
        changed = Entry.model_validate(entry.model_dump() | given | {"note": "declared here"})
    except ValueError as error:
        raise InputError(f"Column '{name}': {_rule(error)}.") from None
    if changed.model_copy(update={"note": entry.note}) == entry:
        return  # a widget that is drawn anew may send what stands there already
    session.read_again(used.declared_codebook.updated([changed]))


def attributes(entry: Entry, cells: dict[str, Any]) -> dict[str, Any]:
    """The attributes that changed cells of an entry say; a cell that was cleared is None."""
    given: dict[str, Any] = {name: cell for name, cell in cells.items() if cell not in (None, BLANK)}
    given |= {name: read(cells[name] or "") for name, read in LISTS.items() if name in cells}
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


def _rule(error: ValueError) -> str:
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    return error.errors(include_input=False, include_url=False)[0]["msg"].removeprefix("Value error, ")


def entry_fields(name: str) -> None:
    """What the codebook says of a column beside its kind and role, to be changed."""
    used = session.current().table
    entry = used.codebook.get(name)
    if entry is None:
        st.caption("The examples have no codebook.")
        return
    signs = entry.kind == "number" and name not in used.questions
    fields = (
        (
            "missing",
            "Missing marks",
            cell_of(entry.missing),
            "Texts that mean missing, parted by commas, or by | where one holds a comma",
        ),
        (
            "categories",
            "Categories of the column",
            cell_of(entry.categories),
            "All that may occur, in their order, parted by commas, or by | where one holds a comma; 1 to 12 stands for "
            "twelve. Take them from the questionnaire.",
        ),
        (
            "bounds",
            "Bounds of the column",
            "" if entry.bounds is None else BETWEEN.join(f"{end:.12g}" for end in entry.bounds),
            "Declared least and largest value, such as 0 to 100, from knowledge of the variable.",
        ),
        (
            "rules",
            "Rules",
            SEPARATOR.join(map(typeset, entry.rules)),
            f"Structural zeros, which every synthetic record keeps, parted by {SEPARATOR}: AGE < 15 -> INCOME missing; "
            "AGE < 15 -> STATUS = 6 or 7; AGE < 18 -> INCOME <= 50000; WAGES <= INCOME. With <-> it is missing in no "
            "other record. The signs →, ↔, ≤, ≥ and ≠ are read too.",
        ),
    )
    for place, (field, label, value, about) in zip([*st.columns(2), *st.columns(2)], fields, strict=True):
        key = _key(name, field)
        place.text_input(label, value, key=key, help=about, on_change=_typed, args=(name, field, key))
    a, b = st.columns(2)
    for place, field, label, options, now in (
        (a, "decimal", "Decimal", (".", ","), entry.decimal),
        (b, "thousands", "Thousands", THOUSANDS, entry.thousands or NONE),
    ):
        key = _key(name, field)
        place.selectbox(
            label,
            options if signs else (BLANK,),
            options.index(now) if signs else 0,
            key=key,
            disabled=not signs,
            on_change=_typed,
            args=(name, field, key),
        )


def _key(name: str, field: str) -> str:
    """The key of a widget that belongs to one column of one reading of one table."""
    return f"entry_{field}_{name}_{session.current().table.identity}"


def _typed(name: str, field: str, key: str) -> None:
    """Widget callback; of another reading of the table than that in use it is late, and its value old."""
    if key == _key(name, field):
        session.attempt(PLACE, declare, name, {field: st.session_state.get(key)})


def save_or_take() -> None:
    """Save the codebook with the roles that were chosen, or take one from a file."""
    browser = session.current()
    if not browser.table.codebook.columns:
        st.caption("The examples have no codebook.")
        return
    text = with_roles(browser).to_json()
    st.download_button(
        "Save this codebook",
        lambda: (
            text
        ),  # made a file once it is asked for: a browser would ask for one that a later run has replaced
        "codebook.json",
        "application/json",
        help="For the command line and for the next file of the same kind, with the roles chosen here.",
        on_click="ignore",
        width="stretch",
    )
    st.file_uploader(
        "Codebook",
        type=["json", "csv", "xml"],
        key="codebook_file",
        on_change=session.attempt,
        args=(FILE, _take_codebook),
        help="JSON or CSV as this page and the command `codebook` write it: a line for each column, its name under "
        "*column*, and what is declared under *kind*, *role*, *missing*, *categories*, *labels*, *bounds* or *rules*. "
        "Roles are sensitive, public, weight and unit; which public columns are predictors is chosen here. Or a data "
        "dictionary of NIST, or DDI-Codebook XML.",
    )
    session.show_message(FILE)


def with_roles(browser: Browser) -> Codebook:
    """The codebook of the table in use, with the roles that the choices give its columns."""
    entries = []
    for entry in browser.table.codebook.columns:
        role = role_of(browser.choices, browser.table, entry.column)
        kept = role == UNUSED and entry.role == "sensitive"  # it is never kept as it is, used or not
        declared = entry.role if kept or (role == PUBLIC and entry.role) else ROLE_WORDS[role]
        entries.append(entry.model_copy(update={"role": declared}))
    return Codebook(columns=tuple(entries))


def _take_codebook() -> None:
    """Widget callback: read the table again by an uploaded codebook; raises InputError."""
    upload = held(st.session_state.get("codebook_file"))
    if upload is None:
        return
    codebook, columns = parse_codebook(upload.getvalue(), upload.name), session.current().table.frame.columns
    if not codebook.only(map(str, columns)).columns:
        named = ", ".join(entry.column for entry in codebook.columns[:3])
        raise InputError(
            f"The codebook {upload.name} has none of the table's columns: it has {named} …, and the table "
            f"{', '.join(map(str, columns[:3]))} … Capitals count."
        )
    session.read_again(codebook)
