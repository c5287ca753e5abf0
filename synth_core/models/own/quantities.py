"""Generated quantities and the log target of an own program, at given parameter values."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.engine import process_limits
from synth_core.engine.stan_data import write_data
from synth_core.errors import FitError
from synth_core.models.own import sandbox
from synth_core.system.scratch import working_directory

Array = NDArray[np.float64]
Draws = Mapping[str, Array]
Words = tuple[int, int, int, int]


def words_of(seed: int) -> Words:
    """The state of a generator of a known seed, as Stan makes it."""
    return 0, 1, seed, 1


def _columns(name: str, shape: tuple[int, ...]) -> list[str]:
    """Stan's names of a variable's elements, the first index running fastest."""
    if not shape:
        return [name]
    places = (np.array(np.unravel_index(range(int(np.prod(shape))), shape, order="F")) + 1).T
    return [".".join([name, *map(str, place)]) for place in places]


def _write_draws(draws: Draws, wanted: tuple[str, ...], words: Words, file: Path) -> None:
    """Write draws as quantities.hpp reads them."""
    names: list[str] = []
    blocks = []
    for name, values in draws.items():
        names += _columns(name, values.shape[1:])
        blocks.append(np.moveaxis(values, 0, -1).reshape(-1, len(values), order="F"))
    head = f"{','.join(names)}\n{','.join(wanted)}\n{','.join(map(str, words))}\n"
    file.write_bytes(head.encode() + np.vstack(blocks).T.astype(float).tobytes())


def _read_quantities(file: Path, wanted: tuple[str, ...], n_draws: int) -> dict[str, Array]:
    """The quantities that quantities.hpp wrote; raises ValueError if they are not all there."""
    content = file.read_bytes()
    counts = np.frombuffer(content, np.int64, len(wanted))
    values = np.frombuffer(content, np.float64, offset=counts.nbytes).reshape(n_draws, counts.sum())
    parts = np.split(values, np.cumsum(counts)[:-1], axis=1)
    return {name: np.array(part) for name, part in zip(wanted, parts, strict=True)}


def generate(
    program: Path,
    data: Mapping[str, Any],
    draws: Draws,
    wanted: tuple[str, ...],
    words: Words = words_of(1),
) -> dict[str, Array]:
    """Generated quantities of a Stan program at draws of its parameters.

    Parameters
    ----------
    program : Path
        The source; compiled if it is not yet.
    draws : dict of arrays of shape (n_draws, ...)
        By parameter.
    wanted : tuple of str
        Vectors among the generated quantities.
    words : tuple of four int
        Of 31 bits each: the state that the program's random numbers begin with, all that Stan's generator has.

    Returns
    -------
    dict of arrays of shape (n_draws, n_elements)

    Raises
    ------
    FitError
        With the reason if the process ended early.
    """
    executable = sandbox.executable(program)
    scratch = working_directory("synth-quantities", Path(tempfile.gettempdir()))
    try:
        _write_draws(draws, wanted, words, scratch / "draws")
        write_data(data, scratch / "data.json")
        files = ["data", f"file={scratch / 'data.json'}", "output", f"file={scratch / 'unused.csv'}"]
        # The program ends before it would sample: see quantities.hpp.
        _run(
            [str(executable), "method=sample", *files], scratch, {"SYNTH_QUANTITIES": str(scratch / "draws")}
        )
        return _read_quantities(scratch / "draws.out", wanted, len(next(iter(draws.values()))))
    except (RuntimeError, ValueError, OSError) as error:
        why = process_limits.reason(str(error), scratch)
        raise FitError(
            "The own program stopped while its generated quantities were computed: "
            f"{why or _refusal(scratch) or 'its process ended with an error'}."
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: list[str], scratch: Path, environment: dict[str, str]) -> None:
    """Run a process to its end, what it prints in a file of `scratch`; raises RuntimeError if it failed."""
    with (scratch / "console.txt").open("wb") as console:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"retcodes=[{done.returncode}]")


def _refusal(console: Path) -> str | None:
    """The data that a program refused, in words without its values."""
    import re

    for path in console.glob("*.txt"):
        match = re.search(
            r"Exception: [^\n]*?\b(x|Z|weights|censor_bound|anchor|cdf_at|N|K|M)(?:\[(\d+))?[^\n]* is ",
            path.read_text(errors="replace"),
        )
        if match:
            where = f" (first in row {match[2]})" if match[2] else ""
            return f"the data do not keep a bound that it declares for '{match[1]}'{where}"
    return None


def log_target(program: Path, data: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    """The log target at one value of the (constrained) parameters, up to a constant.

    Raises
    ------
    FitError
        If it cannot be evaluated there.
    """
    import cmdstanpy

    cmdstanpy.disable_logging()
    model = cmdstanpy.CmdStanModel(exe_file=str(sandbox.executable(program)))
    try:
        value = model.log_prob(dict(parameters), dict(data), sig_figs=17)
    except (RuntimeError, ValueError, OSError) as error:
        why = process_limits.reason(str(error)) or "its process ended with an error"
        raise FitError(f"The own program stopped while its target was computed: {why}.") from None
    return float(value["lp__"].iloc[0])
