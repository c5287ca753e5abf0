"""Combine estimates of several synthetic data sets of a release into one, with an interval.

Needs Python 3.9 and nothing else. Estimate the same thing in each data set with ordinary software, and hand over the
estimates and their squared standard errors:

    from combine import combine
    combine(estimates=[12.1, 12.4, 11.9], variances=[0.04, 0.04, 0.05])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, variance
from typing import NamedTuple

# The rules whose intervals held where this kind of synthesis was studied; "" where none did.
RULE_OF_ONE = ""
RULE_OF_SEVERAL = ""


class Combined(NamedTuple):
    """An estimate with its standard error and the ends of its interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    rule: str = "",
    level: float = 0.95,
    factor: float = 1.0,
) -> Combined:
    """The mean of the estimates and its interval.

    Parameters
    ----------
    estimates, variances : numbers, one of each data set
        The estimate, and the square of the standard error that ordinary software gives for it.
    rule : str
        "u": the mean u of the variances, as if the data were real.
        "u + b/m": b is the variance between the m estimates (Reiter 2003).
        "u + b": for data sets that share an error which each of them shows alone; with Student's t, for a few data sets
        tell b roughly.
        "u (1 + 2/m)": parameters drawn from their posterior (Raab, Nowok and Dibben 2016).
        By default the rule of this release; with a factor "u", which it was measured for.
    level : float
        How many of such intervals are to hold the truth.
    factor : float
        What the standard errors of ordinary software (rule "u") are multiplied by, where it was measured that they
        are too small or too large: from coverage.csv, or a study of coverage.

    Raises
    ------
    ValueError
        If no rule is known to hold and none is named, or numbers do not fit.
    """
    q, u = [float(each) for each in estimates], [float(each) for each in variances]
    m = len(q)
    if not m or len(u) != m:
        raise ValueError("One estimate and one variance of each data set, please.")
    if not all(map(math.isfinite, [*q, *u])):
        raise ValueError(
            "An estimate or a variance is missing or infinite: leave that data set out, and say so."
        )
    rule = rule or ("u" if factor != 1 else RULE_OF_ONE if m == 1 else RULE_OF_SEVERAL)
    within, between = fmean(u), variance(q) if m > 1 else 0.0
    total = {
        "u": within,
        "u + b/m": within + between / m,
        "u + b": within + between,
        "u (1 + 2/m)": within * (1 + 2 / m),
    }
    if not rule:
        raise ValueError(
            "No rule is known to hold for this release: its intervals are too short. Name a rule, or a factor "
            "that standard errors are multiplied by, from a study of coverage."
        )
    if rule not in total:
        raise ValueError(f"Unknown rule {rule!r}: one of {', '.join(total)}.")
    if min(u) < 0 or not 0 < level < 1 or not factor > 0:
        raise ValueError("Variances are not negative, the level lies between 0 and 1, the factor above 0.")
    error = factor * total[rule] ** 0.5
    few = rule == "u + b" and between > 0
    degrees = (m - 1) * (1 + within / between) ** 2 if few else math.inf
    half = quantile((1 + level) / 2, degrees) * error
    return Combined(fmean(q), error, fmean(q) - half, fmean(q) + half)


def quantile(share: float, degrees: float) -> float:
    """The quantile of Student's t above its median, by degrees of freedom; normal beyond a thousand."""
    if degrees > 1_000:
        return NormalDist().inv_cdf(share)
    # t = sqrt(degrees) / tan(x * x), where x * x has the density sin(x * x) ** (degrees - 1), up to a constant.
    top = math.sqrt(math.pi / 2)
    whole, low, high = _area(top, degrees), 0.0, top
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _area(middle, degrees) / whole / 2 < 1 - share else (low, middle)
    return math.sqrt(degrees) / math.tan(low * low)


def _area(end: float, degrees: float, steps: int = 1_000) -> float:
    """The integral of that density over x from 0 to an end, by Simpson's rule."""
    width = end / steps
    points = [i * width for i in range(steps + 1)]
    values = [2 * x * math.sin(x * x) ** (degrees - 1) for x in points]
    return width / 3 * (values[0] + values[-1] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]))
