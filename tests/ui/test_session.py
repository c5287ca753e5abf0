"""Two things at once in one browser: a click that overtakes a typed number, and two tabs."""

import pytest
from streamlit.testing.v1 import AppTest

from synth_core.ui.shared.widgets import _rule
from synth_core.ui.state import session


def page():
    import streamlit as st

    from synth_core.ui.shared.widgets import number
    from synth_core.ui.state import session

    session.take_over()
    st.button("Undo", on_click=session.undo, disabled=not session.current().history)
    number("Epsilon", "settings.epsilon", (0.5, 20.0))
    number("Lower", "lower_bound")
    st.write(f"epsilon is {session.choices().settings.epsilon}")


def test_an_undo_with_a_number_that_was_just_typed():
    """Both callbacks run before the page does; the undo, which comes first, forgets the number's widget."""
    at = AppTest.from_function(page).run(timeout=30)
    at.number_input(key="choice_settings.epsilon").set_value(7.0).run(timeout=30)
    assert at.markdown[0].value == "epsilon is 7.0"
    at.number_input(key="choice_settings.epsilon").set_value(9.0)
    at.number_input(key="choice_lower_bound").set_value(1.0)
    at.button[0].click()
    at.run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "epsilon is 5.0"  # the undo is the later word


def test_a_number_outside_its_bounds_is_refused_with_the_rule_and_the_last_one_comes_back():
    at = AppTest.from_function(page).run(timeout=30)
    box = at.number_input(key="choice_settings.epsilon")
    box.set_value(7.0).run(timeout=30)
    at.number_input(key="choice_settings.epsilon").set_value(446.0).run(timeout=30)
    assert at.number_input(key="choice_settings.epsilon").value == 7.0
    assert at.markdown[0].value == "epsilon is 7.0"
    said = at.caption[0].value
    assert "446 was not taken" in said.replace("\\", "")
    assert "between 0.5 and 20" in said.replace("\\", "")
    assert "It stays 7" in said
    at.number_input(key="choice_settings.epsilon").set_value(8.0).run(timeout=30)
    assert at.markdown[0].value == "epsilon is 8.0"
    assert not at.caption
    at.number_input(key="choice_settings.epsilon").set_value(0.1).run(timeout=30)
    assert at.caption
    at.number_input(key="choice_lower_bound").set_value(3.0).run(timeout=30)
    assert at.caption  # it stays until another number is typed there,
    at.button[0].click().run(timeout=30)
    assert not at.caption  # or a choice is made for the box


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((1, 12), "it must lie between 1 and 12"),
        ((1e-12, None), "it must be above 0"),
        ((0.0, None), "it must be at least 0"),
        ((None, 1_000_000), "it must be at most 1,000,000"),
    ],
)
def test_rules_in_words(bounds, words):
    assert _rule(bounds) == words


def test_a_run_that_a_newer_one_overtook_starts_anew(monkeypatch):
    from synth_core.ui import frame

    class Page:
        def __init__(self, words):
            self.words = words

        def run(self):
            raise RuntimeError(self.words)

    again = []
    monkeypatch.setattr(frame.st, "rerun", lambda: again.append(1))
    frame.run(Page("dictionary changed size during iteration"))
    assert again == [1]
    with pytest.raises(RuntimeError, match="another"):
        frame.run(Page("another fault"))


def ranges_page():
    import streamlit as st

    from synth_core.ui.compare.range_controls import choose_range
    from synth_core.ui.state import session

    session.take_over()
    st.button("Undo", on_click=session.undo, disabled=not session.current().history)
    choose_range()
    s = session.choices().settings
    st.write(f"tail {s.tail}, printed {s.printed_truncation}, revision {session.current().revision}")


def test_the_sensitive_range_is_undone_and_told_to_other_tabs():
    """The page wrote past the history once, and other tabs kept the old range."""
    at = AppTest.from_function(ranges_page).run(timeout=30)
    tail, _ = at.toggle
    tail.set_value(True).run(timeout=30)
    assert at.markdown[0].value == "tail (5.0, 0.2, 2.4), printed False, revision 1"
    at.toggle[1].set_value(True).run(timeout=30)
    assert at.markdown[0].value == "tail (5.0, 0.2, 2.4), printed True, revision 2"
    at.button[0].click().run(timeout=30)
    at.button[0].click().run(timeout=30)
    assert at.markdown[0].value == "tail None, printed False, revision 4"
    assert [toggle.value for toggle in at.toggle] == [False, False]
    assert not at.exception


def test_only_what_would_be_replaced_is_parted():
    assert session.plain("example:beta") == "example\\:beta"  # found by a search in the page
    for text in (
        ":material/delete:",
        ":smile:",
        ":streamlit:",
        "http://a.example",
        "www.a.example",
        "a@b.example",
    ):
        assert "\u2060" in session.plain(text), text
    assert session.plain("a -> b").count("\u2060") == 1
    assert session.plain("->x") == "\\-\\>x"
    assert session.plain("OWN_RENT_é") == "OWN_RENT_é"  # a screen reader reads labels with their signs
    assert session.plain("_a_ b__c d_") == "\\_a\\_ b\\_\\_c d\\_"
    assert session.plain("a\x00\u202eb") == "a\ufffd\ufffdb"


def choosing_page():
    import streamlit as st

    from synth_core.ui.compare.rule import rule_popover
    from synth_core.ui.compare.scenarios import decision_bar, pin
    from synth_core.ui.state import session

    session.take_over()
    if not session.current().tables:
        session.use_example("beta", 60, 1)
    st.button("pin it", on_click=pin)
    rule_popover() if not session.choices().scenarios else decision_bar()
    now = session.choices()
    st.write(f"rule {now.policy.epsilon}, beside {now.beside}, notes {[each.note for each in now.scenarios]}")


def test_rule_scenario_and_note_are_taken_on_another_table_than_the_first():
    at = AppTest.from_function(choosing_page).run(timeout=30)
    at.text_input[0].set_value("1").run(timeout=30)
    assert at.markdown[-1].value == "rule 1.0, beside None, notes []"
    at.button[0].click().run(timeout=30)
    at.text_input[1].set_value("why").run(timeout=30)
    assert at.markdown[-1].value == "rule 1.0, beside A, notes ['why']"
    at.button_group[0].unselect("A").run(timeout=30)
    assert at.markdown[-1].value == "rule 1.0, beside None, notes ['why']"


def test_what_a_renewed_widget_still_sends_is_ignored():
    """A play moves a slider while the browser asks for runs: what it sends of the slider before is no choice."""

    def choosing():
        import streamlit as st

        from synth_core.ui.state import session

        old = session.widget_key("settings.scale") + "_slider"
        session.renew("settings.scale")
        new = session.widget_key("settings.scale") + "_slider"
        st.session_state[old] = st.session_state[new] = 0.3
        session.choose("settings.scale", old)
        first = session.choices().settings.scale
        session.choose("settings.scale", new)
        st.write(f"{first}, then {session.choices().settings.scale}")

    assert AppTest.from_function(choosing).run(timeout=30).markdown[0].value == "1.0, then 0.3"


def test_a_twin_that_the_browser_has_not_got_yet_takes_no_choice_back():
    """A click while the page is made again sends the number box as it was before the slider was moved."""

    def choosing():
        import streamlit as st

        from synth_core.ui.state import session

        place = "settings.scale"
        slider, box = (session.widget_key(place, twin) for twin in ("slider", "number"))
        st.session_state[slider], st.session_state[box] = 0.3, 1.0
        session.choose(place, slider, "slider", "number")
        session.choose(place, box, "number", "slider")
        first = session.choices().settings.scale
        new = session.widget_key(place, "number")
        st.session_state[new] = 0.7
        session.choose(place, new, "number", "slider")
        st.write(f"{first}, then {session.choices().settings.scale}")

    assert AppTest.from_function(choosing).run(timeout=30).markdown[0].value == "0.3, then 0.7"


def test_a_change_by_the_program_sends_nothing_again_that_it_did_not_change():
    """It would move a slider back that is moved just then."""

    def pinning():
        import streamlit as st

        from synth_core.ui.compare.scenarios import pin
        from synth_core.ui.shared.widgets import slider_with_number
        from synth_core.ui.state import session

        session.take_over()
        st.button("pin it", on_click=pin)
        slider_with_number("Scale", "settings.scale", (0.0, 2.0), 0.05, "")
        st.text([each.settings.scale for each in session.choices().scenarios])

    at = AppTest.from_function(pinning).run(timeout=30)
    at.button[0].click()
    at.run(timeout=30)
    assert at.text[0].value == "[1.0]"
    assert not at.slider[0].proto.set_value and not at.number_input[0].proto.set_value
    at.button[0].click()
    at.slider[0].set_value(0.5)  # both with one run
    at.run(timeout=30)
    assert (at.slider[0].value, at.number_input[0].value) == (0.5, 0.5)


def test_what_another_tab_removed_is_not_chosen_again():
    """A run of this tab that began before it still shows the old choice."""

    def picking():
        import streamlit as st

        from synth_core.ui.shared.widgets import pick
        from synth_core.ui.state import session

        session.take_over()
        if st.session_state.get("another"):  # it chooses while this run goes on
            browser = session.current()
            changed = browser.choices.model_copy(update={"mechanisms": ("weighted",)})
            browser.change(changed, True)
        pick("multiselect", "Mechanisms", "mechanisms", ["unweighted", "weighted", "censored"])
        st.text(session.choices().mechanisms)

    at = AppTest.from_function(picking).run(timeout=30)
    assert at.text[0].value == str(("unweighted", "weighted"))
    at.session_state["another"] = True
    at.run(timeout=30)
    assert at.text[0].value == str(("weighted",)) and at.multiselect[0].value == ["weighted"]


def test_an_undo_renews_the_widgets_of_what_it_changed():
    def undoing():
        import streamlit as st

        from synth_core.ui.shared.widgets import number
        from synth_core.ui.state import session

        session.take_over()
        st.button("Undo", on_click=session.undo)
        number("Epsilon", "settings.epsilon", (0.5, 20.0))
        number("Draws", "settings.draws", (100, 9000), 100)
        st.write(f"{session.widget_key('settings.epsilon')} {session.widget_key('settings.draws')}")

    at = AppTest.from_function(undoing).run(timeout=30)
    at.number_input[0].set_value(7.0).run(timeout=30)
    assert at.markdown[0].value == "choice_settings.epsilon choice_settings.draws"
    at.button[0].click().run(timeout=30)
    assert at.markdown[0].value == "choice_settings.epsilon#1 choice_settings.draws"
    assert at.number_input[0].value == 5.0


def test_pins_stay_with_their_table_and_the_rule_goes_along():
    """Scenarios of one table were shown on the next, and slides of it told of them."""

    def pinning():
        import streamlit as st

        from synth_core.analysis.policy import Policy
        from synth_core.ui.compare.scenarios import pin
        from synth_core.ui.state import session

        session.take_over()

        def named():
            return [each.name for each in session.choices().scenarios]

        session.use_example("401ksubs", None, 1)
        session.change(session.choices().model_copy(update={"policy": Policy(epsilon=2.0)}))
        pin()
        first = named(), session.choices().beside
        session.use_example("beta", 60, 1)
        second = named(), session.choices().beside
        pin()
        session.put("settings.scale", 0.5)
        pin()
        session.use_example("401ksubs", None, 1)
        back = named(), session.choices().beside
        session.use_example("beta", 60, 1)
        st.write(f"{first} {second} {back} {named()} {session.choices().policy.epsilon}")

    at = AppTest.from_function(pinning).run(timeout=30)
    assert not at.exception
    assert at.markdown[-1].value == "(['A'], 'A') ([], None) (['A'], 'A') ['A', 'B'] 2.0"


def test_presenting_changes_nothing_and_the_rule_is_every_scenarios():
    """Stepping took A over, pinned what was not pinned, and left the reader elsewhere; nor Undo knew the way back."""

    def presenting():
        import streamlit as st

        from synth_core.analysis.policy import Policy
        from synth_core.ui.compare.scenarios import pin, stage, step, switch_to
        from synth_core.ui.shared.board import END
        from synth_core.ui.state import session

        session.take_over()
        session.use_example("beta", 60, 1)
        session.change(session.choices().model_copy(update={"policy": Policy(epsilon=2.0)}))
        pin()
        session.put("settings.scale", 0.5)
        before, steps = session.choices(), session.current().steps
        step(1)
        seen = stage().words
        st.write(f"{seen['name']} {seen['rule']} {session.choices().settings.scale:g}")
        step(1)
        seen = stage().words
        st.write(f"{seen['name'] or 'not pinned'} {seen['rule']} {session.choices().settings.scale:g}")
        step(1)
        step(END)
        st.write(f"{session.choices() == before} {session.current().steps == steps}")
        step(END)  # nothing was stepped: nothing comes back
        switch_to(session.choices().scenarios[0])
        st.write(f"{session.choices().policy.epsilon:g} {stage().words['rule']}")

    at = AppTest.from_function(presenting).run(timeout=30)
    assert not at.exception
    assert [each.value for each in at.markdown] == [
        "A Rule: ε ≤ 2 1",
        "not pinned Rule: ε ≤ 2 0.5",
        "True True",
        "2 Rule: ε ≤ 2",
    ]


def test_what_is_chosen_after_a_presentation_that_nobody_ended_stays():
    """Its picture was taken away: the next page rolled back what had been chosen since."""

    def presenting():
        import streamlit as st

        from synth_core.ui.compare.scenarios import end_presenting, pin, step
        from synth_core.ui.state import session

        session.take_over()
        session.use_example("beta", 60, 1)
        pin()
        session.put("settings.scale", 0.5)
        step(1)
        session.put("settings.epsilon", 3.0)
        end_presenting()
        st.write(f"{session.choices().settings.scale:g} {session.choices().settings.epsilon:g}")

    at = AppTest.from_function(presenting).run(timeout=30)
    assert not at.exception
    assert at.markdown[-1].value == "1 3"


def test_the_series_to_start_from_is_not_shared_between_tables():
    def naming():
        import pandas as pd
        import streamlit as st

        from synth_core.data.table import Table
        from synth_core.ui.release.plan_actions import current_form, first_series
        from synth_core.ui.state import session

        session.take_over()
        names = []
        for key in ("401ksubs", "beta"):
            session.use_example(key, None if key == "401ksubs" else 60, 1)
            names.append(first_series())
        for columns in ({"pay": [1.5, 2.5], "age": [3, 4]}, {"pay": [1.5, 2.5]}):
            session.use_file(Table("secret-name.csv", pd.DataFrame(columns)))
            names.append(first_series())
        again = Table("another-name.csv", pd.DataFrame({"pay": [9.5, 7.5]}))  # another period
        session.use_file(again)
        st.write(
            f"{len(set(names))} {first_series() == names[-1]} {current_form()['series'] == first_series()}"
        )
        st.write(" ".join(names))

    at = AppTest.from_function(naming).run(timeout=30)
    assert not at.exception
    assert at.markdown[0].value == "4 True True"
    assert "secret" not in at.markdown[1].value and at.markdown[1].value.startswith("401ksubs beta pay-")
