"""What `map` and `tune` explore: one sensitive variable, or several."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.cli.compare import open_analysis
from synth_core.cli.records import check_no_shares, open_records
from synth_core.data.table import Table
from synth_core.experiments.explore.records_point import check_measure
from synth_core.mechanisms.catalogue import find_mechanism, require_several


def open_explored(args: argparse.Namespace, measure: str) -> tuple[AnyAnalysis[Any], list[str]]:
    """One sensitive variable or several, and the mechanisms; raises InputError for what cannot be asked.

    A single block is a sensitive variable as `--outcome` names it, and takes every mechanism.
    """
    if not args.block:
        check_no_shares(args)
        return open_analysis(args)
    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    analysis = open_records(args)
    if len(analysis.parts) == 1:
        return one_of(analysis), keys
    for key in keys:
        require_several(find_mechanism(key))
    check_measure([part.settings for part in analysis.parts], measure)
    return analysis, keys


def one_of(analysis: RecordsAnalysis) -> Analysis:
    """The analysis of the only variable."""
    return Analysis(
        analysis.loaded,
        analysis.settings,
        analysis.cache,
        analysis.progress,
        analysis.reference if isinstance(analysis.reference, Table) else None,
        anchor=analysis.anchor,
    )
