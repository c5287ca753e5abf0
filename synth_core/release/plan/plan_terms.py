"""What releases under a plan promise by the table that it was tuned on, and which mechanisms a plan takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import SETTINGS_SEEN, Guarantee

TUNED_ON = {
    "public": "public data",
    "simulated": "simulated data",
    "historical": "a historical table, another one than those to be released",
    "confidential": "the confidential data to be released",
}
WARNINGS = {
    "historical": "The settings, and a risk map where one is used, were taken from an earlier table. The guarantee "
    "covers the tables of this plan; what the settings reveal about the earlier table is not counted.",
    "confidential": "The settings were chosen by looking at results on the confidential data themselves. That "
    "choice is part of the release and no ε counts it: the strict claim is lost, and what is reported holds "
    "only for someone who already knows the settings. Tune on a public, simulated or historical table instead.",
}


TuningKind = Literal["public", "simulated", "historical", "confidential"]
OPEN = ("public", "simulated")  # tuning tables of which anything may be said


@dataclass(frozen=True)
class ReleaseTerms:
    """How a plan stands to a table that is released under it.

    Attributes
    ----------
    tuned_on : str
        What the tuning table counts as: "confidential" where it is the released one, whatever the plan calls it.
    guarantee : Guarantee
        What the release promises.
    """

    tuned_on: TuningKind
    guarantee: Guarantee

    @property
    def open(self) -> bool:
        """Whether settings and utility of the tuning may be told."""
        return self.tuned_on in OPEN

    @property
    def warning(self) -> str:
        """What tuning on this kind of table costs, in words; empty for public and simulated ones."""
        return WARNINGS.get(self.tuned_on, "")


NO_RHO = (
    "a limit at a δ counts ρ (zCDP), and only releases with a strict guarantee have one: take a strict mechanism "
    "that was not tuned on the confidential data themselves, or let the limit count the sum of ε"
)


def terms_of(point: Mechanism, tuned_on: TuningKind) -> ReleaseTerms:
    """What releases of a mechanism promise that was tuned on such a table."""
    guarantee = point.guarantee("closed")
    seen = tuned_on == "confidential" and point.epsilon_by_construction
    return ReleaseTerms(tuned_on, guarantee.weakened_to(SETTINGS_SEEN) if seen else guarantee)


def has_rho(point: Mechanism, tuned_on: TuningKind) -> bool:
    """Whether a theorem gives the releases of a plan a ρ, so that a limit by zCDP can count them."""
    return terms_of(point, tuned_on).guarantee.strict


OF_BLOCKS = (
    "a plan takes a strict mechanism (Measured, Censored, Anchored) or weights that a frozen risk map of each variable "
    "gives (Weighted, Censored weighted), of the whole range; nothing that is solved for, such as a scalar weight or "
    "re-weighting"
)


def of_blocks(point: Mechanism) -> bool:
    """Whether a plan of several sensitive variables takes a mechanism: a term reads its own record alone."""
    solved = point.single_weight or "reweighting" in point.adjustments
    promises = point.epsilon_by_construction or point.weighted
    return promises and not point.one_variable and not solved


def needs_map(point: Mechanism, settings: Settings | None = None) -> bool:
    """Whether anything else than a record itself would enter its term, were it not frozen.

    Parameters
    ----------
    settings : Settings, optional
        Whose anchor may be the reference too.
    """
    anchored = settings is not None and point.likelihood.anchors and settings.anchor == "reference"
    return anchored or point.weighted or point.standard.of_range
