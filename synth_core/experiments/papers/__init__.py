"""The papers' studies by name: what each needs, its design, and its published numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from synth_core.data.examples import EXAMPLES, load_example
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.papers import censor, curve, fatigue, ppm, ranges, reweight
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import Study
from synth_core.experiments.studies.verdicts import Row

Load = Callable[[str], Table]  # a path or example:NAME to a table


@dataclass(frozen=True)
class PaperStudy:
    """A study of the papers: how it is built, and how it is compared.

    Attributes
    ----------
    build : callable
        Given the table that --data names, or None.
    needs : str
        Which file --data must name; empty if none.
    """

    name: str
    build: Callable[[Table | None], Study]
    compare: Callable[[StudyOutcome], list[Row]]
    needs: str = ""


def _curve() -> Study:
    example = EXAMPLES["401ksubs"]
    table = load_example("401ksubs")
    return curve.ppm_53(table, example.outcome, example.predictors[:4], example.model)


PRESETS: dict[str, PaperStudy] = {
    preset.name: preset
    for preset in (
        PaperStudy("censor-4", lambda table: censor.censor_4(), censor.compare_4),
        PaperStudy("censor-5", lambda table: censor.censor_5(load_example("401ksubs")), censor.compare_5),
        PaperStudy("ppm-4.4", lambda table: ppm.ppm_44(), ppm.compare_44),
        PaperStudy("ppm-5.3", lambda table: _curve(), curve.compare_53),
        PaperStudy("range-4.1", lambda table: ranges.range_41(), ranges.compare_41),
        PaperStudy("range-4.2", lambda table: ranges.range_42(), ranges.compare_42),
        PaperStudy("range-4.3", lambda table: ranges.range_43(), ranges.compare_43),
        PaperStudy("range-5", lambda table: fatigue.range_5(_given(table)), fatigue.compare_5, "fatigue.csv"),
        PaperStudy("reweight-3", lambda table: reweight.reweight_3(), reweight.compare_3),
        PaperStudy(
            "reweight-4",
            lambda table: reweight.reweight_4(_given(table)),
            reweight.compare_4,
            "sdr2017_salaryp_freq.csv",
        ),
        PaperStudy("reweight-supp-5", lambda table: reweight.reweight_supp_5(), reweight.compare_supp_5),
    )
}


def _given(table: Table | None) -> Table:
    assert table is not None  # find_preset has seen to it
    return table


def build(name: str, data: str | None, load: Load) -> tuple[PaperStudy, Study]:
    """A preset and its study; raises InputError if the name or the data will not do."""
    if name not in PRESETS:
        raise InputError(
            f"There is no study '{name}'; there are: {', '.join(PRESETS)}, and like (on a table of yours)."
        )
    preset = PRESETS[name]
    if preset.needs and data is None:
        raise InputError(
            f"The study {name} needs the file {preset.needs}, which does not come with the app: "
            f"--data PATH/{preset.needs}"
        )
    if not preset.needs and data is not None:
        raise InputError(f"The study {name} takes no --data: its design is the paper's.")
    return preset, preset.build(load(data) if data is not None else None)
