"""The pseudo posterior mechanism, section 5.3: risk and utility over (c, g), EM at the same epsilon."""

from __future__ import annotations

import numpy as np

from synth_core.data.table import Table
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Case, Study, StudyPoint, fixed_design
from synth_core.experiments.studies.verdicts import Row, claim, number, ordering, summary_error

DELTA = "lipschitz_bound"
CURVE = {  # PPM Table 2: CE 2017 Q1, finite mixture
    (0.7, 0.0): 10.10,
    (0.6, 0.0): 8.16,
    (0.6, -0.1): 7.30,
    (0.5, 0.0): 6.09,
    (0.5, -0.1): 5.71,
    (0.5, -0.3): 2.25,
}
UNWEIGHTED_53 = 78.7
OTHER_CURVE = (
    "Other data and another model: the CE file of 2017 Q1 is not available. What can be compared is the shape "
    "of the curve."
)
NOT_BY_WEIGHTS = (
    "No record weighs less here than at the configuration before: 0.6 m − 0.1 ≤ 0.5 m for every m ≤ 1. The fall that "
    "was published is not the weights'."
)


def curve_label(c: float, g: float) -> str:
    """The label of a configuration."""
    return f"({c:g}, {g:g})"


def ppm_53(table: Table, outcome: str, predictors: tuple[str, ...], model: str) -> Study:
    """PPM 5.3 on another table: Delta and the 90th percentile over (c, g), EM at the same epsilon."""
    settings = {"outcome": outcome, "predictors": predictors, "model": model, "reweight_tolerance": 0.01}
    points = [StudyPoint("Unweighted", "unweighted"), StudyPoint("Countweighted", "count_weighted")]
    for c, g in CURVE:
        changes = {"scale": c, "shift": g}
        points.append(StudyPoint(f"DP {curve_label(c, g)}", "weighted", changes))
        points.append(
            StudyPoint(f"EM {curve_label(c, g)}", "exponential", changes | {"match_epsilon": "weighted"})
        )
    case = Case(f"n = {table.rows:,}", fixed_design(table), table.rows, settings, tuple(points))
    return Study(
        "ppm-5.3",
        f"Risk and utility over (c, g) on {table.name}",
        "PPM, section 5.3, Table 2 and Figure 7",
        (case,),
        20,
        (DELTA, "q90", "mean", "ecdf_max"),
        note=OTHER_CURVE,
    )


def compare_53(outcome: StudyOutcome) -> list[Row]:
    """Table 2 as ratios to its first line; DP against EM at one epsilon."""
    (case,) = outcome.study.cases

    def of(name: str, measure: str = DELTA) -> np.ndarray:
        return outcome.values(case.key, name, measure)

    base = next(iter(CURVE))
    rows = []
    previous: tuple[np.ndarray, float, float] | None = None
    for (c, g), published in CURVE.items():
        name = f"DP {curve_label(c, g)}"
        ratio = of(name) / of(f"DP {curve_label(*base)}")
        rows.append(
            Row(
                f"Table 2: Δ at {curve_label(c, g)}, and its ratio to the first",
                f"{published:g} ({published / CURVE[base]:.2f})",
                f"{np.median(of(name)):.2f} ({np.median(ratio):.2f})",
                summary_error(of(name), "median"),
                "shown",
                "other data and model",
            )
        )
        if previous is not None:
            delta, scale, shift = previous
            no_less = shift <= g and scale + shift <= c + g  # at both ends of m in [0, 1]
            reason = NOT_BY_WEIGHTS if no_less else OTHER_CURVE
            rows.append(ordering(f"Δ falls to {curve_label(c, g)}", "PPM Table 2", delta, of(name), reason))
        previous = of(name), c, g
    last, first = (float(np.median(of(f"DP {curve_label(*cg)}"))) for cg in (list(CURVE)[-1], base))
    rows.append(
        claim(
            "Reduction of Δ over the configurations",
            "nearly 80 %",
            f"{1 - last / first:.0%}",
            1 - last / first > 0.5,
            OTHER_CURVE,
        )
    )
    unweighted = float(np.median(of("Unweighted")))
    rows.append(
        Row(
            "Δ of Unweighted",
            number(UNWEIGHTED_53),
            number(unweighted),
            summary_error(of("Unweighted"), "median"),
            "shown",
            "other data and model",
        )
    )
    for c, g in CURVE:
        error = {
            kind: np.abs(of(f"{kind} {curve_label(c, g)}", "q90") / of("Unweighted", "data_q90") - 1)
            for kind in ("EM", "DP")
        }
        rows.append(
            ordering(
                f"90th percentile: error of EM above DP at {curve_label(c, g)}, same ε",
                "PPM Fig. 7",
                error["EM"],
                error["DP"],
                "Other data and model: on a lognormal regression one scalar weight costs little, because its few "
                "parameters are well determined even under small weights.",
            )
        )
    return rows
