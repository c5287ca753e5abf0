"""Settings of the synthesizer of a sensitive variable: its family and the options of that."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal, Self

from pydantic import BaseModel, field_validator, model_validator

from synth_core.analysis.settings.field import setting
from synth_core.models import MODELS, Options, OwnProgram, family
from synth_core.models.bracketed import check_edges
from synth_core.system import limits

MODEL_OPTIONS = {field.name for field in fields(Options)}


class ModelSettings(BaseModel):
    """The family, with its options: what each takes of them, `Model.uses` says."""

    model: str = setting(..., f"one of {', '.join(MODELS)}")
    program: str | None = setting(
        None, "an own Stan program instead; see docs/guide/own-program.md", metavar="FILE.stan"
    )
    bounds: tuple[float, float] | None = setting(
        Options.bounds, "declared bounds of the outcome", metavar=("L", "U")
    )
    unit: float = setting(
        Options.unit, "unit in which the density is taken, in the table's unit", gt=0, allow_inf_nan=False
    )
    transformation: Literal["log", "asinh"] = setting(Options.transformation, "of two_part and mixture")
    offset: float = setting(Options.offset, "added to the outcome before the logarithm", allow_inf_nan=False)
    asinh_scale: float = setting(
        Options.asinh_scale,
        "about linear within it, a signed logarithm beyond; best near a typical value or half of it",
        gt=0,
        allow_inf_nan=False,
    )
    components: int = setting(
        Options.components, "K of the mixture, more than are needed", between=limits.COMPONENTS
    )
    concentration: float = setting(
        Options.concentration,
        "mixture: prior mean of the concentration of the shares; several times K keeps all occupied",
        between=limits.CONCENTRATION,
    )
    zero_part: bool = setting(Options.zero_part, "mixture: zeros have a probability of their own")
    categories: tuple[str, ...] = setting(
        Options.categories,
        "declared categories of the outcome, for the models categorical and ordered: all that may occur, from the "
        "questionnaire",
    )
    bracket_edges: tuple[float, ...] = setting(
        Options.bracket_edges,
        "declared edges of brackets of the outcome, for the model bracketed and for noisy counts of any amount; twice "
        "the same is that value alone",
    )
    prior_scale: float = setting(
        Options.prior_scale, "multiplies the scales of the priors", between=limits.PRIOR_SCALE
    )

    @field_validator("categories")
    @classmethod
    def _categories_apart(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) != len(value) or not all(value):
            raise ValueError("each category is declared once, and none is empty")
        if value and not limits.CATEGORIES[0] <= len(value) <= limits.CATEGORIES[1]:
            raise ValueError(f"there are {limits.CATEGORIES[0]} to {limits.CATEGORIES[1]} categories")
        return value

    @field_validator("bracket_edges")
    @classmethod
    def _edges_ascend(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if value:
            check_edges("brackets", value)
        if len(value) > limits.CATEGORIES[1] + 1:
            raise ValueError(f"there are at most {limits.CATEGORIES[1]} brackets")
        return value

    @model_validator(mode="after")
    def _bounds_ordered(self) -> Self:
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("the lower bound must be smaller than the upper bound")
        if self.bounds is not None and not abs(self.bounds[0]) + abs(self.bounds[1]) < 1e300:
            raise ValueError("the bounds must be finite and below 1e300")
        if (self.program is None) != (self.model != OwnProgram.name):
            raise ValueError("the model 'own' and a Stan program are given together or not at all")
        return self

    @property
    def outcome_categories(self) -> tuple[str, ...] | None:
        """What the codes of the outcome stand for; None where it is a number."""
        return self.categories if "categories" in family(self.model).uses else None

    @property
    def model_options(self) -> dict[str, Any]:
        """The options of the model, as `build_model` takes them."""
        return self.model_dump(include=MODEL_OPTIONS)

    @property
    def options(self) -> Options:
        """The options of the model that its family knows."""
        return Options(**self.model_options).only(family(self.model).uses)
