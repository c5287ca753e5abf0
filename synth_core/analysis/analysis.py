"""One table and one set of settings: runs mechanisms, each from its weights to its utility.

The way of the data: unweighted fit -> weights -> refit -> bounds -> synthetic -> utility.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.anchored import Anchored
from synth_core.analysis.assessment import Privacy, privacy_of, utility_of
from synth_core.analysis.context import AnalysisContext
from synth_core.analysis.drawing import synthetic_values
from synth_core.analysis.engines import ENGINES, Synthesis
from synth_core.analysis.mechanism_weights import solved
from synth_core.analysis.population import Population, population_of
from synth_core.analysis.preview import preview, remember
from synth_core.analysis.result import Result
from synth_core.analysis.result_key import matched_to
from synth_core.analysis.solve_for_epsilon import solve_for_epsilon
from synth_core.analysis.weighted import Weighted, censoring_under
from synth_core.engine.sampling import Diagnostics, Posterior
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Bounds
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.system import limits
from synth_core.system.entries import WAITING, get_or_compute

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, init=False)  # it is made as a context is, and adds no field
class Analysis(AnalysisContext):
    """One table and one set of settings, and what mechanisms make of them."""

    @property
    def unweighted_bound(self) -> float:
        """Delta of the fit with all weights 1."""
        return self.fits.unweighted_bounds().lipschitz_bound

    def run(self, key: str) -> Result:
        """Run one mechanism, or read its result from the cache."""
        mechanism = find_mechanism(key)
        result, cached = get_or_compute(
            self.cache,
            Result,
            self.result_key(mechanism),
            lambda: self._compute(mechanism),
            lambda: self.progress(WAITING, 0.0),
        )
        return replace(result, cached=cached)

    def _compute(self, mechanism: Mechanism) -> Result:
        started = time.perf_counter()
        other = matched_to(self.settings, mechanism)
        if other is not None:
            result = self._matched(mechanism, other)
        elif not mechanism.likelihood.samples:
            made = ENGINES[mechanism.likelihood.key].synthesize(self.inputs, mechanism.label)
            result = self.measured(mechanism, made)
        else:
            result = self._sampled(mechanism)
        return replace(result, seconds=time.perf_counter() - started)

    def refit(self, result: Result) -> Posterior:
        """The fit behind a result of these settings."""
        return self.refit_and_key(result)[0]

    def refit_and_key(self, result: Result) -> tuple[Posterior, str]:
        """The fit behind a result of these settings, and its key in the cache."""
        promised, s = result.epsilon_promised, self.settings
        as_set = promised is None or (promised == s.epsilon and s.match_epsilon is None)
        # Another has to find its anchor again.
        at = self if as_set else self.with_settings(epsilon=promised, match_epsilon=None)
        censoring = censoring_under(result.point, at.fits, at._anchored_for(result.point))
        return self.fits.posterior(result.weights, censoring)

    def bounds_of(self, result: Result) -> Bounds:
        """By-record extremes of the terms behind a result of the whole range, clamped where its likelihood is."""
        censoring = censoring_under(result.point, self.fits, self._anchored_for(result.point))
        posterior, key = self.fits.posterior(result.weights, censoring)
        return self.fits.bounds(posterior, key, result.weights, censoring=censoring)

    def synthetic(self, result: Result) -> dict[str, Array]:
        """The synthetic values of the variable, of shape (n_datasets, n_records)."""
        return {self.settings.outcome: result.synthetic}

    def discretised(self, result: Result) -> None:
        """None: there is one sensitive variable."""

    def draw(self, result: Result, streams: Iterable[tuple[int, ...]]) -> Iterator[dict[str, Array]]:
        """More synthetic values of the fit behind a result, one data set for each stream of random numbers."""
        likelihood, outcome = result.point.likelihood, self.settings.outcome
        if not likelihood.samples:
            asked = list(streams)
            more = ENGINES[likelihood.key].more(self.inputs, result.epsilon, len(asked), self._rng(*asked[0]))
            yield from ({outcome: values[0]} for values in more)
            return
        posterior = self.refit(result)
        for stream in streams:
            rng = self._rng(*stream)
            draw = posterior.at(int(rng.integers(posterior.n_draws)))
            yield {outcome: synthetic_values(self.model, draw, rng, self.settings.drawing)}

    def _sampled(self, mechanism: Mechanism, scalar: float | None = None) -> Result:
        fits, weighted = self.fits, self.weighted(mechanism, scalar)
        weights, censoring = weighted.weights, weighted.censoring
        slow = fits.slow(censoring) and not fits.is_cached(weights, censoring)
        approximate = preview(fits, weights, censoring) if slow and self.show_preview else None
        if approximate is not None and self.show_preview is not None:
            shown = self._assess(weighted, approximate.posterior, approximate.key)
            self.show_preview(replace(shown, preview_khat=approximate.khat))
        posterior, fit_key = fits.posterior(weights, censoring, f"fitting {mechanism.label}")
        if slow:
            remember(fits, fit_key, weights, censoring)
        return self._assess(weighted, posterior, fit_key)

    def _assess(self, weighted: Weighted, posterior: Posterior, fit_key: str) -> Result:
        """Bounds, synthetic data and utility of a mechanism under its posterior."""
        mechanism, anchored = weighted.mechanism, weighted.anchored
        frozen = self.frozen if mechanism.weighted else None
        privacy = privacy_of(weighted, self.fits, frozen, posterior, fit_key, self.reference is None)
        return self._result(
            mechanism,
            self._synthetic(posterior),
            privacy,
            weights=weighted.weights,
            outside=weighted.outside,
            n_truncated=weighted.chosen.truncated,
            diagnostics=_worse(posterior.diagnostics, anchored),
            tuned=weighted.chosen.tuned,
            anchor=anchored.anchor.sentence if anchored else "",
        )

    def measured(self, mechanism: Mechanism, made: Synthesis) -> Result:
        """The result of values that were made of noisy measurements, without a posterior of a model."""
        empty = np.empty(0)
        replaced = mechanism.guarantee("closed").replaced(made.epsilon)
        return self._result(
            mechanism,
            made.synthetic[0],
            Privacy(empty, empty, made.epsilon, replaced),
            weights=empty,
            outside=empty,
            n_truncated=0,
            diagnostics=made.diagnostics,
            tuned=made.tuned,
            anchor=made.sentence,
            counted=made.counted,
        )

    def _matched(self, mechanism: Mechanism, other: Mechanism) -> Result:
        """Tune the mechanism until its epsilon equals that of `other` (PPM, section 5.2)."""
        target = self.with_settings(match_epsilon=None).run(other.key).epsilon
        if not limits.EPSILON[0] <= target <= limits.EPSILON[1]:
            raise InputError(
                f"{other.label} has ε = {target:.3g} here; ε to match must lie between "
                f"{limits.EPSILON[0]:g} and {limits.EPSILON[1]:g}."
            )
        if mechanism.epsilon_by_construction:
            tuned = self.with_settings(match_epsilon=None, epsilon=target)
            result = tuned._compute(mechanism)
            return replace(result, tuned=result.tuned | {"epsilon": target})
        plain = self.with_settings(match_epsilon=None)

        def evaluate(x: float) -> Result:
            if mechanism.single_weight:
                return plain._sampled(mechanism, scalar=x)
            return plain.with_settings(scale=x)._sampled(mechanism)

        upper = 1.0 if mechanism.single_weight else limits.SCALE[1]
        result, solution = solve_for_epsilon(
            evaluate, target, f"of {other.label}", mechanism, upper, self.settings.reweight_tolerance
        )
        name = "scalar" if mechanism.single_weight else "scale"
        # Solved for on the table: how it would move when a record leaves is not followed.
        return replace(result, tuned=result.tuned | solved(name, solution), oscillation_joint=None)

    def _synthetic(self, posterior: Posterior) -> Array:
        """One data set per draw, each of another chain; the draws and the noise depend on the seed only."""
        sets, first = [], 0
        for j in range(self.settings.datasets):
            rng = self._rng(21, j)
            chosen = int(rng.integers(posterior.n_draws))
            first = first if j else chosen
            index = posterior.draw_of(j, chosen, first)
            sets.append(synthetic_values(self.model, posterior.at(index), rng, self.settings.drawing))
            self.progress("drawing synthetic data", (j + 1) / self.settings.datasets)
        return np.stack(sets)

    def _result(self, mechanism: Mechanism, synthetic: Array, privacy: Privacy, **known: Any) -> Result:
        """Add utility and identification risk to what is known of the mechanism."""
        s = self.settings
        self.progress("comparing", 0.0)
        survey = None if self.of_records else self.survey  # whole records are judged by their own values
        utility = utility_of(
            self.model.records,
            synthetic,
            s.percentiles,
            self.fits.radius,
            s.seed,
            s.outcome_categories,
            survey if s.accuracy_by else None,
        )
        population = None
        if s.accuracy_by and survey is not None:
            population = Population(
                s.outcome, s.accuracy_by, utility.ecdf_max, utility.statistics, len(synthetic)
            )
        elif s.weight is not None and survey is not None:
            confidential, *sets = ((each, survey) for each in (self.model.records.outcome, *synthetic))
            population = population_of(
                s.outcome, s.weight, confidential, sets, s.percentiles, s.outcome_categories
            )
        return Result(
            population=population,
            accuracy_by="" if self.of_records else s.accuracy_by,
            mechanism=mechanism.key,
            synthetic=synthetic,
            seconds=0.0,
            weights_from=self.weights_from,
            **vars(privacy),
            **vars(utility),
            **known,
        )


def _worse(fit: Diagnostics, anchored: Anchored | None) -> Diagnostics:
    """A pilot that did not converge marks what rests on it."""
    pilot = None if anchored is None else anchored.pilot_diagnostics
    return pilot if pilot is not None and pilot.problems and not fit.problems else fit
