"""Studies of our own methods: designs of ours and what was expected of them; no paper has them."""

from __future__ import annotations

from synth_core.experiments.studies.named_study import NamedStudy
from synth_core.replication import anchored, confidential_weights, survey

DESIGNS = (
    NamedStudy("anchored", lambda table: anchored.study(), anchored.compare),
    NamedStudy("survey", lambda table: survey.study(), survey.compare),
    NamedStudy(
        "confidential-weights", lambda table: confidential_weights.study(), confidential_weights.compare
    ),
)
