"""Structural zeros: rules of what cannot occur in a sensitive column, such as "a child has no income".

A rule is read from a line that an analyst writes, is checked on the table before anything else, and is kept by every
synthetic record. What it comes to for given records is `data.decided`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import AfterValidator

from synth_core.data.clauses import (
    COMPARISONS,
    MISSING,
    PRESENT,
    TOKEN,
    Array,
    Clause,
    Rows,
    is_name,
    is_number,
    word_of,
)
from synth_core.errors import InputError

# Of sensitive columns: values or codes, missing as NaN, and declared categories.
Sensitive = Mapping[str, tuple[Array, tuple[str, ...] | None]]
SIGNS = {"↔": "<->", "→": "->", "≤": "<=", "≥": ">=", "≠": "!="}  # as a text processor writes them
FORM = (
    "A rule is written CONDITION -> COLUMN = VALUE (or COLUMN = A or B, COLUMN <= VALUE, COLUMN <= OTHER COLUMN, "
    "COLUMN missing, COLUMN not missing) or, where the column is missing in no other record, CONDITION <-> COLUMN "
    "missing. A rule of every record that compares two columns is COLUMN <= OTHER COLUMN alone. A condition is such as "
    'AGE < 15 and SEX = 1; what holds a space or a sign stands between quotation marks: "age group" = "0-14"'
)
_TYPED = re.compile(rf"(?<=\s)(?:{'|'.join(map(re.escape, SIGNS.values()))})(?=\s)")
_TURNED = str.maketrans("<>", "><")
_NAMED_ROWS = 5  # rows that break a rule, by their number


@dataclass(frozen=True)
class Rule:
    """Where all conditions hold, something is true of a sensitive column.

    Attributes
    ----------
    conditions : tuple of Clause
        None where it is of every record.
    then : Clause
        A missing value breaks no comparison with several values or another column, and no range.
    exactly : bool
        Whether the column is missing nowhere else.
    """

    conditions: tuple[Clause, ...]
    then: Clause
    exactly: bool = False

    def __str__(self) -> str:
        if not self.conditions:
            return str(self.then)
        return f"{' and '.join(map(str, self.conditions))} {'<->' if self.exactly else '->'} {self.then}"

    @property
    def column(self) -> str:
        """The sensitive column that it is about."""
        return self.then.column

    @property
    def missing(self) -> bool:
        """Whether it says that the column is missing."""
        return self.then.comparison == MISSING

    @property
    def one_value(self) -> bool:
        """Whether it leaves one value, or none."""
        return self.missing or (self.then.comparison == "=" and len(self.then.values) == 1)

    def beside(self, categories: tuple[str, ...] | None) -> str | None:
        """The other column that its own is compared with, where that holds amounts; else None."""
        return self.then.word if categories is None else None

    def reads(self, names: Iterable[str]) -> tuple[Clause, ...]:
        """Its conditions on columns of these names."""
        known = set(names)
        return tuple(each for each in self.conditions if each.column in known)

    def decides(self, public: Iterable[str]) -> bool:
        """Whether it leaves one value, by public columns alone."""
        return self.one_value and len(self.reads(public)) == len(self.conditions)

    def holds(self, frame: pd.DataFrame, sensitive: Sensitive | None = None) -> Rows:
        """Where all conditions hold, of shape (n_rows,); columns are those of the frame, or sensitive ones."""
        known = sensitive or {}
        return reduce(
            operator.and_,
            (
                each.of_values(*known[each.column])
                if each.column in known
                else each.of_cells(frame[each.column])
                for each in self.conditions
            ),
            np.ones(len(frame), dtype=bool),
        )

    def kept_by(self, values: Array, categories: tuple[str, ...] | None, beside: Array | None = None) -> Rows:
        """Of which values of the column it is true that they are as it says, of shape (n_rows,)."""
        kept = self.then.of_values(values, categories, beside)
        if self.one_value or self.then.of_missing:
            return kept
        return kept | np.isnan(values) | (False if beside is None else np.isnan(beside))

    def code(self, categories: tuple[str, ...] | None) -> float:
        """The one value as a number, or as the code of a declared category; missing as NaN. Raises InputError."""
        if self.missing:
            return np.nan
        if categories is not None:
            return float(np.argmax(self.then.of_categories(categories)))
        return float(self.then.ends()[0])


def read_rule(text: str) -> Rule:
    """A rule as it is written.

    Raises
    ------
    InputError
        If it is none; how one is written is said.

    Examples
    --------
    >>> rule = read_rule('AGEP<15 and "age group" != "15 to 17" <-> PINCP missing')
    >>> rule.column, rule.missing, rule.exactly, len(rule.conditions)
    ('PINCP', True, True, 2)
    >>> print(rule)
    AGEP < 15 and "age group" != "15 to 17" <-> PINCP missing
    >>> print(read_rule("AGEP<15 and MSP missing -> EDU=1 or 2"))
    AGEP < 15 and MSP missing -> EDU = 1 or 2
    >>> print(read_rule("WAGES<=INCOME"), read_rule("AGE<15 → PAY≤0"), sep=", ")
    WAGES <= INCOME, AGE < 15 -> PAY <= 0
    """
    for sign, typed in SIGNS.items():
        text = text.replace(sign, typed)
    tokens = TOKEN.findall(text)
    wrong = InputError(f"{FORM} (given: {text}).")
    arrows = [i for i, token in enumerate(tokens) if token in ("->", "<->")]
    if "".join(tokens) != re.sub(r'\s+(?=(?:[^"]*"[^"]*")*[^"]*$)', "", text) or len(arrows) > 1:
        raise wrong
    if not arrows:
        alone = _clause(tokens)
        if alone is None or alone.word is None:
            raise wrong
        return Rule((), alone)
    before, then = tokens[: arrows[0]], tokens[arrows[0] + 1 :]
    parts: list[list[str]] = [[]]
    for token in before:
        if token == "and":
            parts.append([])
        else:
            parts[-1].append(token)
    conditions, said = [_clause(part) for part in parts], _clause(then)
    if said is None or None in conditions:
        raise wrong
    exactly = tokens[arrows[0]] == "<->"
    if exactly and said.comparison != MISSING:
        raise wrong
    return Rule(tuple(each for each in conditions if each is not None), said, exactly)


def _clause(tokens: Sequence[str]) -> Clause | None:
    """What is said of a column; None if that is nothing."""
    if len(tokens) < 2 or not is_name(tokens[0]):
        return None
    column, comparison, values = _bare(tokens[0]), tokens[1], tokens[2::2]
    if list(tokens[1:]) in ([MISSING], PRESENT.split()):
        return Clause(column, " ".join(tokens[1:]))
    if comparison not in COMPARISONS or not values or not all(map(is_name, values)):
        return None
    if len(tokens) % 2 == 0 or set(tokens[3::2]) - {"or"} or (len(values) > 1 and comparison != "="):
        return None
    return Clause(column, comparison, tuple(map(_bare, values)))


def _bare(token: str) -> str:
    return token.strip('"')


def typeset(text: str) -> str:
    """Rules, or a sentence with rules in it, with printed signs: for the screen and reports. They are read too.

    Examples
    --------
    >>> typeset('The rule AGE <= 14 and SEX != 1 <-> "pay->day" missing')
    'The rule AGE ≤ 14 and SEX ≠ 1 ↔ "pay->day" missing'
    """
    printed = {typed: sign for sign, typed in SIGNS.items()}
    return _TYPED.sub(lambda found: printed[found[0]], text)


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


def check_conditions(
    rules: Iterable[Rule],
    public: Iterable[str],
    before: Mapping[str, Mapping[str, bool]],
    amounts: Collection[str] = (),
) -> None:
    """Refuse a rule that reads a column that is neither kept as it is nor drawn before that of the rule.

    Parameters
    ----------
    before : mapping
        Of each sensitive column those that are drawn before it, and whether these hold categories.
    amounts : collection of str
        The sensitive columns that hold no categories.

    Raises
    ------
    InputError
    """
    known = set(public)
    for rule in rules:
        earlier = before.get(rule.column, {})
        other = rule.then.word if rule.column in amounts else None
        if other is not None and other not in known and earlier.get(other, True):
            turned = f"{rule.then.comparison.translate(_TURNED)} {word_of(rule.column)}"
            raise InputError(
                f"The rule {rule} compares '{rule.column}' with '{other}', which "
                + (
                    f"comes after it: write {word_of(other)} {turned}, a rule of '{other}', or put '{other}' before."
                    if other in amounts and other != rule.column
                    else "is neither a number nor a predictor, nor a sensitive amount before it."
                )
            )
        for condition in rule.conditions:
            name = condition.column
            if name in known or (name in earlier and (earlier[name] or condition.of_missing)):
                continue
            if name in earlier:
                raise InputError(
                    f"The rule {rule} compares '{name}', a sensitive amount. Of one a rule may read whether it is "
                    f"missing (or not missing), and no more: released amounts are rounded."
                )
            if name in before and name != rule.column:
                raise InputError(
                    f"The rule {rule} reads '{name}', which comes after '{rule.column}': put it before, since a rule "
                    "reads what has been drawn."
                )
            raise InputError(
                f"The rule {rule} reads '{name}', which is neither a predictor nor a sensitive variable before "
                f"'{rule.column}': make it one."
            )


def broken(frame: pd.DataFrame, rule: Rule, sensitive: Sensitive) -> Rows:
    """Where a table breaks a rule, of shape (n_rows,).

    Parameters
    ----------
    frame : DataFrame
        The public columns.
    sensitive : mapping
        The others, the rule's own among them.
    """
    here, mine = rule.holds(frame, sensitive), sensitive[rule.column]
    elsewhere = np.isnan(mine[0]) & ~here if rule.exactly else np.zeros(len(here), dtype=bool)
    other = rule.beside(mine[1])
    if other is None:
        beside = None
    else:
        beside = sensitive[other][0] if other in sensitive else public_amounts(frame, rule, other)
    return np.asarray((here & ~rule.kept_by(*mine, beside)) | elsewhere)


def public_amounts(frame: pd.DataFrame, rule: Rule, name: str) -> Array:
    """The numbers of a public column that a rule compares with, missing as NaN; raises InputError for texts."""
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise InputError(f"The rule {rule} compares with '{name}', which holds texts and no numbers.")
    return frame[name].to_numpy(dtype=float, na_value=np.nan)


def breaking(rules: Iterable[Rule], frame: pd.DataFrame, sensitive: Sensitive) -> Rows:
    """Which records break any rule of these columns; arguments as of `broken`."""
    wrong = np.zeros(len(frame), dtype=bool)
    for rule in rules:
        if rule.column in sensitive:
            wrong |= broken(frame, rule, sensitive)
    return wrong


def idle(rules: Iterable[Rule], frame: pd.DataFrame) -> tuple[Rule, ...]:
    """Rules that no record meets, by their conditions on the columns of a frame: a name in them may be misspelt."""
    read = ((rule, Rule(rule.reads(frame.columns), rule.then)) for rule in rules)
    return tuple(rule for rule, public in read if not public.holds(frame).any())


def check_table(frame: pd.DataFrame, rule: Rule, sensitive: Sensitive, kept: Rows) -> None:
    """Refuse a table that breaks a rule; raises InputError that names rows and no value."""
    wrong = np.flatnonzero(broken(frame, rule, sensitive) & kept) + 1
    if wrong.size:
        named = ", ".join(f"{row:,}" for row in wrong[:_NAMED_ROWS])
        more = ", …" if wrong.size > _NAMED_ROWS else ""
        raise InputError(
            f"The table breaks the rule {rule} in {wrong.size:,} row{'s' if wrong.size > 1 else ''} "
            f"(row {named}{more}). Correct the table, or the rule.{_beside_numbers(rule, sensitive, wrong - 1)}"
        )


def _beside_numbers(rule: Rule, sensitive: Sensitive, rows: NDArray[np.int64]) -> str:
    """What is said where rows break a range by a category that is no number, such as N; empty where none does."""
    values, categories = sensitive[rule.column]
    if categories is None or not rule.then.of_numbers:
        return ""
    found = (categories[int(code)] for code in values[rows] if not np.isnan(code))
    if all(is_number(category) for category in found):
        return ""
    return (
        f" A category that is no number is neither above nor below {rule.then.values[0]}: if it may be there, list all "
        "that may be, with = and or."
    )
