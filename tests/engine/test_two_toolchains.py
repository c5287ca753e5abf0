"""The official CmdStan and the toolchain that is assembled here give the same draws, to the last bit."""

import os
from pathlib import Path

import numpy as np
import pytest

from synth_core.engine.sampling import Sampler, sample
from synth_core.engine.toolchain import compile_program
from synth_core.engine.toolchain.assemble import assembled_name
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.system.files import cache_root
from tests.conftest import records_of

pytestmark = [pytest.mark.stan, pytest.mark.slow]


def official():
    """An official CmdStan of this machine: it has its own sources."""
    places = [Path(os.environ.get("CMDSTAN", "/nowhere")), *(Path.home() / ".cmdstan").glob("cmdstan-*")]
    places += (cache_root() / "toolchain").glob("cmdstan-*")
    built = [
        each for each in places if (each / "src" / "cmdstan").is_dir() and (each / "bin" / "stanc").is_file()
    ]
    return built[0] if built else None


@pytest.mark.parametrize("family", ["lognormal", "beta"])
def test_both_give_the_same_draws(family, monkeypatch, rng):
    both = official(), cache_root() / "toolchain" / assembled_name()
    if both[0] is None:
        pytest.skip("no official CmdStan on this machine")
    if not both[1].is_dir():
        pytest.skip("no assembled toolchain on this machine")
    design = np.column_stack([np.ones(60), rng.normal(size=60)])
    model = build_model(family, records_of(rng.beta(2, 3, 60), design), bounds=(0.0, 1.0))
    data, fits = model.stan_data(np.linspace(0.3, 1, 60), Censoring(0.8)), []
    for cmdstan in both:
        monkeypatch.setenv("CMDSTAN", str(cmdstan))
        executable = compile_program(model.program)
        fits.append(sample(executable, data, model.parameters, Sampler(chains=2, draws=200, warmup=200)))
    for name in model.parameters:
        np.testing.assert_array_equal(fits[0].draws[name], fits[1].draws[name])
