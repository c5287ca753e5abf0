"""The scale on which a normal model lives: logarithm, shifted logarithm, or inverse hyperbolic sine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from synth_core.errors import InputError
from synth_core.models.records import Records
from synth_core.system.number_text import declared, is_or_are

Array = NDArray[np.float64]

TRANSFORMATIONS = {
    "log": "Logarithm, after adding the offset",
    "asinh": "Inverse hyperbolic sine, for values of both signs",
}


@dataclass(frozen=True)
class Transformation:
    """y = log((x + offset) / unit), or y = asinh(x / asinh_scale).

    asinh is about linear within `asinh_scale` of zero and about a signed logarithm beyond, so that
    zeros and losses need no special case (Burbidge, Magee and Robb 1988).

    `unit` is the unit in which the density of x is taken; on the logarithm it shifts y, on asinh it
    only moves the density.
    """

    kind: str = "log"
    unit: float = 1.0
    offset: float = 0.0
    asinh_scale: float = 1.0

    def forward(self, values: Array) -> Array:
        """y of values; -inf at and below the end of the logarithm's support."""
        if self.kind == "asinh":
            return np.arcsinh(values / self.asinh_scale)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values + self.offset, 0.0) / self.unit)

    def inverse(self, transformed: Array) -> Array:
        """x of y."""
        if self.kind == "asinh":
            return self.asinh_scale * np.sinh(transformed)
        return self.unit * np.exp(transformed) - self.offset

    def log_slope(self, values: Array) -> Array:
        """log of dy / d(x / unit): what turns a density of y into one of x per unit."""
        if self.kind == "asinh":
            return np.log(self.unit / self.asinh_scale) - 0.5 * np.log1p((values / self.asinh_scale) ** 2)
        return -self.forward(values)

    def check(self, records: Records, places: NDArray[np.int64], label: str) -> None:
        """Refuse values outside the support, of the records at these places, naming how many and the first row."""
        values = records.outcome[places]
        bad = ~(values + self.offset > 0) if self.kind == "log" else np.zeros(len(values), dtype=bool)
        if bad.any():
            offset = f" even after adding {declared(self.offset)}" if self.offset else ""
            losses = int((values < 0).sum())
            what = "zero or negative" if (values[bad] == 0).any() or self.offset else "negative"
            advice = (
                f"{losses:,} values are losses, which are no zeros: take two-part or mixture regression on the inverse "
                "hyperbolic sine, or a larger offset if one is publicly known."
                if losses
                else "Take two-part regression, in which zeros have a probability of their own, or give an offset."
            )
            raise InputError(
                f"The {label} model takes logarithms, and {bad.sum():,} of {records.n:,} values "
                f"{is_or_are(bad.sum())} {what}{offset} (first in {records.row(int(places[np.argmax(bad)]))}). {advice}"
            )

    @property
    def words(self) -> str:
        """How y is made, in words; empty for the plain logarithm."""
        if self.kind == "asinh":
            return f"modelled on the inverse hyperbolic sine of the value over {declared(self.asinh_scale)}"
        return f"modelled on the logarithm of the value plus {declared(self.offset)}" if self.offset else ""
