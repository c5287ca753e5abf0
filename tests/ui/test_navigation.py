"""A click on a link leads to its page, whatever an older run of the session does at that moment."""

from streamlit.testing.v1 import AppTest


def two_pages():
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from synth_core.ui import frame

    asked = frame.asked_page()

    def one():
        st.title("one")

    def two():
        st.title("two")

    pages = [st.Page(one, url_path="one", default=True), st.Page(two, url_path="two")]
    st.session_state["names"] = [page._script_hash for page in pages]
    if st.session_state.pop("overtaken", False):  # what a poll of page one does when it begins just now
        get_script_run_ctx().pages_manager.set_script_intent(pages[0]._script_hash, "")
    frame.navigate(pages, asked).run()


def test_a_poll_of_the_page_that_is_left_does_not_bring_it_back():
    at = AppTest.from_function(two_pages).run()
    assert at.title[0].value == "one"
    at._page_hash = at.session_state["names"][1]
    assert at.run().title[0].value == "two"
    at.session_state["overtaken"] = True
    assert at.run().title[0].value == "two"
    assert not at.exception


def test_an_address_that_names_no_page_opens_the_first():
    at = AppTest.from_function(two_pages)
    at._page_hash = "nothing"
    assert at.run().title[0].value == "one"
