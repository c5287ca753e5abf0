"""The pages of a briefing: settings, guarantees, sentences and figures, in reading order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from synth_core.analysis.measures import WORST, error_words
from synth_core.analysis.policy import CHOSEN_HERE, Policy, judge, measured
from synth_core.analysis.result_sentences import above_target, explained, sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.figures.briefing.charts import Chart, epsilon_chart, errors_chart, values_chart, weights_chart
from synth_core.figures.compare import compare_figures, results
from synth_core.figures.parts import Figure, Summary
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.models import family
from synth_core.release.bounded_text import printable
from synth_core.system import limits

ROWS = 4  # mechanisms on a page: their sentences must be readable from the last row

NO_RULE = Policy()
MEASURED = "measured on the confidential table, so it stays inside"


@dataclass(frozen=True)
class Chapter:
    """Settings with what they gave.

    Attributes
    ----------
    name, note : str
        In the words of whoever kept it.
    summaries : sequence of dict
        Of `analysis.summary`, one a mechanism.
    policy : Policy
        The rule that they are held against.
    """

    name: str
    note: str
    settings: Settings
    summaries: Sequence[Summary]
    policy: Policy = NO_RULE


@dataclass(frozen=True)
class Provenance:
    """The table, the day and the program that the numbers come from."""

    table: str
    confidential: bool
    day: str
    versions: str


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes
    ----------
    internal : bool
        Whether it holds what was computed from the confidential values.
    lines : tuple of str
        Sentences above table and chart.
    columns, rows : tuples
        A table, cells as text; empty without one.
    chart : Chart or None
        What PowerPoint draws.
    figure : dict or None
        The same in the browser: the figure of the screen.
    """

    title: str
    internal: bool
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    chart: Chart | None = None
    figure: Figure | None = field(default=None, compare=False)


def briefing(source: Provenance, chapters: Sequence[Chapter], releasable: bool) -> list[Page]:
    """The pages of a briefing.

    Parameters
    ----------
    releasable : bool
        Leave out everything that was computed from the confidential values, and the table's name.
    """
    hidden = releasable and source.confidential
    source = replace(source, table=printable(source.table))
    chapters = [_printable(chapter) for chapter in chapters]
    pages = [_title(source, chapters, hidden)]
    for chapter in chapters:
        name = f"{chapter.name}: " if len(chapters) > 1 else ""
        if hidden:
            pages += _promises(name, chapter)
        else:
            pages += _results(name, chapter, source.confidential)
            pages += _figures(name, chapter, source.confidential)
        pages.append(_settings(name, chapter, source.confidential and not hidden, hidden))
    if len(chapters) > 1 and not hidden:
        pages.insert(1, _side_by_side(chapters, source.confidential))
    pages.append(_how_to_read(hidden))
    return pages


def _printable(chapter: Chapter) -> Chapter:
    """A chapter whose names have no characters that a file format refuses."""
    s = chapter.settings
    names = {"outcome": printable(s.outcome), "predictors": tuple(map(printable, s.predictors))}
    return replace(
        chapter,
        name=printable(chapter.name),
        note=printable(chapter.note, limits.REASON_LENGTH),
        settings=s.model_copy(update=names),
    )


def _title(source: Provenance, chapters: Sequence[Chapter], hidden: bool) -> Page:
    s = chapters[0].settings
    if hidden:
        table = "A confidential table; nothing here was computed from its values"
    else:
        table = f"{source.table} ({'CONFIDENTIAL' if source.confidential else 'public or simulated'})"
    lines = [table, f"Sensitive variable: {s.outcome}; model: {family(s.model).label}"]
    policy = chapters[0].policy
    if policy.states and not hidden:  # it may have been stated after looking
        lines.append(f"Rule: {policy.text}")
        if policy.guarantee == "strict" and source.confidential:
            lines.append(CHOSEN_HERE)
    lines += [f"{each.name}: {each.note}" for each in chapters if each.note and not hidden]
    lines.append(f"{source.day} · {source.versions}")
    return Page(f"Releasing synthetic {s.outcome}", source.confidential and not hidden, tuple(lines))


def _guarantees(chapter: Chapter) -> dict[str, Guarantee]:
    return {s["mechanism"]: explained(s, chapter.settings)[0] for s in chapter.summaries}


def _labels(chapter: Chapter) -> dict[str, str]:
    return {s["mechanism"]: find_mechanism(s["mechanism"]).label for s in chapter.summaries}


def _rows(chapter: Chapter) -> list[dict[str, Any]]:
    """The rows of the results, as on the screen."""
    policy = chapter.policy
    measure = WORST if policy.percent is None else policy.measure
    badges = {
        s["mechanism"]: {
            "label": guarantee.label,
            "strength": guarantee.strength,
            "lines": lines,
            "sentence": sentence(s, chapter.settings, measure),
            "hints": list(filter(None, [above_target(s, chapter.settings)])),
            "verdict": judge(policy, s, guarantee) if policy.states else None,
        }
        for s in chapter.summaries
        for guarantee, lines in [explained(s, chapter.settings)]
    }
    return results(list(chapter.summaries), _labels(chapter), badges)


def _named(key: str) -> str:
    """A mechanism's name, with what it does in plain words."""
    mechanism = find_mechanism(key)
    plain = in_plain_words(mechanism)
    return f"{mechanism.label}: {plain}" if plain else mechanism.label


def _results(name: str, chapter: Chapter, internal: bool) -> list[Page]:
    """The rows of the screen's table, with a sentence each, and with what the rule and the warnings say."""
    ruled = chapter.policy.states
    rows = [
        (
            _named(row["mechanism"]),
            f"{row['cells']['epsilon']['text']} ({row['guarantee']['label']})",
            *((row["verdict"]["text"],) if ruled else ()),
            row["cells"]["worst"]["text"],
            " ".join(
                [
                    *([f"{row['verdict']['reason']}."] if ruled and row["verdict"]["reason"] else []),
                    row["sentence"],
                    *(f"⚠ {hint[:1].upper()}{hint[1:]}" for hint in row["hints"]),
                ]
            ),
        )
        for row in _rows(chapter)
    ]
    columns = (
        "Mechanism",
        "ε (guarantee)",
        *(("By the rule",) if ruled else ()),
        "Furthest off",
        "In plain words",
    )
    title = f"{name}what each promises, and what it costs"
    return _paged(title, internal, columns, rows, ROWS - ruled)  # its reasons make the rows longer


def _promises(name: str, chapter: Chapter) -> list[Page]:
    """What may be said of each without having looked: a declared ε and its guarantee."""
    rows = []
    for s in chapter.summaries:
        mechanism = find_mechanism(s["mechanism"])
        guarantee = _guarantees(chapter)[s["mechanism"]]
        if guarantee.strict:
            epsilon = epsilon_number(s["epsilon"])
            words = suspicion(guarantee, s["epsilon"], s["epsilon_replace"], s["n_datasets"])
        else:
            epsilon, words = "–", f"Its ε is {MEASURED}."
        rows.append((_named(mechanism.key), epsilon, guarantee.label, words))
    return _paged(f"{name}what is promised", False, ("Mechanism", "ε", "Guarantee", "In plain words"), rows)


def _paged(
    title: str, internal: bool, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], most: int = ROWS
) -> list[Page]:
    parts = [tuple(rows[i : i + most]) for i in range(0, len(rows), most)]
    return [
        Page(
            _upper(title if len(parts) == 1 else f"{title} ({number} of {len(parts)})"),
            internal,
            columns=columns,
            rows=part,
        )
        for number, part in enumerate(parts, start=1)
    ]


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _figures(name: str, chapter: Chapter, internal: bool) -> list[Page]:
    summaries, labels = list(chapter.summaries), _labels(chapter)
    drawn = {
        each["key"]: each
        for each in compare_figures(summaries, labels, chapter.settings.outcome)
        if each["traces"]
    }
    charts = {
        "ecdf": values_chart(summaries, labels, chapter.settings.outcome),
        "quantiles": errors_chart(summaries, labels),
        "bounds": epsilon_chart(summaries, labels, _guarantees(chapter)),
        "weights": weights_chart(summaries, labels),
    }
    return [
        Page(
            f"{name}{drawn[key]['title']}",
            internal,
            (drawn[key]["reading"],),
            chart=charts[key],
            figure=drawn[key],
        )
        for key in ("ecdf", "quantiles", "bounds", "weights")
        if key in drawn
    ]


def _settings(name: str, chapter: Chapter, internal: bool, hidden: bool) -> Page:
    s = chapter.settings
    rows = [
        ("Sensitive variable", s.outcome),
        ("Predictors, kept as they are", ", ".join(s.predictors) or "none"),
        ("Model", family(s.model).label),
        ("ε of the mechanisms that take one", f"{s.epsilon:g}"),
        ("Data sets", f"{s.datasets}"),
        ("Draws", f"{s.chains} chains of {s.draws:,} after a warm-up of {s.warmup:,}"),
    ]
    if not hidden:  # moved by whoever looked at what they gave
        where = (
            f"{s.range[0]:g} to {s.range[1]:g} times the value" if s.brackets is None else "declared brackets"
        )
        rows += [
            ("Scale c and shift g of the weights", f"{s.scale:g} and {s.shift:g}"),
            ("Sensitive range", where),
            ("Random seed", f"{s.seed}"),
        ]
    return Page(_upper(f"{name}settings"), internal, columns=("Setting", "Value"), rows=tuple(rows))


def _side_by_side(chapters: Sequence[Chapter], internal: bool) -> Page:
    """Every mechanism that some chapter has: ε and what is furthest off, by chapter."""
    policy = chapters[0].policy
    limited = policy.percent is not None and policy.measure != WORST
    cells: list[dict[str, str]] = []
    order: list[str] = []
    for chapter in chapters:
        rows, numbers = _rows(chapter), {s["mechanism"]: s for s in chapter.summaries}
        cells.append({row["mechanism"]: _in_short(row, numbers[row["mechanism"]], policy) for row in rows})
        order += [row["mechanism"] for row in rows if row["mechanism"] not in order]
    what = "the accuracy that the rule limits" if limited else "the statistic that is furthest off"
    ruled = ", and whether it keeps the rule" if policy.states else ""
    return Page(
        "Side by side",
        internal,
        (f"ε with its guarantee, {what}{ruled}.",),
        columns=("Mechanism", *(each.name for each in chapters)),
        rows=tuple((find_mechanism(key).label, *(rows.get(key, "–") for rows in cells)) for key in order),
    )


def _in_short(row: dict[str, Any], numbers: Summary, policy: Policy) -> str:
    """One result in a cell: ε with its guarantee, the error that counts, the verdict."""
    cells, error = row["cells"], ""
    if policy.percent is not None and policy.measure != WORST:
        error = error_words(numbers, policy.measure)
    said = f"{measured(policy.measure)} {error}" if error else cells["worst"]["text"]
    verdict = f"; {row['verdict']['text']}" if row["verdict"] else ""
    return f"ε {cells['epsilon']['text']} ({row['guarantee']['label']}); {said}{verdict}"


def _how_to_read(hidden: bool) -> Page:
    lines = [
        "ε is for one released data set and for one record's value withheld; its row and predictors stay. m data sets "
        "cost m times as much.",
        "“ε-DP” holds for every table. Every other guarantee is of this table, and another may have a larger ε.",
        "An intruder is anyone who knows everything else, the other records included.",
    ]
    if not hidden:
        lines.append(
            "“Furthest off” is the statistic with the largest difference between synthetic and confidential values."
        )
    return Page("How to read these pages", False, tuple(lines))
