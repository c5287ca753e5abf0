"""The papers' studies: their designs and their published numbers."""

from __future__ import annotations

from synth_core.data.examples import EXAMPLES, load_example
from synth_core.data.table import Table
from synth_core.experiments.studies.named_study import NamedStudy
from synth_core.experiments.studies.study import Study
from synth_core.replication import censor, curve, fatigue, ppm, ranges, reweight


def _curve() -> Study:
    example = EXAMPLES["401ksubs"]
    table = load_example("401ksubs")
    return curve.ppm_53(table, example.outcome, example.predictors[:4], example.model)


def _given(table: Table | None) -> Table:
    assert table is not None  # `named_studies.build` has seen to it
    return table


PAPERS = (
    NamedStudy("censor-4", lambda table: censor.censor_4(), censor.compare_4),
    NamedStudy("censor-5", lambda table: censor.censor_5(load_example("401ksubs")), censor.compare_5),
    NamedStudy("ppm-4.4", lambda table: ppm.ppm_44(), ppm.compare_44),
    NamedStudy("ppm-5.3", lambda table: _curve(), curve.compare_53),
    NamedStudy("range-4.1", lambda table: ranges.range_41(), ranges.compare_41),
    NamedStudy("range-4.2", lambda table: ranges.range_42(), ranges.compare_42),
    NamedStudy("range-4.3", lambda table: ranges.range_43(), ranges.compare_43),
    NamedStudy("range-5", lambda table: fatigue.range_5(_given(table)), fatigue.compare_5, "fatigue.csv"),
    NamedStudy("reweight-3", lambda table: reweight.reweight_3(), reweight.compare_3),
    NamedStudy(
        "reweight-4",
        lambda table: reweight.reweight_4(_given(table)),
        reweight.compare_4,
        "sdr2017_salaryp_freq.csv",
    ),
    NamedStudy("reweight-supp-5", lambda table: reweight.reweight_supp_5(), reweight.compare_supp_5),
)
