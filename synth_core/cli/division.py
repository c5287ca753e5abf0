"""`compare` with accuracies: how ε is divided among several sensitive variables."""

from __future__ import annotations

import argparse
from typing import Any

from synth_core.cli.records import number_of, open_records
from synth_core.errors import InputError
from synth_core.experiments.explore.division import check_division, divide, division_words
from synth_core.experiments.explore.wording import DATA_DEPENDENT
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system.json_text import json_text


def add_accuracy(command: Any) -> None:
    """The option that says what is asked of each sensitive variable."""
    command.add_argument(
        "--accuracy",
        nargs="+",
        metavar="NAME=DIFFERENCE",
        help="with blocks: find the least ε of each that keeps its largest difference (of distribution functions, or "
        "total variation of categories) at most this, and print how ε is divided",
    )


def run_division(args: argparse.Namespace) -> int:
    """Divide ε by what is asked of each block, under each mechanism, and print it."""
    if not args.block:
        raise InputError("--accuracy divides ε among blocks, and there are none (--block).")
    wanted = {}
    for text in args.accuracy:
        name, _, value = text.rpartition("=")
        wanted[name] = number_of(value, f"The difference asked of '{name}'")
    keys = list(dict.fromkeys(find_mechanism(name).key for name in args.mechanism))
    analysis = open_records(args)
    for key in keys:
        check_division(analysis.blocks, key, wanted)
    divisions = [divide(analysis, key, wanted) for key in keys]
    if args.format == "json":
        answer = {"divisions": [each.as_dict() for each in divisions], "note": DATA_DEPENDENT}
        print(json_text(answer))
        return 0
    for each in divisions:
        first, *lines = division_words(each)
        print(f"{each.mechanism}: {first}")
        for line in lines:
            print(f"  {line}")
        for problem in each.problems:
            print(f"! {each.mechanism}: a fit has not converged: {problem}")
    print(DATA_DEPENDENT)
    return 0
