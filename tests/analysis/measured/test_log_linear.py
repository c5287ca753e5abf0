"""The log-linear model of noisy tables against naive loops, a closed form and its own gradient."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy

from synth_core.analysis.measured.balanced import balanced_cells, spread_cells
from synth_core.analysis.measured.log_linear import Domain, LogLinear, NoisyTable, PriorScales
from synth_core.analysis.measured.prior_scales import learnt_scales

PUBLIC, SHAPE = (2, 3), (3, 4)


@pytest.fixture(params=[(), (False, False, False, True)], ids=["", "missing values"])
def domain(request, rng):
    public = np.array(list(itertools.product(range(2), range(3))))
    records, ordered = rng.integers(1, 60, 6).astype(float), (False, True, None, True)
    return Domain(public, records, PUBLIC, SHAPE, ordered, missing=request.param)


def present(domain):
    """Cells of each column that are not of missing values."""
    missing = domain.missing or (False,) * 4
    return [n - absent for n, absent in zip((*PUBLIC, *SHAPE), missing, strict=True)]


SETS = [(0, 2), (1, 3), (2, 3), (0, 1, 2), (1, 2, 3)]


def naive(domain, model, parameters):
    """p(x | z) by the definition, a cell at a time."""
    parts = dict(zip([term.columns for term in model.terms], model.split(parameters), strict=True))
    slopes = slopes_of(domain, model, parameters)
    shares = np.zeros((len(domain.public), *SHAPE))
    for place, z in enumerate(domain.public):
        for x in itertools.product(*map(range, SHAPE)):
            cell = (*z, *x)
            for columns, theta in parts.items():
                axes = domain.shape_of(columns)
                shares[(place, *x)] += theta.reshape(axes)[tuple(cell[c] for c in columns)]
            score = [
                (2 * code - n + 1) / np.sqrt((n**2 - 1) / 3) if code < n else 0.0
                for code, n in zip(cell, present(domain), strict=True)
            ]
            for (along, other), slope in slopes.items():
                row = 0 if other in along else cell[other]
                shares[(place, *x)] += slope[row] * np.prod([score[column] for column in along])
        shares[place] = np.exp(shares[place]) / np.exp(shares[place]).sum()
    return shares


def slopes_of(domain, model, parameters):
    """The slopes of pairs, by the columns they are along and the other one (one slope along both); they stand last."""
    sizes, slopes, begin = (*PUBLIC, *SHAPE), {}, sum(np.size(theta) for theta in model.split(parameters))
    for pair in [term.columns for term in model.terms if len(term.columns) == 2]:
        ordered = [domain.ordered[column] if present(domain)[column] > 2 else False for column in pair]
        along = [((a,), b, sizes[b]) for a, b, order in zip(pair, pair[::-1], ordered, strict=True) if order]
        if False not in ordered:
            along.append((pair, pair[0], 1))
        for columns, other, n in along:
            slopes[columns, other] = parameters[begin : begin + n]
            begin += n
    assert begin == len(parameters)
    return slopes


def naive_table(domain, shares, columns):
    table = np.zeros(domain.shape_of(columns))
    for place, z in enumerate(domain.public):
        for x in itertools.product(*map(range, SHAPE)):
            table[tuple((*z, *x)[c] for c in columns)] += domain.records[place] * shares[(place, *x)]
    return table


def test_shares_and_expected_tables_are_those_of_a_loop(domain, rng):
    model = LogLinear(domain, SETS)
    parameters = rng.normal(size=model.n_parameters)
    shares = model.shares(parameters)
    np.testing.assert_allclose(shares, naive(domain, model, parameters), rtol=1e-12)
    for columns, table in zip(SETS, model.expected(shares, SETS), strict=True):
        np.testing.assert_allclose(table.ravel(), naive_table(domain, shares, columns).ravel(), rtol=1e-12)


def noisy(domain, model, parameters, deviation, rng):
    tables = model.expected(model.shares(parameters), SETS)
    return [
        NoisyTable(c, t + rng.normal(0, deviation, t.shape), deviation)
        for c, t in zip(SETS, tables, strict=True)
    ]


def objective(domain, model, parameters, tables, scales):
    """Minus the log posterior density as the definition has it."""
    shares = naive(domain, model, parameters)
    value = 0.0
    for table in tables:
        expected = naive_table(domain, shares, table.columns).ravel()
        value += ((expected - table.counts.ravel()) ** 2).sum() / (table.deviation**2 + 1) / 2
    for term, theta in zip(model.terms, model.split(parameters), strict=True):
        order = len(term.columns)
        for cell in itertools.product(*map(range, domain.shape_of(term.columns))):
            absent = any(code >= present(domain)[c] for code, c in zip(cell, term.columns, strict=True))
            deviation = scales.of_order[0 if order == 2 and absent else order - 1]
            value += theta.reshape(domain.shape_of(term.columns))[cell] ** 2 / deviation**2 / 2
        for axis, column in enumerate(term.columns):
            if column in scales.along:
                there = theta.reshape(domain.shape_of(term.columns)).take(
                    range(present(domain)[column]), axis
                )
                steps = np.diff(there, axis=axis)
                value += (steps**2).sum() / scales.steps[order - 1] ** 2 / 2
    for (along, other), slope in slopes_of(domain, model, parameters).items():
        deviation = scales.of_order[0] if other in along else scales.trend
        value += (slope**2).sum() / deviation**2 / 2
    return value


def test_a_fit_is_where_the_posterior_is_highest(domain, rng):
    """No step of another search goes lower: BFGS from the answer, with gradients by differences."""
    model = LogLinear(domain, SETS)
    tables = noisy(domain, model, rng.normal(size=model.n_parameters), 2.0, rng)
    scales = PriorScales((3.0, 1.0, 0.3), (np.inf, 1.0, 0.3), (1, 3))
    found = model.fit(tables, scales, iterations=2000)
    value = objective(domain, model, found, tables, scales)
    gradient = scipy.optimize.approx_fprime(
        found, lambda p: objective(domain, model, p, tables, scales), 1e-6
    )
    assert np.abs(gradient).max() < 0.3  # 70 at the start; the height is then within 1e-3
    for _ in range(20):
        other = found + 0.05 * rng.normal(size=found.shape)
        assert objective(domain, model, other, tables, scales) > value


def test_a_slope_is_not_shrunk_by_the_priors_of_single_cells():
    """Means of a number by group, from counts whose noise is larger than they are.

    Over 12 draws of the noise the mean of a group's mean is known to about 0.15 cells; the differences between groups
    are 2 cells, of which priors of single cells alone leave 1.2.
    """
    rng, groups, cells, deviation = np.random.default_rng(7), 4, 20, 15.0
    domain = Domain(np.arange(groups)[:, None], np.full(groups, 300.0), (groups,), (cells,), (False, True))
    places = np.arange(cells)
    shares = np.exp(-((places - np.array([[6.5], [8.5], [10.5], [12.5]])) ** 2) / (2 * 3.0**2))
    counts = 300 * shares / shares.sum(axis=1, keepdims=True)
    model, means = LogLinear(domain, [(0, 1)]), []
    for _ in range(12):
        table = NoisyTable((0, 1), counts + rng.normal(0, deviation, counts.shape), deviation)
        fitted = model.shares(model.fit([table], PriorScales((3.0, 1.0), (np.inf, 1.0), (1,))))
        means.append(fitted @ places)
    steps = np.diff(np.mean(means, axis=0))
    assert np.abs(steps - 2).max() < 0.6 and abs(steps.mean() - 2) < 0.15


@pytest.mark.slow
def test_perturbed_fits_are_about_draws_of_the_posterior(rng):
    """One binary column, no public one: its log odds have the spread that quadrature gives.

    Of 400 draws the standard deviation is known to 1 / sqrt(800), 3.5 %; 4 of them are allowed, and 5 % for the
    approximation.
    """
    domain = Domain(np.zeros((1, 0), dtype=int), np.array([200.0]), (), (2,), (False,))
    model = LogLinear(domain, [(0,)])
    counts, deviation, scales = np.array([[130.0, 66.0]]), 6.0, PriorScales((1.0,))
    draws = []
    for _ in range(400):
        table = NoisyTable((0,), counts + rng.normal(0, np.sqrt(deviation**2 + 1), counts.shape), deviation)
        theta = model.fit([table], scales, rng=rng)
        draws.append(theta[0] - theta[1])
    grid = np.linspace(-3, 4, 4001)
    share = scipy.special.expit(grid)
    expected = 200 * np.stack([share, 1 - share])
    log = -((expected - counts.T) ** 2).sum(axis=0) / (2 * (deviation**2 + 1)) - grid**2 / (2 * 2)
    density = np.exp(log - log.max()) / np.exp(log - log.max()).sum()
    mean = (grid * density).sum()
    spread = np.sqrt(((grid - mean) ** 2 * density).sum())
    assert abs(np.mean(draws) - mean) < 4 * spread / 20
    assert abs(np.std(draws) / spread - 1) < 4 * 0.035 + 0.05


def test_tables_of_independent_columns_are_met_with_narrow_priors(domain, rng):
    """The smallest scales are learnt in most draws of the noise: in 10 of 12 that were tried."""
    domain = replace(domain, records=np.full(6, 500.0))
    model, learnt = LogLinear(domain, SETS), []
    for _ in range(4):
        tables = noisy(domain, model, np.zeros(model.n_parameters), 20.0, rng)
        learnt.append(learnt_scales(model, tables, np.random.default_rng(3))[0].of_order[1])
    assert np.median(learnt) == 0.5 * PriorScales().of_order[1]


def test_balanced_records_have_nearer_tables_than_even_ones(domain, rng):
    model = LogLinear(domain, SETS)
    shares = model.shares(rng.normal(size=model.n_parameters))
    rows = np.split(rng.permutation(int(domain.records.sum())), np.cumsum(domain.records.astype(int))[:-1])
    expected = dict(zip(SETS, model.expected(shares, SETS), strict=True))
    flat = shares.reshape(len(shares), -1)

    def distance(cells):
        counts = np.zeros_like(flat)
        for place, each in enumerate(rows):
            np.add.at(counts[place], cells[each], 1)
        tables = model.tables(counts.reshape(shares.shape), SETS)
        return sum(((t - expected[c]) ** 2).sum() for t, c in zip(tables, SETS, strict=True))

    even = distance(spread_cells(flat, rows, np.random.default_rng(1)))
    balanced = distance(balanced_cells(domain, flat, rows, expected, np.random.default_rng(1)))
    independent = domain.records.sum() * len(SETS)  # about, of multinomial tables
    assert balanced < 0.5 * even < independent


def test_a_table_that_was_counted_twice_counts_by_its_precision(domain, rng):
    """As one table whose counts are the mean by precision."""
    model, scales = LogLinear(domain, SETS[:2]), PriorScales()
    counts = rng.normal(40, 5, (1, 4))
    twice = [NoisyTable((3,), counts - 4, 2.0), NoisyTable((3,), counts + 1, 0.5)]
    weights = np.array([each.precision for each in twice])
    mean = (weights[0] * twice[0].counts + weights[1] * twice[1].counts) / weights.sum()
    once = NoisyTable((3,), mean, float(np.sqrt(1 / weights.sum() - 1)))
    both = [model.shares(model.fit(tables, scales, iterations=500)) for tables in (twice, [once])]
    np.testing.assert_allclose(both[0], both[1], atol=1e-6)
    last = model.shares(model.fit(twice[1:], scales, iterations=500))
    assert np.abs(both[0] - last).max() > 1e-3


def test_rare_rows_do_not_flatten_a_table():
    """Exact counts that are taken for noisy ones: without one slope along both columns it is 0.71 of the true one."""
    rows = np.array([40, 60, 300, 500, 500, 400, 120, 80])  # rare where they weigh most
    u, v = (np.linspace(-1, 1, n) for n in (8, 12))
    shares = np.exp(2.5 * u[:, None] * v)
    counts = rows[:, None] * shares / shares.sum(axis=1, keepdims=True)

    def slope(table):
        across = table @ v / table.sum(axis=1)
        return np.polyfit(u, across, 1, w=np.sqrt(table.sum(axis=1)))[0]

    def fitted(orders):
        domain = Domain(np.zeros((1, 0), dtype=int), np.array([2000.0]), (), (8, 12), orders)
        model, tables = LogLinear(domain, [(0, 1)]), [NoisyTable((0, 1), counts.reshape(1, -1), 20.0)]
        scales = PriorScales((3.0, 0.5, 0.15), trend=1.0)
        return model.expected(model.shares(model.fit(tables, scales)), [(0, 1)])[0].reshape(8, 12)

    assert slope(fitted((None, True))) > 0.92 * slope(counts)
    assert slope(fitted((False, True))) < 0.75 * slope(
        counts
    )  # no order: rows have slopes of their own alone


def test_missing_values_are_beyond_no_end_of_an_order():
    """Of the first of eight groups half of the values are missing, beside a rise of those that are there.

    As one more cell of the order missing values would leave a third of the slope, and with priors as narrow as those of
    other cells a tenth of all counts would be wrong.
    """
    u, v, missing = np.linspace(-1, 1, 8), np.linspace(-1, 1, 11), np.array([0.5, 0.25, *np.zeros(6)])
    shares = np.exp(1.2 * u[:, None] * v)
    shares *= ((1 - missing) / shares.sum(axis=1))[:, None]
    counts = 250 * np.column_stack([shares, missing])

    def slope(table):
        there = table[:, :-1].sum(axis=1)
        return np.polyfit(u, table[:, :-1] @ v / there, 1, w=np.sqrt(there))[0]

    def fitted(*missing):
        public, records, orders = np.zeros((1, 0), dtype=int), np.array([2000.0]), (None, True)
        model = LogLinear(Domain(public, records, (), (8, 12), orders, None, missing), [(0, 1)])
        table = NoisyTable((0, 1), counts.reshape(1, -1), 20.0)
        parameters = model.fit([table], PriorScales((3.0, 0.5, 0.15), trend=1.0))
        return model.expected(model.shares(parameters), [(0, 1)])[0].reshape(8, 12)

    known, taken_for_last = fitted(False, True), fitted(False, False)
    assert slope(known) > 0.95 * slope(counts) and slope(taken_for_last) < 0.5 * slope(counts)
    assert np.abs(known - counts).sum() / 2 < 0.04 * counts.sum()
