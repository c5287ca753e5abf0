"""The papers' privacy standards: the whole range (PPM), and a sensitive range, averaged or truncated (Range)."""

from __future__ import annotations

from synth_core.mechanisms.guarantees import Guarantee
from synth_core.mechanisms.likelihoods.base import NamedPoint
from synth_core.mechanisms.standards.base import Standard

_LOCAL = (
    "It is local: a neighbouring table may have a larger ε. And it holds the weights: those rescaled by the smallest "
    "and largest risk of this very table all move when the riskiest record leaves, and 2Δ does not bound that, "
    "however many records there are."
)
_RANGE_SETTINGS = frozenset({"range", "tail", "brackets"})

WHOLE = Standard(
    "whole",
    "Whole range",
    Guarantee(
        "asymptotic",
        "asymptotic DP",
        1,
        "On this table ε = 2Δ, over the draws that were looked at, bounds what taking {term} away changes, "
        "with all weights held. Δ is the largest value seen, and more draws may see a larger one. For other tables of "
        "this kind the papers prove it in the limit of many records, where a weight reads its own record alone.",
        _LOCAL,
    ),
)
AVERAGED = Standard(
    "averaged",
    "Range-averaged",
    Guarantee(
        "averaged",
        "range-averaged asymptotic DP",
        1,
        "The measured ε = 2Δ bounds what is learned about a value within its sensitive range, "
        "averaged by the probability that a synthetic value falls into the range.",
        _LOCAL + " That the value lies in its range is not protected; the average is over the "
        "model's predictive distribution, not a worst case.",
        learned="what is learned within a record's sensitive range, on average; nothing follows for an intruder's "
        "suspicion of one record",
        no_odds="An average bounds no single case: nothing follows for what an intruder may believe of one record.",
    ),
    "protected within a range, on average",
    settings=_RANGE_SETTINGS,
    of_range=True,
    averages=True,
    one_variable="its sensitive range",
    unclaimed="The claim is averaged over the probability of a value within the sensitive range, and bounds no single "
    "pair of tables; the lower bound is shown beside it.",
    named=(NamedPoint("range_averaged", "Range-averaged", "likelihood"),),
)
TRUNCATED = Standard(
    "truncated",
    "Range-truncated",
    Guarantee(
        "truncated",
        "range-truncated asymptotic DP",
        1,
        "The measured ε = 2Δ bounds what is learned about a value within its sensitive range, "
        "given that the range itself is known.",
        _LOCAL + " That the value lies in its range is not protected.",
        learned="what an intruder learns who knows a record's sensitive range already; the range itself is not "
        "protected",
        no_odds="Nothing follows for what an intruder believes who does not know the range. A range relative to the "
        "value (from a·x to b·x) tells the value to whoever knows the range: use fixed brackets where it could be "
        "known.",
    ),
    "protected within a range",
    settings=_RANGE_SETTINGS | {"printed_truncation"},
    of_range=True,
    truncates=True,
    one_variable="its sensitive range",
    unclaimed_removed="The claim takes for granted that the value lies in its sensitive range; removing the record "
    "takes that away too. The lower bound is shown beside it.",
    named=(NamedPoint("range_truncated", "Range-truncated", "likelihood"),),
)
