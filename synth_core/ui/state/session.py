"""This session's browser: found by its key, restored after a reload, shared by its tabs."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import streamlit as st

from synth_core.analysis.result import Result
from synth_core.analysis.result_key import result_key
from synth_core.analysis.selection import selected
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.on_screen import on_screen
from synth_core.data.codebook import Codebook
from synth_core.data.examples import half_of, load_example
from synth_core.data.table import Table, declared_again
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import files, memory
from synth_core.system.cache import results_cache
from synth_core.system.characters import isolated, visible
from synth_core.system.entries import read
from synth_core.ui.server.request_guard import BROWSER_HEADER
from synth_core.ui.state.browser import Browser, ExampleTable, Standing
from synth_core.ui.state.choices import FIRST_EXAMPLE, Choices, may_be_none, pairs, replaced, value_at
from synth_core.ui.state.first_choices import example_choices, opening_choices

BROWSERS_KEPT = 64
IDLE_SECONDS = 8 * 3600
WIDGET = "choice_"  # the key of every widget that shows a choice starts so

_browsers: OrderedDict[str, Browser] = OrderedDict()
_lock = threading.Lock()


# -- who this is ---------------------------------------------------------------------------------


def current() -> Browser:
    """This browser; a newcomer gets the first example."""
    if "browser" not in st.session_state:
        # Without a key (storage may be switched off) a session stands for its browser.
        # Who signs in on another's browser does not find the other's table there.
        name = _user() + (_key() or secrets.token_urlsafe(32))
        with _lock:
            now = time.monotonic()
            for old in [k for k, b in _browsers.items() if now - b.used > IDLE_SECONDS]:
                del _browsers[old]
            if name not in _browsers:
                first = ExampleTable(FIRST_EXAMPLE)
                _browsers[name] = Browser(load_example(first.key), opening_choices(), example=first)
            _browsers.move_to_end(name)
            while len(_browsers) > BROWSERS_KEPT:
                _browsers.popitem(last=False)
            st.session_state["browser"] = _browsers[name]
            st.session_state["owner"] = secrets.token_urlsafe(16)
    browser: Browser = st.session_state["browser"]
    browser.used = time.monotonic()
    return browser


def owner() -> str:
    """The name under which this session asks for jobs."""
    return str(st.session_state["owner"])


def _user() -> str:
    """The signed-in user as the provider names them; empty where nobody signs in."""
    if not getattr(st.user, "is_logged_in", False):
        return ""
    return f"user:{st.user.get('iss', '')}:{st.user.get('sub', '')}"


def _key() -> str | None:
    """The browser's key: only its own pages know it, and only to this origin it is sent."""
    key: str | None = st.context.headers.get(BROWSER_HEADER)
    return key


def recognised() -> bool:
    """Whether a later visit can be known to be the same user's or browser's."""
    return bool(_user() or _key())


def account() -> str:
    """The owner of runs: the signed-in user where sign-in is configured, else this browser."""
    name = _user() or f"browser:{_key() or owner()}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]  # a key is not to be read from a file


# -- reading the choices -------------------------------------------------------------------------


def choices() -> Choices:
    """What this browser has chosen."""
    return current().choices


def settings(**changes: Any) -> Settings:
    """The choices, with `changes`, as validated settings; raises InputError."""
    return current().settings(**changes)


def outcome() -> np.ndarray:
    """The sensitive values of the complete rows, of shape (n_records,)."""
    browser, s = current(), settings()
    return selected(browser.table, s).records.outcome


def key_of_result(mechanism: str) -> str:
    """The key of a result of the current choices in the cache."""
    browser = current()
    reference = browser.reference.fingerprint if browser.reference else None
    return result_key(browser.table.fingerprint, settings(), find_mechanism(mechanism), reference)


def stored_result(mechanism: str) -> Result | None:
    """A finished result of the current choices, with its arrays, from the cache."""
    return read(results_cache(), Result, key_of_result(mechanism))


# -- changing them -------------------------------------------------------------------------------


def _in_step(act: Callable[[Browser], None], forget: bool) -> None:
    """Change the browser; this session stays in step with it, unless another tab came first."""
    browser = current()
    in_step = st.session_state.get("revision") == browser.revision
    before, tables, playing = browser.choices, browser.tables, browser.playing
    act(browser)
    if playing is not None and browser.playing is None:
        renew(playing.place)
    if forget:
        same = set[str]()
        if browser.tables == tables:  # with another table they are other widgets anyway
            same = _renew_changed(before, browser.choices)
        _forget_widgets(same if in_step else set())
    if in_step:  # else `take_over` still has another tab's changes to take
        st.session_state["revision"] = browser.revision


def widget_key(place: str, twin: str = "") -> str:
    """The key of the widget that shows a choice; with another table, or renewed, it is another widget.

    A browser that asks for a run before it has the new page sends its old widgets along, and their values, the old
    table's columns, would count as newly chosen. Where two widgets show one choice, each is a `twin` with a name.
    """
    tables, renewed = current().tables, st.session_state.get("renewed", {})
    key = WIDGET + place + (f"@{tables}" if tables else "") + _mark(renewed.get(place))
    return key + (f"_{twin}" + _mark(renewed.get((place, twin))) if twin else "")


def _mark(times: int | None) -> str:
    return f"#{times}" if times else ""


def renew(place: str, twin: str = "") -> None:
    """Let another widget show a choice from now on: what the browser still sends of the one before is ignored."""
    times = st.session_state.setdefault("renewed", {})
    which = (place, twin) if twin else place
    times[which] = times.get(which, 0) + 1


def _place_of(key: str) -> str:
    """The place of the choice that a widget shows, by its key."""
    return re.sub(r"[@#].*|_(?:slider|number)(?:#.*)?$", "", key.removeprefix(WIDGET))


def _renew_changed(before: Choices, after: Choices) -> set[str]:
    """Other widgets for the choices that the program changed: the browser may still send those of before.

    Returns the places of those that it did not change: set again, they would undo a click under way.
    """
    same = set()
    for place in {_place_of(str(key)) for key in st.session_state if str(key).startswith(WIDGET)}:
        with contextlib.suppress(
            AttributeError, IndexError, TypeError, ValueError
        ):  # not all are of one choice
            if value_at(before, place) == value_at(after, place):
                same.add(place)
            else:
                renew(place)
    return same


def is_late(place: str, widget: str, twin: str = "") -> bool:
    """Whether a widget of a place is one from before another table or a change by the program: its value is old."""
    return widget.startswith(WIDGET) and not widget.startswith(widget_key(place, twin))


def take_over() -> None:
    """Take over at the start of a run what another tab of this browser chose meanwhile."""
    browser = current()
    if st.session_state.setdefault("revision", browser.revision) != browser.revision:
        st.session_state["revision"] = browser.revision
        _forget_widgets()


def _forget_widgets(but: Collection[str] = ()) -> None:
    """Let every widget take its value from the choices again, but those of some places."""
    for key in [k for k in st.session_state if str(k).startswith((WIDGET, "shown_"))]:
        if not (str(key).startswith(WIDGET) and _place_of(str(key)) in but):
            del st.session_state[key]


def change(changed: Choices, undoable: bool = True) -> None:
    """Take other choices; their widgets show them."""
    _in_step(lambda browser: browser.change(changed, undoable), forget=True)


def put(place: str, value: Any, undoable: bool = True) -> None:
    """Choose a value at a place, such as "settings.scale"; the widget there has it already."""
    changed = replaced(choices(), place, value)
    _in_step(lambda browser: browser.change(changed, undoable), forget=False)


def choose(place: str, widget: str, twin: str = "", other: str = "") -> None:
    """Widget callback: store the widget's value. The `other` of two twins that show it is renewed.

    A number box that was cleared gets its stored value back.
    """
    if widget not in st.session_state or is_late(place, widget, twin):
        return  # an undo or another table came with the same run, or before it: that is the later word
    value = st.session_state[widget]
    if value is None and not may_be_none(place):
        st.session_state[widget] = value_at(choices(), place)
        return
    put(place, value)
    if other:  # a click before the browser has the new page sends the other's old value, which is no choice
        renew(place, other)


def describe(name: str) -> None:
    """Callback: the settings speak of this sensitive variable from now on."""
    change(choices().describing(name), undoable=False)


def go_to(step: int) -> None:
    """Button callback: take the choices of another step over, counted from the oldest that is kept."""
    _in_step(lambda browser: browser.go_to(step), forget=True)


def come_back(to: Standing) -> None:
    """Take everything back that was chosen since these choices stood, as if it had not been."""
    _in_step(lambda browser: browser.come_back(to), forget=True)


def undo() -> None:
    """Button callback: take the last change of the choices back."""
    go_to(len(current().history) - 1)


def redo() -> None:
    """Button callback: make the change again that was taken back last."""
    go_to(len(current().history) + 1)


def end_play() -> None:
    """Come back to the value from before a play, if one goes on."""
    _in_step(Browser.end_play, forget=False)


def use_table(table: Table, chosen: Choices, example: ExampleTable | None = None) -> None:
    """Replace the table, with choices that fit it."""
    _in_step(lambda browser: browser.use_table(table, chosen, example), forget=True)
    memory.give_back()  # what the table before it held


def use_example(key: str, rows: int | None, seed: int, half: int | None = None) -> None:
    """Load an example, or one half of it, with the columns and the model that fit it."""
    table = load_example(key, rows, seed)
    table = table if half is None else half_of(table, half)
    use_table(table, example_choices(choices(), key), ExampleTable(key, rows, seed, half))


def use_file(table: Table) -> None:
    """Take an uploaded table with what it opens with; read in another way, what was chosen stays."""
    before, chosen = current().table, choices()
    again = before.name == table.name and list(before.frame.columns) == list(table.frame.columns)
    marked = table.with_missing(before.missing) if again else table  # what meant missing still does
    offered = {column.name for column in marked.offered()}
    kept = again and chosen.settings.outcome in offered and chosen != chosen.opening(before)
    use_table(table, chosen if kept else chosen.opening(marked))
    use_missing(marked.missing)


def read_again(codebook: Codebook) -> None:
    """Read the cells of the table in use, as its file wrote them, by these entries too; raises InputError."""
    browser = current()
    after = declared_again(browser.as_read, codebook)
    reference, inherited = _reference_by(after), browser.inherited
    use_file(after)
    use_reference(reference)
    browser.inherited = inherited  # what was chosen was chosen on this table


def use_codebook(codebook: Codebook | None) -> None:
    """Read the table's file by a codebook that came with settings; raises InputError if the file breaks it."""
    browser = current()
    if codebook is None or browser.example is not None:
        return
    after = declared_again(browser.as_read, codebook)
    if after is not browser.as_read:
        marks, reference = browser.table.missing, _reference_by(after)
        use_table(after, choices())
        use_missing(marks)
        use_reference(reference)


def use_missing(markers: Iterable[str]) -> None:
    """Say which values mean missing in the table; raises InputError."""
    _in_step(lambda browser: browser.use_missing(markers), forget=True)


def begin_demo(table: Table, chosen: Choices) -> None:
    """Show a simulated table until `end_demo`; what is in use is put aside."""
    _in_step(lambda browser: browser.begin_demo(table, chosen), forget=True)


def end_demo() -> None:
    """Button callback: bring back what was in use before the demonstration."""
    _in_step(Browser.end_demo, forget=True)


def use_reference(table: Table | None) -> None:
    """Freeze the risk map on a table, which is read as the one in use is declared, or make weights from the current
    one again; raises InputError.
    """
    read = None if table is None else _read_as(current().table, table)
    _in_step(lambda browser: browser.use_reference(read), forget=False)


def _reference_by(after: Table) -> Table | None:
    """The table that the risk map is frozen on, read as another reading of the table in use; raises InputError."""
    reference = current().reference
    return None if reference is None else _read_as(after, reference)


def _read_as(table: Table, reference: Table) -> Table:
    try:
        return declared_again(reference, table.declared_codebook)
    except InputError as error:
        raise InputError(f"The table that the risk map is frozen on, {reference.name}: {error}") from None


def use_settings(kept: Settings, mechanisms: list[str] | tuple[str, ...], **more: Any) -> None:
    """Take settings over that were kept; raises InputError if the table lacks one of their columns.

    Parameters
    ----------
    more
        Choices that came with them, such as the rule; the others stay.
    """
    browser = current()
    for name in kept.columns:
        browser.table.column(name)
    declared = {rule for entry in browser.table.codebook.columns for rule in entry.rules}
    kept = kept.model_copy(update={"rules": tuple(rule for rule in kept.rules if rule not in declared)})
    for key in mechanisms:
        find_mechanism(key)
    chosen, drafted = browser.choices, {}
    if kept.program is None:
        kept = kept.model_copy(update={"program": chosen.settings.program})
    else:  # it runs only once approved: on the page Help, under Own programs, where it can be read now
        drafted = {"program_draft": kept.program}
    update = {"settings": kept, "blocks": chosen.whole} | pairs(kept.bounds, kept.guess, kept.risk_span)
    update |= drafted | more
    if kept.guess is None and chosen.guess is None:  # a half-made one waits for its other half
        update |= {"guess_typical": chosen.guess_typical, "guess_spread": chosen.guess_spread}
    change(chosen.model_copy(update=update).with_mechanisms(*mechanisms))


# -- words on the page ---------------------------------------------------------------------------


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
        st.session_state[f"message_{place}"] = files.explain(error, "A file of this server")


def said(error: object) -> str:
    """What went wrong, safe inside Markdown, without names of options of the command line."""
    return plain(on_screen(str(error)))


def show_message(place: str) -> None:
    """What went wrong at `place` in the last callback, once."""
    message = st.session_state.pop(f"message_{place}", None)
    if message:
        st.error(said(message), icon=":material/error:")


# What Streamlit's Markdown replaces in text although its signs are escaped: icons, emojis, addresses, arrows.
_REPLACED = re.compile(r":(?=[\w+/-]+:|//)|www(?=\.)|@(?=\w)|(?<!\S)(?:<->|->|<-|--|>=|<=|~=)(?!\S)", re.I)
_WITHIN_A_WORD = re.compile(r"(?<=[^\W_])\\_(?=[^\W_])")  # emphasises nothing; labels are read aloud
_JOINER = "\u2060"  # of no width


def plain(text: str) -> str:
    """Text from a user's file, safe inside Markdown."""
    parted = _REPLACED.sub(lambda match: match[0][0] + _JOINER + match[0][1:], visible(text))
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>$:~&" else c for c in isolated(parted))
    return _WITHIN_A_WORD.sub("_", escaped)
