"""The one next thing to do on the page Data, with a button that does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.analysis.model_advice import Remedy, remedies
from synth_core.analysis.selection import selected
from synth_core.analysis.settings import Settings
from synth_core.data.declared import declared_model, declared_settings
from synth_core.errors import InputError
from synth_core.experiments.explore.sweep import duration, time_words
from synth_core.models import build_model, family
from synth_core.system import limits
from synth_core.system.number_text import number_of
from synth_core.ui.data import fit, missing
from synth_core.ui.data.columns import OPEN, open_column
from synth_core.ui.data.fit import Fit
from synth_core.ui.data.readiness import Readiness, describing
from synth_core.ui.data.roles import sensitive_names
from synth_core.ui.shared.expected import compiling_seconds
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser
from synth_core.ui.state.choices import Choices

MOST = 3  # other models that are offered at once
TRIED = "models_that_do_not_fit"  # of each variable: the same is not offered again
KEPT = "offers"  # of each variable the last ones, and of what they are


@dataclass(frozen=True)
class Offer:
    """Another model of a variable; `time` says about how long its fit takes, if nothing is `to_declare` first."""

    title: str
    choices: Choices
    time: str
    to_declare: bool = False


def show(ready: Readiness, fits: list[Fit]) -> None:
    """What is to be done next: first what stops the work, then the fits, then what does not fit, then the way on."""
    with st.container(border=True, key="next_step"):
        waiting = missing.propose()
        if ready.problems:
            _first(ready.problems, True)
            return
        _rows(ready)
        _codes()
        unasked, running = [f for f in fits if f.job is None], [f for f in fits if f.running]
        bad = [f for f in fits if f.verdict is not None and f.verdict.level in ("misfit", "unknown")]
        failed = [f for f in fits if f.error]
        if running:
            fit.show_progress(running, fits)
        elif ready.doubts:
            _first(ready.doubts, False)
        elif unasked or failed:
            _check(unasked or failed, fits, waiting)
        elif bad:
            of = {f.name: "" if f.name == f.variable else f"{f.name}. " for f in bad}
            _first({f.variable: of[f.name] + f.verdict.words for f in bad if f.verdict}, False, bad[0])
        else:
            _go_on(fits)


def _first(why: dict[str, str], refused: bool, misfit: Fit | None = None) -> None:
    """The first variable of which something is to be mended, other models of it, and a button that opens it."""
    name, words = next(iter(why.items()))
    more = f" ({len(why) - 1} more below)" if len(why) > 1 else ""
    sensitive = name in sensitive_names(session.choices())
    offered = [each for each in offers(name, refused) if not _tried(name, each)][:MOST] if sensitive else []
    if misfit is not None and misfit.verdict is not None:
        if misfit.verdict.level == "misfit":
            st.session_state.setdefault(TRIED, set()).add(_trial(name, misfit.settings))
        if misfit.verdict.level == "unknown" and misfit.verdict.longer:
            offered = [_longer(name), *offered][:MOST]
        elif _without_scale(name):
            words += " Its scale is not said yet: say what it is, with a typical value, under Which model."
        words += " To be tried:" if offered else f" {misfit.verdict.advice}"
    st.markdown(f":material/edit: **{session.plain(name)}**{more}: {session.said(words)}")
    places = st.columns(MOST + 1)
    for place, offer in zip(places, offered, strict=False):
        place.button(
            f"{offer.title} ({offer.time})",
            key=f"offer_{name}_{offer.title}",
            width="stretch",
            on_click=_take,
            args=(name, offer),
        )
    places[len(offered)].button(
        f"Open {session.plain(name)}",
        key=f"open_{name}",
        type="tertiary" if offered else "primary",
        on_click=open_column,
        args=(name,),
    )


def _trial(name: str, settings: Settings) -> tuple[Any, ...]:
    """What was tried of a variable of the table in use: a model, with the options and the predictors that it reads."""
    options = tuple((each, getattr(settings, each)) for each in sorted(family(settings.model).uses))
    return session.current().table.identity, name, settings.model, options, settings.predictors


def _tried(name: str, offer: Offer) -> bool:
    """Whether a model was found not to fit already, whatever was tried since."""
    return _trial(name, offer.choices.settings) in st.session_state.get(TRIED, ())


def offers(name: str, refused: bool) -> list[Offer]:
    """Other models of a variable that take its values, and those of which something is to be declared first.

    To know which take them each is built: once for the same choices, of which an offer has all.
    """
    browser = session.current()
    table = browser.table
    key = (table.identity, table.confidential, browser.reference is None, browser.choices, refused)
    kept = st.session_state.setdefault(KEPT, {})
    if name not in kept or kept[name][0] != key:
        kept[name] = key, _offers(browser, name, refused)
    found: list[Offer] = kept[name][1]
    return found


def _without_scale(name: str) -> bool:
    """Whether a model of asinh has the scale that it opened with, which is hardly that of any amounts."""
    s = describing(session.current(), name).settings
    unsaid = s.asinh_scale == Settings.model_fields["asinh_scale"].default
    return "transformation" in family(s.model).uses and s.transformation == "asinh" and unsaid


def _longer(name: str) -> Offer:
    """The same models with twice the draws and the warm-up, which all variables have."""
    browser = session.current()
    choices = describing(browser, name)
    s = choices.settings
    longer = {"draws": min(2 * s.draws, limits.DRAWS[1]), "warmup": min(2 * s.warmup, limits.WARMUP[1])}
    changed = choices.with_settings(**longer)
    names, settings = sensitive_names(choices), browser.settings_under(changed)
    return Offer(
        "Twice the draws",
        changed,
        time_words([settings.model], len(names) * fit.seconds_of(browser, settings)),
    )


def _offers(browser: Browser, name: str, refused: bool) -> list[Offer]:
    choices, table = describing(browser, name), browser.table
    declared: dict[str, Any] = declared_model(table.codebook, name)
    if declared:
        declared = declared | declared_settings(table.codebook, name, declared["model"])
    entry = table.codebook.get(name)
    bounds = choices.bounds or (None if entry is None else entry.bounds)
    found = remedies(
        table.column(name),
        declared,
        choices.settings.model_dump(include={"model", "transformation"}),
        refused,
        bounds,
        choices.guess_typical,
    )
    return [offer for each in found if (offer := _offer(browser, choices, each)) is not None]


def _offer(browser: Browser, choices: Choices, remedy: Remedy) -> Offer | None:
    values = {name: value for name, value in remedy.settings.items() if name != "bounds"}
    changed = choices.with_settings(**values)
    if "bounds" in remedy.settings:
        changed = changed.with_bounds(remedy.settings["bounds"])
    to_declare = {"bracket_edges": changed.settings.bracket_edges, "categories": changed.settings.categories}
    if any(not to_declare.get(each, True) for each in _asks(changed)):
        return Offer(remedy.title, changed, "to be declared", True)
    try:
        settings = browser.settings_under(changed)
        build_model(settings.model, selected(browser.table, settings).records, **settings.model_options)
    except InputError:
        return None
    return Offer(remedy.title, changed, time_words([settings.model], fit.seconds_of(browser, settings)))


def _asks(choices: Choices) -> frozenset[str]:
    return family(choices.settings.model).uses


def _take(name: str, offer: Offer) -> None:
    """Button callback: take the model, open its variable, and fit it where nothing is to be declared first."""
    asked = any(f.job is not None for f in _asked())
    session.change(offer.choices)
    open_column(name)
    if asked and not offer.to_declare:
        fit.ask()


def _asked() -> list[Fit]:
    try:
        return fit.fits()
    except InputError:
        return []


def _rows(ready: Readiness) -> None:
    """That all can be fitted, on which rows, and what of the table a proposed model rests on."""
    table = session.current().table
    kept = [session.plain(block.name) for block in session.choices().whole if block.missing is not None]
    lost = ready.lost or {}
    counts = [f"{session.plain(name)} in {number_of(rows, 'row')}" for name, rows in lost.items()]
    note = f"; missing values: {', '.join(counts)}" if counts else ""
    st.markdown(
        f"Ready: {ready.complete:,} {'' if kept else 'complete '}rows of {table.rows:,}{note}"
        + (f"; of {', '.join(kept)} missing values are used too" if kept else "")
        + "."
        + session.plain(_proposed(ready)),
        help=session.plain(ready.scales),
    )
    for words in ready.telling:
        st.warning(session.plain(f"{words[0].upper()}{words[1:]}."), icon=":material/visibility:")


def _codes() -> None:
    """Predictors that look like codes and are taken as quantities, and a button that makes them categories."""
    browser = session.current()
    s = browser.choices.settings
    codes = browser.table.codes_among(name for name in s.predictors if name not in s.categorical)
    if not codes:
        return
    left, right = st.columns([5, 2], vertical_alignment="center")
    names = session.plain(", ".join(codes))
    left.caption(
        f"Few whole numbers, as codes have: {names}. Taken as quantities unless you say that they are codes."
    )
    right.button(
        "They are categories" if len(codes) > 1 else "It is a category",
        width="stretch",
        on_click=_take_codes,
        args=(codes,),
    )


def _take_codes(names: tuple[str, ...]) -> None:
    """Button callback: these predictors are categories."""
    choices = session.choices()
    session.change(
        choices.with_settings(categorical=tuple(dict.fromkeys((*choices.settings.categorical, *names))))
    )


def _proposed(ready: Readiness) -> str:
    """What was looked at for a model that nobody has chosen yet."""
    if not ready.seen:
        return ""
    (name, seen), *others = ready.seen.items()
    likewise = [other for other, what in others if what == seen]
    more = f" The same is true of {', '.join(likewise)}." if likewise else ""
    more += "".join(
        f" Of {other} nothing is declared either, and {what}." for other, what in others if what != seen
    )
    return (
        f" Nothing is declared of {name}, and {seen}: hence its model. Better say what is publicly known of it, under "
        f"Which model.{more}"
    )


def _check(wanted: list[Fit], fits: list[Fit], waiting: bool) -> None:
    """The button that fits all variables."""
    left, right = st.columns([2, 5], vertical_alignment="center")
    left.button(
        "Check the fit",
        icon=":material/fact_check:",
        type="secondary" if waiting else "primary",
        width="stretch",
        on_click=_ask,
    )
    n = len({f.variable for f in fits})
    of = "" if n == 1 else f" all {n} sensitive variables"
    if len(fits) > n:
        of += (
            f", and whether {len(fits) - n} of them are missing," if n > 1 else ", and whether it is missing,"
        )
    time = time_words([f.settings.model for f in wanted], sum(f.seconds for f in wanted))
    if compiling := compiling_seconds({f.settings.model for f in wanted}):
        time += f", after some models are compiled once, about {duration(compiling)}"
    right.caption(
        f"Privacy numbers of a model that does not fit mean little. Fits{of} once without weights: {time}; "
        f"every mechanism starts from that fit."
    )
    for each in wanted:
        if each.error and each.error != "Cancelled.":
            st.caption(f":red[{session.plain(each.name)}: {session.said(each.error)}]")


def _ask() -> None:
    """Button callback: fit all, and show the figures of the one that is described."""
    fit.ask()
    st.session_state[OPEN] = None


def _go_on(fits: list[Fit]) -> None:
    rough = [f.name for f in fits if f.verdict is not None and f.verdict.level == "roughly"]
    n = len({f.variable for f in fits})
    words = f"{fits[0].name} {fits[0].words[1]}." if n == 1 else f"The models of all {n} variables fit."
    if rough and n > 1:
        words = f"The models of all {n} variables fit, {', '.join(rough)} roughly."
    left, right = st.columns([5, 2], vertical_alignment="center")
    left.markdown(f":material/check_circle: {session.plain(words)}")
    right.page_link("pages/compare.py", label="Compare the synthesizers", icon=":material/compare_arrows:")
