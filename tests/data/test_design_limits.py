"""A stored design is checked before it is built: what it asks for grows with the square of its levels."""

import time

import numpy as np
import pytest

from synth_core.data.design import DesignTransform
from synth_core.errors import InputError


def test_a_stored_design_of_many_levels_is_refused_before_it_is_built():
    """0.3 MB of a risk map asked for 21 GB."""
    levels = {"z": tuple(map(str, range(100_000)))}
    started = time.process_time()
    with pytest.raises(InputError, match="more than 100 categories of 'z'"):
        DesignTransform.from_parts(("z",), levels, ("(intercept)", "z"), np.zeros(1), np.ones(1))
    names = tuple(map(str, range(100_001)))
    with pytest.raises(InputError, match="100,001 columns"):
        DesignTransform.from_parts(("z",), {}, names, np.zeros(100_000), np.ones(100_000))
    assert time.process_time() - started < 2
