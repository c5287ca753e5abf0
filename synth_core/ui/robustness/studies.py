"""A study: which one, how far it is, its table and violins."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.records.table import whole_records
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.experiments.studies.verdicts import Row
from synth_core.figures.coverage import coverage_figure
from synth_core.figures.study import measure_label, study_figure
from synth_core.jobs.study_task import COVERAGE, LIKE, StudyAnswer, StudyRequest
from synth_core.jobs.tasks import StudyTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.replication.named_studies import NAMED_STUDIES, OURS
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.ui.robustness import claims
from synth_core.ui.robustness.kinds import INTERVALS, LIKE_MINE, PAPERS
from synth_core.ui.shared import background
from synth_core.ui.shared.board import board
from synth_core.ui.shared.expected import expected_runs
from synth_core.ui.shared.subject import Subject, record_subject, say_left_out
from synth_core.ui.shared.waiting import watch
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.browser import BackgroundRun

RUNS = {LIKE_MINE: "study", INTERVALS: "intervals", PAPERS: "papers"}  # each keeps its own run
OF_TABLE = {LIKE_MINE: LIKE, INTERVALS: COVERAGE}
TITLES = {
    LIKE: "Databases like mine",
    "censor-4": "Censor 4: truncated and censored records",
    "censor-5": "Censor 5: five mechanisms at ε = 5",
    "ppm-4.4": "PPM 4.4: contraction, Poisson",
    "ppm-5.3": "PPM 5.3: the (c, g) curve",
    "range-4.1": "Range 4.1: range standards",
    "range-4.2": "Range 4.2: the same ε by scaling",
    "range-4.3": "Range 4.3: wider ranges in the tail",
    "reweight-3": "Reweight 3: negative binomial mixture",
    "reweight-supp-5": "Reweight Supp 5: local and global Δ",
    "anchored": "Ours: anchored beside the printed censoring",
    "survey": "Ours: a population with survey weights and without",
    "confidential-weights": "Ours: confidential survey weights",
}


def show(kind: str) -> None:
    """What is asked, and the run of this kind: how far it is, or what it found."""
    run_kind = RUNS[kind]
    try:
        settings = session.settings()
        with st.container(border=True):
            asked, place = choose(settings, kind)
            run = background.current(run_kind)
            place.button(
                "Run the study",
                type="primary",
                width="stretch",
                disabled=run is not None and run.running,
                on_click=start,
                args=(run_kind, settings, asked),
            )
    except InputError as error:
        st.error(session.said(error), icon=":material/error:")
    run = background.current(run_kind)
    if run is None:
        if kind == LIKE_MINE:
            claims.show()
        st.info(
            "A study goes on while you look elsewhere; finished databases are kept.",
            icon=":material/science:",
        )
    else:
        show_run(run_kind, run)


def choose(settings: Settings, kind: str) -> tuple[StudyRequest, Any]:
    """How many databases, and of which: a paper's, or of one's own which targets and sizes; a place for the button.

    The boxes start from what the study that is shown was asked for, so that a page that is loaded again agrees with it.
    """
    run = background.current(RUNS[kind])
    before: StudyRequest | None = None if run is None else run.asked
    a, b, c, d, e = st.columns([3, 2, 2, 3, 2], vertical_alignment="bottom")
    replicates = own_number(
        "Simulated databases R",
        limits.REPLICATES,
        20 if before is None else before.replicates,
        10,
        "study_replicates",
        b,
        help="More make it slower and surer; those that are done are kept.",
    )
    seed = own_number(
        "Seed of the study", limits.SEED, 1 if before is None else before.seed, 1, "study_seed", c
    )
    if kind == PAPERS:
        names = [name for name, named in NAMED_STUDIES.items() if not named.needs]
        place = 0 if before is None else names.index(before.name)
        name = a.selectbox("Study", names, place, format_func=lambda n: TITLES.get(n, n))
        if name in OURS:
            st.caption("A design of our own; for “published” stands what we expected of it.")
        return StudyRequest(name, int(replicates), int(seed)), e
    subject = record_subject()
    refused = subject.left_out(session.choices().mechanisms)
    wanted = [key for key in session.choices().mechanisms if key not in refused]
    refused |= subject.impossible(wanted, subject.settings(settings))
    chosen = [key for key in wanted if key not in refused]
    usual = float(settings.epsilon) if before is None else before.epsilons[0]
    epsilon = own_number("Target ε", limits.EPSILON, usual, 0.5, "study_epsilon", a)
    records = _records(subject)
    with d:
        sizes = st.text_input(
            "Numbers of records",
            str(records) if before is None else " ".join(map(str, before.rows)),
            help="One or more, separated by blanks: shows how Δ contracts as n grows.",
        )
    labels = ", ".join(find_mechanism(key).label for key in chosen) or "none"
    of = f" Databases are of whole records: {subject.names}." if subject.blocks else ""
    m = session.choices().settings.datasets
    sets = f" Data sets of a release: {m} (page Compare, Sampling)." if kind == INTERVALS else ""
    numbers = whole(sizes)
    once = expected_runs(subject, settings, chosen)
    seconds = replicates * sum(once.seconds.values()) * sum(n / max(records, 1) for n in numbers)
    took = f" {sentence(once.words(seconds))}, less where databases are known."
    frozen = session.current().reference
    on = "" if frozen is None else f" Weights come from the risk reference, {frozen.name}, as on Compare."
    st.caption(session.plain(f"With the mechanisms and settings of Compare: {labels}.{of}{sets}{on}{took}"))
    say_left_out(refused)
    return StudyRequest(
        OF_TABLE[kind], int(replicates), int(seed), tuple(chosen), (float(epsilon),), numbers
    ), e


def _records(subject: Subject) -> int:
    """How many complete records there are."""
    if not subject.blocks:
        return session.outcome().size
    table, s = session.current().table, session.settings()
    return whole_records(table, subject.blocks, s.predictors, categorical=s.categorical).table.rows


def whole(text: str) -> tuple[int, ...]:
    """Numbers of records from a line of text."""
    try:
        return tuple(int(part) for part in text.replace(",", "").split())
    except ValueError:
        raise InputError(f"Numbers of records must be whole numbers (given: {text}).") from None


def start(run_kind: str, settings: Settings, asked: StudyRequest) -> None:
    """Button callback."""
    background.start(run_kind, [_task(settings, asked)], asked)


def _task(settings: Settings, asked: StudyRequest) -> StudyTask:
    """A study on the table in use: a paper's reads nothing of it."""
    browser, mine = session.current(), asked.name in OF_TABLE.values()
    blocks, reference = (record_subject().blocks, browser.reference) if mine else ((), None)
    return StudyTask.of(browser.table, settings, asked, blocks, reference)


def show_run(run_kind: str, run: BackgroundRun) -> None:
    """What the study found in words, its violins and table, or why there are none."""
    answer: StudyAnswer | None = watch(run_kind, run, "Stopped; what was finished is kept.")
    if answer is None:
        return
    title, *rest = answer.heading
    st.markdown(f"**{session.plain(title)}**")
    _say_age(run)
    if answer.words:
        st.info("  \n".join(session.plain(line) for line in answer.words), icon=":material/fact_check:")
    st.caption(session.plain(" · ".join(rest)))
    if answer.covered:
        made = coverage_figure(answer.covered)
        board([], [made], f"coverage{run.jobs[0].key[:12]}", False)
        found = pd.DataFrame(made["table"]["rows"], columns=made["table"]["columns"])
    else:
        found = as_table(answer.rows)
    measures = [m for m, violins in answer.violins.items() if violins]
    if measures:
        measure = st.segmented_control(
            "Shown",
            measures,
            format_func=measure_label,
            default=measures[0],
            required=True,
            label_visibility="collapsed",
        )
        violins = answer.violins[measure]
        cases = list(dict.fromkeys(v.case for v in violins))
        case = cases[0]
        if len(violins) > 10 and len(cases) > 1:
            case = st.segmented_control(
                "Case", cases, default=cases[0], required=True, label_visibility="collapsed"
            )
            violins = [v for v in violins if v.case == case]
        board([], [study_figure(violins, measure)], f"study{run.jobs[0].key[:12]}{measure}{case}", False)
    st.dataframe(found, hide_index=True, height=420)


def _say_age(run: BackgroundRun) -> None:
    """Say that a study of the table is of other choices than those of now, which its words call today's."""
    of_table = run.asked.name in OF_TABLE.values()
    if of_table and not background.is_of_now(run, lambda: _task(session.settings(), run.asked).given):
        st.warning(f"{background.CHANGED} Run the study again.", icon=":material/history:")


def as_table(rows: list[Row]) -> pd.DataFrame:
    """The rows in words; columns that say nothing in this study are left out."""
    names = {
        "quantity": "Quantity",
        "published": "Published",
        "ours": "Ours",
        "error": "Monte Carlo error",
        "verdict": "Verdict",
        "reason": "Why",
    }
    frame = pd.DataFrame(map(asdict, rows))
    frame["error"] = ["" if row.error is None else f"{row.error:.3g}" for row in rows]
    if set(frame["verdict"]) == {"shown"}:
        frame = frame.drop(columns=["verdict", "reason", "published"])
        names["ours"] = "Found"
    return frame.rename(columns=names)
