"""The command line: `python -m synth_core COMMAND ...`, one file a command.

It walks the same path as the app, without a browser, and gives the same numbers for the same seed. It may
import every other room but `ui`.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from synth_core.cli import (
    advise,
    audit,
    calibrate,
    codebook,
    compare,
    ledger,
    maintain,
    map,
    program,
    release,
    runs,
    study,
    tune,
)
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.system import files
from synth_core.system.characters import visible
from synth_core.system.scratch import temporary_files

# Each adds its sub-commands to the parser.
COMMANDS = (
    maintain,
    codebook,
    advise,
    compare,
    map,
    tune,
    study,
    program,
    audit,
    release,
    calibrate,
    ledger,
    runs,
)
EXIT_BAD_INPUT = 2
EXIT_FAILED = 1


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any):
        super().__init__(**options, allow_abbrev=False)  # a cut-off option could mean another

    def error(self, message: str) -> Any:  # one clear line instead of the whole usage
        raise InputError(f"{message} (see {self.prog} --help)")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m synth_core", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    for module in COMMANDS:
        module.add(commands)
    return parser


def main(argv: list[str] | None = None, own_files: bool = False) -> int:
    """Run the command line; returns the exit status.

    Parameters
    ----------
    own_files : bool
        For a process that does nothing else: its temporary files go where a later one clears them.
    """
    try:
        args = _parser().parse_args(argv)
        with temporary_files() if own_files else contextlib.nullcontext():
            return int(args.run(args))
    except InputError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (FitError, Cancelled) as error:
        print(f"failed: {visible(str(error))}", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        print(f"failed: {files.explain(error, 'A file or a directory')}", file=sys.stderr)
        return EXIT_FAILED
