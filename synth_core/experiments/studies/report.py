"""A study's table as text, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import io
import itertools
import math
from dataclasses import asdict, dataclass

import numpy as np

from synth_core.engine.sampling import rhat_text
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.verdicts import AGREES, DIFFERS, SUMMARIES, UNDECIDED, Row
from synth_core.release.output.bundle import neutral
from synth_core.system.json_text import json_text
from synth_core.system.number_text import floored
from synth_core.system.text_table import aligned

FORMATS = ("table", "csv", "json", "markdown")
HEADER = ("quantity", "published", "ours", "Monte Carlo error", "verdict", "reason")


@dataclass(frozen=True)
class StudyReport:
    """A study's rows and what was measured while it ran."""

    outcome: StudyOutcome
    rows: list[Row]
    baseline: str = ""

    def heading(self) -> list[str]:
        """What ran: title, source, R, seed, time, verdicts, notes."""
        o = self.outcome
        counts = {
            verdict: sum(row.verdict == verdict for row in self.rows)
            for verdict in (AGREES, DIFFERS, UNDECIDED)
        }
        lines = [o.study.title + (f" ({o.study.source})" if o.study.source else "")]
        ran = f"R = {o.replicates}, seed {o.seed}"
        if o.computed:
            ran += (
                f"; {o.seconds:.0f} s for {o.computed:,} replicates on {o.backend} "
                f"({o.cpu_seconds:.0f} s of processor time)"
            )
        else:
            ran += "; all replicates were stored"
        lines.append(ran)
        if counts[AGREES] or counts[DIFFERS]:
            lines.append(
                f"{counts[AGREES]} comparisons agree, {counts[DIFFERS]} differ, "
                f"{counts[UNDECIDED]} are within the Monte Carlo error either way"
            )
        lines.append(self._convergence())
        if self.baseline:
            lines.append(self.baseline)
        if o.study.note:
            lines.append(o.study.note)
        return lines

    def _convergence(self) -> str:
        """R-hat and effective sample size over all fits. One short chain does not reach 1.01."""

        def every(measure: str) -> np.ndarray:
            diagnostics = [values for key, values in self.outcome.measured.items() if key[2] == measure]
            return np.concatenate(diagnostics)

        rhat, ess = every("rhat"), every("ess")
        fitted = np.isfinite(ess)
        if not fitted.any():
            return "Nothing was sampled: what is made of noisy counts has no chains."
        return (
            f"Convergence over {int(fitted.sum()):,} results: R-hat 99 % below "
            f"{rhat_text(float(np.nanquantile(rhat, 0.99)))}, effective sample size 99 % above "
            f"{floored(float(np.nanquantile(ess, 0.01)), 0)}, {int(every('divergences').sum()):,} divergent transitions"
        )


def render(report: StudyReport, form: str) -> str:
    """The whole report in one of `FORMATS`."""
    return {"table": _table, "csv": _csv, "json": _json, "markdown": _markdown}[form](report)


def _cells(row: Row) -> list[str]:
    error = "" if row.error is None or not math.isfinite(row.error) else f"{row.error:.2g}"
    return [row.quantity, row.published, row.ours, error, row.verdict, row.reason]


def _table(report: StudyReport) -> str:
    cells = [list(HEADER[:5]), *(_cells(row)[:5] for row in report.rows)]
    lines = report.heading() + aligned(cells)
    reasons = dict.fromkeys(row.reason for row in report.rows if row.verdict != AGREES and row.reason)
    if reasons:
        lines.append("Reasons:")
        for reason in reasons:
            first = next(row.quantity for row in report.rows if row.reason == reason)
            count = sum(row.reason == reason for row in report.rows)
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"  {first}{more}: {reason}")
    return "\n".join(lines)


def _csv(report: StudyReport) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(map(neutral, _cells(row)) for row in report.rows)
    return stream.getvalue().rstrip("\n")


def _json(report: StudyReport) -> str:
    o = report.outcome
    return json_text(
        {
            "study": o.study.name,
            "title": o.study.title,
            "source": o.study.source,
            "replicates": o.replicates,
            "seed": o.seed,
            "seconds": round(o.seconds, 2),
            "cpu_seconds": round(o.cpu_seconds, 2),
            "computed": o.computed,
            "backend": o.backend,
            "note": o.study.note,
            "baseline": report.baseline,
            "rows": [asdict(row) for row in report.rows],
        }
    )


def _markdown(report: StudyReport) -> str:
    """For a document: the summaries of one distribution share a line."""

    def escaped(text: str) -> str:
        return text.replace("|", "\\|")

    header = (HEADER[0], *HEADER[1:3], "error", *HEADER[4:])
    lines = [f"## {report.outcome.study.name}", "", *(f"{line}  " for line in report.heading())]
    lines += ["", "| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for _, group in itertools.groupby(report.rows, _distribution):
        lines.append("| " + " | ".join(map(escaped, _joined(list(group)))) + " |")
    return "\n".join(lines)


def _distribution(row: Row) -> str:
    """What the row summarises: rows of one distribution share it."""
    before, _, summary = row.quantity.rpartition(", ")
    return before if summary in SUMMARIES else row.quantity


def _joined(rows: list[Row]) -> list[str]:
    """Several summaries as one line; a verdict that is not shared names its summaries."""
    if len(rows) == 1:
        return _cells(rows[0])
    names = [row.quantity.rpartition(", ")[2] for row in rows]
    verdicts = {row.verdict for row in rows}
    verdict = rows[0].verdict
    if len(verdicts) > 1:
        apart = [name for name, row in zip(names, rows, strict=True) if row.verdict == DIFFERS]
        verdict = f"{DIFFERS} ({', '.join(apart)}), else {AGREES}"
    columns = [_cells(row) for row in rows]
    reasons = dict.fromkeys(row.reason for row in rows if row.reason)
    return [
        f"{_distribution(rows[0])} ({' / '.join(names)})",
        *(" / ".join(cells[i] for cells in columns) for i in (1, 2, 3)),
        verdict,
        " ".join(reasons),
    ]
