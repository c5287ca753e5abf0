"""Finite normal mixture regression (Savitsky, Williams and Hu 2022, appendix B)."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.sampling import Start
from synth_core.engine.stan_data import StanData
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.base import Array, Draws, Options, Proposal, Refit, parted
from synth_core.models.coordinates import row_sums
from synth_core.models.lognormal import LOG_ROOT_2PI, normal_mass
from synth_core.models.mixture.em import MAX_RECORDS, MixtureEstimate, fit_mixture
from synth_core.models.mixture.pilot import RATE, Pilot, run_pilot, standardise
from synth_core.models.records import Records, distinct_columns
from synth_core.models.two_part import TwoPart
from synth_core.models.zero_part import empty_zero_part

SIGMA_LOWER = 0.2
MONITORED_RECORDS = 400
_pilots: OrderedDict[bytes, Pilot] = OrderedDict()  # by content


class Mixture(TwoPart):
    """t(x) ~ sum_k pi_k Normal(z' beta_k, sigma_k), K over-determined; zeros optionally apart.

    Priors: pi ~ Dirichlet(a / K), a ~ Gamma(5 concentration, 5): sparse at a small concentration; beta_k ~
    MVN(0, diag(s) Omega diag(s)), s_j and sigma_k ~ half-Student-t(3, 0, 1), Omega ~ LKJ(1). The component is
    marginalised and nothing that is reported depends on labels. sigma_k >= 0.2: tied values would otherwise make
    the posterior improper, and a component that sits on a heap of equal incomes copies them.
    """

    name = "mixture"
    label = "Normal mixture regression"
    program = "mixture.stan"
    uses = frozenset(
        {"unit", "transformation", "offset", "asinh_scale", "components", "concentration", "zero_part"}
    )
    bell = False
    asinh_within = 1.0
    remedy = "a normal mixture for several bumps or long tails, which needs minutes"
    proposals = {  # noqa: RUF012
        "losses_without_zeros": Proposal(
            "Losses are no zeros, and there are too few zeros for a part of their own: a normal mixture on asinh takes "
            "both signs. It needs minutes.",
            (("transformation", "asinh"), ("zero_part", False)),
        )
    }
    slow = True
    adapt_delta = 0.98

    def __init__(self, records: Records, options: Options):
        super().__init__(records, options)
        self.n_components = options.components
        self.parameters = ("pi_k", "beta", "sigma", *(("gamma",) if self.zero_part else ()))

    def family(self, draws: Draws) -> None:
        return None

    @classmethod
    def has_zeros(cls, options: Options) -> bool:
        """Whether zeros were chosen to have a probability of their own."""
        return options.zero_part

    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        unclamped = [(m, *m._summed(alpha)) for m, alpha in self.unclamped(weights, censoring)]
        group = self.records.distinct_design[1]
        y = [m.response[m.normal][first] for m, first, _ in unclamped]
        row = [group[m.normal][first] for m, first, _ in unclamped]
        mass = [total for _, _, total in unclamped]
        precision, shift = self._conditional(weights)
        *_, center, factor = self._together(weights)
        empty = np.empty(0)
        data = empty_zero_part() | {
            "n_components": self.n_components,
            "k": self.records.design.shape[1],
            "precision": precision,
            "shift": shift,
            "reference": self._reference(weights) + 1,
            "center": center,
            "factor": factor,
            "n_censored": 0,
            "censored_constant": empty,
            "censored_count": empty,
            "censor_bound": 0.0,
            "sigma_lower": SIGMA_LOWER,
            "prior_scale": self.options.prior_scale,
            "concentration": self.options.concentration,
        }
        if censoring is not None:
            alpha, response, its_row = weights[self.normal], self.response[self.normal], group[self.normal]
            first, count = self._distinct(np.column_stack([response, alpha, its_row]))
            constant = (self.log_slope - LOG_ROOT_2PI - censoring.offset(self.records.n))[self.normal]
            y, row, mass = [response[first], *y], [its_row[first], *row], [alpha[first], *mass]
            data |= {
                "n_censored": len(first),
                "censored_constant": (alpha * constant)[first],
                "censored_count": count.astype(float),
                "censor_bound": censoring.bound,
            }
        rows = self.records.distinct_design[0]
        data |= {
            "n_rows": len(rows),
            "rows": rows,
            "n_distinct": sum(map(len, mass)),
            "distinct_y": np.concatenate(y),
            "distinct_row": np.concatenate(row) + 1,
            "distinct_weight": np.concatenate(mass),
        }
        return data | self._zero_data(weights, censoring)

    def _summed(self, weights: Array) -> tuple[NDArray[np.int64], Array]:
        """One place in the normal part of each distinct pair of value and design row, and the sum of its weights."""
        keys = np.column_stack([self.response, self.records.distinct_design[1]])[self.normal]
        first, index = distinct_columns(keys.T)
        return first, row_sums(index, weights[self.normal], len(first))

    def _some(self) -> Array:
        """The records of the normal part that coordinates are taken from: enough, and evenly spread."""
        normal = np.arange(self.records.n)[self.normal]
        return normal[np.linspace(0, len(normal) - 1, min(len(normal), MAX_RECORDS)).astype(int)]

    def _pilot(self, weights: Array) -> Pilot:
        """Under these weights, kept per process: it costs seconds. Labels are those of the unweighted one."""
        some = self._some()
        design, response, some_weights = self.records.design[some], self.response[some], weights[some]
        if not some_weights.any():  # a prior alone: the records choose coordinates
            some_weights = np.ones(len(some))
        prior = {"prior_scale": self.options.prior_scale, "concentration": self.options.concentration}
        key = hashlib.sha256(
            np.column_stack([design, response, some_weights]).tobytes()
            + repr((self.n_components, prior)).encode()
        ).digest()
        if key not in _pilots:
            rng = np.random.default_rng(0)  # coordinates only: no draw depends on it
            start: MixtureEstimate | Pilot
            if (some_weights == 1).all():
                start = fit_mixture(design, response, some_weights, self.n_components, SIGMA_LOWER, rng)
            else:
                start = self._pilot(np.ones_like(weights))
            _pilots[key] = run_pilot(design, response, some_weights, start, SIGMA_LOWER, **prior, rng=rng)
            while len(_pilots) > 8:
                _pilots.popitem(last=False)
        _pilots.move_to_end(key)  # the unweighted one starts every other
        return _pilots[key]

    def _reference(self, weights: Array) -> int:
        """A component that stays occupied."""
        return int(np.argmax(weights[self._some()] @ self._pilot(weights).responsibilities))

    def _conditional(self, weights: Array) -> tuple[Array, Array]:
        """A_k of shape (K, k, k) and A_k b_k of shape (k, K)."""
        pilot, some = self._pilot(weights), self._some()
        scale = weights[self.normal].sum() / max(weights[some].sum(), 1e-9)
        return scale * pilot.precision, scale * pilot.shift

    def _together(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        """What moves together in the pilot's draws, (n_states, 3 K - 1), their u, and center and factor of it."""
        pilot, reference = self._pilot(weights), self._reference(weights)
        coordinates = self._conditional(weights)
        u = np.array([standardise(state.beta, state.s, *coordinates) for state in pilot.states])
        shares = np.array([state.shares for state in pilot.states])
        above = np.maximum([state.sigma - SIGMA_LOWER for state in pilot.states], 0.02 * SIGMA_LOWER)
        ratios = np.log(np.delete(shares, reference, axis=1) / shares[:, [reference]])
        block = np.hstack([ratios, np.log(above), u[:, 0]])
        least = np.repeat([1e-4, 1e-4, 1.0], [self.n_components - 1, self.n_components, self.n_components])
        spread = np.sqrt(np.maximum(block.var(axis=0), least))
        standard = (block - block.mean(axis=0)) / spread
        correlation = standard.T @ standard / len(block)
        np.fill_diagonal(correlation, 1.0)
        correlation = 0.9 * correlation + 0.1 * np.eye(len(spread))  # of 400 autocorrelated draws
        covariance = correlation * spread[:, None] * spread
        return block, u, block.mean(axis=0), scipy.linalg.cholesky(covariance, lower=True)

    searches = False  # that of its parent is for one normal curve

    def start(self, fit: Refit) -> Start:
        """Starting points: draws of the pilot run under these weights that lie apart, scaled by what they vary by.

        Nearer than the draws of another fit, in which other components may be occupied.
        """
        states = self._pilot(fit.weights).states
        block, u, center, factor = self._together(fit.weights)
        slopes = u[:, 1:].swapaxes(1, 2).reshape(len(u), -1)  # columns one after another
        k = len(states[0].s)
        zero_k = k if self.zero_part is not None else 0
        inits = []
        for chain in range(fit.chains):
            rng = np.random.default_rng([fit.seed, 41, chain])
            at = len(states) - 1 - chain % 4 * (len(states) // 4)
            inits.append(
                {
                    "a": np.array(states[at].a),
                    "s": states[at].s,
                    "L": np.eye(k),
                    "w": scipy.linalg.solve_triangular(factor, block[at] - center, lower=True),
                    "u_slopes": slopes[at],
                    "v": rng.standard_normal(zero_k),
                }
            )
        inv_metric = np.concatenate(
            [
                [max(np.var([np.log(state.a) for state in states]), 1 / (RATE * self.options.concentration))],
                np.ones(len(center)),  # of w
                np.maximum(slopes.var(axis=0), 1.0),
                np.maximum(np.var([np.log(state.s) for state in states], axis=0), 0.25),
                np.full(k * (k - 1) // 2, 0.3),
                np.ones(zero_k),
            ]
        )
        return Start(tuple(inits), inv_metric, 0.1)

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """Every component the same."""
        draws, n = super().guess(typical, spread, zeros), self.n_components
        return draws | {
            "pi_k": np.full((1, n), 1 / n),
            "beta": np.repeat(draws["beta"][:, :, None], n, axis=2),
            "sigma": np.full((1, n), max(spread, SIGMA_LOWER)),
        }

    def monitors(self, draws: Draws) -> Array:
        """Label-free quantities: sum and largest of the log-likelihoods, and predictive probabilities at nine values.

        Delta is made of the largest.
        """
        n, n_draws = self.records.n, len(draws["sigma"])
        total, largest = np.zeros((2, n_draws))
        step = max(1, BLOCK_ELEMENTS // n_draws)
        for begin in range(0, n, step):
            log_lik = self.log_lik(draws, slice(begin, begin + step))
            total += log_lik.sum(axis=1)
            np.maximum(largest, np.abs(log_lik).max(axis=1), out=largest)
        some = np.unique(np.linspace(0, n - 1, min(n, MONITORED_RECORDS)).astype(int))
        values = np.quantile(self.records.outcome, np.arange(1, 10) / 10)
        shares = [self.cdf(draws, np.full(len(some), value), some).mean(axis=1) for value in values]
        return np.column_stack([total, largest, *shares])

    def _residuals(self, draws: Draws, response: Array, rows: Rows, component: int) -> Array:
        """(y - z' beta_k) / sigma_k of shape (n_draws, n_rows); `response` has shape (n_rows,)."""
        sigma = draws["sigma"][:, component, None]
        coefficients = np.hstack([-draws["beta"][:, :, component], np.ones_like(sigma)]) / sigma
        return coefficients @ np.column_stack([self.records.design[rows], response]).T

    def log_density(self, draws: Draws, rows: Rows) -> Array:
        with np.errstate(divide="ignore"):
            constant = np.log(draws["pi_k"]) - np.log(draws["sigma"]) - LOG_ROOT_2PI
        terms = np.stack(
            [
                constant[:, [j]] - 0.5 * self._residuals(draws, self.response[rows], rows, j) ** 2
                for j in range(self.n_components)
            ]
        )
        top = terms.max(axis=0)
        terms -= top
        np.exp(terms, out=terms)
        return top + np.log(terms.sum(axis=0)) + self.log_slope[rows]

    def distribution(self, draws: Draws, values: Array, rows: Rows) -> Array:
        y = self.transformation.forward(values)
        parts = (
            draws["pi_k"][:, [j]] * scipy.special.ndtr(self._open(draws, y, rows, j))
            for j in range(self.n_components)
        )
        return sum(parts, np.zeros(1))

    def mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        ends = [self.transformation.forward(each) for each in (lower, upper)]
        parts = (
            draws["pi_k"][:, [j]] * normal_mass(*(self._open(draws, y, rows, j) for y in ends))
            for j in range(self.n_components)
        )
        return sum(parts, np.zeros(1))

    def _open(self, draws: Draws, response: Array, rows: Rows, component: int) -> Array:
        """Residuals of ends that may be infinite."""
        finite = np.isfinite(response)
        residuals = self._residuals(draws, np.where(finite, response, 0.0), rows, component)
        return np.where(finite, residuals, response)

    def response_at(self, draw: Draws, uniform: Array) -> Array:
        component, within = parted(uniform, draw["pi_k"][:, None])
        mean = np.take_along_axis(self.records.design @ draw["beta"], component[:, None], axis=1)[:, 0]
        return mean + draw["sigma"][component] * scipy.special.ndtri(within)
