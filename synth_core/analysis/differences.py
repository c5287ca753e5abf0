"""What changed from one choice to another, in words: settings, and what they did to a mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from synth_core.analysis.measures import ECDF_MAX, WORST, error_words, furthest
from synth_core.analysis.policy import measured
from synth_core.analysis.records.blocks import Block, shares_of
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.setting_words import setting_value
from synth_core.analysis.settings import Settings, setting_name
from synth_core.analysis.wording.belief_sentences import epsilon_number


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


def changed_blocks(before: Sequence[Block], after: Sequence[Block]) -> list[str]:
    """What differs between two lists of sensitive variables: which, their order, models and shares of ε; nothing is
    said where one of them is empty.

    Examples
    --------
    >>> pay = Block("pay", "lognormal")
    >>> changed_blocks([Block("sex", "categorical"), pay], [Block("sex", "categorical", share=0.2), pay])
    ['share of ε of sex 50 % → 20 %', 'share of ε of pay 50 % → 80 %']
    """
    if not before or not after:
        return []
    old, new = ({block.name: block for block in some} for some in (before, after))
    changes = [f"with {name}" for name in new if name not in old]
    changes += [f"without {name}" for name in old if name not in new]
    if not changes and list(old) != list(new):
        changes.append(f"order {', '.join(new)}")
    shares = [dict(zip(some, shares_of(list(some.values())), strict=True)) for some in (old, new)]
    for name in (name for name in new if name in old):
        one, other = old[name], new[name]
        if one.model != other.model:
            changes.append(f"model of {name} {one.model} → {other.model}")
        elif (one.options, one.earlier_scale) != (other.options, other.earlier_scale):
            changes.append(f"declared of {name}")
        if (one.missing is None) != (other.missing is None):
            changes.append(f"{name} may {'not ' if other.missing is None else ''}be missing")
        first, second = (f"{100 * each[name]:.3g} %" for each in shares)
        if first != second:
            changes.append(f"share of ε of {name} {first} → {second}")
    return changes


def difference(before: ResultNumbers, after: ResultNumbers, measure: str = WORST) -> str:
    """What became of one mechanism: "ε 6.8 → 1; 90th percentile 2 % low → 5 % low"; empty if nothing did.

    Parameters
    ----------
    measure : str
        What accuracy is said by; by default of the statistic that is furthest off after, and of several variables by
        their distributions and associations.
    """
    if before.problems or after.problems:
        which = " and ".join(word for word, s in (("before", before), ("after", after)) if s.problems)
        return f"not to be compared: has not converged {which}"
    both = (before, after)
    parts = [("ε", [epsilon_number(each.total_epsilon) for each in both])]
    names = [measure, ECDF_MAX]
    if measure == WORST:
        worst = None if after.several else furthest(after)
        names = [worst.statistic.name, ECDF_MAX] if worst and worst.statistic else [ECDF_MAX]
    parts += [(measured(name), [error_words(each, name) for each in both]) for name in dict.fromkeys(names)]
    joint = [each.joint for each in both]
    parts.append(
        (
            "associations",
            ["" if each is None else f"off by {each.association:.3f} on average" for each in joint],
        )
    )
    changed = [f"{what} {old} → {new}" for what, (old, new) in parts if old != new]
    return "; ".join(changed)
