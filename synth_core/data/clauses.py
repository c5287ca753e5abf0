"""Clauses: what a rule says of one column, such as `AGE < 15` or `MSP = 1 or 2`, and of which values it is true."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.errors import InputError

Array = NDArray[np.float64]
Rows = NDArray[np.bool_]
COMPARISONS = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
MISSING, PRESENT = "missing", "not missing"
TOKEN = re.compile(r'\s*("[^"]*"|<->|->|<=|>=|!=|<|>|=|(?:(?!->)[^\s"<>=!])+)')
_WORDS = ("and", "or", "not", "missing")


@dataclass(frozen=True)
class Clause:
    """What is said of one column: `AGE < 15`, `MSP = 1 or 2`, `PAY missing`, `PAY not missing`.

    Attributes
    ----------
    column : str
    comparison : str
        One of `COMPARISONS`, `MISSING`, `PRESENT`.
    values : tuple of str
        What it is compared with: one, or several of which any may be equal; none where it is about missing values.
    """

    column: str
    comparison: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.values:
            return f"{word_of(self.column)} {self.comparison}"
        return f"{word_of(self.column)} {self.comparison} {' or '.join(map(word_of, self.values))}"

    @property
    def of_missing(self) -> bool:
        """Whether it is about missing values alone."""
        return not self.values

    @property
    def word(self) -> str | None:
        """What may be another column: the one value that it is above or below, where that is no number."""
        return self.values[0] if self._ordered and _number(self.values[0]) is None else None

    @property
    def of_numbers(self) -> bool:
        """Whether what it is true of is above or below a number."""
        return self._ordered and _number(self.values[0]) is not None

    @property
    def _ordered(self) -> bool:
        return self.comparison in ("<", "<=", ">", ">=")

    def of_cells(self, series: pd.Series) -> Rows:
        """Where it holds in a column of a table, of shape (n_rows,); an empty cell fulfils no comparison."""
        if self.of_missing:
            return np.asarray(series.isna() if self.comparison == MISSING else series.notna(), dtype=bool)
        compare = COMPARISONS[self.comparison]
        numbers = [number for value in self.values if (number := _number(value)) is not None]
        if pd.api.types.is_numeric_dtype(series) and len(numbers) == len(self.values):
            cells = series.to_numpy(dtype=float, na_value=np.nan)
            return np.asarray(_any([compare(cells, number) for number in numbers]) & ~np.isnan(cells))
        self._require_equality()
        texts = series.map(cell_word, na_action="ignore")
        known = set(texts.dropna())
        same = (texts.isin(_spellings(cell_word(value), known)).to_numpy(dtype=bool) for value in self.values)
        found = _any([each if self.comparison == "=" else ~each for each in same])
        return np.asarray(found & series.notna().to_numpy(), dtype=bool)

    def of_values(
        self, values: Array, categories: tuple[str, ...] | None, beside: Array | None = None
    ) -> Rows:
        """Where it holds of numbers, or of codes of declared categories; missing is NaN and fulfils no comparison.

        Parameters
        ----------
        beside : array of shape (n_rows,), optional
            The other column, of numbers that are compared with one.

        Raises
        ------
        InputError
            If a value is no number, or no declared category.
        """
        absent = np.isnan(values)
        if self.of_missing:
            return absent if self.comparison == MISSING else ~absent
        if categories is not None:
            return ~absent & self.of_categories(categories)[np.where(absent, 0, values).astype(np.int64)]
        compare = COMPARISONS[self.comparison]
        if beside is not None:
            return np.asarray(~absent & compare(values, beside))
        return ~absent & _any([compare(values, self._as_number(value)) for value in self.values])

    def of_categories(self, categories: tuple[str, ...]) -> Rows:
        """Of which declared categories it holds: compared as numbers, or else by their declared order."""
        compare = COMPARISONS[self.comparison]
        if self.comparison in ("=", "!="):
            for value in self.values:
                if value not in categories:
                    raise InputError(
                        f"The rule's {self}: {value} is no declared category.{_mark(self.column)}"
                    )
            return _any([compare(np.array(categories, dtype=object), value) for value in self.values])
        (value,) = self.values
        bound = _number(value)
        if bound is not None:  # a category that is no number, such as N, is neither below nor above
            numbers = np.array([math.nan if (n := _number(c)) is None else n for c in categories])
            return np.asarray(compare(numbers, bound))
        if value not in categories:
            raise InputError(
                f"The rule's {self}: {value} is neither a number nor a declared category.{_mark(self.column)}"
            )
        return np.asarray(compare(np.arange(len(categories)), categories.index(value)))

    def ends(self, beside: Array | None = None) -> tuple[Array, Array]:
        """The smallest and the largest number for which one comparison with a number holds; raises InputError.

        Parameters
        ----------
        beside : array, optional
            The other column, of numbers that are compared with one; where it is missing nothing is said.

        Returns
        -------
        arrays of no dimension, or of the shape of `beside`
        """
        if self.comparison == "!=" or len(self.values) != 1:
            raise InputError(
                f"The rule's {self}: an amount has one range. Write <, <=, >, >=, or = with one number."
            )
        number = np.asarray(self._as_number(self.values[0]) if beside is None else beside, dtype=float)
        with np.errstate(over="ignore"):  # beyond the largest number is infinity, and no fault
            above, below = (np.nextafter(number, end) for end in (np.inf, -np.inf))
        low = {">=": number, "=": number, ">": above}.get(self.comparison, -np.inf)
        high = {"<=": number, "=": number, "<": below}.get(self.comparison, np.inf)
        said = ~np.isnan(number)
        return np.where(said, low, -np.inf), np.where(said, high, np.inf)

    def _as_number(self, value: str) -> float:
        number = _number(value)
        if number is None:
            raise InputError(f"The rule's {self}: {value} is no number.{_mark(self.column)}")
        return number

    def _require_equality(self) -> None:
        if self.comparison not in ("=", "!="):
            raise InputError(f"The rule's {self}: only numbers can be compared so. Write = or !=")


def _any(rows: Sequence[Rows]) -> Rows:
    return np.asarray(reduce(operator.or_, rows))


def _spellings(word: str, known: Collection[str]) -> Collection[str]:
    """The texts of a column that a value names: itself, or the same number where the column writes it as 01 or 1.0."""
    number = _number(word)
    if word in known or number is None:
        return [word]
    return [text for text in known if _number(text) == number]


def _mark(column: str) -> str:
    return f" Where it marks a missing value, write {word_of(column)} missing."


def word_of(text: str) -> str:
    """A name or a value as a rule writes it, between quotation marks where it needs them."""
    plain = TOKEN.fullmatch(text) and is_name(text) and text not in _WORDS
    return text if plain else f'"{text}"'


def _number(text: str) -> float | None:
    """A finite number: "nan" would be read as missing."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def is_number(text: str) -> bool:
    """Whether a category is compared with numbers as one."""
    return _number(text) is not None


def cell_word(value: object) -> str:
    """A cell as a rule names it: 1 and 1.0 are "1", and TRUE is so in every spelling."""
    if isinstance(value, float | np.floating) and value % 1 == 0:
        return str(int(value))
    text = str(value).strip()
    return text.upper() if text.lower() in ("true", "false") else text


def is_name(token: str) -> bool:
    """Whether a token names a column or a value."""
    return bool(token.strip('"')) and token not in (*COMPARISONS, "->", "<->")
