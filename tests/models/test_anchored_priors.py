"""The priors of an anchored fit's slopes, by what they say of a record: together they explain one spread, however many.

At a record whose predictors are all one deviation from their means the linear predictor is a sum of independent terms.
Its prior deviation is computed from the scales that the Stan program is given, and compared with what the method says
of it (docs/methods/anchored.md): 1 on the scale of a link, or the deviation of the anchor's response. That Stan draws
slopes with these deviations is the business of `test_stan_targets`.
"""

import numpy as np
import pytest

from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.models.records import Records
from tests.support.marks import slow_but

N, CODES = 60, tuple("abcd")
LINK = {  # a family's options, and the place of its slopes among the scales, for k of them
    "beta_regression": ({"bounds": (0.0, 30.0)}, "slope_scale", lambda k: slice(None)),
    "poisson": ({}, "slope_scale", lambda k: slice(None)),
    "two_part": ({}, "zero_slope_scale", lambda k: slice(None)),
    "mixture": (
        {"zero_part": True, "transformation": "asinh", "components": 2},
        "zero_slope_scale",
        lambda k: slice(None),
    ),
    "categorical": ({"categories": CODES}, "coefficient_scale", lambda k: slice(1, None)),
    "ordered": ({"categories": CODES}, "scale", lambda k: slice(-2 * k, -k)),
    "bracketed": ({"bracket_edges": (0.0, 3.0, 5.0, 7.0, 40.0)}, "scale", lambda k: slice(-2 * k, -k)),
}
RESPONSE = {"lognormal": ({}, np.log), "two_part": ({"transformation": "asinh"}, np.arcsinh)}


def anchored(family, options, k):
    """What Stan is given of a fit on k predictors of mean 0 and deviation 1, and the anchor's outcomes."""
    rng = np.random.default_rng([1, k])
    signs = np.array([rng.permutation(np.repeat([-1.0, 1.0], N // 2)) for _ in range(k)]).T
    x = rng.poisson(5.0, N) + 1.0
    if family in ("two_part", "mixture"):
        x[::4] = 0.0
    if "categories" in options:
        x = x % len(CODES)
    names = tuple(f"z{j}" for j in range(k + 1))
    model = build_model(family, Records(x, np.column_stack([np.ones(N), signs]), names), **options)
    other = rng.permutation(x)  # the anchor's, where zeros stand elsewhere
    return model.stan_data(
        np.ones(N), Censoring(1.0, np.zeros(N), prior_outcome=other, prior_weight=0.2)
    ), other


@pytest.mark.parametrize("k", [2, 5, 16])
@pytest.mark.parametrize("family", slow_but(LINK.keys() - {"mixture"}, LINK))
def test_all_slopes_together_move_the_link_by_one(family, k):
    options, name, place = LINK[family]
    data, _ = anchored(family, options, k)
    scale = np.ravel(data[name])[place(k)]
    deviations = np.broadcast_to(scale, k)
    assert np.sqrt(np.sum(deviations**2)) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("k", [2, 5, 16])
@pytest.mark.parametrize("family", RESPONSE)
def test_all_slopes_together_move_a_response_by_its_own_deviation(family, k):
    options, response = RESPONSE[family]
    data, outcome = anchored(family, options, k)
    deviations = np.ravel(data["beta_scale"])[1:]
    assert len(deviations) == k
    assert np.sqrt(np.sum(deviations**2)) == pytest.approx(response(outcome[outcome > 0]).std(), abs=1e-3)


@pytest.mark.parametrize("k", [2, 5, 16])
def test_all_slopes_together_move_the_ordered_model_s_log_scale_by_a_half(k):
    data, _ = anchored("ordered", {"categories": CODES}, k)
    assert np.sqrt(np.sum(np.ravel(data["scale"])[-k:] ** 2)) == pytest.approx(0.5, rel=1e-9)
