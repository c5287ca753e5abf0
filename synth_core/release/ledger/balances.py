"""What a chain of ledger entries adds up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synth_core.mechanisms.catalogue import guarantees
from synth_core.mechanisms.composition import SUM, Count

GENESIS = "0" * 64
LOOKS = ("look", "refuse")  # what a draw gave was seen; the second in older ledgers
MORE = "more"  # data sets that were drawn later of what was released
# Labels of guarantees whose ε only names a ρ: such ε do not add up to anything.
_NAMES_ONLY = frozenset(each.label for each in guarantees().values() if not each.pure)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. `kind` is limit, reserve, raise, look, commit, cancel or more.

    `epsilon` is what the line adds to the sum: m * epsilon when reserved, negative when cancelled. A limit that came
    with the first release of its series names that release, and goes with it if it is cancelled.
    """

    series: str
    number: int
    kind: str
    time: str
    epsilon: float
    release: str  # id of the release, "" for a limit that was set by itself
    details: dict[str, Any]
    hash: str


@dataclass(frozen=True)
class NewLimit:
    """A limit that comes with the first release of a series, and what it counts."""

    limit: float
    reason: str
    who: str
    count: Count | None = None


@dataclass(frozen=True)
class Reservation:
    """A charge taken, the secret that the data set is drawn with, and when it was taken."""

    id: str
    secret: int
    time: str
    epsilon: float  # charged so far
    state: str  # reserved, looked, committed or cancelled
    commit: dict[str, Any]  # what was written, if committed
    warnings: tuple[str, ...] = ()  # of what was charged elsewhere


@dataclass(frozen=True)
class Balance:
    """What one series adds up to; `limit` is None before one is set, and counts what `count` says."""

    series: str
    limit: float | None
    committed: float  # for good: what was released, or looked at
    reserved: float
    strict: float  # the part of the sum under a strict guarantee
    rho: float | None  # sum by zero-concentrated DP; None where a release has no such claim
    releases: int
    head: str
    count: Count = SUM
    pure: bool = True  # whether ε is a loss of every release, and names the ρ of none

    @property
    def spent(self) -> float:
        """The sum of ε, whatever the limit counts."""
        return self.committed + self.reserved


@dataclass(frozen=True)
class Place:
    """The number of a release within its series; sum and limit when it was last reserved."""

    number: int
    spent: float
    limit: float
    rho: float | None = None  # sum by zCDP then; None where a release has no such claim
    count: Count = SUM
    pure: bool = True  # as of a balance


def balance_of(series: str, entries: list[Entry]) -> Balance:
    """What a series adds up to by sequential composition, as ε and as ρ."""
    strict, rhos, pure = 0.0, dict[str, float | None](), dict[str, bool]()
    states: dict[str, str] = {}
    looked: set[str] = set()
    sums: dict[str, float] = {}
    for entry in entries:
        if entry.kind in ("limit", MORE):
            continue
        sums[entry.release] = sums.get(entry.release, 0.0) + entry.epsilon
        strict += entry.epsilon if entry.details.get("strict") else 0.0
        states[entry.release] = entry.kind
        looked |= {entry.release} if entry.kind in LOOKS else set()
        if entry.kind in ("reserve", "raise"):
            rhos[entry.release] = entry.details.get("rho")
            pure[entry.release] = entry.details.get("guarantee") not in _NAMES_ONLY
    counted = [rhos.get(release) for release, kind in states.items() if kind != "cancel"]
    committed = sum(e for r, e in sums.items() if states[r] == "commit" or r in looked)
    return Balance(
        series,
        next((float(entry.details["limit"]) for entry in reversed(limits_of(entries))), None),
        committed,
        max(0.0, sum(sums.values()) - committed),
        strict,
        None if None in counted else sum(rho for rho in counted if rho is not None),
        sum(kind == "commit" for kind in states.values()),
        entries[-1].hash if entries else GENESIS,
        count_of(entries),
        all(pure.get(release, True) for release, kind in states.items() if kind != "cancel"),
    )


def limits_of(entries: list[Entry]) -> list[Entry]:
    """The limits that were set, without those that came with a release that was given back afterwards."""
    given_back = {e.release: e.number for e in entries if e.kind == "cancel"}
    return [
        e
        for e in entries
        if e.kind == "limit" and not (e.release and given_back.get(e.release, 0) > e.number)
    ]


def count_of(entries: list[Entry]) -> Count:
    """How the limit of a series counts: as its first limit said, for good."""
    first = next(iter(limits_of(entries)), None)
    return SUM if first is None else Count(first.details.get("delta"))


def next_number(entries: list[Entry]) -> int:
    """The number of a release to be reserved now: one more than of those that still count."""
    numbers: dict[str, int] = {}
    for entry in entries:
        if entry.kind == "reserve":
            numbers[entry.release] = int(entry.details["number"])
        elif entry.kind == "cancel":
            numbers.pop(entry.release, None)
    return 1 + max(numbers.values(), default=0)


def place_of(release: str, entries: list[Entry]) -> Place:
    """Where a release stood when it was last reserved."""
    number, total, limit, place = 0, 0.0, 0.0, Place(0, 0.0, 0.0)
    standing = {e.number for e in limits_of(entries)}
    for i, entry in enumerate(entries):
        if entry.number in standing:
            limit = float(entry.details["limit"])
        total += entry.epsilon
        if entry.release == release and entry.kind in ("reserve", "raise"):
            number = int(entry.details.get("number", number))
            then = balance_of("", entries[: i + 1])
            place = Place(number, total, limit, then.rho, then.count, then.pure)
    return place
