"""Beta synthesizer on (0, 1) or on declared bounds (Hu, Williams and Savitsky, Supp. 1)."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import scipy

from synth_core.engine.stan_data import StanData
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import LinearFamily
from synth_core.models.base import GUESS_STEPS, OPEN, Array, Draws, Model, Options, Proposal
from synth_core.models.beta_coordinates import ClampedBeta
from synth_core.models.records import Records, distinct_columns
from synth_core.system.number_text import declared, is_or_are

LAMBDA_LOWER, LAMBDA_SHAPE = 0.1, 1.5


SHARE_BOUNDS = "A share lies between 0 and 1 by definition, so these bounds give nothing away: a beta model."


class BetaFamily(Model):
    """What beta models share: a value scaled into (0, 1) by declared bounds, (a, b) by draw and record."""

    needs_bounds = True
    uses = frozenset({"bounds"})

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.bounds = options.bounds or (0.0, 1.0)
        lower, upper = self.bounds
        scaled = (records.outcome - lower) / (upper - lower)
        outside = ~((scaled > 0) & (scaled < 1))
        if outside.any():
            raise InputError(
                f"The {self.label} model needs every value strictly between the declared bounds "
                f"{declared(lower)} and {declared(upper)}; {outside.sum():,} of {records.n:,} values "
                f"{is_or_are(outside.sum())} not ({records.first_row(outside)}). "
                f"Declare wider bounds, or choose another model."
            )
        self.scaled = scaled
        self.log_x, self.log1m_x = np.log(scaled), np.log1p(-scaled)

    @property
    def density_scale(self) -> str:
        lower, upper = self.bounds
        return f"density of the value scaled to (0, 1) by the bounds {declared(lower)} and {declared(upper)}"

    @abstractmethod
    def shapes(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        """a and b, broadcastable to (n_draws, n_rows)."""

    def _scaled(self, values: Array) -> Array:
        lower, upper = self.bounds
        return np.clip((values - lower) / (upper - lower), 0.0, 1.0)

    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        return scipy.special.betainc(*self.shapes(draws, rows), self._scaled(values))

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        a, b = self.shapes(draws, rows)
        low, high = self._scaled(lower), self._scaled(upper)
        # From the nearer tail: a difference of two numbers close to 1 has no digits left.
        right = low > np.mean(a / (a + b), axis=0)
        mass = np.empty(np.broadcast_shapes(a.shape, low.shape))
        for where, distribution in ((~right, scipy.special.betainc), (right, scipy.special.betaincc)):
            ab = (each if each.shape[1] == 1 else each[:, where] for each in (a, b))
            ends = distribution(*(p := tuple(ab)), high[where]) - distribution(*p, low[where])
            mass[:, where] = np.abs(ends)
        return mass

    def _guess(self, typical: float, spread: float) -> tuple[float, float]:
        """Mean and precision of the scaled value."""
        lower, upper = self.bounds
        mean, sd = (typical - lower) / (upper - lower), spread / (upper - lower)
        if not (0 < mean < 1 and 0 < sd**2 < mean * (1 - mean)):
            raise InputError(
                f"A typical value of {declared(typical)} with a spread of {declared(spread)} does not fit "
                f"between {declared(lower)} and {declared(upper)}."
            )
        return mean, max(mean * (1 - mean) / sd**2 - 1, 1.01 * LAMBDA_LOWER)

    def guess_edges(self, typical: float, spread: float) -> tuple[float, ...]:
        mean, precision = self._guess(typical, spread)
        shares = scipy.special.ndtr(GUESS_STEPS)
        scaled = scipy.special.betaincinv(precision * mean, precision * (1 - mean), shares)
        return tuple(np.unique(self._unscaled(scaled)).tolist())

    def _draw(self, a: Array, b: Array, rng: np.random.Generator) -> Array:
        return self._unscaled(rng.beta(a, b, self.records.n))

    def _unscaled(self, scaled: Array) -> Array:
        lower, upper = self.bounds
        return lower + (upper - lower) * np.clip(scaled, *OPEN)

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        one = {name: np.asarray(value)[None] for name, value in draw.items()}
        a, b = (shape[0] for shape in self.shapes(one, slice(None)))
        return self._unscaled(scipy.special.betaincinv(a, b, uniform))


class Beta(BetaFamily):
    """x scaled into (0, 1) by declared bounds ~ Beta(lambda * phi, lambda * (1 - phi)).

    Priors: phi ~ U(0, 1), lambda ~ Pareto(0.1, 1.5). Predictors are kept but not used.
    """

    name = "beta"
    label = "Beta"
    program = "beta.stan"
    proposals = {  # noqa: RUF012
        "share": Proposal(SHARE_BOUNDS, (("bounds", (0.0, 1.0)),), regression=False)
    }
    uses_predictors = False
    parameters = ("a", "b")
    metric = "unit_e"
    max_warmup = 300

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        # log_lik = features @ (a - 1, b - 1, -log B(a, b)): an exponential family
        self.features = np.column_stack([self.log_x, self.log1m_x, np.ones(records.n)])

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        kept = sum((alpha @ m.features for m, alpha in self.unclamped(weights, censoring)), np.zeros(3))
        alpha, offset = weights, np.zeros(self.records.n)
        first, count, bound = np.empty(0, dtype=np.int64), np.empty(0), 0.0
        if censoring is not None:
            offset, bound = censoring.offset(self.records.n), censoring.bound
            active = np.flatnonzero(weights)
            places, index = distinct_columns(np.stack([self.scaled, alpha, offset])[:, active])
            first, count = active[places], np.bincount(index).astype(float)
        density = ClampedBeta(
            features=self.features[first] * alpha[first, None],
            constant=-(alpha * offset)[first],
            count=count,
            bound=bound,
            kept=kept,
            lower=LAMBDA_LOWER,
            shape=LAMBDA_SHAPE / self.options.prior_scale,
        )
        center, basis = density.coordinates()
        moving, settled = density.settled(center, basis)
        order = np.argsort(~moving, kind="stable")
        return settled | {
            "center": center,
            "basis": basis,
            "weight_sum": kept[2],
            "weighted_log_x": kept[0],
            "weighted_log1m_x": kept[1],
            "n_censored": len(first),
            "censored_x": self.scaled[first][order],
            "censored_weight": alpha[first][order],
            "censored_constant": density.constant[order],
            "censored_count": count[order],
            "censor_bound": bound,
            "n_moving": int(moving.sum()),
            "lambda_lower": density.lower,
            "lambda_shape": density.shape,
        }

    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        return self._coefficients(draws) @ self.features[rows].T

    def weighted_sum(self, draws: Draws, weights: Array) -> Array:
        return self._coefficients(draws) @ (weights @ self.features)

    def family(self, draws: Draws) -> LinearFamily:
        coefficients = self._coefficients(draws)
        one = np.zeros(self.records.n, dtype=np.int64)
        return LinearFamily(self.features[:, :2], one, lambda cell: coefficients)

    @staticmethod
    def _coefficients(draws: Draws) -> Array:
        """The coefficients of the features, of shape (n_draws, 3)."""
        a, b = draws["a"], draws["b"]
        return np.column_stack([a - 1.0, b - 1.0, -scipy.special.betaln(a, b)])

    def shapes(self, draws: Draws, rows: Rows) -> tuple[Array, Array]:
        return draws["a"][:, None], draws["b"][:, None]

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        mean, precision = self._guess(typical, spread)
        return {"a": np.array([precision * mean]), "b": np.array([precision * (1 - mean)])}

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        return self._draw(draw["a"], draw["b"], rng)
