"""Settings of how the table was sampled: structural zeros, survey weights, strata, units of several records."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, model_validator

from synth_core.analysis.population import accuracy_words
from synth_core.analysis.settings.field import setting
from synth_core.data.rules import RuleTexts
from synth_core.data.survey_weights import NO_PROOF
from synth_core.system import limits


class SurveySettings(BaseModel):
    """How the records were sampled, who belongs together, and what no record may hold."""

    rules: RuleTexts = setting(
        (),
        'a structural zero, which every synthetic record keeps, again for each: "AGE < 15 -> INCOME missing", '
        '"AGE < 15 -> STATUS = 6 or 7", "AGE < 18 -> INCOME <= 50000", "WAGES <= INCOME"; with <-> it is missing in no '
        "other record",
        metavar="RULE",
        each="--rule",
        max_length=limits.MAX_RULES,
    )
    weight: str | None = setting(
        None,
        "column of survey weights, public design: kept in a released file, and utility is shown by it too",
        named="survey weight",
    )
    weight_total: float | None = setting(
        None,
        "N, how many records the survey weights stand for, declared: each then weighs w/W in the likelihood, W = N/n",
        between=limits.WEIGHT_TOTAL,
        named="total of the survey weights",
    )
    weight_cap: float = setting(
        5.0,
        "largest w/W that a record has in the likelihood",
        between=limits.WEIGHT_CAP,
        named="cap of the survey weights",
    )
    weight_basis: Literal["design", "raked", "confidential"] = setting(
        "design",
        "what survey weights follow from: public design, totals of sensitive variables (raked), or secrets",
        named="basis of the survey weights",
    )
    strata: str | None = setting(
        None,
        "column of the strata that records, or units of several, were drawn from: standard errors are within them",
        named="strata of the sample",
    )
    accuracy_of: Literal["sample", "population"] = setting(
        "sample",
        "whose distributions, percentiles, groups, regressions and intervals are compared: those of the sample, where "
        "each record counts once, or of the population, by survey weights",
        named="accuracy of",
    )
    unit_column: str | None = setting(
        None,
        "column of units with several records, such as households: ε then covers everything about one unit",
        named="unit of several records",
    )
    unit_size: int = setting(
        1,
        "most records that a unit may have, declared: a larger unit is refused",
        between=limits.UNIT_SIZE,
        named="largest unit",
    )

    @model_validator(mode="after")
    def _weights_have_a_proof(self) -> Self:
        if self.weight is None and self.weight_total is not None:
            raise ValueError("a total belongs to survey weights, and no column of them is named (--weight)")
        if self.weight is not None and self.weight_basis in NO_PROOF:
            raise ValueError(NO_PROOF[self.weight_basis].removesuffix("."))
        if self.weight is None and self.strata is not None:
            raise ValueError("strata belong to survey weights, and no column of them is named (--weight)")
        if self.weight is None and self.accuracy_of == "population":
            raise ValueError(
                "the population is told by survey weights, and no column of them is named (--weight)"
            )
        return self

    @model_validator(mode="after")
    def _units_are_declared(self) -> Self:
        if self.unit_size > 1 and self.unit_column is None:
            raise ValueError("a size of units belongs to a column of them, and none is named (--unit-column)")
        return self

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
