"""Discrete Laplace noise from NumPy's generator, where a known or a secret seed is wanted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def laplace(shape: tuple[int, ...], epsilon: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Integers with probabilities proportional to exp(-epsilon |k|): the difference of two geometric variables."""
    success = -np.expm1(-epsilon)
    return rng.geometric(success, shape) - rng.geometric(success, shape)
