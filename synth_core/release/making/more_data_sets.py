"""Data sets beyond those of a release, drawn later of the noisy counts that it paid for: nothing is charged."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from typing import Any

from synth_core.analysis.fits import Progress
from synth_core.analysis.risk_map import RiskMap
from synth_core.errors import InputError
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.making.drawing import ReleaseRun, Request, working_directory
from synth_core.release.making.outcome import MORE, ReleaseOutcome
from synth_core.release.output import bundle
from synth_core.release.state import private_directory

ABOUT = (
    "Data sets {first} to {last} of release {number} of the series {series}.\n\n"
    "They are drawn of the same noisy tables as the data sets before them, and cost nothing further: what the report "
    "of the\nrelease promises for one data set it promises for all of them together. Columns are as dictionary.csv has "
    "them.\n\n"
    "Each is of another draw of the model given these tables{posterior}. {combined}\n"
)
COMBINED = (
    "combine.py and combine.R put\nestimates of several data sets together: the variance is {rule}, with u the mean of "
    "their ordinary variances and b the\nvariance between them.{alone}"
)
DRAWN_OF = {"refits": "refits to perturbed tables", "exact": "draws of its exact posterior"}
NOT_COMBINED = (
    "No rule is known by which intervals from\nseveral of them hold: combine.py and combine.R ask for one."
)
ALONE = (
    "\nThe first data set of the release is of the most likely model and not of a draw: leave it out of b."
)


@dataclass(frozen=True)
class Batch:
    """Data sets that were drawn together: their numbers from 0, the archive that has them, and of which posterior."""

    which: range
    name: str
    sha256: str
    posterior: str = ""  # that they were drawn of, where it is not the plan's


def batches_of(request: Request, ledger: Ledger) -> list[Batch]:
    """The batches of a release so far, in order."""
    batches, first = [], request.plan.datasets
    for entry in ledger.later(request.name, request.id):
        ((name, sha256),) = entry.details["archives"].items()
        which = range(first, first + int(entry.details["m"]))
        batches.append(Batch(which, name, sha256, entry.details.get("posterior", "")))
        first = batches[-1].which.stop
    return batches


def batch_archive(run: ReleaseRun, which: range, posterior: str) -> tuple[str, bytes]:
    """The archive of some data sets of a committed release, by their numbers from 0: its name and its bytes."""
    plan, series = run.plan, run.request.name
    number, first, last = run.ledger.place(series, run.request.id).number, which.start + 1, which.stop
    rule, alone = plan.point.combining[1], ALONE if plan.datasets == 1 else ""
    combined = COMBINED.format(rule=rule, alone=alone) if rule else NOT_COMBINED
    of = f", which are {DRAWN_OF[posterior]}" if posterior else ""
    words = ABOUT.format(
        first=first, last=last, number=number, series=series, posterior=of, combined=combined
    )
    folder = f"{series}-{number:03d}-data-sets-{first}-to-{last}"
    files = bundle.releasable_files(plan, run.later(which, posterior), which.start) | {
        "README.txt": words.encode()
    }
    return f"{folder}-releasable.zip", bundle.zip_bytes(files, folder)


def more_data_sets(
    request: Request, frozen: tuple[RiskMap, ...], ledger: Ledger, progress: Progress
) -> ReleaseOutcome:
    """Draw the next data sets of a release, and note them in the ledger.

    Raises
    ------
    InputError
        If there is no such release, or each data set of its mechanism is charged.
    """
    plan, series = request.plan, request.name
    if plan.point.charged(2) > 1:
        raise InputError(
            f"{plan.point.label}: each data set is a draw of its own and is charged, so more of them are another "
            "release, under another label."
        )
    if request.posterior and "measured_posterior" not in plan.point.likelihood.settings:
        raise InputError(f"{plan.point.label} has no posterior to choose.")
    known = ledger.reservation(series, request.id)
    if known is None or known.state != "committed":
        raise InputError(
            f"The series {series} has no release '{request.label}' of this plan from this table: release it first."
        )
    drawn = batches_of(request, ledger)
    first = drawn[-1].which.stop if drawn else plan.datasets
    which = range(first, first + request.more_data_sets)
    posterior = "" if request.posterior == plan.settings.measured_posterior else request.posterior
    name, content = batch_archive(ReleaseRun(request, frozen, ledger, known, progress), which, posterior)
    target = private_directory("releases") / request.id
    progress("writing the archive", 0.9)
    for unnoted in target.glob(f"*-data-sets-{first + 1}-to-*"):  # of a killed run
        unnoted.unlink()
    bundle.write_file(target / name, content)
    details: dict[str, Any] = {"m": len(which), "archives": {name: hashlib.sha256(content).hexdigest()}}
    details |= {"posterior": posterior} if posterior else {}
    ledger.note_more(series, request.id, details)
    shutil.rmtree(working_directory(request.id), ignore_errors=True)
    number = ledger.place(series, request.id).number
    return ReleaseOutcome(MORE, request.id, (), {name: target / name}, number, known.epsilon)
