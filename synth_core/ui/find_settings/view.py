"""What Find settings shows below the goal: the answer, the map, and beside it the point that was clicked."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import streamlit as st

from synth_core.analysis.measures import measure_label
from synth_core.analysis.records.blocks import with_shares
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.experiments.explore.knobs import settings_at
from synth_core.experiments.explore.measures import Target
from synth_core.experiments.explore.point import PointSummary
from synth_core.experiments.explore.records_point import difference_of
from synth_core.experiments.explore.sweep import duration
from synth_core.experiments.explore.targets import EpsilonTarget, TuningAnswer
from synth_core.experiments.explore.wording import (
    DATA_DEPENDENT,
    answer_text,
    band_text,
    best_answers,
    goal_text,
    guarantee_label,
    knobs_text,
    points_csv,
    promise_text,
    reached_text,
    sure_text,
    target_text,
    usable,
)
from synth_core.figures.explore import map_figure
from synth_core.jobs.task import TaskInput
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key
from synth_core.system.characters import sentence
from synth_core.system.number_text import percent
from synth_core.ui.find_settings import controls, goal, rivals
from synth_core.ui.find_settings.controls import MAP_RUN, TUNING_RUN, MapRequest
from synth_core.ui.server.manager import manager
from synth_core.ui.shared import background
from synth_core.ui.shared.board import board
from synth_core.ui.shared.polling import poll
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun

RUNS = (MAP_RUN, TUNING_RUN, rivals.RIVALS_RUN)
POLL_SECONDS = 0.6
ROOM = 320  # characters that stand below an answer


def show(
    asked: MapRequest | None, wanted: Target | EpsilonTarget | None, key: tuple[str, ...] | None
) -> None:
    """The main area; it refreshes itself while something runs, and only then."""
    active = any(run is not None and run.running for run in map(background.current, RUNS))
    active |= rivals.waits_for_map()
    time = None  # read of stored results, and not at every poll
    if asked is not None and wanted is not None and background.current(TUNING_RUN) is None:
        time = goal.time_of_search(asked, wanted)
    poll(_view, POLL_SECONDS if active else None, asked, wanted, key, active, time)


def _view(
    asked: MapRequest | None,
    wanted: Target | EpsilonTarget | None,
    key: tuple[str, ...] | None,
    polling: bool,
    search_time: str | None,
) -> None:
    filling, tuning, others = map(background.current, RUNS)
    if polling != any(run is not None and run.running for run in (filling, tuning, others)):
        st.rerun()  # the last poll, or a run that goes on: buttons and timers start anew
    measure = asked.measure if asked is not None else "ecdf_max"
    # An answer is at least as high as its style says, so that nothing jumps while it is found.
    with st.container(key="answer" if tuning is not None else "before_answer"):
        if tuning is not None:
            _answer(tuning, asked)
        elif search_time is not None:
            _before_search(search_time)
    with st.container(key="map_status"):  # of one line as a rule, and of two where something failed
        _status(filling, asked, key, measure)
    if others is not None:
        with st.container(height=48, border=False, key="rivals_status"):
            rivals.status()
    points = _points(filling) if filling is not None and _shown(filling, asked) else []
    answers = _answer_points(tuning) if _shown(tuning, asked) else []
    if not points and not answers:
        if filling is not None and not _shown(filling, asked):
            st.info(
                session.plain(f"The last map is of {controls.is_of(filling)}."),
                icon=":material/scatter_plot:",
            )
        elif filling is None:
            st.info(
                "A map of ε against error shows the whole trade-off: choose on the left, then fill the map.",
                icon=":material/scatter_plot:",
            )
        if asked is not None and not _shown(filling, asked):
            controls.offer_coarse_map(asked)
        return
    left, right = st.columns([3.4, 1], gap="small")
    picked = st.session_state.get("explore_picked")
    at_most = wanted.at_most if isinstance(wanted, Target) and wanted.measure == measure else None
    made = map_figure(points, measure, at_most, tuple(answers), picked, rivals.bands())
    with left:
        version = content_key(figure=made)[:16]  # whatever moves the picture redraws it, nothing else does
        board([], [made], version, False, _pick)
    with right:
        known = {p.id: p for p in [*points, *answers]}
        _choose_point(known, picked)
        _panel(known.get(picked or ""), measure)
        if points:
            named = dict.fromkeys(("ecdf_max", "ecdf_avg", "mean", "q15", "median", "q90", measure))
            named |= dict.fromkeys(m for m in points[0].bands if m.startswith(difference_of("")))
            st.download_button(
                "Points as CSV (internal)",
                points_csv(points, tuple(m for m in named if m in points[0].bands)),
                "map-internal.csv",
                "text/csv",
                icon=":material/download:",
                on_click="ignore",
                width="stretch",
            )


def _shown(run: BackgroundRun | None, asked: MapRequest | None) -> bool:
    """Whether a run is of the sensitive variables that are asked about now: others are not drawn beside them."""
    if run is None or asked is None:
        return run is not None
    return controls.is_of(run) == controls.subject_words(asked)


def _pick(point: int | str | None) -> None:
    st.session_state["explore_picked"] = point


def _choose_point(known: dict[str, PointSummary], picked: int | str | None) -> None:
    """The keyboard's way to a point: the same choice as a click on it."""
    ordered = sorted(known, key=lambda i: known[i].epsilon)
    chosen = picked if picked in known else None
    if st.session_state.get("explore_point") != chosen:
        st.session_state["explore_point"] = chosen
    st.selectbox(
        "Point",
        ordered,
        index=None,
        key="explore_point",
        placeholder="choose, or click on one",
        format_func=lambda i: (
            f"ε = {epsilon_number(known[i].epsilon)}, {find_mechanism(known[i].mechanism).label}"
        ),
        on_change=lambda: _pick(st.session_state["explore_point"]),
    )


def _points(run: BackgroundRun) -> list[PointSummary]:
    return [replace(job.answer, id=job.key[:12]) for job in run.having("done")]


def _answer_points(run: BackgroundRun | None) -> list[PointSummary]:
    if run is None:
        return []
    answers = best_answers(run.answers(), run.asked)
    return [replace(a.point, id=f"answer-{a.mechanism}") for a in answers if a.point is not None]


def _status(
    run: BackgroundRun | None, asked: MapRequest | None, key: tuple[str, ...] | None, measure: str
) -> None:
    """How far the map is; what failed; whether it is the one that is asked for."""
    if run is None:
        return
    done, total = len(run.having("done")), len(run.jobs)
    failed, stopped = run.having("failed"), run.having("cancelled")
    left, right = st.columns([8, 1], vertical_alignment="center")
    if run.running:
        took = duration(run.seconds_left(manager().n_lanes))
        text = f"{done} of {total} points; about {took} left. Each is an exact refit; they appear as they finish."
        left.progress(done / total, text=text)
        right.button("Stop", key="stop_map", width="stretch", on_click=background.stop, args=(MAP_RUN,))
        return
    problems = []
    if stopped:
        problems.append(f"stopped with {done} of {total} points; what is finished is kept")
    if failed:
        problems.append(f"{len(failed)} points failed: {failed[0].error}")
    summaries = run.answers()
    if problems:
        left.warning(session.plain(sentence("; ".join(problems))), icon=":material/info:")
        right.button(
            "Continue", key="resume_map", width="stretch", on_click=background.resume, args=(MAP_RUN,)
        )
        return
    bad = sum(bool(s.problems) for s in summaries)
    first = summaries[0]
    text = f"{session.plain(controls.is_of(run))} · {first.n_records:,} records · "
    if not run.tasks[0].given.blocks:
        text += f"ε on the {first.density_scale} · "
    whose = session.plain(run.tasks[0].given.settings.whose_accuracy)
    text += f"{total} points, each an exact refit. {whose}".rstrip()
    if bad:
        text += f" Not converged: {bad}, drawn hollow and on no frontier."
    coarse = run.asked == controls.COARSE
    if key is not None and not (controls.is_coarse_map_of(run, asked) if coarse else run.asked == key):
        text += " **The choices have changed since: fill the map again.**"
    elif coarse:
        text += " A coarse map to begin with: *Fill the map* adds the others."
    left.caption(text)
    right.button(
        "Refine",
        key="refine_map",
        width="stretch",
        on_click=session.attempt,
        args=(MAP_RUN, controls.refine_map, measure),
        help="Adds points half-way between the frontier and its neighbours.",
    )


def _before_search(time: str) -> None:
    """Where the answer will stand, and how long it takes."""
    st.caption(
        "Say above what is to be reached, and press *Find the settings*: the answer appears here, with the error that "
        f"it reaches. {sentence(time)}, less where fits are known."
    )


def _answer(run: BackgroundRun, now: MapRequest | None) -> None:
    """The answer of inverse tuning in one plain sentence, how sure it is, and where to go with it."""
    target, of = run.asked, f"{controls.is_of(run)}: "
    left, right = st.columns([8, 1.4], vertical_alignment="center")
    if run.running:
        text, share = min(
            (job.progress() for job in run.having("queued", "running")), key=lambda pair: -pair[1]
        )
        done = len(run.having("done"))
        left.progress(
            (done + share) / len(run.jobs), text=session.plain(f"{of}{target_text(target)}. {text}")
        )
        right.button(
            "Cancel", key="stop_tuning", width="stretch", on_click=background.stop, args=(TUNING_RUN,)
        )
        return
    answers = run.answers()
    failed, stopped = run.having("failed"), run.having("cancelled")
    if failed or stopped:
        words = failed[0].error if failed else "stopped; what was computed is kept"
        left.warning(session.plain(f"{of}{target_text(target)}: {words}"), icon=":material/info:")
        right.button(
            "Continue", key="resume_tuning", width="stretch", on_click=background.resume, args=(TUNING_RUN,)
        )
        if not answers:
            return
    best = best_answers(answers, target)
    if not best:
        whose = "the chosen mechanisms" if not failed and not stopped else "those whose search has ended"
        left.error(
            session.plain(f"{of}{target_text(target)}: no setting of {whose} reaches it."),
            icon=":material/block:",
        )
        left.caption(session.plain(_whole_answers([answer_text(a) for a in answers])) + _since(run, now))
    else:
        first, *others = best
        left.markdown(
            f"{session.plain(f'{of}{target_text(target)}: {goal_text(target)}')}**{_whole(answer_text(first))}**. "
            f"{session.plain(reached_text(first, target))}."
        )
        more = f" With another guarantee: {'; '.join(answer_text(a) for a in others)}." if others else ""
        divided = f" {_divided(first.shares)}" if run.tasks[0].given.blocks else ""
        left.caption(
            session.plain(f"{sentence(sure_text(first))}.{divided}{more}".strip()) + _since(run, now, first)
        )
        if _shown(run, now) and right.button(
            "Load into Compare",
            key="load_answer",
            width="stretch",
            on_click=controls.load_point,
            args=(first.reached, first.shares),
        ):
            st.switch_page("pages/compare.py")
    with right.popover("All answers", width="stretch"):
        if any(a.point is not None for a in answers):
            st.dataframe(_answers_table(answers, target.measure), hide_index=True)
        for a in answers:
            if a.why:
                st.markdown(session.plain(f"{find_mechanism(a.mechanism).label}: {a.why}"))
        st.caption(DATA_DEPENDENT)


def _since(run: BackgroundRun, now: MapRequest | None, found: TuningAnswer | None = None) -> str:
    """That the choices are others than those that a search was of, or what it found; empty where they are the same."""

    def current() -> TaskInput:
        assert now is not None
        browser = session.current()
        return TaskInput.of(browser.table, now.settings, browser.reference, now.subject.blocks)

    def taken() -> TaskInput:
        assert found is not None
        asked = run.tasks[0].given
        blocks = with_shares(asked.blocks, found.shares)
        return replace(asked, settings=settings_at(asked.settings, found.reached.knobs), blocks=blocks)

    if now is not None and background.is_of_now(run, current):
        return ""
    if now is not None and found is not None and background.reads_the_same(taken, current):
        return " **Its settings are in use on Compare.**"
    return " **The choices have changed since: find the settings again.**"


def _divided(shares: dict[str, float]) -> str:
    """How an answer divides ε among the variables of whole records."""
    return f"Of ε {', '.join(f'{name} has {100 * share:.3g} %' for name, share in shares.items())}."


def _whole_answers(texts: list[str]) -> str:
    """As many answers as have room, none of them cut."""
    kept = list(texts)
    while len(kept) > 1 and sum(map(len, kept)) > ROOM:
        kept.pop()
    left_out = len(texts) - len(kept)
    return " ".join(kept) + (f" {left_out} more under All answers." if left_out else "")


def _whole(text: str) -> str:
    """Safe text whose equations, and numbers of percent or points, do not break across lines."""
    unbroken = session.plain(text).replace(" = ", "\u00a0=\u00a0")
    return re.sub(r"(?<=\d) (?=%|points\b)", "\u00a0", unbroken)


def _answers_table(answers: list[TuningAnswer], measure: str) -> pd.DataFrame:
    """Every mechanism's answer, those without one included: why they have none is said in whole sentences below."""
    rows = []
    for a in answers:
        point, row = a.point, {"Mechanism": find_mechanism(a.mechanism).label}
        if point is not None:
            row |= {
                "ε": epsilon_number(point.epsilon),
                "Guarantee": guarantee_label(point),
                "Settings": knobs_text(point.knobs),
                "Error": band_text(point, measure),
            }
            if a.epsilon_seeds is not None:
                row["ε over seeds"] = " to ".join(map(epsilon_number, a.epsilon_seeds))
            if a.interval is not None and a.share is not None:
                low, high = map(percent, a.interval)
                row["Meets the target"] = f"{percent(a.share)} ({low} to {high})"
        rows.append(row)
    columns = [
        "Mechanism",
        "ε",
        "Guarantee",
        "Settings",
        "Error",
        "ε over seeds",
        "Meets the target",
    ]
    table = pd.DataFrame(rows).reindex(columns=columns).fillna("")
    return table.loc[:, (table != "").any()]


def _panel(point: PointSummary | None, measure: str) -> None:
    """The clicked point: settings, epsilon beside its guarantee, utility, and the way to Compare."""
    with st.container(border=True):
        if point is None:
            st.caption("Its settings appear here, and the way to load it into Compare.")
            return
        st.markdown(f"**{find_mechanism(point.mechanism).label}**")
        st.markdown(f"### {session.plain('ε = ' + epsilon_number(point.epsilon))}")
        st.markdown(session.plain(promise_text(point)))
        st.markdown(session.plain(knobs_text(point.knobs)))
        rows = {
            measure_label(m): band_text(point, m)
            for m in dict.fromkeys((measure, "ecdf_max", "median", "q90"))
            if m in point.bands
        }
        named = difference_of("")
        rows |= {
            f"Difference of {m.removeprefix(named)}": band_text(point, m)
            for m in point.bands
            if m.startswith(named)
        }
        st.caption("  \n".join(f"{name}: {_whole(text)}" for name, text in rows.items()))
        if not usable(point, measure):
            st.warning("Not for use: " + session.plain("; ".join(point.problems) or "no finite error"))
        if st.button(
            "Load into Compare",
            key="load_point",
            type="primary",
            width="stretch",
            on_click=controls.load_point,
            args=(point,),
        ):
            st.switch_page("pages/compare.py")
