"""The pages of a briefing: settings, guarantees, sentences and figures, in reading order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from synth_core.analysis.measures import WORST, error_words
from synth_core.analysis.policy import CHOSEN_HERE, Policy, measured
from synth_core.analysis.records.blocks import Block, shares_of
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.settings import Settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.headings import COLUMNS, RECORD_COLUMNS, in_plain_words
from synth_core.data.units import values_words
from synth_core.figures.briefing.charts import (
    Chart,
    associations_chart,
    epsilon_chart,
    errors_chart,
    values_chart,
    variables_chart,
    weights_chart,
)
from synth_core.figures.compare import compare_figures, promises, results
from synth_core.figures.parts import Figure
from synth_core.figures.records import record_figures
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.models import family
from synth_core.release.bounded_text import printable
from synth_core.system import limits
from synth_core.system.characters import sentence
from synth_core.system.number_text import percent

BESIDE = 3  # chapters on a page that sets them side by side
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
    blocks : tuple of Block
        The sensitive variables of whole records; empty: the one of the settings.
    """

    name: str
    note: str
    settings: Settings
    summaries: Sequence[ResultSummary]
    policy: Policy = NO_RULE
    blocks: tuple[Block, ...] = ()

    @property
    def sensitive(self) -> str:
        """The sensitive variables."""
        return ", ".join(block.name for block in self.blocks) or self.settings.outcome

    @property
    def numbers(self) -> list[ResultNumbers]:
        """The numbers of its summaries."""
        return [s.numbers for s in self.summaries]


@dataclass(frozen=True)
class Provenance:
    """The table that the numbers come from, and the day."""

    table: str
    confidential: bool
    day: str


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


def briefing(
    source: Provenance, chapters: Sequence[Chapter], releasable: bool, left_out: Sequence[str] = ()
) -> list[Page]:
    """The pages of a briefing.

    Parameters
    ----------
    releasable : bool
        Leave out everything that was computed from the confidential values, and the table's name.
    left_out : sequence of str
        What was pinned and has no chapter, with the reason.
    """
    hidden = releasable and source.confidential
    source = replace(source, table=printable(source.table))
    chapters = [_printable(chapter) for chapter in chapters]
    pages = [_title(source, chapters, () if hidden else left_out, hidden)]
    for chapter in chapters:
        name = f"{chapter.name}: " if len(chapters) > 1 else ""
        if hidden:
            pages += _promises(name, chapter)
        else:
            pages += _results(name, chapter, source.confidential)
            pages += _figures(name, chapter, source.confidential)
        pages.append(_settings(name, chapter, source.confidential and not hidden, hidden))
    if len(chapters) > 1 and not hidden:
        pages[1:1] = _side_by_side(chapters, source.confidential)
    pages.append(_how_to_read(hidden, bool(chapters[0].blocks)))
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
        blocks=tuple(replace(block, name=printable(block.name)) for block in chapter.blocks),
    )


def _title(source: Provenance, chapters: Sequence[Chapter], left_out: Sequence[str], hidden: bool) -> Page:
    first = chapters[0]
    if hidden:
        table = "A confidential table; nothing here was computed from its values"
    else:
        table = f"{source.table} ({'CONFIDENTIAL' if source.confidential else 'public or simulated'})"
    models = "" if first.blocks else f"; model: {family(first.settings.model).label}"
    lines = [table, f"Sensitive variable{'s' if first.blocks else ''}: {first.sensitive}{models}"]
    policy = chapters[0].policy
    if policy.states and not hidden:  # it may have been stated after looking
        lines.append(f"Rule: {policy.text}")
        if policy.guarantee == "strict" and source.confidential:
            lines.append(CHOSEN_HERE)
    lines += [f"{each.name}: {each.note}" for each in chapters if each.note and not hidden]
    if left_out:
        lines.append(printable(f"Left out: {'; '.join(left_out)}.", limits.REASON_LENGTH))
    lines.append(f"Made with Private synthesis, {source.day}")
    return Page(f"Releasing synthetic {first.sensitive}", source.confidential and not hidden, tuple(lines))


def _guarantees(chapter: Chapter) -> dict[str, Guarantee]:
    return {each.mechanism: each.guarantee for each in chapter.numbers}


def _labels(chapter: Chapter) -> dict[str, str]:
    return {s.mechanism: find_mechanism(s.mechanism).label for s in chapter.summaries}


def _rows(chapter: Chapter) -> list[dict[str, Any]]:
    """The rows of the results, as on the screen."""
    beside = promises(chapter.summaries, chapter.settings, chapter.policy)
    return results(chapter.summaries, _labels(chapter), beside)


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
            whole_text(row["cells"][_accuracy(chapter)]),
            " ".join(
                [
                    *([f"{row['verdict']['reason']}."] if ruled and row["verdict"]["reason"] else []),
                    row["sentence"],
                    *(f"⚠ {sentence(hint)}" for hint in row["hints"]),
                ]
            ),
        )
        for row in _rows(chapter)
    ]
    columns = (
        "Mechanism",
        "ε (guarantee)",
        *(("By the rule",) if ruled else ()),
        (RECORD_COLUMNS if chapter.blocks else COLUMNS)[_accuracy(chapter)].plain,
        "In plain words",
    )
    title = f"{name}what each promises, and what it costs"
    return paged(title, internal, columns, rows, ROWS - ruled)  # its reasons make the rows longer


def _accuracy(chapter: Chapter) -> str:
    """The column of the results that says how far a result is off, in short."""
    return "gap" if chapter.blocks else "worst"


def whole_text(cell: dict[str, Any]) -> str:
    """A cell with what stands beside it: the worst in points beside the worst in percent."""
    return "; ".join(filter(None, (cell["text"], cell["beside"])))


def _promises(name: str, chapter: Chapter) -> list[Page]:
    """What may be said of each without having looked: a declared ε and its guarantee."""
    rows = []
    for each in chapter.numbers:
        if each.guarantee.strict:
            epsilon = epsilon_number(each.epsilon)
            words = suspicion(
                each.guarantee,
                each.epsilon,
                each.epsilon_replace,
                each.n_datasets,
                values=values_words(chapter.settings.unit_column),
            )
        else:
            epsilon, words = "–", f"Its ε is {MEASURED}."
        rows.append((_named(each.mechanism), epsilon, each.guarantee.label, words))
    return paged(f"{name}what is promised", False, ("Mechanism", "ε", "Guarantee", "In plain words"), rows)


def paged(
    title: str, internal: bool, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], most: int = ROWS
) -> list[Page]:
    """A table on as many pages as it needs."""
    parts = [tuple(rows[i : i + most]) for i in range(0, len(rows), most)]
    return [
        Page(
            sentence(title if len(parts) == 1 else f"{title} ({number} of {len(parts)})"),
            internal,
            columns=columns,
            rows=part,
        )
        for number, part in enumerate(parts, start=1)
    ]


def _figures(name: str, chapter: Chapter, internal: bool) -> list[Page]:
    summaries, labels, outcome = list(chapter.summaries), _labels(chapter), chapter.settings.outcome
    charts: dict[str, Chart | None]
    if chapter.blocks:
        made = record_figures(summaries, labels, ("", ""))
        charts = {
            "variables": variables_chart(chapter.numbers),
            "associations": associations_chart(summaries, labels),
        }
    else:
        made = compare_figures(summaries, labels, outcome)
        charts = {
            "ecdf": values_chart(summaries, labels, outcome),
            "quantiles": errors_chart(summaries, labels),
        }
    charts["bounds"] = epsilon_chart(summaries, labels, _guarantees(chapter))
    if not chapter.blocks:
        charts["weights"] = weights_chart(summaries, labels)
    if all(s.numbers.problems for s in summaries):  # a chart holds what has converged
        charts = dict.fromkeys(charts)
    drawn = {each["key"]: each for each in made if each["traces"]}
    return [
        Page(
            f"{name}{drawn[key]['title']}",
            internal,
            (drawn[key]["reading"],),
            chart=chart,
            figure=drawn[key],
        )
        for key, chart in charts.items()
        if key in drawn
    ]


def _settings(name: str, chapter: Chapter, internal: bool, hidden: bool) -> Page:
    """The settings that a mechanism of the chapter reads."""
    s = chapter.settings
    mechanisms = [find_mechanism(each.mechanism) for each in chapter.summaries]
    read = set().union(*(each.tuning for each in mechanisms))
    fitted = any(each.likelihood.samples for each in mechanisms)  # variables by models, with shares of ε
    if chapter.blocks:
        shares = shares_of(chapter.blocks)
        divided = hidden and any(block.share is not None for block in chapter.blocks)  # perhaps after looking
        rows = [
            (
                f"Sensitive variable {place}",
                block.name
                + (f": {family(block.model).label}" if fitted else "")
                + ("" if divided or not fitted else f", {percent(share)} of ε"),
            )
            for place, (block, share) in enumerate(zip(chapter.blocks, shares, strict=True), start=1)
        ]
    else:
        rows = [("Sensitive variable", s.outcome), *([("Model", family(s.model).label)] if fitted else [])]
    kept = [("Predictors, kept as they are", ", ".join(s.predictors) or "none")]
    if s.weight and s.weight not in s.predictors:
        kept.append(("Survey weight, kept as it is", s.weight))
    place = len(chapter.blocks) or 1
    rows[place:place] = kept
    for each in mechanisms:
        if not each.likelihood.samples:
            rows.append((f"Model of {each.label}", each.likelihood.model))
    if "epsilon" in read:
        rows.append(("ε of the mechanisms that take one", f"{s.epsilon:g}"))
    rows += [
        ("Data sets", f"{s.datasets}"),
        ("Draws", f"{s.chains} chains of {s.draws:,} after a warm-up of {s.warmup:,}"),
    ]
    if not hidden:  # moved by whoever looked at what they gave
        where = (
            f"{s.range[0]:g} to {s.range[1]:g} times the value" if s.brackets is None else "declared brackets"
        )
        if "scale" in read:
            rows.append(("Scale c and shift g of the weights", f"{s.scale:g} and {s.shift:g}"))
        if "range" in read:
            rows.append(("Sensitive range", where))
        rows.append(("Random seed", f"{s.seed}"))
    return Page(sentence(f"{name}settings"), internal, columns=("Setting", "Value"), rows=tuple(rows))


def _side_by_side(chapters: Sequence[Chapter], internal: bool) -> list[Page]:
    """Every mechanism that some chapter has: ε and what is furthest off, by chapter; as many a page as can be read."""
    policy = chapters[0].policy
    limited = policy.percent is not None and policy.measure != WORST
    cells: list[dict[str, str]] = []
    order: list[str] = []
    for chapter in chapters:
        rows, numbers = _rows(chapter), {each.mechanism: each for each in chapter.numbers}
        cells.append(
            {
                row["mechanism"]: _in_short(row, numbers[row["mechanism"]], policy, _accuracy(chapter))
                for row in rows
            }
        )
        order += [row["mechanism"] for row in rows if row["mechanism"] not in order]
    furthest = "the distribution" if chapters[0].blocks else "the statistic"
    what = "the accuracy that the rule limits" if limited else f"{furthest} that is furthest off"
    ruled = ", and whether it keeps the rule" if policy.states else ""
    n_pages = math.ceil(len(chapters) / BESIDE)
    pages = []
    for number in range(n_pages):
        part = slice(number * BESIDE, (number + 1) * BESIDE)
        pages.append(
            Page(
                "Side by side" + (f" ({number + 1} of {n_pages})" if n_pages > 1 else ""),
                internal,
                (f"ε with its guarantee, {what}{ruled}.", *_whose(chapters[part])),
                columns=("Mechanism", *(each.name for each in chapters[part])),
                rows=tuple(
                    (find_mechanism(key).label, *(rows.get(key, "–") for rows in cells[part]))
                    for key in order
                ),
            )
        )
    return pages


def _whose(chapters: Sequence[Chapter]) -> list[str]:
    """Whether the accuracy of each chapter is of the sample or of the population; nothing without survey weights."""
    said = {each.name: each.numbers[0].whose_accuracy for each in chapters}
    if len(set(said.values())) == 1:
        return list(filter(None, {*said.values()}))
    return [f"{name}: {words}" for name, words in said.items() if words]


def _in_short(row: dict[str, Any], numbers: ResultNumbers, policy: Policy, accuracy: str) -> str:
    """One result in a cell: ε with its guarantee, the error that counts where the fits have converged, the verdict."""
    cells, error = row["cells"], ""
    if policy.percent is not None and policy.measure != WORST:
        error = error_words(numbers, policy.measure)
    said = f"{measured(policy.measure)} {error}" if error else whole_text(cells[accuracy])
    if numbers.problems:
        said = "not for use: not converged"
    verdict = f"; {row['verdict']['text']}" if row["verdict"] else ""
    return f"ε {cells['epsilon']['text']} ({row['guarantee']['label']}); {said}{verdict}"


def _how_to_read(hidden: bool, several: bool) -> Page:
    what = "all that is sensitive about one record" if several else "one record's value"
    lines = [
        f"ε is for one released data set and for {what} withheld; its row and predictors stay. m data sets "
        "cost m times as much; measured ones cost what one costs.",
        "“ε-DP” and “zCDP” hold for every table. Every other guarantee is of this table: another may have a larger ε.",
        "An intruder is anyone who knows everything else, the other records included.",
    ]
    if several:
        lines.append("The ε of one variable is its share of a record's, not the protection of that variable.")
    elif not hidden:
        lines.append(
            "“Furthest off” is the statistic with the largest difference between synthetic and confidential values."
        )
    return Page("How to read these pages", False, tuple(lines))
