"""Scales of the priors, learnt from the noisy tables without privacy cost, by data thinning.

With w normal of the deviation of the noise of y, y + a w and y - w / a are independent where the noise is normal
(Neufeld et al. 2024): the model is fitted to the one and scored on the other. Other noise is close enough to normal
for what is only a choice of scales.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from synth_core.analysis.measured.log_linear import Array, LogLinear, NoisyTable, PriorScales

THINNING = 0.5  # a: a fit has 1 + a^2 times the variance, a score 1 + 1 / a^2 times
FIRST, NEXT = 100, 40  # iterations of a fit, from nothing and from another fit
LEARNING = FIRST + 7 * NEXT  # iterations until the scales are learnt, as a rule
SIZES = (0.5, 1.0, 2.0)  # times the usual deviations of terms of two columns and more
STEPS = (
    (math.inf, math.inf),
    (2.0, 0.6),
    (1.0, 0.3),
    (0.5, 0.15),
)  # of neighbouring cells, for two and three


def scaled(size: float, step: tuple[float, float], along: Sequence[int] = ()) -> PriorScales:
    """The usual scales, terms of several columns times a size, with deviations of steps of two and three columns."""
    usual = PriorScales()
    first, *others = usual.of_order
    deviations = (first, *(size * each for each in others))
    return PriorScales(deviations, (math.inf, *step), tuple(along), size * usual.trend)


def learnt_scales(
    model: LogLinear,
    measured: Sequence[NoisyTable],
    rng: np.random.Generator,
    heard: Callable[[], object] = lambda: None,
) -> tuple[PriorScales, Array]:
    """The scales under which one copy of the tables tells the other best, and parameters to start a fit from.

    Sizes and smoothing are tried next to the best so far; then whether a column that may be ordered is smoothed too.
    """
    fitted, scored = [], []
    for table in measured:
        noise = rng.normal(0.0, table.deviation, table.counts.shape)
        spread = table.deviation * math.sqrt(1 + THINNING**2)
        fitted.append(replace(table, counts=table.counts + THINNING * noise, deviation=spread))
        scored.append((table.counts - noise / THINNING, table.deviation**2 * (1 + THINNING**-2) + 1.0))
    columns = [table.columns for table in measured]
    start: Array | None = None

    def score(scales: PriorScales) -> float:
        nonlocal start
        start = model.fit(fitted, scales, start, iterations=FIRST if start is None else NEXT, heard=heard)
        expected = model.expected(model.shares(start), columns)
        return sum(
            float(((mine - told) ** 2).sum()) / variance
            for mine, (told, variance) in zip(expected, scored, strict=True)
        )

    ordered = model.domain.ordered
    along = [column for column, order in enumerate(ordered) if order]
    scores: dict[tuple[int, int], float] = {}

    def tried(size: int, step: int) -> float:
        if (size, step) not in scores:
            scores[size, step] = score(scaled(SIZES[size], STEPS[step], along))
        return scores[size, step]

    at = (1, 2)
    while True:
        near = [(at[0] + d, at[1]) for d in (-1, 1)] + [(at[0], at[1] + d) for d in (-1, 1) if along]
        inside = [each for each in near if each[0] in range(len(SIZES)) and each[1] in range(len(STEPS))]
        best = min([at, *inside], key=lambda each: tried(*each))
        if best == at:
            break
        at = best
    size, step = SIZES[at[0]], STEPS[at[1]]
    lowest = tried(*at)
    for column, order in enumerate(ordered):
        if order is None and math.isfinite(step[0]):
            wider = score(scaled(size, step, [*along, column]))
            if wider < lowest:
                lowest, along = wider, [*along, column]
    assert start is not None
    return scaled(size, step, along), start
