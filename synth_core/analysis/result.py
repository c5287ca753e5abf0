"""Everything known of one mechanism on one table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.counted_table import CountedTable
from synth_core.analysis.of_mechanism import WithBounds, WithGuarantee
from synth_core.analysis.population import Population
from synth_core.analysis.result_numbers import ResultNumbers, VariableNumbers
from synth_core.analysis.utility import Statistic
from synth_core.engine.sampling import Diagnostics
from synth_core.mechanisms.guarantees import WeightsFrom

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Result(WithGuarantee, WithBounds):
    """Numbers and arrays of one mechanism. Confidential, except `synthetic`.

    Attributes
    ----------
    weights, lipschitz_bounds : arrays of shape (n_records,), or empty for the histogram
    growth : array of shape (n_draws,)
        Delta from the first s draws.
    synthetic : array of shape (n_datasets, n_records)
    outside : array of shape (n_records,), or empty
        lambda_i of the range-averaged standard.
    match_risk : array of shape (n_records,)
        Identification risk by record.
    epsilon_promised : float or None
        The a-priori epsilon of a strict guarantee; None where epsilon is measured, 2 * Delta.
    epsilon_replace : float or None
        For one record's value replaced: promised where strict, else over the draws, see `one_record`.
    oscillation, oscillation_joint : float or None
        How far one record's term varies over the draws, with all weights held, and with those of the others moving
        when it leaves, in nats. None for a clamped likelihood, and where it is not known.
    weights_from : str
        Where the weights come from, see `Mechanism.guarantee`.
    anchor : str
        A sentence about what the likelihood is anchored at; empty where it is not.
    tuned : dict
        What was solved for: k, scale, scalar weight, the refits it took and how close it came.
    population : Population or None
        Utility by survey weights, where there are any.
    accuracy_by : str
        The column of survey weights that all other utility counts by; empty where each record counts once.
    counted : tuple of CountedTable
        The noisy tables that the values are made of; empty where they are of a posterior.
    """

    mechanism: str
    weights: Array
    lipschitz_bounds: Array
    growth: Array
    synthetic: Array
    outside: Array
    match_risk: Array
    true_match_rate: float
    false_match_rate: float | None
    epsilon_promised: float | None
    epsilon_replace: float | None
    n_truncated: int
    n_censored: int
    ecdf_max: float
    ecdf_avg: float
    ecdf_location: float
    overlap: float | None
    statistics: tuple[Statistic, ...]
    diagnostics: Diagnostics | None
    seconds: float
    oscillation: float | None = None
    oscillation_joint: float | None = None
    weights_from: WeightsFrom = "current"
    anchor: str = ""
    tuned: dict[str, int | float] = field(default_factory=dict)
    cached: bool = False
    population: Population | None = None
    accuracy_by: str = ""
    counted: tuple[CountedTable, ...] = ()
    preview_khat: float | None = None  # of an approximate result, shown while the exact fit runs

    @property
    def n_zero_weight(self) -> int:
        return int((self.weights == 0).sum())

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the numbers should not be used; empty if they may."""
        return self.diagnostics.problems if self.diagnostics else ()

    @property
    def fits(self) -> tuple[Result]:
        """The only fit."""
        return (self,)

    @property
    def by_record(self) -> dict[str, Array]:
        """What is known of every record, of shape (n_records,) each."""
        known = {"weight": self.weights, "lipschitz_bound": self.lipschitz_bounds, "outside": self.outside}
        return {"match_risk": self.match_risk} | {name: each for name, each in known.items() if each.size}

    @property
    def variable_numbers(self) -> VariableNumbers:
        """Numbers of its one variable; one among several has a name and shares of its own."""
        return VariableNumbers(
            name="",
            variable="",
            model="",
            share=1.0,
            epsilon=self.epsilon,
            lipschitz_bound=self.lipschitz_bound,
            n_records=self.synthetic.shape[1],
            n_zero_weight=self.n_zero_weight,
            n_truncated=self.n_truncated,
            n_censored=self.n_censored,
            ecdf_max=self.ecdf_max,
            ecdf_avg=self.ecdf_avg,
            statistics=self.statistics,
            anchor=self.anchor,
            tuned=self.tuned,
            diagnostics=self.diagnostics,
            problems=self.problems,
        )

    @property
    def summary_numbers(self) -> ResultNumbers:
        """Its numbers without arrays, as those of whole records."""
        weights, bounds = self.weights, self.lipschitz_bounds
        n_datasets, n_records = self.synthetic.shape
        return ResultNumbers(
            mechanism=self.mechanism,
            label=self.point.label,
            lipschitz_bound=self.lipschitz_bound,
            epsilon=self.epsilon,
            epsilon_replace=self.epsilon_replace,
            n_draws=len(self.growth),
            n_records=n_records,
            n_datasets=n_datasets,
            variables=(self.variable_numbers,),
            joint=None,
            weights_from=self.weights_from,
            tuned=self.tuned,
            problems=self.problems,
            seconds=self.seconds,
            anchor=self.anchor,
            cached=self.cached,
            preview_khat=self.preview_khat,
            oscillation=self.oscillation,
            oscillation_joint=self.oscillation_joint,
            bound_mean=float(bounds.mean()) if bounds.size else None,
            weight_mean=float(weights.mean()) if weights.size else None,
            weight_min=float(weights.min()) if weights.size else None,
            weight_max=float(weights.max()) if weights.size else None,
            match_risk=float(self.match_risk.mean()),
            true_match_rate=self.true_match_rate,
            false_match_rate=self.false_match_rate,
            overlap=self.overlap,
            population=() if self.population is None else (self.population,),
            accuracy_by=self.accuracy_by,
            counted=self.counted,
        )
