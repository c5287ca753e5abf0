"""The confidential table, validated once at the border, and what is chosen from it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow

from synth_core.data.categories import NO_CATEGORY, category_places, check_told_apart
from synth_core.data.codebook import Codebook, Entry, declared_categories
from synth_core.data.column import Column, describe
from synth_core.data.meaning import without_marks
from synth_core.data.missing import by_column, checked_markers, without_markers
from synth_core.data.readers import read_again, read_frame, reader_errors_in_words
from synth_core.data.reading import Read, ReadOptions
from synth_core.data.spellings import readable, spell
from synth_core.data.typed_file import cell_text, is_read, labels_of, spelled, texts_alone
from synth_core.errors import InputError
from synth_core.system.characters import one_line, visible
from synth_core.system.files import no_file
from synth_core.system.number_text import declared, those_that

_WEIGHT_NAME = re.compile(r"wgt|wt(\d|$)|weight", re.I)


@dataclass(frozen=True)
class Table:
    """A table as loaded. `confidential` is False only for public or simulated examples.

    Attributes
    ----------
    missing : tuple of str
        Values that mean missing: where one stood, `frame` has an empty cell.
    codebook : Codebook
        What each column is, as declared or proposed; empty for a table that was not read from a file.
    written : dict
        Of a column of a text file, its cells as the file writes them.
    questions : dict
        Of a column that can be read in two ways, both, in words: it cannot be used before somebody says which.
    labelled : dict
        Of a column whose codes have become their labels, the label of each code.
    row_numbers : array of int of shape (n_rows,), or None
        Of a table from which rows were left out, which rows of the file these are, from 1.
    """

    name: str
    frame: pd.DataFrame
    confidential: bool = True
    read_options: ReadOptions = field(default_factory=ReadOptions)
    missing: tuple[str, ...] = ()
    codebook: Codebook = field(default_factory=Codebook)
    written: dict[str, pyarrow.Array] = field(default_factory=dict, compare=False, repr=False)
    questions: dict[str, str] = field(default_factory=dict, compare=False)
    labelled: dict[str, dict[str, str]] = field(default_factory=dict, compare=False, repr=False)
    row_numbers: np.ndarray | None = field(default=None, compare=False, repr=False)

    @property
    def rows_of_file(self) -> np.ndarray:
        """The number of each row in its file, from 1."""
        known = self.row_numbers
        return np.arange(1, self.rows + 1) if known is None or len(known) != self.rows else known

    @property
    def rows(self) -> int:
        return len(self.frame)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of names, types and values, of 16 hex digits: which table a result is of."""
        digest = hashlib.sha256()
        for column in self.frame.columns:
            series = self.frame[column]
            digest.update(repr((column, str(series.dtype), len(series))).encode())
            digest.update(pd.util.hash_pandas_object(series, index=False).to_numpy().tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def identity(self) -> str:
        """The fingerprint, and a hash of the cells as written and of the codebook: which table a worker holds."""
        if not self.written and not self.codebook.columns:
            return self.fingerprint
        digest = hashlib.sha256(self.codebook.digest.encode())
        for cells in self.written.values():
            for buffer in cells.buffers():
                digest.update(b"" if buffer is None else memoryview(buffer))
        return f"{self.fingerprint}-{digest.hexdigest()[:16]}"

    def fingerprint_of(self, columns: Iterable[str]) -> str:
        """The fingerprint of these columns alone: an unused one more does not make it another table."""
        return replace(self, frame=self.frame[list(columns)]).fingerprint

    def same_records(self, other: Table, columns: Iterable[str]) -> bool:
        """Whether another table has the same records in these columns, in whatever order and with whatever beside."""
        return self.fingerprint_of_records(columns) == other.fingerprint_of_records(columns)

    def fingerprint_of_records(self, columns: Iterable[str]) -> str:
        """Hash of the complete rows in those of these columns that the table has, in no order."""
        known = tuple(sorted(set(columns) & set(self.frame.columns)))
        if known not in self._records:
            complete = self.frame[list(known)].dropna()
            for name in known:
                numeric = pd.api.types.is_numeric_dtype(complete[name])
                complete = complete.assign(**{name: complete[name].astype(float if numeric else str)})
            rows = np.sort(pd.util.hash_pandas_object(complete, index=False).to_numpy())
            self._records[known] = hashlib.sha256(repr(known).encode() + rows.tobytes()).hexdigest()[:16]
        return self._records[known]

    @cached_property
    def _records(self) -> dict[tuple[str, ...], str]:
        """Hashes that were asked for, by columns."""
        return {}

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(describe(self.frame[name], name, self.codebook.get(name)) for name in self.frame.columns)

    def as_written(self, columns: Iterable[str], rows: np.ndarray) -> pd.DataFrame:
        """Columns as the file writes them, cell by cell, for a file that leaves.

        Parameters
        ----------
        rows : array of bool of shape (n_rows,)
            Which rows; they are numbered anew.
        """
        found = {}
        for name in columns:
            cells = self.written.get(name)
            if cells is None:
                typed = self.frame[name][rows].reset_index(drop=True)
                found[name] = typed.map(cell_text, na_action="ignore").astype(object)
            else:
                found[name] = cells.filter(pyarrow.array(rows)).to_pandas().astype(object)
        return pd.DataFrame(found, index=range(int(np.sum(rows))))

    @property
    def declared_codebook(self) -> Codebook:
        """The entries that somebody declared, whom another file of the same columns may be read by."""
        return self.read_options.codebook

    @property
    def entries_without_column(self) -> list[str]:
        """Columns that the declared codebook has an entry for and the file does not have."""
        return [e.column for e in self.declared_codebook.columns if e.column not in self.frame.columns]

    def codebook_of(self, columns: Iterable[str]) -> Codebook:
        """What these columns are, as a plan keeps it for later tables: without reasons."""
        kept = self.codebook.only(columns)
        return Codebook(columns=tuple(entry.model_copy(update={"note": ""}) for entry in kept.columns))

    @property
    def public_columns(self) -> list[str]:
        """Columns that the codebook declares public, and that may be kept: nothing is public of itself."""
        public = {e.column for e in self.codebook.columns if e.role == "public" and not e.confidential}
        return [str(name) for name in self.frame.columns if name in public]

    def offered(self, kept: bool = False) -> tuple[Column, ...]:
        """The columns that may be synthesized or, if `kept`, kept as they are: those that no entry rules out."""
        out = {e.column for e in self.codebook.columns if (e.confidential if kept else e.never_used)}
        return tuple(c for c in self.columns if c.name not in out or c.kind == "empty")

    def check_use(self, name: str, kept: bool = False) -> None:
        """Refuse a column that the codebook rules out; raises InputError that says why.

        Parameters
        ----------
        kept : bool
            Whether it is to be kept as it is, as a predictor is, and not synthesized.
        """
        entry = self.codebook.get(name)
        if entry is None or self.column(name).kind == "empty":
            return
        if entry.never_used:
            raise InputError(
                f"Column '{name}' is declared {entry.never_used} in the codebook, so it is neither synthesized nor a "
                "predictor, and never released. Declare another kind if it is to be used."
            )
        if kept and entry.confidential:
            raise InputError(
                f"Column '{name}' is declared sensitive in the codebook, and a predictor is released as it is. "
                "Synthesize it, or leave it out."
            )
        if kept:
            self.check_kept(name)

    def check_kept(self, name: str) -> None:
        """Refuse a column that is to be kept as it is where a cell breaks its entry; raises InputError with the row."""
        found = self.beyond_declared(name, self.codebook.get(name))
        if found is not None:
            cells, rule = found
            raise InputError(
                f"Column '{name}' has {those_that(int(cells.sum()), 'cell')} {rule} (first in row "
                f"{int(np.argmax(cells)) + 1:,}). Correct the table, or what the codebook declares."
            )

    def beyond_declared(self, name: str, entry: Entry | None) -> tuple[np.ndarray, str] | None:
        """Which rows break an entry, of shape (n_rows,), and its rule in words; None if no row does.

        Of a category that is no declared one, or a number beyond its declared bounds.
        """
        if entry is None or self.column(name).kind == "empty":
            return None
        series, categories = self.frame[name], declared_categories(entry)
        if entry.kind in ("category", "ordered") and categories:
            found, rule = (
                self.category_places(name, categories) == NO_CATEGORY,
                f"none of its {len(categories)} declared categories",
            )
        elif entry.kind == "number" and entry.bounds is not None and pd.api.types.is_numeric_dtype(series):
            values, (low, high) = series.to_numpy(dtype=float, na_value=np.nan), entry.bounds
            found, rule = (
                (values < low) | (values > high),
                f"beyond its declared bounds {declared(low)} and {declared(high)}",
            )
        else:
            return None
        return (found, rule) if found.any() else None

    def category_places(self, name: str, categories: tuple[str, ...]) -> np.ndarray:
        """Places of a column's values among categories; see `categories.category_places`."""
        entry, labels = self.declared_codebook.get(name), self.labelled.get(name, {})
        marks = {*by_column(self.missing, list(self.frame.columns)).get(name, ())}
        marks |= set() if entry is None else set(entry.missing)
        others = {label: code for code, label in labels.items()} | self._names_of_codes(name, categories)
        return category_places(self.frame[name], categories, self.written.get(name), marks, others)

    def _names_of_codes(self, name: str, categories: tuple[str, ...]) -> dict[str, str]:
        """The label of each code that a file labels, where these categories are labels and none of them is a code."""
        entry = self.codebook.get(name)
        if entry is None or set(categories) & set(entry.categories):
            return {}
        names = dict(zip(entry.categories, entry.labels, strict=False))
        return names if len(set(names.values())) == len(names) else {}

    def check_codes(self, name: str) -> None:
        """Refuse numbers as codes where only their spelling may tell them apart; raises InputError."""
        series = self.frame[name]
        if name in self.questions:  # numbers that are texts until somebody says how they are read
            numbers = pd.to_numeric(series, errors="coerce")
            series = numbers if numbers.notna().equals(series.notna()) else series
        check_told_apart(series, self.written.get(name), name)

    def checked_number(self, name: str) -> None:
        """Refuse a column whose numbers can be read in two ways; raises InputError with both."""
        if name in self.questions:
            raise InputError(self.questions[name])

    def with_missing(self, markers: Iterable[str]) -> Table:
        """A copy in which these values mean missing too; the fingerprint changes with a cell that does.

        Raises
        ------
        InputError
            If a marker names a column that the table does not have.
        """
        missing = checked_markers((*self.missing, *markers))
        if missing == self.missing:
            return self
        marks = (*missing, *self._other_spellings(missing))
        declared = {entry.column for entry in self.declared_codebook.columns if entry.kind != "number"}
        frame = without_markers(self.frame, marks, self._decimal_signs, declared)
        again: dict[str, pd.Series] = {}  # texts that may be numbers without their marks, and in two ways
        entries, questions, written = [], dict(self.questions), dict(self.written)
        for name, texts in by_column(missing, list(frame.columns)).items():
            text = not pd.api.types.is_numeric_dtype(self.frame[name])
            marked = frame[name].isna().sum() > self.frame[name].isna().sum()
            if text and marked and self.declared_codebook.get(name) is None:
                cells = self.written[name] if name in self.written else spelled(self.frame[name])
                found = without_marks(name, cells, texts, self.read_options)
                again[name] = self.frame[name].mask(frame[name].isna())
                if name not in self.written and not is_read(found, self.frame[name]):
                    continue
                again[name] = found.values if found.numbers else again[name]
                written |= {name: cells} if texts_alone(self.frame[name]) else {}
                entries.append(found.entry)
                if found.question:
                    questions[name] = found.question
        codebook = self.codebook.updated(entries)
        changed = replace(
            self, frame=frame, missing=missing, codebook=codebook, questions=questions, written=written
        )
        if not again:
            return changed
        # What has become numbers may hold a mark in another spelling.
        marks = (*missing, *changed._other_spellings(missing))
        signs = changed._decimal_signs
        return replace(changed, frame=without_markers(frame.assign(**again), marks, signs, declared))

    def unmet(self, markers: Iterable[str]) -> list[str]:
        """Which of these marks no cell has, neither alone nor beside the others."""
        given = checked_markers(markers)
        if not given:
            return []

        def empty(marks: Iterable[str]) -> int:
            return int(self.with_missing(marks).frame.isna().to_numpy().sum())

        none, every = empty(()), empty(given)
        return [m for m in given if empty([m]) == none and empty([o for o in given if o != m]) == every]

    def _other_spellings(self, markers: tuple[str, ...]) -> list[str]:
        """Markers of single columns: the label of a code, a label's code, a number without the signs of its column."""
        found = []
        for name, texts in by_column(markers, list(self.frame.columns)).items():
            entry = self.codebook.get(name)
            labels = self.labelled.get(name, {})
            codes = {} if entry is None else dict(zip(entry.labels, entry.categories, strict=False))
            found += [f"{name}={said}" for said in labels_of(texts, labels)]
            found += [f"{name}={codes[text]}" for text in texts if text in codes]
            if entry is not None and entry.kind == "number" and entry.thousands:
                numbers = pyarrow.array(texts, pyarrow.string())
                numbers = numbers.filter(readable(numbers, entry.numerals))
                found += [f"{name}={text}" for text in spell(numbers, entry.numerals).to_pylist()]
        return found

    @property
    def decimal(self) -> str:
        """The decimal sign: as it was given, or that of its columns."""
        commas = any(entry.kind == "number" and entry.decimal == "," for entry in self.codebook.columns)
        return self.read_options.decimal or ("," if commas else ".")

    @property
    def _decimal_signs(self) -> dict[str, str]:
        """The decimal sign of each column of text: its own, or the file's."""
        usual = self.decimal
        entries = {entry.column: entry for entry in self.codebook.columns}
        return {
            name: entries[name].decimal if name in entries and entries[name].kind == "number" else usual
            for name in self.frame.columns
        }

    @property
    def proposed_missing(self) -> dict[str, list[Column]]:
        """Texts that may mean missing, each with the columns whose only text it is, the most varied first."""
        found: dict[str, list[Column]] = {}
        for column in sorted(self.columns, key=lambda column: -column.distinct):
            if column.lone_text:
                found.setdefault(column.lone_text, []).append(column)
        return found

    @property
    def proposed_outcome(self) -> str:
        """The sensitive column to start from: the most varied number that is neither an ID nor a weight."""
        roles = {entry.column: entry.role for entry in self.codebook.columns}
        offered = self.offered() or self.columns
        declared = [c for c in offered if roles.get(c.name) == "sensitive"]
        known = declared or [c for c in offered if not c.identifier] or list(offered)
        numbers = [c for c in known if c.kind == "number"]
        measured = [
            c
            for c in numbers
            if not _WEIGHT_NAME.search(c.name) and roles.get(c.name, "") in ("", "sensitive")
        ]
        return max(measured or numbers, key=lambda c: c.distinct, default=known[0]).name

    def codes_among(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of these columns that hold 3 to 10 whole numbers, as codes do; two give the same design either way."""
        known = {c.name for c in self.columns if c.kind == "code" and c.distinct > 2}
        return tuple(name for name in names if name in known)

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        near = [c.name for c in self.columns if c.name.strip().lower() == name.strip().lower()]
        hint = f" Did you mean '{near[0]}'?" if near else ""
        listed = ", ".join(c.name for c in self.columns[:20])
        more = ", …" if len(self.columns) > 20 else ""
        raise InputError(f"{self.name} has no column '{name}'.{hint} It has: {listed}{more}.")


def read_table(
    content: bytes, name: str, options: ReadOptions = ReadOptions(), confidential: bool = True
) -> Table:
    """Read, check and describe a file's bytes; raises InputError in plain words, whatever the file holds."""
    read = read_frame(content, name, options)
    table = Table(
        visible(one_line(name)),
        read.frame,
        confidential,
        read.options,
        codebook=read.codebook,
        written=read.written,
        questions=read.questions,
        labelled=read.labelled,
    )
    with reader_errors_in_words(name):
        table.columns  # noqa: B018  described here, where a failure can be said
    return table


def declared_again(table: Table, codebook: Codebook) -> Table:
    """The same file, read by these entries too; itself if they say nothing new. Its missing marks are as before.

    Raises
    ------
    InputError
        If the file breaks them.
    """
    known = codebook.only(str(name) for name in table.frame.columns)
    declared = table.declared_codebook.updated(known.columns)
    if declared.digest == table.declared_codebook.digest:
        return table
    before = Read(table.frame, table.read_options, table.codebook, table.written, labelled=table.labelled)
    read = read_again(before, table.name, replace(table.read_options, codebook=declared))
    return replace(
        table,
        frame=read.frame,
        read_options=read.options,
        missing=(),
        codebook=read.codebook,
        written=read.written,
        questions=read.questions,
        labelled=read.labelled,
    ).with_missing(table.missing)


def open_table(path: str, options: ReadOptions = ReadOptions()) -> Table:
    """Read a table from a file of the user's."""
    file = Path(path)
    if not file.is_file():
        raise InputError(no_file(file))
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.") from None
    return read_table(content, file.name, options)
