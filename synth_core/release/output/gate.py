"""The gate: what is checked before anything is written.

Each check passes, warns, or fails and says what to do; lines on how close the tables are only warn. A failed check can
be overridden with a reason, which both reports show; what would break the promise silently cannot be: so convergence
cannot where epsilon is promised of an exact draw.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.anchored import clamped_warning
from synth_core.analysis.any_analysis import AnyResult
from synth_core.analysis.check.table_check import TableCheck
from synth_core.data.decided import Decided
from synth_core.data.units import unit_words
from synth_core.engine.sampling import Diagnostics, rhat_text
from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import COVERED
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.release.bounded_text import words
from synth_core.release.output.closeness_checks import CLOSENESS, closeness_checks
from synth_core.release.output.copy_tests import copy_tests, precision_of
from synth_core.release.output.dataset import Synthetic
from synth_core.release.output.file_checks import bounds_check, columns_check, order_check, rules_check
from synth_core.release.output.gate_check import FAIL, OVERRIDDEN, PASS, WARN, GateCheck
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.plan_terms import ReleaseTerms
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.system.number_text import floored, number_of, percent, rounded_up

Array = NDArray[np.float64]


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
    "rules",
    "map",
    *CLOSENESS,
)


def overridable(plan: Plan) -> frozenset[str]:
    """The checks of a release by this plan that may be overridden."""
    return OVERRIDABLE - {"convergence"} if plan.point.rests_on_draw else OVERRIDABLE


def check_overrides(plan: Plan, overrides: dict[str, str]) -> None:
    """Refuse overrides of what cannot be overridden, or without a reason; raises InputError."""
    for key, reason in overrides.items():
        if key not in ORDER:
            raise InputError(f"There is no check '{key}'; there are: {', '.join(ORDER)}.")
        if key in CLOSENESS:
            raise InputError(f"The check '{key}' warns and never refuses: there is nothing to override.")
        if key not in overridable(plan):
            raise InputError(
                f"The check '{key}' cannot be overridden: "
                + (_EXACT if key in OVERRIDABLE else "it protects the promise itself.")
            )
        words(reason, f"The reason for overriding '{key}'")


NO_SEARCH = "No search for other modes could be made: only the chains themselves speak for one mode."
_EXACT = (
    "the ε of this mechanism is promised of an exact draw, and chains that have not converged give another."
)


@dataclass(frozen=True)
class Fitted:
    """What a release was drawn from. Confidential.

    Attributes
    ----------
    result : AnyResult
    confidential : dict
        Of each sensitive variable its values, missing as NaN, of shape (n_records,).
    design : array of shape (n_records, n_columns)
        Of the predictors.
    beyond : float or None
        The share of records that are riskier than any of the table of the frozen map, of whole records in the block
        where it is largest; None without one.
    brought : int
        How many values lay beyond their declared bounds, or far from a guess, and were brought to them.
    guessed_range : bool
        Whether a guess says the range of a variable without declared bounds.
    left_out : int
        How many rows of the table lack a value that is not declared to be missing at times.
    decided : dict
        Of each sensitive variable what rules decide of it.
    """

    result: AnyResult
    confidential: dict[str, Array]
    design: Array
    beyond: float | None = None
    brought: int = 0
    guessed_range: bool = False
    left_out: int = 0
    decided: dict[str, Decided] = field(default_factory=dict)

    @property
    def diagnostics(self) -> list[Diagnostics]:
        """The diagnostics of each fit; none of a histogram."""
        return [each.diagnostics for each in self.result.fits if each.diagnostics is not None]


def examine(
    plan: Plan,
    standing: ReleaseTerms,
    fitted: Fitted,
    synthetic: Synthetic,
    check: TableCheck,
    ledger: GateCheck,
    overrides: dict[str, str],
    anchor: str = "",
) -> list[GateCheck]:
    """All checks, in order.

    Parameters
    ----------
    check : TableCheck
        Of the synthetic table as it would leave.
    ledger : GateCheck
        See `ledger_check`.
    overrides : dict
        Check to reason; applied where the check failed.
    anchor : str
        A sentence, of an anchored mechanism.
    """
    numbers = fitted.result.summary_numbers
    joint = numbers.joint
    checks = [
        ledger,
        _convergence(plan, fitted),
        _target(plan, fitted.result),
        _growth(plan, fitted.result),
        _guarantee(
            standing,
            anchor,
            fitted.left_out,
            unit_words(plan.settings.unit_column, plan.settings.unit_size),
            mapped=plan.frozen is not None,
        ),
        columns_check(plan, synthetic),
        _copies(plan, fitted, synthetic),
        order_check(plan, synthetic),
        bounds_check(synthetic, fitted.brought, fitted.guessed_range),
        rules_check(plan, synthetic, None if joint is None else joint.impossible_before),
        _map(fitted),
        *closeness_checks(check, bool(plan.settings.accuracy_by), numbers.population),
    ]
    may = overridable(plan)
    return [
        replace(each, status=OVERRIDDEN, reason=overrides[each.key])
        if each.status == FAIL and each.key in overrides
        else replace(each, overridable=each.key in may)
        for each in checks
    ]


def ledger_check(finding: str, warnings: tuple[str, ...], lowered: str = "") -> GateCheck:
    """What the ledger said when it reserved the charge; it warns of columns and records that were charged elsewhere.

    Parameters
    ----------
    lowered : str
        That the limit was lowered below the charge since, which forbids no release of what was charged.
    """
    return GateCheck(
        "ledger",
        "Budget and ledger",
        WARN if warnings or lowered else PASS,
        "; ".join(filter(None, [finding, lowered, *(warning.removesuffix(".") for warning in warnings)])),
        "The ledger holds and the limit allowed it when it was charged; the limit was lowered since."
        if lowered
        else "The ledger holds and the limit allows it.",
        "Charge tables of the same people under one series." if warnings else "",
        published=WARN if lowered else PASS,
    )


def refused(checks: list[GateCheck]) -> list[GateCheck]:
    """Checks that stand in the way."""
    return [check for check in checks if check.status == FAIL]


def _convergence(plan: Plan, fitted: Fitted) -> GateCheck:
    problems, diagnostics = fitted.result.problems, fitted.diagnostics
    text = (
        "There is no sampler."
        if not diagnostics
        else f"R-hat {rhat_text(max(d.rhat for d in diagnostics))}, effective sample size "
        f"{floored(min(min(d.ess_bulk, d.ess_tail) for d in diagnostics), 0)}."
    )
    if plan.point.rests_on_draw and diagnostics and not problems:
        searched = not np.isnan([d.unseen for d in diagnostics]).any()
        text += " A search found no mode that the chains missed." if searched else f" {NO_SEARCH}"
    warned = " ".join(
        f"{each.name}: {warning}." if each.name else f"{warning}."
        for each in fitted.result.summary_numbers.variables
        if each.anchor and (warning := clamped_warning(each.clamped))
    )
    warns = bool(warned) or NO_SEARCH in text
    return GateCheck(
        "convergence",
        "Convergence of the fit",
        FAIL if problems else WARN if warns else PASS,
        "; ".join(problems) if problems else f"{text} {warned}".strip(),
        "The sampler had not converged." if problems else "The sampler converged, or none was used.",
        f"{sentence(_EXACT)} Plan more draws or a longer warm-up."
        if problems and plan.point.rests_on_draw
        else "Plan more draws or a longer warm-up."
        if problems
        else "",
        published="" if problems else PASS,  # how many records are clamped is no public word
    )


def measured_epsilon(plan: Plan, result: AnyResult) -> float:
    """The epsilon of one data set that is charged at least: promised, or 2 Delta with safety."""
    return result.epsilon if result.epsilon_promised is not None else result.epsilon * plan.safety


def above_target(plan: Plan, result: AnyResult) -> bool:
    """Whether it is above the target, and not only by the rounding of a sum of shares."""
    return measured_epsilon(plan, result) > plan.target_epsilon * (1 + 1e-9)


def _target(plan: Plan, result: AnyResult) -> GateCheck:
    target, reached, over = plan.target_epsilon, measured_epsilon(plan, result), above_target(plan, result)
    check = partial(GateCheck, "target", "Δ against the target")
    if plan.strict:
        bound = result.lipschitz_bound
        broken = bound is not None and bound > target / 2 * (1 + 1e-9)
        text = f"ε = {target:g} by construction" + ("" if bound is None else f"; measured Δ = {bound:.4g}")
        advice = "The measured bound exceeds ε/2, which cannot be: report it." if broken else ""
        return check(FAIL if broken else PASS, text, f"ε = {target:g} holds by construction.", advice)
    return check(
        FAIL if over else PASS,
        f"2Δ = {rounded_up(result.epsilon, 4)}, times the factor of safety {plan.safety:g}: "
        f"{rounded_up(reached, 4)}; the target is {target:g}. The factor covers {COVERED}; `study like` tells "
        "for tables like this one.",
        f"The measured ε was {'above' if over else 'at or below'} the target {target:g} that was set in advance."
        + (" The ε of this release is a statistic of the table." if over else ""),
        "Plan a smaller scale or a higher target; overriding charges the measured ε." if over else "",
    )


def _growth(plan: Plan, result: AnyResult) -> GateCheck:
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
        f"the second half of {len(growth):,} draws raised Δ by {percent(share)} (at most "
        f"{percent(limits.MAX_GROWTH, 0)} is asked); ten times the draws would give about ε = {ahead:.3g} with safety",
        "Δ still grew with the number of draws." if over else "Δ had settled over the draws.",
        "Plan more draws." if over else "",
    )


def _guarantee(standing: ReleaseTerms, anchor: str, left_out: int, of_unit: str, mapped: bool) -> GateCheck:
    guarantee = standing.guarantee
    check = partial(GateCheck, "guarantee", "Guarantee")
    if guarantee.strength == 0:
        public = "The mechanism has no privacy guarantee."
        return check(FAIL, "the mechanism promises nothing", public, "Plan a mechanism with a guarantee.")
    if guarantee.key == "settings_seen":
        text = "the settings were chosen by looking at the confidential data; the strict claim is lost"
        advice = "Tune on a public, simulated or historical table."
        return check(WARN, f"{guarantee.label}: {text}", f"{guarantee.label}: {text}.", advice)
    seen = standing.tuned_on == "confidential"
    fixed = "settings and risk map" if mapped else "the settings"
    text = standing.warning if seen else f"{fixed} were fixed before this table was looked at"
    said = f"{guarantee.label}; {text.removesuffix('.')}. {of_unit}".strip()
    more, to_do = "", ["Tune on another table."] if seen else []
    if left_out:
        said += " Incomplete records were left out: who they are, and how many, no ε covers."
        more = f" They are {left_out:,}."
        to_do.append(
            "Plan a variable that may be missing as a block (--block NAME=MODEL:missing=), alone too."
        )
    finding = f"{said}{more} {anchor}".strip()
    return check(WARN if to_do else PASS, finding, said, " ".join(to_do))


def _copies(plan: Plan, fitted: Fitted, synthetic: Synthetic) -> GateCheck:
    over, findings = False, []
    for variable in synthetic.variables:
        mine, theirs = fitted.confidential[variable.name], variable.values
        if variable.name in fitted.decided:  # there everybody has the value that the rule says
            said = fitted.decided[variable.name].rows
            mine, theirs = np.where(said, np.nan, mine), np.where(said, np.nan, theirs)
        tests = copy_tests(
            mine,
            theirs,
            fitted.design,
            precision_of(variable.decimals, variable.step),
            variable.bounds or (),
            np.random.default_rng(0),
        )
        over = over or any(test.refused for test in tests)
        name = f"{variable.name}, " if len(synthetic.variables) > 1 else ""
        findings += [
            f"{name}{test.name}: {number_of(test.seen, 'coincidence')}, {test.expected:,.1f} expected by chance "
            f"(p = {test.p:.2g})"
            for test in tests
        ]
    return GateCheck(
        "copies",
        "No copies of confidential records",
        FAIL if over else PASS,
        "; ".join(findings),
        "No more coincidences with confidential values than chance gives.",
        "The synthesizer hands values over: plan another model, fewer decimals or smaller weights."
        if over
        else "",
    )


def _map(fitted: Fitted) -> GateCheck:
    check, beyond = partial(GateCheck, "map", "Fit of the frozen risk map"), fitted.beyond
    if beyond is None:
        return check(PASS, "none is used", "No risk map is used, or a frozen one that fits.")
    share = max(each.n_zero_weight / max(1, len(each.weights)) for each in fitted.result.fits)
    drifted = beyond > 0.05
    return check(
        WARN if drifted else PASS,
        f"{percent(beyond)} of the records are riskier than any of the table it was frozen on; "
        f"{percent(share)} have weight 0",
        "The risk map was frozen on an earlier or public table.",
        "The table has drifted from the one the plan was tuned on: consider a new plan." if drifted else "",
        published=PASS,
    )


def beyond_map(plan: Plan, analysis: Analysis) -> float | None:
    """The share of records that are riskier than any of the table that the risk map was frozen on."""
    frozen = analysis.frozen
    measure = SCHEMES[plan.point.scheme].measure if plan.point.scheme in SCHEMES else None
    span = None if frozen is None or measure is None else frozen.spans[measure]
    if frozen is None or measure is None or span is None:
        return None
    return float((getattr(frozen, measure)(analysis.fits) > span[1]).mean())
