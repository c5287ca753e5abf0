"""Distinct records against NumPy's."""

import numpy as np
import pytest

from synth_core.models.records import distinct_columns


@pytest.mark.parametrize("shape", [(200, 3), (200, 1), (1, 2), (0, 3), (5, 0)])
def test_distinct_columns_are_numpy_s(shape, rng):
    keys = rng.integers(0, 3, shape).astype(float)
    first, index = distinct_columns(keys.T)
    found, expected_first, expected = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(keys[first], found)
    np.testing.assert_array_equal(first, expected_first)
    np.testing.assert_array_equal(index, expected.ravel())


def test_columns_of_two_values_are_packed_in_the_same_order(rng):
    """Indicators beside numbers, more of them than one number holds, and one that is constant."""
    keys = (rng.random((300, 70)) < 0.05).astype(float)
    keys[:, 3] = rng.normal(size=300).round(1)
    keys[:, 4], keys[:, 6] = 7.0, np.where(keys[:, 6] > 0, -1.5, 2.5)
    first, index = distinct_columns(keys.T)
    _, expected_first, expected = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(first, expected_first)
    np.testing.assert_array_equal(index, expected.ravel())
