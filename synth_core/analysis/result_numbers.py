"""The plain numbers of a result, of one sensitive variable or of several: one typed record for all who read them.

Rule, scenarios, slides, tables, files and studies take their numbers from here and never ask which kind of result
gave them.
"""

from __future__ import annotations

from dataclasses import dataclass

from synth_core.analysis.counted_table import CountedTable
from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.of_mechanism import WithGuarantee
from synth_core.analysis.population import Population, accuracy_words
from synth_core.analysis.utility import Statistic
from synth_core.engine.sampling import Diagnostics
from synth_core.mechanisms.guarantees import WeightsFrom


@dataclass(frozen=True)
class VariableNumbers:
    """The plain numbers of one fitted variable. Confidential.

    Attributes
    ----------
    name : str
        Its column; empty where it is the only one.
    variable, model : str
        The sensitive variable that it belongs to, and its family; empty where it is the only one. Of a variable that
        may be missing, whether it is and its value are two fits.
    share : float
        Of epsilon.
    epsilon : float or None
        None where all variables are measured together.
    lipschitz_bound : float or None
        None without a posterior.
    n_records, n_zero_weight, n_truncated, n_censored : int
        Records with a value, those of weight 0, those that truncation set to 0, those clamped at some draw.
    ecdf_max : float
        Largest difference of the distribution functions; of categories, half the sum of the differences of shares.
    ecdf_avg : float or None
        Average squared difference; None among several.
    statistics : tuple of Statistic
        Mean and percentiles, or shares; empty for categories among several variables.
    anchor : str
        A sentence about what the likelihood is anchored at; empty where it is not.
    tuned : dict
        What was solved for.
    diagnostics : Diagnostics or None
        Of the fit; None for the histogram.
    problems : tuple of str
        Why the numbers should not be used.
    """

    name: str
    variable: str
    model: str
    share: float
    epsilon: float | None
    lipschitz_bound: float | None
    n_records: int
    n_zero_weight: int
    n_truncated: int
    n_censored: int
    ecdf_max: float
    ecdf_avg: float | None
    statistics: tuple[Statistic, ...]
    anchor: str
    tuned: dict[str, int | float]
    diagnostics: Diagnostics | None
    problems: tuple[str, ...]

    @property
    def n_read(self) -> int:
        """Records that the fit reads: those of a pilot have weight 0."""
        return self.n_records - self.n_zero_weight

    @property
    def clamped(self) -> float:
        """The share of the records read that were clamped at some draw."""
        return self.n_censored / max(self.n_read, 1)


@dataclass(frozen=True)
class ResultNumbers(WithGuarantee):
    """The plain numbers of a result: no arrays, no curves, no values of single records. Confidential.

    Attributes
    ----------
    mechanism, label : str
        Its key, and its name.
    lipschitz_bound : float or None
        Delta, in nats, over all combinations of the variables' draws; None for the histogram.
    epsilon, epsilon_replace : float
        Of one data set, removing or replacing all that is sensitive about a record; the second may be None.
    n_draws : int
        Posterior draws that all this was measured at; 0 for the histogram.
    n_records, n_datasets : int
    variables : tuple of VariableNumbers
        In the order of synthesis.
    joint : Measures or None
        Of all columns together; None where one variable is sensitive.
    weights_from : str
        Where the weights come from.
    tuned : dict
        What was solved for; of several variables, for that of the weakest guarantee.
    problems : tuple of str
        Why the numbers should not be used, each naming its variable where there are several.
    seconds : float
        What it cost when it was computed.
    anchor : str
        A sentence about what the likelihood is anchored at; empty where it is not.
    cached : bool
    preview_khat : float or None
        Of an approximate result.
    oscillation, oscillation_joint : float or None
        See `Result`.
    bound_mean, weight_mean, weight_min, weight_max : float or None
        Means over the records and extremes; None for the histogram, and of several variables.
    match_risk, true_match_rate, false_match_rate : float or None
        Identification risk, see `IdentificationRisk`; means over data sets. None of several variables.
    overlap : float or None
        Of intervals of regression coefficients; None without predictors, and of several variables.
    population : tuple of Population
        Utility of each sensitive variable by survey weights; empty without them.
    accuracy_by : str
        The column of survey weights that all other utility counts by; empty where each record counts once.
    counted : tuple of CountedTable
        See `Result`.
    """

    mechanism: str
    label: str
    lipschitz_bound: float | None
    epsilon: float
    epsilon_replace: float | None
    n_draws: int
    n_records: int
    n_datasets: int
    variables: tuple[VariableNumbers, ...]
    joint: Measures | None
    weights_from: WeightsFrom
    tuned: dict[str, int | float]
    problems: tuple[str, ...]
    seconds: float
    anchor: str
    cached: bool = False
    preview_khat: float | None = None
    oscillation: float | None = None
    oscillation_joint: float | None = None
    bound_mean: float | None = None
    weight_mean: float | None = None
    weight_min: float | None = None
    weight_max: float | None = None
    match_risk: float | None = None
    true_match_rate: float | None = None
    false_match_rate: float | None = None
    overlap: float | None = None
    population: tuple[Population, ...] = ()
    accuracy_by: str = ""
    counted: tuple[CountedTable, ...] = ()

    @property
    def charged(self) -> int:
        """How many times the epsilon of one data set is charged for all."""
        return self.guarantee.charged(self.n_datasets)

    @property
    def total_epsilon(self) -> float:
        """Epsilon of all data sets."""
        return self.epsilon * self.charged

    @property
    def whose_accuracy(self) -> str:
        """Whether accuracy is of the sample or of the population, in a sentence; empty without survey weights."""
        return accuracy_words(self.accuracy_by, bool(self.population))

    @property
    def several(self) -> bool:
        """Whether whole records are synthesized: several fits under one epsilon."""
        return self.joint is not None

    @property
    def ecdf_max(self) -> float:
        """The largest over the variables."""
        return max(each.ecdf_max for each in self.variables)

    @property
    def ecdf_avg(self) -> float | None:
        """Average squared difference of the one variable; None of several."""
        return None if self.several else self.variables[0].ecdf_avg

    @property
    def statistics(self) -> tuple[Statistic, ...]:
        """Statistics of the one variable; empty of several, which have their own."""
        return () if self.several else self.variables[0].statistics

    @property
    def diagnostics(self) -> Diagnostics | None:
        """Of the fit of the one variable; None of several, which have their own."""
        return None if self.several else self.variables[0].diagnostics

    @property
    def n_zero_weight(self) -> int:
        return max(each.n_zero_weight for each in self.variables)

    @property
    def n_truncated(self) -> int:
        return max(each.n_truncated for each in self.variables)

    @property
    def n_censored(self) -> int:
        return max(each.n_censored for each in self.variables)

    @property
    def clamped(self) -> float:
        """The largest over the variables."""
        return max(each.clamped for each in self.variables)

    @property
    def synthetic(self) -> dict[str, float]:
        """Statistics of the synthetic values by name."""
        return {each.name: each.synthetic for each in self.statistics}

    @property
    def errors(self) -> dict[str, float]:
        """Errors of the statistics in words, see `error_name`."""
        return {error_name(each): each.error for each in self.statistics}


def error_name(statistic: Statistic) -> str:
    """The error of a statistic in words, without its value: "relative error of the q90"."""
    if statistic.instead is None:
        return f"relative error of the {statistic.name}"
    return f"difference of the {statistic.words} ({statistic.name})"
