"""Do intervals hold? Databases simulated from a fitted model, each synthesized again, and intervals of them.

What a user computes from a synthetic file, and what ordinary software says of its error, against what is true of the
model that the databases were drawn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.combining import RULES, interval, pseudo_factor
from synth_core.analysis.result import Result
from synth_core.errors import InputError
from synth_core.experiments.studies.databases_like_mine import study_like
from synth_core.experiments.studies.extra_measures import Numbers
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Design, Study
from synth_core.experiments.studies.verdicts import Row, shown

Array = NDArray[np.float64]
Of = Callable[[str], Array]  # the values of a measure, of shape (n_replicates,)
TRUTH_RECORDS = 400_000  # of the table that is taken for the population
SHARE_BELOW = 0.5  # the share of records below the population's median is estimated
PERCENTILE = 90.0
CLASSES = {"mean": "Mean", "share": "Share", "q90": "90th percentile", "slope": "Regression coefficients"}


@dataclass(frozen=True)
class Truth:
    """What is estimated, in the population; `slopes` are of a least squares regression on the design's own columns."""

    mean: float
    median: float
    quantile: float
    slopes: tuple[float, ...]

    @property
    def values(self) -> dict[str, float]:
        """By the name of the estimate."""
        slopes = {f"slope{j}": slope for j, slope in enumerate(self.slopes)}
        return {"mean": self.mean, "share": SHARE_BELOW, "q90": self.quantile} | slopes


def estimates_of(x: Array, columns: Array, median: float) -> dict[str, tuple[float, float]]:
    """Estimates and their variances, as ordinary software gives them.

    Parameters
    ----------
    x : array of shape (n_records,)
    columns : array of shape (n_records, n_columns)
        Of a regression; the constant is added here. Variances allow unequal spreads (White's, HC1).
    median : float
        Below which records are counted for the share.
    """
    n, p = len(x), PERCENTILE / 100
    share = float((x <= median).mean())
    found = {"mean": (float(x.mean()), float(x.var(ddof=1) / n)), "share": (share, share * (1 - share) / n)}
    half = 1.96 * np.sqrt(p * (1 - p) / n)  # Woodruff's interval of a percentile
    low, high = np.quantile(x, [max(0.0, p - half), min(1.0, p + half)])
    found["q90"] = float(np.quantile(x, p)), float(((high - low) / (2 * 1.96)) ** 2)
    if columns.shape[1]:
        design = np.column_stack([np.ones(n), columns])
        inverse = np.linalg.pinv(design.T @ design)
        beta = inverse @ design.T @ x
        scored = design * (x - design @ beta)[:, None]
        variance = np.diag(inverse @ (scored.T @ scored) @ inverse) * n / max(1, n - design.shape[1])
        found |= {f"slope{j}": (float(beta[j + 1]), float(variance[j + 1])) for j in range(columns.shape[1])}
    return found


@dataclass(frozen=True)
class Intervals:
    """Of every estimate: the mean over data sets, the variance by each rule, and the confidential table's own."""

    median: float
    even: bool

    def __call__(self, analysis: Analysis, result: Result) -> Numbers:
        records = analysis.model.records
        columns = own_columns(analysis)
        made = [estimates_of(x, columns, self.median) for x in result.synthetic]
        own = estimates_of(records.outcome, columns, self.median)
        prior = analysis.anchored.prior_records if result.anchor and analysis.settings.reads_counts else 0.0
        weights = np.asarray(result.weights, dtype=float)
        factor = pseudo_factor(weights, len(made), self.even, prior)
        found: Numbers = {}
        for name in own:
            q, u = (np.array([each[name][i] for each in made]) for i in (0, 1))
            found[f"{name}|estimate"], found[f"{name}|own"] = float(q.mean()), own[name][0]
            found[f"{name}|own variance"] = own[name][1]
            found |= {f"{name}|{rule}": variance(q, u, factor) for rule, variance in RULES.items()}
        return found


def own_columns(analysis: Analysis) -> Array:
    """The predictors' columns of a regression: numbers as they are, categories as 0 and 1; of shape (n, n_columns)."""
    s, complete = analysis.settings, analysis.fits.selection.complete
    frame = analysis.table.frame.loc[complete, list(s.predictors)]
    return columns_of(frame, s.categorical)


def columns_of(frame: pd.DataFrame, categorical: Sequence[str]) -> Array:
    """The same of a frame of predictors."""
    parts = [np.zeros((len(frame), 0))]
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and name not in categorical:
            parts.append(column.to_numpy(dtype=float)[:, None])
        else:
            text = column.astype(str)
            dummies = [text == level for level in sorted(text.unique())[1:]]
            parts.append(np.column_stack(dummies or [np.zeros((len(frame), 0))]))
    return np.hstack(parts).astype(float)


def population(analysis: Analysis, index: int) -> tuple[Design, Truth]:
    """Databases of one draw of the fitted model's parameters, and what is true of them.

    Predictors are drawn from the table with replacement, so that ordinary standard errors are those of such databases.
    """
    fits, s = analysis.fits, analysis.settings
    posterior, key = fits.unweighted("fitting the model that databases are simulated from")
    draw = posterior.at(index % posterior.n_draws)
    predictors = analysis.table.frame.loc[fits.selection.complete, list(s.predictors)].reset_index(drop=True)
    n = len(predictors)

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        picked = rng.integers(0, n, rows)
        nth = (
            pd.Series(picked).groupby(picked).cumcount().to_numpy()
        )  # a record that is picked again is another person
        outcome = np.empty(rows)
        for time in range(int(nth.max()) + 1):  # a prediction is of the whole table at once
            outcome[nth == time] = analysis.model.predict(draw, rng)[picked[nth == time]]
        return predictors.iloc[picked].assign(**{s.outcome: outcome}).reset_index(drop=True)

    large = simulate(np.random.default_rng([index, 91]), TRUTH_RECORDS)
    x = large[s.outcome].to_numpy(dtype=float)
    median, quantile = (float(each) for each in np.quantile(x, [SHARE_BELOW, PERCENTILE / 100]))
    columns = columns_of(large[list(s.predictors)], s.categorical)
    found = estimates_of(x, columns, median)
    slopes = tuple(found[f"slope{j}"][0] for j in range(columns.shape[1]))
    return Design(f"coverage:{key}:{index}", simulate), Truth(float(x.mean()), median, quantile, slopes)


def study_coverage(
    analysis: Analysis, mechanisms: Sequence[str], epsilons: Sequence[float], rows: Sequence[int],
    replicates: int, sampler: dict[str, int] | None = None, index: int = 0,
) -> tuple[Study, Truth]:  # fmt: skip
    """Every mechanism on databases of one population, with the numbers that intervals are made of.

    Parameters
    ----------
    index : int
        Which posterior draw of the fitted model is the population.

    Raises
    ------
    InputError
        If the variable is of categories: its shares are not among what is estimated here.
    """
    s = analysis.settings
    if s.outcome_categories is not None:
        raise InputError(
            "study coverage is of a number: means, shares below a value, percentiles and regressions."
        )
    like = study_like(analysis, mechanisms, epsilons, [s.scale], rows, replicates, sampler)
    design, truth = population(analysis, index)
    measured = Intervals(truth.median, s.drawing == "even")
    cases = tuple(
        replace(
            case,
            design=design,
            settings=case.settings | {"datasets": s.datasets},
            points=tuple(replace(point, extras=(measured,)) for point in case.points),
        )
        for case in like.cases
    )
    title = f"Coverage of 95 % intervals: databases like {analysis.table.name}, m = {s.datasets}"
    return replace(like, name="coverage", title=title, cases=cases), truth


def compare_coverage(outcome: StudyOutcome, truth: Truth) -> list[Row]:
    """Coverage by rule, the factor of the standard error and the bias, for each class of estimates."""
    rows = []
    for case in outcome.study.cases:
        for number, point in enumerate(case.points):
            where = point.label + (f", {case.key}" if len(outcome.study.cases) > 1 else "")

            def of(measure: str, key: str = case.key, label: str = point.label) -> Array:
                return outcome.values(key, label, measure)

            for kind, title in CLASSES.items():
                names = [name for name in truth.values if name.rstrip("0123456789") == kind or name == kind]
                if not names:
                    continue
                if number == 0:
                    held = _held(of, names, truth, "own", "own variance")
                    rows.append(shown(f"{title}: confidential table", f"{held.mean():.2f}", _error(held)))
                covered = {rule: _held(of, names, truth, "estimate", rule) for rule in RULES}
                best = ", ".join(f"{rule} {each.mean():.2f}" for rule, each in covered.items())
                factor, bias = _factor(of, names, truth)
                said = f"{best}; multiply standard errors by {factor:.2f}; bias {bias:+.2f} standard errors"
                rows.append(shown(f"{title}: {where}", said, _error(covered["u"])))
    return rows


def _held(of: Of, names: list[str], truth: Truth, estimate: str, variance: str) -> Array:
    """Whether each replicate's intervals hold the truth, as a mean over the estimates of a class; (n_replicates,)."""
    held = []
    for name in names:
        pairs = zip(of(f"{name}|{estimate}"), of(f"{name}|{variance}"), strict=True)
        ends = [interval(np.array([q]), v) for q, v in pairs]
        held.append([low <= truth.values[name] <= high for low, high in ends])
    return np.asarray(np.mean(held, axis=0), dtype=float)


def _factor(of: Of, names: list[str], truth: Truth) -> tuple[float, float]:
    """Root mean squared error over the mean of u-bar's standard errors, and the bias over it; means of a class."""
    factors, biases = [], []
    for name in names:
        error = of(f"{name}|estimate") - truth.values[name]
        usual = float(np.sqrt(of(f"{name}|u")).mean())
        factors.append(float(np.sqrt((error**2).mean())) / usual)
        biases.append(float(error.mean()) / usual)
    return float(np.mean(factors)), float(np.mean(biases))


def _error(held: Array) -> float:
    return float(held.std(ddof=1) / np.sqrt(len(held))) if len(held) > 1 else float("nan")
