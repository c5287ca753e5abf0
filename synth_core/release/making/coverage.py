"""How often intervals from a release hold, measured on its first data set alone: nothing confidential is read."""

from __future__ import annotations

import pandas as pd

from synth_core.analysis.any_analysis import analysis_of
from synth_core.analysis.fits import Progress
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.release.plan.plan import Plan
from synth_core.release.report.coverage_summary import Coverage, CoverageStudy
from synth_core.system.cache import Cache

OWN_MAPS = (
    "The release took its risk map from a table that was frozen before. Here each simulated database has a map of its "
    "own, and intervals may hold more or less often for that."
)


def coverage_of(
    plan: Plan, released: pd.DataFrame, study: CoverageStudy, cache: Cache, progress: Progress
) -> Coverage:
    """What a study finds whose databases are drawn from a released data set.

    Their noise is their own: the secret of the release is not used for what everybody may repeat.
    """
    table = Table("the released data", released, confidential=False)
    # Strata tell of standard errors by survey weights, and are in no file that leaves.
    other = {"risk_reference": "current", "match_epsilon": None, "strata": None}
    settings = Settings(**plan.settings.model_dump() | other)
    blocks = plan.analysed_blocks
    found = study.run(
        analysis_of(table.with_missing(plan.missing), settings, blocks, cache, progress=progress),
        plan.mechanism,
        plan.target_epsilon,
    )
    return found if plan.frozen is None else found.model_copy(update={"words": (*found.words, OWN_MAPS)})
