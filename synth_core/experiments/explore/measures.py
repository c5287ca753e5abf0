"""Utility targets, and the measures of many synthetic data sets against one confidential sample."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.measures import ECDF_AVG, ECDF_MAX, MEAN, measure_label, percentile_of, value_text
from synth_core.analysis.survey_estimates import shares_around_zero as weighted_around_zero
from synth_core.analysis.survey_estimates import weighted_quantiles
from synth_core.analysis.utility import ecdf_distance, near_zeros, shares_around_zero, statistic_name
from synth_core.errors import InputError

Array = NDArray[np.float64]

WHOLE_PERCENTILES = tuple(float(p) for p in range(1, 100))
_TARGET = re.compile(r"^\s*([a-z_0-9.]+)\s*<=?\s*([^%\s]+)\s*(%?)\s*$")


def within(errors: Array | float, at_most: float) -> NDArray[np.bool_]:
    """Whether an error is at most a limit: 8 of 100 is 0.08, though their difference in floating point is more."""
    return np.less_equal(errors, at_most * (1 + 1e-9))


@dataclass(frozen=True)
class Target:
    """An accuracy to be reached: `measure` at most `at_most` in a share of the data sets."""

    measure: str
    at_most: float
    share: float = 0.9

    def __post_init__(self) -> None:
        percentile_of(self.measure)
        if not (math.isfinite(self.at_most) and self.at_most > 0):
            raise InputError(f"A target must be a number above 0 (given: {self.at_most}).")
        if not 0 < self.share < 1:
            raise InputError(
                f"The share of data sets that meet the target must lie between 0 and 1, both left out "
                f"(given: {self.share})."
            )

    def met(self, errors: Array | float) -> NDArray[np.bool_]:
        """Which errors are at most what is asked; NaN meets nothing."""
        return within(errors, self.at_most)

    @property
    def text(self) -> str:
        return f"{measure_label(self.measure)} at most {value_text(self.measure, self.at_most)}"


def read_target(text: str, share: float) -> Target:
    """A target as written: `ecdf_max<=0.05`, `q90<=2%`.

    Examples
    --------
    >>> read_target("q90 <= 2%", 0.9)
    Target(measure='q90', at_most=0.02, share=0.9)
    """
    match = _TARGET.match(text)
    try:
        number = float(match[2]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or math.isnan(number):
        raise InputError(
            f"The target '{text}' is not understood; write it like ecdf_max<=0.05, q90<=2% or epsilon=4."
        )
    return Target(match[1], number / 100 if match[3] else number, share)


class Ruler:
    """Measures synthetic data sets against one confidential sample, sorted once.

    Parameters
    ----------
    confidential : array of shape (n_records,)
    percentiles : tuple of float, in (0, 100)
    weights : array of shape (n_records,), optional
        Survey weights: what is measured is then of the population.
    """

    def __init__(
        self,
        confidential: Array,
        percentiles: tuple[float, ...] = WHOLE_PERCENTILES,
        weights: Array | None = None,
    ):
        self._shares = np.array(percentiles) / 100
        self.names = (ECDF_MAX, ECDF_AVG, MEAN, *(statistic_name(p) for p in percentiles))
        self._ordered, self._weights = _sorted(confidential, weights)
        self._known = self._estimates(self._ordered, self._weights)
        around = _around_zero(self._ordered, self._weights)
        self._at_zero = around[1]
        self._by_share = np.append(False, near_zeros(*around, self._shares, self._known[1:]))

    def measure(self, synthetic: Array, weights: Array | None = None) -> Array:
        """The errors of one data set, of shape (len(names),); NaN where the mean is 0 or a statistic overflows.

        Of a percentile at the zeros the difference of the shares at or below 0, see `near_zeros`.

        Parameters
        ----------
        weights : array of shape (n_synthetic,), optional
            Survey weights, where those of the confidential sample are known.
        """
        ordered, own = _sorted(synthetic, weights)
        both = None if self._weights is None or own is None else (self._weights, own)
        distance = ecdf_distance(self._ordered, ordered, both)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            errors = np.abs(self._estimates(ordered, own) - self._known) / np.abs(self._known)
        errors[self._known == 0] = np.nan  # a relative error of nothing
        errors[self._by_share] = abs(_around_zero(ordered, own)[1] - self._at_zero)
        return np.concatenate([[distance.ecdf_max, distance.ecdf_avg], errors])

    def _estimates(self, ordered: Array, weights: Array | None) -> Array:
        """Mean and percentiles of a sorted sample."""
        if weights is None:
            return np.append(ordered.mean(), np.quantile(ordered, self._shares))
        mean = np.average(ordered, weights=weights)
        return np.append(mean, weighted_quantiles(ordered, weights, self._shares))


def _sorted(values: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """A sample in ascending order, with its weights."""
    if weights is None:
        return np.sort(values), None
    order = np.argsort(values, kind="stable")
    return values[order], weights[order]


def _around_zero(ordered: Array, weights: Array | None) -> tuple[float, float]:
    """The shares of a sorted sample below 0, and at or below it."""
    return shares_around_zero(ordered) if weights is None else weighted_around_zero(ordered, weights)
