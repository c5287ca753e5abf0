"""Inverse tuning: from a target to settings, by bracketing on exact refits.

An accuracy ("the 90th percentile within 2 %") gives the smallest epsilon that reaches it; an
epsilon gives the scale c (and shift g) whose 2 * Delta it is; an epsilon of another mechanism
scales each to it (Range, section 4.2; PPM, section 5.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.measures import percentile_of
from synth_core.analysis.settings import Settings
from synth_core.analysis.solve_for_epsilon import solve_for_epsilon
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.errors import InputError
from synth_core.experiments.explore.knobs import settings_at
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import (
    FOR_BANDS,
    FOR_CHECKS,
    PREDICTIVE,
    MapPoint,
    PointSummary,
    fits_of_point,
    next_seed,
    run_point,
)
from synth_core.experiments.explore.search import Found, Trial, smallest
from synth_core.experiments.explore.sweep import Sweep, combinations, values_for
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer
from synth_core.experiments.explore.wording import knobs_text
from synth_core.experiments.proportions import clopper_pearson, clustered_interval
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.system import limits
from synth_core.system.number_text import percent, rounded_up

GRID_STEPS = 10
DIGITS = 4  # of a setting that is tried
SCALE_FROM, EPSILON_FROM = 0.05, 0.25  # where a search starts
UNSAMPLED_EPSILON = (0.02, 50.0)
CHECKS = 400  # fresh data sets that confirm an answer
NEAR = 0.9  # of an ε that was asked for: less is no answer to it
OTHER_SEEDS = 4  # refits of an answer with other sampler seeds: how exact its epsilon is


class _SearchProgress:
    """Turns the progress of single settings into that of a search that tries about `expected` ones."""

    def __init__(self, analysis: AnyAnalysis[Any], label: str, expected: int):
        self._out = analysis.progress
        self._label, self._expected, self.done = label, expected, 0
        self.at = ""

    def begin(self, at: str) -> None:
        self.done, self.at = self.done + 1, at

    def __call__(self, text: str, share: float) -> None:
        done = (max(self.done - 1, 0) + share) / max(self._expected, self.done + 1)
        self._out(f"{self._label}, {self.at}: {text}", min(done, 1.0))


def main_knob(mechanism: Mechanism) -> str | None:
    """The setting that a search moves: a target epsilon where there is one, else the scale."""
    for name in ("epsilon", "scale"):
        if name in mechanism.tuning:
            return name
    return None


def variants_for(key: str, settings: Settings, sweeps: Iterable[Sweep]) -> tuple[dict[str, Any], ...]:
    """Settings to try beside the one that is searched over: every combination of the other sweeps.

    Where a mechanism has a target epsilon, that is searched over and c stays as it is set.
    """
    mechanism = find_mechanism(key)
    swept = [s for s in sweeps if s.knob not in (main_knob(mechanism), "scale")]
    return tuple(combinations(values_for(mechanism, settings, swept), settings))


def expected_fits(
    mechanism: Mechanism,
    settings: Settings,
    target: Target | EpsilonTarget,
    of_point: Callable[..., int] = fits_of_point,
) -> int:
    """About how many refits one search takes.

    Parameters
    ----------
    of_point : callable
        How many a point takes; `runs_of_point` tells how long, in runs of the mechanism.
    """
    each, last = of_point(mechanism, settings), of_point(mechanism, settings, CHECKS)
    of_seeds = OTHER_SEEDS if isinstance(target, EpsilonTarget) or last == 1 else last
    return _settings_tried(target) * each + of_seeds


def _settings_tried(target: Target | EpsilonTarget) -> int:
    """About how many settings one search tries."""
    return 5 if isinstance(target, EpsilonTarget) else GRID_STEPS + 6


def _expected_steps(mechanism: Mechanism, target: Target | EpsilonTarget) -> int:
    """About how many settings, and other seeds, one search tries."""
    return _settings_tried(target) + (0 if mechanism.epsilon_by_construction else OTHER_SEEDS)


def tune(
    analysis: AnyAnalysis[Any],
    key: str,
    target: Target | EpsilonTarget,
    variants: tuple[dict[str, Any], ...] = ({},),
) -> TuningAnswer:
    """The settings of a mechanism that reach a target with the least epsilon.

    Parameters
    ----------
    analysis : Analysis or RecordsAnalysis
        Of several sensitive variables an accuracy is that of every one: the largest error over them.
    variants : tuple of dict
        Settings to try beside the one that is searched over, each searched by itself: shifts,
        radii, ranges. The best counts.
    """
    mechanism = find_mechanism(key)
    knob = main_knob(mechanism)
    steps = _SearchProgress(analysis, mechanism.label, _expected_steps(mechanism, target) * len(variants))
    watched = analysis.reporting(steps)
    wanted = _wanted(watched, target, steps) if isinstance(target, EpsilonTarget) else None
    answers = []
    for variant in variants:
        under = watched.with_settings(**_changes(watched, variant))
        if isinstance(target, EpsilonTarget):
            answers.append(_to_epsilon(under, mechanism, wanted, target, steps))
        else:
            answers.append(_to_accuracy(under, mechanism, knob, target, steps))
    reached = [a for a in answers if a.point is not None]
    if not reached:
        closest = max(answers, key=lambda a: a.share or 0.0)
        return TuningAnswer(key, None, wanted=wanted, refits=steps.done, why=closest.why)

    def merit(a: TuningAnswer) -> tuple[float, float]:
        error = a.reached.bands[target.measure][1]
        return (0.0, error) if isinstance(target, EpsilonTarget) else (a.reached.epsilon, error)

    best = min(reached, key=merit)
    return replace(best, wanted=wanted, refits=steps.done)


def _wanted(analysis: AnyAnalysis[Any], target: EpsilonTarget, steps: _SearchProgress) -> float:
    """The epsilon to be reached: given, or that of another mechanism as it is set."""
    if target.epsilon is not None:
        return target.epsilon
    assert target.like is not None
    other = find_mechanism(target.like)
    steps.begin(f"ε of {other.label}")
    epsilon = analysis.with_settings(match_epsilon=None).run(other.key).epsilon
    if not limits.EPSILON[0] <= epsilon <= limits.EPSILON[1]:
        raise InputError(
            f"{other.label} has ε = {epsilon_number(epsilon)} here, which is not between "
            f"{limits.EPSILON[0]:g} and {limits.EPSILON[1]:g}."
        )
    return epsilon


def _changes(analysis: AnyAnalysis[Any], knobs: dict[str, Any]) -> dict[str, Any]:
    return settings_at(analysis.settings, knobs).model_dump(include={*knobs, "match_epsilon"})


def _extra(measure: str) -> tuple[float, ...]:
    percentile = percentile_of(measure)
    return () if percentile is None else (percentile,)


def _rounded(x: float) -> float:
    return float(f"{x:.{DIGITS}g}")


def _rounded_down(x: float) -> float:
    """As many digits, and never above x: an ε that was asked for is not exceeded."""
    near = _rounded(x)
    return near if near <= x else _rounded(near - 10.0 ** (math.floor(math.log10(x)) - DIGITS + 1))


def _grid(analysis: AnyAnalysis[Any], mechanism: Mechanism, knob: str) -> list[float]:
    """Where a search looks first: geometric, up to where the weights are those of no privacy."""
    if knob == "scale":
        lower, upper = SCALE_FROM, limits.SCALE[1]
    elif not mechanism.likelihood.samples:
        lower, upper = max(UNSAMPLED_EPSILON[0], analysis.least_epsilon), UNSAMPLED_EPSILON[1]
    else:
        largest, least = 2 * analysis.unweighted_bound, analysis.least_epsilon
        upper = max(float(np.clip(largest, 2 * EPSILON_FROM, limits.EPSILON[1])), 2 * least)
        lower = max(min(EPSILON_FROM, upper / 20), least)
    lower = float(
        rounded_up(lower, DIGITS)
    )  # to the nearest it may leave a part less than can be fitted under
    return [_rounded(x) for x in np.geomspace(lower, upper, GRID_STEPS)]


def _to_accuracy(
    analysis: AnyAnalysis[Any], mechanism: Mechanism, knob: str | None, target: Target, steps: _SearchProgress
) -> TuningAnswer:
    points: dict[float, MapPoint] = {}
    checks: dict[float, MapPoint] = {}
    refused: list[InputError] = []
    extra = _extra(target.measure)

    def trial(x: float, count: int, stream: int) -> Trial:
        steps.begin(knobs_text({} if knob is None else {knob: x}))
        at = analysis if knob is None else analysis.with_settings(**{knob: x})
        try:
            point = run_point(at, mechanism.key, count, extra, stream, target)
        except InputError as error:  # such as an ε that is too small for an anchor: it reaches nothing
            refused.append(error)
            return Trial(x, x if knob == "epsilon" else math.nan, 0, count, False)
        points.setdefault(x, point)  # the bands of an answer are those of the map
        if stream == FOR_CHECKS:
            checks[x] = point
        errors = point.draws(target.measure)
        met = int(np.count_nonzero(target.met(errors)))
        return Trial(x, point.epsilon, met, len(errors) + point.n_failed, not point.problems)

    answer = smallest(
        [1.0] if knob is None else _grid(analysis, mechanism, knob),
        target.share,
        lambda x: trial(x, PREDICTIVE, FOR_BANDS),  # as the map's: both share them
        lambda x: trial(x, CHECKS, FOR_CHECKS),
        _rounded,
    )
    if not points:
        raise refused[-1]
    if answer.trial is None:
        return TuningAnswer(mechanism.key, None, share=answer.best.share, why=_why(answer, target, points))
    point, check = points[answer.trial.at], checks[answer.trial.at]
    under = analysis if knob is None else analysis.with_settings(**{knob: answer.trial.at})
    return TuningAnswer(
        mechanism.key,
        _derived(point.summary(), mechanism),
        answer.trial.share,
        _interval(check, target, answer.trial),
        answer.trial.n,
        _over_seeds(under, mechanism, point, steps),
        None if answer.below is None else (answer.below.epsilon, answer.below.share),
        None if answer.below is None else answer.below.at,
        n_fits=check.n_fits,
    )


def _interval(check: MapPoint, target: Target, trial: Trial) -> tuple[float, float]:
    """The interval of the share that meets the target; data sets of a fit go together, none of a failed one does."""
    if check.n_fits < 2:
        return clopper_pearson(trial.met, trial.n)
    _, place = np.unique(check.fit, return_inverse=True)
    met = np.bincount(place, weights=target.met(check.draws(target.measure)))
    none = np.zeros(len(check.failed))
    return clustered_interval(np.append(met, none), np.append(np.bincount(place), check.failed))


def _derived(summary: PointSummary, mechanism: Mechanism) -> PointSummary:
    """A strict mechanism's epsilon that was found by looking at the data is no epsilon-DP guarantee."""
    return replace(summary, guarantee="data_derived") if mechanism.epsilon_by_construction else summary


def _why(answer: Found, target: Target, points: dict[float, MapPoint]) -> str:
    best = answer.best
    if not best.usable:
        return "No setting reaches it: no fit of the search converged."
    if best.share == 0:
        return "No setting reaches it: at none of those tried does any data set."
    text = (
        f"No setting reaches it: at best {percent(best.share)} of the data sets do, at "
        f"ε = {epsilon_number(best.epsilon)}, and {100 * target.share:g} % are asked."
    )
    largest = points[max(points)]
    if largest.problems:
        return text + " Fits that have not converged do not count."
    if best.epsilon < 0.8 * largest.epsilon:
        return text
    if "scale" in largest.knobs:
        return text + " That is about the largest scale there is; a shift g above 0 may help."
    return text + " There the model's own misfit limits accuracy; another model or another target may help."


def _over_seeds(
    analysis: AnyAnalysis[Any], mechanism: Mechanism, point: MapPoint, steps: _SearchProgress
) -> tuple[float, float] | None:
    """Epsilon of the same settings over other sampler seeds: 2 * Delta is a maximum over draws."""
    if mechanism.epsilon_by_construction:
        return None
    epsilons = [point.epsilon]
    for other in range(1, OTHER_SEEDS + 1):
        steps.begin(f"with another sampler seed ({other} of {OTHER_SEEDS})")
        seed = next_seed(analysis.settings.seed, other)
        epsilons.append(analysis.with_settings(seed=seed).run(mechanism.key).epsilon)
    return min(epsilons), max(epsilons)


def _to_epsilon(
    analysis: AnyAnalysis[Any],
    mechanism: Mechanism,
    wanted: float | None,
    target: EpsilonTarget,
    steps: _SearchProgress,
) -> TuningAnswer:
    assert wanted is not None

    def at(**knobs: float) -> MapPoint:
        steps.begin(knobs_text(knobs))
        return run_point(analysis.with_settings(**knobs), mechanism.key, extra=_extra(target.measure))

    if mechanism.key == target.like:
        point = at()
        return TuningAnswer(
            mechanism.key, point.summary(), None, None, 0, _over_seeds(analysis, mechanism, point, steps)
        )
    if mechanism.epsilon_by_construction:  # epsilon is what was asked for
        summary = at(epsilon=_rounded_down(wanted)).summary()
        return TuningAnswer(mechanism.key, summary if target.like is None else _derived(summary, mechanism))
    # Solved for a little less, within half the tolerance to either side: never more than was asked for.
    tolerance = analysis.settings.reweight_tolerance / 2
    aim = wanted * (1 - tolerance)
    knobs: dict[str, float] = {}
    if "scale" in mechanism.tuning:  # a truncation is at the aim itself
        knobs = {"epsilon": _rounded_down(aim)} if "epsilon" in mechanism.tuning else {}
        name, lowest, upper, start = "scale", 1e-4, limits.SCALE[1], 0.5
    elif "epsilon" in mechanism.tuning:
        name, lowest, start = "epsilon", analysis.least_epsilon, wanted
        upper = min(2 * analysis.unweighted_bound, limits.EPSILON[1])
    else:
        return TuningAnswer(mechanism.key, None, why="It has no setting that could move its ε.")
    tried: list[MapPoint] = []

    def moved(x: float) -> MapPoint:
        tried.append(at(**knobs | {name: max(_rounded(x), lowest)}))
        return tried[-1]

    try:
        point, _ = solve_for_epsilon(
            moved,
            aim,
            f"(just below the ε = {wanted:.4g} that was asked for)",
            mechanism,
            upper,
            tolerance,
            start,
        )
    except InputError as error:  # ε jumps there: the nearest below serves, if it is near
        below = [p for p in tried if NEAR * wanted <= p.epsilon <= wanted]
        if not below:
            return TuningAnswer(mechanism.key, None, why=str(error))
        point = max(below, key=lambda p: p.epsilon)
    return TuningAnswer(
        mechanism.key,
        point.summary(),
        epsilon_seeds=_over_seeds(analysis.with_settings(**point.knobs), mechanism, point, steps),
    )
