"""Which columns were counted together with noise, and how much: the design of measured synthesis, which is public."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CountedTable:
    """A table of noisy counts.

    Attributes
    ----------
    columns : tuple of str
        Counted together.
    deviation : float
        The standard deviation of the noise of one count.
    fine : bool
        Whether a number was counted in fine bins, and not in the cells that it has beside others.
    """

    columns: tuple[str, ...]
    deviation: float
    fine: bool = False


def counted_together(tables: Iterable[CountedTable], sensitive: Sequence[str]) -> list[dict[str, str]]:
    """A square of words: a row a sensitive column, a cell each column that it was counted with, and how.

    Nothing where nothing was counted.

    Examples
    --------
    >>> counted_together([CountedTable(("age", "pay"), 12.0), CountedTable(("age", "sex", "pay"), 8.5)], ["pay"])
    [{'Sensitive': 'pay', 'age': '± 12, 1 triple', 'sex': '1 triple', 'pay': ''}]
    >>> counted_together([], ["pay"])
    []
    """
    kept = list(tables)
    if not kept:
        return []
    names = dict.fromkeys(name for each in kept for name in each.columns if name not in sensitive)
    columns = [*names, *sensitive]
    return [
        {"Sensitive": row} | {column: _words(kept, row, column) for column in columns} for row in sensitive
    ]


def _words(tables: list[CountedTable], row: str, column: str) -> str:
    """How two columns were counted together, or one by itself."""
    pair = {row, column}
    words = [
        f"fine bins ± {each.deviation:.3g}" if each.fine else f"± {each.deviation:.3g}"
        for each in tables
        if set(each.columns) == pair
    ]
    triples = sum(len(each.columns) == 3 and pair < set(each.columns) for each in tables)
    if len(pair) == 2 and triples:
        words.append(f"{triples} triple{'s' if triples > 1 else ''}")
    return ", ".join(words)
