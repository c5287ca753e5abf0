"""What a release takes from where it was charged already: columns that are sensitive there, records of other series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from synth_core.errors import InputError
from synth_core.release.ledger.balances import Entry
from synth_core.release.ledger.column_marks import ColumnMark, MarkedColumn
from synth_core.system.number_text import percent

SAME_COLUMN, SAME_TABLE, SOME_RECORDS = (
    0.5,
    0.9,
    0.1,
)  # shares of values in common from which it is said to be so


@dataclass(frozen=True)
class Columns:
    """The columns of a release: sensitive ones, which are charged, and those that leave as they are."""

    sensitive: tuple[MarkedColumn, ...] = ()
    kept: tuple[MarkedColumn, ...] = ()


def check_elsewhere(
    columns: Columns, own: str, release: str, entries: Mapping[str, Iterable[Entry]]
) -> tuple[str, ...]:
    """Refuse what would leave uncharged, and warn of records that are charged in two series.

    Parameters
    ----------
    own, release : str
        The series and the release that is about to be charged.
    entries : mapping
        All entries of every series.

    Returns
    -------
    tuple of str
        Sentences. They name columns and series, and no value.

    Raises
    ------
    InputError
        If a column that is kept holds the values of one that was charged as sensitive, in whatever order and under
        whatever name; or the table is one of another series but for a few records.
    """
    warnings = []
    for series, known in _charged(entries, release):
        for mark in known:
            for column in columns.kept:
                if column.shared_with(mark) >= SAME_COLUMN:
                    raise InputError(
                        f"The column '{column.mark.name}', which is kept, has the values of '{mark.name}', which is "
                        f"sensitive in the series {series}: there every release of it was charged, and here it would "
                        f"leave as it is. Take it out of the predictors, public columns, weight and units, or plan it "
                        f"as a sensitive variable."
                    )
                if column.mark.name == mark.name:
                    warnings.append(f"'{mark.name}' is kept here and is sensitive in the series {series}.")
            if series == own:
                continue
            for column in columns.sensitive:
                share = column.shared_with(mark)
                if share >= SAME_TABLE:
                    raise InputError(
                        f"'{column.mark.name}' has the values of '{mark.name}', which was charged under the series "
                        f"{series}, but for a few records or late decimals: charge it there, so that its sum stays in "
                        f"one place."
                    )
                if share >= SOME_RECORDS:
                    warnings.append(
                        f"{percent(share, 0)} of the values of '{column.mark.name}' were charged under the series "
                        f"{series} too: for the people of both tables the sums of both series add up, and no limit "
                        "counts that."
                    )
    return tuple(dict.fromkeys(warnings))


def _charged(entries: Mapping[str, Iterable[Entry]], release: str) -> list[tuple[str, list[ColumnMark]]]:
    """Marks of the sensitive columns of every other release that still counts, by series; each mark once."""
    found = []
    for series, all_of in entries.items():
        state, marks = dict[str, str](), dict[str, list[ColumnMark]]()
        for entry in all_of:
            state[entry.release] = entry.kind
            if entry.kind == "reserve":
                marks[entry.release] = [
                    ColumnMark.from_json(each) for each in entry.details.get("columns", ())
                ]
        counting = [
            mark for name, own in marks.items() if name != release and state[name] != "cancel" for mark in own
        ]
        found.append((series, list(dict.fromkeys(counting))))
    return found
