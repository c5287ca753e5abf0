"""One release: reserve, draw, gate, write, commit. Killed anywhere, it can be repeated, and is charged once.

    reserve (charge and secret) -> draw -> gate -> both archives, whole, in the state directory
      -> commit with their checksums -> copy to where the user wants them

What is refused before anything is drawn gets its charge back. What was drawn stays charged, whether it is
released, refused or only looked at: a refusal tells of the draw, and whoever asks under new labels until
one passes has used them all. A run that is killed before the gate has shown nothing: it keeps its charge
until it is repeated or cancelled, and one that is stopped there gives it back. The secret stays with the
release for ever: asking again under the same label never draws another data set, and costs nothing more.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from synth_core.analysis.fits import Progress
from synth_core.analysis.wording.belief_sentences import rho_beside
from synth_core.data.units import unit_words
from synth_core.errors import Cancelled, FitError, InputError
from synth_core.mechanisms.composition import SUM, not_counted, rho_of
from synth_core.release.bounded_text import printable, slug
from synth_core.release.ledger.balances import NewLimit, Reservation
from synth_core.release.ledger.elsewhere import Columns
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import check_count
from synth_core.release.making.drawing import ReleaseRun, Request, working_directory
from synth_core.release.making.more_data_sets import batch_archive, batches_of, more_data_sets
from synth_core.release.making.outcome import CHECKED, REFUSED, RELEASED, REPEATED, ReleaseOutcome
from synth_core.release.output import bundle, gate
from synth_core.release.output.gate_check import GateCheck
from synth_core.release.plan.frozen_map import load_maps
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.schema import check_schema
from synth_core.release.report.audit_summary import parse_audit
from synth_core.release.report.coverage_summary import CoverageStudy
from synth_core.release.state import private_directory
from synth_core.system.locks import file_lock

RELEASABLE = "-releasable.zip"


def release(
    request: Request, progress: Progress = lambda text, share: None, study: CoverageStudy | None = None
) -> ReleaseOutcome:
    """Make a release, or find that it was made; of one that was made draw more data sets, if that is asked.

    Parameters
    ----------
    study : CoverageStudy, optional
        Measures how often intervals from the release hold, for its public report.

    Raises
    ------
    InputError
        If the table does not fit the plan, the limit is reached, or an override is not allowed.
    FitError
        If the fit, the disk or the ledger fails. What was reserved is given back, unless something was drawn.
    """
    slug(request.name, "The name of the series")
    slug(request.label, "The label of the release")
    gate.check_overrides(request.plan, request.overrides)
    check_schema(request.plan, request.table)
    if request.audit:
        parse_audit(request.audit.encode(), request.plan, request.fingerprints)
    frozen = load_maps(request.plan, request.risk_map or b"")
    if study is not None:
        study.check(request.plan)
    make = more_data_sets if request.more_data_sets else partial(_release, study=study)
    lock = private_directory("locks") / request.id
    with file_lock(lock, lambda: progress("waiting for the same release elsewhere", 0.0)):
        ledger = Ledger()
        try:
            return make(request, frozen, ledger, progress)
        finally:
            ledger.close()


def _release(
    request: Request, frozen: Any, ledger: Ledger, progress: Progress, study: CoverageStudy | None
) -> ReleaseOutcome:
    plan, series = request.plan, request.name
    known = ledger.reservation(series, request.id)
    if known is not None and known.state == "committed":
        return _repeat(request, frozen, ledger, known, progress, study)
    limit = _agreed_limit(request, ledger)
    guarantee = plan.standing(request.table).guarantee
    counted = (limit.count if limit is not None else ledger.balance(series).count) or SUM
    if not guarantee.pure and counted.delta is None:
        raise InputError(f"The series {series}: {not_counted(plan.point.label, guarantee, counted)}")
    details = {
        "data": request.table.fingerprint_of(plan.outcomes),
        "records": request.table.fingerprint_of_records(plan.outcomes),
        "plan": plan.digest,
        "label": request.label,
        "m": plan.datasets,
        "guarantee": guarantee.label,
        "strict": guarantee.strict,
        "rho": rho_of(guarantee, plan.target_epsilon, plan.datasets),
        "outcome": plan.outcome_words,
    }
    if unit := unit_words(plan.settings.unit_column, plan.settings.unit_size):
        details["unit"] = unit
    _check_unit(ledger, series, unit)
    progress("reserving the charge in the ledger", 0.0)
    charged = guarantee.charged(plan.datasets)
    units = () if plan.settings.unit_column is None else (plan.settings.unit_column,)
    public = dict.fromkeys((*plan.kept, *units))  # as public as who belongs together, and how many they are
    columns = Columns(ledger.marked(request.table, plan.outcomes), ledger.marked(request.table, public))
    reserved = ledger.reserve(series, request.id, plan.target_epsilon * charged, details, columns, limit)
    run = ReleaseRun(request, frozen, ledger, reserved, progress, study)
    try:
        run.draw()
        checks = run.checks
        stopped = gate.refused(checks)
        if stopped or request.dry_run:
            seen = [c.key for c in stopped] or "a look at the gate only"
            ledger.look(series, request.id, {"because": seen})
            state, charged_now = REFUSED if stopped else CHECKED, reserved.epsilon
            return ReleaseOutcome(
                state, request.id, tuple(checks), epsilon=charged_now, numbers=run.numbers, look=run.look
            )
        # Whoever sees it go on knows that the draw passed: from here the charge stays, whatever stops the run.
        ledger.look(series, request.id, {"because": "it passed the gate"})
        if run.epsilon > plan.target_epsilon:
            raised = details | {"rho": rho_of(guarantee, run.epsilon, plan.datasets)}
            ledger.raise_to(series, request.id, run.epsilon * charged, raised)
        archives = run.archives()
        target = private_directory("releases") / request.id
        progress("writing both archives", 0.9)
        shutil.rmtree(target, ignore_errors=True)  # of a killed run: the same bytes are written again
        bundle.write_directory(target, archives)
        sums = {name: hashlib.sha256(content).hexdigest() for name, content in archives.items()}
        ledger.commit(series, request.id, run.kept | {"archives": sums})
    except BaseException as error:
        charge = charge_words(plan, reserved.epsilon)
        words = _settle(ledger, series, request.id, error, run.drawn, charge)
        if words:
            raise type(error)(f"{error} {words}") from None
        raise
    shutil.rmtree(working_directory(request.id), ignore_errors=True)
    outcome = _outcome(request, ledger, RELEASED, tuple(checks), {n: target / n for n in archives})
    return replace(outcome, look=run.look)


def _settle(ledger: Ledger, series: str, release: str, error: BaseException, drawn: bool, charge: str) -> str:
    """Keep the charge of a run that ended with an error where its draw was seen, give it back else; what is said."""
    known, because = ledger.reservation(series, release), {"because": type(error).__name__}
    stopped = isinstance(error, Cancelled)
    if known is not None and known.state == "reserved":
        if drawn and isinstance(error, Exception) and not stopped:
            ledger.look(series, release, because)
        else:
            ledger.cancel(series, release, because)
    elif stopped and known is not None and known.state == "looked":
        return (
            f"Its draw was looked at, so {charge} stays charged. The same label gives the same draw again, at no "
            "further charge."
        )
    return stays_charged(charge) if drawn and isinstance(error, InputError | FitError) else ""


def named_by(plan: Plan) -> str:
    """The ρ that the ε of a plan names, in brackets, where ε is no loss by itself; else empty."""
    rho = None if plan.guarantee.pure else rho_of(plan.guarantee, plan.target_epsilon, plan.datasets)
    return "" if rho is None else f" ({rho_beside(rho)})"


def charge_words(plan: Plan, epsilon: float) -> str:
    """What a release is charged."""
    return f"ε = {epsilon:g}{named_by(plan)}"


def stays_charged(charge: str) -> str:
    """Why a charge is not given back, for whoever was refused or has looked."""
    return (
        f"A refusal tells of a draw from this table, so {charge} stays charged. The same label gives the same "
        f"draw again at no further charge; another label is another draw and another charge."
    )


def _outcome(
    request: Request,
    ledger: Ledger,
    state: str,
    checks: tuple[GateCheck, ...],
    archives: dict[str, Path],
) -> ReleaseOutcome:
    known = ledger.reservation(request.name, request.id)
    assert known is not None
    number = ledger.place(request.name, request.id).number
    ordered = dict(sorted(archives.items(), reverse=True))  # the releasable one first
    return ReleaseOutcome(state, request.id, checks, ordered, number, known.epsilon, known.commit)


def _agreed_limit(request: Request, ledger: Ledger) -> NewLimit | None:
    """The limit that the first release of a series brings; raises InputError for another one than a series has."""
    wanted = request.limit if request.limit is not None else request.plan.limit
    balance = ledger.balance(request.name)
    if balance.limit is not None:
        check_count(balance, request.count)
    if wanted is None or wanted == balance.limit:
        return None
    if balance.limit is None:
        count = request.count or request.plan.count
        return NewLimit(wanted, "set with the first release", request.plan.decided_by, count)
    if request.limit is not None:
        raise InputError(
            f"The series {request.name} has the limit ε = {balance.limit:g}; changing it to {wanted:g} is a decision "
            f"of its own, with a reason: see `ledger limit`."
        )
    return None


def _check_unit(ledger: Ledger, series: str, unit: str) -> None:
    """Refuse a release whose ε is for another unit than the series' so far: their sum would say nothing of either."""
    units: dict[str, str] = {}  # of each release that counts
    for entry in ledger.entries(series):
        if entry.kind == "reserve":
            units[entry.release] = entry.details.get("unit", "")
        elif entry.kind == "cancel":
            units.pop(entry.release, None)
    others = [each for each in units.values() if each != unit]
    if others:
        words = [text or "ε is for one record." for text in (others[0], unit)]
        raise InputError(
            f"In the series {series}, {words[0]} In this plan, {words[1]} Their sum would say nothing of either: "
            "release it under another series, or plan it for the same unit."
        )


def _repeat(
    request: Request,
    frozen: Any,
    ledger: Ledger,
    known: Reservation,
    progress: Progress,
    study: CoverageStudy | None,
) -> ReleaseOutcome:
    """A release that was committed, with what was drawn of it later: its archives again.

    What is missing, or not what the ledger says, is drawn again and written; all of it, if that is asked.

    Raises
    ------
    InputError
        If a study of its intervals is asked for that it was made without.
    FitError
        If what is drawn again is not what was released.
    """
    if study is not None and not known.commit.get("coverage"):
        raise InputError(
            "This release was made without a study of its intervals, and its archive stays as it is. Study a file of "
            "it instead (on the command line study coverage FILE --population table)."
        )
    target, sums = private_directory("releases") / request.id, dict(known.commit["archives"])
    batches = batches_of(request, ledger)
    lost = {name for name in sums if not _kept(target / name, sums[name])}
    before = known.commit
    again = replace(
        request,
        overrides=before["overridden"],
        audit=before.get("audit", ""),
        coverage=before.get("coverage", ""),
    )
    run = ReleaseRun(again, frozen, ledger, known, progress)
    if request.recompute or lost:
        run.draw()
        made = run.archives()
        _check_drawn_again(made, sums)
        for name in lost:
            bundle.write_file(target / name, made[name])
    for batch in batches:
        if request.recompute or not _kept(target / batch.name, batch.sha256):
            content = batch_archive(run, batch.which, batch.posterior)[1]
            _check_drawn_again({batch.name: content}, {batch.name: batch.sha256})
            bundle.write_file(target / batch.name, content)
    shutil.rmtree(working_directory(request.id), ignore_errors=True)
    return _outcome(
        request, ledger, REPEATED, (), {name: target / name for name in (*sums, *(b.name for b in batches))}
    )


def _kept(path: Path, sha256: str) -> bool:
    """Whether an archive is there as it was committed; of an internal one, which tells of its day too, whether it is
    there."""
    if not path.is_file():
        return False
    return not path.name.endswith(RELEASABLE) or hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _check_drawn_again(archives: dict[str, bytes], sums: dict[str, str]) -> None:
    """Refuse what may leave where it is not what was released; raises FitError."""
    for name, content in archives.items():
        if name.endswith(RELEASABLE) and hashlib.sha256(content).hexdigest() != sums.get(name):
            raise FitError(
                "Drawn again, the release differs from what was released (other versions of the program or its "
                "libraries?). Nothing was written."
            )


def publish(outcome: ReleaseOutcome, out: Path) -> list[Path]:
    """Copy both archives to a directory of the user's, each whole or not at all.

    Raises
    ------
    InputError
        If files of another content are there under the same names.
    """
    written = []
    for name, source in outcome.archives.items():
        target, content = out / name, source.read_bytes()
        if target.exists():
            if target.is_file() and target.read_bytes() == content:
                written.append(target)
                continue
            raise InputError(
                f"{printable(target, 300)} exists with other contents; choose another directory."
            )
        bundle.write_file(target, content)
        written.append(target)
    return written


def cancel(series: str, release: str, reason: str) -> None:
    """Give back the charge of a release that was reserved and never finished, and of which nothing was seen.

    Raises
    ------
    InputError
        If there is no such reservation, or its draw was looked at.
    """
    with file_lock(private_directory("locks") / release):
        ledger = Ledger()
        try:
            ledger.cancel(series, release, {"because": reason})
        finally:
            ledger.close()
    shutil.rmtree(working_directory(release), ignore_errors=True)
