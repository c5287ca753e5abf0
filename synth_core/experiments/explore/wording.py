"""Points and answers in words, for the page, the command line and files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from synth_core.analysis.measures import at_zeros, measure_label, value_text
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.experiments.explore.frontier import frontiers
from synth_core.experiments.explore.knobs import KNOBS
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import PointSummary
from synth_core.experiments.explore.records_point import difference_of
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer
from synth_core.mechanisms.catalogue import find_mechanism, guarantees
from synth_core.mechanisms.guarantees import WITHHELD
from synth_core.system.number_text import percent

FRONTIER_RULE = "each guarantee has a frontier of its own, since an ε of one is not an ε of another"
DATA_DEPENDENT = (
    "These settings were found by looking at results on this table, which is itself data-dependent: set those "
    "of a release on a historical table."
)


def guarantee_label(summary: PointSummary) -> str:
    """The guarantee that stands beside an epsilon; points of one share a frontier.

    Neighbouring tables belong to it: an epsilon for a value replaced is not one for a value withheld, which is what all
    mean that name none.
    """
    withheld = find_mechanism(summary.mechanism).neighbour == WITHHELD
    return guarantees()[summary.guarantee].label if withheld else promise_text(summary)


def usable(point: PointSummary, measure: str) -> bool:
    """Whether a point counts for the frontier: it has converged, and its error is a number."""
    return not point.problems and all(finite(v) for v in point.bands[measure])


def finite(value: float | None) -> bool:
    """Whether it is a number."""
    return value is not None and math.isfinite(value)


def frontier_points(points: list[PointSummary], measure: str) -> dict[str, list[PointSummary]]:
    """The frontier of every guarantee that is one, epsilon ascending."""
    shown = [p for p in points if usable(p, measure) and p.guarantee != "none"]
    places = frontiers(
        np.array([p.epsilon for p in shown]),
        np.array([p.bands[measure][1] for p in shown]),
        [guarantee_label(p) for p in shown],
    )
    return {name: [shown[i] for i in indices] for name, indices in places.items()}


def knobs_text(knobs: dict[str, Any]) -> str:
    """Settings of a point: "c = 0.8, g = 0"."""
    if not knobs:
        return "no settings of its own"
    symbols = {kind.tuning: kind.symbol for kind in KNOBS.values()}
    return ", ".join(
        f"range {value[0]:g} to {value[1]:g} × value" if name == "range" else f"{symbols[name]} = {value:.5g}"
        for name, value in knobs.items()
    )


def epsilon_text(summary: PointSummary) -> str:
    """Epsilon beside its guarantee."""
    return f"ε = {epsilon_number(summary.epsilon)} ({guarantee_label(summary)})"


def promise_text(summary: PointSummary) -> str:
    """The guarantee in full, with what epsilon is for: the mechanism says that, whatever looking at data leaves."""
    return f"{guarantees()[summary.guarantee].label}, one value {find_mechanism(summary.mechanism).neighbour}"


def band_text(summary: PointSummary, measure: str) -> str:
    """Median and 5-95 % band of a measure: not the limit that 90 % of data sets keep, so it does not sound like it."""
    low, median, high = (value_text(measure, v) for v in summary.bands[measure])
    return f"{median} in the middle; one data set in twenty is above {high}, and one below {low}"


def at_zeros_of(point: PointSummary, measure: str) -> str:
    """What a percentile's error is at the zeros: a point of several variables has a measure of each by itself too."""
    return at_zeros(measure, several=any(name.startswith(difference_of("")) for name in point.bands))


def target_text(target: Target | EpsilonTarget) -> str:
    """What was asked."""
    if isinstance(target, EpsilonTarget):
        if target.like is not None:
            return f"Best accuracy at no more than the ε of {find_mechanism(target.like).label}"
        return f"Best accuracy at ε of at most {target.epsilon:.4g}"
    return f"{target.text} in {100 * target.share:g} % of data sets"


def goal_text(target: Target | EpsilonTarget) -> str:
    """What is best about the best answer."""
    return "" if isinstance(target, EpsilonTarget) else "smallest "


def reached_text(answer: TuningAnswer, target: Target | EpsilonTarget) -> str:
    """The error that an answer reaches, in full words."""
    said = (
        f"Error reached: {measure_label(target.measure).lower()} {band_text(answer.reached, target.measure)}"
    )
    return ". ".join(filter(None, (said, at_zeros_of(answer.reached, target.measure).removesuffix("."))))


def sure_text(answer: TuningAnswer) -> str:
    """How sure an answer is."""
    parts = []
    if answer.interval is not None and answer.share is not None:
        low, high = answer.interval
        of = f" of {answer.n_fits} fits, each with noise or a pilot of its own," if answer.n_fits > 1 else ""
        parts.append(
            f"{percent(answer.share)} of {answer.n} fresh data sets{of} meet it (95 % interval {percent(low)} to "
            f"{percent(high)})"
        )
    if answer.epsilon_seeds is not None:
        low, high = answer.epsilon_seeds
        parts.append(f"over sampler seeds ε is {epsilon_number(low)} to {epsilon_number(high)}")
    elif answer.point is not None:
        parts.append("ε is exact: it is set, not measured")
    if answer.below is not None:
        epsilon, share = answer.below
        fewer = f"only {percent(share)} do" if share else "none does, or it cannot be fitted"
        parts.append(f"{_just_below(answer, epsilon)} {fewer}")
    elif answer.interval is not None and answer.reached.knobs:
        parts.append("it is the smallest setting tried, so a smaller ε may do")
    return "; ".join(parts)


def _just_below(answer: TuningAnswer, epsilon: float) -> str:
    """Where the search missed last: by the setting that it moves, since an ε that is measured need not move along."""
    at, mechanism = answer.below_at, find_mechanism(answer.mechanism)
    moved = next(name for name in ("epsilon", "scale") if name in mechanism.tuning)
    words = f"with {KNOBS[moved].symbol} = {at:.4g}, the next smaller tried,"
    if mechanism.epsilon_by_construction or not finite(epsilon):
        return words
    uneven = " and no less, since ε is measured" if epsilon >= answer.reached.epsilon else ""
    return f"{words} ε is {epsilon_number(epsilon)}{uneven}, and"


def answer_text(answer: TuningAnswer) -> str:
    """One answer: epsilon, guarantee, mechanism, settings."""
    point = answer.point
    label = find_mechanism(answer.mechanism).label
    if point is None:
        return f"{label}: {answer.why}"
    return f"{epsilon_text(point)} with {label}, {knobs_text(point.knobs)}"


def best_answers(answers: Iterable[TuningAnswer], target: Target | EpsilonTarget) -> list[TuningAnswer]:
    """The best of each guarantee: the least epsilon, or for an epsilon target the least error."""
    best: dict[str, TuningAnswer] = {}

    def merit(answer: TuningAnswer) -> tuple[float, float]:
        error = answer.reached.bands[target.measure][1]
        return (error if isinstance(target, EpsilonTarget) else answer.reached.epsilon, error)

    for answer in answers:
        # What promises nothing is no answer, however accurate: it stays in the table of all answers.
        if answer.point is not None and answer.point.guarantee != "none":
            kind = guarantee_label(answer.point)
            if kind not in best or merit(answer) < merit(best[kind]):
                best[kind] = answer
    return sorted(best.values(), key=merit)


def verdict(answers: list[TuningAnswer], target: Target | EpsilonTarget) -> str:
    """The answer of all mechanisms in a sentence or two, one part for each guarantee."""
    best = best_answers(answers, target)
    if not best:
        what = "no setting" if all(a.point is None for a in answers) else "no setting that promises something"
        return f"{target_text(target)}: {what} of the chosen mechanisms reaches it."
    return f"{target_text(target)}: {goal_text(target)}" + "; ".join(answer_text(a) for a in best) + "."


def points_csv(summaries: Iterable[PointSummary], measures: tuple[str, ...]) -> str:
    """The points of a map for a spreadsheet. Internal."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        [
            "mechanism",
            "guarantee",
            "epsilon",
            "epsilon_replace",
            "lipschitz_bound",
            *(kind.column for kind in KNOBS.values()),
            *(f"{m}_{part}" for m in measures for part in ("q05", "median", "q95")),
            "predictive_data_sets",
            "converged",
        ]
    )
    for s in summaries:
        writer.writerow(
            [
                s.mechanism,
                guarantee_label(s),
                s.epsilon,
                s.epsilon_replace,
                s.lipschitz_bound,
                *(kind.value(s.knobs) for kind in KNOBS.values()),
                *(value for m in measures for value in s.bands[m]),
                s.n_predictive,
                not s.problems,
            ]
        )
    return out.getvalue()
