"""One colour a mechanism, the same in every figure; readable on light and dark, and in print.

Beyond colour, mechanisms are told apart by their labels on the axes and by line patterns.
"""

from __future__ import annotations

_LOOKS = {
    "unweighted": ("#d97706", "dash"),
    "weighted": ("#3b82f6", "solid"),
    "weighted_e": ("#0891b2", "dot"),
    "censored": ("#16a34a", "solid"),
    "censored_weighted": ("#65a30d", "dash"),
    "anchored": ("#0f766e", "solid"),
    "anchored_weighted": ("#0ea5e9", "dash"),
    "exponential": ("#dc2626", "solid"),
    "count_weighted": ("#9333ea", "solid"),
    "weighted_final": ("#6366f1", "dash"),
    "count_weighted_final": ("#c026d3", "dash"),
    "range_averaged": ("#0d9488", "dashdot"),
    "range_truncated": ("#64748b", "dot"),
    "histogram": ("#a16207", "dot"),
}
_COMPOSED = ("#be185d", "#b45309", "#4d7c0f", "#0369a1", "#7e22ce", "#57534e", "#e11d48", "#047857")

PALETTE = tuple(look for look, _ in _LOOKS.values())


def color(mechanism: str) -> str:
    """The colour of a mechanism; composed ones share eight by a stable rule."""
    if mechanism in _LOOKS:
        return _LOOKS[mechanism][0]
    return _COMPOSED[sum(mechanism.encode()) % len(_COMPOSED)]


def dash(mechanism: str) -> str:
    """The line pattern of a mechanism."""
    return _LOOKS[mechanism][1] if mechanism in _LOOKS else "longdash"


def transparent(color: str, opacity: float) -> str:
    """A `#rrggbb` colour as rgba."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
