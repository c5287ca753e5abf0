"""How often intervals from a release hold, as it may leave: databases simulated from the released data set alone."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.release.bounded_text import ShortWords
from synth_core.release.plan.plan import Plan
from synth_core.system import limits

FORMAT: Final = "synth-core-coverage"
Finite = Annotated[float, Field(allow_inf_nan=False)]


class CoverageLine(BaseModel):
    """A class of estimates: how many of its intervals hold, and what standard errors are to be multiplied by."""

    model_config = ConfigDict(frozen=True)

    title: ShortWords
    rule: ShortWords
    held: Annotated[float, Field(ge=0, le=1)]
    error: Annotated[float, Field(ge=0)]
    factor: Finite
    with_factor: Annotated[float, Field(ge=0, le=1)] | None = (
        None  # of releases studied before it was measured
    )
    bias: Finite


class Coverage(BaseModel):
    """What a study of the released model found; it reads nothing else, so it is post-processing."""

    model_config = ConfigDict(frozen=True)

    format: Literal["synth-core-coverage"] = FORMAT
    replicates: Annotated[int, Field(ge=1)]
    words: tuple[Annotated[str, Field(max_length=limits.REASON_LENGTH)], ...]
    lines: tuple[CoverageLine, ...]

    def text(self) -> str:
        """The summary as JSON."""
        return self.model_dump_json()

    def csv(self) -> bytes:
        """The lines as a small file, for users of the data."""
        out = io.StringIO()
        names = (
            "estimates",
            "rule",
            "intervals that hold",
            "Monte Carlo error",
            "factor",
            "hold with the factor",
            "bias",
        )
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(names)
        for each in self.lines:
            numbers = (each.held, each.error, each.factor, each.with_factor, each.bias)
            told = ("" if number is None else f"{number:.3f}" for number in numbers)
            writer.writerow((each.title, each.rule, *told))
        return out.getvalue().encode()


class CoverageStudy(Protocol):
    """What simulates databases from a released data set; `experiments` has it, and hands it to a release."""

    def check(self, plan: Plan) -> None:
        """Refuse, before anything is charged, what cannot be studied; raises InputError."""

    def run(self, analysis: AnyAnalysis[Any], mechanism: str, epsilon: float) -> Coverage:
        """Study the intervals from a data set that was released."""
