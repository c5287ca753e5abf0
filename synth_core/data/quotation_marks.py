"""Quotation marks of a delimited text file: marks that are never closed would make one cell of the lines below."""

from __future__ import annotations

import csv
import io
import re

import numpy as np

from synth_core.errors import InputError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
NUMBER = re.compile(r"^[+-]?[\d.,' ]*\d[\d.,' ]*$")


def check_quotes(text: str, delimiter: str, n_columns: int, name: str, above: int) -> bool:
    """Whether a quoted cell spans lines; raises InputError for a quotation mark that is never closed.

    A stray mark would make one cell of all lines up to the next one. A cell that spans lines is written so that its
    closing mark ends the cell, and does not hold whole rows.
    """
    content = np.frombuffer(text.encode(), dtype=np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    marks = np.flatnonzero(content == ord('"'))
    line_of = np.searchsorted(ends, marks)
    if not (np.bincount(line_of) % 2).any():
        _check_within(content, marks, line_of, ends, delimiter, name, above)
        return False
    reader = csv.reader(
        io.StringIO(text, newline="\n"), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    before = 0
    try:
        for row in reader:
            if reader.line_num - before > 1:
                lines = [_line(content, ends, place) for place in range(before, reader.line_num)]
                if any(_holds_rows(cell, delimiter, n_columns) for cell in row) or _are_rows(
                    lines, delimiter, n_columns
                ):
                    raise csv.Error
            before = reader.line_num
    except csv.Error:
        raise InputError(not_closed(above + before + 1, name)) from None
    return True


def not_closed(line: int, name: str) -> str:
    """What is said of a mark that is not closed."""
    return (
        f"A quotation mark in line {line:,} of {name} is not closed where its cell ends: the lines below would become "
        "one cell. Close it, or leave it out."
    )


def _check_within(
    content: np.ndarray,
    marks: np.ndarray,
    line_of: np.ndarray,
    ends: np.ndarray,
    delimiter: str,
    name: str,
    above: int,
) -> None:
    """Refuse a line in which a quoted cell goes on behind its mark, as in "a \\"word\\"": it would be cut there."""
    beside = [ord(sign) for sign in (delimiter, "\n", "\r", '"', " ")]
    before = np.where(marks > 0, content[marks - 1], ord("\n"))
    behind = np.where(marks + 1 < len(content), content[(marks + 1) % len(content)], ord("\n"))
    inside = ~np.isin(before, beside) & ~np.isin(behind, beside)
    for line in np.unique(line_of[inside]):
        try:
            list(
                csv.reader(
                    [_line(content, ends, line)], delimiter=delimiter, skipinitialspace=True, strict=True
                )
            )
        except csv.Error:
            raise InputError(
                f"A quotation mark in line {above + line + 1:,} of {name} is not closed where its cell ends. Write a "
                'mark within a quoted cell twice (""), or leave it out.'
            ) from None


def _holds_rows(cell: str, delimiter: str, n_columns: int) -> bool:
    inner = cell.split("\n")[1:-1]
    return n_columns > 1 and any(line.count(delimiter) == n_columns - 1 for line in inner)


def holds_table(cell: str) -> bool:
    """Whether lines within a cell, two or more, have as many delimiters each."""
    inner = cell.split("\n")[1:-1]
    return len(inner) > 1 and any(min(line.count(sign) for line in inner) > 0 for sign in DELIMITERS)


def _are_rows(lines: list[str], delimiter: str, n_columns: int) -> bool:
    """Whether lines of one record are rows by themselves: as many cells, with numbers where the first one has them."""
    first, *others = ([cell.strip() for cell in line.split(delimiter)] for line in lines)
    numbers = [i for i, cell in enumerate(first) if NUMBER.match(cell)]
    return bool(numbers) and any(
        len(first) == len(cells) == n_columns and all(NUMBER.match(cells[i]) for i in numbers)
        for cells in others
    )


def _line(content: np.ndarray, ends: np.ndarray, place: int) -> str:
    """A line of the encoded text, without what ends it."""
    first = ends[place - 1] + 1 if place else 0
    last = ends[place] if place < len(ends) else len(content)
    return content[first:last].tobytes().decode().rstrip("\r")
