"""The columns of the table in use as one table: role, kind, model and its fit, share of ε. No value is shown."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from synth_core.analysis.records.blocks import Block, shares_of
from synth_core.data.codebook import BETWEEN, KINDS, Entry
from synth_core.data.column import Column
from synth_core.data.readers import DELIMITERS, SIGNS
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import family
from synth_core.system.characters import visible
from synth_core.system.number_text import declared
from synth_core.ui.data import roles
from synth_core.ui.data.codebook import declare
from synth_core.ui.data.fit import Fit, worst_of
from synth_core.ui.data.readiness import Readiness
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

HERE = Path(__file__).parent
PLACE = "columns"
KEY = "columns_table"
ORDER = "order_of_columns"
SEEN = "columns_seen"  # the number of the last change of a row that was taken
OPEN = "open_column"  # the name of the column whose details are shown; without one that of the settings
KIND_WORDS = {"code": "number code", "text": "text", "date": "date", "number": "number", "empty": "empty"}


@dataclass
class Order:
    """The order of the rows.

    Attributes
    ----------
    file : tuple of str
        Name and columns of the table: read in another way it is the same one.
    reading : str
        How it was read when the rows were last shown.
    names : list of str
        The columns in their order.
    sorted_at : str
        The reading for which they were sorted.
    """

    file: tuple[str, ...]
    reading: str
    names: list[str]
    sorted_at: str


@functools.cache
def _component() -> Callable[..., Any]:
    return st.components.v2.component(
        "synth_columns",
        html='<div class="columns"></div>',
        css=(HERE / "columns_table.css").read_text(encoding="utf-8"),
        js=(HERE / "columns_table.js").read_text(encoding="utf-8"),
        isolate_styles=False,
    )


def in_use() -> None:
    """Which table is in use, and how it was read."""
    used = session.current().table
    kind = "confidential" if used.confidential else "public or simulated"
    size = f"{used.rows:,} rows, {len(used.columns)} columns"
    st.markdown(f"In use: **{session.plain(used.name)}**, {size}, {kind}{_reading(used)}")
    for question in used.questions.values():
        st.warning(session.plain(question), icon=":material/help:")
    for notice in used.read_options.notices:
        st.warning(notice, icon=":material/info:")


def _reading(table: Table) -> str:
    """How a table was read, in words; empty where nothing was to be found out."""
    used = table.read_options
    if used.sheet is not None:
        return f" · sheet {session.plain(used.sheet)}"
    if used.delimiter is None:
        return ""
    word = DELIMITERS.get(used.delimiter, used.delimiter)
    return f" · read as {word}-separated {used.encoding}, decimal {SIGNS[table.decimal]}"


def opened() -> str:
    """The column whose details are shown: a sensitive one is also that which the settings describe."""
    browser = session.current()
    name: str | None = st.session_state.get(OPEN)
    known = {column.name for column in browser.table.columns} - set(roles.sensitive_names(browser.choices))
    return name if name in known else browser.choices.settings.outcome


def show(ready: Readiness, fits: Mapping[str, Fit]) -> None:
    """The table of columns: those that are used first, as they were when it came."""
    browser = session.current()
    _component()(
        key=KEY,
        data={
            "rows": rows(ready, fits),
            "open": opened(),
            "records": len(browser.choices.whole) > 1,
            "order": _order(browser).sorted_at,
            "of": file_of(browser.table),
            "seen": st.session_state.setdefault(SEEN, 0),
        },
        on_changed_change=_changed,
    )
    session.show_message(PLACE)


def rows(ready: Readiness, fits: Mapping[str, Fit]) -> list[dict[str, Any]]:
    """The rows, as plain values."""
    browser = session.current()
    columns = {column.name: column for column in browser.table.columns}
    return [_row(browser, columns[name], ready, fits) for name in _order(browser).names]


def file_of(table: Table) -> tuple[str, ...]:
    """The name and the columns of a file: the same while it is read anew, as when a kind is declared."""
    return (table.name, *(column.name for column in table.columns))


def _order(browser: Browser) -> Order:
    """The columns with those in use first; they stay where they are while a file is in use, however it is read.

    They are sorted anew where another reading of it proposes other variables to somebody who has chosen nothing yet.
    """
    table, choices = browser.table, browser.choices
    file = file_of(table)
    reading = f"{browser.tables} {table.fingerprint}"
    kept: Order | None = st.session_state.get(ORDER)
    if kept is not None and kept.file != file:
        kept = None
    if kept is not None and (kept.reading == reading or choices != choices.opening(table)):
        kept.reading = reading
        return kept
    place = {name: i for i, name in enumerate(roles.sensitive_names(choices))}
    ranks = (roles.SENSITIVE, roles.WEIGHT, roles.WEIGHT_TOO, roles.UNIT, roles.PREDICTOR, roles.PUBLIC)
    rank = {role: i for i, role in enumerate(ranks)}
    found = {name: roles.role_of(choices, table, name) for name in file[1:]}
    names = sorted(found, key=lambda name: (rank.get(found[name], len(rank)), place.get(name, 0)))
    sorted_at = kept.sorted_at if kept is not None and kept.names == names else reading
    made = Order(file, reading, names, sorted_at)
    st.session_state[ORDER] = made
    return made


def _row(browser: Browser, column: Column, ready: Readiness, fits: Mapping[str, Fit]) -> dict[str, Any]:
    name, choices, table = column.name, browser.choices, browser.table
    entry = table.codebook.get(name)
    role = roles.role_of(choices, table, name)
    blocks = {block.name: block for block in choices.described}
    block, several = blocks.get(name), len(blocks) > 1
    model, level, words = "", "", ""
    if role == roles.SENSITIVE:
        model = family(choices.settings.model if block is None else block.model).label
        level, words = _fit_words(name, ready, fits)
        if several:
            model = f"{list(blocks).index(name) + 1}. {model}"
    note = "; ".join(filter(None, (column.note, "" if entry is None else entry.note)))
    return {
        "name": visible(name),
        "role": role,
        "roles": list(roles.offered_roles(table, name)),
        "kind": _kind(browser, column, entry, role),
        "kinds": list(KINDS) if entry is not None and column.kind != "empty" else [],
        "model": model,
        "fit": level,
        "fit_words": words,
        "share": None
        if block is None or not several
        else ""
        if block.share is None
        else f"{100 * block.share:.6g}",
        "equal": "" if block is None else _equal_share(choices.described, block),
        "may_be_missing": None if block is None else block.missing is not None,
        "declared": _declared(entry, block),
        "missing": f"{column.missing:,}" if column.missing else "",
        "distinct": f"{column.distinct:,}",
        "note": visible(note),
        "used": role != roles.UNUSED,
    }


def _kind(browser: Browser, column: Column, entry: Entry | None, role: str) -> str:
    if role in (roles.PREDICTOR, roles.WEIGHT_TOO) and column.name in browser.choices.settings.categorical:
        return "category"
    if entry is not None:
        return str(entry.kind)
    return KIND_WORDS[column.kind]


def _fit_words(name: str, ready: Readiness, fits: Mapping[str, Fit]) -> tuple[str, str]:
    if name in ready.problems:
        return "todo", "to be described"
    if name in ready.doubts:
        return "todo", "seems a code"
    worst = worst_of(fits.values(), name)
    if worst is None:
        return "", ""
    level, words = worst.words
    return level, words if worst.name == name or level in ("fits", "todo") else f"{worst.name}: {words}"


def _equal_share(blocks: tuple[Block, ...], block: Block) -> str:
    try:
        share = shares_of(blocks)[blocks.index(block)]
    except InputError:
        return "?"
    return f"{100 * share:.3g}"


def _declared(entry: Entry | None, block: Block | None) -> str:
    """What is declared of a column, in its codebook or as its model is described, in a few words."""
    options = {} if block is None else block.options
    categories = options.get("categories") or (() if entry is None else entry.categories)
    bounds = options.get("bounds") or (None if entry is None else entry.bounds)
    parts = [f"{len(categories)}\u00a0categories"] if categories else []
    if bounds is not None:
        parts.append(BETWEEN.join(declared(end) for end in bounds))
    if entry is None:
        return ", ".join(parts)
    parts += ["1 rule" if len(entry.rules) == 1 else f"{len(entry.rules)} rules"] if entry.rules else []
    return ", ".join(parts)


def _changed() -> None:
    """Component callback: what was chosen in rows since the last one, in order."""
    for what in json.loads(st.session_state[KEY].get("changed") or "[]"):
        if what["number"] > st.session_state[SEEN]:
            st.session_state[SEEN] = what["number"]
            session.attempt(PLACE, _take_shown, what["of"], what["name"], what["field"], what["value"])


def _take_shown(of: list[str], shown: str, field: str, value: Any) -> None:
    """What was chosen for a column of the table that was shown; raises InputError where that is in use no more."""
    table = session.current().table
    name = next((c.name for c in table.columns if visible(c.name) == shown), None)
    if name is None or tuple(of) != file_of(table):
        raise InputError(
            f"The table in use has changed since the columns were shown: it is {table.name} now, and what was "
            f"chosen for {shown} was not taken."
        )
    _take(name, field, value)


def _take(name: str, field: str, value: Any) -> None:
    browser = session.current()
    if field == "open":
        open_column(name)
    elif field == "role":
        take_role(name, str(value))
    elif field == "kind":
        declare(name, {"kind": value})
        browser = session.current()
        left = tuple(each for each in browser.choices.settings.categorical if each != name)
        choices = browser.choices.with_settings(categorical=left)  # its kind says so from now on
        session.change(roles.of_kind(choices, browser.table, name, str(value)))
    elif field == "share":
        _take_share(name, str(value))
    elif field == "may_be_missing":
        missing = () if value else None
        session.change(roles.with_block(browser.choices, name, missing=missing))
        if not value and any(b.name == name and b.missing is not None for b in session.choices().whole):
            raise InputError(f"A rule says in which records {name} is missing: take the rule back first.")


def open_column(name: str) -> None:
    """Callback: show the details of a column; a sensitive one is described from now on."""
    choices = session.choices()
    st.session_state[OPEN] = name
    if choices.whole and name != choices.settings.outcome and name in roles.sensitive_names(choices):
        session.describe(name)


def take_role(name: str, role: str) -> None:
    """Callback: a column gets a role; where its codebook says otherwise, that is declared anew. Raises InputError."""
    browser = session.current()
    changed = roles.with_role(browser.choices, browser.table, name, role)
    wanted = roles.redeclared(browser.table, name, role)
    if wanted is not None:
        declare(name, {"role": wanted})  # no predictor before it may be one
        changed = roles.with_role(session.choices(), session.current().table, name, role)
    session.change(changed)
    if role in (roles.SENSITIVE, roles.WEIGHT, roles.WEIGHT_TOO, roles.UNIT):  # of which there is more to say
        st.session_state[OPEN] = name
    elif st.session_state.get(OPEN) == name:
        st.session_state[OPEN] = None


def _take_share(name: str, text: str) -> None:
    try:
        share = None if not text.strip() else float(text) / 100
    except ValueError:
        raise InputError("A share of ε is a number of percent.") from None
    if share is not None and not 0.001 <= share <= 0.999:
        raise InputError(f"The share of {name} was not taken: it must lie between 0.1 and 99.9 %.")
    session.change(roles.with_block(session.choices(), name, share=share))
