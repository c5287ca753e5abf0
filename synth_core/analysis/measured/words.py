"""Which noisy tables were counted, in words."""

from __future__ import annotations

from collections.abc import Iterable

from synth_core.analysis.measured.cells import PublicSide
from synth_core.analysis.measured.log_linear import Columns
from synth_core.analysis.measured.measuring import Measurements, NoiseBudget, pairs_of_sizes
from synth_core.analysis.named_tables import joined


def measured_words(measured: Measurements, budget: NoiseBudget, public: PublicSide) -> str:
    """Which tables were counted, with how much noise, in a sentence."""
    kinds: dict[tuple[int, float], int] = {}
    for table in measured.tables:
        kind = len(table.columns), table.deviation
        kinds[kind] = kinds.get(kind, 0) + 1
    words = {1: "of one column", 2: "of two columns", 3: "of three columns"}
    law = "Gaussian" if budget.gaussian else "Laplace"
    counted = "; ".join(
        f"{n} {words[size]} (deviation {deviation:.3g})" for (size, deviation), n in sorted(kinds.items())
    )
    within = "; ".join(
        f"fine bins of {public.variables[each.variable].name} (deviation {each.deviation:.3g})"
        for each in measured.fine
    )
    fixed = _named_words(measured, public) if public.named else ""
    return (
        f"Measured with discrete {law} noise: tables {counted}{'; ' + within if within else ''}.{fixed} All else "
        "follows from these noisy counts and the public columns."
    )


def _named_words(measured: Measurements, public: PublicSide) -> str:
    """The tables that were named, and what was counted beside them, each with why."""

    def listed(tables: Iterable[Columns]) -> str:
        return ", ".join(joined(public.column_names[c] for c in columns) for columns in tables)

    beside = [each.columns for each in measured.tables if each.columns not in public.named]
    given: dict[str, list[Columns]] = {
        "in no table that is named, so alone": [each for each in beside if len(each) == 1],
        "so that large and small units may differ": [
            each for each in beside if each in pairs_of_sizes(public)
        ],
    }
    known = [columns for same in given.values() for columns in same]
    given["chosen by noisy distances"] = [each for each in beside if each not in known]
    said = "; ".join(f"{listed(tables)} ({why})" for why, tables in given.items() if tables)
    return f" Named in advance: {listed(public.named)}." + (f" Counted beside them: {said}." if said else "")
