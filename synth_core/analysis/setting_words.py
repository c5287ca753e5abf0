"""Settings as a reader meets them: their names, and their values in words."""

from __future__ import annotations

from typing import Any

from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import DECLARED_FOR_A_TABLE, Mechanism, find_mechanism

# Of measured synthesis.
POSTERIORS = {
    "refits": "refits to the tables with more noise (fast)",
    "exact": "exact posterior (Stan)",
}
FROM_TO = ("bounds", "risk_span")  # pairs whose first is the smaller


def setting_value(settings: Settings, name: str) -> str:
    """What a setting is set to: "0.4 to 1.8 × value", "yes", "none".

    Examples
    --------
    >>> from synth_core.analysis.settings import make_settings
    >>> chosen = make_settings(outcome="pay", model="lognormal", match_epsilon="censored")
    >>> [setting_value(chosen, name) for name in ("range", "zero_part", "match_epsilon", "guess")]
    ['0.4 to 1.8 × value', 'no', 'Censored', 'none']
    """
    value = getattr(settings, name)
    if name == "match_epsilon" and value is not None:
        return find_mechanism(value).label
    if name in FROM_TO and value is not None:
        return _from_to(value)
    if name == "range":
        return f"{_from_to(value)} × value"
    if name == "tail" and value is not None:
        return f"{_from_to(value[1:])} × value for the top {value[0]:g} %"
    if name == "brackets" and value is not None and len(value) < 8:
        return ", ".join(_from_to(each) for each in value)
    return _words(value)


def acting_settings(settings: Settings, mechanism: Mechanism) -> list[str]:
    """The settings that move a mechanism, without those of one table and those that do nothing beside the others.

    Examples
    --------
    >>> from synth_core.analysis.settings import make_settings
    >>> chosen = make_settings(outcome="pay", model="lognormal", risk_map="reciprocal")
    >>> acting_settings(chosen, find_mechanism("weighted"))
    ['scale', 'shift', 'risk_map']
    """
    idle = {name for name in mechanism.tuning if any(getattr(settings, name) is off for off in (None, False))}
    if settings.risk_map != "threshold":
        idle.add("risk_threshold")
    if settings.match_epsilon is None and "reweighting" not in mechanism.adjustments:
        idle.add("reweight_tolerance")
    if settings.brackets is not None:
        idle |= {"range", "tail"}
    if settings.datasets == 1:
        idle.add("measured_posterior")
    return [name for name in Settings.model_fields if name in mechanism.tuning - DECLARED_FOR_A_TABLE - idle]


def _from_to(pair: tuple[float, ...]) -> str:
    return " to ".join(_words(each) for each in pair)


def _words(value: Any) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return ", ".join(_words(each) for each in value) if len(value) < 8 else f"{len(value)} values"
    if isinstance(value, dict):
        return "declared values"
    return str(value)
