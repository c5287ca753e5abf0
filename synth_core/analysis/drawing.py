"""Synthetic values given one draw of the parameters: independent of each other, evenly spread, or balanced.

Each value is turned from a uniform number of its record. Even numbers are each uniform too, so a single synthetic value
has the same distribution; together they leave no gaps among records with like predictors, so shares and percentiles of
the synthetic table hardly have noise of their own. Both read the draw and the predictors only: what a release
promises of the draw, it promises of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.analysis.balanced_drawing import DRAWS, balanced_choice, binned, drawn_codes
from synth_core.data.decided import Possible
from synth_core.mechanisms.randomness import spawnable
from synth_core.models.base import OPEN, Array, Draws, Model, parted

Drawing = Literal["independent", "even", "balanced"]
DRAWINGS: tuple[Drawing, ...] = get_args(Drawing)
DRAWING_WORDS: dict[Drawing, str] = {
    "independent": "independent",
    "even": "spread evenly",
    "balanced": "balanced over pairs and triples of columns",
}
REDRAWN = (
    1,
    9,
    40,
    150,
)  # times that a number is drawn again, at once; the nearest one that is possible after that
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
        once = partial(synthetic_values, model, draw, rng)
        return balanced_values(lambda how: {"": once(how)}, [model], model.records.design, rng)[""]
    return model.from_uniform(draw, even_uniforms(model.records.distinct_design[1], rng))


def possible_values(
    model: Model, draw: Draws, rng: np.random.Generator, values: Array, left: Possible
) -> Array:
    """Synthetic values of which those that rules exclude are drawn again, from the model given what is possible.

    What a rule excludes depends on public columns and on values drawn before: this is part of the drawing, and what is
    promised of the draw of parameters does not change.

    Parameters
    ----------
    values : array of shape (n_records,)
        Drawn from the model of these records.
    left : Possible
        What rules leave of these records.
    """
    values = values.copy()
    again = np.flatnonzero(~left.holds(values))
    if not again.size:
        return values
    mine, some = left.of(again), model.of_records(again, model.records.outcome[again])
    if mine.categories is not None:
        one = {name: np.asarray(value)[None] for name, value in draw.items()}
        codes = np.arange(mine.categories.shape[1], dtype=float)
        ends = [np.full(len(again), code) for code in codes]
        shares = np.stack([some.interval_mass(one, end, end, slice(None))[0] for end in ends])
        shares = np.where(mine.categories.T, np.maximum(shares, np.finfo(float).tiny), 0.0)
        last = mine.categories.shape[1] - 1 - np.argmax(mine.categories[:, ::-1], axis=1)
        part = parted(np.clip(rng.random(len(again)), *OPEN), shares / shares.sum(axis=0))[0]
        values[again] = np.minimum(part, last)  # their sum may round to less
        return values
    # "n < 3" ends just below 3: of counts the nearest that is possible is 2.
    lower, upper = (np.ceil(mine.lower), np.floor(mine.upper)) if model.discrete else (mine.lower, mine.upper)
    found = np.where(lower == upper, lower, values[again])
    for times in REDRAWN:
        wrong = np.flatnonzero(~mine.holds(found))
        if not wrong.size:
            break
        left_here = mine.of(wrong)
        drawn = some.of_records(wrong, some.records.outcome[wrong]).predictions(draw, rng, times)
        holds = np.stack([left_here.holds(each) for each in drawn])
        some_hold, first = holds.any(axis=0), holds.argmax(axis=0)
        found[wrong] = np.where(some_hold, drawn[first, np.arange(len(wrong))], found[wrong])
    values[again] = np.clip(found, lower, upper)  # what the model holds for next to impossible
    return values


def balanced_values(
    once: Callable[[Drawing], Mapping[str, Array]],
    models: Sequence[Model],
    design: Array,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Values of some columns, of each record those of one of `DRAWS` draws: see `balanced_drawing`.

    The draws are even where the models can: then less is to choose, and they tell better what is expected.

    Parameters
    ----------
    once : callable
        One draw of every column, arrays of shape (n_records,), as it is to be drawn.
    design : array of shape (n_records, n_columns)
        Of the predictors.
    """
    how: Drawing = "even" if all(model.spreads for model in models) else "independent"
    draws = [once(how) for _ in range(DRAWS)]
    values = {name: np.stack([each[name] for each in draws]) for name in draws[0]}
    public = [binned(column) for column in design.T if np.ptp(column) > 0]
    kept = balanced_choice(
        np.stack(
            [
                drawn_codes(each, not model.ordered)
                for each, model in zip(values.values(), models, strict=True)
            ],
            axis=-1,
        ),
        np.column_stack(public) if public else np.zeros((len(design), 0), dtype=np.int64),
        rng,
    )
    return {name: np.asarray(each[kept, np.arange(len(kept))]) for name, each in values.items()}


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
