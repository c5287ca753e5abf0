"""Units of several records: households, firms, persons of a panel, whose size is declared and public."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.data.clauses import cell_word
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.system.number_text import is_or_are, number_of

Sizes = NDArray[np.int64]
LARGEST_CLASS = 6  # of sizes, as a public column of measured synthesis: so many records, or more


def size_column(name: str) -> str:
    """The column of whole records that says how many records the unit of each has."""
    return f"records of each {name}"


def unit_numbers(table: Table, name: str) -> Sizes:
    """The number of the unit of each record of the table, from 0 on, those that are left out later included.

    A record of a risk reference that names none is a unit of its own; the table itself has none such (`check_units`).
    """
    numbers = np.array(pd.factorize(table.frame[name])[0], dtype=np.int64)
    alone = numbers < 0
    numbers[alone] = numbers.max() + 1 + np.arange(alone.sum())
    return numbers


def numbers_of(table: Table, name: str | None) -> Sizes:
    """The number of the unit of each record of the table; where units are single records, of the record."""
    return np.arange(table.rows, dtype=np.int64) if name is None else unit_numbers(table, name)


def unit_sizes(table: Table, name: str) -> Sizes:
    """How many records of the table the unit of each record has, those that are left out later included."""
    if size_column(name) in table.frame.columns:
        return table.frame[size_column(name)].to_numpy(dtype=np.int64)
    units = table.frame[name]
    return np.asarray(units.map(units.value_counts()).fillna(1), dtype=np.int64)


def check_units(table: Table, name: str, size: int) -> None:
    """Refuse a table in which a unit has more records than were declared, those that are left out later included.

    Parameters
    ----------
    size : int
        The most records of a unit.

    Raises
    ------
    InputError
        That names rows, and no value.
    """
    table.column(name)
    if size_column(name) in table.frame.columns:  # it would be read for the sizes
        raise InputError(
            f"The table has a column '{size_column(name)}', a name that is needed here; rename it."
        )
    entry = table.codebook.get(name)
    if entry is not None and entry.role == "sensitive":
        raise InputError(
            f"Column '{name}' is declared sensitive in the codebook, and who belongs to a unit, and how many they are, "
            "is public: name other units."
        )
    table.check_codes(name)
    units = table.frame[name]
    absent = units.isna().to_numpy()
    if absent.any():
        n = int(absent.sum())
        raise InputError(
            f"{n:,} record{' has' if n == 1 else 's have'} no unit in column '{name}' (first in row "
            f"{int(np.argmax(absent)) + 1:,}). Each belongs to one: a record alone is a unit of its own."
        )
    counts = units.map(units.value_counts()).fillna(0).to_numpy()
    large = counts > size
    if large.any():
        number = int(pd.Series(units[large]).nunique())
        most = "the most that is declared" if size > 1 else "which is all unless more is declared"
        raise InputError(
            f"{number_of(number, 'unit')} in column '{name}' {'has' if number == 1 else 'have'} more than "
            f"{records_words(size)} (first in row {int(np.argmax(large)) + 1:,}), {most}. Declare how many one may "
            "have (--unit-size): ε covers no larger unit."
        )


def check_apart(table: Table, other: Table, name: str, what: str) -> None:
    """Refuse another confidential table that has records of the same units: what it says of them is covered by nothing.

    Parameters
    ----------
    what : str
        What the other table is for, such as "anchor".

    Raises
    ------
    InputError
        With numbers of units and rows, and no value.
    """
    if not other.confidential or name not in other.frame.columns:
        return
    mine, theirs = (each.frame[name].map(cell_word, na_action="ignore") for each in (table, other))
    both = theirs.isin(set(mine.dropna())) & theirs.notna()
    if both.any():
        number = int(theirs[both].nunique())
        raise InputError(
            f"{number_of(number, 'unit')} in column '{name}' {is_or_are(number)} in this table and, with "
            f"{number_of(int(both.sum()), 'row')}, in the {what}'s table too (first in row "
            f"{int(np.argmax(both)) + 1:,} there). ε is for everything about one unit, and covers nothing of what that "
            "table says of it: leave these rows out of that table"
            + (", or name it public or released (public:FILE, release:FILE)." if what == "anchor" else ".")
        )


def whole_unit_rows(units: pd.Series, share: float, seed: int) -> NDArray[np.bool_]:
    """Whole units at random, until they have this share of the records; by their order in the table alone.

    Examples
    --------
    >>> whole_unit_rows(pd.Series(list("aabbbcdd")), 0.5, 1).tolist()
    [True, True, True, True, True, False, False, False]
    """
    place = pd.factorize(units)[0]
    sizes = np.bincount(place)
    order = np.random.default_rng(seed).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    return np.asarray(np.isin(place, order[before < max(1, round(share * len(units)))]))


def records_words(count: int) -> str:
    """So many records: "1 record", "5 records"."""
    return f"{count} record{'' if count == 1 else 's'}"


def unit_words(name: str | None, size: int) -> str:
    """Whom ε is for, where a unit has several records, in a sentence; empty where it is for a record.

    Examples
    --------
    >>> unit_words("household", 5)
    "ε covers everything sensitive about one 'household', of at most 5 records together."
    >>> unit_words(None, 1)
    ''
    """
    if name is None:
        return ""
    return f"ε covers everything sensitive about one '{name}', of at most {size} records together."


def values_words(name: str | None) -> str:
    """What is withheld together: of a record, or of a unit of several.

    Examples
    --------
    >>> values_words(None), values_words("household")
    ("one record's values", "all values of one 'household'")
    """
    return "one record's values" if name is None else f"all values of one '{name}'"
