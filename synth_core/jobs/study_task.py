"""A study as one task of the app: the same engine in one process, replicates kept as they finish."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.summary import Density, FiveNumbers, density, five_numbers
from synth_core.data.table import open_table
from synth_core.errors import InputError
from synth_core.experiments.explore.sweep import duration
from synth_core.experiments.studies.coverage import estimates_words, study_coverage
from synth_core.experiments.studies.covered import Covered, compare_coverage, coverage_in_words, coverage_of
from synth_core.experiments.studies.databases_like_mine import compare_like, local_bounds, study_like
from synth_core.experiments.studies.report import StudyReport
from synth_core.experiments.studies.run_study import StudyOutcome, run_study
from synth_core.experiments.studies.study import check_study, fits_of
from synth_core.experiments.studies.study_sentences import like_in_words, rows_in_words
from synth_core.experiments.studies.verdicts import Row
from synth_core.experiments.studies.violins import panels
from synth_core.replication.named_studies import NAMED_STUDIES, build
from synth_core.system.backend.base import SerialBackend
from synth_core.system.number_text import percent

LIKE, COVERAGE = "like", "coverage"
MAX_FITS = 5_000  # in the app; the command line has no such limit


@dataclass(frozen=True)
class StudyRequest:
    """A study as the page asks for it.

    Attributes
    ----------
    name : a named study's; "like": databases like the table in use; "coverage": whether intervals from these hold
    replicates : R
    mechanisms, epsilons, rows : of `like` and `coverage`: keys, targets, numbers of records
    """

    name: str
    replicates: int
    seed: int
    mechanisms: tuple[str, ...] = ()
    epsilons: tuple[float, ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class StudyViolin:
    """One measure of one mechanism over the simulated databases of one case."""

    case: str
    label: str
    mechanism: str
    density: Density
    five: FiveNumbers


@dataclass(frozen=True)
class StudyAnswer:
    """What the page shows of a study.

    Attributes
    ----------
    heading, words : lists of str
        What it was, and what it found; the first may be of several lines.
    rows : list of Row
    covered : list of Covered
        Of a study of intervals; else empty.
    violins : dict of str to list of StudyViolin
        By measure; empty for a study of intervals.
    """

    heading: list[str]
    words: list[str]
    rows: list[Row]
    covered: list[Covered]
    violins: dict[str, list[StudyViolin]]


def run_in_app(analysis: AnyAnalysis[Any], asked: StudyRequest) -> StudyAnswer:
    """Run a study.

    Parameters
    ----------
    analysis : Analysis or RecordsAnalysis
        Of the table and the settings in use; only `like` and `coverage` read them.

    Raises
    ------
    InputError
        If the study is unknown, needs a file, or is too large for the app.
    """

    # The bar is of the simulated databases: the fits before them filled it, and it fell to nothing.
    def prepare(text: str, share: float) -> None:
        done = f", {percent(share, 0)}" if share else ""
        analysis.progress(f"Preparing the study: {text}{done}", 0.0)

    before = analysis.reporting(prepare)
    of_points = before, asked.mechanisms, asked.epsilons
    truth = None
    if asked.name == LIKE:
        study = study_like(*of_points, [analysis.settings.scale], asked.rows, asked.replicates)
    elif asked.name == COVERAGE:
        prepare("fitting the model that databases are simulated from", 0.0)
        study, truth = study_coverage(*of_points, asked.rows, asked.replicates)
    else:
        _, study = build(asked.name, None, open_table)
    check_study(study, asked.replicates, asked.seed)
    fits = fits_of(study, asked.replicates)
    if fits > MAX_FITS:
        raise InputError(
            f"{fits:,} results are too many for the app (at most {MAX_FITS:,}); on the command line: "
            f"python -m synth_core study {asked.name}"
        )
    local = local_bounds(before, study) if asked.name == LIKE else {}

    def report(done: int, total: int, left: float) -> None:
        remaining = f", about {duration(left)} left" if left > 0 else ""  # NaN: not known yet
        analysis.progress(f"{done:,} of {total:,} simulated databases{remaining}", done / total)

    outcome = run_study(study, asked.replicates, asked.seed, SerialBackend(), analysis.cache, report)
    covered = [] if truth is None else coverage_of(outcome, truth)
    if truth is not None:
        rows = compare_coverage(covered)
        words = coverage_in_words(covered, asked.replicates, estimates_words(analysis.settings))
    elif asked.name == LIKE:
        rows, words = compare_like(outcome, local, asked.epsilons), like_in_words(outcome, local)
    else:
        rows = NAMED_STUDIES[asked.name].compare(outcome)
        words = rows_in_words(rows)
    violins = {} if covered else _violins(outcome)
    return StudyAnswer(StudyReport(outcome, rows).heading(), words, rows, covered, violins)


def _violins(outcome: StudyOutcome) -> dict[str, list[StudyViolin]]:
    return {
        measure: [
            StudyViolin(v.case, v.label, v.mechanism, density(v.values), five_numbers(v.values))
            for v in panel
        ]
        for measure, panel in panels(outcome).items()
    }
