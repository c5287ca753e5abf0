"""The data file of a Stan program against the one that cmdstanpy would write."""

import json

import numpy as np
import stanio

from synth_core.engine import stan_data
from synth_core.engine.stan_data import write_data


def test_the_file_says_what_stanio_writes(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(stan_data, "_BLOCK", 50)
    data = {
        "n": 3,
        "numpy_number": np.int64(4),
        "real": 0.1,
        "flag": True,
        "flags": np.array([True, False]),
        "none": np.empty((0, 3)),
        "no_columns": np.empty((3, 0)),
        "few": [1, 2],
        "many": rng.normal(size=1001),
        "wide": rng.normal(size=(7, 60)),
        "deep": rng.integers(0, 9, (20, 3, 4)),
        "endless": np.array([np.inf, -np.inf, 1e-300]),
    }
    write_data(data, tmp_path / "data.json")
    assert json.loads((tmp_path / "data.json").read_text()) == json.loads(stanio.dump_stan_json(data))
    write_data({}, tmp_path / "empty.json")
    assert json.loads((tmp_path / "empty.json").read_text()) == {}
