"""A point of the map: one mechanism at one setting, its epsilon, and how utility varies.

Utility of one release varies with the posterior draw and the noise. A point therefore measures
many posterior predictive data sets of the *same* exact fit (the histogram: repeated noise); this
needs no refit, because a result knows the weights of its fit, and the fit is cached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.drawing import synthetic_values
from synth_core.analysis.engines import ENGINES
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.summary import scales_in_words
from synth_core.analysis.result import Result
from synth_core.analysis.result_key import result_key
from synth_core.analysis.settings import Settings
from synth_core.experiments.explore.knobs import knobs_of
from synth_core.experiments.explore.measures import WHOLE_PERCENTILES, Ruler
from synth_core.experiments.explore.records_point import RecordsRuler
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.guarantees import Guarantee, WeightsFrom
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version
from synth_core.system.entries import get_or_compute

Array = NDArray[np.float64]
Explored = Analysis | RecordsAnalysis  # one sensitive variable, or several

CODE = tuple(
    f"experiments/explore/{name}.py" for name in ("measures", "point", "records_point")
)  # that decides a point
PREDICTIVE = 100  # data sets a point is measured on
MIN_PREDICTIVE = 25
_RECORDS_AT_MOST = 20_000_000  # over all data sets of a point
FOR_BANDS, FOR_CHECKS = 41, 42  # streams of random numbers: what was searched on is not what confirms


def predictive_count(n_records: int, wanted: int = PREDICTIVE) -> int:
    """Data sets to measure: fewer where each is large, at least 25."""
    return max(min(wanted, _RECORDS_AT_MOST // max(n_records, 1)), min(wanted, MIN_PREDICTIVE))


@dataclass(frozen=True)
class MapPoint:
    """One mechanism at one setting. Confidential.

    Attributes
    ----------
    knobs : dict
        The swept settings that this mechanism depends on.
    names : tuple of str
        Utility measures.
    errors : array of shape (n_predictive, n_measures)
    seconds : float
        What the point cost when it was computed.
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
    seconds: float
    cached: bool = False

    @property
    def point(self) -> Mechanism:
        return find_mechanism(self.mechanism)

    @property
    def guarantee(self) -> Guarantee:
        return self.point.guarantee(self.weights_from, self.tuned)

    def draws(self, measure: str) -> Array:
        """The errors of one measure, of shape (n_predictive,)."""
        return self.errors[:, self.names.index(measure)]

    def summary(self) -> dict[str, Any]:
        """Plain numbers for a figure: a band (5 %, median, 95 %) for each measure."""
        with np.errstate(invalid="ignore"):
            bands = np.quantile(self.errors, [0.05, 0.5, 0.95], axis=0)
        return {
            "mechanism": self.mechanism,
            "knobs": {k: list(v) if isinstance(v, tuple) else v for k, v in self.knobs.items()},
            "guarantee": self.guarantee.key,
            "epsilon": self.epsilon,
            "epsilon_replace": self.epsilon_replace,
            "lipschitz_bound": self.lipschitz_bound,
            "n_records": self.n_records,
            "n_predictive": len(self.errors),
            "density_scale": self.density_scale,
            "problems": list(self.problems),
            "bands": dict(zip(self.names, bands.T.tolist(), strict=True)),
            "seconds": self.seconds,
            "cached": self.cached,
        }


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
    """Content key of a point: that of its result, and what is measured."""
    return content_key(
        kind="point",
        made_by=code_version(*CODE),
        result=result_key(fingerprint, settings, mechanism, reference),
        knobs=knobs_of(mechanism, settings),
        count=count,
        percentiles=percentiles_for(settings, extra),
        stream=stream,
    )


def predictive(analysis: Analysis, result: Result, count: int, stream: int) -> Iterator[Array]:
    """`count` synthetic data sets of the fit behind a result, each from a draw of its own."""
    s, model = analysis.settings, analysis.model
    likelihood = result.point.likelihood
    if not likelihood.samples:
        rng = np.random.default_rng([s.seed, stream])
        for values in ENGINES[likelihood.key].more(analysis.inputs, result.epsilon, count, rng):
            yield values[0]
        return
    posterior = analysis.refit(result)
    for j in range(count):
        rng = np.random.default_rng([s.seed, stream, j])
        index = int(rng.integers(posterior.n_draws))
        draw = {name: values[index] for name, values in posterior.draws.items()}
        yield synthetic_values(model, draw, rng, s.drawing)


def run_point(
    analysis: Explored,
    key: str,
    count: int = PREDICTIVE,
    extra: tuple[float, ...] = (),
    stream: int = FOR_BANDS,
) -> MapPoint:
    """Measure a mechanism under the analysis's settings, or read the point from the cache.

    Parameters
    ----------
    analysis : Analysis or RecordsAnalysis
        Of several sensitive variables every measure is the largest error over them.
    count : int
        Data sets to measure, fewer for large tables (`predictive_count`).
    extra : tuple of float
        Percentiles beyond the whole ones and those of the settings.
    """
    if isinstance(analysis, RecordsAnalysis):
        return _records_point(analysis, key, count, extra, stream)
    mechanism, reference = find_mechanism(key), analysis.reference_fingerprint
    settings = analysis.settings

    def compute() -> MapPoint:
        result = analysis.run(key)
        records = analysis.model.records
        ruler = Ruler(records.outcome, percentiles_for(settings, extra))
        wanted = predictive_count(records.n, count)
        errors = []
        for j, data in enumerate(predictive(analysis, result, wanted, stream)):
            errors.append(ruler.measure(data))
            analysis.progress("measuring predictive data sets", (j + 1) / wanted)
        flat = result.plain_numbers
        return MapPoint(
            mechanism=key,
            knobs=knobs_of(mechanism, settings),
            epsilon=flat.epsilon,
            epsilon_replace=flat.epsilon_replace,
            lipschitz_bound=flat.lipschitz_bound,
            n_records=flat.n_records,
            density_scale=analysis.model.density_scale,
            weights_from=flat.weights_from,
            tuned=flat.tuned,
            problems=flat.problems,
            names=ruler.names,
            errors=np.array(errors),
            seconds=flat.seconds,
        )

    point, cached = get_or_compute(
        analysis.cache,
        MapPoint,
        point_key(analysis.table.fingerprint, settings, mechanism, reference, count, extra, stream),
        compute,
        lambda: analysis.progress("waiting for the same computation elsewhere", 0.0),
    )
    return replace(point, cached=cached)


def _records_point(
    analysis: RecordsAnalysis, key: str, count: int, extra: tuple[float, ...], stream: int
) -> MapPoint:
    """The point of several sensitive variables, measured on whole synthetic records."""
    mechanism, settings = find_mechanism(key), analysis.settings
    percentiles = percentiles_for(settings, extra)

    def compute() -> MapPoint:
        result = analysis.run(key)
        ruler = RecordsRuler(analysis.table, analysis.parts, percentiles)
        wanted = predictive_count(analysis.table.rows * len(analysis.parts), count)
        errors = []
        for j, columns in enumerate(analysis.draw(result, ((stream, j) for j in range(wanted)))):
            errors.append(ruler.measure(columns))
            analysis.progress("measuring predictive data sets", (j + 1) / wanted)
        weakest = min(result.parts, key=lambda each: each.result.guarantee.strength).result
        models = [each.model for each in analysis.analyses(False)]
        return MapPoint(
            mechanism=key,
            knobs=knobs_of(mechanism, settings),
            epsilon=result.epsilon,
            epsilon_replace=result.epsilon_replace,
            lipschitz_bound=result.lipschitz_bound,
            n_records=analysis.table.rows,
            density_scale=scales_in_words(
                [(part.name, model.density_scale) for part, model in zip(analysis.parts, models, strict=True)]
            ),
            weights_from=weakest.weights_from,
            tuned=weakest.tuned,
            problems=result.problems,
            names=ruler.names,
            errors=np.array(errors),
            seconds=result.seconds,
        )

    parts = zip(analysis.parts, analysis.analyses(False), strict=True)
    content = content_key(
        kind="point of whole records",
        made_by=code_version(*CODE),
        table=analysis.table.fingerprint,
        results=[
            result_key(each.table.fingerprint, part.settings, mechanism, each.reference_fingerprint)
            for part, each in parts
        ],
        missing=[part.block.missing is not None for part in analysis.parts],
        knobs=knobs_of(mechanism, settings),
        count=count,
        percentiles=percentiles,
        stream=stream,
    )
    point, cached = get_or_compute(
        analysis.cache,
        MapPoint,
        content,
        compute,
        lambda: analysis.progress("waiting for the same computation elsewhere", 0.0),
    )
    return replace(point, cached=cached)
