"""The copies test: it passes independent draws by any predictors, and finds values that were handed over."""

import numpy as np
import pytest
from scipy import special, stats

from synth_core.release.output.copy_tests import copy_tests
from tests.support.marks import slow_but

N = 4_000


def design_of(rng):
    group, age = rng.integers(0, 8, N), rng.integers(0, 95, N)
    return np.column_stack(
        [
            np.ones(N),
            (age - age.mean()) / age.std(),
            rng.integers(0, 2, N),
            *(group == g for g in range(1, 8)),
        ]
    ).astype(float)


def categories(rng, design):
    """Nominal ones, which strong predictors tell in any order of their codes."""
    chances = special.softmax(design @ rng.normal(0, 1.0, (design.shape[1], 6)), axis=1)
    return lambda: (rng.random(N)[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1).astype(float)


def counts(rng, design):
    mean = np.exp(2.5 + design @ rng.normal(0, 0.5, design.shape[1]))
    return lambda: rng.poisson(mean).astype(float)


def hundreds(rng, design):
    location = 10 + design @ rng.normal(0, 0.5, design.shape[1])
    return lambda: np.round(np.exp(location + 0.8 * rng.standard_normal(N)), -2)


def grades(rng, design):
    """A school grade follows the age of children closely, and says little of adults': no curve of low degree in age."""
    age = np.round(95 * (design[:, 1] - design[:, 1].min()) / np.ptp(design[:, 1]))
    grade = np.clip((age - 1) // 2, 0, 8)

    def draw():
        adult = rng.choice(12, N, p=np.repeat(1 / 12, 12))
        off = np.clip(grade + rng.integers(-1, 2, N) * (rng.random(N) < 0.15), 0, 8)
        return np.where(age < 18, off, adult).astype(float)

    return draw


def occupations(rng, design):
    """More nominal categories than ten, in no order that a straight line could tell."""
    chances = special.softmax(design @ rng.normal(0, 1.0, (design.shape[1], 20)), axis=1)
    return lambda: (rng.random(N)[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1).astype(float)


VARIABLES = {"categories": (categories, 1.0), "counts": (counts, 1.0), "hundreds": (hundreds, 100.0)}
VARIABLES |= {"grades": (grades, 1.0), "occupations": (occupations, 1.0)}
EACH = slow_but(["numbers"], VARIABLES)


def own_values(variable, seed, handed_over=0.0):
    draw, step = VARIABLES[variable]
    rng = np.random.default_rng([seed, *map(ord, variable)])
    design = design_of(rng)
    values = draw(rng, design)
    confidential, synthetic = values(), values()
    copied = rng.random(N) < handed_over
    synthetic[copied] = confidential[copied]
    return copy_tests(confidential, synthetic[None], design, step, (), np.random.default_rng(0))[0]


@pytest.mark.parametrize("variable", EACH)
def test_independent_draws_pass_whatever_the_predictors_say(variable):
    """Four tables: the smallest p is below 1e-3 once in 250 of such fours, with a p that is uniform."""
    found = [own_values(variable, seed) for seed in range(4)]
    assert min(test.p for test in found) > 1e-3, found
    assert not any(test.refused for test in found)


@pytest.mark.parametrize("variable", EACH)
def test_values_of_one_record_in_ten_are_found(variable):
    assert all(own_values(variable, seed, handed_over=0.1).refused for seed in range(2))


@pytest.mark.parametrize(
    ("n", "n_numbers", "n_cells", "copied"),
    [
        (300, 4, 12, 0.3),
        pytest.param(2000, 8, 12, 0.1, marks=pytest.mark.slow),
        pytest.param(1000, 8, 5, 0.25, marks=pytest.mark.slow),
        (300, 8, 12, 1.0),
    ],
)
def test_copies_are_seen_beside_many_numbers(n, n_numbers, n_cells, copied):
    """Chances that were fitted to a record itself would take its copy for what the predictors say."""
    rng = np.random.default_rng([n, n_numbers])
    design = np.column_stack([np.ones(n), *(rng.integers(0, 40, n) for _ in range(n_numbers))]).astype(float)
    design[:, 1:] = stats.zscore(design[:, 1:])
    chances = special.softmax(design @ rng.normal(0, 0.7, (n_numbers + 1, n_cells)), axis=1)

    def draw():
        return (rng.random(n)[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1).astype(float)

    confidential, synthetic = draw(), draw()
    honest, _ = copy_tests(confidential, synthetic[None], design, 1.0, (), rng)
    synthetic = np.where(rng.random(n) < copied, confidential, synthetic)
    copies, _ = copy_tests(confidential, synthetic[None], design, 1.0, (), rng)
    assert not honest.refused and honest.p > 1e-3
    assert copies.refused, copies


def test_the_expected_number_is_that_of_the_true_chances():
    """Against the sum of squared chances by which both values were drawn; its Monte Carlo error is in the tolerance."""
    rng = np.random.default_rng([0, *map(ord, "categories")])
    design = design_of(rng)
    chances = special.softmax(design @ rng.normal(0, 1.0, (design.shape[1], 6)), axis=1)
    truth = np.square(chances).sum()
    found = own_values("categories", 0)
    assert found.expected == pytest.approx(truth, abs=4 * np.sqrt(truth))
    assert found.p == pytest.approx(stats.poisson.sf(found.seen - 1, found.expected + 1))


def test_where_no_record_has_both_values_there_is_no_own_value():
    """Few records have a value, and others have the synthetic ones: nothing is compared, and nothing fails."""
    rng = np.random.default_rng(1)
    confidential, synthetic = np.full(N, np.nan), np.full((2, N), np.nan)
    confidential[:11], synthetic[:, 11:22] = rng.normal(size=11), rng.normal(size=(2, 11))
    own, _ = copy_tests(confidential, synthetic, design_of(rng), 0.01, (), rng)
    assert (own.seen, own.expected, own.refused) == (0, 0.0, False)


def test_predictors_that_act_together_are_no_copies():
    """Measured synthesis keeps triples: chances by each predictor alone refused it at p = 1e-19."""
    rng = np.random.default_rng(8)
    first, second = rng.integers(0, 2, (2, 10_000))
    chance = np.array([[0.25, 0.05], [0.25, 0.80]])[first, second]
    design = np.column_stack([np.ones(len(first)), first, second]).astype(float)
    own, given = (rng.random((2, len(first))) < chance).astype(float)
    honest, _ = copy_tests(own, given[None], design, 1.0, (), rng)
    truth = (chance**2 + (1 - chance) ** 2).sum()
    assert honest.expected == pytest.approx(truth, abs=4 * np.sqrt(truth)) and not honest.refused
    copied = np.where(rng.random(len(own)) < 0.3, own, given)
    assert copy_tests(own, copied[None], design, 1.0, (), rng)[0].refused


def test_strong_predictors_of_a_small_table_are_no_copies():
    """Neighbours of a small table differ in what is expected of them: of 60 tables 23 were refused."""
    copied = 0
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        z = rng.normal(size=(200, 2))
        design = np.column_stack([np.ones(200), z])
        own, given = np.round(np.exp(4 + z @ [1.0, 0.7] + 0.1 * rng.normal(size=(2, 200))))
        assert not copy_tests(own, given[None], design, 1.0, (), rng)[0].refused
        given = np.where(rng.random(200) < 0.3, own, given)
        copied += copy_tests(own, given[None], design, 1.0, (), rng)[0].refused
    assert copied > 55


@pytest.mark.parametrize("atom", ["zeros", "hundreds"])
def test_where_values_heap_is_no_place_to_move_a_fingerprint_to(atom):
    """Values near an atom, moved onto it, were taken for chance: a complete hot deck passed in 85 % of tables."""
    rng = np.random.default_rng(2)

    def draw():
        values = np.round(np.exp(5.5 + 1.3 * rng.normal(size=2000))).clip(1)
        some = rng.random(2000) < 0.4
        return np.where(some, 0.0 if atom == "zeros" else np.round(values, -2), values)

    own, ones = draw(), np.ones((2000, 1))
    _, honest = copy_tests(own, draw()[None], ones, 1.0, (), rng)
    assert honest.seen == pytest.approx(honest.expected, abs=4 * np.sqrt(honest.expected)) and honest.p > 1e-3
    _, deck = copy_tests(own, rng.choice(own, (1, 2000)), ones, 1.0, (), rng)
    assert deck.refused


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_a_value_that_many_records_have_is_no_copy_wherever_it_lies(share):
    """Zeros stand below amounts and between losses and gains; predictors that tell amounts do not move a zero by steps.

    Of 20 draws at a level of 1e-4 one is refused once in 500 tests.
    """
    refused = found = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 9])
        z = rng.normal(size=3000)

        def draw(rng=rng, z=z, losses=seed % 2):
            noise = rng.normal(size=3000)
            amounts = 100 + 40 * z + 200 * noise if losses else np.exp(3 + 0.4 * z + 0.6 * noise)
            return np.where(rng.random(3000) < share, 0.0, np.round(amounts, 1))

        design, own, synthetic = np.column_stack([np.ones(3000), z]), draw(), draw()
        refused += copy_tests(own, synthetic[None], design, 0.1, (), rng)[0].refused
        copied = np.where(rng.random(3000) < 0.1, own, synthetic)
        found += copy_tests(own, copied[None], design, 0.1, (), rng)[0].refused
    assert refused == 0 and found == 20
