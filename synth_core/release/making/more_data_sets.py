"""Data sets beyond those of a release, drawn later of the noisy counts that it paid for: nothing is charged."""

from __future__ import annotations

import hashlib
import shutil

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
    "Each is of another draw of the model given these tables. To combine estimates of several data sets take the mean, "
    "and\nthe variance u + b: u the mean of their ordinary variances, b the variance between them.{alone}\n"
)
ALONE = (
    "\nThe first data set of the release is of the most likely model and not of a draw: leave it out of b."
)


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
    known = ledger.reservation(series, request.id)
    if known is None or known.state != "committed":
        raise InputError(
            f"The series {series} has no release '{request.label}' of this plan from this table: release it first."
        )
    first = plan.datasets + sum(int(e.details["m"]) for e in ledger.later(series, request.id))
    which = range(first, first + request.more_data_sets)
    synthetic = ReleaseRun(request, frozen, ledger, known, progress).later(which)
    number = ledger.place(series, request.id).number
    last = which.stop
    words = ABOUT.format(
        first=first + 1, last=last, number=number, series=series, alone=ALONE if plan.datasets == 1 else ""
    )
    folder = f"{series}-{number:03d}-data-sets-{first + 1}-to-{last}"
    files = bundle.releasable_files(plan, synthetic, first) | {"README.txt": words.encode()}
    name, content = f"{folder}-releasable.zip", bundle.zip_bytes(files, folder)
    target = private_directory("releases") / request.id / name
    progress("writing the archive", 0.9)
    bundle.write_file(target, content)
    drawn = {"m": len(which), "archives": {name: hashlib.sha256(content).hexdigest()}}
    ledger.note_more(series, request.id, drawn)
    shutil.rmtree(working_directory(request.id), ignore_errors=True)
    return ReleaseOutcome(MORE, request.id, (), {name: target}, number, known.epsilon)
