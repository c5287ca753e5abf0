"""The guarantee by exact enumeration: the laws of all answers for every small table and each of its neighbours.

Noise is discrete, so Rényi divergences of the answers, and their largest log ratio, are sums over integers and no
simulation. Where tables are chosen, all noisy scores are gone through, each with the tables that follow from it.
"""

import copy
import functools
import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

from synth_core.analysis.measured import measuring
from synth_core.analysis.measured.cells import PublicSide, Variable
from synth_core.analysis.measured.measuring import NoiseBudget, measure
from synth_core.mechanisms.noise import OpendpNoise

ORDERS = np.array([1.5, 2.0, 4.0])
TOTAL = 2.0  # of rho, or of epsilon
SIZES = (2, 3, 2)  # cells of area, of pay, and of sex
PUBLIC = PublicSide(
    ("area",),
    np.array([[0], [1]]),
    SIZES[:1],
    (False,),
    (Variable("pay", 2, (0.0, 1.0, 4.0), missing=True), Variable("sex", 2)),
)
VALUES = tuple(itertools.product((0.5, 3.0, math.nan), (0.0, 1.0)))  # of a record
ROOM = np.arange(-400, 401)  # of integers: beyond it lies nothing that a float could hold


class Asked(OpendpNoise):
    """Keeps the law of each answer, and gives the exact counts; for scores those that it is told."""

    name = "asked"

    def __init__(self, scores=None):
        self.laws, self.scores = [], scores

    def gaussian(self, counts, deviation):
        of_scores = counts.ndim == 1  # of several tables at once, for a choice
        self.laws.append((of_scores, counts.ravel(), -0.5 / deviation**2, 2))
        return np.array(self.scores) if of_scores and self.scores is not None else counts

    def laplace(self, counts, scale):
        self.laws.append((False, counts.ravel(), -1 / scale, 1))
        return counts


def laws_of(records, gaussian, scores=None, withheld=None):
    """The laws of all that is asked of a table, given record by record."""
    values = tuple(np.array(each) for each in zip(*records, strict=True))
    codes = np.column_stack([v.codes(x) for v, x in zip(PUBLIC.variables, values, strict=True)])
    noise = Asked(scores)

    def even(tables, sets):
        return [np.full(math.prod(SIZES[c] for c in columns), 0.2) for columns in sets]

    measure(PUBLIC, codes, values, NoiseBudget(gaussian, TOTAL), noise, even, withheld)
    return noise.laws


@functools.cache
def divergence(moved, slope, power):
    """Of one count that is moved: Rényi divergences, and the largest log ratio of an answer."""
    p, q = (slope * np.abs(ROOM - at) ** power for at in (moved, 0))
    p, q = p - logsumexp(p), q - logsumexp(q)
    return np.array([logsumexp(a * p + (1 - a) * q) / (a - 1) for a in ORDERS]), np.abs(p - q).max()


def divergences(first, second):
    """Of all answers under two lists of laws."""
    if [(len(c), *law) for _, c, *law in first] != [(len(c), *law) for _, c, *law in second]:
        return np.full(
            len(ORDERS), np.inf
        ), np.inf  # other tables were asked for: that alone tells them apart
    renyi, ratio = np.zeros(len(ORDERS)), 0.0
    for (_, mine, *law), (_, theirs, *_) in zip(first, second, strict=True):
        for moved in (mine - theirs)[mine != theirs].tolist():
            more, larger = divergence(moved, *law)
            renyi, ratio = renyi + more, ratio + larger
    return renyi, ratio


def neighbours():
    """Every table of two records with each neighbour: which record, and the other table (None: it is withheld)."""
    for records in itertools.product(VALUES, repeat=2):
        for i in range(2):
            yield records, i, None
            for value in VALUES:
                if value is not records[i]:
                    yield records, i, (*records[:i], value, *records[i + 1 :])


def excess(gaussian):
    """The largest divergence over what was spent: of a record withheld, and of one replaced."""
    worst, laws = {True: 0.0, False: 0.0}, functools.cache(laws_of)
    for records, i, other in neighbours():
        both = laws(records, gaussian), laws(other or records, gaussian, None, None if other else i)
        for one, two in itertools.permutations(both):
            renyi, ratio = divergences(one, two)
            found = float((renyi / ORDERS).max() if gaussian else ratio) / TOTAL
            worst[other is None] = max(worst[other is None], found)
    return worst[True], worst[False]


def test_laplace_noise_keeps_the_log_ratio_of_all_answers_at_epsilon():
    """And reaches it; of a value replaced at twice as much."""
    withheld, replaced = excess(gaussian=False)
    assert withheld == pytest.approx(1.0, abs=1e-9) and replaced == pytest.approx(2.0, abs=1e-9)


def test_gaussian_noise_keeps_every_renyi_divergence_at_its_order_times_rho():
    """zCDP: the divergence of order a is at most a ρ; of a value replaced two counts of a table move by one each."""
    withheld, replaced = excess(gaussian=True)
    assert 0.99 < withheld <= 1 + 1e-9 and 1.98 < replaced <= 2 + 1e-9


@pytest.fixture
def choice(monkeypatch):
    """Two tables among which one or both are chosen, by scores in whole records: few enough to go through all."""
    pairs = measuring.candidates(PUBLIC)[0]
    monkeypatch.setattr(measuring, "candidates", lambda public: (pairs[:1], pairs[1:]))
    monkeypatch.setattr(measuring, "ALL_TRIPLES", 0)
    monkeypatch.setattr(measuring, "RESOLUTION", 1)
    monkeypatch.setattr(measuring, "CHOICE_SHARE", 0.5)
    monkeypatch.setattr(measuring, "FIRST_SHARE", 0.3)
    monkeypatch.setattr(measuring, "SURE", 0.0)
    monkeypatch.setattr(
        measuring, "mean_noise", lambda deviation, size: 1.5
    )  # which two records exceed or do not


def chosen_excess(records, i, other):
    """With a choice: the sum over all noisy scores, each with the tables that are counted after it."""
    withheld = i if other is None else None
    mine, theirs = laws_of(records, True), laws_of(other or records, True, withheld=withheld)
    place = next((k for k, law in enumerate(mine) if law[0]), None)
    if place is None:
        return float((divergences(mine, theirs)[0] / ORDERS).max()) / TOTAL
    reach, terms = np.arange(-9, 16), []
    for scores in itertools.product(reach, repeat=2):
        both = laws_of(records, True, scores), laws_of(other or records, True, scores, withheld)
        logs = [float(laws[place][2] * ((scores - laws[place][1]) ** 2).sum()) for laws in both]
        rest = divergences(*(laws[:place] + laws[place + 1 :] for laws in both))[0]
        terms.append((*logs, *rest))
    p, q, *rest = np.array(terms).T
    p, q = p - logsumexp(p), q - logsumexp(q)
    renyi = [
        logsumexp(a * p + (1 - a) * q + (a - 1) * r) / (a - 1) for a, r in zip(ORDERS, rest, strict=True)
    ]
    return float((renyi / ORDERS).max()) / TOTAL


FIRST = (VALUES[0], VALUES[3])


@pytest.mark.parametrize("other", [None, (VALUES[4], VALUES[3])])
def test_a_choice_by_noisy_scores_costs_no_more_than_its_share(choice, other):
    """Scores move by less than what their noise was made for, so there is some room."""
    most = 1 if other is None else 4  # a distance moves by 2 then, which counts fourfold
    assert 0.5 < chosen_excess(FIRST, 0, other) <= most


def uncounted_table(monkeypatch):
    """One table more than was paid for."""
    usual = NoiseBudget.noisy

    def noisy(self, counts, share, n_tables, *rest):
        return usual(self, counts, share, max(n_tables - 1, 1), *rest)

    monkeypatch.setattr(NoiseBudget, "noisy", noisy)


def cells_of_the_table(monkeypatch):
    """Bins that end where the largest value does: one record moves those of all."""
    usual = measuring.fine_table

    def table(variable, values, codes, parts):
        moved = 4 * values / np.nansum([*values, 0.01])
        return usual(variable, moved, variable.codes(moved), parts)

    monkeypatch.setattr(measuring, "fine_table", table)


def exact_scores(monkeypatch):
    """Tables chosen without noise."""
    usual = measuring._Counter.chosen

    def chosen(self, *rest):
        quiet = copy.copy(self)
        quiet.noise = Asked()
        return usual(quiet, *rest)

    monkeypatch.setattr(measuring._Counter, "chosen", chosen)


@pytest.mark.parametrize("fault", [uncounted_table, cells_of_the_table])
@pytest.mark.parametrize("gaussian", [True, False])
def test_a_fault_is_found(fault, gaussian, monkeypatch):
    fault(monkeypatch)
    assert excess(gaussian)[0] > 1.05


def test_a_choice_without_noise_is_found(choice, monkeypatch):
    """Some table and its neighbour are counted in other tables."""
    exact_scores(monkeypatch)
    assert max(chosen_excess(*each) for each in neighbours()) == math.inf
