"""One list of words: what a policy reader sees first, and the papers' term that stands behind it.

Screens, slides and reports take their headings from here; the glossary explains every term.
"""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.schemes import SCHEMES


@dataclass(frozen=True)
class Word:
    """What is seen first, the papers' term as the glossary has it, and one sentence about it.

    `detail`: seen only where details are asked for.
    """

    plain: str
    term: str
    about: str
    detail: bool = False


COLUMNS = {  # of the results, in the order of the screen
    "epsilon": Word(
        "ε",
        "Epsilon, ε",
        "The privacy loss of one released data set. Smaller is more private; read it with its guarantee.",
    ),
    "guarantee": Word(
        "Guarantee", "Guarantee", "What is promised, about whom, and what is not. Press it to read."
    ),
    "verdict": Word(
        "By the rule", "Rule", "Whether ε and the accuracy of what was drawn keep the stated rule."
    ),
    "worst": Word(
        "Furthest off",
        "Furthest off",
        "The one of mean and percentiles with the largest relative error. A percentile at the zeros has none: the "
        "share at or below 0 takes its place, in percentage points, and the largest of these stands beside.",
    ),
    "gap": Word(
        "Distribution off by",
        "ECDF maximum, ECDF average",
        "ECDF maximum: the share of records at or below a value is off by at most so many percentage points.",
    ),
    "match": Word(
        "Match risk",
        "Match risk",
        "Rests on an assumed intruder: the share of records that one who knows the predictors and the value up to the "
        "radius identifies by a random pick among the matches. No guarantee.",
        detail=True,
    ),
    "delta": Word(
        "Δ (nats)",
        "Delta, Δ",
        "The largest weighted log-likelihood, in nats: natural logarithms. Where ε is measured, it is twice as large. "
        "Local: how far one record's leaving changes the posterior over the draws, whatever the unit, its effect on "
        "the weights of others included where it is known. No guarantee.",
        detail=True,
    ),
    "ecdf_max": Word(
        "ECDF maximum",
        "ECDF maximum, ECDF average",
        "Largest difference of the distribution functions.",
        detail=True,
    ),
    "ecdf_avg": Word(
        "ECDF average",
        "ECDF maximum, ECDF average",
        "Average squared difference of the distribution functions.",
        detail=True,
    ),
}

RECORD_COLUMNS = {  # of the results of whole records
    "epsilon": Word(
        "ε",
        "Epsilon, ε",
        "The privacy loss of everything sensitive about one record, in one released data set. Smaller is more private; "
        "read it with its guarantee.",
    ),
    "guarantee": COLUMNS["guarantee"],
    "verdict": COLUMNS["verdict"],
    "sample": Word(
        "As close as a sample of",
        "k-marginal score",
        "In sets of three columns with a sensitive one the synthetic table is as close as a random sample of so many "
        "of the records.",
    ),
    "gap": Word(
        "Distribution off by",
        "ECDF maximum, ECDF average",
        "The largest over the variables: the share of records at or below a value, or of a category, is off by at most "
        "so many percentage points.",
    ),
    "associations": Word(
        "Associations off by",
        "Association",
        "Mean over pairs of columns with a sensitive one of the difference of Cramér's V, which is 0 for independent "
        "columns and 1 where one tells the other.",
        detail=True,
    ),
    "pmse": Word(
        "pMSE ratio, 1 is chance",
        "pMSE ratio",
        "How well a logistic regression tells the two tables apart, over what it could by chance: 1 is chance, 2 a "
        "synthetic table whose parameters were drawn.",
        detail=True,
    ),
    "k_marginal": Word(
        "k-marginal score, of 1000",
        "k-marginal score",
        "1000 are the same shares in all sets of three columns with a sensitive one, 0 none in common.",
        detail=True,
    ),
    "impossible": Word(
        "Impossible records",
        "Structural zero",
        "The share of synthetic records that break a rule of the codebook, such as a child with an income; without "
        "rules: of records drawn from the same fit without keeping them. A dash: no rule is declared.",
        detail=True,
    ),
    "delta": COLUMNS["delta"],
}

FIGURES = {
    "bounds": Word(
        "Privacy: how far each record can sway the result",
        "Lipschitz bound, Δᵢ",
        "How far single records can sway the result, each by its Lipschitz bound: a shape is wide where many records "
        "are, and its diamond is the largest, Δ, in nats: natural logarithms. Lower is more private.",
    ),
    "ecdf": Word(
        "Accuracy: distribution of the values",
        "ECDF, distribution function",
        "Curves that coincide mean the same distribution; the thick bar marks the largest difference.",
    ),
    "weights": Word(
        "Mechanism: how much each record counts",
        "Weight, α",
        "A weight of 1 keeps a record's full say, 0 removes it. Right: weights that could rise without a larger Δ lie "
        "low.",
    ),
    "quantiles": Word(
        "Accuracy: mean and percentiles",
        "Percentile",
        "Dots near 0 with short bars are accurate; the grey band is the confidential data's own 95 % sampling "
        "interval.",
    ),
}

CATEGORY_FIGURES = {  # in the place of "ecdf" and "quantiles", where the sensitive variable has categories
    "ecdf": Word(
        "Accuracy: shares of the categories",
        "Multinomial logit",
        "Bars of one height mean the same share; thin lines are 95 % intervals. Grey is the confidential table.",
    ),
    "quantiles": Word(
        "Accuracy: error of each share",
        "Multinomial logit",
        "Dots near 0 with short bars are accurate; the grey band is the confidential data's own 95 % sampling "
        "interval.",
    ),
}

RECORD_FIGURES = {
    "variables": Word(
        "Accuracy: each variable by itself",
        "ECDF maximum, ECDF average",
        "The largest difference of the distribution functions, or half the sum of the differences of the shares of "
        "categories. Lower is better.",
    ),
    "associations": Word(
        "Accuracy: pairs of columns",
        "Association",
        "How far the association of two columns is off, the worst pairs first. Near 0 the pair is kept.",
    ),
    "pair": Word(
        "Accuracy: the shares of one pair",
        "Cell",
        "Synthetic minus confidential share of the records in each cell, in percentage points. Pale cells agree.",
    ),
}

ADJUSTMENTS = {
    "truncation": "those at greatest risk not at all",
    "reweighting": "and no less than the bound asks for",
}


def in_plain_words(mechanism: Mechanism) -> str:
    """What a mechanism does to the records, for who knows none of the papers.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import find_mechanism
    >>> in_plain_words(find_mechanism("censored"))
    "each record's influence capped"
    >>> in_plain_words(find_mechanism("weighted_e"))
    'unlikely records count less, those at greatest risk not at all'
    """
    capped = mechanism.likelihood.plain
    parts = [
        "" if capped and mechanism.scheme == "none" else SCHEMES[mechanism.scheme].plain,
        *(ADJUSTMENTS[name] for name in mechanism.adjustments),
        capped,
        mechanism.standard.plain,
    ]
    return ", ".join(filter(None, parts))
