"""Samples in which large values are taken more often: estimates of the population with survey weights and without.

One population, of which every database is a sample with replacement, in proportion to the root of the value. What is
true of the population is known; "in the band" is within the design-based 95 % interval of the confidential sample.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.experiments.studies.extra_measures import WithoutWeights
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Case, Design, Study, StudyPoint
from synth_core.experiments.studies.verdicts import Row, claim, shown
from synth_core.system.number_text import percent

Array = NDArray[np.float64]

CASE = "Informative sample"
SIZE, ROWS, REPLICATES, EPSILON = 50_000, 1000, 100, 2.0
STATISTICS = ("mean", "q15", "median", "q90")
DECLARED = {"weight_total": float(SIZE)}
MECHANISMS = ("unweighted", "anchored")  # without privacy, and with
NAMES = {"unweighted": "Unweighted", "anchored": "Anchored", "measured": "Measured"}
WITH, WITHOUT = "weights in the likelihood", "weights not in the likelihood"
BY_CLASS = f"{NAMES['measured']}, by class of weight"
MOST, FEW = 0.9, 0.5  # shares of databases in the band
NOISE = (
    "Without bias, but a synthetic table has noise of its own: of two independent samples of one law 83 % of the "
    "estimates would be in each other's band, and an anchored fit reads a part of the records."
)


@cache
def population() -> tuple[Array, NDArray[np.str_], Array]:
    """Value, area and chance of a single draw of everybody."""
    rng = np.random.default_rng(20_22)
    area = rng.choice(["north", "south"], SIZE)
    pay = rng.lognormal(3 + 0.3 * (area == "north"), 0.7)
    return pay, area, np.sqrt(pay) / np.sqrt(pay).sum()


def truth_of(pay: Array) -> dict[str, float]:
    """What is true of a population."""
    low, middle, high = np.quantile(pay, [0.15, 0.5, 0.9], method="inverted_cdf")
    return {"mean": float(pay.mean()), "q15": float(low), "median": float(middle), "q90": float(high)}


def sample_of(
    people: tuple[Array, NDArray[np.str_], Array], rng: np.random.Generator, rows: int
) -> pd.DataFrame:
    """A sample of value, area and chance of everybody, with its survey weights."""
    pay, area, chance = people
    drawn = rng.choice(len(pay), rows, p=chance)
    return pd.DataFrame({"pay": pay[drawn], "area": area[drawn], "w": (1 / (rows * chance[drawn])).round(3)})


def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A sample of the population."""
    return sample_of(population(), rng, rows)


def label(mechanism: str, weighted: bool) -> str:
    """The label of a point."""
    return f"{NAMES[mechanism]}, {WITH if weighted else WITHOUT}"


def study() -> Study:
    """Incomes in two areas, n = 1,000 of 50,000, ε = 2; R = 100."""
    points = [
        StudyPoint(label(key, weighted), key, DECLARED if weighted else {})
        for key, weighted in product(MECHANISMS, (True, False))
    ]
    points.append(StudyPoint(BY_CLASS, "measured", {}, (WithoutWeights(),)))
    settings: dict[str, Any] = {"outcome": "pay", "model": "lognormal", "predictors": ("area",)}
    settings |= {"weight": "w", "accuracy_of": "population", "epsilon": EPSILON, "guess": (20.0, 1.0)}
    design = Design("informative sample of incomes 1", simulate)
    return Study(
        "survey",
        "Estimates of a population with survey weights and without",
        "a design of our own",
        (Case(CASE, design, ROWS, settings, tuple(points)),),
        REPLICATES,
        ("ecdf_max", *STATISTICS),
        note="Every measure is of the population, by survey weights. Under “published” stands what we had expected.",
    )


def compare(outcome: StudyOutcome) -> list[Row]:
    """How often estimates of the population are in the band, and how far off they are."""
    of = partial(outcome.values, CASE)
    rows = [
        _band(of, "Confidential sample", name, of(BY_CLASS, f"data_{name}"), "truth") for name in STATISTICS
    ]
    for key, weighted in product(MECHANISMS, (True, False)):
        point = label(key, weighted)
        rows += [
            _band(of, point, name, of(point, name), "often" if weighted else "seldom") for name in STATISTICS
        ]
    rows += [_band(of, BY_CLASS, name, of(BY_CLASS, name), "often") for name in STATISTICS]
    without = "Measured, without weights"
    return rows + [_band(of, without, name, of(BY_CLASS, f"{name}_without"), "seldom") for name in STATISTICS]


def _band(of: partial[Array], point: str, name: str, values: Array, expected: str) -> Row:
    """One statistic: the share of databases in which it is in the band, and how far it is off on average."""
    low, high = (of(BY_CLASS, f"data_{name}_{end}") for end in ("lower", "upper"))
    true = truth_of(population()[0])[name]
    tried = np.full(len(values), true) if expected == "truth" else values
    share = float(((low <= tried) & (tried <= high)).mean())
    error = float(np.sqrt(max(share * (1 - share), 0.25 / len(values)) / len(values)))
    of_interval = float(np.sqrt(0.95 * 0.05 / len(values)))
    words = f"{percent(share, 0)}; off by {100 * (float(values.mean()) / true - 1):+.1f} % on average"
    quantity = f"{name} of the population in the band: {point}"
    if expected == "truth":
        return claim(quantity, "95 %", words, abs(share - 0.95) <= 3 * of_interval, error=of_interval)
    if name != "median":
        return shown(quantity, words, error)
    holds = share >= MOST if expected == "often" else share <= FEW
    return claim(quantity, expected, words, holds, "" if holds else NOISE, error)
