"""The noisy tables of a release as plain values that may leave: whoever has them can fit a model of their own."""

from __future__ import annotations

from typing import Any

from synth_core.analysis.measured.cells import PublicSide, cell_names
from synth_core.analysis.measured.fine_bins import fine_bins
from synth_core.analysis.measured.measuring import Measurements
from synth_core.analysis.measured.variable import Array, Variable

ABOUT = (
    "Counts of records in the cells of columns, each with noise of the given standard deviation and mean 0. "
    "Everything in the synthetic data about the sensitive columns follows from them and from the public columns. "
    "Cells of a table stand in row-major order of its columns. Those of a public column are named in their order, of "
    "numbers by the least and the largest value in each. Those of a sensitive number are the brackets between its "
    "edges, and fine counts are of the bins between theirs, an edge that stands twice being a bracket or a bin of "
    "its own; a value beyond the edges counts in the bracket at that end, and one that begins a "
    "bracket of which rules leave nothing else in the one below. Missing values have the last cell. Cells that the "
    "rules exclude hold noise alone, and fine counts leave out whose number a rule gives. Where a unit of several "
    "records is covered, it counts as one: each of its k records counts 1/k. A table that was counted twice has the "
    "mean of both by precision."
)


def published(
    public: PublicSide,
    measured: Measurements,
    promised: float,
    gaussian: bool,
) -> dict[str, Any]:
    """Noisy tables with what their cells are.

    Parameters
    ----------
    promised : float
        Rho with Gaussian noise, else epsilon, of whom the release covers.
    """
    names, shape = public.column_names, (*public.shape, *(each.n for each in public.variables))
    return {
        "about": ABOUT,
        "noise": "discrete Gaussian" if gaussian else "discrete Laplace",
        "spent": {"rho" if gaussian else "epsilon": float(f"{promised:.12g}")},
        "records": public.n_records,
        "public columns": [
            {"column": name, "cells": cell_names(values, codes)}
            for name, values, codes in zip(public.names, public.values, public.codes.T, strict=True)
        ],
        "sensitive columns": [_cells(each, public.categories[each.name]) for each in public.variables],
        "tables": [
            {
                "columns": [names[c] for c in table.columns],
                "shape": [shape[c] for c in table.columns],
                "deviation": table.deviation,
                "counts": _plain(table.counts),
            }
            for table in measured.tables
        ],
        "fine counts": [
            {
                "column": public.variables[each.variable].name,
                "edges": fine_bins(public.variables[each.variable]).edges.tolist(),
                "deviation": each.deviation,
                "counts": _plain(each.counts),
            }
            for each in measured.fine
        ],
    }


def _plain(counts: Array) -> list[int | float]:
    """Counts as they are, whole ones as whole numbers: parts of a unit have as many digits as tell them apart."""
    return [int(each) if each == int(each) else round(float(each), 6) for each in counts.ravel()]


def _cells(variable: Variable, categories: tuple[str, ...] | None) -> dict[str, Any]:
    """What the cells of a sensitive column are; that of missing values is the last."""
    cells = {"edges": list(variable.edges)} if categories is None else {"categories": list(categories)}
    return {"column": variable.name, **cells, "missing": variable.missing}
