"""What the buttons of step 1 do: make a plan from the choices, open one from a file, put it away."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import streamlit as st

from synth_core.analysis.result_key import NOT_OF_ALL
from synth_core.analysis.settings import Settings, setting_name
from synth_core.data.examples import EXAMPLES
from synth_core.errors import InputError
from synth_core.jobs.task import TaskInput
from synth_core.jobs.tasks import PlanTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.bounded_text import slug, words
from synth_core.release.plan.alternatives import Alternative, alternatives_of
from synth_core.release.plan.frozen_map import SUFFIX, find_map, store_map
from synth_core.release.plan.map_apart import require_sound_map
from synth_core.release.plan.plan import UNPLANNED, Plan, parse_plan
from synth_core.release.plan.plan_terms import OF_BLOCKS, TuningKind, of_blocks
from synth_core.release.plan.planned_block import planned_blocks
from synth_core.release.plan.planning import Decision
from synth_core.release.state import plans_directory
from synth_core.system import limits
from synth_core.ui.compare.briefing import pinned_chapters
from synth_core.ui.compare.scenarios import pinned_as, present
from synth_core.ui.release import release_actions, release_job
from synth_core.ui.shared.subject import record_subject
from synth_core.ui.state import session
from synth_core.ui.state.browser import Desk

UNSAFE = re.compile(r"[^A-Za-z0-9]+")


def kinds() -> list[TuningKind]:
    """What the table in use may be called as a tuning table; a confidential one is never public."""
    table = session.current().table
    if table.confidential:
        return ["historical", "confidential"]
    example = EXAMPLES.get(table.name.removeprefix("example:").partition(",")[0])
    simulated = example is not None and example.simulate is not None
    first: list[TuningKind] = ["simulated", "public"] if simulated else ["public", "simulated"]
    return [*first, "historical", "confidential"]


def tuned_on_key() -> str:
    """The key of the box that asks what the table in use is: another table is asked for anew."""
    return f"tuned_on_{session.current().table.fingerprint}"


def make_plan(shown: tuple[str, str]) -> None:
    """Button callback: start planning with what the form says now (a text may have come with the click).

    Parameters
    ----------
    shown : pair of str
        What `now_shown` said with the form; another tab, or a slow page, may have changed it since.
    """
    form, browser = current_form(), session.current()
    if shown[0] != browser.table.fingerprint:
        raise InputError(
            f"The table in use has changed since the form was shown: it is {browser.table.name} now. Look again, and "
            f"make the plan if that is the table that the settings were tuned on."
        )
    if shown != now_shown():
        raise InputError("The settings have changed since the form was shown, in another tab. Look again.")
    tuned_on = st.session_state.get(tuned_on_key())
    if tuned_on is None:
        raise InputError(f"Say what kind of table {browser.table.name} is: the promise depends on it.")
    bounded = browser.choices.bounds is not None or any("bounds" in b.options for b in browser.choices.whole)
    decision = Decision(
        series=slug(form["series"], "The name of the series"),
        reason=words(form["reason"], "The reason"),
        decided_by=words(form["who"], "The name of who decided"),
        tuned_on=tuned_on,
        limit=form["limit"],
        limit_delta=form.get("delta") if form["count"] == "zcdp" else None,
        target_epsilon=None if strict(form["mechanism"]) else form["target"],
        shuffle=form["shuffle"],
        keep_units=form.get("units", True),
        decimals=form["decimals"],
        clamp=form["clamp"] and bounded,
        policy=browser.choices.policy,
        alternatives=_alternatives(form["mechanism"]),
    )
    whole = browser.choices.whole
    if whole and not of_blocks(find_mechanism(form["mechanism"])):
        raise InputError(
            f"{find_mechanism(form['mechanism']).label}: with several sensitive variables {OF_BLOCKS}."
        )
    given = TaskInput.of(browser.table, session.settings(), browser.reference, whole)
    release_job.start(PlanTask(given, form["mechanism"], decision=decision), "plan")


def now_shown() -> tuple[str, str]:
    """What a plan would be of: the fingerprint of the table in use, and the settings."""
    browser = session.current()
    reference = browser.reference and browser.reference.fingerprint
    return browser.table.fingerprint, repr((browser.choices.settings, browser.choices.blocks, reference))


def first_series() -> str:
    """A name of the series to start from, which no table of other columns starts from too.

    Of an example its own name; else the sensitive variables and a mark of all columns, which another period of the
    table has too. Never the name of the file: the series stands in the public report.
    """
    browser = session.current()
    if browser.example is not None:
        return UNSAFE.sub("-", browser.example.key)
    names = [block.name for block in browser.choices.whole] or [browser.choices.settings.outcome]
    columns = "\x1f".join(sorted(map(str, browser.table.frame.columns)))
    mark = hashlib.sha256(columns.encode()).hexdigest()[:4]
    variables = UNSAFE.sub("-", "-".join(names)).strip("-").lower()[: limits.NAME_LENGTH - len(mark) - 1]
    return f"{variables}-{mark}".strip("-")


def series_key() -> str:
    """The key of the box of the series: what was typed for one table is not kept for another."""
    return f"plan_series {first_series()}"


def _alternatives(mechanism: str) -> tuple[Alternative, ...]:
    """What is compared now, and under every pinned scenario, as far as it has results."""
    choices = session.choices()
    policy, scenarios, subject = choices.policy, choices.scenarios, record_subject()
    now = present(subject)
    same = pinned_as(now)
    chapters, _ = pinned_chapters([each for each in scenarios if each is not same], subject)
    found: list[Alternative] = []
    for each in (*pinned_chapters([now if same is None else same], subject)[0], *chapters):
        chapter, is_now = each.read(policy), each.scenario in (now, same)
        name = "" if each.scenario is now else each.scenario.name
        taken = mechanism if is_now else ""
        found += alternatives_of(chapter.numbers, chapter.settings.outcome, policy, name, taken)
    return tuple(found)


def rule_words(mechanism: str) -> str:
    """What the rule says of a mechanism, by its result on Compare; empty without a rule."""
    policy, subject = session.choices().policy, record_subject()
    if not policy.states:
        return ""
    try:
        alone = present(subject).model_copy(update={"mechanisms": (mechanism,)})
    except InputError:  # the button says it
        return ""
    verdict = "no result yet: see Compare"
    for chapter in (each.read(policy) for each in pinned_chapters([alone], subject)[0]):
        for each in alternatives_of(chapter.numbers, chapter.settings.outcome, policy):
            verdict = each.verdict
    return f"The rule, {policy.stated(alone.settings.accuracy_by)}: {verdict}"


def current_form() -> dict[str, Any]:
    """The values of the form's widgets, by name."""
    form = {
        str(k).removeprefix("plan_"): v for k, v in st.session_state.items() if str(k).startswith("plan_")
    }
    return form | {"series": st.session_state.get(series_key(), first_series())}


def strict(mechanism: str) -> bool:
    """Whether a mechanism keeps its own epsilon by construction."""
    return find_mechanism(mechanism).epsilon_by_construction


def open_plan(plan_file: Any, map_file: Any) -> None:
    """Button callback: take a plan from its file, and its risk map if it was given."""
    release_actions.require_idle()
    plan = parse_plan(plan_file.getvalue())
    if plan.frozen is not None:
        if map_file is not None:
            content = map_file.getvalue()
            require_sound_map(plan, content)
            store_map(content, plans_directory())
        find_map(plan, [plans_directory()])
    session.current().desk = Desk(plan)


def chosen_since(plan: Plan) -> list[str]:
    """What is chosen otherwise by now than a plan of the same variables has it, of what its mechanism reads."""
    browser = session.current()
    whole = browser.choices.whole
    try:
        now = TaskInput.of(browser.table, session.settings(), browser.reference, whole).settings
        blocks = planned_blocks(whole)
    except InputError:  # nothing could be planned now
        return []
    if ({block.name for block in whole} or {now.outcome}) != set(plan.outcomes):
        return []
    unread = UNPLANNED | (NOT_OF_ALL - plan.point.tuning)
    others = [
        setting_name(name)
        for name in Settings.model_fields
        if name not in unread and getattr(now, name) != getattr(plan.settings, name)
    ]
    return others + ["what is said of the variables"] * (blocks != plan.blocks)


def plan_files(plan: Plan) -> list[tuple[str, str, bytes]]:
    """Label, file name and bytes of what belongs to a plan."""
    files = [("Plan (JSON, internal)", f"{plan.series}-plan.json", (plan.canonical() + "\n").encode())]
    content = find_map(plan, [plans_directory()])
    if content is not None and plan.frozen is not None:
        files.append(("Its risk map (internal)", f"{plan.frozen.sha256}{SUFFIX}", content))
    return files


def forget_plan() -> None:
    """Button callback: clear the desk."""
    release_actions.require_idle()
    session.current().desk = Desk()
