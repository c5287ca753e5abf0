"""What an audit is said to be able to test: the ε of what it runs."""

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from tests import summary_numbers


def page():
    import streamlit as st

    from synth_core.ui.robustness import audit
    from synth_core.ui.shared.subject import record_subject
    from synth_core.ui.state import session
    from tests.ui.test_changed_since import whole_records

    session.take_over()
    whole_records()
    st.session_state["key"] = record_subject().task(session.current(), session.settings(), "weighted").key
    st.write(f"claim {audit._claim('weighted')}")


def test_the_claim_of_several_variables_is_of_the_record(monkeypatch):
    """It was looked for where results of one variable are kept, and said to be not known beside what Compare showed."""
    asked = []

    def stored(cache, key):
        asked.append(key)
        return SimpleNamespace(numbers=summary_numbers.numbers(mechanism="weighted", epsilon=23.44))

    monkeypatch.setattr("synth_core.ui.robustness.claims.stored_summary", stored)
    at = AppTest.from_function(page).run(timeout=30)
    assert not at.exception
    assert at.session_state["key"] in asked
    assert at.markdown[0].value == "claim 23.44"


def measured_page():
    import streamlit as st

    from synth_core.ui.robustness import audit
    from synth_core.ui.state import session

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("beta", 60, 1)
        session.change(session.choices().with_settings(epsilon=2.0))
    audit._say_power(None, ["measured", "measured_laplace"], 10_000)


def test_of_a_promised_rho_what_is_tested_is_its_epsilon_at_delta():
    """10,000 runs were said to test ε = 2 of noisy tables, and then a line judged a claim of 5.23."""
    at = AppTest.from_function(measured_page).run(timeout=30)
    assert not at.exception
    said = " ".join(each.value for each in [*at.caption, *at.warning]).replace("\\", "")
    assert "Measured: 10,000 runs can test ε = 5.222:" in said
    assert "Measured, pure ε: 10,000 runs can test ε = 2:" in said
    # whoever has set ε = 2 reads why that is another number
    assert "Measured: ε = 2 names ρ = 0.5 (zCDP), which is (ε, δ)-DP with ε = 5.222" in said
    # of one record replaced ρ is four times as much: that line ended "beyond this audit", and nothing was said before
    assert "Measured, with values replaced instead of withheld: " in said
    assert "too weak to test ε = 11.69" in said.split("instead of withheld: ")[1]


def timed_page():
    import streamlit as st

    from synth_core.ui.robustness import audit
    from synth_core.ui.state import session
    from tests.ui.test_changed_since import whole_records

    session.take_over()
    if "started" not in st.session_state:
        st.session_state["started"] = True
        session.use_example("lognormal", 1000, 1)
    for runs in (1_000, 10_000, 100_000):
        st.write(f"one, {runs}:{audit._how_long(None, ['weighted', 'histogram'], runs)}")
    session.use_example("401ksubs", 9_275, 1)
    whole_records()
    st.write(f"several:{audit._how_long(None, ['weighted'], 10_000)}")
    st.write(f"none:{audit._how_long(None, [], 10_000)}.")


def test_how_long_an_audit_takes_is_said_before_it_runs():
    at = AppTest.from_function(timed_page).run(timeout=60)
    assert not at.exception
    one, more, most, several, none = (each.value for each in at.markdown)
    assert more.startswith("one, 10000: The 4 lines are computed one after another, which takes about ")
    assert several.startswith("several: The audit runs, which takes ")
    assert none == "none:."
    seconds = [_seconds(each) for each in (one, more, most)]
    assert seconds == sorted(seconds) and seconds[2] > 5 * seconds[0]
    assert 20 < seconds[1] < 200  # 47 of them of processor time were seen


def _seconds(text):
    number, unit = text.rstrip(".").split("about ")[1].split()
    return float(number) * {"s": 1, "min": 60, "h": 3600}[unit]
