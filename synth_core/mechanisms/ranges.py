"""Sensitive ranges: the interval in which a record's value is to be protected.

Hu, Williams and Savitsky, range restriction, sections 2 to 4.3. Intervals are arrays of
shape (n_records, 2), lower and upper bound, both included.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError

Array = NDArray[np.float64]
Tail = tuple[float, float, float]  # percent, a', b'
Brackets = tuple[tuple[float, float], ...]


def check_range(a: float, b: float, name: str = "range") -> None:
    """Refuse a relative range that is empty or leaves out its own record."""
    if np.isnan(a) or np.isnan(b) or a > b:
        raise InputError(f"The sensitive {name} needs a ≤ b (given: {a:g}, {b:g}).")
    if a == b:
        raise InputError(
            f"The sensitive {name} from {a:g} to {b:g} times the value is the value alone: nothing "
            f"about it would be protected."
        )
    if not a <= 1 <= b:
        raise InputError(
            f"The sensitive {name} from {a:g} to {b:g} times the value leaves out the "
            f"value itself; a must be at most 1 and b at least 1."
        )


def check_brackets(brackets: Brackets) -> None:
    """Refuse brackets that are empty, overlap or leave gaps."""
    if not brackets:
        raise InputError("The brackets are empty; give at least one lower and upper bound.")
    for i, (lower, upper) in enumerate(brackets, start=1):
        if not lower < upper:
            raise InputError(f"Bracket {i}: the lower bound must be smaller than the upper bound.")
    for i, ((_, end), (start, _)) in enumerate(pairwise(brackets), start=1):
        if start < end:
            raise InputError(f"Brackets {i} and {i + 1} overlap.")
        if start > end:
            raise InputError(f"Between brackets {i} and {i + 1} there is a gap.")


def read_brackets(text: str) -> Brackets:
    """Brackets from CSV text with two columns, lower and upper bound; a header is allowed."""
    rows = [
        row
        for row in csv.reader(io.StringIO(text.removeprefix("\ufeff")))
        if any(cell.strip() for cell in row)
    ]
    found: list[tuple[float, float]] = []
    for number, row in enumerate(rows, start=1):
        try:
            lower, upper = (float(cell) for cell in row[:2])
        except ValueError:
            if number == 1:
                continue  # a header
            raise InputError(f"Brackets, line {number}: two numbers are needed.") from None
        found.append((lower, upper))
    brackets = tuple(sorted(found))
    check_brackets(brackets)
    return brackets


def read_edges(text: str) -> tuple[float, ...]:
    """Edges of brackets or bins, typed with commas; raises InputError.

    Examples
    --------
    >>> read_edges("0, 10,20,")
    (0.0, 10.0, 20.0)
    """
    try:
        return tuple(float(edge) for edge in text.split(",") if edge.strip())
    except ValueError:
        raise InputError(
            f"Edges are numbers, separated by commas, without signs of thousands (given: {text})."
        ) from None


def tail_start(outcome: Array, percent: float) -> float:
    """The value from which on the top `percent` of values lie."""
    return float(np.quantile(outcome, 1 - percent / 100))


def truncated_terms(log_lik: Array, mass: Array, printed_weights: Array | None = None) -> Array:
    """Log-likelihoods given that values lie in their ranges (Range, section 3): minus the log mass of the range.

    Parameters
    ----------
    log_lik, mass : arrays of shape (n_draws, n_rows)
        In nats; the probability of each record's range.
    printed_weights : array of shape (n_rows,), optional
        Eq. 15 as printed: the weight multiplies the log-likelihood and not the mass, so the caller must not
        weight the answer again. None: the caller weights both together.

    Examples
    --------
    >>> truncated_terms(np.log([[0.5]]), np.array([[0.5]]))
    array([[0.]])
    """
    if printed_weights is not None:
        log_lik = np.where(printed_weights == 0, 0.0, printed_weights * log_lik)
    terms: Array = log_lik - np.log(mass)
    return terms


def intervals(
    outcome: Array,
    relative: tuple[float, float],
    tail: Tail | None = None,
    brackets: Brackets | None = None,
    tail_from: float | None = None,
    first_row: Callable[[NDArray[np.bool_]], str] | None = None,
) -> Array:
    """The sensitive range of every record, of shape (n_records, 2).

    Parameters
    ----------
    outcome : array of shape (n_records,)
    relative : (a, b)
        R_i = [a * x_i, b * x_i], sorted, so that negative values work.
    tail : (percent, a', b'), optional
        The top `percent` of values get [a' * x_i, b' * x_i] (section 4.3).
    brackets : optional
        Absolute intervals without gaps; a record's range is its bracket. They replace
        `relative` and `tail`.
    tail_from : float, optional
        Where the tail starts, frozen on another table; None takes the quantile of `outcome`.
    first_row : callable, optional
        Says in which row the first of these records stands; see `Records.first_row`.

    Raises
    ------
    InputError
        If a record lies in no bracket, naming its row where that is known.
    """
    if brackets is not None:
        check_brackets(brackets)
        edges = np.array([brackets[0][0], *(upper for _, upper in brackets)])
        index = np.searchsorted(edges, outcome, side="right") - 1
        index[outcome == edges[-1]] = len(brackets) - 1
        outside = (index < 0) | (index >= len(brackets))
        if outside.any():
            where = "" if first_row is None else f" ({first_row(outside)})"
            raise InputError(f"{outside.sum():,} records lie in no bracket{where}.")
        return np.column_stack([edges[index], edges[index + 1]])
    check_range(*relative)
    factors = np.tile(np.asarray(relative, dtype=float), (len(outcome), 1))
    if tail is not None:
        percent, a, b = tail
        if not 0 < percent < 100:
            raise InputError(f"The tail must be a percentage between 0 and 100 (given: {percent:g}).")
        check_range(a, b, "range of the tail")
        start = tail_start(outcome, percent) if tail_from is None else tail_from
        factors[outcome >= start] = (a, b)
    with np.errstate(invalid="ignore"):
        ends = factors * outcome[:, None]
    ends = np.where(np.isnan(ends), factors, ends)  # 0 * inf: an open end stays open
    return np.sort(ends, axis=1)
