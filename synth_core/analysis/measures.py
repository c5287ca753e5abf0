"""Utility measures by name: the errors of a synthetic data set, better when smaller, and their words.

`ecdf_max` and `ecdf_avg` are those of `synth_core.analysis.utility`; "mean", "median" and "q90" are the
absolute relative error of that statistic, |synthetic - confidential| / |confidential|.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from synth_core.analysis.utility import statistic_words
from synth_core.errors import InputError

ECDF_MAX, ECDF_AVG, MEAN = "ecdf_max", "ecdf_avg", "mean"
WORST = "worst"  # the largest error of mean and percentiles


def percentile_of(measure: str) -> float | None:
    """The percentile whose error a measure is; None for the other measures.

    Raises
    ------
    InputError
        If there is no such measure.
    """
    if measure in (ECDF_MAX, ECDF_AVG, MEAN):
        return None
    text = "50" if measure == "median" else measure.removeprefix("q")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if (measure != "median" and not measure.startswith("q")) or not 0 < value < 100:
        raise InputError(
            f"There is no utility measure '{measure}'; there are ecdf_max, ecdf_avg, mean, median, and "
            f"q with a percentile between 0 and 100, such as q90."
        )
    return value


def measure_label(measure: str) -> str:
    """A measure in words."""
    named = {
        ECDF_MAX: "Largest difference of the distribution functions",
        ECDF_AVG: "Average squared difference of the distribution functions",
        WORST: "Largest error of mean and percentiles",
    }
    return named.get(measure) or f"Error of the {statistic_words(measure)}"


def is_relative(measure: str) -> bool:
    """Whether a measure is a relative error, read in percent."""
    return measure not in (ECDF_MAX, ECDF_AVG)


def value_text(measure: str, value: float) -> str:
    """A value of a measure as text: percent for relative errors."""
    if is_relative(measure):
        return f"{100 * value:.3g} %"
    return f"{value:.3g}"


def worst_statistic(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The statistic with the largest relative error, of a summary."""
    worst: dict[str, Any] = max(numbers["statistics"], key=lambda each: abs(each["relative_error"]))
    return worst


def error_of(numbers: Mapping[str, Any], measure: str) -> float | None:
    """A measure of a summary; None where its statistic was not computed.

    Parameters
    ----------
    numbers : mapping
        A summary.
    measure : str
        A measure's key, or `WORST`.
    """
    if measure == WORST:
        return abs(float(worst_statistic(numbers)["relative_error"]))
    if not is_relative(measure):
        return float(numbers[measure])
    errors = [s["relative_error"] for s in numbers["statistics"] if s["name"] == measure]
    return abs(float(errors[0])) if errors else None


def error_reach(numbers: Mapping[str, Any], measure: str) -> tuple[float, float] | None:
    """The smallest and the largest error within a statistic's 95 % interval; None where a measure has no interval.

    A synthetic data set is one random draw: another one of the same settings is likely to lie in between.

    Examples
    --------
    >>> found = {"name": "q90", "confidential": 10.0, "synthetic_interval": (9.0, 10.5), "relative_error": -0.02}
    >>> error_reach({"statistics": [found]}, "q90")
    (0.0, 0.1)
    """
    if measure == WORST:
        measure = worst_statistic(numbers)["name"]
    matching = [s for s in numbers["statistics"] if s["name"] == measure]
    if not matching or not matching[0]["confidential"]:
        return None
    value = float(matching[0]["confidential"])
    ends = [(float(end) - value) / abs(value) for end in matching[0]["synthetic_interval"]]
    least = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
    return least, max(map(abs, ends))


def error_words(numbers: Mapping[str, Any], measure: str) -> str:
    """An error as a few words, with its sign: "9.9 % low"; empty where it was not computed."""
    if measure == ECDF_MAX:
        return f"off by {_short(100 * numbers[ECDF_MAX])} points"
    if measure == ECDF_AVG:
        return f"{numbers[ECDF_AVG]:.2g}"
    matching = [s for s in numbers["statistics"] if s["name"] == measure]
    return _off(matching[0]["relative_error"]) if matching else ""


def error_sentence(numbers: Mapping[str, Any], measure: str) -> str:
    """How accurate a result is, for readers who know no statistics; empty where it was not computed."""
    if measure == ECDF_MAX:
        points = _short(100 * numbers[ECDF_MAX])
        return f"The share of records at or below a value is off by at most {points} percentage points."
    if measure == ECDF_AVG:
        return f"The distribution functions differ by {error_words(numbers, measure)} on average, squared."
    if measure == WORST:
        worst = worst_statistic(numbers)
        return f"Furthest off is the {statistic_words(worst['name'])}: {_off(worst['relative_error'])}."
    words = error_words(numbers, measure)
    return f"The {statistic_words(measure)} is {words}." if words else ""


def _off(error: float) -> str:
    """A relative error in words."""
    if not math.isfinite(error):
        return "off by more than any percentage, since the confidential one is 0"
    if abs(error) < 0.0005:
        return "within 0.1 %"
    if error == -1:
        return "0, so 100 % low"
    return f"{_short(100 * abs(error))} % {'high' if error > 0 else 'low'}"


def _short(value: float) -> str:
    """A number above 0 with two digits, all of its digits where it is larger."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
