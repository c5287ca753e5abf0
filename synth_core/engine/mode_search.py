"""A search for modes that no chain of a fit was in: short chains from far away, by the same program and data.

It knows nothing of the family. Where all draws of a short chain lie apart from all draws of the fit, it is in another
mode, or on its way. How much of the posterior is there follows from the density's height and the spread of the draws,
roughly: enough to tell a mode that counts from one that does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[np.float64]
CHAINS = 4  # short chains of each radius
RADII = (2.0, 10.0, 50.0)  # within which the coordinates of a start lie
WARMUP, DRAWS, TREEDEPTH = 150, 100, 6
APART = 2.0  # standard deviations, of the short chain and of the fit, by which their draws are apart


def unseen_share(
    executable: Path,
    arguments: Mapping[str, Any],
    data: Path,
    scratch: Path,
    fit: Any,
    quantities: Callable[[Any], Array],
) -> float:
    """The share of the posterior in a mode that a short chain is in and no draw of a fit is of; NaN if none could run.

    Parameters
    ----------
    arguments : mapping
        Of cmdstanpy's sampler, as for the fit.
    fit : CmdStanMCMC
    quantities : callable
        Of a fit, what tells its modes apart, of shape (n_chains, n_draws, n_quantities).
    """
    known, known_at = _draws(fit), quantities(fit)
    known_at = known_at.reshape(-1, known_at.shape[-1])
    first, largest, ran = len(known) + 1, -np.inf, False
    known = known.reshape(-1, known.shape[-1])
    for place, radius in enumerate(RADII):
        folder = scratch / f"elsewhere-{place}"
        folder.mkdir(mode=0o700)
        try:
            short = _short_chains(executable, arguments, data, folder, radius, first + place * CHAINS)
        except (RuntimeError, ValueError, OSError):  # a start without density: nothing was found there
            continue
        ran, places = True, _coordinates(short)
        density = list(short.column_names).index("lp__")
        spread = _log_spread(known[:, places])
        for draws, values in zip(_draws(short), quantities(short), strict=True):
            if _apart(values, known_at):
                here = _log_spread(draws[:, places])
                moved = np.isfinite(here) & np.isfinite(spread)
                wider = (here[moved] - spread[moved]).sum()
                higher = draws[:, density].mean() - known[:, density].mean()
                largest = max(largest, float(higher + wider))
    return float(scipy.special.expit(largest)) if ran else float("nan")


def short_chains(n_chains: int) -> int:
    """How many chains there are with the short ones."""
    return n_chains + CHAINS * len(RADII)


def _short_chains(
    executable: Path, arguments: Mapping[str, Any], data: Path, folder: Path, radius: float, first: int
) -> Any:
    from synth_core.engine.executable import Executable

    given = {name: value for name, value in arguments.items() if name not in ("metric", "step_size")}
    return Executable(exe_file=str(executable)).sample(
        **given
        | {
            "chains": CHAINS,
            "parallel_chains": CHAINS,
            "chain_ids": list(range(first, first + CHAINS)),  # random numbers go by them
            "iter_warmup": WARMUP,
            "iter_sampling": DRAWS,
            "max_treedepth": TREEDEPTH,
            "refresh": WARMUP + DRAWS,
            "inits": radius,
        },
        data=str(data),
        show_progress=False,
        sig_figs=17,
        output_dir=str(folder),
    )


def _draws(fit: Any) -> Array:
    """Of shape (n_chains, n_draws, n_columns)."""
    return np.asarray(np.moveaxis(fit.draws(concat_chains=False), 1, 0))


def _coordinates(fit: Any) -> slice:
    """The columns of a program's parameters: after the sampler's own, as many as the metric has."""
    begins = sum(name.endswith("__") for name in fit.column_names)
    return slice(begins, begins + np.shape(fit.metric)[-1])


def _apart(values: Array, known: Array) -> bool:
    """Whether all draws of one lie beyond all of the other, in some quantity, with room between."""
    room = APART * np.maximum(values.std(axis=0), known.std(axis=0))
    above = values.min(axis=0) - known.max(axis=0)
    below = known.min(axis=0) - values.max(axis=0)
    return bool((np.maximum(above, below) > room).any())


def _log_spread(coordinates: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(coordinates.std(axis=0)))
