"""One mechanism on whole records: a fit for each block, one bound over all of them, synthetic tables.

p(x_i | z_i) is the product over blocks of p_k(x_ik | z_i, x_i,<k, theta_k). With independent priors the pseudo
posterior is a product too, so every block is fitted by itself. Fits are conditional on confidential earlier variables,
synthesis on synthetic ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import ENGINES, Inputs
from synth_core.analysis.fits import Progress, charges_nothing, tells_nothing
from synth_core.analysis.population import Population, population_of
from synth_core.analysis.records.blocks import (
    Block,
    Part,
    parts_of,
    scales_in_words,
    settings_of_first,
)
from synth_core.analysis.records.disclosure import average_disclosure
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.feasible import require_feasible
from synth_core.analysis.records.fitted_parts import FittedParts, naming, of_all
from synth_core.analysis.records.judge import Judge
from synth_core.analysis.records.measures import average
from synth_core.analysis.records.numbers import average_numbers
from synth_core.analysis.records.result import PartResult, RecordsResult
from synth_core.analysis.records.synthetic_records import Drawn
from synth_core.analysis.records.table import WholeRecords, whole_records
from synth_core.analysis.requirements import require_anchor, require_units_apart
from synth_core.analysis.result import Result
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings
from synth_core.data.design import DesignTransform
from synth_core.data.outcome import outcome_column, outcome_values
from synth_core.data.rules import Rule, read_rules
from synth_core.data.survey_weights import Survey, check_total, read_survey
from synth_core.data.table import Table
from synth_core.data.units import check_units
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Bounds, joint_lipschitz_bounds
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism, require_several
from synth_core.mechanisms.likelihoods import SERIES_ANCHORS
from synth_core.mechanisms.noise import OPENDP, Noise
from synth_core.system import limits
from synth_core.system.cache import Cache

Array = NDArray[np.float64]
NO_ANCHORS = ("values", *SERIES_ANCHORS)  # of a single fit, or of a plan


@dataclass(frozen=True, eq=False)
class RecordsAnalysis:
    """The context of a run on whole records, which never changes: `dataclasses.replace` makes another.

    Attributes
    ----------
    loaded : Table
        As it was loaded; `table` is that of whole records.
    blocks : tuple of Block
        In the order in which they are synthesized.
    common : dict
        Settings of all blocks: predictors, epsilon, seed, and so on.
    cache : Cache
    progress : callable
        Where progress is told.
    reference : Table or tuple of RiskMap, optional
        As that of `Analysis`, with the same columns; or stored maps, one for each part.
    anchor : Table, optional
        As that of `Analysis`, with the same columns.
    entropy : int, optional
        What all random numbers beside the chains' are made of, secret in a release; else the seed.
    noise : Noise
        As that of `Analysis`.
    on_draw : callable
        As that of `Analysis`.
    """

    loaded: Table
    blocks: tuple[Block, ...]
    common: dict[str, object]
    cache: Cache
    progress: Progress = tells_nothing
    reference: Table | RiskMap | tuple[RiskMap, ...] | None = None
    anchor: Table | None = None
    entropy: int | None = None
    noise: Noise = OPENDP
    on_draw: Callable[[], None] = charges_nothing

    def __post_init__(self) -> None:
        if isinstance(self.reference, RiskMap):
            raise InputError(
                "With blocks the risk reference is a table: a plan's risk map is of one variable."
            )
        settings = self.parts[0].settings
        if settings.match_epsilon:
            require_several(find_mechanism(settings.match_epsilon), matched=True)
        if settings.risk_span or settings.anchor in NO_ANCHORS:
            raise InputError(
                "Blocks take no declared span of the risk, and no anchor of values or of a series: each "
                "is of a single fit."
            )
        _ = self.records, self._reference, self._anchor  # what cannot be read is refused here

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """What is fitted, in order."""
        return parts_of(self.blocks, self.common)

    @cached_property
    def records(self) -> WholeRecords:
        """The rows of whole records."""
        s = self.settings
        check_total(s.weight_total, self.loaded.rows)
        found = self._read(self.loaded, s.weight, s.unit_column, s.strata)
        if s.unit_column is not None:
            if s.unit_column in {block.name for block in self.blocks}:
                raise InputError(
                    f"'{s.unit_column}' is a sensitive block, and who belongs to a unit is public: name other units."
                )
            check_units(self.loaded, s.unit_column, s.unit_size)
            require_units_apart(self.loaded, s, self.reference, self.anchor)
        return found

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The structural zeros of these variables."""
        names = {block.name for block in self.blocks}
        return tuple(rule for rule in read_rules(self.parts[0].settings.rules) if rule.column in names)

    @property
    def used_rows(self) -> WholeRecords:
        return self.records

    @property
    def table(self) -> Table:
        return self.records.table

    @property
    def n_records(self) -> int:
        return self.table.rows

    @cached_property
    def outcomes(self) -> dict[str, Settings]:
        """The sensitive variables, each with the settings that its values are modelled under."""
        return {part.name: part.settings for part in self.parts if not part.of_missing}

    @property
    def density_scale(self) -> str:
        models = [each.model for each in self.analyses(False)]
        return scales_in_words(
            [(part.name, model.density_scale) for part, model in zip(self.parts, models, strict=True)]
        )

    @property
    def confidential(self) -> dict[str, Array]:
        """The values of each sensitive variable, missing as NaN, of shape (n_records,)."""
        return {
            name: outcome_values(self.table, name, s.outcome_categories) for name, s in self.outcomes.items()
        }

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.parts[0].settings.predictors

    @property
    def seed(self) -> int:
        return self.parts[0].settings.seed

    @property
    def datasets(self) -> int:
        return self.parts[0].settings.datasets

    @cached_property
    def _reference(self) -> Table | tuple[RiskMap, ...] | None:
        assert not isinstance(self.reference, RiskMap)  # refused
        if not isinstance(self.reference, Table):
            return self.reference
        unit = self.settings.unit_column
        return self._read(self.reference, unit=unit if unit in self.reference.frame.columns else None).table

    @cached_property
    def _anchor(self) -> Table | None:
        return None if self.anchor is None else self._read(self.anchor).table

    def _read(
        self, table: Table, weight: str | None = None, unit: str | None = None, strata: str | None = None
    ) -> WholeRecords:
        """The whole records of a table, which has to keep the rules; with weights, units and strata, where read."""
        categorical = self.settings.categorical
        return whole_records(
            table, self.blocks, self.predictors, self.rules, weight, unit, strata, categorical
        )

    def dividing(self, epsilons: dict[str, float]) -> RecordsAnalysis:
        """An analysis with these epsilons of the variables, whose sum is that of a record."""
        total = sum(epsilons.values())
        blocks = tuple(replace(block, share=epsilons[block.name] / total) for block in self.blocks)
        return replace(self, blocks=blocks, common=self.common | {"epsilon": total})

    @cached_property
    def settings(self) -> Settings:
        """The settings that all blocks have, with all of epsilon, naming the first of them."""
        return settings_of_first(self.blocks, self.common)

    def with_settings(self, **changes: Any) -> RecordsAnalysis:
        """An analysis of these records under other settings of the mechanisms."""
        return replace(self, common=self.common | changes)

    @property
    def least_epsilon(self) -> float:
        """The smallest epsilon of which every part has a share that it can be fitted under."""
        return limits.EPSILON[0] / min(part.share for part in self.parts)

    @cached_property
    def unweighted_bound(self) -> float:
        """Delta of the fits with all weights 1, over all combinations of the blocks' draws."""
        analyses = self.analyses(False)
        bounds = [of_all(each, each.fits.unweighted_bounds()) for each in analyses]
        return float(joint_lipschitz_bounds(bounds).max())

    @property
    def reference_fingerprint(self) -> str | None:
        """What the key of a result knows of other tables: the risk reference's and the anchor's."""
        return self._fitted_parts.first.reference_fingerprint

    def from_current(self) -> RecordsAnalysis:
        """An analysis with weights from the table itself, whatever the risk reference."""
        return replace(self, common=self.common | {"risk_reference": "current"}, reference=None)

    def reporting(self, progress: Progress) -> RecordsAnalysis:
        """A copy whose progress is reported to another callback."""
        return replace(self, progress=progress)

    @cached_property
    def _fitted_parts(self) -> FittedParts:
        return FittedParts(
            self.table,
            self.parts,
            self.cache,
            self.progress,
            self._reference,
            self._anchor,
            self.entropy,
            self.on_draw,
            self.loaded.rows,
        )

    def analyses(self, anchored: bool) -> list[Analysis]:
        """The analyses of the parts, in order; `anchored` for an anchored likelihood."""
        return self._fitted_parts.analyses(anchored)

    @property
    def public_transform(self) -> DesignTransform:
        """How the predictors alone become a design."""
        return self._fitted_parts.first.selection.transform

    @property
    def public_design(self) -> Array:
        """The design that the predictors alone make, of shape (n_records, n_columns)."""
        return self._fitted_parts.public_design

    def result_key(self, mechanism: Mechanism) -> dict[str, Any]:
        """The keys of the fits' results, and which variables may be missing."""
        return {
            "table": self.table.fingerprint,
            "results": [each.result_key(mechanism) for each in self.analyses(False)],
            "missing": [part.block.missing is not None for part in self.parts],
        }

    def run(self, key: str) -> RecordsResult:
        """Run one mechanism on all blocks.

        Raises
        ------
        InputError
            If the mechanism, a block or its values cannot be used; the block is named.
        """
        started, mechanism = time.perf_counter(), find_mechanism(key)
        require_feasible([key], self.settings, self.blocks, self.reference is not None)
        for part, each in zip(self.parts, self.analyses(False), strict=True):
            with naming(part):  # before the first fit: what a later block refuses is not said minutes after
                _ = each.model
                if mechanism.likelihood.anchors:
                    require_anchor(each.model, each.settings)
        if mechanism.likelihood.samples:
            analyses, results, of_parts = self._fitted_parts.run(mechanism)
            drawn = list(self._fitted_parts.draw(analyses, results, _streams(self.datasets)))
            bounds: list[Bounds | None] = list(of_parts)
            joint = joint_lipschitz_bounds(of_parts)
            promised = _sum_promised(results)
        else:
            analyses = self.analyses(False)
            made = ENGINES[mechanism.likelihood.key].synthesize(self.inputs, mechanism.label)
            results = [
                each.measured(mechanism, replace(made, synthetic=(_as_many(values, each.model.records.n),)))
                for each, values in zip(analyses, made.synthetic, strict=True)
            ]
            drawn = [
                {part.name: values[j] for part, values in zip(self.parts, made.synthetic, strict=True)}
                for j in range(self.datasets)
            ]
            bounds, joint, promised = [None] * len(results), np.empty(0), made.epsilon
        frames = tuple(self._frame(each) for each in drawn)
        self.progress("comparing whole records", 0.0)
        judged = [self.judge(each) for each in frames]
        measures = average([each.measures for each in judged])
        if self.rules:
            before = self._without_rules(mechanism, analyses, results)
            share = None if before is None else self.judge.impossible(self._frame(before))
            measures = replace(measures, impossible_before=share)
        return RecordsResult(
            mechanism.key,
            tuple(
                PartResult(
                    part,
                    result,
                    each,
                    analysis.model.density_scale,
                    float(np.mean([self.judge.distance(part, d[part.name]) for d in drawn])),
                )
                for part, analysis, result, each in zip(self.parts, analyses, results, bounds, strict=True)
            ),
            joint,
            promised,
            tuple(drawn),
            frames,
            measures,
            time.perf_counter() - started,
            average_numbers([each.numbers for each in judged]),
            average_disclosure([each.disclosure for each in judged]),
            self._population(drawn),
            self.settings.accuracy_by,
        )

    def _without_rules(
        self, mechanism: Mechanism, analyses: list[Analysis], results: list[Result]
    ) -> dict[str, Array] | None:
        """A table from the same draw of parameters, or the same noisy tables, that keeps no rule."""
        likelihood = mechanism.likelihood
        if likelihood.samples:
            return next(self._fitted_parts.draw(analyses, results, _streams(1), keep_rules=False))
        values = ENGINES[likelihood.key].without_rules(self.inputs, mechanism.label)
        if values is None:
            return None
        return {part.name: each for part, each in zip(self.parts, values, strict=True)}

    def _population(self, drawn: list[dict[str, Array]]) -> tuple[Population, ...]:
        """Utility of each variable by survey weights; nothing without them."""
        name, survey, found = self.settings.weight, self.survey, []
        if name is None or survey is None:
            return ()
        for part in self.parts:
            s, sets = part.settings, [each[part.name] for each in drawn]
            if part.of_missing or any(np.isnan(values).all() for values in sets):
                continue
            mine = outcome_values(self.table, part.name, s.outcome_categories)
            confidential, *synthetic = [(v[~np.isnan(v)], survey.within(~np.isnan(v))) for v in (mine, *sets)]
            missing = [(np.isnan(v).astype(float), survey) for v in (mine, *sets)]
            of = name, confidential, synthetic, s.percentiles, s.outcome_categories, missing
            found.append(population_of(part.name, *of))
        return tuple(found)

    @property
    def inputs(self) -> Inputs:
        """What an engine reads, see `analysis.engines`."""
        fits = tuple(each.fits for each in self.analyses(False))
        return Inputs(fits, self._fitted_parts.rng, self.noise, self.progress)

    @cached_property
    def survey(self) -> Survey | None:
        """How the records were sampled; None without survey weights."""
        s = self.settings
        if s.weight is None:
            return None
        return read_survey(
            self.table, s.weight, s.unit_column, s.strata, np.ones(self.table.rows, dtype=bool)
        )

    @cached_property
    def judge(self) -> Judge:
        """What compares synthetic sensitive columns with these records."""
        survey = self.survey if self.settings.accuracy_by else None
        return Judge(self.records, self.blocks, self.parts, self.rules, self.public_design, survey)

    def synthetic(self, result: RecordsResult) -> dict[str, Array]:
        """The synthetic values of each sensitive variable, of shape (n_datasets, n_records)."""
        return {name: np.stack([each[name] for each in result.drawn]) for name in self.outcomes}

    def discretised(self, result: RecordsResult) -> DiscretisedTables:
        """All columns of both tables cut into cells, of the first data set."""
        return self.judge.discretised(result.synthetic[0])

    def parameters(self, result: RecordsResult) -> Iterator[list[Drawn]]:
        """What the values of each data set were drawn by, see `FittedParts.parameters`."""
        analyses = self.analyses(result.point.likelihood.anchors)
        results = [each.result for each in result.parts]
        return self._fitted_parts.parameters(analyses, results, _streams(len(result.drawn)))

    def draw(self, result: RecordsResult, streams: Iterable[tuple[int, ...]]) -> Iterator[dict[str, Array]]:
        """More synthetic tables of the fits behind a result, one for each stream of random numbers.

        Returns
        -------
        iterator of dict
            As `RecordsResult.drawn`.
        """
        likelihood = result.point.likelihood
        analyses = self.analyses(likelihood.anchors)
        if likelihood.samples:
            yield from self._fitted_parts.draw(analyses, [each.result for each in result.parts], streams)
            return
        asked = list(streams)
        more = ENGINES[likelihood.key].more(
            self.inputs, result.epsilon, len(asked), self._fitted_parts.rng(*asked[0])
        )
        for values in more:
            yield {part.name: each for part, each in zip(self.parts, values, strict=True)}

    def _frame(self, drawn: dict[str, Array]) -> pd.DataFrame:
        """The sensitive columns as the table has them."""
        return pd.DataFrame(
            {name: outcome_column(drawn[name], s.outcome_categories) for name, s in self.outcomes.items()}
        )


def _streams(n: int) -> list[tuple[int, ...]]:
    """The streams of random numbers that the data sets of a result are drawn by."""
    return [(63, j) for j in range(n)]


def _sum_promised(results: list[Result]) -> float | None:
    """What parts promise together; None where one measures its epsilon."""
    promised = [each.epsilon_promised for each in results]
    return None if None in promised else float(sum(each for each in promised if each is not None))


def _as_many(values: Array, n: int) -> Array:
    """The values that are there in each data set, repeated or cut to n: what a part alone is compared by."""
    return np.stack(
        [np.resize(each[~np.isnan(each)] if not np.isnan(each).all() else 0.0, n) for each in values]
    )
