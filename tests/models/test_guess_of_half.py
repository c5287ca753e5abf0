"""A guess from what half of all values lie between: the quartiles of the model that it makes are those."""

import numpy as np
import pytest
from scipy import stats

from synth_core.errors import InputError
from synth_core.models import family
from synth_core.models.base import Options


def test_the_quartiles_of_a_lognormal_are_what_was_said():
    typical, spread = family("lognormal").guess_of_half(Options(offset=500.0, unit=10.0), 20000.0, 80000.0)
    found = stats.lognorm(s=spread, scale=typical + 500.0).ppf([0.25, 0.75]) - 500.0
    assert found == pytest.approx([20000.0, 80000.0], rel=1e-8)


@pytest.mark.parametrize("low", [-3000.0, 0.0, 900.0])
def test_on_asinh_losses_may_be_among_them(low):
    options = Options(transformation="asinh", asinh_scale=2000.0)
    typical, spread = family("two_part").guess_of_half(options, low, 50000.0)
    middle = np.arcsinh(typical / 2000.0)
    assert 2000.0 * np.sinh(stats.norm(middle, spread).ppf([0.25, 0.75])) == pytest.approx(
        [low, 50000.0], abs=1e-3
    )
    assert family("two_part").half_of_guess(options, typical, spread) == pytest.approx(
        (low, 50000.0), abs=1e-3
    )


def test_of_other_models_in_the_unit_of_the_variable():
    typical, spread = family("negative_binomial").guess_of_half(Options(), 2.0, 10.0)
    assert stats.norm(typical, spread).ppf([0.25, 0.75]) == pytest.approx([2.0, 10.0])


@pytest.mark.parametrize("ends", [(5.0, 5.0), (9.0, 2.0), (float("nan"), 2.0)])
def test_what_are_no_two_numbers_is_refused(ends):
    for name in ("lognormal", "poisson"):
        with pytest.raises(InputError):
            family(name).guess_of_half(Options(), *ends)


def test_zero_has_no_logarithm():
    with pytest.raises(InputError, match="must be above 0"):
        family("lognormal").guess_of_half(Options(), 0.0, 10.0)
