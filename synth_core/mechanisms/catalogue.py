"""The product space of mechanisms, the papers' names for its points, and its text notation.

weighting scheme x adjustments x likelihood x privacy standard. Nothing here computes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import (
    DATA_DERIVED,
    NONE,
    SETTINGS_SEEN,
    WEIGHTS_SEEN,
    Guarantee,
    Neighbour,
    WeightsFrom,
)
from synth_core.mechanisms.likelihoods import LIKELIHOODS, PLAIN, Likelihood
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.mechanisms.standards import STANDARDS, WHOLE, Standard

ADJUSTMENTS = {
    "truncation": "Truncation at ε/2 (Weighted-e)",
    "reweighting": "Re-weighting to maximum efficiency",
}


@dataclass(frozen=True)
class Mechanism:
    """A point of the product space.

    `adjustments` apply to the weights in the order of `ADJUSTMENTS`, after scale and shift;
    the range-averaged standard adds its lambda last.
    """

    key: str
    label: str
    scheme: str
    adjustments: tuple[str, ...] = ()
    likelihood: Likelihood = PLAIN
    standard: Standard = WHOLE

    @property
    def epsilon_by_construction(self) -> bool:
        """Whether epsilon is set, and kept by construction once the weights are given; else it is measured."""
        return self.likelihood.epsilon_by_construction

    @property
    def rests_on_draw(self) -> bool:
        """Whether its epsilon is promised of one exact draw of a posterior, which a Markov chain only comes near."""
        return self.epsilon_by_construction and self.likelihood.samples

    @property
    def neighbour(self) -> Neighbour:
        """What its epsilon is for: one record's value withheld or replaced."""
        return self.guarantee("closed").neighbour

    def charged(self, datasets: int) -> int:
        """How many of the data sets of a release are charged."""
        return self.guarantee("closed").charged(datasets)

    @property
    def one_variable(self) -> str:
        """What of it is about one sensitive variable, such as "its sensitive range"; empty where it takes several."""
        return self.likelihood.one_variable or self.standard.one_variable

    def guarantee(self, weights_from: WeightsFrom, tuned: dict[str, float] | None = None) -> Guarantee:
        """What is promised, by the point and by where each part of its weights comes from.

        docs/methods/guarantees.md proves the cases; composing a point without any is refused in `compose`.

        Parameters
        ----------
        weights_from : str
            "current": the table itself. "frozen": a reference table. "closed": a release plan's map. Of these two
            `reads_current` says what they leave to the table.
        tuned : dict
            What was solved for on the table.
        """
        tuned = tuned or {}
        strict = self.likelihood.guarantee
        if strict is None:
            return self.standard.guarantee if self.weighted else NONE
        if "epsilon" in tuned:
            return strict.weakened_to(DATA_DERIVED)
        if not self.weighted:
            return strict
        held = weights_from != "current" and not self.reads_current(tuned, weights_from)
        promised = self.likelihood.weighted_guarantee if held else None
        return promised or strict.weakened_to(WEIGHTS_SEEN)

    def reads_current(self, tuned: dict[str, float], weights_from: WeightsFrom = "frozen") -> bool:
        """Whether the weights use the current table even under a frozen risk map.

        A k without refits was frozen with the map. A plan's map has the draws that sensitive ranges are averaged over,
        and a k where the plan's own mechanism re-weights; with another mechanism k is solved for on the table.
        """
        closed = weights_from == "closed"
        matched = "epsilon" in tuned or "scale" in tuned
        solved = "reweighting" in self.adjustments and (
            "refits" in tuned or ("k" not in tuned and not closed)
        )
        return solved or matched or (self.standard.averages and not closed)

    @cached_property
    def tuning(self) -> frozenset[str]:
        """The settings that move this mechanism; results do not depend on the others."""
        names = set(SCHEMES[self.scheme].settings | self.likelihood.settings | self.standard.settings)
        if self.weighted:
            names |= {"risk_reference"}
        if self.epsilon_by_construction or "truncation" in self.adjustments:
            names |= {"epsilon"}
        if "reweighting" in self.adjustments:
            names |= {"reweight_tolerance"}
        if self.tunable:
            names |= {"match_epsilon", "reweight_tolerance"}
        return frozenset(names)

    @property
    def weighted(self) -> bool:
        """Whether weights other than 1 enter."""
        return self.scheme != "none" or bool(self.adjustments)

    @property
    def combining(self) -> tuple[str, str]:
        """The combining rules by which intervals hold, of one and of several data sets; empty where none is known."""
        return ("", "") if self.weighted else self.likelihood.combining

    @property
    def single_weight(self) -> bool:
        """Whether one number weights every record."""
        return SCHEMES[self.scheme].single

    @property
    def tunable(self) -> bool:
        """Whether some setting can move its epsilon (so that it can match another's)."""
        scheme = SCHEMES[self.scheme]
        return scheme.single or "scale" in scheme.settings or self.epsilon_by_construction

    @property
    def clamps(self) -> bool:
        """Whether every term of the likelihood is clamped."""
        return self.likelihood.clamps

    @property
    def reads_others(self) -> bool:
        """Whether another table may enter: a risk map's, or an anchor's."""
        return self.weighted or self.standard.of_range or self.likelihood.anchors


def _papers() -> Iterator[Mechanism]:
    """The points that have a name: plain ones, then those of likelihoods and standards, and last those of no model."""

    def named(values: Iterable[Likelihood | Standard]) -> Iterator[Mechanism]:
        for value in values:
            for point in value.named:
                axis = {"likelihood": value} if isinstance(value, Likelihood) else {"standard": value}
                yield Mechanism(point.key, point.label, point.scheme, **axis)

    yield Mechanism("unweighted", "Unweighted", "none")
    yield Mechanism("weighted", "Weighted", "likelihood")
    yield Mechanism("weighted_e", "Weighted-e", "likelihood", ("truncation",))
    yield from named(each for each in LIKELIHOODS.values() if each.samples)
    yield Mechanism("exponential", "Exponential (EM)", "scalar")
    yield Mechanism("count_weighted", "Count-weighted", "count")
    yield Mechanism("weighted_final", "Weighted, final", "likelihood", ("reweighting",))
    yield Mechanism("count_weighted_final", "Count-weighted, final", "count", ("reweighting",))
    yield from named(STANDARDS.values())
    yield from named(each for each in LIKELIHOODS.values() if not each.samples)


MECHANISMS: dict[str, Mechanism] = {mechanism.key: mechanism for mechanism in _papers()}

# Every setting that moves a point of the product space; a scheme's own are among them.
TUNING = frozenset[str]().union(
    *(
        Mechanism("", "", scheme, tuple(ADJUSTMENTS), likelihood, standard).tuning
        for scheme in SCHEMES
        for likelihood in LIKELIHOODS.values()
        for standard in STANDARDS.values()
    )
)
# Of them, what is declared for one table: another table, or what is known without reading this one.
DECLARED_FOR_A_TABLE = frozenset({"risk_reference"}).union(*(each.declared for each in LIKELIHOODS.values()))


def guarantees() -> dict[str, Guarantee]:
    """Every guarantee that a point of the product space can have, by key."""
    named = [each for likelihood in LIKELIHOODS.values() for each in likelihood.guarantees]
    measured = [standard.guarantee for standard in STANDARDS.values()]
    return {each.key: each for each in (NONE, *measured, *named, WEIGHTS_SEEN, DATA_DERIVED, SETTINGS_SEEN)}


def require_several(mechanism: Mechanism, matched: bool = False) -> None:
    """Refuse, for several sensitive variables, what is about one.

    Parameters
    ----------
    matched : bool
        Whether others are to be tuned until their epsilon equals this mechanism's.

    Raises
    ------
    InputError
        With the one sentence that says why.
    """
    because = mechanism.one_variable or ("matching the ε of others to it" if matched else "")
    if because:
        raise InputError(
            f"{mechanism.label}: {because} is about one sensitive variable. With several, or with rules, take a "
            "mechanism of the whole range with an ε of its own."
        )


def compose(
    scheme: str, adjustments: tuple[str, ...] = (), likelihood: str = "plain", standard: str = "whole"
) -> Mechanism:
    """Any point of the product space, under the papers' name where it has one.

    Parameters
    ----------
    scheme, likelihood, standard : str
        Keys of `SCHEMES`, `LIKELIHOODS` and `STANDARDS`.

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
    conditioned, read = LIKELIHOODS[likelihood], STANDARDS[standard]
    _refuse_unproved(scheme, ordered, conditioned, read)
    for mechanism in MECHANISMS.values():
        point = (mechanism.scheme, mechanism.adjustments, mechanism.likelihood, mechanism.standard)
        if point == (scheme, ordered, conditioned, read):
            return mechanism
    key = "+".join((scheme, *ordered))
    label = SCHEMES[scheme].short
    label += "".join({"truncation": "-e", "reweighting": " final"}[a] for a in ordered)
    if conditioned is not PLAIN:
        key, label = f"{key}/{likelihood}", f"{label}, {likelihood}"
    if read is not WHOLE:
        key, label = f"{key}/{standard}", f"{label}, {read.label.lower()}"
    return Mechanism(key, label, scheme, ordered, conditioned, read)


def _refuse_unproved(
    scheme: str, adjustments: tuple[str, ...], likelihood: Likelihood, standard: Standard
) -> None:
    """Refuse a combination that no theorem covers."""
    if likelihood.no_range and standard.of_range:
        raise InputError(likelihood.no_range)
    if likelihood.no_weights and (scheme != "none" or adjustments):
        raise InputError(likelihood.no_weights)
    if scheme == "none" and "reweighting" in adjustments:
        raise InputError(
            "Re-weighting raises weights below 1, and without a scheme all weights "
            "are 1: there is nothing to raise."
        )
    if SCHEMES[scheme].single and "truncation" in adjustments:
        raise InputError(
            "No guarantee is known for truncating a scalar weight: it is the same "
            "for every record by definition."
        )


def find_mechanism(key: str) -> Mechanism:
    """A mechanism by its name, or composed: `scheme[+adjustment...][/likelihood][/standard]`.

    Examples
    --------
    >>> find_mechanism("count+reweighting/censored").likelihood.key
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
