"""Below the pictures of whole records: how ε is divided by the accuracy that is asked of each variable."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.errors import InputError
from synth_core.experiments.explore.division import WHY_NOT, Division, check_division
from synth_core.experiments.explore.wording import DATA_DEPENDENT
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import DivisionTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import percent
from synth_core.ui.shared import background
from synth_core.ui.shared.polling import poll
from synth_core.ui.shared.widgets import number_or_none
from synth_core.ui.state import session

RUN = "division"
POLL_SECONDS = 0.6
BOUNDS = (0.001, 0.999)
A_ROW = 4


def show_division(chosen: tuple[str, ...]) -> None:
    """The panel, where there are several variables; it refreshes itself while the search runs, and only then."""
    if len(session.choices().whole) < 2:
        return
    run = background.current(RUN)
    active = run is not None and run.running
    with st.expander(
        "Divide ε by the accuracy asked of each variable", expanded=run is not None, key="division_panel"
    ):
        poll(_panel, POLL_SECONDS if active else None, chosen, active)


def _panel(chosen: tuple[str, ...], polling: bool) -> None:
    run = background.current(RUN)
    if polling != (run is not None and run.running):
        st.rerun()
    strict = [key for key in chosen if find_mechanism(key).epsilon_by_construction]
    if not strict:
        st.caption("Choose a mechanism whose ε is set and not measured on the left, such as Anchored.")
        return
    wanted = _asked()
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    mechanism = left.radio(
        "Mechanism", strict, format_func=lambda key: find_mechanism(key).label, horizontal=True
    )
    right.button(
        "Find the least ε",
        key="divide",
        width="stretch",
        disabled=not wanted or (run is not None and run.running),
        on_click=session.attempt,
        args=(RUN, _start, mechanism, wanted),
        help="Refits all variables about seven times, and halves the range of each one's ε each time.",
    )
    session.show_message(RUN)
    if run is not None:
        _result(run, wanted)


def _asked() -> dict[str, float]:
    """A box for each variable: the largest difference that is still good enough."""
    choices = session.choices()
    kept = dict(choices.explore.accuracies)
    names = [block.name for block in choices.whole]
    for first in range(0, len(names), A_ROW):
        for column, name in zip(st.columns(A_ROW), names[first : first + A_ROW], strict=False):
            number_or_none(
                f"Largest difference of {session.plain(name)}",
                f"asked {name}",
                kept.get(name),
                BOUNDS,
                "nothing asked",
                partial(_ask, name),
                "Of the distribution functions; of categories half of the sum of the differences of shares.",
                column,
            )
    return {name: kept[name] for name in names if name in kept}


def _ask(name: str, difference: float | None) -> None:
    """What is asked of a variable, or that nothing is."""
    choices = session.choices()
    others = tuple(each for each in choices.explore.accuracies if each[0] != name)
    asked = others if difference is None else (*others, (name, difference))
    explore = choices.explore.model_copy(update={"accuracies": asked})
    session.change(choices.model_copy(update={"explore": explore}))


def _start(mechanism: str, wanted: dict[str, float]) -> None:
    """Button callback."""
    check_division(session.choices().whole, mechanism, wanted)
    background.start(RUN, [DivisionTask(_given(), mechanism, wanted=wanted)], (_searched(), wanted))


def _given() -> TaskInput:
    """What a search reads; raises InputError."""
    browser = session.current()
    return TaskInput.of(browser.table, session.settings(), browser.reference, session.choices().whole)


def _searched() -> str:
    """What a search is of, but for what it looks for: ε and its shares. Empty where nothing could be asked for."""
    try:
        given = _given()
    except InputError:
        return ""
    blocks = tuple(replace(block, share=None) for block in given.blocks)
    return repr(replace(given.changed(epsilon=1.0), blocks=blocks))


def _result(run: Any, wanted: dict[str, float]) -> None:
    """How far the search is, or what it found."""
    left, right = st.columns([6, 1], vertical_alignment="center")
    if run.running:
        text, share = run.having("queued", "running")[0].progress()
        left.progress(share, text=session.plain(text))
        right.button("Cancel", key="stop_division", width="stretch", on_click=background.stop, args=(RUN,))
        return
    stopped = run.having("failed", "cancelled")
    if stopped:
        words = stopped[0].error or "Stopped; what was computed is kept."
        left.warning(session.plain(words), icon=":material/info:")
        right.button(
            "Continue", key="resume_division", width="stretch", on_click=background.resume, args=(RUN,)
        )
        return
    answer: Division = run.answers()[0]
    point = find_mechanism(answer.mechanism)
    unmet = [each for each in answer.shares if not each.met]
    left.markdown(
        session.plain(
            f"ε = {epsilon_number(answer.epsilon)} ({answer.guarantee}) for a whole record, {point.label}, "
        )
        + ("reaches what is asked." if not unmet else "does **not** reach all that is asked.")
        + (
            ""
            if run.asked == (_searched(), wanted)
            else " **The choices have changed since: find it again.**"
        )
    )
    if right.button("Use it", key="use_division", width="stretch", help="Sets ε and each variable's share."):
        _use(answer)
        st.rerun()
    st.dataframe(
        pd.DataFrame(
            {
                "Variable": each.name,
                "ε": epsilon_number(each.epsilon),
                "Share": percent(each.share),
                "Largest difference": f"{each.reached:.3g}",
                "Asked": "–" if each.wanted is None else f"at most {each.wanted:g}",
                "": "" if each.met else f"not reached, {WHY_NOT[each.reachable]}",
            }
            for each in answer.shares
        ),
        hide_index=True,
    )
    for problem in answer.problems:
        st.caption(session.plain(f"A fit has not converged: {problem}"))
    st.caption(
        "The differences are of one draw, and a release is another one: *Find settings* says in how many of a hundred "
        "data sets they stay within what is asked."
    )
    st.caption(DATA_DEPENDENT)


def _use(answer: Division) -> None:
    """The division becomes the choice."""
    choices = session.choices()
    shares = {each.name: each.share for each in answer.shares}
    if {block.name for block in choices.whole} != shares.keys():
        return
    blocks = tuple(replace(block, share=shares[block.name]) for block in choices.whole)
    settings = choices.settings.model_copy(update={"epsilon": answer.epsilon})
    session.change(choices.model_copy(update={"blocks": blocks, "settings": settings}))
