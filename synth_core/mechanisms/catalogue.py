"""The product space of mechanisms, the papers' names for its points, and its text notation.

weighting scheme x adjustments x likelihood x privacy standard. Nothing here computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import GUARANTEES, Guarantee, WeightsFrom
from synth_core.mechanisms.schemes import SCHEMES

ADJUSTMENTS = {
    "truncation": "Truncation at ε/2 (Weighted-e)",
    "reweighting": "Re-weighting to maximum efficiency",
}
LIKELIHOODS = {
    "plain": "Plain pseudo likelihood",
    "censored": "Censored at ±ε/2",
    "anchored": "Censored at ±ε/2 around an anchor",
}
STANDARDS = {"whole": "Whole range", "averaged": "Range-averaged", "truncated": "Range-truncated"}
HISTOGRAM = "histogram"
OF_A_SERIES = ("series", "counts+series")  # anchors that are what a series released before
NO_TABLE = ("pilot", "counts", "values", "reference", *OF_A_SERIES)  # anchors that name no table of their own
ANCHOR_SETTINGS = frozenset(
    {
        "anchor",
        "anchor_values",
        "guess",
        "guess_zeros",
        "pilot_share",
        "counts_share",
        "anchor_weight",
        "anchor_records",
    }
)


@dataclass(frozen=True)
class Mechanism:
    """A point of the product space.

    `adjustments` apply to the weights in the order of `ADJUSTMENTS`, after scale and shift;
    the range-averaged standard adds its lambda last. `scheme` "histogram" stands outside.
    """

    key: str
    label: str
    scheme: str
    adjustments: tuple[str, ...] = ()
    likelihood: str = "plain"
    standard: str = "whole"

    @property
    def keeps_epsilon(self) -> bool:
        """Whether epsilon is set, and kept by construction once the weights are given; else it is measured."""
        return self.scheme == HISTOGRAM or self.clamps

    def guarantee(self, weights_from: WeightsFrom, tuned: dict[str, float] | None = None) -> Guarantee:
        """What is promised, by the point and by where each part of its weights comes from.

        docs/methods/guarantees.md proves the cases; composing a point without any is refused in `compose`.

        Parameters
        ----------
        weights_from : str
            "current": the table itself. "frozen": a reference table, which fixes what `reads_current` does not name.
            "closed": a release plan's map, which fixes everything.
        tuned : dict
            What was solved for on the table.
        """
        return GUARANTEES[self._promise(weights_from, tuned or {})]

    def _promise(self, weights_from: WeightsFrom, tuned: dict[str, float]) -> str:
        if self.keeps_epsilon:
            if "epsilon" in tuned:
                return "data_derived"
            if not self.weighted:
                return "histogram" if self.scheme == HISTOGRAM else self.likelihood
            held = weights_from == "closed" or (weights_from == "frozen" and not self.reads_current(tuned))
            return f"{self.likelihood}_weighted" if held else "weights_seen"
        if not self.weighted:
            return "none"
        return "asymptotic" if self.standard == "whole" else self.standard

    def reads_current(self, tuned: dict[str, float]) -> bool:
        """Whether the weights use the current table even under a frozen risk map.

        A k without refits was frozen with the map.
        """
        matched = "epsilon" in tuned or "scale" in tuned
        solved = "reweighting" in self.adjustments and ("refits" in tuned or "k" not in tuned)
        return solved or self.standard == "averaged" or matched

    @cached_property
    def tuning(self) -> frozenset[str]:
        """The settings that move this mechanism; results do not depend on the others."""
        names: set[str] = set()
        if self.scheme != HISTOGRAM:
            names |= SCHEMES[self.scheme].settings
        if self.weighted:
            names |= {"risk_reference"}
        if self.scheme == HISTOGRAM or "truncation" in self.adjustments or self.clamps:
            names |= {"epsilon"}
        if self.likelihood == "anchored":
            names |= ANCHOR_SETTINGS
        if "reweighting" in self.adjustments:
            names |= {"reweight_tolerance"}
        if self.standard != "whole":
            names |= {"range", "tail", "brackets"}
        if self.standard == "truncated":
            names |= {"printed_truncation"}
        if self.scheme == HISTOGRAM:
            names |= {"bins"}
        if self.tunable:
            names |= {"match_epsilon", "reweight_tolerance"}
        return frozenset(names)

    @property
    def weighted(self) -> bool:
        """Whether weights other than 1 enter."""
        return self.scheme not in ("none", HISTOGRAM) or bool(self.adjustments)

    @property
    def single_weight(self) -> bool:
        """Whether one number weights every record."""
        return self.scheme != HISTOGRAM and SCHEMES[self.scheme].single

    @property
    def tunable(self) -> bool:
        """Whether some setting can move its epsilon (so that it can match another's)."""
        return self.scheme != "none" or bool(self.adjustments) or self.clamps

    @property
    def clamps(self) -> bool:
        """Whether every term of the likelihood is clamped."""
        return self.likelihood != "plain"

    @property
    def reads_others(self) -> bool:
        """Whether another table may enter: a risk map's, or an anchor's."""
        return self.weighted or self.standard != "whole" or self.likelihood == "anchored"


MECHANISMS: dict[str, Mechanism] = {
    m.key: m
    for m in (
        Mechanism("unweighted", "Unweighted", "none"),
        Mechanism("weighted", "Weighted", "likelihood"),
        Mechanism("weighted_e", "Weighted-e", "likelihood", ("truncation",)),
        Mechanism("censored", "Censored", "none", likelihood="censored"),
        Mechanism("censored_weighted", "Censored weighted", "likelihood", likelihood="censored"),
        Mechanism("anchored", "Anchored", "none", likelihood="anchored"),
        Mechanism("anchored_weighted", "Anchored weighted", "likelihood", likelihood="anchored"),
        Mechanism("exponential", "Exponential (EM)", "scalar"),
        Mechanism("count_weighted", "Count-weighted", "count"),
        Mechanism("weighted_final", "Weighted, final", "likelihood", ("reweighting",)),
        Mechanism("count_weighted_final", "Count-weighted, final", "count", ("reweighting",)),
        Mechanism("range_averaged", "Range-averaged", "likelihood", standard="averaged"),
        Mechanism("range_truncated", "Range-truncated", "likelihood", standard="truncated"),
        Mechanism(HISTOGRAM, "Histogram", HISTOGRAM),
    )
}

# Every setting that moves a point of the product space; a scheme's own are among them.
TUNING = frozenset[str]().union(
    *(
        Mechanism("", "", scheme, tuple(ADJUSTMENTS), likelihood, standard).tuning
        for scheme in (*SCHEMES, HISTOGRAM)
        for likelihood in LIKELIHOODS
        for standard in STANDARDS
    )
)
# Of them, what is declared for one table: another table, or what is known without reading this one.
OF_A_TABLE = {"risk_reference", *ANCHOR_SETTINGS} - {"anchor_weight", "anchor_records"}


def compose(
    scheme: str, adjustments: tuple[str, ...] = (), likelihood: str = "plain", standard: str = "whole"
) -> Mechanism:
    """Any point of the product space, under the papers' name where it has one.

    Raises
    ------
    InputError
        If a part is unknown, or no guarantee is known for the combination, with the reason.
    """
    parts: list[tuple[str, Iterable[str], str]] = [
        (scheme, SCHEMES, "weighting scheme"),
        (likelihood, LIKELIHOODS, "likelihood"),
        (standard, STANDARDS, "privacy standard"),
        *((a, ADJUSTMENTS, "adjustment") for a in adjustments),
    ]
    for value, known, what in parts:
        if value not in known:
            raise InputError(f"There is no {what} '{value}'; there are: {', '.join(known)}.")
    ordered = tuple(a for a in ADJUSTMENTS if a in adjustments)
    if likelihood != "plain" and standard != "whole":
        raise InputError(
            "No guarantee is known for a censored likelihood under a sensitive range: "
            "censoring bounds every term over the whole range already."
        )
    if scheme == "none" and "reweighting" in ordered:
        raise InputError(
            "Re-weighting raises weights below 1, and without a scheme all weights "
            "are 1: there is nothing to raise."
        )
    if SCHEMES[scheme].single and "truncation" in ordered:
        raise InputError(
            "No guarantee is known for truncating a scalar weight: it is the same "
            "for every record by definition."
        )
    for mechanism in MECHANISMS.values():
        point = (mechanism.scheme, mechanism.adjustments, mechanism.likelihood, mechanism.standard)
        if point == (scheme, ordered, likelihood, standard):
            return mechanism
    key = "+".join((scheme, *ordered))
    label = SCHEMES[scheme].short
    label += "".join({"truncation": "-e", "reweighting": " final"}[a] for a in ordered)
    if likelihood != "plain":
        key, label = f"{key}/{likelihood}", f"{label}, {likelihood}"
    if standard != "whole":
        key, label = f"{key}/{standard}", f"{label}, {STANDARDS[standard].lower()}"
    return Mechanism(key, label, scheme, ordered, likelihood, standard)


def find_mechanism(key: str) -> Mechanism:
    """A mechanism by its name, or composed: `scheme[+adjustment...][/censored|/anchored][/averaged]`.

    Examples
    --------
    >>> find_mechanism("count+reweighting/censored").likelihood
    'censored'
    >>> find_mechanism("likelihood+truncation").key
    'weighted_e'
    """
    if key in MECHANISMS:
        return MECHANISMS[key]
    weights, *parts = key.split("/")
    scheme, *adjustments = weights.split("+")
    if scheme not in SCHEMES:
        raise InputError(
            f"There is no mechanism '{key}'; there are: {', '.join(MECHANISMS)}, and compositions "
            f"such as count/censored or likelihood+truncation+reweighting/averaged."
        )
    likelihood, standard = "plain", "whole"
    if (
        len(parts) > 2
        or len([part for part in parts if part in LIKELIHOODS]) > 1
        or len([part for part in parts if part not in LIKELIHOODS]) > 1
    ):
        raise InputError(f"The mechanism '{key}' names a part twice.")
    for part in parts:
        if part in LIKELIHOODS:
            likelihood = part
        else:
            standard = part
    return compose(scheme, tuple(adjustments), likelihood, standard)
