"""Checks of a release's files that read the plan and synthetic values only: a refusal tells no more than the files."""

from __future__ import annotations

from functools import partial

import numpy as np

from synth_core.analysis.joint_measures import before_words
from synth_core.data.declared import declared_rules
from synth_core.data.rules import breaking, idle, read_rules
from synth_core.models.base import FAR
from synth_core.release.output.dataset import Synthetic
from synth_core.release.output.gate_check import FAIL, PASS, WARN, GateCheck
from synth_core.release.plan.plan import Plan
from synth_core.system.characters import sentence
from synth_core.system.number_text import number_of


def file_checks(plan: Plan, synthetic: Synthetic) -> list[GateCheck]:
    """All of them; those of later data sets, which read nothing of the table."""
    return [
        columns_check(plan, synthetic),
        order_check(plan, synthetic),
        bounds_check(synthetic),
        rules_check(plan, synthetic),
    ]


def columns_check(plan: Plan, synthetic: Synthetic) -> GateCheck:
    """Whether the files have the planned columns, and of categories the declared ones."""
    predictors = plan.settings.predictors
    others = sum(column.role == "public" for column in plan.columns)
    public = ", and the survey weights" if any(column.role == "weight" for column in plan.columns) else ""
    public += f", and {number_of(others, 'more column')} that the codebook declares public" if others else ""
    kept = number_of(len(predictors), "predictor")
    allowed = [column.name for column in plan.columns]
    wrong = any(list(frame.columns) != allowed for frame in synthetic.frames) or any(
        not set(frame[each.name].dropna()) <= set(each.categories)
        for each in synthetic.variables
        if each.categories is not None
        for frame in synthetic.frames
    )
    return GateCheck(
        "columns",
        "No confidential column in the output",
        FAIL if wrong else PASS,
        f"the synthetic {plan.outcome_words} and {kept} declared not sensitive{public}",
        f"Only the synthetic variable{'s' if len(plan.outcomes) > 1 else ''} and "
        f"{'columns' if public else 'predictors'} that are not sensitive are released"
        f"{'' if plan.unit is None else ', and units under new identifiers'}.",
        "The output holds another column or category: report it." if wrong else "",
    )


def order_check(plan: Plan, synthetic: Synthetic) -> GateCheck:
    """Whether the rows were shuffled, where the plan says so."""
    check = partial(GateCheck, "order", "Order of the rows")
    if not plan.shuffle:
        return check(PASS, "kept, as the plan says", "The order of the rows was kept.")
    n = synthetic.orders.shape[1]
    kept = int((synthetic.orders == np.arange(n)).sum(axis=1).max())
    wrong = kept > 25  # one is expected, whatever n
    status, advice = (FAIL, "The rows were not shuffled: report it.") if wrong else (PASS, "")
    said = (
        "The rows are in a random order."
        if plan.unit is None
        else "Units are in a random order under new identifiers, and the rows of each stand together in a random order."
    )
    return check(status, "shuffled", said, advice)


def bounds_check(synthetic: Synthetic, brought: int = 0, guessed: bool = False) -> GateCheck:
    """Whether synthetic values lie within declared bounds; `brought` and `guessed` as of `gate.Fitted`."""
    check = partial(GateCheck, "bounds", "Declared bounds")
    declared = [variable for variable in synthetic.variables if variable.bounds is not None]
    if not declared:
        far = f"; {brought:,} confidential values beyond {FAR:g} guessed spreads were brought to there before the fit"
        finding = "none are declared" + (far if brought else "")
        public = (
            f"No bounds were declared. Confidential values farther from a guessed typical value than {FAR:g} of the "
            "guessed spreads were brought to there before the fit."
        )
        return check(PASS, finding, public if guessed else "No bounds were declared.")
    found = []
    for variable in declared:
        assert variable.bounds is not None
        low, high = variable.bounds
        outside = int(((variable.values < low) | (variable.values > high)).sum())
        if outside:
            found.append(f"{outside:,} synthetic values lie beyond {low:.12g} and {high:.12g}")
    moved = f"; {synthetic.moved:,} synthetic values were moved to them" if synthetic.moved else ""
    text = "; ".join(found) or f"respected{moved}"
    advice = "Plan to move such values to the bounds (--clamp)." if found else ""
    public = f"{sentence(text)}. Confidential values beyond them were brought to them before the fit."
    finding = (
        f"{text}; {brought:,} confidential values were brought to them before the fit" if brought else text
    )
    return check(FAIL if found else PASS, finding, public, advice)


def rules_check(plan: Plan, synthetic: Synthetic, before: float | None = None) -> GateCheck:
    """Whether every synthetic record keeps the structural zeros.

    Parameters
    ----------
    before : float, optional
        The share of records that would break one, were the fit drawn from without rules: post-processing of the draw.
    """
    check, rules = partial(GateCheck, "rules", "Structural zeros"), read_rules(plan.settings.rules)
    declared = () if plan.codebook is None else declared_rules(plan.codebook, plan.outcomes)
    if ignored := [rule for rule in declared if rule not in map(str, rules)]:
        text = f"the codebook declares {'; '.join(ignored)}, which this plan does not keep"
        advice = "Plan the variable as a block: --block, in the app several sensitive variables."
        return check(WARN, text, f"{sentence(text)}.", advice)
    if not rules:
        return check(PASS, "none are declared", "No rules between columns were declared.")
    found = 0
    for place, frame in enumerate(synthetic.frames):
        order = synthetic.orders[place]
        columns = {each.name: (each.values[place][order], each.categories) for each in synthetic.variables}
        found += int(breaking(rules, frame, columns).sum())
    kept = f"kept by every record: {'; '.join(map(str, rules))}"
    unmet = idle(rules, synthetic.frames[0][list(plan.settings.predictors)])
    said = "" if before is None else f"; {before_words(before)}"
    said += f"; no record meets the condition of {' and of '.join(map(str, unmet))}" if unmet else ""
    advice = "Compare the values in the rule with those of the table." if unmet else ""
    return check(
        FAIL if found else WARN if unmet else PASS,
        (f"broken by {found:,} synthetic records" if found else kept) + said,
        f"{'Not kept' if found else 'Kept'} by every synthetic record: {'; '.join(map(str, rules))}{said}.",
        "A rule is broken: report it." if found else advice,
    )
