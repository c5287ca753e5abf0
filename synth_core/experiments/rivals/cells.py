"""Variables as codes of cells. Rivals need every variable cut into cells, and cells read off the table cost privacy.

Cells of a sensitive variable are declared: its categories, the edges that an analyst gives, or a rule that reads only
what its block declares. Public predictors may be cut as the table has them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from synth_core.analysis.measured.variable import cell_codes, whole_ends
from synth_core.analysis.records.blocks import Block
from synth_core.errors import InputError
from synth_core.models import Options, family
from synth_core.models.bracketed import with_zero_alone

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Edges = Mapping[str, tuple[float, ...]]
CELLS = 20  # of a number by the rule
TAIL = (2.0, 2.5, 3.0, 4.0)  # and where its last bins end, in deviations
PUBLIC_CELLS = 10  # of a public number with more values, by its own quantiles


class UndeclaredBins(InputError):
    """Nothing was declared that a number could be cut by."""


@dataclass(frozen=True)
class Cells:
    """How a sensitive variable is cut.

    Codes are those of categories or bins in order, and of missing values.

    Attributes
    ----------
    name : str
    categories : tuple of str
        Empty for a number.
    edges : tuple of float
        Of the bins of a number, ascending; one that stands twice is a bin of its own, such as 0 or a top code. The
        first and the last are its declared bounds; a value outside counts in the bin at that end, and a synthetic
        value is uniform within its bin.
    missing : bool
        Whether missing values have a cell of their own.
    discrete : bool
        Whether it is a count: then whole numbers of a bin are equally likely.
    """

    name: str
    categories: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    missing: bool = False
    discrete: bool = False

    @property
    def n(self) -> int:
        """Number of cells."""
        return (len(self.categories) or len(self.edges) - 1) + self.missing

    def codes(self, column: pd.Series) -> Codes:
        """The codes of the values of a column of whole records, of shape (n_records,).

        Examples
        --------
        >>> Cells("pay", edges=(0.0, 0.0, 10.0, 20.0)).codes(pd.Series([0.0, 5.0, 10.0, 99.0]))
        array([0, 1, 2, 2])
        """
        if self.categories:
            place = {category: code for code, category in enumerate(self.categories)}
            column = column.map(place)
        return cell_codes(column.to_numpy(dtype=float), self.edges, self.n - self.missing)

    def values(self, codes: Codes, rng: np.random.Generator) -> pd.Series:
        """A value for each code: the category, or a number uniform within its bin, a whole one of a count."""
        absent = (codes == self.n - 1) & self.missing
        place = np.where(absent, 0, codes)
        if self.categories:
            values = np.array(self.categories, dtype=object)[place]
            values[absent] = None
            return pd.Series(values, dtype=object)
        edges, part = np.array(self.edges), rng.random(len(codes))
        numbers = edges[place] + part * np.diff(edges)[place]
        if self.discrete:
            least, most = (each[place] for each in whole_ends(self.edges))
            numbers = least + np.floor(part * (most - least + 1))
        numbers[absent] = np.nan
        return pd.Series(numbers)


def cells_of(block: Block, edges: Edges) -> Cells:
    """The cells of a block.

    Without edges those of its own brackets, if it has any. Else 20 equal bins between declared bounds; else, with a
    guess of a typical value m and a spread s on the scale of the logarithm, bins from 0 that hold 1/20 each of a
    lognormal with median m and deviation s, the last of them cut at 2, 2.5 and 3 deviations, up to m exp(4 s).

    Raises
    ------
    InputError
        If edges do not ascend; UndeclaredBins if they are needed and not given.
    """
    missing, discrete = block.missing is not None, family(block.model).discrete
    if "categories" in family(block.model).uses:
        if block.name in edges:
            raise InputError(f"Edges are given (--edges) of '{block.name}', whose categories are its cells.")
        return Cells(block.name, tuple(block.options["categories"]), missing=missing)
    own = tuple(float(edge) for edge in block.options.get("bracket_edges", ()))
    if block.name not in edges and own:
        return Cells(block.name, edges=own, missing=missing, discrete=discrete)
    given = edges[block.name] if block.name in edges else _by_rule(block)
    check_edges(block.name, given)
    options = Options(zero_part=bool(block.options.get("zero_part")), bracket_edges=own)
    if family(block.model).has_zeros(options) or own.count(0.0) == 2:
        given = with_zero_alone(given)
    return Cells(block.name, edges=given, missing=missing, discrete=discrete)


def _by_rule(block: Block) -> tuple[float, ...]:
    bounds, guess = block.options.get("bounds"), block.options.get("guess")
    if bounds is not None:
        return tuple(np.linspace(float(bounds[0]), float(bounds[1]), CELLS + 1).tolist())
    of_logarithm = "logarithm" in family(block.model).spread_words
    if guess is None or not of_logarithm or block.options.get("transformation") == "asinh":
        raise UndeclaredBins(
            f"Rivals need '{block.name}' cut into bins: declare their edges (--edges {block.name}=0,10000,…). The "
            f"first and the last are the smallest and the largest value that may occur. Take none from the table."
        )
    typical, spread = map(float, guess)
    deviations = np.concatenate([scipy.special.ndtri(np.arange(1, CELLS) / CELLS), TAIL])
    return (0.0, *(typical * np.exp(spread * deviations)).tolist())


def check_edges(name: str, edges: tuple[float, ...]) -> None:
    """Raises InputError for fewer than three edges, or some that do not ascend."""
    ascending = all(a < b for a, b in itertools.pairwise(edges))
    if len(edges) < 3 or not ascending or not all(math.isfinite(edge) for edge in edges):
        raise InputError(f"The edges of '{name}' (--edges) must be three or more finite numbers that ascend.")


def public_codes(name: str, column: pd.Series, edges: Edges, categorical: bool = False) -> Codes:
    """The codes of a public predictor: its levels, or bins of a number by given edges, else by its quantiles.

    Parameters
    ----------
    categorical : bool
        Whether its numbers are codes of categories.
    """
    if name in edges:
        check_edges(name, edges[name])
        values = pd.to_numeric(column).to_numpy(dtype=float)
        return np.unique(np.searchsorted(edges[name][1:-1], values, side="right"), return_inverse=True)[1]
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > PUBLIC_CELLS and not categorical:
        values = column.to_numpy(dtype=float)
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, PUBLIC_CELLS + 1)[1:-1]))
        return np.unique(np.searchsorted(cuts, values, side="right"), return_inverse=True)[1]
    return np.unique(column.astype(str), return_inverse=True)[1]
