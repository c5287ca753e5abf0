"""The adaptive part of a sweep: more points where the frontier is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from synth_core.analysis.result_key import result_key
from synth_core.errors import InputError
from synth_core.experiments.explore.knobs import KNOBS, knobs_of, settings_at
from synth_core.experiments.explore.sweep import Planned
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits


def _flat(knobs: dict[str, Any]) -> dict[str, float]:
    """Knobs as single numbers: a range is its two ends."""
    flat = {name: value for name, value in knobs.items() if name != "range"}
    if "range" in knobs:
        flat |= {"range_a": knobs["range"][0], "range_b": knobs["range"][1]}
    return flat


def _whole(flat: dict[str, float]) -> dict[str, Any]:
    knobs: dict[str, Any] = {name: value for name, value in flat.items() if not name.startswith("range_")}
    if "range_a" in flat:
        knobs["range"] = (flat["range_a"], flat["range_b"])
    return knobs


def refined(
    fingerprint: str, points: Sequence[Planned], best: Sequence[bool], reference: str | None = None
) -> list[Planned]:
    """New points half-way between each point of the frontier and its neighbours in every setting.

    Parameters
    ----------
    points : sequence of Planned
        All points so far.
    best : sequence of bool, of the same length
        Which of them lie on a frontier.

    Raises
    ------
    InputError
        If the map would grow beyond `limits.MAX_SWEEP_POINTS`.
    """
    known = {result_key(fingerprint, p.settings, find_mechanism(p.mechanism), reference) for p in points}
    flat = [_flat(p.knobs) for p in points]
    planned: dict[str, Planned] = {}
    for point, mine, chosen in zip(points, flat, best, strict=True):
        for name, value in mine.items() if chosen else ():
            others = [
                theirs[name]
                for other, theirs in zip(points, flat, strict=True)
                if other.mechanism == point.mechanism and mine | {name: 0.0} == theirs | {name: 0.0}
            ]
            below = max((v for v in others if v < value), default=None)
            above = min((v for v in others if v > value), default=None)
            for neighbour in (below, above):
                if neighbour is None:
                    continue
                between = float(f"{KNOBS[name].spread(value, neighbour, 3)[1]:.5g}")
                knobs = _whole(mine | {name: between})
                settings = settings_at(point.settings, knobs)
                mechanism = find_mechanism(point.mechanism)
                key = result_key(fingerprint, settings, mechanism, reference)
                if key not in known:
                    planned.setdefault(key, Planned(point.mechanism, settings, knobs_of(mechanism, settings)))
    if len(points) + len(planned) > limits.MAX_SWEEP_POINTS:
        raise InputError(
            f"The refined map would have {len(points) + len(planned):,} points; at most "
            f"{limits.MAX_SWEEP_POINTS:,} are computed at once."
        )
    return list(planned.values())
