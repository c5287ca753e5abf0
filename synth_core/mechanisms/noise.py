"""Integer noise for counts: opendp's, which has no seed, and NumPy's where a known or a secret seed is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.randomness import exact_laplace, is_secret

Counts = NDArray[np.int64]


class Noise(Protocol):
    """Adds noise to counts."""

    name: str

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Counts with discrete Laplace noise: ε-DP with ε = 1 / scale where one count moves by 1."""

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        """Counts with discrete Gaussian noise: ρ-zCDP with ρ = 1 / (2 deviation²) where one count moves by 1."""


class OpendpNoise:
    """Noise from the system's entropy by exact arithmetic: what is made of floating-point numbers can be attacked.

    See Mironov (2012), and Canonne, Kamath and Steinke (2020) for the discrete Gaussian. There is no seed.

    Raises
    ------
    RuntimeError
        If opendp's own accounting does not confirm what is promised.
    """

    name = "opendp"

    def laplace(self, counts: Counts, scale: float) -> Counts:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
        return _added(dp.m.make_laplace(*space, scale=scale), counts, 1, 1 / scale)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
        return _added(dp.m.make_gaussian(*space, scale=deviation), counts, 1.0, gaussian_rho(deviation))


def _added(measurement: object, counts: Counts, moved: float, promised: float) -> Counts:
    spent = measurement.map(moved)  # type: ignore[attr-defined]
    if spent > promised * (1 + 1e-9):
        raise RuntimeError(f"opendp accounts for {spent}, not {promised}")
    noisy = measurement([int(count) for count in counts.ravel()])  # type: ignore[operator]
    return np.array(noisy, dtype=np.int64).reshape(counts.shape)


@dataclass(frozen=True, eq=False)
class NoisyAnswer:
    """Counts with noise, as they were answered once.

    Attributes
    ----------
    law : str
    scale : float
        Of Laplace noise, or the deviation of Gaussian noise.
    counts : array of int
    """

    law: Literal["laplace", "gaussian"]
    scale: float
    counts: Counts


class RecordedNoise:
    """Noise that answers what was asked before as it did then, in the same order, and goes on with another noise.

    Parameters
    ----------
    answers : iterable of NoisyAnswer
        Of before.
    record : callable
        Given each new answer before it is used.
    more : Noise, optional
        What adds noise once all these are used up; None: nothing may be asked that was not asked before.

    Raises
    ------
    InputError
        If other counts are asked for than before, or more where none may be.
    """

    def __init__(
        self,
        answers: Iterable[NoisyAnswer],
        record: Callable[[NoisyAnswer], None] = lambda answer: None,
        more: Noise | None = None,
    ):
        self._answers, self._record, self._more = iter(answers), record, more
        self.name = OPENDP.name

    def laplace(self, counts: Counts, scale: float) -> Counts:
        return self._answer("laplace", counts, scale)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        return self._answer("gaussian", counts, deviation)

    def _answer(self, law: Literal["laplace", "gaussian"], counts: Counts, scale: float) -> Counts:
        known = next(self._answers, None)
        if known is None:
            if self._more is None:
                raise InputError(DRAWN_BEFORE)
            known = NoisyAnswer(law, scale, getattr(self._more, law)(counts, scale))
            self._record(known)
        elif (law, counts.size) != (known.law, known.counts.size) or not math.isclose(scale, known.scale):
            raise InputError(
                "The noise of this release is kept, and it is of other counts than are asked for now: another version "
                "of the program made it."
            )
        return known.counts.reshape(counts.shape)


DRAWN_BEFORE = (
    "The noise of this release was drawn before and looked at, and what was made of it is gone. New noise is another "
    "release: give it another label."
)


class SeededNoise:
    """Noise of about the same laws from NumPy's generator: for simulated tables and bands, never for a release.

    A noise with a known seed protects nothing.
    """

    def __init__(self, *seed: int):
        self.name = f"seeded {seed}"
        self.rng = np.random.default_rng(seed)

    def laplace(self, counts: Counts, scale: float) -> Counts:
        return counts + laplace(counts.shape, 1 / scale, self.rng)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        return counts + np.rint(self.rng.normal(0.0, deviation, counts.shape)).astype(np.int64)


OPENDP = OpendpNoise()


def gaussian_rho(deviation: float) -> float:
    """ρ of Gaussian noise on one count."""
    return 1 / (2 * deviation**2)


def laplace_deviation(scale: float) -> float:
    """Standard deviation of discrete Laplace noise: the root of 2 a / (1 - a)^2 with a = exp(-1 / scale)."""
    alpha = math.exp(-1 / scale)
    return math.sqrt(2 * alpha) / (1 - alpha)


def laplace(shape: tuple[int, ...], epsilon: float, rng: np.random.Generator) -> Counts:
    """Integers with probabilities proportional to exp(-epsilon |k|): the difference of two geometric variables.

    Those of a release are made by exact arithmetic.
    """
    if is_secret(rng):
        return exact_laplace(shape, epsilon, rng)
    success = -np.expm1(-epsilon)
    return rng.geometric(success, shape) - rng.geometric(success, shape)
