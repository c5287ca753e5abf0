"""What the analyst chooses, validated at the border (pydantic) and immutable inside."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from synth_core import limits
from synth_core.errors import InputError
from synth_core.models.base import Options
from synth_core.ranges import Brackets, Tail, check_brackets, check_range
from synth_core.sampling import Sampler

MODEL_OPTIONS = {field.name for field in fields(Options)}


def _between(bounds: tuple[float, float]) -> Any:
    return Field(ge=bounds[0], le=bounds[1], allow_inf_nan=False)


class Settings(BaseModel):
    """Settings of a comparison: which columns, which model, which mechanism parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: str
    predictors: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    model: str
    program: str | None = None  # the source of the model "own"
    bounds: tuple[float, float] | None = None
    unit: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    transformation: Literal["log", "asinh"] = "log"
    offset: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    asinh_scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    components: Annotated[int, _between(limits.COMPONENTS)] = 5
    concentration: Annotated[float, _between(limits.CONCENTRATION)] = 1.0
    zero_part: bool = False
    prior_scale: Annotated[float, _between(limits.PRIOR_SCALE)] = 1.0
    scale: Annotated[float, _between(limits.SCALE)] = 1.0
    shift: Annotated[float, _between(limits.SHIFT)] = 0.0
    epsilon: Annotated[float, _between(limits.EPSILON)] = 5.0
    radius: Annotated[float, Field(gt=0, le=limits.MAX_RADIUS, allow_inf_nan=False)] = 0.2
    risk_map: Literal["linear", "reciprocal", "threshold"] = "linear"
    risk_threshold: Annotated[float, _between((0.0, 1.0))] = 0.5
    risk_reference: str = "current"  # or the name of the table that the risk map is frozen on
    range: tuple[float, float] = (0.4, 1.8)
    tail: Tail | None = None
    brackets: Brackets | None = None
    printed_truncation: bool = False
    reweight_tolerance: Annotated[float, _between(limits.TOLERANCE)] = 0.01
    match_epsilon: str | None = None
    bins: str = "log"
    percentiles: tuple[float, ...] = (15.0, 50.0, 90.0)
    datasets: Annotated[int, _between(limits.DATASETS)] = 1
    chains: Annotated[int, _between(limits.CHAINS)] = 2
    draws: Annotated[int, _between(limits.DRAWS)] = 1000
    warmup: Annotated[int, _between(limits.WARMUP)] = 1000
    seed: Annotated[int, _between(limits.SEED)] = 1

    @field_validator("percentiles")
    @classmethod
    def _percentiles_inside(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < p < 100 for p in value):
            raise ValueError("percentiles must lie between 0 and 100")
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _bounds_ordered(self) -> Settings:
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("the lower bound must be smaller than the upper bound")
        if self.bounds is not None and not abs(self.bounds[0]) + abs(self.bounds[1]) < 1e300:
            raise ValueError("the bounds must be finite and below 1e300")
        if (self.program is None) != (self.model != "own"):
            raise ValueError("the model 'own' and a Stan program are given together or not at all")
        check_range(*self.range)
        if self.tail is not None:
            check_range(*self.tail[1:], "range of the tail")
        if self.brackets is not None:
            check_brackets(self.brackets)
        return self

    @property
    def model_options(self) -> dict[str, Any]:
        """The options of the model, as `build_model` takes them."""
        return self.model_dump(include=MODEL_OPTIONS)

    @property
    def sampler(self) -> Sampler:
        return Sampler(self.chains, self.draws, self.warmup, self.seed)


def make_settings(**values: Any) -> Settings:
    """Validate settings; raises InputError that names the setting, the rule and the value."""
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        given = "" if isinstance(first["input"], dict) or not where else f" (given: {first['input']})"
        raise InputError(f"Setting {where or 'bounds'}: {message}{given}.") from None
