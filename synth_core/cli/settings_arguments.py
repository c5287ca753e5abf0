"""Arguments made from the fields of `Settings`, and settings from the arguments that were given.

An option that is not given is None, so that defaults stand in the settings alone, and an example's own
columns, model and bounds beside them.
"""

from __future__ import annotations

import argparse
import types
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from synth_core.analysis.anchor import read_anchor_values
from synth_core.analysis.settings import Settings, make_settings
from synth_core.cli.data import chosen_columns
from synth_core.data.declared import declared_model, declared_rules, declared_settings
from synth_core.data.rules import read_rules
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.ranges import Brackets, read_brackets
from synth_core.models import USUAL, OwnProgram
from synth_core.models.own.sandbox import approve, require_enabled
from synth_core.release.bounded_text import read_limited
from synth_core.system import limits
from synth_core.system.files import no_file

FILES = ("program", "brackets")  # their options name a file
HIDDEN = ("anchor_values", "earlier")  # made of other options


def option_name(setting: str) -> str:
    """How a setting is written on the command line."""
    return f"--{setting.replace('_', '-')}"


def add_settings(
    group: Any, names: Collection[str] = tuple(Settings.model_fields), several: Collection[str] = ()
) -> None:
    """Add an option for each of these settings; without names, for all.

    Parameters
    ----------
    group : parser or group of arguments
    several : names of settings
        Their options take several values, such as the targets of a study.
    """
    for name in names:
        if name in HIDDEN:
            continue
        field = Settings.model_fields[name]
        more = _reading(field.annotation) if name not in FILES else {}
        extra: Any = field.json_schema_extra
        if extra["metavar"] is not None:
            more["metavar"] = extra["metavar"]
        if name in several:
            more["nargs"] = "+"
        if extra["each"] is not None:
            more |= {"dest": name, "action": "append", "nargs": None}
        group.add_argument(extra["each"] or option_name(name), default=None, help=field.description, **more)


def _reading(annotation: Any) -> dict[str, Any]:
    """How argparse reads a value of this type."""
    if get_origin(annotation) in (Union, types.UnionType):  # of one type and None
        annotation = get_args(annotation)[0]
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return {"choices": parts}
    if get_origin(annotation) is tuple:
        nargs: Any = len(parts) if Ellipsis not in parts else "*" if parts[0] is str else "+"
        return {"nargs": nargs, "type": parts[0]}
    return {"action": "store_true"} if annotation is bool else {"type": annotation}


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that were given, files read."""
    given = {
        name: value for name in Settings.model_fields if (value := getattr(args, name, None)) is not None
    }
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    if "brackets" in given:
        given["brackets"] = _read_brackets(given["brackets"])
    if given.get("anchor", "").startswith("values:"):
        given["anchor_values"] = read_anchor_values(_existing(given["anchor"].removeprefix("values:")))
        given["anchor"] = "values"
    if "program" in given:
        if "model" in given:
            raise InputError("Give --model or --program, not both.")
        given |= {"model": OwnProgram.name, "program": read_program(given["program"])}
    return given


def settings_from(
    args: argparse.Namespace, data: str, leave_out: Collection[str] = (), table: Table | None = None
) -> Settings:
    """Settings from the command line; where the user gave none, an example's own, or those of the table's codebook.

    Parameters
    ----------
    data : str
        The table, as it was named.
    leave_out : names of settings
        Given several times; the caller puts them in.
    table : Table, optional
        Whose codebook may declare categories and bounds.
    """
    given = given_settings(args)
    example, outcome, predictors = chosen_columns(data, args.outcome, args.predictors)
    usual: dict[str, Any] = {"model": USUAL}
    if example:
        usual = {"model": example.model, "bounds": example.bounds}
        if outcome == example.outcome and "model" not in given:
            usual["guess"] = example.guess
    kept = {name: value for name, value in given.items() if name not in leave_out}
    if table is not None:
        usual |= declared_model(table.codebook, outcome)
        usual |= declared_settings(table.codebook, outcome, kept.get("model", usual["model"]))
        kept["rules"] = rules_beside(table, (outcome,), kept.get("rules", ()))
    return make_settings(**usual | kept | {"outcome": outcome, "predictors": predictors})


def rules_beside(table: Table, names: Collection[str], given: tuple[str, ...]) -> tuple[str, ...]:
    """The rules of sensitive variables, given and of the codebook; raises InputError for a given one of another."""
    if unknown := [rule.column for rule in read_rules(given) if rule.column not in names]:
        raise InputError(
            f"--rule decides '{unknown[0]}', which is not sensitive here: {', '.join(names)} is."
        )
    return declared_rules(table.codebook, names, given)


def _read_brackets(path: str) -> Brackets:
    content = read_limited(Path(path), limits.MAX_SETTINGS_BYTES, "file of brackets")
    try:
        return read_brackets(content.decode())
    except UnicodeDecodeError:
        raise InputError(f"The file {path} is not text.") from None


def read_program(path: str) -> str:
    """The source of an own program; raises InputError."""
    require_enabled()
    file = _existing(path)
    if file.stat().st_size > limits.MAX_PROGRAM_BYTES:
        raise InputError(f"The program is longer than {limits.MAX_PROGRAM_BYTES // 1024} KiB.")
    try:
        source = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The file {path} is not a text in UTF-8.") from None
    approve(source)  # who names the file wants it to run
    return source


def _existing(path: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise InputError(no_file(file))
    return file
