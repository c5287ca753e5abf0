"""What is said of predictors and rules before anything is fitted: lines of standard error that begin with "!"."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.selection import telling_words
from synth_core.data.rules import idle, read_rules
from synth_core.errors import InputError


def say_notices(analysis: AnyAnalysis[Any], rules: Sequence[str] = ()) -> None:
    """Print which public columns tell a sensitive value, and which rules have a condition that no record meets."""
    for each in analysis.analyses(False):
        with suppress(InputError):  # said where it is fitted, by the name of its block
            for words in telling_words(analysis.loaded, each.selection, each.settings):
                print(f"! {words}", file=sys.stderr)
    for rule in idle(read_rules(rules), analysis.table.frame[list(analysis.settings.predictors)]):
        print(
            f"! no record meets the condition of {rule}: compare its values with the table's", file=sys.stderr
        )
