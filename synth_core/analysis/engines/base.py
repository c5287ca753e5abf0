"""What makes the synthetic values of a likelihood that samples no posterior of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.counted_table import CountedTable
from synth_core.analysis.fits import Fits, Progress, tells_nothing
from synth_core.analysis.settings import Settings
from synth_core.engine.sampling import Diagnostics
from synth_core.errors import InputError
from synth_core.mechanisms.noise import Noise

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Inputs:
    """What an engine may read. Confidential.

    Attributes
    ----------
    parts : tuple of Fits
        Of each sensitive variable in order: its table, settings, model and selection, and the cache. Of one variable,
        one.
    rng : callable
        Random numbers of a stream: of the release's secret, or of the seed.
    noise : callable
        What adds noise to counts: opendp's, which has no seed, but for studies of simulated tables.
    progress : callable
        Where progress goes: it is of all variables together.
    """

    parts: tuple[Fits, ...]
    rng: Callable[..., np.random.Generator]
    noise: Noise
    progress: Progress = tells_nothing


@dataclass(frozen=True)
class Synthesis:
    """Synthetic values, and what is promised for them.

    Attributes
    ----------
    synthetic : tuple of arrays of shape (n_datasets, n_records)
        Of each part.
    epsilon : float
        Of everything sensitive about one record, for the neighbours that the guarantee names; all data sets
        together where it charges one.
    tuned : dict
        What was chosen on the measurements: plain numbers for a result.
    sentence : str
        What was measured, for the guarantee's text; empty where the guarantee says it.
    counted : tuple of CountedTable
        The tables of a measurement, where the guarantee does not say which.
    diagnostics : Diagnostics or None
        Of a posterior given the measurements, where one was sampled.
    """

    synthetic: tuple[Array, ...]
    epsilon: float
    tuned: dict[str, int | float] = field(default_factory=dict)
    sentence: str = ""
    counted: tuple[CountedTable, ...] = ()
    diagnostics: Diagnostics | None = None


class Engine(Protocol):
    """Measures a table with noise, and makes synthetic values of the measurements."""

    def synthesize(self, inputs: Inputs, label: str) -> Synthesis:
        """The data sets of a release.

        Noise without a seed must be kept in the cache by what it was added to: the same release asked for again
        gets the same values.

        Raises
        ------
        InputError
            If the variables or settings cannot be used; `label` names the mechanism.
        """

    def require(self, settings: Settings, label: str) -> None:
        """Refuse settings of a variable under which its ε says nothing; raises InputError."""
        return None

    def later(self, inputs: Inputs, label: str, which: range, converged: bool = False) -> tuple[Array, ...]:
        """Data sets of a release beyond its own, by their numbers, of the same measurements.

        Parameters
        ----------
        converged : bool
            Whether a posterior whose chains have not met is refused: one that no check of a release has seen.

        Returns
        -------
        tuple of arrays of shape (n_data_sets, n_records)
            Of each part.

        Raises
        ------
        InputError
            If each data set is of noise of its own.
        FitError
            If the posterior has not converged.
        """
        raise InputError(f"{label}: each data set is charged, so more of them are another release.")

    def without_rules(self, inputs: Inputs, label: str) -> tuple[Array, ...] | None:
        """Values of every part from the same measurements, roughly, that keep no rule; None where none are kept."""
        return None

    def published(self, inputs: Inputs, label: str) -> dict[str, Any]:
        """What was measured, as plain values that may leave; empty where nothing is kept of it."""
        return {}

    def more(
        self, inputs: Inputs, epsilon: float, count: int, rng: np.random.Generator
    ) -> Iterator[tuple[Array, ...]]:
        """Synthetic values of every part for maps and bands, `count` times, of shape (n_records,) each.

        Each as one data set of a release at `epsilon` would be.
        """
