"""The gate: what is checked before anything is written.

Each check passes, warns, or fails and says what to do. A failed check can be overridden with a
reason, which both reports show; what would break the promise silently cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.result import Result
from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import COVERED
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.release.bounded_text import words
from synth_core.release.output.copy_tests import copy_tests, precision_of
from synth_core.release.output.dataset import Synthetic, whole_outcome
from synth_core.release.plan.plan import Plan, Standing
from synth_core.system import limits

PASS, WARN, FAIL, OVERRIDDEN = "passed", "warning", "failed", "overridden"

# What may be overridden. The others protect the sum, the promise or the people in the table.
OVERRIDABLE = frozenset({"convergence", "target", "growth", "guarantee", "bounds"})
ORDER = (
    "ledger",
    "convergence",
    "target",
    "growth",
    "guarantee",
    "columns",
    "copies",
    "order",
    "bounds",
    "map",
)


@dataclass(frozen=True)
class GateCheck:
    """One line of the gate. `finding` may be confidential; `public` never is."""

    key: str
    title: str
    status: str
    finding: str
    public: str
    advice: str = ""
    reason: str = ""  # of an override

    @property
    def overridable(self) -> bool:
        return self.key in OVERRIDABLE


def check_overrides(overrides: dict[str, str]) -> None:
    """Refuse overrides of what cannot be overridden, or without a reason; raises InputError."""
    for key, reason in overrides.items():
        if key not in ORDER:
            raise InputError(f"There is no check '{key}'; there are: {', '.join(ORDER)}.")
        if key not in OVERRIDABLE:
            raise InputError(f"The check '{key}' cannot be overridden: it protects the promise itself.")
        words(reason, f"The reason for overriding '{key}'")


def examine(
    plan: Plan,
    standing: Standing,
    analysis: Analysis,
    result: Result,
    synthetic: Synthetic,
    ledger_finding: str,
    overrides: dict[str, str],
) -> list[GateCheck]:
    """All checks, in order.

    Parameters
    ----------
    ledger_finding : str
        What the ledger said when it reserved the charge.
    overrides : dict
        Check to reason; applied where the check failed.
    """
    found = [
        GateCheck(
            "ledger", "Budget and ledger", PASS, ledger_finding, "The ledger holds and the limit allows it."
        ),
        _convergence(result),
        _target(plan, result),
        _growth(plan, result),
        _guarantee(standing),
        _columns(plan, synthetic),
        _copies(plan, analysis, synthetic),
        _order(plan, synthetic),
        _bounds(plan, synthetic),
        _map(plan, analysis, result),
    ]
    return [
        replace(check, status=OVERRIDDEN, reason=overrides[check.key])
        if check.status == FAIL and check.key in overrides
        else check
        for check in found
    ]


def refused(checks: list[GateCheck]) -> list[GateCheck]:
    """Checks that stand in the way."""
    return [check for check in checks if check.status == FAIL]


def _convergence(result: Result) -> GateCheck:
    problems = result.problems
    d = result.diagnostics
    text = (
        "There is no sampler."
        if d is None
        else f"R-hat {d.rhat:.3f}, effective sample size {min(d.ess_bulk, d.ess_tail):.0f}."
    )
    return GateCheck(
        "convergence",
        "Convergence of the fit",
        FAIL if problems else PASS,
        "; ".join(problems) if problems else text,
        "The sampler had not converged." if problems else "The sampler converged, or none was used.",
        "Plan more draws or a longer warm-up." if problems else "",
    )


def measured_epsilon(plan: Plan, result: Result) -> float:
    """The epsilon of one data set that is charged at least: promised, or 2 Delta with safety."""
    return result.epsilon if result.epsilon_promised is not None else result.epsilon * plan.safety


def _target(plan: Plan, result: Result) -> GateCheck:
    target, reached = plan.target_epsilon, measured_epsilon(plan, result)
    over = reached > target * (1 + 1e-9)
    check = partial(GateCheck, "target", "Δ against the target")
    if plan.strict:
        bound = result.lipschitz_bound
        broken = bound is not None and bound > target / 2 * (1 + 1e-9)
        text = f"ε = {target:g} by construction" + ("" if bound is None else f"; measured Δ = {bound:.4g}")
        advice = "The measured bound exceeds ε/2, which cannot be: report it." if broken else ""
        return check(FAIL if broken else PASS, text, f"ε = {target:g} holds by construction.", advice)
    return check(
        FAIL if over else PASS,
        f"2Δ = {result.epsilon:.4g}, times the factor of safety {plan.safety:g}: {reached:.4g}; the target is "
        f"{target:g}. The factor covers {COVERED}; `study like` tells for tables like this one.",
        f"The measured ε was {'above' if over else 'at or below'} the target {target:g} that was set in advance."
        + (" The ε of this release is a statistic of the table." if over else ""),
        "Plan a smaller scale or a higher target; overriding charges the measured ε." if over else "",
    )


def _growth(plan: Plan, result: Result) -> GateCheck:
    check = partial(GateCheck, "growth", "Growth of Δ over the draws")
    if plan.strict or not result.growth.size:
        return check(PASS, "ε does not depend on the draws.", "ε does not depend on the draws.")
    growth = result.growth
    last, half, tenth = growth[-1], growth[len(growth) // 2 - 1], growth[max(0, len(growth) // 10 - 1)]
    share = last / half - 1 if half > 0 else 0.0
    # Another factor of ten of draws, if it goes on like the last one.
    ahead = 2 * (2 * last - tenth) * plan.safety
    over = share > limits.MAX_GROWTH
    return check(
        FAIL if over else PASS,
        f"the second half of {len(growth):,} draws raised Δ by {share:.1%} (at most {limits.MAX_GROWTH:.0%} is asked); "
        f"ten times the draws would give about ε = {ahead:.3g} with safety",
        "Δ still grew with the number of draws." if over else "Δ had settled over the draws.",
        "Plan more draws." if over else "",
    )


def _guarantee(standing: Standing) -> GateCheck:
    guarantee = standing.guarantee
    check = partial(GateCheck, "guarantee", "Guarantee")
    if guarantee.strength == 0:
        public = "The mechanism has no privacy guarantee."
        return check(FAIL, "the mechanism promises nothing", public, "Plan a mechanism with a guarantee.")
    if guarantee.key == "settings_seen":
        text = "the settings were chosen by looking at the confidential data; the strict claim is lost"
        advice = "Tune on a public, simulated or historical table."
        return check(WARN, f"{guarantee.label}: {text}", f"{guarantee.label}: {text}.", advice)
    status = WARN if standing.tuned_on == "confidential" else PASS
    text = (
        "settings and risk map were fixed before this table was looked at"
        if status == PASS
        else standing.warning
    )
    advice = "" if status == PASS else "Tune on another table."
    return check(status, f"{guarantee.label}; {text}", f"{guarantee.label}; {text}", advice)


def _columns(plan: Plan, synthetic: Synthetic) -> GateCheck:
    allowed = [plan.settings.outcome, *plan.settings.predictors]
    wrong = any(list(frame.columns) != allowed for frame in synthetic.frames)
    return GateCheck(
        "columns",
        "No confidential column in the output",
        FAIL if wrong else PASS,
        f"the synthetic {plan.settings.outcome} and {len(allowed) - 1} predictors that were declared not sensitive",
        "Only the synthetic variable and predictors that are not sensitive are released.",
        "The output holds another column: report it." if wrong else "",
    )


def _copies(plan: Plan, analysis: Analysis, synthetic: Synthetic) -> GateCheck:
    records = analysis.model.records
    step = precision_of(synthetic.values, plan.decimals, whole_outcome(plan, analysis))
    tests = copy_tests(
        records.outcome,
        synthetic.values,
        records.design,
        step,
        plan.settings.bounds or (),
        np.random.default_rng(0),
    )
    over = any(test.refused for test in tests)
    return GateCheck(
        "copies",
        "No copies of confidential records",
        FAIL if over else PASS,
        "; ".join(
            f"{test.name}: {test.seen:,} coincidences, {test.expected:,.1f} expected by chance (p = {test.p:.2g})"
            for test in tests
        ),
        "No more coincidences with confidential values than chance gives.",
        "The synthesizer hands values over: plan another model, fewer decimals or smaller weights."
        if over
        else "",
    )


def _order(plan: Plan, synthetic: Synthetic) -> GateCheck:
    check = partial(GateCheck, "order", "Order of the rows")
    if not plan.shuffle:
        return check(PASS, "kept, as the plan says", "The order of the rows was kept.")
    n = synthetic.orders.shape[1]
    kept = int((synthetic.orders == np.arange(n)).sum(axis=1).max())
    wrong = kept > 25  # one is expected, whatever n
    status, advice = (FAIL, "The rows were not shuffled: report it.") if wrong else (PASS, "")
    return check(status, "shuffled", "The rows are in a random order.", advice)


def _bounds(plan: Plan, synthetic: Synthetic) -> GateCheck:
    check, bounds = partial(GateCheck, "bounds", "Declared bounds"), plan.settings.bounds
    if bounds is None:
        return check(PASS, "none are declared", "No bounds were declared.")
    outside = int(((synthetic.values < bounds[0]) | (synthetic.values > bounds[1])).sum())
    text = f"{outside:,} synthetic values lie beyond {bounds[0]:g} and {bounds[1]:g}"
    if not outside:
        text = "respected" + (
            f"; {synthetic.moved:,} synthetic values were moved to them" if synthetic.moved else ""
        )
    advice = "Plan to move such values to the bounds (--clamp)." if outside else ""
    return check(FAIL if outside else PASS, text, f"{text[0].upper()}{text[1:]}.", advice)


def _map(plan: Plan, analysis: Analysis, result: Result) -> GateCheck:
    check, frozen = partial(GateCheck, "map", "Fit of the frozen risk map"), analysis.frozen
    measure = SCHEMES[plan.point.scheme].measure if plan.point.scheme in SCHEMES else None
    span = None if frozen is None or measure is None else frozen.spans[measure]
    if frozen is None or measure is None or span is None:
        return check(PASS, "none is used", "No risk map is used, or a frozen one that fits.")
    share = result.n_zero_weight / max(1, len(result.weights))
    beyond = float((getattr(frozen, measure)(analysis.fits) > span[1]).mean())
    drifted = beyond > 0.05
    return check(
        WARN if drifted else PASS,
        f"{beyond:.1%} of the records are riskier than any of the table it was frozen on; {share:.1%} have weight 0",
        "The risk map was frozen on an earlier or public table.",
        "The table has drifted from the one the plan was tuned on: consider a new plan." if drifted else "",
    )
