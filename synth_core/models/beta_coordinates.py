"""Coordinates of a beta fit, laid at its mode, and which clamped terms cannot change sides near there.

A term is linear in the coefficients (a - 1, b - 1, -log B(a, b)). Over a box of coefficients its range is known, so
those that stay within the bound everywhere in the box are one sum, and those that stay beyond it a constant. Whether
coefficients are in the box is asked in every gradient: nothing is approximated. The posterior depends on neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import NDArray

from synth_core.engine.stan_data import StanData
from synth_core.models.coordinates import covariance_factor
from synth_core.system.plain_paths import plain

Array = NDArray[np.float64]

STEPS, LEAST_SHARE, LEAST_GAIN = 60, 0.02, 1e-2  # of a climb; the last in nats
REACH, ANGLES = 3.5, 64  # lengths of the coordinates that the box holds, seen at so many angles
MARGIN = 1.05  # by which it is wider
ROUNDS, LEAST_FALL = 3, 0.1  # in which the covariance is found, and how far curvatures may change in one


@dataclass(frozen=True)
class ClampedBeta:
    """Log density of (logit phi, log(lambda - lower)): clamped terms, what is not clamped, and the prior.

    Attributes
    ----------
    features : array of shape (n, 3)
        weight * (log x, log(1 - x), 1) of the terms that are clamped.
    constant, count : arrays of shape (n,)
        What is added to a term, and how many records share it.
    bound : float
        In nats.
    kept : array of shape (3,)
        Sums of the same features over records whose terms are not clamped.
    lower, shape : float
        Of lambda's Pareto prior; phi's is uniform.
    """

    features: Array
    constant: Array
    count: Array
    bound: float
    kept: Array
    lower: float
    shape: float

    def coordinates(self) -> tuple[Array, Array]:
        """Where the density is largest, and a lower-triangular factor of the covariance there.

        The covariance is how the density falls off a standard deviation away: a second derivative does not see the
        terms that reach the bound nearby.
        """
        none = np.empty(0)
        total = self.kept + self.count @ self.features
        plain = replace(self, features=np.empty((0, 3)), constant=none, count=none, kept=total)
        at = plain._climb(np.array([0.0, np.log(2.0)]))
        if not len(self.count):
            return at, self._factor(at)
        at = self._climb(at)
        factor = self._factor(at)
        for _ in range(ROUNDS):
            factor = self._refactored(at, factor)
        return at, factor

    def density(self, at: Array) -> float:
        """Up to a constant, in nats; with the Jacobian of both coordinates."""
        precision = self.lower + np.exp(at[1])
        prior = -(self.shape + 1) * np.log(precision) + at[1]
        prior += scipy.special.log_expit(at[0]) + scipy.special.log_expit(-at[0])
        clamped = self.count @ np.clip(self._terms(at), -self.bound, self.bound)
        return float(clamped + self.kept @ self.coefficients(at) + prior)

    def gradient(self, at: Array) -> Array:
        excess, sums = np.exp(at[1]), self._moving(at)
        prior = [-np.tanh(at[0] / 2), 1 - (self.shape + 1) * excess / (self.lower + excess)]
        return np.asarray(sums @ self._slope(at) + prior)

    def _climb(self, here: Array) -> Array:
        """Climb by Newton's steps, as long as they gain."""
        density = self.density(here)
        factor = self._factor(here)
        for _ in range(STEPS):
            factor = self._refactored(here, factor) if len(self.count) else self._factor(here)
            step = factor @ (factor.T @ self.gradient(here))
            share, gain = min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-9)), 0.0
            while gain <= 0 and share > LEAST_SHARE:
                there = here + share * step
                value = self.density(there)
                gain, share = value - density, share / 2
            if not gain > LEAST_GAIN:
                break
            here, density = there, value
        return here

    def _factor(self, at: Array) -> Array:
        """A factor of the covariance by the second derivative at a point."""
        return covariance_factor(self._curvature(at, self._moving(at)))

    def _refactored(self, at: Array, factor: Array) -> Array:
        """A factor of the covariance by gradients a standard deviation away, as a factor so far says."""
        ends = [[self.gradient(there) for there in (at - step, at + step)] for step in factor.T]
        fall = np.array([0.5 * (low - high) for low, high in ends]) @ factor
        value, direction = np.linalg.eigh((fall + fall.T) / 2)
        fall = direction @ np.diag(np.clip(value, LEAST_FALL, 1 / LEAST_FALL)) @ direction.T
        inverse = scipy.linalg.inv(factor)
        return covariance_factor(inverse.T @ fall @ inverse)

    def coefficients(self, at: Array) -> Array:
        """(a - 1, b - 1, -log B(a, b)), of shape (..., 3), at points of shape (..., 2)."""
        a, b = self._shapes(at)
        coefficients = np.empty((*at.shape[:-1], 3))
        coefficients[..., 0], coefficients[..., 1], coefficients[..., 2] = (
            a - 1.0,
            b - 1.0,
            -scipy.special.betaln(a, b),
        )
        return coefficients

    def settled(self, center: Array, basis: Array) -> tuple[NDArray[np.bool_], StanData]:
        """The terms that may change sides in a box of coefficients around the centre, and the sums of the others.

        The box has an edge along what each coordinate changes the coefficients by, and one across.

        Returns
        -------
        moving : array of shape (n,)
        data : of the Stan program, see beta.stan
        """
        if plain():  # a box without edges holds everything, and nothing is settled in it
            return np.ones(len(self.count), dtype=bool), {
                "box_middle": np.zeros(3),
                "box": np.zeros((3, 3)),
                "settled_features": np.zeros(3),
                "settled_constant": 0.0,
            }
        middle, along = self.coefficients(center), self._slope(center) @ basis
        edges = np.column_stack([along, np.cross(along[:, 0], along[:, 1])])
        edges /= np.linalg.norm(edges, axis=0)
        angle = np.linspace(0.0, 2 * np.pi, ANGLES, endpoint=False)
        circle = REACH * np.column_stack([np.cos(angle), np.sin(angle)])
        seen = self.coefficients(center + np.vstack([circle, circle / 2]) @ basis.T) - middle
        edges *= MARGIN * np.abs(scipy.linalg.solve(edges, seen.T)).max(axis=1)
        term = self._terms(center)
        reach = np.abs(self.features @ edges).sum(axis=1)
        inside, beyond = np.abs(term) + reach < self.bound, np.abs(term) - reach > self.bound
        kept, clamped = self.count * inside, self.count * beyond
        return ~(inside | beyond), {
            "box_middle": middle,
            "box": scipy.linalg.inv(edges),
            "settled_features": kept @ self.features,
            "settled_constant": float(kept @ self.constant + self.bound * (clamped @ np.sign(term))),
        }

    def _shapes(self, at: Array) -> tuple[Array, Array]:
        precision = self.lower + np.exp(at[..., 1])
        return precision * scipy.special.expit(at[..., 0]), precision * scipy.special.expit(-at[..., 0])

    def _terms(self, at: Array) -> Array:
        return self.constant + self.features @ self.coefficients(at)

    def _moving(self, at: Array) -> Array:
        """Sums of the features over what is not clamped at a point."""
        return self.kept + (self.count * (np.abs(self._terms(at)) < self.bound)) @ self.features

    def _jacobian(self, at: Array) -> Array:
        """The Jacobian of (a, b)."""
        mean, excess = scipy.special.expit(at[0]), np.exp(at[1])
        turn = (self.lower + excess) * mean * (1 - mean)
        return np.array([[turn, excess * mean], [-turn, excess * (1 - mean)]])

    def _slope(self, at: Array) -> Array:
        """The derivative of the coefficients, of shape (3, 2)."""
        a, b = self._shapes(at)
        psi = scipy.special.digamma(np.array([a, b])) - scipy.special.digamma(a + b)
        return np.vstack([np.eye(2), -psi]) @ self._jacobian(at)

    def _curvature(self, at: Array, sums: Array) -> Array:
        """Minus the second derivative, without what vanishes at a mode: positive definite everywhere."""
        a, b = self._shapes(at)
        trigamma = scipy.special.polygamma(1, np.array([a, b, a + b]))
        information = sums[2] * (np.diag(trigamma[:2]) - trigamma[2])
        mean, excess = scipy.special.expit(at[0]), np.exp(at[1])
        prior = [2 * mean * (1 - mean), (self.shape + 1) * excess * self.lower / (self.lower + excess) ** 2]
        jacobian = self._jacobian(at)
        return np.asarray(jacobian.T @ information @ jacobian + np.diag(prior))
