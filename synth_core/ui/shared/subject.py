"""What Compare refits, and how its numbers are put: one sensitive variable, or another subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from synth_core.analysis.measures import WORST
from synth_core.analysis.policy import judge
from synth_core.analysis.result_sentences import above_target, explained, sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.headings import COLUMNS, Word
from synth_core.figures.compare import results
from synth_core.jobs.tasks import Task, mechanism_task
from synth_core.ui.state import session
from synth_core.ui.state.browser import Browser

Summary = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """What is refitted, and how its numbers are put.

    Attributes
    ----------
    task : callable
        Of a browser, its settings and a mechanism; raises InputError.
    rows : callable
        Of summaries, labels, settings, and why others are missing: the rows of the table.
    caption : callable
        Of the first summary: what stands above the table.
    columns : mapping
        Of the table, from the list of words.
    recorded : bool
        Whether finished ones are kept as runs.
    """

    task: Callable[[Browser, Settings, str], Task]
    rows: Callable[[list[Summary], dict[str, str], Settings, dict[str, str]], list[dict[str, Any]]]
    caption: Callable[[Summary], str]
    columns: Mapping[str, Word]
    recorded: bool = False


def _caption(s: Summary) -> str:
    dropped = f", {s['rows_dropped']:,} incomplete rows left out" if s["rows_dropped"] else ""
    return f"{s['n_records']:,} records{dropped} · ε for one record's value withheld, on the {s['density_scale']}"


def _promises(summaries: list[Summary], settings: Settings) -> dict[str, dict[str, Any]]:
    """What stands beside each mechanism's numbers: badge and explanation, the sentence, and what the rule says."""
    policy, promises = session.choices().policy, {}
    for s in summaries:
        guarantee, lines = explained(s, settings)
        if s["tuned"]:
            lines.append(
                "Solved for: " + ", ".join(f"{k.replace('_', ' ')} {v:.4g}" for k, v in s["tuned"].items())
            )
        promises[s["mechanism"]] = {
            "label": guarantee.label,
            "strength": guarantee.strength,
            "lines": lines,
            "sentence": sentence(s, settings, WORST if policy.percent is None else policy.measure),
            "hints": list(filter(None, [above_target(s, settings)])),
            "verdict": judge(policy, s, guarantee) if policy.states and not s.get("old") else None,
        }
    return promises


ONE_VARIABLE = Subject(
    lambda browser, settings, name: mechanism_task(browser.table, settings, name, browser.reference),
    lambda summaries, labels, settings, missing: results(
        summaries, labels, _promises(summaries, settings), missing
    ),
    _caption,
    COLUMNS,
    recorded=True,
)
