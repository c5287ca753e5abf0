"""Measures of whole tables against pandas, SciPy and simulation."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats
from scipy.stats.contingency import association

from synth_core.analysis.records import measures
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.discretise import DiscretisedTables, discretise
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.table import whole_records
from synth_core.analysis.summary import pairs_of
from synth_core.data.table import Table
from tests.support.marks import slow_but


def tables(rng, n=300, m=260, codes=(2, 3, 4, 5)):
    mine, theirs = (np.column_stack([rng.integers(0, k, size) for k in codes]) for size in (n, m))
    return DiscretisedTables(tuple("abcd"[: len(codes)]), mine, theirs, codes)


def test_k_marginals_against_pandas(rng):
    t = tables(rng)
    distances = []
    for columns in itertools.combinations("abcd", 3):
        shares = [
            pd.DataFrame(x, columns=list("abcd")).value_counts(list(columns), normalize=True)
            for x in (t.confidential, t.synthetic)
        ]
        distances.append(0.5 * shares[0].sub(shares[1], fill_value=0).abs().sum())
    sets = measures.marginals(4, 1)
    found = measures.k_marginal_score(t.confidential, t.synthetic, t.n_codes, sets)
    assert found == pytest.approx(1000 * (1 - np.mean(distances)))
    assert measures.k_marginal_score(t.confidential, t.confidential, t.n_codes, sets) == 1000
    assert measures.k_marginal_score(t.confidential, t.confidential[::-1], t.n_codes, sets) == 1000


def test_a_sample_equals_itself(rng):
    t = tables(rng, n=4000)
    sets = measures.marginals(4, 1)
    for share in (0.1, 0.4):
        samples = [rng.choice(4000, int(share * 4000), replace=False) for _ in range(20)]
        scores = [
            measures.k_marginal_score(t.confidential, t.confidential[rows], t.n_codes, sets)
            for rows in samples
        ]
        found = measures.equal_sample(t, sets, np.mean(scores), 3)
        # What a score lacks to 1000 varies by about 6 % between samples, the mean of five by 3 %, odds by twice that.
        assert found / (1 - found) == pytest.approx(share / (1 - share), rel=0.2)
    assert measures.equal_sample(t, sets, 1000.0, 3) == 1
    assert measures.equal_sample(t, sets, 100.0, 3) < 0.01


def test_propensity_against_a_general_minimiser(rng):
    t = tables(rng, codes=(2, 3))
    both = np.vstack([t.confidential, t.synthetic])
    y = np.repeat([0, 1], [300, 260])
    design = np.column_stack([np.ones(560), both[:, 0] == 1, both[:, 1] == 1, both[:, 1] == 2]).astype(float)
    fit = optimize.minimize(
        lambda b: (np.logaddexp(0, design @ b) - y * (design @ b)).sum(), np.zeros(4), tol=1e-12
    )
    p = 1 / (1 + np.exp(-design @ fit.x))
    c = 260 / 560
    pmse, ratio = measures.propensity(t)
    assert pmse == pytest.approx(np.mean((p - c) ** 2), rel=1e-4)
    assert ratio == pytest.approx(pmse / (3 * (1 - c) ** 2 * c / 560))


def test_ratio_is_1_on_average_for_tables_of_one_distribution():
    """100 tables: pMSE / expectation is chi-squared with k - 1 = 10 degrees, divided by 10; doubled for samples."""
    rng = np.random.default_rng(6)
    again, another = [], []
    for _ in range(100):
        t = tables(rng, 400, 400)
        another.append(measures.propensity(t)[1])
        drawn = t.confidential[rng.integers(0, 400, 400)]
        again.append(measures.propensity(DiscretisedTables(t.names, t.confidential, drawn, t.n_codes))[1])
    for found, expected in ((again, 1), (another, 2)):
        assert np.mean(found) == pytest.approx(expected, abs=4 * expected * np.sqrt(2 / 10 / 100))
        assert stats.kstest(np.array(found) * 10 / expected, stats.chi2(10).cdf).pvalue > 1e-3


@pytest.mark.parametrize("kept", slow_but([True], [True, False]))
def test_ratio_is_1_given_the_predictors_where_only_sensitive_columns_are_drawn(kept):
    """Chi-squared with the 3 coefficients of sensitive columns, over 3, whichever rows' predictors the synthetic have.

    From the confidential table's own shares given the predictor: 1; from the population's: 2, that table varies too.
    """
    rng, n, runs = np.random.default_rng(9), 600, 150
    shares = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    found = {"own": [], "population": []}
    for _ in range(runs):
        z = rng.integers(0, 3, n)
        first, second = ((rng.random(n)[:, None] > shares[z].cumsum(axis=1)).sum(axis=1) for _ in range(2))
        mine = np.column_stack([z, z % 2, first, np.minimum(second, 1)])
        rows = np.arange(n) if kept else rng.choice(n, n)
        for who, x in (
            ("own", [rng.choice(np.flatnonzero(z == level)) for level in z[rows]]),
            ("population", None),
        ):
            if x is None:
                drawn = [
                    (rng.random(n)[:, None] > shares[z[rows]].cumsum(axis=1)).sum(axis=1) for _ in range(2)
                ]
                sensitive = np.column_stack([drawn[0], np.minimum(drawn[1], 1)])
            else:
                sensitive = mine[x][:, 2:]
            theirs = np.column_stack([mine[rows][:, :2], sensitive])
            tables = DiscretisedTables(("z", "odd", "a", "b"), mine, theirs, (3, 2, 3, 2), n_public=2)
            found[who].append(measures.propensity(tables)[1])
    for who, expected in (("own", 1.0), ("population", 2.0)):
        ratios = np.array(found[who])
        if kept:
            assert stats.kstest(3 * ratios / expected, stats.chi2(3).cdf).pvalue > 1e-3
            assert ratios.mean() == pytest.approx(expected, abs=4 * expected * np.sqrt(2 / 3 / runs))
        elif who == "own":  # the part of the predictors is in both
            assert ratios.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / 3 / runs))


def test_sets_of_public_columns_do_not_count():
    """Five public columns and a sensitive one that is wrong in every row: nothing is right about it."""
    rng = np.random.default_rng(4)
    public = rng.integers(0, 3, (200, 5))
    tables = DiscretisedTables(
        tuple("vwxyzs"),
        np.column_stack([public, np.zeros(200, dtype=int)]),
        np.column_stack([public, np.ones(200, dtype=int)]),
        (3, 3, 3, 3, 3, 2),
        n_public=5,
    )
    assert measures.measure(tables, 1).k_marginal == 0
    assert len(measures.marginals(6, 1, n_public=5)) == 10


def test_a_table_that_is_coded_knows_its_public_columns(rng):
    frame = pd.DataFrame({"a": ["x", "y"] * 5, "b": ["u", "v"] * 5, "s": ["f", "m"] * 5})
    blocks = [Block("s", "categorical", {"categories": ("f", "m")})]
    records = whole_records(Table("t", frame), blocks, ("a", "b"))
    assert discretise(records, blocks, frame[["s"]], ("a", "b")).n_public == 2


def test_ratio_grows_where_tables_differ(rng):
    t = tables(rng)
    shifted = DiscretisedTables(t.names, t.confidential, np.zeros_like(t.synthetic), t.n_codes)
    assert measures.propensity(shifted)[1] > 10  # finite, though the columns separate the tables


def test_association_against_scipy(rng):
    a = rng.integers(0, 3, 500)
    b = np.where(rng.random(500) < 0.7, a, rng.integers(0, 4, 500))
    expected = association(pd.crosstab(a, b).to_numpy(), method="cramer")
    assert measures.cramers_v(a, b) == pytest.approx(expected)
    assert measures.cramers_v(a, a) == pytest.approx(1.0)
    assert measures.cramers_v(a, np.zeros(500, dtype=int)) == 0.0
    t = DiscretisedTables(
        ("a", "b"), np.column_stack([a, b]), np.column_stack([a, rng.permutation(b)]), (3, 4)
    )
    worst, mean, pair = measures.association_difference(t)
    assert worst == mean
    assert pair == ("a", "b")
    assert worst == pytest.approx(abs(expected - measures.cramers_v(t.synthetic[:, 0], t.synthetic[:, 1])))


def test_pairs_of_public_columns_alone_do_not_lower_the_mean_association(rng):
    """A pair of two predictors is the same in both tables: with it the mean was told over 15 pairs."""
    t = tables(rng, m=300)
    wide = replace(
        t,
        names=("p1", "p2", *t.names),
        confidential=np.hstack([t.confidential[:, :1], t.confidential[:, :1], t.confidential]),
        synthetic=np.hstack([t.confidential[:, :1], t.confidential[:, :1], t.synthetic]),
        n_codes=(2, 2, *t.n_codes),
        labels=tuple(tuple(map(str, range(k))) for k in (2, 2, *t.n_codes)),
        n_public=2,
    )
    mean, shown = measures.association_difference(wide)[1], pairs_of(wide, set(t.names))
    assert mean == pytest.approx(np.mean([pair.association for pair in shown]))
    of_all = measures.association_difference(replace(wide, n_public=0))[1]
    assert (
        mean == pytest.approx(of_all * len(list(itertools.combinations(wide.names, 2))) / len(shown))
        and mean > of_all
    )


def test_codes_are_the_same_in_both_tables(rng):
    n = 200
    frame = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "pay": rng.lognormal(3, 1, n), "area": ["x", "y"] * 100}
    )
    frame.loc[:9, "pay"], frame.loc[10:29, "pay"] = np.nan, 0.0
    blocks = [Block("sex", "categorical", {"categories": ("f", "m", "x")}), Block("pay", "two_part", {}, ())]
    records = whole_records(Table("t", frame), blocks, ("area",))
    synthetic = pd.DataFrame({"sex": ["x"] * n, "pay": [0.0, np.nan, 1e9, -5.0] * 50})
    found = discretise(records, blocks, synthetic, ("area",))
    assert found.names == ("area", "sex", "pay")
    np.testing.assert_array_equal(found.confidential[:, 0], found.synthetic[:, 0])
    assert set(found.synthetic[:, 1]) == {2}
    pay = found.confidential[:, 2]
    missing = pay.max()
    assert (pay[:10] == missing).all()
    assert (pay[10:30] == 0).all()
    counts = np.bincount(pay[30:])[1:]
    assert counts.max() - counts[counts > 0].min() <= 1  # deciles
    np.testing.assert_array_equal(found.synthetic[:4, 2], [0, missing, missing - 1, 1])


def test_codes_of_areas_are_no_numbers_and_put_in_no_bins(rng):
    """Areas of two kinds in turn: in bins of neighbours their tie with a variable was hardly seen, 0.1 for 0.6."""
    area = rng.integers(1, 31, 3000)
    sick = np.where(rng.random(3000) < np.where(area % 2, 0.8, 0.2), "yes", "no")
    frame = pd.DataFrame({"area": area, "sick": sick})
    block = Block("sick", "categorical", {"categories": ("no", "yes")})
    records = whole_records(Table("t", frame), (block,), ("area",), categorical=("area",))
    synthetic = pd.DataFrame({"sick": rng.permutation(sick)})
    tables = discretise(records, (block,), synthetic, ("area",), categorical=("area",))
    assert tables.n_codes == (30, 2) and tables.labels[0][:2] == ("1", "2")
    counts = [pd.crosstab(area, side).to_numpy() for side in (sick, synthetic["sick"])]
    tied = [association(each, "cramer") for each in counts]
    assert measures.association_difference(tables)[0] == pytest.approx(tied[0] - tied[1]) and tied[0] > 0.5
    as_number = discretise(records, (block,), synthetic, ("area",))
    assert as_number.n_codes[0] < 12 and measures.association_difference(as_number)[0] < 0.2
    judged = RecordsAnalysis(
        Table("t", frame), (block,), {"predictors": ("area",), "categorical": ("area",)}, None
    ).judge.discretised(synthetic)
    assert judged.n_codes == (30, 2)
