"""What a newcomer starts with, what an example opens with, and what of somebody's choices is not as usual."""

from __future__ import annotations

import os
from typing import Any

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import Settings, make_settings
from synth_core.data.examples import EXAMPLES
from synth_core.mechanisms.catalogue import DECLARED_FOR_A_TABLE, MECHANISMS, TUNING
from synth_core.models import OF_CATEGORIES
from synth_core.ui.state.choices import (
    FIRST_EXAMPLE,
    OPENING_EPSILON,
    USUAL_MECHANISMS,
    Choices,
)

# What the first example opens with beside its income: whether a household may save in a 401(k) plan, and has an IRA.
OPENING_BLOCKS = tuple(Block(name, OF_CATEGORIES, {"categories": ("0", "1")}) for name in ("e401k", "pira"))
OPENING_PREDICTORS = ("age", "marr", "male", "fsize")


def first_choices() -> Choices:
    """What a newcomer starts with: the first example, as the papers would compare it."""
    example = EXAMPLES[FIRST_EXAMPLE]
    settings = make_settings(outcome=example.outcome, model=example.model)
    return example_choices(Choices(settings=settings), FIRST_EXAMPLE)


# What a preset sets anew; with the sampler's, what outlasts a table. In the order of the fields.
PRESET_SETTINGS = tuple(name for name in Settings.model_fields if name in TUNING - DECLARED_FOR_A_TABLE)
LASTING = (*PRESET_SETTINGS, "percentiles", "draws", "warmup", "chains", "seed", "datasets", "drawing")


def unusual(choices: Choices) -> dict[str, Any]:
    """The lasting settings that are not those a newcomer has, by name; "mechanisms" among them."""
    first = first_choices()
    changed = {
        name: getattr(choices.settings, name)
        for name in LASTING
        if getattr(choices.settings, name) != getattr(first.settings, name)
    }
    if choices.settings.epsilon == OPENING_EPSILON:
        changed.pop("epsilon", None)
    usual = choices.mechanisms in (first.mechanisms, USUAL_MECHANISMS)
    return changed | ({} if usual else {"mechanisms": choices.mechanisms})


def usual_again(choices: Choices) -> Choices:
    """Choices with the same columns and model, and a newcomer's settings and mechanisms."""
    first = first_choices()
    lasting = {name: getattr(first.settings, name) for name in LASTING} | {"epsilon": OPENING_EPSILON}
    return choices.with_settings(**lasting).with_mechanisms(*USUAL_MECHANISMS)


def opening_choices() -> Choices:
    """What a newcomer sees first: whole records of the first example, with a strict mechanism at ε = 1 among the usual.

    Where `SYNTH_MECHANISMS` names mechanisms, those at the usual settings, and income alone.
    """
    named = [key for key in os.environ.get("SYNTH_MECHANISMS", "").split(",") if key.strip() in MECHANISMS]
    if named:
        return first_choices().with_mechanisms(*map(str.strip, named))
    one = first_choices().with_settings(epsilon=OPENING_EPSILON, predictors=OPENING_PREDICTORS)
    whole = {"blocks": (*OPENING_BLOCKS, *one.described)}
    return one.model_copy(update=whole).with_mechanisms(*USUAL_MECHANISMS)


def example_choices(choices: Choices, key: str) -> Choices:
    """The columns, model and bounds that fit an example."""
    example = EXAMPLES[key]
    columns = {"outcome": example.outcome, "predictors": example.predictors, "model": example.model}
    return choices.for_table(columns, example.bounds, example.guess)
