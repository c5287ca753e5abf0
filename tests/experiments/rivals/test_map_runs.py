"""Rivals beside a map: one run against loops and closed forms, bands against a naive mean, and what is refused."""

import dataclasses
import math
import time

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import Cancelled, InputError
from synth_core.experiments.rivals import registry, rival_subprocess
from synth_core.experiments.rivals.bands import bands_of, strict_epsilons
from synth_core.experiments.rivals.cells import UndeclaredBins
from synth_core.experiments.rivals.declared_cells import cells_words, declared_cells
from synth_core.experiments.rivals.map_runs import (
    MapRun,
    RivalSummary,
    planned,
    problem_for_map,
    run_for_map,
    run_key,
    summary_of,
)
from synth_core.experiments.rivals.problem import RivalSynthetic
from synth_core.experiments.rivals.registry import RivalSpec
from synth_core.system.cache import Cache
from tests.experiments.rivals.test_graphical import needs_mbi
from tests.summary_numbers import map_point

BOUNDED = make_settings(outcome="x", model="beta", bounds=(0.0, 1.0), seed=3)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


def analysis(cache, settings=BOUNDED, rows=2000, **more):
    return Analysis(load_example("beta", rows), settings, cache, **more)


def one(who, epsilon, seed=3, counted="rho", edges=()):
    return MapRun(RivalSpec(who, registry.RIVALS[who].label, epsilon, seed), counted, edges)


def naive_distance(confidential, synthetic):
    """The largest difference of two distribution functions, by a loop over all values."""
    return max(
        abs((confidential <= v).mean() - (synthetic <= v).mean()) for v in np.union1d(confidential, synthetic)
    )


def test_a_histogram_at_a_large_budget_errs_as_its_bins_do(cache):
    """Noise is then below one record: what is left is uniform values within bins, and the draw of 2,000 records."""
    a = analysis(cache)
    found = run_for_map(a, one("histogram", 500.0))
    outcome = a.selection.records.outcome
    edges = np.linspace(
        0, 1, math.ceil(math.log(2000)) + 1
    )  # the bins of the map's own histogram, rule "log"
    shares = np.histogram(outcome, edges)[0] / 2000
    law = np.interp(np.sort(outcome), edges, np.append(0, np.cumsum(shares)))
    of_bins = np.abs(law - np.arange(1, 2001) / 2000).max()
    error = dict(zip(found.names, found.errors, strict=True))["ecdf_max"]
    assert error == pytest.approx(
        of_bins, abs=1.63 / math.sqrt(2000)
    )  # 99 % of Kolmogorov's distance of a sample
    assert found.n_cells == 8


def test_a_run_is_measured_as_a_loop_measures_it_and_repeats(cache, tmp_path):
    a, asked = analysis(cache, rows=300), one("histogram", 2.0)
    first = run_for_map(a, asked)
    made = registry.make_rival(asked.asked, problem_for_map(a, ()), "rho").frame["x"].to_numpy()
    errors = dict(zip(first.names, first.errors, strict=True))
    outcome = a.selection.records.outcome
    assert errors["ecdf_max"] == pytest.approx(naive_distance(outcome, made), abs=1e-12)
    assert errors["mean"] == pytest.approx(abs(made.mean() / outcome.mean() - 1), abs=1e-12)
    assert run_for_map(a, asked).cached
    again = run_for_map(analysis(Cache(tmp_path / "other"), rows=300), asked)
    assert not again.cached
    np.testing.assert_array_equal(again.errors, first.errors)
    other = run_for_map(a, one("histogram", 2.0, seed=4))
    assert not np.array_equal(other.errors, first.errors)


def test_the_error_at_a_small_budget_is_that_of_its_noise(cache):
    """Against naive histograms with Gauss of deviation 2 / epsilon; means of 20 and 400 runs, 4 standard errors.

    At epsilon 0.01 that are 200 records a count.
    """
    a, epsilon = analysis(cache), 0.01
    runs = [run_for_map(a, one("histogram", epsilon, seed)).errors[0] for seed in range(20)]
    rng, edges, outcome = np.random.default_rng(1), np.linspace(0, 1, 9), np.sort(a.selection.records.outcome)
    counts, naive = np.histogram(outcome, edges)[0], []
    for _ in range(400):
        noisy = np.maximum(counts + rng.normal(0, 2 / epsilon, 8), 0)
        bins = rng.choice(8, 2000, p=noisy / noisy.sum())
        found = np.sort(rng.uniform(edges[bins], edges[bins + 1]))
        at = np.concatenate([outcome, found])
        both = [np.searchsorted(each, at, side="right") / 2000 for each in (outcome, found)]
        naive.append(np.abs(both[0] - both[1]).max())
    assert np.mean(runs) == pytest.approx(np.mean(naive), abs=4 * np.std(naive) * math.sqrt(1 / 20 + 1 / 400))
    assert np.mean(runs) > 1.2 * run_for_map(a, one("histogram", 500.0)).errors[0]


def test_a_sample_is_a_tenth_of_the_records(cache):
    a = analysis(cache)
    found = [run_for_map(a, one("sample", None, seed)) for seed in range(10)]
    errors = [f.errors[f.names.index("ecdf_max")] for f in found]
    # Kolmogorov's distance of 200 of 2,000 without replacement: mean 0.8687 and deviation 0.26 times sqrt(0.9 / 200).
    scale = math.sqrt(0.9 / 200)
    assert np.mean(errors) == pytest.approx(0.8687 * scale, abs=4 * 0.26 * scale / math.sqrt(10))


def test_categories_are_measured_by_their_codes(cache, rng):
    frame = pd.DataFrame(
        {"kind": rng.choice(["a", "b", "c"], 400, p=[0.5, 0.3, 0.2]), "area": rng.integers(0, 2, 400)}
    )
    s = make_settings(outcome="kind", model="categorical", categories=("a", "b", "c"), predictors=("area",))
    a = Analysis(Table("t", frame), s, cache)
    found = run_for_map(a, one("histogram", 200.0))
    assert found.n_cells == 3
    assert found.errors[0] < 1.63 / math.sqrt(400)


def test_bands_are_means_with_two_standard_errors():
    def run(who, epsilon, value):
        return RivalSummary(who, epsilon, 1, "rho", 1.0, {"ecdf_max": value, "q90": math.nan}, 20, 1.0, False)

    values = [0.1, 0.4, 0.2]
    found = bands_of([run("sample", None, 0.5), *(run("mst", 2.0, v) for v in values), run("mst", 1.0, 0.3)])
    assert [(b.label, b.epsilon, b.runs, b.guarantee) for b in found] == [
        ("MST", 1.0, 1, "zCDP, ρ = ε²/8"),
        ("MST", 2.0, 3, "zCDP, ρ = ε²/8"),
        ("Sample of 10 %", None, 1, "no guarantee"),
    ]
    mean = sum(values) / 3
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / 2)
    assert found[1].mean["ecdf_max"] == pytest.approx(mean)
    assert found[1].error["ecdf_max"] == pytest.approx(2 * deviation / math.sqrt(3))
    assert found[0].error["ecdf_max"] is None
    assert math.isnan(found[1].mean["q90"])


def test_only_the_strict_frontier_has_an_epsilon_for_rivals():
    def point(guarantee, epsilon, error, **more):
        mechanism = "histogram" if guarantee == "histogram" else "weighted"
        return map_point(mechanism, guarantee, epsilon, error, **more)

    points = [
        point("asymptotic", 1.0, 0.01),
        point("none", 0.5, 0.001),
        point("censored", 2.0, 0.3),
        point("histogram", 2.00000001, 0.2),
        point("anchored", 2.5, 0.35),  # beaten
        point("anchored", 3.0, 0.25),  # more than at a smaller ε, which is of a value replaced
        point("anchored", 5.0, 0.1),
        point("anchored", 6.0, 0.05, problems=("R-hat",)),
    ]
    assert strict_epsilons(points, "ecdf_max") == (2.0, 3.0, 5.0)
    assert strict_epsilons(points[:2], "ecdf_max") == ()
    assert strict_epsilons([points[0], points[-1]], "ecdf_max") == (6.0,)  # no strict fit has converged


def test_every_run_is_planned_once_with_seeds_that_follow():
    found = planned(["histogram", "sample"], [1.0, 2.0], BOUNDED, 3, "rho", ())
    assert [(b.asked.who, b.asked.epsilon, b.asked.seed) for b in found[:3]] == [
        ("histogram", 1.0, 3), ("histogram", 2.0, 3), ("sample", None, 3),
    ]  # fmt: skip
    assert len({run_key("t", BOUNDED, b) for b in found}) == len(found) == 9
    # More runs read the first ones again; a mechanism's own settings are none of theirs.
    more = {
        run_key("t", BOUNDED, b) for b in planned(["histogram", "sample"], [2.0, 1.0], BOUNDED, 5, "rho", ())
    }
    assert {run_key("t", BOUNDED.model_copy(update={"scale": 0.3}), b) for b in found} < more
    with pytest.raises(InputError, match="1,002 runs"):
        planned(["histogram"], [1.0, 2.0], BOUNDED, 501, "rho", ())


def test_bins_are_declared_and_never_read_from_the_table(cache):
    none = make_settings(outcome="x", model="lognormal")
    with pytest.raises(UndeclaredBins):
        declared_cells(none, 2000)
    with pytest.raises(UndeclaredBins):
        run_for_map(Analysis(load_example("lognormal", 200), none, cache), one("histogram", 1.0))
    assert cells_words(none, 2000, (0.0, 1.0, 5.0)) == "Bins of x: 2 from 0 to 5, as declared here."
    guessed = none.model_copy(update={"guess": (20.0, 1.0)})
    assert "by the guess on the Data page" in cells_words(guessed, 2000, ())
    assert cells_words(BOUNDED, 2000, ()).startswith("Bins of x: 8 from 0 to 1, as the histogram")
    # Two tables of as many records, and the same bins.
    for s, edges in ((guessed, ()), (none, (0.0, 1.0, 5.0))):
        cells = [
            problem_for_map(Analysis(load_example("lognormal", 200, seed), s, cache), edges).cells
            for seed in (1, 2)
        ]
        assert cells[0] == cells[1]


def test_a_slow_rival_ends_with_its_request(cache, monkeypatch):
    """In a process of its own, which sees its end within a second."""
    slow = dataclasses.replace(registry.RIVALS["mst"], check=lambda: None, seconds=60.0)
    monkeypatch.setitem(registry.RIVALS, "mst", slow)
    children, popen = [], rival_subprocess.subprocess.Popen

    def sleeper(command, **more):
        children.append(popen(["sleep", "60"], **more))
        return children[0]

    monkeypatch.setattr(rival_subprocess.subprocess, "Popen", sleeper)
    started = time.monotonic()

    def progress(text, share):
        if text.startswith("MST") and time.monotonic() - started > 0.5:
            raise Cancelled("cancelled")

    with pytest.raises(Cancelled):
        run_for_map(analysis(cache, rows=100, progress=progress), one("mst", 1.0))
    assert time.monotonic() - started < 5
    assert children[0].poll() is not None


@pytest.mark.slow
def test_a_rival_apart_answers_as_here(cache, monkeypatch):
    """A real child process; that it fails is told in its words."""
    problem, asked = problem_for_map(analysis(cache, rows=100), ()), one("histogram", 1.0).asked
    monkeypatch.setitem(
        registry.RIVALS, "histogram", dataclasses.replace(registry.RIVALS["histogram"], seconds=9.0)
    )
    here, there = (
        registry.make_rival(asked, problem, "rho"),
        rival_subprocess.make_in_subprocess(asked, problem, "rho"),
    )
    assert isinstance(there, RivalSynthetic)
    pd.testing.assert_frame_equal(here.frame, there.frame)
    with pytest.raises(InputError, match="counted by rho or epsilon"):
        rival_subprocess.make_in_subprocess(asked, problem, "delta")


@needs_mbi
@pytest.mark.slow
@pytest.mark.parametrize("who", ["mst", "aim"])
@pytest.mark.parametrize("counted", ["rho", "epsilon"])
def test_mst_and_aim_of_one_variable_err_as_its_bins_at_a_large_budget(who, counted, cache):
    """With predictors and without any."""
    table = load_example("lognormal", 1000)
    frame = table.frame.assign(area=np.arange(1000) % 3)
    for predictors in ((), ("z", "area")):
        s = make_settings(outcome="x", model="lognormal", guess=(20.0, 1.0), predictors=predictors)
        found = run_for_map(Analysis(Table("t", frame), s, cache), one(who, 40.0, counted=counted))
        exact = run_for_map(Analysis(Table("t", frame), s, cache), one("histogram", 500.0))
        error = abs(found.errors[0] - exact.errors[0])
        assert error < 1.63 / math.sqrt(1000), (predictors, found.errors[0], exact.errors[0])
    assert summary_of(found, one(who, 40.0, counted=counted)).who == who


BLOCKS = (
    Block("sex", "categorical", {"categories": ("f", "m")}, share=0.2),
    Block("pay", "bracketed", {"bracket_edges": (0.0, 10.0, 20.0, 40.0, 90.0)}, ("N",)),
)
COMMON = {"predictors": ("area",), "seed": 3, "epsilon": 2.0}


def people(cache):
    rng = np.random.default_rng(5)
    pay = rng.uniform(1, 80, 400).round(1).astype(str).astype(object)
    pay[rng.random(400) < 0.2] = "N"
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400, p=[0.7, 0.3]), "pay": pay})
    frame["area"] = rng.choice(["n", "s"], 400)
    return RecordsAnalysis(Table("people", frame), BLOCKS, COMMON, cache)


def test_beside_whole_records_every_variable_is_measured_as_a_loop_measures_it(cache):
    """The largest error over the variables, of which whether a value is missing is one."""
    whole = people(cache)
    [beside] = planned(["histogram"], [2.0], whole.settings, 1, "rho", blocks=BLOCKS)
    found = run_for_map(whole, beside)
    errors = dict(zip(found.names, found.errors, strict=True))
    made = registry.make_rival(beside.spent, problem_for_map(whole), "rho").frame
    mine, theirs = whole.table.frame["pay"], made["pay"]
    expected = {
        "sex": abs((made["sex"] == "f").mean() - (whole.table.frame["sex"] == "f").mean()),
        "pay": naive_distance(mine.dropna().to_numpy(), theirs.dropna().to_numpy()),
        "pay is missing": abs(mine.isna().mean() - theirs.isna().mean()),
    }
    for name, error in expected.items():
        assert errors[f"ecdf_max of {name}"] == pytest.approx(error, abs=1e-12), name
    assert errors["ecdf_max"] == max(errors[f"ecdf_max of {name}"] for name in expected)
    assert found.n_cells == 2 * (4 + 1)
    assert run_for_map(whole, beside).cached
    alone = (dataclasses.replace(BLOCKS[0], share=None),)
    assert run_key("t", whole.settings, beside, alone) != run_key("t", whole.settings, beside, BLOCKS)


@pytest.mark.parametrize("counted", ["rho", "epsilon"])
def test_a_rival_of_whole_records_spends_what_our_fits_spend_together(counted, cache, monkeypatch):
    """By the list of fits: a share of 0.2 for sex, and of 0.8 a fifth for whether pay is missing."""
    spent = []
    right = registry.RIVALS["histogram"]

    def make(problem, budget, rng):
        spent.append(budget)
        return right.make(problem, budget, rng)

    monkeypatch.setitem(registry.RIVALS, "histogram", dataclasses.replace(right, make=make))
    whole = people(cache)
    [beside] = planned(["histogram"], [2.0], whole.settings, 1, counted, blocks=BLOCKS)
    summary = summary_of(run_for_map(whole, beside), beside)
    [budget] = spent
    each = [2.0 * share for share in (0.2, 0.8 * 0.2, 0.8 * 0.8)]
    if counted == "rho":
        assert budget.rho == pytest.approx(sum(epsilon**2 / 8 for epsilon in each))
    else:
        assert budget.epsilon == pytest.approx(sum(each))
    assert summary.epsilon == 2.0  # where it stands on the map
    [band] = bands_of([summary])
    assert band.guarantee == ("zCDP, ρ = Σ εₖ²/8" if counted == "rho" else "ε-DP")
