"""Tables that the analyst names: which columns are counted together, fixed before anything is read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from synth_core.errors import InputError

Columns = tuple[int, ...]
MOST_COLUMNS = 3
BETWEEN = "*"


def table_text(text: str) -> str:
    """One table as it is written: "EDU * PINCP"; raises ValueError.

    Examples
    --------
    >>> table_text("EDU*PINCP"), table_text(" MSP ")
    ('EDU * PINCP', 'MSP')
    """
    names = named(text)
    if not 1 <= len(names) <= MOST_COLUMNS or not all(names) or len(set(names)) < len(names):
        raise ValueError(
            f"a table of counts is one to {MOST_COLUMNS} different columns with {BETWEEN} between them, such as "
            "EDU * PINCP"
        )
    return joined(names)


def joined(names: Iterable[str]) -> str:
    """A table of these columns as it is written."""
    return f" {BETWEEN} ".join(names)


def named(text: str) -> list[str]:
    """The columns of a table as it is written."""
    return [name.strip() for name in text.split(BETWEEN)]


def most_cells(n_records: int) -> int:
    """A table of more cells is not counted: its noise would be all that is seen."""
    return max(1000, 4 * n_records)


def named_columns(
    texts: Iterable[str], names: Sequence[str], shape: Sequence[int], n_public: int, n_records: int
) -> tuple[Columns, ...]:
    """The columns of named tables, each in ascending order.

    Parameters
    ----------
    names, shape : sequences
        Of all columns, public ones first: what they are called, and their cells.

    Raises
    ------
    InputError
        If a name is no column, a table has no sensitive one, or is far larger than the file.

    Examples
    --------
    >>> named_columns(["pay * age", "pay"], ("age", "pay"), (4, 9), 1, 100)
    ((0, 1), (1,))
    """
    found: dict[Columns, None] = {}
    for text in texts:
        parts = named(text)
        if unknown := [part for part in parts if part not in names]:
            raise InputError(
                f"The table {text} is to be counted (--count-together), and '{unknown[0]}' is no column here: public "
                f"are {', '.join(names[:n_public]) or 'none'}, sensitive {', '.join(names[n_public:])}."
            )
        columns = tuple(sorted(names.index(part) for part in parts))
        if columns[-1] < n_public:
            raise InputError(
                f"The table {text} is to be counted (--count-together), and is known: all its columns are public. Name "
                f"a sensitive one too: {', '.join(names[n_public:])}."
            )
        cells = math.prod(shape[column] for column in columns)
        if cells > most_cells(n_records):
            raise InputError(
                f"The table {text} has {cells:,} cells, more than {most_cells(n_records):,}: noise would be all that "
                "is seen in it. Name fewer columns, or declare fewer brackets."
            )
        found[columns] = None
    return tuple(found)
