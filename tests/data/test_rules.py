"""Structural zeros: how a rule is read, what it decides, and what a table that breaks it is told."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.agreement import check_agreement
from synth_core.data.clauses import Clause
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.codebook_file import parse_codebook
from synth_core.data.decided import Declared, decided
from synth_core.data.declared import declared_rules
from synth_core.data.rules import check_conditions, check_table, read_rule, read_rules, rules_of, typeset
from synth_core.errors import InputError

PEOPLE = pd.DataFrame({"AGE": [3, 14, 15, None, 40], "age group": ["0-14", "0-14", "15+", "15+", None]})


@pytest.mark.parametrize(
    "text, written",
    [
        ("AGE<15->PAY missing", "AGE < 15 -> PAY missing"),
        ("AGE >= 15 and SEX != 2 -> MSP = N", "AGE >= 15 and SEX != 2 -> MSP = N"),
        (' "age group" = "0-14"  <->  "net pay" missing ', '"age group" = 0-14 <-> "net pay" missing'),
        ('AGE < -1.5 -> X = "and"', 'AGE < -1.5 -> X = "and"'),
        ('A = "x -> y" -> B = "="', 'A = "x -> y" -> B = "="'),
    ],
)
def test_a_rule_is_read_and_written_as_it_is_read(text, written):
    assert str(read_rule(text)) == written
    assert read_rule(written) == read_rule(text)
    assert str(read_rule(typeset(written))) == written  # as the screen shows it


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AGE < 15",
        "-> PAY missing",
        "AGE < 15 -> ",
        "AGE < 15 -> PAY",
        "AGE < 15 -> PAY present",
        "AGE < 15 -> PAY = ",
        "AGE < 15 -> PAY = 1 2",
        "AGE < 15 <-> PAY = 0",
        "AGE < 15 or SEX = 1 -> PAY missing",
        "AGE < 15 and -> PAY missing",
        "AGE < -> PAY missing",
        "AGE < 15 -> PAY missing -> SEX = 1",
        'AGE < 15 -> "PAY missing',
        'AGE < 15 -> "" missing',
    ],
)
def test_what_is_no_rule_is_refused_with_how_one_is_written(text):
    with pytest.raises(InputError, match="A rule is written CONDITION -> COLUMN = VALUE"):
        read_rule(text)


def test_rules_are_shown_with_printed_signs():
    """Whoever typed AGE ≤ 14 ↔ PAY missing was shown AGE <= 14 <-> PAY missing."""
    assert typeset(str(read_rule("AGE≤14 and SEX≠2↔PAY missing"))) == "AGE ≤ 14 and SEX ≠ 2 ↔ PAY missing"
    assert typeset(str(read_rule("PAY≥0→BONUS=0"))) == "PAY ≥ 0 → BONUS = 0"


def test_an_empty_cell_fulfils_no_condition_and_texts_are_compared_as_written():
    assert read_rule("AGE < 15 -> PAY missing").holds(PEOPLE).tolist() == [True, True, False, False, False]
    assert read_rule("AGE != 3 -> PAY missing").holds(PEOPLE).tolist() == [False, True, True, False, True]
    either = read_rule('"age group" != 0-14 and AGE >= 15 -> PAY missing')
    assert either.holds(PEOPLE).tolist() == [False, False, True, False, False]
    with pytest.raises(InputError, match="only numbers can be compared so"):
        read_rule('"age group" < 15 -> PAY missing').holds(PEOPLE)


@pytest.mark.parametrize(
    ("cells", "value", "where"),
    [
        (["01", "02", "10"], "1", [True, False, False]),  # a code of an SPSS file that is shown as 01
        (["1.0", "2.0", "x"], "1", [True, False, False]),
        (["01", "1", "10"], "1", [False, True, False]),  # two codes
        (["10.1", "10.10", "x"], "10.1", [True, False, False]),
        (["a", "b", None], "1", [False, False, False]),
    ],
)
def test_a_value_is_met_as_it_is_written_or_else_as_the_same_number(cells, value, where):
    """A rule of 1 held nowhere where the file writes 01, without a word."""
    series = pd.Series(cells, dtype=object)
    assert Clause("x", "=", (value,)).of_cells(series).tolist() == where
    there = series.notna().tolist()
    expected = [known and not found for known, found in zip(there, where, strict=True)]
    assert Clause("x", "!=", (value,)).of_cells(series).tolist() == expected


def test_what_two_rules_decide_must_agree():
    agree = read_rules(["AGE < 15 -> MSP = 6", "AGE < 5 -> MSP = 6"])
    found = decided(PEOPLE, agree, ("1", "6"), ("AGE",))
    assert found.rows.tolist() == [True, True, False, False, False]
    assert found.values[:2].tolist() == [1.0, 1.0] and np.isnan(found.values[2:]).all()
    with pytest.raises(InputError, match=r"AGE < 5 -> MSP = 1 contradicts another one \(first in row 1\)"):
        decided(PEOPLE, (*agree[:1], read_rule("AGE < 5 -> MSP = 1")), ("1", "6"), ("AGE",))
    with pytest.raises(InputError, match=r"7 is no declared category. Where it marks a missing value"):
        decided(PEOPLE, (read_rule("AGE < 5 -> MSP = 7"),), ("1", "6"), ("AGE",))


@pytest.mark.parametrize("amount", ["PAY >= 1000", "PAY = 6"])
def test_rules_that_contradict_are_refused_whatever_a_rule_says_of_the_amount_that_they_read(amount):
    """An amount that is not missing may be drawn as its own rule says: what stands for it is not held against that."""
    rules = read_rules(
        [f"AGE < 15 -> {amount}", *(f"AGE < 15 and PAY not missing -> MSP = {code}" for code in "16")]
    )
    states = {"PAY": Declared(None, True), "MSP": Declared(("1", "6"))}
    with pytest.raises(InputError, match="leave no value of 'MSP'"):
        check_agreement(PEOPLE, rules, "MSP", states, ("AGE",))
    check_agreement(PEOPLE, rules[:2], "MSP", states, ("AGE",))
    missing = (read_rule("AGE < 15 -> PAY missing"), *rules[1:])  # then the other two never hold
    check_agreement(PEOPLE, missing, "MSP", states, ("AGE",))


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "N"])
def test_what_is_no_finite_number_is_no_value_of_a_number(value):
    """ "nan" would be taken for missing in silence."""
    with pytest.raises(InputError, match="is no number"):
        decided(PEOPLE, (read_rule(f"AGE < 15 -> PAY = {value}"),), None, ("AGE",))
    with pytest.raises(InputError, match="only numbers can be compared so"):
        read_rule(f"AGE < {value} -> PAY missing").holds(PEOPLE)


def test_rows_that_break_a_rule_are_named_and_no_value_is():
    everybody = np.ones(5, dtype=bool)
    pay = {"PAY": (np.array([7654321.0, np.nan, np.nan, 5.0, 5.0]), None)}
    with pytest.raises(InputError) as refused:
        check_table(PEOPLE, read_rule("AGE < 15 -> PAY missing"), pay, everybody)
    assert "in 1 row (row 1)" in str(refused.value) and "7654321" not in str(refused.value)
    with pytest.raises(InputError, match=r"in 2 rows \(row 1, 3\)"):
        check_table(PEOPLE, read_rule("AGE < 15 <-> PAY missing"), pay, everybody)
    check_table(PEOPLE, read_rule("AGE < 15 <-> PAY missing"), pay, np.array([0, 1, 0, 0, 0]) == 1)
    with pytest.raises(InputError, match=r"neither a predictor nor a sensitive variable before"):
        check_conditions(read_rules(["PAY > 5 -> MSP = 1"]), ("AGE",), {})


def test_a_codebook_holds_rules_in_every_format():
    book = Codebook(
        columns=(Entry(column="PAY", kind="number", rules=("AGE<15 -> PAY missing", "AGE=15->PAY=0")),)
    )
    again = parse_codebook(book.to_json().encode(), "book.json")
    rows = parse_codebook(
        b"column,kind,rules\nPAY,number,AGE < 15 -> PAY missing|AGE = 15 -> PAY = 0\n", "b.csv"
    )
    assert (
        again == rows == book
        and book.digest != Codebook(columns=(Entry(column="PAY", kind="number"),)).digest
    )
    assert declared_rules(book, ("PAY",), ("A = 1 -> B = 2",)) == book.columns[0].rules
    assert rules_of(("A = 1 -> B = 2", "A=1 -> B=2", "A = 1 -> C missing"), ("B",)) == ("A = 1 -> B = 2",)
    with pytest.raises(InputError, match=r"entry of column 'PAY' is wrong: the rule .* is of another column"):
        parse_codebook(b"column,kind,rules\nPAY,number,AGE < 15 -> MSP = 1\n", "b.csv")
    with pytest.raises(InputError, match=r"entry of column 'PAY' is wrong: rules: A rule is written"):
        parse_codebook(b"column,kind,rules\nPAY,number,AGE under 15\n", "b.csv")


def test_without_rules_the_digest_of_a_codebook_is_as_it_was():
    """A plan carries it: a release made before has the same id."""
    assert Codebook(columns=(Entry(column="PAY", kind="number"),)).digest == "85d1bd6118bb4c71"


def test_what_is_above_the_largest_number_is_told_without_a_warning():
    with np.errstate(over="raise"):
        low, _ = read_rule("wages > income").then.ends(np.array([np.finfo(float).max, 1.0]))
    assert low.tolist() == [np.inf, np.nextafter(1.0, 2.0)]


def test_a_range_that_a_category_without_a_number_breaks_says_why():
    """Whoever wrote EDU <= 9 saw no row beyond 9."""
    codes, everybody = np.array([0.0, 1.0, 2.0, np.nan, 1.0]), np.ones(5, dtype=bool)
    rule = read_rule("AGE < 15 -> EDU <= 9")
    with pytest.raises(
        InputError, match=r"in 1 row \(row 1\).* is neither above nor below 9: .* = and or"
    ) as no:
        check_table(PEOPLE, rule, {"EDU": (codes, ("N", "8", "9"))}, everybody)
    assert "'N'" not in str(no.value)
    with pytest.raises(InputError, match=r"or the rule\.$"):
        check_table(PEOPLE, rule, {"EDU": (codes, ("12", "8", "9"))}, everybody)
