"""Rules that leave several values, or read sensitive columns: kept by every synthetic record, and drawn exactly."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.drawing import possible_values
from synth_core.analysis.measured.cell_limits import CellLimit, left_by_limits, within_limits
from synth_core.analysis.measured.variable import Variable
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.clauses import Clause
from synth_core.data.decided import Possible
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.noise import SeededNoise
from synth_core.models import Options
from synth_core.models.categorical import Categorical
from synth_core.models.counts import Poisson
from synth_core.models.lognormal import Lognormal
from synth_core.models.records import Records
from synth_core.release.output.dataset import synthetic_data
from synth_core.release.output.source import KeptColumns
from synth_core.release.plan.planning import make_plan
from synth_core.system.cache import Cache
from tests.release.test_whole_records import DECISION

N = 240
SPOUSE = Block("spouse", "categorical", {"categories": ("yes", "no", "former")})
SCHOOL = Block("school", "ordered", {"categories": ("1", "2", "3", "N")})
EDGES = (0.0, 5.0, 10.0, 20.0, 40.0, 200.0)
PAY = Block(
    "pay",
    "two_part",
    {"transformation": "asinh", "asinh_scale": 10.0, "bracket_edges": EDGES, "guess": (20.0, 1.0)},
    ("?",),
)
BLOCKS = (SPOUSE, SCHOOL, PAY)
RULES = (
    "age < 15 -> school = N or 1",
    "spouse = former -> school = 2 or 3",
    "age < 15 -> spouse != former",
    "school = N -> pay missing",
    "age >= 15 and school = 1 or 2 -> pay < 17",
    "spouse = former and sex = f -> pay >= 3.5",
    "spouse = former and sex = f -> pay not missing",
)


def people(seed=1):
    rng, public = np.random.default_rng(seed), np.random.default_rng(99)
    age, sex = public.choice([8, 30, 75], N), public.choice(["f", "m"], N)
    spouse = rng.choice(["yes", "no", "former"], N, p=[0.5, 0.3, 0.2])
    spouse[(age < 15) & (spouse == "former")] = "no"
    school = np.where(age < 15, rng.choice(["N", "1"], N), rng.choice(["1", "2", "3"], N))
    school = np.where((spouse == "former") & (school == "1"), "2", school)
    pay = np.where(rng.random(N) < 0.2, 0.0, rng.lognormal(2.5, 0.7, N))
    pay = np.where((age >= 15) & np.isin(school, ["1", "2"]), np.minimum(pay, 16.9), pay)
    woman = (spouse == "former") & (sex == "f")
    pay = np.where(woman, np.maximum(pay, 3.5), pay).round(1).astype(object)
    pay[(school == "N") | ((rng.random(N) < 0.1) & ~woman)] = "?"
    return pd.DataFrame({"spouse": spouse, "school": school, "pay": pay, "age": age, "sex": sex})


def broken(made, public=None):
    """How many records break each rule, counted apart from the program."""
    public = people() if public is None else public
    adult, former = public.age >= 15, made.spouse == "former"
    school, pay = made.school, made.pay.astype(float)
    woman = former & (public.sex == "f")
    return [
        int((~adult & ~school.isin(["N", "1"])).sum()),
        int((former & ~school.isin(["2", "3"])).sum()),
        int((~adult & former).sum()),
        int(((school == "N") & pay.notna()).sum()),
        int((adult & school.isin(["1", "2"]) & (pay >= 17)).sum()),
        int((woman & (pay < 3.5)).sum()),
        int((woman & pay.isna()).sum()),
    ]


def analysis(tmp_path, rules=RULES, frame=None, **changes):
    return RecordsAnalysis(
        Table("people", people() if frame is None else frame),
        BLOCKS,
        {"predictors": ("age", "sex"), "epsilon": 4.0, "seed": 3, "rules": rules} | changes,
        Cache(tmp_path),
        noise=SeededNoise(5),
    )


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    whole = analysis(tmp_path_factory.mktemp("kept"))
    return whole, whole.run("measured")


@pytest.mark.slow
def test_measured_records_keep_limits_and_without_them_they_do_not(tmp_path, kept):
    assert broken(kept[1].synthetic[0]) == [0] * 7 and kept[1].measures.impossible == 0.0
    assert sum(broken(analysis(tmp_path, ()).run("measured").synthetic[0])) > 20


def test_groups_that_are_chained_keep_limits_too(tmp_path, monkeypatch):
    monkeypatch.setattr("synth_core.analysis.measured.model.MAX_CELLS", 10)  # groups, each given those before
    assert broken(analysis(tmp_path).run("measured").synthetic[0]) == [0] * 7


@pytest.mark.slow
@pytest.mark.stan
def test_fitted_records_keep_limits_at_the_promise_and_the_fit_of_no_rules(tmp_path):
    short = {"epsilon": 20.0, "draws": 100, "warmup": 100, "chains": 1, "drawing": "even"}
    whole = analysis(tmp_path, **short)
    result, loose = whole.run("anchored"), analysis(tmp_path, (), **short).run("anchored")
    assert broken(result.synthetic[0]) == [0] * 7 and sum(broken(loose.synthetic[0])) > 20
    assert result.measures.impossible == 0.0 and result.epsilon == loose.epsilon == pytest.approx(20.0)
    for mine, other in zip(result.parts, loose.parts, strict=True):  # limits are of what is drawn alone
        np.testing.assert_array_equal(mine.result.weights, other.result.weights)
        np.testing.assert_array_equal(mine.bounds.lipschitz_bounds, other.bounds.lipschitz_bounds)


def test_rounded_amounts_stay_within_their_range(kept):
    """16.96 rounds to 17, which `pay < 17` excludes."""
    plan = make_plan(*kept, replace(DECISION, decimals=0))[0]
    frame = people()

    kept = frame[["age", "sex"]]
    codes = {
        name: frame[name].map({c: i for i, c in enumerate(block.options["categories"])}).to_numpy(float)[None]
        for name, block in (("spouse", SPOUSE), ("school", SCHOOL))
    }
    pay = pd.to_numeric(frame.pay, errors="coerce").to_numpy()
    pay = np.where(pay > 16.5, 16.96, pay)
    made = synthetic_data(plan, KeptColumns(kept, kept), codes | {"pay": pay[None]}, 7)
    released = next(v.values for v in made.variables if v.name == "pay")[0]
    few = ((frame.age >= 15) & frame.school.isin(["1", "2"])).to_numpy()
    assert few.any() and np.nanmax(released[few]) == 16.0
    assert (np.round(pay[few & (pay == 16.96)]) == 17).all() and (few & (pay == 16.96)).any()
    np.testing.assert_array_equal(np.isnan(released), np.isnan(pay))
    there = released[~np.isnan(released)]
    assert (there == there.round()).all()


@pytest.mark.parametrize(
    "rules, why",
    [
        (("age < 15 -> pay = 1 or 2",), "an amount has one range"),
        (("age < 15 -> pay != 3",), "an amount has one range"),
        (("age < 15 -> pay < high",), "'high', which is neither a number nor a predictor"),
        (("age < 15 -> school = 7",), "7 is no declared category"),
        (("age < 15 -> spouse < 3.5 and sex = f",), "A rule is written"),
        (("school = 4 -> pay missing",), "4 is no declared category"),
        (("pay missing -> school = 1",), "comes after 'school': put it before"),
        (("spouse = yes -> spouse = no",), "neither a predictor nor a sensitive variable before"),
        (
            ("age < 15 -> school = N", "spouse = yes -> school != N"),
            "contradicts another one|breaks the rule",
        ),
        (("spouse = yes -> school <= 1", "sex = f -> school >= 2"), "leave no value of 'school'|breaks"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(tmp_path, rules, why):
    with pytest.raises(InputError, match=why):
        analysis(tmp_path, rules)


def test_rules_that_contradict_in_a_record_that_may_be_drawn_are_refused_though_the_table_has_none(tmp_path):
    """No child is 'former' in the table, and one may be drawn: the rules would leave it no value."""
    frame = people()
    frame["school"] = np.where(frame.age < 15, "1", frame.school)
    frame["pay"] = np.where(frame.age < 15, "?", frame.pay)
    with pytest.raises(InputError, match="contradicts another one"):
        analysis(tmp_path, ("age < 15 -> school = 1", "spouse = former -> school >= 2"), frame)
    with pytest.raises(InputError, match="leave no value of 'school' where all of them hold"):
        analysis(tmp_path, ("age < 15 -> school = 1 or N", "spouse = former -> school = 2 or 3"), frame)
    frame.loc[(frame.spouse == "former") & (frame.school == "3"), "school"] = "2"
    frame["pay"] = np.where(frame.spouse == "former", 5.0, np.where(frame.school == "3", "?", frame.pay))
    with pytest.raises(InputError, match="by one it is missing and by another it is not"):
        analysis(tmp_path, ("spouse = former -> pay not missing", "school = 3 -> pay missing"), frame)
    amount = ("school missing -> spouse = no",)
    with pytest.raises(InputError, match="put it before"):
        analysis(tmp_path, amount, frame)


def test_a_table_that_breaks_a_limit_is_refused_by_row_and_no_value(tmp_path):
    frame = people()
    row = int(np.argmax((frame.age >= 15) & (frame.school == "2") & (frame.pay != "?")))
    frame.loc[row, "pay"] = 987654.5
    with pytest.raises(InputError, match=rf"in 1 row \(row {row + 1}\)") as no:
        analysis(tmp_path, frame=frame)
    assert "987654" not in str(no.value)


def test_what_is_drawn_again_has_the_law_of_the_model_given_what_is_possible():
    """Beside SciPy's truncated normal and a renormalised categorical; n = 20,000, Kolmogorov at 4 deviations."""
    n, rng = 20_000, np.random.default_rng(1)
    records = Records(np.full(n, 2.0), np.ones((n, 1)), ("one",), np.ones(1))
    model = Lognormal(records, Options())
    draw = {"beta": np.array([1.0]), "sigma": np.array(0.5)}
    lower, upper = np.where(np.arange(n) % 2, 3.0, -np.inf), np.full(n, 4.0)
    first = model.predict(draw, rng)
    found = possible_values(model, draw, rng, first, Possible(lower, upper, None))
    assert ((found >= lower) & (found <= upper)).all()
    kept = (first >= lower) & (first <= upper)
    np.testing.assert_array_equal(found[kept], first[kept])
    for odd, low in ((1, np.log(3.0)), (0, -np.inf)):
        law = stats.truncnorm((low - 1) / 0.5, (np.log(4.0) - 1) / 0.5, loc=1, scale=0.5)
        assert stats.kstest(np.log(found[odd::2] if odd else found[::2]), law.cdf).statistic < 4 * 0.5 / 100
    codes = Categorical(
        Records(np.zeros(n), np.ones((n, 1)), ("one",), np.ones(1)), Options(categories=("a", "b", "c"))
    )
    logit = np.array([0.4, -0.7, 1.0])
    both = np.tile([[True, False, True], [True, True, False]], (n // 2, 1))
    left = Possible(np.full(n, -np.inf), np.full(n, np.inf), both)
    at = {"beta": logit}
    found = possible_values(codes, at, rng, codes.predict(at, rng), left)
    share = np.exp(logit) / np.exp(logit).sum()
    for rows, which in ((slice(0, None, 2), [0, 2]), (slice(1, None, 2), [0, 1])):
        seen = np.bincount(found[rows].astype(int), minlength=3) / (n / 2)
        expected = np.zeros(3)
        expected[which] = share[which] / share[which].sum()
        np.testing.assert_allclose(seen, expected, atol=4 * 0.5 / 100)


def test_which_cells_limits_leave_is_what_enumeration_says():
    rng = np.random.default_rng(2)
    sizes = (3, 4, 2)
    variables = [Variable(f"v{n}", n) for n in sizes]
    every, mask = np.ones(5, dtype=bool), lambda *cells: np.array(cells, dtype=bool)
    limits = [
        CellLimit(
            1, every, ((0, mask(1, 0, 1)),), mask(1, 0, 0, 1), mask(1, 1, 1, 1), mask(1, 0, 0, 1), None
        ),
        CellLimit(
            2,
            every,
            ((0, mask(0, 1, 1)), (1, mask(0, 0, 1, 1))),
            mask(0, 1),
            mask(1, 0),
            mask(0, 1),
            None,
        ),
    ]
    flags = rng.integers(0, 2, (5, 2))
    earlier = np.zeros((5, 0), dtype=np.int64)
    found = left_by_limits(limits, flags, earlier, 0, variables)
    for c, (i, j, k) in ((c, cell) for c in range(5) for cell in np.ndindex(*sizes)):
        one = limits[0].allowed[j] if flags[c, 0] and i != 1 else True
        two = flags[c, 1] and i > 0 and j > 1
        assert found[c, i, j, k] == (one and (k == 1 if two else k == 0))
    given = np.array([[0], [1], [2], [0], [1]])  # the first variable drawn before, in a group of its own
    chained = left_by_limits(limits, flags, given, 1, variables[1:])
    np.testing.assert_array_equal(chained, found[np.arange(5), given[:, 0]])


def test_numbers_of_a_bracket_that_a_rule_cuts_lie_in_what_is_left_of_it():
    pay = Variable("pay", 3, (0.0, 10.0, 20.0, 30.0), True)
    low, high = np.full(5, 12.0), np.full(5, 35.0)
    low[3], high[3] = -np.inf, np.inf
    codes, values = np.array([1, 1, 2, 1, 1]), np.array([15.0, 11.0, 29.0, 11.0, 10.0])
    found = within_limits(Possible(low, high, None), pay, codes, values)
    np.testing.assert_allclose(found, [15.0, 12.8, 29.0, 11.0, 12.0])


def test_counts_that_a_rule_cuts_stay_whole():
    visits = Variable("visits", 2, (0.0, 0.0, 10.0), True, discrete=True)
    places = np.arange(10.0).repeat(2_000)
    codes = np.ones(len(places), dtype=np.int64)

    def below(end):
        left = Possible(np.full(len(places), -np.inf), np.full(len(places), end), None)
        return within_limits(left, visits, codes, places)

    assert (
        set(below(2.999999)) == {0.0, 1.0, 2.0} and (below(2.999999)[places < 3] == places[places < 3]).all()
    )
    assert set(below(3.0)) == {0.0, 1.0, 2.0, 3.0}


def test_a_count_that_the_model_holds_for_next_to_impossible_is_whole_and_within_the_rule():
    """A rule n < 3 leaves 2 and not the number next to 3, which a file would write as 3; n > 2 leaves 3."""
    n, rng = 8, np.random.default_rng(1)
    model = Poisson(Records(np.full(n, 60.0), np.ones((n, 1)), ("one",), np.ones(1)), Options())
    ends = [
        Clause("n", sign, (end,)).ends()
        for sign, end in (("<", "3"), (">", "200"), ("<=", "4"), (">", "199.5"))
    ]
    lower, upper = (np.repeat([each[i] for each in ends], 2) for i in (0, 1))
    draw = {"beta": np.array([np.log(60.0)])}
    found = possible_values(model, draw, rng, model.predict(draw, rng), Possible(lower, upper, None))
    assert found.tolist() == [2, 2, 201, 201, 4, 4, 200, 200]
