"""Step 1 of a release: a new plan, one from a file, or a finished run."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from synth_core.analysis.drawing import DRAWING_WORDS
from synth_core.data.units import records_words
from synth_core.errors import InputError
from synth_core.figures.briefing.decision import decision_record, is_internal
from synth_core.figures.briefing.web_page import web_page
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.composition import DELTA, Count, not_counted, rho_of
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.mechanisms.likelihoods.measured import MEASURED_LAPLACE
from synth_core.release.ledger.limit_room import check_room
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.plan_terms import OF_BLOCKS, TUNED_ON, WARNINGS, TuningKind, has_rho, terms_of
from synth_core.system import limits
from synth_core.system.number_text import number_of, rounded_up
from synth_core.ui.compare.briefing import POWERPOINT
from synth_core.ui.compare.scenarios import proposed_reason
from synth_core.ui.release import plan_actions, release_actions, release_job
from synth_core.ui.shared.expected import long_run
from synth_core.ui.shared.finished_runs import runs_panel
from synth_core.ui.shared.subject import record_subject
from synth_core.ui.shared.widgets import own_number
from synth_core.ui.state import session
from synth_core.ui.state.session import plain

TYPED = "reason", "who", "target", "decimals", "limit", "count", "delta", "shuffle", "clamp", "units"
COUNTS = {"sum": "Sum of ε", "zcdp": "(ε, δ) through zCDP"}
DELTAS = [float(f"1e-{digits}") for digits in range(12, 1, -1)]  # within limits.LIMIT_DELTA


def plan_step(plan: Plan | None) -> None:
    """The ways to a plan, or the plan."""
    if plan is None:
        tabs = st.tabs(["New plan", "Open a plan", "Finished runs"])
        for tab, draw in zip(tabs, (plan_form, open_plan, runs_panel), strict=True):
            with tab:
                draw()
    else:
        try:
            show_plan(plan)
        except InputError as missing:
            st.error(plain(str(missing)), icon=release_job.ICONS["failed"])
    session.show_message("plan")


def plan_form() -> None:
    """Everything that is decided before the table to be released is looked at."""
    choices = session.choices()
    _keep_typed()
    if choices.whole:
        names = plain(", ".join(block.name for block in choices.whole))
        st.info(
            f"The plan is of whole records: {names}. With several sensitive variables {OF_BLOCKS}.",
            icon=":material/info:",
        )
    chosen = choices.mechanisms or ("weighted",)
    a, b = st.columns(2)
    mechanism = a.selectbox(
        "Mechanism",
        chosen,
        index=len(chosen) - 1,
        key="plan_mechanism",
        format_func=lambda key: find_mechanism(key).label,
        help="Of those chosen on the page Compare, with the settings there.",
    )
    if kept := plan_actions.rule_words(mechanism):
        a.caption(plain(kept))
    tuned_on = b.selectbox(
        "The table named above is",
        plan_actions.kinds(),
        index=None,
        key=plan_actions.tuned_on_key(),
        placeholder="say what kind of table it is",
        format_func=TUNED_ON.__getitem__,
        help="Where the settings were tuned: the promise depends on it, so it is asked for each table anew. The plan "
        "is made on the table in use; for another one, choose it on the page Data first.",
    )
    if tuned_on in WARNINGS:
        st.warning(WARNINGS[tuned_on], icon=":material/warning:")
    a, b = st.columns(2)
    a.text_input(
        "Series",
        plan_actions.first_series(),
        key=plan_actions.series_key(),
        max_chars=limits.NAME_LENGTH,
        help="Name of the table over its periods. The ledger adds up what a series is charged.",
    )
    strict, point = plan_actions.strict(mechanism), find_mechanism(mechanism)
    own_number(
        f"Target ε of {'all data sets' if point.charged(2) == 1 else 'one data set'}",
        limits.EPSILON,
        None,
        0.5,
        "its_own_target" if strict else "plan_target",  # what was typed for another mechanism is not its
        b,
        placeholder=f"{choices.settings.epsilon:g}, its own" if strict else "measured",
        disabled=strict,
        help="A measured ε must stay below it in every period, a factor of safety included. It is what "
        "the ledger charges.",
    )
    limit_row(_counts(point, tuned_on), terms_of(point, tuned_on or "public").guarantee)
    counted = tuned_on is None or _taken_line(point, tuned_on)
    st.session_state.setdefault("plan_reason", proposed_reason())
    st.text_area("Why these settings", key="plan_reason", max_chars=limits.REASON_LENGTH, height=80)
    a, b = st.columns(2)
    a.text_input("Who decided", key="plan_who", max_chars=200)
    own_number(
        "Decimals of the synthetic values",
        limits.DECIMALS,
        None,
        1,
        "plan_decimals",
        b,
        placeholder="as the table",
    )
    a, b = st.columns(2)
    a.checkbox("Shuffle the rows", value=True, key="plan_shuffle")
    b.checkbox("Move values to the declared bounds", key="plan_clamp", disabled=choices.bounds is None)
    if choices.settings.unit_column is not None:
        name = plain(choices.settings.unit_column)
        st.checkbox(
            f"Keep records of the same {name} together",
            value=True,
            key="plan_units",
            help="In the files units have new identifiers, 1, 2, …, in a random order. Who belongs together is kept, "
            "and how many they are; synthetic values are drawn record by record, so they are no more alike within a "
            "unit than its public columns make them.",
        )
    st.caption(
        f"Data sets of a release, m: {choices.settings.datasets}"
        + (
            f"; synthetic values: {DRAWING_WORDS[choices.settings.drawing]} (page Compare, Sampling). The random seed "
            "is drawn from the system for each release and stays secret."
            if point.likelihood.samples
            else " (page Compare, Sampling). The noise is the system's and has no seed."
        )
        + _how_long(mechanism)
    )
    st.button(
        "Make the plan",
        type="primary",
        on_click=session.attempt,
        args=("plan", plan_actions.make_plan, plan_actions.now_shown()),
        disabled=release_job.state().busy or not counted,
    )


def _how_long(mechanism: str) -> str:
    """About how long making the plan takes, a sentence after another; empty where that is short."""
    try:
        took = long_run(record_subject(), session.settings(), mechanism)
    except InputError:  # said when the plan is asked for
        return ""
    return f" Making the plan fits {find_mechanism(mechanism).label} once: {took}." if took else ""


def _keep_typed() -> None:
    """Streamlit forgets the boxes of a page that is left: what was typed for this table comes back."""
    kept = st.session_state.setdefault("typed_for_plans", {}).setdefault(
        session.current().table.fingerprint, {}
    )
    for key in (*(f"plan_{name}" for name in TYPED), plan_actions.series_key()):
        if key in st.session_state:
            kept[key] = st.session_state[key]
        elif kept.get(key) not in (None, ""):
            st.session_state[key] = kept[key]


def _counts(point: Mechanism, tuned_on: TuningKind | None) -> list[str]:
    """What the limit of a series can count: the sum of ε, and ρ where every release of the plan has one.

    Until the kind of table is said they are those of a public one: else the row would say that measured tables add ε.
    """
    if not has_rho(point, tuned_on or "public"):
        return ["sum"]
    return [count for count in COUNTS if count == "zcdp" or point.guarantee("closed").pure]


def _taken_line(point: Mechanism, tuned_on: TuningKind) -> bool:
    """Say what one release takes of the limit, as the limit counts it; whether it can be counted so."""
    form, settings = plan_actions.current_form(), session.settings()
    epsilon = settings.epsilon if point.epsilon_by_construction else form.get("target")
    if epsilon is None:  # measured when the plan is made
        return True
    limit, count = form["limit"], Count(form.get("delta") if form["count"] == "zcdp" else None)
    balance = release_actions.series_balance(str(form["series"]).strip())
    whence = _whence(limit)
    if balance is not None and balance.limit is not None:  # what it counts was fixed with its first limit
        limit, count, whence = balance.limit, balance.count, ""
    guarantee = terms_of(point, tuned_on).guarantee
    taken = count.taken(guarantee, epsilon, settings.datasets)
    if taken is None:
        st.error(plain(not_counted(point.label, guarantee, count)), icon=":material/error:")
        if not guarantee.pure:
            instead = MEASURED_LAPLACE.named[0]
            st.button(f"Take {instead.label}", on_click=_take_mechanism, args=(instead.key,))
        return False
    if count.delta is None:
        st.caption(f"One release takes **ε = {rounded_up(taken, 4)}** of the limit of {limit:g}.")
    else:
        rho = rho_of(guarantee, epsilon, settings.datasets)
        assert rho is not None  # else a limit at δ counts nothing
        st.caption(
            f"One release costs ρ = {rounded_up(rho, 4)}, which ε = {epsilon:g} names. The limit counts that as "
            f"**ε = {rounded_up(taken, 4)} at δ = {count.delta:g}** of {limit:g}.{whence}"
        )
    if balance is not None and limit is not None:
        charged = (
            epsilon * guarantee.charged(settings.datasets),
            rho_of(guarantee, epsilon, settings.datasets),
        )
        try:
            check_room(replace(balance, limit=limit, count=count), *charged, guarantee.label)
        except InputError as refused:
            st.warning(session.said(refused), icon=":material/warning:")
    return True


def _whence(limit: float) -> str:
    """Where a limit comes from that nobody typed: from the rule; a sentence after another."""
    rule = session.choices().policy.epsilon
    if rule is None or limit != st.session_state.get("limit_proposed"):
        return ""
    return f" A release of the rule's ε = {rule:g} counts as {limit:g}: hence that limit, until you type another."


def _take_mechanism(key: str) -> None:
    """Button callback: plan with another mechanism, which stands on Compare too."""
    chosen = session.choices()
    if key not in chosen.mechanisms:
        session.change(chosen.with_mechanisms(*chosen.mechanisms, key))
    st.session_state["plan_mechanism"] = key


def _propose_limit(guarantee: Guarantee, count: Count) -> float:
    """A limit that has room for a release of the rule's ε as it is counted; one that was typed stays."""
    rule = session.choices().policy.epsilon
    taken = None if rule is None else count.taken(guarantee, rule, 1)
    proposed = float(rounded_up(taken, 3)) if taken is not None and count.delta is not None else rule or 50.0
    if st.session_state.get("plan_limit") == st.session_state.get("limit_proposed"):
        st.session_state["plan_limit"] = proposed
    st.session_state["limit_proposed"] = proposed
    return proposed


def limit_row(counts: list[str], guarantee: Guarantee) -> None:
    """The limit of the series, and what it counts; see `_counts`."""
    if st.session_state.get("plan_count") not in counts:  # another mechanism or kind of table was chosen
        st.session_state["plan_count"] = counts[0]
    at_delta = st.session_state["plan_count"] == "zcdp"
    count = Count(st.session_state.get("plan_delta", DELTA) if at_delta else None)
    a, b, *c = st.columns(3 if at_delta else 2)
    own_number(
        f"Limit of ε in all{', at δ' if at_delta else ''}",
        limits.TOTAL_EPSILON,
        _propose_limit(guarantee, count),
        1.0,
        "plan_limit",
        a,
        help="Of all releases of the series together. Set with its first release.",
    )
    b.selectbox(
        "The limit counts",
        counts,
        key="plan_count",
        format_func=COUNTS.__getitem__,
        disabled=len(counts) == 1,
        help="Fixed with the first limit of the series. zCDP is of use for many releases of a small ε: twelve of "
        "0.5 add up to 6, and to 4.441 at δ = 1e-06. For few releases the sum is smaller. It needs a strict mechanism "
        "that was not tuned on the confidential data.",
    )
    for column in c:
        column.selectbox(
            "δ of the limit",
            DELTAS,
            index=DELTAS.index(DELTA),
            key="plan_delta",
            format_func="{:g}".format,
            help="Roughly, the probability with which the promise of ε may fail. Choose it far below one over "
            "the number of records.",
        )


def open_plan() -> None:
    """A plan made earlier, here or elsewhere."""
    a, b = st.columns(2)
    plan_file = a.file_uploader("Plan", ["json"])
    map_file = b.file_uploader(
        "Its risk map", ["npz"], help="Not needed where the plan was made on this server."
    )
    if plan_file is not None:
        st.button(
            "Use this plan",
            type="primary",
            on_click=session.attempt,
            args=("plan", plan_actions.open_plan, plan_file, map_file),
        )


def _design(plan: Plan) -> str:
    """What a plan says of how the table was drawn: weights, strata and units; empty of records drawn one by one."""
    s, words = plan.settings, ""
    if s.weight is not None:
        stand_for = "" if s.weight_total is None else f" for a population of {s.weight_total:,.0f}"
        words += f"; survey weights **{plain(s.weight)}**{stand_for}"
        words += f", strata **{plain(s.strata)}**" if s.strata is not None else ""
    if s.unit_column is not None:
        kept = "left out of the files" if plan.unit is None else "kept together in the files"
        words += f"; units **{plain(s.unit_column)}** of up to {records_words(s.unit_size)}, which ε is for, {kept}"
    return words


def show_plan(plan: Plan) -> None:
    """What was decided, and its files."""
    s = plan.settings
    st.markdown(
        f"**{plan.point.label}**, {plan.guarantee.label}, target **ε = {plan.target_epsilon:g}** "
        f"{plan.guarantee.sets_words}, m = {plan.datasets}, series **{plain(plan.series)}**{_limit(plan)}, "
        f"{plain(plan.outcome_words)} on {number_of(len(s.predictors), 'predictor')}{_design(plan)}"
    )
    missing = f" Values that mean missing: {plain(', '.join(plan.missing))}." if plan.missing else ""
    anchor = ""
    if plan.point.likelihood.anchors and s.reads_series:
        own = "the first at noisy counts" if s.reads_counts else "the first after a pilot"
        anchor = f" Each release is anchored at those before it, {own}."
    st.caption(
        f"Tuned on {plain(plan.tuned_on.name)} ({TUNED_ON[plan.tuned_on.kind]}). {plain(plan.reason)} "
        f"({plain(plan.decided_by)}, {plan.created[:10]}).{missing}{anchor}"
    )
    for warning in filter(None, (plan.warning, plan.beyond_limit)):
        st.warning(warning, icon=":material/warning:")
    if others := plan_actions.chosen_since(plan):
        st.info(
            f"Compare has other choices by now: {plain(', '.join(others))}. The plan keeps its own.",
            icon=":material/history:",
        )
    for problem in release_job.state().problems:
        st.warning(f"The fit on the tuning table has not converged: {problem}.", icon=":material/warning:")
    if warnings := release_job.state().warnings:
        st.warning(
            f"On {plain(plan.tuned_on.name)} the synthetic table stands out, and in a release it may too:\n\n"
            + "\n".join(f"- {plain(warning)}" for warning in warnings),
            icon=":material/warning:",
        )
    columns = st.columns(3)
    for column, (label, name, content) in zip(columns, plan_actions.plan_files(plan), strict=False):
        column.download_button(
            label, content, name, icon=":material/download:", on_click="ignore", width="stretch"
        )
    columns[2].button(
        "Another plan", on_click=session.attempt, args=("plan", plan_actions.forget_plan), width="stretch"
    )
    _record_row(plan)


def _record_row(plan: Plan) -> None:
    """The record of the decision, as slides and as one file."""
    a, b, _ = st.columns(3)

    def slides() -> bytes:
        from synth_core.figures.briefing.powerpoint import powerpoint  # half a second, for few

        return powerpoint(decision_record(plan))

    help_text = "What was decided, by whom, why, and against which alternatives, from the plan alone."
    for column, label, ending, kind, made in (
        (a, "Record of the decision (HTML)", "html", "text/html", lambda: web_page(decision_record(plan))),
        (b, "Record of the decision (PowerPoint)", "pptx", POWERPOINT, slides),
    ):
        column.download_button(
            label,
            made,
            f"{plan.series}-decision{'-INTERNAL' if is_internal(plan) else ''}.{ending}",
            kind,
            icon=":material/gavel:",
            on_click="ignore",
            width="stretch",
            help=help_text,
        )


def _limit(plan: Plan) -> str:
    """The limit of the series: the ledger's, which counts, where it was changed since."""
    if plan.limit is None or plan.count is None:
        return ""
    balance = release_actions.series_balance(plan.series)
    now = None if balance is None else balance.limit
    changed = "" if now in (None, plan.limit) else f"{now:g} now, and when it was planned "
    return f" (limit {changed}{plan.limit:g}, counts {plan.count.words})"
