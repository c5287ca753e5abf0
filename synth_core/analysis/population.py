"""Utility by survey weights, beside that of the sample: how close each variable's estimates of the population are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from synth_core.analysis.survey_estimates import Sample, compared, mean_with_interval, weighted_statistics
from synth_core.analysis.utility import MISSING, SHARE_OF, Statistic, distance_of, distinct
from synth_core.system.number_text import over_data_sets, percent, points_at_most, signed


@dataclass(frozen=True)
class Population:
    """How close a synthetic variable is to the confidential one, both by survey weights; means over data sets.

    Attributes
    ----------
    name, weight : str
        Of the variable and of the weights' column.
    ecdf_max : float
        The largest difference of the weighted distribution functions; of categories the total variation distance.
    statistics : tuple of Statistic
        Weighted mean and percentiles, or shares of categories, of the values that are there, and where some are not
        the weighted share that is missing; with design-based 95 % intervals.
    n_datasets : int
    """

    name: str
    weight: str
    ecdf_max: float
    statistics: tuple[Statistic, ...]
    n_datasets: int = 1

    @property
    def off(self) -> str:
        """The distance in words."""
        return f"at most {points_at_most(self.ecdf_max)} points{over_data_sets(self.n_datasets)}"

    @property
    def within(self) -> int:
        """How many of the synthetic estimates lie within the 95 % interval of the confidential one."""
        return sum(_inside(each.compared) for each in self.estimates)

    @property
    def estimates(self) -> tuple[Statistic, ...]:
        """The statistics, each comparison once."""
        return distinct(self.statistics)


def _inside(statistic: Statistic) -> bool:
    low, high = statistic.confidential_interval
    return low <= statistic.synthetic <= high


def population_of(
    name: str,
    weight: str,
    confidential: Sample,
    synthetic: Sequence[Sample],
    percentiles: tuple[float, ...],
    categories: tuple[str, ...] | None = None,
    missing: Sequence[Sample] = (),
) -> Population:
    """Weighted estimates of both; parameters as of `weighted_statistics`.

    Parameters
    ----------
    missing : sequence of Sample
        Of all confidential records and of those of each data set, 1 where the value is missing, else 0.
    """
    values, survey = confidential
    gaps = [
        distance_of(values, theirs, categories, (survey.weights, own.weights)).ecdf_max
        for theirs, own in synthetic
    ]
    found = weighted_statistics(confidential, synthetic, percentiles, categories)
    if any(absent.any() for absent, _ in missing):
        share = compared(MISSING, [mean_with_interval(*sample) for sample in missing])
        found = (*found, replace(share, instead=share))  # its error is in points
    return Population(name, weight, float(np.mean(gaps)), found, len(gaps))


def population_words(population: Population) -> str:
    """The weighted estimates of a variable in words."""
    errors = ", ".join(
        f"{each.words} {signed(100 * each.error)} {each.unit}"
        for each in population.estimates
        if math.isfinite(each.error) and not each.name.startswith(SHARE_OF)
    )
    band = f"{population.within} of {len(population.estimates)} estimates in the 95 % band"
    return f"{population.name} off by {population.off}{f' ({errors})' if errors else ''}, {band}"


def furthest_in_population(populations: Sequence[Population]) -> str:
    """The variable that is furthest off by survey weights, in a short sentence; of one variable all that is estimated.

    Empty without survey weights.
    """
    if len(populations) < 2:
        return populations_words(populations)
    worst = max(populations, key=lambda each: each.ecdf_max)
    return f"In the population, by {worst.weight}, {worst.name} is furthest off, by {worst.off}."


def populations_words(populations: Sequence[Population]) -> str:
    """The weighted estimates of all variables in a sentence; empty without survey weights."""
    if not populations:
        return ""
    said = "; ".join(map(population_words, populations))
    return f"In the population, by {populations[0].weight}: {said}."


def missing_words(populations: Sequence[Population]) -> str:
    """The weighted shares that are missing, in a sentence; empty where none is, or without survey weights."""
    said = [
        f"{percent(share.confidential)} of {each.name}, and {percent(share.synthetic)} of the synthetic one"
        for each in populations
        for share in each.estimates
        if share.name == MISSING
    ]
    return f"By {populations[0].weight} there is missing: {'; '.join(said)}." if said else ""


def accuracy_words(by: str, weighted: bool) -> str:
    """Whose accuracy is shown, in a sentence; empty where no survey weights are named.

    Parameters
    ----------
    by : str
        The column of survey weights that accuracy counts by; empty: each record counts once.
    weighted : bool
        Whether there are survey weights.

    Examples
    --------
    >>> accuracy_words("PWGTP", True)
    'Accuracy is of the population, by PWGTP.'
    """
    if by:
        return f"Accuracy is of the population, by {by}."
    return "Accuracy is of the sample, each record once." if weighted else ""
