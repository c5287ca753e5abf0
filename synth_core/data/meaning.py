"""What the texts of a column mean: values, a proposed entry, and a question where there are two readings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow

from synth_core.data.cells import MISSING_AMONG_NUMBERS, Finding, look_at
from synth_core.data.codebook import Entry, Kind
from synth_core.data.distinct import Distinct
from synth_core.data.reading import ReadOptions
from synth_core.data.spellings import Numerals, readable
from synth_core.errors import InputError
from synth_core.system.number_text import is_or_are

SIGNS = {",": "comma", ".": "point", " ": "space", "'": "apostrophe", "’": "apostrophe"}


@dataclass(frozen=True)
class Meaning:
    """What a column of texts means.

    Attributes
    ----------
    values : Series
        Numbers, or texts without surrounding space; missing cells empty.
    entry : Entry
        As proposed.
    question : str
        Both readings, in words, where there are two: the values are texts then.
    """

    values: pd.Series
    entry: Entry
    question: str = ""

    @property
    def numbers(self) -> bool:
        return pd.api.types.is_numeric_dtype(self.values)


def meanings(columns: Mapping[str, Distinct], options: ReadOptions) -> dict[str, Meaning]:
    """What the columns of a file mean; a decimal sign that one shows without doubt counts for the others."""
    findings = {
        column: _found(distinct, options.codebook.get(column), options)
        for column, distinct in columns.items()
    }
    signs = {finding.decided for finding in findings.values()} - {""}
    return {
        column: _meaning(column, distinct, findings[column], options.codebook.get(column), options, signs)
        for column, distinct in columns.items()
    }


def without_marks(column: str, cells: pyarrow.Array, marks: list[str], options: ReadOptions) -> Meaning:
    """A column of texts whose cells of these texts are missing too.

    What is left may be numbers, and may then be read in two ways, which the marks had hidden.
    """
    distinct = Distinct.of(cells).without(marks)
    finding = _found(distinct, None, options)
    found = _meaning(column, distinct, finding, None, options, set())
    missing = tuple(dict.fromkeys((*found.entry.missing, *marks)))
    return Meaning(found.values, found.entry.model_copy(update={"missing": missing}), found.question)


def _meaning(
    column: str,
    distinct: Distinct,
    finding: Finding,
    declared: Entry | None,
    options: ReadOptions,
    signs: set[str],
) -> Meaning:
    numerals = finding.numerals or _reading(finding, options, signs)
    question = _question(column, finding) if finding.readings and numerals is None else ""
    numbers = distinct.numbers(numerals) if finding.kind == "number" and numerals is not None else None
    if declared is not None and declared.kind == "number" and numbers is None and finding.kind != "empty":
        raise InputError(not_numbers(column, distinct, declared))
    values = distinct.texts(() if declared is None else declared.missing) if numbers is None else numbers
    return Meaning(values, _proposed(column, finding, numerals, question), question)


def _found(distinct: Distinct, declared: Entry | None, options: ReadOptions) -> Finding:
    if declared is None:
        # Between commas a point is a decimal point, unless the options say otherwise.
        said = options.thousands == "." or options.decimal == ","
        return look_at(distinct, "" if said else options.delimiter or "")
    if declared.kind == "number":
        return look_at(distinct, "", declared.numerals)
    return Finding("date" if declared.kind == "date" else "text")


def _reading(finding: Finding, options: ReadOptions, signs: set[str]) -> Numerals | None:
    """That of two readings which the options name, or else the decimal sign that the file's other columns show."""
    if len(finding.readings) < 2:  # no sign decides whether it is a number
        return None
    for each in finding.readings:
        if options.decimal == each.decimal or (options.thousands and options.thousands == each.thousands):
            return each
    if options.decimal is None and options.thousands is None and len(signs) == 1:
        return next((each for each in finding.readings if each.decimal in signs), None)
    return None


def _question(column: str, finding: Finding) -> str:
    if len(finding.readings) < 2:
        return (
            f"Column '{column}' can be read in two ways: some of its cells are digits around a letter E, as 12E4: "
            "they may be codes or powers of ten. Say which, by a codebook: a category or a number."
        )
    sign = next(each.thousands for each in finding.readings if each.thousands)
    word = SIGNS[sign]
    return (
        f"Column '{column}' can be read in two ways: each {word} in it stands before exactly three digits, so it "
        f"may be a decimal {word} or one between thousands. Say which, by the decimal sign, the sign of thousands or a "
        f"codebook."
    )


def not_numbers(column: str, distinct: Distinct, declared: Entry) -> str:
    """Why a column that is declared a number is none, for an error: how many cells, and the first row."""
    texts = distinct.texts((*declared.missing, *MISSING_AMONG_NUMBERS))
    fine = readable(pyarrow.array(texts, pyarrow.string(), from_pandas=True), declared.numerals)
    bad = ~fine.fill_null(True).to_numpy(zero_copy_only=False)
    if not bad.any():
        return (
            f"Column '{column}' is declared a number in the codebook, and holds one of so many digits that it would be "
            "rounded. Give it another unit, or declare the column a category if it is a code."
        )
    where = f" (first in row {int(np.argmax(bad)) + 1:,})"
    return (
        f"Column '{column}' is declared a number in the codebook, and {bad.sum():,} of its cells "
        f"{is_or_are(bad.sum())} none{where}. Name "
        "those that mean missing, correct its signs, or declare another kind."
    )


def _proposed(column: str, finding: Finding, numerals: Numerals | None, question: str) -> Entry:
    if finding.kind == "number":
        how = numerals or Numerals(missing=finding.readings[0].missing)
        return Entry(
            column=column,
            kind="number",
            decimal="," if how.decimal == "," else ".",
            thousands=how.thousands,
            missing=how.missing,
            note=question or finding.reason,
        )
    kinds: dict[str, Kind] = {"date": "date", "text": "category", "empty": "unused"}
    note = "no values" if finding.kind == "empty" else finding.reason
    return Entry(column=column, kind=kinds[finding.kind], note=note)
