"""Structural zeros: rules by which public columns decide a sensitive one, such as "a child has no income".

A rule is read from a line that an analyst writes, is checked on the table before anything else, and is kept by every
synthetic record. What a rule decides is public, since its condition is: nothing is fitted for it, and nothing is paid.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator

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
FORM = (
    "A rule is written CONDITION -> COLUMN = VALUE, or CONDITION -> COLUMN missing, or, where the column is missing in "
    "no other record, CONDITION <-> COLUMN missing. A condition is such as AGE < 15 and SEX = 1; what holds a space or "
    'a sign stands between quotation marks: "age group" = "0-14"'
)
_TOKEN = re.compile(r'\s*("[^"]*"|<->|->|<=|>=|!=|<|>|=|(?:(?!->)[^\s"<>=!])+)')
_NAMED_ROWS = 5  # rows that break a rule, by their number


@dataclass(frozen=True)
class Condition:
    """A comparison of a public column with a value."""

    column: str
    comparison: str
    value: str

    def holds(self, frame: pd.DataFrame) -> Rows:
        """Where it holds, of shape (n_rows,); an empty cell fulfils nothing."""
        series = frame[self.column]
        compare, number = COMPARISONS[self.comparison], _number(self.value)
        if pd.api.types.is_numeric_dtype(series) and number is not None:
            numbers = series.to_numpy(dtype=float, na_value=np.nan)
            return np.asarray(compare(numbers, number) & ~np.isnan(numbers))
        if self.comparison not in ("=", "!="):
            raise InputError(
                f"'{self.column}' {self.comparison} {self.value}: only numbers can be compared so. Write = or !="
            )
        texts = series.map(cell_word, na_action="ignore")
        return np.asarray(compare(texts, self.value) & series.notna(), dtype=bool)


@dataclass(frozen=True)
class Rule:
    """Where all conditions hold, a sensitive column has one value.

    Attributes
    ----------
    conditions : tuple of Condition
    column : str
    value : str, or None
        None: it is missing.
    exactly : bool
        Whether it is missing nowhere else.
    """

    conditions: tuple[Condition, ...]
    column: str
    value: str | None
    exactly: bool = False

    def __str__(self) -> str:
        of = " and ".join(f"{_word(c.column)} {c.comparison} {_word(c.value)}" for c in self.conditions)
        then = "missing" if self.value is None else f"= {_word(self.value)}"
        return f"{of} {'<->' if self.exactly else '->'} {_word(self.column)} {then}"

    def holds(self, frame: pd.DataFrame) -> Rows:
        """Where all conditions hold, of shape (n_rows,)."""
        return reduce(operator.and_, (each.holds(frame) for each in self.conditions))

    def code(self, categories: tuple[str, ...] | None) -> float:
        """The value as a number, or as the code of a declared category; missing as NaN. Raises InputError."""
        if self.value is None:
            return np.nan
        if categories is not None and self.value in categories:
            return float(categories.index(self.value))
        number = _number(self.value)
        if categories is None and number is not None:
            return number
        raise InputError(
            f"The rule {self}: {self.value} is no {'number' if categories is None else 'declared category'}. Where it "
            f"marks a missing value, write {_word(self.column)} missing."
        )


def _word(text: str) -> str:
    plain = _TOKEN.fullmatch(text) and _is_name(text) and text not in ("and", "missing")
    return text if plain else f'"{text}"'


def _number(text: str) -> float | None:
    """A finite number: "nan" would be read as missing."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def cell_word(value: object) -> str:
    """A cell as a rule names it: 1 and 1.0 are "1"."""
    if isinstance(value, float | np.floating) and value % 1 == 0:
        return str(int(value))
    return str(value).strip()


def read_rule(text: str) -> Rule:
    """A rule as it is written.

    Raises
    ------
    InputError
        If it is none; how one is written is said.

    Examples
    --------
    >>> rule = read_rule('AGEP<15 and "age group" != "15 to 17" <-> PINCP missing')
    >>> rule.column, rule.value, rule.exactly, len(rule.conditions)
    ('PINCP', None, True, 2)
    >>> print(rule)
    AGEP < 15 and "age group" != "15 to 17" <-> PINCP missing
    >>> print(read_rule("AGEP < 15 -> MSP = N"))
    AGEP < 15 -> MSP = N
    """
    tokens = _TOKEN.findall(text)
    wrong = InputError(f"{FORM} (given: {text}).")
    arrows = [i for i, token in enumerate(tokens) if token in ("->", "<->")]
    if "".join(tokens) != re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text) or len(arrows) != 1:
        raise wrong
    before, then = tokens[: arrows[0]], tokens[arrows[0] + 1 :]
    exactly = tokens[arrows[0]] == "<->"
    conditions = []
    while before:
        column, comparison, value, *before = [*before, "", "", ""][: max(3, len(before))]
        if comparison not in COMPARISONS or not _is_name(column) or not _is_name(value):
            raise wrong
        conditions.append(Condition(_bare(column), comparison, _bare(value)))
        if before and (before.pop(0) != "and" or not before):
            raise wrong
    if not conditions or not then or not _is_name(then[0]):
        raise wrong
    column = _bare(then[0])
    if then[1:] == ["missing"]:
        return Rule(tuple(conditions), column, None, exactly)
    if len(then) == 3 and then[1] == "=" and _is_name(then[2]) and not exactly:
        return Rule(tuple(conditions), column, _bare(then[2]))
    raise wrong


def _is_name(token: str) -> bool:
    return bool(token.strip('"')) and token not in (*COMPARISONS, "->", "<->")


def _bare(token: str) -> str:
    return token.strip('"')


def read_rules(texts: Iterable[str]) -> tuple[Rule, ...]:
    """Rules, each once."""
    return tuple(dict.fromkeys(map(read_rule, texts)))


def as_written(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Rules as they are written when read, each once; raises ValueError, as a field of settings does."""
    try:
        return tuple(map(str, read_rules(texts)))
    except InputError as error:
        raise ValueError(str(error).removesuffix(".")) from None


RuleTexts = Annotated[tuple[str, ...], AfterValidator(as_written)]


def rules_of(texts: Iterable[str], columns: Iterable[str]) -> tuple[str, ...]:
    """The rules of these columns, as they are written when read."""
    wanted = set(columns)
    return tuple(str(rule) for rule in read_rules(texts) if rule.column in wanted)


def check_conditions(rules: Sequence[Rule], public: Iterable[str]) -> None:
    """Refuse a condition on a column that is not kept as it is; raises InputError."""
    known = set(public)
    for rule in rules:
        for condition in rule.conditions:
            if condition.column not in known:
                raise InputError(
                    f"The rule {rule} reads '{condition.column}', which is no predictor. What a rule decides is "
                    f"public, so its condition must be: make '{condition.column}' a predictor."
                )


@dataclass(frozen=True)
class Decided:
    """What the rules decide of one column.

    Attributes
    ----------
    rows : array of bool of shape (n_rows,)
        Where its value is decided.
    values : array of shape (n_rows,)
        The value there, missing as NaN.
    present : bool
        Whether it is missing nowhere else.
    """

    rows: Rows
    values: Array
    present: bool = False

    def of(self, rows: NDArray[np.int64]) -> Decided:
        """The same of some rows."""
        return Decided(self.rows[rows], self.values[rows], self.present)


def decided(
    frame: pd.DataFrame, rules: Sequence[Rule], column: str, categories: tuple[str, ...] | None
) -> Decided:
    """What the rules decide of a column, from public columns alone.

    Parameters
    ----------
    categories : tuple of str or None
        Declared categories of the column; None of a number.

    Raises
    ------
    InputError
        If two rules decide a record differently.
    """
    rows, values = np.zeros(len(frame), dtype=bool), np.full(len(frame), np.nan)
    mine = [rule for rule in rules if rule.column == column]
    for rule in mine:
        here, code = rule.holds(frame), rule.code(categories)
        other = here & rows & ~((values == code) | (np.isnan(values) & np.isnan(code)))
        if other.any():
            raise InputError(
                f"The rule {rule} contradicts another one (first in row {int(np.argmax(other)) + 1}): both decide "
                f"'{column}' there."
            )
        values[here] = code
        rows |= here
    return Decided(rows, values, any(rule.exactly for rule in mine))


def broken(frame: pd.DataFrame, rule: Rule, values: Array, categories: tuple[str, ...] | None) -> Rows:
    """Where a table breaks a rule, of shape (n_rows,).

    Parameters
    ----------
    values : array of shape (n_rows,)
        Of the rule's column, numbers or codes, missing as NaN.
    """
    here, code = rule.holds(frame), rule.code(categories)
    as_said = np.isnan(values) if np.isnan(code) else values == code
    return np.asarray((here & ~as_said) | (np.isnan(values) & ~here if rule.exactly else False))


def breaking(
    rules: Iterable[Rule], frame: pd.DataFrame, columns: Mapping[str, tuple[Array, tuple[str, ...] | None]]
) -> Rows:
    """Which records break any rule of these columns.

    Parameters
    ----------
    frame : DataFrame
        The public columns.
    columns : mapping
        Of each sensitive column its values, as for `broken`, and its declared categories.
    """
    wrong = np.zeros(len(frame), dtype=bool)
    for rule in rules:
        if rule.column in columns:
            wrong |= broken(frame, rule, *columns[rule.column])
    return wrong


def check_table(
    frame: pd.DataFrame, rule: Rule, values: Array, categories: tuple[str, ...] | None, kept: Rows
) -> None:
    """Refuse a table that breaks a rule; raises InputError that names rows and no value."""
    wrong = np.flatnonzero(broken(frame, rule, values, categories) & kept) + 1
    if wrong.size:
        named = ", ".join(f"{row:,}" for row in wrong[:_NAMED_ROWS])
        more = ", …" if wrong.size > _NAMED_ROWS else ""
        raise InputError(
            f"The table breaks the rule {rule} in {wrong.size:,} row{'s' if wrong.size > 1 else ''} "
            f"(row {named}{more}). Correct the table, or the rule."
        )
