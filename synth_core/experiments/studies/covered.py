"""How many intervals of a study of coverage hold what is true, by rule and with the measured factor; in words.

What the databases are, and what is estimated of them, is of `studies.coverage`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from synth_core.analysis.combining import RULES, interval
from synth_core.experiments.studies.coverage import Truth
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.verdicts import Row, shown
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import ceiling

Array = NDArray[np.float64]
Of = Callable[[str], Array]  # the values of a measure, of shape (n_replicates,)
CLASSES = {
    "mean": "Mean",
    "share": "Share",
    "missing": "Shares of missing values",
    "q90": "90th percentile",
    "slope": "Regression coefficients",
}
RULES_SAID = (
    "A rule gives the variance of an estimate from m data sets: u is the mean of the variances that ordinary software "
    "gives for them, b the variance between their estimates."
)
NORMAL_95 = float(stats.norm.isf(0.025))


@dataclass(frozen=True)
class Covered:
    """How often intervals of a class of estimates held what is true, from files of one point of a study.

    Attributes
    ----------
    title : str
        The class of estimates.
    where : str
        The point, and of several sizes the case.
    mechanism : str
        Its key.
    held, errors : dict
        The share of intervals by rule, and its Monte Carlo error; rules that do not apply are left out.
    own, own_error : float
        Of intervals from the simulated databases themselves.
    factor : float
        What standard errors of ordinary software are to be multiplied by.
    with_factor, with_factor_error : float
        The share of intervals that hold once they are; each database is judged by the factor of the others.
    bias, bias_error : float
        In those standard errors, and its Monte Carlo error: of many estimates the largest.
    rule : str
        The rule of the mechanism for so many data sets; "u", what ordinary software does, where none is known.
    known : bool
        Whether there is such a rule.
    """

    title: str
    where: str
    mechanism: str
    held: dict[str, float]
    errors: dict[str, float]
    own: float
    own_error: float
    factor: float
    with_factor: float
    with_factor_error: float
    bias: float
    bias_error: float
    rule: str
    known: bool


def coverage_of(outcome: StudyOutcome, truth: Truth) -> list[Covered]:
    """Coverage of each point and class of estimates, points in the study's order."""
    covered = []
    for case in outcome.study.cases:
        for point in case.points:
            where = point.label + (f", {case.key}" if len(outcome.study.cases) > 1 else "")
            rules = find_mechanism(point.mechanism).combining
            rule = rules[0 if case.settings["datasets"] == 1 else 1]

            def of(measure: str, key: str = case.key, label: str = point.label) -> Array:
                return outcome.values(key, label, measure)

            for kind, title in CLASSES.items():
                names = [name for name in truth.values if name.split(":")[0] == kind]
                if not names:
                    continue
                own = _held(of, names, truth, "own", "own variance")
                by_rule = {each: _held(of, names, truth, "estimate", each) for each in RULES}
                by_rule = {each: there for each, h in by_rule.items() if (there := h[np.isfinite(h)]).size}
                own, widened = own[np.isfinite(own)], widened_by(of, names, truth)
                if widened is None or not (own.size and (rule or "u") in by_rule):
                    continue  # no database, or no file of one, tells of it
                covered.append(
                    Covered(
                        title,
                        where,
                        point.mechanism,
                        {each: float(held.mean()) for each, held in by_rule.items()},
                        {each: _error(held) for each, held in by_rule.items()},
                        float(own.mean()),
                        _error(own),
                        widened.factor,
                        float(widened.held.mean()),
                        _error(widened.held),
                        widened.bias,
                        widened.bias_error,
                        rule or "u",
                        bool(rule),
                    )
                )
    return covered


def compare_coverage(covered: Sequence[Covered]) -> list[Row]:
    """Coverage by rule, the factor of the standard error and the bias, for each class of estimates."""
    rows: dict[str, Row] = {}
    for each in covered:
        own = shown(f"{each.title}: confidential table", f"{each.own:.2f}", each.own_error)
        rows.setdefault(own.quantity, own)
        held = ", ".join(f"{rule} {share:.2f} ± {each.errors[rule]:.2f}" for rule, share in each.held.items())
        bias = f"{each.bias:+.2f} ± {each.bias_error:.2f}"
        widened = f"{each.with_factor:.2f} ± {each.with_factor_error:.2f}"
        said = (
            f"{held}; multiply standard errors by {each.factor:.2f} and {widened} hold; "
            f"bias {bias} standard errors"
        )
        row = shown(f"{each.title}: {each.where}", said, max(each.errors.values()))
        rows[row.quantity] = row
    return list(rows.values())


def coverage_in_words(covered: Sequence[Covered], replicates: int, whose: str = "") -> list[str]:
    """For each point how many of 100 intervals of a file hold what is true, one sentence each.

    Parameters
    ----------
    whose : str
        Whose estimates they are, of `estimates_words`.
    """
    sentences = []
    for where in dict.fromkeys(each.where for each in covered):
        mine = [each for each in covered if each.where == where]
        held = ", ".join(f"{100 * each.held[each.rule]:.0f} of {_plural(each.title)}" for each in mine)
        first, largest = mine[0], max(each.factor for each in mine)
        how = (
            f"put together by {first.rule}"
            if first.known
            else "as software gives them: no rule is known to hold; the errors are up to "
            f"{ceiling(largest, 1)} times what software says; with these factors, in the same order, "
            f"{', '.join(f'{100 * each.with_factor:.0f}' for each in mine)} hold"
        )
        sentences.append(f"{where}: of 100 intervals at 95 %, these hold what is true: {held} ({how}).")
    error = 100 * max((max(each.errors[each.rule], each.with_factor_error) for each in covered), default=0.0)
    named = RULES_SAID if any(each.known for each in covered) else ""
    return [
        *sentences,
        *filter(None, [named, whose]),
        f"From {replicates} simulated databases: the Monte Carlo error of each number is at most {math.ceil(error)}.",
    ]


def _plural(title: str) -> str:
    return title.lower().removesuffix("s") + "s"


def _held(of: Of, names: list[str], truth: Truth, estimate: str, variance: str) -> Array:
    """Whether each replicate's intervals hold the truth, as a mean over the estimates of a class; (n_replicates,)."""
    held = []
    for name in names:
        pairs = zip(of(f"{name}|{estimate}"), of(f"{name}|{variance}"), strict=True)
        ends = [interval(np.array([q]), v) for q, v in pairs]
        held.append([low <= truth.values[name] <= high if low == low else np.nan for low, high in ends])
    told = np.isfinite(held)
    with np.errstate(invalid="ignore"):  # a database that tells of none of them gives NaN
        return np.asarray(np.where(told, held, 0.0).sum(axis=0) / told.sum(axis=0), dtype=float)


@dataclass(frozen=True)
class Widened:
    """Intervals of a class by u-bar whose standard errors are multiplied by what they were seen to lack.

    Attributes
    ----------
    factor : float
        Root mean squared error over the mean of u-bar's standard errors; the mean of a class.
    held : array of shape (n_replicates,)
        The share of a database's intervals that hold with the factor of the others; of those that tell of any.
    bias, bias_error : float
        Over that mean standard error, and its Monte Carlo error, the largest of the class: estimates of one database
        go together.
    """

    factor: float
    held: Array
    bias: float
    bias_error: float


def widened_by(of: Of, names: list[str], truth: Truth) -> Widened | None:
    """What the standard errors of u-bar lack, and whether intervals hold that are made as much longer.

    None where software says of no file that it errs, or fewer than two databases tell.

    Parameters
    ----------
    of : callable
        The values of a measure by its name, of shape (n_replicates,).
    names : list of str
        The estimates of a class.
    """
    error = np.array([of(f"{name}|estimate") - truth.values[name] for name in names])
    usual = np.sqrt(np.array([of(f"{name}|u") for name in names]))
    told = np.isfinite(error) & np.isfinite(usual)
    error, usual = np.where(told, error, 0.0), np.where(told, usual, 0.0)
    kept = (told.sum(axis=1) > 1) & (usual.sum(axis=1) > 0)
    if not kept.any():
        return None
    error, usual, told = error[kept], usual[kept], told[kept]
    n, squares, spread = (x.sum(axis=1, keepdims=True) for x in (told, error**2, usual))
    factor = (np.sqrt(squares / n) / (spread / n)).mean()
    with np.errstate(invalid="ignore", divide="ignore"):  # a database that tells of none of them gives NaN
        others = np.sqrt(np.maximum(squares - error**2, 0.0) / (n - 1)) / ((spread - usual) / (n - 1))
        of_others = np.where(np.isfinite(others), others, factor).mean(axis=0)
        held = told & (np.abs(error) <= NORMAL_95 * of_others * usual)
        shares = held.sum(axis=0) / told.sum(axis=0)
    bias = error.sum(axis=1, keepdims=True) / n
    spreads = np.sqrt(np.where(told, (error - bias) ** 2, 0.0).sum(axis=1, keepdims=True) / n)
    beside = spreads / np.sqrt(n) / (spread / n)
    return Widened(
        float(factor), shares[told.any(axis=0)], float((bias / (spread / n)).mean()), float(beside.max())
    )


def _error(held: Array) -> float:
    """The Monte Carlo error of a share, with two databases more that hold and two that do not (Agresti and Coull 1998).

    Without them a share of 1 in few databases would have no error.
    """
    more = np.concatenate([held, [0.0, 0.0, 1.0, 1.0]])
    return float(more.std(ddof=1) / np.sqrt(len(more)))
