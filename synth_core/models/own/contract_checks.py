"""The steps of checking an own program's contract: each compares it with its own `log_lik`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.sampling import Sampler, sample
from synth_core.errors import FitError
from synth_core.models.own import sandbox
from synth_core.models.own.model import OwnProgram
from synth_core.models.own.quantities import log_target, words_of
from synth_core.system import limits
from synth_core.system.number_text import percent

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]

RECORDS = 100  # on which targets are compared
BOUNDS_TRIED = 6  # at random over all that can be asked for, besides one near the data's own terms
POINTS = 4  # values of the parameters at which they are
COPIES = 4000  # predictive draws of one record
ALPHA = 1e-6  # level of the test of the cdf: a correct program fails it once in a million
MASS_TOLERANCE = 0.04  # 8 Monte Carlo standard errors of a share of 0.9 among COPIES


class Broken(Exception):
    """A promise is not kept, for the reason given."""


def bounds_to_try(rng: np.random.Generator) -> list[float]:
    """Bounds at random over all that can be asked for, in nats."""
    low, high = np.log(np.array(limits.EPSILON) / 2)
    parts = np.linspace(low, high, BOUNDS_TRIED + 1)
    return [float(bound) for bound in np.exp(rng.uniform(parts[:-1], parts[1:]))]


class Examiner:
    """The checks of one program; each returns what it found or raises Broken."""

    def __init__(self, model: OwnProgram, progress: Progress):
        self.model = model
        self.progress = progress
        n = model.records.n
        # Evenly by rank, the extremes included.
        order = np.argsort(model.records.outcome, kind="stable")
        self.rows = np.sort(order[np.unique(np.linspace(0, n - 1, min(n, RECORDS)).astype(int))])
        count = len(self.rows)
        self.weights = 0.2 + 0.8 * (np.arange(count) * 37 % 101) / 100  # uneven, all above 0
        self.draws: dict[str, Array] = {}

    def compiles(self) -> str:
        sandbox.build_all(self.model.source, self.progress)
        return "The compiler accepts it."

    def samples(self) -> str:
        try:
            self.draws = self._sample(self.rows, Sampler(chains=1, draws=60, warmup=200, seed=11))
        except FitError:
            self._name_refused_data()
            raise
        index = np.linspace(0, 59, POINTS).astype(int)
        self.draws = {name: values[index] for name, values in self.draws.items()}
        if all(np.ptp(values, axis=0).max(initial=0.0) == 0 for values in self.draws.values()):
            raise Broken("The sampler does not move: its target gives it no direction.")
        return f"{len(self.rows)} records, 260 iterations."

    def _name_refused_data(self) -> None:
        """Raise if it is the data that the program does not take: they are read before any parameter."""
        try:
            self.model.generate(
                {name: np.zeros(1) for name in self.model.parameters},
                self.model.data_of(slice(None)),
                ("log_lik",),
            )
        except FitError as error:
            if "do not keep a bound" in str(error):
                raise Broken(str(error)) from None

    def _sample(self, rows: NDArray[np.int64], sampler: Sampler) -> dict[str, Array]:
        model = self.model
        data = model.data_of(rows, np.full(len(rows), 0.5))
        return sample(model.executable(), data, model.parameters, sampler).draws

    def sizes(self) -> str:
        fewer = self._sample(self.rows[:-1], Sampler(chains=1, draws=20, warmup=20, seed=12))
        for name, values in self.draws.items():
            if values.shape[1:] != fewer[name].shape[1:]:
                raise Broken(
                    f"The size of the parameter '{name}' depends on the number of records. The app evaluates "
                    f"log_lik on parts of the table, so no parameter may be sized by N."
                )
        return f"Parameters: {', '.join(self.draws)}."

    def finite(self) -> str:
        quantities = self.model.generate(
            self.draws, self.model.data_of(slice(None)), ("log_lik", "x_rep"), words_of(13)
        )
        for name, values in quantities.items():
            bad = ~np.isfinite(values).all(axis=0)
            if values.shape[1] != self.model.records.n:
                raise Broken(f"{name} must have one element a record (N), in the records' order.")
            if bad.any():
                raise Broken(
                    f"{name} is not finite for {bad.sum():,} of {values.shape[1]:,} records "
                    f"({self.model.records.first_row(np.asarray(bad))}): a division by zero, a logarithm of zero, or a "
                    f"value outside the model's support."
                )
        self.x_rep = quantities["x_rep"][-1] * self.model.unit
        self.whole = quantities["log_lik"]
        if self.model.bounds is not None:
            out = (self.x_rep < self.model.bounds[0]) | (self.x_rep > self.model.bounds[1])
            if out.any():
                return f"Note: {percent(out.mean())} of the predictive draws leave the declared bounds."
        return f"For all {self.model.records.n:,} records at {POINTS} values of the parameters."

    def alone(self) -> str:
        rows, n = self.rows, len(self.rows)
        half, bound = np.full(n, 0.5), float(np.median(np.abs(self.log_lik)) / 2)
        for data, words in (
            (
                self.model.data_of(rows),
                "differs when it is asked for a part of the table: each element may "
                "depend on its own record and the parameters only",
            ),
            (self.model.data_of(rows, half), "changes with the weights: it must be unweighted"),
            (
                self.model.data_of(rows, censor_bound=bound),
                "changes with censor_bound: it must be uncensored",
            ),
        ):
            log_lik = self.model.generate(self.draws, data, ("log_lik",))["log_lik"]
            if log_lik.shape != self.log_lik.shape or not np.allclose(log_lik, self.log_lik, 1e-8, 1e-8):
                raise Broken(f"log_lik {words}.")
        return "The same for any part of the table, any weights and any bound."

    @cached_property
    def log_lik(self) -> Array:
        """The log-likelihoods of the compared records, of shape (POINTS, n_rows)."""
        return self.whole[:, self.rows]

    def targets(
        self,
        weights: Array,
        bound: float = 0.0,
        rows: NDArray[np.int64] | None = None,
        anchor: Array | None = None,
    ) -> Array:
        """The log target at each value of the parameters, of shape (POINTS,)."""
        data = self.model.data_of(self.rows if rows is None else rows, weights, bound, anchor=anchor)
        program = sandbox.own_source(self.model.source)
        targets = np.array(
            [log_target(program, data, {k: v[s] for k, v in self.draws.items()}) for s in range(POINTS)]
        )
        if not np.isfinite(targets).all():
            raise Broken(
                "The log target is not finite at some weights between 0 and 1 (all weights 0 leave the prior)."
            )
        return targets

    def same(self, left: Array, right: Array, size: float = 0.0) -> bool:
        """Whether two quantities, of terms that sum to about `size`, agree over the parameters, up to a constant."""
        difference = left - right
        scale = 1.0 + max(size, float(np.abs(self.log_lik).sum(axis=1).max()))
        return bool(np.ptp(difference) <= 1e-7 * scale)

    @cached_property
    def _zero(self) -> Array:
        return self.targets(np.zeros(len(self.rows)))

    def power(self) -> str:
        ones, total = np.ones(len(self.rows)), self.log_lik.sum(axis=1)
        full, half = self.targets(ones), self.targets(0.5 * ones)
        if self.same(full, self._zero) and not self.same(total, np.zeros(POINTS)):
            raise Broken("The weights are ignored: the log target is the same whatever they are.")
        if not self.same(full - half, half - self._zero):
            raise Broken(
                "Weights do not act as a power: doubling all of them does not double the data part of the log "
                "target. Each record must add weights[i] * log_lik[i]."
            )
        if not self.same(full - self._zero, total):
            raise Broken(
                "The data part of the log target is not the sum of log_lik: log_lik and the model block say "
                "different things."
            )
        if not self.same(self.targets(self.weights) - self._zero, self.log_lik @ self.weights):
            raise Broken("Each weight must multiply the log_lik of its own record, and of no other.")
        return "Doubling all weights doubles the data part of the log target."

    def removal(self) -> str:
        middle = len(self.rows) // 2
        without = np.delete(np.arange(len(self.rows)), middle)
        weights = self.weights.copy()
        weights[middle] = 0.0
        if not self.same(self.targets(weights), self.targets(weights[without], 0.0, self.rows[without])):
            raise Broken(
                "A record of weight 0 still counts: the target differs from that of the table without it. "
                "Something is computed from all of x (a mean, a scale, a prior), which no weight protects."
            )
        return "The target is that of the table without the record."

    def censoring(self) -> str:
        typical = float(np.median(np.abs(self.log_lik * self.weights)))
        self._censored_at(typical, self.weights)
        # At bounds beyond the data's own terms, larger weights bring terms to the bound. They are drawn anew for
        # every check: a program cannot know at which bounds it will be tried.
        rng = np.random.default_rng()
        for bound in bounds_to_try(rng):
            self._censored_at(bound, bound / typical * rng.uniform(0.2, 5.0, len(self.rows)))
        high = limits.EPSILON[1] / 2
        return f"Each weighted term stays within the bound, at {BOUNDS_TRIED + 1} bounds up to {high:,.0f}."

    def _censored_at(self, bound: float, weights: Array) -> None:
        terms = self.log_lik * weights
        try:
            censored = self.targets(weights, bound) - self.targets(np.zeros(len(self.rows)), bound)
        except FitError:
            if weights.max() <= 1:
                raise
            raise Broken("Declare the weights with a lower bound of 0 and no upper one.") from None
        scale = float(np.abs(terms).sum(axis=1).max())
        if self.same(censored, np.clip(terms, -bound, bound).sum(axis=1), scale):
            return
        if self.same(censored, terms.sum(axis=1), scale):
            raise Broken(
                f"censor_bound is ignored: the likelihood is not censored at a bound of {bound:.3g}."
            )
        raise Broken(
            f"Censoring is not respected at a bound of {bound:.3g}: each weights[i] * log_lik[i] must be kept within "
            "[-censor_bound, censor_bound] by itself, in full, before they are added."
        )

    def _of_one(self, outcome: Array, wanted: tuple[str, ...], seed: int = 1) -> dict[str, Array]:
        """Generated quantities for a middle record whose value is replaced, at one draw."""
        row = np.full(len(outcome), self.rows[len(self.rows) // 2])
        draw = {name: values[-1:] for name, values in self.draws.items()}
        quantities = self.model.generate(
            draw, self.model.data_of(row, outcome=outcome), wanted, words_of(seed)
        )
        return {name: values[0] for name, values in quantities.items()}

    def density(self) -> str:
        model = self.model
        record = model.records.outcome[self.rows[len(self.rows) // 2]]
        drawn = self._of_one(np.full(COPIES, record), ("x_rep",), 14)["x_rep"] * model.unit
        low, high = np.quantile(drawn, [0.05, 0.95], method="inverted_cdf")
        share = float(np.mean((drawn >= low) & (drawn <= high)))
        if model.discrete:
            if high - low > 20 * COPIES:
                return "Not checked: the counts spread too widely."
            mass = np.exp(self._of_one(np.arange(low, high + 1), ("log_lik",))["log_lik"]).sum()
        else:
            if len(np.unique(drawn)) < 0.99 * COPIES:
                return "Not checked: the predictive draws have point masses."
            grid = np.unique(np.concatenate([np.linspace(low, high, COPIES), np.sort(drawn)]))
            grid = grid[(grid >= low) & (grid <= high)]
            height = np.exp(self._of_one(grid, ("log_lik",))["log_lik"])
            mass = float(np.trapezoid(height, grid / model.unit))
        if not abs(mass - share) <= MASS_TOLERANCE:
            raise Broken(
                f"log_lik is not the log density of x_rep: where {percent(share, 0)} of the predictive draws "
                f"of a record lie, exp(log_lik) adds up to {mass:.3g}. A constant that is left out would change "
                "every Δ and ε."
            )
        return f"Where {percent(share, 0)} of the draws of a record lie, it adds up to {mass:.3f}."

    def distribution(self) -> str:
        model = self.model
        if not model.declared.has_cdf:
            return "Note: the program declares no cdf, so the range-averaged and range-truncated standards are off."
        index = np.arange(model.records.n)
        draw = {name: values[-1:] for name, values in self.draws.items()}
        levels = [np.full(model.records.n, level) for level in np.quantile(self.x_rep, [0.1, 0.5, 0.9])]
        tails = [model._tails(draw, at, index) for at in (self.x_rep, *levels)]
        for below, above in tails:
            if not ((below >= 0) & (below <= 1)).all():
                raise Broken("cdf leaves [0, 1].")
            if not np.allclose(below + above, 1.0, rtol=0, atol=1e-8):
                raise Broken("cdf and ccdf do not add up to 1.")
        if any((later < earlier - 1e-12).any() for (earlier, _), (later, _) in pairwise(tails[1:])):
            raise Broken("cdf falls somewhere: it must grow with cdf_at.")
        share = tails[0][0][0]
        if model.discrete:  # spread evenly over the jump
            below = model._tails(draw, self.x_rep - 1, index)[0][0]
            share = below + np.random.default_rng(15).uniform(size=len(share)) * (share - below)
        if scipy.stats.kstest(share, "uniform").pvalue < ALPHA:
            raise Broken(
                "cdf is not the distribution function of x_rep: at predictive draws it is not uniform."
            )
        return "Uniform at the predictive draws, growing, within [0, 1]."
