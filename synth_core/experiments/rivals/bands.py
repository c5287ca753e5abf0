"""Rivals beside the map as bands: at which epsilons, and means over runs with their Monte Carlo error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from synth_core.analysis.measures import value_text
from synth_core.experiments.explore.point import PointSummary
from synth_core.experiments.explore.wording import frontier_points
from synth_core.experiments.rivals.budget import guarantee_words
from synth_core.experiments.rivals.map_runs import RivalSummary
from synth_core.experiments.rivals.registry import RIVALS
from synth_core.experiments.rivals.report import band
from synth_core.mechanisms.catalogue import guarantees


def strict_epsilons(points: list[PointSummary], measure: str) -> tuple[float, ...]:
    """The epsilons of the strict frontiers of a map, ascending; each once, to six digits.

    Of all strict points where no frontier is strict: where no fit has converged, others can be compared all the same.
    """
    kept = chain.from_iterable(frontier_points(points, measure).values())
    found = [[point for point in each if guarantees()[point.guarantee].strict] for each in (kept, points)]
    return tuple(sorted({float(f"{point.epsilon:.6g}") for point in found[0] or found[1]}))


@dataclass(frozen=True)
class RivalBand:
    """A rival at one epsilon, over its runs.

    Attributes
    ----------
    who, label, guarantee : str
    epsilon : float or None
        None: it spends nothing, and protects nobody.
    counted : str
    share_squares : float
        See `MapRun`.
    mean : dict of str to float
        By utility measure; NaN where it is no number.
    error : dict of str to float or None
        Two standard errors of the mean; None of a single run.
    runs : int
    """

    who: str
    label: str
    guarantee: str
    epsilon: float | None
    counted: str
    share_squares: float
    mean: dict[str, float]
    error: dict[str, float | None]
    runs: int


def bands_of(runs: Iterable[RivalSummary]) -> list[RivalBand]:
    """Means over runs and two standard errors, of each rival at each epsilon, in the order of the catalogue.

    An error that is no number in one run is none in the mean.
    """
    groups: dict[tuple[str, float | None], list[RivalSummary]] = {}
    for run in runs:
        groups.setdefault((run.who, run.epsilon), []).append(run)
    order = list(RIVALS)
    found = []
    for (who, epsilon), same in sorted(
        groups.items(), key=lambda pair: (order.index(pair[0][0]), pair[0][1] or 0)
    ):
        bands = {name: band([run.errors[name] for run in same]) for name in same[0].errors}
        found.append(
            RivalBand(
                who,
                RIVALS[who].label,
                "no guarantee"
                if epsilon is None
                else guarantee_words(same[0].counted, same[0].share_squares),
                epsilon,
                same[0].counted,
                same[0].share_squares,
                {name: mean for name, (mean, _) in bands.items()},
                {name: error for name, (_, error) in bands.items()},
                len(same),
            )
        )
    return found


def error_text(band: RivalBand, measure: str) -> str:
    """The error of a rival in words."""
    mean, error = band.mean[measure], band.error[measure]
    if error is None:
        return f"{value_text(measure, mean)} in the only run"
    return f"{value_text(measure, mean)} ± {value_text(measure, error)} (mean ± 2 standard errors of {band.runs} runs)"
