"""Each browser's table and choices: kept on the server, restored after a reload, undone."""

from __future__ import annotations

import copy
import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from synth_core import storage
from synth_core.cache import results_cache
from synth_core.design import select
from synth_core.errors import FitError, InputError
from synth_core.examples import half_of, load_example
from synth_core.keys import result_key
from synth_core.models import OwnProgram, family
from synth_core.points import MECHANISMS, find_mechanism
from synth_core.result import Result
from synth_core.settings import MODEL_OPTIONS, Settings, make_settings
from synth_core.table import Table
from synth_core.ui.choices import DEFAULTS, MAY_BE_NONE, NOT_SETTINGS, Browser, example_choices
from synth_core.ui.server import COOKIE

BROWSERS_KEPT = 64
IDLE_SECONDS = 8 * 3600
FIRST_EXAMPLE = "401ksubs"

_browsers: OrderedDict[str, Browser] = OrderedDict()
_lock = threading.Lock()


def current() -> Browser:
    """This browser's table and choices; a newcomer gets the first example."""
    if "browser" not in st.session_state:
        # Without cookies (they may be switched off) a session stands for its browser.
        # Who signs in on another's browser does not find the other's table there.
        name = _user() + (st.context.cookies.get(COOKIE) or secrets.token_urlsafe(32))
        with _lock:
            now = time.monotonic()
            for old in [k for k, b in _browsers.items() if now - b.used > IDLE_SECONDS]:
                del _browsers[old]
            if name not in _browsers:
                _browsers[name] = Browser(
                    load_example(FIRST_EXAMPLE), DEFAULTS | example_choices(FIRST_EXAMPLE)
                )
            _browsers.move_to_end(name)
            while len(_browsers) > BROWSERS_KEPT:
                _browsers.popitem(last=False)
            st.session_state["browser"] = _browsers[name]
            st.session_state["owner"] = secrets.token_urlsafe(16)
    browser: Browser = st.session_state["browser"]
    browser.used = time.monotonic()
    return browser


def take_over() -> None:
    """At the start of a run: what another tab of this browser chose meanwhile counts here too."""
    browser = current()
    if st.session_state.setdefault("revision", browser.revision) != browser.revision:
        st.session_state["revision"] = browser.revision
        _forget_widgets()


def owner() -> str:
    """The name under which this session asks for jobs."""
    return str(st.session_state["owner"])


def _user() -> str:
    """The signed-in user as the provider names them; empty where nobody signs in."""
    if not getattr(st.user, "is_logged_in", False):
        return ""
    return f"user:{st.user.get('iss', '')}:{st.user.get('sub', '')}"


def recognised() -> bool:
    """Whether a later visit can be known to be the same user's or browser's."""
    return bool(_user() or st.context.cookies.get(COOKIE))


def account() -> str:
    """Who owns runs: the signed-in user where sign-in is configured, else this browser."""
    name = _user() or f"browser:{st.context.cookies.get(COOKIE) or owner()}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]  # a cookie is not to be read from a file


def use_table(table: Table, choices: dict[str, Any]) -> None:
    """Replace the table and what was chosen from the old one; tuning settings stay."""
    browser = current()
    browser.table = table
    browser.reference = None
    browser.demo = False
    fresh = {name: DEFAULTS[name] for name in MODEL_OPTIONS - {"program"}}
    browser.choices |= fresh | {"bound_lower": None, "bound_upper": None} | choices
    browser.choices["risk_reference"] = "current"
    browser.noted = copy.deepcopy(browser.choices)
    browser.history.clear()  # of the old table's columns
    _forget_widgets()
    changed()


def use_example(key: str, rows: int | None, seed: int, half: int | None = None) -> None:
    """Load an example, or one half of it, with the columns and the model that fit it."""
    table = load_example(key, rows, seed)
    use_table(table if half is None else half_of(table, half), example_choices(key))


def use_settings(values: dict[str, Any], mechanisms: list[str]) -> None:
    """Take settings over that were kept; raises InputError if the table lacks one of their columns."""
    browser, kept = current(), make_settings(**values)
    for name in (kept.outcome, *kept.predictors):
        browser.table.column(name)
    for key in mechanisms:
        find_mechanism(key)
    dumped = {k: list(v) if isinstance(v, tuple) else v for k, v in kept.model_dump().items()}
    if dumped["risk_reference"] != browser.choices["risk_reference"]:
        dumped["risk_reference"] = browser.choices["risk_reference"]  # a table, which settings do not hold
    if kept.program is None:
        dumped["program"] = browser.choices["program"]
    else:  # it runs only once approved: on the page Own program, where it can be read now
        dumped["program_draft"] = kept.program
    lower, upper = kept.bounds or (None, None)
    composed = [key for key in mechanisms if key not in MECHANISMS]
    browser.choices |= dumped | {
        "bound_lower": lower,
        "bound_upper": upper,
        "mechanisms": list(mechanisms),
        "composed": [
            *browser.choices["composed"],
            *(k for k in composed if k not in browser.choices["composed"]),
        ],
    }
    _forget_widgets()
    changed()


def _forget_widgets() -> None:
    """Let every widget take its value from the choices again."""
    for key in [k for k in st.session_state if str(k).startswith(("choice_", "shown_"))]:
        del st.session_state[key]


def use_file(table: Table) -> None:
    """Take an uploaded table; the first number column is proposed as the outcome."""
    numbers = [c.name for c in table.columns if c.kind == "number"]
    outcome = numbers[0] if numbers else table.columns[0].name
    use_table(
        table,
        {
            "outcome": outcome,
            "predictors": [],
            "categorical": [],
            "model": "lognormal",
            "bounds": None,
        },
    )


def attempt(place: str, action: Callable[..., None], *args: Any) -> None:
    """Button callback: run `action`; words for the user go to `show_message(place)`.

    A callback runs before the page does, so no rerun is asked for that could overtake a click
    on another page.
    """
    try:
        action(*args)
    except (InputError, FitError) as error:
        st.session_state[f"message_{place}"] = str(error)
    except OSError as error:
        st.session_state[f"message_{place}"] = storage.explain(error, "A file of this server")


def show_message(place: str) -> None:
    """What went wrong at `place` in the last callback, once."""
    message = st.session_state.pop(f"message_{place}", None)
    if message:
        st.error(plain(message), icon=":material/error:")


def use_reference(table: Table | None) -> None:
    """Freeze the risk map on a table, or make weights from the current one again."""
    browser = current()
    browser.reference = table
    browser.choices["risk_reference"] = "current" if table is None else table.name
    browser.noted = copy.deepcopy(browser.choices)
    browser.history.clear()  # a step back would name a table that is not there
    changed()


def settings(**changes: Any) -> Settings:
    """The choices, with `changes`, as validated settings; raises InputError."""
    chosen = current().choices | changes
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in chosen.items() if k not in NOT_SETTINGS}
    if chosen["model"] != OwnProgram.name:
        values["program"] = None  # kept among the choices for when it is chosen again
    if family(chosen["model"]).needs_bounds and chosen["bounds"] is None and current().table.confidential:
        raise InputError(
            f"The {family(chosen['model']).label} model needs declared bounds of "
            f"'{chosen['outcome']}'; give them on the Data page."
        )
    return make_settings(**values)


def choose(name: str, *widgets: str, index: int | None = None) -> None:
    """Widget callback: store widget `widgets[0]`'s value and copy it to its twins.

    A number box that was cleared gets its stored value back.
    """
    if widgets[0] not in st.session_state:
        return  # an undo or another table came with the same run, and forgot it: that is the later word
    value = st.session_state[widgets[0]]
    browser = current()
    stored = browser.choices[name]
    if value is None and name not in MAY_BE_NONE:
        st.session_state[widgets[0]] = stored if index is None else stored[index]
        return
    if index is not None:
        stored = [value if i == index else old for i, old in enumerate(stored)]
    browser.choices[name] = value if index is None else stored
    for twin in widgets[1:]:
        st.session_state[twin] = value
    changed()


def choose_bound(name: str, widget: str) -> None:
    """Widget callback of a declared bound; both are needed, and either can be withdrawn."""
    if widget not in st.session_state:
        return  # as in `choose`
    choices = current().choices
    choices[f"bound_{name}"] = st.session_state[widget]
    pair = [choices["bound_lower"], choices["bound_upper"]]
    choices["bounds"] = pair if None not in pair else None
    changed()


def undo_steps() -> int:
    """How many changes can be taken back; notes the choices as they are, so that the next one can."""
    browser = current()
    if browser.noted is None:
        browser.noted = copy.deepcopy(browser.choices)
    return len(browser.history)


def undo() -> None:
    """Button callback: take the last change of the choices back."""
    browser = current()
    if browser.history:
        browser.choices = browser.history.pop()
        browser.noted = copy.deepcopy(browser.choices)
        _forget_widgets()
        changed()


def changed() -> None:
    """Note that the browser's choices changed, so that its other tabs take them over."""
    browser = current()
    if browser.noted is not None and browser.noted != browser.choices:
        browser.history.append(browser.noted)
        browser.noted = copy.deepcopy(browser.choices)
    in_step = st.session_state.get("revision") == browser.revision
    browser.revision += 1
    if in_step:  # else `take_over` still has another tab's changes to take
        st.session_state["revision"] = browser.revision


def outcome() -> np.ndarray:
    """The sensitive values of the complete rows, of shape (n_records,)."""
    browser, s = current(), settings()
    return select(browser.table, s.outcome, s.predictors, s.categorical).records.outcome


def stored_result(mechanism: str) -> Result | None:
    """A finished result of the current choices, with its arrays, from the cache."""
    browser = current()
    reference = browser.reference.fingerprint if browser.reference else None
    key = result_key(browser.table.fingerprint, settings(), find_mechanism(mechanism), reference)
    entry = results_cache().get(key)
    return None if entry is None else Result.from_entry(entry)


def plain(text: str) -> str:
    """Text from a user's file, safe inside Markdown."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>$:~&" else c for c in text)
