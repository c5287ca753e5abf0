"""Integer noise for counts: opendp's, which has no seed, and NumPy's where a known or a secret seed is wanted."""

from __future__ import annotations

import hmac
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.mechanisms.randomness import exact_laplace, is_secret

Counts = NDArray[np.int64]
Law = Literal["laplace", "gaussian"]


class Noise(Protocol):
    """Adds noise to counts."""

    name: str

    def from_start(self) -> Noise:
        """What a measurement is made with from its first count on; itself where nothing is remembered."""
        return self

    def laplace(self, counts: Counts, scale: float) -> Counts:
        """Counts with discrete Laplace noise: ε-DP with ε = 1 / scale where one count moves by 1."""

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        """Counts with discrete Gaussian noise: ρ-zCDP with ρ = 1 / (2 deviation²) where one count moves by 1."""


class OpendpNoise(Noise):
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
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return _added(dp.m.make_laplace(*space, scale=scale), counts, 1, 1 / scale)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
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
    seal : str
        A keyed hash of all this and of the exact counts, by which another question or an edited answer is known;
        empty where none is kept.
    """

    law: Law
    scale: float
    counts: Counts
    seal: str = ""


class RecordedNoise(Noise):
    """Noise that answers what was asked before as it did then, in the same order, and goes on with another noise.

    Parameters
    ----------
    answers : iterable of NoisyAnswer
        Of before.
    record : callable
        Given each new answer before it is used.
    more : Noise, optional
        What adds noise once all these are used up; None: nothing may be asked that was not asked before.
    key : bytes, optional
        Seals new answers, and checks the seals of those of before.

    Raises
    ------
    InputError
        If other counts are asked for than before, an answer was edited, or more is asked where nothing may be.
    """

    def __init__(
        self,
        answers: Iterable[NoisyAnswer],
        record: Callable[[NoisyAnswer], None] = lambda answer: None,
        more: Noise | None = None,
        key: bytes = b"",
    ):
        self._answers, self._record, self._more, self._key = list(answers), record, more, key
        self._next, self.name = 0, OPENDP.name

    def from_start(self) -> RecordedNoise:
        """The same answers from the first on: a measurement that is made again is the same one."""
        self._next = 0
        return self

    def laplace(self, counts: Counts, scale: float) -> Counts:
        return self._answer("laplace", counts, scale)

    def gaussian(self, counts: Counts, deviation: float) -> Counts:
        return self._answer("gaussian", counts, deviation)

    def _answer(self, law: Law, counts: Counts, scale: float) -> Counts:
        if self._next == len(self._answers):
            if self._more is None:
                raise InputError(DRAWN_BEFORE)
            noisy = getattr(self._more, law)(counts, scale)
            new = NoisyAnswer(law, scale, noisy, self._seal(law, scale, counts, noisy))
            self._record(new)
            self._answers.append(new)
        known = self._answers[self._next]
        alike = (law, counts.size) == (known.law, known.counts.size) and math.isclose(scale, known.scale)
        if not alike or known.seal != self._seal(law, known.scale, counts, known.counts):
            raise InputError(
                "The noisy counts of this release are kept, and they are not of what is counted now: the file was "
                "edited, or another version of the program made it."
            )
        self._next += 1
        return known.counts.reshape(counts.shape)

    def _seal(self, law: Law, scale: float, counts: Counts, noisy: Counts) -> str:
        if not self._key:
            return ""
        exact, answered = (np.ascontiguousarray(each, dtype="<i8").tobytes() for each in (counts, noisy))
        return hmac.new(self._key, f"{law} {scale!r} ".encode() + exact + answered, "sha256").hexdigest()


DRAWN_BEFORE = (
    "The noise of this release was drawn before, and what was kept of it is gone. New noise is another release: give "
    "it another label."
)


class SeededNoise(Noise):
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
