"""A delimited text file as columns of text: encoding, line ends, lines above the header, delimiter, quotation marks.

What a cell means is not decided here (see `cells`): no cell is changed, taken for missing or for a number.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow
import pyarrow.csv

from synth_core.data.quotation_marks import DELIMITERS, NUMBER, check_quotes, holds_table, not_closed
from synth_core.data.text_encoding import decode
from synth_core.errors import InputError
from synth_core.system import limits

_COMMAS_IN_NUMBER = re.compile(r"[+-]?(\d+,\d+|\d{1,3}(,\d{3})+(\.\d+)?)$")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.I)  # Excel's
_QUOTED_OR_RETURN = re.compile(r'(?<![^,;|\s])"(?:[^"]++|"")*+"(?=[,;|\s]|\Z)|\r(?!\n)')
_FORMULA_OF_TEXT = re.compile(
    r'(?m)(?<![^,;|\t\n\r])(?:="([^"\n]*)"|"=""([^"\n]*)""")(?=[,;|\t\r\n]|\Z)'
)  # ="01" of Excel
_PARTING = ",;\t|:^~!#¦§¶\x01\x1f"  # signs that part cells in some file, of which the first are read
SAMPLE_CHARACTERS, SAMPLE_LINES = 1 << 20, 100


@dataclass(frozen=True)
class TextColumns:
    """What a text file holds, cell by cell.

    Attributes
    ----------
    names : list of str
        Of the header, without surrounding space.
    cells : list of pyarrow.StringArray
        Of each column, as the file writes them, without the quotation marks of the format.
    skipped : int
        Lines above the header that were left out: a title, or Excel's `sep=`.
    """

    names: list[str]
    cells: list[pyarrow.Array]
    encoding: str
    delimiter: str
    skipped: int


@contextlib.contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Without the limit of the module csv, beyond which it raises an error that names no place."""
    usual = csv.field_size_limit(1 << 30)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


@_cells_of_any_length()
def read_text(content: bytes, name: str, delimiter: str | None, encoding: str | None) -> TextColumns:
    """Columns of text of a delimited file; raises InputError naming the line of what is wrong."""
    text, encoding = decode(content, name, encoding)
    text = _plain(text)
    if not text or text.isspace():
        raise InputError(f"The file {name} is empty.")
    longest = max(map(len, text[:SAMPLE_CHARACTERS].split("\n", 2)[:1]), default=0)
    for sign in (delimiter,) if delimiter else DELIMITERS:
        if longest > limits.MAX_COLUMNS:  # before the work: it grows with their square
            check_columns(text[:longest].count(sign) + 1, name)
    skipped = 0
    if found := _SEPARATOR_LINE.match(text):
        delimiter, text, skipped = delimiter or found[1], text[found.end() :], 1
    while text.startswith(("\n", "\r\n")):
        skipped, text = skipped + 1, text[text.index("\n") + 1 :]
    found_out = delimiter is None
    delimiter = delimiter or _detect_delimiter(text)
    header, above = _header(text, delimiter)
    line = skipped + max(1, above - _lines_of(header) + 1)
    names = _with_ends(_names(header, name, line), text, delimiter)
    check_columns(len(names), name)  # before the work: it grows with their square
    if len(names) == 1:
        _refuse_other_delimiters(text, name, found_out)
        _refuse_columns_of_spaces(text, name)
    begins = 0
    for _ in range(above):
        begins = text.find("\n", begins) + 1 or len(text)
    body = text[begins:]
    cells = _cells(body, delimiter, len(names), name, skipped + above)
    return TextColumns(names, cells, encoding, delimiter, skipped + above - _lines_of(header))


def _plain(text: str) -> str:
    """The text without marks of its beginning and its end, with line feeds, and texts instead of formulas of them."""
    text = _with_line_feeds(text.rstrip("\x1a").lstrip("\ufeff"))
    if '="' not in text:
        return text
    return _FORMULA_OF_TEXT.sub(lambda found: f'"{found[1] or found[2] or ""}"', text)


def _names(header: list[str], name: str, line: int) -> list[str]:
    """The names of a header that begins in this line; refused where a cell of it is no name."""
    if any(map(holds_table, header)):
        raise InputError(not_closed(line, name))
    names = [cell.strip() for cell in header]
    if (longest := max(map(len, names))) > limits.MAX_CELL_CHARACTERS:
        raise InputError(
            f"The first line of {name} holds a cell of {longest:,} characters: it is no line of names. Check that the "
            "file is a table."
        )
    return names


def _with_ends(names: list[str], text: str, delimiter: str) -> list[str]:
    """The names of as many columns as the rows have, where delimiters end each row and not the header, or it alone.

    A column without a name and without a value is none: what has a value is refused later.
    """
    rows = _sample(text, delimiter)[1:]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 0
    more = width - len(names)
    if more > 0 and not any(map(str.strip, (cell for row in rows for cell in row[len(names) :]))):
        return [*names, *[""] * more]
    return names[:more] if more < 0 < width and not any(names[more:]) else names


def _with_line_feeds(text: str) -> str:
    """The text with a line feed where a line ends with a carriage return alone, as old Macintosh programs wrote it.

    One within a quoted cell is part of it, and stays, unless no line ends otherwise: stray marks are found by line.
    """
    if "\n" not in text and "\r" not in text:
        return re.sub("[\x85\u2028\u2029\x1e]", "\n", text)  # ends of lines of mainframes, and of Unicode
    text = text.replace("\r\r\n", "\r\n")  # written twice over by a program that adds them
    if not re.search(r"\r(?!\n)", text):
        return text
    if "\n" not in text:
        return text.replace("\r", "\n")
    return re.sub(_QUOTED_OR_RETURN, lambda found: "\n" if found[0] == "\r" else found[0], text)


def _lines(text: str) -> list[str]:
    """The lines of a text with their line feeds: other signs that Python ends a line at are part of a cell."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def check_columns(columns: int, name: str) -> None:
    """Refuse more columns than can be read."""
    if columns > limits.MAX_COLUMNS:
        raise InputError(
            f"The file {name} has {columns:,} columns; at most {limits.MAX_COLUMNS:,} can be read."
        )


def _sample(text: str, delimiter: str) -> list[list[str]]:
    lines = _lines(text[:SAMPLE_CHARACTERS])[:SAMPLE_LINES]
    if len(text) > SAMPLE_CHARACTERS and len(lines) > 1:
        lines = lines[:-1]  # it may be cut
    try:
        return [row for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True) if row]
    except csv.Error:  # not the delimiter: by it what stands between quotation marks does not
        return []


def _detect_delimiter(text: str) -> str:
    """The delimiter that splits most of the first lines into the same number of cells, more than one."""
    first, *others = [
        line.strip() for line in _lines(text[:SAMPLE_CHARACTERS])[:SAMPLE_LINES] if line.strip()
    ]
    with_commas = [line for line in others if "," in line]
    if "," not in first and with_commas and all(map(_COMMAS_IN_NUMBER.match, with_commas)):
        return ";"  # one column of numbers
    scores: dict[str, tuple[float, int]] = {}
    for delimiter in DELIMITERS:
        rows = _sample(text, delimiter)
        width, times = Counter(map(len, rows)).most_common(1)[0] if rows else (1, 0)
        if width > 1:
            scores[delimiter] = times / len(rows), width
    return max(scores, key=lambda key: scores[key]) if scores else ","


def _refuse_other_delimiters(text: str, name: str, found_out: bool) -> None:
    """Refuse a file that reads as one column, and whose first lines have as many of one sign as its header has.

    Each line stands between quotation marks then, as a spreadsheet writes a row that was one cell, or the sign is none
    of the delimiters. Where the delimiter was not found out but given, the file has one column.
    """
    if not found_out:
        return
    lines = [line for line in _lines(text[:SAMPLE_CHARACTERS])[:SAMPLE_LINES] if line.strip()]
    for sign in _PARTING:
        if sign in lines[0] and len({line.count(sign) for line in lines[:-1]}) == 1:
            raise InputError(
                f"Each line of {name} seems to hold several cells that are parted by '{sign}', and reads as one: it "
                "stands between quotation marks, or the sign is none that parts cells here. Save the file as CSV, with "
                "commas or semicolons."
            )


def _refuse_columns_of_spaces(text: str, name: str) -> None:
    """Refuse a file of fixed width, or with spaces between its columns, which reads as one column of text.

    Its first lines have as many words each, a number at one place at least, and spaces side by side; or, with names
    above as many words, numbers at two places. Signs of thousands and one column of texts have neither.
    """
    first, *others = [
        line.strip() for line in _lines(text[:SAMPLE_CHARACTERS])[:SAMPLE_LINES] if line.strip()
    ]
    words = [line.split() for line in others]
    if len(words) < 2 or len(set(map(len, words[:-1]))) != 1 or len(words[0]) < 2:
        return
    numbers = sum(all(map(NUMBER.match, column)) for column in zip(*words[:-1], strict=True))
    apart = any(re.search(r"\S[ \t]{2,}\S", line) for line in others)
    if numbers and (apart or (numbers > 1 and len(first.split()) == len(words[0]))):
        raise InputError(
            f"The columns of {name} seem to be parted by spaces, or to have a fixed width: such a file has no sign "
            "between its columns that can be read. Save it as CSV, with commas or semicolons and a line of names."
        )


def _header(text: str, delimiter: str) -> tuple[list[str], int]:
    """The row of names, and how many lines of the text end with it.

    A title stands above it: one cell with others empty or not there, in a file whose rows are wider; or rows of fewer
    cells, such as a sentence with a comma, above one that can be nothing else than names.
    """
    rows = _sample(text, delimiter)
    width = Counter(map(len, rows)).most_common(1)[0][0]
    place = next((i for i, row in enumerate(rows) if len(row) >= width), 0)
    wordy = place > 0 and len(rows[place]) == width and _are_names(rows[place], rows[place + 1 :])
    lines = _lines(text[:SAMPLE_CHARACTERS])[: 2 * SAMPLE_LINES]
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    first: list[str] | None = None
    ends = 0
    for row in reader:
        first, ends = first or row, ends or reader.line_num
        alone = sum(bool(cell.strip()) for cell in row) <= 1
        title = alone and (width > 2 or len(row) < width or (width == 2 and _is_padded(row, rows)))
        title |= wordy and len(row) < width
        if not title or reader.line_num > SAMPLE_LINES:
            if len(row) != width or reader.line_num > SAMPLE_LINES:
                break
            return row, reader.line_num
    assert first is not None
    return first, ends


def _is_padded(row: list[str], rows: list[list[str]]) -> bool:
    """Whether a row of two columns is a title that a spreadsheet filled up, or empty: below it stand names of both."""
    if row not in rows or not any(map(str.strip, row)):
        return row in rows
    below = [each for each in rows[rows.index(row) + 1 :] if any(map(str.strip, each))]
    return bool(row[0].strip() and below) and _are_names(below[0], below[1:])


def _are_names(row: list[str], below: list[list[str]]) -> bool:
    """Whether a row can be nothing else than names: all there, each another one, no number, and numbers below."""
    names = [cell.strip() for cell in row]
    if not all(names) or len(set(names)) < len(names) or any(NUMBER.match(name) for name in names):
        return False
    return any(NUMBER.match(cell.strip()) for each in below for cell in each)


def _lines_of(header: list[str]) -> int:
    return 1 + sum(cell.count("\n") for cell in header)


def _cells(text: str, delimiter: str, n_columns: int, name: str, above: int) -> list[pyarrow.Array]:
    """The cells below the header, by column."""
    spans_lines = False
    if '"' in text:
        spans_lines = check_quotes(text, delimiter, n_columns, name, above)
        # A quotation mark after a space opens a cell too, as in `a, "b, c"`.
        text = re.sub(rf'(?m)(^|{re.escape(delimiter)}) +(?=")', r"\1", text)
    if not text or text.isspace():
        raise InputError(f"The file {name} has a header but no rows.")
    if n_columns == 1:  # an empty line is an empty cell, but for those at the end
        text = text.rstrip("\r\n") + "\n"
    labels = [str(i) for i in range(n_columns)]
    content = text.encode()
    wrong: list[tuple[int | None, int]] = []

    def refuse(row: pyarrow.csv.InvalidRow) -> str:
        wrong.append((row.number, row.actual_columns))
        return "error"

    def parse(threads: bool) -> pyarrow.Table:
        return pyarrow.csv.read_csv(
            io.BytesIO(content),
            pyarrow.csv.ReadOptions(
                use_threads=threads, column_names=labels, block_size=max(1 << 20, min(len(content), 1 << 24))
            ),
            pyarrow.csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=spans_lines,
                ignore_empty_lines=n_columns > 1,
                invalid_row_handler=refuse,
            ),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(labels, pyarrow.string()), strings_can_be_null=False
            ),
        )

    try:
        table = parse(threads=True)
    except pyarrow.ArrowInvalid:
        if not wrong:
            raise
        wrong.clear()  # threads do not know which row it is
        with contextlib.suppress(pyarrow.ArrowInvalid):
            parse(threads=False)
        number, found = wrong[0]
        more, one_more = found > n_columns, number == 1 and found == n_columns + 1
        raise InputError(
            f"Row {number:,} of {name} has {found:,} cells, and the header has {n_columns:,} names. "
            + ("If a column has no name, as row names of R have none, give it one. " if one_more else "")
            + (
                "If numbers use a decimal comma, the file needs another delimiter than the comma."
                if more and delimiter == ","
                else ""
                if one_more
                else "Give every row as many cells as there are names."
            )
        ) from None
    return [table.column(i).combine_chunks() for i in range(n_columns)]
