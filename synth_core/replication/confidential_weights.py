"""Survey weights that are confidential themselves: synthesized after the outcome, as drawn and smoothed.

Our reading of two synthesizers of Hu, Savitsky and Williams (2022), whose paper is not at hand: FBS draws outcome and
weight together; FBP smooths the weights, so that a record has the one that is expected of its outcome and predictors.
What a model of the population makes of the sample is after León-Novelo and Savitsky (2019): with lognormal outcomes
and inclusion probabilities it is again two lognormal regressions
(`tests/replication/test_confidential_weights.py`), so one fit serves both here.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.records.blocks import Block
from synth_core.experiments.studies.extra_measures import ConfidentialWeights
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Case, Design, Study, StudyPoint
from synth_core.experiments.studies.verdicts import AGREES, DIFFERS, UNDECIDED, Row, shown
from synth_core.replication.survey import STATISTICS, sample_of, truth_of

Array = NDArray[np.float64]

CASE = "Confidential weights"
SIZE, ROWS, REPLICATES, EPSILON = 50_000, 1000, 200, 20.0
KAPPA, NOISE = 0.5, 0.8  # log inclusion probability: slope by the log outcome, and what is left
LABELS = {"unweighted": "Unweighted", "weighted": "Weighted", "anchored": "Anchored"}  # likelihoods by risk


@cache
def population() -> tuple[Array, NDArray[np.str_], Array]:
    """Value, area and chance of a single draw of everybody."""
    rng = np.random.default_rng(20_23)
    area = rng.choice(["north", "south"], SIZE)
    pay = rng.lognormal(3 + 0.3 * (area == "north"), 0.7)
    size = pay**KAPPA * rng.lognormal(0, NOISE, SIZE)
    return pay, area, size / size.sum()


def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A sample of the population, with its survey weights."""
    return sample_of(population(), rng, rows)


def study() -> Study:
    """Incomes in two areas and their weights, n = 1,000 of 50,000; R = 200."""
    blocks = (
        Block("pay", "lognormal", {"guess": (20.0, 1.0)}, earlier_scale=0.1),  # so that its logarithm enters
        Block("w", "lognormal", {"guess": (50.0, 1.0)}),
    )
    extra = ConfidentialWeights("pay", "w")
    points = tuple(StudyPoint(name, key, {}, (extra,)) for key, name in LABELS.items())
    settings: dict[str, Any] = {
        "outcome": "pay",
        "model": "lognormal",
        "predictors": ("area",),
        "epsilon": EPSILON,
    }
    design = Design("informative sample of incomes 2", simulate)
    return Study(
        "confidential-weights",
        "Confidential survey weights, as drawn and smoothed",
        "our reading of Hu, Savitsky and Williams 2022",
        (Case(CASE, design, ROWS, settings, points, blocks=blocks),),
        REPLICATES,
        tuple(f"{name}_{how}" for name in ("mean", "median") for how in ("drawn", "smoothed")),
        note="Under “published” stands what we had expected: smoothed weights (FBP) are nearer than drawn ones (FBS).",
    )


def compare(outcome: StudyOutcome) -> list[Row]:
    """How far estimates of the population are off with drawn and with smoothed weights."""
    rows, known = [], truth_of(population()[0])
    for name, point in [(name, point) for name in STATISTICS for point in LABELS.values()]:
        true, of = known[name], partial(outcome.values, CASE, point)
        off = {
            how: of(f"{name}_{how}") / true - 1 for how in ("drawn", "smoothed", "unweighted", "confidential")
        }
        words = ", ".join(f"{how} {100 * np.sqrt(np.mean(each**2)):.1f} %" for how, each in off.items())
        quantity = f"{name} of the population: {point}"
        rows.append(shown(f"{quantity}, root mean squared error", words))
        bias, error = _mean_and_error(100 * off["smoothed"])
        rows.append(shown(f"{quantity}, smoothed, mean error", f"{bias:+.1f} %", error))
        rows.append(
            _nearer(f"{quantity}, squared error that smoothing takes away", off["drawn"], off["smoothed"])
        )
    return rows


def _mean_and_error(values: Array) -> tuple[float, float]:
    """The mean over databases and its Monte Carlo error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(error)


def _nearer(quantity: str, drawn: Array, smoothed: Array) -> Row:
    """Whether smoothed weights are nearer, by the mean of paired differences of squared errors."""
    saved, error = _mean_and_error((drawn**2 - smoothed**2) / np.mean(drawn**2))
    verdict = AGREES if saved > 2 * error else DIFFERS if saved < -2 * error else UNDECIDED
    return Row(quantity, "smoothed is nearer", f"{100 * saved:.0f} %", error, verdict)
