"""A point of the map: one mechanism at one setting, its epsilon, and how utility varies.

Utility of one release varies with the posterior draw and the noise. A point therefore measures many posterior
predictive data sets: of the *same* exact fit, which needs no refit, since a result knows the weights of its fit and
the fit is cached; where a release draws noise or a pilot before its fit, of several fits, each with its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.of_mechanism import WithGuarantee
from synth_core.analysis.result_key import result_key
from synth_core.analysis.settings import Settings
from synth_core.experiments.explore.knobs import knobs_of
from synth_core.experiments.explore.measures import WHOLE_PERCENTILES, Target
from synth_core.experiments.explore.records_point import ruler_of
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.guarantees import WeightsFrom
from synth_core.system import limits
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version
from synth_core.system.entries import WAITING, get_or_compute, read

Array = NDArray[np.float64]

CODE = tuple(
    f"experiments/explore/{name}.py" for name in ("measures", "point", "records_point")
)  # that decides a point
PREDICTIVE = 100  # data sets a point is measured on
SETS_PER_FIT = 25  # at most, where each fit has noise or a pilot of its own
NEXT_SEED = 7919  # between the seeds of fits
MIN_PREDICTIVE = 25
_RECORDS_AT_MOST = 20_000_000  # over all data sets of a point
FOR_BANDS, FOR_CHECKS = 41, 42  # streams of random numbers: what was searched on is not what confirms
FITS_OF_STREAM = {FOR_BANDS: 0, FOR_CHECKS: 1000}  # where the seeds of a stream's fits begin


def predictive_count(n_records: int, wanted: int = PREDICTIVE) -> int:
    """Data sets to measure: fewer where each is large, at least 25."""
    return max(min(wanted, _RECORDS_AT_MOST // max(n_records, 1)), min(wanted, MIN_PREDICTIVE))


def draws_anew(mechanism: Mechanism, settings: Settings) -> bool:
    """Whether a release draws noise or a pilot that its data sets share, so that those of one fit tell of one draw."""
    if mechanism.likelihood.anchors:
        pilot = settings.anchor == "pilot" or (settings.reads_series and not settings.reads_counts)
        return settings.reads_counts or (pilot and settings.pilot_share > 0)
    guarantee = mechanism.likelihood.guarantee
    return guarantee is not None and guarantee.one_charge


def fits_of_point(mechanism: Mechanism, settings: Settings, count: int = PREDICTIVE) -> int:
    """How many fits so many data sets of a point are of."""
    return max(math.ceil(count / SETS_PER_FIT), 1) if draws_anew(mechanism, settings) else 1


def runs_of_point(mechanism: Mechanism, settings: Settings, count: int = PREDICTIVE) -> int:
    """As long as how many runs of the mechanism so many data sets of a point take, about.

    Of noisy tables each fit draws of several, each with a model of its own, and drawing a data set is a tenth of a run.
    """
    fits = fits_of_point(mechanism, settings, count)
    return fits if mechanism.likelihood.samples or fits == 1 else 1 + 3 * fits + count // 10


def next_seed(seed: int, number: int) -> int:
    """The seed of another fit of the same settings."""
    return (seed + NEXT_SEED * number) % limits.SEED[1]


@dataclass(frozen=True)
class PointSummary:
    """The plain numbers of a point of the map. Confidential.

    Attributes
    ----------
    knobs : dict
        The swept settings that its mechanism depends on.
    guarantee : str
        Its key.
    n_predictive : int
        Data sets that it was measured on.
    bands : dict of str to (float, float, float)
        By utility measure the 5 % quantile, the median and the 95 % quantile of its errors.
    id : str
        How a click names it.
    """

    mechanism: str
    knobs: dict[str, float | tuple[float, float]]
    guarantee: str
    epsilon: float
    epsilon_replace: float | None
    lipschitz_bound: float | None
    n_records: int
    n_predictive: int
    density_scale: str
    problems: tuple[str, ...]
    bands: dict[str, tuple[float, float, float]]
    seconds: float
    cached: bool
    id: str = ""


@dataclass(frozen=True)
class MapPoint(WithGuarantee):
    """One mechanism at one setting. Confidential.

    Attributes
    ----------
    knobs : dict
        The swept settings that this mechanism depends on.
    names : tuple of str
        Utility measures.
    errors : array of shape (n_predictive, n_measures)
    fit : array of int of shape (n_predictive,)
        Which fit each data set is of.
    failed : tuple of int
        Of each fit that had not converged how many data sets it was to have: they are not among these.
    seconds : float
        What the point cost when it was computed.
    unmeasured : int
        Data sets that were left out, since a target was out of reach without them.
    """

    mechanism: str
    knobs: dict[str, float | tuple[float, float]]
    epsilon: float
    epsilon_replace: float | None
    lipschitz_bound: float | None
    n_records: int
    density_scale: str
    weights_from: WeightsFrom
    tuned: dict[str, int | float]
    problems: tuple[str, ...]
    names: tuple[str, ...]
    errors: Array
    fit: NDArray[np.int64]
    failed: tuple[int, ...]
    seconds: float
    cached: bool = False
    unmeasured: int = 0

    @property
    def n_failed(self) -> int:
        """Data sets of fits that had not converged."""
        return sum(self.failed)

    @property
    def n_fits(self) -> int:
        """Fits that its data sets were to be of."""
        return len(np.unique(self.fit)) + len(self.failed)

    def draws(self, measure: str) -> Array:
        """The errors of one measure, of shape (n_predictive,)."""
        return self.errors[:, self.names.index(measure)]

    def summary(self) -> PointSummary:
        """Its plain numbers, with a band for each measure in place of all errors."""
        with np.errstate(invalid="ignore"):
            bands = np.quantile(self.errors, [0.05, 0.5, 0.95], axis=0).T.tolist()
        return PointSummary(
            self.mechanism,
            self.knobs,
            self.guarantee.key,
            self.epsilon,
            self.epsilon_replace,
            self.lipschitz_bound,
            self.n_records,
            len(self.errors),
            self.density_scale,
            self.problems,
            {name: (low, middle, high) for name, (low, middle, high) in zip(self.names, bands, strict=True)},
            self.seconds,
            self.cached,
        )


def percentiles_for(settings: Settings, extra: tuple[float, ...] = ()) -> tuple[float, ...]:
    """Percentiles that a point measures: all whole ones, and those the analyst named."""
    return tuple(sorted({*WHOLE_PERCENTILES, *settings.percentiles, *extra}))


def point_key(
    fingerprint: str,
    settings: Settings,
    mechanism: Mechanism,
    reference: str | None = None,
    count: int = PREDICTIVE,
    extra: tuple[float, ...] = (),
    stream: int = FOR_BANDS,
) -> str:
    """Content key of a point of one sensitive variable."""
    return key_of_result(
        result_key(fingerprint, settings, mechanism, reference), settings, mechanism, count, extra, stream
    )


def key_of_result(
    result: Any, settings: Settings, mechanism: Mechanism, count: int, extra: tuple[float, ...], stream: int
) -> str:
    """Content key of a point: that of its result, and what is measured."""
    return content_key(
        kind="point",
        made_by=code_version(*CODE),
        result=result,
        knobs=knobs_of(mechanism, settings),
        count=count,
        percentiles=percentiles_for(settings, extra),
        stream=stream,
    )


def run_point(
    analysis: AnyAnalysis[Any],
    key: str,
    count: int = PREDICTIVE,
    extra: tuple[float, ...] = (),
    stream: int = FOR_BANDS,
    target: Target | None = None,
) -> MapPoint:
    """Measure a mechanism under the analysis's settings, or read the point from the cache.

    Parameters
    ----------
    analysis : AnyAnalysis
        Of several sensitive variables every measure is the largest error over them.
    count : int
        Data sets to measure, fewer for large tables (`predictive_count`).
    extra : tuple of float
        Percentiles beyond the whole ones and those of the settings.
    target : Target, optional
        Where a point is of several fits, no further one is made once too many of its data sets have missed it.
    """
    mechanism, settings = find_mechanism(key), analysis.settings
    whole = key_of_result(analysis.result_key(mechanism), settings, mechanism, count, extra, stream)

    def stored(key: str, make: Callable[[], MapPoint]) -> MapPoint:
        waits = partial(analysis.progress, WAITING, 0.0)
        point, cached = get_or_compute(analysis.cache, MapPoint, key, make, waits)
        return replace(point, cached=cached)

    compute = partial(_measure, analysis, mechanism, count, extra, stream)
    if target is None or fits_of_point(mechanism, settings, count) == 1:
        return stored(whole, compute)
    known = read(analysis.cache, MapPoint, whole)
    if known is not None:
        return replace(known, cached=True)
    until = content_key(kind="point", whole=whole, target=asdict(target))
    point = stored(until, partial(compute, target))
    return point if point.unmeasured else stored(whole, lambda: point)


def _measure(
    analysis: AnyAnalysis[Any],
    mechanism: Mechanism,
    count: int,
    extra: tuple[float, ...],
    stream: int,
    target: Target | None = None,
) -> MapPoint:
    """A point that is not stored yet, see `run_point`; `target` is of one of several fits."""
    started, settings = time.perf_counter(), analysis.settings
    result = analysis.run(mechanism.key)
    names, measure = ruler_of(analysis, percentiles_for(settings, extra))
    wanted = predictive_count(analysis.n_records * len(result.fits), count)
    parts = np.array_split(np.arange(wanted), fits_of_point(mechanism, settings, wanted))
    errors: list[Array] = []
    fit, failed = [], []
    for number, sets in enumerate(parts):
        at, found = analysis, result
        if len(parts) > 1:  # none of them is of a fit of another stream
            at = analysis.with_settings(seed=next_seed(settings.seed, number + FITS_OF_STREAM[stream]))
            found = at.run(mechanism.key)
        if found.problems and not result.problems:
            failed.append(len(sets))
            continue
        for j, columns in zip(sets, at.draw(found, ((stream, int(j)) for j in sets)), strict=True):
            errors.append(measure(columns))
            fit.append(number)
            analysis.progress("measuring predictive data sets", (j + 1) / wanted)
        if target is not None:
            met = target.met(np.array(errors)[:, names.index(target.measure)])
            if wanted - sum(failed) - np.count_nonzero(~met) < target.share * wanted:
                break
    numbers = result.summary_numbers
    return MapPoint(
        mechanism=mechanism.key,
        knobs=knobs_of(mechanism, settings),
        epsilon=numbers.epsilon,
        epsilon_replace=numbers.epsilon_replace,
        lipschitz_bound=numbers.lipschitz_bound,
        n_records=numbers.n_records,
        density_scale=analysis.density_scale,
        weights_from=numbers.weights_from,
        tuned=numbers.tuned,
        problems=numbers.problems,
        names=names,
        errors=np.array(errors).reshape(-1, len(names)),
        fit=np.array(fit),
        failed=tuple(failed),
        unmeasured=wanted - len(errors) - sum(failed),
        seconds=time.perf_counter() - started,
    )
