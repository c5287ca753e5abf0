"""What every rival is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.records.blocks import Block
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.cells import Cells, Codes, Edges, cells_of, public_codes


@dataclass(frozen=True)
class Problem:
    """Whole records as codes.

    Attributes
    ----------
    frame : DataFrame
        The sensitive columns as they are.
    cells : tuple of Cells
        Of each of them.
    sensitive : array of int of shape (n_records, n_sensitive)
    public_names : tuple of str
    public : array of int of shape (n_records, n_public)
    balanced : bool
        Whether records are drawn balanced, as far as a rival draws them from a model; else as it does by itself.
    """

    frame: pd.DataFrame = field(repr=False)
    cells: tuple[Cells, ...]
    sensitive: Codes = field(repr=False)
    public_names: tuple[str, ...]
    public: Codes = field(repr=False)
    balanced: bool = False

    @property
    def n(self) -> int:
        """Number of records, which is public."""
        return len(self.sensitive)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each sensitive variable."""
        return tuple(each.n for each in self.cells)

    def decoded(self, codes: Codes, rng: np.random.Generator) -> pd.DataFrame:
        """Sensitive columns from codes of shape (n_synthetic, n_sensitive)."""
        return pd.DataFrame({c.name: c.values(codes[:, k], rng) for k, c in enumerate(self.cells)})


@dataclass(frozen=True)
class RivalSynthetic:
    """What a rival releases.

    Attributes
    ----------
    frame : DataFrame
        The sensitive columns.
    rows : array of int of shape (n_synthetic,), or None
        Whose public predictors each record has; None: the records in their order.
    """

    frame: pd.DataFrame
    rows: NDArray[np.int64] | None = None


Make = Callable[[Problem, Budget, np.random.Generator], RivalSynthetic]


def problem_of(
    frame: pd.DataFrame,
    blocks: Sequence[Block],
    predictors: Sequence[str],
    edges: Edges,
    categorical: Collection[str] = (),
) -> Problem:
    """A table of whole records as rivals see it, with predictors whose numbers are codes; raises InputError."""
    cells = tuple(cells_of(block, edges) for block in blocks)
    public = [public_codes(name, frame[name], edges, name in categorical) for name in predictors]
    return Problem(
        frame[[each.name for each in cells]],
        cells,
        np.column_stack([each.codes(frame[each.name]) for each in cells]),
        tuple(predictors),
        np.column_stack(public) if public else np.zeros((len(frame), 0), dtype=np.int64),
    )
