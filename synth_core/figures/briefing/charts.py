"""Charts of a briefing that an office program can edit: plain numbers, simpler than the figures of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.utility import SHARE_OF, distinct
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.analysis.wording.guarantee_sentences import in_which_sets
from synth_core.analysis.wording.headings import RECORD_FIGURES
from synth_core.figures.categories import of_categories
from synth_core.figures.palette import color
from synth_core.figures.utility import errors_axis, percent_off, statistic_title
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.system.number_text import of_the_first

PAIRS = 6  # of columns, the worst first: their names must be readable below the bars
POINTS = 64  # of a curve, thinned: a chart that can be edited holds each as a cell


@dataclass(frozen=True)
class Series:
    """One line or one colour of bars; `y` may lack values."""

    name: str
    color: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class Chart:
    """A chart that an office program can edit: simpler than the figure of the screen, with the same numbers.

    Attributes
    ----------
    kind : str
        "curves" of (x, y), or "bars" of one value a category.
    title, reading : str
        Of its slide.
    categories : tuple of str
        Of bars.
    """

    kind: Literal["curves", "bars"]
    title: str
    reading: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    logarithmic: bool = False


def _thinned(values: Sequence[float]) -> tuple[float, ...]:
    step = max(1, -(-len(values) // POINTS))
    kept = list(values[::step])
    return tuple(kept if kept[-1] == values[-1] else [*kept, values[-1]])


def values_chart(summaries: list[ResultSummary], labels: dict[str, str], outcome: str) -> Chart:
    """Distribution functions, or shares of categories."""
    return (_shares_chart if of_categories(summaries[0]) else _ecdf_chart)(summaries, labels, outcome)


def _shares_chart(summaries: list[ResultSummary], labels: dict[str, str], outcome: str) -> Chart:
    """Shares of categories, of what has converged."""
    first = summaries[0].numbers.statistics
    bars = [Series("Confidential", "#1b2430", (), tuple(100 * each.confidential for each in first))]
    bars += [
        Series(
            labels[s.mechanism],
            color(s.mechanism),
            (),
            tuple(100 * each.synthetic for each in distinct(s.numbers.statistics)),
        )
        for s in summaries
        if not s.numbers.problems
    ]
    return Chart(
        "bars",
        "Shares of the categories",
        "Bars of one height mean the same share.",
        outcome,
        "Share of the records (%)",
        tuple(bars),
        tuple(each.name.removeprefix(SHARE_OF) for each in first),
    )


def _ecdf_chart(summaries: list[ResultSummary], labels: dict[str, str], outcome: str) -> Chart:
    """Distribution functions, of what has converged."""
    [confidential, *_] = [s.ecdf.confidential for s in summaries if s.ecdf is not None]
    curves = [("Confidential", "#1b2430", confidential)]
    curves += [
        (labels[s.mechanism], color(s.mechanism), s.ecdf.synthetic)
        for s in summaries
        if s.ecdf is not None and not s.numbers.problems
    ]
    at = confidential.at
    return Chart(
        "curves",
        "Distribution functions",
        "Curves that coincide mean the same distribution."
        + of_the_first(s.numbers.n_datasets for s in summaries),
        f"{outcome} (the table's unit)",
        "Share of records at or below",
        tuple(Series(name, look, _thinned(curve.at), _thinned(curve.share)) for name, look, curve in curves),
        logarithmic=at[0] > 0 and at[-1] > 20 * at[len(at) // 2],
    )


def errors_chart(summaries: list[ResultSummary], labels: dict[str, str]) -> Chart:
    """Errors of mean and percentiles, in percent; in points where a percentile is at the zeros."""
    first = distinct(summaries[0].numbers.statistics)
    names = tuple(map(statistic_title, first))
    return Chart(
        "bars",
        "Errors of the shares" if of_categories(summaries[0]) else "Errors of mean and percentiles",
        "Short bars are accurate.",
        "",
        errors_axis(each.unit for each in first),
        tuple(
            Series(
                labels[s.mechanism],
                color(s.mechanism),
                (),
                tuple(percent_off(each, each.compared.synthetic) for each in distinct(s.numbers.statistics)),
            )
            for s in summaries
            if not s.numbers.problems
        ),
        names,
    )


def variables_chart(results: Sequence[ResultNumbers]) -> Chart:
    """How far the distribution of each variable is off, of what has converged."""
    word = RECORD_FIGURES["variables"]
    return Chart(
        "bars",
        word.plain,
        word.about,
        "",
        "Off by (percentage points)",
        tuple(
            Series(
                each.label,
                color(each.mechanism),
                (),
                tuple(100 * variable.ecdf_max for variable in each.variables),
            )
            for each in results
            if not each.problems
        ),
        tuple(variable.name for variable in results[0].variables),
    )


def associations_chart(summaries: list[ResultSummary], labels: dict[str, str]) -> Chart:
    """How far the associations of the worst pairs of columns are off, of what has converged."""
    word = RECORD_FIGURES["associations"]
    off = {
        s.mechanism: {" and ".join(pair.names): pair.association for pair in s.pairs}
        for s in summaries
        if not s.numbers.problems
    }
    worst: dict[str, float] = {}
    for pairs in off.values():
        worst |= {name: max(value, worst.get(name, 0.0)) for name, value in pairs.items()}
    names = sorted(worst, key=lambda name: -worst[name])[:PAIRS]
    return Chart(
        "bars",
        word.plain,
        word.about + of_the_first(s.numbers.n_datasets for s in summaries),
        "",
        "Association (Cramér's V) off by",
        tuple(
            Series(labels[key], color(key), (), tuple(pairs.get(name) for name in names))
            for key, pairs in off.items()
        ),
        tuple(names),
    )


def epsilon_chart(
    summaries: list[ResultSummary], labels: dict[str, str], guarantees: dict[str, Guarantee]
) -> Chart:
    """ε by mechanism, each with its guarantee."""
    shown = [s for s in summaries if not s.numbers.problems]
    return Chart(
        "bars",
        "Privacy: ε of each mechanism",
        "Smaller is more private. Compare heights only under the same guarantee, in brackets.",
        "",
        f"ε {in_which_sets(s.numbers.point for s in shown)}",
        (Series("ε", "#1d4ed8", (), tuple(float(epsilon_number(s.numbers.epsilon)) for s in shown)),),
        tuple(f"{labels[s.mechanism]} ({guarantees[s.mechanism].label})" for s in shown),
    )


def weights_chart(summaries: list[ResultSummary], labels: dict[str, str]) -> Chart:
    """Mean weight by mechanism."""
    shown = [
        (labels[s.mechanism], s.privacy.weights.mean)
        for s in summaries
        if s.privacy and s.privacy.weights and not s.numbers.problems
    ]
    return Chart(
        "bars",
        "Mean privacy weight",
        "A weight of 1 keeps a record's full say, 0 removes it.",
        "",
        "Mean weight α of the records",
        (Series("Mean weight", "#1d4ed8", (), tuple(mean for _, mean in shown)),),
        tuple(label for label, _ in shown),
    )
