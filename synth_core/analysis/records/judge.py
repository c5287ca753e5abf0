"""How close synthetic records are to the confidential ones, whoever made them, and what an intruder learns of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.records.blocks import Block, Part, as_predictors
from synth_core.analysis.records.disclosure import attribute_disclosure
from synth_core.analysis.records.discretise import DiscretisedTables, discretise
from synth_core.analysis.records.measures import measure
from synth_core.analysis.records.numbers import number_measures
from synth_core.analysis.records.result import Judged
from synth_core.analysis.records.table import WholeRecords
from synth_core.analysis.utility import distance_of
from synth_core.data.outcome import outcome_values
from synth_core.data.rules import Rule, breaking
from synth_core.data.survey_weights import Survey

Array = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judge:
    """Compares synthetic sensitive columns with those of a table of whole records.

    Attributes
    ----------
    parts : sequence of Part
        What is fitted, in order.
    rules : tuple of Rule
        That every record keeps.
    design : array of shape (n_records, n_columns)
        Of the predictors.
    survey : Survey, optional
        Of the records: what is compared is then of the population. A synthetic record has the weight of the record
        whose predictors it has.
    """

    records: WholeRecords
    blocks: tuple[Block, ...]
    parts: Sequence[Part]
    rules: tuple[Rule, ...]
    design: Array
    survey: Survey | None = None

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.parts[0].settings.predictors

    def __call__(self, synthetic: pd.DataFrame, rows: Rows | None = None) -> Judged:
        """Judge synthetic sensitive columns.

        Parameters
        ----------
        rows : array of int of shape (n_synthetic,), optional
            Whose predictors each synthetic record has; by default the records in their order.
        """
        settings, tables = self.parts[0].settings, self.discretised(synthetic, rows)
        survey = self.survey
        return Judged(
            replace(measure(tables, settings.seed), impossible=self.impossible(synthetic, rows)),
            number_measures(
                self.records.table.frame,
                synthetic,
                (self.design, self.design if rows is None else self.design[rows]),
                as_predictors(self.parts),
                settings.percentiles,
                settings.seed,
                None if survey is None else (survey, survey if rows is None else survey.again(rows)),
            ),
            attribute_disclosure(tables, len(self.predictors)),
        )

    def discretised(self, synthetic: pd.DataFrame, rows: Rows | None = None) -> DiscretisedTables:
        """The table and a synthetic one as codes; `rows` as for a call."""
        tables = discretise(
            self.records,
            self.blocks,
            synthetic,
            self.predictors,
            rows,
            self.parts[0].settings.categorical,
        )
        if self.survey is None:
            return tables
        weights = self.survey.weights / self.survey.weights.mean()
        return replace(tables, weights=(weights, weights if rows is None else weights[rows]))

    def breaking(self, sensitive: pd.DataFrame, public: pd.DataFrame) -> NDArray[np.bool_]:
        """Which records with these sensitive and public columns break a rule."""
        columns = {}
        for name, categories in {part.name: part.settings.outcome_categories for part in self.parts}.items():
            if name in sensitive.columns:
                values = sensitive[name]
                if categories is not None:
                    values = values.map({category: code for code, category in enumerate(categories)})
                columns[name] = values.to_numpy(dtype=float), categories
        return breaking(self.rules, public, columns)

    def impossible(self, synthetic: pd.DataFrame, rows: Rows | None = None) -> float | None:
        """The share of synthetic records that break a rule; None without rules."""
        public = self.records.table.frame
        public = public if rows is None else public.iloc[rows].reset_index(drop=True)
        return float(self.breaking(synthetic, public).mean()) if self.rules else None

    def distance(self, part: Part, synthetic: Array) -> float:
        """How far the synthetic values of a part that are there stand from the confidential ones.

        Parameters
        ----------
        synthetic : array of shape (n_records,)
            Numbers or codes, missing as NaN.
        """
        categories = part.settings.outcome_categories
        mine = outcome_values(self.records.table, part.name, categories)
        here, there = ~np.isnan(mine), ~np.isnan(synthetic)
        if not there.any():
            return 1.0
        weights = None if self.survey is None else (self.survey.weights[here], self.survey.weights[there])
        return distance_of(mine[here], synthetic[there], categories, weights).ecdf_max
