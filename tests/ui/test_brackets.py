"""The editor of brackets: a row that is half filled in is refused, and what is not in use yet is said."""

from streamlit.testing.v1 import AppTest


def page():
    import pandas as pd
    import streamlit as st

    from synth_core.ui.compare import range_controls
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("401ksubs", None, 1)
    rows = st.session_state.get("rows")
    editor = st.data_editor
    st.data_editor = lambda frame, **_: frame if rows is None else pd.DataFrame(rows, columns=frame.columns)
    try:
        range_controls.edit_brackets()
    finally:
        st.data_editor = editor
    st.text(session.choices().settings.brackets)


def said(at):
    assert not at.exception
    return [each.value for each in [*at.caption, *at.error]]


def test_what_the_editor_shows_is_used_or_said_not_to_be():
    """The row without a lower end was left out, and the results of a relative range stood beside the brackets."""
    at = AppTest.from_function(page).run(timeout=60)
    unused = ["Not in use yet: the results are of other ranges."]
    assert said(at) == unused and at.text[0].value == "None"
    at.button[0].click().run(timeout=60)
    assert said(at) == [] and at.text[0].value.startswith("((0.0, 25.0), (25.0, 50.0)")
    at.session_state["rows"] = [(50.0, 900.0), (0.0, 50.0), (None, None)]
    assert said(at.run(timeout=60)) == unused
    at.button[0].click().run(timeout=60)
    assert said(at) == [] and at.text[0].value == "((0.0, 50.0), (50.0, 900.0))"
    at.session_state["rows"] = [(0.0, 50.0), (None, 900.0)]
    [refused] = said(at.run(timeout=60))
    assert "fill in both, or clear the row" in refused and not at.button
