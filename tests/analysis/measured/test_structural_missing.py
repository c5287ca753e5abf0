"""A public column that decides whether a value is missing is seen in noisy counts, and only where it does."""

import itertools

import numpy as np
import pytest

from synth_core.analysis.fits import tells_nothing
from synth_core.analysis.measured import model
from synth_core.analysis.measured.cells import FREE, PRESENT, PublicSide
from synth_core.analysis.measured.log_linear import NoisyTable
from synth_core.analysis.measured.model import MeasuredModel
from synth_core.analysis.measured.structural_missing import _missing, structural_missing, structural_words
from synth_core.analysis.measured.variable import Variable
from synth_core.errors import Cancelled

N, AGES, AREAS, PAY, JOBS = 2_000, 3, 4, 5, 3  # cells of pay and job with that of missing values
SETS = [
    (2,), (3,), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3),
]  # fmt: skip


def file(rng, children_with_pay=0.0, others_without=0.0, job_with_pay=False):
    """The public side, and the cells of pay and job: children, the first of three ages, have no pay, maybe no job."""
    ages, areas = rng.integers(0, AGES, N), rng.integers(0, AREAS, N)
    pay, job = rng.integers(0, PAY - 1, N), rng.integers(0, JOBS, N)
    absent = np.where(ages == 0, rng.random(N) >= children_with_pay, rng.random(N) < others_without)
    if job_with_pay:
        job = np.where(absent, JOBS - 1, rng.integers(0, JOBS - 1, N))
    two = Variable("pay", PAY - 1, ordered=True, missing=True), Variable("job", JOBS - 1, missing=True)
    public = PublicSide(("age", "area"), np.column_stack([ages, areas]), (AGES, AREAS), (True, False), two)
    return public, np.column_stack([np.where(absent, PAY - 1, pay), job])


def counted(public, codes, deviation, rng):
    """Noisy tables of all pairs and triples, and of each sensitive column."""
    everything, tables = np.column_stack([public.codes, codes]), []
    for columns in SETS:
        shape = [(AGES, AREAS, PAY, JOBS)[column] for column in columns]
        cells = np.ravel_multi_index(tuple(everything[:, list(columns)].T), shape)
        counts = np.bincount(cells, minlength=int(np.prod(shape))) + rng.normal(0, deviation, np.prod(shape))
        outer = int(np.prod([(AGES, AREAS)[column] for column in columns if column < 2]))
        tables.append(NoisyTable(columns, counts.reshape(outer, -1), deviation))
    return tables


def decided(public, tables):
    """Of each public column and variable in which cells all values are missing, and in which none."""
    return {
        (each.column, each.variable): (
            (each.decided == public.variables[each.variable].n_values).tolist(),
            (each.decided == PRESENT).tolist(),
        )
        for each in structural_missing(public, tables)
    }


CHILDREN = [True, False, False], [False, True, True]


def test_missing_values_are_counted_as_by_a_loop(rng):
    """The mean of all tables that have both columns, each by one over the variance of the sum that tells it."""
    public, codes = file(rng)
    tables = [
        NoisyTable(each.columns, each.counts, 3.0 + place)
        for place, each in enumerate(counted(public, codes, 5.0, rng))
    ]
    told, weight = np.zeros(AGES), 0.0
    for table in tables:
        if 0 not in table.columns or 2 not in table.columns:
            continue
        shape = [(AGES, AREAS, PAY, JOBS)[column] for column in table.columns]
        sums, cells = np.zeros(AGES), 0
        for place, cell in enumerate(itertools.product(*map(range, shape))):
            at = dict(zip(table.columns, cell, strict=True))
            if at[2] == PAY - 1:
                sums[at[0]] += table.counts.ravel()[place]
                cells += 1
        precision = 1 / (table.deviation**2 * cells / AGES)
        told, weight = told + precision * sums, weight + precision
    missing, variance = _missing(public, tables, (0,), 0)
    np.testing.assert_allclose(missing, told / weight)
    assert variance == pytest.approx(1 / weight)
    alone, of_alone = _missing(public, tables, (), 0)
    assert alone[0] == tables[0].counts[0, -1] and of_alone == tables[0].deviation ** 2


def test_what_decides_is_seen_and_nothing_else(rng):
    """At level 0.01: of 200 noises 2 are expected to hide it, and more than 8 with probability 0.0003."""
    public, codes = file(rng)
    noises = [decided(public, counted(public, codes, 15.0, rng)) for _ in range(200)]
    assert sum(each == {(0, 0): CHILDREN} for each in noises) >= 192
    [found] = structural_missing(public, counted(public, codes, 1.0, rng))
    assert structural_words(public, [found]) == (
        " As far as these counts tell, it is decided whether a value is missing of pay by age."
    )
    assert structural_words(public, []) == ""


@pytest.mark.parametrize(("children_with_pay", "others_without"), [(0.1, 0.0), (0.0, 0.1)])
def test_a_tenth_that_is_otherwise_is_no_zero(children_with_pay, others_without, rng):
    public, codes = file(rng, children_with_pay, others_without)
    assert not decided(public, counted(public, codes, 15.0, rng))


def test_noise_that_hides_a_group_tells_nothing_of_it(rng):
    public, codes = file(rng)
    assert not decided(public, counted(public, codes, 300.0, rng))


def test_a_sensitive_column_decides_nothing(rng):
    """Noise hides too many of whom it would say that there are none: of a variable only public columns are asked."""
    public, codes = file(rng, job_with_pay=True)
    assert decided(public, counted(public, codes, 12.0, rng)) == {(0, 0): CHILDREN, (0, 1): CHILDREN}


def test_of_a_group_too_small_to_tell_nothing_is_decided(rng):
    public, codes = file(rng)
    few = np.flatnonzero(public.codes[:, 0] == 2)[3:]
    kept = np.setdiff1d(np.arange(N), few)
    some = PublicSide(public.names, public.codes[kept], public.shape, public.ordered, public.variables)
    found = decided(some, counted(some, codes[kept], 15.0, rng))
    assert found == {(0, 0): ([True, False, False], [False, True, False])}


def model_of(public, tables, progress=tells_nothing):
    return MeasuredModel(public, tables, lambda *stream: np.random.default_rng([3, *stream]), progress)


@pytest.mark.parametrize("most", [1_000_000, 30], ids=["in one group", "in two groups"])
def test_no_record_is_drawn_where_nobody_can_be(most, rng, monkeypatch):
    monkeypatch.setattr(model, "MAX_CELLS", most)
    public, codes = file(rng, job_with_pay=True)
    drawn = model_of(public, counted(public, codes, 12.0, rng)).codes(0, False)
    for values, missing in zip(drawn.T, (PAY - 1, JOBS - 1), strict=True):
        np.testing.assert_array_equal(values == missing, public.codes[:, 0] == 0)


@pytest.mark.parametrize("most", [1_000_000, 30], ids=["in one group", "in two groups"])
def test_a_fit_tells_how_far_it_is_and_ends_where_it_is_cancelled(most, rng, monkeypatch):
    """It told nothing for half a minute, and could not be cancelled meanwhile."""
    monkeypatch.setattr(model, "MAX_CELLS", most)
    public, codes = file(rng, job_with_pay=True)
    tables, shares = counted(public, codes, 12.0, rng), []

    def tell(text, share):
        shares.append(share)

    def cancel(text, share):
        shares.append(share)
        if len(shares) == 30:
            raise Cancelled("cancelled")

    told = model_of(public, tables, tell)
    quiet = model_of(public, tables).codes(0, False)
    np.testing.assert_array_equal(told.codes(0, False), quiet)  # who listens changes nothing
    assert len(shares) > 50 and 0 < shares[0] < 0.01 and shares[-1] <= 1
    assert all(a <= b for a, b in itertools.pairwise(shares))
    shares.clear()
    with pytest.raises(Cancelled):
        model_of(public, tables, cancel).codes(0, False)
    assert len(shares) == 30


def test_rules_go_before_what_noise_tells(rng):
    """Of some children a rule says that their pay is there; which others have none is then left to the model."""
    public, codes = file(rng)
    children, there = public.codes[:, 0] == 0, np.full((N, 2), FREE)
    there[np.flatnonzero(children)[:40], 0] = PRESENT
    ruled = PublicSide(
        public.names,
        public.codes,
        public.shape,
        public.ordered,
        public.variables,
        there,
        np.full((N, 2), np.nan),
    )
    drawn = model_of(ruled, counted(public, codes, 15.0, rng)).codes(0, False)
    assert (drawn[there[:, 0] == PRESENT, 0] < PAY - 1).all()
