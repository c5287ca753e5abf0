"""An analysis of one sensitive variable or of several: what plan, release, audit, map, study and commands ask of it.

Whoever takes an `AnyAnalysis` works for K ≥ 1 variables and never asks which class made it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import Inputs
from synth_core.analysis.fits import Progress
from synth_core.analysis.records.blocks import Block, common_of
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings
from synth_core.data.design import DesignTransform
from synth_core.data.survey_weights import Survey
from synth_core.data.table import Table
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.system.cache import Cache

Array = NDArray[np.float64]


class AnyResult(Protocol):
    """One mechanism on K ≥ 1 sensitive variables."""

    @property
    def mechanism(self) -> str: ...
    @property
    def point(self) -> Mechanism: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def epsilon_promised(self) -> float | None: ...
    @property
    def epsilon_replace(self) -> float | None: ...
    @property
    def lipschitz_bound(self) -> float | None: ...
    @property
    def lipschitz_bounds(self) -> Array: ...
    @property
    def growth(self) -> Array: ...
    @property
    def tuned(self) -> dict[str, int | float]: ...
    @property
    def problems(self) -> tuple[str, ...]: ...
    @property
    def summary_numbers(self) -> ResultNumbers: ...
    @property
    def fits(self) -> tuple[Result, ...]:
        """The result of every fit, in order."""

    @property
    def by_record(self) -> dict[str, Array]:
        """What is known of every record, of shape (n_records,) each."""


class UsedRows(Protocol):
    """Which rows of a table are used, and why the others are not."""

    @property
    def complete(self) -> NDArray[np.bool_]: ...
    @property
    def dropped(self) -> int: ...
    @property
    def dropped_by(self) -> dict[str, int]: ...


R = TypeVar("R", bound=AnyResult)


class AnyAnalysis(Protocol[R]):
    """K ≥ 1 sensitive variables of a table under settings."""

    @property
    def loaded(self) -> Table:
        """The table as it was loaded."""

    @property
    def table(self) -> Table:
        """The table that is fitted."""

    @property
    def settings(self) -> Settings:
        """What all variables have, with all of epsilon, naming the first."""

    @property
    def cache(self) -> Cache: ...
    @property
    def progress(self) -> Progress: ...
    @property
    def reference(self) -> Table | RiskMap | tuple[RiskMap, ...] | None: ...
    @property
    def blocks(self) -> tuple[Block, ...]:
        """What was declared of each variable; empty where the settings alone describe the only one."""

    @property
    def outcomes(self) -> dict[str, Settings]:
        """The sensitive variables, each with the settings that its values are modelled under."""

    @property
    def used_rows(self) -> UsedRows: ...
    @property
    def n_records(self) -> int: ...
    @property
    def density_scale(self) -> str:
        """On which scale densities are taken, in words."""

    @property
    def public_transform(self) -> DesignTransform:
        """How the predictors alone become a design."""

    @property
    def public_design(self) -> Array:
        """The design that the predictors alone make, of shape (n_records, n_columns)."""

    @property
    def survey(self) -> Survey | None:
        """How the records were sampled; None without survey weights."""

    @property
    def confidential(self) -> dict[str, Array]:
        """The values of each sensitive variable, missing as NaN, of shape (n_records,)."""

    @property
    def reference_fingerprint(self) -> str | None: ...
    @property
    def least_epsilon(self) -> float: ...
    @property
    def unweighted_bound(self) -> float: ...

    def analyses(self, anchored: bool) -> list[Analysis]:
        """The analysis of every fit, in order; `anchored` for an anchored likelihood."""

    @property
    def inputs(self) -> Inputs:
        """What an engine reads, see `analysis.engines`."""

    def result_key(self, mechanism: Mechanism) -> Any:
        """What names a mechanism's result, as plain values."""

    def run(self, key: str) -> R: ...
    def synthetic(self, result: R) -> dict[str, Array]:
        """The synthetic values of each sensitive variable, of shape (n_datasets, n_records)."""

    def discretised(self, result: R) -> DiscretisedTables | None:
        """All columns of both tables cut into cells, of the first data set; None where one variable is sensitive."""

    def draw(self, result: R, streams: Iterable[tuple[int, ...]]) -> Iterator[dict[str, Array]]:
        """More synthetic values of the fits behind a result, one table for each stream of random numbers."""

    def with_settings(self, **changes: Any) -> Self: ...
    def dividing(self, epsilons: dict[str, float]) -> Self:
        """With these epsilons of the variables, whose sum is that of a record."""

    def from_current(self) -> Self: ...
    def reporting(self, progress: Progress) -> Self: ...


def analysis_of(
    table: Table,
    settings: Settings,
    blocks: tuple[Block, ...],
    cache: Cache,
    reference: Table | RiskMap | tuple[RiskMap, ...] | None = None,
    **context: Any,
) -> AnyAnalysis[Any]:
    """The analysis of the blocks under what all of them have of the settings; without blocks, of the settings' outcome.

    Parameters
    ----------
    reference : Table, RiskMap or tuple of RiskMap, optional
        As of `Analysis` and `RecordsAnalysis`; without blocks a tuple has one map.
    **context
        Progress, anchor, entropy, noise and `on_draw`, as of `Analysis`.
    """
    if blocks:
        return RecordsAnalysis(table, blocks, common_of(settings), cache, reference=reference, **context)
    if isinstance(reference, tuple):
        [reference] = reference
    return Analysis(table, settings, cache, reference=reference, **context)
