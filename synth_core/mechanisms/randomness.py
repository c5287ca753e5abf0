"""Random numbers of a stream: ChaCha20 keyed by a release's secret, or NumPy's generator by a known seed.

Whoever sees numbers of NumPy's generators can work out its state, and with it all others; those of a cipher tell
nothing of its key.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def stream_of(seed: int, secret: int | None, *stream: int) -> np.random.Generator:
    """A generator of one stream; numbers of different streams tell nothing of each other.

    Parameters
    ----------
    seed : int
        Used without a secret.
    secret : int, optional
        Of a release, of 256 bits.
    """
    if secret is None:
        return np.random.default_rng([seed, *stream])
    from randomgen import ChaCha

    key = hashlib.sha256(f"stream {tuple(map(int, stream))}".encode() + secret.to_bytes(32)).digest()
    return np.random.Generator(ChaCha(key=int.from_bytes(key)))


def is_secret(rng: np.random.Generator) -> bool:
    """Whether its numbers are those of a release."""
    return type(rng.bit_generator).__name__ == "ChaCha"


def spawnable(rng: np.random.Generator) -> np.random.Generator:
    """A generator that libraries may spawn others of, always the same ones.

    A ChaCha20 with a key spawns from the system's entropy: nothing that is made so could be made again. What stands in
    for it here is seeded with 256 bits of its output, which tell nothing of its key.
    """
    return np.random.default_rng(list(rng.bytes(32))) if is_secret(rng) else rng


def exact_laplace(shape: tuple[int, ...], epsilon: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Integers with probabilities proportional to exp(-epsilon |k|), by whole numbers only.

    Canonne, Kamath and Steinke (2020), algorithm 2. A floating-point number is a ratio of whole numbers, so nothing is
    rounded.
    """
    ratio = Fraction(epsilon)
    count = int(np.prod(shape))
    return np.array([_laplace(ratio, rng) for _ in range(count)], dtype=np.int64).reshape(shape)


def _laplace(ratio: Fraction, rng: np.random.Generator) -> int:
    while True:
        rest = _below(ratio.denominator, rng)
        if not _happens_exp(rest, ratio.denominator, rng):
            continue
        whole = 0
        while _happens_exp(1, 1, rng):
            whole += 1
        size = (rest + ratio.denominator * whole) // ratio.numerator
        negative = _below(2, rng) == 1
        if size or not negative:
            return -size if negative else size


def _happens_exp(numerator: int, denominator: int, rng: np.random.Generator) -> bool:
    """True with probability exp(-numerator / denominator), a ratio of at most 1."""
    turn = 1
    while _below(turn * denominator, rng) < numerator:
        turn += 1
    return turn % 2 == 1


def _below(end: int, rng: np.random.Generator) -> int:
    """A whole number from 0 to end - 1."""
    bits = (end - 1).bit_length()
    while True:
        found = int.from_bytes(rng.bytes(-(-bits // 8))) >> (-bits % 8)
        if found < end:
            return found
