"""The cells of the map's sensitive variable for rivals: what was declared, and in words who declared it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from synth_core.analysis.records.blocks import OPTIONS, Block
from synth_core.analysis.settings import Settings
from synth_core.experiments.rivals.cells import Cells, cells_of
from synth_core.mechanisms.histogram import bin_count
from synth_core.models import family

OF_CELLS = frozenset({"guess", "bounds"})  # declared of a variable whatever its family


def edges_of(settings: Settings, n: int, edges: tuple[float, ...] = ()) -> tuple[float, ...]:
    """The edges of the bins of a number: those given, else those of the histogram between declared bounds.

    Empty where neither is declared: then brackets, categories or a guess of the family count, see `cells_of`. None is
    taken from values of the table.

    Parameters
    ----------
    n : int
        Number of records, which is public: rules such as "log" read it.
    """
    declared = set(block_of(settings).options) & {"categories", "bracket_edges"}
    if edges or declared or settings.bounds is None:
        return edges
    return tuple(np.linspace(*settings.bounds, bin_count(settings.bins, n) + 1).tolist())


def declared_cells(settings: Settings, n: int, edges: tuple[float, ...] = ()) -> Cells:
    """How the sensitive variable is cut for rivals, by what was declared.

    Raises
    ------
    InputError
        If edges do not ascend; UndeclaredBins if nothing was declared.
    """
    declared_edges = edges_of(settings, n, edges)
    return cells_of(block_of(settings), {settings.outcome: declared_edges} if declared_edges else {})


def block_of(settings: Settings) -> Block:
    """The sensitive variable as a block, with what its family uses and what is declared of any."""
    names = OPTIONS & (family(settings.model).uses | OF_CELLS)
    options = {name: getattr(settings, name) for name in names}
    return Block(settings.outcome, settings.model, {k: v for k, v in options.items() if v not in (None, ())})


def all_cells_words(outcomes: Mapping[str, Settings], n: int, edges: tuple[float, ...] = ()) -> str:
    """How every sensitive variable is cut, as `cells_words` says it."""
    return " ".join(cells_words(each, n, edges) for each in outcomes.values())


def cells_words(settings: Settings, n: int, edges: tuple[float, ...]) -> str:
    """How the variable is cut, and what says so; raises InputError as `declared_cells` does."""
    cells, name = declared_cells(settings, n, edges), settings.outcome
    if cells.categories:
        return f"Cells of {name}: its {len(cells.categories)} declared categories."
    reach = f"{len(cells.edges) - 1} from {cells.edges[0]:,.6g} to {cells.edges[-1]:,.6g}"
    if edges:
        return f"Bins of {name}: {reach}, as declared here."
    if edges_of(settings, n):
        return f"Bins of {name}: {reach}, as the histogram has them between the declared bounds."
    if "bracket_edges" in family(settings.model).uses:
        return f"Bins of {name}: {reach}, the declared brackets."
    return f"Bins of {name}: {reach}, by the guess on the Data page."
