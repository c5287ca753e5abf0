"""A series whose limit counts ε at a δ, by zCDP: fixed with the series, strict releases only, ρ given back."""

import json
import math
import sqlite3

import pytest

from synth_core.cli import main
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import guarantees
from synth_core.mechanisms.composition import SUM, Count, epsilon_at, rho_at, rho_of
from synth_core.release.ledger.by_release import by_release
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import largest_next, left_words, other_words, spent_words
from synth_core.release.state import StateError
from tests.support.ledger_race import race

ZCDP = Count(1e-6)


def details(data, epsilon, guarantee="anchored"):
    """Of a release of one data set, as `releasing` makes them."""
    kind = guarantees()[guarantee]
    return {
        "data": data,
        "m": 1,
        "guarantee": kind.label,
        "strict": kind.strict,
        "rho": rho_of(kind, epsilon, 1),
    }


def charge(ledger, name, epsilon, series="monthly", guarantee="anchored"):
    ledger.reserve(series, name, epsilon, details(f"{series}-{name}", epsilon, guarantee))


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.set_limit("monthly", 4.5, "a test", "tester", ZCDP)
    yield ledger
    ledger.close()


def test_twelve_months_pass_where_their_sum_would_not(ledger):
    ledger.set_limit("summed", 4.5, "a test", "tester")
    for month in range(12):
        charge(ledger, f"m{month}", 0.5)
        ledger.commit("monthly", f"m{month}", {})
    balance = ledger.balance("monthly")
    assert balance.rho == pytest.approx(12 * 0.5**2 / 8)
    assert spent_words(balance) == "ε = 4.441 at δ = 1e-06"
    assert other_words(balance) == "the sum of ε is 6"
    with pytest.raises(
        InputError, match=r"allows ε = 4\.5 at δ = 1e-06 in all, by zCDP, 4\.441 is .* would be 4\.6"
    ):
        charge(ledger, "m12", 0.5)
    for month in range(9):
        charge(ledger, f"s{month}", 0.5, "summed")
    with pytest.raises(InputError, match="limit of the series summed has no room"):
        charge(ledger, "s9", 0.5, "summed")


def test_what_each_release_cost_and_how_near_it_came(ledger):
    for month in (1, 2):
        charge(ledger, f"m{month}", 0.5)
        ledger.commit(
            "monthly", f"m{month}", {"n": 1000, "clamped": 0.012 * (month - 1), "ecdf_max": 0.05 / month}
        )
    charge(ledger, "open", 0.5)
    first, second = by_release(ledger.entries("monthly"))
    told = [
        first[name]
        for name in ("Release", "Records", "Distribution off by", "Records clamped", "ε", "ε in all")
    ]
    assert told == ["1", "1,000", "5.00 points", "0.0 %", "0.5", "0.5"]
    assert [second[name] for name in ("Records clamped", "ε in all")] == ["1.2 %", "1"]
    assert second["ε at δ = 1e-06"] == f"{epsilon_at(2 * 0.5**2 / 8):.3g}"


def test_epsilon_that_only_names_a_rho_is_not_summed(ledger):
    """Two Gaussian releases named by ε = 1 and 1 were said to sum up to 2, which is the loss of nothing."""
    charge(ledger, "first", 1.0)
    assert ledger.balance("monthly").pure and other_words(ledger.balance("monthly")) == "the sum of ε is 1"
    charge(ledger, "second", 1.0, guarantee="measured")
    ledger.commit("monthly", "second", {})
    balance = ledger.balance("monthly")
    assert not balance.pure and other_words(balance) == "" and balance.rho == pytest.approx(0.25)
    assert by_release(ledger.entries("monthly"))[0]["ε in all"] == "–"
    ledger.commit("monthly", "first", {})
    charge(ledger, "third", 0.1, guarantee="measured")
    ledger.cancel("monthly", "third", {})
    assert not ledger.balance("monthly").pure  # of the second


def test_what_is_said_to_be_left_is_left_and_no_more(ledger):
    for month in range(12):
        charge(ledger, f"m{month}", 0.5)
    largest = largest_next(ledger.balance("monthly"))
    half = math.floor(50 * largest) / 100
    said = f"room for one more data set of at most ε = {largest:g} (with Laplace noise {half:g})"
    assert left_words(ledger.balance("monthly")) == said
    with pytest.raises(InputError, match=f"at most ε = {largest:g}"):
        charge(ledger, "more", largest + 0.01)
    with pytest.raises(InputError, match="limit of the series monthly has no room"):
        charge(ledger, "noise", half + 0.01, guarantee="measured_laplace")
    charge(ledger, "last", largest)
    assert left_words(ledger.balance("monthly")).startswith(("no room", "room for one more"))
    assert epsilon_at(ledger.balance("monthly").rho) <= 4.5


def test_what_the_limit_counts_is_fixed_with_the_first_one(ledger):
    ledger.set_limit("summed", 4.5, "a test", "tester", SUM)
    for series, other in (("monthly", SUM), ("monthly", Count(1e-5)), ("summed", ZCDP)):
        with pytest.raises(InputError, match="fixed with its first limit"):
            ledger.set_limit(series, 9.0, "another", "tester", other)
    ledger.set_limit("monthly", 9.0, "a year more", "tester")
    ledger.set_limit("monthly", 3.0, "less", "tester", ZCDP)
    balance = ledger.balance("monthly")
    assert (balance.limit, balance.count) == (3.0, ZCDP)
    assert ledger.balance("summed").count == SUM


@pytest.mark.parametrize("guarantee", ["asymptotic", "settings_seen", "weights_seen"])
def test_a_release_without_rho_is_refused(ledger, guarantee):
    with pytest.raises(InputError, match="no theorem gives the ρ of this release"):
        charge(ledger, "r", 0.5, guarantee=guarantee)
    assert ledger.balance("monthly").spent == 0
    ledger.set_limit("summed", 4.5, "a test", "tester")
    charge(ledger, "r", 0.5, "summed", guarantee)
    assert other_words(ledger.balance("summed")) == ""


def test_a_histogram_costs_four_times_the_rho(ledger):
    charge(ledger, "h", 0.5, guarantee="histogram")
    assert ledger.balance("monthly").rho == pytest.approx(0.5**2 / 2)


def test_a_cancelled_charge_gives_its_rho_back_and_a_raised_one_counts_once(ledger):
    charge(ledger, "a", 1.0)
    charge(ledger, "b", 0.5)
    ledger.cancel("monthly", "a", {"because": "test"})
    assert ledger.balance("monthly").rho == pytest.approx(0.5**2 / 8)
    charge(ledger, "a", 1.0)  # made after all
    assert ledger.balance("monthly").rho == pytest.approx(1.0**2 / 8 + 0.5**2 / 8)
    ledger.raise_to("monthly", "a", 1.5, details("monthly-a", 1.5))
    assert ledger.balance("monthly").rho == pytest.approx(1.5**2 / 8 + 0.5**2 / 8)
    with pytest.raises(InputError, match="has no room"):
        ledger.raise_to("monthly", "a", 3.0, details("monthly-a", 3.0))
    assert ledger.balance("monthly").spent == 2.0
    ledger.cancel("monthly", "b", {"because": "test"})
    ledger.cancel("monthly", "a", {"because": "test"})
    assert (ledger.balance("monthly").rho, ledger.balance("monthly").spent) == (0, 0)


def charge_half(ledger, name):
    charge(ledger, name, 0.5)


@pytest.mark.slow
def test_processes_at_once_cannot_pass_the_limit(ledger):
    assert race(ledger.directory, charge_half, 7).count("reserved") == 12
    ledger.cancel("monthly", "0-0", {"because": "test"})
    charge(ledger, "another", 0.5)


def test_a_sum_is_written_as_it_was_before_there_was_a_choice(ledger):
    ledger.set_limit("summed", 4.5, "a test", "tester")
    with sqlite3.connect(ledger.directory / "ledger.sqlite") as db:
        [(body,)] = db.execute("SELECT body FROM entries WHERE series = 'summed'")
    db.close()
    assert json.loads(body)["details"] == {"limit": 4.5, "reason": "a test", "who": "tester"}


@pytest.mark.parametrize(
    ("old", "new"), [("1e-06", "0.01"), ('"delta": 1e-06, ', ""), ('"delta"', '"other"'), ("4.5", "9.5")]
)
def test_another_count_written_over_the_first_breaks_the_chain(ledger, old, new):
    charge(ledger, "r", 0.5)
    ledger.close()
    with sqlite3.connect(ledger.directory / "ledger.sqlite") as db:
        db.execute("DROP TRIGGER entries_stay")
        changed = "UPDATE entries SET body = replace(body, ?, ?) WHERE number = 1 AND instr(body, ?)"
        assert db.execute(changed, (old, new, old)).rowcount == 1
    db.close()
    with pytest.raises(StateError, match="does not hold"):
        Ledger(ledger.directory).balance("monthly")


@pytest.mark.parametrize("delta", [0.0, 1e-13, 0.02, 1.0, float("nan"), float("inf"), -1e-6])
def test_a_delta_out_of_bounds_is_refused(delta):
    with pytest.raises(InputError, match="δ of a limit must lie between"):
        Count(delta)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0, 1e5])
def test_rho_at_is_the_inverse_from_below(epsilon, delta):
    rho = rho_at(epsilon, delta)
    assert epsilon_at(rho, delta) <= epsilon < epsilon_at(rho * 1.001, delta) + 1e-9


def test_the_epsilon_of_any_rho_grows():
    found = [epsilon_at(10.0**power, 1e-6) for power in range(-12, 12)]
    assert found == sorted(found)
    assert epsilon_at(0.0) == 0.0


# -- the command line ----------------------------------------------------------------------------


@pytest.fixture
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    return tmp_path


def set_limit(*more):
    return main(["ledger", "limit", "monthly", *more, "--reason", "r", "--who", "w"])


def test_the_commands_of_the_ledger(state, capsys):
    assert set_limit("4.5", "--count", "zcdp") == 0
    charge(Ledger(), "r", 0.5)
    assert main(["ledger", "show", "monthly"]) == 0
    shown = capsys.readouterr().out
    assert (
        "ε = 1.143 at δ = 1e-06 of 4.5, counted by zCDP, room for one more data set of at most ε = 1.67 "
        in shown
    )
    assert "the sum of ε is 0.5; ρ = 0.03125" in shown
    assert "limit 4.5 at δ = 1e-06, w: r" in shown
    assert set_limit("5") == 0
    for wrong, message in (
        (("5", "--count", "sum"), "fixed with its first limit"),
        (("5", "--count", "zcdp", "--delta", "1e-5"), "fixed with its first limit"),
        (("5", "--delta", "1e-6"), "belongs to --count zcdp"),
        (("5", "--count", "zcdp", "--delta", "0.5"), "must lie between"),
        (("5", "--count", "zcdp", "--delta", "nan"), "must lie between"),
    ):
        assert set_limit(*wrong) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--mechanism", "weighted", "--tuned-on", "public", "--limit", "4", "--count", "zcdp"], "only releases with"),
        (["--mechanism", "anchored", "--tuned-on", "confidential", "--limit", "4", "--count", "zcdp"],
         "not tuned on the confidential"),
        (["--mechanism", "anchored", "--tuned-on", "public", "--count", "zcdp"], "--count belongs to --limit"),
    ],
)  # fmt: skip
def test_a_plan_that_could_release_nothing_is_refused_before_its_fit(state, capsys, more, message):
    assert main(["plan", "example:lognormal", "--series", "s", "--reason", "r", "--decided-by", "me",
                 "--out", str(state / "plan.json"), *more]) == 2  # fmt: skip
    assert message in capsys.readouterr().err
