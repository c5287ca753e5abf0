"""What was read of a file, and how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd
import pyarrow

from synth_core.data.codebook import Codebook


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; None means detect.

    `decimal` and `thousands` are the signs of numbers that can be read in two ways. `sheet` is of a workbook, the first
    if it is None. `codebook` holds the declared entries. Once a workbook was read, `sheets` are all that were found in
    it, and `notices` what is to be said of the one that was read.
    """

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    sheets: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    codebook: Codebook = field(default_factory=Codebook)


@dataclass(frozen=True)
class Read:
    """What was read of a file.

    Attributes
    ----------
    frame : DataFrame
        Numbers as numbers, everything else as text without surrounding space; missing cells empty.
    written : dict
        Of a column of a text file, its cells as the file writes them.
    options : ReadOptions
        As used.
    codebook : Codebook
        An entry for every column: as declared, or as proposed with the reason.
    questions : dict
        Of a column that can be read in two ways, both, in words.
    labelled : dict
        Of a column whose codes have become their labels, the label of each code.
    """

    frame: pd.DataFrame
    options: ReadOptions
    codebook: Codebook
    written: dict[str, pyarrow.Array] = field(default_factory=dict)
    questions: dict[str, str] = field(default_factory=dict)
    labelled: dict[str, dict[str, str]] = field(default_factory=dict)
