"""Steps 3 to 5 of a release: the checks of the gate, the charge with its archives, the ledger."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from synth_core.analysis.setting_words import POSTERIORS
from synth_core.analysis.wording.on_screen import on_screen
from synth_core.data.rules import typeset
from synth_core.data.table import Table
from synth_core.errors import FitError
from synth_core.release.ledger.balances import Reservation
from synth_core.release.ledger.by_release import ABOUT
from synth_core.release.ledger.limit_room import largest_next, limit_spent, other_words, over_limit
from synth_core.release.making.outcome import MORE, REFUSED, REPEATED, ReleaseOutcome
from synth_core.release.making.releasing import charge_words, named_by, stays_charged
from synth_core.release.output.gate_check import WARN, GateCheck
from synth_core.release.plan.plan import Plan
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.system.number_text import rounded_up
from synth_core.ui.release import release_actions, release_job
from synth_core.ui.release.look import show_look
from synth_core.ui.release.release_job import ICONS
from synth_core.ui.shared.expected import long_run
from synth_core.ui.shared.subject import Subject
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.session import plain, said


def checks_step(plan: Plan | None, table: Table | None, outcome: ReleaseOutcome | None) -> None:
    """What a look at the gate charges, and its findings; a failed check that may be overridden takes a reason."""
    if plan is None or table is None:
        st.caption("First a plan and a table.")
        return
    a, c, b = st.columns([2, 1.5, 1], vertical_alignment="bottom")
    label = release_actions.label()
    key = f"release_label {label}"  # what is stored names the box: another tab may have stored another one
    a.text_input(
        "Label",
        label,
        key=key,
        max_chars=limits.NAME_LENGTH,
        on_change=release_actions.take_label,
        args=(key,),
        help="Another release of the same table needs another label, and is charged again.",
    )
    if lost := release_actions.lost(plan, table):
        st.warning(plain(lost), icon=":material/warning:")
    known = release_actions.charged(plan, table)
    refused = "" if known else release_actions.refused(plan, table)
    if refused:
        st.warning(plain(refused), icon=":material/warning:")
    else:
        took = "" if outcome else long_run(Subject(plan.analysed_blocks), plan.settings, plan.mechanism)
        st.markdown(_look_words(plan, table, known) + (f" The data is drawn first: {took}." if took else ""))
    if known is None:
        c.checkbox(
            "Yes, charge it",
            key=release_actions.confirmation(),
            disabled=bool(refused),
            help="The same label looks at the same draw again, at no further charge.",
        )
    else:
        c.caption("Paid for, under this label")
    b.button(
        "Check",
        on_click=session.attempt,
        args=("checks", release_actions.ask, True),
        disabled=release_job.state().busy
        or bool(refused)
        or not (known or st.session_state.get(release_actions.confirmation())),
        type="secondary" if outcome else "primary",
        width="stretch",
        help="Draws the data and runs the gate. Nothing is written.",
    )
    session.show_message("checks")
    if outcome is not None:
        show_checks(plan, outcome)


def _look_words(plan: Plan, table: Table, known: Reservation | None) -> str:
    """What a look at the gate will be charged, or was."""
    of = f"to the series **{plain(plan.series)}** for {plain(table.name)}"
    if known is not None:
        return (
            f"**ε = {known.epsilon:g}**{named_by(plan)} was charged {of} under this label, on {known.time[:10]}. "
            "Looking at the same draw again and releasing it cost nothing more; another label is another draw, and is "
            "charged."
        )
    sets = plan.guarantee.charged(plan.datasets)
    each = f" ({sets} data sets of {plan.target_epsilon:g} each)" if sets > 1 else ""
    return (
        "The checks look at the very data that would be released, and their findings tell of it. So "
        f"**ε = {plan.target_epsilon * sets:g}**{each}{named_by(plan)} is charged with them {of}: releasing it then "
        "costs nothing more, and a refusal gives nothing back."
    )


def release_step(plan: Plan | None, table: Table | None, outcome: ReleaseOutcome | None) -> None:
    """The release, and what was written."""
    if plan is None or table is None or outcome is None:
        st.caption("First the checks: they are of the data that is released.")
        return
    if release_actions.release_obstacles(outcome) and not outcome.archives:
        st.caption("A check has failed: see step 3.")
        return
    show_warnings(outcome)
    confirmed, made = release_actions.may_draw(plan, table), bool(outcome.archives)
    a, b = st.columns([4, 1], vertical_alignment="center")
    if made:
        words = "Both archives are made. Made again they are of the same draw, and nothing more is charged."
    elif confirmed:
        words = (
            f"Writes both archives of **{plain(table.name)}**. It was charged with the checks and costs nothing more; "
            "if the check of the target was overridden what was measured is charged."
        )
    else:
        words = "Confirm the charge in step 3: of this label nothing was confirmed yet."
    a.markdown(words)
    b.button(
        "Make them again" if made else "Release",
        on_click=session.attempt,
        args=("release", release_actions.ask, False),
        disabled=release_job.state().busy or not confirmed,
        type="secondary" if made else "primary",
        width="stretch",
    )
    if not made:
        _coverage_choice()
    if release_job.state().audit:
        st.caption("The privacy audit that was chosen on the page Robustness goes into the public report.")
    session.show_message("release")
    if made:
        show_outcome(outcome, named_by(plan))
        if plan.point.charged(2) == 1:
            _more_step(plan)


def _coverage_choice() -> None:
    """Whether it is measured, with the release, how often intervals from its files hold."""
    a, b = st.columns([4, 1], vertical_alignment="bottom")
    asked = a.toggle(
        "Measure how often intervals from these files hold, for the public report",
        key="coverage_asked",
        help="Databases are drawn from the released data and released again under the same settings. Nothing "
        "confidential is read, so it costs no ε, but each takes as long as this release.",
    )
    if asked:
        own_number("Simulated databases", limits.REPLICATES, 50, 10, "coverage_databases", b)


def _more_step(plan: Plan) -> None:
    """More data sets of a release, of the noisy tables that it paid for."""
    a, b, posterior, c = st.columns([3, 1.2, 1.6, 1], vertical_alignment="bottom")
    a.markdown(
        "**More data sets**, now or later: they are drawn of the noisy tables that this release has paid for, so "
        "nothing is charged. The ledger notes them."
    )
    own_number("How many", limits.DATASETS, 5, 1, "more_data_sets", b)
    planned = plan.settings.measured_posterior
    posterior.selectbox(
        "Drawn from",
        sorted(POSTERIORS, key=lambda each: each != planned),
        key="more_posterior",
        format_func=lambda each: POSTERIORS[each],
        help="Another model of the same noisy tables costs nothing either. First stands what the plan says; an exact "
        "posterior that has not converged is refused.",
    )
    c.button(
        "Draw them",
        on_click=session.attempt,
        args=("more", release_actions.draw_more),
        disabled=release_job.state().busy,
        width="stretch",
    )
    session.show_message("more")


def ledger_step(plan: Plan | None) -> None:
    """The ledger of the plan's series."""
    if plan is None:
        st.caption("First a plan: it names the series.")
        return
    st.markdown(f"Ledger of **{plain(plan.series)}**")
    show_ledger(plan.series)


def show_checks(plan: Plan, outcome: ReleaseOutcome) -> None:
    """The gate's lines, and a place for the reason of an override."""
    table = pd.DataFrame(
        {
            "Check": c.title,
            "Result": c.status,
            "Finding (internal)": _finding(c),
            "What to do": on_screen(c.advice),
        }
        for c in outcome.checks
    )
    if len(table):
        if not table["What to do"].any():
            table = table.drop(columns="What to do")
        st.table(table.set_index("Check").map(plain))
    for check in outcome.checks:
        if check.status != "failed":
            continue
        if check.overridable:
            st.text_input(
                f"Override “{check.title}”, because",
                key=release_actions.override_key(outcome, check),
                max_chars=1000,
                help="The reason is shown in both reports: write nothing confidential.",
            )
        else:
            st.error(
                f"{check.title}: this check cannot be overridden. {said(check.advice)}", icon=ICONS["failed"]
            )
    if outcome.state == REFUSED:
        st.caption(stays_charged(charge_words(plan, outcome.epsilon)))
    show_look(outcome)


def _finding(check: GateCheck) -> str:
    """What a check found; rules with their signs, and names as they are."""
    return typeset(check.finding) if check.key == "rules" else check.finding


def show_warnings(outcome: ReleaseOutcome) -> None:
    """What the gate warns of, before the button that releases."""
    warned = [check for check in outcome.checks if check.status == WARN]
    if warned:
        st.warning(
            "The gate lets this pass, and warns:\n\n"
            + "\n".join(f"- **{check.title}**: {plain(_finding(check))}" for check in warned),
            icon=ICONS["warning"],
        )


def show_outcome(outcome: ReleaseOutcome, named: str) -> None:
    """The archives: two of a release, and one of each later batch of its data sets.

    Parameters
    ----------
    named : str
        What stands behind ε where that names something else.
    """
    again = {
        REPEATED: " It was made before: nothing more was charged.",
        MORE: " More data sets were drawn of it: nothing more was charged.",
    }.get(outcome.state, "")
    st.info(
        f"Release {outcome.number}: ε = {outcome.epsilon:g}{named} charged.{again}", icon=":material/archive:"
    )
    columns = st.columns(2)
    for place, (name, content) in enumerate(release_actions.archives(outcome)):
        column = columns[place % 2]
        public = "releasable" in name
        column.download_button(
            f"{'May leave' if public else 'INTERNAL, stays'}: {name}",
            content,
            name,
            "application/zip",
            type="primary" if public else "secondary",
            icon=":material/outbox:" if public else ":material/lock:",
            on_click="ignore",
            width="stretch",
        )


def show_ledger(series: str) -> None:
    """What is spent and left as the limit counts it, the other figure, entries, and a change of the limit."""
    try:
        balance, rows, accuracy = release_actions.ledger_view(series)
    except FitError as error:
        st.error(said(error), icon=ICONS["failed"])
        return
    if not rows:
        st.caption("Nothing was charged to this series yet.")
        return
    a, b, c, d = st.columns(4)
    a.metric("Releases", balance.releases)
    delta, largest = balance.count.delta, largest_next(balance)
    c.metric("Limit", "none" if balance.limit is None else f"{balance.limit:g}")
    if delta is None:
        b.metric("ε in all", f"{balance.spent:g}")
        left = None if balance.limit is None else max(balance.limit - balance.spent, 0.0)
        d.metric("Left", "–" if left is None else f"{left:g}")
    else:
        b.metric(f"ε at δ = {delta:g}", rounded_up(limit_spent(balance), 4))
        d.metric(
            "Left for one more that is set at",
            f"ε ≤ {largest:g}" if largest else "nothing",
            help="The largest ε that one more data set may be set at on Compare. What the limit counts of it at δ is "
            "more than that, and does not add up; with Laplace noise, as a histogram has it, half of it.",
        )
    if lowered := over_limit(balance):
        st.warning(plain(f"{sentence(lowered)} Nothing more can be charged."), icon=ICONS["warning"])
    if balance.rho:
        other = f"{other_words(balance)}; " if other_words(balance) else ""
        st.caption(
            f"The limit counts {balance.count.words}. {sentence(f'{other}ρ is {rounded_up(balance.rho, 4)}')} in all."
        )
    if accuracy:
        st.caption(ABOUT)
        st.dataframe(pd.DataFrame(accuracy), hide_index=True)
    with st.expander("Entries, and another limit", key="ledger_entries"):
        st.dataframe(pd.DataFrame(rows), hide_index=True)
        a, b, c = st.columns(3)
        own_number("Limit", limits.TOTAL_EPSILON, balance.limit or 50.0, 1.0, "new_limit", a)
        b.text_input("Because", key="new_limit_reason")
        c.text_input("Decided by", key="new_limit_who")
        st.button(
            "Change the limit",
            on_click=session.attempt,
            args=("ledger", release_actions.change_limit, series),
        )
        session.show_message("ledger")
