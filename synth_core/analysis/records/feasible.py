"""What a mechanism needs that was not declared: told from the settings alone, before anything is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from synth_core.analysis.engines import ENGINES
from synth_core.analysis.records.blocks import Block, common_of, parts_of, require_division
from synth_core.analysis.requirements import (
    require_counting,
    require_pilot,
    require_survey_weights,
    require_units,
)
from synth_core.analysis.settings import Settings
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism, require_several
from synth_core.models import family


def refusal(
    mechanism: Mechanism, settings: Settings, blocks: Sequence[Block] = (), reference: bool = False
) -> str:
    """Why a mechanism cannot be run under these settings, in words; empty where only the values could refuse it.

    Parameters
    ----------
    reference : bool
        Whether there is a reference table.
    """
    try:
        if blocks:
            require_several(mechanism)
        if mechanism.likelihood.samples:  # what is of all of a record is not said of a part
            require_units(mechanism, settings)
            if settings.weighs_likelihood:
                require_survey_weights(mechanism)
        if not blocks:
            _require(mechanism, settings, reference)
            return ""
        parts = parts_of(blocks, common_of(settings))
        if mechanism.likelihood.samples:
            require_division(parts)
        for part in parts:
            try:
                _require(mechanism, part.settings, reference)
            except InputError as error:
                named = "" if f"'{part.name}'" in str(error) else f"{part.name}: "
                raise InputError(f"{named}{error}") from None
    except InputError as error:
        return str(error)
    return ""


def require_feasible(
    keys: Iterable[str], settings: Settings, blocks: Sequence[Block] = (), reference: bool = False
) -> None:
    """Refuse mechanisms of which one cannot be run, before the first of them is; raises InputError with the reason."""
    for key in keys:
        if why := refusal(find_mechanism(key), settings, blocks, reference):
            raise InputError(why)


def _require(mechanism: Mechanism, s: Settings, reference: bool) -> None:
    if not mechanism.likelihood.samples:
        ENGINES[mechanism.likelihood.key].require(s, mechanism.label)
    if not mechanism.likelihood.anchors:
        return
    model = family(s.model)
    if s.anchor == "reference" and not reference:
        raise InputError(
            "The anchor is the reference table, and there is none; freeze the risk map on a table."
        )
    if s.anchor == "pilot":
        require_pilot(model, s)
    elif s.anchor == "counts":
        require_counting(model, s)
