"""Do the models fit? A verdict for every sensitive variable, and the figures of the one that is open."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from synth_core.analysis.fit_verdict import FitVerdict
from synth_core.analysis.model_check import FitCheck
from synth_core.analysis.records.blocks import common_of, parts_of
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.headings import COLUMNS
from synth_core.engine.sampling import rhat_text
from synth_core.experiments.explore.sweep import seconds_per_point
from synth_core.figures.check import check_figures
from synth_core.figures.parts import statistic_label
from synth_core.jobs.job import Job
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import CheckTask, SensitivityTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.cache import content_key
from synth_core.system.number_text import floored
from synth_core.ui.server.manager import manager
from synth_core.ui.shared.board import board
from synth_core.ui.shared.expected import compiling_seconds, expected_end, seconds_left
from synth_core.ui.shared.polling import poll
from synth_core.ui.shared.waiting import POLL_SECONDS, wait_for
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

ALL = "all records"
FACTORS = (0.1, 0.5, 1.0, 2.0, 10.0)
SHOWN_AS = {"fits": st.success, "roughly": st.warning, "misfit": st.error, "unknown": st.error}
ICONS = {
    "fits": ":material/check_circle:",
    "roughly": ":material/info:",
    "misfit": ":material/cancel:",
    "unknown": ":material/error:",
}
ASKED = "fit_asked"  # keys of the fits that were asked for here
BATCH = "fit_batch"  # those that were asked for together, and when
QUICK_SECONDS = 0.3
BESIDE_SECONDS = 2.0  # of each fit: its chains start, and it is compared with the data
DELTA, GAP = COLUMNS["delta"], f"{COLUMNS['gap'].plain}, in points"
SAMPLER = (
    "Whether the sampler's chains agree. R-hat: how much further apart draws of all chains lie than those of one, 1 "
    "where they agree. Effective draws: how many independent ones they are worth. Divergent: steps that went astray."
)
LEVELS = ("misfit", "unknown", "todo", "roughly", "fits")  # the worst first
WORDS = {"fits": "fits", "roughly": "fits roughly", "misfit": "does not fit", "unknown": "not converged"}


@dataclass(frozen=True)
class Fit:
    """What is known of a fit: of the values of a sensitive variable, or of whether they are missing.

    Attributes
    ----------
    name, variable : str
        What is fitted, and the sensitive variable that it belongs to.
    key : str
        Of the fit: what was asked for stays asked for until it changes.
    seconds : float
        About how long it takes.
    """

    name: str
    settings: Settings
    task: CheckTask
    key: str
    seconds: float
    variable: str
    job: Job | None = None

    @property
    def verdict(self) -> FitVerdict | None:
        """The verdict, once there is one."""
        if self.job is None or self.job.state != "done" or self.job.answer is None:
            return None
        check: FitCheck = self.job.answer
        return check.verdict(self.settings.model)

    @property
    def running(self) -> bool:
        return self.job is not None and not self.job.finished.is_set()

    @property
    def error(self) -> str:
        """Why there is no verdict although the fit has ended."""
        if self.job is None or self.job.state not in ("failed", "cancelled"):
            return ""
        return "Cancelled." if self.job.state == "cancelled" else self.job.error

    @property
    def words(self) -> tuple[str, str]:
        """A level, which colours it, and a few words, for the row of the variable."""
        verdict = self.verdict
        if verdict is not None:
            off = "" if verdict.level == "unknown" else f", {verdict.points_off}"
            off += ", as to which are missing" if off and self.name != self.variable else ""
            return verdict.level, WORDS[verdict.level] + off
        if self.error:
            return "unknown", "stopped" if self.error == "Cancelled." else "failed"
        return ("todo", "fitting …") if self.running else ("todo", "not checked")


def fits() -> list[Fit]:
    """The fits of all sensitive variables, in order, those that were asked for with their jobs; they can be fitted."""
    browser = session.current()
    found = [_described(browser, *each) for each in _settings(browser)]
    asked = st.session_state.setdefault(ASKED, set())
    wanted = [each for each in found if each.key in asked]
    # What was asked before and is not wanted now is dropped.
    jobs = manager().submit(_owner(), [each.task for each in wanted]) if asked else []
    if jobs:
        jobs[-1].finished.wait(QUICK_SECONDS)
    if all(job.finished.is_set() for job in jobs):
        st.session_state.pop(BATCH, None)
    by_name = {each.name: job for each, job in zip(wanted, jobs, strict=True)}
    return [replace(each, job=by_name.get(each.name)) for each in found]


def drop() -> list[Fit]:
    """End what was asked for: the variables as they are described now cannot be fitted."""
    if st.session_state.get(ASKED):
        manager().drop(_owner())
    return []


def _owner() -> str:
    return f"{session.owner()}:fits"


def _settings(browser: Browser) -> Iterable[tuple[str, Settings, str]]:
    whole = browser.choices.whole
    if not whole:
        settings = browser.settings()
        return [(settings.outcome, settings, settings.outcome)]
    parts = parts_of(whole, common_of(browser.settings()))
    return [(part.name, part.settings, part.block.name) for part in parts]


def _described(browser: Browser, name: str, settings: Settings, variable: str) -> Fit:
    whole = browser.choices.whole
    task = CheckTask.of(browser.table, browser.settings(), None, None, whole, name if whole else "")
    alone = CheckTask.of(browser.table, settings, None, None)  # whatever the other variables are
    return Fit(name, settings, task, alone.key, seconds_of(browser, settings), variable)


def seconds_of(browser: Browser, settings: Settings) -> float:
    """About how long a fit without weights takes."""
    return seconds_per_point(find_mechanism("unweighted"), settings, browser.table.rows)


def worst_of(found: Iterable[Fit], variable: str) -> Fit | None:
    """Of the fits of a variable, to its values and to which are missing, the one that needs a look most."""

    def merit(fit: Fit) -> tuple[int, float]:
        return LEVELS.index(fit.words[0]), -fit.verdict.largest if fit.verdict is not None else 0.0

    return min((each for each in found if each.variable == variable), key=merit, default=None)


def ask() -> None:
    """Button callback: fit every sensitive variable, and say how well."""
    browser = session.current()
    for each in _settings(browser):
        st.session_state.setdefault(ASKED, set()).add(_described(browser, *each).key)
    found = fits()
    manager().forget(_owner(), [each.job for each in found if each.job is not None])


def show_progress(running: list[Fit], found: list[Fit]) -> None:
    """How far the fits are, and a button that stops them."""
    seconds = {each.key: BESIDE_SECONDS + each.seconds for each in found}
    before = compiling_seconds({each.settings.model for each in running})
    end = expected_end(BATCH, seconds, [each.key for each in running], manager().n_lanes, before)
    poll(_progress, POLL_SECONDS, [each.job for each in running if each.job], len(found), end)


def _progress(jobs: list[Job], total: int, end: float) -> None:
    """`end` is when all are fitted, about, by the monotonic clock."""
    manager().touch(jobs)
    left = [job for job in jobs if not job.finished.is_set()]
    if len(left) < len(jobs):
        st.rerun()
    bar, button = st.columns([8, 1], vertical_alignment="center")
    text, share = left[0].progress()
    done, seconds = total - len(left), seconds_left(end)
    more = f" · {seconds}" if seconds else ""
    bar.progress(
        min((done + min(max(share, 0.0), 1.0)) / total, 1.0),
        text=f"{done} of {total} fitted · {text} …{more}",
    )
    button.button("Cancel", key="cancel_fits", width="stretch", on_click=manager().cancel, args=(_owner(),))


def show(opened: Fit) -> None:
    """The figures of a fit that was asked for, by group, and how much the priors matter."""
    if opened.verdict is None:
        return
    verdict = st.container()
    a, b, c = st.columns([2, 2, 3], gap="medium", vertical_alignment="bottom")
    column, level = choose_group(opened.settings, a, b)
    priors = c.toggle("Sensitivity to the priors", help="Runs a mechanism again under five scales of priors.")
    show_check(opened, column, level, verdict)
    if priors:
        show_sensitivity(session.settings())


def choose_group(settings: Settings, left: Any, right: Any) -> tuple[str | None, str | None]:
    """A column whose categories are compared, and the one that is shown."""
    browser = session.current()
    columns = [c.name for c in browser.table.columns if c.name != settings.outcome and c.kind != "empty"]
    likely = [c for c in settings.predictors if c in columns]
    column = left.selectbox(
        "By the categories of",
        [None, *likely, *(c for c in columns if c not in likely)],
        format_func=lambda c: "none" if c is None else c,
        help="Numbers with many values are cut at their quartiles.",
    )
    names = st.session_state.get("check_categories", {}).get((browser.table.fingerprint, column), [])
    level = right.selectbox("Records shown", [ALL, *names], disabled=column is None)
    return column, None if level == ALL else level


def show_check(opened: Fit, column: str | None, level: str | None, above: Any) -> None:
    """The verdict and the fit's diagnostics `above`, here the figures."""
    browser, settings = session.current(), opened.settings
    with above:
        check = wait_for("check", replace(opened.task, column=column, level=level))
    if check is None:
        return
    key = (browser.table.fingerprint, column)
    known = st.session_state.setdefault("check_categories", {})
    if column is not None and known.get(key) != check.categories:
        known[key] = check.categories
        st.rerun()
    verdict = check.verdict(settings.model)
    d = check.diagnostics
    with above:
        SHOWN_AS[verdict.level](session.plain(f"{verdict.words} {verdict.advice}"), icon=ICONS[verdict.level])
        st.caption(
            f"{session.plain(level or ALL)}: {check.check.n_records:,} records · {check.density_scale} · R-hat "
            f"{rhat_text(d.rhat)}, effective draws {floored(d.ess_bulk, 0)}, {d.divergences} divergent",
            help=SAMPLER,
        )
    figures = check_figures(check.check, settings.outcome, column)
    board([], figures, content_key(figures=figures)[:16], False)


def show_sensitivity(settings: Settings) -> None:
    """Show the same mechanism under narrower and wider priors."""
    browser = session.current()
    mechanisms = [m for m in browser.choices.mechanisms if find_mechanism(m).likelihood.samples]
    if not mechanisms:
        st.caption("Choose a mechanism on the page Compare first.")
        return
    chosen = st.selectbox("Mechanism", mechanisms, format_func=lambda m: find_mechanism(m).label)
    given = TaskInput.of(browser.table, settings, browser.reference)
    answer = wait_for("sensitivity", SensitivityTask(given, chosen, factors=FACTORS))
    if answer is None:
        return
    st.dataframe(
        pd.DataFrame(
            {
                "Priors' scale ×": row.factor,
                DELTA.plain: row.numbers.lipschitz_bound,
                "ε": row.numbers.epsilon,
                GAP: 100 * row.numbers.ecdf_max,
                **{statistic_label(k): v for k, v in row.numbers.synthetic.items()},
                "Converged": "yes" if not row.numbers.problems else "no",
            }
            for row in answer
        ).round(4),
        hide_index=True,
        column_config={
            DELTA.plain: st.column_config.NumberColumn(help=DELTA.about),
            GAP: st.column_config.NumberColumn(help=COLUMNS["gap"].about),
        },
    )
    guarantee = find_mechanism(chosen).guarantee(browser.weights_from)
    st.caption(
        f"{find_mechanism(chosen).label}: {guarantee.label}. If Δ or the statistics move "
        "with the scale of the priors, the priors speak louder than the data: say in the release why they are right."
    )
