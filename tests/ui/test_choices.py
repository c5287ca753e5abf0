"""The choices are one frozen value; changing, undoing and validating it."""

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_core.analysis.settings import Settings
from synth_core.data.examples import EXAMPLES, load_example
from synth_core.errors import InputError
from synth_core.ui.state.browser import UNDO_STEPS, Browser
from synth_core.ui.state.choices import (
    Choices,
    ExploreChoices,
    Sweeps,
    example_choices,
    first_choices,
    replaced,
    value_at,
)

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
    first, new = first_choices(), object()
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
        one.undo()
        assert one.choices == back
    assert one.revision >= revision  # other tabs are told of an undo, too
    assert not one.history


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
