"""The parts of whole records as analyses of one variable each: fitted side by side, then drawn one given the other."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fits import Fits, Progress
from synth_core.analysis.records.blocks import Part
from synth_core.analysis.records.parallel_progress import ParallelProgress
from synth_core.analysis.records.surrogate import surrogate_table
from synth_core.analysis.records.synthetic_records import Drawn, draw_records
from synth_core.analysis.result import Result
from synth_core.analysis.risk_map import RiskMap
from synth_core.data.table import Table
from synth_core.data.units import numbers_of
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.bounds import Bounds
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.randomness import stream_of
from synth_core.system.cache import Cache

Array = NDArray[np.float64]
AT_ONCE = 2  # parts: one waits for its chains, of the other the bounds are computed


@dataclass(frozen=True, eq=False)
class FittedParts:
    """The parts of whole records, each an analysis of the rows that have its value.

    Attributes
    ----------
    table : Table
        Of whole records.
    parts : tuple of Part
        In the order in which they are synthesized.
    reference : Table or tuple of RiskMap, optional
        The risk reference's whole records; or stored maps, one for each part.
    anchor : Table, optional
        The anchor's whole records.
    entropy : int, optional
        As that of `RecordsAnalysis`.
    on_draw : callable
        As that of `Analysis`.
    sample_rows : int
        Rows of the table as it was loaded.
    """

    table: Table
    parts: tuple[Part, ...]
    cache: Cache
    progress: Progress
    reference: Table | tuple[RiskMap, ...] | None
    anchor: Table | None
    entropy: int | None
    on_draw: Callable[[], None]
    sample_rows: int

    @cached_property
    def _parallel_progress(self) -> ParallelProgress:
        return ParallelProgress(self.progress)

    @cached_property
    def first(self) -> Analysis:
        """The analysis of the first part, by itself: every record has one, fitted or decided."""
        return self._new(0)

    def _new(self, place: int, prepared: Fits | None = None) -> Analysis:
        """A new analysis of a part; its predictors are those of its own rows, if `prepared` holds no others."""
        part, reference, n = self.parts[place], self.reference, len(self.parts)
        name = part.name if n == 1 else f"{part.name} ({place + 1} of {n})"
        return Analysis(
            self.table,
            part.settings,
            self.cache,
            self._parallel_progress.of(place, name),
            reference[place] if isinstance(reference, tuple) else reference,
            anchor=self.anchor,
            entropy=None if self.entropy is None else _part_entropy(self.entropy, place),
            prepared=prepared,
            on_draw=self.on_draw,
            of_records=True,
        )

    @cached_property
    def _analyses(self) -> dict[tuple[int, bool], Analysis]:
        """The analyses of parts that were asked for, by place and whether they are anchored."""
        return {}

    def _analysis(self, place: int, anchored: bool) -> Analysis:
        """The analysis of a part; an anchored one after the first is tuned on a surrogate."""
        if (place, anchored) not in self._analyses:
            settings, surrogate, n = self.parts[place].settings, None, self.sample_rows
            # Learnt where every row is: a missing value does not move the predictors of the others.
            transform = self.first.selection.transform
            if anchored and place:
                before = [self._analysis(j, True) for j in range(place)]
                table = surrogate_table(self.table, self.parts[: place + 1], before, self.rng)
                surrogate = Fits(
                    table, settings, self.cache, self.progress, transform=transform, sample_rows=n
                )
            held = Fits(
                self.table,
                settings,
                self.cache,
                self.progress,
                transform=transform,
                surrogate=surrogate,
                sample_rows=n,
            )
            self._analyses[place, anchored] = self._new(place, held)
        return self._analyses[place, anchored]

    def analyses(self, anchored: bool) -> list[Analysis]:
        """The analyses of the parts, in order; `anchored` for an anchored likelihood."""
        return [self._analysis(place, anchored) for place in range(len(self.parts))]

    def rng(self, *stream: int) -> np.random.Generator:
        """A stream of random numbers; secret in a release."""
        return stream_of(self.parts[0].settings.seed, self.entropy, *stream)

    @property
    def public_design(self) -> Array:
        """The design that the predictors alone make, of shape (n_records, n_columns)."""
        return self.first.selection.public_design

    def run(self, mechanism: Mechanism) -> tuple[list[Analysis], list[Result], list[Bounds]]:
        """Every part under a mechanism, and its bounds of all records. While one is judged another is sampled."""
        anchored = mechanism.likelihood.anchors

        def run_part(place: int, analysis: Analysis) -> tuple[Result, Bounds]:
            with naming(self.parts[place]), self._parallel_progress.running(place):
                result = analysis.run(mechanism.key)
                return result, of_all(analysis, analysis.bounds_of(result))

        analyses, waiting = [], []
        with ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                for place, part in enumerate(self.parts):
                    with naming(part):
                        analysis = self._analysis(place, anchored)
                        if anchored:
                            _ = analysis.anchored  # here, where nobody else asks: later parts are tuned on it
                    analyses.append(analysis)
                    waiting.append(pool.submit(run_part, place, analysis))
                for each in as_completed(waiting):
                    each.result()  # the first that fails is told, and ends the others
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self._parallel_progress.stop()
                raise
        fitted = [each.result() for each in waiting]
        return analyses, [result for result, _ in fitted], [bounds for _, bounds in fitted]

    def draw(
        self,
        analyses: list[Analysis],
        results: list[Result],
        streams: Iterable[tuple[int, ...]],
        keep_rules: bool = True,
    ) -> Iterator[dict[str, Array]]:
        """Values of every part, one synthetic value after the other, missing as NaN."""
        for drawn in self.parameters(analyses, results, streams, keep_rules):
            yield draw_records(drawn, self.public_design, self.parts[0].settings.drawing)

    def parameters(
        self,
        analyses: list[Analysis],
        results: list[Result],
        streams: Iterable[tuple[int, ...]],
        keep_rules: bool = True,
    ) -> Iterator[list[Drawn]]:
        """What each synthetic table is drawn by: of every part a draw of its parameters, and its random numbers."""
        posteriors = [each.refit(result) for each, result in zip(analyses, results, strict=True)]
        first: dict[int, int] = {}
        for dataset, stream in enumerate(streams):
            drawn: list[Drawn] = []
            for place, (part, analysis) in enumerate(zip(self.parts, analyses, strict=True)):
                rng = self.rng(*stream, place)
                chosen = int(rng.integers(posteriors[place].n_draws))
                which = posteriors[place].draw_of(dataset, chosen, first.setdefault(place, chosen))
                draw = posteriors[place].at(which)
                decided = analysis.selection.decided if keep_rules else None
                drawn.append((part, analysis.model, draw, rng, decided))
            yield drawn


@contextlib.contextmanager
def naming(part: Part) -> Iterator[None]:
    """What is refused names its block."""
    try:
        yield
    except (InputError, FitError) as error:
        raise type(error)(f"Block '{part.name}': {error}") from None


def _part_entropy(entropy: int, place: int) -> int:
    """The entropy of one part: its random numbers must not be those of another."""
    return int.from_bytes(hashlib.sha256(f"part {place}".encode() + entropy.to_bytes(32)).digest())


def of_all(analysis: Analysis, bounds: Bounds) -> Bounds:
    """Bounds of all records from those of a part's complete ones: a value that is missing has no term.

    Where units are named a record has the bounds of its unit, one without a value too.
    """
    complete = analysis.selection.complete
    whose = numbers_of(analysis.table, analysis.settings.unit_column)
    highest, lowest = np.zeros((2, len(complete)))
    highest[whose[complete]], lowest[whose[complete]] = bounds.highest, bounds.lowest
    return Bounds(highest[whose], lowest[whose], bounds.draw_max, bounds.draw_min)
