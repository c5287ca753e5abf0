"""What a screen shows of a result, of one sensitive variable or of several. Confidential."""

from __future__ import annotations

from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.summary import summarise_records
from synth_core.analysis.summary import summarise


def summary_of(analysis: AnyAnalysis[Any], result: Any) -> dict[str, Any]:
    """Plain numbers and curves of a result of an analysis."""
    if isinstance(analysis, RecordsAnalysis):
        summary = summarise_records(analysis, result)
    else:
        [outcome] = analysis.confidential.values()
        survey = analysis.survey if analysis.settings.accuracy_by else None
        summary = summarise(result, outcome, None if survey is None else survey.weights)
    return summary | {"density_scale": analysis.density_scale, "rows_dropped": analysis.used_rows.dropped}
