"""What follows from a mechanism's name and numbers, for whatever holds them: results, their numbers, map points."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.guarantees import Guarantee, WeightsFrom


class OfMechanism:
    """Something of one mechanism, which it names."""

    mechanism: str

    @cached_property
    def point(self) -> Mechanism:
        """The mechanism, as a point of the catalogue's axes."""
        return find_mechanism(self.mechanism)


class WithGuarantee(OfMechanism):
    """Something whose guarantee follows from where its weights are from, and from what was solved for."""

    weights_from: WeightsFrom
    tuned: dict[str, int | float]

    @property
    def guarantee(self) -> Guarantee:
        """What is promised; of several variables, the weakest of their guarantees."""
        return self.point.guarantee(self.weights_from, self.tuned)


class WithBounds(OfMechanism):
    """Something whose epsilon is promised, or measured by a bound for each record."""

    lipschitz_bounds: NDArray[np.float64]
    epsilon_promised: float | None

    @property
    def lipschitz_bound(self) -> float | None:
        """Delta, the largest of the by-record bounds; None where nothing is sampled."""
        return float(self.lipschitz_bounds.max()) if self.lipschitz_bounds.size else None

    @property
    def epsilon(self) -> float:
        """The epsilon of one released data set: promised where the guarantee is strict, else 2 * Delta."""
        if self.epsilon_promised is not None:
            return self.epsilon_promised
        assert self.lipschitz_bound is not None
        return 2.0 * self.lipschitz_bound
