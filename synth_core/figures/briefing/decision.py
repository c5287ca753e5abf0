"""The record of a decision: what was decided, by whom, why, and against what, made from a release plan alone."""

from __future__ import annotations

from dataclasses import replace

from synth_core.analysis.records.blocks import shares_of
from synth_core.analysis.setting_words import acting_settings, setting_value
from synth_core.analysis.settings import setting_name
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.guarantee_sentences import in_which_sets, promise_words
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.data.units import unit_words, values_words
from synth_core.figures.briefing.charts import Chart, Series
from synth_core.figures.briefing.content import Page, paged
from synth_core.figures.palette import color
from synth_core.figures.parts import Figure, axis, figure, table
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.models import family
from synth_core.release.bounded_text import printable
from synth_core.release.plan.alternatives import NOT_CONVERGED, Alternative
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.plan_terms import TUNED_ON
from synth_core.system import limits
from synth_core.system.number_text import percent, points_at_most

ROWS = 7  # of a table on a slide
SETTINGS = 11


def decision_record(plan: Plan) -> list[Page]:
    """The pages: the decision, its settings, the alternatives with pictures, the promise.

    Settings that were chosen on a table that is not public are told as little as their errors there.
    """
    internal = is_internal(plan)
    pages = [_decision(plan, internal), *_settings(plan, internal), *_against(plan, internal)]
    shown = [each for each in plan.alternatives if each.verdict != NOT_CONVERGED]
    if len(shown) > 1:
        pages += [_epsilon_page(shown, internal), _error_page(shown, internal, _whose(plan))]
    return [*pages, _promise(plan)]


def is_internal(plan: Plan) -> bool:
    """Whether some pages of the record must not leave."""
    return not plan.terms.open


def _decision(plan: Plan, internal: bool) -> Page:
    lines = [
        f"Decided by {printable(plan.decided_by, 200)} on {plan.created[:10]}: {plan.point.label}, "
        f"{plan.terms.guarantee.label}, ε = {epsilon_number(plan.target_epsilon)} "
        f"{plan.terms.guarantee.sets_words}.",
        f"Why: {printable(plan.reason, limits.REASON_LENGTH)}",
        f"Settings were chosen on {printable(plan.tuned_on.name)}, {TUNED_ON[plan.tuned_on.kind]}, "
        f"{plan.tuned_on.rows:,} rows.",
    ]
    if plan.rule:
        lines.append(f"Rule: {printable(plan.rule, limits.REASON_LENGTH)}")
    lines += filter(None, (plan.warning, plan.beyond_limit))
    lines.append(f"Plan {plan.digest[:16]}")
    return Page(f"Decision: synthetic {printable(plan.outcome_words)}", internal, tuple(lines))


def _settings(plan: Plan, internal: bool) -> list[Page]:
    """The settings that the mechanism reads, as the plan fixes them."""
    blocks = plan.analysed_blocks
    divided = blocks and plan.point.likelihood.samples  # else one measurement is of all
    shares = dict(zip((block.name for block in blocks), shares_of(blocks), strict=True)) if divided else {}
    rows = [
        (
            f"Synthetic: {printable(name)}",
            (family(s.model).label if plan.point.likelihood.samples else plan.point.likelihood.model)
            + (f", {percent(shares[name])} of ε" if shares else ""),
        )
        for name, s in plan.outcomes.items()
    ]
    rows += [
        ("Kept as they are", ", ".join(map(printable, plan.kept)) or "none"),
        ("Mechanism", in_plain_words(plan.point) or plan.point.label),
        (f"ε {plan.terms.guarantee.sets_words}", epsilon_number(plan.target_epsilon)),
        ("Data sets", f"{plan.datasets}"),
        ("Limit of the series", "none" if plan.limit is None else f"{plan.limit:g} for {plan.series}"),
        *((setting_name(name), setting_value(plan.settings, name)) for name in _moved(plan)),
        ("Order of the rows", "random" if plan.shuffle else "kept"),
        *(
            []
            if plan.unit is None
            else [("Units", f"{printable(plan.unit)}: together, under new identifiers")]
        ),
        ("Rounded to", plan.rounding_words or "not rounded"),
    ]
    return paged("What was decided", internal, ("Setting", "As planned"), rows, SETTINGS)


def _moved(plan: Plan) -> list[str]:
    return [name for name in acting_settings(plan.settings, plan.point) if name != "epsilon"]


def _against(plan: Plan, internal: bool) -> list[Page]:
    if not plan.alternatives:
        return [Page("Against which alternatives", internal, ("The plan keeps none.",))]
    ruled = any(each.verdict for each in plan.alternatives)
    rows = [
        (
            _label(each) + (" — chosen" if each.chosen else ""),
            f"{epsilon_number(each.epsilon)} ({each.guarantee})",
            *((each.verdict or "–",) if ruled else ()),
            _furthest(each),
            each.worst or "–",
        )
        for each in plan.alternatives
    ]
    columns = (
        "Mechanism",
        "ε (guarantee)",
        *(("By the rule",) if ruled else ()),
        "Distribution furthest off",
        "Mean or percentile furthest off",
    )
    pages = paged("Against which alternatives", internal, columns, rows, ROWS)
    return [replace(page, lines=tuple(filter(None, [_whose(plan)]))) for page in pages]


def _whose(plan: Plan) -> str:
    """Whether the errors are of the sample or of the population; empty without survey weights."""
    whose = plan.settings.whose_accuracy
    named = any(each.name for each in plan.alternatives)
    return f"{whose} A scenario, in brackets, may count otherwise." if whose and named else whose


def _label(each: Alternative) -> str:
    label = find_mechanism(each.mechanism).label
    return f"{label} ({each.name})" if each.name else label


def _furthest(each: Alternative) -> str:
    name, off = max(each.off.items(), key=lambda pair: pair[1], default=("", 0.0))
    return f"{printable(name)}, {points_at_most(off)} points"


def _epsilon_page(shown: list[Alternative], internal: bool) -> Page:
    reading = "Smaller is more private. Compare heights only under the same guarantee, in brackets."
    names = tuple(f"{_marked(each)} ({each.guarantee})" for each in shown)
    label = f"ε {in_which_sets(find_mechanism(each.mechanism) for each in shown)}"
    return _bars(
        "Privacy: ε of each",
        reading,
        label,
        names,
        shown,
        [float(epsilon_number(e.epsilon)) for e in shown],
        internal,
        [epsilon_number(e.epsilon) for e in shown],
    )


def _error_page(shown: list[Alternative], internal: bool, whose: str) -> Page:
    reading = "How far the distribution of the variable that is furthest off is off. Short bars are accurate."
    reading = f"{reading} {whose}".rstrip()
    worst = [max(each.off.values(), default=0.0) for each in shown]
    names = tuple(map(_marked, shown))
    return _bars(
        "Accuracy: the worst variable of each",
        reading,
        "Off by (points)",
        names,
        shown,
        [100 * off for off in worst],
        internal,
        list(map(points_at_most, worst)),
    )


def _marked(each: Alternative) -> str:
    return f"✓ {_label(each)}" if each.chosen else _label(each)


def _bars(  # a page with its chart twice
    title: str,
    reading: str,
    label: str,
    names: tuple[str, ...],
    shown: list[Alternative],
    values: list[float],
    internal: bool,
    texts: list[str],
) -> Page:
    short = label.partition(" (of ")[0]
    chart = Chart("bars", title, reading, "", label, (Series(label, "#1d4ed8", (), tuple(values)),), names)
    trace = {
        "type": "bar",
        "x": list(names),
        "y": values,
        "marker": {"color": [color(each.mechanism) for each in shown]},
        "text": texts,
        "textangle": 0,
        "textposition": "outside",  # in a low bar it stood upright
        "cliponaxis": False,
        "hovertemplate": "%{x}: %{text}<extra></extra>",
    }
    rows = [list(row) for row in zip(names, texts, strict=True)]
    made: Figure = figure(
        "bars",
        title,
        reading,
        [trace],
        {"xaxis": axis("", type="category"), "yaxis": axis(short, rangemode="tozero")},
        table(["", label], rows),
        "; ".join(": ".join(row) for row in rows),
    )
    lines = (reading,) if short == label else (reading, f"{label}.")  # an axis has no room for all of it
    return Page(title, internal, lines, chart=chart, figure=made)


def _promise(plan: Plan) -> Page:
    guarantee, settings = plan.terms.guarantee, plan.settings
    lines = promise_words(guarantee, settings.unit_column)
    if plan.strict:
        lines.insert(0, _suspicion(plan, guarantee))
    unit = unit_words(settings.unit_column, settings.unit_size)
    lines.append(unit or f"ε is for all that is sensitive about one record {guarantee.neighbour}.")
    lines.append("Who is in the table, and what is kept of them, is public.")
    return Page("What is promised", False, tuple(lines))


def _suspicion(plan: Plan, guarantee: Guarantee) -> str:
    replaced, values = guarantee.replaced(plan.target_epsilon), values_words(plan.settings.unit_column)
    return suspicion(guarantee, plan.target_epsilon, replaced, plan.datasets, values=values)
