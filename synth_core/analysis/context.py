"""The context of a run on one table: what a mechanism reads, and the contexts that are made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.anchored import AnchorBuilder, Anchored
from synth_core.analysis.engines import Inputs
from synth_core.analysis.fits import Fits, Progress, charges_nothing, tells_nothing
from synth_core.analysis.requirements import require_units_apart
from synth_core.analysis.result import Result
from synth_core.analysis.result_key import result_key
from synth_core.analysis.risk_map import RiskMap, map_of
from synth_core.analysis.settings import Settings
from synth_core.analysis.weighted import Weighted, weigh
from synth_core.data.design import DesignTransform, Selection
from synth_core.data.rules import rules_of
from synth_core.data.survey_weights import Survey, check_strata, read_survey
from synth_core.data.table import Table
from synth_core.data.units import check_units
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import WeightsFrom
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS, SERIES_ANCHORS
from synth_core.mechanisms.noise import OPENDP, Noise
from synth_core.mechanisms.randomness import stream_of
from synth_core.models import Model
from synth_core.system import limits
from synth_core.system.cache import Cache

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AnalysisContext:
    """The context of a run on one table, which never changes: `dataclasses.replace` makes another.

    Attributes
    ----------
    table : Table
    settings : Settings
    cache : Cache
    progress : callable
        Where progress is told.
    reference : Table or RiskMap, optional
        The table that the risk map is frozen on, or a stored map, named in
        `settings.risk_reference`; None makes weights from `table` itself.
    show_preview : callable, optional
        Called with an approximate result while a slow fit runs; None computes none.
    entropy : int, optional
        A secret of a release, of any size: the synthetic values are drawn with it instead of
        the settings' seed, which has 31 bits only.
    noise : callable
        Of counts; another one than opendp's is for studies of simulated tables.
    anchor : Table, optional
        The table that anchored censoring is anchored on, named in `settings.anchor`.
    prepared : Fits, optional
        Of the same table: its columns, its model and its held design are used again.
    held_anchor : Anchored, optional
        Anchor, weight and prior of another table, for its neighbours.
    on_draw : callable
        Called before anything is drawn that depends on the sensitive values.
    of_records : bool
        Whether it is a part of whole records, which fill in what rules decide.
    """

    table: Table
    settings: Settings
    cache: Cache
    progress: Progress = tells_nothing
    reference: Table | RiskMap | None = None
    show_preview: Callable[[Result], None] | None = None
    entropy: int | None = None
    noise: Noise = OPENDP
    anchor: Table | None = None
    prepared: Fits | None = None
    held_anchor: Anchored | None = None
    on_draw: Callable[[], None] = charges_nothing
    of_records: bool = False

    def __post_init__(self) -> None:
        s, reference, anchor = self.settings, self.reference, self.anchor
        if rules := () if self.of_records else rules_of(s.rules, (s.outcome,)):
            raise InputError(
                f"The rule {rules[0]} decides '{s.outcome}' of some records. Rules are kept where variables are blocks "
                f"(--block; in the app, several sensitive variables on the page Data)."
            )
        if (s.risk_reference == "current") != (reference is None):
            raise InputError("The risk reference is named but its table is not given.")
        if s.anchor in set(SELF_CONTAINED_ANCHORS) - set(SERIES_ANCHORS) and anchor is not None:
            raise InputError(f"The anchor is '{s.anchor}', and a table is given for it too.")
        if self.prepared is not None and self.prepared.table.fingerprint != self.table.fingerprint:
            raise ValueError("What is prepared is of another table.")
        if s.unit_column is not None and not self.of_records:
            check_units(self.table, s.unit_column, s.unit_size)
            require_units_apart(self.table, s, reference, anchor)
        if s.strata is not None and not self.of_records:
            check_strata(self.table, s.strata)
        columns = s.outcome, *s.predictors
        if isinstance(reference, Table) and reference.same_records(self.table, columns):
            raise InputError("The risk reference is the table itself; freeze the risk map on another table.")
        if anchor is not None and anchor.same_records(self.table, columns):
            raise InputError("The anchor's table is the table itself; take one that was fixed without it.")

    @cached_property
    def fits(self) -> Fits:
        """What is computed of the table under these settings."""
        if self.prepared is None:
            found = Fits(self.table, self.settings, self.cache, self.progress)
        else:
            found = self.prepared.with_settings(self.settings, self.progress, self.cache)
        found = replace(found, entropy=self.entropy, on_draw=self.on_draw)
        return (
            replace(found, tail_from=self.reference.tail_from)
            if isinstance(self.reference, RiskMap)
            else found
        )

    @property
    def selection(self) -> Selection:
        return self.fits.selection

    used_rows = selection

    @property
    def model(self) -> Model:
        return self.fits.model

    @property
    def loaded(self) -> Table:
        return self.table

    @property
    def blocks(self) -> tuple[()]:
        """No block: the settings describe the variable."""
        return ()

    @property
    def outcomes(self) -> dict[str, Settings]:
        return {self.settings.outcome: self.settings}

    @property
    def n_records(self) -> int:
        return self.model.records.n

    @cached_property
    def survey(self) -> Survey | None:
        """How the records were sampled; None without survey weights."""
        s = self.settings
        if s.weight is None:
            return None
        return read_survey(self.table, s.weight, s.unit_column, s.strata, self.selection.complete)

    @property
    def density_scale(self) -> str:
        return self.model.density_scale

    @property
    def confidential(self) -> dict[str, Array]:
        return {self.settings.outcome: self.model.records.outcome}

    @property
    def public_transform(self) -> DesignTransform:
        return self.selection.transform

    @property
    def public_design(self) -> Array:
        """Without columns of earlier sensitive variables."""
        return self.model.records.design[:, : len(self.public_transform.names)]

    def analyses(self, anchored: bool) -> list[Self]:
        """This one: there is one fit."""
        return [self]

    @cached_property
    def frozen(self) -> RiskMap | None:
        """The frozen risk map, fitted on the reference table if it was not stored."""
        if self.reference is None or isinstance(self.reference, RiskMap):
            return self.reference
        return map_of(Fits(self.reference, self.settings, self.cache, self.progress))

    def with_settings(self, **changes: Any) -> Self:
        """An analysis of this table under other settings of the mechanisms, without previews."""
        settings = self.settings.model_copy(update=changes)
        return replace(self, settings=settings, prepared=self.fits, show_preview=None, held_anchor=None)

    def dividing(self, epsilons: dict[str, float]) -> Self:
        """This analysis with the epsilon of its only variable."""
        return self.with_settings(epsilon=sum(epsilons.values()))

    @property
    def least_epsilon(self) -> float:
        """The smallest epsilon that can be asked for."""
        return limits.EPSILON[0]

    def from_current(self) -> Self:
        """An analysis of this table with weights from itself, whatever the risk reference."""
        if self.reference is None:
            return self
        settings = self.settings.model_copy(update={"risk_reference": "current"})
        return replace(self, settings=settings, reference=None, show_preview=None, prepared=None)

    def reporting(self, progress: Progress) -> Self:
        """This analysis, with its progress reported to another callback."""
        return replace(self, progress=progress, prepared=self.fits)

    def for_table(self, table: Table, holds_anchor: bool = False) -> Self:
        """An analysis of another table with these settings, risk map and noise, in this table's design.

        How predictors are centred and scaled is held, and n of survey weights: they are not sensitive.

        Parameters
        ----------
        holds_anchor : bool
            Anchor, c and prior of this table too: an anchored mechanism reads no record for them.
        """
        return replace(
            self,
            table=table,
            prepared=Fits(
                table,
                self.settings,
                self.cache,
                self.progress,
                self.fits.tail_from,
                self.selection.transform,
                sample_rows=self.fits.sample_rows or self.table.rows,
            ),
            held_anchor=self.anchored if holds_anchor else None,
            show_preview=None,
        )

    @property
    def reference_fingerprint(self) -> str | None:
        """What a result's key knows of other tables: what weights are frozen on, the anchor's, and n of the sample."""
        reference = self.reference
        key = reference.key if isinstance(reference, RiskMap) else getattr(reference, "fingerprint", None)
        if self.fits.surrogate is not None:
            key = f"{key or ''}~{self.fits.surrogate.table.fingerprint}"
        if self.settings.weighs_likelihood and self.fits.sample_rows is not None:
            key = f"{key or ''}n={self.fits.sample_rows}"  # of which complete rows are a part
        if self.anchor is None:
            return key
        return f"{key or ''}|{self.anchor.fingerprint}:{self.anchor.confidential}"

    @cached_property
    def anchored(self) -> Anchored:
        """What anchored censoring is anchored at, its weight and its prior."""
        s = self.settings
        if self.held_anchor is not None:
            return self.held_anchor.held_on(self.fits)
        table = self.reference if s.anchor == "reference" else self.anchor
        if s.anchor == "reference" and table is None:
            raise InputError(
                "The anchor is the reference table, and there is none; freeze the risk map on a table."
            )
        if s.anchor not in SELF_CONTAINED_ANCHORS and table is None:
            raise InputError(f"The anchor is named ({s.anchor}) but its table is not given.")
        other = Fits(table, s, self.cache, self.progress) if isinstance(table, Table) else table
        return AnchorBuilder(self.fits, other, self._rng).build()

    @property
    def weights_from(self) -> WeightsFrom:
        """Where the weights come from, see `Mechanism.guarantee`."""
        if self.reference is None:
            return "current"
        return "closed" if isinstance(self.reference, RiskMap) and self.reference.closed else "frozen"

    def result_key(self, mechanism: Mechanism) -> str:
        """The key of a mechanism's result in the cache."""
        return result_key(self.table.fingerprint, self.settings, mechanism, self.reference_fingerprint)

    def weighted(self, mechanism: Mechanism, scalar: float | None = None) -> Weighted:
        """The weights of a mechanism's refit and of its bounds, and whether its terms are clamped.

        Parameters
        ----------
        scalar : float, optional
            Replaces EM's own weight.
        """
        # A stored map is at hand; one that is still to be fitted is asked for by weights alone.
        frozen = self.frozen if mechanism.weighted or isinstance(self.reference, RiskMap) else None
        return weigh(mechanism, self.fits, frozen, self._anchored_for(mechanism), scalar)

    def _anchored_for(self, mechanism: Mechanism) -> Anchored | None:
        return self.anchored if mechanism.likelihood.anchors else None

    @property
    def inputs(self) -> Inputs:
        """What an engine reads, see `analysis.engines`."""
        return Inputs((self.fits,), self._rng, self.noise, self.progress)

    def _rng(self, *stream: int) -> np.random.Generator:
        return stream_of(self.settings.seed, self.entropy, *stream)
