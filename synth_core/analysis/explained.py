"""What is promised by a result, in sentences: the same on the screen and on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.mechanisms.guarantees import OWN_TESTED, Guarantee, explain, local_words
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
