"""The only door to cmdstanpy's sampler: one call in, draws and diagnostics out."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from synth_core.engine import stop_reason
from synth_core.engine.mode_search import short_chains, unseen_share
from synth_core.engine.stan_data import write_data
from synth_core.errors import Cancelled, FitError
from synth_core.system import limits
from synth_core.system.attempts import Attempts
from synth_core.system.number_text import ceiling, floored, percent
from synth_core.system.scratch import working_directory

Progress = Callable[[float], None]  # share done in [0, 1]; raises Cancelled to stop
_SAMPLING = threading.Lock()  # of the fit whose console lines are read: a process has one standard output
AT_ONCE = 8  # chains
_AXES = {"chain_axis": -2, "draw_axis": -1}
_ITERATION = re.compile(r"Chain \[(\d+)\].*Iteration:\s*(\d+)\s*/\s*(\d+)")


@dataclass(frozen=True)
class Sampler:
    """Settings of the Markov chains."""

    chains: int = 2
    draws: int = 1000  # per chain, after warm-up
    warmup: int = 1000
    seed: int = 1
    adapt_delta: float = 0.8
    metric: str = "diag_e"  # adapted in the warm-up; "unit_e" is not
    max_treedepth: int = 10  # a trajectory has at most 2^this - 1 leapfrog steps
    search: bool = False  # short chains look for modes that no chain was in
    secret: int | None = field(default=None, repr=False)  # of 256 bits, of a release: takes the seed's place


@dataclass(frozen=True)
class Start:
    """Where the chains of a slow model begin: values by chain, diagonal inverse metric, step size."""

    inits: tuple[dict[str, np.ndarray], ...]
    inv_metric: np.ndarray
    step_size: float


def rhat_text(rhat: float) -> str:
    """R-hat with three decimals, rounded up: 1.0103 must not read as 1.010, which may be allowed.

    Examples
    --------
    >>> rhat_text(1.0103), rhat_text(1.6331), rhat_text(1.0)
    ('1.011', '1.634', '1.000')
    """
    return ceiling(rhat, 3)


@dataclass(frozen=True)
class Diagnostics:
    """Convergence of one fit (Vehtari et al. 2021), over all quantities that are used.

    `ess_bulk` and `ess_tail` are minima over quantities, over all chains together; `rhat` is the largest. `unseen` is
    the share of the posterior in modes that a search found and no chain was in; NaN where a search could not be made.
    """

    rhat: float
    ess_bulk: float
    ess_tail: float
    divergences: int
    chains: int
    draws: int
    quantities: int = 1
    unseen: float = 0.0

    @property
    def max_rhat(self) -> float:
        """What R-hat may be: more than of one quantity where the largest of many is, though all chains agree.

        Of m half chains of h draws that agree and are worth n independent draws, R-hat^2 - 1 is about
        m chi^2 / ((m - 1) n) - 1 / h, chi^2 of m - 1 degrees of freedom. What is allowed is exceeded in one fit of a
        hundred by chains worth half their number of draws. More chains are allowed less; fewer than 2, or than 1,000
        draws a chain, are not allowed more.
        """
        from scipy.stats import chi2

        chains = max(self.chains, 2)
        halves, draws = 2 * chains, max(self.draws / self.chains, 1000)
        chance = chi2(halves - 1).isf(limits.FALSE_MARKS / self.quantities)
        beyond = halves / (halves - 1) * chance / (chains * draws / 2) - 2 / draws
        return max(limits.MAX_RHAT, np.floor(1000 + 500 * beyond) / 1000)

    @property
    def longer_helps(self) -> bool:
        """Whether nothing is wrong that more draws leave as it is."""
        return not self.diverges and not self.misses_modes

    @property
    def diverges(self) -> bool:
        """Whether too many transitions diverge."""
        return self.divergences > limits.MAX_DIVERGENCE_SHARE * self.draws

    @property
    def misses_modes(self) -> bool:
        """Whether modes that no chain was in hold too much."""
        return self.unseen > limits.MAX_UNSEEN

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong, in words; empty for a fit that may be used unmarked."""
        problems = []
        if not self.rhat <= self.max_rhat:
            problems.append(f"R-hat is {rhat_text(self.rhat)} (at most {self.max_rhat:g} is asked)")
        needed = limits.MIN_ESS_PER_CHAIN * self.chains
        lowest = min(self.ess_bulk, self.ess_tail)
        if not lowest >= needed:
            problems.append(f"effective sample size is {floored(lowest, 0)} (at least {needed} is asked)")
        if self.diverges:
            problems.append(
                f"{self.divergences} divergent transitions (more draws do not help; a smaller prior scale, fewer "
                "predictors or another model may)"
            )
        if self.misses_modes:
            problems.append(
                f"another mode, which no chain was in, holds about {percent(self.unseen, 0)} of the posterior "
                "(more draws do not help; another ε, weight c or anchor may)"
            )
        return tuple(problems)


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

    def draw_of(self, dataset: int, any_draw: int, first: int) -> int:
        """The draw behind a data set: of the first `first`, of each later one a draw of the next chain.

        Chains are independent, draws of one chain are not, and m data sets cost m times one where they are. With more
        data sets than chains it starts over; a release has a chain for each.

        Parameters
        ----------
        any_draw, first : int
            A draw chosen at random, for this data set and for the first.
        """
        chains = self.diagnostics.chains if self.n_draws % self.diagnostics.chains == 0 else 1
        each = self.n_draws // chains
        return (first // each + dataset) % chains * each + any_draw % each

    def at(self, draw: int) -> dict[str, np.ndarray]:
        """The parameters at one draw."""
        return {name: values[draw] for name, values in self.draws.items()}

    def thinned(self, count: int) -> dict[str, np.ndarray]:
        """A thinned posterior: at most `count` of the draws, evenly spread."""
        some = np.linspace(0, self.n_draws - 1, min(count, self.n_draws)).astype(int)
        return {name: values[some] for name, values in self.draws.items()}


class _ConsoleProgress(io.TextIOBase):
    """Reads the sampler's console lines as they come and reports the share done."""

    def __init__(self, chains: int, progress: Progress):
        self._done = {chain: 0.0 for chain in range(1, chains + 1)}
        self._progress = progress
        self._cancelled: Cancelled | None = None

    def write(self, text: str) -> int:
        match = _ITERATION.search(text) if "Iteration" in text else None
        if match and self._cancelled is None:
            chain, done, total = map(int, match.groups())
            self._done[chain] = done / total
            try:
                self._progress(sum(self._done.values()) / len(self._done))
            except Cancelled as error:  # never raised through cmdstanpy's threads
                self._cancelled = error
        return len(text)


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
    import cmdstanpy

    from synth_core.engine.executable import Executable

    cmdstanpy.disable_logging()  # its messages quote paths and go to the console
    arguments = {
        "chains": sampler.chains,
        "parallel_chains": min(sampler.chains, AT_ONCE),
        "iter_warmup": sampler.warmup,
        "iter_sampling": sampler.draws,
        "seed": sampler.seed if sampler.secret is None else 1,  # every user of the machine can read it
        "adapt_delta": sampler.adapt_delta,
        "metric": sampler.metric,
        "max_treedepth": sampler.max_treedepth,
        "refresh": max(1, (sampler.warmup + sampler.draws) // 20),
        **_started(start, sampler.chains),
    }
    if sampler.secret is not None:
        words = random_words(sampler.secret, short_chains(sampler.chains))
        data = {**data, "synth_random_words": words}
        if Executable(exe_file=str(executable)).exe_info().get("STAN_RANDOM_WORDS") != "true":
            raise FitError(
                "The official CmdStan takes its seed from the command line, where other users of the machine can read "
                "it: no release is drawn with it. Unset CMDSTAN: Stan is then assembled from the package registry."
            )
    started = time.perf_counter()
    attempts = Attempts()
    while True:  # again with the same seed: the same draws
        console = _ConsoleProgress(sampler.chains, progress)
        scratch = _scratch()
        try:
            write_data(data, scratch / "data.json")
            with _SAMPLING, contextlib.redirect_stdout(console):
                fit = Executable(exe_file=str(executable)).sample(
                    **arguments,
                    data=str(scratch / "data.json"),
                    show_progress=False,
                    show_console=True,
                    sig_figs=17,
                    output_dir=str(scratch),
                    timeout=None,
                )
            progress(1.0)
            stop_reason.require_whole(fit.runset.csv_files)
            draws = {name: np.ascontiguousarray(fit.stan_variable(name)) for name in parameters}
            chains = fit.draws(concat_chains=False)  # (draws, chains, columns)
            diagnostics = diagnose(chains, fit.column_names, parameters, monitors(draws))
            restart = _restart_of(fit, sampler, restart_parameters) if restart_parameters else {}
            if sampler.search:
                told = partial(_told_apart_by, parameters, monitors)
                elsewhere = unseen_share(executable, arguments, scratch / "data.json", scratch, fit, told)
                diagnostics = replace(diagnostics, unseen=elsewhere)
            return Posterior(draws, diagnostics, time.perf_counter() - started, restart)
        except Cancelled:
            raise
        except (RuntimeError, ValueError, OSError) as error:
            progress(1.0)  # a cancelled fit fails because its processes were ended: say cancelled
            if not (stop_reason.was_killed(str(error)) and attempts.again()):
                raise FitError(stop_reason.explain(error, scratch)) from None
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _told_apart_by(
    parameters: tuple[str, ...],
    monitors: Callable[[dict[str, np.ndarray]], np.ndarray | None],
    fit: Any,
) -> np.ndarray:
    """The quantities by which a fit is judged, of shape (n_chains, n_draws, n_quantities)."""
    draws = {name: np.ascontiguousarray(fit.stan_variable(name)) for name in parameters}
    found = monitors(draws)
    if found is None:
        found = np.column_stack([values.reshape(len(values), -1) for values in draws.values()])
    return found.reshape(fit.chains, -1, found.shape[-1])


def random_words(secret: int, chains: int) -> np.ndarray:
    """State of the chains' generators, of shape (4 * chains,): 124 bits a chain, of SHA-256 of the secret.

    They go to the sampler with the data, in a file of mode 0600 in a directory of mode 0700.
    """
    words = [
        hashlib.sha256(f"chain {chain}".encode() + secret.to_bytes(32)).digest()[:16]
        for chain in range(chains)
    ]
    return np.frombuffer(b"".join(words), dtype=">u4").astype(np.int64) & 0x7FFFFFFF


def _scratch() -> Path:
    """A new directory for one fit, 0700; it holds the data as long as the fit runs."""
    try:
        base = Path(tempfile.gettempdir())
        base.mkdir(mode=0o700, exist_ok=True)  # a system may clear it meanwhile
        return working_directory("synth-fit", base)
    except OSError as error:
        raise FitError(stop_reason.no_room(error)) from None


def _restart_of(fit: Any, sampler: Sampler, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Where a later fit may start: the last draws of every chain, metric and step size."""
    last = [(chain + 1) * sampler.draws - 1 for chain in range(sampler.chains)]
    known = fit.metadata.stan_vars  # a variable without elements is not written
    restart = {
        name: fit.stan_variable(name)[last] if name in known else np.empty((sampler.chains, 0))
        for name in names
    }
    return restart | {
        "inv_metric": np.mean(fit.metric, axis=0),
        "step_size": np.array(np.mean(fit.step_size)),
    }


def _started(start: Start | None, chains: int) -> dict[str, Any]:
    """Arguments of the sampler that say where its chains begin."""
    if start is None:
        return {}
    inits = [{name: np.asarray(value).tolist() for name, value in each.items()} for each in start.inits]
    metric = [{"inv_metric": start.inv_metric.tolist()}] * chains
    return {"inits": inits, "metric": metric, "step_size": start.step_size}


def diagnose(
    chains: np.ndarray,
    columns: tuple[str, ...],
    parameters: tuple[str, ...],
    monitored: np.ndarray | None = None,
) -> Diagnostics:
    """R-hat, effective sample sizes and divergences through arviz.

    Parameters
    ----------
    chains : array of shape (n_draws, n_chains, n_columns)
    columns : names of the columns, as in the sampler's CSV.
    monitored : array of shape (n_chains * n_draws, n_quantities), optional
        What is judged instead of the parameters and their density, which need not be identified then: the
        coordinates of an empty component may wander while nothing that is used of the fit moves.
    """
    from arviz_stats.base import array_stats

    n_draws, n_chains, _ = chains.shape
    divergences = int(chains[:, :, columns.index("divergent__")].sum())
    useless = Diagnostics(float("nan"), 0.0, 0.0, divergences, n_chains, n_draws * n_chains)
    wanted = ("lp__", *parameters) if monitored is None else ()
    used = [i for i, name in enumerate(columns) if name.split("[")[0] in wanted]
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
    bulk, tail = _effective_sizes(values)
    rhat = float(np.max(array_stats.rhat(values, **_AXES)))
    return replace(
        useless, rhat=rhat, ess_bulk=float(np.min(bulk)), ess_tail=float(np.min(tail)), quantities=len(values)
    )


def effective_size(chains: np.ndarray) -> float:
    """The smaller of the bulk and tail effective sample sizes of one quantity; its count if it is constant.

    Parameters
    ----------
    chains : array of shape (n_chains, n_draws)
    """
    return float(min(_effective_sizes(chains))) if np.ptp(chains) > 0 else float(chains.size)


def _effective_sizes(values: np.ndarray) -> tuple[Any, Any]:
    """Bulk and tail effective sample sizes of quantities of shape (..., n_chains, n_draws)."""
    from arviz_stats.base import array_stats

    tail = array_stats.ess(values, method="tail", prob=(0.05, 0.95), **_AXES)
    return array_stats.ess(values, method="bulk", **_AXES), tail
