"""A sweep: which points a map has, and what they will cost.

A grid over the settings that move each mechanism. A mechanism ignores the knobs that do not
move it, so the same point is never planned twice.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from synth_core.analysis.result_key import result_key
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.experiments.explore.knobs import KNOBS, knobs_of, settings_at
from synth_core.experiments.explore.point import runs_of_point
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.models import family
from synth_core.system import limits

Values = tuple[float, ...]


@dataclass(frozen=True)
class Sweep:
    """Values of one knob, both ends included: by equal steps, of ε by equal ratios."""

    knob: str
    lower: float
    upper: float
    steps: int

    def __post_init__(self) -> None:
        if self.knob not in KNOBS:
            raise InputError(f"There is no setting '{self.knob}' to sweep; there are: {', '.join(KNOBS)}.")
        label, bounds = KNOBS[self.knob].label, KNOBS[self.knob].bounds
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise InputError(f"{label}: from and to must be finite numbers.")
        if self.lower > self.upper:
            raise InputError(f"{label}: from ({self.lower:g}) is larger than to ({self.upper:g}).")
        if not bounds[0] <= self.lower <= self.upper <= bounds[1]:
            raise InputError(
                f"{label}: the values must lie between {bounds[0]:g} and {bounds[1]:g} "
                f"(given: {self.lower:g} to {self.upper:g})."
            )
        if self.steps < 1:
            raise InputError(f"{label}: the sweep has no steps (given: {self.steps}); give 1 or more.")

    @property
    def values(self) -> Values:
        if self.steps == 1 or self.lower == self.upper:
            return (float(self.lower),)
        return KNOBS[self.knob].spread(self.lower, self.upper, self.steps)


def read_sweep(text: str) -> Sweep:
    """A sweep as written: `scale=0.2:1.6:8`.

    Examples
    --------
    >>> read_sweep("epsilon=2:8:3").values
    (2.0, 4.0, 8.0)
    """
    name, _, numbers = text.partition("=")
    parts = numbers.split(":")
    try:
        lower, upper, steps = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) != 3:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(
            f"The sweep '{text}' is not understood; write NAME=FROM:TO:STEPS, such as scale=0.2:1.6:8."
        ) from None
    return Sweep(name, lower, upper, steps)


@dataclass(frozen=True)
class Planned:
    """A point to be computed."""

    mechanism: str
    settings: Settings
    knobs: dict[str, Any]


def values_for(mechanism: Mechanism, settings: Settings, sweeps: Iterable[Sweep]) -> dict[str, Values]:
    """The values of every swept knob that moves the mechanism."""
    values = {}
    for sweep in sweeps:
        if KNOBS[sweep.knob].tuning in mechanism.tuning:
            if KNOBS[sweep.knob].tuning == "range" and settings.brackets is not None:
                raise InputError(
                    "Absolute brackets are set on Compare (Sensitive range), so a and b move nothing; "
                    "remove the brackets to sweep them."
                )
            values[sweep.knob] = sweep.values
    return values


def combinations(values: dict[str, Values], settings: Settings) -> Iterable[dict[str, Any]]:
    """Every combination of knob values, as settings; a and b become one range."""
    for each in product(*values.values()):
        knobs: dict[str, Any] = dict(zip(values, each, strict=True))
        if "range_a" in knobs or "range_b" in knobs:
            a, b = knobs.pop("range_a", settings.range[0]), knobs.pop("range_b", settings.range[1])
            knobs["range"] = (a, b)
        yield knobs


def _chosen(mechanisms: Iterable[str], sweeps: Iterable[Sweep]) -> tuple[list[Mechanism], list[Sweep]]:
    points = [find_mechanism(key) for key in dict.fromkeys(mechanisms)]
    if not points:
        raise InputError("Choose at least one mechanism for the map.")
    sweeps = list(sweeps)
    names = [sweep.knob for sweep in sweeps]
    if len(set(names)) != len(names):
        raise InputError("A setting is swept twice.")
    return points, sweeps


def count_points(mechanisms: Iterable[str], settings: Settings, sweeps: Iterable[Sweep]) -> dict[str, int]:
    """How many points each mechanism has, counted without listing them."""
    chosen, sweeps = _chosen(mechanisms, sweeps)
    return {m.key: math.prod(len(v) for v in values_for(m, settings, sweeps).values()) for m in chosen}


MANY_RECORDS = 20_000  # of which many have the same predictors
CATEGORY_SECONDS = (
    8e-11  # for each draw, record and squared coefficient: 540 of 4,000 records took three minutes
)


def seconds_per_point(mechanism: Mechanism, settings: Settings, n_records: int) -> float:
    """A rough cost of one point in seconds, from what points took on two cores.

    Fits of most models cost little that depends on n unless they are censored; bounds
    cost draws x records. Categories have coefficients for each of them.
    """
    draws = settings.chains * settings.draws
    work = draws * n_records / 1e7  # ten million log-likelihoods
    cost = 0.3 + 0.4 * work
    if mechanism.clamps or family(settings.model).slow:
        cost += 3.0 * settings.chains * (settings.draws + settings.warmup) * n_records / 1e7
    n_categories = max(len(settings.categories), len(settings.bracket_edges) - 1)
    if family(settings.model).uses & {"categories", "bracket_edges"}:
        columns = 1 + len(settings.predictors) + sum(len(each.column_names) for each in settings.earlier)
        coefficients = columns * max(n_categories - 1, 1)
        n = min(n_records, MANY_RECORDS)
        cost += CATEGORY_SECONDS * coefficients**2 * draws * n
    if mechanism.standard.of_range:
        cost += 1.5 * work
    if "reweighting" in mechanism.adjustments:
        cost *= 4.0
    return cost if mechanism.likelihood.seconds is None else mechanism.likelihood.seconds


def duration(seconds: float) -> str:
    """A duration in words that suit its size.

    Examples
    --------
    >>> duration(20), duration(400), duration(3e6)
    ('20 s', '7 min', '35 days')
    """
    for size, unit, limit in ((1, "s", 100), (60, "min", 100), (3600, "h", 72)):
        if seconds < size * limit:
            return f"{max(1, round(seconds / size))} {unit}"
    return f"{seconds / 86400:,.0f} days"


def together(seconds: Collection[float], at_once: int) -> float:
    """How long tasks take that run so many at once: no less than the longest of them.

    Examples
    --------
    >>> together([90, 90, 7200], 2), together([10, 10, 10, 10], 2), together([], 2)
    (7200, 20.0, 0)
    """
    return max(*seconds, sum(seconds) / at_once) if seconds else 0


def time_words(models: Iterable[str], seconds: float) -> str:
    """How long first fits of these models take; no number where one is slow, or where that of one is not known.

    Examples
    --------
    >>> time_words(["lognormal"], 20), time_words(["lognormal", "bracketed"], 20), time_words(["mixture"], 20)
    ('about 20 s', 'seconds or minutes', 'minutes')
    """
    families = [family(model) for model in models]
    if any(each.slow for each in families):
        return "minutes"
    return f"about {duration(seconds)}" if all(each.estimated for each in families) else "seconds or minutes"


def estimate(
    mechanisms: Iterable[str], settings: Settings, sweeps: Iterable[Sweep], n_records: int, lanes: int = 1
) -> tuple[int, float]:
    """Number of points and seconds they may take; refuses too many, with the cost.

    Raises
    ------
    InputError
        If there are more than `limits.MAX_SWEEP_POINTS`.
    """
    counts = count_points(mechanisms, settings, sweeps)
    total = sum(counts.values())
    seconds = 0.0
    for key, count in counts.items():
        mechanism = find_mechanism(key)
        runs = count * runs_of_point(mechanism, settings)
        seconds += runs * seconds_per_point(mechanism, settings, n_records) / max(lanes, 1)
    if total > limits.MAX_SWEEP_POINTS:
        raise InputError(
            f"This grid has {total:,} points, about {duration(seconds)} of computing; at most "
            f"{limits.MAX_SWEEP_POINTS:,} are computed at once. Use fewer steps, or sweep fewer settings."
        )
    return total, seconds


def plan(
    fingerprint: str,
    mechanisms: Iterable[str],
    settings: Settings,
    sweeps: Iterable[Sweep],
    reference: str | None = None,
) -> list[Planned]:
    """The distinct points of a sweep, ends first, so that the picture's axes settle early.

    Raises
    ------
    InputError
        If there is no mechanism, no valid combination, or more than `limits.MAX_SWEEP_POINTS`.
    """
    sweeps = list(sweeps)
    estimate(mechanisms, settings, sweeps, 1)
    chosen, sweeps = _chosen(mechanisms, sweeps)
    found: dict[str, tuple[int, Planned]] = {}
    for mechanism in chosen:
        values = values_for(mechanism, settings, sweeps)
        each = list(combinations(values, settings))
        ranks = spread_out(len(each))
        for rank, knobs in zip(ranks, each, strict=True):
            if "range" in knobs and knobs["range"][0] == knobs["range"][1]:
                continue  # the value alone: no range
            at = settings_at(settings, knobs)
            key = result_key(fingerprint, at, mechanism, reference)
            found.setdefault(key, (rank, Planned(mechanism.key, at, knobs_of(mechanism, at))))
    if not found:
        raise InputError("This sweep has no points: a and b are equal everywhere.")
    return [planned for _, planned in sorted(found.values(), key=lambda pair: pair[0])]


def spread_out(n: int) -> list[int]:
    """The order in which to compute n ordered points: ends first, then middles of the gaps.

    Examples
    --------
    >>> spread_out(5)
    [0, 3, 2, 4, 1]
    """
    rank = [0] * n
    order = [i for i in dict.fromkeys((0, n - 1)) if n > 0]
    gaps = [(0, n - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    for place, i in enumerate(order):
        rank[i] = place
    return rank
