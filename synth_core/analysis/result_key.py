"""The key of a result in the cache, and the settings that it depends on."""

from __future__ import annotations

from synth_core.analysis.settings import Settings
from synth_core.mechanisms.catalogue import TUNING, Mechanism, find_mechanism
from synth_core.system.cache import content_key

NOT_OF_ALL = TUNING - {"radius"}  # some mechanisms ignore them; the radius is of every result's match risk


def result_key(
    fingerprint: str, settings: Settings, mechanism: Mechanism, reference: str | None = None
) -> str:
    """Content key of a result: of the settings that it depends on, and of other tables (`reference_fingerprint`)."""
    # A matched mechanism depends on all that moves the one it is matched to.
    matched = matched_to(settings, mechanism) is not None
    ignored: set[str] = set() if matched else {*NOT_OF_ALL - mechanism.tuning, "match_epsilon"}
    return content_key(
        kind="result",
        table=fingerprint,
        mechanism=mechanism.key,
        reference=reference if matched or mechanism.reads_others else None,
        settings=settings.model_dump(exclude=ignored),
    )


def matched_to(settings: Settings, mechanism: Mechanism) -> Mechanism | None:
    """The mechanism whose epsilon this one is to match, if any."""
    if settings.match_epsilon is None or not mechanism.tunable:
        return None
    other = find_mechanism(settings.match_epsilon)
    return None if other == mechanism else other
