"""How often intervals from such a file hold, once a study of the settings in use has found it."""

from __future__ import annotations

import streamlit as st

from synth_core.jobs.tasks import StudyTask
from synth_core.ui.robustness.kinds import INTERVALS
from synth_core.ui.robustness.studies import RUNS
from synth_core.ui.shared import background
from synth_core.ui.shared.subject import record_subject
from synth_core.ui.state import session


def show_intervals() -> None:
    """What the study of intervals on Robustness found, in words; nothing where it was of other settings, or none."""
    run = background.current(RUNS[INTERVALS])
    answers = [] if run is None else run.answers()
    if run is None or not answers:
        return
    # The same study of what is shown now.
    browser, blocks = session.current(), record_subject().blocks
    asked = StudyTask.of(browser.table, session.settings(), run.asked, blocks, browser.reference)
    if asked.key == run.tasks[0].key:
        lines = "  \n".join(session.plain(line) for line in answers[0].words)
        st.info(lines, icon=":material/fact_check:")
