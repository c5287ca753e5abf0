"""What a sensitive variable looks like: zeros, losses, a top code, heaps, skewness, counts, a share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.system.number_text import declared, percent

SPIKE_SHARE, SPIKE_RECORDS, SPIKE_RATIO = 0.002, 5, 3.0
NEAR_TOP = 20  # distinct values below the largest that it is compared with
HEAPED, HEAP_RATIO = 0.2, 3.0
LARGEST_COUNT = 1_000  # whole numbers beyond it are amounts, given in whole units
SKEWED = 0.2  # Kelly's skewness; that of an exponential is 0.46


@dataclass(frozen=True)
class OutcomeFeatures:
    """Features of the values of a column that are not missing.

    Attributes
    ----------
    n, zeros, losses : int
        Records in all, of value zero, below zero.
    inside_unit : bool
        Whether every value lies strictly between 0 and 1.
    counts : bool
        Whole numbers from zero up to some hundreds.
    at_top : int
        Records of the largest value where they are a spike, as of a top code; else 0.
    at_bottom : int
        The same of the smallest value, where it is below zero or some value is not whole: small counts are many.
    heap, heaped : float
        The largest power of ten whose multiples are far too many, and their share of the values that are not zero;
        0 where there is none.
    skewness, log_skewness : float
        Kelly's coefficient, ((q90 - q50) - (q50 - q10)) / (q90 - q10), of the values and of the logarithms of those
        above zero.
    dispersion : float
        Variance over mean.
    typical : float
        Median of the absolute values that are not zero.
    """

    n: int
    zeros: int
    losses: int
    inside_unit: bool
    counts: bool
    at_top: int
    at_bottom: int
    heap: float
    heaped: float
    skewness: float
    log_skewness: float
    dispersion: float
    typical: float

    @property
    def sentences(self) -> list[str]:
        """What was recognised, a sentence each; counts and shares, no single value."""
        sentences = []
        if self.inside_unit:
            sentences.append("Every value lies strictly between 0 and 1.")
        if self.counts:
            sentences.append("All values are whole numbers from zero, as counts are.")
        if self.losses:
            sentences.append(f"{self.losses:,} of {self.n:,} values are below zero.")
        if self.zeros and not self.counts:
            sentences.append(
                f"{self.zeros:,} of {self.n:,} values are zero ({percent(self.zeros / self.n)})."
            )
        if self.at_top:
            sentences.append(f"{self.at_top:,} records share the largest value, as with a top code.")
        if self.at_bottom:
            sentences.append(
                f"{self.at_bottom:,} records share the smallest value, as with a bottom code or a mark of missing ones."
            )
        if self.heap:
            sentences.append(
                f"{percent(self.heaped, 0)} of the values that are not zero are multiples of {declared(self.heap)}."
            )
        if abs(self.skewness) > SKEWED:
            sentences.append(
                f"The values are skewed, with a long {'upper' if self.skewness > 0 else 'lower'} tail."
            )
        return sentences


def outcome_features(values: NDArray[np.float64]) -> OutcomeFeatures:
    """Recognise them in the values of a column, of shape (n_records,), none missing."""
    nonzero = np.abs(values[values != 0])
    mean = float(values.mean())
    whole = bool((values % 1 == 0).all())
    heap, heaped = _heap(nonzero)
    return OutcomeFeatures(
        n=len(values),
        zeros=int((values == 0).sum()),
        losses=int((values < 0).sum()),
        inside_unit=bool(((values > 0) & (values < 1)).all()),
        counts=whole and bool((values >= 0).all()) and float(values.max()) <= LARGEST_COUNT and not heap,
        at_top=_at_top(values),
        at_bottom=_at_top(-values) if values.min() < 0 or (values.min() > 0 and not whole) else 0,
        heap=heap,
        heaped=heaped,
        skewness=_kelly(values),
        log_skewness=_kelly(np.log(values[values > 0])),
        dispersion=float(values.var()) / mean if mean > 0 else math.inf,
        typical=float(np.median(nonzero)) if nonzero.size else 0.0,
    )


def _kelly(values: NDArray[np.float64]) -> float:
    if len(values) < 2:
        return 0.0
    low, middle, high = np.percentile(values, (10, 50, 90))
    return 0.0 if high == low else float((high + low - 2 * middle) / (high - low))


def _at_top(values: NDArray[np.float64]) -> int:
    """How many records have the largest value, if that is many times what the values just below it have."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= NEAR_TOP:
        return 0
    top, below = int(counts[-1]), float(np.median(counts[-1 - NEAR_TOP : -1]))
    spike = top >= max(SPIKE_RECORDS, SPIKE_SHARE * len(values)) and top > SPIKE_RATIO * below
    return top if spike else 0


def _heap(magnitudes: NDArray[np.float64]) -> tuple[float, float]:
    """The largest power of ten whose multiples are many more than their even share among those of a tenth of it.

    Multiples of r / 10 are multiples of r one time in ten if nobody rounds. Compared are powers well below a typical
    value: above it, hardly any value could be a multiple.
    """
    if not magnitudes.size:
        return 0.0, 0.0
    for power in range(math.floor(math.log10(np.median(magnitudes))), 0, -1):
        step = 10.0**power
        share = float((magnitudes % step == 0).mean())
        finer = float((magnitudes % (step / 10) == 0).mean())
        if share > HEAPED and share > HEAP_RATIO * finer / 10 and 2 * step <= np.median(magnitudes):
            return step, share
    return 0.0, 0.0
