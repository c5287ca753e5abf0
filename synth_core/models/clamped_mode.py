"""Where the density of a clamped normal regression is largest: it chooses where a sampler starts and in which scale.

The posterior does not depend on it. Where a bound clamps much, the density is far from the least squares estimate, and
where it clamps nearly everything it has many modes, each on a few hundred records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.models.coordinates import covariance_factor, solve_penalised

Array = NDArray[np.float64]

STEPS, LEAST_SHARE, LEAST_GAIN = 60, 0.05, 1e-2  # of a climb; the last in nats
STARTS, HOPS, HOP_SIZE = 20, 40, 10.0  # of a search; the last in standard deviations
START_SPREAD, NARROWEST = 0.4, 3.0  # of the starts, in sigma; logarithm of how far below it sigma starts
MOST_MODES, APART = 8, 2.0  # modes that are looked at; standard deviations between two
LEAST_MASS = 1e-3  # of the mode with the most, below which a mode is left out: so much a draw may miss
MAX_RECORDS = 3_000  # a subsample is enough to choose between modes


@dataclass(frozen=True)
class Point:
    """Log density up to a constant, in nats; beta of shape (k,); sigma."""

    log_density: float
    beta: Array
    sigma: float


@dataclass(frozen=True)
class ClampedNormal:
    """Clamped terms weight * (constant - log sigma - (y - z beta)^2 / (2 sigma^2)), and what is not clamped.

    Attributes
    ----------
    design, response, constant, weight : arrays of shape (n, k) and (n,)
    bound : float
        In nats.
    beta_scale, sigma_scale : array of shape (k,), float
        Of the normal and half-Student-t priors.
    kept_gram, kept_slope, kept_rss, kept_weight : arrays of shape (k, k) and (k,), floats
        Weighted sums of zz', zy, y^2 and 1 over records whose terms are not clamped.
    each : float
        How many records each of these stands for.
    """

    design: Array
    response: Array
    constant: Array
    weight: Array
    bound: float
    beta_scale: Array
    sigma_scale: float
    kept_gram: Array
    kept_slope: Array
    kept_rss: float
    kept_weight: float
    each: float = 1.0

    def share_inside(self, at: Point) -> float:
        """The share of the weight within the bound, of what may be clamped; 1 without any."""
        total = self.weight.sum()
        return float(self.weight[self.inside(at.beta, at.sigma)].sum() / total) if total > 0 else 1.0

    def inside(self, beta: Array, sigma: float) -> NDArray[np.bool_]:
        """Whether the bound leaves each term unclamped, of shape (n,)."""
        return np.asarray(np.abs(self._terms(beta, sigma)) < self.bound)

    def at(self, beta: Array, sigma: float) -> Point:
        """The log density at some parameters."""
        clamped = np.clip(self._terms(beta, sigma), -self.bound, self.bound).sum()
        rss = self.kept_rss - 2 * self.kept_slope @ beta + beta @ self.kept_gram @ beta
        kept = -self.kept_weight * np.log(sigma) - 0.5 * rss / sigma**2
        prior = -0.5 * ((beta / self.beta_scale) ** 2).sum() + np.log(sigma)
        prior -= 2.0 * np.log1p((sigma / self.sigma_scale) ** 2 / 3.0)
        return Point(float(self.each * clamped + kept + prior), beta, sigma)

    def climb(self, beta: Array, sigma: float) -> Point:
        """Upwards by penalised least squares over the records that are inside, as long as that gains.

        A term max(t, -bound) is above t, which it touches where it is inside: each step maximises a lower bound.
        """
        here = self.at(beta, sigma)
        for _ in range(STEPS):
            step, log_ratio = self._step(here)
            share, there = 1.0, here
            while there.log_density <= here.log_density and share > LEAST_SHARE:
                there = self.at(here.beta + share * step, here.sigma * float(np.exp(share * log_ratio)))
                share /= 2
            gain = there.log_density - here.log_density
            if gain > 0:
                here = there
            if not gain > LEAST_GAIN:
                break
        return here

    def search(self, beta: Array, sigma: float, rng: np.random.Generator) -> Point:
        """The best of several climbs: from other places, then from near the best of them."""
        best = max(self._some()._climbs(beta, sigma, rng), key=_height)
        return max(self.climb(best.beta, best.sigma), self.climb(beta, sigma), key=_height)

    def modes(self, beta: Array, sigma: float, rng: np.random.Generator) -> tuple[Point, ...]:
        """The modes that the same climbs end in, the one with the most mass first; without those of next to none."""
        few = self._some()
        highest = few._distinct(few._climbs(beta, sigma, rng))[:MOST_MODES]
        found = self._distinct(self.climb(at.beta, at.sigma) for at in (*highest, Point(0.0, beta, sigma)))
        ordered = sorted(found, key=self.log_mass, reverse=True)
        least = self.log_mass(ordered[0]) + np.log(LEAST_MASS)
        return tuple(point for point in ordered if self.log_mass(point) >= least)

    def unseen(self, found: tuple[Point, ...], draws: Iterable[tuple[Array, float]]) -> float:
        """The share of the mass of modes, by Laplace's method, in those of `found` that no draw is of."""
        reached = self._distinct(self.climb(beta, sigma) for beta, sigma in draws)
        scales = [self.scale(each) for each in reached]
        apart = [
            m
            for m in found
            if all(self._distance(m, *of) > APART for of in zip(reached, scales, strict=True))
        ]
        masses = np.array([self.log_mass(m) for m in (*apart, *reached)])
        shares = np.exp(masses - masses.max())
        return float(shares[: len(apart)].sum() / shares.sum())

    def log_mass(self, at: Point) -> float:
        """Log of the probability around a mode by Laplace's method, up to a constant, in nats."""
        basis, spread = self.scale(at)
        return float(at.log_density + np.log(np.diag(basis)).sum() + np.log(spread))

    def _climbs(self, beta: Array, sigma: float, rng: np.random.Generator) -> Iterator[Point]:
        best = self.climb(beta, sigma)
        yield best
        for _ in range(STARTS):
            away = START_SPREAD * sigma * rng.standard_normal(len(beta))
            narrower = sigma * float(np.exp(-NARROWEST * rng.random()))
            yield (found := self.climb(beta + away, narrower))
            best = max(best, found, key=_height)
        for _ in range(HOPS):
            basis, spread = self.scale(best)
            size = HOP_SIZE * np.exp(rng.standard_normal())
            away = size * basis @ rng.standard_normal(len(beta))
            other = best.sigma * float(np.exp(size * spread * rng.standard_normal()))
            yield (found := self.climb(best.beta + away, other))
            best = max(best, found, key=_height)

    def _distinct(self, points: Iterable[Point]) -> list[Point]:
        """Without those that lie within the scale of a higher one."""
        kept: list[tuple[Point, tuple[Array, float]]] = []
        for point in sorted(points, key=_height, reverse=True):
            if all(self._distance(point, mode, scale) > APART for mode, scale in kept):
                kept.append((point, self.scale(point)))
        return [point for point, _ in kept]

    def _distance(self, point: Point, mode: Point, scale: tuple[Array, float]) -> float:
        """In standard deviations of the mode, by its `scale`, the largest over its whitened coordinates."""
        basis, spread = scale
        away = scipy.linalg.solve_triangular(basis, point.beta - mode.beta, lower=True)
        return float(max(np.abs(away).max(), abs(np.log(point.sigma / mode.sigma)) / spread))

    def scale(self, at: Point) -> tuple[Array, float]:
        """Factor of the covariance of beta, and standard deviation of log sigma, by the records inside."""
        gram, _, total = self._sums(at, self.inside(at.beta, at.sigma))
        return factor_of_covariance(gram, at.sigma, self.beta_scale), spread_of_log_sigma(total)

    def _terms(self, beta: Array, sigma: float) -> Array:
        standard = (self.response - self.design @ beta) / sigma
        return self.weight * (self.constant - np.log(sigma) - 0.5 * standard**2)

    def _sums(self, at: Point, inside: NDArray[np.bool_]) -> tuple[Array, Array, float]:
        """Weighted sums of zz', z * residual and 1 over the records inside and those that are not clamped."""
        design = self.design[inside]
        weighted = design * (self.each * self.weight[inside])[:, None]
        slope = weighted.T @ (self.response[inside] - design @ at.beta)
        return (
            weighted.T @ design + self.kept_gram,
            slope + self.kept_slope - self.kept_gram @ at.beta,
            float(self.each * self.weight[inside].sum()) + self.kept_weight,
        )

    def _step(self, at: Point) -> tuple[Array, float]:
        """To the penalised estimate of beta, and the logarithm of how sigma changes, given the records inside."""
        inside = self.inside(at.beta, at.sigma)
        gram, slope, total = self._sums(at, inside)
        ridge = self.beta_scale**-2.0 * at.sigma**2
        step = solve_penalised(gram + np.diag(ridge), slope - ridge * at.beta)
        beta = at.beta + step
        residual = self.response[inside] - self.design[inside] @ beta
        rss = self.each * float(self.weight[inside] @ residual**2)
        rss += float(self.kept_rss - 2 * self.kept_slope @ beta + beta @ self.kept_gram @ beta)
        return step, float(
            0.5 * np.log((rss + 1e-8) / (total + 1e-8)) - np.log(at.sigma)
        ) if total > 0 else 0.0

    def _some(self) -> ClampedNormal:
        """This density of some records, evenly spread."""
        n = len(self.response)
        chosen = np.linspace(0, n - 1, min(n, MAX_RECORDS)).astype(int)
        return replace(
            self,
            design=self.design[chosen],
            response=self.response[chosen],
            constant=self.constant[chosen],
            weight=self.weight[chosen],
            each=n / len(chosen),
        )


def _height(point: Point) -> float:
    return point.log_density


def factor_of_covariance(gram: Array, sigma: float, beta_scale: Array) -> Array:
    """Lower-triangular factor of the covariance of beta, given the weighted sum of zz' of shape (k, k)."""
    return covariance_factor(gram / sigma**2 + np.diag(beta_scale**-2.0))


def spread_of_log_sigma(weight: float) -> float:
    """Standard deviation of log sigma, given the sum of the weights."""
    return float(1.0 / np.sqrt(2.0 * max(weight, 0.5)))
