"""Rules that compare two columns, and whether rules leave every record a value: by hand, and beside enumeration."""

import itertools

import numpy as np
import pandas as pd
import pytest

from synth_core.data.agreement import check_agreement
from synth_core.data.decided import Declared, decided, multiples_within, possible
from synth_core.data.rules import broken, check_conditions, check_table, read_rule, read_rules
from synth_core.errors import InputError

PEOPLE = pd.DataFrame({"AGE": [3.0, 14.0, 30.0, 40.0], "TOWN": list("abab")})
EVERY = np.arange(4)
AMOUNTS = {"X": Declared(lower=0.0, upper=9.0), "Y": Declared(lower=0.0, upper=9.0), "Z": Declared(lower=0.0)}


def agree(texts, name="X", states=AMOUNTS, frame=PEOPLE):
    check_agreement(frame, read_rules(texts), name, states, ("AGE", "TOWN"))


def test_what_breaks_a_rule_of_two_columns():
    x = np.array([5.0, 14.0, np.nan, 50.0])
    y = np.array([5.0, 13.0, 1.0, np.nan])
    found = broken(PEOPLE, read_rule("X <= Y"), {"X": (x, None), "Y": (y, None)})
    assert found.tolist() == [False, True, False, False]  # what is missing on either side breaks nothing
    assert broken(PEOPLE, read_rule("X < Y"), {"X": (x, None), "Y": (y, None)})[0]
    assert broken(PEOPLE, read_rule("X < AGE"), {"X": (x, None)}).tolist() == [True, True, False, True]
    assert (
        broken(PEOPLE, read_rule("TOWN = a -> X <= AGE"), {"X": (x, None)}).tolist() == [True] + [False] * 3
    )
    with pytest.raises(InputError, match=r"breaks the rule X <= Y in 1 row \(row 2\)") as no:
        check_table(PEOPLE, read_rule("X <= Y"), {"X": (x, None), "Y": (y, None)}, np.ones(4, dtype=bool))
    assert "14" not in str(no.value) and "13" not in str(no.value)
    with pytest.raises(InputError, match="compares with 'TOWN', which holds texts and no numbers"):
        broken(PEOPLE, read_rule("X <= TOWN"), {"X": (x, None)})


def test_what_is_left_of_a_column_that_is_compared():
    rules = read_rules(["X <= Y", "X > AGE", "TOWN = b -> X <= 20"])
    limits = decided(PEOPLE, rules, None, ("AGE", "TOWN")).limits
    y = {"Y": (np.array([50.0, 60.0, 70.0, np.nan]), None)}
    left = possible(limits[:1], y, EVERY, None)
    assert left.upper.tolist() == [50, 60, 70, np.inf] and np.isinf(left.lower).all()
    left = possible(limits[:2], y, EVERY[1:3], None)
    assert left.upper.tolist() == [60, 70] and (left.lower == np.nextafter([14.0, 30.0], 99)).all()
    with pytest.raises(InputError, match="X > AGE; TOWN = b -> X <= 20 leave no value of 'X'"):
        possible(limits, y, EVERY[3:], None)


@pytest.mark.parametrize(
    "text, why",
    [
        ("X <= Z", "'Z', which comes after it: write Z >= X, a rule of 'Z', or put 'Z' before"),
        ("X < MSP", "is neither a number nor a predictor"),
        ("X < HEIGHT", "is neither a number nor a predictor"),
        ("X <= X", "is neither a number nor a predictor"),
    ],
)
def test_a_comparison_with_what_is_not_drawn_before_is_refused(text, why):
    before = {"X": {"MSP": True, "Y": False}, "Z": {"MSP": True, "Y": False, "X": False}}
    with pytest.raises(InputError, match=why):
        check_conditions(read_rules([text]), ("AGE",), before, ("X", "Y", "Z"))
    check_conditions(read_rules(["X <= Y", "X < AGE", "MSP = 1 -> X > Y"]), ("AGE",), before, ("X", "Y", "Z"))


@pytest.mark.parametrize(
    "texts, why",
    [
        (("X > Y",), "X > Y leave no value"),  # Y may be 9
        (("X <= Y", "AGE > 9 -> X >= 1"), "leave no value"),  # Y may be 0
        (("X <= Y", "TOWN = a -> X >= 1", "TOWN = b -> Y >= 1"), "leave no value"),
        (("X >= Y", "X <= Z", "AGE > 9 -> Z <= 9"), "leave no value"),  # Z may be below Y
        (("X <= Y", "AGE < 15 -> X = 3"), "contradicts another one"),
        (("X >= AGE",), "leave no value"),  # 14 is above its bounds
    ],
)
def test_comparisons_that_leave_a_record_no_value_are_refused(texts, why):
    with pytest.raises(InputError, match=why):
        agree(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("X <= Y",),
        ("X <= Y", "TOWN = a -> X >= 1", "TOWN = a -> Y >= 1"),
        ("X >= Y", "X <= Z", "Z >= Y"),
        ("X <= Y", "AGE < 15 -> X = 3", "AGE < 15 -> Y >= 3"),
        ("AGE < 9 -> X >= AGE", "X <= Y", "AGE < 9 -> Y = 7"),
    ],
)
def test_comparisons_that_agree_are_not_refused(texts):
    agree(texts)


@pytest.mark.slow
def test_the_corners_find_what_trying_every_value_finds():
    """Whole numbers 0 to 3 of three columns, random rules of differences and ranges: refused if and only if a record
    that keeps the rules of what X is compared with is left no X."""
    rng, whole = np.random.default_rng(4), Declared(lower=0.0, upper=3.0, decimals=0)
    of_x = ["X <= Y", "X >= Y", "X < Y", "X > Y", "X <= Z", "X >= Z", "X > 0", "X < 3", "X >= 2", "X <= 1"]
    of_z = ["Z >= Y", "Z <= Y", "Z > Y", "Z >= 1", "Z <= 2", "Y >= 1", "Y <= 2", "Y > 2"]
    frame, compare = PEOPLE[:1], {"Y": whole, "Z": whole, "X": whole}
    seen = {True: 0, False: 0}
    for _ in range(300):
        texts = [*rng.choice(of_x, rng.integers(1, 4), replace=False), *rng.choice(of_z, 2, replace=False)]
        rules = read_rules(text if text[-1] in "YZ" else f"AGE > 0 -> {text}" for text in texts)
        texts = list(map(str, rules))

        def keeps(of, rules=rules, **at):
            columns = {name: (np.array([float(value)]), None) for name, value in at.items()}
            return not any(broken(frame, rule, columns)[0] for rule in rules if rule.column in of)

        read = {str(rule.then.word) for rule in rules if rule.column == "X"} & {"Y", "Z"}
        read |= {"Y"} if "Z" in read and any(r.column == "Z" and r.then.word for r in rules) else set()
        lacking = any(
            keeps(read, Y=y, Z=z) and not any(keeps("X", X=x, Y=y, Z=z) for x in range(4))
            for y, z in itertools.product(range(4), repeat=2)
        )
        try:
            agree(texts, states=compare, frame=frame)
            refused = False
        except InputError:
            refused = True
        assert refused == lacking, texts
        seen[lacking] += 1
    assert min(seen.values()) > 50


def test_a_count_and_a_rounded_amount_need_a_whole_number_and_a_multiple():
    """n > 2 and n < 3 leave numbers, and no count."""
    between = ("TOWN = a -> X > 2", "AGE < 9 -> X < 3")
    agree(between)
    with pytest.raises(InputError, match="leave no whole number of 'X'"):
        agree(between, states={"X": Declared(decimals=0)})
    agree(("AGE < 9 -> X >= 1200", "AGE < 9 -> X <= 1300"), states={"X": Declared(decimals=-2)})
    with pytest.raises(InputError, match="leave no multiple of 100 of 'X'"):
        agree(("TOWN = a -> X > 1200", "TOWN = a -> X < 1300"), states={"X": Declared(decimals=-2)})
    agree(("TOWN = a -> X >= 0.3", "TOWN = a -> X <= 0.3"), states={"X": Declared(decimals=1)})
    least, most = multiples_within(np.array([0.3, 0.301]), np.array([np.nextafter(0.3, 0), 0.399]), 1)
    assert (least > most).all()
