"""A column that was charged is known again in whatever order and type, and by nobody without the key."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.release.ledger.balances import NewLimit
from synth_core.release.ledger.column_marks import KEPT, ColumnMark, marked
from synth_core.release.ledger.elsewhere import Columns
from synth_core.release.ledger.ledger import Ledger

KEY, N = b"k" * 32, 2000
DRAWS = {
    "income": lambda rng: rng.lognormal(3, 1, N),
    "rounded": lambda rng: np.round(rng.lognormal(10, 0.8, N), -2),
    "age": lambda rng: rng.integers(18, 90, N).astype(float),
    "few": lambda rng: rng.integers(0, 12, N).astype(float),
    "words": lambda rng: np.array([f"job {i}" for i in rng.integers(0, 300, N)]),
}
NUMBERS = [name for name in DRAWS if name != "words"]


def mark(values, name="renamed", key=KEY):
    return marked(Table("t", pd.DataFrame({name: values})), [name], key)[0]


def column(name, seed=1):
    return DRAWS[name](np.random.default_rng(seed))


CHANGES = {
    "as it is": lambda x, rng: x,
    "in another order": lambda x, rng: rng.permutation(x),
    "one less": lambda x, rng: x[1:],
    "one more": lambda x, rng: np.append(x, x[:1]),
    "ten less": lambda x, rng: x[10:],
}
OF_NUMBERS = {
    "late decimals": lambda x, rng: x + 1e-9,
    "single precision": lambda x, rng: x.astype(np.float32),
    "as text": lambda x, rng: np.array([repr(float(value)) for value in x]),
    "missing values beside": lambda x, rng: np.append(x, [np.nan] * 50),
}


@pytest.mark.parametrize("change", [*CHANGES, *OF_NUMBERS])
@pytest.mark.parametrize("name", DRAWS)
def test_a_column_is_known_again(name, change):
    if name == "words" and change in OF_NUMBERS:
        pytest.skip("of numbers")
    if name == "few" and change in ("one less", "one more", "ten less"):
        pytest.skip("with a dozen values another table is as near by chance")
    x, rng = column(name), np.random.default_rng(2)
    changed = (CHANGES | OF_NUMBERS)[change](x, rng)
    assert mark(changed).shared_with(mark(x, name).mark) > 0.9


@pytest.mark.parametrize("name", DRAWS)
def test_another_table_of_the_same_population_is_another_column(name):
    """A false alarm is rarer than one in a million: none in 40 pairs."""
    known = mark(column(name, 100), name).mark
    assert [mark(column(name, seed)).shared_with(known) for seed in range(40)] == [0.0] * 40


def test_two_values_are_known_by_their_numbers_and_their_name():
    x = np.repeat(["f", "m"], [N - 700, 700])
    known = mark(x, "sex").mark
    assert mark(x[::-1], "sex").shared_with(known) == 1
    assert (
        mark(x[::-1], "owner").shared_with(known) == 0
    )  # any other question may have as many of each answer


def test_a_part_of_a_table_shares_its_part(rng):
    """Half of the values: Jaccard's share is a half, within four standard errors of a mark of 256 hashes."""
    x = column("income")
    assert mark(x[: N // 2]).shared_with(mark(x).mark) == pytest.approx(0.5, abs=4 * np.sqrt(0.25 / KEPT))


def test_a_mark_tells_nothing_without_the_key():
    """Its parts are as long for any column of so many records, and random digits for whoever lacks the key."""
    one, other = (mark(np.repeat(7.0, N), "x", key).mark for key in (KEY, b"l" * 32))
    assert one.whole != other.whole and not set(one.some) & set(other.some)
    assert len(one.some) == len(mark(column("income")).mark.some) == KEPT
    # Of a constant column as of any other: the smallest 256 of 2,000 uniform numbers, their mean about an equal part.
    middle = np.mean([int(each, 16) / 2.0**64 for each in one.some])
    assert middle == pytest.approx(KEPT / N / 2, rel=0.35)
    assert ColumnMark.from_json(one.as_json()) == one


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    ledger.close()


def people(seed=1):
    return Table("people", pd.DataFrame({name: column(name, seed) for name in DRAWS}))


def charge(ledger, series, table, sensitive, predictors=(), release="r"):
    details = {
        "data": f"{series}{release}",
        "plan": "p",
        "m": 1,
        "guarantee": "ε-DP",
        "strict": True,
        "outcome": "x",
    }
    columns = Columns(ledger.marked(table, sensitive), ledger.marked(table, predictors))
    limit = NewLimit(100.0, "r", "w") if ledger.balance(series).limit is None else None
    return ledger.reserve(series, f"{series}-{release}", 1.0, details, columns, limit)


def changed(table, name, change):
    frame = table.frame.iloc[7:] if change == "rows" else table.frame.sample(frac=1, random_state=3)
    if change == "decimals":
        frame = frame.assign(**{name: frame[name] + 1e-9})
    if change == "type":
        frame = frame.assign(**{name: frame[name].astype("float32")})
    return Table("another file", frame.rename(columns={name: "z"}) if change == "name" else frame)


@pytest.mark.parametrize("change", ["order", "rows", "decimals", "type", "name"])
@pytest.mark.parametrize("own", ["pay", "other"])
def test_a_charged_column_may_be_no_predictor(ledger, change, own):
    """In another series and in its own: it would leave verbatim."""
    charge(ledger, "pay", people(), ["income", "age"])
    table = changed(people(), "income", change)
    with pytest.raises(
        InputError,
        match=r"column '(income|z)', which is kept, has the values of 'income', .* in the series pay",
    ):
        charge(ledger, own, table, ["rounded"], ["z" if change == "name" else "income"], "second")
    assert charge(ledger, own, table, ["rounded"], ["words"], "second").warnings == ()


@pytest.mark.parametrize("change", ["order", "rows", "decimals", "type", "name"])
def test_a_table_but_for_some_records_is_charged_in_one_series(ledger, change):
    """A variable alone and in blocks: the sum stays in one place."""
    charge(ledger, "pay", people(), ["income"])
    table = changed(people(), "income", change)
    with pytest.raises(InputError, match="charged under the series pay"):
        charge(ledger, "blocks", table, ["rounded", "z" if change == "name" else "income"])


def test_records_that_overlap_are_told_and_what_was_given_back_is_forgotten(ledger):
    charge(ledger, "pay", people(), ["income"])
    frame = people().frame.iloc[: N // 2]
    more = pd.concat([frame, people(9).frame.iloc[: N // 2]])
    found = charge(ledger, "half", Table("half", more), ["income"])
    assert (
        len(found.warnings) == 1
        and "values of 'income' were charged under the series pay too" in found.warnings[0]
    )
    ledger.cancel("half", "half-r", {})
    ledger.cancel("pay", "pay-r", {})
    assert charge(ledger, "third", Table("half", more), ["income"], ["rounded"]).warnings == ()


def test_other_tables_of_the_same_people_pass(ledger):
    charge(ledger, "pay", people(1), ["income"], ["age", "words"])
    assert charge(ledger, "later", people(2), ["income"], ["age", "words"]).warnings == ()
