"""A series anchors itself: what was released was paid for, and is read again at no cost."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass

import pandas as pd

from synth_core.data.table import Table
from synth_core.errors import FitError
from synth_core.release.ledger.balances import Entry
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.plan.plan import Plan
from synth_core.release.state import private_directory

POOLED = 12  # releases that an anchor is fitted on together, a year of months: each is one noisy draw


@dataclass(frozen=True)
class SeriesAnchor:
    """The last releases before another one, pooled, and how many records they count as in a prior."""

    table: Table
    records: float


def last_releases(ledger: Ledger, series: str, plan: Plan, before: str) -> SeriesAnchor | None:
    """What was released when the release `before` was reserved; None for the first of a series.

    Raises
    ------
    FitError
        If an archive is gone or was changed: the next release rests on it.
    """
    frames: list[pd.DataFrame] = []
    numbers: list[int] = []
    records, passed = 0.0, False
    for entry in reversed(ledger.entries(series)):  # the same for a repeat as for the first time
        passed = passed or (entry.kind == "reserve" and entry.release == before)
        if not passed or entry.kind != "commit" or entry.release == before or len(frames) == POOLED:
            continue
        if "anchor_records" not in entry.details:
            continue
        released, columns = _released(entry), [c.name for c in plan.columns if c.role != "unit"]
        if set(columns) <= set(released.columns):  # a series may hold releases of other variables too
            frames.append(released[columns])
            numbers.append(ledger.place(series, entry.release).number)
            records += float(entry.details["anchor_records"])
    if not frames:
        return None
    which = f"of release {numbers[0]}" if len(numbers) == 1 else f"of releases {numbers[-1]} to {numbers[0]}"
    return SeriesAnchor(Table(f"{which} of {series}", pd.concat(frames, ignore_index=True), False), records)


def _released(entry: Entry) -> pd.DataFrame:
    """The first data set of a committed release."""
    archives: dict[str, str] = entry.details["archives"]
    name = next(each for each in archives if each.endswith("-releasable.zip"))
    try:
        content = (private_directory("releases") / entry.release / name).read_bytes()
    except OSError:
        content = b""
    if hashlib.sha256(content).hexdigest() != archives[name]:
        raise FitError(
            f"The archive {name} of an earlier release is gone or was changed, and this one is anchored at it. "
            f"Restore it, or release with another plan."
        )
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        member = next(each for each in sorted(archive.namelist()) if each.endswith(".parquet"))
        return pd.read_parquet(io.BytesIO(archive.read(member)))
