"""A study of databases like the analyst's: simulated from the model fitted to their table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.synthetic_records import draw_records
from synth_core.analysis.settings import Settings
from synth_core.data.outcome import outcome_column
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.studies.probability import exceedance, safety
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import SAMPLER, Case, Design, Study, StudyPoint, fixed_design
from synth_core.experiments.studies.verdicts import Row, shown, summary_error
from synth_core.mechanisms.catalogue import find_mechanism, require_several

Array = NDArray[np.float64]
Rows = NDArray[np.int64]

SEVERAL_UTILITY = {
    "ecdf_max": "Largest difference over the variables, in percentage points",
    "association": "Associations off by",
}
UTILITY = {
    "ecdf_max": "Largest difference of distribution functions, in percentage points",
    "ecdf_avg": "Average squared difference of distribution functions",
}
SCALES = {"ecdf_max": 100.0}  # of a measure that is told in points; of others 1


def fitted_design(analysis: Analysis) -> Design:
    """Databases from the posterior predictive distribution of the analyst's table.

    Each database takes one posterior draw of the parameters, so that it carries what the table
    leaves unknown of them, and draws every outcome anew. Predictors are the table's own; for
    another number of rows they are drawn from the table with replacement, of units all records
    together. The table's own outcomes enter through the fit alone.
    """
    fits, s = analysis.fits, analysis.settings
    posterior, _ = fits.unweighted("fitting the model that databases are simulated from")
    public = analysis.table.frame.loc[fits.selection.complete, _kept(s)].reset_index(drop=True)
    n = len(public)

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        draw = posterior.at(int(rng.integers(posterior.n_draws)))
        picked, sample = (
            (np.arange(n), public) if rows == n else _drawn_rows(rng, public, s.unit_column, rows)
        )
        column = outcome_column(_predicted(analysis, draw, rng, picked), s.outcome_categories)
        return _standing_for_as_many(sample.assign(**{s.outcome: column}), s, n)

    return Design(f"fitted:{_law_of(fits.records_key(), s)}", simulate)


def one_population(analysis: Analysis, index: int) -> Design:
    """Databases of one draw of the parameters, whose records are independent of each other: samples of a population.

    Predictors are drawn from the table with replacement, of units all records together. A record that is picked again
    is another person.
    """
    fits, s = analysis.fits, analysis.settings
    posterior, _ = fits.unweighted("fitting the model that databases are simulated from")
    draw = posterior.at(index % posterior.n_draws)
    public = analysis.table.frame.loc[fits.selection.complete, _kept(s)].reset_index(drop=True)
    n = len(public)

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        picked, sample = _drawn_rows(rng, public, s.unit_column, rows)
        column = outcome_column(_predicted(analysis, draw, rng, picked), s.outcome_categories)
        return _standing_for_as_many(sample.assign(**{s.outcome: column}), s, n)

    return Design(f"population {index}:{_law_of(fits.records_key(), s)}", simulate)


def _predicted(analysis: Analysis, draw: dict[str, Array], rng: np.random.Generator, picked: Rows) -> Array:
    """An outcome for each picked record of the table: a record that is picked again is another one."""
    nth = pd.Series(picked).groupby(picked).cumcount().to_numpy()
    outcome = np.empty(len(picked))
    for time in range(int(nth.max()) + 1):  # a prediction is of the whole table at once
        outcome[nth == time] = analysis.model.predict(draw, rng)[picked[nth == time]]
    return outcome


def _kept(settings: Settings) -> list[str]:
    """The public columns that a database has."""
    units = [settings.unit_column] if settings.unit_column else []
    return list(dict.fromkeys([*settings.public_columns, *units]))


def _drawn_rows(
    rng: np.random.Generator, public: pd.DataFrame, unit: str | None, rows: int
) -> tuple[Rows, pd.DataFrame]:
    """Which rows a sample with replacement has, and their public columns.

    Units of several records are drawn whole, each time as another unit; of the last one records may be left out.
    """
    if unit is None:
        picked = rng.integers(0, len(public), rows)
        return picked, public.iloc[picked].reset_index(drop=True)
    numbers = pd.factorize(public[unit])[0]
    sizes = np.bincount(numbers)
    members = np.split(np.argsort(numbers, kind="stable"), np.cumsum(sizes)[:-1])
    units = rng.integers(0, len(members), rows)  # as many as there are rows: enough where all are single ones
    picked = np.concatenate([members[each] for each in units])[:rows]
    sample = public.iloc[picked].reset_index(drop=True)
    return picked, sample.assign(**{unit: np.repeat(np.arange(rows), sizes[units])[:rows]})


def records_design(whole: RecordsAnalysis, population: int | None = None) -> Design:
    """Databases of whole records from the posterior predictive distribution of the analyst's table.

    As `fitted_design`: one draw of the parameters of every fit for a database, and each variable drawn anew,
    conditional on the drawn ones before it. Predictors are the table's own; for another number of rows they are drawn
    from the table with replacement, of units all records together.

    Parameters
    ----------
    population : int, optional
        Databases are samples of one population instead, as of `one_population`: that of this draw.
    """
    analyses = whole.analyses(False)
    posteriors = [
        each.fits.unweighted("fitting the models that databases are simulated from")[0] for each in analyses
    ]
    columns, n = whole.table.frame[_kept(whole.settings)], whole.table.rows
    public, unit = whole.public_design, whole.settings.unit_column

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        indices = [
            int(rng.integers(posterior.n_draws)) if population is None else population % posterior.n_draws
            for posterior in posteriors
        ]
        own = rows == n and population is None
        picked, sample = (np.arange(n), columns) if own else _drawn_rows(rng, columns, unit, rows)
        drawn = []
        for part, each, posterior, index in zip(whole.parts, analyses, posteriors, indices, strict=True):
            decided = each.selection.decided
            draw = posterior.at(index)
            drawn.append((part, each.model, draw, rng, None if decided is None else decided.of(picked)))
        values = draw_records(drawn, public[picked], "independent")  # people, and not a file made of them
        drawn_columns = {
            part.name: outcome_column(values[part.name], part.settings.outcome_categories)
            for part in whole.parts
            if not part.of_missing
        }
        return _standing_for_as_many(sample.assign(**drawn_columns), whole.settings, n)

    read = [each.fits.records_key()[:2] for each in analyses]  # how predictors are held follows from them
    kind = "fitted records" if population is None else f"population {population} of records"
    return Design(f"{kind}:{_law_of(read, whole.settings)}", simulate)


def _law_of(read: list[Any], settings: Settings) -> str:
    """What databases are drawn from, as a hash: what fits are of, and their chains.

    Not the key of a fit: that changes with the program's version, and with it the databases of a seed would.
    """
    chains = {
        name: value for name, value in asdict(settings.sampler).items() if name != "metric"
    }  # the family's
    return hashlib.sha256(json.dumps([*read, chains], sort_keys=True).encode()).hexdigest()


def design_of(analysis: AnyAnalysis[Any]) -> Design:
    """Databases like the table of an analysis."""
    return (
        records_design(analysis)
        if isinstance(analysis, RecordsAnalysis)
        else fitted_design(*analysis.analyses(False))
    )


def _standing_for_as_many(sample: pd.DataFrame, settings: Settings, n: int) -> pd.DataFrame:
    """A sample whose survey weights stand for the population of the table's n rows, however many it has."""
    name = settings.weight
    if name is None or len(sample) == n:
        return sample
    return sample.assign(**{name: sample[name].astype(float) * (n / len(sample))})


def population_design(analysis: AnyAnalysis[Any], index: int) -> Design:
    """Samples of one population that the table of an analysis might be one of: that of a posterior draw."""
    if isinstance(analysis, RecordsAnalysis):
        return records_design(analysis, index)
    [alone] = analysis.analyses(False)
    return one_population(alone, index)


def records_of(analysis: AnyAnalysis[Any]) -> pd.DataFrame:
    """The used rows of the table, in the columns that are kept and the sensitive ones. Confidential."""
    columns = [*_kept(analysis.settings), *analysis.outcomes]
    return analysis.loaded.frame.loc[analysis.used_rows.complete, columns].reset_index(drop=True)


def resampled_design(analysis: AnyAnalysis[Any]) -> Design:
    """Samples with replacement of the records, or whole units, of the table, which is taken for the population."""
    records, unit = records_of(analysis), analysis.settings.unit_column

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        _, drawn = _drawn_rows(rng, records, unit, rows)
        return _standing_for_as_many(drawn, analysis.settings, len(records))

    read = analysis.loaded.fingerprint_of((*_kept(analysis.settings), *analysis.outcomes))
    return Design(f"resampled:{read}", simulate)


def study_like(
    analysis: AnyAnalysis[Any],
    mechanisms: Sequence[str],
    epsilons: Sequence[float],
    scales: Sequence[float],
    rows: Sequence[int],
    replicates: int,
    sampler: dict[str, int] | None = None,
) -> Study:
    """Mechanisms x epsilon x c x n on databases like the table of `analysis`.

    A setting is crossed only with the mechanisms that it moves. Where risk maps are frozen on another table, those of
    the databases are frozen on that table too.

    Parameters
    ----------
    sampler : dict, optional
        Chains, draws and warm-up of a replicate that differ from a study's own.
    """
    s = analysis.settings
    if not mechanisms:
        raise InputError("Name at least one mechanism.")
    for name in mechanisms if analysis.blocks else ():
        require_several(find_mechanism(name))
    points: dict[str, StudyPoint] = {}
    for name in mechanisms:
        mechanism = find_mechanism(name)
        for epsilon in epsilons if "epsilon" in mechanism.tuning else [s.epsilon]:
            for scale in scales if "scale" in mechanism.tuning else [s.scale]:
                label = mechanism.label
                label += f", ε = {epsilon:g}" if "epsilon" in mechanism.tuning else ""
                label += f", c = {scale:g}" if "scale" in mechanism.tuning and len(scales) > 1 else ""
                points[label] = StudyPoint(label, mechanism.key, {"epsilon": epsilon, "scale": scale})
    fits = analysis.analyses(False)
    if analysis.blocks:
        model = f"models of {', '.join(analysis.outcomes)}"
        measures: tuple[str, ...] = (
            "ecdf_max",
            "association",
            *(f"ecdf_max of {each.settings.outcome}" for each in fits),
        )
    else:
        model, measures = f"{fits[0].model.label.lower()} model", ("ecdf_max", "ecdf_avg", "mean", "median")
    design = design_of(analysis)
    settings = _plain(s) | (sampler or {})
    each_point, reference = tuple(points.values()), analysis.reference
    earlier = fixed_design(reference) if isinstance(reference, Table) else None
    return Study(
        "like",
        f"Databases like {analysis.table.name}, from its fitted {model}",
        "",
        tuple(
            Case(f"n = {n:,}", design, n, settings, each_point, earlier, analysis.blocks)
            for n in dict.fromkeys(rows or [analysis.n_records])
        ),
        replicates,
        ("lipschitz_bound", *measures),
        note="Simulated from a model fitted to the table: as confidential as a synthetic data set that was never "
        f"protected. Do not publish it. {_of_units(s)}{analysis.settings.whose_accuracy}".rstrip(),
    )


def _of_units(s: Settings) -> str:
    """What simulated databases have not of units, a sentence."""
    if s.unit_column is None:
        return ""
    return (
        f"Every '{s.unit_column}' has its records, and their values are drawn one by one: members who are alike have "
        "larger bounds together than these. "
    )


def _plain(s: Settings) -> dict[str, Any]:
    """Settings of a replicate: the analyst's, with the study's own sampler and seed."""
    values = s.model_dump(exclude={"seed", "chains", "draws", "warmup", "datasets", "risk_reference"})
    return {name: value for name, value in values.items() if value is not None}


def local_bounds(analysis: AnyAnalysis[Any], study: Study) -> dict[str, float]:
    """Delta of the analyst's own table, by label, with the study's sampler; NaN where there is none."""
    bounds, case = {}, study.cases[0]
    mine = analysis.from_current() if case.earlier is None else analysis
    sampler = {name: case.settings.get(name, usual) for name, usual in SAMPLER.items()}
    for point in case.points:
        own = mine.with_settings(**sampler | point.changes)
        # What is made of noisy measurements has no bound, and nothing of its noise is to be spent here.
        bounded = find_mechanism(point.mechanism).likelihood.samples
        bound = own.run(point.mechanism).lipschitz_bound if bounded else None
        bounds[point.label] = float("nan") if bound is None else bound
    return bounds


def compare_like(
    outcome: StudyOutcome, local: dict[str, float] | None = None, epsilons: Sequence[float] = ()
) -> list[Row]:
    """Delta, its chance to exceed target and today's, the factor of safety and utility, point by point.

    Parameters
    ----------
    local : dict, optional
        From `local_bounds`: whether today's Delta would hold for another database of the kind.
    epsilons : sequence of float, optional
        Those asked for: of a mechanism whose epsilon is measured, how often each is exceeded.
    """
    rows = []
    for case in outcome.study.cases:
        for point in case.points:
            where = f"{point.label}, {case.key}" if len(outcome.study.cases) > 1 else point.label

            def of(measure: str, case: Case = case, point: StudyPoint = point) -> np.ndarray:
                return outcome.values(case.key, point.label, measure)

            delta = of("lipschitz_bound")
            if np.isfinite(delta).all():
                rows.append(
                    shown(
                        f"Δ: {where}",
                        f"median {np.median(delta):.3f}, {delta.min():.3f} to {delta.max():.3f}",
                        summary_error(delta, "median"),
                    )
                )
                set_ = "epsilon" in find_mechanism(point.mechanism).tuning
                for epsilon in (point.changes["epsilon"],) if set_ or not epsilons else epsilons:
                    exceeded = exceedance(delta, epsilon / 2)
                    rows.append(shown(f"δ, Δ above {epsilon / 2:g}: {where}", exceeded.said()))
                rows += _against_today(where, delta, (local or {}).get(point.label, float("nan")), case.rows)
                kept = safety(delta, case.rows)
                rows.append(shown(f"Global ε with s = {kept.factor:g}: {where}", kept.said))
            several = bool(case.blocks)
            for measure in SEVERAL_UTILITY if several else UTILITY:
                values = SCALES.get(measure, 1.0) * of(measure)
                rows.append(
                    shown(
                        f"{(SEVERAL_UTILITY if several else UTILITY)[measure]}: {where}",
                        f"median {np.median(values):.4g}",
                        summary_error(values, "median"),
                    )
                )
    return rows


def _against_today(where: str, delta: np.ndarray, today: float, rows: int) -> list[Row]:
    """How often another database's Delta lies above today's, as it is and with the factor of safety."""
    if not np.isfinite(today):
        return []
    rows_today, factor = [], safety(delta, rows).factor
    for s, what in ((1.0, f"today's {today:.3f}"), (factor, f"{factor:g} × today's {today:.3f}")):
        above = exceedance(delta, s * today)
        rows_today.append(shown(f"Δ above {what}: {where}", above.said()))
    return rows_today
