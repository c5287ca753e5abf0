"""Rules that compare two columns: kept by every synthetic record, of brackets and of fitted families, as released."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.measured.cell_limits import cell_limits, dealt_within, left_by_limits, within_limits
from synth_core.analysis.measured.cells import cells_of
from synth_core.analysis.measured.model import MeasuredModel
from synth_core.analysis.measured.variable import Variable
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.decided import Possible, limits_of
from synth_core.data.rules import read_rules
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.noise import SeededNoise
from synth_core.release.output.dataset import synthetic_data
from synth_core.release.output.source import KeptColumns
from synth_core.release.plan.planning import make_plan
from synth_core.system.cache import Cache
from tests.release.test_whole_records import DECISION

N = 200
INCOME = Block("income", "bracketed", {"bracket_edges": (0.0, 0.0, 10.0, 20.0, 40.0, 100.0)})
WAGES = Block("wages", "bracketed", {"bracket_edges": (0.0, 0.0, 5.0, 10.0, 30.0, 100.0)}, ("?",))
FIRST = Block(
    "first", "poisson", {"bracket_edges": (0.0, 10.0, 20.0, 30.0, 90.0), "guess": (22.0, 5.0)}, ("?",)
)
RULES = ("wages <= income", "first <= age", "sex = f -> first >= 10")


def people(seed=1):
    rng, public = np.random.default_rng(seed), np.random.default_rng(9)
    age, sex = public.choice([16, 25, 30, 60], N), public.choice(["f", "m"], N)
    income = np.where(rng.random(N) < 0.2, 0.0, rng.gamma(2, 12, N).clip(0.1, 99)).round(1)
    wages = np.where(rng.random(N) < 0.3, income, income * rng.random(N)).round(1)
    wages = np.where(rng.random(N) < 0.1, np.nan, wages)
    first = np.where(rng.random(N) < 0.3, np.nan, np.clip(rng.poisson(22, N), 10, age))
    return pd.DataFrame({"income": income, "wages": wages, "first": first, "age": age, "sex": sex})


def analysis(tmp_path, rules=RULES, blocks=(INCOME, WAGES, FIRST), frame=None, **changes):
    return RecordsAnalysis(
        Table("people", people() if frame is None else frame),
        blocks,
        {"predictors": ("age", "sex"), "epsilon": 2.0, "seed": 3, "rules": rules} | changes,
        Cache(tmp_path),
        noise=SeededNoise(5),
    )


def broken(made):
    """How many records break each rule, counted apart from the program."""
    public = people()
    return [
        int((made.wages > made.income).sum()),
        int((made["first"] > public.age).sum()),
        int(((public.sex == "f") & (made["first"] < 10)).sum()),
    ]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    whole = analysis(tmp_path_factory.mktemp("compared"))
    return whole, whole.run("measured")


@pytest.mark.slow
def test_measured_records_keep_comparisons_and_without_rules_they_do_not(tmp_path, measured):
    result = measured[1]
    made = result.synthetic[0]
    assert broken(made) == [0, 0, 0] and result.measures.impossible == 0.0
    assert sum(broken(analysis(tmp_path, ()).run("measured").synthetic[0])) > 20
    assert 0.05 < result.measures.impossible_before < 0.8  # the same noisy tables, no rule kept
    assert made["first"].dropna().mod(1).eq(0).all()
    assert made.wages.isna().mean() == pytest.approx(0.1, abs=0.08)
    assert (made.wages > 0.5 * made.income).mean() > 0.2  # and not squeezed to the bottom


def test_groups_that_are_chained_keep_comparisons_too(tmp_path, monkeypatch):
    monkeypatch.setattr("synth_core.analysis.measured.model.MAX_CELLS", 10)
    assert broken(analysis(tmp_path).run("measured").synthetic[0]) == [0, 0, 0]


@pytest.mark.slow
@pytest.mark.stan
def test_fitted_records_keep_comparisons(tmp_path):
    short = {"epsilon": 60.0, "draws": 100, "warmup": 100, "chains": 1}
    result = analysis(tmp_path, **short).run("anchored")
    assert broken(result.synthetic[0]) == [0, 0, 0] and result.measures.impossible == 0.0
    assert 0.05 < result.measures.impossible_before < 0.8


def test_values_that_are_released_keep_comparisons_with_released_ones(measured):
    """An income of 14 and wages of 13.5 round to 10 and 10 by tens: wages to a multiple that the income allows."""
    decision = replace(DECISION, decimals=-1)
    plan = make_plan(*measured, decision)[0]
    frame = people()[["age", "sex"]]
    income, wages = np.full(N, 14.0), np.full(N, 13.6)
    wages[::2], income[::2] = 24.9, 25.0  # to 20, and 20: 24.9 alone would be, 25.1 would not
    wages[::4] = 25.0
    drawn = {"income": income[None], "wages": wages[None], "first": np.full((1, N), 10.0)}
    made = synthetic_data(plan, KeptColumns(frame, frame), drawn, 7)
    by_name = {each.name: each.values[0] for each in made.variables}
    assert (by_name["wages"] <= by_name["income"]).all() and (by_name["wages"] % 10 == 0).all()


def test_what_is_declared_is_read_where_it_is_still_text(tmp_path):
    """As the command line gives it: bounds of a rule's column were compared as texts."""
    blocks = (
        Block("income", "two_part", {"bounds": ("0", "200"), "asinh_scale": "10", "transformation": "asinh"}),
        Block(
            "wages",
            "two_part",
            {"bounds": ("0", "100"), "asinh_scale": "10", "transformation": "asinh"},
            ("?",),
        ),
    )
    assert broken(analysis(tmp_path, RULES[:1], blocks).run("measured").synthetic[0].assign(first=0))[0] == 0
    assert analysis(tmp_path, ("sex = f -> wages <= 500", "sex = f -> wages >= 0"), blocks).table.rows == N
    with pytest.raises(InputError, match="no value between the declared bounds of 'wages'"):
        analysis(tmp_path, ("sex = f -> wages >= 500",), blocks)


@pytest.mark.parametrize(
    "rules, why",
    [
        (("income >= wages",), "'wages', which comes after it: write wages <= income"),
        (("income <= height",), "neither a number nor a predictor"),
        (("wages > income",), "breaks the rule|leave no value of 'wages'"),
        (("wages <= income", "sex = m -> wages >= 0.5"), "breaks the rule|leave no value of 'wages'"),
        (("first < sex",), "'sex', which holds texts"),
    ],
)
def test_a_comparison_that_cannot_be_kept_is_refused(tmp_path, rules, why):
    with pytest.raises(InputError, match=why):
        analysis(tmp_path, rules)


def test_a_plan_whose_rounding_leaves_nothing_is_refused(measured, tmp_path):
    """Between 12 and 16 is no multiple of 10: found before anything is charged."""
    frame = people()
    frame["first"] = np.where(frame.age == 16, np.clip(frame["first"], 12, 16), frame["first"])
    whole = analysis(tmp_path, (*RULES, "age = 16 -> first >= 12"), frame=frame)
    with pytest.raises(InputError, match="leave no multiple of 10 of 'first'"):
        make_plan(whole, measured[1], replace(DECISION, decimals=-1))


def test_which_cells_a_comparison_leaves_is_what_trying_numbers_finds():
    """Of every pair of brackets, whether some number of one is as the rule says beside some of the other."""
    y = Variable("y", 4, (0.0, 0.0, 10.0, 20.0, 40.0), True)
    x = Variable("x", 3, (0.0, 10.0, 25.0, 60.0), True, missing=True)
    n = 5
    frame, public = pd.DataFrame({"z": [0.0, 5.0, 10.0, 25.0, 99.0]}), np.zeros((n, 0), dtype=np.int64)
    kinds = {"x": None, "y": None}

    def inside(variable, cell):
        low, high = variable.edges[cell : cell + 2]
        beyond = (
            {0: -1.0, 2: 1e3}.get(cell) if variable is x else None
        )  # which counts in the brackets at the ends
        inner = [low] if low == high else [low, low + 0.1, (low + high) / 2, high - 0.1]
        return inner if beyond is None else [*inner, beyond]

    for sign, holds in (("<=", np.less_equal), ("<", np.less), (">=", np.greater_equal), (">", np.greater)):
        (limit,) = limits_of(frame, read_rules([f"x {sign} y"]), ("z",), kinds)
        cells = cell_limits(limit, (y, x), kinds)
        flags = np.array([each.rows for each in cells]).T[:1]
        left = left_by_limits(cells, flags, public[:1], 0, (y, x))[0]
        (limit,) = limits_of(frame, read_rules([f"x {sign} z"]), ("z",), kinds)
        cells = cell_limits(limit, (x,), kinds)
        by_row = left_by_limits(cells, np.array([each.rows for each in cells]).T, public, 0, (x,))
        for b in range(3):
            numbers = inside(x, b)[b > 0 and sign == "<=" :]  # of `x <= 10` 10 alone is not drawn
            for a in range(4):
                some = any(holds(one, other) for one in inside(x, b) for other in inside(y, a))
                assert left[a, b] == some, (sign, a, b)
            for row, z in enumerate(frame.z):
                expected = any(holds(one, z) for one in numbers)
                assert by_row[row, b] == expected, (sign, row, b)
        assert left[:, 3].all() and by_row[:, 3].all()  # a missing value breaks nothing


def test_a_range_that_ends_at_the_edge_of_a_bracket_leaves_the_next_one_out(tmp_path):
    """`income <= 20` left the bracket from 20 on for 20 alone: whoever was drawn in it had 20."""
    frame = people()
    frame["income"] = np.where(frame.sex == "f", frame.income.clip(upper=20.0), frame.income)
    whole = analysis(tmp_path, ("sex = f -> income <= 20",), (INCOME,), frame)
    _, codes, _ = cells_of(whole.inputs.parts, "")
    woman = (frame.sex == "f").to_numpy()
    assert (frame.income[woman] == 20).sum() > 5 and codes[
        woman
    ].max() == 2  # counted below, where they are drawn
    assert set(codes[~woman & (frame.income >= 20).to_numpy()].ravel()) <= {3, 4}
    made = whole.run("measured").synthetic[0]
    assert made.income[woman].max() <= 20 and (made.income[woman] == 20).mean() < 0.02


HOURS = Block("hours", "bracketed", {"bracket_edges": (0.0, 20.0, 40.0, 60.0, 80.0)})


@pytest.mark.parametrize(
    "rules",
    [
        ("kind = a -> hours <= 40",),
        ("kind = a -> hours <= 40", "full = y -> hours >= 40"),
        ("kind = a -> hours = 40", "full = y -> hours <= 40"),
        ("kind = a -> hours <= 0",),
    ],
)
@pytest.mark.parametrize("known", [("kind", "full"), ("kind",)])
def test_ranges_that_end_at_an_edge_leave_every_bracket_its_records(tmp_path, rules, known):
    """Fine counts told of 40 hours in a bracket that its records are not drawn in, so others were; where rules leave 40
    alone nothing was left, and all stood in the first bracket; at the first edge there is no bracket below."""
    rng, n = np.random.default_rng(1), 400
    kind, full = rng.choice(["a", "b"], n), rng.choice(["y", "n"], n)
    hours = np.where(rng.random(n) < 0.3, 40.0, rng.uniform(1, 79, n).round(1))
    for rule in rules:
        here, (sign, end) = (kind if rule[0] == "k" else full) == rule[7], rule.split()[-2:]
        at_end = {"<=": np.minimum, ">=": np.maximum, "=": lambda _, end: end}[sign]
        hours = np.where(here, at_end(hours, float(end)), hours)
    frame = pd.DataFrame({"hours": hours, "kind": kind, "full": full})
    blocks = [HOURS] if "full" in known else [Block("full", "categorical", {"categories": ("y", "n")}), HOURS]
    whole = analysis(tmp_path, rules, tuple(blocks), frame, predictors=known, epsilon=40.0)
    made = whole.run("measured").synthetic[0].assign(**{name: frame[name] for name in known})
    for one in "ab":
        for other in "yn":
            bound = [r for r in rules if r.startswith((f"kind = {one}", f"full = {other}")) and "<=" in r]
            forced = [
                r for r in rules if r.startswith((f"kind = {one}", f"full = {other}")) and "<=" not in r
            ]
            mine, theirs = (f.hours[(f.kind == one) & (f.full == other)] for f in (frame, made))
            if bound and not forced:  # counted below, as they are drawn
                mine = mine.where(mine != 40, 39.9)
            edges = HOURS.options["bracket_edges"]
            # Noise of deviation 0.5 at most, and whole records.
            np.testing.assert_allclose(*(np.histogram(each, edges)[0] for each in (theirs, mine)), atol=5)


@pytest.mark.parametrize("discrete", [True, False])
def test_a_bracket_beyond_what_another_amount_leaves_is_no_reason_to_break_the_rule(discrete):
    """Wages in 10 to 30 allow hours in 20 to 40, as cells; beside wages of 15.5 counts were drawn as 18."""
    hours = Variable("hours", 3, (0.0, 10.0, 20.0, 40.0), discrete=discrete)
    none, ends = np.full(4, -np.inf), np.array([15.5, 15.5, 21.5, 99.0])
    codes, values = np.array([2, 1, 2, 2]), np.array([33.0, 18.0, 33.0, 33.0])
    found = within_limits(Possible(none, ends, None), hours, codes, values)
    assert (found <= ends).all() and found[3] == 33.0 and found[2] >= 20 and found[1] >= 10
    assert not discrete or (found % 1 == 0).all()
    found = within_limits(Possible(ends, -none, None), hours, np.zeros(4, dtype=int), np.full(4, 3.0))
    assert (found >= ends).all() and (not discrete or (found % 1 == 0).all())


def test_numbers_that_rules_decide_do_not_draw_those_of_others_to_them(tmp_path):
    """Of adults in the bracket from 0 to 10 hours most had 0 or 1: the zeros of children were in its fine counts."""
    rng, n = np.random.default_rng(1), 600
    kind = rng.choice(["child", "adult"], n)
    hours = np.where(kind == "child", 0.0, rng.integers(0, 30, n))
    block = Block("hours", "poisson", {"bracket_edges": (0.0, 10.0, 20.0, 40.0), "guess": (22.0, 5.0)})
    frame = pd.DataFrame({"hours": hours, "kind": kind})
    whole = analysis(
        tmp_path, ("kind = child -> hours = 0",), (block,), frame, predictors=("kind",), epsilon=10.0
    )
    made = whole.run("measured").synthetic[0].hours
    adults, low = kind == "adult", np.arange(0, 11, 10)
    assert (made[~adults] == 0).all()
    np.testing.assert_allclose(
        np.histogram(made[adults], low)[0], np.histogram(hours[adults], low)[0], atol=5
    )
    # 14 in truth, give or take how a fine bin of 1.25 is drawn from and its noise; there were 78.
    assert abs((made[adults] <= 1).sum() - (hours[adults] <= 1).sum()) < 12


def test_rules_that_leave_no_cell_give_no_table(tmp_path):
    frame = people()
    frame["income"] = frame.income.clip(upper=20.0)
    whole = analysis(tmp_path, ("sex = f -> income <= 20",), (INCOME,), frame)
    public, _, _ = cells_of(whole.inputs.parts, "")
    none = np.zeros(public.variables[0].n, dtype=bool)
    limits = tuple(replace(each, allowed=none, inside=none) for each in public.limits)
    with pytest.raises(InputError, match="no cell of income"):
        _ = MeasuredModel(replace(public, limits=limits), [], np.random.default_rng).only


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_numbers_of_a_bracket_are_dealt_so_that_their_distribution_stays(sign):
    """Wages were a fourth too small where they lie in the bracket of the income: they were squeezed below it."""
    rng, n = np.random.default_rng(3), 400
    income, codes = np.sort(rng.uniform(0, 10, n)), np.zeros(n, dtype=np.int64)
    wages = rng.permutation(income * rng.random(n))
    end, none = sign * income, np.full(n, np.inf)
    left = Possible(-none, end, None) if sign > 0 else Possible(end, none, None)
    dealt = dealt_within(left, codes, sign * wages, rng)
    assert (wages > income).sum() > 50
    assert left.holds(dealt).all()
    np.testing.assert_array_equal(np.sort(dealt), np.sort(sign * wages))
    few = Possible(np.full(4, -np.inf), np.array([1.0, 1.0, 9.0, 9.0]), None)
    found = dealt_within(few, np.zeros(4, dtype=np.int64), np.array([0.5, 5.0, 6.0, 7.0]), rng)
    assert sorted(found) == [0.5, 5.0, 6.0, 7.0] and few.holds(found).sum() == 3
    both = Possible(np.full(2, 4.0), np.full(2, 6.0), None)
    np.testing.assert_array_equal(dealt_within(both, np.zeros(2, int), np.array([1.0, 9.0]), rng), [1.0, 9.0])
