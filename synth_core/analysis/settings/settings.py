"""All settings of an analysis, and what of them stands in digests, in sentences and in refusals."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, ValidationError, field_validator, model_validator

from synth_core.analysis.drawing import Drawing
from synth_core.analysis.settings.field import setting
from synth_core.analysis.settings.of_columns import ColumnSettings
from synth_core.analysis.settings.of_mechanisms import MechanismSettings
from synth_core.analysis.settings.of_model import ModelSettings
from synth_core.analysis.settings.of_survey import SurveySettings
from synth_core.engine.sampling import Sampler
from synth_core.errors import InputError
from synth_core.system import limits

OF_A_SURVEY = tuple(SurveySettings.model_fields)
ADDED_LATER = (
    "categories",
    "bracket_edges",
    "counts_share",
    "drawing",
    "count_together",
    "choose_more",
    "measured_posterior",
    *OF_A_SURVEY,
)  # settings that older files and digests do not hold


class Settings(
    MechanismSettings, ModelSettings, SurveySettings, ColumnSettings
):  # fields of the last come first
    """Settings of an analysis: which columns, which model, which mechanism parameters.

    A field says what its option on the command line does; a default stands here alone, or with the model's
    `Options` and the `Sampler`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    percentiles: tuple[float, ...] = setting((15.0, 50.0, 90.0), "whose error is shown")
    drawing: Drawing = setting(
        "independent",
        "of synthetic values given a draw: independent of each other; even, spread over their distribution among "
        "records with like predictors, which takes away most of the noise of drawing; or balanced, so that tables of "
        "two and three columns are near what the draw expects",
        named="drawing of values",
    )
    datasets: int = setting(1, "synthetic data sets, m", between=limits.DATASETS, named="data sets m")
    chains: int = setting(Sampler.chains, "of the sampler", between=limits.CHAINS)
    draws: int = setting(Sampler.draws, "per chain", between=limits.DRAWS, named="draws per chain")
    warmup: int = setting(Sampler.warmup, "per chain", between=limits.WARMUP, named="warm-up per chain")
    seed: int = setting(Sampler.seed, "of the sampler and of every draw", between=limits.SEED)

    @field_validator("percentiles")
    @classmethod
    def _percentiles_inside(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < p < 100 for p in value):
            raise ValueError("percentiles must lie between 0 and 100")
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _design_is_not_the_outcome(self) -> Settings:
        for name, why in (
            (self.weight, " and cannot be the survey weight too"),
            (self.strata, ", and strata of a sample are public"),
            (self.unit_column, ", and who belongs to a unit is public"),
        ):
            if name == self.outcome:
                raise ValueError(f"'{name}' is the sensitive variable{why}")
        if self.unit_column in self.kept_columns:
            other = "a predictor" if self.unit_column in self.predictors else "a survey weight"
            raise ValueError(
                f"'{self.unit_column}' names the units of several records and cannot be {other} too: {other} is "
                "released as it is, and units get new identifiers"
            )
        return self

    @property
    def record_epsilon(self) -> float:
        """What a mechanism that promises ε for a unit may spend on one of its records (group privacy)."""
        return self.epsilon / self.unit_size

    @property
    def columns(self) -> list[str]:
        """All columns that settings name."""
        units = (self.unit_column,) if self.unit_column else ()
        return list(dict.fromkeys((self.outcome, *self.public_columns, *units)))

    @property
    def kept_columns(self) -> list[str]:
        """The columns that a released file keeps for what settings name: predictors, and survey weights."""
        return list(dict.fromkeys((*self.predictors, *((self.weight,) if self.weight else ()))))

    @property
    def public_columns(self) -> list[str]:
        """The public columns that settings name, beside units: those that are kept, and the strata of the sample."""
        return list(dict.fromkeys((*self.kept_columns, *((self.strata,) if self.strata else ()))))

    @property
    def sampler(self) -> Sampler:
        return Sampler(self.chains, self.draws, self.warmup, self.seed)


def omitted_defaults(settings: Settings) -> set[str]:
    """Settings that were added later and are at their defaults: left out where a digest is to stay the same."""
    defaults = Settings.model_fields
    return {name for name in ADDED_LATER if getattr(settings, name) == defaults[name].default}


def setting_name(name: str) -> str:
    """What a setting is called in a sentence: that which its field declares, or the field itself.

    Examples
    --------
    >>> setting_name("scale"), setting_name("prior_scale")
    ('scale c', 'prior scale')
    """
    more: Any = Settings.model_fields[name].json_schema_extra
    return str(more["named"] or name.replace("_", " "))


# How pydantic says a rule of one value, and how it stands after "The target ε must be".
_RULES = {"greater than or equal to": "at least", "less than or equal to": "at most", "greater than": "above"}


def make_settings(**values: Any) -> Settings:
    """Validate settings; raises InputError that names the rule, and of a single setting its name and the value.

    Examples
    --------
    >>> make_settings(outcome="pay", model="lognormal", epsilon=0.002)
    Traceback (most recent call last):
    synth_core.errors.InputError: The target ε (--epsilon) must be at least 0.01 (given: 0.002).
    """
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ").removesuffix(".")
        if not where:  # a rule of several settings, which names them
            raise InputError(f"{message[:1].upper()}{message[1:]}.") from None
        if first["type"] == "extra_forbidden":
            raise InputError(f"There is no setting '{where}'.") from None
        given = "" if isinstance(first["input"], dict) else f" (given: {first['input']})"
        rule = message.partition(", unable")[0].removeprefix("Input should be ")
        if rule == message:
            raise InputError(f"Setting {where}: {message}{given}.") from None
        for said, words in _RULES.items():
            rule = rule.replace(said, words)
        field = str(first["loc"][0])
        option = f"--{field.replace('_', '-')}"
        raise InputError(f"The {setting_name(field)} ({option}) must be {rule}{given}.") from None
