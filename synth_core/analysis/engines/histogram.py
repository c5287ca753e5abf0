"""The engine of the perturbed histogram: noisy counts of the bins of one variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from synth_core.analysis.engines.base import Array, Engine, Inputs, Synthesis
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.mechanisms import histogram
from synth_core.system.cache import content_key


class HistogramEngine(Engine):
    """Draws noise for each data set, and values uniform within the noisy bins."""

    def require(self, settings: Settings, label: str) -> None:
        if settings.weighs_likelihood:
            raise InputError(
                f"{label}: it adds noise to counts of the sample, and survey weights do not enter them. Take measured "
                "synthesis, which counts by class of weight."
            )

    def synthesize(self, inputs: Inputs, label: str) -> Synthesis:
        (fits,) = inputs.parts
        s = fits.settings
        if not fits.model.ordered:
            raise InputError(
                f"{label}: its bins divide amounts, and '{s.outcome}' has categories. Take another mechanism."
            )
        outcome = fits.model.records.outcome
        self.require(s, label)
        # The noise has no seed: cached by what it is added to, it is not drawn anew (and ε not
        # spent again) because a percentile or a sampler setting moved.
        key = content_key(
            kind="histogram",
            table=fits.table.fingerprint,
            outcome=outcome,
            bounds=s.bounds,
            epsilon=s.record_epsilon,
            bins=s.bins,
            datasets=s.datasets,
            seed=s.seed,
            discrete=fits.model.discrete,
        )

        fits.on_draw()

        def compute() -> dict[str, Any]:
            inputs.progress("adding noise to the histogram", 0.0)
            rng, noise = inputs.rng(31), inputs.noise.from_start()
            sets = histogram.synthesize(
                outcome, s.bounds, s.record_epsilon, s.bins, s.datasets, rng, noise, fits.model.discrete
            )
            return {"synthetic": sets}

        return Synthesis((fits.cache.get_or_compute(key, compute)[0]["synthetic"],), s.epsilon)

    def more(
        self, inputs: Inputs, epsilon: float, count: int, rng: np.random.Generator
    ) -> Iterator[tuple[Array, ...]]:
        (fits,) = inputs.parts
        s = fits.settings
        outcome, discrete = fits.model.records.outcome, fits.model.discrete
        of_record = epsilon / s.unit_size
        for values in histogram.synthesize(
            outcome, s.bounds, of_record, s.bins, count, rng, discrete=discrete
        ):
            yield (values,)
