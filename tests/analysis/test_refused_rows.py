"""A value that a model refuses is named by its row in the file, whatever rows were left out before it."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.any_analysis import analysis_of
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.system.cache import Cache

REFUSED = {"lognormal": -4.0, "poisson": 2.5, "beta_regression": 50.0}


@pytest.mark.parametrize("model", REFUSED)
@pytest.mark.parametrize("as_block", [False, True])
def test_a_refused_value_is_named_by_its_row_in_the_file(tmp_path, model, as_block):
    """Rows 3 and 6 have no value, and that of row 11 was said to be in row 9 of the complete rows."""
    pay = [np.nan if i in (2, 5) else REFUSED[model] if i == 10 else float(1 + i % 9) for i in range(40)]
    table = Table("t.csv", pd.DataFrame({"pay": pay, "visits": np.arange(40) % 7}))
    bounds = (0.0, 50.0) if model == "beta_regression" else None
    settings = make_settings(outcome="pay", model=model, bounds=bounds)
    options = {} if bounds is None else {"bounds": bounds}
    blocks = (Block("pay", model, options), Block("visits", "poisson", {})) if as_block else ()
    analysis = analysis_of(table, settings, blocks, Cache(tmp_path))
    with pytest.raises(InputError, match=r"first in row 11\)"):
        _ = analysis.analyses(False)[0].model


def test_a_value_in_no_bracket_is_named_by_its_row_in_the_file(tmp_path):
    table = Table("t.csv", pd.DataFrame({"pay": [np.nan, *range(1, 41)]}))
    settings = make_settings(outcome="pay", model="lognormal", brackets=((0.5, 10.0), (10.0, 20.0)))
    [analysis] = analysis_of(table, settings, (), Cache(tmp_path)).analyses(False)
    with pytest.raises(InputError, match=r"20 records lie in no bracket \(first in row 22\)"):
        analysis.fits.intervals()
