"""What is counted, what it costs, and that nothing else is read."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.measured.cells import WHOLE, PublicSide, public_codes
from synth_core.analysis.measured.fine_bins import fine_bins, fine_table
from synth_core.analysis.measured.log_linear import NoisyTable
from synth_core.analysis.measured.measuring import (
    ALL_TRIPLES,
    CHOICE_SHARE,
    FIRST_SHARE,
    RESOLUTION,
    FineCounts,
    NoiseBudget,
    candidates,
    measure,
    tables_told,
    together,
)
from synth_core.analysis.measured.variable import Variable
from synth_core.analysis.measured.within import fine_shares, values_of
from synth_core.analysis.named_tables import named_columns
from synth_core.analysis.settings import make_settings
from synth_core.errors import InputError
from synth_core.mechanisms.noise import OPENDP, OpendpNoise, SeededNoise


class Spy(OpendpNoise):
    """Adds no noise and writes down what was read, at which price; or answers as another spy did."""

    name = "spy"

    def __init__(self, other=None):
        self.read, self.other = [], other

    def _answer(self, counts, price):
        self.read.append((counts.copy(), price))
        return counts if self.other is None else self.other.read[len(self.read) - 1][0]

    def gaussian(self, counts, deviation):
        return self._answer(counts, 1 / (2 * deviation**2))

    def laplace(self, counts, scale):
        return self._answer(counts, 1 / scale)


def side(rng, n=400, n_public=2, n_sensitive=3):
    variables = [Variable("pay", 4, (0.0, 0.0, 10.0, 100.0, 1000.0), True)]
    variables += [Variable(f"s{k}", 3, missing=k == 1) for k in range(1, n_sensitive)]
    public = PublicSide(
        tuple(f"p{k}" for k in range(n_public)),
        rng.integers(0, 3, (n, n_public)),
        (3,) * n_public,
        (False,) * n_public,
        tuple(variables),
    )
    pay = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(3, 1, n))
    others = [rng.integers(0, 3, n).astype(float) for _ in variables[1:]]
    if others:
        others[0][rng.random(n) < 0.2] = np.nan
    values = (pay, *others)
    return public, np.column_stack([v.codes(x) for v, x in zip(variables, values, strict=True)]), values


def all_zero(tables, sets):
    return [np.zeros(1) for _ in sets]


def model_of_nothing(public, codes):
    """Every record in any cell alike, whatever was counted."""
    sizes = [*public.shape, *(each.n for each in public.variables)]
    n_public = len(public.shape)

    def even(tables, sets):
        cells = [math.prod(sizes[c] for c in columns) for columns in sets]
        outer = [math.prod(sizes[c] for c in columns if c < n_public) for columns in sets]
        return [np.full((o, n // o), len(codes) / n) for o, n in zip(outer, cells, strict=True)]

    return even


@pytest.mark.parametrize(("n_public", "n_sensitive"), [(2, 3), (0, 1), (1, 1), (5, 5)])
@pytest.mark.parametrize("gaussian", [True, False])
def test_a_record_withheld_moves_what_was_paid_for_and_no_more(rng, n_public, n_sensitive, gaussian):
    """By what was really handed to the noise: the worst record, each table's own movement, against the budget.

    Answers are those of the whole table, so that what follows from them is asked alike.
    """
    public, codes, values = side(rng, n_public=n_public, n_sensitive=n_sensitive)
    expected = lambda tables, sets: [np.zeros(1) for _ in sets]  # noqa: E731
    budget = NoiseBudget(gaussian, 0.7)
    spies = []
    for left_out in (None, *rng.choice(len(codes), 8, replace=False)):
        kept = np.arange(len(codes)) != (-1 if left_out is None else left_out)
        spies.append(Spy(spies[0] if spies else None))
        part = PublicSide(public.names, public.codes[kept], public.shape, public.ordered, public.variables)
        measure(part, codes[kept], tuple(v[kept] for v in values), budget, spies[-1], expected)
    whole, *others = (spy.read for spy in spies)
    for other in others:
        spent = 0.0
        for (mine, price), (theirs, same_price) in zip(whole, other, strict=True):
            assert price == same_price
            moved = np.abs(mine - theirs)
            if mine.ndim == 1 and gaussian and moved.sum() > 1:  # scores, of integers in hundredths
                size = math.sqrt(float((moved.astype(float) ** 2).sum()))
                spent += price * size**2
            else:
                assert moved.sum() <= 1
                spent += price * float(moved.sum())
        assert spent <= budget.total * (1 + 1e-9)


def test_the_whole_budget_is_spent(rng):
    public, codes, values = side(rng)
    spy = Spy()
    measure(public, codes, values, NoiseBudget(True, 0.7), spy, all_zero)
    assert sum(price for _, price in spy.read) == pytest.approx(0.7, rel=1e-12)


def test_every_sensitive_column_is_counted_alone_with_a_tenth(rng):
    """A rare category is told by few tables else, each a sum of many noisy cells."""
    public, codes, values = side(rng)
    measured = measure(public, codes, values, NoiseBudget(True, 0.7), Spy(), all_zero)
    alone = {t.columns: t for t in measured.tables if len(t.columns) == 1}
    assert set(alone) == {(2,), (3,), (4,)}
    assert sum(1 / (2 * t.deviation**2) for t in alone.values()) == pytest.approx(0.1 * 0.9 * 0.7)
    for k in range(3):
        np.testing.assert_array_equal(
            alone[2 + k,].counts[0], np.bincount(codes[:, k], minlength=4)[: public.variables[k].n]
        )


def test_fine_counts_tell_how_many_records_a_bracket_has(rng):
    """But for a number that may be missing: how many are is not in them."""
    public, codes, values = side(rng, n_sensitive=1)
    measured = measure(public, codes, values, NoiseBudget(True, 0.7), Spy(), all_zero)
    (brackets,) = tables_told(public, measured)[len(measured.tables) :]
    np.testing.assert_array_equal(brackets.counts[0], np.bincount(codes[:, 0], minlength=4))
    (fine,) = measured.fine
    assert brackets.deviation == pytest.approx(fine.deviation * math.sqrt(10))
    maybe = replace(public, variables=(replace(public.variables[0], missing=True),))
    assert len(tables_told(maybe, measured)) == len(measured.tables)


@pytest.mark.parametrize(("gaussian", "whole"), [(True, WHOLE), (False, 1), (False, WHOLE)])
def test_the_deviation_that_is_published_is_that_of_the_noise(gaussian, whole):
    """Of a large budget, where discrete noise in parts of a record has another one than in records.

    The kurtosis of noise that is mostly 0 is about 32 here: of 40,000 counts the deviation is known to 1.4 %.
    """
    budget = NoiseBudget(gaussian, 4.0)
    noisy = budget.noisy(np.zeros(40_000, dtype=np.int64), 1.0, 1, SeededNoise(1), whole)
    assert noisy.std() == pytest.approx(budget.deviation(1.0, 1, whole), rel=0.05)


def test_many_triples_are_chosen_among(rng):
    public, codes, values = side(rng, n_public=5, n_sensitive=5)
    _, triples = candidates(public)
    assert len(triples) > ALL_TRIPLES
    codes[:, 2] = codes[:, 1] % 3  # tied to each other and to nothing else
    measured = measure(
        public,
        codes,
        values,
        NoiseBudget(True, 1.0),
        OPENDP,
        model_of_nothing(public, codes),
    )
    chosen = [t.columns for t in measured.tables if len(t.columns) == 3]
    assert 0 < len(chosen) < len(triples)
    assert any({6, 7} <= set(columns) for columns in chosen)
    assert len({t.columns for t in measured.tables}) == len(measured.tables)  # counted twice is one table
    assert measured.spent == 1.0


def test_where_no_triple_is_beyond_its_noise_pairs_have_the_whole_budget(rng):
    """Triples had three fifths of it however few were worth their noise: of twelve columns pairs were left with noise
    of 43 records for 18, and the k-marginal score was 916 for 934."""
    public, codes, values = side(rng, n_public=5, n_sensitive=5)
    measured = measure(
        public, codes, values, NoiseBudget(True, 0.01), SeededNoise(3), model_of_nothing(public, codes)
    )
    assert {len(t.columns) for t in measured.tables} == {1, 2}
    pairs = sum(1 / (2 * t.deviation**2) for t in measured.tables if len(t.columns) == 2)
    alone = sum(1 / (2 * t.deviation**2) for t in measured.tables if len(t.columns) == 1)
    assert pairs == pytest.approx((FIRST_SHARE * 5 / 7 + 1 - FIRST_SHARE - CHOICE_SHARE) * 0.9 * 0.01)
    assert alone == pytest.approx(FIRST_SHARE * 2 / 7 * 0.9 * 0.01)


def test_a_table_that_is_counted_twice_has_the_mean_by_precision(rng):
    """Its deviation is that of the mean: of 40,000 counts known to 0.4 %."""
    size, noise = (200, 200), np.random.default_rng(2)
    two = [NoisyTable((0, 1), noise.normal(5.0, d, size), d) for d in (3.0, 1.5)]
    (one,) = together(two)
    assert one.deviation == pytest.approx(1 / math.sqrt(1 / 9 + 1 / 2.25))
    assert one.counts.std() == pytest.approx(one.deviation, rel=4 / math.sqrt(2 * 40_000))
    assert one.counts.mean() == pytest.approx(5.0, abs=4 * one.deviation / 200)


def test_tables_far_larger_than_the_file_are_not_counted(rng):
    public, _, _ = side(rng)
    wide = PublicSide(public.names, public.codes, (3, 5000), public.ordered, public.variables)
    pairs, triples = candidates(wide)
    assert all(1 not in columns for columns in (*pairs, *triples))
    assert {c for pair in pairs for c in pair if c >= 2} == {2, 3, 4}


def test_fine_counts_are_those_of_a_loop(rng):
    """Each edge has a bin of its own: 0 that of its bracket, the end of a bracket that of the next."""
    variable = Variable("pay", 4, (0.0, 0.0, 10.0, 100.0, 1000.0), True)
    values = np.concatenate([rng.lognormal(3, 2, 300), np.zeros(50), [np.nan, -5.0, 1e9], 40 * [10.0]])
    table = fine_table(variable, values, variable.codes(values), np.ones(len(values), dtype=int))
    bins = fine_bins(variable)
    assert bins.edges[bins.alone.nonzero()[0]].tolist() == [0.0, 10.0, 100.0, 1000.0]
    assert bins.bracket.tolist() == [0, *8 * [1], *9 * [2], *10 * [3]]
    inside = np.clip(values[~np.isnan(values)], 0, 1000)
    at_an_edge = np.isin(inside, variable.edges)
    for count, low, high in zip(table[0], bins.edges, bins.edges[1:], strict=False):
        between = (inside >= low) & (inside < high) & ~at_an_edge
        assert count == (inside == low if low == high else between).sum()
    assert table.sum() == len(values) - 1 and table[0, 0] == 51


def drawn_by(variable, values, rng, deviation=0.01):
    """Synthetic values of brackets as they are, by fine counts with normal noise."""
    codes = variable.codes(values)
    (counts,) = fine_table(variable, values, codes, np.ones(len(values), dtype=int))
    fine = FineCounts(0, counts + rng.normal(0.0, deviation, counts.shape), deviation)
    records = np.bincount(codes, minlength=variable.n_values).astype(float)
    return values_of(variable, codes, fine_shares(variable, fine, records, None), rng.random(len(codes)))


def test_numbers_follow_their_fine_shares(rng):
    """Without noise the synthetic quantiles are those of the table, to a fine bin."""
    variable = Variable("pay", 3, (0.0, 10.0, 100.0, 1000.0), True)
    values = rng.lognormal(3, 1, 5000).clip(0, 1000)
    synthetic = drawn_by(variable, values, rng)
    for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
        assert np.quantile(synthetic, q) == pytest.approx(np.quantile(values, q), rel=0.1)


def test_a_top_code_and_round_numbers_are_drawn_as_often_as_they_are_there(rng):
    """A top code that ended the last bracket was released a little below, as often as it was there: half the file."""
    variable = Variable("ratio", 4, (0.0, 100.0, 200.0, 400.0, 501.0), True)
    values = np.concatenate([rng.uniform(0, 501, 2000), 2500 * [501.0], 300 * [200.0]])
    noise = 5.0  # of a count, in records
    synthetic = drawn_by(variable, values, rng, noise)
    for number in (501.0, 200.0):
        assert (synthetic == number).sum() == pytest.approx((values == number).sum(), abs=5 * noise)


def test_where_answers_do_not_heap_noise_makes_no_heaps():
    """Of 20 edges each has noise of 10 records; what of it is above 0 would be 80 records in the mean."""
    variable = Variable("pay", 20, tuple(np.linspace(1.0, 101.0, 21)), True)
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        synthetic = drawn_by(variable, rng.uniform(1, 101, 6000), rng, 10.0)
        found.append(np.isin(synthetic, variable.edges).sum())
    assert np.mean(found) < 55  # 30 and an error of 7


def test_bands_of_text_are_in_their_order():
    codes, n, ordered = public_codes(pd.Series(["100+", "9-17", "18-24", "9-17"]), False)
    assert codes.tolist() == [2, 0, 1, 0] and n == 3 and ordered
    assert public_codes(pd.Series(["a", "b", "c"]), False)[2] is False
    assert public_codes(pd.Series([10, 2, 10]), True)[0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("codes", [[3, 10, 2, 7], ["03", "10", "02", "07"]])
def test_codes_that_are_declared_to_be_categories_need_not_be_in_an_order(codes):
    """Numbers of areas were smoothed from one to the next, although they were declared to be none."""
    assert public_codes(pd.Series(codes), True)[0].tolist() == [1, 3, 0, 2]
    assert public_codes(pd.Series(codes), True)[2] is None  # whether they are is learnt
    assert public_codes(pd.Series(codes[:3]), True)[2] is False  # of three nothing is
    assert public_codes(pd.Series(codes), False)[2] is True


@pytest.mark.parametrize(
    "texts", [["31.12.2024", "1.2.2024", "3.5.2023"], ["10.1.1", "10.1.2", "7"], ["2²", "²", "3"]]
)
def test_categories_that_begin_as_a_number_does_and_are_none_are_categories(texts):
    """Days, codes of three levels and raised digits ended the fit with a traceback."""
    codes, n, ordered = public_codes(pd.Series(texts), False)
    assert (len(set(codes)), n, ordered) == (3, 3, False)


def test_named_tables_are_counted_and_no_others(rng):
    """At the price of the whole budget; a sensitive column in none of them is counted alone."""
    public, codes, values = side(rng)
    named = named_columns(["s1 * p0", "s2*pay * p1"], public.column_names, (3, 3, 4, 4, 3), 2, 400)
    assert named == ((0, 3), (1, 2, 4))
    for chosen, expected in ((named, named), (named[:1], ((2,), (4,), named[0]))):
        spy = Spy()
        told = measure(replace(public, named=chosen), codes, values, NoiseBudget(True, 0.7), spy, all_zero)
        assert {table.columns for table in told.tables} == set(expected)
        assert sum(price for _, price in spy.read) == pytest.approx(0.7, rel=1e-12)


def test_others_are_chosen_beside_named_tables(rng):
    """Of those that are not named, the one that the named ones tell least of; paid for within the budget."""
    public, codes, values = side(rng)
    codes[:, 2] = codes[:, 1] % 3  # tied to each other, which the named table says nothing of
    public, asked = replace(public, named=((0, 2), (1, 3), (1, 4)), choose_more=True), []

    def expected(tables, sets):
        asked.extend(sets)
        sizes = (3, 3, 4, 4, 3)
        return [np.full(math.prod(sizes[c] for c in s), 400 / math.prod(sizes[c] for c in s)) for s in sets]

    spy = Spy()
    told = measure(public, codes, values, NoiseBudget(True, 50.0), spy, expected)
    columns = [table.columns for table in told.tables]
    assert columns[:3] == list(public.named) and not set(columns[:3]) & set(asked)
    assert (3, 4) in columns[3:] and len(columns) == len(set(columns))
    scored = [(RESOLUTION + 1) ** 2 * counts.size if counts.ndim == 1 else 1 for counts, _ in spy.read]
    spent = sum(price * times for (_, price), times in zip(spy.read, scored, strict=True))
    assert spent == pytest.approx(50.0, rel=1e-12)
    pure = measure(public, codes, values, NoiseBudget(False, 50.0), Spy(), expected)
    assert [table.columns for table in pure.tables] == list(public.named)  # Laplace noise is of counts alone


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pay * agee", r"'agee' is no column here: public are age, area, sensitive pay, work"),
        ("age * area", "all its columns are public"),
        ("age * pay * work", "has 20,000 cells, more than 1,000"),
    ],
)
def test_a_table_that_cannot_be_counted_is_refused_in_words(text, words):
    with pytest.raises(InputError, match=words):
        named_columns([text], ("age", "area", "pay", "work"), (100, 2, 20, 10), 2, 100)


def test_a_table_is_one_to_three_different_columns():
    for text in ("", "a * ", "a * a", "a * b * c * d"):
        with pytest.raises(InputError, match="one to 3 different columns"):
            make_settings(outcome="x", model="beta", count_together=(text,))
    assert make_settings(outcome="x", model="beta", count_together=("a*b", "a * b")).count_together == (
        "a * b",
    )
