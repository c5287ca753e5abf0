"""The perturbed histogram (Censor, section 2.3): noisy counts of one variable's bins, and no model."""

from __future__ import annotations

from synth_core.mechanisms.guarantees import REPLACED, Guarantee, pure_rho
from synth_core.mechanisms.likelihoods.base import Likelihood, NamedPoint

HISTOGRAM = Likelihood(
    "histogram",
    "Perturbed histogram",
    "counts of bins with noise, no model",
    Guarantee(
        "histogram",
        "ε-DP",
        2,
        "Laplace noise of scale {scale} on every count gives ε for {whom} replaced, in one release. A censored one "
        "beside it has its ε for a value withheld, and twice as large for one replaced.",
        "Anything about bounds, bins and an ε that were chosen by looking at the data, or about emptying a cell: its "
        "row leaves.",
        neighbour=REPLACED,
        rho=pure_rho,
        secret_seed=False,
    ),
    no_weights="The histogram adds noise to counts of records: weights of records do not enter it.",
    no_range="No guarantee is known for a histogram under a sensitive range: its noise covers the whole range already.",
    settings=frozenset({"bins"}),
    samples=False,
    model="none (a histogram)",
    method="counts in bins with Laplace noise, values uniform within a bin",
    one_variable="dividing it into bins",
    needs_bounds=True,
    seconds=0.2,
    named=(NamedPoint("histogram", "Histogram"),),
)
