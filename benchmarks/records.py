"""Whole records of ordinary size: five sensitive variables and ten public ones of 50,000 people."""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
import pandas as pd

from benchmarks.measure import Line, claim, fresh_cache, sized, tree_processor
from synth_core.analysis.records import fitted_parts
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.table import Table

PUBLIC_LEVELS = (8, 5, 4, 3, 3, 3, 2, 2, 2, 2)
INCOME = (0, 0, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 500)  # thousands; 0 is a bracket of its own
HOURS = (0, 0, 10, 20, 30, 35, 38, 41, 45, 50, 99)
BLOCKS = (
    Block("status", "categorical", {"categories": tuple("abcde")}),
    Block("school", "ordered", {"categories": tuple("123456")}),
    Block("income", "bracketed", {"bracket_edges": INCOME}, earlier_scale=20.0),
    Block("hours", "bracketed", {"bracket_edges": HOURS}, earlier_scale=20.0),
    Block("insurance", "categorical", {"categories": tuple("xyz")}),
)


def people(n: int, seed: int = 7) -> Table:
    """Simulated people; each sensitive variable depends on public ones and on those before it."""
    rng = np.random.default_rng(seed)
    public = [rng.choice(k, n, p=(w := 0.7 ** np.arange(k)) / w.sum()) for k in PUBLIC_LEVELS]
    x = np.column_stack([(c - c.mean()) / c.std() for c in public])

    def one_of(k: int, *more: np.ndarray) -> np.ndarray:
        given = np.column_stack([x, *more])
        logits = given @ rng.normal(0, 0.25, (given.shape[1], k)) + rng.normal(0, 0.5, k)
        return (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)

    status = one_of(5)
    school = np.clip(np.round(2.5 + x @ rng.normal(0, 0.3, x.shape[1]) + rng.normal(0, 1.2, n)), 0, 5)
    level = 3.4 + 0.2 * school + x @ rng.normal(0, 0.1, x.shape[1]) - 0.1 * status
    income = np.where(rng.random(n) < 0.12, 0.0, np.minimum(np.exp(level - 0.3 + rng.normal(0, 0.7, n)), 499))
    hours = np.clip(np.round(rng.normal(36 + x[:, 0], 11, n)), 1, 98)
    hours = np.where((income == 0) | (rng.random(n) < 0.05), 0.0, hours)
    insurance = one_of(3, np.log1p(income), hours / 40)
    columns: dict[str, object] = {f"p{i}": column for i, column in enumerate(public)}
    columns |= {"status": np.array(list("abcde"))[status], "school": (school + 1).astype(int)}
    columns |= {"income": income.round(2), "hours": hours, "insurance": np.array(list("xyz"))[insurance]}
    return Table("people", pd.DataFrame(columns))


def whole_records() -> list[Line]:
    """Unweighted, 1,000 draws in each of two chains, with bounds and all measures: a minute is allowed."""
    table = people(sized(50_000, 500))
    predictors = tuple(f"p{i}" for i in range(sized(len(PUBLIC_LEVELS), 2)))
    common = {
        "predictors": predictors,
        "categorical": predictors,
        "chains": 2,
        "seed": 1,
        "draws": sized(1_000, 100),
    }
    found, seconds, processor = {}, {}, {}
    for label, at_once in {"side by side": fitted_parts.AT_ONCE, "one by one": 1}.items():
        started, before = time.perf_counter(), tree_processor()
        with patch.object(fitted_parts, "AT_ONCE", at_once):
            found[label] = RecordsAnalysis(table, BLOCKS, common, fresh_cache()).run("unweighted")
        seconds[label], processor[label] = time.perf_counter() - started, tree_processor() - before
    ours, naive = (found[label] for label in ("side by side", "one by one"))
    assert ours.lipschitz_bound == naive.lipschitz_bound, (ours.lipschitz_bound, naive.lipschitz_bound)
    worst = max(part.result.diagnostics.rhat for part in ours.parts)
    claim(worst < 1.01, worst)
    return [
        Line("whole records, n = 50,000, ten public and five sensitive variables, two chains of 1,000",
             seconds["side by side"], seconds["one by one"] / seconds["side by side"],
             processor=processor["side by side"],
             note=f"naive: one part after the other, {seconds['one by one']:.1f} s; largest R-hat {worst:.4f}")
    ]  # fmt: skip
