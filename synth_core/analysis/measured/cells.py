"""Cells of measured synthesis: sensitive columns are cut by what was declared, public ones by the table."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.measured.cell_limits import Categories, CellLimit, at_beginning, cell_limits
from synth_core.analysis.measured.variable import Array, Codes, Variable
from synth_core.analysis.named_tables import named_columns
from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.settings import Settings
from synth_core.data.decided import Limit, possible
from synth_core.data.survey_weights import read_weights, weight_classes
from synth_core.data.units import LARGEST_CLASS, size_column, unit_sizes
from synth_core.errors import InputError
from synth_core.models import family
from synth_core.models.bracketed import with_zero_alone

BOUNDED_CELLS = 20  # of a number of which bounds are declared and no edges
FEW_VALUES = 20  # of a public number, each a cell of its own; one of more values is cut at its own quantiles
PUBLIC_CELLS = 10
FREE, PRESENT = -1, -2
_LEADING_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?(?!\.?\d)")
WHOLE = 2520  # parts of a unit that counts as one record: noise is added to whole numbers; 1 to 10 divide it
MAYBE_ORDERED = 4  # categories from which on their declared order may be one, whatever their family


@dataclass(frozen=True, eq=False)
class PublicSide:
    """What of a table may be read freely: the public columns of all records, and how the sensitive ones are cut.

    Attributes
    ----------
    names : tuple of str
        Of the public columns.
    codes : array of int of shape (n_records, n_public)
    shape : tuple of int
        Cells of each public column.
    ordered : tuple of bool or None
    variables : tuple of Variable
    decided : array of shape (n_records, n_variables), or None
        The cell that rules, whose conditions are public, put a record in; `FREE` where they put it in none, `PRESENT`
        where they say that the value is not missing. None without rules.
    fixed : array of shape (n_records, n_variables), or None
        The number or the code there, NaN elsewhere.
    records : array of int of shape (n_records,), or None
        How many records the unit of each has, which counts as one record; None where each is a unit.
    of_sizes : int or None
        The public column of the sizes of units, which is counted in pairs alone; None without one.
    limits : tuple of CellLimit
        Rules that leave several cells, or that read sensitive variables.
    categories : mapping
        Of each sensitive variable its declared ones, None of a number: rules are read by them.
    named : tuple of tuple of int
        Columns of the tables that the analyst names; empty where the program says which are counted.
    choose_more : bool
        Whether others are chosen beside them.
    values : tuple of Series of shape (n_records,)
        Of the public columns, which `codes` cuts.
    """

    names: tuple[str, ...]
    codes: Codes
    shape: tuple[int, ...]
    ordered: tuple[bool | None, ...]
    variables: tuple[Variable, ...]
    decided: Codes | None = None
    fixed: Array | None = None
    limits: tuple[CellLimit, ...] = ()
    records: Codes | None = None
    of_sizes: int | None = None
    named: tuple[tuple[int, ...], ...] = ()
    choose_more: bool = False
    categories: Categories = field(default_factory=dict)
    values: tuple[pd.Series, ...] = ()

    def limits_of(self, variable: int) -> tuple[Limit, ...]:
        """The rules of a variable, each once."""
        return tuple(
            {id(each.limit): each.limit for each in self.limits if each.variable == variable}.values()
        )

    def without_rules(self) -> PublicSide:
        """The same, but no rule is kept."""
        return replace(self, decided=None, fixed=None, limits=())

    @property
    def n_records(self) -> int:
        return len(self.codes)

    @cached_property
    def parts(self) -> Codes:
        """What each record counts, in `WHOLE`ths: those of a unit together are at most one whole; (n_records,)."""
        if self.records is None:
            return np.ones(self.n_records, dtype=np.int64)
        return np.asarray(WHOLE // self.records)

    @property
    def whole(self) -> int:
        """How many parts one record alone counts."""
        return 1 if self.records is None else WHOLE

    def undecided(self, variable: int) -> NDArray[np.bool_]:
        """The records whose value of a variable no rule has decided, of shape (n_records,)."""
        if self.decided is None:
            return np.ones(self.n_records, dtype=bool)
        return np.asarray(self.decided[:, variable] < 0)

    @cached_property
    def shares(self) -> Array:
        """What each record counts, at most 1, of shape (n_records,)."""
        return np.asarray(self.parts / self.whole)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Of the columns of tables: public ones first."""
        return (*self.names, *(each.name for each in self.variables))


def cells_of(parts: tuple[Fits, ...], label: str) -> tuple[PublicSide, Codes, tuple[Array, ...]]:
    """The public side, the cell of every record's sensitive values, and these values. The last two are confidential.

    Parameters
    ----------
    parts : tuple of Fits
        Of each sensitive variable, and of whether it is missing, in order.

    Returns
    -------
    public : PublicSide
    codes : array of int of shape (n_records, n_variables)
    values : tuple of arrays of shape (n_records,)
        Of each variable numbers or codes of categories, missing as NaN.

    Raises
    ------
    InputError
        If nothing is declared that a number can be cut by.
    """
    first = parts[0]
    settings = first.settings
    rows = first.selection.used  # of whole records every row
    named = {fits.settings.outcome for fits in parts}
    variables, codes, outcomes, cells, fixed, limits = [], [], [], [], [], []
    for fits in parts:
        name = fits.settings.outcome
        if fits.settings.outcome_categories == PRESENCE and any(
            name == missing_name(other) for other in named
        ):
            continue
        values = np.full(len(rows), np.nan)
        values[fits.selection.complete] = fits.selection.records.outcome
        decided, absent = fits.selection.decided, missing_name(name) in named
        if decided is not None:
            values[decided.rows] = decided.values[decided.rows]
        variables.append(_variable(fits, absent or (decided is not None and decided.present), label))
        outcomes.append(values[rows])
        codes.append(variables[-1].codes(values[rows]))
        cells.append(np.full(len(codes[-1]), FREE if decided is None or not decided.present else PRESENT))
        fixed.append(np.full(len(codes[-1]), np.nan))
        if decided is not None:
            limits += list(decided.of(np.flatnonzero(rows)).limits)
            here = decided.rows[rows]
            cells[-1][here], fixed[-1][here] = codes[-1][here], decided.values[rows][here]
    read = [first.table.frame[name][rows] for name in settings.predictors]
    public = [
        public_codes(column, name in settings.categorical)
        for name, column in zip(settings.predictors, read, strict=True)
    ]
    names = settings.predictors
    if settings.weight is not None and settings.weight not in names:
        names = (*names, settings.weight)
        weights = read_weights(first.table, settings.weight, rows)
        classes = weight_classes(weights)
        read.append(pd.Series(weights))
        public.append((classes, int(classes.max()) + 1, True))
    sizes, of_sizes = None, None
    if settings.unit_column is not None:
        sizes = unit_sizes(first.table, settings.unit_column)[rows]
        levels, classes = np.unique(np.minimum(sizes, LARGEST_CLASS), return_inverse=True)
        if len(levels) > 1:  # what is said of persons of large and of small units may differ
            names, of_sizes = (*names, size_column(settings.unit_column)), len(names)
            read.append(pd.Series(sizes))
            public.append((classes.astype(np.int64), len(levels), True))
    n = int(rows.sum())
    categories = {each.settings.outcome: each.settings.outcome_categories for each in parts}
    _count_below(codes, variables, outcomes, cells, limits, categories)
    shape = tuple(size for _, size, _ in public)
    side = PublicSide(
        names,
        np.column_stack([each for each, _, _ in public]) if public else np.zeros((n, 0), dtype=np.int64),
        shape,
        tuple(ordered for _, _, ordered in public),
        tuple(variables),
        np.column_stack(cells) if first.settings.rules else None,
        np.column_stack(fixed) if first.settings.rules else None,
        tuple(cell for each in limits for cell in cell_limits(each, variables, categories)),
        sizes,
        of_sizes,
        named_columns(
            settings.count_together,
            (*names, *(each.name for each in variables)),
            (*shape, *(each.n for each in variables)),
            len(shape),
            n,
        ),
        settings.choose_more,
        categories,
        tuple(read),
    )
    return side, np.column_stack(codes), tuple(outcomes)


def _count_below(
    codes: list[Codes],
    variables: Sequence[Variable],
    outcomes: Sequence[Array],
    decided: Sequence[Codes],
    limits: Sequence[Limit],
    categories: Categories,
) -> None:
    """Count a number that is the end of what rules leave of it, and the beginning of a bracket, in the one below.

    Rules leave nothing else of that bracket, so no record is drawn in it but one that rules put there. This reads the
    record's own values alone.
    """
    rows = np.arange(len(codes[0]))
    drawn = {
        each.name: (values, categories[each.name]) for each, values in zip(variables, outcomes, strict=True)
    }
    for k, (variable, values) in enumerate(zip(variables, outcomes, strict=True)):
        mine = [
            each
            for each in limits
            if each.rule.column == variable.name
            and variable.edges
            and (each.beside is not None or each.rule.then.word is None)
        ]
        if not mine:
            continue
        left = possible(mine, drawn, rows, None)
        end = (values == left.upper) & (left.lower < left.upper) & ~np.isnan(values)
        end &= (decided[k] < 0) & (codes[k] > 0) & at_beginning(variable, codes[k], values)
        codes[k] = codes[k] - end


def require_brackets(s: Settings, label: str) -> None:
    """Refuse a number of which nothing is declared that it could be cut by; raises InputError.

    A guess makes no brackets of a count.
    """
    model = family(s.model)
    guessed = s.guess is not None and model.takes_guess and not model.discrete
    if s.outcome_categories is None and not s.bracket_edges and not guessed and s.bounds is None:
        what, half = "count", ""
        if not model.discrete:
            what, half = "number", "between what half of all values lie (--guess), "
        raise InputError(
            f"{label}: '{s.outcome}' is a {what}, and it is counted in brackets. Say of it {half}its bounds "
            "(--bounds), or the edges of brackets (--bracket-edges). Take none from the table."
        )


def _variable(fits: Fits, missing: bool, label: str) -> Variable:
    s = fits.settings
    if s.outcome_categories is not None:
        n = len(s.outcome_categories)
        ordered = None if n >= MAYBE_ORDERED or fits.model.ordered_categories else False
        return Variable(s.outcome, n, (), ordered, missing)
    require_brackets(s, label)
    edges = tuple(float(edge) for edge in s.bracket_edges)
    if not edges and s.guess is not None and fits.model.takes_guess and not fits.model.discrete:
        edges = fits.model.guess_edges(*s.guess)
    if not edges and s.bounds is not None:
        edges = tuple(np.linspace(*s.bounds, BOUNDED_CELLS + 1).tolist())
    if family(s.model).has_zeros(s.options) and edges.count(0.0) < 2 and edges[0] <= 0 <= edges[-1]:
        edges = with_zero_alone(edges)
    return Variable(s.outcome, len(edges) - 1, edges, True, missing, fits.model.discrete)


def public_codes(column: pd.Series, categorical: bool) -> tuple[Codes, int, bool | None]:
    """The cell of every record in a public column, how many cells there are, and whether they are in an order.

    Bands begin with numbers, and so do codes: those declared to be categories may be in an order (None) or not, which
    is learnt, as that of sensitive categories is.

    Examples
    --------
    >>> public_codes(pd.Series(["65-74", "9-17", "18-64", "65-74"]), False)
    (array([2, 0, 1, 2]), 3, True)
    """
    if pd.api.types.is_numeric_dtype(column) and not categorical:
        values = column.to_numpy(dtype=float)
        if len(np.unique(values)) > FEW_VALUES:
            cuts = np.quantile(values, np.arange(1, PUBLIC_CELLS) / PUBLIC_CELLS)
            values = np.searchsorted(np.unique(cuts), values, side="right").astype(float)
        levels, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int64), len(levels), True
    texts, codes = np.unique(column.astype(str).to_numpy(dtype=object), return_inverse=True)
    begins = np.array([_leading_number(text) for text in texts])
    if len(texts) > 2 and np.isfinite(begins).all() and len(set(begins)) == len(begins):
        maybe = None if len(texts) >= MAYBE_ORDERED else False
        ordered = maybe if categorical else True  # bands, such as 15-17
        return np.argsort(np.argsort(begins))[codes].astype(np.int64), len(texts), ordered
    return codes.astype(np.int64), len(texts), False


def cell_names(column: pd.Series, codes: Codes) -> list[str]:
    """What the cells of a public column hold, in their order: a value, or the least and the largest of several.

    Examples
    --------
    >>> cell_names(pd.Series([10, 2, 10]), np.array([1, 0, 1])), cell_names(pd.Series([1.5, 7.0]), np.array([0, 0]))
    (['2', '10'], ['1.5 to 7'])
    """
    values = column.reset_index(drop=True)
    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        values = values.astype(str)
    ends = values.groupby(np.asarray(codes)).agg(["min", "max"])
    texts = [
        [f"{end:.12g}" if isinstance(end, float) else str(end) for end in pair]
        for pair in ends.to_numpy(dtype=object)
    ]
    return [low if low == high else f"{low} to {high}" for low, high in texts]


def _leading_number(text: str) -> float:
    """The number that a band begins with, as in 15-17; NaN where there is none, nor one alone, as in 31.12.2024."""
    found = _LEADING_NUMBER.match(text)
    return float(found[0]) if found else math.nan
