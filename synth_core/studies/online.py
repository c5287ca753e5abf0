"""A study as one task of the app: the same engine in one process, replicates kept as they finish."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synth_core.backend.base import SerialBackend
from synth_core.comparison import Comparison
from synth_core.errors import InputError
from synth_core.studies.engine import Outcome, run_study
from synth_core.studies.figures import panels
from synth_core.studies.like import compare_like, local_bounds, study_like
from synth_core.studies.plan import check
from synth_core.studies.presets import PRESETS
from synth_core.studies.report import Report
from synth_core.summaries import density, five_numbers

LIKE = "like"
MAX_FITS = 5_000  # in the app; the command line has no such limit


@dataclass(frozen=True)
class Asked:
    """A study as the page asks for it.

    Attributes
    ----------
    name : a preset, or "like": databases like the table in use
    replicates : R
    mechanisms, epsilons, rows : of `like`: keys, targets, numbers of records
    """

    name: str
    replicates: int
    seed: int
    mechanisms: tuple[str, ...] = ()
    epsilons: tuple[float, ...] = ()
    rows: tuple[int, ...] = ()


def run_in_app(comparison: Comparison, asked: Asked) -> dict[str, Any]:
    """Run a study and return its table and violins as plain values.

    Parameters
    ----------
    comparison : Comparison
        Of the table and the settings in use; only `like` reads them.

    Raises
    ------
    InputError
        If the study is unknown, needs a file, or is too large for the app.
    """
    if asked.name == LIKE:
        scales = [comparison.settings.scale]
        study = study_like(comparison, list(asked.mechanisms), list(asked.epsilons), scales,
                           list(asked.rows), asked.replicates)  # fmt: skip
    else:
        study = _preset(asked.name).build(None)
    check(study, asked.replicates, asked.seed)
    fits = asked.replicates * sum(len(case.points) for case in study.cases)
    if fits > MAX_FITS:
        raise InputError(f"{fits:,} results are too many for the app (at most {MAX_FITS:,}); on the command line: "
                         f"python -m synth_core study {asked.name}")  # fmt: skip
    local = local_bounds(comparison, study) if asked.name == LIKE else {}

    def report(done: int, total: int, left: float) -> None:
        remaining = f", about {left:.0f} s left" if np.isfinite(left) else ""
        comparison.progress(f"{done:,} of {total:,} simulated databases{remaining}", done / total)

    outcome = run_study(study, asked.replicates, asked.seed, SerialBackend(), comparison.cache, report)
    rows = compare_like(outcome, local) if asked.name == LIKE else PRESETS[asked.name].compare(outcome)
    return {
        "heading": Report(outcome, rows).heading(),
        "rows": [asdict(row) for row in rows],
        "violins": _violins(outcome),
    }


def _preset(name: str) -> Any:
    preset = PRESETS.get(name)
    if preset is None:
        raise InputError(f"There is no study '{name}'.")
    if preset.needs:
        raise InputError(
            f"The study {name} needs the file {preset.needs}; run it on the command line with --data."
        )
    return preset


def _violins(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    return {
        measure: [
            {"case": v.case, "label": v.label, "density": density(v.values), "five": five_numbers(v.values)}
            for v in found
        ]
        for measure, found in panels(outcome).items()
    }
