"""What stands out in a synthetic table: against naive loops, and against chance where nothing does."""

import itertools
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy

from synth_core.analysis.check import table_check
from synth_core.analysis.check.shape import shape_of
from synth_core.analysis.check.table_check import SensitiveValues, TableCheck, chance, check_table, coded
from synth_core.analysis.check.triples import SAMPLED
from synth_core.analysis.check.unlikely import ALPHA, FACTOR, Unlikely, unlikely
from synth_core.analysis.check.words import groups_words, unlikely_words, variables_words
from synth_core.analysis.records.discretise import DiscretisedTables, code_columns
from synth_core.analysis.utility import distance_of
from synth_core.data.survey_weights import Survey


def tables_of(rng, n=400, n_synthetic=900):
    """Two public and two sensitive columns; in one of the tables a dependence is lost."""

    def side(size, tied):
        age = rng.integers(0, 4, size)
        area = rng.integers(0, 3, size)
        degree = np.where((age == 0) & tied, 0, rng.integers(0, 5, size))
        work = np.where((degree == 0) & (rng.random(size) < 0.95), 0, rng.integers(0, 3, size))
        return np.column_stack([age, area, degree, work])

    labels = tuple(tuple(f"{name}{code}" for code in range(5)) for name in "abcd")
    return DiscretisedTables(
        ("age", "area", "degree", "work"), side(n, True), side(n_synthetic, False), (4, 3, 5, 3), labels, 2
    )


def naive_unlikely(tables):
    """A double loop over columns and values with counts by hand."""
    n, n_synthetic = len(tables.confidential), len(tables.synthetic)
    cells = {}
    for j in range(tables.n_public, len(tables.names)):
        for b in range(tables.n_codes[j]):
            cells[(j,), (b,)] = [
                sum(row[j] == b for row in side) for side in (tables.confidential, tables.synthetic)
            ]
        for i in range(j):
            for a, b in itertools.product(range(tables.n_codes[i]), range(tables.n_codes[j])):
                cells[(i, j), (a, b)] = [
                    sum(row[i] == a and row[j] == b for row in side)
                    for side in (tables.confidential, tables.synthetic)
                ]
    cells = {cell: counts for cell, counts in cells.items() if counts[1]}

    def excess(columns, codes):
        """Of a pair: how much too frequent the more frequent of its sensitive values is."""
        ratios = [1.0]
        for cell in zip(columns, codes, strict=True):
            c, k = cells.get(((cell[0],), (cell[1],)), (1, 0))
            ratios.append(k / n_synthetic * n / max(c, 1))
        return max(ratios) if len(columns) == 2 else 1.0

    def chance(c, k, ratio):
        return sum(scipy.stats.binom.pmf(x, c + k, n / (n + n_synthetic * ratio)) for x in range(c + 1))

    odd = {
        cell
        for cell, (c, k) in cells.items()
        if k / n_synthetic >= FACTOR * excess(*cell) * c / n
        and chance(c, k, excess(*cell)) < ALPHA / 2 / len(cells)  # the other half is of triples
    }
    alone = {(columns[0], codes[0]) for columns, codes in odd if len(columns) == 1}
    odd = {
        (columns, codes)
        for columns, codes in odd
        if len(columns) == 2 and not any(each in alone for each in zip(columns, codes, strict=True))
    }
    hits = [
        sum(any(all(row[j] == b for j, b in zip(*cell, strict=True)) for cell in odd) for row in side)
        / len(side)
        for side in (tables.confidential, tables.synthetic)
    ]
    return odd, hits


@pytest.mark.parametrize("seed", [1, 2])
def test_unlikely_combinations_against_a_naive_double_loop(seed):
    tables = tables_of(np.random.default_rng(seed))
    odd, (confidential, synthetic) = naive_unlikely(tables)
    found = unlikely(tables)
    assert (
        odd
        and found.share == pytest.approx(synthetic)
        and found.confidential_share == pytest.approx(confidential)
    )
    told = {
        (each.given, each.given_value, each.column, value)
        for each in found.combinations
        for value in each.values
        if " and " not in each.given_value  # of a triple
    }
    named = {
        (tables.names[i], tables.labels[i][a], tables.names[j], tables.labels[j][b]) for (i, j), (a, b) in odd
    }
    assert told == named
    worst = found.combinations[0]
    assert (worst.given, worst.given_value, worst.column) == ("age", "a0", "degree") and worst.count == 0
    assert worst.expected == pytest.approx(worst.of_all * len(tables.confidential))


def test_three_values_that_never_meet_are_found_where_each_pair_is_usual():
    """Of married women none works, of married men all, of others half: every pair is as frequent as it was."""
    rng = np.random.default_rng(4)
    sex, married, work, area = rng.integers(0, 2, (4, 3000))
    work = np.where(married == 1, sex, work)
    mine = np.column_stack([area, sex, married, work])
    theirs = np.column_stack([area, sex, married, rng.permutation(work)])
    labels = (("n", "s"), ("f", "m"), ("no", "yes"), ("no", "yes"))
    tables = DiscretisedTables(("area", "sex", "married", "work"), mine, theirs, (2,) * 4, labels, 2)
    found = unlikely(tables)
    told = {(each.given, each.given_value, each.column, each.values): each for each in found.combinations}
    assert set(told) == {
        ("sex", "f and married yes", "work", ("yes",)),
        ("sex", "m and married yes", "work", ("no",)),
    }
    of_women = told["sex", "f and married yes", "work", ("yes",)]
    rows = theirs[(theirs[:, 1] == 0) & (theirs[:, 2] == 1)]
    assert of_women.share == pytest.approx((rows[:, 3] == 1).mean()) and of_women.confidential_share == 0.0
    wrong = [(side[:, 2] == 1) & (side[:, 3] != side[:, 1]) for side in (mine, theirs)]
    assert (found.confidential_share, found.share) == (0.0, pytest.approx(wrong[1].mean()))
    assert found.n_triples == 4 and found.n_pairs == 5
    check = TableCheck((), (), 0, found, ())
    assert (
        "of those with sex f and married yes, 54 % have work yes (0 % of the confidential"
        in unlikely_words(check)
    )


def test_where_nothing_is_found_the_words_claim_no_more_than_was_looked_for():
    """ "None" stood over a map with framed cells that only the synthetic table has; of samples nothing was said."""
    check = TableCheck((), (), 0, Unlikely(0.0, 0.0, (), {}, 15, 20, True), ())
    assert unlikely_words(check) == (
        "None is far more frequent than in the confidential table, beyond chance: 15 pairs of columns and 20 sets of "
        "three. Sets of three are counted on 50,000 records of a table, at random: it has more."
    )
    rng = np.random.default_rng(3)
    sides = (rng.integers(0, 2, (SAMPLED + 1, 3)), rng.integers(0, 2, (100, 3)))
    assert unlikely(DiscretisedTables(("a", "b", "c"), *sides, (2,) * 3, (("u", "v"),) * 3)).triples_sampled


def test_a_value_that_hardly_occurs_is_not_counted_again_in_each_pair(rng):
    mine, theirs = np.zeros((500, 3), dtype=int), np.zeros((500, 3), dtype=int)
    mine[:, 0], theirs[:, 0] = rng.integers(0, 3, 500), rng.integers(0, 3, 500)
    theirs[:100, 2] = 1  # nobody has it in the confidential table
    found = unlikely(DiscretisedTables(("a", "b", "c"), mine, theirs, (3, 1, 2), (("0", "1", "2"),) * 3, 1))
    assert found.values == {"c": (1,)} and not found.combinations and found.share == 0


def test_pairs_of_a_value_that_is_too_frequent_by_itself_are_not_named(rng):
    """Half of the confidential table's income is lost in the lowest class: that is said of the variable alone."""
    n = 4000
    age, mine = rng.integers(0, 5, (n, 1)), (rng.random((n, 1)) < 0.92).astype(int)
    theirs = (rng.random((n, 1)) < 0.25).astype(int)
    labels = (tuple("01234"), ("low", "high"))
    found = unlikely(
        DiscretisedTables(("age", "pay"), np.hstack([age, mine]), np.hstack([age, theirs]), (5, 2), labels, 1)
    )
    assert not found.combinations


@pytest.mark.slow
def test_two_samples_of_one_population_have_nothing_that_stands_out():
    """300 pairs of samples with rare combinations: ALPHA of them at most may have an unlikely one.

    3 are expected at most; 10 or more of 300 at a chance of 0.01 each have probability 0.001.
    """
    wrong = groups = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        age = rng.integers(0, 30, 300)
        shares = np.array([0.6, 0.3, 0.08, 0.018, 0.002])
        degree, pay = rng.choice(5, (2, 300), p=shares).astype(float), rng.lognormal(3, 1, (2, 300))
        variables = [
            SensitiveValues("degree", degree[0], degree[1:], tuple("abcde")),
            SensitiveValues("pay", pay[0], pay[1:]),
        ]
        check = check_table(variables, pd.DataFrame({"age": age}))
        wrong += bool(check.unlikely.combinations)
        groups += bool(check.groups)
    assert wrong < 10 and groups < 10


def test_what_a_release_that_was_let_pass_had():
    """Negative incomes, and children with degrees: each is said, in words, of the right variable."""
    rng = np.random.default_rng(3)
    n = 3000
    age = rng.integers(5, 90, n)
    degree = np.where(age < 18, 0, rng.integers(0, 4, n)).astype(float)
    pay = np.where(rng.random(n) < 0.001, -500.0, rng.lognormal(10, 1, n).round())
    made = rng.integers(0, 4, (2, n)).astype(float)
    negative = np.where(rng.random((2, n)) < 0.08, -rng.lognormal(8, 1, (2, n)), rng.lognormal(10, 1, (2, n)))
    missing = np.where(rng.random((2, n)) < 0.3, np.nan, negative)
    variables = [
        SensitiveValues("degree", degree, made, ("none", "BA", "MA", "PhD")),
        SensitiveValues("pay", pay, missing),
    ]
    check = check_table(variables, pd.DataFrame({"age": age}))
    by_name = {fit.name: {share.name: share for share in fit.shares} for fit in check.variables}
    below = by_name["pay"]["below zero"]
    assert below.synthetic == pytest.approx((missing < 0).mean()) and below.confidential == (pay < 0).mean()
    assert set(by_name["pay"]) >= {"missing", "below the smallest confidential value"}
    assert by_name["pay"]["below the smallest confidential value"].synthetic == pytest.approx(
        (missing < pay.min()).mean()
    )
    first = check.unlikely.combinations[0]
    assert (first.given, first.column, first.confidential_share) == ("age", "degree", 0.0)
    assert set(first.values) == {"BA", "MA", "PhD"} and first.share == pytest.approx(0.75, abs=0.05)
    assert check.unlikely.share == pytest.approx((made > 0)[:, age < 13].sum() / made.size, rel=0.1)
    assert "below zero" in variables_words(check) and "of those with age below" in unlikely_words(check)
    assert "degree of those with age below" in groups_words(check)


def test_a_small_share_is_told_and_warns_of_nothing():
    """Four of a thousand values lie below the smallest: that is said; ten times as many warn."""
    rng = np.random.default_rng(2)
    pay, made = rng.uniform(10, 20, 5000), rng.uniform(10, 20, 5000)
    told = {}
    for n in (0, 20, 200):
        made[:n] = 5.0
        told[n] = check_table([SensitiveValues("pay", pay, made[None, :])], pd.DataFrame()).variables[0]
    assert not told[0].shares and not told[0].stands_out
    assert [share.name for share in told[20].shares] == ["below the smallest confidential value"]
    assert not told[20].stands_out and told[200].stands_out


def test_the_limit_of_chance_is_exceeded_as_often_as_said():
    """5 % at most, about: in 2,000 pairs of samples with a standard error of 0.5 points."""
    rng, n, shares = np.random.default_rng(5), 100, np.array([0.4, 0.3, 0.2, 0.1])
    limit = chance((n, n), None, 0.05)
    assert limit == pytest.approx(scipy.stats.kstwobign.isf(0.05) * np.sqrt(2 / n), rel=0.01)
    mine, theirs = (rng.multinomial(n, shares, 2000) / n for _ in range(2))
    assert (0.5 * np.abs(mine - theirs).sum(axis=1) > chance((n, n), shares, 0.05)).mean() < 0.065


def test_columns_of_names_are_left_out_and_labels_are_read(rng):
    n = 400
    public = pd.DataFrame(
        {"name": [f"n{i}" for i in range(n)], "empty": [np.nan] * n, "area": ["x", "y"] * 200}
    )
    tables, left_out = coded([SensitiveValues("s", np.zeros(n), np.ones((1, n)), ("f", "m"))], public)
    assert (
        left_out == ("name",) and tables.names == ("area", "s") and tables.labels == (("x", "y"), ("f", "m"))
    )


def test_a_value_that_the_first_column_has_nowhere_is_not_missing():
    mine, theirs, labels = code_columns(pd.Series([1.0, 2.0, np.nan]), pd.Series([3.0, np.nan, 1.0]), None)
    assert (
        mine.tolist() == [0, 1, 3] and theirs.tolist() == [2, 3, 0] and labels == ("1", "2", "another value")
    )


def test_columns_of_any_kind_and_empty_data_sets_are_compared(rng):
    n = 300
    public = pd.DataFrame(
        {
            "yes": rng.random(n) < 0.5,
            "whole": pd.array([*rng.integers(0, 50, n - 1), None], dtype="Int64"),
            "mixed": [1, "a", None] * 100,
            "one": ["x"] * n,
        }
    )
    codes = rng.integers(0, 2, n).astype(float)
    for made in (np.full((2, n), np.nan), np.zeros((1, n))):
        variables = [
            SensitiveValues("x", rng.normal(size=n), made),
            SensitiveValues("c", codes, np.full((len(made), n), np.nan), ("u", "v")),
        ]
        check = check_table(variables, public)
        assert all(fit.stands_out for fit in check.variables) and "missing: 100 %" in variables_words(check)
    same = check_table([SensitiveValues("x", np.full(n, 3.0), np.full((1, n), 3.0))], pd.DataFrame())
    assert (
        variables_words(same) == "x off by 0.0 points." and not same.unlikely.combinations and not same.groups
    )


def test_the_distance_of_a_group_is_a_mean_over_all_data_sets():
    """A first data set that is good hid two that are not, and a bad one hid two that are good."""
    rng = np.random.default_rng(8)
    sex, pay = rng.choice(["f", "m"], 2_000), rng.lognormal(3, 1, 2_000)
    good, bad = pay * rng.uniform(0.99, 1.01, 2_000), pay * np.where(sex == "f", 3.0, 1.0)
    public, alone = pd.DataFrame({"sex": sex}), distance_of(pay[sex == "f"], bad[sex == "f"], None).ecdf_max
    for sets in ((good, bad, bad), (bad, good, good)):
        found = check_table([SensitiveValues("pay", pay, np.stack(sets))], public)
        [group] = found.groups
        worst = sum(values is bad for values in sets)
        assert group.value == "f" and group.distance == pytest.approx(worst * alone / 3, abs=0.01)


def test_a_few_values_far_beyond_all_others_stand_out_by_the_mean(rng):
    """Neither the distance nor a share shows them."""
    pay = rng.lognormal(6, 1, 2000)
    made = rng.lognormal(6, 1, 2000)
    (near,) = check_table([SensitiveValues("pay", pay, made[None, :])], pd.DataFrame()).variables
    made[:2] = 2e8
    check = check_table([SensitiveValues("pay", pay, made[None, :])], pd.DataFrame())
    (far,) = check.variables
    assert near.means is None and not near.stands_out
    assert far.distance <= far.limit and not far.shares and far.stands_out
    assert "; its mean is 200," in variables_words(check)


def test_shares_of_the_shape_are_of_all_records_as_those_of_the_gate(rng):
    """Of 400 records with a value missing in three of four, a tenth is zero: 10 % and not 40 % of those there."""
    pay = np.repeat([np.nan, 0.0, 5.0, -2.0], [300, 40, 40, 20])
    kind = np.repeat([np.nan, 0.0, 1.0], [200, 150, 50])
    made = {"pay": np.full((1, 400), np.nan), "kind": rng.permutation(kind)[None]}
    settings = {
        name: SimpleNamespace(outcome_categories=of) for name, of in (("pay", None), ("kind", ("a", "b")))
    }
    analysis = SimpleNamespace(
        confidential={"pay": pay, "kind": kind},
        synthetic=lambda result: made,
        outcomes=settings,
        loaded=SimpleNamespace(codebook=None),
        settings=SimpleNamespace(weight="w"),
        survey=None,
    )
    told = {(each.variable, each.what): each for each in shape_of(analysis, None)}
    mine = {what: told["pay", what].confidential for what in ("missing", "zero", "below zero")}
    assert mine == {"missing": "75.0 %", "zero": "10.0 %", "below zero": "5.0 %"}
    assert (told["pay", "zero"].synthetic, told["pay", "missing"].synthetic) == ("0.0 %", "100.0 %")
    assert (told["pay", "half is below"].confidential, told["pay", "half is below"].synthetic) == ("0", "–")
    shares = {
        what: (each.confidential, each.synthetic) for (name, what), each in told.items() if name == "kind"
    }
    assert shares == {"missing": ("50.0 %",) * 2, "a": ("37.5 %",) * 2, "b": ("12.5 %",) * 2}
    analysis.survey = Survey(np.repeat([9.0, 1.0], [300, 100]))  # beside it, as much of the population
    made["pay"] = np.stack([pay, np.full(400, 1.0)])
    weighted = [each for each in shape_of(analysis, None) if each.what == "missing, by w"]
    assert [(each.variable, each.confidential) for each in weighted] == [
        ("pay", "96.4 %"),
        ("kind", "64.3 %"),
    ]
    assert weighted[0].synthetic == "48.2 %"  # over two data sets


def test_a_group_whose_values_are_missing_too_often_stands_out(rng):
    """8 % are missing in the north and 45 % of the synthetic ones; over all areas as many, and values that are there
    have one distribution.
    """
    area = rng.choice(list("nsew"), 4000)

    def pay(rates):
        values = rng.lognormal(10, 1, 4000)
        values[rng.random(4000) < pd.Series(area).map(rates).to_numpy()] = np.nan
        return values

    mine = pay({"n": 0.08, "s": 0.08, "e": 0.5, "w": 0.5})
    made = pay({"n": 0.45, "s": 0.12, "e": 0.46, "w": 0.13})
    found = check_table([SensitiveValues("pay", mine, made[None])], pd.DataFrame({"area": area}))
    distances = {(each.name, each.value): each.distance for each in found.groups}
    assert set(distances) == {("whether pay is missing", "n"), ("whether pay is missing", "w")}
    for value in "nw":
        shares = [np.isnan(side[area == value]).mean() for side in (mine, made)]
        assert distances["whether pay is missing", value] == pytest.approx(abs(shares[1] - shares[0]))
    assert found.n_groups == 8 and "2 of 8 groups are off" in groups_words(found)
    assert "whether pay is missing of those with area n by 3" in groups_words(found)
    whole = check_table([SensitiveValues("pay", mine, mine[None])], pd.DataFrame({"area": area}))
    assert not whole.groups and whole.n_groups == 8


def test_groups_by_codes_of_areas_are_of_single_areas(rng):
    """In bins of neighbours, every second of which has more, no group was off."""
    area = np.repeat(np.arange(1, 41), 150)
    pay = rng.lognormal(np.where(area % 2, 11, 10), 0.5)
    variables = [SensitiveValues("pay", pay, rng.permutation(pay)[None])]
    public = pd.DataFrame({"area": area})
    assert not check_table(variables, public).groups
    found = check_table(variables, public, categorical=("area",))
    assert found.n_groups == 40 and {each.value for each in found.groups} == {*map(str, range(1, 41))}
    many = pd.DataFrame({"area": np.arange(6000) % 101})
    assert check_table(variables, many, categorical=("area",)).left_out == ("area",)


def test_groups_of_a_large_table_are_said_to_be_compared_on_some_of_its_records(rng, monkeypatch):
    """The line read as if all records had been compared."""
    area, pay = rng.choice(list("nsew"), 4000), rng.lognormal(10, 1, 4000)
    variables = [SensitiveValues("pay", pay, pay[None])]
    public = pd.DataFrame({"area": area})
    assert "at random" not in groups_words(check_table(variables, public))
    monkeypatch.setattr(table_check, "MOST_RECORDS", 3999)
    assert "Groups are compared on 50,000 records of a table, at random" in groups_words(
        check_table(variables, public)
    )


def test_a_category_that_is_a_bare_number_is_said_to_be_one(rng):
    """ "1: 0.73 %" stood in the gate, of a column whose categories are coded."""
    mine = rng.choice([1.0, 2.0], 4_000)  # of the categories 0, 1 and 2, the first occurs nowhere
    made = np.where(rng.random(4_000) < 0.05, 0.0, mine)
    found = check_table([SensitiveValues("work", mine, made[None], ("1", "2", "3"))], pd.DataFrame())
    assert "; category 1: " in variables_words(found)
