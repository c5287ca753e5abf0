"""A run's context never changes: another is made, which goes on with what was read."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table

RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({"z": RNG.normal(size=60), "x": RNG.lognormal(size=60), "y": RNG.lognormal(size=60)})


def analysis_of(cache, frame=FRAME) -> Analysis:
    return Analysis(
        Table("t", frame), make_settings(outcome="x", predictors=("z",), model="lognormal"), cache
    )


def test_nothing_is_set_from_outside(kept):
    one = analysis_of(kept)
    many = RecordsAnalysis(one.table, (Block("x", "lognormal"),), {"predictors": ("z",)}, kept)
    for context, name in ((one, "fits"), (one, "progress"), (one.fits, "transform"), (many, "progress")):
        with pytest.raises(FrozenInstanceError):
            setattr(context, name, None)


def test_records_are_read_once_for_one_table_and_again_for_other_columns(kept):
    one = analysis_of(kept)
    selection, model = one.selection, one.model
    other = one.with_settings(epsilon=3.0)
    assert other.selection is selection
    assert other.model is model
    assert one.reporting(lambda text, share: None).model is model
    turned = one.with_settings(outcome="y")
    assert np.array_equal(turned.model.records.outcome, FRAME["y"])  # and not those of x again
    assert one.model is model


def test_what_is_prepared_of_another_table_is_refused(kept):
    one = analysis_of(kept)
    with pytest.raises(ValueError, match="another table"):
        replace(analysis_of(kept, FRAME.assign(x=2 * FRAME["x"])), prepared=one.fits)


def test_another_table_is_read_in_the_design_of_this_one(kept):
    one = analysis_of(kept)
    other = one.for_table(Table("u", FRAME.assign(z=3 + 2 * FRAME["z"])))
    mine, theirs = (each.selection.records.design[:, -1] for each in (one, other))
    scale = (np.ptp(mine)) / np.ptp(FRAME["z"])
    assert np.allclose(theirs - mine, scale * (3 + FRAME["z"]))  # neither centred nor scaled by itself
