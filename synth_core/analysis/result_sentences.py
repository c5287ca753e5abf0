"""A result in sentences: the same on the screen, on the command line and in reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_core.analysis.measures import WORST, error_sentence
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.guarantee_sentences import OWN_TESTED, explain, local_words
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.models import OwnProgram


def explained(numbers: Mapping[str, Any], settings: Settings) -> tuple[Guarantee, list[str]]:
    """The guarantee of a result and its explanation.

    Parameters
    ----------
    numbers : mapping
        Of `FlatResult`, or of a summary.
    settings : Settings
        That the result was made with.
    """
    mechanism = find_mechanism(numbers["mechanism"])
    guarantee = mechanism.guarantee(numbers["weights_from"], numbers["tuned"])
    return guarantee, explain(
        guarantee,
        numbers["epsilon"],
        numbers["epsilon_replace"],
        numbers["n_datasets"],
        mechanism.weighted,
        settings.weights_source(mechanism.scheme),
        mechanism.reads_current(numbers["tuned"]),
        numbers["anchor"],
        (
            local_words(numbers["oscillation"], numbers["oscillation_joint"], numbers["n_draws"]),
            OWN_TESTED if settings.model == OwnProgram.name else "",
        ),
    )


def sentence(
    numbers: Mapping[str, Any], settings: Settings, measure: str = WORST, standing: Guarantee | None = None
) -> str:
    """Privacy and accuracy of a result in plain words, for readers who know neither ε nor statistics.

    Parameters
    ----------
    numbers, settings
        As for `explained`.
    measure : str
        Of `analysis.measures`: what accuracy is said by.
    standing : Guarantee, optional
        What a release promises, where that is less than what its mechanism would.
    """
    if numbers["problems"]:
        return "Not for use: the fit has not converged."
    mechanism = find_mechanism(numbers["mechanism"])
    privacy = suspicion(
        standing or mechanism.guarantee(numbers["weights_from"], numbers["tuned"]),
        numbers["epsilon"],
        numbers["epsilon_replace"],
        numbers["n_datasets"],
        _weights_of_others(numbers),
    )
    own = (
        "If its target is what the check of the program found: " if settings.model == OwnProgram.name else ""
    )
    return " ".join(filter(None, [own + privacy, error_sentence(numbers, measure)]))


def above_target(numbers: Mapping[str, Any], settings: Settings) -> str:
    """A clause where the measured ε is above the target that the mechanism was given; else empty.

    Scalar weights and truncation aim at the unweighted fit's bounds; the refit has its own.
    """
    mechanism = find_mechanism(numbers["mechanism"])
    aims = "epsilon" in mechanism.tuning and not mechanism.keeps_epsilon and "epsilon" not in numbers["tuned"]
    tolerance = 1 + settings.reweight_tolerance
    if not aims or settings.match_epsilon is not None or numbers["epsilon"] <= tolerance * settings.epsilon:
        return ""
    return (
        f"its ε of {epsilon_number(numbers['epsilon'])} is above the target of {settings.epsilon:g}: the target is met "
        "before the refit, and ε is measured after it. A lower target brings it down."
    )


def _weights_of_others(numbers: Mapping[str, Any]) -> str:
    """Whether the weights of other records move with one that changes, for `suspicion`."""
    mechanism = find_mechanism(numbers["mechanism"])
    if not mechanism.weighted:
        return "fixed"
    source = numbers["weights_from"]
    if source == "closed" or (source == "frozen" and not mechanism.reads_current(numbers["tuned"])):
        return "fixed"
    alone, joint = numbers["oscillation"], numbers["oscillation_joint"]
    return "fixed" if alone is not None and joint is not None and joint <= 1.01 * alone else "held"
