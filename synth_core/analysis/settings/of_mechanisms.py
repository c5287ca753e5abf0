"""Settings of the mechanisms: weights and their risk map, sensitive ranges, anchors, noisy tables."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, field_validator, model_validator

from synth_core.analysis.named_tables import table_text
from synth_core.analysis.settings.field import setting
from synth_core.mechanisms.guarantees import DECLARED_SPAN
from synth_core.mechanisms.likelihoods import SERIES_ANCHORS
from synth_core.mechanisms.ranges import Brackets, Tail, check_brackets, check_range
from synth_core.mechanisms.schemes import SCHEMES
from synth_core.system import limits


class MechanismSettings(BaseModel):
    """What the mechanisms are tuned by: which of them each reads, its scheme and its likelihood say."""

    scale: float = setting(1.0, "c of the weights", between=limits.SCALE, named="scale c")
    shift: float = setting(0.0, "g of the weights", between=limits.SHIFT, named="shift g")
    epsilon: float = setting(
        5.0, "target of mechanisms that have one", between=limits.EPSILON, named="target ε"
    )
    radius: float = setting(
        0.2,
        "relative radius of count weights and match risk",
        named="radius r",
        gt=0,
        le=limits.MAX_RADIUS,
        allow_inf_nan=False,
    )
    risk_map: Literal["linear", "reciprocal", "threshold"] = setting(
        "linear", "from risk to weight", named="map from risk to weight"
    )
    risk_threshold: float = setting(0.5, "z* of the threshold map", between=(0.0, 1.0), named="threshold z*")
    risk_span: tuple[float, float] | None = setting(
        None,
        "declared smallest and largest risk, in nats, instead of the table's own: no record then moves others by it",
        metavar=("LOW", "HIGH"),
        named="span of risk",
    )
    risk_reference: str = setting(
        "current",
        "table that the risk map is frozen on, or a release plan (.json)",
        metavar="current|FILE|example:NAME|PLAN",
    )
    range: tuple[float, float] = setting(
        (0.4, 1.8), "sensitive range, relative to the value", metavar=("A", "B"), named="sensitive range"
    )
    tail: Tail | None = setting(
        None,
        "another range for the top PERCENT of values",
        metavar=("PERCENT", "A", "B"),
        named="range in the tail",
    )
    brackets: Brackets | None = setting(
        None, "absolute sensitive ranges: CSV with lower,upper", metavar="FILE", named="declared brackets"
    )
    printed_truncation: bool = setting(
        False, "Range Eq. 15 as printed (the mass unweighted)", named="mass unweighted, as printed"
    )
    reweight_tolerance: float = setting(
        0.01,
        "how closely a solved Lipschitz bound must meet its target",
        between=limits.TOLERANCE,
        named="tolerance of solved bounds",
    )
    match_epsilon: str | None = setting(
        None, "tune the others to this mechanism's epsilon", metavar="MECHANISM", named="ε matched to"
    )
    anchor: str = setting(
        "pilot",
        "what anchored censoring starts from: a pilot on a part of the table, noisy counts of it, released data, a "
        "public table, declared values (.json), another table, the risk reference; in a plan, the last releases of its "
        "series, after a pilot or noisy counts for the first",
        metavar="pilot|counts|release:FILE|public:FILE|values:FILE|FILE|example:NAME|reference|series|counts+series",
    )
    anchor_values: dict[str, float | tuple[float, ...]] | None = setting(
        None, "parameter values, of anchor 'values'"
    )
    guess: tuple[float, float] | None = setting(
        None,
        "made without the table: a typical value and a spread, for a pilot or the brackets of noisy counts",
        metavar=("TYPICAL", "SPREAD"),
    )
    guess_zeros: float = setting(0.1, "and a typical share of zeros", between=limits.GUESS_ZEROS)
    pilot_share: float = setting(
        0.25,
        "share of the records that the pilot reads; 1: all, and ε is split between pilot and release; 0: no pilot, the "
        "guess is the anchor",
        between=limits.PILOT_SHARE,
    )
    counts_share: float = setting(
        0.8,
        "share of ε that noisy counts cost, the fit the rest; at most 2 m / (m + 4) of m tables",
        between=limits.COUNTS_SHARE,
    )
    count_together: tuple[str, ...] = setting(
        (),
        'columns that measured synthesis counts together, again for each table: "EDU * PINCP"; without any, all pairs '
        "and triples or those that are chosen",
        metavar="COLUMNS",
        named="counted together",
        each="--count-together",
        max_length=limits.MAX_NAMED_TABLES,
    )
    choose_more: bool = setting(
        False,
        "beside the tables that are named, others are chosen by noisy distances; without it nothing else is counted",
        named="more tables chosen",
    )
    measured_posterior: Literal["refits", "exact"] = setting(
        "refits",
        "what several data sets of measured synthesis are drawn from: refits to perturbed tables, or the exact "
        "posterior given the noisy tables, sampled by Stan (small models)",
        named="posterior of measured synthesis",
    )
    anchor_weight: float | None = setting(
        None,
        "c of anchored censoring; without it, chosen on simulated tables",
        between=limits.ANCHOR_WEIGHT,
        named="weight c around the anchor",
    )
    anchor_records: float | None = setting(
        None,
        "how many records the anchor counts as in the prior; without it, what the anchor is worth",
        between=limits.ANCHOR_RECORDS,
        named="records that the anchor counts as",
    )
    bins: str = setting("log", "of the histogram: log, sqrt or a number")

    @field_validator("count_together")
    @classmethod
    def _tables_are_columns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(table_text, value)))

    @model_validator(mode="after")
    def _declared_values_are_possible(self) -> Self:
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
    def _span_ordered(self) -> Self:
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
