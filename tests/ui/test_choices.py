"""The choices are one frozen value; changing, undoing and validating it."""

from dataclasses import replace

import pandas as pd
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import Settings
from synth_core.data.examples import EXAMPLES, load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.release.plan.settings_file import Scenario
from synth_core.ui.compare.steps import step_words
from synth_core.ui.data.roles import without
from synth_core.ui.state.browser import UNDO_STEPS, Browser, Play
from synth_core.ui.state.choices import FRESH, Choices, ExploreChoices, Sweeps, pairs, replaced, value_at
from synth_core.ui.state.first_choices import LASTING, example_choices, first_choices, unusual

PLACES = [
    *(f"settings.{name}" for name in Settings.model_fields),
    *(f"explore.{name}" for name in ExploreChoices.model_fields),
    *(f"explore.sweeps.{name}.{i}" for name in Sweeps.model_fields for i in range(3)),
    *(name for name in Choices.model_fields),
    "settings.range.0",
    "settings.range.1",
]


@pytest.mark.parametrize("place", PLACES)
def test_a_change_at_one_place_moves_nothing_else(place):
    """Without a guess: it follows the model, see test_guess.py."""
    first, new = first_choices().model_copy(update=pairs(None, None)), object()
    second = replaced(first, place, new)
    assert value_at(second, place) is new
    assert value_at(first, place) is not new
    others = [p for p in PLACES if not p.startswith(place) and not place.startswith(p)]
    assert all(value_at(first, p) == value_at(second, p) for p in others)


@pytest.mark.parametrize("place", ["settings.nothing", "nothing", "explore.sweeps.scale.7"])
def test_a_place_that_is_not_there_is_an_error(place):
    with pytest.raises((AttributeError, IndexError)):
        replaced(first_choices(), place, 1)
    with pytest.raises((AttributeError, IndexError)):
        value_at(first_choices(), place)


def test_lists_of_widgets_become_tuples():
    assert replaced(first_choices(), "mechanisms", ["weighted"]).mechanisms == ("weighted",)


def test_another_table_starts_without_what_was_said_of_the_one_before():
    said = {"anchor": "values", "anchor_values": {"sigma": 1.0}, "guess_zeros": 0.4, "pilot_share": 0.5}
    said |= {"unit": 7.0, "categorical": ("z",), "prior_scale": 3.0}
    before = first_choices().with_settings(**said, scale=0.5, percentiles=(5.0, 95.0))
    after = before.for_table({"outcome": "x"}).settings
    assert {name: getattr(after, name) for name in said} == {
        name: Settings.model_fields[name].default for name in said
    }
    assert (after.scale, after.percentiles) == (
        0.5,
        (5.0, 95.0),
    )  # these are named on the page, with a way back
    assert {"scale", "percentiles"} <= set(unusual(before.for_table({"outcome": "x"})))


def test_every_setting_is_of_a_table_or_lasts_and_is_named():
    others = {"outcome", "model", "predictors", "program", "guess", "risk_reference", "earlier"}
    assert set(Settings.model_fields) == {*FRESH, *LASTING, *others}


def test_nothing_can_be_assigned():
    with pytest.raises(pydantic.ValidationError):
        first_choices().mechanisms = ()


def browser():
    return Browser(load_example("beta", 30))


@given(st.lists(st.tuples(st.sampled_from(["scale", "shift", "epsilon"]), st.floats(0, 1)), max_size=80))
def test_undo_goes_back_step_by_step(steps):
    one = browser()
    seen = [one.choices]
    for name, value in steps:
        one.change(one.choices.with_settings(**{name: value}))
        if one.choices != seen[-1]:
            seen.append(one.choices)
    revision = one.revision
    assert revision == len(seen) - 1
    for back in seen[-2::-1][:UNDO_STEPS]:
        one.go_to(len(one.history) - 1)
        assert one.choices == back
    assert one.revision >= revision  # other tabs are told of an undo, too
    assert not one.history


def test_a_step_is_gone_to_and_those_after_it_stay_until_something_else_is_chosen():
    one = browser()
    for scale in (0.9, 0.8, 0.7, 0.6):
        one.change(one.choices.with_settings(scale=scale))
    seen = one.steps
    assert [c.settings.scale for c in seen] == [1.0, 0.9, 0.8, 0.7, 0.6]
    for step in (1, 3, 0, 4, 2, 9, -1):
        one.go_to(step)
        assert one.steps == seen
    assert (one.choices.settings.scale, len(one.history), len(one.undone)) == (0.8, 2, 2)
    one.change(one.choices.with_settings(scale=0.1))
    assert [c.settings.scale for c in one.steps] == [1.0, 0.9, 0.8, 0.1]
    one.use_table(load_example("beta", 30, 2), one.choices)
    assert len(one.steps) == 1


def test_steps_have_names():
    first = first_choices()
    assert step_words(first, first.with_settings(scale=0.5, epsilon=1.0)) == "scale c 1 → 0.5; target ε 5 → 1"
    assert (
        step_words(first, first.with_mechanisms("unweighted", "censored"))
        == "with Censored; without Weighted"
    )
    assert step_words(first, first.model_copy(update={"lower_bound": 0.0, "upper_bound": 9.0})) == "bounds"
    assert step_words(first, first.model_copy(update={"lower_bound": 0.0})) == "a choice"
    assert step_words(first, first.model_copy(update={"policy": Policy(epsilon=1.0)})) == "rule"
    pinned, renamed = (Scenario(name=name, mechanisms=(), settings=first.settings) for name in "AB")
    one, other = (first.model_copy(update={"scenarios": (s,), "beside": s.name}) for s in (pinned, renamed))
    assert step_words(first, one) == "pinned A"
    assert step_words(one, first) == "deleted A"
    assert step_words(one, other) == "named B"
    assert step_words(one, one.model_copy(update={"beside": None})) == "shown beside"


def test_what_the_program_puts_right_is_no_step_back():
    one = browser()
    one.change(one.choices.with_settings(scale=0.5), undoable=False)
    assert (len(one.history), one.revision) == (0, 1)
    one.change(one.choices)
    assert (len(one.history), one.revision) == (0, 1)


def test_another_table_takes_its_columns_and_keeps_the_mechanism_s_settings():
    one = browser()
    one.change(one.choices.with_settings(scale=0.3, unit=10.0, categorical=("age",)))
    one.use_reference(load_example("beta", 30, 7))
    assert one.settings(outcome="x", model="poisson").risk_reference == one.reference.name
    one.use_table(load_example("poisson", 30), example_choices(one.choices, "poisson"))
    s = one.settings()
    assert (s.outcome, s.model, s.unit, s.categorical, s.scale) == ("x", "poisson", 1.0, (), 0.3)
    assert (s.risk_reference, one.reference, len(one.history)) == ("current", None, 0)


@pytest.mark.parametrize("key", EXAMPLES)
def test_an_example_s_choices_are_valid(key):
    example = EXAMPLES[key]
    s = example_choices(first_choices(), key).checked()
    assert (s.outcome, s.predictors, s.bounds) == (example.outcome, example.predictors, example.bounds)


def test_one_bound_is_no_bound():
    chosen = first_choices().model_copy(update={"lower_bound": 1.0})
    assert chosen.checked().bounds is None
    assert chosen.model_copy(update={"upper_bound": 3.0}).checked().bounds == (1.0, 3.0)


def test_a_model_on_bounds_needs_declared_ones_of_a_confidential_table():
    chosen = first_choices().with_settings(model="beta", outcome="x")
    with pytest.raises(InputError, match="needs declared bounds of 'x'"):
        chosen.checked(confidential=True)
    assert chosen.checked(confidential=False).bounds is None


def test_a_program_waits_among_the_choices_for_its_model():
    chosen = first_choices().with_settings(program="data {}")
    assert chosen.checked().program is None
    assert chosen.checked(model="own").program == "data {}"


def test_composed_mechanisms_stay_on_offer():
    chosen = first_choices().with_mechanisms("weighted", "count/censored")
    chosen = chosen.with_mechanisms("weighted")
    assert (chosen.mechanisms, chosen.composed) == (("weighted",), ("count/censored",))


def test_declared_values_go_with_the_anchor_that_they_belong_to():
    """Settings with values were opened, then another anchor was chosen on the page Data."""
    opened = first_choices().with_settings(anchor="values", anchor_values={"beta": (3.5, 0.0), "sigma": 0.8})
    assert opened.checked().anchor_values == {"beta": (3.5, 0.0), "sigma": 0.8}
    assert opened.with_settings(anchor="pilot").checked().anchor_values is None


def marked_browser():
    frame = pd.DataFrame(
        {"age": [20 + i % 7 for i in range(40)], "pay": ["N", *(str(100 + i) for i in range(39))]}
    )
    table = Table("t.csv", frame)
    return Browser(table, first_choices().opening(table))


def test_what_means_missing_can_be_said_and_taken_back():
    one = marked_browser()
    raw, tables = one.table.fingerprint, one.tables
    one.use_reference(Table("old.csv", one.table.frame.head(20)))
    one.use_missing(["pay=N"])
    assert one.tables == tables + 1  # widgets of the former table count no more
    assert one.choices.settings.outcome == "pay"  # it was text before, and age was only proposed
    assert one.table.column("pay").missing == one.reference.column("pay").missing == 1
    before = one.revision
    one.use_missing(["pay=N"])
    assert one.revision == before
    one.use_missing([])
    assert one.table.fingerprint == raw
    with pytest.raises(InputError, match="no column 'pya'"):
        one.use_missing(["pya=N"])
    assert one.table.fingerprint == raw


def test_a_chosen_variable_stays_and_a_demo_gives_the_markers_back():
    one = marked_browser()
    one.change(one.choices.with_settings(predictors=("pay",)))
    one.use_missing(["N"])
    assert one.choices.settings.outcome == "age"
    one.begin_demo(load_example("beta", 30), example_choices(one.choices, "beta"))
    assert one.table.missing == ()
    one.end_demo()
    assert one.table.missing == ("N",)
    one.use_missing([])
    assert one.table.column("pay").missing == 0


def playing(scale=0.2):
    """A browser in which c is played, from 1 over 0.2 to 0.4, after a step of its own."""
    browser = Browser(load_example("beta"))
    browser.change(replaced(browser.choices, "settings.epsilon", 3.0))
    browser.playing = Play(
        "settings.scale", "Scale c", (scale, 0.4), value_at(browser.choices, "settings.scale")
    )
    browser.change(replaced(browser.choices, "settings.scale", scale), undoable=False)
    assert browser.choices.settings.scale == scale and browser.playing
    return browser


def test_a_play_ends_where_it_began():
    browser = playing()
    browser.end_play()
    assert browser.playing is None and browser.choices.settings.scale == 1.0
    revision = browser.revision
    browser.end_play()
    assert browser.revision == revision  # nothing to end


def test_what_is_chosen_during_a_play_ends_it_and_is_kept():
    browser = playing()
    browser.change(replaced(browser.choices, "settings.shift", 0.1))
    assert browser.playing is None
    assert (browser.choices.settings.scale, browser.choices.settings.shift) == (1.0, 0.1)
    assert [each.settings.scale for each in browser.history] == [1.0, 1.0]
    browser = playing()
    browser.change(
        replaced(browser.choices, "settings.scale", 0.7)
    )  # the slider that is played is moved by hand
    assert browser.playing is None and browser.choices.settings.scale == 0.7
    browser.go_to(len(browser.history) - 1)
    assert (browser.choices.settings.scale, browser.choices.settings.epsilon) == (1.0, 3.0)


def test_a_step_back_during_a_play_leaves_no_played_value():
    browser = playing()
    browser.go_to(0)
    assert browser.playing is None and browser.choices == first_choices()
    assert [each.settings.scale for each in browser.steps] == [1.0, 1.0]


def test_another_table_or_a_demo_during_a_play_takes_no_played_value_along():
    browser = playing()
    browser.use_table(load_example("poisson"), example_choices(browser.choices, "poisson"))
    assert browser.playing is None and browser.choices.settings.scale == 1.0
    browser = playing()
    browser.begin_demo(load_example("poisson"), example_choices(browser.choices, "poisson"))
    assert browser.playing is None and browser.choices.settings.scale == 1.0
    browser.end_demo()
    assert browser.choices.settings.scale == 1.0
    assert browser.choices.settings.epsilon == 3.0


def test_what_the_program_puts_right_does_not_end_a_play():
    browser = playing()
    browser.change(replaced(browser.choices, "group_by", None), undoable=False)
    browser.change(replaced(browser.choices, "explore.percentile", 75.0), undoable=False)
    assert browser.playing is not None


def described():
    """Income and marital status, the latter described now."""
    first = replaced(first_choices(), "settings.unit", 10.0)
    first = first.model_copy(update={"guess_typical": 40.0, "guess_spread": 0.8})
    income = Block("inc", "lognormal", share=0.7)
    both = first.model_copy(
        update={"blocks": (income, Block("marr", "categorical", {"categories": ("0", "1")}))}
    )
    return both.describing("marr")


def test_each_variable_keeps_what_was_said_of_it():
    choices = described()
    assert (choices.settings.outcome, choices.settings.model) == ("marr", "categorical")
    assert (
        choices.settings.categories == ("0", "1") and choices.guess is None and choices.settings.unit == 1.0
    )
    again = replaced(choices, "settings.categories", ("0", "1", "2")).describing("inc")
    assert (again.settings.unit, again.guess, again.settings.categories) == (10.0, (40.0, 0.8), ())
    assert [(b.name, b.options, b.share) for b in again.whole] == [
        ("inc", {"unit": 10.0, "guess": (40.0, 0.8)}, 0.7),
        ("marr", {"categories": ("0", "1", "2")}, None),
    ]
    assert again.describing("marr").describing("inc") == again


def test_one_variable_is_no_whole_record_and_another_table_has_none():
    choices = described()
    assert [block.name for block in choices.whole] == ["inc", "marr"]
    assert choices.with_settings(outcome="nettfa").whole == ()  # settings of another variable were taken over
    assert choices.for_table({"outcome": "x"}).whole == ()
    assert first_choices().whole == ()


def test_a_limit_of_a_variable_goes_with_it():
    """Left in the rule it would be read there, keep Find settings from its target, and no box would take it away."""
    asked = Policy(percent=5.0, by_variable=(("inc", 2.0), ("marr", 3.0), ("age", 1.0)))
    choices = described().model_copy(update={"policy": asked})
    assert choices.for_table({"outcome": "x"}).policy == Policy(percent=5.0)
    three = choices.model_copy(update={"blocks": (*choices.whole, Block("age", "lognormal"))})
    assert without(three, "age").policy.by_variable == (("inc", 2.0), ("marr", 3.0))
    assert without(choices, "marr").policy == Policy(
        percent=5.0
    )  # what is asked of all is asked of the last one


def test_steps_of_whole_records_have_names():
    alone = described().describing("inc").model_copy(update={"blocks": ()})
    both, again = described(), described().describing("inc")
    shared = both.model_copy(update={"blocks": (replace(both.blocks[0], share=0.5), both.blocks[1])})
    turned = both.model_copy(update={"blocks": both.blocks[::-1]})
    assert step_words(alone, both) == "sensitive too: marr"
    assert step_words(both, alone) == "not sensitive: marr"
    assert step_words(both, again) == "described: inc"
    assert step_words(both, shared) == "shares of ε, or what may be missing"
    assert step_words(both, turned) == "order of the sensitive variables"
    assert step_words(again, again.with_settings(unit=100.0)) == "unit 10 → 100"
