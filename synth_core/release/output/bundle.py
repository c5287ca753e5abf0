"""Files of a release: tables, dictionary, checksums, and two zip archives that do not mix."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from synth_core.data.binary_file import WHOLE_NUMBERS
from synth_core.errors import FitError
from synth_core.models import family
from synth_core.release.output.data_dictionary import NEW_IDENTIFIERS, category_words, dictionary_files
from synth_core.release.output.dataset import Synthetic
from synth_core.release.plan.column_schema import rounding_words
from synth_core.release.plan.plan import Plan
from synth_core.system import files

# What a spreadsheet would run, and the full-width forms that some turn into it.
_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "|", "%")
_INSIDE = {  # by the sign between cells, what a spreadsheet may cut a cell at
    delimiter: re.compile(rf"([{cuts}\t\r\n])(?=[\s'\ufeff]*[{re.escape(''.join(_RUNS))}])")
    for delimiter, cuts in ((",", ";"), (";", ";,"))
}
_NUMBER = re.compile(
    r"[+-]?\d+([.,]\d+)?", re.ASCII
)  # a code such as -9: it is no formula, and stays as written
_SIGNS = re.compile(r"[-+]{1,3}")  # likewise: signs alone name nothing that runs
_FOR_USERS = Path(__file__).parent / "for_users"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # in archives: the same release gives the same bytes


def neutral(cell: object, delimiter: str = ",") -> object:
    """A text cell that no spreadsheet runs as a formula, wherever it cuts cells; anything else as it is.

    Where decimals have a comma, a spreadsheet cuts a line at semicolons and takes quotes inside a cell as they stand.
    Signs alone, as a code or a mark of missing values, name nothing to run.

    Examples
    --------
    >>> neutral("=1+1"), neutral("plain"), neutral("-9"), neutral("-9+1"), neutral("a;=1+1"), neutral("-")
    ("'=1+1", 'plain', '-9', "'-9+1", "a;'=1+1", '-')
    """
    if not isinstance(cell, str) or _NUMBER.fullmatch(cell) or _SIGNS.fullmatch(cell):
        return cell
    text = cell.lstrip(" '\ufeff\u00a0")
    safe = cell[: len(cell) - len(text)] + text[:1] + _INSIDE[delimiter].sub(r"\1'", text[1:])
    return "'" + safe if text.startswith(_RUNS) else safe


def csv_bytes(frame: pd.DataFrame, written: pd.DataFrame | None = None) -> bytes:
    """A table as CSV in UTF-8, its text cells and its header neutralised; where numbers have commas, with semicolons.

    Parameters
    ----------
    written : DataFrame, optional
        The same cells as text: what stands in the file. Which of them are numbers is read off `frame`.
    """
    safe = frame.copy() if written is None else written.copy()
    numbers = [name for name in safe.columns if pd.api.types.is_numeric_dtype(frame[name])]
    commas = written is not None and any(
        written[name].astype(str).str.contains(",").any() for name in numbers
    )
    delimiter = ";" if commas else ","
    for name in safe.columns.difference(numbers, sort=False):
        safe[name] = safe[name].map(lambda cell: neutral(cell, delimiter))
    safe.columns = pd.Index([neutral(str(name), delimiter) for name in safe.columns], dtype=object)
    return safe.to_csv(sep=delimiter, index=False, lineterminator="\n").encode()


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """A table as Parquet, without the metadata that pandas would add."""
    import pyarrow
    import pyarrow.parquet

    plain = frame.copy()
    for name in plain.columns:
        column = plain[name]
        if isinstance(column.dtype, pd.CategoricalDtype):  # it would name categories that no row has
            column = column.astype(column.cat.categories.dtype)
        if column.dtype.kind == "O":
            column = column.infer_objects()
            if column.dtype.kind == "O":
                column = column.map(str, na_action="ignore")  # what is missing is no category "nan"
        plain[name] = column
    stream = io.BytesIO()
    table = pyarrow.Table.from_pandas(plain, preserve_index=False).replace_schema_metadata(None)
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


def with_whole_numbers(frame: pd.DataFrame, plan: Plan) -> pd.DataFrame:
    """A data set whose kept whole numbers are integers, as the dictionary and the CSV file have them.

    Files of SPSS and SAS know floating-point numbers only, and so does a column of whole numbers that lacks some.
    """
    found = {}
    for column in plan.columns:
        values = frame[column.name]
        if column.role == "outcome" or values.dtype.kind != "f":
            continue
        there = values.dropna()
        if (
            len(there)
            and bool(((there % 1 == 0) & (there.abs() < WHOLE_NUMBERS)).all())
            and (column.whole or column.kind == "category")
        ):
            found[column.name] = values.astype("Int64" if len(there) < len(values) else np.int64)
    return frame.assign(**found)


def dictionary_rows(plan: Plan) -> list[dict[str, str]]:
    """The data dictionary: what the plan says of each released column."""
    rows, maybe_missing = [], {block.name for block in plan.blocks if block.may_be_missing}
    for column in plan.columns:
        synthetic = column.role == "outcome"
        kind = "category" if column.kind == "category" else "whole number" if column.whole else "number"
        if synthetic and column.kind == "number":
            decimals = plan.decimals_of(column.name)
            kind = "whole number" if family(plan.outcomes[column.name].model).discrete else "number"
            kind += "" if decimals is None else f", rounded to {rounding_words(decimals)}"
        if column.name in maybe_missing:
            kind += ", may be missing"
        bounds = plan.outcomes[column.name].bounds if synthetic else None
        rows.append(
            {
                "column": column.name,
                "content": "synthetic: drawn from the model"
                if synthetic
                else NEW_IDENTIFIERS
                if column.role == "unit"
                else "kept as it is: declared not sensitive",
                "type": kind,
                "values": f"{bounds[0]:.12g} to {bounds[1]:.12g}"
                if bounds
                else category_words(plan, column)
                if column.levels
                else "",
            }
        )
    return rows


def dictionary_csv(plan: Plan) -> bytes:
    """The data dictionary as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, ["column", "content", "type", "values"], lineterminator="\n")
    writer.writeheader()
    for row in dictionary_rows(plan):
        writer.writerow({k: neutral(v) for k, v in row.items()})
    return out.getvalue().encode()


def releasable_files(plan: Plan, synthetic: Synthetic, first: int = 0) -> dict[str, bytes]:
    """Data sets and dictionary, by file name. Made of the plan and of synthetic values only.

    Parameters
    ----------
    first : int
        The number of the first of these data sets, from 0.
    """
    contents, pairs = {}, zip(synthetic.frames, synthetic.written, strict=True)
    for j, (frame, written) in enumerate(pairs, start=first + 1):
        contents[f"synthetic_{j}.csv"] = csv_bytes(frame, written)
        contents[f"synthetic_{j}.parquet"] = parquet_bytes(with_whole_numbers(frame, plan))
    contents["dictionary.csv"] = dictionary_csv(plan)
    return contents | dictionary_files(plan, synthetic.frames) | combining_files(plan)


def combining_files(plan: Plan) -> dict[str, bytes]:
    """Functions in Python and R that combine estimates of several data sets, with the rules of the plan's mechanism."""
    assigned = {"combine.py": 'RULE_OF_{} = ""', "combine.R": 'RULE_OF_{} <- ""'}
    contents = {}
    for name, line in assigned.items():
        text = (_FOR_USERS / name).read_text()
        for place, rule in zip(("ONE", "SEVERAL"), plan.point.combining, strict=True):
            unset = line.format(place)
            assert text.count(unset) == 1
            text = text.replace(unset, unset.replace('""', f'"{rule}"'))
        contents[name] = text.encode()
    return contents


def checksums(contents: dict[str, bytes]) -> bytes:
    """Checksums of files, as `sha256sum -c` reads them."""
    return "".join(f"{hashlib.sha256(contents[k]).hexdigest()}  {k}\n" for k in sorted(contents)).encode()


def zip_bytes(contents: dict[str, bytes], folder: str) -> bytes:
    """A zip archive with checksums; equal files give equal bytes."""
    contents = contents | {"SHA256SUMS": checksums(contents)}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(f"{folder}/{name}", _EPOCH)
            entry.external_attr = 0o600 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, contents[name])
    return stream.getvalue()


def write_directory(target: Path, contents: dict[str, bytes]) -> None:
    """Write files into a new directory that appears whole or not at all; 0600 in 0700.

    What a killed process left half-written is removed first. The caller holds the release's lock.

    Raises
    ------
    FitError
        If the disk is full or not writable.
    """
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)
        for name, content in contents.items():
            files.write_whole(partial / name, content, durable=True)
        os.rename(partial, target)
        files.sync_directory(target.parent)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise FitError(files.explain(error, "The state directory, where releases are kept,")) from None


def write_file(target: Path, content: bytes) -> None:
    """Write one file of mode 0600 that appears whole or not at all; raises FitError."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.remove_abandoned(target)
        files.write_whole(target, content, durable=True)
    except OSError as error:
        raise FitError(files.explain(error, f"{target.name} in {target.parent}")) from None
