"""Utility measures by name: the errors of a synthetic data set, better when smaller, and their words.

`ecdf_max` and `ecdf_avg` are those of `synth_core.analysis.utility`; "mean", "median" and "q90" are the
absolute relative error of that statistic, |synthetic - confidential| / |confidential|. A percentile that is 0, or
next to the zeros, has none: the difference of the shares at or below 0 takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from synth_core.analysis.result_numbers import ResultNumbers, VariableNumbers
from synth_core.analysis.utility import Statistic, statistic_words
from synth_core.errors import InputError
from synth_core.system.number_text import over_data_sets, points_at_most

ECDF_MAX, ECDF_AVG, MEAN = "ecdf_max", "ecdf_avg", "mean"
SAME = 1e-12  # a difference of shares below it is one of rounding
WORST = "worst"  # the largest error of mean and percentiles
FEW_VALUES = 200  # two samples of so many from one distribution are 14 points apart once in twenty times
FAR = 1.0  # beyond, an error is told of several variables too


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


def at_zeros(measure: str, several: bool = False) -> str:
    """What the error of a percentile is where that lies at the zeros, in a sentence; empty of other measures.

    Parameters
    ----------
    several : bool
        Whether one error stands for several variables.
    """
    if measure != "median" and not (measure.startswith("q") and measure[1:2].isdigit()):
        return ""
    said = "A percentile at the zeros is compared by the share at or below 0, and its error is in points."
    if several:
        return f"{said} The largest over the variables takes a point for as much as a percent."
    return said


def measure_label(measure: str) -> str:
    """A measure in words."""
    named = {
        ECDF_MAX: "Largest difference of the distribution functions",
        ECDF_AVG: "Average squared difference of the distribution functions",
        WORST: "Largest error of mean and percentiles",
    }
    return named.get(measure) or f"Error of the {statistic_words(measure)}"


def is_relative(measure: str) -> bool:
    """Whether a measure is a relative error."""
    return measure not in (ECDF_MAX, ECDF_AVG)


def measure_unit(measure: str) -> str:
    """What a hundred of a measure are in; empty of the squared difference, which is told as it is.

    Examples
    --------
    >>> measure_unit("q90"), measure_unit("ecdf_max"), measure_unit("ecdf_avg")
    ('%', 'percentage points', '')
    """
    return {ECDF_MAX: "percentage points", ECDF_AVG: ""}.get(measure, "%")


def drawn_scale(measure: str) -> float:
    """What a measure is multiplied by where it is drawn in its unit."""
    return 100.0 if measure_unit(measure) else 1.0


def value_text(measure: str, value: float) -> str:
    """A value of a measure as text, in its unit.

    Examples
    --------
    >>> value_text("q90", 0.02), value_text("ecdf_max", 0.0312), value_text("ecdf_avg", 0.00012)
    ('2 %', '3.12 points', '0.00012')
    """
    if is_relative(measure):
        return f"{100 * value:.3g} %"
    return f"{100 * value:.3g} points" if measure == ECDF_MAX else f"{value:.3g}"


@dataclass(frozen=True)
class VariableError:
    """The error of one variable by a measure.

    Attributes
    ----------
    variable : str
        Empty where it is the only one.
    error : float
        With its sign where it is of a statistic.
    statistic : Statistic or None
        The one that it is of, and that says what it is in.
    few : int
        How many values the variable has, where they are so few that chance alone moves it by points; else 0.
    """

    variable: str
    error: float
    statistic: Statistic | None = None
    few: int = 0

    @property
    def beside(self) -> str:
        """The variable's name in brackets, where there are several, and how many values it has where they are few."""
        return f" ({self.variable}{f', {self.few} values' if self.few else ''})" if self.variable else ""

    @property
    def unit(self) -> str:
        """What a hundred of it are in: "%" or "points"."""
        return "points" if self.statistic is None else self.statistic.unit

    @property
    def size(self) -> float:
        """How large it is: what is no number is beyond all."""
        return math.inf if math.isnan(self.error) else abs(self.error)


def variable_error(variable: VariableNumbers, measure: str) -> VariableError | None:
    """The error of one variable by a measure's key, or `WORST`; None where it was not computed."""
    if measure in (ECDF_MAX, ECDF_AVG):
        distance = variable.ecdf_max if measure == ECDF_MAX else variable.ecdf_avg
        few = variable.n_records if variable.n_records < FEW_VALUES else 0
        return None if distance is None else VariableError(variable.name, float(distance), few=few)
    return max(errors_of_units(variable, measure), key=lambda each: each.size, default=None)


def errors_of_units(variable: VariableNumbers, measure: str) -> tuple[VariableError, ...]:
    """The largest error of one variable in percent, and the one in points, of those that there are.

    A percentage and a difference of shares have no common scale, so that no maximum is taken of both.
    """
    if measure in (ECDF_MAX, ECDF_AVG):
        found = variable_error(variable, measure)
        return () if found is None else (found,)
    return _largest_of_units(
        VariableError(variable.name, float(each.error), each)
        for each in variable.statistics
        if measure in (WORST, each.name)
    )


def _largest_of_units(errors: Iterable[VariableError]) -> tuple[VariableError, ...]:
    largest: dict[str, VariableError] = {}
    for each in errors:
        if each.unit not in largest or each.size > largest[each.unit].size:
            largest[each.unit] = each
    return tuple(largest[unit] for unit in ("%", "points") if unit in largest)


def furthest(numbers: ResultNumbers, measure: str = WORST) -> VariableError | None:
    """The error of the variable that is furthest off: all others are within it. None where none has the measure."""
    errors = [variable_error(each, measure) for each in numbers.variables]
    return max((each for each in errors if each is not None), key=lambda each: each.size, default=None)


def furthest_of_units(numbers: ResultNumbers, measure: str = WORST) -> tuple[VariableError, ...]:
    """The error that is furthest off of those in percent, and of those in points: all others are within these."""
    return _largest_of_units(
        error for variable in numbers.variables for error in errors_of_units(variable, measure)
    )


def error_reach(found: VariableError) -> tuple[float, float] | None:
    """The smallest and the largest error within a statistic's 95 % interval; None where a measure has no interval.

    A synthetic data set is one random draw: another one of the same settings is likely to lie in between.

    Examples
    --------
    >>> error_reach(VariableError("", -0.02, Statistic("q90", 10.0, (9.9, 10.1), 9.8, (9.0, 10.5))))
    (0.0, 0.1)
    """
    statistic = found.statistic
    if statistic is None or not (statistic.confidential or statistic.instead):
        return None
    ends = [statistic.error_at(float(end)) for end in statistic.compared.synthetic_interval]
    least = 0.0 if min(ends) <= 0 <= max(ends) else min(map(abs, ends))
    return least, max(map(abs, ends))


def error_words(numbers: ResultNumbers, measure: str) -> str:
    """An error as a few words, with its sign: "9.9 % low"; empty where it was not computed."""
    found = furthest(numbers, measure)
    if found is None:
        return ""
    if measure == ECDF_MAX:
        return f"off by {points_at_most(found.error)} points{found.beside}"
    if measure == ECDF_AVG:
        return f"{found.error:.2g}"
    return " and ".join(f"{_off(each)}{each.beside}" for each in furthest_of_units(numbers, measure))


def error_sentence(numbers: ResultNumbers, measure: str) -> str:
    """How accurate a result is, for readers who know no statistics; empty where it was not computed."""
    found = furthest(numbers, measure)
    if found is None:
        return ""
    if measure == ECDF_MAX:
        of = f" of {found.variable}" if found.variable else ""
        points = points_at_most(found.error)
        more = over_data_sets(numbers.n_datasets)
        if of:
            return f"The distribution{of} is furthest off, by at most {points} percentage points{more}."
        return f"The share of records at or below a value is off by at most {points} percentage points{more}."
    if measure == ECDF_AVG:
        return f"The distribution functions differ by {error_words(numbers, measure)} on average, squared."
    if measure == WORST:
        return f"Furthest off is {furthest_words(numbers, measure)}."
    # Of the one statistic that was asked for: another one may be further off.
    if sum(variable_error(each, measure) is not None for each in numbers.variables) > 1:
        return " ".join(
            f"By the {each.statistic.words}, {each.variable} is furthest off: {_off(each)}."
            for each in furthest_of_units(numbers, measure)
            if each.statistic is not None
        )
    return " ".join(_off_sentence(*named) for named in _named_errors(numbers, measure))


def far_off_sentence(numbers: ResultNumbers, measure: str = WORST) -> str:
    """The statistic that is off by more than 100 %, in a sentence; empty where none is, or the measure tells of it.

    A few values far beyond all others move a mean, and no distribution function or share of records shows it.
    """
    for each in furthest_of_units(numbers):
        told = each.statistic is None or each.statistic.name == measure
        if not told and each.unit == "%" and each.size > FAR:
            return _off_sentence(*_named(each))
    return ""


def _off_sentence(what: str, off: str) -> str:
    return f"{what[0].upper()}{what[1:]} is {off}."


def furthest_words(numbers: ResultNumbers, measure: str = WORST) -> str:
    """Which statistic is furthest off, and by how much; empty where none was computed."""
    return ", and in points ".join(f"{what}: {off}" for what, off in _named_errors(numbers, measure))


def _named_errors(numbers: ResultNumbers, measure: str) -> list[tuple[str, str]]:
    """The statistics that are furthest off, of those in percent and in points, and by how much."""
    return [_named(each) for each in furthest_of_units(numbers, measure) if each.statistic is not None]


def _named(found: VariableError) -> tuple[str, str]:
    """A statistic's name and its error, in words."""
    assert found.statistic is not None
    return f"the {found.statistic.words}" + (f" of {found.variable}" if found.variable else ""), _off(found)


def _off(found: VariableError) -> str:
    """An error of a statistic in words."""
    error = found.error
    if found.statistic is not None and found.statistic.instead is not None:
        if abs(error) < SAME:
            return "the same"
        return f"{_short(100 * abs(error))} points {'high' if error > 0 else 'low'}"
    if not math.isfinite(error):
        return "off by more than any percentage, since the confidential one is 0"
    if abs(error) < 0.0005:
        return "within 0.1 %"
    if error == -1:
        return "0, so 100 % low"
    return f"{_short(100 * abs(error))} % {'high' if error > 0 else 'low'}"


def _short(value: float) -> str:
    """A number above 0 with two digits, all of its whole ones where it is larger."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
