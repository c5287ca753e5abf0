"""A model, a scale and a unit for a sensitive variable: from public knowledge of it, or from a look at the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from synth_core.analysis.outcome_features import OutcomeFeatures, outcome_features
from synth_core.data.column import Column
from synth_core.data.declared import declared_model, declared_settings
from synth_core.data.outcome import numeric_outcome
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import BY_BRACKETS, OF_CATEGORIES, family, proposed
from synth_core.system.number_text import declared

KINDS = {
    "amounts": "Amounts, all above zero",
    "zeros": "Amounts, many of them zero",
    "losses": "Amounts, some of them below zero",
    "counts": "Counts: whole numbers from zero",
    "share": "A share, strictly between 0 and 1",
}
NOT_READ = "Nothing was read from the table."
FROM_CODEBOOK = "This was read from the codebook, and nothing from the table."
LOOKED = (
    "This was read from the confidential table. A model that is chosen by looking is a choice that no ε counts: choose "
    "from public knowledge where you can, or say on Release that the plan was tuned on the confidential data."
)
MANY_ZEROS = 0.01  # share of the records above which zeros get a probability of their own beside losses
OVERDISPERSED = 1.5  # variance over mean of counts, above which Poisson is too narrow
LARGE_SPIKE = 0.05  # share of the records with a top code, above which no smooth model fits
MANY_CODES = (
    20  # whole numbers with at most so many distinct values may be codes, such as levels of education
)
MANY_NARROW_CODES = 100  # where the largest is less than twice the smallest, such as occupations 101 to 160
UNEVEN_LOGS = 0.3  # Kelly's skewness of the logarithms, above which one bell curve is doubtful


@dataclass(frozen=True)
class Advice:
    """A proposal, why, and what it gives away.

    Attributes
    ----------
    settings : dict
        Names and values of `Settings` that make it; empty where no model is proposed.
    reasons : tuple of str
        What was said or seen, and what follows, a sentence each. Shares and counts of a table are confidential.
    leak : str
        What the choice costs.
    """

    settings: dict[str, Any]
    reasons: tuple[str, ...]
    leak: str

    @property
    def title(self) -> str:
        """The proposal in a line."""
        s = self.settings
        if not s:
            return "No model is proposed"
        parts = [family(s["model"]).label]
        if "transformation" in s:
            parts[0] += " on the logarithm" if s["transformation"] == "log" else " on asinh"
        if "asinh_scale" in s:
            parts.append(f"which is about linear within {declared(s['asinh_scale'])} of zero")
        if "bounds" in s:
            parts.append("bounds {} and {}".format(*map(declared, s["bounds"])))
        if "unit" in s:
            parts.append(f"density per {declared(s['unit'])} of the table's unit")
        return ", ".join(parts)


def seems_coded(column: Column) -> bool:
    """Whether a column of numbers has few whole ones only, as codes have: a code is no quantity."""
    most = MANY_NARROW_CODES if column.narrow else MANY_CODES
    return column.kind == "code" or (column.whole and column.distinct <= most)


def holds_names(column: Column) -> bool:
    """Whether a column of texts has few ones only and hardly a number, as categories have."""
    few = 1 < column.distinct <= MANY_NARROW_CODES
    return column.kind == "text" and few and not column.note and not column.lone_text


def kind_settings(kind: str, regression: bool = False) -> dict[str, Any]:
    """Settings of the model that is proposed for a kind of variable."""
    return _proposed(kind, regression)[0]


def advise_kind(kind: str, typical: float | None = None, regression: bool = False) -> Advice:
    """Advice from what is publicly known of the variable; no table is read. Raises InputError.

    Parameters
    ----------
    kind : str
        Of `KINDS`.
    typical : float, optional
        A typical value, in the table's unit; gives the unit of the density and the scale of asinh.
    regression : bool
        Whether there are predictors.

    Examples
    --------
    >>> advise_kind("losses", 40000).title
    "Two-part regression on asinh, which is about linear within 20,000 of zero, density per 10,000 of the table's unit"
    """
    if kind not in KINDS:
        raise InputError(f"There is no kind '{kind}' of variable; there are: {', '.join(KINDS)}.")
    if typical is not None and not (0 < abs(typical) < 1e100):
        raise InputError("A typical value is another number than zero.")
    settings, reason = _proposed(kind, regression)
    reasons = (f"Said: {KINDS[kind].lower()}.", reason, *_in_unit(settings, typical))
    return Advice(settings, reasons, NOT_READ)


def advise_table(table: Table, outcome: str, regression: bool = False) -> Advice:
    """Advice from a look at the outcome's values.

    Raises
    ------
    InputError
        If the column is no sensitive number (`numeric_outcome`).
    """
    table.check_use(outcome)
    declared = declared_model(table.codebook, outcome)
    if declared:
        settings = declared | declared_settings(table.codebook, outcome, declared["model"])
        return Advice(settings, ("Its categories are declared in the codebook.",), FROM_CODEBOOK)
    column = table.column(outcome)
    leak = LOOKED if table.confidential else "The table is public or simulated."
    if holds_names(column):
        why = (
            f"'{outcome}' has {column.distinct} texts only, as categories have. Declare all that may occur, from the "
            "questionnaire; where they have an order, take the ordered logit. Amounts are written without signs of a "
            "currency, percent or letters."
        )
        return Advice({"model": OF_CATEGORIES}, (why,), leak)
    values = numeric_outcome(table, outcome)
    features = outcome_features(values[~np.isnan(values)])
    if column.identifier:
        why = (
            f"'{outcome}' seems to be an ID: it names records and measures nothing. Choose another variable."
        )
        return Advice({}, (why,), leak)
    if seems_coded(column):
        why = (
            f"'{outcome}' has {column.distinct} whole numbers only, as codes have. A code is no quantity: take it as a "
            "predictor and a category. If it counts something, say so above."
        )
        return Advice({}, (why,), leak)
    kind = _kind_of(features)
    settings, reason = _proposed(kind, regression)
    typical = None if features.typical == 0 else features.typical
    reasons = (*features.sentences, reason, *_in_unit(settings, typical), *_beyond(features, settings))
    return Advice(settings, reasons, leak)


def _kind_of(features: OutcomeFeatures) -> str:
    """The kind of the values: one of `KINDS`, or a finer one that only a look can tell."""
    if features.inside_unit:
        return "share"
    if features.losses:
        return "losses_without_zeros" if features.zeros < MANY_ZEROS * features.n else "losses"
    if features.counts:
        return "even_counts" if features.dispersion < OVERDISPERSED else "counts"
    return "zeros" if features.zeros else "amounts"


def _proposed(kind: str, regression: bool) -> tuple[dict[str, Any], str]:
    """The model of a kind with its settings, and why."""
    model, proposal = proposed(kind, regression)
    return {"model": model.name} | dict(proposal.settings), proposal.reason


def _in_unit(settings: dict[str, Any], typical: float | None) -> list[str]:
    """Add the unit and the scale of asinh, which a typical value gives; the sentence on them."""
    asinh, model = settings.get("transformation") == "asinh", family(settings["model"])
    if "unit" not in model.uses:
        return []
    if typical is None:
        return ["Say a typical value, and a unit of its order is proposed: Δ and ε depend on the unit."]
    settings["unit"] = 10.0 ** math.floor(math.log10(abs(typical)))
    unit = declared(settings["unit"])
    text = f"The unit of the density is {unit}, of the order of a typical value: Δ and ε depend on it."
    if asinh:
        settings["asinh_scale"] = rounded(model.asinh_within * abs(typical))
        near = "a typical value" if model.asinh_within == 1 else "half a typical value"
        text += (
            f" asinh is about linear within {declared(settings['asinh_scale'])}, a round number near {near}."
        )
    return [text]


def rounded(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten, by ratio.

    Examples
    --------
    >>> rounded(40000.0), rounded(0.13)
    (50000.0, 0.1)
    """
    power = math.floor(math.log10(value))
    choices = [digit * 10.0**exponent for exponent in (power, power + 1) for digit in (1, 2, 5)]
    return min(choices, key=lambda choice: abs(math.log(choice / value)))


def _beyond(features: OutcomeFeatures, settings: dict[str, Any]) -> list[str]:
    """What the proposed model does not show, and what to do about it."""
    more = []
    if features.at_top:
        more.append(
            "A smooth model spreads a top code. If the code is public, declare it as the upper bound and let the plan "
            "move values beyond it to it (--clamp)."
        )
    if features.at_top > LARGE_SPIKE * features.n:
        more.append("None of the models has a part of its own for so large a spike: it will not fit well.")
    if features.at_bottom:
        more.append(
            "If the smallest value marks missing ones, name it among those that mean missing (page Data; --missing): "
            "another model may then be proposed."
        )
    if features.heap:
        more.append(
            "Synthetic values do not heap on round numbers; round them in the plan, or in what is published."
        )
    if family(settings["model"]).bell and abs(features.log_skewness) > UNEVEN_LOGS:
        more.append(
            "The logarithms are skewed too: if the fit is bad, take brackets, or a normal mixture, which needs minutes."
        )
    return more


EDGE_DIGITS = (
    1.0,
    1.5,
    2.0,
    3.0,
    5.0,
    7.0,
)  # of a decade of brackets: within one a uniform logarithm is near enough
DECADES = 3  # of brackets below the largest value: what is nearer to zero is one bracket
BEYOND_TYPICAL = 100.0  # of a typical value, the last edge where no bounds are declared


@dataclass(frozen=True)
class Remedy:
    """Another model where the chosen one is refused, or does not fit.

    Attributes
    ----------
    title : str
        A few words for a button.
    settings : dict
        Names and values of `Settings` that make it.
    """

    title: str
    settings: dict[str, Any]


def remedies(
    column: Column,
    declared: dict[str, Any],
    chosen: dict[str, Any],
    refused: bool,
    bounds: tuple[float, float] | None = None,
    typical: float | None = None,
) -> tuple[Remedy, ...]:
    """Other models for a variable; which of them take its values is not looked at.

    Parameters
    ----------
    declared : dict
        The model and the settings that the codebook declares of it, if it does.
    chosen : dict
        Settings that are chosen, with the model, which is left out.
    refused : bool
        Whether the chosen one does not take the values; else it does not fit, and brackets, which take any shape, come
        first.
    bounds, typical : optional
        Declared bounds and a typical value, of which brackets and scales are made.

    Examples
    --------
    >>> pay, chosen = Column("pay", "number", 0, 9000), {"model": "lognormal"}
    >>> [each.title for each in remedies(pay, {}, chosen, True, (0.0, 1e6))]
    ['Two-part on the logarithm', 'Two-part on asinh', 'Brackets', 'Normal mixture']
    >>> [each.title for each in remedies(pay, {}, chosen, False, (0.0, 1e6))]
    ['Brackets', 'Two-part on the logarithm', 'Two-part on asinh', 'Normal mixture']
    >>> [each.title for each in remedies(Column("grade", "number", 0, 12, whole=True), {}, chosen, False)]
    ['Categories', 'It is a count']
    """
    if declared or column.kind == "text":
        found = [Remedy("Declared categories", declared)] if declared else []
    elif seems_coded(column):
        found = [
            Remedy("Categories", {"model": OF_CATEGORIES}),
            Remedy("It is a count", kind_settings("counts")),
        ]
    else:
        edges = round_edges(bounds, typical)
        brackets = Remedy("Brackets", {"model": BY_BRACKETS} | ({"bracket_edges": edges} if edges else {}))
        losses, mixture = kind_settings("losses"), kind_settings("losses_without_zeros") | {"zero_part": True}
        for settings in (losses, mixture):
            _in_unit(settings, typical)
        found = [
            Remedy("Two-part on the logarithm", kind_settings("zeros")),
            Remedy("Two-part on asinh", losses),
        ]
        found = [*found, brackets] if refused else [brackets, *found]
        found.append(Remedy("Normal mixture", mixture))
    return tuple(each for each in found if not _same_model(each.settings, chosen))


def _same_model(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names = ("model", "transformation") if "transformation" in one else ("model",)
    return all(one[name] == other.get(name, one[name]) for name in names)


def round_edges(bounds: tuple[float, float] | None, typical: float | None = None) -> tuple[float, ...]:
    """Edges of brackets at round numbers, several a decade, of both signs where the lower bound is below zero.

    Zero is a bracket of its own where it is no end inside. Nothing of a table enters. Empty without bounds and
    without a typical value.

    Examples
    --------
    >>> round_edges((0.0, 20.0))[:6], round_edges((0.0, 20.0))[-4:]
    ((0.0, 0.0, 0.02, 0.03, 0.05, 0.07), (7.0, 10.0, 15.0, 20.0))
    """
    if bounds is None and not typical:
        return ()
    low, high = bounds if bounds is not None else (0.0, rounded(BEYOND_TYPICAL * abs(typical or 1.0)))
    if not high > 0:
        return ()
    above = [edge for edge in _ladder(high) if edge > max(low, 0.0)]
    if low > 0:
        return (low, *above)
    below = [-edge for edge in reversed(_ladder(-low))] if low < 0 else []
    return (*below, 0.0, 0.0, *above)


def _ladder(high: float) -> list[float]:
    """Round numbers up to `high`, itself the last, over `DECADES`."""
    power = math.floor(math.log10(high))
    steps = [
        float(f"{digit * 10.0**exponent:.12g}")
        for exponent in range(power - DECADES, power + 1)
        for digit in EDGE_DIGITS
    ]
    return [step for step in steps if high / 10.0**DECADES <= step < high] + [high]
