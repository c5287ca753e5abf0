"""A guess is asked for where it is missed, on the scale of the model, and a typical value that was said is one."""

import numpy as np
import pytest
from scipy.stats import norm
from streamlit.testing.v1 import AppTest

from synth_core.models import family
from synth_core.ui.shared.guess_boxes import HIGH, LOW
from synth_core.ui.state.choices import replaced
from synth_core.ui.state.first_choices import first_choices


def compare_page(anchor="pilot", edges=(), typical=None):
    import streamlit as st

    from synth_core.ui.compare.controls import tuning
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        settings = {"model": "two_part", "transformation": "asinh", "asinh_scale": 5000.0}
        settings |= {"anchor": anchor, "bracket_edges": edges}
        chosen = session.choices().with_settings(**settings).with_mechanisms("anchored")
        session.change(chosen.model_copy(update={"guess_typical": typical, "guess_spread": None}))
    tuning(session.choices().mechanisms)
    st.write(f"guess {session.choices().guess}")


def box(at, label):
    return next((each for each in at.number_input if each.label == label), None)


@pytest.mark.parametrize("anchor", ["pilot", "counts"])
def test_compare_asks_for_a_missing_guess_in_the_unit_of_the_variable(anchor):
    """50,000 is no spread of asinh: between what half of all values lie is asked, in dollars."""
    at = AppTest.from_function(compare_page, kwargs={"anchor": anchor}).run(timeout=30)
    box(at, LOW).set_value(50000.0).run(timeout=30)
    assert at.markdown[-1].value == "guess None"
    box(at, HIGH).set_value(20000.0).run(timeout=30)
    assert "the second is larger" in at.error[0].value and at.markdown[-1].value == "guess None"
    box(at, HIGH).set_value(90000.0).run(timeout=30)
    scaled = np.arcsinh(np.array([50000.0, 90000.0]) / 5000.0)
    spread = float(np.diff(scaled)[0]) / (norm.ppf(0.75) - norm.ppf(0.25))
    given = eval(at.markdown[-1].value.removeprefix("guess "))
    assert given == pytest.approx((5000.0 * np.sinh(scaled.mean()), spread), rel=1e-8)
    assert box(at, LOW) is None
    assert not at.exception


def count_page():
    """A count of which nothing is declared."""
    import streamlit as st

    from synth_core.ui.compare.controls import tuning
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        chosen = session.choices().with_settings(model="negative_binomial").with_mechanisms("measured")
        session.change(chosen.model_copy(update={"lower_bound": None, "upper_bound": None}))
    tuning(session.choices().mechanisms)
    st.write(f"bounds {session.choices().bounds}")


def test_of_a_count_that_is_measured_bounds_are_asked_for():
    """A guess was asked for, which makes no brackets: the row went on asking when nothing could be said any more."""
    at = AppTest.from_function(count_page).run(timeout=30)
    assert box(at, LOW) is None and any("bounds of x" in caption.value for caption in at.caption)
    box(at, "x lies between").set_value(0.0).run(timeout=30)
    box(at, "and").set_value(20.0).run(timeout=30)
    assert at.markdown[-1].value == "bounds (0.0, 20.0)" and box(at, "and") is None
    assert not at.exception


def test_compare_asks_for_no_more_than_the_data_page_has_not_been_told():
    """Whoever had said a typical value there was asked for "a guess" here."""
    at = AppTest.from_function(compare_page, kwargs={"typical": 40000.0}).run(timeout=30)
    assert not at.exception and any(
        "how far x spreads around 40,000, which was said on the Data page" in c.value for c in at.caption
    )
    at = AppTest.from_function(compare_page).run(timeout=30)
    assert any("a guess of x that anyone might make" in c.value for c in at.caption)


def bounded_page():
    """An amount of which the bounds are declared and nothing else, counted."""
    import streamlit as st

    from synth_core.ui.compare.controls import tuning
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        settings = {"model": "two_part", "transformation": "asinh", "asinh_scale": 5000.0, "anchor": "pilot"}
        chosen = session.choices().with_settings(**settings).with_mechanisms("measured")
        said = {
            "lower_bound": -20000.0,
            "upper_bound": 1500000.0,
            "guess_typical": None,
            "guess_spread": None,
        }
        session.change(chosen.model_copy(update=said))
    tuning(session.choices().mechanisms)


def test_of_an_amount_with_bounds_a_guess_is_better_and_not_missing():
    """ "Missing for Measured" stood beside a row of Measured that had its numbers."""
    at = AppTest.from_function(bounded_page).run(timeout=30)
    assert not at.exception and box(at, LOW) is not None
    captions = " ".join(caption.value for caption in at.caption)
    assert "Missing" not in captions and "**Measured** counts x in brackets of equal width" in captions


def test_the_boxes_show_the_guess_that_is_there():
    at = AppTest.from_function(guess_page).run(timeout=30)
    assert (box(at, LOW).value, box(at, HIGH).value) == pytest.approx((20000.0, 80000.0), rel=1e-5)


def test_a_zero_is_shown_as_it_was_typed():
    """0 came back from the scale of the model as -1.55e-10."""
    from synth_core.analysis.settings import make_settings
    from synth_core.models import family
    from synth_core.ui.state.choices import as_typed

    chosen = {"transformation": "asinh", "asinh_scale": 5.0}
    model, options = family("two_part"), make_settings(outcome="x", model="two_part", **chosen).options
    ends = model.half_of_guess(options, *model.guess_of_half(options, 0.0, 120.0))
    assert as_typed(ends) == (0.0, pytest.approx(120.0, rel=1e-7))
    assert as_typed((-0.25, 7.0)) == (-0.25, 7.0)


def test_clearing_one_end_leaves_the_other():
    at = AppTest.from_function(guess_page).run(timeout=30)
    at.session_state["cleared"] = True  # AppTest cannot empty a box
    at.run(timeout=30)
    assert (box(at, LOW).value, box(at, HIGH).value) == (None, pytest.approx(80000.0, rel=1e-5))
    box(at, LOW).set_value(30000.0).run(timeout=30)
    assert (box(at, LOW).value, box(at, HIGH).value) == pytest.approx((30000.0, 80000.0), rel=1e-5)
    assert not at.exception


def test_counts_in_declared_brackets_need_no_guess():
    given = {"anchor": "counts", "edges": (0.0, 0.0, 10.0, 100.0)}
    at = AppTest.from_function(compare_page, kwargs=given).run(timeout=30)
    assert box(at, LOW) is None
    assert not at.exception


def guess_page():
    import streamlit as st

    import synth_core.ui.shared.guess_boxes as guess_boxes_module
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        chosen = session.choices().with_settings(model="lognormal")
        session.change(chosen.model_copy(update={"guess_typical": 40000.0, "guess_spread": 1.0276618}))
    if st.session_state.pop("late", False):
        boxes = [guess_boxes_module._key(end) for end in ("low", "high")]
        st.session_state.update(zip(boxes, (20000.0, 80000.0), strict=True))
        session.use_example("beta", 60, 1)
        session.change(session.choices().model_copy(update={"guess_typical": None, "guess_spread": None}))
        guess_boxes_module._take(*boxes)
    if st.session_state.pop("cleared", False):
        boxes = [guess_boxes_module._key(end) for end in ("low", "high")]
        st.session_state.update(zip(boxes, (None, 80000.0), strict=True))
        guess_boxes_module._take(*boxes)
    guess_boxes_module.guess_boxes()
    st.write(f"guess {session.choices().guess}")


def test_a_box_of_another_table_that_comes_late_is_no_guess():
    """Its value came with the run after an upload once, and was the guess of the new table."""
    at = AppTest.from_function(guess_page).run(timeout=30)
    at.session_state["late"] = True
    at.run(timeout=30)
    assert at.markdown[-1].value == "guess None"


def data_page():
    import streamlit as st

    from synth_core.ui.data.advice import propose
    from synth_core.ui.shared.presets import use_preset
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        session.change(session.choices().model_copy(update={"guess_typical": None, "guess_spread": None}))
    propose()
    st.button("preset", on_click=use_preset, args=("anchored",))
    st.write(f"typical {session.choices().guess_typical}")


def test_a_typical_value_is_said_once():
    at = AppTest.from_function(data_page).run(timeout=30)
    at.selectbox[0].select_index(2)
    box(at, "A typical value, publicly known").set_value(10000.0)
    at.run(timeout=30)
    next(each for each in at.button if each.label == "Use this proposal").click().run(timeout=30)
    assert at.markdown[-1].value == "typical 10000.0"
    at.button[-1].click().run(timeout=30)
    assert at.markdown[-1].value == "typical 10000.0"
    assert not at.exception


def with_guess(**settings):
    chosen = first_choices().with_settings(**settings)
    model = family(chosen.settings.model)
    typical, spread = model.guess_of_half(chosen.settings.options, 20.0, 45.0)
    return chosen.model_copy(update={"guess_typical": typical, "guess_spread": spread})


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "negative_binomial"},
        {"model": "mixture"},
        {"model": "two_part", "transformation": "asinh", "asinh_scale": 10.0},
        {"asinh_scale": 3.0},
        {"model": "categorical"},
    ],
)
def test_another_model_keeps_the_half_that_was_said(changes):
    """A spread of 0.6 on the logarithm was taken for one of 0.6 counts."""
    before = with_guess(model="lognormal", transformation="asinh", asinh_scale=1.0)
    after = before.with_settings(**changes)
    model = family(after.settings.model)
    assert model.half_of_guess(after.settings.options, *after.guess) == pytest.approx((20.0, 45.0), rel=1e-5)
    assert (after.bounds, after.span) == (before.bounds, before.span)
    back = after.with_settings(**{name: getattr(before.settings, name) for name in changes})
    assert back.guess == before.guess  # to the last digit: another guess would be another seed of the noise


def test_a_widget_of_the_model_keeps_it_too_and_other_settings_leave_it_as_it_is():
    before = with_guess(model="lognormal")
    after = replaced(before, "settings.model", "negative_binomial")
    model = family("negative_binomial")
    assert model.half_of_guess(after.settings.options, *after.guess) == pytest.approx((20.0, 45.0), rel=1e-5)
    for place, value in (("settings.epsilon", 3.0), ("settings.unit", 100.0), ("settings.prior_scale", 2.0)):
        for _ in range(50):  # the last digit of a half is not always the same
            assert replaced(before, place, value).guess == before.guess


def test_a_half_that_another_scale_has_not_is_no_guess_there():
    before = first_choices().with_settings(model="negative_binomial")
    before = before.model_copy(update={"guess_typical": 3.0, "guess_spread": 9.0})  # its half begins below 0
    assert before.with_settings(model="lognormal").guess is None


def pages_in_turn():
    import streamlit as st

    from synth_core.ui.data import advice
    from synth_core.ui.state import session

    session.take_over()
    if not st.toggle("Another page"):
        advice.propose()


def test_what_was_said_of_a_variable_is_there_after_another_page():
    at = AppTest.from_function(pages_in_turn).run(timeout=30)
    at.selectbox[0].select_index(0).run(timeout=30)
    at.number_input[0].set_value(15000.0).run(timeout=30)
    kind = at.selectbox[0].value
    at.toggle[0].set_value(True).run(timeout=30)
    assert not at.selectbox
    at.toggle[0].set_value(False).run(timeout=30)
    assert (at.selectbox[0].value, at.number_input[0].value) == (kind, 15000.0) and kind is not None
    assert not at.exception


def several_page():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.data.examples import load_example
    from synth_core.ui.compare import controls
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        blocks = (Block("inc", "lognormal"), Block("marr", "categorical", {"categories": ("0", "1")}))
        session.use_table(
            load_example("401ksubs"), session.choices().with_mechanisms("unweighted", "measured")
        )
        chosen = session.choices().with_settings(outcome="inc", model="lognormal", predictors=())
        if st.session_state.get("half_made"):
            blocks = (*blocks, Block("nettfa", "two_part", {"unit": -1.0}), Block("e401k", "categorical"))
        unsaid = {"blocks": blocks, "guess_typical": None, "guess_spread": None}
        session.change(chosen.model_copy(update=unsaid).describing("marr"))
    controls.tuning(session.choices().mechanisms)
    st.session_state["now"] = session.choices()


def test_what_another_variable_lacks_is_asked_for_where_it_is_missed():
    """Measured said that a number lacked brackets, and nothing on the page could be pressed to say them."""
    at = AppTest.from_function(several_page).run(timeout=60)
    assert not at.exception
    assert any("what is publicly known of inc" in each.value for each in at.caption)
    next(each for each in at.button if each.label == "Say it of inc").click().run(timeout=60)
    assert not at.exception and at.session_state["now"].settings.outcome == "inc"
    assert not [each for each in at.button if each.label.startswith("Say it of")]
    low, high = (
        each for each in at.number_input if each.label in ("Half of all values of inc lie between", "and")
    )
    low.set_value(20.0)
    high.set_value(60.0).run(timeout=60)
    assert not at.exception and at.session_state["now"].guess is not None


def test_half_made_choices_of_another_variable_are_no_error_of_the_page():
    """What cannot be fitted by any mechanism is said by the page, and no guess would mend it."""
    at = AppTest.from_function(several_page)
    at.session_state["half_made"] = True
    at.run(timeout=60)
    assert not at.exception
    asked = [each.label for each in at.button if each.label.startswith("Say it of")]
    assert asked == ["Say it of inc"]
