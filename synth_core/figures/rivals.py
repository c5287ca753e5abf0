"""Other synthesizers on the risk-utility map: a line each, with a Monte Carlo band."""

from __future__ import annotations

import math
from collections.abc import Sequence

from synth_core.analysis.measures import drawn_scale, measure_label, value_text
from synth_core.analysis.wording.belief_sentences import epsilon_number
from synth_core.experiments.rivals.bands import RivalBand, error_text
from synth_core.experiments.rivals.budget import rival_promise
from synth_core.figures.palette import rival_look, transparent
from synth_core.figures.parts import TEXT, Trace, scatter
from synth_core.system.number_text import ceiling

READING = (
    "Lines are other synthesizers, outside the choice: none can be released here. Their bands are the mean ± 2 "
    "standard errors of a few runs, no spread."
)


def shown_bands(bands: Sequence[RivalBand], measure: str) -> list[RivalBand]:
    """Those whose error is a number."""
    return [band for band in bands if math.isfinite(band.mean.get(measure, math.nan))]


def promise_text(band: RivalBand) -> str:
    """What a rival promises, beside its epsilon."""
    if band.epsilon is None:
        return "no guarantee: whoever is in the sample is released as they are"
    promise = rival_promise(band.epsilon, band.counted, band.share_squares)
    return f"ε = {epsilon_number(band.epsilon)}: {promise}, one record withheld"


def _hover(band: RivalBand, measure: str) -> str:
    return "<br>".join(
        [
            f"<b>{band.label}</b>, another synthesizer",
            promise_text(band),
            f"{measure_label(measure)}: {error_text(band, measure)}",
            "cannot be released here",
        ]
    )


def rival_traces(
    bands: Sequence[RivalBand], measure: str, x_range: tuple[float, float], y_range: tuple[float, float]
) -> list[Trace]:
    """A line with markers and a band behind it for each rival; one that spends nothing crosses the picture.

    Parameters
    ----------
    x_range, y_range : pairs of float
        Ends of the axes, in their units; what lies beyond is drawn at the edge.
    """
    traces: list[Trace] = []
    for who in dict.fromkeys(band.who for band in bands):
        mine = [band for band in bands if band.who == who]
        traces += _line(mine, measure, x_range, y_range)
    return traces


def _line(
    mine: list[RivalBand], measure: str, x_range: tuple[float, float], y_range: tuple[float, float]
) -> list[Trace]:
    look, dash, symbol = rival_look(mine[0].who)
    percent = drawn_scale(measure)
    free = mine[0].epsilon is None
    drawn = mine * 2 if free else mine
    x = list(x_range) if free else [float(band.epsilon or 0) for band in mine]

    def within(values: list[float]) -> list[float]:
        return [min(max(percent * value, y_range[0]), y_range[1]) for value in values]

    means = within([band.mean[measure] for band in drawn])
    errors = [band.error[measure] or 0.0 for band in drawn]
    upper = within([band.mean[measure] + error for band, error in zip(drawn, errors, strict=True)])
    lower = within([band.mean[measure] - error for band, error in zip(drawn, errors, strict=True)])
    group = f"rival:{mine[0].who}"
    # One epsilon gives no area: then, and at each marker, a bar says the same.
    bars = {
        "type": "data",
        "symmetric": False,
        "array": [u - m for u, m in zip(upper, means, strict=True)],
        "arrayminus": [m - low for m, low in zip(means, lower, strict=True)],
        "color": look,
        "thickness": 2,
        "width": 6,
    }
    line = scatter(
        x,
        means,
        "lines+markers",
        [_hover(band, measure) for band in drawn],
        name=f"{mine[0].label} ({mine[0].guarantee})",
        legend="legend3",
        legendgroup=group,
        error_y=bars,
        line={"color": look, "width": 2.5, "dash": dash},
        marker={"symbol": symbol, "size": 11, "color": look, "line": {"color": TEXT, "width": 0.5}},
        cliponaxis=False,
    )
    area = scatter(
        x + x[::-1],
        upper + lower[::-1],
        fill="toself",
        fillcolor=transparent(look, 0.18),
        line={"width": 0, "color": transparent(look, 0.0)},
        legend="legend3",  # a group in the legend of mechanisms would set that one in columns
        legendgroup=group,
        showlegend=False,
    )
    return [area, line]


def rival_rows(bands: Sequence[RivalBand], measure: str) -> list[list[str]]:
    """The rows of the table behind the map."""
    return [
        [
            band.label,
            "another synthesizer",
            "" if band.epsilon is None else ceiling(band.epsilon, 3),
            band.guarantee,
            error_text(band, measure),
            "",
            "",
        ]
        for band in bands
    ]


def rivals_alt(bands: Sequence[RivalBand], measure: str) -> list[str]:
    """Each rival in a part of a sentence, for those who do not see the picture."""
    sentences = []
    for who in dict.fromkeys(band.who for band in bands):
        mine = [band for band in bands if band.who == who]
        values = ", ".join(
            ("" if band.epsilon is None else f"ε {ceiling(band.epsilon, 2)} ")
            + f"error {value_text(measure, band.mean[measure])}"
            for band in mine
        )
        sentences.append(f"{mine[0].label}, not ours ({mine[0].guarantee}): {values}")
    return sentences
