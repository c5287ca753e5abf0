"""A result of whole records thinned to what a screen can show. Confidential."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.measures import Measures, cramers_v
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.result import COVERS, RecordsResult
from synth_core.analysis.summary import density, five_numbers
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.guarantee_sentences import SEED, about_weights, explain

MAX_CELLS = 144  # of a pair's table: more are not read on a screen


def scales_in_words(scales: list[tuple[str, str]]) -> str:
    """The scales on which densities of parts are taken, from their names and scales, each scale once.

    Examples
    --------
    >>> scales_in_words([("sex", "probability"), ("pay", "density per 1"), ("work", "probability")])
    'probability (sex, work); density per 1 (pay)'
    """
    names: dict[str, list[str]] = {}
    for name, scale in scales:
        names.setdefault(scale, []).append(name)
    return "; ".join(f"{scale} ({', '.join(those)})" for scale, those in names.items())


def measures_in_words(measures: Measures) -> str:
    """The measures of several columns together, in words."""
    return (
        f"In sets of three columns it is as close to the table as a random sample of {measures.sample_share:.1%} of "
        f"the records. The association of {measures.worst_pair[0]} and {measures.worst_pair[1]} is furthest off, by "
        f"{measures.worst_association:.2f}."
    )


def summarise_records(analysis: RecordsAnalysis, result: RecordsResult) -> dict[str, Any]:
    """Plain numbers of one mechanism on whole records, for a table and figures.

    Returns
    -------
    dict
        "parts" are the blocks in order; "pairs" the columns of which at least one is sensitive, with their
        associations and their shares by cell in both tables.
    """
    tables = analysis.coded(result.synthetic[0])
    problems = list(result.problems)
    promised = result.guarantee
    return {
        "mechanism": result.mechanism,
        "epsilon": result.epsilon,
        "lipschitz_bound": result.lipschitz_bound,
        "n_records": analysis.table.rows,
        "rows_dropped": analysis.records.dropped,
        "n_datasets": analysis.datasets,
        "problems": problems,
        "preview_khat": None,
        "sentence": (
            "Not for use: a fit has not converged."
            if problems
            else f"{privacy_words(analysis, result)} {measures_in_words(result.measures)}"
        ),
        "guarantee": {
            "label": promised.label,
            "strength": promised.strength,
            "lines": _lines(analysis, result),
        },
        "measures": asdict(result.measures),
        "bounds": {
            "density": density(result.lipschitz_bounds),
            "five": five_numbers(result.lipschitz_bounds),
            "largest_record": int(np.argmax(result.lipschitz_bounds)) + 1,
        },
        "parts": [
            {
                "name": each.part.name,
                "variable": each.part.block.name,
                "model": each.part.settings.model,
                "share": each.part.share,
                "epsilon": each.result.epsilon,
                "lipschitz_bound": each.bounds.lipschitz_bound,
                "distance": each.distance,
                "n_zero_weight": each.result.n_zero_weight,
                "n_censored": each.result.n_censored,
                "n_records": len(each.result.weights),
                "anchor": each.result.anchor,
                "problems": list(each.result.problems),
            }
            for each in result.parts
        ],
        "pairs": _pairs(tables, {block.name for block in analysis.blocks}),
        "seconds": result.seconds,
    }


def privacy_words(analysis: RecordsAnalysis, result: RecordsResult) -> str:
    """What the epsilon of whole records leaves an intruder, where that follows."""
    if result.guarantee.strict:
        return suspicion(result.guarantee, result.epsilon, 2 * result.epsilon, analysis.datasets)
    return (
        f"In this table ε = {epsilon_number(result.epsilon)} bounds what withholding all that is sensitive about one "
        "record changes; not promised for another table."
    )


def _lines(analysis: RecordsAnalysis, result: RecordsResult) -> list[str]:
    """The guarantee explained, with what it is about where several variables are sensitive."""
    point, first, promised = result.point, result.parts[0].result, result.guarantee
    source = analysis.parts[0].settings.weights_source(point.scheme)
    reads_current = point.reads_current(first.tuned)
    if promised.strict:
        lines = explain(
            promised,
            result.epsilon,
            2 * result.epsilon,
            analysis.datasets,
            point.weighted,
            source,
            reads_current,
            first.anchor,
        )
        lines.insert(1, f"{COVERS}.")
    else:
        lines = [
            promised.promise,
            f"Not promised: {promised.limits}",
            about_weights(point.weighted, source, reads_current),
            f"ε = {result.epsilon:.2f} is for everything sensitive about one record withheld, its row and its "
            "predictors kept, over all combinations of the blocks' draws. What replacing it costs is not measured.",
            SEED,
        ]
    return [
        *lines,
        "The ε of one variable is its share, not the protection of that variable: later ones are conditional on it.",
    ]


def _pairs(tables: DiscretisedTables, sensitive: set[str]) -> list[dict[str, Any]]:
    """The association and the shares by cell of each pair of columns that synthesis touches."""
    pairs = []
    for i, j in itertools.combinations(range(len(tables.names)), 2):
        if not sensitive & {tables.names[i], tables.names[j]}:
            continue
        sides = tables.confidential[:, [i, j]], tables.synthetic[:, [i, j]]
        tied = [cramers_v(*side.T) for side in sides]
        mine, theirs = (_shares(side, (tables.n_codes[i], tables.n_codes[j])) for side in sides)
        pairs.append(
            {
                "names": [tables.names[i], tables.names[j]],
                "association": abs(tied[0] - tied[1]),
                "labels": [list(tables.labels[i]), list(tables.labels[j])],
                "confidential": mine,
                "synthetic": theirs,
            }
        )
    return pairs


def _shares(codes: NDArray[np.int64], n_codes: tuple[int, ...]) -> list[list[float]] | None:
    """Shares of the records by cell; None where there are too many cells to be read."""
    if n_codes[0] * n_codes[1] > MAX_CELLS:
        return None
    cells = np.bincount(codes[:, 0] * n_codes[1] + codes[:, 1], minlength=n_codes[0] * n_codes[1])
    shares: list[list[float]] = (cells.reshape(n_codes[0], n_codes[1]) / len(codes)).tolist()
    return shares
