"""Whole records: what is fitted, what may move it, what is promised, and how synthetic values depend on each other."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.fits import Fits
from synth_core.analysis.records.blocks import MISSING_SHARE, Block, parts_of, shares_of
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.table import whole_records
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.table import Table
from synth_core.errors import InputError
from tests.support.marks import slow_but

N = 240
SEX = Block("sex", "categorical", {"categories": ("f", "m")})
WORK = Block("work", "categorical", {"categories": ("no", "part", "full")}, missing=("?",))
INCOME = Block(
    "income", "two_part", {"transformation": "asinh", "asinh_scale": 10.0, "guess": (20.0, 1.0)}, ("N",)
)
BLOCKS = (SEX, WORK, INCOME)
COMMON = {"predictors": ("age",), "draws": 1000, "warmup": 500, "chains": 2, "epsilon": 4.0, "seed": 3}


def people(seed):
    rng = np.random.default_rng(seed)
    sex = np.where(rng.random(N) < 0.5, "f", "m")
    work = rng.choice(["no", "part", "full"], N).astype(object)
    income = np.where(work == "no", 0.0, rng.lognormal(3, 0.5, N)).round(2).astype(str).astype(object)
    work[rng.random(N) < 0.1] = "?"
    income[rng.random(N) < 0.15] = "N"
    ages = np.random.default_rng(99).integers(18, 80, N)  # public: the same in every table
    return pd.DataFrame({"sex": sex, "work": work, "income": income, "age": ages})


@pytest.fixture
def table():
    return Table("people", people(1))


def test_parts_are_in_order_and_conditional_on_what_stands_before():
    parts = parts_of(BLOCKS, COMMON)
    assert [p.name for p in parts] == ["sex", "work is missing", "work", "income is missing", "income"]
    assert [[e.name for e in p.settings.earlier] for p in parts] == [
        [],
        ["sex"],
        ["sex"],
        ["sex", "work"],
        ["sex", "work"],
    ]
    assert sum(p.settings.epsilon for p in parts) == pytest.approx(4.0)
    assert sum(p.share for p in parts) == pytest.approx(1.0)
    assert parts[3].share == pytest.approx(MISSING_SHARE / 3)
    assert len({p.settings.seed for p in parts}) == 5


def test_a_missing_value_is_zero_with_a_column_of_its_own():
    number = EarlierVariable("income", scale=10.0, zeros=True, missing=True)
    x = np.array([0.0, 20.0, np.nan, -5.0])
    expected = [[0, 1, 0], [np.arcsinh(2), 0, 0], [0, 0, 1], [np.arcsinh(-0.5), 0, 0]]
    np.testing.assert_allclose(number.columns(x), expected)
    assert number.column_names == ("income", "income: zero", "income: missing")
    codes = EarlierVariable("work", ("no", "part", "full"), missing=True)
    np.testing.assert_array_equal(
        codes.columns(np.array([0, 1, 2, np.nan])), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    )
    assert codes.column_names == ("work: part", "work: full", "work: missing")


@pytest.mark.parametrize("place", slow_but([1], range(3)))
def test_a_missing_value_changes_nothing_for_other_records(place, cache):
    """In any block and any row: designs, outcomes and who is in a pilot; its own record loses its value's term."""
    few, blocks = 24, (replace(SEX, missing=("?",)), WORK, INCOME)
    column, text = blocks[place].name, blocks[place].missing[0]
    whole = people(1).iloc[:few].reset_index(drop=True)
    whole.loc[[3, 11], column] = text  # of a table where some are missing already

    def selections(frame):
        analysis = RecordsAnalysis(Table("t", frame), blocks, COMMON, cache)
        return [each.selection for each in analysis.analyses(False)]

    before = selections(whole)
    for row in range(few):
        for mine, theirs in zip(
            before, selections(whole.where(~_cell(whole, row, column), text)), strict=True
        ):
            kept = [np.flatnonzero(each.complete) != row for each in (mine, theirs)]
            for of in (
                lambda each: np.flatnonzero(each.complete),
                lambda each: each.records.design,
                lambda each: each.records.outcome,
            ):
                np.testing.assert_array_equal(of(mine)[kept[0]], of(theirs)[kept[1]])


def _cell(frame, row, column):
    """True in one cell."""
    return pd.DataFrame(
        np.outer(np.arange(len(frame)) == row, frame.columns == column), frame.index, frame.columns
    )


def test_another_value_of_one_record_moves_no_other_design(table, kept):
    """No mean or deviation of a sensitive variable enters the design of a later one."""
    frame = people(1)
    frame.loc[5, ["sex", "work", "income"]] = ["f", "full", "1000000"]
    designs = [
        RecordsAnalysis(t, BLOCKS, COMMON, kept).analyses(False)[3].selection.records.design
        for t in (table, Table("changed", frame))
    ]
    others = np.arange(N) != 5
    np.testing.assert_array_equal(designs[0][others], designs[1][others])


@pytest.mark.stan
@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["censored", "anchored"])
def test_strict_blocks_share_epsilon(mechanism, table, kept):
    shared = (SEX, Block("work", "categorical", WORK.options, ("?",), share=0.5), INCOME)
    found = RecordsAnalysis(table, shared, COMMON | {"epsilon": 40.0}, kept).run(mechanism)
    assert found.epsilon == pytest.approx(40.0)
    assert [p.result.epsilon for p in found.parts] == pytest.approx([10.0, 4.0, 16.0, 2.0, 8.0])
    assert found.lipschitz_bound <= 20.0 + 1e-12
    for part in found.parts:
        assert part.bounds.lipschitz_bound <= part.result.epsilon / 2 + 1e-12
    present = (table.frame["income"] != "N").to_numpy()
    assert (found.parts[4].bounds.highest[~present] == 0).all()
    [synthetic] = found.synthetic
    assert len(synthetic) == N
    assert set(synthetic["work"].dropna()) <= {"no", "part", "full"}
    if mechanism == "anchored":  # without an anchor the rarer answer is clamped, at any record, and fades
        assert abs(synthetic["income"].isna().mean() - 0.15) < 5 * np.sqrt(2 * 0.15 * 0.85 / N)


@pytest.mark.stan
def test_synthetic_values_depend_on_synthetic_ones(cache):
    """b copies a. Synthetic b copies synthetic a, and neither follows the confidential a of its row."""
    rng = np.random.default_rng(4)
    a = rng.choice(["x", "y"], 400)
    table = Table("pairs", pd.DataFrame({"a": a, "b": a}))
    blocks = tuple(Block(name, "categorical", {"categories": ("x", "y")}) for name in "ab")
    analysis = RecordsAnalysis(table, blocks, COMMON | {"predictors": ()}, cache)
    found = analysis.run("unweighted")
    [drawn] = found.synthetic
    assert (drawn["a"] == drawn["b"]).mean() > 0.97
    assert abs((drawn["a"] == a).mean() - 0.5) < 5 * np.sqrt(0.25 / 400)
    highest = sum(p.bounds.highest for p in found.parts)
    lowest = sum(p.bounds.lowest for p in found.parts)
    np.testing.assert_allclose(found.lipschitz_bounds, np.maximum(highest, -lowest))
    assert found.epsilon == pytest.approx(2 * found.lipschitz_bounds.max())
    assert analysis.run("unweighted").parts[0].result.cached


@pytest.mark.stan
@pytest.mark.slow
def test_c_and_prior_of_a_later_block_read_no_confidential_value(kept):
    """Under an anchor fixed elsewhere, two tables of the same people in public give the same c, prior and design."""
    anchor = Table("public", people(7), confidential=False)
    common = COMMON | {"anchor": "public:elsewhere", "epsilon": 20.0}
    found = []
    for seed in (1, 2):
        analysis = RecordsAnalysis(Table("t", people(seed)), BLOCKS, common, kept, anchor=anchor)
        found.append([each.anchored for each in analysis.analyses(True)])
    for mine, theirs in zip(*found, strict=True):
        assert mine.weight == theirs.weight
        np.testing.assert_array_equal(mine.prior_outcome, theirs.prior_outcome)
        if mine.prior_design is not None:
            np.testing.assert_array_equal(mine.prior_design, theirs.prior_design)
    assert all(each.prior_design is not None for each in found[0][1:])
    assert not np.array_equal(
        found[0][2].log_lik, found[1][2].log_lik
    )  # the anchor's density is of own records


def test_bad_blocks_are_refused_in_words(table, kept):
    def refused(match, *blocks, **common):
        with pytest.raises(InputError, match=match):
            RecordsAnalysis(table, blocks, COMMON | common, kept)

    refused("'sex' is named twice", SEX, SEX)
    refused("'age' is a sensitive block and a predictor too", Block("age", "poisson"))
    refused(r"Block 'sex': declare its categories", Block("sex", "categorical"))
    refused(r"no model 'tree'", Block("sex", "tree"))
    refused("'colour' is no option of a block", Block("income", "two_part", {"colour": "red"}))
    refused("has no column 'wage'", Block("wage", "lognormal"))
    refused(r"'work' has .* none of its 3 declared categories \(first in row",
            Block("work", "categorical", WORK.options))  # fmt: skip
    refused("'income' must be a number", Block("income", "two_part"))
    refused("about one sensitive variable", SEX, match_epsilon="weighted")
    refused(
        "Block 'income': The unit \(--unit\) must be above 0",
        Block("income", "two_part", {"unit": -1.0}, ("N",)),
    )
    few = RecordsAnalysis(table, (SEX, WORK), COMMON | {"epsilon": 0.015}, kept)
    divided = "Block 'sex': An ε of 0.015 for a record leaves 0.0075 for it, and the least is 0.01: take an ε of 0.02"
    with pytest.raises(InputError, match=divided):
        few.run("censored")
    # Noisy tables are not divided among variables: of twelve an ε of 0.5 was refused.
    assert few.run("measured").epsilon == pytest.approx(0.015)
    empty = Table("t", people(1).assign(income="N"))
    with pytest.raises(InputError, match="'income' has no value"):
        whole_records(empty, BLOCKS, ("age",))
    with pytest.raises(InputError, match="about one sensitive variable"):
        RecordsAnalysis(table, (SEX,), COMMON, kept).run("range_averaged")


@pytest.mark.parametrize(
    ("shares", "match"),
    [
        ((0.5, 0.6), "sum to 1, and they sum to 1.1"),
        ((0.5, 0.0), "above 0"),
        ((1.0, None), "nothing is left for 'b'"),
    ],
)
def test_shares_that_do_not_sum_to_1_are_refused(shares, match):
    with pytest.raises(InputError, match=match):
        shares_of([Block(n, "poisson", share=s) for n, s in zip("ab", shares, strict=True)])


def test_what_is_left_of_epsilon_is_divided_equally():
    blocks = [Block("a", "poisson", share=0.5), Block("b", "poisson"), Block("c", "poisson")]
    assert shares_of(blocks) == [0.5, 0.25, 0.25]


def test_what_a_later_block_refuses_is_said_before_the_first_fit(cache, monkeypatch):
    frame = pd.DataFrame({"z": [0.0, 1.0] * 40, "a": ["x", "y"] * 40, "b": np.r_[99.0, np.ones(79)]})
    blocks = (
        Block("a", "categorical", {"categories": ("x", "y")}),
        Block("b", "bracketed", {"bracket_edges": (0.0, 1.0, 2.0)}),
    )
    monkeypatch.setattr(Fits, "posterior", lambda *given: pytest.fail("a fit was started"))
    with pytest.raises(InputError, match=r"Block 'b': 1 value lies outside .*row 1"):
        RecordsAnalysis(Table("t", frame), blocks, {"predictors": ("z",)}, cache).run("unweighted")
