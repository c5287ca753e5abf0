"""The papers' likelihoods: the pseudo likelihood as it is, and censored at ±ε/2 (Censor, section 3)."""

from __future__ import annotations

from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.guarantees import CHOSEN, EMPTIED, ONE_VALUE, SUPPORT, Guarantee, bounded_range_rho
from synth_core.mechanisms.likelihoods.base import Likelihood, NamedPoint

_LIMITS = EMPTIED + ONE_VALUE + CHOSEN

PLAIN = Likelihood("plain", "Plain pseudo likelihood", combining=("u (1 + 2/m)", "u (1 + 2/m)"))
CENSORED = Likelihood(
    "censored",
    "Censored at ±ε/2",
    "each record's influence capped",
    Guarantee(
        "censored",
        "ε-DP",
        2,
        "For an exact draw no table and no {one} exceeds ε: every term of the likelihood is clamped to {clamp}. "
        + SUPPORT,
        _LIMITS,
        rho=bounded_range_rho,
    ),
    Guarantee(
        "censored_weighted",
        "ε-DP",
        2,
        "For an exact draw no table and no {one} exceeds ε: every weighted term of the likelihood is clamped to "
        "{clamp}. " + SUPPORT,
        _LIMITS,
        rho=bounded_range_rho,
    ),
    clamp=lambda fit: Censoring(fit.epsilon / 2),
    no_range="No guarantee is known for a censored likelihood under a sensitive range: "
    "censoring bounds every term over the whole range already.",
    named=(
        NamedPoint("censored", "Censored"),
        NamedPoint("censored_weighted", "Censored weighted", "likelihood"),
    ),
)
