"""What the Compare page shows: a results table and four figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from synth_core.analysis.anchored import clamped_warning
from synth_core.analysis.fit_verdict import fit_verdict
from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.measures import ECDF_MAX, MEAN, WORST, furthest, furthest_of_units, variable_error
from synth_core.analysis.policy import Policy, judge
from synth_core.analysis.result_numbers import ResultNumbers, VariableNumbers
from synth_core.analysis.result_sentences import above_target, explained, sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.utility import Statistic
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.figures.categories import of_categories, shares_figure
from synth_core.figures.palette import color
from synth_core.figures.parts import Figure, Other, beside_once, saying_whose
from synth_core.figures.privacy import bounds_figure, weights_figure
from synth_core.figures.utility import ecdf_figure, quantiles_figure
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.models import family
from synth_core.system import limits
from synth_core.system.number_text import ceiling, percent, points, points_at_most, signed

MANY_CENSORED = 0.2


def error_percent(share: float) -> str:
    """An error in percent with its sign, short however large."""
    if abs(share) < 10:
        return f"{signed(100 * share)} %"
    return "over +1,000 %" if share > 0 else "below −1,000 %"


def _remedy(numbers: ResultNumbers) -> str:
    """What may help fits that have not converged: more draws do not, where they diverge or miss a mode."""
    bad = [each.diagnostics for each in numbers.variables if each.problems]
    if not bad or any(each is None or each.longer_helps for each in bad):
        return "Take more draws or a longer warm-up (under Sampling)"
    return "Take another model or fewer predictors (Data page)"


def _misfit(numbers: ResultNumbers) -> str:
    """That the model of a number is far off, said beside the mechanism that leaves it as it is; else empty.

    By chance two samples of n values are as far apart as one of n / 2 is from its law. Of values that count by survey
    weights more is chance, and nothing is said.
    """
    if numbers.point.weighted or numbers.point.epsilon_by_construction or numbers.accuracy_by:
        return ""
    unfit = [
        each
        for each in numbers.variables
        if any(statistic.name == MEAN for statistic in each.statistics)
        and fit_verdict(each.ecdf_max, each.n_read // 2, each.problems).level == "misfit"
    ]
    if not unfit:
        return ""
    off = ", ".join(
        f"{each.name} by {points_at_most(each.ecdf_max)} points" if each.name
        else f"{points_at_most(each.ecdf_max)} percentage points"
        for each in unfit
    )  # fmt: skip
    words = f"without any privacy the synthetic values are off already ({off}): it is the model that does not fit. "
    if any(each.model and "bracket_edges" in family(each.model).uses for each in unfit):
        words += (
            "In brackets a value that many records share, such as a top code, is spread over its bracket: let it "
            "stand twice among the edges (page Data)."
        )
    else:
        words += "Check the fit on the page Data: another model may come closer."
    return words


def _warnings(numbers: ResultNumbers) -> list[str]:
    """Why the numbers of a mechanism should be doubted, in words."""
    hints = []
    if numbers.problems and numbers.several:
        bad = [each.name for each in numbers.variables if each.problems]
        hints.append(
            f"{len(bad)} of {len(numbers.variables)} fits have not converged ({', '.join(bad)}), do not use its "
            f"numbers. {_remedy(numbers)}; the diagnostics of the fits are at the end of Compare."
        )
    elif numbers.problems:
        hints.append(
            f"has not converged, do not use its numbers: {'; '.join(numbers.problems)}. {_remedy(numbers)}; a mixture "
            "may need another concentration or scale (Data page)."
        )
    if bare := _misfit(numbers):
        hints.append(bare)
    for each in numbers.variables:
        of = f"{each.name}: " if each.name else ""
        warning = clamped_warning(each.clamped)
        if each.anchor and warning:
            now = f", which is {each.tuned['c']:.3g} now" if "c" in each.tuned else ""
            where = f"open {each.name} on Data, then More of the mechanisms: c is of one variable"
            place = where if each.name else "More of the mechanisms"
            hints.append(f"{of}{warning} around the anchor{now} ({place}).")
        elif each.clamped > MANY_CENSORED:
            hints.append(
                f"{of}{percent(each.clamped, 0)} of the records are censored: ε is small for the "
                "unit in which the density is taken; another unit (Data page) may serve better."
            )
    return hints


def promises(
    summaries: Sequence[ResultSummary], settings: Settings, policy: Policy, under_caption: bool = False
) -> dict[str, dict[str, Any]]:
    """What stands beside each mechanism's numbers: badge and explanation, the sentence, and what the rule says.

    Parameters
    ----------
    under_caption : bool
        As for `result_sentences.sentence`.
    """
    measure, found = WORST if policy.percent is None else policy.measure, {}
    for s in summaries:
        numbers = s.numbers
        guarantee, lines = explained(numbers, settings)
        by_name = {f" {each.name}": each.tuned for each in numbers.variables}
        for of, tuned in (by_name if numbers.several else {"": numbers.tuned}).items():
            if tuned:
                solved = ", ".join(f"{k.replace('_', ' ')} {v:.4g}" for k, v in tuned.items())
                lines.append(f"Solved for{of}: {solved}")
        if numbers.problems and numbers.several:
            lines.append(f"Not converged: {'; '.join(numbers.problems)}")
        judged = policy.states and not s.old
        found[numbers.mechanism] = {
            "label": guarantee.label,
            "strength": guarantee.strength,
            "lines": lines,
            "sentence": sentence(numbers, settings, measure, under_caption=under_caption),
            "hints": list(filter(None, [above_target(numbers, settings)])),
            "verdict": judge(policy, numbers) if judged else None,
            "policy": policy,
        }
    return found


def results(
    summaries: Sequence[ResultSummary],
    labels: dict[str, str],
    guarantees: dict[str, dict[str, Any]],
    missing: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """One row a mechanism: numbers as text, sort keys, each epsilon beside its guarantee; of several variables with a
    row for each of them beneath.

    Parameters
    ----------
    guarantees : dict
        By mechanism, as `promises` makes them: "label", "strength", "lines", "sentence", "hints" and "verdict", if
        there are any.
    missing : dict, optional
        Why a mechanism has no numbers: a row of its own.
    """
    rows = []
    unfit = [labels[s.mechanism] for s in summaries if _misfit(s.numbers)]
    for s in summaries:
        numbers, beside = s.numbers, guarantees[s.mechanism]
        hints = []
        if numbers.preview_khat is not None:
            hints.append(
                f"approximate, by importance sampling from an earlier fit (Pareto k-hat {numbers.preview_khat:.2f}, "
                f"at most {limits.MAX_KHAT} is shown); the exact fit replaces it."
            )
        hints += [*_warnings(numbers), *beside.get("hints", ())]
        if unfit and numbers.point.likelihood.samples and labels[s.mechanism] not in unfit:
            hints.append(
                f"it has the model that does not fit under {unfit[0]}: a part of its error may be the model's."
            )
        row = row_head(s, labels) | {
            "guarantee": {k: beside[k] for k in ("label", "strength", "lines")},
            "sentence": beside["sentence"],
            "verdict": None,
            "hints": hints,
            "cells": _cells(numbers),
        }
        if numbers.several:
            row["parts"] = [_variable_row(each, beside.get("policy")) for each in numbers.variables]
        rows.append(row)
    usable = [row for row, s in zip(rows, summaries, strict=True) if not s.numbers.problems]
    mark_best(usable)
    for row in rows:
        row["verdict"] = _verdict(row, usable, guarantees)
    return rows + missing_rows(missing or {}, labels)


def _cells(numbers: ResultNumbers) -> dict[str, dict[str, Any]]:
    """The numbers of a row by column."""
    approximately = "" if numbers.preview_khat is None else "≈ "
    bound = numbers.lipschitz_bound
    off = furthest(numbers, ECDF_MAX)
    assert off is not None
    cells = {
        "epsilon": cell(approximately + epsilon_text(numbers), numbers.epsilon),
        "delta": cell("–" if bound is None else ceiling(bound, 2), bound, _local(numbers)),
        "gap": cell(f"{points_at_most(off.error)} points{off.beside}", off.error),
    }
    if numbers.joint is not None:
        joint = numbers.joint
        return cells | {
            "sample": cell(percent(joint.sample_share), -joint.sample_share),
            "associations": cell(f"{joint.association:.3f}", joint.association),
            "pmse": cell(f"{joint.pmse_ratio:.1f}", joint.pmse_ratio),
            "k_marginal": cell(f"{joint.k_marginal:.0f}", -joint.k_marginal),
            "impossible": cell(_impossible(joint), joint.impossible),
        }
    worst = [each for each in furthest_of_units(numbers) if each.statistic is not None]
    first, *more = (_furthest(each.statistic) for each in worst if each.statistic is not None)
    risk, squared = numbers.match_risk or 0.0, numbers.ecdf_avg or 0.0
    return cells | {
        "ecdf_max": cell(points(numbers.ecdf_max), numbers.ecdf_max),
        "ecdf_avg": cell(f"{squared:.6f}", squared),
        "worst": cell(first, abs(worst[0].error), "; ".join(more)),
        "match": cell(percent(risk, 2), risk),
    }


def _impossible(joint: Measures) -> str:
    """The share of records that break a rule, and what it would be without rules: "0 % (9.3 % without rules)"."""
    if joint.impossible is None:
        return "–"
    before = joint.impossible_before
    return f"{100 * joint.impossible:.2g} %" + (
        "" if before is None else f" ({percent(before, 1)} without rules)"
    )


def _furthest(statistic: Statistic) -> str:
    """The error of a statistic, and its name: "+5.3 % (15th percentile)"."""
    error = statistic.error
    text = error_percent(error) if statistic.instead is None else f"{signed(100 * error)} points"
    return f"{text} ({statistic.words})"


def _variable_row(variable: VariableNumbers, policy: Policy | None) -> dict[str, Any]:
    """The row of one variable among several; what the rule says of its accuracy, where it limits one."""
    bound, epsilon = variable.lipschitz_bound, variable.epsilon
    cells = {
        "epsilon": "–" if epsilon is None else ceiling(epsilon, 2),
        "gap": f"{points_at_most(variable.ecdf_max)} points",
        "delta": "–" if bound is None else ceiling(bound, 2),
    }
    found = None if policy is None or policy.percent is None else variable_error(variable, policy.measure)
    if policy is not None and found is not None:
        kept = "✓ within" if policy.keeps(found) else "✗ not within"
        size = 100 * abs(found.error)
        text = f"{size:.{0 if size >= 10 else 1}f}" if found.statistic else points_at_most(found.error)
        cells["verdict"] = f"{kept}: {text} {found.unit}"
    return {"label": variable.name, "cells": cells}


def row_head(s: ResultSummary, labels: dict[str, str]) -> dict[str, Any]:
    """The head of a row: its mechanism, and whether its numbers are of older choices or of a fit not to be used."""
    return {
        "mechanism": s.mechanism,
        "label": labels[s.mechanism],
        "plain": in_plain_words(find_mechanism(s.mechanism)),
        "old": s.old,
        "unfit": bool(s.numbers.problems),
        "color": color(s.mechanism),
    }


def epsilon_text(numbers: ResultNumbers) -> str:
    """Epsilon of one data set, and of all where there are several."""
    one, n = numbers.epsilon, numbers.charged
    return ceiling(one, 2) + (f" each, in all {ceiling(one * n, 2)}" if n > 1 else "")


def missing_rows(missing: Mapping[str, str], labels: dict[str, str]) -> list[dict[str, Any]]:
    """A row for each mechanism without numbers, with the reason."""
    return [
        {"mechanism": name, "label": labels[name], "color": color(name), "missing": why}
        for name, why in missing.items()
    ]


def _same_promise(row: dict[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one guarantee: an epsilon of one is not an epsilon of another."""
    return [other for other in rows if other["guarantee"]["label"] == row["guarantee"]["label"]]


def mark_best(rows: list[dict[str, Any]]) -> None:
    """Mark the best of each column (rank 1), and of three or more the second best, within each guarantee.

    What reads the same on the screen is a tie, and ties share their rank; after a tie for the best there is no
    second. Where all are equal, none is better.
    """
    for row in rows:
        peers = _same_promise(row, rows)
        for name, one in row["cells"].items():
            others = [peer["cells"][name] for peer in peers if peer["cells"][name]["sort"] is not None]
            if one["sort"] is None or len({other["text"] for other in others}) < 2:
                continue
            better = sum(o["sort"] < one["sort"] and o["text"] != one["text"] for o in others)
            if better == 0 or (better == 1 and len(others) > 2):
                one["rank"] = better + 1


def _verdict(
    row: dict[str, Any], usable: list[dict[str, Any]], guarantees: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Pass or fail by the rule; the best of those of one guarantee that pass, where there are several."""
    verdict = guarantees[row["mechanism"]].get("verdict")
    if verdict is None:
        return None
    if not verdict.passed:
        said = bool(row["hints"]) and row not in usable  # that it has not converged stands there already
        return {
            "passed": False,
            "text": "✗ fails" + (", not sure" if verdict.doubt else ""),
            "reason": ""
            if said
            else ". ".join(filter(None, ["; ".join(verdict.reasons), verdict.doubt, verdict.named])),
        }
    passing = [guarantees[o["mechanism"]]["verdict"] for o in _same_promise(row, usable)]
    rivals = [other.by for other in passing if other.passed]
    best = len(rivals) > 1 and f"{verdict.by:.3g}" == f"{min(rivals):.3g}"
    tied = sum(f"{by:.3g}" == f"{verdict.by:.3g}" for by in rivals) > 1
    return {
        "passed": True,
        "text": "✓ passes"
        + (", ties for best" if best and tied else ", best" if best else "")
        + (", not sure" if verdict.doubt else ""),
        "reason": ". ".join(verdict.notes),
    }


def cell(text: str, sort: float | None, beside: str = "") -> dict[str, Any]:
    return {"text": text, "sort": sort, "rank": 0, "beside": beside}


def _local(numbers: ResultNumbers) -> str:
    """The unit-free local figure that stands beside a bound; of a clamped likelihood, none."""
    if numbers.oscillation is None:
        return ""
    return f"local {max(numbers.oscillation, numbers.oscillation_joint or 0.0):.2f}"


def compare_figures(
    summaries: list[ResultSummary], labels: dict[str, str], outcome: str, other: Other | None = None
) -> list[Figure]:
    """The four figures, in reading order; with what is seen beside the present choices, if anything is."""
    of_values = shares_figure if of_categories(summaries[0]) else ecdf_figure
    made = [
        bounds_figure(summaries, labels, other),
        of_values(summaries, labels, outcome, other),
        weights_figure(summaries, labels, other),
        quantiles_figure(summaries, labels, other),
    ]
    made = saying_whose(made, summaries[0], other)
    return made if other is None else [each | {"traces": beside_once(each["traces"], other)} for each in made]
