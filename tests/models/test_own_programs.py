"""The analyst's own Stan program: the worked examples, the broken ones, what is refused, the limits."""

import itertools
import json
import os
import time

import numpy as np
import pytest
from scipy import stats

from synth_core.analysis.fits import Fits
from synth_core.analysis.own_program_check import check_table
from synth_core.analysis.settings import make_settings
from synth_core.cli import _parser, main
from synth_core.cli.settings_arguments import settings_from
from synth_core.data.table import read_table
from synth_core.engine import process_limits
from synth_core.engine.toolchain import ensure_cmdstan
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Records, build_model
from synth_core.models.own import sandbox
from synth_core.models.own.contract import check_contract
from synth_core.models.own.source import ProgramError, inspect, sampling_source, without_comments
from synth_core.system import limits
from synth_core.system.cache import Cache
from synth_core.system.entries import to_entry
from tests.conftest import ROOT
from tests.support.own_programs import (
    BROKEN,
    BROKEN_BEYOND_THE_CHECKS,
    COMPILED,
    EXAMPLES,
    GAMMA,
    LOGNORMAL,
    REFUSED,
    SWITCHED,
)

pytestmark = pytest.mark.stan
FAULTY = [*BROKEN, *COMPILED]  # each is compiled: three in the slow set, the others in the long one
N = 120


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    monkeypatch.setenv(sandbox.FLAG, "1")
    for source in (*EXAMPLES.values(), SWITCHED, *(source for source, _ in COMPILED.values())):
        sandbox.approve(source)


def own(records, source, **options):
    sandbox.approve(source)
    return build_model("own", records, program=source, **options)


def gamma_records(rng, n=N) -> Records:
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    return Records(rng.gamma(2.0, np.exp(z @ [1.0, 0.5]) / 2.0), z, ("(intercept)", "z"))


def gamma_draws(rng, n=40):
    return {"beta": rng.normal([1.0, 0.5], 0.1, (n, 2)), "shape": rng.gamma(40, 1 / 20, n)}


@pytest.fixture
def model(rng):
    return build_model("own", gamma_records(rng), unit=2.0, program=GAMMA)


# -- what is refused before anything is compiled ---------------------------------------------------


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_cannot_be_used_is_refused_with_its_line(name, rng):
    source, words = REFUSED[name]
    with pytest.raises(ProgramError, match=words):
        inspect(source)


def test_the_compilers_message_and_line_reach_the_report(cache):
    table = read_table(("x\n" + "\n".join(map(str, range(1, 40)))).encode(), "t.csv")
    settings = make_settings(outcome="x", model="own", program=REFUSED["syntax"][0])
    (check,) = check_table(table, settings, cache).failures
    assert check.line == 46
    assert "46:" in check.detail and "^" in check.detail
    assert "/" not in check.detail.split("\n")[0]  # no path


def test_every_example_declares_the_contract():
    assert set(EXAMPLES) == {"template", "gamma_regression", "student_t"}
    for source in EXAMPLES.values():
        declared = inspect(source)
        assert declared.has_cdf and declared.takes_anchor and not declared.discrete
        assert "beta" in declared.parameters
    assert inspect(EXAMPLES["student_t"]).parameters == ("beta", "log_sigma", "nu")


def test_the_sampler_is_the_program_without_its_last_block():
    tricky = GAMMA.replace("functions {", "// generated quantities {\nfunctions {").replace(
        "transformed data {", "/* generated\n quantities { */ transformed data {"
    )
    cut = sampling_source(tricky)
    assert tricky.startswith(cut)
    assert without_comments(cut).rstrip().endswith("}")
    assert "log_lik =" not in cut and "target +=" in cut
    assert len(without_comments(tricky)) == len(tricky)


def test_off_by_default_and_said_so(monkeypatch, rng, capsys, tmp_path):
    monkeypatch.delenv(sandbox.FLAG)
    with pytest.raises(InputError, match="SYNTH_OWN_PROGRAMS=1 make app"):
        build_model("own", gamma_records(rng), program=GAMMA)
    with pytest.raises(InputError, match="switched off"):
        sandbox.executable(sandbox.own_source(GAMMA + "// never compiled\n"))
    file = ROOT / "docs" / "guide" / "own" / "student_t.stan"
    for command in (
        ["compare", "example:beta", "--program", str(file)],
        ["check-program", str(file), "example:beta"],
    ):
        assert main(command) == 2
        assert "switched off" in capsys.readouterr().err
    monkeypatch.setenv(sandbox.FLAG, "refused")  # what a shared server makes of it
    with pytest.raises(InputError, match="switched off"):
        build_model("own", gamma_records(rng), program=GAMMA)


def test_a_program_that_came_with_settings_runs_only_once_approved(rng, cache):
    source = GAMMA + "// from a link\n"
    with pytest.raises(InputError, match="never approved on this machine"):
        check_contract(build_model("own", gamma_records(rng), program=source), cache)
    assert not list((sandbox.own_source(source).parent).glob("approved"))


def test_a_model_and_a_program_go_together():
    for values in ({"model": "own"}, {"model": "beta", "program": GAMMA}):
        with pytest.raises(InputError, match="given together"):
            make_settings(outcome="x", **values)


def test_a_table_too_long_is_refused(rng):
    with pytest.raises(InputError, match="at most 200,000 records"):
        build_model("own", gamma_records(rng, limits.MAX_OWN_ROWS + 1), program=GAMMA)


def test_the_program_is_kept_private():
    path = sandbox.own_source(GAMMA)
    assert path.read_text() == GAMMA
    assert oct(path.stat().st_mode)[-3:] == "600"
    assert oct(path.parent.stat().st_mode)[-3:] == "700"


# -- the worked example, against SciPy -------------------------------------------------------------


@pytest.mark.slow
def test_log_lik_cdf_and_interval_mass_are_scipys(model, rng):
    draws, records = gamma_draws(rng), model.records
    mean = np.exp(draws["beta"] @ records.design.T)
    shape = draws["shape"][:, None]
    true = stats.gamma(shape, scale=2.0 * mean / shape)  # x / unit has the mean
    rows = np.array([3, 17, 40])
    expected = true.logpdf(records.outcome) + np.log(2.0)
    np.testing.assert_allclose(model.log_lik(draws, slice(None)), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.log_lik(draws, rows), expected[:, rows], rtol=1e-8, atol=1e-8)
    values = records.outcome * 1.3
    np.testing.assert_allclose(model.cdf(draws, values, slice(None)), true.cdf(values), atol=1e-12)
    lower, upper = records.outcome * 0.4, records.outcome * 1.8
    upper[0], lower[1] = np.inf, -np.inf
    mass = model.interval_mass(draws, lower, upper, slice(None))
    nearer = np.where(
        true.cdf(lower) > 0.5, true.sf(lower) - true.sf(upper), true.cdf(upper) - true.cdf(lower)
    )
    np.testing.assert_allclose(mass, nearer, rtol=1e-7)
    far = np.full(records.n, 150.0)  # the upper tail keeps its digits
    tail = model.interval_mass(draws, far, np.full(records.n, np.inf), slice(None))
    np.testing.assert_allclose(tail, true.sf(far), rtol=1e-7)
    assert tail.min() < 1e-20


@pytest.mark.slow
def test_predictive_draws_follow_the_density_and_the_seed(model, rng):
    draw = {name: values[0] for name, values in gamma_draws(rng).items()}
    first = model.predict(draw, np.random.default_rng(4))
    np.testing.assert_array_equal(first, model.predict(draw, np.random.default_rng(4)))
    assert (first != model.predict(draw, np.random.default_rng(5))).all()
    data, one = model.data_of(slice(None)), {name: values[None] for name, values in draw.items()}
    alike = [model.generate(one, data, ("x_rep",), words)["x_rep"] for words in np.eye(4, dtype=int) + 7]
    assert all((a != b).all() for a, b in itertools.combinations(alike, 2)), "all four numbers decide"
    mean = 2.0 * np.exp(model.records.design @ draw["beta"])
    shares = stats.gamma(draw["shape"], scale=mean / draw["shape"]).cdf(first)
    assert stats.kstest(shares, "uniform").pvalue > 1e-4


@pytest.mark.slow
def test_the_worked_example_keeps_the_contract_and_its_report_is_cached(model, cache):
    seen = []
    report = check_contract(model, cache, lambda text, share: seen.append(text))
    assert report.passed, report.failures
    assert len(report.checks) == 11
    n = len(seen)
    assert check_contract(model, cache, lambda text, share: seen.append(text)) == report
    assert len(seen) == n


def test_data_outside_a_declared_bound_are_named_without_their_value(rng, cache):
    records = gamma_records(rng)
    records.outcome[7] = -3.25
    report = check_contract(build_model("own", records, program=GAMMA), cache)
    (failure,) = report.failures
    assert "declares for 'x' (first in row 8)" in failure.words
    assert "3.25" not in json.dumps(to_entry(report))


@pytest.mark.slow
def test_mechanisms_run_and_a_broken_contract_stops_them(rng, cache, monkeypatch):
    records = gamma_records(rng)
    text = "x,z\n" + "\n".join(f"{x},{z}" for x, z in zip(records.outcome, records.design[:, 1], strict=True))
    table = read_table(text.encode(), "t.csv")
    settings = make_settings(outcome="x", predictors=("z",), model="own", program=GAMMA, chains=1, draws=200,
                             warmup=200)  # fmt: skip
    fits = Fits(table, settings, cache, lambda text, share: None)
    posterior, _ = fits.unweighted()
    bounds = fits.unweighted_bounds()
    design = fits.selection.records.design
    mean = np.exp(posterior.draws["beta"] @ design.T)
    shape = posterior.draws["shape"][:, None]
    ll = stats.gamma.logpdf(fits.model.records.outcome, shape, scale=mean / shape)
    np.testing.assert_allclose(bounds.lipschitz_bounds, np.abs(ll).max(axis=0), rtol=1e-8)
    outside = fits.outside()
    assert ((outside > 0) & (outside < 1)).all()

    monkeypatch.setattr("synth_core.models.own.contract_checks.ALPHA", 2.0)  # no cdf passes this test
    other = Fits(table, settings, Cache(cache.directory / "other"), lambda text, share: None)
    with pytest.raises(InputError, match=r"does not keep the contract\. cdf is not"):
        other.unweighted()


@pytest.mark.slow
def test_the_check_can_be_cancelled(model, cache):
    def stop(text, share):
        raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        check_contract(model, cache, stop)


# -- limits ------------------------------------------------------------------------------------------


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A stand-in for an executable, run under limits."""

    def make(text, seconds=1):
        target = tmp_path / "program"
        target.write_text("#!/bin/sh\n" + text)
        target.chmod(0o700)
        with process_limits.processor_seconds(seconds):
            return process_limits.limited(target)

    return make


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("while :; do :; done", "processor time"),
        (
            "exec python3 -c 'x = bytearray(6 * 1024**3)' 2>&1 | sed s/MemoryError/bad_alloc/; exit 70",
            "more than 4 GiB of memory",
        ),
        ("kill -SEGV $$", "it crashed"),
        ("exit 3", None),
    ],
)
def test_a_limit_ends_the_process_and_is_named(script, text, words, tmp_path):
    import subprocess

    started = time.monotonic()
    done = subprocess.run([script(text)], capture_output=True, text=True, check=False, timeout=30)
    assert time.monotonic() - started < 20
    assert done.returncode != 0
    assert "Error: status" in done.stdout
    found = process_limits.reason(done.stdout)
    assert (found is None) if words is None else words in found


def test_an_executable_gets_its_arguments_and_its_status_passes(script):
    import subprocess

    done = subprocess.run(
        [script('echo "$2"; exit 0'), "a", "b c"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "b c\n"
    assert process_limits.reason(done.stdout) is None


def test_the_compiler_has_a_time_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "OWN_COMPILE_SECONDS", 0.5)
    source = GAMMA + "// a program that nobody has compiled\n"
    sandbox.approve(source)
    with pytest.raises(FitError, match="did not finish within"):
        sandbox.build_all(source)
    assert not (sandbox.own_source(source).parent / "program").exists()


# -- broken programs, compiled and run -------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*FAULTY[:3], *(pytest.param(n, marks=pytest.mark.long) for n in FAULTY[3:])]
)
def test_a_broken_program_ends_in_a_clear_message(name, cache, rng, monkeypatch):
    monkeypatch.setattr(limits, "OWN_CHECK_SECONDS", 5)
    kind, words = BROKEN.get(name, (1, ""))
    source, words = COMPILED.get(name, (SWITCHED, words))
    model = build_model("own", gamma_records(rng, 300), program=source, prior_scale=float(kind))
    report = check_contract(model, cache)
    import re

    assert any(re.search(words, check.words) for check in report.failures), report.failures
    assert os.path.exists("/proc/self")  # and this process is alive


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BROKEN_BEYOND_THE_CHECKS))
@pytest.mark.parametrize("bound", [0.5, 60.0])
def test_a_program_that_keeps_the_contract_on_a_hundred_records_alone_is_refused(name, bound, cache, rng):
    """Also where the fit itself clamps no term at its draws."""
    records = gamma_records(rng)
    text = "x,z\n" + "\n".join(f"{x},{z}" for x, z in zip(records.outcome, records.design[:, 1], strict=True))
    table, kind = read_table(text.encode(), "t.csv"), float(BROKEN_BEYOND_THE_CHECKS[name])
    settings = make_settings(outcome="x", predictors=("z",), model="own", program=SWITCHED, prior_scale=kind, chains=1,
                             draws=200, warmup=200)  # fmt: skip
    fits = Fits(table, settings, cache, lambda text, share: None)
    assert check_contract(fits.model, cache).passed
    given = (np.ones(N), Censoring(bound)) if name == "not censored" else (np.full(N, 0.5), None)
    with pytest.raises(InputError, match="at all records of this fit"):
        fits.posterior(*given)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["student_t", pytest.param("template", marks=pytest.mark.long)])
def test_the_other_examples_keep_the_contract(name, cache, rng):
    z = np.column_stack([np.ones(400), rng.normal(size=400)])
    x = z @ [3.0, 1.0] + rng.standard_t(4, 400)
    report = check_contract(build_model("own", Records(x, z, ("a", "b")), program=EXAMPLES[name]), cache)
    assert report.passed, report.failures
    model = build_model("own", Records(x, z, ("a", "b")), program=EXAMPLES[name])
    if name == "student_t":
        draws = {"beta": np.array([[3.0, 1.0]]), "log_sigma": np.array([0.2]), "nu": np.array([4.0])}
        expected = stats.t.logpdf(x, 4.0, z @ [3.0, 1.0], np.exp(0.2))
        np.testing.assert_allclose(model.log_lik(draws, slice(None))[0], expected, rtol=1e-8, atol=1e-8)
    ensure_cmdstan()


@pytest.mark.slow
def test_a_program_without_cdf_says_why_the_ranges_are_off(rng, cache):
    cut = GAMMA[: GAMMA.index("vector[M] cdf;")] + "{ vector[N] rate = shape * exp(-Z * beta);\n"
    source = cut + "for (i in 1 : N) { x_rep[i] = gamma_rng(shape, rate[i]); } } }\n"
    model = own(gamma_records(rng), source)
    report = check_contract(model, cache)
    assert report.passed
    assert "no cdf" in report.checks[-1].words
    with pytest.raises(InputError, match="declares no 'cdf'"):
        model.cdf(gamma_draws(rng), model.records.outcome, slice(None))


@pytest.mark.slow
def test_counts_are_declared_as_whole_numbers(rng, cache):
    source = """
data { int<lower=0> N; array[N] int<lower=0> x; vector[N] weights; real censor_bound; int M; vector[M] cdf_at; }
parameters { real<lower=0> rate; }
model {
  rate ~ gamma(1, 0.001);
  for (i in 1 : N) {
    real term = weights[i] * poisson_lpmf(x[i] | rate);
    target += censor_bound > 0 ? fmax(-censor_bound, fmin(censor_bound, term)) : term;
  }
}
generated quantities {
  vector[N] log_lik;
  array[N] int x_rep;
  vector[M] cdf;
  for (i in 1 : N) {
    log_lik[i] = poisson_lpmf(x[i] | rate);
    x_rep[i] = poisson_rng(rate);
  }
  for (i in 1 : M) {
    int k = 0;
    while (k + 1 <= cdf_at[i]) k += 1;
    cdf[i] = cdf_at[i] < 0 ? 0 : exp(poisson_lcdf(k | rate));
  }
}
"""
    x = rng.poisson(7, 200).astype(float)
    model = own(Records(x, np.ones((200, 1)), ("a",)), source, unit=3.0)
    report = check_contract(model, cache)
    assert report.passed, report.failures
    assert any("no anchor" in check.words for check in report.checks)  # a note: it is used for all else
    draws = {"rate": np.array([6.5, 7.5])}
    np.testing.assert_allclose(model.log_lik(draws, slice(None)), stats.poisson.logpmf(x, draws["rate"][:, None]),
                               rtol=1e-9)  # fmt: skip
    mass = model.interval_mass(draws, 0.5 * x, 1.5 * x, slice(None))
    low, high = np.ceil(0.5 * x - 1e-9), np.floor(1.5 * x + 1e-9)
    true = stats.poisson(draws["rate"][:, None])
    np.testing.assert_allclose(mass, true.cdf(high) - true.cdf(low - 1), atol=1e-9)
    with pytest.raises(InputError, match="whole numbers"):
        build_model("own", Records(x + 0.5, np.ones((200, 1)), ("a",)), program=source)


@pytest.mark.slow
@pytest.mark.parametrize("censor", [None, pytest.param(1.5, marks=pytest.mark.long)])
def test_an_own_lognormal_is_the_built_in_one(rng, cache, censor):
    n = 400
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    x = np.exp(z @ [0.5, 0.4] + 0.6 * rng.normal(size=n))
    text = "x,z\n" + "\n".join(f"{a},{b}" for a, b in zip(x, z[:, 1], strict=True))
    table = read_table(text.encode(), "t.csv")
    common = {"outcome": "x", "predictors": ("z",), "chains": 4, "draws": 2000, "warmup": 1000}
    alpha = np.linspace(0.1, 1.0, n)
    sandbox.approve(LOGNORMAL)
    found = []
    for values in ({"model": "lognormal"}, {"model": "own", "program": LOGNORMAL}):
        fits = Fits(table, make_settings(**common, **values), cache, lambda text, share: None)
        posterior, key = fits.posterior(alpha, censor and Censoring(censor))
        assert not posterior.diagnostics.problems
        found.append((fits, posterior, fits.bounds(posterior, key, alpha).lipschitz_bounds))
    (built_in, theirs, their_bounds), (own, mine, my_bounds) = found
    draws = {"beta": theirs.draws["beta"][:50], "sigma": theirs.draws["sigma"][:50]}
    np.testing.assert_allclose(
        own.model.log_lik(draws, slice(None)),
        built_in.model.log_lik(draws, slice(None)),
        rtol=1e-8,
        atol=1e-9,
    )
    for name in ("beta", "sigma"):
        a, b = theirs.draws[name].reshape(8000, -1), mine.draws[name].reshape(8000, -1)
        error = np.hypot(a.std(0), b.std(0)) / np.sqrt(1000)  # at least 1,000 effective draws each
        assert (np.abs(a.mean(0) - b.mean(0)) < 5 * error).all()
        np.testing.assert_allclose(a.std(0), b.std(0), rtol=5 / np.sqrt(2 * 1000) * np.sqrt(2))
    # A maximum over draws moves more than a mean: compared where most of the records are.
    ratio = my_bounds / their_bounds
    assert abs(np.median(ratio) - 1) < 0.05
    assert abs(my_bounds.max() / their_bounds.max() - 1) < 0.15


def test_the_command_line_passes_a_program_on(monkeypatch):
    monkeypatch.setenv("SYNTH_OWN_PROGRAMS", "1")
    path = str(ROOT / "docs" / "guide" / "own" / "student_t.stan")
    for command in ("compare", "map", "tune"):
        more = ["--target", "epsilon=4"] if command == "tune" else []
        args = _parser().parse_args([command, "example:401ksubs", "--program", path, *more])
        settings = settings_from(args, args.data)
        assert settings.model == "own"
        assert "student_t" in settings.program
