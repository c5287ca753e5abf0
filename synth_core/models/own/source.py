"""The analyst's own Stan program as text: what stanc says of it, what is refused, what it declares."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from synth_core.engine.toolchain.find import ensure_cmdstan
from synth_core.errors import InputError
from synth_core.system import limits

STANC_SECONDS = 20
NAME = "program.stan"  # what the compiler's messages call it

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_REFUSED = {
    r"#\s*include": "reads another file: put everything into the one program",
    r"\bprint\s*\(": "prints, and what it prints could be confidential: remove it",
    r"\bprofile\s*\(": "writes a profile to a file: remove it",
}
# Data that the app gives: kind, number of dimensions, whether a program may do without.
_INPUTS = {
    "N": ("int", 0, False),
    "K": ("int", 0, True),
    "x": ("real or int", 1, False),
    "Z": ("real", 2, True),
    "weights": ("real", 1, False),
    "censor_bound": ("real", 0, False),
    "anchor": ("real", 1, True),
    "M": ("int", 0, True),
    "cdf_at": ("real", 1, True),
    "prior_scale": ("real", 0, True),
}
_OUTPUTS = ("log_lik", "x_rep", "cdf", "ccdf")


class ProgramError(InputError):
    """A program that cannot be used: a sentence, and the compiler's own words if it spoke."""

    def __init__(self, sentence: str, detail: str = "", line: int | None = None):
        super().__init__(sentence)
        self.detail = detail
        self.line = line


@dataclass(frozen=True)
class Declared:
    """What a program declares."""

    parameters: tuple[str, ...]
    inputs: frozenset[str]
    outputs: frozenset[str]  # of log_lik, x_rep, cdf, ccdf
    discrete: bool

    @property
    def has_cdf(self) -> bool:
        return "cdf" in self.outputs

    @property
    def takes_anchor(self) -> bool:
        return "anchor" in self.inputs


def source_key(source: str) -> str:
    """The content key of a program."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def without_comments(source: str) -> str:
    """The program with comments and strings blanked, every other character in its place."""
    return _COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source)


def sampling_source(source: str) -> str:
    """The program without its generated quantities: a fit writes parameters only.

    Generated quantities are Stan's last block, and the app asks for them separately, for the
    draws and the records it needs.
    """
    start = [m.start() for m in re.finditer(r"\bgenerated\s+quantities\s*\{", without_comments(source))]
    return source[: start[-1]] if start else source


def refuse_dangerous(source: str) -> None:
    """Refuse what is too long, or what reads or writes anything but the data it is given.

    Raises
    ------
    ProgramError
        With the line of the statement.
    """
    if len(source.encode()) > limits.MAX_PROGRAM_BYTES:
        raise ProgramError(f"The program is longer than {limits.MAX_PROGRAM_BYTES // 1024} KiB.")
    if not source.strip():
        raise ProgramError("The program is empty.")
    if "\0" in source:
        raise ProgramError("The program is not text.")
    code = without_comments(source)
    for pattern, reason in _REFUSED.items():
        # An include counts wherever it stands: stanc's idea of a comment might differ from ours.
        match = re.search(pattern, source if "include" in pattern else code)
        if match:
            line = source.count("\n", 0, match.start()) + 1
            raise ProgramError(f"Line {line} {reason}.", line=line)


@lru_cache(maxsize=64)
def inspect(source: str) -> Declared:
    """Translate a program with stanc and read what it declares; nothing is compiled or run.

    Raises
    ------
    ProgramError
        With stanc's message and its line, or what of the contract is missing.
    """
    refuse_dangerous(source)
    command = [str(ensure_cmdstan() / "bin" / "stanc"), "--info", f"--filename-in-msg={NAME}", "-"]
    try:
        done = subprocess.run(
            command, input=source, capture_output=True, text=True, check=False, timeout=STANC_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise ProgramError(f"The Stan compiler did not finish within {STANC_SECONDS} seconds.") from None
    if done.returncode:
        raise _compiler_error(done.stderr)
    info = json.loads(done.stdout)
    if info.get("included_files"):
        raise ProgramError("The program includes other files: put everything into the one program.")
    return _declared(info)


def _compiler_error(message: str) -> ProgramError:
    text = re.sub(r"\x1b\[[0-9;]*m", "", message).strip()
    place = re.search(r"line (\d+), column (\d+)", text)
    last = text.rsplit("-------------------------------------------------", 1)[-1].strip()
    reason = " ".join(last.split()) or "no reason given"
    where = f"line {place[1]}, column {place[2]}: " if place else ""
    return ProgramError(
        f"The Stan compiler refuses the program: {where}{reason}", text, int(place[1]) if place else None
    )


_Variables = dict[str, dict[str, Any]]  # by name, its type and dimensions


def _check_inputs(inputs: _Variables) -> None:
    unknown = [name for name in inputs if name not in _INPUTS]
    if unknown:
        raise ProgramError(
            f"The data block declares '{unknown[0]}', which the app does not give; it gives "
            f"{', '.join(_INPUTS)}."
        )
    for name, (kind, dimensions, optional) in _INPUTS.items():
        if name not in inputs:
            if optional:
                continue
            raise ProgramError(f"The data block does not declare '{name}'{_why(name)}.")
        given = inputs[name]
        if given["dimensions"] != dimensions or given["type"] not in kind:
            raise ProgramError(f"The data block must declare '{name}' as {_type_words(kind, dimensions)}.")


def _check_outputs(inputs: _Variables, outputs: _Variables) -> None:
    for name in ("log_lik", "x_rep"):
        if name not in outputs:
            raise ProgramError(f"The generated quantities do not declare '{name}'{_why(name)}.")
    for name in _OUTPUTS:
        if name in outputs and outputs[name]["dimensions"] != 1:
            raise ProgramError(f"The generated quantity '{name}' must be a vector, one element a record.")
    if "cdf" in outputs and not {"M", "cdf_at"} <= set(inputs):
        raise ProgramError("A program with 'cdf' must declare the data 'M' and 'cdf_at' for it.")
    if "ccdf" in outputs and "cdf" not in outputs:
        raise ProgramError("The generated quantity 'ccdf' needs 'cdf' beside it.")


def _declared(info: dict[str, _Variables]) -> Declared:
    inputs, outputs, parameters = info["inputs"], info["generated quantities"], info["parameters"]
    _check_inputs(inputs)
    _check_outputs(inputs, outputs)
    if not parameters:
        raise ProgramError("The program declares no parameters: there is nothing to fit.")
    return Declared(
        tuple(parameters),
        frozenset(inputs),
        frozenset(name for name in _OUTPUTS if name in outputs),
        inputs["x"]["type"] == "int",
    )


def _why(name: str) -> str:
    return {
        "weights": ": without it the mechanisms cannot weight the records",
        "censor_bound": ": without it the likelihood cannot be censored",
        "log_lik": ": the app measures privacy by it",
        "x_rep": ": the app takes the synthetic values from it",
    }.get(name, "")


def _type_words(kind: str, dimensions: int) -> str:
    words = {0: "a scalar", 1: "a vector or an array", 2: "a matrix"}[dimensions]
    return f"{words} of type {kind}"
