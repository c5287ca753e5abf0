"""One colour a mechanism, the same in every figure; readable on light and dark, and in print.

Beyond colour, mechanisms are told apart by labels and by line patterns: two colours that come near each other have
unlike patterns.
"""

from __future__ import annotations

_LOOKS = {
    "unweighted": ("#e07b00", "dash"),
    "weighted": ("#2f7bff", "solid"),
    "weighted_e": ("#0aa5c2", "dot"),
    "censored": ("#169c46", "solid"),
    "censored_weighted": ("#7d9b00", "dash"),
    "anchored": ("#e0218a", "solid"),
    "anchored_weighted": ("#ee6a90", "dash"),
    "exponential": ("#d62020", "dashdot"),
    "count_weighted": ("#8b3ff0", "solid"),
    "weighted_final": ("#8a93f3", "longdash"),
    "count_weighted_final": ("#c061e8", "dash"),
    "range_averaged": ("#00998a", "dashdot"),
    "range_truncated": ("#7a8797", "dash"),
    "histogram": ("#9a6428", "longdashdot"),
    "measured": ("#8a3c81", "longdash"),
    "measured_laplace": ("#4d6234", "dot"),
}
# Synthesizers that are not ours, beside the map: colour, line pattern and marker. No mechanism has these markers.
_RIVAL_LOOKS = {
    "mst": ("#b58900", "dash", "cross"),
    "aim": ("#a34ea3", "solid", "pentagon"),
    "histogram": ("#3f8f9b", "dashdot", "hexagon"),
    "one-way": ("#6f8f3f", "dot", "hexagon2"),
    "sample": ("#8c8c8c", "longdash", "cross-thin-open"),
}
_COMPOSED = ("#be185d", "#b45309", "#4d7c0f", "#0369a1", "#7e22ce", "#57534e", "#e11d48", "#047857")

PALETTE = tuple(look for look, _ in _LOOKS.values())


def color(mechanism: str) -> str:
    """The colour of a mechanism; composed ones share eight by a stable rule."""
    if mechanism in _LOOKS:
        return _LOOKS[mechanism][0]
    return _COMPOSED[sum(mechanism.encode()) % len(_COMPOSED)]


def rival_look(who: str) -> tuple[str, str, str]:
    """Colour, line pattern and marker of another synthesizer."""
    return _RIVAL_LOOKS[who]


def dash(mechanism: str) -> str:
    """The line pattern of a mechanism."""
    return _LOOKS[mechanism][1] if mechanism in _LOOKS else "longdash"


def transparent(color: str, opacity: float) -> str:
    """A `#rrggbb` colour as rgba."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
