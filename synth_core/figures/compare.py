"""What the Compare page shows: a results table and four figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_core.analysis.anchored import clamped_warning
from synth_core.analysis.measures import worst_statistic
from synth_core.analysis.wording.headings import in_plain_words
from synth_core.figures.categories import of_categories, shares_figure
from synth_core.figures.palette import color
from synth_core.figures.parts import Figure, Other, Summary, beside_once, statistic_label
from synth_core.figures.privacy import bounds_figure, weights_figure
from synth_core.figures.utility import ecdf_figure, quantiles_figure
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits

MANY_CENSORED = 0.2


def percent(share: float) -> str:
    """A share as percent, short however large."""
    if abs(share) < 10:
        return f"{100 * share:+.1f} %"
    return "over +1,000 %" if share > 0 else "below -1,000 %"


def has_not_converged(problems: list[str]) -> str:
    """What to do about a fit whose chains disagree."""
    return (
        f"has not converged, do not use its numbers: {'; '.join(problems)}. "
        "Take more draws or a longer warm-up (under Sampling); a mixture may need another concentration or scale "
        "(Data page)."
    )


def _warnings(s: Summary) -> list[str]:
    """Why the numbers of a mechanism should be doubted, in words."""
    hints = []
    if s["problems"]:
        hints.append(has_not_converged(s["problems"]))
    warning = clamped_warning(s["n_censored"], s["n_records"])
    if s["anchor"] and warning:
        now = f", which is {s['tuned']['c']:.3g} now" if "c" in s["tuned"] else ""
        hints.append(f"{warning} around the anchor{now} (More of the mechanisms).")
    elif s["n_censored"] > MANY_CENSORED * s["n_records"]:
        hints.append(
            f"{s['n_censored'] / s['n_records']:.0%} of the records are censored: ε is small for the "
            "unit in which the density is taken; another unit (Data page) may serve better."
        )
    return hints


def results(
    summaries: list[Summary],
    labels: dict[str, str],
    guarantees: dict[str, dict[str, Any]],
    missing: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """One row a mechanism: numbers as text, sort keys, each epsilon beside its guarantee.

    Parameters
    ----------
    guarantees : dict
        By mechanism: "label", "strength", "lines", "sentence", under a rule "verdict", and "hints", if there are any.
    missing : dict, optional
        Why a mechanism has no numbers: a row of its own.
    """
    rows = []
    for s in summaries:
        worst = worst_statistic(s)
        epsilon = epsilon_text(s)
        hints = []
        if s["preview_khat"] is not None:
            epsilon = f"≈ {epsilon}"
            hints.append(
                f"approximate, by importance sampling from an earlier fit (Pareto k-hat {s['preview_khat']:.2f}, "
                f"at most {limits.MAX_KHAT} is shown); the exact fit replaces it."
            )
        hints += [*_warnings(s), *guarantees[s["mechanism"]].get("hints", ())]
        rows.append(
            row_head(s, labels)
            | {
                "guarantee": {k: guarantees[s["mechanism"]][k] for k in ("label", "strength", "lines")},
                "sentence": guarantees[s["mechanism"]]["sentence"],
                "verdict": None,
                "hints": hints,
                "cells": {
                    "epsilon": cell(epsilon, s["epsilon"]),
                    "delta": cell(
                        "–" if s["lipschitz_bound"] is None else f"{s['lipschitz_bound']:.2f}",
                        s["lipschitz_bound"],
                        _local(s),
                    ),
                    "ecdf_max": cell(f"{s['ecdf_max']:.4f}", s["ecdf_max"]),
                    "ecdf_avg": cell(f"{s['ecdf_avg']:.6f}", s["ecdf_avg"]),
                    "worst": cell(
                        f"{percent(worst['relative_error'])} ({statistic_label(worst['name'])})",
                        abs(worst["relative_error"]),
                    ),
                    "gap": cell(f"{100 * s['ecdf_max']:.1f} points", s["ecdf_max"]),
                    "match": cell(f"{100 * s['match_risk']:.2f} %", s["match_risk"]),
                },
            }
        )
    usable = [row for row, s in zip(rows, summaries, strict=True) if not s["problems"]]
    mark_best(usable)
    for row in rows:
        row["verdict"] = _verdict(row, usable, guarantees)
    return rows + missing_rows(missing or {}, labels)


def row_head(s: Summary, labels: dict[str, str]) -> dict[str, Any]:
    """The head of a row: its mechanism."""
    return {
        "mechanism": s["mechanism"],
        "label": labels[s["mechanism"]],
        "plain": in_plain_words(find_mechanism(s["mechanism"])),
        "old": bool(s.get("old")),
        "color": color(s["mechanism"]),
    }


def epsilon_text(s: Summary) -> str:
    """Epsilon of one data set, and of all where there are several."""
    one, n = s["epsilon"], s["n_datasets"]
    return f"{one:.2f}" + (f" × {n} = {one * n:.2f}" if n > 1 else "")


def missing_rows(missing: Mapping[str, str], labels: dict[str, str]) -> list[dict[str, Any]]:
    """A row for each mechanism without numbers, with the reason."""
    return [
        {"mechanism": name, "label": labels[name], "color": color(name), "missing": why}
        for name, why in missing.items()
    ]


def _same_promise(row: dict[str, Any], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one guarantee: an epsilon of one is not an epsilon of another."""
    return [other for other in rows if other["guarantee"]["label"] == row["guarantee"]["label"]]


def mark_best(rows: list[dict[str, Any]]) -> None:
    """Mark the best of each column (rank 1), and of three or more the second best, within each guarantee.

    What reads the same on the screen is a tie, and ties share their rank; after a tie for the best there is no
    second. Where all are equal, none is better.
    """
    for row in rows:
        peers = _same_promise(row, rows)
        for name, one in row["cells"].items():
            others = [peer["cells"][name] for peer in peers if peer["cells"][name]["sort"] is not None]
            if one["sort"] is None or len({other["text"] for other in others}) < 2:
                continue
            better = sum(o["sort"] < one["sort"] and o["text"] != one["text"] for o in others)
            if better == 0 or (better == 1 and len(others) > 2):
                one["rank"] = better + 1


def _verdict(
    row: dict[str, Any], usable: list[dict[str, Any]], guarantees: dict[str, dict[str, Any]]
) -> dict[str, Any] | None:
    """Pass or fail by the rule; the best of those of one guarantee that pass, where there are several."""
    verdict = guarantees[row["mechanism"]].get("verdict")
    if verdict is None:
        return None
    if not verdict.passed:
        said = bool(row["hints"]) and row not in usable  # that it has not converged stands there already
        return {
            "passed": False,
            "text": "✗ fails" + (", not sure" if verdict.doubt else ""),
            "reason": "" if said else ". ".join(filter(None, ["; ".join(verdict.reasons), verdict.doubt])),
        }
    passing = [guarantees[o["mechanism"]]["verdict"] for o in _same_promise(row, usable)]
    rivals = [other.by for other in passing if other.passed]
    best = len(rivals) > 1 and f"{verdict.by:.3g}" == f"{min(rivals):.3g}"
    tied = sum(f"{by:.3g}" == f"{verdict.by:.3g}" for by in rivals) > 1
    return {
        "passed": True,
        "text": "✓ passes"
        + (", ties for best" if best and tied else ", best" if best else "")
        + (", not sure" if verdict.doubt else ""),
        "reason": verdict.doubt,
    }


def cell(text: str, sort: float | None, beside: str = "") -> dict[str, Any]:
    return {"text": text, "sort": sort, "rank": 0, "beside": beside}


def _local(s: Summary) -> str:
    """The unit-free local figure that stands beside a bound; of a clamped likelihood, none."""
    if s["oscillation"] is None:
        return ""
    return f"local {max(s['oscillation'], s['oscillation_joint'] or 0.0):.2f}"


def compare_figures(
    summaries: list[Summary], labels: dict[str, str], outcome: str, other: Other | None = None
) -> list[Figure]:
    """The four figures, in reading order; with what is seen beside the present choices, if anything is."""
    of_values = shares_figure if of_categories(summaries[0]) else ecdf_figure
    made = [
        bounds_figure(summaries, labels, other),
        of_values(summaries, labels, outcome, other),
        weights_figure(summaries, labels, other),
        quantiles_figure(summaries, labels, other),
    ]
    return made if other is None else [each | {"traces": beside_once(each["traces"], other)} for each in made]
