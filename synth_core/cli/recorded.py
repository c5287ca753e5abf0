"""Finished runs of the command line, kept for later."""

from __future__ import annotations

import contextlib

from synth_core.analysis.any_analysis import AnyAnalysis, R
from synth_core.release.run_store import RunStore, run_record
from synth_core.release.state import StateError


def record_run(analysis: AnyAnalysis[R], result: R) -> None:
    """Keep a finished run in the run store; where that cannot be written, the run still counts."""
    with contextlib.suppress(StateError):
        store = RunStore()
        store.record(*run_record(analysis, result))
        store.close()
