"""Do intervals hold? Databases simulated from a fitted model, each synthesized again, and intervals of them.

What a user computes from a synthetic file, and what ordinary software says of its error, against what is true of the
model that the databases were drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult
from synth_core.analysis.combining import RULES, as_normal, degrees_of_freedom, pseudo_factor
from synth_core.analysis.settings import Settings
from synth_core.data.outcome import outcome_column
from synth_core.errors import InputError
from synth_core.experiments.studies.databases_like_mine import (
    population_design,
    records_of,
    resampled_design,
    study_like,
)
from synth_core.experiments.studies.extra_measures import Numbers
from synth_core.experiments.studies.study import Design, Study
from synth_core.experiments.studies.user_estimates import Estimated
from synth_core.mechanisms.catalogue import find_mechanism

Array = NDArray[np.float64]
TRUTH_RECORDS = 400_000  # of the table that is taken for the population
ANCHORS = ("pilot", "counts")  # made of each database
UNWEIGHTED = "Every record counts once, in estimates and in what is true, whatever its survey weight {}."
BY_WEIGHTS = "Estimates, and what is true, are of the population, by {}."
ONE_BY_ONE = "Variances are of records drawn one by one."
OF_UNITS = (
    "Every '{}' is drawn whole, as another one each time, and variances are between them, as of clusters."
)
LEAST_SHARE = 0.02  # of a category, or of missing values, whose share is estimated


@dataclass(frozen=True)
class Intervals:
    """Of every estimate: the mean over data sets, the variance by each rule, and the confidential table's own."""

    estimated: tuple[Estimated, ...]
    # Of categories in the population, whoever is in a database.
    levels: tuple[tuple[str, tuple[str, ...]], ...]
    even: bool  # or balanced

    def __call__(self, analysis: AnyAnalysis[Any], result: AnyResult) -> Numbers:
        found: Numbers = {}
        [own] = frames_of(analysis, {k: v[None, :] for k, v in analysis.confidential.items()}, self.levels)
        made = list(frames_of(analysis, analysis.synthetic(result), self.levels))
        factors = self._factors(analysis, result, len(made))
        for each in self.estimated:
            of_own, of_made = each.of(own), [each.of(frame) for frame in made]
            for name, (estimate, variance) in of_own.items():
                q, u = (np.array([of.get(name, (np.nan, np.nan))[i] for of in of_made]) for i in (0, 1))
                found[f"{name}|estimate"], found[f"{name}|own"] = float(q.mean()), estimate
                found[f"{name}|own variance"] = variance
                factor = factors.get(each.name, np.nan)
                found |= {
                    f"{name}|{rule}": as_normal(variance_of(q, u, factor), degrees_of_freedom(rule, q, u))
                    for rule, variance_of in RULES.items()
                }
        return found

    def _factors(self, analysis: AnyAnalysis[Any], result: AnyResult, m: int) -> dict[str, float]:
        """What pseudo posteriors make of variances, by variable; nothing where none is sampled."""
        likelihood, found = result.point.likelihood, {}
        if likelihood.samples:
            analyses = analysis.analyses(likelihood.anchors)
            for each, fit in zip(analyses, result.fits, strict=True):
                counts = likelihood.anchors and each.settings.reads_counts
                prior = each.anchored.prior_records if counts else 0.0
                weights = np.asarray(fit.weights, dtype=float)
                found[each.settings.outcome] = pseudo_factor(weights, m, self.even, prior)
        return found


def frames_of(
    analysis: AnyAnalysis[Any], values: dict[str, Array], levels: Sequence[tuple[str, tuple[str, ...]]]
) -> Iterator[pd.DataFrame]:
    """The used rows with the sensitive columns of each data set.

    Parameters
    ----------
    values : dict of arrays of shape (n_datasets, n_records)
    """
    kept = analysis.loaded.frame[analysis.used_rows.complete].reset_index(drop=True)
    for j in range(len(next(iter(values.values())))):
        made = {
            name: outcome_column(values[name][j], s.outcome_categories)
            for name, s in analysis.outcomes.items()
        }
        yield _declared(kept.assign(**made), levels)


def levels_of(analysis: AnyAnalysis[Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The levels of each column of categories: those that are declared, and of predictors those of the table."""
    found = {
        name: own.outcome_categories
        for name, own in analysis.outcomes.items()
        if own.outcome_categories is not None
    }
    s, whole = analysis.settings, analysis.loaded.frame
    for name in s.predictors:
        if name in s.categorical or not pd.api.types.is_numeric_dtype(whole[name]):
            found[name] = tuple(sorted(whole[name].dropna().astype(str).unique()))
    return tuple(found.items())


def _declared(frame: pd.DataFrame, levels: Sequence[tuple[str, tuple[str, ...]]]) -> pd.DataFrame:
    """The frame with every level of its columns, those too that no record of it has."""
    return frame.assign(
        **{name: pd.Categorical(_texts(frame[name]), categories=list(each)) for name, each in levels}
    )


def _texts(column: pd.Series) -> pd.Series:
    return column.astype(object).where(column.isna(), column.astype(str))


@dataclass(frozen=True)
class Truth:
    """What is estimated, and what is true of it in the population, by its name."""

    estimated: tuple[Estimated, ...]
    levels: tuple[tuple[str, tuple[str, ...]], ...]
    values: dict[str, float]


def population(analysis: AnyAnalysis[Any], index: int, resampled: bool = False) -> tuple[Design, Truth]:
    """Databases of one draw of the fitted model's parameters, and what is true of them.

    Predictors are drawn from the table with replacement, so that ordinary standard errors are those of such databases.

    Parameters
    ----------
    resampled : bool
        Whole records are drawn from the table with replacement instead, and what is true is what the table says.
    """
    levels = levels_of(analysis)
    if resampled:
        design = resampled_design(analysis)
        large = _declared(records_of(analysis), levels)
    else:
        design = population_design(analysis, index)
        large = _declared(design.simulate(np.random.default_rng([index, 91]), TRUTH_RECORDS), levels)
    s, estimated = analysis.settings, []
    for name, own in analysis.outcomes.items():
        column, median = large[name], float("nan")
        categories: tuple[str, ...] = ()
        if own.outcome_categories is None:
            median = float(column.median())
        else:
            shares = column.value_counts(normalize=True)
            categories = tuple(str(c) for c in own.outcome_categories if shares[c] >= LEAST_SHARE)
        others = (*s.predictors, *(other for other in analysis.outcomes if other != name))
        by = s.weight if s.accuracy_by else None
        missing = bool(column.isna().mean() >= LEAST_SHARE)
        estimated.append(
            Estimated(name, median, categories, others, s.categorical, by, s.unit_column, missing)
        )
    values = {name: q for each in estimated for name, (q, _) in each.of(large).items() if np.isfinite(q)}
    return design, Truth(tuple(estimated), levels, values)


def study_coverage(
    analysis: AnyAnalysis[Any], mechanisms: Sequence[str], epsilons: Sequence[float], rows: Sequence[int],
    replicates: int, sampler: dict[str, int] | None = None, index: int = 0, resampled: bool = False,
) -> tuple[Study, Truth]:  # fmt: skip
    """Every mechanism on databases of one population, with the numbers that intervals are made of.

    Parameters
    ----------
    index : int
        Which posterior draw of the fitted model is the population.
    resampled : bool
        The population is the table itself: its records are drawn with replacement, and no model is fitted to it. Of
        released synthetic data this reads nothing confidential, and is of the released model.

    Raises
    ------
    InputError
        If an anchor is not made of each database, or units cannot be drawn.
    """
    s = analysis.settings
    require_drawn_units(s)
    anchors = any(find_mechanism(name).likelihood.anchors for name in mechanisms)
    if anchors and s.anchor not in ANCHORS:
        raise InputError(
            f"Coverage is studied with anchors that are made of each simulated database: {' or '.join(ANCHORS)}."
        )
    like = study_like(analysis, mechanisms, epsilons, [s.scale], rows, replicates, sampler)
    design, truth = population(analysis, index, resampled)
    measured = Intervals(truth.estimated, truth.levels, s.drawing != "independent")
    cases = tuple(
        replace(
            case,
            design=design,
            settings=case.settings | {"datasets": s.datasets},
            points=tuple(replace(point, extras=(measured,)) for point in case.points),
        )
        for case in like.cases
    )
    kind = "records drawn from" if resampled else "databases like"
    title = f"Coverage of 95 % intervals: {kind} {analysis.table.name}, m = {s.datasets}"
    note = "Drawn from the table's own records: only of data that were released may it leave."
    said = " ".join(filter(None, (note if resampled else like.note, estimates_words(s))))
    return replace(like, name="coverage", title=title, cases=cases, note=said), truth


def require_drawn_units(s: Settings) -> None:
    """Refuse units that are survey weights too: who is drawn twice is two units, and has one value there."""
    if s.unit_column is not None and s.unit_column in s.kept_columns:
        raise InputError(
            f"Coverage is studied on databases in which every '{s.unit_column}' is drawn whole, as another one each "
            "time. It is a survey weight too, whose values would not stay: name it as one of them."
        )


def estimates_words(s: Settings) -> str:
    """Whose estimates are studied, and what varies, in sentences; empty without survey weights and units."""
    said = []
    if s.weight is not None:
        said.append((BY_WEIGHTS if s.accuracy_by else UNWEIGHTED).format(s.weight))
    if s.unit_column is not None:
        said.append(OF_UNITS.format(s.unit_column))
    elif s.accuracy_by:
        said.append(ONE_BY_ONE)
    return " ".join(said)
