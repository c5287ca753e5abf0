"""The rivals by name, and what a comparison asks of them: who, at which budget, with which seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from synth_core.experiments.rivals import graphical, simple
from synth_core.experiments.rivals.budget import Budget
from synth_core.experiments.rivals.problem import Make, Problem, RivalSynthetic
from synth_core.system.number_text import percent

STREAM = 81  # of random numbers, beside the seed


@dataclass(frozen=True)
class Rival:
    """A synthesizer that is not ours.

    Attributes
    ----------
    label : str
    make : callable
    check : callable
        Raises InputError where it cannot run.
    check_problem : callable
        Raises InputError where it cannot synthesize these records.
    private : bool
        Whether it spends a budget; one that does not is run once a seed.
    same_alone : str or None
        The rival that it is the same as where only one variable is sensitive.
    seconds : float
        What a run takes, roughly: measured on two cores, one sensitive variable and five predictors.
    """

    label: str
    make: Make
    check: Callable[[], None] = lambda: None
    check_problem: Callable[[Problem], None] = lambda problem: None
    private: bool = True
    same_alone: str | None = None
    seconds: float = 0.1

    @property
    def slow(self) -> bool:
        """Whether a run takes so long that it must be possible to end it."""
        return self.seconds > 1


RIVALS = {
    "mst": Rival("MST", graphical.mst, graphical.check_installed, graphical.check_public_cells, seconds=20.0),
    "aim": Rival("AIM", graphical.aim, graphical.check_installed, graphical.check_public_cells, seconds=90.0),
    "histogram": Rival(
        "Histogram of all cells", simple.joint_histogram, check_problem=simple.check_joint_cells
    ),
    "one-way": Rival("Histogram of each variable", simple.one_way_histograms, same_alone="histogram"),
    "sample": Rival(f"Sample of {percent(simple.SAMPLE_SHARE, 0)}", simple.sample, private=False),
}


@dataclass(frozen=True)
class RivalSpec:
    """One run: who, at which epsilon (None: it has none), with which seed."""

    who: str
    label: str
    epsilon: float | None
    seed: int


def all_asked(
    labels: Mapping[str, str],
    spending: Collection[str],
    epsilons: Sequence[float],
    seed: int,
    replicates: int,
) -> list[RivalSpec]:
    """Every run, seed by seed; those that spend nothing once a seed.

    Parameters
    ----------
    labels : mapping
        Of the names that are asked for.
    spending : collection of str
        The names that spend a budget.
    seed : int
        The first.

    Examples
    --------
    >>> [(a.who, a.epsilon, a.seed) for a in all_asked({"mst": "MST", "sample": "A"}, ["mst"], [1.0, 2.0], 7, 1)]
    [('mst', 1.0, 7), ('mst', 2.0, 7), ('sample', None, 7)]
    """
    return [
        RivalSpec(who, label, epsilon, each)
        for each in range(seed, seed + replicates)
        for who, label in labels.items()
        for epsilon in (epsilons if who in spending else (None,))
    ]


def make_rival(asked: RivalSpec, problem: Problem, counted: str) -> RivalSynthetic:
    """What a rival makes of whole records; raises InputError."""
    rng = np.random.default_rng([asked.seed, STREAM])
    return RIVALS[asked.who].make(problem, Budget(asked.epsilon or 1.0, counted), rng)
