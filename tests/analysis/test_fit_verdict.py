"""The verdict on a model's fit: its limits, and that data of another kind are found out."""

import math
import re

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fit_verdict import FITS_WITHIN, ROUGHLY_WITHIN, fit_verdict
from synth_core.analysis.model_check import run_check
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.models import MODELS

MANY = 100_000  # records, of which chance explains little
REMEDIES = {name: model.remedy for name, model in MODELS.items() if model.remedy}


@pytest.mark.parametrize(
    ("difference", "level"),
    [(0.0, "fits"), (FITS_WITHIN - 1e-6, "fits"), (FITS_WITHIN + 1e-6, "roughly"),
     (ROUGHLY_WITHIN - 1e-6, "roughly"), (ROUGHLY_WITHIN + 1e-6, "misfit")],
)  # fmt: skip
def test_limits(difference, level):
    found = fit_verdict(difference, MANY)
    assert found.level == level
    assert found.difference == pytest.approx(difference)
    said = float(re.search(r"up to ([\d.]+) percentage points", found.words)[1])
    assert -1e-9 < said - 100 * difference < 0.1  # never less than it is


def test_chance_is_not_held_against_a_model():
    """The 95 % point of Kolmogorov's distance for 100 records, from SciPy's exact distribution."""
    from scipy import stats

    usual = float(stats.kstwo.ppf(0.95, 100))
    assert fit_verdict(usual - 0.005, 100).level == "fits"
    assert fit_verdict(usual + 0.02, 100).level == "misfit"
    assert math.isclose(usual, 1.358 / 10, rel_tol=0.02)


def test_the_model_that_was_fitted_is_not_advised_again():
    for model, words in REMEDIES.items():
        advice = fit_verdict(0.2, MANY, model=model).advice
        assert words not in advice
        assert all(other in advice for name, other in REMEDIES.items() if name != model)
    assert "another scale" in fit_verdict(0.2, MANY, model="two_part").advice


def test_an_unfinished_fit_has_no_verdict():
    found = fit_verdict(0.0, MANY, ["R-hat 1.2"])
    assert found.level == "unknown"
    assert "R-hat 1.2" in found.words
    assert "longer warm-up" in found.advice and found.longer
    stays = fit_verdict(0.0, MANY, ["65 divergent transitions (more draws do not help)"], longer=False)
    assert "draws" not in stays.advice and not stays.longer


@pytest.mark.stan
def test_lognormal_data_fit_and_two_bumps_do_not(cache):
    rng = np.random.default_rng(5)
    good = rng.lognormal(3.0, 0.6, 1500)
    bumps = np.concatenate([rng.lognormal(1.0, 0.1, 750), rng.lognormal(4.0, 0.1, 750)])
    levels = []
    for values in (good, bumps):
        table = Table("t", pd.DataFrame({"x": values}))
        analysis = Analysis(table, make_settings(outcome="x", model="lognormal"), cache)
        levels.append(run_check(analysis, None, None).verdict("lognormal").level)
    assert levels == ["fits", "misfit"]


def test_the_fast_remedies_are_said_before_the_slow_one():
    """The mixture, which took 36 minutes, was proposed where brackets fit in ten seconds."""
    advice = fit_verdict(0.2, MANY, model="lognormal").advice
    assert advice.index("brackets") < advice.index("a normal mixture")
    assert "which needs minutes" in advice
