"""An audit as text, Markdown, CSV and JSON."""

from __future__ import annotations

from typing import Any

import pandas as pd

from synth_core.experiments.audit.audit import NONE, Audit
from synth_core.experiments.audit.verdict import EXCEEDED, VIOLATED
from synth_core.release.output.bundle import csv_bytes
from synth_core.release.report.audit_summary import differs_words
from synth_core.system.json_text import json_text
from synth_core.system.number_text import ceiling, floored
from synth_core.system.text_table import aligned

AuditRow = dict[str, str | float | None]  # by the headings of the table
FORMATS = ("table", "json", "csv", "markdown")
CLAIMED, LOWER = "Claimed ε", "Lower bound"
COLUMNS = (
    "Mechanism",
    "Weights from",
    "Neighbour",
    CLAIMED,
    "Guarantee",
    LOWER,
    "Largest seen",
    "Detectable",
    "Verdict",
)
INTERNAL = "INTERNAL: computed from confidential records, and no ε covers these numbers. Do not publish."
MEANING = (
    "A lower bound says that ε between two neighbouring tables is at least this. An audit can refute a claim, never "
    "prove it: another pair of tables, or a better test, may show more."
)


def heading(audit: Audit) -> list[str]:
    """What was audited and how, in plain sentences."""
    asked = audit.asked
    alarm = f"{100 * (1 - asked.confidence):.3g} %"
    lines = [
        f"Privacy audit of {audit.outcome} in {audit.table}, {audit.rows:,} records; {audit.model}, "
        f"{audit.density_scale}",
        f"{asked.runs:,} runs of each mechanism on each of two neighbouring tables, seed {audit.seed}; "
        + (f"δ = {asked.delta:g}; " if asked.delta else "")
        + f"all lower bounds hold together with confidence {100 * asked.confidence:g} %: if every claim is true, the "
        f"probability of any “{VIOLATED}” or “{EXCEEDED}” is at most {alarm}.",
    ]
    return [INTERNAL, *lines] if audit.confidential else lines


def rows(audit: Audit) -> list[AuditRow]:
    """One row a line, in the order of `COLUMNS`."""
    return [
        dict(
            zip(
                COLUMNS,
                (
                    line.label,
                    line.weights,
                    differs_words(line.relation, audit.unit),
                    line.claimed,
                    line.guarantee,
                    line.epsilon_lower,
                    line.largest_ratio,
                    line.detectable,
                    line.verdict,
                ),
                strict=True,
            )
        )
        for line in audit.lines
    ]


def cell(heading: str, value: Any) -> str:
    """A cell of the table: a claim is never shown smaller than it is, and a lower bound never larger."""
    if value is None or value != value:
        return "not finite"
    if not isinstance(value, float):
        return str(value)
    if heading == CLAIMED:
        return ceiling(value, 2)
    return floored(value, 2) if heading == LOWER else f"{value:.2f}"


def notes(audit: Audit) -> list[str]:
    """The reasons behind the verdicts, each once, after the lines that it stands for."""
    lines_by_note: dict[tuple[str, str], dict[str, list[str]]] = {}
    for line in audit.lines:
        if line.why:
            who = line.label if line.weights == NONE else f"{line.label} (weights: {line.weights})"
            lines_by_note.setdefault((line.verdict, line.why), {}).setdefault(who, []).append(line.relation)
    texts = []
    for (verdict, why), lines in lines_by_note.items():
        who = "; ".join(f"{name}, {' and '.join(relations)}" for name, relations in lines.items())
        texts.append(f"{who}: {verdict}. {why}")
    return texts


def render(audit: Audit, form: str) -> str:
    """The whole audit in one of `FORMATS`."""
    if form == "json":
        return json_text(audit.as_dict())
    if form == "csv":
        return to_csv(audit).decode().rstrip("\n")
    cells = [[cell(heading, v) for heading, v in row.items()] for row in rows(audit)]
    if form == "markdown":
        table = [COLUMNS, ["---"] * len(COLUMNS), *cells]
        body = ["| " + " | ".join(row) + " |" for row in table]
        return "\n".join([*heading(audit), "", *body, "", *(f"- {n}" for n in notes(audit)), "", MEANING])
    return "\n".join(
        [*heading(audit), *aligned([COLUMNS, *cells]), *(f"! {n}" for n in notes(audit)), MEANING]
    )


def to_csv(audit: Audit) -> bytes:
    """The table as CSV; its first column says whether it may leave."""
    frame = pd.DataFrame(rows(audit))
    frame.insert(0, "Status", "INTERNAL" if audit.confidential else "public or simulated table")
    frame["Confidence"], frame["Runs"] = audit.asked.confidence, audit.asked.runs
    return csv_bytes(frame)
