"""A comparison with rivals whose accuracy is of the population: every number of it counts records by their weights."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.data.table import Table
from synth_core.experiments.rivals.study import RivalStudy, run_rivals
from synth_core.system.cache import Cache

BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}),
    Block("pay", "two_part", {"unit": 10.0, "guess": (20.0, 1.0)}),
)


@pytest.mark.parametrize("of", ["population", "sample"])
def test_distances_and_slopes_are_of_whom_accuracy_is(tmp_path, rng, of):
    sex, weight = rng.choice(["f", "m"], 300), rng.integers(1, 30, 300).astype(float)
    pay = (rng.lognormal(3, 0.4, 300) * np.where((weight > 10) & (sex == "f"), 3.0, 1.0)).round(1)
    table = Table("people", pd.DataFrame({"sex": sex, "pay": pay, "w": weight}))
    study = RivalStudy(table, BLOCKS, {"weight": "w", "accuracy_of": of}, (), ("sample",), (4.0,), 1)
    kept = []
    (cell,) = run_rivals(study, Cache(tmp_path), keep=lambda asked, whole, made: kept.append(made))
    other = weight if kept[0].rows is None else weight[kept[0].rows]
    if of == "sample":
        weight, other = np.ones_like(weight), np.ones_like(other)
    sides = [(sex, weight), (kept[0].frame["sex"].to_numpy(), other)]
    mine, theirs = (w[codes == "f"].sum() / w.sum() for codes, w in sides)
    assert cell.details["distance"]["sex"] == pytest.approx(abs(mine - theirs), abs=1e-12)
    assert abs(mine - theirs) > 1e-3
    upto = np.cumsum(weight[order := np.argsort(pay)]) / weight.sum()
    cuts = [pay[order][upto >= at / 10].min() for at in range(1, 10)]
    tenth = (pay[:, None] >= cuts).sum(axis=1)
    slope = np.polyfit(sex == "m", tenth, 1, w=np.sqrt(weight))[0]
    assert cell.details["slope"]["pay by sex"]["confidential"] == pytest.approx(slope, rel=0.02)
