"""Measured synthesis from a table to synthetic values: what it reads, what it costs, how close it comes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import ENGINES
from synth_core.analysis.measured.cells import cells_of, require_brackets
from synth_core.analysis.measured.fine_bins import fine_bins
from synth_core.analysis.measured.prior_scales import STEPS, scaled
from synth_core.analysis.measured.variable import Variable
from synth_core.analysis.measured.within import values_of
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.noise import OpendpNoise, SeededNoise
from synth_core.system.cache import Cache
from tests.support.marks import slow_but

N = 500
SEX = Block("sex", "categorical", {"categories": ("f", "m")})
WORK = Block("work", "ordered", {"categories": ("no", "part", "full")}, missing=("?",))
INCOME = Block(
    "income", "two_part", {"transformation": "asinh", "asinh_scale": 10.0, "guess": (20.0, 1.0)}, ("N",)
)
BLOCKS = (SEX, WORK, INCOME)
COMMON = {"predictors": ("age", "area"), "epsilon": 2.0, "seed": 3}
KEYS = ("measured", "measured_laplace")


def people(seed):
    rng = np.random.default_rng(seed)
    public = np.random.default_rng(99)
    age, area = public.integers(18, 80, N), public.choice(["north", "south"], N)
    sex = np.where(rng.random(N) < np.where(area == "north", 0.3, 0.7), "f", "m")
    work = np.where(rng.random(N) < 0.3, "no", np.where(sex == "f", "part", "full")).astype(object)
    income = np.where(work == "no", 0.0, rng.lognormal(3, 0.5, N)).round(2).astype(str).astype(object)
    work[rng.random(N) < 0.1] = "?"
    income[rng.random(N) < 0.15] = "N"
    return pd.DataFrame({"sex": sex, "work": work, "income": income, "age": age, "area": area})


def analysis(tmp_path, table_seed=1, noise=None, **changes):
    cache = Cache(tmp_path / f"cache{table_seed}")
    noise = noise or SeededNoise(5)
    return RecordsAnalysis(Table("people", people(table_seed)), BLOCKS, COMMON | changes, cache, noise=noise)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The analysis of a table and its result, for tests that look at them only."""
    one = analysis(tmp_path_factory.mktemp("done"))
    return one, one.run("measured")


@pytest.fixture
def usual_scales(monkeypatch):
    """Prior scales as they are where nothing is learnt: for tests of what is read and kept, a third of the time."""
    monkeypatch.setattr(
        "synth_core.analysis.measured.model.learnt_scales",
        lambda model, measured, rng, heard: (
            scaled(1.0, STEPS[2], np.flatnonzero(model.domain.ordered)),
            None,
        ),
    )


class SameAnswer(OpendpNoise):
    """Answers that read nothing: whatever is counted, the same noisy counts."""

    name = "same"

    def gaussian(self, counts, deviation):
        rng = np.random.default_rng([counts.size, round(1000 * deviation)])
        return rng.integers(0, 30, counts.shape)

    def laplace(self, counts, scale):
        return self.gaussian(counts, scale)


@pytest.mark.parametrize("key", slow_but(KEYS[:1], KEYS))
def test_behind_the_noise_nothing_reads_a_sensitive_value(tmp_path, key):
    """Another table with the same public columns, the same noisy counts: the same synthetic records to the digit."""
    here, there = (analysis(tmp_path, seed, SameAnswer(), datasets=2).run(key) for seed in (1, 2))
    for mine, theirs in zip(here.synthetic, there.synthetic, strict=True):
        pd.testing.assert_frame_equal(mine, theirs)


@pytest.mark.parametrize("key", KEYS)
def test_values_are_declared_ones_and_missing_where_they_may_be(tmp_path, done, key):
    result = done[1] if key == "measured" else analysis(tmp_path).run(key)
    (frame,) = result.synthetic
    assert set(frame.sex) == {"f", "m"} and set(frame.work.dropna()) <= {"no", "part", "full"}
    assert 0.02 < frame.work.isna().mean() < 0.25 and 0.05 < frame.income.isna().mean() < 0.3
    assert (frame.income == 0).mean() > 0.1
    assert result.epsilon == result.epsilon_promised == pytest.approx(2.0)
    assert result.lipschitz_bound is None and result.parts[0].epsilon is None
    assert not result.problems


@pytest.mark.slow
def test_with_little_noise_tables_are_those_of_the_records(tmp_path):
    """At ε = 60 all shares of pairs agree to 1.5 points; at 1 the largest is further off."""
    near, far = (analysis(tmp_path, epsilon=e).run("measured") for e in (60.0, 1.0))

    def worst(result):
        mine, theirs = people(1), result.synthetic[0]
        pairs = [
            pd.crosstab(mine[c].replace({"?": None}).fillna("-"), mine.sex, normalize=True)
            - pd.crosstab(theirs[c].fillna("-"), theirs.sex, normalize=True)
            for c in ("work",)
        ]
        return max(float(p.abs().max().max()) for p in pairs)

    assert worst(near) < 0.015
    assert near.measures.k_marginal > far.measures.k_marginal + 10


@pytest.mark.slow
def test_several_data_sets_differ_and_cost_what_one_costs(tmp_path, usual_scales):
    result = analysis(tmp_path, datasets=3).run("measured")
    assert len(result.synthetic) == 3 and not result.synthetic[0].equals(result.synthetic[1])
    assert result.guarantee.charged(3) == 1
    assert result.guarantee.rho(2.0) == pytest.approx(0.5)


def test_progress_is_of_all_variables(tmp_path, usual_scales):
    told = []
    analysis(tmp_path).reporting(lambda text, share: told.append(text)).run("measured")
    assert "counting and adding noise" in told and "drawing synthetic records" in told
    assert not any(text.startswith("sex") for text in told if "noise" in text or "noisy" in text)


def test_the_same_table_keeps_its_noise(tmp_path, usual_scales):
    """opendp's noise has no seed: asked again, with other percentiles, the measurements are read and not drawn."""
    first = analysis(tmp_path, noise=OpendpNoise()).run("measured")
    again = analysis(tmp_path, noise=OpendpNoise(), percentiles=(25.0,)).run("measured")
    pd.testing.assert_frame_equal(first.synthetic[0], again.synthetic[0])


def test_sets_for_bands_have_noise_of_their_own(done, usual_scales):
    one, result = done
    first, second = one.draw(result, ((64, j) for j in range(2)))
    assert set(first) == {part.name for part in one.parts}
    assert (first["sex"] != second["sex"]).any()


@pytest.mark.parametrize("key", KEYS)
def test_one_variable_without_predictors(tmp_path, key):
    """A lognormal of 2,000 at ε = 5, by the brackets of a guess: within 3 points everywhere (seen: 0.6 to 1.3)."""
    settings = make_settings(outcome="x", model="lognormal", epsilon=5.0, guess=(20.0, 1.4))
    table = load_example("lognormal", 2000, 1)
    result = Analysis(table, settings, Cache(tmp_path), noise=SeededNoise(2)).run(key)
    assert result.ecdf_max < 0.03
    assert result.epsilon_replace == 10.0


def test_a_number_without_declared_cells_is_refused(tmp_path):
    settings = make_settings(outcome="x", model="lognormal", epsilon=5.0)
    table = load_example("lognormal", 300, 1)
    with pytest.raises(InputError, match=r"Measured: 'x' is a number.*Say of it between what half"):
        Analysis(table, settings, Cache(tmp_path)).run("measured")


def test_weights_and_ranges_do_not_enter():
    from synth_core.mechanisms.catalogue import compose

    for likelihood in ("measured", "laplace"):
        with pytest.raises(InputError, match="weights of records do not enter"):
            compose("likelihood", (), likelihood)


def test_an_engine_for_each_likelihood_without_a_posterior():
    from synth_core.mechanisms.likelihoods import LIKELIHOODS

    assert set(ENGINES) == {key for key, each in LIKELIHOODS.items() if not each.samples}


def test_groups_are_chained_where_all_cells_are_too_many(tmp_path, monkeypatch, usual_scales):
    """Each variable in a group of its own, given the synthetic values before it: associations stay."""
    monkeypatch.setattr("synth_core.analysis.measured.model.MAX_CELLS", 10)
    result = replace(analysis(tmp_path), common=COMMON | {"epsilon": 30.0}).run("measured")
    frame = result.synthetic[0]
    part = pd.crosstab(frame.sex, frame.work, normalize="index").loc["f", "part"]
    assert part > 0.5


def test_every_measurement_for_bands_reads_the_table(tmp_path, monkeypatch, usual_scales):
    """The second one and those after it count the confidential values too, not what was drawn before."""
    from synth_core.analysis.engines import measured as engine

    read, measure = [], engine.measure
    monkeypatch.setattr(
        engine,
        "measure",
        lambda public, codes, values, *rest: read.append(values) or measure(public, codes, values, *rest),
    )
    one = analysis(tmp_path)
    result = one.run("measured")
    list(one.draw(result, ((64, j) for j in range(3))))
    assert len(read) == 4  # the result's own, and one for each
    for values in read[1:]:
        for mine, theirs in zip(read[0], values, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.slow
def test_public_cells_cut_in_another_way_are_measured_anew(tmp_path, usual_scales):
    """A public number as a category has other cells: noisy counts of the former are none of the latter's."""
    one = analysis(tmp_path)
    one.run("measured")
    assert len(set(people(1).age)) > 20
    again = replace(one, common=COMMON | {"categorical": ("age",)}, noise=SeededNoise(5))
    frame = again.run("measured").synthetic[0]
    other = analysis(tmp_path / "new", categorical=("age",)).run("measured").synthetic[0]
    pd.testing.assert_frame_equal(frame, other)


def test_named_tables_are_all_that_is_counted_and_are_said(tmp_path, usual_scales):
    named = ("area * sex", "work * income * age")
    result = analysis(tmp_path, count_together=named).run("measured")
    counted = {each.columns for each in result.summary_numbers.counted if not each.fine}
    assert counted == {("area", "sex"), ("age", "work", "income")}
    assert "Named in advance: area * sex, age * work * income." in result.parts[0].result.anchor
    assert "Counted beside them" not in result.parts[0].result.anchor
    fewer = analysis(tmp_path, count_together=named[:1]).run("measured")
    # What nobody named is told by name, and not as "2 of one column" alone.
    told = "Counted beside them: work, income (in no table that is named, so alone)."
    assert told in fewer.parts[0].result.anchor
    more = analysis(tmp_path, count_together=named, choose_more=True).run("measured")
    chosen = [
        each.columns for each in more.summary_numbers.counted if not each.fine and each.columns not in counted
    ]
    assert chosen and all(" * ".join(each) in more.parts[0].result.anchor for each in chosen)
    assert "(chosen by noisy distances)" in more.parts[0].result.anchor
    with pytest.raises(
        InputError, match=r"'town' is no column here: public are age, area, sensitive sex, work"
    ):
        analysis(tmp_path, count_together=("town * sex",)).run("measured")
    with pytest.raises(InputError, match="pure ε counts no table that is chosen"):
        analysis(tmp_path, count_together=named, choose_more=True).run("measured_laplace")


def test_of_a_count_no_guess_is_asked_for_which_makes_no_brackets():
    guessed = make_settings(outcome="visits", model="poisson", guess=(2.0, 1.0))
    with pytest.raises(
        InputError, match=r"'visits' is a count.*Say of it its bounds \(--bounds\), or the edges"
    ):
        require_brackets(guessed, "Measured")


def test_counts_are_whole_and_those_of_a_fine_bin_as_likely(tmp_path):
    variable = Variable("visits", 3, (0.0, 0.0, 10.0, 60.0), True, discrete=True)
    places = (np.arange(30_000) + 0.5) / 30_000
    bins = fine_bins(variable)
    even = 1 / np.bincount(bins.bracket)[bins.bracket]
    for code, least, most in ((0, 0, 0), (1, 1, 9), (2, 10, 60)):
        found = values_of(variable, np.full(len(places), code), even, places)
        assert (found % 1 == 0).all() and (found.min(), found.max()) == (least, most)
    rng = np.random.default_rng(4)
    visits = rng.poisson(3.0, 400)
    table = Table("visits", pd.DataFrame({"visits": visits, "z": rng.integers(0, 2, 400).astype(str)}))
    common = {"predictors": ("z",), "categorical": ("z",), "epsilon": 1.0, "seed": 1}
    block = Block("visits", "poisson", {"bracket_edges": (0, 2, 4, 8, 40)})
    for key in ("measured", "measured_laplace"):
        made = RecordsAnalysis(table, (block,), common, Cache(tmp_path), noise=SeededNoise(3)).run(key)
        assert (made.drawn[0]["visits"] % 1 == 0).all()


def test_the_top_code_of_a_count_and_a_zero_of_its_own_are_drawn_as_they_are_counted(kept):
    """A quarter at the upper bound, whose bracket ends there, was released as one less; and zeros were too many."""
    rng = np.random.default_rng(1)
    visits = np.minimum(rng.poisson(17, 1_000), 20)
    visits[:300] = np.where(np.arange(300) % 3 == 0, 0, visits[:300])
    table = Table("visits", pd.DataFrame({"visits": visits}), False)
    declared = {"bounds": (0.0, 20.0)}, {"bracket_edges": (0.0, 0.0, 12.0, 20.0)}
    for how, numbers in zip(
        declared, ((0, 19, 20), (0,)), strict=True
    ):  # fine bins of brackets hold 19 and 20
        settings = make_settings(outcome="visits", model="poisson", epsilon=20.0, **how)
        values = Analysis(table, settings, kept, noise=SeededNoise(2)).run("measured").synthetic[0]
        for number in numbers:
            assert (values == number).sum() == pytest.approx((visits == number).sum(), abs=12)
        assert values.max() == 20


@pytest.mark.parametrize(("model", "order"), [("ordered", None), ("categorical", False)])
def test_three_categories_that_are_declared_in_an_order_may_be_in_one(model, order, kept):
    """Read as without an order, what goes with them is shrunk: 95 % of a slope were left where there is much noise."""
    rng = np.random.default_rng(4)
    table = Table("t", pd.DataFrame({"x": rng.choice(list("ABC"), 100)}), False)
    settings = make_settings(outcome="x", model=model, categories=tuple("ABC"))
    public, _, _ = cells_of((Analysis(table, settings, kept).fits,), "measured")
    assert public.variables[0].ordered is order


def test_kept_tables_are_of_the_categories_in_their_order(kept):
    """Declared in another order the counts of one category were another's: 70 % of C where 10 % are."""
    rng = np.random.default_rng(4)
    table = Table("t", pd.DataFrame({"x": rng.choice(list("ABC"), 1_000, p=[0.7, 0.2, 0.1])}), False)
    for order in ("ABC", "CBA"):
        settings = make_settings(outcome="x", model="categorical", categories=tuple(order), epsilon=4.0)
        values = Analysis(table, settings, kept).run("measured").synthetic[0]
        assert (values == order.index("A")).mean() == pytest.approx(0.7, abs=0.05)
