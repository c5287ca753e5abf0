"""The tables named on the command line: what is compared, a risk reference, an anchor."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.settings import Settings
from synth_core.data.codebook import Codebook
from synth_core.data.codebook_file import read_codebook
from synth_core.data.examples import EXAMPLES, Example, half_of, load_example
from synth_core.data.readers import DELIMITERS, ENCODINGS, ReadOptions
from synth_core.data.table import Table, open_table
from synth_core.errors import InputError
from synth_core.mechanisms.likelihoods import SELF_CONTAINED_ANCHORS
from synth_core.release.plan.frozen_map import find_map, load_map, require_same_risk
from synth_core.release.plan.plan import read_plan
from synth_core.release.state import plans_directory
from synth_core.system import limits

READING = ("sheet", "delimiter", "encoding", "codebook", "decimal", "thousands", "missing")
WORDS_OF_DELIMITERS = {word.rpartition(" ")[2]: sign for sign, word in DELIMITERS.items()}


def add_simulated(command: argparse.ArgumentParser) -> None:
    """Options of an example that is simulated."""
    command.add_argument("--rows", type=int, help="records of a simulated example")
    command.add_argument("--data-seed", type=int, default=1, help="seed of a simulated example")


def add_reading(command: Any, plan_says_missing: bool = False) -> None:
    """Options of how a table is read.

    Parameters
    ----------
    command : parser or group of arguments
    plan_says_missing : bool
        Whether a plan says which values mean missing, so that there is no option for them.
    """
    option = command.add_argument
    option("--sheet", metavar="NAME", help="of an Excel workbook (default: its first)")
    option("--delimiter", choices=tuple(WORDS_OF_DELIMITERS), help="of a text file (default: found out)")
    option(
        "--encoding",
        choices=ENCODINGS,
        help="of a text, SPSS, Stata or SAS file (default: found out)",
    )
    if plan_says_missing:
        return
    option(
        "--codebook",
        metavar="FILE",
        help="what each column is: .json or .csv as `codebook` writes it, a NIST data dictionary, or DDI .xml",
    )
    option("--decimal", choices=(".", ","), help="the decimal sign where numbers can be read in two ways")
    option(
        "--thousands",
        choices=(",", ".", " ", "'"),
        help="the sign of thousands where numbers can be read in two ways",
    )
    command.add_argument(
        "--missing",
        nargs="+",
        default=[],
        metavar="VALUE",
        help="values that mean missing, for example N -9; COLUMN=VALUE for one column only",
    )


def table_of(args: argparse.Namespace, data: str) -> Table:
    """The table that `data` names, read as the options of `add_simulated` and `add_reading` say."""
    as_read = load_data(data, args.rows, args.data_seed, options_of(args))
    if unknown := as_read.entries_without_column:
        print(
            f"! the codebook has entries of columns that {as_read.name} does not have: {', '.join(unknown)}",
            file=sys.stderr,
        )
    if as_read.read_options.encoding in ("cp1252", "latin-1") and args.encoding is None:
        print(
            f"! {as_read.name} is not in UTF-8 and was read as {as_read.read_options.encoding}, of Western Europe: if "
            "its letters are others, say --encoding",
            file=sys.stderr,
        )
    missing = getattr(args, "missing", ())
    table = as_read.with_missing(missing)
    if unmet := as_read.unmet(missing):
        print(f"! no cell of {table.name} is {' or '.join(unmet)}: nothing is missing by it", file=sys.stderr)
    return table


def options_of(args: argparse.Namespace, codebook: Codebook = Codebook()) -> ReadOptions:
    """How a file is read: as the options of `add_reading` say, and as a plan's codebook does."""
    if (path := getattr(args, "codebook", None)) is not None:
        codebook = read_codebook(path)
    return ReadOptions(
        delimiter=None if args.delimiter is None else WORDS_OF_DELIMITERS[args.delimiter],
        encoding=args.encoding,
        decimal=getattr(args, "decimal", None),
        thousands=getattr(args, "thousands", None),
        sheet=args.sheet,
        codebook=codebook,
    )


def load_data(
    data: str,
    rows: int | None = None,
    seed: int = 1,
    options: ReadOptions = ReadOptions(),
    missing: Iterable[str] = (),
) -> Table:
    """A table from `example:NAME`, from one half of it (`example:NAME/1of2`), or from a file.

    Parameters
    ----------
    options : ReadOptions
        How a file is read; an example takes none.
    missing : iterable of str
        Values that mean missing in it.
    """
    if not data.startswith("example:"):
        table = open_table(data, options)
        for notice in table.read_options.notices:
            print(f"! {notice}", file=sys.stderr)
        return table.with_missing(missing)
    if options.sheet is not None:
        raise InputError(f"--sheet is for an Excel workbook, and {data} is none.")
    if options != ReadOptions():
        raise InputError(
            f"The options of reading (--codebook, --decimal, …) are for files, and {data} is none."
        )
    return _load_example(data, rows, seed).with_missing(missing)


def _load_example(data: str, rows: int | None, seed: int) -> Table:
    if rows is not None and not limits.MIN_ROWS <= rows <= limits.MAX_ROWS:
        raise InputError(f"--rows must lie between {limits.MIN_ROWS} and {limits.MAX_ROWS:,}.")
    if not limits.SEED[0] <= seed <= limits.SEED[1]:
        raise InputError(f"--data-seed must lie between {limits.SEED[0]} and {limits.SEED[1]}.")
    name, _, part = data.removeprefix("example:").partition("/")
    if part not in ("", "1of2", "2of2"):
        raise InputError(f"The half of an example is written /1of2 or /2of2 (given: /{part}).")
    table = load_example(name, rows, seed)
    return half_of(table, int(part[0])) if part else table


def chosen_columns(
    data: str, outcome: str | None, predictors: list[str] | None
) -> tuple[Example | None, str, tuple[str, ...]]:
    """The example that `data` names, if any, the outcome and the predictors: its own where none were given."""
    example = EXAMPLES.get(data.removeprefix("example:").partition("/")[0])
    chosen = outcome or (example.outcome if example else None)
    if chosen is None:
        raise InputError("--outcome is needed: which column is sensitive?")
    if predictors is None:
        predictors = list(example.predictors) if example and chosen == example.outcome else []
    return example, chosen, tuple(predictors)


def load_reference(settings: Settings, data_seed: int, table: Table) -> Table | RiskMap | None:
    """What the settings' risk map is frozen on: a table, or the map that a plan carries.

    Parameters
    ----------
    table : Table
        That the map is for. What means missing in it means so in the other too.

    Raises
    ------
    InputError
        If the plan's map was frozen on this very table: its weights would read the records that they weight; or if it
        measures risk under other settings, of a model, a design or units.
    """
    name = settings.risk_reference
    if name == "current":
        return None
    if name.lower().endswith(".json"):
        plan = read_plan(name)
        content = find_map(plan, [Path(name).parent, plans_directory()])
        if content is None:
            raise InputError(f"The plan {name} has no risk map: its mechanism uses no weights.")
        risk_map = load_map(plan, content)
        require_same_risk(plan, settings)
        own = table.fingerprint, table.fingerprint_of_records((settings.outcome, *settings.predictors))
        if risk_map.fingerprint in own or risk_map.records in own:
            raise InputError(
                f"The risk map of the plan {name} was frozen on this very table; freeze it on another one."
            )
        return risk_map
    # A simulated reference is another sample of the design, not the table itself.
    return load_data(name, None, data_seed + 1000, like(table, name), table.missing)


def like(table: Table, name: str) -> ReadOptions:
    """How another file is read beside a table: by the same codebook, for the columns that it has."""
    if name.startswith("example:"):
        return ReadOptions()
    return ReadOptions(codebook=table.declared_codebook)


def load_anchor(settings: Settings, data_seed: int, table: Table) -> Table | None:
    """The table that the settings' anchor names, if it is one, read by the same codebook and missing marks."""
    if settings.anchor in SELF_CONTAINED_ANCHORS:
        return None
    name = settings.anchor.removeprefix("release:").removeprefix("public:")
    return load_data(name, None, data_seed + 1000, like(table, name), table.missing)
