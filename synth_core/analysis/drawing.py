"""Synthetic values given one draw of the parameters: independent of each other, evenly spread, or balanced.

Each value is turned from a uniform number of its record. Even numbers are each uniform too, so a single synthetic value
has the same distribution; together they leave no gaps among records with like predictors, so shares and percentiles of
the synthetic table hardly have noise of their own. Both read the draw and the predictors only: what a release
promises of the draw, it promises of the values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.balanced_drawing import DRAWS, balanced_choice, binned
from synth_core.mechanisms.randomness import spawnable
from synth_core.models.base import OPEN, Array, Draws, Model

Drawing = Literal["independent", "even", "balanced"]
DRAWINGS: tuple[Drawing, ...] = get_args(Drawing)
DRAWING_WORDS: dict[Drawing, str] = {
    "independent": "independent",
    "even": "spread evenly",
    "balanced": "balanced over pairs and triples of columns",
}
WIDTH = 2.0**-30  # of a cell of the sequence; its numbers are the lower ends of cells


def synthetic_values(model: Model, draw: Draws, rng: np.random.Generator, drawing: Drawing) -> Array:
    """One synthetic outcome for every record, of shape (n_records,).

    Parameters
    ----------
    draw : dict
        One draw of the parameters: arrays without the leading axis.
    drawing : str
        "independent" given the draw, as in the papers, "even" among records with like predictors, or "balanced".

    Raises
    ------
    InputError
        For even values of a model that draws them by itself.
    """
    if drawing == "independent":
        return model.predict(draw, rng)
    if drawing == "balanced":
        each = pool_drawing([model])
        values = np.stack([synthetic_values(model, draw, rng, each) for _ in range(DRAWS)])
        kept = balanced_choice(binned(values)[:, :, None], design_codes(model.records.design), rng)
        return np.asarray(values[kept, np.arange(len(kept))])
    return model.from_uniform(draw, even_uniforms(model.records.distinct_design[1], rng))


def pool_drawing(models: Iterable[Model]) -> Drawing:
    """How the draws are made that balanced values are chosen among: even where the models can, then less is to choose.

    Even draws tell better, too, what is expected.
    """
    return "even" if all(model.spreads for model in models) else "independent"


def design_codes(design: Array) -> NDArray[np.int64]:
    """Codes of the columns of a design that are not constant, of shape (n_records, n_columns)."""
    codes = [binned(column) for column in design.T if np.ptp(column) > 0]
    return np.column_stack(codes) if codes else np.zeros((len(design), 0), dtype=np.int64)


def even_uniforms(kind_of: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Numbers in (0, 1), each uniform, even within runs of neighbouring kinds of any length.

    A van der Corput sequence with a random shift of its binary digits, in the order of the kinds: among any m = 2^k
    numbers from a multiple of m on, one lies in each m-th of (0, 1) (Owen 1995; a randomised quasi-Monte Carlo rule).

    Parameters
    ----------
    kind_of : array of int of shape (n_records,)
        Alike in number is alike in predictors; neighbouring kinds are more alike than others.

    Returns
    -------
    array of shape (n_records,)

    Examples
    --------
    >>> found = even_uniforms(np.array([5, 2, 2, 5, 2, 5, 2, 5]), np.random.default_rng(1))
    >>> sorted((4 * found[[1, 2, 4, 6]]).astype(int).tolist()), sorted((8 * found).astype(int).tolist())
    ([0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6, 7])
    """
    n = len(kind_of)
    # Records of a kind come in a random order: their place in the file says nothing.
    order = np.lexsort((rng.random(n), kind_of))
    sobol = scipy.stats.qmc.Sobol(1, scramble=True, rng=spawnable(rng))
    sequence = sobol.random_base2(max(n - 1, 0).bit_length())[:n, 0]
    uniforms = np.empty(n)
    uniforms[order] = sequence + WIDTH * rng.random(n)
    return np.clip(uniforms, *OPEN)
