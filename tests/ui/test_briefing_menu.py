"""Slides hold every pinned scenario that has results on the table in use, or say why one is left out."""

from streamlit.testing.v1 import AppTest


def told():
    import streamlit as st

    from synth_core.jobs.stored_summaries import keep_summary
    from synth_core.system.cache import results_cache
    from synth_core.ui.compare.briefing import pinned_chapters, with_present
    from synth_core.ui.compare.scenarios import pin
    from synth_core.ui.shared.subject import Subject
    from synth_core.ui.state import session
    from tests.summary_numbers import numbers
    from tests.support.summaries import of_numbers

    session.take_over()
    session.use_example("beta", 60, 1)
    keys = {}
    for scale in (0.9, 0.8, 0.7):
        session.put("settings.scale", scale)
        settings = session.settings()
        tasks = [Subject().task(session.current(), settings, key) for key in session.choices().mechanisms]
        keys[scale] = [task.key for task in tasks]
        pin()
    cache = results_cache()
    for key in (*keys[0.9], keys[0.8][1]):  # all of A, the second of B, nothing of C
        cache.put(key, {"result": 1})
        keep_summary(cache, key, of_numbers(numbers(label=key[:4])))
    chapters, left_out = pinned_chapters(session.choices().scenarios)
    st.write("; ".join(left_out))
    read = with_present(chapters, None)
    st.write("; ".join(f"{each.name} {len(each.summaries)} {each.settings.scale:g}" for each in read))


def test_every_pinned_scenario_or_why_not(monkeypatch, tmp_path):
    monkeypatch.setenv("SYNTH_RESULTS_DIR", str(tmp_path))
    at = AppTest.from_function(told).run(timeout=30)
    assert not at.exception
    # Unweighted reads no scale: its result is A's, so it is there for all three.
    assert at.markdown[0].value == "Weighted of C, without a result"
    assert at.markdown[1].value == "A 2 0.9; B 2 0.8; C 1 0.7"


def test_a_scenario_may_be_called_now():
    """What is on the screen and not pinned was left out of the slides where one is called so."""
    from types import SimpleNamespace

    from synth_core.analysis.policy import Policy
    from synth_core.analysis.settings import make_settings
    from synth_core.figures.briefing.content import Chapter
    from synth_core.ui.compare.briefing import with_present

    def chapter(name):
        return Chapter(name, "", make_settings(outcome="x", model="lognormal"), [{}], Policy(), ())

    def named(*pinned, now):
        kept = [SimpleNamespace(read=lambda policy, name=name: chapter(name)) for name in pinned]
        return [each.name for each in with_present(kept, chapter(now))]

    assert named("Now", now="") == ["Now", "Now, not pinned"]
    assert named("A", now="") == ["A", "Now"] and named("A", "Now", now="Now") == ["A", "Now"]
    assert named(now="") == ["These settings"]
