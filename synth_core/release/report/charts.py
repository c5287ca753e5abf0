"""Small charts as SVG text for reports: no script, no network, a text alternative in each."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.summary import PairSummary
from synth_core.system.characters import isolated
from synth_core.system.number_text import significant

Array = NDArray[np.float64]

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 56, 30, 24, 30  # right: half of the last number below
COLOURS = ("#1d4ed8", "#b45309")
DASHES = ("", "6 3")  # never by colour alone


def _ticks(low: float, high: float, count: int = 5) -> list[float]:
    span = high - low
    if not span > 0:
        return [low]
    step = 10.0 ** np.floor(np.log10(span / count))
    step *= next(f for f in (1, 2, 5, 10) if span / (step * f) <= count)
    return [float(v) for v in np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step + 0.0]  # no -0


def _words(text: str) -> str:
    return html.escape(isolated(text))


def _frame(
    x: tuple[float, float], y: tuple[float, float], x_label: str, y_label: str
) -> tuple[list[str], Callable[[float, float], tuple[float, float]]]:
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    scale_x, scale_y = x[1] - x[0] or 1.0, y[1] - y[0] or 1.0

    def at(px: float, py: float) -> tuple[float, float]:
        return LEFT + (px - x[0]) / scale_x * width, TOP + height - (py - y[0]) / scale_y * height

    parts = []
    for tick in _ticks(*y):
        _, py = at(x[0], tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py:.1f}" y2="{py:.1f}" stroke="#d4d9e0"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{py + 4:.1f}" text-anchor="end">{significant(tick)}</text>')
    for tick in _ticks(*x):
        px, _ = at(tick, y[0])
        parts.append(f'<text x="{px:.1f}" y="{HEIGHT - 14}" text-anchor="middle">{significant(tick)}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 2}" text-anchor="end">{_words(x_label)}</text>')
    parts.append(f'<text x="4" y="10">{_words(y_label)}</text>')
    return parts, at


def _svg(parts: list[str], text: str, height: int = HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{_words(text)}" '
        f'xmlns="http://www.w3.org/2000/svg" font-size="11" font-family="system-ui, sans-serif" '
        f'fill="#1b2430">{"".join(parts)}</svg>'
    )


def steps(series: list[tuple[str, Array, Array]], x_label: str, y_label: str, text: str) -> str:
    """`lines` that keep each y until the next x, as distribution functions do."""
    stepped = [(name, np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]) for name, x, y in series]
    return lines(stepped, x_label, y_label, text)


def lines(series: list[tuple[str, Array, Array]], x_label: str, y_label: str, text: str) -> str:
    """One or two lines with a legend; `series` holds name, x, y."""
    xs, ys = np.concatenate([s[1] for s in series]), np.concatenate([s[2] for s in series])
    parts, at = _frame(
        (float(xs.min()), float(xs.max())), (min(0.0, float(ys.min())), float(ys.max())), x_label, y_label
    )
    for i, (name, x, y) in enumerate(series):
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in (at(a, b) for a, b in zip(x, y, strict=True)))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="2" '
            f'stroke-dasharray="{DASHES[i]}"/>'
        )
        if len(series) == 1:  # the heading says what it is
            break
        left = WIDTH - 190
        parts.append(
            f'<line x1="{left}" x2="{left + 28}" y1="{HEIGHT - 60 + 16 * i}" y2="{HEIGHT - 60 + 16 * i}" '
            f'stroke="{COLOURS[i]}" stroke-width="2" stroke-dasharray="{DASHES[i]}"/>'
            f'<text x="{left + 34}" y="{HEIGHT - 56 + 16 * i}">{_words(name)}</text>'
        )
    return _svg(parts, text)


def bars(values: Array, x_label: str, text: str, bins: int = 40) -> str:
    """A histogram between the 0.5th and 99.5th percentile, as shares of all values."""
    low, high = np.quantile(values, [0.005, 0.995])
    if not high > low:
        low, high = float(values.min()) - 0.5, float(values.max()) + 0.5
    counts, edges = np.histogram(values, bins=bins, range=(low, high))
    shares = counts / len(values)
    parts, at = _frame((float(low), float(high)), (0.0, float(shares.max()) * 1.05), x_label, "share")
    for share, left, right in zip(shares, edges[:-1], edges[1:], strict=True):
        (x0, y0), (x1, y1) = at(left, share), at(right, 0.0)
        parts.append(
            f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{max(x1 - x0 - 1, 0.5):.1f}" height="{y1 - y0:.1f}" '
            f'fill="{COLOURS[0]}"/>'
        )
    return _svg(parts, text)


def pair_maps(pair: PairSummary) -> str:
    """The shares of the cells of two columns, confidential on the left and synthetic on the right, as shades.

    A cell that only one table has is framed, so that it is seen however small its share.

    Parameters
    ----------
    pair : PairSummary
    """
    (down, across), (first, second) = pair.labels, pair.names
    sides = [np.array(side) for side in (pair.confidential, pair.synthetic)]
    top = max(float(side.max()) for side in sides) or 1.0
    slant = 5.0 * max(
        len(_short(label)) for label in across
    )  # of a label at 45 degrees, to the right and down
    left, size = 120, (WIDTH - 130 - slant) / 2
    width, height = size / len(across), 14
    parts = ['<rect width="100%" height="100%" fill="#fff"/>']  # a page may be dark
    parts += [f'<text x="4" y="10">{_words(f"{first} down, {second} across")}</text>']
    for k, (side, name) in enumerate(zip(sides, ("confidential", "synthetic, all data sets"), strict=True)):
        start = left + k * (size + 10)
        parts.append(f'<text x="{start:.1f}" y="24">{name}</text>')
        for i, j in np.ndindex(side.shape):
            alone = (sides[0][i, j] > 0) != (sides[1][i, j] > 0) and side[i, j] > 0
            place = f'x="{start + j * width:.1f}" y="{30 + i * height}"'
            text = f"{first} {down[i]} and {second} {across[j]}: {100 * side[i, j]:.3g} %"
            parts.append(
                f'<rect {place} width="{width - 1:.1f}" height="{height - 1}" fill="{COLOURS[0]}" '
                f'fill-opacity="{np.sqrt(side[i, j] / top):.2f}" stroke="{COLOURS[1] if alone else "#e1e5ea"}">'
                f"<title>{_words(text)}</title></rect>"
            )
        for j, label in enumerate(across):
            at = f"{start + (j + 0.5) * width:.1f},{40 + len(down) * height}"
            parts.append(f'<text transform="translate({at}) rotate(45)">{_words(_short(label))}</text>')
    for i, label in enumerate(down):
        y = 30 + (i + 0.8) * height
        parts.append(f'<text x="{left - 6}" y="{y:.1f}" text-anchor="end">{_words(_short(label))}</text>')
    return _svg(
        parts, f"Shares of {first} and {second}, confidential and synthetic.", 120 + len(down) * height
    )


def _short(label: str, most: int = 18) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
