"""Units of several records: what is promised for everything about one of them, exactly; what is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.engines import ENGINES
from synth_core.analysis.measured.measuring import measure
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.result_sentences import explained, sentence
from synth_core.analysis.settings import make_settings
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.table import Table
from synth_core.data.units import check_units, unit_numbers, whole_unit_rows
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.censoring import weighted_terms
from synth_core.mechanisms.likelihoods.papers import CENSORED
from synth_core.mechanisms.noise import OpendpNoise, SeededNoise
from synth_core.system.cache import Cache

EPSILON, GRID = 1.0, np.linspace(-4, 4, 401)


def log_posterior(codes, settings):
    """Of a logit on a grid with a flat prior, around an anchor, clamped as a mechanism clamps under these settings."""
    fit = type("Fit", (), {"epsilon": settings.record_epsilon, "n_records": len(codes), "anchored": None})()
    p = expit(GRID)[:, None]
    log_lik = np.log(np.where(codes == 1, p, 1 - p))
    censoring = replace(CENSORED.clamp(fit), anchor=np.full(len(codes), np.log(0.5)))
    found = weighted_terms(log_lik, np.ones(len(codes)), censoring).sum(axis=1)
    return found - logsumexp(found)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_all_values_of_a_unit_together_move_the_posterior_by_no_more_than_epsilon(size, share):
    """Every table of values of one unit, withheld and replaced, by enumeration; the bound of a record exceeds it."""
    others = (np.arange(30) < 30 * share).astype(float)
    given = {"outcome": "x", "model": "categorical", "categories": ("a", "b"), "epsilon": EPSILON}
    unit = make_settings(**given, unit_column="house", unit_size=size)
    record = make_settings(**given)

    def moved(settings):
        without = log_posterior(others, settings)
        tables = [
            log_posterior(np.append(others, values), settings)
            for values in itertools.product([0.0, 1.0], repeat=size)
        ]
        one = max(np.abs(each - without).max() for each in tables)
        both = max(np.abs(a - b).max() for a, b in itertools.combinations(tables, 2))
        return one, both

    one, both = moved(unit)
    assert 0.5 * EPSILON < one <= EPSILON + 1e-9 and both <= 2 * EPSILON + 1e-9
    if size > 1:
        assert moved(record)[0] > 1.2 * EPSILON


# -- measured synthesis ---------------------------------------------------------------------------

N = 120
SICK = Block("sick", "categorical", {"categories": ("no", "yes")})
PAY = Block("pay", "lognormal", {"bounds": (0.0, 100.0)})
COMMON = {"predictors": ("area",), "epsilon": 2.0, "seed": 3, "unit_column": "house", "unit_size": 4}


def households():
    rng = np.random.default_rng(1)
    sizes = [1, 2, 3, 4, 2, 3, 1, 4] * 6
    house = np.repeat(np.arange(48), sizes)[:N]
    return pd.DataFrame(
        {
            "sick": rng.choice(["no", "yes"], N),
            "pay": rng.lognormal(2, 0.4, N),
            "area": rng.choice(["n", "s"], N),
            "house": [f"h{i}" for i in house],
        }
    )


def analysis(tmp_path, frame=None, **changes):
    frame = households() if frame is None else frame
    return RecordsAnalysis(
        Table("people", frame), (SICK, PAY), COMMON | changes, Cache(tmp_path), noise=SeededNoise(5)
    )


class Watched(OpendpNoise):
    """Adds nothing, and writes down what was counted and with how much noise."""

    name = "watched"

    def __init__(self):
        self.seen = []

    def gaussian(self, counts, deviation):
        self.seen.append((counts.copy(), deviation))
        return counts

    def laplace(self, counts, scale):
        return self.gaussian(counts, scale)


def counted(tmp_path, frame, gaussian, **changes):
    from synth_core.analysis.measured.cells import cells_of

    whole = RecordsAnalysis(
        Table("people", frame), (SICK, PAY), COMMON | changes, Cache(tmp_path), noise=SeededNoise(5)
    )
    parts = whole.inputs.parts
    public, codes, values = cells_of(parts, "")
    noise = Watched()
    engine = ENGINES["measured" if gaussian else "laplace"]
    measure(public, codes, values, engine.budget(2.0), noise, None)
    return noise.seen


def spent(here, there, gaussian):
    """What all noisy tables together tell of the values that differ, by the law of the noise."""
    found = 0.0
    for (mine, noise), (theirs, _) in zip(here, there, strict=True):
        gained = np.maximum(mine - theirs, 0)  # what withholding the values takes away
        found += (gained**2).sum() / (2 * noise**2) if gaussian else gained.sum() / noise
    return found


@pytest.mark.parametrize("gaussian", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_what_a_unit_can_move_is_paid_for_in_the_noise_whatever_its_size(
    tmp_path, gaussian, size, monkeypatch
):
    """The worst values of all records of a unit together spend the promise, and hardly less: of singles too."""
    frame = households()
    row = frame.index[frame.house == frame.house.value_counts().loc[lambda n: n == size].index[0]]
    one, other = frame.copy(), frame.copy()
    for each, sick, pay in ((one, "no", 1.0), (other, "yes", 99.0)):
        each.loc[row, ["sick", "pay"]] = sick, pay
    one.loc[row, "area"] = other.loc[row, "area"] = "n"
    promised = 2.0**2 / 8 if gaussian else 2.0
    moved = [counted(tmp_path / k, f, gaussian) for k, f in (("a", one), ("b", other))]
    assert 0.9 * promised < spent(*moved, gaussian) <= promised * (1 + 1e-9)
    if size > 1:  # the mutant: every record counts as one, at the same noise
        monkeypatch.setattr("synth_core.analysis.measured.cells.PublicSide.parts", np.full(N, 2520))
        moved = [counted(tmp_path / k, f, gaussian) for k, f in (("c", one), ("d", other))]
        assert spent(*moved, gaussian) > 1.5 * promised


def test_a_record_that_is_left_out_leaves_what_the_others_of_its_unit_count(tmp_path):
    """Whether a value is missing is no public thing: the size of a unit is that in the table as loaded."""
    from synth_core.analysis.measured.cells import cells_of

    frame = households()
    frame.loc[0, "pay"] = np.nan
    house = frame.house[1:].reset_index(drop=True)
    public, *_ = cells_of(analysis(tmp_path, frame).inputs.parts, "")
    sizes = house.map(households().house.value_counts()).to_numpy()
    np.testing.assert_array_equal(public.records, sizes)
    np.testing.assert_allclose(public.shares, 1 / sizes)
    # The size is a public column too: persons of large and of small units are not taken for alike.
    assert public.names == ("area", "records of each house") and public.shape[-1] == len(np.unique(sizes))


def test_how_persons_of_large_units_differ_is_counted_whatever_tables_are_named(tmp_path):
    seen = counted(tmp_path, households(), True, count_together=("sick * pay",))
    assert [each.shape for each, _ in seen[1:]] == [(1, 2 * 20), (4, 2), (4, 20)]  # 4 sizes of units
    told = analysis(tmp_path / "told", count_together=("sick * pay",)).run("measured").parts[0].result.anchor
    size = "records of each house"
    assert (
        f"Counted beside them: {size} * sick, {size} * pay (so that large and small units may differ)."
        in told
    )


def test_there_is_less_noise_where_a_unit_counts_as_one_than_where_each_record_has_a_part_of_epsilon(
    tmp_path,
):
    """Relative noise of all counts of the last table beside that of ε/4 a record, at 2.5 records a unit on average."""
    seen = counted(tmp_path, households(), True)
    alone = counted(tmp_path, households(), True, unit_column=None, unit_size=1, epsilon=2.0 / 4)
    assert len(seen) == len(alone) + 2  # pairs of the size of the unit
    units = sum(1 / households().house.map(households().house.value_counts()))
    (counts, deviation), (every, noise) = seen[-1], alone[-1]
    assert counts.sum() / 2520 == pytest.approx(units) and every.sum() == N
    assert deviation / counts.sum() == pytest.approx(4 * noise / every.sum() * 2.5 / 4)


def test_the_promise_is_of_a_unit_and_said(tmp_path):
    result = analysis(tmp_path).run("measured")
    assert result.epsilon == pytest.approx(2.0)
    settings = analysis(tmp_path).settings
    said = "ε covers everything sensitive about one 'house', of at most 4 records together."
    assert any(said in each for each in explained(result.summary_numbers, settings)[1])
    lines = explained(result.summary_numbers, settings)[1]
    assert any("is for all values of one 'house' withheld, its rows" in each for each in lines)
    assert said in sentence(result.summary_numbers, settings)
    assert "whether all values of one 'house' were withheld" in sentence(result.summary_numbers, settings)
    assert "house" not in result.synthetic[0]


def test_larger_units_and_records_without_one_are_refused_by_row(tmp_path):
    with pytest.raises(InputError, match=r"ha(s|ve) more than 3 records \(first in row \d+\)"):
        _ = analysis(tmp_path, unit_size=3).table
    frame = households()
    frame.loc[6, "house"] = None
    with pytest.raises(InputError, match=r"1 record has no unit in column 'house' \(first in row 7\)"):
        check_units(Table("t", frame), "house", 4)
    with pytest.raises(InputError, match="'records of each house', a name that is needed here"):
        _ = analysis(
            tmp_path, households().assign(**{"records of each house": 1})
        ).table  # no sizes to rely on
    book = Codebook(columns=(Entry(column="house", kind="category", role="sensitive"),))
    with pytest.raises(InputError, match="'house' is declared sensitive in the codebook, and who belongs"):
        check_units(Table("t", households(), codebook=book), "house", 4)
    with pytest.raises(InputError, match="A size of units belongs to a column of them"):
        make_settings(outcome="x", model="beta", unit_size=2)


def test_a_pilot_reads_whole_units_and_of_single_records_those_it_read_before():
    units = households().house
    rows = whole_unit_rows(units, 0.25, 20)
    assert (pd.Series(rows).groupby(units.to_numpy()).nunique() == 1).all()
    assert 0.25 * N <= rows.sum() < 0.25 * N + 4
    alone = np.zeros(N, dtype=bool)
    alone[np.random.default_rng(20).permutation(N)[: round(0.25 * N)]] = True
    np.testing.assert_array_equal(whole_unit_rows(pd.Series(range(N)), 0.25, 20), alone)


@pytest.mark.parametrize("whole", [True, False])
def test_another_confidential_table_with_records_of_the_same_units_is_refused(tmp_path, whole):
    """ε is said to cover everything about a household: not what a person file says of it that nobody paid for."""
    other = households().assign(pay=lambda t: t.pay * 1.1)
    other["house"] = [*other.house[:3], *(f"z{i}" for i in range(N - 3))]
    settings = {"outcome": "pay", "model": "lognormal", "bounds": (0.0, 100.0), "unit_column": "house"}
    settings |= {"unit_size": 4, "predictors": ("area",)}

    def with_other(table, **how):
        given = {"anchor": "other.csv"} if "anchor" in how else {"risk_reference": "other.csv"}
        given |= {"anchor": how.pop("named")} if "named" in how else {}
        tables = {name: table for name in how}
        if whole:
            made = analysis(tmp_path, **given)
            return replace(made, **tables).table
        return Analysis(
            Table("people", households()), make_settings(**settings | given), Cache(tmp_path), **tables
        )

    for where in ("anchor", "reference"):
        with pytest.raises(InputError, match=rf"2 units in column 'house' .* 3 rows, in the {where}'s") as no:
            with_other(Table("other", other), **{where: 1})
        assert "h0" not in str(no.value)
        assert ("public:FILE" in str(no.value)) == (where == "anchor")  # a reference cannot be named so
        with_other(Table("other", other, confidential=False), **{where: 1})
        with_other(Table("other", other.drop(columns="house")), **{where: 1})
    with_other(Table("other", other), anchor=1, named="release:other.csv")


def of_pay(tmp_path, **changes):
    settings = {"outcome": "pay", "model": "lognormal", "bounds": (0.0, 100.0), "epsilon": 2.0}
    settings |= {"predictors": ("area",), "unit_column": "house", "unit_size": 4, "percentiles": (50.0,)}
    return Analysis(Table("people", households()), make_settings(**settings | changes), Cache(tmp_path))


@pytest.mark.stan
@pytest.mark.parametrize("key", ["unweighted", "weighted", "exponential", "weighted_e"])
def test_a_measured_epsilon_is_of_what_a_unit_does_at_each_draw(tmp_path, key):
    """The sum of its records' weighted terms, by a plain loop; a record of a large unit has that of all."""
    one = of_pay(tmp_path)
    result = one.run(key)
    draws = one.refit(result).draws
    terms = result.weights * one.model.log_lik(draws, slice(None))
    house = households().house.to_numpy()
    for place in range(0, N, 7):
        together = terms[:, house == house[place]].sum(axis=1)
        assert result.lipschitz_bounds[place] == pytest.approx(np.abs(together).max(), rel=1e-9)
    alone = replace(one, settings=one.settings.model_copy(update={"unit_column": None, "unit_size": 1}))
    assert result.epsilon == 2 * result.lipschitz_bounds.max()
    assert result.epsilon_replace is None and result.oscillation_joint is None  # not searched for
    if key == "unweighted":
        assert result.epsilon > 1.5 * alone.run(key).epsilon
        np.testing.assert_array_equal(result.synthetic, alone.run(key).synthetic)  # nothing is weighted
    said = sentence(result.summary_numbers, one.settings)
    assert "bounds what withholding all values of one 'house' changes" in said
    lines = " ".join(explained(result.summary_numbers, one.settings)[1])
    assert "their terms are added up, draw by draw" in lines and "no bound on odds" in lines


@pytest.mark.stan
def test_a_clamped_bound_is_of_all_records_of_a_unit_too(tmp_path):
    """Of each record at most a fourth of ε/2; the bound of one record was shown beside the ε of the unit."""
    one = of_pay(tmp_path)
    result = one.run("censored")
    draws, bound = one.refit(result).draws, 2.0 / 4 / 2
    terms = np.clip(one.model.log_lik(draws, slice(None)), -bound, bound)
    house = households().house.to_numpy()
    for place in range(0, N, 7):
        together = terms[:, house == house[place]].sum(axis=1)
        assert result.lipschitz_bounds[place] == pytest.approx(np.abs(together).max(), rel=1e-9)
    assert bound < result.lipschitz_bounds.max() <= result.epsilon / 2 == 1.0
    assert result.n_censored == (np.abs(one.model.log_lik(draws, slice(None))).max(axis=0) > bound).sum()


@pytest.mark.stan
def test_weights_are_of_the_unit_and_so_is_what_they_aim_at(tmp_path):
    """All records of a unit have one weight, and a single weight halves what the most telling unit does."""
    one = of_pay(tmp_path)
    weights = pd.Series(one.run("weighted").weights).groupby(households().house.to_numpy())
    assert (weights.nunique() == 1).all() and weights.first().nunique() > 5
    risk = one.fits.unweighted_bounds().lipschitz_bound
    assert one.run("exponential").weights == pytest.approx(np.full(N, min(1.0, 2.0 / (2 * risk))))


@pytest.mark.stan
def test_of_several_variables_a_member_without_a_value_has_what_its_unit_does(tmp_path):
    """Of a unit whose members have one value each the terms of both are its own: no member has both."""
    frame = households()
    frame["job"] = np.where(np.arange(N) % 2, "a", "b")
    frame["job"] = frame.job.where(np.arange(N) % 3 > 0)
    frame["pay"] = frame.pay.where(np.arange(N) % 3 < 2)
    blocks = (
        Block("job", "categorical", {"categories": ("a", "b")}, missing=()),
        Block("pay", "lognormal", missing=()),
    )
    given = {"predictors": ("area",), "draws": 200, "unit_column": "house", "unit_size": 4}
    whole = RecordsAnalysis(Table("people", frame), blocks, given, Cache(tmp_path))
    result = whole.run("unweighted")
    house, expected = frame.house.to_numpy(), np.zeros(N)
    highest, lowest = np.zeros((2, N))
    for each, fit in zip(whole.analyses(False), result.fits, strict=True):
        complete = each.selection.complete
        terms = np.zeros((each.fits.unweighted()[0].n_draws, N))
        terms[:, complete] = each.model.log_lik(each.refit(fit).draws, slice(None))
        for place in range(N):
            together = terms[:, house == house[place]].sum(axis=1)
            highest[place] += together.max()
            lowest[place] += together.min()
    expected = np.maximum(highest, -lowest)
    np.testing.assert_allclose(result.lipschitz_bounds, expected, rtol=1e-9)
    assert result.epsilon == 2 * expected.max()
    assert result.epsilon == pytest.approx(2 * whole.unweighted_bound)


@pytest.mark.stan
@pytest.mark.parametrize("whole", [True, False])
def test_weights_are_frozen_on_a_reference_with_units_of_its_own(tmp_path, whole):
    """Of whole records its column of units was not read, and it was said to have none; a record may name no unit."""
    other = households().assign(pay=lambda t: t.pay * 1.1, house=lambda t: "q" + t.house)
    other["sick"] = other.sick.to_numpy()[::-1]
    other.loc[[0, 5, 6], "house"] = None
    reference = Table("other", other)
    if whole:
        made = replace(analysis(tmp_path, risk_reference="other"), reference=reference)
        weights = made.run("weighted").fits[-1].weights
    else:
        settings = of_pay(tmp_path).settings.model_copy(update={"risk_reference": "other"})
        made = Analysis(Table("people", households()), settings, Cache(tmp_path), reference=reference)
        weights = made.run("weighted").weights
    of_house = pd.Series(weights).groupby(households().house.to_numpy())
    assert (of_house.nunique() == 1).all() and of_house.first().nunique() > 5
    assert unit_numbers(reference, "house")[[0, 5, 6]].tolist() == [47, 48, 49]


def test_the_histogram_of_units_has_the_noise_of_all_their_records(tmp_path):
    """One unit of four replaced moves counts by eight in all: the noise is that of a fourth of epsilon."""
    one = of_pay(tmp_path)
    mine = replace(one, noise=SeededNoise(3)).run("histogram")
    settings = one.settings.model_copy(update={"unit_column": None, "unit_size": 1, "epsilon": 0.5})
    other = replace(one, settings=settings, cache=Cache(tmp_path / "other"), noise=SeededNoise(3)).run(
        "histogram"
    )
    np.testing.assert_array_equal(mine.synthetic, other.synthetic)
    assert mine.epsilon == 2.0
    lines = " ".join(explained(mine.summary_numbers, one.settings)[1])
    assert "is for all values of one 'house' replaced" in lines and "each has ε/4" in lines


def test_a_sensitive_range_of_units_is_refused_and_a_reference_without_them(tmp_path):
    with pytest.raises(InputError, match="says nothing of a unit of several"):
        of_pay(tmp_path, range=(0.5, 2.0)).run("range_averaged")
    settings = of_pay(tmp_path).settings.model_copy(update={"risk_reference": "other.csv"})
    other = Table("other", households().drop(columns="house").assign(pay=lambda t: t.pay * 1.1), False)
    with pytest.raises(InputError, match="reference has no column 'house'"):
        Analysis(Table("people", households()), settings, Cache(tmp_path), reference=other).run("weighted")


@pytest.mark.slow
@pytest.mark.stan
def test_clamped_terms_of_records_have_their_part_of_the_bound(tmp_path):
    settings = make_settings(
        outcome="pay",
        model="lognormal",
        guess=(8.0, 0.5),
        unit_column="house",
        unit_size=4,
        epsilon=8.0,
        draws=300,
    )
    one = Analysis(Table("people", households()), settings, Cache(tmp_path))
    for key in ("censored", "anchored"):
        weighted = one.weighted(find_mechanism(key))
        assert weighted.censoring.bound == pytest.approx(8.0 / 2 / 4)
        result = one.run(key)
        said = "ε covers everything sensitive about one 'house', of at most 4 records together."
        assert any(said in each for each in explained(result.summary_numbers, settings)[1])
        assert result.epsilon == 8.0 and result.lipschitz_bounds.max() <= 4.0 + 1e-9  # epsilon / 2 of a unit
    loose = replace(one, settings=settings.model_copy(update={"unit_column": None, "unit_size": 1}))
    assert loose.weighted(find_mechanism("censored")).censoring.bound == 4.0


@pytest.mark.parametrize(
    ("role", "named"), [({"predictors": ("age", "home")}, "predictor"), ({"weight": "home"}, "survey weight")]
)
def test_units_are_no_column_that_is_released_as_it_is(role, named):
    """Their identifiers would leave beside the new ones."""
    refused = f"'home' names the units of several records and cannot be a {named} too: a {named} is released as it is"
    with pytest.raises(InputError, match=refused):
        make_settings(outcome="pay", model="lognormal", unit_column="home", **role)
