"""A published quantity beside ours: the Monte Carlo error of the difference, and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.system.number_text import percent

Array = NDArray[np.float64]

AGREES, DIFFERS, UNDECIDED, SHOWN = "agrees", "differs", "undecided", "shown"
ERRORS = 3.0  # Monte Carlo errors of a difference that still agree
SLACK = 0.1  # of an end that was read off a figure, relative
_BOOTSTRAP = 400
# Under an exponential tail of scale s the most extreme value lies (1 + 1/2 + 1/3 + 1/4) s beyond the
# fifth and has a standard deviation of pi / sqrt(6) s: so the gap tells the error.
_EXTREME, _GAP, _SPREAD = 5, 25 / 12, np.pi / np.sqrt(6)


@dataclass(frozen=True)
class Row:
    """One line of a study's table.

    Attributes
    ----------
    published, ours : str
        As printed; `published` names its place in the paper where it is not a number.
    error : float or None
        Monte Carlo error of the difference, in the quantity's unit.
    verdict : str
        "agrees", "differs"; "undecided" where an ordering is within its Monte Carlo error; "shown"
        where nothing was published that could be compared.
    reason : str
        Why it differs, if known; or how it was judged.
    """

    quantity: str
    published: str
    ours: str
    error: float | None
    verdict: str
    reason: str = ""


MEASURES = {
    "lipschitz_bound": "Δ",
    "ecdf_max": "ECDF max",
    "ecdf_avg": "ECDF average",
    "weight_mean": "mean weight",
    "bound_mean": "mean by-record bound",
}
SUMMARIES: dict[str, Callable[[Array], float]] = {
    "min": lambda v: float(v.min()),
    "Q1": lambda v: float(np.quantile(v, 0.25)),
    "median": lambda v: float(np.median(v)),
    "mean": lambda v: float(v.mean()),
    "Q3": lambda v: float(np.quantile(v, 0.75)),
    "max": lambda v: float(v.max()),
    "sd": lambda v: float(v.std(ddof=1)) if len(v) > 1 else float("nan"),
}


def tail_scale(values: Array, summary: str) -> float:
    """Scale of the tail at "min" or "max", from the gap to the fifth most extreme value."""
    ordered = np.sort(values if summary == "max" else -values)
    depth = min(_EXTREME, len(values))
    return float(ordered[-1] - ordered[-depth]) / _GAP


def summary_error(values: Array, summary: str) -> float:
    """Monte Carlo error of a summary over replicates: by bootstrap; of an extreme, from its gap."""
    if len(values) < 2:
        return float("nan")
    if summary in ("min", "max"):
        return float(_SPREAD * tail_scale(values, summary))
    rng = np.random.default_rng(len(values))
    draws = [SUMMARIES[summary](rng.choice(values, len(values))) for _ in range(_BOOTSTRAP)]
    return float(np.std(draws))


def number(value: float) -> str:
    """Four significant digits, whole numbers as such."""
    if not np.isfinite(value):
        return "NA"
    if abs(value) >= 1000 or value == round(value):
        return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 or abs(value) >= 1000 else f"{value:.1f}"
    return f"{value:.4g}"


def listed(values: Iterable[float]) -> str:
    """Numbers one after the other, with two decimals."""
    return ", ".join(f"{v:.2f}" for v in values)


def summaries(
    quantity: str,
    values: Array,
    published: dict[str, float],
    published_replicates: int,
    reason: str = "",
    rounding: float = 0.5,
) -> list[Row]:
    """Summaries of a distribution over databases against a published row of them.

    The published row is a sample of the same law with its own R, so the error of a difference is
    ours times sqrt(1 + R / R_published), plus the rounding of print.
    """
    rows = []
    ratio = len(values) / published_replicates
    for name, expected in published.items():
        ours, reach = SUMMARIES[name](values), 0.0
        error = summary_error(values, name) * np.sqrt(1 + ratio)
        if name in ("min", "max"):  # the extreme of more databases lies further out
            error = summary_error(values, name) * np.sqrt(2)
            reach = tail_scale(values, name) * abs(np.log(ratio))
        agrees = abs(ours - expected) <= ERRORS * error + reach + rounding
        rows.append(
            Row(
                f"{quantity}, {name}",
                number(expected),
                number(ours),
                float(error) if np.isfinite(error) else None,
                AGREES if agrees else DIFFERS,
                "" if agrees else reason,
            )
        )
    return rows


def value(
    quantity: str, values: Array, expected: float, reason: str = "", tolerance: float = 0.0, note: str = ""
) -> Row:
    """A median over databases against one published number, itself of one or few databases.

    Agrees when the number lies within the spread of ours (from minimum to maximum), or within
    `tolerance`, relative, of the median.
    """
    ours = float(np.median(values))
    inside = values.min() <= expected <= values.max() or abs(ours - expected) <= tolerance * abs(expected)
    spread = f"{number(ours)} ({number(values.min())} to {number(values.max())})"
    return Row(
        quantity,
        number(expected),
        spread,
        summary_error(values, "median") if len(values) > 1 else None,
        AGREES if inside else DIFFERS,
        note if inside else reason,
    )


def interval(quantity: str, values: Array, low: float, high: float) -> Row:
    """A published "from around low to high" over databases, read off a figure.

    Agrees when both our ends lie within `SLACK`, relative, or within the Monte Carlo error.
    """
    ours = (float(values.min()), float(values.max()))
    errors = (summary_error(values, "min"), summary_error(values, "max"))
    agrees = all(
        abs(mine - theirs) <= max(SLACK * theirs, ERRORS * error)
        for mine, theirs, error in zip(ours, (low, high), errors, strict=True)
    )
    return Row(
        quantity,
        f"around {number(low)} to {number(high)}",
        f"{number(ours[0])} to {number(ours[1])}",
        float(max(errors)),
        AGREES if agrees else DIFFERS,
    )


def ordering(quantity: str, source: str, larger: Array, smaller: Array, reason: str = "") -> Row:
    """A published ordering: "the one lies above the other", database by database.

    Agrees when the median of the paired difference is positive beyond two Monte Carlo errors,
    differs when it is negative beyond them.
    """
    difference = larger - smaller
    share = float((difference > 0).mean())
    error = summary_error(difference, "median") if len(difference) > 1 else 0.0
    middle = float(np.median(difference))
    verdict = AGREES if middle > 2 * error else DIFFERS if middle < -2 * error else UNDECIDED
    return Row(
        quantity,
        source,
        f"in {percent(share, 0)} of databases (medians {number(float(np.median(larger)))}, "
        f"{number(float(np.median(smaller)))})",
        float(error),
        verdict,
        "" if verdict == AGREES else reason,
    )


def above(
    of: Callable[[str, str], Array], larger: str, smaller: str, measure: str, source: str, reason: str = ""
) -> Row:
    """The ordering of two points by one measure: "Δ of Unweighted above LW".

    Parameters
    ----------
    of : callable
        Of a point's label and a measure, its values over the databases.
    """
    quantity = f"{MEASURES[measure]} of {larger} above {smaller}"
    return ordering(quantity, source, of(larger, measure), of(smaller, measure), reason)


def claim(
    quantity: str, source: str, ours: str, holds: bool, reason: str = "", error: float | None = None
) -> Row:
    """A published statement that is true or not of ours."""
    return Row(quantity, source, ours, error, AGREES if holds else DIFFERS, "" if holds else reason)


def shown(quantity: str, ours: str, error: float | None = None, reason: str = "") -> Row:
    """A number of ours that no paper prints."""
    return Row(quantity, "–", ours, error, SHOWN, reason)
