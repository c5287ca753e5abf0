"""Whether the variables can be fitted is said of the tables and choices in use, and not of those before."""

from streamlit.testing.v1 import AppTest


def made_confidential():
    from dataclasses import replace

    import streamlit as st

    from synth_core.data.examples import load_example
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session

    session.take_over()
    table = load_example("beta", 200)
    session.use_table(table, session.choices().opening(table).with_settings(model="beta"))
    st.write(str(readiness().ready))
    session.use_table(replace(table, confidential=True), session.choices())
    st.write(str(readiness().ready))


def frozen_reference():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.data.examples import load_example
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session

    session.take_over()
    blocks = (Block("marr", "categorical", {"categories": ("0", "1")}), Block("inc", "lognormal"))
    session.use_table(load_example("401ksubs"), session.choices().with_settings(predictors=("age", "fsize")))
    session.change(session.choices().model_copy(update={"blocks": blocks}))
    session.current().reference = load_example("401ksubs")
    found = readiness()
    st.write("; ".join(found.problems.values()) or f"{found.complete}")


def test_what_a_confidential_table_needs_is_asked_of_it_too():
    """Bounds of a public table may be its ends; of the same table read as confidential they are to be declared."""
    at = AppTest.from_function(made_confidential).run(timeout=30)
    assert not at.exception
    assert [each.value for each in at.markdown] == ["True", "False"]


def test_several_variables_are_ready_beside_a_frozen_risk_map():
    at = AppTest.from_function(frozen_reference).run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "9275"


def mistyped_mark():
    import pandas as pd

    from synth_core.data.table import Table
    from synth_core.ui.data.missing import choose_missing
    from synth_core.ui.state import session

    session.take_over()
    frame = pd.DataFrame({"pay": [*range(1, 21), -9]})
    session.use_table(Table("t.csv", frame), session.choices())
    session.use_missing(["-9", "Refsued"])
    choose_missing()


def test_a_mark_that_no_cell_has_is_said_where_it_was_chosen():
    at = AppTest.from_function(mistyped_mark).run(timeout=30)
    assert not at.exception
    assert [each.value for each in at.caption] == ["No cell of the table is **Refsued**."]


def telling_predictor():
    import numpy as np
    import pandas as pd
    import streamlit as st

    from synth_core.data.table import Table
    from synth_core.ui.data.readiness import readiness
    from synth_core.ui.state import session

    session.take_over()
    pay = np.random.default_rng(1).lognormal(8, 0.5, 200)
    table = Table(
        "t.csv", pd.DataFrame({"pay": pay, "log": np.log(pay), "band": np.where(pay > 3000, "high", "low")})
    )
    session.use_table(table, session.choices().opening(table).with_settings(predictors=("log", "band")))
    for words in readiness().telling:
        st.text(words)


def test_predictors_that_tell_the_sensitive_value_are_named():
    at = AppTest.from_function(telling_predictor).run(timeout=30)
    assert not at.exception
    first, second = (each.value for each in at.text)
    assert first.startswith("predictor 'log' tells 'pay' exactly or nearly")
    assert second == (
        "predictor 'band' tells within which range each value of 'pay' lies, and a predictor is released as it is"
    )
