"""Tables that are counted together are named on Compare, and given to the settings as the command line writes them.

So is what several data sets are drawn from.
"""

from streamlit.testing.v1 import AppTest


def page():
    import streamlit as st

    from synth_core.analysis.records.blocks import Block
    from synth_core.data.examples import load_example
    from synth_core.ui.compare.named_tables import choose_tables
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_table(
            load_example("401ksubs"), session.choices().with_settings(predictors=("age", "fsize"))
        )
        chosen = session.choices()
        blocks = (Block("marr", "categorical", {"categories": ("0", "1")}), Block("inc", "lognormal"))
        session.change(chosen.model_copy(update={"blocks": blocks}))
    choose_tables()
    settings = session.choices().settings
    st.write(f"{settings.count_together} {settings.choose_more}")


def test_tables_are_named_and_others_chosen_beside_them():
    at = AppTest.from_function(page).run(timeout=60)
    assert not at.exception
    (box,) = at.multiselect
    assert box.options[:3] == ["age × marr", "age × inc", "fsize × marr"] and "age × fsize" not in box.options
    assert not at.selectbox
    box.set_value(["age * inc", "age * marr * inc"]).run(timeout=60)
    assert not at.exception and at.markdown[-1].value == "('age * inc', 'age * marr * inc') False"
    at.selectbox[0].set_value(True).run(timeout=60)
    assert at.markdown[-1].value == "('age * inc', 'age * marr * inc') True"
    at.multiselect[0].set_value([]).run(timeout=60)
    assert not at.exception and at.markdown[-1].value.startswith("()")


def tuned():
    import streamlit as st

    from synth_core.ui.compare.controls import tuning
    from synth_core.ui.state import session

    session.take_over()
    if "sets" not in st.session_state:
        st.session_state["sets"] = 1
    session.change(session.choices().with_settings(datasets=st.session_state["sets"]))
    tuning(("measured",), frozenset({"guess", "count_together"}))
    st.write(session.choices().settings.measured_posterior)


def test_what_several_data_sets_are_drawn_from_is_asked_where_there_are_several():
    at = AppTest.from_function(tuned).run(timeout=60)
    asked = "Data sets are drawn from"
    assert not at.exception and asked not in [box.label for box in at.selectbox]
    at.session_state["sets"] = 2
    at.run(timeout=60)
    next(box for box in at.selectbox if box.label == asked).set_value("exact").run(timeout=60)
    assert not at.exception and at.markdown[-1].value == "exact"
