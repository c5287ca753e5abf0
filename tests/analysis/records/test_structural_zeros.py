"""Structural zeros: no synthetic record breaks a rule, whatever the noise; what rules decide is not fitted."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.measured.balanced import spread_cells
from synth_core.analysis.records.blocks import Block, parts_of
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import Cache
from tests.support.marks import slow_but

N = 200
SPOUSE = Block("spouse", "categorical", {"categories": ("yes", "no", "former")})
SCHOOL = Block("school", "ordered", {"categories": ("low", "middle", "high")}, missing=("?",))
PAY = Block(
    "pay",
    "two_part",
    {
        "transformation": "asinh",
        "asinh_scale": 10.0,
        "bracket_edges": (0.0, 5.0, 10.0, 20.0, 40.0, 200.0),
        "guess": (20.0, 1.0),
    },
    ("N",),
)
BLOCKS = (SPOUSE, SCHOOL, PAY)
RULES = (
    "age < 15 -> spouse = no",
    "age < 6 -> school missing",
    "age < 15 <-> pay missing",
    "age >= 70 and sex = f -> pay = 7.5",
)
COMMON = {"predictors": ("age", "sex"), "epsilon": 1.0, "seed": 3}


def people(seed=1):
    rng, public = np.random.default_rng(seed), np.random.default_rng(99)
    age, sex = public.choice([3, 8, 30, 50, 75], N), public.choice(["f", "m"], N)
    spouse = np.where(age < 15, "no", rng.choice(["yes", "no", "former"], N, p=[0.6, 0.3, 0.1]))
    school = rng.choice(["low", "middle", "high"], N).astype(object)
    school[(age < 6) | (rng.random(N) < 0.1)] = "?"
    pay = np.where(rng.random(N) < 0.3, 0.0, rng.lognormal(3, 0.5, N)).round(2)
    pay = np.where((age >= 70) & (sex == "f"), 7.5, pay).astype(str).astype(object)
    pay[age < 15] = "N"
    return pd.DataFrame({"spouse": spouse, "school": school, "pay": pay, "age": age, "sex": sex})


def analysis(tmp_path, rules=RULES, blocks=BLOCKS, frame=None, **changes):
    frame = people() if frame is None else frame
    return RecordsAnalysis(
        Table("people", frame),
        blocks,
        COMMON | {"rules": rules} | changes,
        Cache(tmp_path),
        noise=SeededNoise(5),
    )


def breaks(synthetic):
    """Records that break one of the rules, counted apart from the program."""
    public = people()
    age, woman = public.age, public.sex == "f"
    wrong = (age < 15) & (synthetic.spouse != "no")
    wrong |= (age < 6) & synthetic.school.notna()
    wrong |= (age < 15) != synthetic.pay.isna()
    return int((wrong | ((age >= 70) & woman & (synthetic.pay != 7.5))).sum())


def test_where_a_rule_says_who_lacks_a_value_that_is_not_fitted():
    parts = parts_of(BLOCKS, COMMON | {"rules": RULES})
    assert [part.name for part in parts] == ["spouse", "school is missing", "school", "pay"]
    assert parts[-1].share == pytest.approx(1 / 3) and sum(part.share for part in parts) == pytest.approx(1)


@pytest.mark.parametrize("key", slow_but(["measured"], ["measured", "measured_laplace"]))
def test_measured_records_keep_the_rules_and_without_them_they_do_not(tmp_path, key):
    result = analysis(tmp_path, datasets=2).run(key)
    assert [breaks(each) for each in result.synthetic] == [0, 0]
    assert result.measures.impossible == 0.0
    loose = analysis(tmp_path, ()).run(key)
    assert breaks(loose.synthetic[0]) > 20 and loose.measures.impossible is None


def test_groups_that_are_chained_keep_the_rules_too(tmp_path, monkeypatch):
    monkeypatch.setattr("synth_core.analysis.measured.model.MAX_CELLS", 10)
    assert breaks(analysis(tmp_path).run("measured").synthetic[0]) == 0


def test_the_rules_are_read_from_public_columns_alone(tmp_path):
    """Another table with the same public columns: the same cells are possible."""
    from synth_core.analysis.measured.cells import cells_of

    sides = []
    for seed in (1, 2):
        whole = analysis(tmp_path, frame=people(seed))
        sides.append(cells_of(whole.inputs.parts, "")[0])
    np.testing.assert_array_equal(sides[0].decided, sides[1].decided)
    np.testing.assert_array_equal(sides[0].fixed, sides[1].fixed)


def test_a_cell_of_probability_0_is_never_drawn_where_shares_sum_to_less_than_1():
    share = np.array([[0.1] * 9 + [0.1 - 1e-12, 0.0]])
    rng = np.random.default_rng(1)
    high = type("High", (), {"random": lambda self: 1 - 1e-14, "permutation": rng.permutation})()
    assert spread_cells(share, [np.arange(20)], high).max() == 9


@pytest.mark.slow
@pytest.mark.stan
def test_anchored_records_keep_the_rules_and_what_is_decided_is_not_fitted(tmp_path):
    blocks = (SPOUSE, PAY)
    whole = analysis(tmp_path, RULES[::2] + RULES[3:], blocks, epsilon=8.0, draws=300, warmup=300, chains=2)
    result = whole.run("anchored")
    synthetic = result.synthetic[0].assign(school=people().school.where(people().age >= 6))
    assert breaks(synthetic) == 0 and result.measures.impossible == 0.0
    public = people()
    adult, fixed = public.age >= 15, (public.age >= 70) & (public.sex == "f")
    assert [len(part.result.weights) for part in result.parts] == [adult.sum(), (adult & ~fixed).sum()]
    assert (result.parts[1].bounds.lipschitz_bounds[~(adult & ~fixed)] == 0).all()
    assert len(result.synthetic[0]) == N and result.epsilon == pytest.approx(8.0)
    assert (result.synthetic[0].spouse[adult] == "yes").mean() == pytest.approx(0.6, abs=0.15)


def test_a_table_that_breaks_a_rule_is_refused_before_anything(tmp_path):
    frame = people()
    row = int(np.argmax(frame.age < 15))
    frame.loc[row, "pay"] = "987654.0"
    with pytest.raises(
        InputError, match=rf"breaks the rule age < 15 <-> pay missing in 1 row \(row {row + 1}\)"
    ) as no:
        analysis(tmp_path, frame=frame)
    assert "987654" not in str(no.value)


@pytest.mark.parametrize(
    "rules, why",
    [
        (("pay > 5 -> spouse = no",), "reads 'pay', which comes after 'spouse': put it before"),
        (
            ("height > 5 -> spouse = no",),
            "reads 'height', which is neither a predictor nor a sensitive variable",
        ),
        (("age < 15 -> spouse missing",), "say that 'spouse' may be missing"),
        (("age < 15 -> spouse = N",), "N is no declared category"),
        (("age < 15 -> pay = N",), "N is no number. Where it marks a missing value, write pay missing"),
        (("age < 15 -> spouse = no", "age < 5 -> spouse = yes"), "breaks the rule age < 5 -> spouse = yes"),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(tmp_path, rules, why):
    with pytest.raises(InputError, match=why):
        analysis(tmp_path, rules)


def test_a_single_variable_is_sent_to_blocks(tmp_path):
    settings = make_settings(
        outcome="spouse",
        model="categorical",
        categories=("yes", "no", "former"),
        predictors=("age",),
        rules=RULES[:1],
    )
    with pytest.raises(InputError, match="Rules are kept where variables are blocks"):
        Analysis(Table("people", people()), settings, Cache(tmp_path))
    other = replace(analysis(tmp_path), blocks=(SPOUSE,))  # one block alone keeps them
    assert (other.run("measured").synthetic[0].spouse[people().age < 15] == "no").all()
