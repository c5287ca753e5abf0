"""The engine of measured synthesis: noisy tables, a model of them, and records drawn from it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from synth_core.analysis.counted_table import CountedTable
from synth_core.analysis.engines.base import Array, Engine, Inputs, Synthesis
from synth_core.analysis.fits import Fits, Progress, tells_nothing
from synth_core.analysis.measured.cells import PublicSide, cells_of, require_brackets
from synth_core.analysis.measured.fine_bins import fine_bins
from synth_core.analysis.measured.log_linear import Columns, LogLinear, NoisyTable, PriorScales
from synth_core.analysis.measured.measuring import (
    FineCounts,
    Measurements,
    NoiseBudget,
    first_and_others,
    measure,
    tables_told,
)
from synth_core.analysis.measured.model import MeasuredModel, synthetic_values, values_at
from synth_core.analysis.measured.published import published
from synth_core.analysis.measured.sampled import MAX_PARAMETERS, MAX_PLACES, n_places, sampled
from synth_core.analysis.measured.structural_missing import structural_words
from synth_core.analysis.measured.words import measured_words
from synth_core.analysis.presence import missing_name
from synth_core.analysis.settings import Settings
from synth_core.data.units import unit_words
from synth_core.engine.sampling import Posterior
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.guarantees import bounded_range_rho
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import content_key
from synth_core.system.entries import get_or_compute

SEVERAL = 4  # measurements that bands of one variable are drawn from: each is fitted anew


@dataclass(frozen=True)
class MeasuredEngine(Engine):
    """Measures noisy tables, and draws data sets from a model of them.

    Attributes
    ----------
    gaussian : bool
        Gaussian noise, whose budget is the rho of epsilon; else Laplace noise, whose budget is epsilon.
    """

    gaussian: bool

    def budget(self, epsilon: float) -> NoiseBudget:
        """What may be spent on one record, or on a unit of several, which counts as one."""
        return NoiseBudget(self.gaussian, self._promised(epsilon))

    def _promised(self, epsilon: float) -> float:
        """Rho with Gaussian noise, else epsilon."""
        return bounded_range_rho(epsilon) if self.gaussian else epsilon

    def require(self, settings: Settings, label: str) -> None:
        require_brackets(settings, label)

    def synthesize(self, inputs: Inputs, label: str) -> Synthesis:
        epsilon, datasets = _epsilon(inputs.parts), inputs.parts[0].settings.datasets
        public, measured = self.measured(inputs, label, epsilon)
        model = self._model(inputs, public, measured, partial(inputs.rng, 41))
        synthetic = _data_sets(inputs, model, measured, range(datasets), perturbed=datasets > 1)
        words = measured_words(measured, self.budget(epsilon), public)
        words += structural_words(public, model.structural)
        counted = counted_tables(public, measured)
        return Synthesis(synthetic, epsilon, sentence=words, counted=counted, diagnostics=model.diagnostics)

    def later(self, inputs: Inputs, label: str, which: range, converged: bool = False) -> tuple[Array, ...]:
        sampler = inputs.parts[0].settings.sampler
        n_draws = sampler.chains * sampler.draws
        if inputs.parts[0].settings.measured_posterior == "exact" and which.stop > n_draws:
            raise InputError(
                f"{label}: the exact posterior of this plan has {n_draws:,} draws, and each data set is of another one."
            )
        public, measured = self.measured(inputs, label, _epsilon(inputs.parts))
        model = self._model(inputs, public, measured, partial(inputs.rng, 41))
        made = _data_sets(inputs, model, measured, which, perturbed=True)
        problems = () if model.diagnostics is None else model.diagnostics.problems
        if converged and problems:
            raise FitError(
                f"The exact posterior has not converged ({'; '.join(problems)}): nothing was written. Draw by refits."
            )
        return made

    def without_rules(self, inputs: Inputs, label: str) -> tuple[Array, ...]:
        public, measured = self.measured(inputs, label, _epsilon(inputs.parts))
        model = MeasuredModel(
            public.without_rules(), tables_told(public, measured), _streams(9), inputs.progress
        )
        drawn = values_at(model, measured, model.rough_codes(), 0, perturbed=False)
        return _of_parts(inputs.parts, public, drawn)

    def published(self, inputs: Inputs, label: str) -> dict[str, Any]:
        epsilon, settings = _epsilon(inputs.parts), inputs.parts[0].settings
        public, measured = self.measured(inputs, label, epsilon)
        return {
            **published(public, measured, self._promised(epsilon), self.gaussian),
            "covers": unit_words(settings.unit_column, settings.unit_size) or "one record's sensitive values",
            "rules": list(settings.rules),
        }

    def measured(self, inputs: Inputs, label: str, epsilon: float) -> tuple[PublicSide, Measurements]:
        """The measurements, kept by what was counted: the same release asked for again gets the same noise."""
        fits, noise = inputs.parts[0], inputs.noise
        if fits.settings.count_together and fits.settings.choose_more and not self.gaussian:
            raise InputError(
                f"{label} counts no table that is chosen: that takes Gaussian noise (measured). Leave the "
                "choice of others out (--choose-more), or name more (--count-together)."
            )
        public, codes, values = cells_of(inputs.parts, label)
        if fits.settings.measured_posterior == "exact":  # before anything is counted and charged
            require_small(public, self.gaussian, label)
        budget = self.budget(epsilon)
        key = content_key(
            kind="measured",
            table=fits.table.fingerprint,
            variables=[asdict(each) for each in public.variables],
            bins=[fine_bins(each).edges for each in public.variables if each.edges],
            categories=[public.categories[each.name] for each in public.variables],
            public=public.codes,
            shape=list(public.shape),
            gaussian=self.gaussian,
            epsilon=epsilon,
            seed=fits.settings.seed,
            noise=noise.name,
            rules=fits.settings.rules,
            units=public.records,
            named=[public.named, public.choose_more],
        )

        fits.on_draw()

        def compute() -> dict[str, Any]:
            inputs.progress("counting and adding noise", 0.0)
            return _packed(
                measure(public, codes, values, budget, noise.from_start(), Expected(public, inputs.progress))
            )

        return public, _unpacked(fits.cache.get_or_compute(key, compute)[0])

    def _model(
        self,
        inputs: Inputs,
        public: PublicSide,
        measured: Measurements,
        streams: Callable[..., np.random.Generator],
    ) -> MeasuredModel:
        """The model of the measurements; several data sets are drawn from its posterior, exact where that is asked."""
        fits, progress = inputs.parts[0], inputs.progress

        def sampling(
            model: LogLinear, tables: Sequence[NoisyTable], scales: PriorScales, mode: Array, seed: int
        ) -> Posterior:
            sampler = replace(fits.settings.sampler, seed=seed)
            domain, laplace = model.domain, not self.gaussian
            key = content_key(
                kind="measured posterior",
                tables=[[each.columns, each.counts, each.deviation] for each in tables],
                domain=[domain.public, domain.records, domain.shape, domain.ordered, domain.possible],
                scales=asdict(scales),
                sampler=asdict(sampler),
                laplace=laplace,
            )

            def compute() -> Posterior:
                return sampled(model, tables, scales, mode, laplace, sampler, progress)

            return get_or_compute(fits.cache, Posterior, key, compute)[0]

        exact = fits.settings.measured_posterior == "exact"
        return MeasuredModel(
            public, tables_told(public, measured), streams, progress, sampling if exact else None
        )

    def more(
        self, inputs: Inputs, epsilon: float, count: int, rng: np.random.Generator
    ) -> Iterator[tuple[Array, ...]]:
        several = inputs.parts[0].settings.datasets > 1
        public, codes, values = cells_of(inputs.parts, "")
        for place in range(min(count, SEVERAL)):
            noise = SeededNoise(int(rng.integers(2**62)))
            measured = measure(public, codes, values, self.budget(epsilon), noise, Expected(public))
            model = self._model(inputs, public, measured, _streams(8))
            for j in range(place, count, SEVERAL):
                drawn = synthetic_values(model, measured, j, perturbed=several)
                yield _of_parts(inputs.parts, public, drawn)


def counted_tables(public: PublicSide, measured: Measurements) -> tuple[CountedTable, ...]:
    """The tables that were counted, by the names of their columns."""
    names = public.column_names
    tables = [CountedTable(tuple(names[c] for c in each.columns), each.deviation) for each in measured.tables]
    fine = [
        CountedTable((public.variables[each.variable].name,), each.deviation, True) for each in measured.fine
    ]
    return (*tables, *fine)


@dataclass(frozen=True)
class Expected:
    """What a model of noisy tables expects of others: random numbers in it need not be secret."""

    public: PublicSide
    progress: Progress = tells_nothing

    def __call__(self, tables: Sequence[NoisyTable], sets: Sequence[Columns]) -> list[Array]:
        return MeasuredModel(self.public, tables, _streams(7), self.progress).expected(sets)


def require_small(public: PublicSide, gaussian: bool, label: str) -> None:
    """Refuse a posterior of a model that is too large to be sampled, whichever tables are chosen; raises InputError."""
    shape = (*public.shape, *(each.n for each in public.variables))
    first, others = first_and_others(public, gaussian)
    tables = [NoisyTable(c, np.zeros(math.prod(shape[k] for k in c)), 1.0) for c in (*first, *others)]
    model = MeasuredModel(public, tables, _streams(7)).only
    parameters = math.inf if model is None else model.n_parameters
    if model is None or parameters > MAX_PARAMETERS or n_places(model) > MAX_PLACES:
        raise InputError(
            f"{label}: the posterior is sampled of models of up to {MAX_PARAMETERS:,} parameters and {MAX_PLACES:,} "
            f"cells times tables, and this one may have "
            + ("several groups of columns" if model is None else f"{parameters:,} and {n_places(model):,}")
            + ": draw data sets by refits (--measured-posterior refits), or name fewer tables (--count-together)."
        )


def _data_sets(
    inputs: Inputs, model: MeasuredModel, measured: Measurements, which: range, perturbed: bool
) -> tuple[Array, ...]:
    """Data sets by their numbers, of each part of shape (n_data_sets, n_records)."""
    progress, sets = inputs.progress, []
    for place, j in enumerate(which, start=1):
        sets.append(synthetic_values(model, measured, j, perturbed))
        progress("drawing synthetic records", place / len(which))
    return _of_parts(inputs.parts, model.public, [np.stack(each) for each in zip(*sets, strict=True)])


def _streams(first: int) -> Callable[..., np.random.Generator]:
    return lambda *stream: np.random.default_rng([first, *stream])


def _epsilon(parts: tuple[Fits, ...]) -> float:
    """Of a record: the parts have shares of it."""
    return float(sum(fits.settings.epsilon for fits in parts))


def _of_parts(parts: tuple[Fits, ...], public: PublicSide, drawn: Sequence[Array]) -> tuple[Array, ...]:
    """The values of each part, from those of each variable."""
    by_name = {each.name: values for each, values in zip(public.variables, drawn, strict=True)}
    return tuple(_of_part(fits, by_name) for fits in parts)


def _of_part(fits: Fits, values: dict[str, Array]) -> Array:
    """The values of a part, of a variable or of whether it is missing, from those of the variables."""
    name = fits.settings.outcome
    if name in values:
        return values[name]
    absent = next(np.isnan(each) for other, each in values.items() if missing_name(other) == name)
    return absent.astype(float)


def _packed(measured: Measurements) -> dict[str, Any]:
    """Measurements as arrays and plain values."""
    tables = {f"table{k}": each.counts for k, each in enumerate(measured.tables)}
    fine = {f"fine{k}": each.counts for k, each in enumerate(measured.fine)}
    about = {
        "columns": [list(each.columns) for each in measured.tables],
        "deviations": [each.deviation for each in measured.tables],
        "variables": [each.variable for each in measured.fine],
        "fine_deviations": [each.deviation for each in measured.fine],
        "spent": measured.spent,
    }
    return tables | fine | {"about": about}


def _unpacked(entry: dict[str, Any]) -> Measurements:
    about = entry["about"]
    tables = zip(about["columns"], about["deviations"], strict=True)
    fine = zip(about["variables"], about["fine_deviations"], strict=True)
    return Measurements(
        tuple(NoisyTable(tuple(c), entry[f"table{k}"], d) for k, (c, d) in enumerate(tables)),
        tuple(FineCounts(v, entry[f"fine{k}"], d) for k, (v, d) in enumerate(fine)),
        about["spent"],
    )
