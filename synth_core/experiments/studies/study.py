"""What a study is: designs that simulate tables, points that run on each, how many replicates."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.settings import make_settings
from synth_core.data.examples import EXAMPLES
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.studies.extra_measures import Extra
from synth_core.experiments.studies.replicate import CODE, EARLIER, ReplicateTask
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.system import limits
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version

Simulate = Callable[[np.random.Generator, int], pd.DataFrame]

# One chain of 1,000 + 1,000 draws, as the papers' studies use; no bootstrap is read from it.
SAMPLER = {"chains": 1, "draws": 1000, "warmup": 1000}
MAX_REPLICATES = 10_000
MAX_FITS = 1_000_000


@dataclass(frozen=True)
class Design:
    """Where tables come from.

    Attributes
    ----------
    identity : str
        Names the law: two designs with one identity simulate the same tables from one seed.
    simulate : callable
        Given a generator and a number of rows, a table.
    """

    identity: str
    simulate: Simulate = field(repr=False, compare=False)


@dataclass(frozen=True)
class StudyPoint:
    """A mechanism under settings, with the label that tables and figures show, and what is measured beside."""

    label: str
    mechanism: str
    changes: dict[str, Any] = field(default_factory=dict)
    extras: tuple[Extra, ...] = ()


@dataclass(frozen=True)
class Case:
    """A design at one number of rows, and the points that run on each of its tables.

    Attributes
    ----------
    earlier : Design, optional
        Of a table before each of these, with as many rows: risk maps are frozen on it, and it may be the anchor.
    blocks : tuple of Block
        The sensitive variables of whole records; empty: the one of the settings.
    """

    key: str
    design: Design
    rows: int
    settings: dict[str, Any]
    points: tuple[StudyPoint, ...]
    earlier: Design | None = None
    blocks: tuple[Block, ...] = ()

    def labels(self) -> list[str]:
        return [point.label for point in self.points]


@dataclass(frozen=True)
class Study:
    """A study.

    Attributes
    ----------
    replicates : int
        R, the papers' own unless another is asked for.
    measures : tuple of str
        What its violins show, of the names in `replicate.numbers`.
    naive : bool
        Whether a per-record program of the papers' form is there to be timed.
    """

    name: str
    title: str
    source: str
    cases: tuple[Case, ...]
    replicates: int
    measures: tuple[str, ...] = ("lipschitz_bound", "ecdf_max", "ecdf_avg")
    naive: bool = False
    note: str = ""

    def case(self, key: str) -> Case:
        return next(case for case in self.cases if case.key == key)


def example_design(key: str) -> Design:
    """The simulation design of an example."""
    example = EXAMPLES[key]
    assert example.simulate is not None
    return Design(f"example:{key}", example.simulate)


def fixed_design(table: Table) -> Design:
    """One table in every replicate: what varies is the sampler and the synthetic draw."""
    return Design(f"table:{table.fingerprint}", lambda rng, rows: table.frame)


def subsample_design(table: Table) -> Design:
    """Rows drawn from a table, without replacement as long as they last."""

    def simulate(rng: np.random.Generator, rows: int) -> pd.DataFrame:
        picked = rng.choice(table.rows, rows, replace=rows > table.rows)
        return table.frame.iloc[picked].reset_index(drop=True)

    return Design(f"subsample:{table.fingerprint}", simulate)


def _entropy(case: Case) -> int:
    """The entropy of a case's tables: the same for the same design and number of rows, whatever the case is called."""
    digest = hashlib.sha256(f"{case.design.identity}|{case.rows}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def simulate(case: Case, seed: int, replicate: int) -> pd.DataFrame:
    """Table number `replicate` (from 0) of a case: it depends on design, rows and seed only."""
    return case.design.simulate(np.random.default_rng([seed, _entropy(case), replicate, 0]), case.rows)


def simulate_earlier(case: Case, seed: int, replicate: int) -> pd.DataFrame | None:
    """The table before that one, from a stream of its own; None where the case has none."""
    if case.earlier is None:
        return None
    rng = np.random.default_rng([seed, _entropy(case), replicate, 2])
    return case.earlier.simulate(rng, case.rows)


def sampler_seed(case: Case, seed: int, replicate: int) -> int:
    """The seed of the chains and of the synthetic draws of a replicate."""
    rng = np.random.default_rng([seed, _entropy(case), replicate, 1])
    return int(rng.integers(1, limits.SEED[1]))


def task_of(case: Case, seed: int, replicate: int) -> ReplicateTask:
    """What a worker is sent for a replicate."""
    settings = _settings(case) | {"seed": sampler_seed(case, seed, replicate)}
    points = tuple((point.mechanism, point.changes, point.extras) for point in case.points)
    earlier = simulate_earlier(case, seed, replicate)
    return ReplicateTask(
        simulate(case, seed, replicate), settings, points, code_version(*CODE), earlier, case.blocks
    )


def _settings(case: Case) -> dict[str, Any]:
    """The settings of every point, but for what the point changes."""
    return SAMPLER | ({} if case.earlier is None else {"risk_reference": EARLIER}) | case.settings


def task_key(case: Case, seed: int, replicate: int) -> str:
    """Under which a finished replicate is stored."""
    return content_key(
        kind="replicate",
        made_by=code_version(*CODE),
        design=case.design.identity,
        rows=case.rows,
        settings=_settings(case),
        earlier=None if case.earlier is None else case.earlier.identity,
        points=[
            [point.mechanism, point.changes, [repr(each) for each in point.extras]] for point in case.points
        ],
        blocks=[asdict(block) for block in case.blocks],
        seed=seed,
        replicate=replicate,
    )


def fits_of(study: Study, replicates: int) -> int:
    """How many fits a study asks for: one for each variable."""
    return replicates * sum(len(case.points) * max(len(case.blocks), 1) for case in study.cases)


def check_study(study: Study, replicates: int, seed: int) -> None:
    """Refuse in words what cannot be run; raises InputError."""
    if not 1 <= replicates <= MAX_REPLICATES:
        raise InputError(
            f"A study needs 1 to {MAX_REPLICATES:,} replicates (given: {replicates:,}); without any there "
            f"is nothing to report."
        )
    if not limits.SEED[0] <= seed <= limits.SEED[1]:
        raise InputError(f"--seed must lie between {limits.SEED[0]} and {limits.SEED[1]}.")
    fits = fits_of(study, replicates)
    if fits > MAX_FITS:
        hours = fits * 0.15 / 3600 / 2
        raise InputError(
            f"This study asks for {fits:,} results; at most {MAX_FITS:,} are run. On two cores it would take "
            f"roughly {hours:,.0f} hours. Ask for fewer replicates, mechanisms, ε or sizes."
        )
    for case in study.cases:
        if not limits.MIN_ROWS <= case.rows <= limits.MAX_ROWS:
            raise InputError(
                f"The number of rows must lie between {limits.MIN_ROWS} and {limits.MAX_ROWS:,} (given: {case.rows})."
            )
        for point in case.points:
            find_mechanism(point.mechanism)
            make_settings(**(_settings(case) | point.changes))
