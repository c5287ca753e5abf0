"""The sampler's command line: what cmdstanpy asks of a model executable."""

import json
import os
import signal
import subprocess
import time

import cmdstanpy
import numpy as np
import pytest
from scipy import stats

from synth_core.engine.toolchain import compile_program, ensure_cmdstan, executable_path
from synth_core.engine.toolchain.find import find_cmdstan
from synth_core.engine.toolchain.programs import STAN_DIRECTORY, _user_headers, _with_includes
from synth_core.errors import FitError

pytestmark = pytest.mark.stan

GAUSSIAN = """
data { int<lower=1> k; vector[k] mu; cov_matrix[k] sigma; int<lower=0> n; array[n] real given; }
transformed data { real noise = normal_rng(0, 1); }
parameters { vector[k] x; }
model { x ~ multi_normal(mu, sigma); }
generated quantities { real y = normal_rng(x[1], 1); real kept = noise; array[n] real shown = given; }
"""
DATA = {"k": 2, "mu": [1.0, -2.0], "sigma": [[2.0, 1.2], [1.2, 1.0]], "n": 0, "given": []}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    cmdstanpy.disable_logging()
    source = tmp_path_factory.mktemp("stan") / "gaussian.stan"
    source.write_text(GAUSSIAN)
    return compile_program(source)


@pytest.fixture(scope="module")
def model(program):
    return cmdstanpy.CmdStanModel(exe_file=str(program))


@pytest.fixture
def data_file(tmp_path):
    path = tmp_path / "data.json"
    path.write_text(json.dumps(DATA))
    return path


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def draws_of(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return lines[0], lines[1:]


def test_executables_are_not_beside_the_sources(program, tmp_path):
    assert "models" in program.parts
    assert program == executable_path(program.parent / "gaussian.stan", find_cmdstan())


@pytest.mark.parametrize("metric", ["diag_e", "dense_e", "unit_e"])
def test_draws_follow_theory(model, metric):
    fit = model.sample(data=DATA, chains=4, iter_sampling=4000, seed=11, metric=metric, show_progress=False)
    x = fit.stan_variable("x")
    ess = 4000  # lower than measured for every metric here
    np.testing.assert_allclose(x.mean(0), DATA["mu"], atol=5 * np.sqrt(2 / ess))
    np.testing.assert_allclose(np.cov(x.T), DATA["sigma"], atol=5 * 2 * np.sqrt(2 / ess))
    thinned = x[::8, 0]
    assert stats.kstest(thinned, stats.norm(1, np.sqrt(2)).cdf).pvalue > 1e-4
    assert fit.divergences.sum() == 0


def test_same_seed_same_bytes_and_chains_differ(program, data_file, tmp_path):
    def go(seed, chain, name):
        out = tmp_path / name
        done = run(
            program,
            f"id={chain}",
            "random",
            f"seed={seed}",
            "data",
            f"file={data_file}",
            "output",
            f"file={out}",
            "method=sample",
        )
        assert done.returncode == 0, done.stderr
        return draws_of(out)[1]

    first = go(5, 1, "a.csv")
    assert first == go(5, 1, "b.csv")
    assert first != go(5, 2, "c.csv")
    assert first != go(6, 1, "d.csv")


NUMBERS = [
    0.1,
    1 / 3,
    -2e-308,
    5e-324,
    1.7976931348623157e308,
    1e22,
    123456789.0,
    0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-5,
]


@pytest.mark.parametrize("digits", [17, 6])
def test_numbers_are_read_and_written_as_they_are(digits, program, tmp_path):
    """Of 17 digits the same double again, by the data and by the draws; of fewer as C writes them."""
    data = tmp_path / "numbers.json"
    data.write_text(json.dumps(DATA | {"n": len(NUMBERS), "given": NUMBERS}))
    out = tmp_path / "numbers.csv"
    done = run(program, "data", f"file={data}", "output", f"file={out}", f"sig_figs={digits}",
               "method=sample", "num_samples=1")  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = draws_of(out)[1][0].split(",")[-len(NUMBERS) :]
    expected = NUMBERS if digits == 17 else [float(f"{each:.{digits}g}") for each in NUMBERS]
    np.testing.assert_array_equal([float(each) for each in written], expected)


def test_every_argument_of_cmdstanpy_is_honoured(model, tmp_path):
    metric = tmp_path / "metric.json"
    metric.write_text(json.dumps({"inv_metric": [2.0, 1.0]}))
    inits = tmp_path / "init.json"
    inits.write_text(json.dumps({"x": [0.5, 0.25]}))
    fit = model.sample(
        data=DATA,
        chains=1,
        seed=3,
        iter_warmup=200,
        iter_sampling=60,
        thin=3,
        save_warmup=True,
        max_treedepth=2,
        adapt_delta=0.95,
        sig_figs=4,
        refresh=50,
        metric=str(metric),
        inits=str(inits),
        step_size=0.4,
        adapt_init_phase=20,
        adapt_metric_window=15,
        adapt_step_size=30,
        show_progress=False,
        save_latent_dynamics=True,
    )
    assert fit.draws(inc_warmup=True).shape[0] == 67 + 20
    assert fit.method_variables()["treedepth__"].max() <= 2
    config = fit.metadata.cmdstan_config
    for key, value in {
        "delta": 0.95,
        "thin": 3,
        "sig_figs": 4,
        "max_depth": 2,
        "stepsize": 0.4,
        "init_buffer": 20,
        "window": 15,
        "term_buffer": 30,
        "seed": 3,
        "save_warmup": 1,
        "refresh": 50,
    }.items():
        assert config[key] == value, key
    first_csv = fit.runset.csv_files[0]
    _, rows = draws_of(__import__("pathlib").Path(first_csv))
    assert all(
        len(cell.lstrip("-").replace(".", "").split("e")[0].lstrip("0")) <= 4 for cell in rows[-1].split(",")
    )
    fixed = model.sample(
        data=DATA, chains=1, seed=3, fixed_param=True, iter_sampling=5, inits=str(inits), show_progress=False
    )
    np.testing.assert_array_equal(fixed.stan_variable("x"), np.tile([0.5, 0.25], (5, 1)))
    still = model.sample(
        data=DATA,
        chains=1,
        seed=3,
        adapt_engaged=False,
        iter_warmup=0,
        iter_sampling=50,
        step_size=0.3,
        show_progress=False,
    )
    np.testing.assert_allclose(still.method_variables()["stepsize__"], 0.3)


def test_transformed_data_depends_on_the_seed_only(model):
    kept = [
        model.sample(
            data=DATA, chains=2, seed=s, iter_sampling=5, iter_warmup=50, show_progress=False
        ).stan_variable("kept")
        for s in (1, 1, 2)
    ]
    assert (kept[0] == kept[1]).all()
    assert kept[0][0] != kept[2][0]


def test_generated_quantities_are_made_anew_from_a_fit(model):
    fit = model.sample(data=DATA, chains=2, seed=4, iter_sampling=1000, show_progress=False)
    first = model.generate_quantities(DATA, fit, seed=5, sig_figs=17)
    assert first.column_names == ("y", "kept")
    x = fit.stan_variable("x")
    y = first.stan_variable("y")
    assert y.shape == (2000,)
    assert stats.kstest((y - x[:, 0])[::4], "norm").pvalue > 1e-4
    assert (y != fit.stan_variable("y")).all()
    again = model.generate_quantities(DATA, fit, seed=5, sig_figs=17)
    np.testing.assert_array_equal(again.stan_variable("y"), y)
    other = model.generate_quantities(DATA, fit, seed=6)
    assert (other.stan_variable("y") != y).any()
    assert first.metadata.cmdstan_config["method"] == "generate_quantities"


def test_log_prob_is_the_target_and_its_gradient(model):
    points = [[0.3, -1.0], [2.0, 0.5]]
    found = [model.log_prob({"x": x}, DATA, sig_figs=17) for x in points]
    true = stats.multivariate_normal(DATA["mu"], DATA["sigma"])
    assert list(found[0].columns) == ["lp__", "g_x.1", "g_x.2"]
    np.testing.assert_allclose(
        found[1]["lp__"][0] - found[0]["lp__"][0], true.logpdf(points[1]) - true.logpdf(points[0]), rtol=1e-12
    )
    slope = -np.linalg.solve(DATA["sigma"], np.subtract(points[0], DATA["mu"]))
    np.testing.assert_allclose(found[0].to_numpy()[0, 1:], slope, rtol=1e-12)


def test_parameters_of_another_size_are_refused(program, data_file, tmp_path):
    draws = tmp_path / "draws.csv"
    for header, row in (("lp__,x.1", "0,1"), ("lp__,x.1,x.2", "0,1"), ("lp__,x.1,x.2", "0,1,a")):
        draws.write_text(f"{header}\n{row}\n")
        done = run(program, "data", f"file={data_file}", "output", f"file={tmp_path / 'o.csv'}",
                   "method=generate_quantities", f"fitted_params={draws}")  # fmt: skip
        assert done.returncode != 0, header
        assert done.stderr.strip()
    done = run(program, "data", f"file={data_file}", "method=generate_quantities")
    assert done.returncode != 0
    point = tmp_path / "point.json"
    point.write_text('{"x": [1.0]}')
    done = run(program, "log_prob", f"constrained_params={point}", "data", f"file={data_file}",
               "output", f"file={tmp_path / 'o.csv'}")  # fmt: skip
    assert done.returncode != 0


def test_info(program):
    done = run(program, "info")
    assert done.returncode == 0
    assert "stan_version_major = 2" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["method=optimize"], "'optimize' is not supported"),
        (["method=sample", "num_samples=ten"], "not a number"),
        (["method=sample", "num_samples=1.5"], "whole number"),
        (["method=sample", "nonsense=1"], "'nonsense=1' is not known"),
        (["method=sample", "adapt", "delta=1.0"], "(0, 1)"),
        (["method=sample", "algorithm=hmc", "engine=static"], "'static' is not supported"),
        (["method=sample", "num_chains=2"], "num_chains"),
        (["id=1"], "no method"),
        (["log_prob"], "constrained_params"),
        (["method=generate_quantities", "num_chains=2"], "num_chains"),
        ([], "no method"),
    ],
)
def test_what_is_not_known_is_refused(program, arguments, message):
    if find_cmdstan() is None or "registry" not in str(find_cmdstan()):
        pytest.skip("an official CmdStan is in use: it has words of its own")
    done = run(program, *arguments)
    assert done.returncode == 64
    assert message in done.stderr


@pytest.mark.parametrize("content", [None, "{", '{"k": 2}', '{"k": 2, "mu": [1, "x"]}'])
def test_bad_data_is_an_error(program, tmp_path, content):
    path = tmp_path / "data.json"
    if content is not None:
        path.write_text(content)
    done = run(program, "data", f"file={path}", "output", f"file={tmp_path / 'o.csv'}", "method=sample")
    assert done.returncode not in (0, 64)
    assert done.stderr.strip()


def test_an_interrupt_ends_it_and_rows_are_flushed(program, data_file, tmp_path):
    out = tmp_path / "long.csv"
    process = subprocess.Popen(
        [
            program,
            "data",
            f"file={data_file}",
            "output",
            f"file={out}",
            "method=sample",
            "num_samples=100000000",
        ],
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    )
    deadline = time.monotonic() + 20
    while (not out.exists() or out.stat().st_size < 20_000) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == -signal.SIGINT
    assert len(draws_of(out)[1]) > 50


def test_a_broken_program_shows_the_compilers_message(tmp_path):
    source = tmp_path / "broken.stan"
    source.write_text("parameters { real x; } model { x ~ nrmal(0, 1); }")
    with pytest.raises(FitError, match="nrmal"):
        compile_program(source)


def test_the_executable_is_keyed_by_what_it_includes(tmp_path):
    (tmp_path / "functions").mkdir()
    included = tmp_path / "functions" / "f.stan"
    included.write_text("real f(real x) { return x; }")
    source = tmp_path / "uses.stan"
    source.write_text("functions {\n  #include functions/f.stan\n}\nmodel {}")
    assert _with_includes(source, tmp_path) == [source, included]
    cmdstan = ensure_cmdstan()
    before = executable_path(source, cmdstan)
    included.write_text("real f(real x) { return 2 * x; }")
    assert executable_path(source, cmdstan) != before


def test_an_existing_cmdstan_comes_first(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "stanc").touch()
    (tmp_path / "makefile").write_text("CMDSTAN_VERSION := 2.39.0\n")
    monkeypatch.setenv("CMDSTAN", str(tmp_path))
    assert find_cmdstan() == tmp_path
    monkeypatch.setenv("CMDSTAN", str(tmp_path / "gone"))
    assert find_cmdstan() != tmp_path
    assert os.environ["CMDSTAN"].endswith("gone")


def test_a_header_of_c_plus_plus_is_for_the_project_s_own_programs_only(tmp_path):
    """An own program that writes the line, whatever it names, is compiled without it."""
    assert _user_headers(STAN_DIRECTORY / "lognormal.stan") == ["functions/clamped.hpp"]
    line = "// user header: functions/clamped.hpp\n// user header: ../../evil.hpp\n"
    for place in (tmp_path / "own.stan", tmp_path / "stan" / "lognormal.stan"):
        place.parent.mkdir(exist_ok=True)
        place.write_text(line + GAUSSIAN)
        assert _user_headers(place) == []
        assert _with_includes(place, place.parent) == [place]
