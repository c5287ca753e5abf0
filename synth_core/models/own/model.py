"""A synthesizer that is the analyst's own Stan program (the contract is in docs/guide/own-program.md).

Densities, distribution functions and predictive draws come from the program's generated
quantities, for the draws and the records that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from synth_core.engine.sampling import Start
from synth_core.engine.stan_data import StanData
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Model, Options, Refit
from synth_core.models.own import sandbox
from synth_core.models.own.quantities import Words, generate, log_target, words_of
from synth_core.models.own.source import inspect
from synth_core.models.records import Records
from synth_core.system import limits


class OwnProgram(Model):
    """x / unit ~ whatever the program says, given the standardised design Z."""

    name = "own"
    label = "Own Stan program"
    uses = frozenset({"bounds", "unit"})
    slow = True
    cheap_log_lik = False
    takes_anchor_prior = False  # it reads one data set, and a prior from the anchor is made of another
    takes_guess = False  # nothing is known of its parameters
    block_elements = 2**20  # a block is a process: fewer and larger ones than for the others

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        if options.program is None:
            raise InputError(
                "The model 'own' needs a Stan program; give one on the page Help, under Own programs."
            )
        sandbox.require_enabled()
        if records.n > limits.MAX_OWN_ROWS:
            raise InputError(
                f"An own program takes at most {limits.MAX_OWN_ROWS:,} records, and there are {records.n:,}: "
                f"its gradients go through every one of them. Take a sample of the table."
            )
        self.source = options.program
        self.declared = inspect(self.source)  # raises with the compiler's message
        self.discrete = self.declared.discrete
        self.takes_anchor = self.declared.takes_anchor
        self.uses_predictors = "Z" in self.declared.inputs
        self.parameters = self.declared.parameters  # all: generated quantities may need any of them
        self.restart_parameters = self.parameters  # a refit starts from the unweighted one's last draws
        # What a fit runs: without generated quantities, which are asked for apart.
        self.program = str(sandbox.own_source(self.source, sandbox.SAMPLER))
        self.bounds, self.unit = options.bounds, options.unit
        if self.discrete:
            self.unit = 1.0  # a mass has no unit
            bad = ~(records.outcome % 1 == 0)
            if bad.any():
                raise InputError(
                    f"The program declares x as whole numbers, and {bad.sum():,} of {records.n:,} values are "
                    f"not ({records.first_row(bad)})."
                )

    alike = None  # a program may tell records apart by anything

    def start(self, fit: Refit) -> Start | None:
        previous = fit.previous
        if previous is None:
            return None
        inits = tuple(
            {name: previous[name][chain] for name in self.parameters} for chain in range(fit.chains)
        )
        return Start(inits, previous["inv_metric"], float(previous["step_size"]))

    def executable(self, progress: Callable[[str, float], None] = lambda text, share: None) -> Path:
        """A script that runs the program under limits of time, memory and file size."""
        return sandbox.executable(Path(self.program), progress)

    @property
    def density_scale(self) -> str:
        if self.discrete:
            return "probability of a count, by an own program"
        unit = "the table's unit" if self.unit == 1 else f"{self.unit:g} of the table's unit"
        return f"density per {unit}, by an own program"

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        if censoring is None:
            return self.data_of(slice(None), weights)
        if censoring.anchor is not None:
            self.require_anchor()
        if censoring.prior_outcome is not None and np.any(censoring.prior_weight):
            raise InputError(f"{self.label}: it reads one data set, so it takes no prior from an anchor.")
        return self.data_of(slice(None), weights, censoring.bound, anchor=censoring.anchor)

    def data_of(
        self,
        rows: Rows,
        weights: Array | None = None,
        censor_bound: float = 0.0,
        cdf_at: Array | None = None,
        outcome: Array | None = None,
        anchor: Array | None = None,
    ) -> StanData:
        """The data of some records, as the program declares them.

        Parameters
        ----------
        weights : array of shape (n_rows,), optional
            None means 1.
        cdf_at, outcome : arrays of shape (n_rows,), optional
            In the analyst's unit; `outcome` replaces the records' own.
        anchor : array of shape (n_rows,), optional
            What is subtracted from the log-likelihoods before they are clamped; None means 0.
        """
        x = (self.records.outcome[rows] if outcome is None else outcome) / self.unit
        design = self.records.design[rows]
        n = len(x)
        given: StanData = {
            "N": n,
            "K": design.shape[1],
            "x": x.astype(int) if self.discrete else x,
            "Z": design,
            "weights": np.ones(n) if weights is None else weights,
            "censor_bound": censor_bound,
            "anchor": np.zeros(n) if anchor is None else anchor,
            "M": 0 if cdf_at is None else n,
            "cdf_at": np.empty(0) if cdf_at is None else cdf_at / self.unit,
            "prior_scale": self.options.prior_scale,
        }
        return {name: value for name, value in given.items() if name in self.declared.inputs}

    def generate(
        self, draws: Draws, data: StanData, wanted: tuple[str, ...], words: Words = words_of(1)
    ) -> dict[str, Array]:
        """Generated quantities at draws, each of shape (n_draws, n_rows)."""
        chosen = {name: draws[name] for name in self.parameters}
        return generate(sandbox.own_source(self.source), data, chosen, wanted, words)

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        log_lik = self.generate(draws, self.data_of(rows), ("log_lik",))["log_lik"]
        bad = np.isnan(log_lik).any(axis=0)
        if bad.any():
            row = self.records.row(int(np.arange(self.records.n)[rows][np.argmax(bad)]))
            raise FitError(
                f"The program's log_lik is not a number for {bad.sum():,} records under some draw (first in {row})."
            )
        return log_lik

    def require_anchor(self) -> None:
        if not self.takes_anchor:
            raise InputError(
                "Anchored censoring subtracts an anchor from each log-likelihood before it is clamped, and the "
                "program does not declare one. Add 'vector[N] anchor;' to its data block and subtract it as "
                "docs/guide/own/template.stan does, or take 'censored'."
            )

    def accepts(self, draws: Draws) -> bool:
        try:  # the target refuses sizes and bounds that are not the declared ones
            one = {name: values[0] for name, values in draws.items()}
            log_target(sandbox.own_source(self.source), self.data_of(slice(0, 1)), one)
            self.log_lik(draws, slice(0, 1))
        except FitError:
            return False
        return True

    def require_cdf(self) -> None:
        """Refuse what needs a distribution function from a program without one."""
        if not self.declared.has_cdf:
            raise InputError(
                "Sensitive ranges need the model's distribution function, and the program declares no 'cdf' "
                "among its generated quantities: the range-averaged and range-truncated standards are off. "
                "Add 'vector[M] cdf' to switch them on."
            )

    def _tails(self, draws: Draws, values: Array, index: NDArray[np.int64]) -> tuple[Array, Array]:
        """Pr(X <= value) and Pr(X > value), of shape (n_draws, n_values)."""
        self.require_cdf()
        finite = np.isfinite(values)
        at = np.where(finite, values, self.records.outcome[index])
        wanted = ("cdf", "ccdf") if "ccdf" in self.declared.outputs else ("cdf",)
        tails = self.generate(draws, self.data_of(index, cdf_at=at), wanted)
        below = np.where(finite, tails["cdf"], (values > 0).astype(float))
        above = (
            np.where(finite, tails["ccdf"], (values < 0).astype(float)) if "ccdf" in tails else 1.0 - below
        )
        return below, above

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return self._tails(draws, values, np.arange(self.records.n)[rows])[0]

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        index = np.arange(self.records.n)[rows]
        if self.discrete:
            lower, upper = self.whole_ends(lower, upper)
            lower = lower - 1.0
        below, above = self._tails(draws, np.concatenate([lower, upper]), np.tile(index, 2))
        n = len(index)
        # From the nearer tail: a difference of two numbers close to 1 has no digits left.
        left, right = below[:, n:] - below[:, :n], above[:, :n] - above[:, n:]
        return np.maximum(np.where(below[:, :n] > 0.5, right, left), 0.0)

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        return np.asarray(self.predictions(draw, rng, 1)[0])

    def predictions(self, draw: Draws, rng: np.random.Generator, times: int) -> Array:
        """As those of any model, by one run of the program."""
        one = {name: np.repeat(np.asarray(draw[name])[None], times, axis=0) for name in self.parameters}
        first, second, third, fourth = rng.integers(1, 2**31 - 1, size=4).tolist()
        words = first, second, third, fourth
        values = self.generate(one, self.data_of(slice(None)), ("x_rep",), words)["x_rep"]
        if not np.isfinite(values).all():
            raise FitError(
                "The program's predictive draw x_rep is not finite for "
                f"{(~np.isfinite(values)).any(axis=0).sum():,} records."
            )
        return values * self.unit
