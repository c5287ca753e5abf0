"""Anchored censoring beside the censoring of the papers, on two of their simulation designs.

Every database has one before it, of the same law and size. The anchor is the fit to that one, as an agency would
anchor a year at the year before. The expected figures were measured before the study was written.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from synth_core.experiments.studies.extra_measures import CountMean
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Case, Study, StudyPoint, example_design
from synth_core.experiments.studies.verdicts import (
    ERRORS,
    MEASURES,
    Row,
    above,
    claim,
    number,
    shown,
    summary_error,
)

Array = NDArray[np.float64]

EPSILONS = (3, 1)
ROWS, REPLICATES = 2000, 100
BETA, POISSON = "Beta(0.5, 3)", "Poisson(100)"
AT_EARLIER = {"outcome": "x", "anchor": "reference"}
UNWEIGHTED = "Unweighted"

EXPECTED = {  # ECDF maximum: anchored, and the rule as printed
    3: (0.03, 0.19),
    1: (0.07, 0.37),
}
EXPECTED_SD = 0.32  # of the mean of Poisson(100)
ABOUT = 0.15  # how far, relative, a figure of one or two digits is taken to reach
PRIOR_RECORDS = 50  # that an earlier table counts as: the default
LITTLE = (
    0.02  # a weight of no rule: with it, and without a prior, ECDF maxima are those expected at epsilon = 1
)

BETTER = (
    "Closer to the data than expected. The rule takes c between 0.2 and 0.5 here; the expected figure is about what "
    "c = 0.02 without a prior gives, as if 40 of the 2,000 records were read."
)


def label(name: str, epsilon: float, more: str = "") -> str:
    """The label of a point."""
    return f"{name}, ε = {epsilon:g}" + (f", {more}" if more else "")


NO_PRIOR, WHOLE = "no prior", "c = 1"
LITTLE_ALONE = f"c = {LITTLE:g}, no prior"
_VARIANTS = {  # at epsilon = 1: what c and the prior are worth
    NO_PRIOR: {"anchor_records": 0.0},
    WHOLE: {"anchor_weight": 1.0},
    LITTLE_ALONE: {"anchor_weight": LITTLE, "anchor_records": 0.0},
}


def _points(counts: bool) -> tuple[StudyPoint, ...]:
    extras = (CountMean(),) if counts else ()
    points = [StudyPoint(UNWEIGHTED, "unweighted", {}, extras)]
    for epsilon in EPSILONS:
        for name, mechanism in (("Anchored", "anchored"), ("Censor_uw", "censored")):
            changes = {"epsilon": float(epsilon)}
            points.append(StudyPoint(label(name, epsilon), mechanism, changes, extras))
    for more, variant in _VARIANTS.items():
        if not counts or more == NO_PRIOR:
            changes = {"epsilon": 1.0, **variant}
            points.append(StudyPoint(label("Anchored", 1, more), "anchored", changes, extras))
    return tuple(points)


def study() -> Study:
    """Beta(0.5, 3) and Poisson(100), n = 2000 each, anchored at a fit to a table before; R = 100."""
    beta, poisson = example_design("beta"), example_design("poisson")
    bounded = AT_EARLIER | {"model": "beta", "bounds": (0.0, 1.0)}
    counts = AT_EARLIER | {"model": "poisson"}
    return Study(
        "anchored",
        "Anchored censoring at a fit to an earlier table, beside censoring as printed",
        "a design of our own",
        (
            Case(BETA, beta, ROWS, bounded, _points(False), beta),
            Case(POISSON, poisson, ROWS, counts, _points(True), poisson),
        ),
        REPLICATES,
        ("ecdf_max", "ecdf_avg", "n_censored", "mean", "median", "q15", "q90"),
        note="No paper has this design: under “published” stands what we had expected. R-hat includes the variant with "
        "c = 1, which has two modes and does not converge.",
    )


def about(quantity: str, expected: float, values: Array, reason: str = "") -> Row:
    """A median over databases against a figure that was expected, to within its few digits."""
    middle, error = float(np.median(values)), summary_error(values, "median")
    reach = ABOUT * expected + (ERRORS * error if np.isfinite(error) else 0.0)
    ours = f"{number(middle)} ({number(float(values.min()))} to {number(float(values.max()))})"
    holds = abs(middle - expected) <= reach
    return claim(
        quantity, f"about {expected:g}", ours, holds, reason, float(error) if np.isfinite(error) else None
    )


def compare(outcome: StudyOutcome) -> list[Row]:
    """What was expected beside what is, for both designs."""
    return [*_compare_beta(outcome), *_compare_poisson(outcome)]


def _compare_beta(outcome: StudyOutcome) -> list[Row]:
    of = partial(outcome.values, BETA)
    worst = MEASURES["ecdf_max"]
    rows = [_median(f"{BETA}: {worst} of {UNWEIGHTED}", of(UNWEIGHTED, "ecdf_max"))]
    for epsilon in EPSILONS:
        ours, printed = label("Anchored", epsilon), label("Censor_uw", epsilon)
        for name, expected in zip((ours, printed), EXPECTED[epsilon], strict=True):
            reason = BETTER if name == ours else ""
            rows.append(about(f"{BETA}: {worst} of {name}", expected, of(name, "ecdf_max"), reason))
        rows.append(above(of, printed, ours, "ecdf_max", "expected"))
        rows += _clamped(outcome, BETA, (ours, printed))
        rows.append(_median(f"{BETA}: c of {ours}", of(ours, "c")))
    for more in _VARIANTS:
        name = label("Anchored", 1, more)
        rows.append(_median(f"{BETA}: {worst} of {name}", of(name, "ecdf_max")))
        rows += _clamped(outcome, BETA, (name,))
    return rows


def _compare_poisson(outcome: StudyOutcome) -> list[Row]:
    of = partial(outcome.values, POISSON)
    where = f"{POISSON}: posterior sd of the mean"
    # The conjugate posterior under Gamma(1, 0.001), known without a sampler.
    exact = np.sqrt(1 + ROWS * of(UNWEIGHTED, "data_mean")) / (1e-3 + ROWS)
    closed = f"{where} beside its closed form"
    rows = [_exact(f"{closed}, {UNWEIGHTED}", "exactly", of(UNWEIGHTED, "count_mean_sd"), exact)]
    for epsilon in EPSILONS:
        ours, printed = label("Anchored", epsilon), label("Censor_uw", epsilon)
        c, sd = of(ours, "c"), of(ours, "count_mean_sd")
        rows.append(about(f"{where}, {ours}", EXPECTED_SD, sd))
        rows.append(_exact(f"{closed}, {ours}", "as c n + 50 records:", sd, _told(of, c, PRIOR_RECORDS)))
        rows.append(_median(f"{POISSON}: c of {ours}", c))
        rows += _clamped(outcome, POISSON, (ours,))
        n_censored = of(printed, "n_censored")
        rows.append(
            claim(
                f"{POISSON}: records clamped by {printed}",
                "all",
                f"{number(float(n_censored.min()))} to {number(float(n_censored.max()))} of {ROWS:,}",
                bool((n_censored == ROWS).all()),
            )
        )
        rows.append(
            _median(
                f"{where}, {printed}",
                of(printed, "count_mean_sd"),
                "Nothing is learned: this is the prior, Gamma(1, 0.001), whose standard deviation is 1,000.",
            )
        )
    alone = label("Anchored", 1, NO_PRIOR)
    sd = of(alone, "count_mean_sd")
    rows.append(_exact(f"{closed}, {alone}", "as c n records:", sd, _told(of, of(alone, "c"), 0)))
    for name in outcome.study.case(POISSON).labels():
        rows.append(_median(f"{POISSON}: {MEASURES['ecdf_max']} of {name}", of(name, "ecdf_max")))
    return rows


def _told(of: partial[Array], c: Array, prior_records: int) -> Array:
    """Posterior deviation of the mean if c n records, and those of the prior, enter and none is clamped."""
    return np.sqrt(of(UNWEIGHTED, "data_mean") / (c * ROWS + prior_records))


def _exact(quantity: str, words: str, sds: Array, expected: Array) -> Row:
    """Standard deviations over databases against closed forms of each; a short chain knows its own to some percent."""
    ratio = sds / expected
    error = float(ratio.std(ddof=1) / np.sqrt(len(ratio))) if len(ratio) > 1 else 0.1
    mean = float(np.mean(expected))
    return claim(
        quantity,
        f"{words} {mean:.3f}",
        f"{float(sds.mean()):.3f} (mean ratio {float(ratio.mean()):.3f})",
        abs(float(ratio.mean()) - 1) <= ERRORS * error + 0.01,
        error=error * mean,
    )


def _median(quantity: str, values: Array, reason: str = "") -> Row:
    spread = (
        f"{number(float(np.median(values)))} ({number(float(values.min()))} to {number(float(values.max()))})"
    )
    return shown(quantity, spread, summary_error(values, "median"), reason)


def _clamped(outcome: StudyOutcome, case: str, names: tuple[str, ...]) -> list[Row]:
    """Shares of the records with a term that was clamped at some draw."""
    rows = []
    for name in names:
        share = outcome.values(case, name, "n_censored") / ROWS
        words = f"median {np.median(share):.2%}, at most {share.max():.2%}"
        rows.append(shown(f"{case}: records clamped by {name}", words))
    return rows
