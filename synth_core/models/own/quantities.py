"""Generated quantities and the log target of an own program, at given parameter values."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.engine import process_limits
from synth_core.errors import FitError
from synth_core.models.own import sandbox

Array = NDArray[np.float64]
Draws = Mapping[str, Array]

# What cmdstanpy asks of a file of draws before it hands it on.
_HEAD = (
    "# model = own\n# method = sample\n# num_samples = {n}\n# num_warmup = 1\n# save_warmup = 0\n"
    "# thin = 1\n# algorithm = fixed_param\n"
)
_TAIL = (
    "#\n#  Elapsed Time: 0 seconds (Warm-up)\n#                0 seconds (Sampling)\n"
    "#                0 seconds (Total)\n#\n"
)


def _columns(name: str, shape: tuple[int, ...]) -> list[str]:
    """Stan's names of a variable's elements, the first index running fastest."""
    if not shape:
        return [name]
    places = (np.array(np.unravel_index(range(int(np.prod(shape))), shape, order="F")) + 1).T
    return [".".join([name, *map(str, place)]) for place in places]


def _write_draws(draws: Draws, file: Path) -> None:
    n = len(next(iter(draws.values())))
    names, blocks = ["lp__", "accept_stat__"], [np.zeros((n, 2))]
    for name, values in draws.items():
        names += _columns(name, values.shape[1:])
        blocks.append(np.moveaxis(values, 0, -1).reshape(-1, n, order="F").T)
    with file.open("w") as stream:
        stream.write(_HEAD.format(n=n) + ",".join(names) + "\n")
        np.savetxt(stream, np.hstack(blocks), "%.17g", ",")
        stream.write(_TAIL)


def generate(
    program: Path,
    data: Mapping[str, Any],
    draws: Draws,
    wanted: tuple[str, ...],
    seed: int = 1,
    digits: int = 12,
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
    digits : int
        Significant digits of the result.

    Returns
    -------
    dict of arrays of shape (n_draws, n_elements)

    Raises
    ------
    FitError
        With the reason if the process ended early.
    """
    import cmdstanpy

    cmdstanpy.disable_logging()
    model = cmdstanpy.CmdStanModel(exe_file=str(sandbox.executable(program)))
    scratch = Path(tempfile.mkdtemp(prefix="synth-quantities-"))  # 0700; deleted below
    try:
        _write_draws(draws, scratch / "draws.csv")
        output = scratch / "out"
        output.mkdir()
        run = model.generate_quantities(
            dict(data), [str(scratch / "draws.csv")], seed=seed, sig_figs=digits, gq_output_dir=str(output)
        )
        table = pd.read_csv(
            run.runset.csv_files[0],
            comment="#",
            usecols=lambda column: column.split(".")[0] in wanted,
            dtype=np.float64,
            na_values=["nan", "-nan"],
            float_precision="round_trip" if digits > 15 else None,
        )
        if len(table) != len(next(iter(draws.values()))):
            raise RuntimeError("the output is not complete")
        split = [str(column).split(".")[0] for column in table.columns]
        values = table.to_numpy()
        return {name: values[:, [each == name for each in split]] for name in wanted}
    except (RuntimeError, ValueError, OSError) as error:
        found = process_limits.reason(str(error), scratch / "out")
        raise FitError(
            "The own program stopped while its generated quantities were computed: "
            f"{found or _refusal(scratch / 'out') or 'its process ended with an error'}."
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _refusal(console: Path) -> str | None:
    """Which data a program refused, in words without its values."""
    import re

    for path in console.glob("*.txt"):
        found = re.search(
            r"Exception: [^\n]*?\b(x|Z|weights|censor_bound|anchor|cdf_at|N|K|M)(?:\[(\d+))?[^\n]* is ",
            path.read_text(errors="replace"),
        )
        if found:
            where = f" (first in row {found[2]})" if found[2] else ""
            return f"the data do not keep a bound that it declares for '{found[1]}'{where}"
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
        found = model.log_prob(dict(parameters), dict(data), sig_figs=17)
    except (RuntimeError, ValueError, OSError) as error:
        why = process_limits.reason(str(error)) or "its process ended with an error"
        raise FitError(f"The own program stopped while its target was computed: {why}.") from None
    return float(found["lp__"].iloc[0])
