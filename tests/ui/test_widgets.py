"""A stored value reaches the browser although Streamlit drops what it has not sent when the next run starts."""

from streamlit.testing.v1 import AppTest

from synth_core.ui.shared import widgets


def page():
    from synth_core.ui.shared.widgets import number, pick, slider_with_number
    from synth_core.ui.state import session

    session.take_over()
    slider_with_number("Scale", "settings.scale", (0.0, 2.0), 0.05, "")
    number("Draws", "settings.draws", (100, 9000), 100)
    pick("multiselect", "Mechanisms", "mechanisms", ["unweighted", "weighted", "censored"])


def test_a_browser_that_never_got_a_value_shows_it_all_the_same():
    at = AppTest.from_function(page).run(timeout=30)
    at.slider[0].set_value(0.5).run(timeout=30)
    at.run(timeout=30)
    widgets = at.slider[0], at.number_input[0], at.number_input[1], at.multiselect[0]
    assert [w.proto.set_value for w in widgets] == [False] * 4  # it would undo a click under way
    assert [w.proto.default for w in widgets] == [[0.5], 0.5, 1000, [0, 1]]


def test_a_slider_and_its_box_show_every_digit_that_counts():
    """A typed c of 0.123 was computed with and shown as 0.12, a tolerance of 0.005 as 0.01."""
    at = AppTest.from_function(page).run(timeout=30)
    slider, box = at.slider[0], at.number_input[0]
    assert (slider.proto.format, box.proto.format) == ("%.2f", "%.2f")
    at.number_input[0].set_value(0.123).run(timeout=30)
    slider, box = at.slider[0], at.number_input[0]
    assert (slider.value, box.value) == (0.123, 0.123)
    assert (slider.proto.format, box.proto.format) == ("%.3f", "%.3f")


def test_what_the_user_chose_meanwhile_stays():
    at = AppTest.from_function(page).run(timeout=30)
    at.slider[0].set_value(0.5)
    at.multiselect[0].set_value(["weighted", "censored"])
    at.run(timeout=30)
    assert (at.slider[0].value, at.number_input[0].value) == (0.5, 0.5)
    assert at.multiselect[0].value == ["weighted", "censored"]
    at.run(timeout=30)
    assert at.multiselect[0].value == ["weighted", "censored"]


def emptied():
    import streamlit as st

    from synth_core.ui.shared.widgets import number
    from synth_core.ui.state import session

    session.take_over()
    number("Span from", "span_low", (0.0, None))
    st.text(session.choices().span_low)


def test_a_box_that_may_be_empty_is_sent_again_in_the_next_seconds(monkeypatch):
    at = AppTest.from_function(emptied).run(timeout=30)
    at.number_input[0].set_value(2.0).run(timeout=30)
    at.number_input[0].set_value(None).run(timeout=30)
    assert at.text[0].value == "None"
    at.run(timeout=30)
    assert at.number_input[0].proto.set_value
    now = widgets.time.monotonic()
    monkeypatch.setattr(widgets.time, "monotonic", lambda: now + widgets.RESENT_SECONDS + 1)
    at.run(timeout=30)
    assert not at.number_input[0].proto.set_value


def own():
    import streamlit as st

    from synth_core.ui.shared.widgets import own_number

    left, right = st.columns(2)
    runs = own_number("Runs", (2, 100), 20, 1, "runs", left)
    target = own_number("Target", (0.5, None), None, 0.5, "target", right)
    st.text(f"{runs} {target}")


def test_a_box_of_the_page_refuses_with_the_rule_and_brings_the_last_number_back():
    at = AppTest.from_function(own).run(timeout=30)
    assert at.text[0].value == "20 None" and not at.caption
    at.number_input[0].set_value(50).run(timeout=30)
    assert at.text[0].value == "50 None"
    at.number_input[0].set_value(500).run(timeout=30)
    assert at.text[0].value == "50 None"
    assert at.caption[0].value == (r":red[500 was not taken\: it must lie between 2 and 100\. It stays 50\.]")
    at.number_input[1].set_value(0.1).run(timeout=30)
    assert at.text[0].value == "50 None" and "It stays empty" in at.caption[1].value
    at.number_input[1].set_value(0.7).run(timeout=30)
    at.number_input[0].set_value(None).run(timeout=30)
    assert at.text[0].value == "20 0.7" and not at.caption
    assert not at.warning and not at.exception
