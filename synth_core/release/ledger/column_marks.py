"""What the ledger remembers of a sensitive column, in no order of its rows: enough to know it again, and nothing else.

A mark is made of keyed hashes of the values. Without the ledger's key it is random digits, of a length that is the
same for every column. With it, two marks tell which share of their values two columns have in common.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from synth_core.data.table import Table

KEPT = 256  # hashes of a mark
BY_CHANCE = 1e-6  # that another table of the same population agrees as well
RARE = 0.02  # share of values that are alike to their last digit anyway, such as round ones
DIGITS, NOTHING = (
    6,
    1e-6,
)  # of a number, and what counts as 0: single precision and late decimals change nothing


@dataclass(frozen=True)
class ColumnMark:
    """A column as the ledger remembers it.

    Attributes
    ----------
    name : str
    whole : str
        Keyed hash of all values with their numbers, of 16 hexadecimal digits.
    some : tuple of str
        The smallest keyed hashes of its values, each with its number of occurrences counted up: at most `KEPT`, of 16
        hexadecimal digits.
    kinds : int
        How many different values there are, up to 3: whether equality of all tells more than chance would.
    """

    name: str
    whole: str
    some: tuple[str, ...]
    kinds: int

    def as_json(self) -> dict[str, Any]:
        """For an entry of the ledger."""
        return asdict(self)

    @staticmethod
    def from_json(found: dict[str, Any]) -> ColumnMark:
        """From an entry of the ledger."""
        return ColumnMark(**found | {"some": tuple(found["some"])})

    def common(self, other: ColumnMark) -> float:
        """The share of the values of both columns together that is in both, with their numbers; estimated (MinHash)."""
        both = sorted({*self.some, *other.some})[:KEPT]
        return len(set(both) & set(self.some) & set(other.some)) / len(both) if both else 0.0


@dataclass(frozen=True)
class MarkedColumn:
    """A column at hand, with its mark.

    Attributes
    ----------
    by_chance : float
        The share of values that another table of so many records of the same population has in common with it.
    """

    mark: ColumnMark
    by_chance: float

    def shared_with(self, known: ColumnMark) -> float:
        """The share of values in common with a column that is known by its mark; 0 where chance makes as many.

        Two columns of two values that have the same numbers of both are the same only if their names are.
        """
        if self.mark.whole == known.whole and (self.mark.kinds > 2 or self.mark.name == known.name):
            return 1.0
        share, compared = self.mark.common(known), min(KEPT, len({*self.mark.some, *known.some}))
        alike = round(share * compared)
        beyond_chance = stats.binom.sf(alike - 1, compared, self.by_chance) < BY_CHANCE
        return share if alike and beyond_chance else 0.0


def marked(table: Table, names: Iterable[str], key: bytes) -> tuple[MarkedColumn, ...]:
    """The columns of a table with their marks.

    Parameters
    ----------
    key : bytes
        The ledger's.
    """
    return tuple(_marked(_as_text(table.frame[name].dropna()), name, key) for name in names)


def marked_records(table: Table, names: Iterable[str], key: bytes) -> MarkedColumn:
    """Whole records, in these columns, as one column of texts."""
    columns = [_as_text(table.frame[name]) for name in names]
    return _marked(["\t".join(record) for record in zip(*columns, strict=True)], "all columns together", key)


def _marked(texts: list[str], name: str, key: bytes) -> MarkedColumn:
    counted = pd.Series(texts, dtype=object).value_counts(sort=False).sort_index()
    values, count = counted.index.to_list(), counted.to_numpy(dtype=np.int64)
    own = hmac.new(key, b"column marks", hashlib.sha256).digest()
    whole = hmac.new(
        own, "\n".join(f"{v}\t{c}" for v, c in zip(values, count, strict=True)).encode(), hashlib.sha256
    )
    elements = np.array(
        [f"{v}\t{i}" for v, c in zip(values, count, strict=True) for i in range(c)], dtype=object
    )
    sip = base64.b64encode(own)[:16].decode()  # pandas' keyed hash is SipHash, of a key of 16 letters
    hashes = np.sort(pd.util.hash_array(elements, hash_key=sip, categorize=False))[:KEPT]
    mark = ColumnMark(
        name, whole.hexdigest()[:16], tuple(f"{value:016x}" for value in hashes), min(len(values), 3)
    )
    return MarkedColumn(mark, _by_chance(count))


def _by_chance(count: np.ndarray) -> float:
    """The share of values in common with another table of so many records of the same population (Jaccard's).

    Two Poisson numbers of mean c have c - sqrt(c / pi) in common; a value that is seen once is seen again 2 f_2 / f_1
    times, f_k the number of values that are seen k times (Good 1953).

    Parameters
    ----------
    count : array of int of shape (n_values,)
        How often each value is seen.
    """
    once, twice = int((count == 1).sum()), int((count == 2).sum())
    again = once * -np.expm1(-2 * twice / once) if once else 0.0
    more = count[count > 1]
    common = float(again + (more - np.sqrt(more / np.pi)).sum())
    return max(RARE, common / (2 * float(count.sum()) - common)) if len(count) else 0.0


def _as_text(column: pd.Series) -> list[str]:
    """Values as text that is the same for a number in whatever type and form."""
    if pd.api.types.is_bool_dtype(column):
        column = column.astype(int)
    numeric = pd.api.types.is_numeric_dtype(column)
    given = column if numeric else pd.to_numeric(column.astype(object), errors="coerce")
    numbers = given.to_numpy(dtype=float, na_value=np.nan)
    numbers = np.where(np.abs(numbers) < NOTHING, 0.0, numbers)
    text = [str(value).strip() for value in column] if not numeric else [""] * len(numbers)
    return [
        f"{number:.{DIGITS}g}" if np.isfinite(number) else word
        for number, word in zip(numbers.tolist(), text, strict=True)
    ]
