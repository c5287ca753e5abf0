"""The cells of a column as its distinct ones: each is read once, however often it stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute as pc
from numpy.typing import NDArray

from synth_core.data.spellings import WHOLE, Numerals, all_match, matches, spell


@dataclass(frozen=True)
class Distinct:
    """The cells of a column as its distinct ones, without surrounding space, and which of them each cell is.

    `index` is None where nearly every cell is another one: then `cells` has all of them.
    """

    cells: pyarrow.Array
    index: NDArray[np.int64] | None

    @classmethod
    def of(cls, texts: pyarrow.Array) -> Distinct:
        sample = texts.slice(0, 5_000)
        if len(texts) > 10_000 and len(sample.unique()) > len(sample) / 2:
            as_they_are = cls(texts, None)
            return cls(pc.utf8_trim_whitespace(texts), None) if as_they_are.floats is None else as_they_are
        encoded = texts.dictionary_encode()
        trimmed = pc.utf8_trim_whitespace(encoded.dictionary).dictionary_encode()  # "M" and "M " are one
        index = encoded.indices.to_numpy(zero_copy_only=False)
        return cls(trimmed.dictionary, trimmed.indices.to_numpy(zero_copy_only=False)[index].astype(np.int64))

    def without(self, marks: Iterable[str]) -> Distinct:
        """Distinct cells with these marks empty."""
        marked = pc.is_in(self.cells, pyarrow.array(list(marks), pyarrow.string()))
        return Distinct(pc.if_else(marked, "", self.cells), self.index)

    @cached_property
    def floats(self) -> pyarrow.Array | None:
        """The cells as numbers, the empty ones missing, where every one is written with digits and a point at most."""
        try:
            found = self._or_missing("").cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            return None
        return None if pc.any(pc.is_nan(found)).as_py() else found

    def _or_missing(self, *marks: str) -> pyarrow.Array:
        """The cells, missing where they are one of these."""
        marked = pc.is_in(self.cells, pyarrow.array(marks, pyarrow.string()))
        if not pc.any(marked).as_py():
            return self.cells
        return pc.if_else(marked, pyarrow.scalar(None, pyarrow.string()), self.cells)

    @cached_property
    def present(self) -> pyarrow.Array:
        """Those that are not empty."""
        there = pc.not_equal(self.cells, "")
        return self.cells if pc.all(there, min_count=0).as_py() else self.cells.filter(there)

    def spread(self, values: Any) -> Any:
        """Values of the distinct cells as values of all cells."""
        return values if self.index is None else values[self.index]

    def texts(self, missing: Iterable[str] = ()) -> pd.Series:
        """The cells as text, missing where they are empty or one of the marks."""
        cells = self._or_missing("", *missing)
        taken = cells if self.index is None else cells.take(pyarrow.array(self.index))
        return pd.Series(taken, dtype="str")

    def numbers(self, how: Numerals) -> pd.Series | None:
        """The cells as numbers; None where one has too many digits to be kept: they stay text."""
        spelled = spell(self._or_missing("", *how.missing), how)
        there = spelled.drop_null()
        if not (all_match(there.slice(0, 100), WHOLE) and all_match(there, WHOLE)):
            values = (
                self.floats
                if self.floats is not None and how == Numerals()
                else spelled.cast(pyarrow.float64())
            )
            if _rounded(spelled, values):
                return None
            return pd.Series(self.spread(values.to_numpy(zero_copy_only=False)))
        try:
            found = spelled.cast(pyarrow.int64())
        except pyarrow.ArrowInvalid:
            return None
        if not found.null_count:
            return pd.Series(self.spread(found.to_numpy(zero_copy_only=False)))
        if pc.any(pc.greater(pc.abs(found), 2**53), min_count=0).as_py():
            # A floating-point number, which can be empty too, would round it.
            return pd.Series(self.spread(pd.array(found.to_pandas(integer_object_nulls=True), dtype="Int64")))
        return pd.Series(self.spread(found.cast(pyarrow.float64()).to_numpy(zero_copy_only=False)))


def _rounded(spelled: pyarrow.Array, values: pyarrow.Array) -> bool:
    """Whether a number beyond 2**53 that is written digit by digit, such as 9007199254740993.0, became another one."""
    beyond = pc.greater_equal(pc.abs(values), 2.0**53)
    if not pc.any(beyond).as_py():
        return False
    texts, numbers = spelled.filter(beyond), values.filter(beyond)
    digits = matches(texts, r"^[+-]?\d+\.?\d*$")
    pairs = zip(texts.filter(digits).to_pylist(), numbers.filter(digits).to_pylist(), strict=True)
    return any(Decimal(text) != Decimal(number) for text, number in pairs)
