"""The only door to the sampler: one call in, draws and diagnostics out."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.engine import convergence, stop_reason
from synth_core.engine.chains import Chains, command_lines, read_outputs, run_together
from synth_core.engine.stan_data import write_data
from synth_core.errors import Cancelled, FitError
from synth_core.system import limits
from synth_core.system.attempts import Attempts

Progress = Callable[[float], None]  # share done in [0, 1]; raises Cancelled to stop


@dataclass(frozen=True)
class Sampler:
    """Settings of the Markov chains."""

    chains: int = 2
    draws: int = 1000  # per chain, after warm-up
    warmup: int = 1000
    seed: int = 1
    adapt_delta: float = 0.8
    metric: str = "diag_e"  # adapted in the warm-up; "unit_e" is not


@dataclass(frozen=True)
class Start:
    """Where the chains of a slow model begin: values by chain, diagonal inverse metric, step size."""

    inits: tuple[dict[str, np.ndarray], ...]
    inv_metric: np.ndarray
    step_size: float


@dataclass(frozen=True)
class Diagnostics:
    """Convergence of one fit (Vehtari et al. 2021), over all quantities that are used.

    `ess_bulk` and `ess_tail` are minima over quantities, over all chains together.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    chains: int
    draws: int

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty for a fit that may be used unmarked."""
        found = []
        if not self.rhat <= limits.MAX_RHAT:
            shown = np.ceil(1000 * self.rhat) / 1000  # 1.0103 must not read as 1.010
            found.append(f"R-hat is {shown:.3f} (at most {limits.MAX_RHAT} is asked)")
        needed = limits.MIN_ESS_PER_CHAIN * self.chains
        lowest = min(self.ess_bulk, self.ess_tail)
        if not lowest >= needed:
            found.append(f"effective sample size is {np.floor(lowest):.0f} (at least {needed} is asked)")
        if self.divergences > limits.MAX_DIVERGENCE_SHARE * self.draws:
            found.append(f"{self.divergences} divergent transitions")
        return tuple(found)


@dataclass(frozen=True)
class Posterior:
    """Draws by variable, each of shape (n_draws, ...), chains one after another."""

    draws: dict[str, np.ndarray]
    diagnostics: Diagnostics
    seconds: float
    restart: dict[str, np.ndarray] = field(default_factory=dict)  # where a later fit may start

    @property
    def n_draws(self) -> int:
        return next(iter(self.draws.values())).shape[0]

    def thinned(self, count: int) -> dict[str, np.ndarray]:
        """At most `count` of the draws, evenly spread."""
        some = np.linspace(0, self.n_draws - 1, min(count, self.n_draws)).astype(int)
        return {name: values[some] for name, values in self.draws.items()}


def sample(
    executable: Path,
    data: Mapping[str, Any],
    parameters: tuple[str, ...],
    sampler: Sampler,
    progress: Progress = lambda share: None,
    start: Start | None = None,
    restart_parameters: tuple[str, ...] = (),
    monitors: Callable[[dict[str, np.ndarray]], np.ndarray | None] = lambda draws: None,
) -> Posterior:
    """Sample a Stan program with NUTS.

    Parameters
    ----------
    executable : Path
        A compiled Stan program, or what runs one under limits.
    parameters : tuple of str
        Stan variables to keep.
    progress : callable
        Called with the share of iterations done; may raise Cancelled.
    start : Start, optional
        Where the chains begin; None leaves it to Stan.
    restart_parameters : tuple of str
        Stan variables whose last draws are kept, for a later fit to start from.
    monitors : callable
        From draws to quantities of shape (n_draws, n_quantities) by which convergence is judged beside
        lp__; None judges it by the parameters.

    Raises
    ------
    FitError
        If the sampler fails. Cancelled passes through.
    """
    started = time.perf_counter()
    attempts = Attempts()
    while True:  # again with the same seed: the same draws
        scratch = _scratch()
        try:
            chains = _run(executable, data, sampler, progress, start, scratch)
            progress(1.0)
            draws = {name: chains.variable(name) for name in parameters}
            diagnostics = diagnose(chains.values, chains.columns, parameters, monitors(draws))
            restart = _restart_of(chains, sampler, restart_parameters) if restart_parameters else {}
            return Posterior(draws, diagnostics, time.perf_counter() - started, restart)
        except Cancelled:
            raise
        except (RuntimeError, ValueError, OSError) as error:
            progress(1.0)  # a cancelled fit fails because its processes were ended: say cancelled
            if not (stop_reason.was_killed(str(error)) and attempts.again()):
                raise FitError(stop_reason.explain(error, scratch)) from None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _scratch() -> Path:
    """A new directory for one fit, 0700; it holds the data as long as the fit runs."""
    try:
        Path(tempfile.gettempdir()).mkdir(mode=0o700, exist_ok=True)  # a system may clear it meanwhile
        return Path(tempfile.mkdtemp(prefix="synth-fit-"))
    except OSError as error:
        raise FitError(stop_reason.no_room(error)) from None


def _run(
    executable: Path,
    data: Mapping[str, Any],
    sampler: Sampler,
    progress: Progress,
    start: Start | None,
    scratch: Path,
) -> Chains:
    """What the chains wrote; raises RuntimeError, ValueError or OSError, and what `progress` does."""
    from cmdstanpy.cmdstan_args import SamplerArgs

    places = range(1, sampler.chains + 1)
    file, outputs = scratch / "data.json", [scratch / f"chain-{place}.csv" for place in places]
    write_data(data, file)
    chosen: dict[str, Any] = {"metric_type": sampler.metric}
    inits: dict[str, Any] = {}
    if start is not None:
        metric = scratch / "metric.json"
        write_data({"inv_metric": start.inv_metric}, metric)
        chosen = {"metric_file": [str(metric)] * sampler.chains, "step_size": start.step_size}
        inits["inits"] = [str(scratch / f"inits-{place}.json") for place in places]
        for each, name in zip(start.inits, inits["inits"], strict=True):
            write_data(each, Path(name))
    sampling = SamplerArgs(
        iter_warmup=sampler.warmup,
        iter_sampling=sampler.draws,
        adapt_engaged=True,
        adapt_delta=sampler.adapt_delta,
        **chosen,
    )
    refresh = max(1, (sampler.warmup + sampler.draws) // 20)
    commands = command_lines(executable, file, outputs, sampling, sampler.seed, refresh=refresh, **inits)
    run_together(commands, scratch, progress)
    return read_outputs(outputs, sampler.draws)


def _restart_of(chains: Chains, sampler: Sampler, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Where a later fit may start: the last draws of every chain, metric and step size."""
    last = [(chain + 1) * sampler.draws - 1 for chain in range(sampler.chains)]
    found = {name: chains.variable(name)[last] for name in names}
    metric, step = np.mean(chains.inv_metric, axis=0), np.array(np.mean(chains.step_size))
    return found | {"inv_metric": metric, "step_size": step}


def diagnose(
    chains: np.ndarray,
    columns: tuple[str, ...],
    parameters: tuple[str, ...],
    monitored: np.ndarray | None = None,
) -> Diagnostics:
    """R-hat, effective sample sizes and divergences.

    Parameters
    ----------
    chains : array of shape (n_draws, n_chains, n_columns)
    columns : names of the columns, as in the sampler's CSV.
    monitored : array of shape (n_chains * n_draws, n_quantities), optional
        What is judged instead of the parameters and their density, which need not be identified then: the
        coordinates of an empty component may wander while nothing that is used of the fit moves.
    """
    n_draws, n_chains, _ = chains.shape
    divergences = int(chains[:, :, columns.index("divergent__")].sum())
    useless = Diagnostics(float("nan"), 0.0, 0.0, divergences, n_chains, n_draws * n_chains)
    wanted = ("lp__", *parameters) if monitored is None else ()
    used = [i for i, name in enumerate(columns) if name.split(".")[0] in wanted]
    values = np.moveaxis(chains[:, :, used], (0, 1, 2), (2, 1, 0))  # quantity, chain, draw
    if monitored is not None:
        values = np.concatenate([values, monitored.T.reshape(-1, n_chains, n_draws)])
    if not np.isfinite(values).all():
        return useless
    if n_chains == 1:  # its two halves are compared
        half = n_draws // 2
        values = np.concatenate([values[:, :, :half], values[:, :, half : 2 * half]], axis=1)
    # A triangular or fixed entry is constant by construction; a stuck quantity is not in its lp__.
    values = values[np.ptp(values, axis=(1, 2)) > 0]
    if not len(values):  # every chain is stuck
        return useless
    bulk, tail = convergence.bulk_size(values), convergence.tail_size(values)
    rhat = float(np.max(convergence.rhat(values)))
    return replace(useless, rhat=rhat, ess_bulk=float(np.min(bulk)), ess_tail=float(np.min(tail)))


def effective_size(chains: np.ndarray) -> float:
    """The smaller of the bulk and tail effective sample sizes of one quantity; its count if it is constant.

    Parameters
    ----------
    chains : array of shape (n_chains, n_draws)
    """
    if not np.ptp(chains) > 0:
        return float(chains.size)
    return float(min(convergence.bulk_size(chains), convergence.tail_size(chains)))
