"""Chains as processes: the draws that cmdstanpy reads, and no process that outlives its caller."""

import cmdstanpy
import numpy as np
import pytest

from synth_core.engine import chains
from synth_core.engine.sampling import Sampler, Start, sample
from synth_core.engine.stan_data import write_data
from synth_core.errors import Cancelled
from synth_core.models import build_model
from tests.conftest import records_of

pytestmark = pytest.mark.stan
VARIABLES = ("phi", "beta", "L_beta", "sigma_beta")  # a number, vectors, a matrix


@pytest.fixture
def counts(rng):
    design = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    model = build_model("negative_binomial", records_of(rng.poisson(4.0, 80).astype(float), design))
    return model.executable(), model.stan_data(np.ones(80))


@pytest.mark.parametrize("started", [False, True])
def test_draws_are_those_that_cmdstanpy_reads(counts, started, tmp_path):
    executable, data = counts
    write_data(data, tmp_path / "data.json")
    sampler = Sampler(chains=2, draws=60, warmup=150, seed=5)
    start, given = None, {"metric": "diag_e"}
    if started:
        each = {"u": np.full(3, 0.1), "s": np.array(-0.2), "sigma_beta": np.full(3, 0.5), "L_beta": np.eye(3)}
        start = Start((each, each), np.linspace(0.5, 1.5, 10), 0.3)
        inits = [{name: value.tolist() for name, value in each.items()}] * 2
        given = {
            "inits": inits,
            "inv_metric": [{"inv_metric": start.inv_metric.tolist()}] * 2,
            "step_size": 0.3,
        }
    fit = cmdstanpy.CmdStanModel(exe_file=str(executable)).sample(
        data=str(tmp_path / "data.json"), chains=2, iter_warmup=150, iter_sampling=60, seed=5, sig_figs=17,
        adapt_delta=0.8, show_progress=False, **given,
    )  # fmt: skip
    found = sample(executable, data, VARIABLES, sampler, start=start, restart_parameters=VARIABLES)
    for name in VARIABLES:
        np.testing.assert_array_equal(found.draws[name], fit.stan_variable(name))
        np.testing.assert_array_equal(found.restart[name], fit.stan_variable(name)[[59, 119]])
    np.testing.assert_array_equal(found.restart["inv_metric"], fit.inv_metric.mean(axis=0))
    assert found.restart["step_size"] == fit.step_size.mean()
    assert found.diagnostics.divergences == fit.divergences.sum()


def test_the_chains_end_with_what_progress_raises(counts, monkeypatch):
    started, start = [], chains._started
    monkeypatch.setattr(chains, "_started", lambda *given: started.append(start(*given)) or started[-1])

    def cancel(share):
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        sample(*counts, VARIABLES, Sampler(chains=2, draws=100_000, warmup=100), cancel)
    assert len(started) == 2 and all(process.returncode is not None for process in started)


def test_a_chain_that_fails_is_told_by_its_return_code(tmp_path):
    with pytest.raises(RuntimeError, match=r"retcodes=\[0, 3\]"):
        chains.run_together([["true"], ["sh", "-c", "echo why; exit 3"]], tmp_path, lambda share: None)
    assert (tmp_path / "console-1.txt").read_text() == "why\n"


def test_a_line_is_never_half_a_number(tmp_path):
    """What a full disk cuts is refused, whether in the middle of a row or of a number."""
    whole = "lp__,x\n-1.5,0.25\n-1.5,nan\n# Step size = 0.5\n# (Total)\n"
    file = tmp_path / "chain-1.csv"
    file.write_text(whole)
    read = chains.read_outputs([file], 2)
    np.testing.assert_array_equal(read.values[:, 0], [[-1.5, 0.25], [-1.5, np.nan]])
    for damaged in (
        whole.replace("0.25", "0.2x"),
        whole.replace(",nan", ""),
        whole.replace("# (Total)\n", ""),
    ):
        file.write_text(damaged)
        with pytest.raises(ValueError):  # of NumPy's words or ours
            chains.read_outputs([file], 2)
