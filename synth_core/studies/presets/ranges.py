"""Range restriction: privacy under a sensitive range (4.1), at one epsilon (4.2), in the tail (4.3)."""

from __future__ import annotations

import numpy as np

from synth_core.studies.checks import Row, claim, ordering, shown, summary_error, value
from synth_core.studies.engine import Outcome
from synth_core.studies.plan import Case, Point, Study, example_design
from synth_core.studies.probability import contraction

WIDE, NARROW = (0.4, 1.8), (0.6, 1.2)
SIZES = (200, 400, 1600, 6400)
LOGNORMAL = {"outcome": "x", "predictors": ("z",), "model": "lognormal"}
DELTA = "lipschitz_bound"
WEIGHTED, AVG_WIDE, TRUNC_WIDE = "(−Inf, Inf)", "(0.4, 1.8) avg", "(0.4, 1.8) trunc"
AVG_NARROW, TRUNC_NARROW = "(0.6, 1.2) avg", "(0.6, 1.2) trunc"
POINTS = (
    Point("Unweighted", "unweighted"),
    Point(WEIGHTED, "weighted"),
    Point(AVG_WIDE, "range_averaged", {"range": WIDE}),
    Point(TRUNC_WIDE, "range_truncated", {"range": WIDE}),
    Point(AVG_NARROW, "range_averaged", {"range": NARROW}),
    Point(TRUNC_NARROW, "range_truncated", {"range": NARROW}),
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


def _lognormal_case(rows: int, points: tuple[Point, ...]) -> Case:
    return Case(f"n = {rows:,}", example_design("lognormal"), rows, LOGNORMAL, points)


def delta_orderings(outcome: Outcome, case: str, source: str) -> list[Row]:
    return [
        ordering(
            f"Δ of {larger} above {smaller}",
            source,
            outcome.values(case, larger, DELTA),
            outcome.values(case, smaller, DELTA),
        )
        for larger, smaller in ORDERED
    ]


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


def compare_41(outcome: Outcome) -> list[Row]:
    """The orderings of Figures 2 to 5."""
    rows = []
    for point in POINTS:
        values = 2 * outcome.values(BASE, point.label, DELTA)
        rows.append(
            shown(
                f"ε of {point.label}",
                f"median {np.median(values):.2f}, {values.min():.2f} to {values.max():.2f}",
                summary_error(values, "median"),
            )
        )
    rows += delta_orderings(outcome, BASE, "Range Fig. 2")

    def utility(name: str) -> np.ndarray:
        return outcome.values(BASE, name, "ecdf_avg")

    for averaged in (AVG_WIDE, AVG_NARROW):
        rows.append(
            ordering(
                f"ECDF average of {WEIGHTED} above {averaged}",
                "Range Fig. 3",
                utility(WEIGHTED),
                utility(averaged),
            )
        )
    rows.append(
        ordering(
            f"ECDF average of {AVG_WIDE} above {AVG_NARROW}",
            "Range Fig. 3",
            utility(AVG_WIDE),
            utility(AVG_NARROW),
        )
    )
    same = all(np.array_equal(utility(WEIGHTED), utility(name)) for name in (TRUNC_WIDE, TRUNC_NARROW))
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
        spread = [contraction(outcome.values(f"n = {n:,}", point.label, DELTA))[1] for n in SIZES]
        middle = [float(np.median(outcome.values(f"n = {n:,}", point.label, DELTA))) for n in SIZES]
        rows.append(
            claim(
                f"Δ of {point.label} contracts as n grows from 200 to 6,400",
                "Range Fig. 5",
                "max − min " + ", ".join(f"{v:.2f}" for v in spread)
                + "; medians " + ", ".join(f"{v:.2f}" for v in middle),
                spread[-1] < spread[0],
                WHY_WIDER,
            )
        )  # fmt: skip
    return rows


def _off(outcome: Outcome, name: str, statistic: str, case: str = BASE) -> np.ndarray:
    """Relative error of a statistic, of shape (R,)."""
    data = outcome.values(case, name, f"data_{statistic}")
    return np.abs(outcome.values(case, name, statistic) / data - 1)


SCALED = (
    Point("Unweighted", "unweighted"),
    Point(f"{WEIGHTED}, 0.73", "weighted", {"scale": 0.73}),
    Point(f"{TRUNC_WIDE}, 0.88", "range_truncated", {"scale": 0.88, "range": WIDE}),
    Point(TRUNC_NARROW, "range_truncated", {"range": NARROW}),
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


def compare_42(outcome: Outcome) -> list[Row]:
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
            "medians " + ", ".join(f"{v:.2f}" for v in medians),
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
    Point("Unweighted", "unweighted"),
    Point(WEIGHTED, "weighted"),
    Point(AVG_WIDE, "range_averaged", {"range": WIDE}),
    *(
        Point(f"Top {p}%", "range_averaged", {"range": WIDE, "tail": (float(p), 0.2, 2.4)})
        for p in TAILS
    ),
)  # fmt: skip


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


def compare_43(outcome: Outcome) -> list[Row]:
    """The orderings of Figures 11, 12 and 17."""

    def of(name: str, measure: str) -> np.ndarray:
        return outcome.values(BASE, name, measure)

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
        rows.append(
            ordering(
                f"Δ of {larger} above {smaller}", "Range Fig. 11", of(larger, DELTA), of(smaller, DELTA), same
            )
        )
    for measure, figure in (("ecdf_max", 12), ("ecdf_avg", 17)):
        rows.append(
            ordering(
                f"{measure} of {names[3]} above {names[0]}",
                f"Range Fig. {figure}",
                of(names[3], measure),
                of(names[0], measure),
            )
        )
        rows.append(
            ordering(
                f"{measure} of {WEIGHTED} above {names[3]}",
                f"Range Fig. {figure}",
                of(WEIGHTED, measure),
                of(names[3], measure),
            )
        )
    return rows
