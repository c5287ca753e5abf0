"""About how long an audit takes, said before it runs: by what audits of several models and sizes took."""

from __future__ import annotations

from synth_core.experiments.audit.power import NEIGHBOURS
from synth_core.mechanisms.catalogue import Mechanism

RUNS_OF_A_FIT = 2_000  # that the draws of a fit give after thinning: for more the chains are longer
VALUE_SECONDS = 1e-7  # to draw a synthetic value, and to read it
TABLE_SECONDS = 2e-3  # more for each variable of a synthetic table of whole records, which is drawn by itself


def seconds_of_line(mechanism: Mechanism, fit: float, runs: int, records: int, blocks: int = 0) -> float:
    """Seconds of one line: for each neighbour that is tried both tables are fitted, and each run draws from both.

    Parameters
    ----------
    fit : float
        Seconds that the mechanism takes on a table.
    runs : int
        On each table.
    blocks : int
        Sensitive variables of whole records; 0: a single variable.
    """
    fits = max(1.0, runs / RUNS_OF_A_FIT) if mechanism.likelihood.samples else 0.0
    table = records * max(blocks, 1) * VALUE_SECONDS + blocks * TABLE_SECONDS
    return NEIGHBOURS[1] * 2 * (fits * fit + runs * table)
