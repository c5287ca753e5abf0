"""What a synthetic table looks like beside the confidential one: a few rows, and the shape of each variable.

Confidential: shares and quartiles of the confidential table, and rows that no release has been charged for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis, AnyResult
from synth_core.analysis.check.table_check import meanings
from synth_core.analysis.summary import ROWS_SHOWN, FirstRows, ShapeLine
from synth_core.data.outcome import outcome_column
from synth_core.system.number_text import measured, percent

Array = NDArray[np.float64]
COMMON = 3  # categories that are told, the most frequent ones
QUARTILES = {"a quarter is below": 0.25, "half is below": 0.5, "three quarters are below": 0.75}


def first_rows(analysis: AnyAnalysis[Any], result: AnyResult) -> FirstRows:
    """The first rows of the first synthetic table as text: the names of its columns, and their values."""
    names = [
        name
        for name in dict.fromkeys((*analysis.settings.kept_columns, *analysis.loaded.public_columns))
        if name not in analysis.outcomes
    ]
    kept = (
        analysis.loaded.frame.loc[analysis.used_rows.complete, names].head(ROWS_SHOWN).reset_index(drop=True)
    )
    made = {
        name: outcome_column(values[0][:ROWS_SHOWN], analysis.outcomes[name].outcome_categories)
        for name, values in analysis.synthetic(result).items()
    }
    frame = pd.concat([pd.DataFrame(made), kept], axis=1)  # what is synthetic is seen first
    return FirstRows([str(name) for name in frame], [[*map(_text, row)] for row in frame.to_numpy()])


def _text(cell: Any) -> str:
    """A value as a reader sees it; a number with the digits of one that was measured."""
    if cell is None or cell != cell:
        return ""
    return measured(float(cell)) if isinstance(cell, float) else str(cell)


def shape_of(analysis: AnyAnalysis[Any], result: AnyResult) -> tuple[ShapeLine, ...]:
    """Of each sensitive variable what is missing, zero or below it and its quartiles, or its most frequent categories:
    a line for each, with a text of either table. Of synthetic tables all are taken together. Shares are of all records,
    as those that the gate tells, each once, and what is missing by survey weights too; quartiles are of the values that
    are there.
    """
    lines, confidential = [], analysis.confidential
    for name, synthetic in analysis.synthetic(result).items():
        sides, categories = (
            (confidential[name], synthetic.ravel()),
            analysis.outcomes[name].outcome_categories,
        )
        if categories is None:
            told = [_of_numbers(each) for each in sides]
        else:
            told = _of_categories(sides, meanings(name, categories, analysis.loaded.codebook))
        if analysis.survey is not None:
            by_weight = f"missing, by {analysis.settings.weight}"
            told = [
                {"missing": each["missing"], by_weight: _weighted(np.isnan(side), analysis.survey.weights)}
                | each
                for each, side in zip(told, sides, strict=True)
            ]
        nothing = percent(0.0)
        lines += [
            ShapeLine(name, what, told[0][what], told[1][what])
            for what in told[0]
            if any(each[what] != nothing for each in told)  # such as missing values that neither table has
        ]
    return tuple(lines)


def _of_categories(sides: tuple[Array, Array], labels: tuple[str, ...]) -> list[dict[str, str]]:
    """Of either table, by the frequency in the first."""
    counts = [np.bincount(each[~np.isnan(each)].astype(int), minlength=len(labels)) for each in sides]
    common = np.argsort(-counts[0], kind="stable")[:COMMON]
    return [
        {"missing": _share(np.isnan(side))}
        | {labels[code]: percent(count[code] / max(1, len(side))) for code in common}
        for side, count in zip(sides, counts, strict=True)
    ]


def _share(chosen: NDArray[np.bool_]) -> str:
    return percent(float(chosen.mean()))


def _weighted(chosen: NDArray[np.bool_], weights: Array) -> str:
    """A share of the population: the records of every data set have the same weights in the same order."""
    return percent(float(np.average(chosen.reshape(-1, len(weights)).mean(axis=0), weights=weights)))


def _of_numbers(values: Array) -> dict[str, str]:
    there = values[~np.isnan(values)]
    quartiles = dict.fromkeys(QUARTILES, "–")  # where no value is there
    if there.size:
        quartiles = {what: measured(float(np.quantile(there, share))) for what, share in QUARTILES.items()}
    return {
        "missing": _share(np.isnan(values)),
        "below zero": _share(values < 0),
        "zero": _share(values == 0),
    } | quartiles
