"""A codebook's file: JSON of ours, a CSV with a row a column, NIST's data dictionary, or DDI-Codebook XML."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from synth_core.data.codebook import BETWEEN, SEPARATOR, Codebook, Entry, spelled_out
from synth_core.errors import InputError
from synth_core.system import limits
from synth_core.system.characters import unseen
from synth_core.system.files import no_file


def read_codebook(path: str) -> Codebook:
    """A codebook of a file: JSON of ours, a CSV with a row a column, NIST's data dictionary, or DDI-Codebook XML.

    Raises
    ------
    InputError
        If there is no such file, or it is none of these, or an entry is wrong: the column and the rule are named.
    """
    file = Path(path)
    if not file.is_file():
        raise InputError(no_file(file))
    if file.stat().st_size > limits.MAX_CODEBOOK_MB * 1024**2:
        raise InputError(f"The codebook {path} is larger than {limits.MAX_CODEBOOK_MB} MB.")
    return parse_codebook(file.read_bytes(), file.name)


def parse_codebook(content: bytes, name: str) -> Codebook:
    """A codebook of a file's bytes; see `read_codebook`."""
    suffix = Path(name).suffix.lower()
    try:
        if suffix == ".csv":
            return _of_rows(_text(content), name)
        if suffix == ".xml":
            from synth_core.data.ddi import ddi_entries

            return _checked(ddi_entries(content, name), name)
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except InputError:
        raise
    except (ValueError, RecursionError, csv.Error) as error:
        said = f": {error}" if isinstance(error, _Twice) else ""
        raise InputError(
            f"The codebook {name} could not be read as {suffix.lstrip('.') or 'JSON'}{said}."
        ) from None
    if not isinstance(found, dict):
        raise InputError(f"The codebook {name} is no JSON object.")
    if "columns" in found:
        if set(found) != {"columns"} or not isinstance(found["columns"], list):
            raise InputError(f"The codebook {name} holds one list, 'columns', and nothing else.")
        return _checked(found["columns"], name)
    return _checked(_of_nist(found, name), name)


def _text(content: bytes) -> str:
    """A codebook's text in UTF-8, or as spreadsheet programs save it: in UTF-16, or as CSV in Western Europe."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252")


# What pydantic says of a wrong entry, in plain words, by the type of its error.
_WORDS = {
    "extra_forbidden": "an entry has no such attribute",
    "tuple_type": "a list of texts is needed",
    "string_type": "a text is needed, between quotation marks",
    "missing": "it is needed",
    "model_type": "an entry is an object with a column and a kind",
}


class _Twice(ValueError):
    """A key of JSON that stands twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(f"'{next(name for name in names if names.count(name) > 1)}' stands twice")
    return found


def _checked(entries: Iterable[Mapping[str, Any]], name: str) -> Codebook:
    found = []
    for place, entry in enumerate(entries, 1):
        column = entry.get("column") if isinstance(entry, Mapping) else None
        where = f"of column '{column}'" if isinstance(column, str) and column.strip() else f"number {place}"
        try:
            found.append(Entry.model_validate(entry, strict=False))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            field = ".".join(map(str, first["loc"]))
            what = _WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
            if field.startswith("bounds"):
                what = "two numbers, which a CSV file parts by 'to', as 0 to 100"
            raise InputError(
                f"In the codebook {name} the entry {where} is wrong: {field + ': ' if field else ''}{what}."
            ) from None
        if len({category.strip() for category in found[-1].categories} - {""}) < len(found[-1].categories):
            raise InputError(
                f"In the codebook {name} the entry {where} has a category that is empty, or two that differ by space "
                "alone: cells are read without space around them, and an empty one is missing."
            )
        for text in (found[-1].column, *found[-1].categories):
            if hidden := unseen(text):
                raise InputError(
                    f"In the codebook {name} the entry {where} holds a character that cannot be seen ({hidden})."
                )
    try:
        return Codebook(columns=tuple(found))
    except ValidationError as error:
        said = error.errors(include_input=False, include_url=False)[0]["msg"].removeprefix("Value error, ")
        raise InputError(f"The codebook {name} is wrong: {said}.") from None


def _of_rows(text: str, name: str) -> Codebook:
    """A CSV with the names of an entry's attributes as its header; see `texts_of`; bounds are parted by "to".

    Where a decimal comma is used, spreadsheet programs write semicolons between its cells; their Unicode text has tabs.
    """
    lines = io.StringIO(text, newline=None)
    header = lines.readline()
    lines.seek(0)
    rows = csv.DictReader(lines, delimiter=max(",;\t", key=header.count), skipinitialspace=True)
    names = rows.fieldnames = [each.strip().lower() for each in rows.fieldnames or ()]
    if "column" not in names:
        raise InputError(f"The codebook {name} needs a column named 'column', and one named 'kind'.")
    if doubled := [each for each in names if each and names.count(each) > 1]:
        raise InputError(f"The codebook {name} has two columns named '{doubled[0]}'.")
    found = [_entry_of(row, name, line) for line, row in enumerate(rows, 2)]
    if not any(found):
        raise InputError(f"The codebook {name} has a header but no entries.")
    return _checked(filter(None, found), name)  # a row of empty cells, as a spreadsheet may end with, is none


def _entry_of(row: Mapping[str, str | None], name: str, line: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if key is None:
            raise InputError(f"Line {line} of the codebook {name} has more cells than its header.")
        if value is None or value == "":
            continue
        if key in LISTS:
            found[key] = LISTS[key](value)
        elif key == "bounds":
            found[key] = tuple(part.strip() for part in value.split(BETWEEN.strip()))
        elif key in ("column", "kind"):
            found |= {key: value.strip()} if value.strip() else {}
        else:
            found[key] = value
    return found


def texts_of(cell: str) -> tuple[str, ...]:
    """The texts of a cell: parted by |, or by semicolons or commas where there is no |.

    Examples
    --------
    >>> texts_of("Yes, owned | No"), texts_of("1; 2"), texts_of("1, 2"), texts_of("refused, other |")
    (('Yes, owned', 'No'), ('1', '2'), ('1', '2'), ('refused, other',))
    """
    sign = next((each for each in (SEPARATOR, ";", ",") if each in cell), SEPARATOR)
    return tuple(filter(None, map(str.strip, cell.split(sign))))


def rules_of(cell: str) -> tuple[str, ...]:
    """The rules of a cell, parted by |: the names in them may hold commas."""
    return tuple(filter(None, map(str.strip, cell.split(SEPARATOR))))


# How a cell of several texts is read, by attribute.
LISTS: dict[str, Callable[[str], tuple[str, ...]]] = {
    "missing": texts_of,
    "categories": lambda cell: spelled_out(texts_of(cell)),
    "labels": texts_of,
    "rules": rules_of,
}


def cell_of(texts: Sequence[str]) -> str:
    """A cell that `texts_of` reads as these texts: parted by commas, or by | where one holds a comma or a semicolon.

    Examples
    --------
    >>> cell_of(["1", "2"]), cell_of(["Yes, owned", "No"]), cell_of(["refused, other"])
    ('1, 2', 'Yes, owned|No', 'refused, other|')
    """
    if not any(sign in text for text in texts for sign in (SEPARATOR, ";", ",")):
        return ", ".join(texts)
    return SEPARATOR.join(texts) + (SEPARATOR if len(texts) == 1 else "")


def _of_nist(found: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Entries of a data dictionary of NIST's (SDNist): features with a description and values."""
    entries = []
    for column, about in found.items():
        if not isinstance(about, Mapping) or not {"description", "values", "details"} & set(about):
            raise InputError(
                f"The file {name} is no codebook: neither a list 'columns' nor a data dictionary of features."
            )
        values = about.get("values")
        if not isinstance(values, Mapping) or not values:
            continue  # nothing but words: the reader proposes
        codes = [str(code) for code in values if code not in ("min", "max")]
        missing = [code for code in codes if _means_missing(str(values[code]), code)]
        kept = [code for code in codes if code not in missing]
        entry: dict[str, Any] = {"column": column, "kind": "number", "missing": missing}
        if {"min", "max"} <= set(values):
            beside = list(filter(math.isfinite, map(_number, kept)))  # a top code such as 501, or 0 for none
            low, high = _number(values["min"]), _number(values["max"])
            entry["bounds"] = (min([low, *beside]), max([high, *beside]))
            entry |= {"categories": kept, "labels": [str(values[code]) for code in kept]}
        elif kept:
            entry |= {"kind": "category", "categories": kept, "labels": [str(values[code]) for code in kept]}
        said = str(about.get("description", "")).lower()
        if "weight" in said and "unweighted" not in said:
            entry["role"] = "weight"
        entries.append(entry)
    return entries


def _number(code: Any) -> float:
    """A code, or an end of a range, as a number; NaN if it is none."""
    try:
        return float(code)
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _means_missing(label: str, code: str) -> bool:
    """Whether a dictionary says of a code that there is no value: N, in NIST's."""
    said = label.lower()
    return code in ("N", "") or said.startswith(("n/a", "not applicable", "missing", "not in universe"))
