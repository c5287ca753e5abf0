"""A sensitive variable of categories: its shares in the place of a distribution function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.utility import SHARE_OF, Statistic
from synth_core.analysis.wording.headings import CATEGORY_FIGURES
from synth_core.figures.palette import color
from synth_core.figures.parts import (
    FAINT_OTHER,
    TEXT,
    Figure,
    Other,
    Trace,
    axis,
    figure,
    known,
    legend_above,
    opacity,
    shown,
    table,
)
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.number_text import points_at_most

GREY = "rgba(128,128,128,0.55)"


def of_categories(summary: ResultSummary) -> bool:
    """Whether a summary is of a variable of categories."""
    return bool(summary.numbers.statistics[0].name.startswith(SHARE_OF))


def shares_figure(
    summaries: list[ResultSummary], labels: dict[str, str], outcome: str, other: Other | None = None
) -> Figure:
    """Share of each category: the confidential bar, and one a mechanism, with 95 % intervals."""
    first = summaries[0].numbers.statistics
    traces = [_bars(first, _confidential, "Confidential", GREY)]
    rows = [["Confidential", *(f"{100 * each.confidential:.2f}" for each in first)]]
    if other is not None:
        for before in other.summaries.values():
            name = before.mechanism
            label = labels.get(name) or find_mechanism(name).label
            traces.append(
                _bars(before.numbers.statistics, _synthetic, label, color(name))
                | {"opacity": FAINT_OTHER}
                | known(label, other.name, name)
            )
    for s in summaries:
        name = s.mechanism
        traces.append(
            _bars(s.numbers.statistics, _synthetic, labels[name], color(name))
            | {"opacity": opacity(s)}
            | known(labels[name], "" if other is None else other.now, name)
        )
        rows.append([labels[name], *(f"{100 * each.synthetic:.2f}" for each in s.numbers.statistics)])
    word = CATEGORY_FIGURES["ecdf"]
    return figure(
        "ecdf",
        word.plain,
        word.about,
        traces,
        {
            "xaxis": axis(f"{shown(outcome)}, by declared category", type="category"),
            "yaxis": axis("Share of the records (%)", rangemode="tozero"),
            "barmode": "group",
            **legend_above(),
        },
        table(["Share in %", *(each.name.removeprefix(SHARE_OF) for each in first)], rows),
        "; ".join(
            f"{labels[s.mechanism]}: off by {points_at_most(s.numbers.ecdf_max)} points in all"
            for s in summaries
        ),
    )


_Side = Callable[[Statistic], tuple[float, tuple[float, float]]]  # a share and its interval


def _confidential(each: Statistic) -> tuple[float, tuple[float, float]]:
    return each.confidential, each.confidential_interval


def _synthetic(each: Statistic) -> tuple[float, tuple[float, float]]:
    return each.synthetic, each.synthetic_interval


def _bars(statistics: Sequence[Statistic], side: _Side, label: str, look: str) -> Trace:
    middle = [100 * side(each)[0] for each in statistics]
    ends = [side(each)[1] for each in statistics]
    return {
        "type": "bar",
        "name": label,
        "x": [shown(each.name.removeprefix(SHARE_OF)) for each in statistics],
        "y": middle,
        "marker": {"color": look},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [max(100 * high - m, 0.0) for m, (_, high) in zip(middle, ends, strict=True)],
            "arrayminus": [max(m - 100 * low, 0.0) for m, (low, _) in zip(middle, ends, strict=True)],
            "color": TEXT,
            "thickness": 1,
            "width": 2,
        },
        "hovertemplate": f"{label}, %{{x}}: %{{y:.2f}} %<extra></extra>",
    }
