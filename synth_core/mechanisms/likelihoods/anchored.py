"""Anchored censoring: what a record says of θ beyond what it says of a fixed anchor is clamped (anchored.md)."""

from __future__ import annotations

from synth_core.mechanisms.guarantees import CHOSEN, EMPTIED, ONE_VALUE, SUPPORT, Guarantee, bounded_range_rho
from synth_core.mechanisms.likelihoods.base import Likelihood, NamedPoint
from synth_core.mechanisms.likelihoods.papers import CENSORED

SERIES_ANCHORS = ("series", "counts+series")  # what a series released before
SELF_CONTAINED_ANCHORS = (
    "pilot",
    "counts",
    "values",
    "reference",
    *SERIES_ANCHORS,
)  # name no table of their own

_DECLARED = frozenset({"anchor", "anchor_values", "guess", "guess_zeros", "pilot_share", "counts_share"})
_LIMITS = (
    EMPTIED
    + ONE_VALUE
    + "Anything for people in a table that the anchor came from, unless it is public or was paid for. "
    + CHOSEN
)

ANCHORED = Likelihood(
    "anchored",
    "Censored at ±ε/2 around an anchor",
    "each record's influence beyond an anchor capped",
    Guarantee(
        "anchored",
        "ε-DP",
        2,
        "For an exact draw no table and no {one} exceeds ε: what every record says of θ beyond what it says of a "
        "fixed anchor is clamped to {clamp}. " + SUPPORT,
        _LIMITS,
        rho=bounded_range_rho,
    ),
    Guarantee(
        "anchored_weighted",
        "ε-DP",
        2,
        "For an exact draw no table and no {one} exceeds ε: what every record, weighted, says of θ beyond what it "
        "says of a fixed anchor is clamped to {clamp}. " + SUPPORT,
        _LIMITS,
        rho=bounded_range_rho,
    ),
    clamp=lambda fit: fit.anchored,
    no_range=CENSORED.no_range,
    settings=_DECLARED | {"anchor_weight", "anchor_records"},
    declared=_DECLARED,
    anchors=True,
    combining=("", "u + b"),
    named=(
        NamedPoint("anchored", "Anchored"),
        NamedPoint("anchored_weighted", "Anchored weighted", "likelihood"),
    ),
)
