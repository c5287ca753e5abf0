"""A mechanism on whole records: what each part gives, one bound over all of them, synthetic tables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.of_mechanism import WithBounds
from synth_core.analysis.population import Population
from synth_core.analysis.records.blocks import Part
from synth_core.analysis.records.disclosure import AttributeDisclosure
from synth_core.analysis.records.numbers import NumberMeasures
from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.mechanisms.bounds import Bounds
from synth_core.mechanisms.guarantees import Guarantee

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PartResult:
    """One part under a mechanism.

    Attributes
    ----------
    part : Part
    result : Result
        The `synthetic` of a later part is drawn at the confidential earlier values: it must never leave.
    bounds : Bounds
        Of all records; 0 where a value is missing. None where nothing is sampled.
    density_scale : str
        On which scale its density is taken, in words.
    distance : float
        Of the synthetic values, drawn conditional on synthetic earlier ones: the largest difference of the
        distribution functions, or the total variation of categories; the mean over data sets.
    """

    part: Part
    result: Result
    bounds: Bounds | None
    density_scale: str
    distance: float

    @property
    def epsilon(self) -> float | None:
        """The epsilon that is the part's; None where all parts are measured together."""
        return None if self.bounds is None else self.result.epsilon

    @property
    def lipschitz_bound(self) -> float | None:
        """Delta of the part; None where nothing is sampled."""
        return None if self.bounds is None else self.bounds.lipschitz_bound


@dataclass(frozen=True)
class Judged:
    """How close a synthetic table is to the confidential one, and what an intruder learns from it.

    Attributes
    ----------
    measures : Measures
        Of all columns together, predictors included.
    numbers : tuple of NumberMeasures
        Of each sensitive number, in the order of blocks.
    disclosure : tuple of AttributeDisclosure
        Of each sensitive variable; empirical.
    """

    measures: Measures
    numbers: tuple[NumberMeasures, ...]
    disclosure: tuple[AttributeDisclosure, ...]


@dataclass(frozen=True)
class RecordsResult(WithBounds):
    """A mechanism on whole records. Confidential, except `synthetic`.

    Attributes
    ----------
    mechanism : str
    parts : tuple of PartResult
    lipschitz_bounds : array of shape (n_records,), or empty where nothing is sampled
        Delta_i over all combinations of the blocks' draws, in nats.
    epsilon_promised : float or None
        Of a strict mechanism: what it promises for all blocks together.
    drawn : tuple of dict
        Of each data set the values of every part, of shape (n_records,) in the order of the records: numbers, or codes
        of categories; missing as NaN.
    synthetic : tuple of DataFrame
        The same as the table has them: the sensitive columns.
    measures : Measures
        Of all columns together, predictors included; means over data sets.
    seconds : float
    numbers : tuple of NumberMeasures
        Of each sensitive number, in the order of blocks.
    disclosure : tuple of AttributeDisclosure
        Of each sensitive variable in the first data set; empirical.
    population : tuple of Population
        Of each sensitive variable by survey weights; empty without them.
    accuracy_by : str
        The column of survey weights that all other utility counts by; empty where each record counts once.
    """

    mechanism: str
    parts: tuple[PartResult, ...]
    lipschitz_bounds: Array
    epsilon_promised: float | None
    drawn: tuple[dict[str, Array], ...]
    synthetic: tuple[pd.DataFrame, ...]
    measures: Measures
    seconds: float
    numbers: tuple[NumberMeasures, ...] = ()
    disclosure: tuple[AttributeDisclosure, ...] = ()
    population: tuple[Population, ...] = ()
    accuracy_by: str = ""

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all blocks together: the weakest of theirs."""
        return min((part.result.guarantee for part in self.parts), key=lambda each: each.strength)

    @property
    def fits(self) -> tuple[Result, ...]:
        """The result of every fit, in order."""
        return tuple(part.result for part in self.parts)

    @property
    def by_record(self) -> dict[str, Array]:
        """What is known of every record, of shape (n_records,) each."""
        return {"lipschitz_bound": self.lipschitz_bounds} if self.lipschitz_bounds.size else {}

    @property
    def epsilon_replace(self) -> float | None:
        """The epsilon of all sensitive values of one record changed; None where it is not promised."""
        return None if self.epsilon_promised is None else 2.0 * self.epsilon_promised

    @property
    def growth(self) -> Array:
        """Sum of the blocks' bounds, which Delta does not exceed, by the number of draws."""
        growths = [part.result.growth for part in self.parts]
        shortest = min(map(len, growths))
        return np.sum([each[:shortest] for each in growths], axis=0)

    @property
    def tuned(self) -> dict[str, int | float]:
        """What was solved for, of any block."""
        return {name: value for part in self.parts for name, value in part.result.tuned.items()}

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the numbers should not be used, by block; of a posterior of all variables once."""
        if not self.point.likelihood.samples:
            return self.parts[0].result.problems
        return tuple(f"{p.part.name}: {text}" for p in self.parts for text in p.result.problems)

    @property
    def summary_numbers(self) -> ResultNumbers:
        """Its numbers without arrays, as those of one variable."""
        weakest = min(self.parts, key=lambda each: each.result.guarantee.strength).result
        statistics = {each.name: each.statistics for each in self.numbers}
        variables = tuple(
            replace(
                each.result.variable_numbers,
                name=each.part.name,
                variable=each.part.block.name,
                model=each.part.settings.model,
                share=each.part.share,
                epsilon=each.epsilon,
                lipschitz_bound=each.lipschitz_bound,
                ecdf_max=each.distance,
                ecdf_avg=None,
                statistics=statistics.get(each.part.name, ()),
            )
            for each in self.parts
        )
        return ResultNumbers(
            mechanism=self.mechanism,
            label=self.point.label,
            lipschitz_bound=self.lipschitz_bound,
            epsilon=self.epsilon,
            epsilon_replace=self.epsilon_replace,
            n_draws=len(self.growth),
            n_records=len(self.synthetic[0]),
            n_datasets=len(self.synthetic),
            variables=variables,
            joint=self.measures,
            weights_from=weakest.weights_from,
            tuned=weakest.tuned,
            problems=self.problems,
            seconds=self.seconds,
            anchor=self.parts[0].result.anchor,
            counted=self.parts[0].result.counted,
            population=self.population,
            accuracy_by=self.accuracy_by,
        )
