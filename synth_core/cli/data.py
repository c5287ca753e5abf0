"""A table named on the command line."""

from __future__ import annotations

import argparse

from synth_core.data.examples import EXAMPLES, Example, half_of, load_example
from synth_core.data.table import Table, open_table
from synth_core.errors import InputError
from synth_core.system import limits


def add_simulated(command: argparse.ArgumentParser) -> None:
    """Options of an example that is simulated."""
    command.add_argument("--rows", type=int, help="records of a simulated example")
    command.add_argument("--data-seed", type=int, default=1, help="seed of a simulated example")


def load_data(data: str, rows: int | None = None, seed: int = 1) -> Table:
    """A table from `example:NAME`, from one half of it (`example:NAME/1of2`), or from a file."""
    if data.startswith("example:"):
        if rows is not None and not limits.MIN_ROWS <= rows <= limits.MAX_ROWS:
            raise InputError(f"--rows must lie between {limits.MIN_ROWS} and {limits.MAX_ROWS:,}.")
        if not limits.SEED[0] <= seed <= limits.SEED[1]:
            raise InputError(f"--data-seed must lie between {limits.SEED[0]} and {limits.SEED[1]}.")
        name, _, part = data.removeprefix("example:").partition("/")
        if part not in ("", "1of2", "2of2"):
            raise InputError(f"The half of an example is written /1of2 or /2of2 (given: /{part}).")
        table = load_example(name, rows, seed)
        return half_of(table, int(part[0])) if part else table
    return open_table(data)


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
