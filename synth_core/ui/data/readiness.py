"""Whether the sensitive variables can be fitted as they are described, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from synth_core.analysis.any_analysis import AnyAnalysis, analysis_of
from synth_core.analysis.fits import tells_nothing
from synth_core.analysis.model_advice import seems_coded
from synth_core.analysis.opening import opening_model
from synth_core.analysis.selection import selected, telling_words
from synth_core.analysis.settings import Settings
from synth_core.data.declared import OF_KINDS
from synth_core.data.design import Selection
from synth_core.data.rules import read_rules
from synth_core.data.survey_weights import check_strata, check_total, read_weights
from synth_core.data.table import Table
from synth_core.data.units import check_units
from synth_core.errors import FitError, InputError
from synth_core.models import Model, build_model, family
from synth_core.system.cache import content_key, results_cache
from synth_core.ui.data.roles import sensitive_names
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser
from synth_core.ui.state.choices import Choices

# What is said of a variable that keeps the model it opened with.
SAID = ("asinh_scale", "unit", "bounds", "guess")
KEPT = "readiness"  # the last answer, and of which choices it is


@dataclass(frozen=True)
class Readiness:
    """What can be said before a fit.

    Attributes
    ----------
    problems : dict
        Why a variable, or all of them together, cannot be fitted, by variable.
    doubts : dict
        Why a model that can be fitted is hardly one of its variable.
    seen : dict
        What of a confidential table the model rests on that it opened with, where nothing is declared.
    complete : int
        Rows that are used.
    lost : dict
        Rows that a column leaves out.
    scales : str
        The models with the scales of their densities.
    telling : tuple of str
        Which public columns tell a sensitive value or narrow it down, a sentence each.
    """

    problems: dict[str, str]
    doubts: dict[str, str]
    seen: dict[str, str]
    complete: int = 0
    lost: dict[str, int] | None = None
    scales: str = ""
    telling: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        return not self.problems


def readiness() -> Readiness:
    """That of the choices in use; computed once for the same choices."""
    browser = session.current()
    choices = browser.choices
    key = content_key(
        table=(browser.table.identity, browser.table.confidential, browser.reference is None),
        settings=choices.settings.model_dump(mode="json"),
        declared=(choices.bounds, choices.guess, choices.span),
        blocks=[vars(block) for block in choices.whole],
    )
    kept = st.session_state.get(KEPT)
    if kept is None or kept[0] != key:
        kept = st.session_state[KEPT] = (key, _found(browser))
    found: Readiness = kept[1]
    return found


def describing(browser: Browser, name: str) -> Choices:
    """The choices with the settings of this sensitive variable."""
    choices = browser.choices
    return choices.describing(name) if choices.whole and name != choices.settings.outcome else choices


def _found(browser: Browser) -> Readiness:
    problems = of_public_columns(browser.table, browser.choices.settings)
    doubts: dict[str, str] = {}
    seen: dict[str, str] = {}
    telling: list[str] = []
    table, whole, s = browser.table, browser.choices.whole, browser.choices.settings
    for name in sensitive_names(browser.choices):
        try:
            settings, selection, model = _alone(browser, name)
        except InputError as error:
            problems[str(s.weight) if f"weights in column '{s.weight}'" in str(error) else name] = str(error)
            continue
        telling += telling_words(table, selection, settings)
        for found, words in ((doubts, _doubt(table, settings)), (seen, _seen(table, settings))):
            if words:
                found[name] = words
    if problems:
        return Readiness(problems, doubts, seen)
    if not whole:
        lost = {name: rows for name, rows in selection.dropped_by.items() if rows}
        scales = f"{model.label}, {model.density_scale}"
        return Readiness({}, doubts, seen, selection.records.n, lost, scales, tuple(telling))
    try:
        analysis = _together(browser)
    except (InputError, FitError) as error:
        return Readiness({_named(browser, str(error)): str(error)}, doubts, seen)
    lost = {name: count for name, count in analysis.used_rows.dropped_by.items() if count}
    scales = f"Densities: {analysis.density_scale}"
    return Readiness({}, doubts, seen, analysis.n_records, lost, scales, tuple(telling))


def of_public_columns(table: Table, settings: Settings) -> dict[str, str]:
    """What is wrong with survey weights and units, by their column."""
    problems: dict[str, str] = {}
    try:
        if settings.weight is not None:
            named = settings.weight
            check_total(settings.weight_total, table.rows)
            if settings.strata is not None:
                check_strata(table, settings.strata)
        if settings.unit_column is not None:
            named = settings.unit_column
            check_units(table, settings.unit_column, settings.unit_size)
    except InputError as error:
        problems[named] = str(error)
    return problems


def _named(browser: Browser, error: str) -> str:
    """The sensitive variable that a refusal of them together is about."""
    names = [block.name for block in browser.choices.whole]
    of_rules = [r.column for r in read_rules(browser.settings().rules) if f"rule {r} " in error]
    return next((name for name in (*of_rules, *names) if name in of_rules or f"'{name}'" in error), names[0])


def _together(browser: Browser) -> AnyAnalysis[Any]:
    """Whole records with all of their models, none fitted; raises InputError."""
    settings = browser.settings(risk_reference="current")  # a fit without weights reads no risk map
    found = analysis_of(
        browser.table, settings, browser.choices.whole, results_cache(), progress=tells_nothing
    )
    for each in found.analyses(False):
        _ = each.model
    return found


def _alone(browser: Browser, name: str) -> tuple[Settings, Selection, Model]:
    """A sensitive variable by itself: its settings, its rows, its model; raises InputError."""
    settings = browser.settings_under(describing(browser, name))
    marks = next((block.missing for block in browser.choices.whole if block.name == name), None) or ()
    selection = selected(browser.table.with_missing(f"{name}={text}" for text in marks), settings)
    if settings.weight is not None:
        read_weights(browser.table, settings.weight, selection.complete)
    return settings, selection, build_model(settings.model, selection.records, **settings.model_options)


def _seen(table: Table, settings: Settings) -> str:
    """What was seen in a confidential table, where the model is still the one that it opened with."""
    found = opening_model(table, settings.outcome) if table.confidential else None
    if found is None or found.model != settings.model:
        return ""
    as_opened = {name: Settings.model_fields[name].default for name in SAID} | found.options
    return found.seen if all(getattr(settings, name) == value for name, value in as_opened.items()) else ""


def _doubt(table: Table, settings: Settings) -> str:
    """Why a model of amounts is hardly one of a code."""
    column, model = table.column(settings.outcome), family(settings.model)
    entry = table.codebook.get(settings.outcome)
    if model.discrete:
        return ""
    if entry is not None and entry.kind in OF_KINDS:
        return (
            f"'{settings.outcome}' is declared a category, and {model.label} would release numbers between its codes. "
            "Take it as categories, or say that its kind is a number."
        )
    if not seems_coded(column):
        return ""
    return (
        f"'{settings.outcome}' has {column.distinct} whole numbers only, as codes have, and {model.label} would "
        "release numbers between them. Take it as categories, or as a count."
    )
