"""Measured synthesis: what the posterior is conditioned on is a set of noisy tables of counts (measured.md)."""

from __future__ import annotations

from dataclasses import replace

from synth_core.mechanisms.guarantees import CHOSEN, Guarantee, bounded_range_rho, pure_rho
from synth_core.mechanisms.likelihoods.base import Likelihood, NamedPoint

_TABLES = (
    "Everything about a record's sensitive values is read through noisy counts. It does not rest on a draw, a "
    "sampler's convergence or a seed, and any number of data sets costs what one costs. "
)


def _limits(replaced: str) -> str:
    """What is not promised, given what it costs to replace a record's values."""
    return (
        "Anything about emptying a cell of a variable that is not declared to have missing values: its row leaves. As "
        f"little for {{values}} replaced: that costs {replaced}. Anything about the public columns, the number of "
        f"records, and the declared categories and edges. {CHOSEN}"
    )


_DECLARED = frozenset({"guess", "guess_zeros", "count_together", "choose_more"})

MEASURED = Likelihood(
    "measured",
    "Measured with Gaussian noise",
    "noisy counts of two and three columns, a model of them",
    Guarantee(
        "measured",
        "zCDP",
        2,
        _TABLES
        + "Gaussian noise gives ρ = ε²/8 (zCDP): what one ε-DP draw of a censored likelihood costs too.",
        _limits("at most 4ρ, the ρ of 2ε"),
        rho=bounded_range_rho,
        one_charge=True,
        secret_seed=False,
        no_odds="ε only names the ρ, which bounds how often much is learnt and not how much: no bound on odds follows.",
        pure=False,
    ),
    no_weights="Measured synthesis adds noise to counts of records: weights of records do not enter it.",
    no_range="No guarantee is known for measured synthesis under a sensitive range: its noise covers the whole range.",
    settings=_DECLARED | {"measured_posterior"},
    declared=_DECLARED,
    samples=False,
    model="log-linear model of noisy tables",
    method="noisy counts of sets of columns, records balanced over what they tell",
    seconds=5.0,
    combining=("", "u + b"),
    named=(NamedPoint("measured", "Measured"),),
)
MEASURED_LAPLACE = replace(
    MEASURED,
    key="laplace",
    label="Measured with Laplace noise",
    plain="noisy counts of two columns, a model of them",
    guarantee=Guarantee(
        "measured_laplace",
        "ε-DP",
        2,
        _TABLES + "Laplace noise gives ε.",
        _limits("at most 2ε"),
        rho=pure_rho,
        one_charge=True,
        secret_seed=False,
    ),
    seconds=3.0,
    combining=("", ""),  # u + b held in .81 of cases for coefficients
    named=(NamedPoint("measured_laplace", "Measured, pure ε"),),
)
