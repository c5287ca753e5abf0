"""What is claimed today, before a study tests it: each mechanism's ε, and for which tables it holds."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.errors import InputError
from synth_core.jobs.stored_summaries import stored_summary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import results_cache
from synth_core.ui.shared.chosen_here import say_chosen_here
from synth_core.ui.shared.subject import record_subject
from synth_core.ui.state import session


def show() -> None:
    """A row a mechanism of Compare, from what Compare has computed; nothing is computed here."""
    rows = [_row(key, numbers) for key, numbers in known().items()]
    if rows:
        st.markdown("**What is claimed today**")
        st.table(pd.DataFrame(rows).set_index("Mechanism").map(session.plain))
        say_chosen_here(find_mechanism(key) for key in known())


def known() -> dict[str, ResultNumbers | None]:
    """The stored numbers of each mechanism of Compare that takes the variables; None where it has not run."""
    browser, subject, found = session.current(), record_subject(), dict[str, ResultNumbers | None]()
    try:
        settings = session.settings()
        refused = subject.left_out(browser.choices.mechanisms)
        for key in browser.choices.mechanisms:
            if key not in refused:
                summary = stored_summary(results_cache(), subject.task(browser, settings, key).key)
                found[key] = None if summary is None else summary.numbers
    except InputError:  # of the columns or the model: the page says it
        return {}
    return found


def _row(key: str, numbers: ResultNumbers | None) -> dict[str, str]:
    """A mechanism's claim, in words."""
    if numbers is None:
        row = {"ε": "not computed yet", "Guarantee": "", "Holds for": "see Compare"}
    elif numbers.problems:
        row = {"ε": "a fit has not converged", "Guarantee": "", "Holds for": "see Compare"}
    else:
        strict = numbers.guarantee.strict
        row = {
            "ε": epsilon_number(numbers.total_epsilon),
            "Guarantee": numbers.guarantee.label,
            "Holds for": "every table: it is proved"
            if strict
            else "this table: a study says how far others are",
        }
    return {"Mechanism": find_mechanism(key).label} | row
