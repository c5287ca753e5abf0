"""Range restriction: privacy under a sensitive range (4.1), at one epsilon (4.2), in the tail (4.3)."""

from __future__ import annotations

from functools import partial

import numpy as np

from synth_core.experiments.studies.probability import contraction
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Case, Study, StudyPoint, example_design
from synth_core.experiments.studies.verdicts import (
    Row,
    above,
    claim,
    listed,
    ordering,
    shown,
    summary_error,
    value,
)

WIDE, NARROW = (0.4, 1.8), (0.6, 1.2)
SIZES = (200, 400, 1600, 6400)
LOGNORMAL = {"outcome": "x", "predictors": ("z",), "model": "lognormal"}
DELTA = "lipschitz_bound"
WEIGHTED, AVG_WIDE, TRUNC_WIDE = "(−Inf, Inf)", "(0.4, 1.8) avg", "(0.4, 1.8) trunc"
AVG_NARROW, TRUNC_NARROW = "(0.6, 1.2) avg", "(0.6, 1.2) trunc"
POINTS = (
    StudyPoint("Unweighted", "unweighted"),
    StudyPoint(WEIGHTED, "weighted"),
    StudyPoint(AVG_WIDE, "range_averaged", {"range": WIDE}),
    StudyPoint(TRUNC_WIDE, "range_truncated", {"range": WIDE}),
    StudyPoint(AVG_NARROW, "range_averaged", {"range": NARROW}),
    StudyPoint(TRUNC_NARROW, "range_truncated", {"range": NARROW}),
)
ORDERED = (  # larger, smaller
    ("Unweighted", WEIGHTED),
    (WEIGHTED, TRUNC_WIDE),
    (TRUNC_WIDE, TRUNC_NARROW),
    (TRUNC_WIDE, AVG_WIDE),
    (TRUNC_NARROW, AVG_NARROW),
    (AVG_WIDE, AVG_NARROW),
)
BASE = "n = 2,000"
WHY_WIDER = (
    "The largest unweighted f grows with n without limit (the most extreme of n residuals), and with the linear map "
    "the largest α·f is f_max² / (4 (f_max − f_min)): it follows, four times as slowly, and so does its spread."
)


def _lognormal_case(rows: int, points: tuple[StudyPoint, ...]) -> Case:
    return Case(f"n = {rows:,}", example_design("lognormal"), rows, LOGNORMAL, points)


def delta_orderings(outcome: StudyOutcome, case: str, source: str) -> list[Row]:
    of = partial(outcome.values, case)
    return [above(of, larger, smaller, DELTA, source) for larger, smaller in ORDERED]


def range_41() -> Study:
    """Range 4.1: lognormal regression on z, n = 2000 and four sizes, R = 100."""
    return Study(
        "range-4.1",
        "Lognormal: a sensitive range strengthens the guarantee",
        "Range, section 4.1, Figures 1 to 5",
        tuple(_lognormal_case(n, POINTS) for n in (2000, *SIZES)),
        100,
        (DELTA, "ecdf_avg", "q90"),
    )


def compare_41(outcome: StudyOutcome) -> list[Row]:
    """The orderings of Figures 2 to 5."""
    of, rows = partial(outcome.values, BASE), []
    for point in POINTS:
        values = 2 * of(point.label, DELTA)
        rows.append(
            shown(
                f"ε of {point.label}",
                f"median {np.median(values):.2f}, {values.min():.2f} to {values.max():.2f}",
                summary_error(values, "median"),
            )
        )
    rows += delta_orderings(outcome, BASE, "Range Fig. 2")
    for larger, smaller in ((WEIGHTED, AVG_WIDE), (WEIGHTED, AVG_NARROW), (AVG_WIDE, AVG_NARROW)):
        rows.append(above(of, larger, smaller, "ecdf_avg", "Range Fig. 3"))
    utility = of(WEIGHTED, "ecdf_avg")
    same = all(np.array_equal(utility, of(name, "ecdf_avg")) for name in (TRUNC_WIDE, TRUNC_NARROW))
    rows.append(
        claim(
            "Truncated and Weighted have the same utility",
            "Range 4.1",
            "the same synthetic data" if same else "not",
            same,
        )
    )
    for averaged, other in ((AVG_WIDE, WEIGHTED), (AVG_NARROW, AVG_WIDE)):
        rows.append(
            ordering(
                f"Error of the 90th percentile: {other} above {averaged}",
                "Range Fig. 4",
                _off(outcome, other, "q90"),
                _off(outcome, averaged, "q90"),
            )
        )
    for point in POINTS[1:]:
        by_size = [outcome.values(f"n = {n:,}", point.label, DELTA) for n in SIZES]
        spread, middle = [contraction(v)[1] for v in by_size], [float(np.median(v)) for v in by_size]
        rows.append(
            claim(
                f"Δ of {point.label} contracts as n grows from 200 to 6,400",
                "Range Fig. 5",
                f"max − min {listed(spread)}; medians {listed(middle)}",
                spread[-1] < spread[0],
                WHY_WIDER,
            )
        )
    return rows


def _off(outcome: StudyOutcome, name: str, statistic: str) -> np.ndarray:
    """Relative error of a statistic, of shape (R,)."""
    data = outcome.values(BASE, name, f"data_{statistic}")
    return np.abs(outcome.values(BASE, name, statistic) / data - 1)


SCALED = (
    StudyPoint("Unweighted", "unweighted"),
    StudyPoint(f"{WEIGHTED}, 0.73", "weighted", {"scale": 0.73}),
    StudyPoint(f"{TRUNC_WIDE}, 0.88", "range_truncated", {"scale": 0.88, "range": WIDE}),
    StudyPoint(TRUNC_NARROW, "range_truncated", {"range": NARROW}),
)


def range_42() -> Study:
    """Range 4.2: three mechanisms scaled to one epsilon; the paper's is a single sample."""
    return Study(
        "range-4.2",
        "Lognormal: higher utility for the same ε",
        "Range, section 4.2, Figures 6 to 10",
        (_lognormal_case(2000, SCALED),),
        100,
        (DELTA, "mean", "median", "q90"),
    )


def compare_42(outcome: StudyOutcome) -> list[Row]:
    """The common epsilon of 5.7, and the ordering of utility."""
    rows = []
    epsilons = [2 * outcome.values(BASE, point.label, DELTA) for point in SCALED[1:]]
    for point, values in zip(SCALED[1:], epsilons, strict=True):
        rows.append(value(f"ε of {point.label}", values, 5.7, "", note="the paper's is one sample"))
    medians = [float(np.median(values)) for values in epsilons]
    rows.append(
        claim(
            "The scalings 0.73, 0.88 and 1 give one ε",
            "Range 4.2",
            f"medians {listed(medians)}",
            (max(medians) - min(medians)) / min(medians) < 0.05,
            error=float(max(summary_error(values, "median") for values in epsilons)),
        )
    )
    for statistic in ("mean", "median", "q90"):
        for larger, smaller in ((1, 2), (2, 3)):
            rows.append(
                ordering(
                    f"Error of the {statistic}: {SCALED[larger].label} above {SCALED[smaller].label}",
                    f"Range Fig. {dict(mean=8, median=9, q90=10)[statistic]}",
                    _off(outcome, SCALED[larger].label, statistic),
                    _off(outcome, SCALED[smaller].label, statistic),
                    "The figures show one sample; over many, the error of one synthetic set is mostly its own noise.",
                )
            )
    return rows


TAILS = (1, 5, 10)
TAILED = (
    StudyPoint("Unweighted", "unweighted"),
    StudyPoint(WEIGHTED, "weighted"),
    StudyPoint(AVG_WIDE, "range_averaged", {"range": WIDE}),
    *(
        StudyPoint(f"Top {p}%", "range_averaged", {"range": WIDE, "tail": (float(p), 0.2, 2.4)})
        for p in TAILS
    ),
)


def range_43() -> Study:
    """Range 4.3: a wider sensitive range for the top 1, 5 and 10 %."""
    return Study(
        "range-4.3",
        "Lognormal: a wider sensitive range in the tail",
        "Range, section 4.3, Figures 11 to 14 and 17",
        (_lognormal_case(2000, TAILED),),
        100,
        (DELTA, "ecdf_max", "ecdf_avg", "mean", "median", "q90"),
    )


def compare_43(outcome: StudyOutcome) -> list[Row]:
    """The orderings of Figures 11, 12 and 17."""
    of = partial(outcome.values, BASE)
    names = [AVG_WIDE, *(f"Top {p}%" for p in TAILS)]
    rows = [
        shown(
            f"Δ of {name}",
            f"median {np.median(of(name, DELTA)):.3f}",
            summary_error(of(name, DELTA), "median"),
        )
        for name in [WEIGHTED, *names]
    ]
    same = (
        "The largest bound belongs to a record of the upper tail in some databases and of the lower tail in others; "
        "once the tail's is the largest, a longer tail adds none."
    )
    for larger, smaller in (
        (names[1], names[0]),
        (names[2], names[1]),
        (names[3], names[2]),
        (WEIGHTED, names[3]),
    ):
        rows.append(above(of, larger, smaller, DELTA, "Range Fig. 11", same))
    for measure, figure in (("ecdf_max", 12), ("ecdf_avg", 17)):
        for larger, smaller in ((names[3], names[0]), (WEIGHTED, names[3])):
            rows.append(above(of, larger, smaller, measure, f"Range Fig. {figure}"))
    return rows
