"""The command line: `python -m synth_core COMMAND ...`, one file a command.

It walks the same path as the app, without a browser, and gives the same numbers for the same seed. It may
import every other room but `ui`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import select
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
_DASHED_VALUE = re.compile(r"unrecognized arguments: -[^-]|argument (--\S+): expected at least one argument")
EXIT_BAD_INPUT = 2
EXIT_FAILED = 1
EXIT_STOPPED = 130  # as a shell counts Ctrl-C


class _Store(argparse.Action):
    """What is done with an option's values: of one that takes any number and is given again, all are kept.

    Of any other the last counts, as for the options that a script adds to its own, and that is said.
    """

    _last: argparse.Namespace | None = None  # that of the command line which had this option last

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        before, again = getattr(namespace, self.dest), self._last is namespace
        self._last = namespace
        if again and self.nargs in ("*", "+"):
            values = [*before, *values]
        elif again and before != values:
            print(f"! {option} is given more than once: the last one counts", file=sys.stderr)
        setattr(namespace, self.dest, values)


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any):
        super().__init__(**options, allow_abbrev=False)  # a cut-off option could mean another
        self.register("action", None, _Store)

    def error(self, message: str) -> Any:  # one clear line instead of the whole usage
        said = f"{message} (see {self.prog} --help)"
        if found := _DASHED_VALUE.search(message):
            name = found[1] or "--categories"
            said += f". A value that begins with a dash needs an equals sign: {name}=-a {name}=-b."
        raise InputError(said)


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
            status = int(args.run(args))
        sys.stdout.flush()  # a reader that has gone is told here
        return status
    except InputError as error:
        print(f"error: {visible(str(error))}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except (FitError, Cancelled) as error:
        print(f"failed: {visible(str(error))}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("stopped: what had finished is kept, and the same command goes on from it", file=sys.stderr)
        return EXIT_STOPPED
    except OSError as error:
        if _nobody_reads():
            return EXIT_FAILED
        print(f"failed: {files.explain(error, 'A file or a directory')}", file=sys.stderr)
        return EXIT_FAILED


def _nobody_reads() -> bool:
    """Whether the output goes to a program that has ended, as `head` does; nothing more is written to it then."""
    try:
        output = sys.stdout.fileno()
    except OSError:  # it is kept in this process
        return False
    waiting = select.poll()
    waiting.register(output, 0)
    if not any(event & select.POLLERR for _, event in waiting.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True
