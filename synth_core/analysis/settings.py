"""What the analyst chooses, validated at the border (pydantic) and immutable inside."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from synth_core.analysis.drawing import Drawing
from synth_core.analysis.named_tables import table_text
from synth_core.analysis.population import accuracy_words
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.rules import RuleTexts
from synth_core.data.survey_weights import NO_PROOF
from synth_core.engine.sampling import Sampler
from synth_core.errors import InputError
from synth_core.mechanisms.guarantees import DECLARED_SPAN
from synth_core.mechanisms.likelihoods import SERIES_ANCHORS
from synth_core.mechanisms.ranges import Brackets, Tail, check_brackets, check_range
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.models import MODELS, Options, OwnProgram, family
from synth_core.models.bracketed import check_edges
from synth_core.system import limits

MODEL_OPTIONS = {field.name for field in fields(Options)}
OF_A_SURVEY = (
    "rules",
    "weight",
    "weight_total",
    "weight_cap",
    "weight_basis",
    "strata",
    "accuracy_of",
    "unit_column",
    "unit_size",
)
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


def _setting(
    default: Any,
    about: str,
    between: tuple[float, float] | None = None,
    metavar: str | tuple[str, ...] | None = None,
    named: str | None = None,
    each: str | None = None,
    **rules: Any,
) -> Any:
    """A field, with what the command line's help says of it and what a reader calls it.

    Parameters
    ----------
    between : pair of float, optional
        Smallest and largest value.
    metavar : str or tuple of str, optional
        What stands for its value, or for each of its values.
    named : str, optional
        What a sentence calls it, where the field's own name would not be known.
    each : str, optional
        The option that gives one of its values, again for each of them.
    """
    more: dict[str, Any] = {"metavar": metavar, "named": named, "each": each}
    if between is not None:
        rules |= {"ge": between[0], "le": between[1], "allow_inf_nan": False}
    return Field(default, description=about, json_schema_extra=more, **rules)


class Settings(BaseModel):
    """Settings of an analysis: which columns, which model, which mechanism parameters.

    A field says what its option on the command line does; a default stands here alone, or with the model's
    `Options` and the `Sampler`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    outcome: str = _setting(..., "the sensitive variable", named="sensitive variable")
    predictors: tuple[str, ...] = _setting((), "non-sensitive columns, kept as they are")
    categorical: tuple[str, ...] = _setting((), "numeric predictors that are categories")
    earlier: tuple[EarlierVariable, ...] = _setting(
        (), "sensitive variables that the outcome is conditional on"
    )
    rules: RuleTexts = _setting(
        (),
        'a structural zero, which every synthetic record keeps, again for each: "AGE < 15 -> INCOME missing", '
        '"AGE < 15 -> STATUS = 6 or 7", "AGE < 18 -> INCOME <= 50000", "WAGES <= INCOME"; with <-> it is missing in no '
        "other record",
        metavar="RULE",
        each="--rule",
        max_length=limits.MAX_RULES,
    )
    weight: str | None = _setting(
        None,
        "column of survey weights, public design: kept in a released file, and utility is shown by it too",
        named="survey weight",
    )
    weight_total: float | None = _setting(
        None,
        "N, how many records the survey weights stand for, declared: each then weighs w/W in the likelihood, W = N/n",
        between=limits.WEIGHT_TOTAL,
        named="total of the survey weights",
    )
    weight_cap: float = _setting(
        5.0,
        "largest w/W that a record has in the likelihood",
        between=limits.WEIGHT_CAP,
        named="cap of the survey weights",
    )
    weight_basis: Literal["design", "raked", "confidential"] = _setting(
        "design",
        "what survey weights follow from: public design, totals of sensitive variables (raked), or secrets",
        named="basis of the survey weights",
    )
    strata: str | None = _setting(
        None,
        "column of the strata that records, or units of several, were drawn from: standard errors are within them",
        named="strata of the sample",
    )
    accuracy_of: Literal["sample", "population"] = _setting(
        "sample",
        "whose distributions, percentiles, groups, regressions and intervals are compared: those of the sample, where "
        "each record counts once, or of the population, by survey weights",
        named="accuracy of",
    )
    unit_column: str | None = _setting(
        None,
        "column of units with several records, such as households: ε then covers everything about one unit",
        named="unit of several records",
    )
    unit_size: int = _setting(
        1,
        "most records that a unit may have, declared: a larger unit is refused",
        between=limits.UNIT_SIZE,
        named="largest unit",
    )
    model: str = _setting(..., f"one of {', '.join(MODELS)}")
    program: str | None = _setting(
        None, "an own Stan program instead; see docs/guide/own-program.md", metavar="FILE.stan"
    )
    bounds: tuple[float, float] | None = _setting(
        Options.bounds, "declared bounds of the outcome", metavar=("L", "U")
    )
    unit: float = _setting(
        Options.unit, "unit in which the density is taken, in the table's unit", gt=0, allow_inf_nan=False
    )
    transformation: Literal["log", "asinh"] = _setting(Options.transformation, "of two_part and mixture")
    offset: float = _setting(Options.offset, "added to the outcome before the logarithm", allow_inf_nan=False)
    asinh_scale: float = _setting(
        Options.asinh_scale,
        "about linear within it, a signed logarithm beyond; best near a typical value or half of it",
        gt=0,
        allow_inf_nan=False,
    )
    components: int = _setting(
        Options.components, "K of the mixture, more than are needed", between=limits.COMPONENTS
    )
    concentration: float = _setting(
        Options.concentration,
        "mixture: prior mean of the concentration of the shares; several times K keeps all occupied",
        between=limits.CONCENTRATION,
    )
    zero_part: bool = _setting(Options.zero_part, "mixture: zeros have a probability of their own")
    categories: tuple[str, ...] = _setting(
        Options.categories,
        "declared categories of the outcome, for the models categorical and ordered: all that may occur, from the "
        "questionnaire",
    )
    bracket_edges: tuple[float, ...] = _setting(
        Options.bracket_edges,
        "declared edges of brackets of the outcome, for the model bracketed and for noisy counts of any amount; twice "
        "the same is that value alone",
    )
    prior_scale: float = _setting(
        Options.prior_scale, "multiplies the scales of the priors", between=limits.PRIOR_SCALE
    )
    scale: float = _setting(1.0, "c of the weights", between=limits.SCALE, named="scale c")
    shift: float = _setting(0.0, "g of the weights", between=limits.SHIFT, named="shift g")
    epsilon: float = _setting(
        5.0, "target of mechanisms that have one", between=limits.EPSILON, named="target ε"
    )
    radius: float = _setting(
        0.2,
        "relative radius of count weights and match risk",
        named="radius r",
        gt=0,
        le=limits.MAX_RADIUS,
        allow_inf_nan=False,
    )
    risk_map: Literal["linear", "reciprocal", "threshold"] = _setting(
        "linear", "from risk to weight", named="map from risk to weight"
    )
    risk_threshold: float = _setting(0.5, "z* of the threshold map", between=(0.0, 1.0), named="threshold z*")
    risk_span: tuple[float, float] | None = _setting(
        None,
        "declared smallest and largest risk, in nats, instead of the table's own: no record then moves others by it",
        metavar=("LOW", "HIGH"),
        named="span of risk",
    )
    risk_reference: str = _setting(
        "current",
        "table that the risk map is frozen on, or a release plan (.json)",
        metavar="current|FILE|example:NAME|PLAN",
    )
    range: tuple[float, float] = _setting(
        (0.4, 1.8), "sensitive range, relative to the value", metavar=("A", "B"), named="sensitive range"
    )
    tail: Tail | None = _setting(
        None,
        "another range for the top PERCENT of values",
        metavar=("PERCENT", "A", "B"),
        named="range in the tail",
    )
    brackets: Brackets | None = _setting(
        None, "absolute sensitive ranges: CSV with lower,upper", metavar="FILE", named="declared brackets"
    )
    printed_truncation: bool = _setting(
        False, "Range Eq. 15 as printed (the mass unweighted)", named="mass unweighted, as printed"
    )
    reweight_tolerance: float = _setting(
        0.01,
        "how closely a solved Lipschitz bound must meet its target",
        between=limits.TOLERANCE,
        named="tolerance of solved bounds",
    )
    match_epsilon: str | None = _setting(
        None, "tune the others to this mechanism's epsilon", metavar="MECHANISM", named="ε matched to"
    )
    anchor: str = _setting(
        "pilot",
        "what anchored censoring starts from: a pilot on a part of the table, noisy counts of it, released data, a "
        "public table, declared values (.json), another table, the risk reference; in a plan, the last releases of its "
        "series, after a pilot or noisy counts for the first",
        metavar="pilot|counts|release:FILE|public:FILE|values:FILE|FILE|example:NAME|reference|series|counts+series",
    )
    anchor_values: dict[str, float | tuple[float, ...]] | None = _setting(
        None, "parameter values, of anchor 'values'"
    )
    guess: tuple[float, float] | None = _setting(
        None,
        "made without the table: a typical value and a spread, for a pilot or the brackets of noisy counts",
        metavar=("TYPICAL", "SPREAD"),
    )
    guess_zeros: float = _setting(0.1, "and a typical share of zeros", between=limits.GUESS_ZEROS)
    pilot_share: float = _setting(
        0.25,
        "share of the records that the pilot reads; 1: all, and ε is split between pilot and release; 0: no pilot, the "
        "guess is the anchor",
        between=limits.PILOT_SHARE,
    )
    counts_share: float = _setting(
        0.8,
        "share of ε that noisy counts cost, the fit the rest; at most 2 m / (m + 4) of m tables",
        between=limits.COUNTS_SHARE,
    )
    count_together: tuple[str, ...] = _setting(
        (),
        'columns that measured synthesis counts together, again for each table: "EDU * PINCP"; without any, all pairs '
        "and triples or those that are chosen",
        metavar="COLUMNS",
        named="counted together",
        each="--count-together",
        max_length=limits.MAX_NAMED_TABLES,
    )
    choose_more: bool = _setting(
        False,
        "beside the tables that are named, others are chosen by noisy distances; without it nothing else is counted",
        named="more tables chosen",
    )
    measured_posterior: Literal["refits", "exact"] = _setting(
        "refits",
        "what several data sets of measured synthesis are drawn from: refits to perturbed tables, or the exact "
        "posterior given the noisy tables, sampled by Stan (small models)",
        named="posterior of measured synthesis",
    )
    anchor_weight: float | None = _setting(
        None,
        "c of anchored censoring; without it, chosen on simulated tables",
        between=limits.ANCHOR_WEIGHT,
        named="weight c around the anchor",
    )
    anchor_records: float | None = _setting(
        None,
        "how many records the anchor counts as in the prior; without it, what the anchor is worth",
        between=limits.ANCHOR_RECORDS,
        named="records that the anchor counts as",
    )
    bins: str = _setting("log", "of the histogram: log, sqrt or a number")
    percentiles: tuple[float, ...] = _setting((15.0, 50.0, 90.0), "whose error is shown")
    drawing: Drawing = _setting(
        "independent",
        "of synthetic values given a draw: independent of each other; even, spread over their distribution among "
        "records with like predictors, which takes away most of the noise of drawing; or balanced, so that tables of "
        "two and three columns are near what the draw expects",
        named="drawing of values",
    )
    datasets: int = _setting(1, "synthetic data sets, m", between=limits.DATASETS, named="data sets m")
    chains: int = _setting(Sampler.chains, "of the sampler", between=limits.CHAINS)
    draws: int = _setting(Sampler.draws, "per chain", between=limits.DRAWS, named="draws per chain")
    warmup: int = _setting(Sampler.warmup, "per chain", between=limits.WARMUP, named="warm-up per chain")
    seed: int = _setting(Sampler.seed, "of the sampler and of every draw", between=limits.SEED)

    @field_validator("percentiles")
    @classmethod
    def _percentiles_inside(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < p < 100 for p in value):
            raise ValueError("percentiles must lie between 0 and 100")
        return tuple(sorted(set(value)))

    @field_validator("count_together")
    @classmethod
    def _tables_are_columns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(table_text, value)))

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
    def _bounds_ordered(self) -> Settings:
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise ValueError("the lower bound must be smaller than the upper bound")
        if self.bounds is not None and not abs(self.bounds[0]) + abs(self.bounds[1]) < 1e300:
            raise ValueError("the bounds must be finite and below 1e300")
        if (self.program is None) != (self.model != OwnProgram.name):
            raise ValueError("the model 'own' and a Stan program are given together or not at all")
        if (self.anchor == "values") != (self.anchor_values is not None):
            raise ValueError("the anchor 'values' and the values are given together or not at all")
        if self.guess is not None and not (abs(self.guess[0]) < 1e300 and 0 < self.guess[1] < 1e300):
            raise ValueError("a guess is a finite typical value and a spread above 0")
        check_range(*self.range)
        if self.tail is not None:
            check_range(*self.tail[1:], "range of the tail")
        if self.brackets is not None:
            check_brackets(self.brackets)
        return self

    @model_validator(mode="after")
    def _weights_have_a_proof(self) -> Settings:
        if self.weight is None and self.weight_total is not None:
            raise ValueError("a total belongs to survey weights, and no column of them is named (--weight)")
        if self.weight is not None and self.weight == self.outcome:
            raise ValueError(f"'{self.weight}' is the sensitive variable and cannot be the survey weight too")
        if self.weight is not None and self.weight_basis in NO_PROOF:
            raise ValueError(NO_PROOF[self.weight_basis].removesuffix("."))
        if self.weight is None and self.strata is not None:
            raise ValueError("strata belong to survey weights, and no column of them is named (--weight)")
        if self.strata is not None and self.strata == self.outcome:
            raise ValueError(f"'{self.strata}' is the sensitive variable, and strata of a sample are public")
        if self.weight is None and self.accuracy_of == "population":
            raise ValueError(
                "the population is told by survey weights, and no column of them is named (--weight)"
            )
        return self

    @model_validator(mode="after")
    def _units_are_declared(self) -> Settings:
        if self.unit_size > 1 and self.unit_column is None:
            raise ValueError("a size of units belongs to a column of them, and none is named (--unit-column)")
        if self.unit_column is not None and self.unit_column == self.outcome:
            raise ValueError(
                f"'{self.unit_column}' is the sensitive variable, and who belongs to a unit is public"
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
    def accuracy_by(self) -> str:
        """The column of survey weights by which accuracy counts; empty where each record counts once."""
        return self.weight if self.weight is not None and self.accuracy_of == "population" else ""

    @property
    def whose_accuracy(self) -> str:
        """Whether accuracy is of the sample or of the population, in a sentence; empty without survey weights."""
        return accuracy_words(self.accuracy_by, self.weight is not None)

    @property
    def weighs_likelihood(self) -> bool:
        """Whether survey weights enter the likelihood: their total is declared."""
        return self.weight is not None and self.weight_total is not None

    @model_validator(mode="after")
    def _span_ordered(self) -> Settings:
        if self.risk_span is None:
            return self
        if not 0 <= self.risk_span[0] < self.risk_span[1] < 1e300:
            raise ValueError("a declared span of the risk goes from 0 or more to a larger number of nats")
        if self.risk_reference != "current":
            raise ValueError("a declared span of the risk and a frozen risk map exclude each other")
        return self

    def weights_source(self, scheme: str) -> str:
        """The table that risk is measured on, in a word for `wording.guarantee_sentences.explain`."""
        spanned = SCHEMES[scheme].measure is not None
        return DECLARED_SPAN if spanned and self.risk_span is not None else self.risk_reference

    @property
    def reads_series(self) -> bool:
        """Whether anchored censoring starts from what a series released before."""
        return self.anchor in SERIES_ANCHORS

    @property
    def reads_counts(self) -> bool:
        """Whether anchored censoring starts from noisy counts of the table, in a series for its first release."""
        return self.anchor in ("counts", "counts+series")

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
