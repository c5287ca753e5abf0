"""The synthesizer families, one file each, and the registry that names them.

A model knows arrays, not tables: its Stan data, log-likelihood, distribution function and predictive draw. It
may import `engine` and the rooms below it.
"""

from __future__ import annotations

from typing import Any

from synth_core.errors import InputError
from synth_core.models.base import Draws, Model, Options, Proposal, Refit
from synth_core.models.beta import Beta
from synth_core.models.beta_regression import BetaRegression
from synth_core.models.bracketed import Bracketed
from synth_core.models.categorical import Categorical
from synth_core.models.counts import NegativeBinomial, Poisson
from synth_core.models.lognormal import Lognormal
from synth_core.models.mixture import Mixture
from synth_core.models.ordered import OrderedLogit
from synth_core.models.own import OwnProgram
from synth_core.models.records import Records
from synth_core.models.two_part import TwoPart

# The analyst's own program stands outside: it is no family until its source is given.
MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        Lognormal,
        TwoPart,
        Mixture,
        Beta,
        BetaRegression,
        Poisson,
        NegativeBinomial,
        Categorical,
        OrderedLogit,
        Bracketed,
    )
}

USUAL = Lognormal.name  # of a number, before anything is known of it
OF_CATEGORIES = Categorical.name  # of a variable with categories
BY_BRACKETS = Bracketed.name  # of an amount that is counted by brackets
PROGRAMS = tuple(dict.fromkeys(model.program for model in MODELS.values()))  # their Stan programs


def family(name: str) -> type[Model]:
    """The family of that name, the analyst's own included; raises InputError if there is none."""
    if name != OwnProgram.name and name not in MODELS:
        raise InputError(f"There is no model '{name}'; there are: {', '.join(MODELS)}.")
    return OwnProgram if name == OwnProgram.name else MODELS[name]


def proposed(kind: str, regression: bool) -> tuple[type[Model], Proposal]:
    """The family that is proposed for a kind of variable, and with what.

    Parameters
    ----------
    kind : str
        One that a family names in `proposals`.
    regression : bool
        Whether there are predictors.
    """
    return next(
        (model, proposal)
        for model in MODELS.values()
        if (proposal := model.__dict__.get("proposals", {}).get(kind)) is not None
        and proposal.regression in (None, regression)
    )


def build_model(
    name: str,
    records: Records,
    bounds: tuple[float, float] | None = Options.bounds,
    unit: float = Options.unit,
    **more: Any,
) -> Model:
    """Bind the family `name`, or an own program, to a table's records; raises InputError if they do not fit it.

    Parameters
    ----------
    bounds, unit, more
        The fields of `Options`; those that the family does not name in `uses` are left out.
    """
    kind = family(name)
    return kind(records, Options(bounds, unit, **more).only(kind.uses))


__all__ = [
    "BY_BRACKETS",
    "MODELS",
    "OF_CATEGORIES",
    "PROGRAMS",
    "USUAL",
    "Draws",
    "Model",
    "Options",
    "OwnProgram",
    "Proposal",
    "Records",
    "Refit",
    "build_model",
    "family",
    "proposed",
]
