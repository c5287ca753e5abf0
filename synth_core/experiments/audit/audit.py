"""A privacy audit: every mechanism on its worst neighbours, a lower bound of epsilon beside the claim."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis
from synth_core.analysis.fits import Progress
from synth_core.errors import InputError
from synth_core.experiments.audit import lower_bound
from synth_core.experiments.audit.audited import AuditedAnalysis
from synth_core.experiments.audit.neighbours import REMOVED
from synth_core.experiments.audit.verdict import CURRENT, DRAW_HELD, judge
from synth_core.experiments.explore.sweep import duration
from synth_core.mechanisms.catalogue import Mechanism, find_mechanism
from synth_core.mechanisms.composition import DELTA, epsilon_at
from synth_core.mechanisms.guarantees import Guarantee
from synth_core.release.report.audit_summary import FORMAT
from synth_core.system import limits
from synth_core.system.cache import content_key
from synth_core.system.code_version import code_version
from synth_core.system.entries import WAITING, get_or_compute

FROZEN, NONE = "frozen", "none"  # where weights come from, beside the current table
CODE = ("experiments/audit", "release/plan/frozen_map.py")  # that decides a line
MAX_VALUES = 2_000_000_000  # synthetic values drawn for one line


@dataclass(frozen=True)
class AuditRequest:
    """What is to be audited.

    Attributes
    ----------
    mechanisms : tuple of str
    runs : int
        Of each mechanism on each table; half of them choose thresholds.
    confidence : float
        That all lines' lower bounds are true together.
    delta : float
        Of (epsilon, delta); 0 asks for the pure claim.
    as_set : bool
        Whether the weights come only from where the settings say, as in a plan; else weights from
        the current table are audited too.
    """

    mechanisms: tuple[str, ...]
    runs: int = 10_000
    confidence: float = 0.95
    delta: float = 0.0
    as_set: bool = False


Event = lower_bound.Event  # inherited annotations are read in this module by the API reference


@dataclass(frozen=True)
class AuditFinding(lower_bound.Finding):
    """What one statistic showed on the neighbour that differs in `row`, and why that one was tried."""

    row: int
    why: str


@dataclass(frozen=True)
class AuditLine:
    """One mechanism, one source of its weights, one neighbour relation. Confidential, as its table is.

    Attributes
    ----------
    claimed : float
        epsilon of one data set for this relation: promised, or measured on this table.
    epsilon_lower : float
        Epsilon between the worst neighbours is at least this.
    detectable : float
        The largest lower bound that so many runs could have given.
    largest_ratio : float or None
        Largest |log density ratio| seen at a draw, by the mechanism's own formula and without confidence;
        None if it is not finite.
    runs, thinned : pairs of int
        On the table and on its neighbour, of the pair that gave the bound.
    row : int
        Of the differing record, from 1, among the complete rows; `value` replaced its outcome.
        In words, where it is a whole record.
    findings : tuple of AuditFinding
        Every statistic's bound on every neighbour, the largest first.
    """

    mechanism: str
    label: str
    weights: str
    relation: str
    claimed: float
    guarantee: str
    strength: int
    epsilon_lower: float
    detectable: float
    largest_ratio: float | None
    statistic: str
    runs: tuple[int, int]
    thinned: tuple[int, int]
    row: int
    value: float | str | None
    verdict: str
    why: str
    findings: tuple[AuditFinding, ...]


@dataclass(frozen=True)
class Audit:
    """What an audit found, and how it was made."""

    table: str
    rows: int
    outcome: str
    model: str
    density_scale: str
    confidential: bool
    fingerprint: str
    records: str  # the same in no order of the rows
    seed: int
    asked: AuditRequest
    error: float  # of one line: the share of 1 - confidence that it has
    plan: str  # digest of the release plan, or empty
    lines: tuple[AuditLine, ...]
    unit: str = ""  # the column of units of several records, all of which differ; or empty

    def as_dict(self) -> dict[str, Any]:
        """The documented JSON."""
        values = asdict(self)
        values["asked"]["mechanisms"] = list(self.asked.mechanisms)
        return {"format": FORMAT, "version": 1} | values


def check_request(subject: AuditedAnalysis, asked: AuditRequest) -> None:
    """Refuse in words what cannot be audited; raises InputError."""
    if not asked.mechanisms:
        raise InputError("Choose at least one mechanism to audit.")
    if not limits.AUDIT_RUNS[0] <= asked.runs <= limits.AUDIT_RUNS[1]:
        raise InputError(
            f"An audit needs {limits.AUDIT_RUNS[0]:,} to {limits.AUDIT_RUNS[1]:,} runs (given: {asked.runs:,}); with "
            f"fewer it could not refute anything."
        )
    if not 0.5 <= asked.confidence < 1:
        raise InputError(f"The confidence must lie from 0.5 to below 1 (given: {asked.confidence:g}).")
    if not 0 <= asked.delta < 1:
        raise InputError(f"δ must lie from 0 to below 1 (given: {asked.delta:g}).")
    subject.check()
    n = subject.analysis.n_records
    if n <= limits.MIN_ROWS:
        raise InputError(
            f"With {n} complete rows none can be removed: at least {limits.MIN_ROWS} must be left."
        )
    if n * asked.runs > MAX_VALUES:
        raise InputError(
            f"{asked.runs:,} runs on {n:,} records are more than an audit draws; audit a part of the table (the "
            f"effect of one record is the largest in a small one), or ask for at most {MAX_VALUES // n:,} runs."
        )


def run_audit(analysis: AnyAnalysis[Any], asked: AuditRequest, plan: str = "") -> Audit:
    """Audit mechanisms on a table; progress and cancelling go through the analysis.

    Parameters
    ----------
    analysis : AnyAnalysis
        Of the table under the analyst's settings; its risk map, if it has one, is the frozen one. Of whole records the
        neighbour differs in all sensitive values of a record.
    plan : str
        Digest of the release plan that the settings come from.

    Raises
    ------
    InputError
        If it cannot be done as asked. FitError if a fit fails; Cancelled passes through. Finished lines are
        kept in the cache, and the same audit goes on from there.
    """
    subject = AuditedAnalysis(analysis)
    check_request(subject, asked)
    mechanisms = [find_mechanism(key) for key in asked.mechanisms]
    todo = [
        (m, *source, relation)
        for m in mechanisms
        for source in _sources(subject, m, asked)
        for relation in source[1].relations(m)
    ]
    error = (1 - asked.confidence) / len(todo)
    lines = []
    took: list[float] = []
    for i, (mechanism, source, under, relation) in enumerate(todo):
        tell = _LineProgress(subject.analysis.progress, i, len(todo), took)
        began = time.monotonic()
        lines.append(_kept_line(under.reporting(tell), mechanism, source, relation, asked, error))
        took.append(time.monotonic() - began)
    table = analysis.loaded
    return Audit(
        table=table.name,
        rows=analysis.n_records,
        outcome=", ".join(analysis.outcomes),
        model=subject.models,
        density_scale=analysis.density_scale,
        confidential=table.confidential,
        fingerprint=table.fingerprint_of(subject.columns),
        records=table.fingerprint_of_records(subject.columns),
        seed=analysis.settings.seed,
        asked=asked,
        error=error,
        plan=plan,
        lines=tuple(lines),
        unit=analysis.settings.unit_column or "",
    )


class _LineProgress:
    """Progress of one line: the share is the step's, since how many steps a line takes is not known.

    How long a line takes is told from those before it (`took`, in seconds); kept ones, found at once, tell nothing.
    """

    def __init__(self, progress: Progress, line: int, lines: int, took: Sequence[float] = ()):
        self._progress, self._line, self._lines = progress, line, lines
        computed = [seconds for seconds in took if seconds >= 1]
        self._pace = f", about {duration(sum(computed) / len(computed))} each" if computed else ""

    def __call__(self, text: str, share: float) -> None:
        self._progress(f"{self._line + 1} of {self._lines}{self._pace} · {text}", share)


def _sources(
    subject: AuditedAnalysis, mechanism: Mechanism, asked: AuditRequest
) -> Iterator[tuple[str, AuditedAnalysis]]:
    """Where a mechanism's weights come from, and the subject that takes them from there."""
    if not mechanism.weighted:
        yield NONE, subject
        return
    frozen = subject.analysis.settings.risk_reference != "current"
    if frozen:
        yield f"{FROZEN} on {subject.analysis.settings.risk_reference}", subject
    if not (frozen and asked.as_set):
        yield CURRENT, subject.from_current()


def _kept_line(
    subject: AuditedAnalysis,
    mechanism: Mechanism,
    source: str,
    relation: str,
    asked: AuditRequest,
    error: float,
) -> AuditLine:
    """A line, or the one that was computed before: a histogram's noise has no seed and is not drawn again."""
    key = content_key(
        kind="audit",
        made_by=code_version(*CODE),
        **subject.content,
        mechanism=mechanism.key,
        source=source,
        relation=relation,
        runs=asked.runs,
        delta=asked.delta,
        error=error,
    )
    line, _ = get_or_compute(
        subject.analysis.cache,
        AuditLine,
        key,
        lambda: _line(subject, mechanism, source, relation, asked, error),
        lambda: subject.analysis.progress(WAITING, 0.0),
    )
    return line


def claim_at(guarantee: Guarantee, epsilon: float, delta: float = DELTA) -> float:
    """The ε that an audit tests: what promises a ρ, which `epsilon` names, promises an ε at this δ.

    Examples
    --------
    >>> from synth_core.mechanisms.catalogue import find_mechanism
    >>> claims = (find_mechanism(key).guarantee("current") for key in ("measured", "measured_laplace"))
    >>> [round(claim_at(each, 2.0), 2) for each in claims]
    [5.22, 2.0]
    """
    rho = None if guarantee.pure else guarantee.rho
    return epsilon if rho is None else epsilon_at(rho(epsilon), delta)


def _line(
    subject: AuditedAnalysis,
    mechanism: Mechanism,
    source: str,
    relation: str,
    asked: AuditRequest,
    error: float,
) -> AuditLine:
    result = subject.analysis.run(mechanism.key)
    # What promises ρ promises no ε without a δ.
    delta = asked.delta or (0.0 if result.guarantee.pure else DELTA)
    tried = subject.trials(result, relation, asked.runs)
    best: tuple[Any, ...] | None = None
    findings: list[AuditFinding] = []
    ratio = 0.0
    # A claim that is promised does not depend on how well its own fit converged; a measured one does.
    problems = list(result.problems) if result.epsilon_promised is None else []
    for neighbour, runs_of in tried:
        pair = runs_of()
        problems += pair.problems
        ratio = max(ratio, pair.largest_ratio)
        for found in lower_bound.measure(pair.first, pair.second, error / len(tried), delta):
            each = error / len(tried) / (2 * len(pair.first))
            reach = lower_bound.detectable(found.runs, each, delta)
            findings.append(AuditFinding(**vars(found), row=neighbour.row + 1, why=neighbour.why))
            if best is None or found.epsilon_lower > best[0].epsilon_lower:
                best = found, neighbour, pair, reach
    assert best is not None
    finding, neighbour, pair, reach = best
    claimed = result.epsilon if relation == REMOVED else result.epsilon_replace
    assert claimed is not None
    claimed = claim_at(result.guarantee, claimed, delta)
    verdict, why = judge(result, relation, source, claimed, finding.epsilon_lower, reach, problems)
    if not result.guarantee.pure and result.guarantee.rho is not None:
        why = f"{why} The claim is ε at δ = {delta:g}, which follows from its ρ.".strip()
    if subject.holds_draw(mechanism):
        why = f"{why} {DRAW_HELD}".strip()
    return AuditLine(
        mechanism=mechanism.key,
        label=mechanism.label,
        weights=source,
        relation=relation,
        claimed=float(claimed),
        guarantee=result.guarantee.label,
        strength=result.guarantee.strength,
        epsilon_lower=finding.epsilon_lower,
        detectable=reach,
        largest_ratio=ratio if math.isfinite(ratio) else None,
        statistic=finding.event.statistic,
        runs=(len(pair.first[finding.event.statistic]), len(pair.second[finding.event.statistic])),
        thinned=pair.thinned,
        row=neighbour.row + 1,
        value=neighbour.value,
        verdict=verdict,
        why=why,
        findings=tuple(sorted(findings, key=lambda f: -f.epsilon_lower)),
    )
