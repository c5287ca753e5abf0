"""What changed from one choice to another, in words: settings, and what they did to a mechanism."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_core.analysis.measures import ECDF_MAX, WORST, error_words, worst_statistic
from synth_core.analysis.policy import measured
from synth_core.analysis.setting_words import setting_name, setting_value
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.mechanisms.catalogue import find_mechanism


def changed_settings(before: Settings, after: Settings) -> list[str]:
    """Each setting that differs: "scale c 0.9 → 0.5".

    Examples
    --------
    >>> from synth_core.analysis.settings import make_settings
    >>> old = make_settings(outcome="pay", model="lognormal", scale=0.9)
    >>> changed_settings(old, old.model_copy(update={"scale": 0.5, "predictors": ("age",)}))
    ['predictors none → age', 'scale c 0.9 → 0.5']
    """
    changes = []
    for name in Settings.model_fields:
        if getattr(before, name) == getattr(after, name) or name == "risk_reference":
            continue
        old, new = setting_value(before, name), setting_value(after, name)
        change = "changed" if name == "program" else f"{old} → {new}"
        changes.append(f"{setting_name(name)} {change}")
    return changes


def difference(before: Mapping[str, Any], after: Mapping[str, Any], measure: str = WORST) -> str:
    """What became of one mechanism: "ε 6.8 → 1; 90th percentile 2 % low → 5 % low"; empty if nothing did.

    Parameters
    ----------
    before, after : mapping
        Summaries.
    measure : str
        What accuracy is said by; by default of the statistic that is furthest off after.
    """
    if before["problems"] or after["problems"]:
        which = " and ".join(word for word, s in (("before", before), ("after", after)) if s["problems"])
        return f"not to be compared: has not converged {which}"
    name = str(worst_statistic(after)["name"]) if measure == WORST else measure
    totals = [epsilon_number(_total_epsilon(s)) for s in (before, after)]
    parts = [("ε", totals), (measured(name), [error_words(s, name) for s in (before, after)])]
    if name != ECDF_MAX:
        parts.append((measured(ECDF_MAX), [error_words(s, ECDF_MAX) for s in (before, after)]))
    changed = [f"{what} {old} → {new}" for what, (old, new) in parts if old != new]
    return "; ".join(changed)


def _total_epsilon(summary: Mapping[str, Any]) -> float:
    """Epsilon of all data sets."""
    charged = find_mechanism(summary["mechanism"]).charged(summary["n_datasets"])
    return float(summary["epsilon"] * charged)
