"""Other synthesizers beside the map: what is asked of them, how far they are, and their bands."""

from __future__ import annotations

from typing import Any

import streamlit as st

from synth_core.analysis.records.blocks import common_of, parts_of
from synth_core.experiments.explore.sweep import duration
from synth_core.experiments.rivals.bands import RivalBand, bands_of, strict_epsilons
from synth_core.experiments.rivals.cells import UndeclaredBins
from synth_core.experiments.rivals.declared_cells import all_cells_words, cells_words
from synth_core.experiments.rivals.graphical import INSTALL
from synth_core.experiments.rivals.map_runs import MapRun, installed, offered, planned
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.jobs.task import Task
from synth_core.jobs.tasks import RivalTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.ranges import read_edges
from synth_core.models import family
from synth_core.ui.find_settings.controls import MAP_RUN, MapRequest
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.widgets import key_of, number, pick
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun

RIVALS_RUN = "rivals"
WAITING = "rivals_waiting"
RUNS = (2, 100)  # of each at each epsilon: a band needs two
BUDGETS = {"rho": "zCDP, ρ = ε²/8", "epsilon": "ε-DP, the same ε"}
OF_SEVERAL = BUDGETS | {"rho": "zCDP, ρ = Σ εₖ²/8"}
SAME = ("outcome", "predictors", "categorical")  # settings without which a run is of another question
NOT_HERE = "They cannot be released here, and are no answer of the search."


def choose_rivals(asked: MapRequest) -> None:
    """Choose synthesizers, how often and under which promise; the button adds them to the map."""
    with st.expander("Other synthesizers beside it", key="rivals", expanded=bool(_chosen(asked))):
        there = offered(bool(asked.subject.blocks))
        here = [who for who in there if installed(who)]
        pick(
            "multiselect",
            "Synthesizers that are not ours",
            "explore.rivals",
            here,
            format_func=lambda who: RIVALS[who].label,
            placeholder="Choose",
            help="Given the same records and public predictors, each spends what a point of the map's strict frontier "
            "spends, at the same ε: one record's value withheld or not, as for ours.",
        )
        missing = [RIVALS[who].label for who in there if who not in here]
        if missing:
            st.caption(f"{' and '.join(missing)} can stand here once the server has them: `{INSTALL}`")
        if _chosen(asked):
            _choose_how(asked)
            _button(asked)


def _chosen(asked: MapRequest) -> list[str]:
    there = offered(bool(asked.subject.blocks))
    return [who for who in session.choices().explore.rivals if who in there and installed(who)]


def _choose_how(asked: MapRequest) -> None:
    number("Runs of each, at each ε", "explore.rival_runs", RUNS, 1)
    pick(
        "selectbox",
        "Their promise",
        "explore.rival_budget",
        list(BUDGETS),
        format_func=(OF_SEVERAL if asked.subject.blocks else BUDGETS).__getitem__,
        help="One draw with terms clamped at ±ε/2 keeps both: ε-DP, and zCDP with ρ = ε²/8. Draws of several variables "
        "share ε, and their ρ add up to Σ εₖ²/8. MST and AIM are made for ρ, and are less accurate under ε-DP.",
    )
    declared = family(asked.settings.model).uses & {"categories", "bracket_edges"}
    if not asked.subject.blocks and not declared:
        _declare_edges()


def _declare_edges() -> None:
    """Edges of bins of the sensitive variable, typed with commas."""
    choices = session.choices()
    outcome = choices.settings.outcome
    key = f"{key_of('explore.edges')}_{outcome}"
    st.session_state.setdefault(key, ", ".join(f"{e:.12g}" for e in choices.explore.edges_for(outcome)))
    st.text_input(
        "Edges of their bins",
        key=key,
        placeholder="as declared on Data",
        on_change=session.attempt,
        args=("edges", _store_edges, key, outcome),
        help="Separated by commas; the first and the last are the smallest and the largest value that may occur. "
        "Declare them from knowledge of the variable, never by looking at the data: edges taken from it "
        "void the promise.",
    )
    session.show_message("edges")


def _store_edges(key: str, outcome: str) -> None:
    edges = read_edges(st.session_state[key])
    explore = session.choices().explore
    session.put("explore", explore.model_copy(update={"edges": edges, "edges_of": outcome}))


def _button(asked: MapRequest) -> None:
    """Start them, once the map says at which epsilons; what is missing is said instead."""
    try:
        words = _cells(asked)
    except UndeclaredBins:
        typed = "" if asked.subject.blocks else "type edges above, or "
        st.warning(
            f"They need bins, and none are declared: {typed}declare bounds or a guess on the Data page.",
            icon=":material/info:",
        )
        return
    st.caption(session.plain(words))
    filling = background.current(MAP_RUN)
    if filling is None or filling.running:
        st.session_state[WAITING] = filling is not None
        st.caption("They can be added once the map is filled.")
        return
    epsilons = strict_epsilons(filling.answers(), asked.measure)
    if not epsilons and any(RIVALS[who].private for who in _chosen(asked)):
        labels = " or ".join(find_mechanism(key).label for key in ("anchored", "censored"))
        st.caption(
            f"The map has no point with a strict guarantee, hence no ε for them: add {labels} and fill it again."
        )
        return
    tasks = _tasks(_planned(asked, epsilons), asked)
    run, key = background.current(RIVALS_RUN), _key(tasks)
    same = run is not None and run.asked == key
    st.button(
        f"Add to the map: {len(tasks)} runs",
        width="stretch",
        disabled=same and (run is None or not run.having("cancelled", "failed")),
        on_click=session.attempt,
        args=(RIVALS_RUN, background.start, RIVALS_RUN, tasks, key),
    )
    if not same:
        at = f"At {len(epsilons)} ε of strict points: about" if epsilons else "About"
        seconds = sum(task.expected_seconds for task in tasks) / manager().n_lanes
        st.caption(f"{at} {duration(seconds)}, less where runs are known. {NOT_HERE}")
    session.show_message(RIVALS_RUN)


def waits_for_map() -> bool:
    """Whether the button was left out in this run because the map was not filled yet: it may have ended since."""
    return bool(st.session_state.pop(WAITING, False))


def _planned(asked: MapRequest, epsilons: tuple[float, ...]) -> list[MapRun]:
    explore = session.choices().explore
    return planned(
        _chosen(asked),
        epsilons,
        asked.settings,
        explore.rival_runs,
        explore.rival_budget,
        _edges(asked),
        asked.subject.blocks,
    )


def _edges(asked: MapRequest) -> tuple[float, ...]:
    """The edges that were typed for the only variable."""
    return () if asked.subject.blocks else session.choices().explore.edges_for(asked.settings.outcome)


def _cells(asked: MapRequest) -> str:
    """How the variables are cut, in words; raises UndeclaredBins."""
    blocks = asked.subject.blocks
    if not blocks:
        return cells_words(asked.settings, session.outcome().size, _edges(asked))
    parts = parts_of(blocks, common_of(asked.settings))
    outcomes = {part.name: part.settings for part in parts if not part.of_missing}
    return all_cells_words(outcomes, session.current().table.rows)


def _tasks(beside: list[MapRun], asked: MapRequest) -> list[Task[Any]]:
    blocks = asked.subject.blocks
    return [RivalTask.of(session.current().table, asked.settings, each, blocks) for each in beside]


def _key(tasks: list[Task[Any]]) -> tuple[str, ...]:
    return tuple(task.key for task in tasks)


def bands() -> list[RivalBand]:
    """What has finished, if it is of the variable and the predictors of the map."""
    run, filling = background.current(RIVALS_RUN), background.current(MAP_RUN)
    if run is None or filling is None or run.tasks[0].given.blocks != filling.tasks[0].given.blocks:
        return []
    mine, theirs = (each.tasks[0].given.settings for each in (filling, run))
    return (
        bands_of(run.answers()) if all(getattr(mine, name) == getattr(theirs, name) for name in SAME) else []
    )


def status() -> None:
    """How far they are, what failed, and what their bands are."""
    run = background.current(RIVALS_RUN)
    if run is None:
        return
    done, total = len(run.having("done")), len(run.jobs)
    left, right = st.columns([8, 1], vertical_alignment="center")
    if run.running:
        took = duration(run.seconds_left(manager().n_lanes))
        left.progress(
            done / total, text=f"{done} of {total} runs of other synthesizers; about {took} left.{_now(run)}"
        )
        right.button("Stop", key="stop_rivals", width="stretch", on_click=background.stop, args=(RIVALS_RUN,))
        return
    failed, stopped = run.having("failed"), run.having("cancelled")
    if failed or stopped:
        words = f"{len(failed)} failed: {failed[0].error}" if failed else "stopped; what is finished is kept"
        left.warning(
            session.plain(f"Other synthesizers, {done} of {total} runs; {words}"), icon=":material/info:"
        )
        right.button(
            "Continue", key="resume_rivals", width="stretch", on_click=background.resume, args=(RIVALS_RUN,)
        )
        return
    shown = bands()
    if not shown:
        left.caption("The other synthesizers are of another variable or other predictors: add them again.")
        return
    names = dict.fromkeys(f"{band.label} ({band.guarantee})" for band in shown)
    left.caption(session.plain(f"Beside the map, {shown[0].runs} runs each: {', '.join(names)}. {NOT_HERE}"))


def _now(run: BackgroundRun) -> str:
    """What is being computed."""
    texts: list[Any] = [job.progress()[0] for job in run.having("running")]
    return session.plain(f" Now: {texts[0]}.") if texts else ""
