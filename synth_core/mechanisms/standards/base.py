"""What a privacy standard is: over which values of a record its protection is read."""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.mechanisms.guarantees import Guarantee
from synth_core.mechanisms.likelihoods.base import NamedPoint


@dataclass(frozen=True)
class Standard:
    """A privacy standard: everything that callers ask of it, said once.

    Attributes
    ----------
    label, plain : str
        As those of a likelihood.
    guarantee : Guarantee
        Of a weighted mechanism whose ε is measured.
    settings : frozenset of str
        The settings that move it.
    of_range : bool
        Whether it protects within a sensitive range, and not over all values.
    averages : bool
        Whether weights are averaged over the probability of a value within the range, which the table gives.
    truncates : bool
        Whether terms are read given the range.
    one_variable : str
        What of it is about one sensitive variable; empty where it takes several.
    unclaimed, unclaimed_removed : str
        Why an audit cannot judge the claim: on any neighbour, on one with a record removed. Empty where it can.
    named : tuple of NamedPoint
        Its points that have a name of their own.
    """

    key: str
    label: str
    guarantee: Guarantee
    plain: str = ""
    settings: frozenset[str] = frozenset()
    of_range: bool = False
    averages: bool = False
    truncates: bool = False
    one_variable: str = ""
    unclaimed: str = ""
    unclaimed_removed: str = ""
    named: tuple[NamedPoint, ...] = ()
