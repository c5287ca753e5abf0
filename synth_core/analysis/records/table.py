"""The table that blocks are fitted on: public predictors, and sensitive variables as declared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.records.blocks import Block, settings_alone
from synth_core.data.agreement import check_agreement
from synth_core.data.decided import Declared
from synth_core.data.outcome import check_rows, outcome_column, outcome_values
from synth_core.data.predictors import predictor_values
from synth_core.data.rules import Rule, check_conditions, check_table
from synth_core.data.survey_weights import check_strata, read_weights
from synth_core.data.table import Table
from synth_core.data.units import size_column, unit_sizes
from synth_core.errors import InputError
from synth_core.models import family


@dataclass(frozen=True)
class WholeRecords:
    """A table of whole records.

    Attributes
    ----------
    table : Table
        One row a record: predictors, sensitive variables, and a column for each that may be missing.
    complete : array of bool of shape (n_rows,)
        Which rows of the table as loaded these are.
    dropped_by : dict
        Rows that were left out, by column.
    """

    table: Table
    complete: np.ndarray
    dropped_by: dict[str, int]

    @property
    def dropped(self) -> int:
        return int((~self.complete).sum())


def whole_records(
    table: Table,
    blocks: Sequence[Block],
    predictors: tuple[str, ...],
    rules: Sequence[Rule] = (),
    weight: str | None = None,
    unit: str | None = None,
    strata: str | None = None,
    categorical: tuple[str, ...] = (),
) -> WholeRecords:
    """Read the sensitive variables as declared; rows are complete but for what may be missing.

    Parameters
    ----------
    rules : sequence of Rule
        Structural zeros of these variables, which the table has to keep.
    weight : str, optional
        Column of survey weights.
    unit : str, optional
        Column of units of several records: their sizes in this table are kept, whoever of them is left out.
    strata : str, optional
        Column of the strata of the sample.
    categorical : tuple of str
        Numeric predictors that are categories.

    Raises
    ------
    InputError
        If a column is missing, a value is not what its block declares, or too few rows are complete. The column and
        the row are named.
    """
    kept = np.ones(table.rows, dtype=bool)
    dropped_by, columns, read = {}, {}, {}
    before = {
        block.name: {each.name: "categories" in each.options for each in blocks[:place]}
        for place, block in enumerate(blocks)
    }
    check_conditions(rules, predictors, before, [b.name for b in blocks if "categories" not in b.options])
    for name in predictors:
        predictor_values(table, name, name in categorical)  # here, where rows and cells are those of the file
        columns[name] = table.frame[name].reset_index(drop=True)
        absent = columns[name].isna().to_numpy()
        dropped_by[name], kept = int(absent.sum()), kept & ~absent
    for block in blocks:
        values = _values(table, block)
        absent = np.isnan(values)
        columns[block.name] = pd.Series(outcome_column(values, block.options.get("categories")))
        read[block.name] = values
        if block.missing is None:
            dropped_by[block.name], kept = int(absent.sum()), kept & ~absent
            continue
        name = missing_name(block.name)
        if name in table.frame.columns:
            raise InputError(f"The table has a column '{name}', a name that is needed here; rename it.")
        columns[name] = pd.Series(np.where(absent, PRESENCE[1], PRESENCE[0]), dtype=object)
    check_rows(int(kept.sum()), int((~kept).sum()), dropped_by)
    if unit is not None:
        columns[size_column(unit)] = pd.Series(unit_sizes(table, table.column(unit).name))
        columns[unit] = table.frame[unit].reset_index(drop=True)
    if strata is not None:
        check_strata(table, strata)
        columns.setdefault(strata, table.frame[strata].reset_index(drop=True))
    frame = pd.DataFrame(columns | ({} if weight is None else _weights(table, blocks, weight, kept)))
    _check_rules(frame, blocks, rules, predictors, read, kept)
    frame = frame[kept].reset_index(drop=True)
    for block in blocks:
        if frame[block.name].isna().all():
            raise InputError(f"Block '{block.name}' has no value in the complete rows.")
    made = Table(table.name, frame, table.confidential, row_numbers=table.rows_of_file[kept])
    return WholeRecords(made, kept, dropped_by)


def _check_rules(
    frame: pd.DataFrame,
    blocks: Sequence[Block],
    rules: Sequence[Rule],
    predictors: tuple[str, ...],
    read: dict[str, np.ndarray],
    kept: np.ndarray,
) -> None:
    """Refuse a table that breaks a rule, a rule whose variable is not declared so, and rules that contradict."""
    named = {block.name: block for block in blocks}
    categories = {name: block.options.get("categories") for name, block in named.items()}
    for rule in rules:
        block = named[rule.column]
        if rule.missing and block.missing is None:
            raise InputError(
                f"The rule {rule}: say that '{block.name}' may be missing, and what marks it (missing=…)."
            )
        amount = categories[block.name] is None and not rule.then.of_missing
        if amount and rule.then.word is None:
            _check_range(rule, block)
        check_table(frame, rule, {name: (read[name], categories[name]) for name in named}, kept)
    states = {name: declared_of(block) for name, block in named.items()}
    for name in dict.fromkeys(rule.column for rule in rules):
        check_agreement(frame[kept].reset_index(drop=True), rules, name, states, predictors)


def _check_range(rule: Rule, block: Block) -> None:
    """Refuse a rule of an amount that is no range, or one beyond the bounds that are declared of it."""
    low, high = rule.then.ends()
    lower, upper = settings_alone(block).bounds or (-np.inf, np.inf)
    if not rule.one_value and (low > upper or high < lower):
        raise InputError(
            f"The rule {rule}: no value between the declared bounds of '{block.name}' is as it says."
        )


def declared_of(block: Block, decimals: int | None = None) -> Declared:
    """What is declared of a sensitive variable beside its rules.

    Parameters
    ----------
    decimals : int, optional
        What its amounts are rounded to.
    """
    s, model, may_miss = settings_alone(block), family(block.model), block.missing is not None
    if s.outcome_categories is not None:
        return Declared(s.outcome_categories, may_miss)
    edges = s.bracket_edges or (-np.inf, np.inf)
    lower, upper = s.bounds or (edges[0], edges[-1])
    if model.discrete:
        lower, decimals = max(lower, 0.0), min(decimals or 0, 0)
    if "offset" in model.uses and ("transformation" not in model.uses or s.transformation == "log"):
        end = 0.0 - s.offset
        lower = max(lower, end if model.has_zeros(s.options) else float(np.nextafter(end, np.inf)))
    return Declared(None, may_miss, lower, upper, decimals)


def _weights(table: Table, blocks: Sequence[Block], weight: str, kept: np.ndarray) -> dict[str, pd.Series]:
    """The column of survey weights; raises InputError."""
    read_weights(table, weight, kept)
    if any(block.name == weight for block in blocks):
        raise InputError(f"'{weight}' is a sensitive block and cannot be the survey weight too.")
    return {weight: table.frame[weight].reset_index(drop=True)}


def _values(table: Table, block: Block) -> np.ndarray:
    """Numbers or codes of a block, missing as NaN, of shape (n_rows,)."""
    table.column(block.name)
    marked = table.with_missing(f"{block.name}={text}" for text in block.missing or ())
    return outcome_values(marked, block.name, block.options.get("categories"))
