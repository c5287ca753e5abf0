"""What the page Data says of a choice of columns before anything is fitted."""

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from synth_core.data.table import Table

N = 60


def table():
    rng = np.random.default_rng(1)
    return Table(
        "mine.csv",
        pd.DataFrame(
            {
                "record": np.arange(N) + 1000,
                "pay": rng.lognormal(3.0, 0.5, N),
                "age": rng.normal(40.0, 9.0, N),
                "second": [1.0] * 4 + [np.nan] * (N - 4),
                "third": [np.nan] * 30 + list(range(N - 30)),
            }
        ),
        True,
    )


def page():
    import streamlit as st

    from synth_core.ui.data import columns, details, next_step
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session
    from tests.ui.test_variables import table

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_file(table())
        outcome, predictors = st.session_state["asked"]
        session.change(
            session.choices().with_settings(outcome=outcome, predictors=predictors, model="lognormal")
        )
        st.session_state[columns.OPEN] = st.session_state["opened"]
    ready = readiness()
    if not ready.ready:
        next_step.show(ready, [])
    details.show(ready, {})


def shown(outcome, *predictors, opened=None):
    at = AppTest.from_function(page)
    at.session_state["opened"] = opened
    at.session_state["asked"] = (outcome, predictors)
    at.run(timeout=30)
    assert not at.exception
    return at


def test_a_name_of_a_record_is_no_variable(monkeypatch):
    monkeypatch.setattr("streamlit.page_link", lambda *words, **more: None)  # there are no other pages here
    assert [each.value for each in shown("pay", "age").warning] == []
    assert "record seems to be an ID" in shown("record", "age").warning[0].value
    assert "It would name each record." in shown("pay", "age", "record", opened="record").warning[0].value


def test_the_columns_that_leave_no_row_are_named():
    words = next(
        each.value for each in shown("pay", "age", "second", "third").markdown if "edit" in each.value
    ).replace("\\", "")
    assert "Only 0 complete rows" in words
    assert "second in 56, third in 30" in words
    assert "age" not in words
