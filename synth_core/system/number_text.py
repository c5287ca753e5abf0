"""How a number is written for a reader."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal

EXACT_DIGITS = 9  # of a table's value: more come of a draw that was not rounded
LARGE = 1e15  # beyond, a number is written with a power of ten


def measured(value: float) -> str:
    """A number that was measured: whole from a thousand on, with four digits below.

    Examples
    --------
    >>> measured(48646.7), measured(102010.0), measured(0.123456), measured(-1234.5), measured(0.0)
    ('48,647', '102,010', '0.1235', '-1,234', '0')
    """
    whole = math.isfinite(value) and 1000 <= abs(value) < LARGE
    return f"{value:,.0f}" if whole else f"{value:.4g}"


def declared(value: float) -> str:
    """A number that somebody declared, with all of its digits.

    Examples
    --------
    >>> declared(10000.0), declared(0.25), declared(1234567.5), declared(1e20)
    ('10,000', '0.25', '1,234,567.5', '1e+20')
    """
    return f"{value:,.12g}" if abs(value) < LARGE else f"{value:.12g}"


def exact(value: float) -> str:
    """A value of a table with all of its digits, where they are nine at most; else as one that was measured.

    Examples
    --------
    >>> exact(1234567.0), exact(1234.25), exact(2.176333295969016), exact(388626.57754899563)
    ('1,234,567', '1,234.25', '2.176', '388,627')
    """
    text = declared(value)
    return text if sum(map(str.isdigit, text)) <= EXACT_DIGITS else measured(value)


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign, a minus and no hyphen.

    Examples
    --------
    >>> signed(-1.84), signed(0.25, 2)
    ('−1.8', '+0.25')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def rounded_up(value: float, digits: int) -> str:
    """A loss of privacy with so many digits, never less than it is.

    Examples
    --------
    >>> rounded_up(1.125, 4), rounded_up(5.2203, 3), rounded_up(0.125, 3)
    ('1.125', '5.23', '0.125')
    """
    text = f"{value:.12g}"  # what only the last bits of a float say is no loss
    return f"{float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(text)):.{digits}g}"


def ceiling(value: float, decimals: int) -> str:
    """A number with so many decimals that is never less than it is: a loss of privacy, or what is off by at most.

    Examples
    --------
    >>> ceiling(8.462, 2), ceiling(0.1 + 0.2, 1), ceiling(30.4037, 1), ceiling(1.5e300, 2)
    ('8.47', '0.3', '30.5', '1.5e+300')
    """
    if not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= LARGE:
        return rounded_up(value, 6)
    text = f"{value:.12g}"  # what only the last bits of a float say is no loss
    return f"{Decimal(text).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_CEILING):f}"


def floored(value: float, decimals: int) -> str:
    """A number with so many decimals that is never more than it is: what something is at least.

    Examples
    --------
    >>> floored(0.2599, 2), floored(0.3, 1), floored(-1.234, 2), floored(math.nan, 0)
    ('0.25', '0.3', '-1.24', 'nan')
    """
    if math.isnan(value):
        return f"{value:g}"
    return ceiling(-value, decimals).removeprefix("-") if value >= 0 else f"-{ceiling(-value, decimals)}"


def points(share: float) -> str:
    """A difference of shares in percentage points, to be read beside others of the same column.

    Examples
    --------
    >>> points(0.02376), points(-0.5)
    ('2.38 points', '50.00 points')
    """
    return f"{100 * abs(share):.2f} points"


def points_at_most(share: float) -> str:
    """A difference of shares that nothing exceeds, in percentage points: the same wherever it is said.

    Examples
    --------
    >>> points_at_most(0.0841), points_at_most(-0.05), points_at_most(0.12)
    ('8.5', '5.0', '12.0')
    """
    return ceiling(100 * abs(share), 1)


def number_of(number: int, what: str) -> str:
    """A number of things.

    Examples
    --------
    >>> number_of(1, "predictor"), number_of(1200, "predictor")
    ('1 predictor', '1,200 predictors')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def is_or_are(number: int) -> str:
    """The verb of so many things.

    Examples
    --------
    >>> is_or_are(1), is_or_are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"


def those_that(number: int, what: str) -> str:
    """A number of things, of which something is said then.

    Examples
    --------
    >>> those_that(1, "cell"), those_that(1200, "cell")
    ('1 cell that is', '1,200 cells that are')
    """
    return f"{number_of(number, what)} that {is_or_are(number)}"


def over_data_sets(number: int) -> str:
    """What follows an error of several data sets: it is their mean, and one of them may be further off.

    Examples
    --------
    >>> over_data_sets(1), over_data_sets(3)
    ('', ' on average over the 3 data sets')
    """
    return f" on average over the {number} data sets" if number > 1 else ""


def of_the_first(numbers: Iterable[int]) -> str:
    """What follows the words of a picture of one data set, where the numbers beside it are means over several.

    Examples
    --------
    >>> of_the_first([1, 1]), of_the_first([1, 5])
    ('', ' Of several data sets the first is shown.')
    """
    return " Of several data sets the first is shown." if max(numbers, default=1) > 1 else ""


def percent(share: float, digits: int = 1) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.4256), percent(0.4256, 0)
    ('42.6 %', '43 %')
    """
    return f"{100 * share:.{digits}f} %"


def significant(value: float, digits: int = 4) -> str:
    """A number with so many digits that count, and never as a power of ten below 1e12.

    Examples
    --------
    >>> significant(17_391.3), significant(0.00123456)
    ('17,390', '0.001235')
    """
    return f"{float(f'{value:.{digits}g}'):,.12g}"
