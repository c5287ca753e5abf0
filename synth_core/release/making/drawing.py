"""The data set of a reservation: drawn with its secret, checked, and packed into two archives."""

from __future__ import annotations

import hashlib
import json
import math
import shlex
import shutil
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from synth_core.analysis.any_analysis import AnyAnalysis, analysis_of
from synth_core.analysis.check.table_check import check_coded, coded
from synth_core.analysis.engines import ENGINES
from synth_core.analysis.fits import Progress
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.selection import refuse_copies
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.composition import Count
from synth_core.models import family
from synth_core.release.ledger.balances import Reservation
from synth_core.release.ledger.ledger import Ledger
from synth_core.release.ledger.limit_room import over_limit, spent_words
from synth_core.release.making.coverage import coverage_of
from synth_core.release.making.kept_noise import end_noise, kept_noise
from synth_core.release.making.series_anchor import last_releases
from synth_core.release.making.within_bounds import declared_range, within_bounds
from synth_core.release.output import bundle, gate
from synth_core.release.output.dataset import Synthetic, synthetic_data
from synth_core.release.output.file_checks import file_checks
from synth_core.release.output.gate_check import FAIL, OVERRIDDEN
from synth_core.release.output.look import Look, look_at
from synth_core.release.output.source import Source, compared, kept_of, source_of
from synth_core.release.plan.frozen_map import SUFFIX
from synth_core.release.plan.plan import Plan
from synth_core.release.plan.planning import check_rounded
from synth_core.release.report import report
from synth_core.release.report.audit_summary import parse_audit
from synth_core.release.report.coverage_summary import Coverage, CoverageStudy
from synth_core.release.state import private_directory
from synth_core.system.cache import Cache
from synth_core.system.locks import file_lock

LEAST_CHAINS = 4  # of two chains in two modes half pass as one that is well mixed, of four an eighth


@dataclass(frozen=True)
class Request:
    """What is asked for.

    `limit` is of a series that has none yet, and `count` what it counts; without them it is the plan's.
    `label` tells two releases of one plan from one table apart; `dry_run` stops after the gate;
    `more_data_sets` asks for so many beyond those that were drawn of a release, where all cost what one costs, of the
    posterior that is named, or of the plan's;
    `audit` is what the public report holds of a privacy audit (`Audited.text`), `coverage` what it holds of a study of
    its intervals (`Coverage.text`), or empty.
    """

    plan: Plan
    risk_map: bytes | None
    table: Table
    series: str = ""  # empty: the plan's
    label: str = "first"
    limit: float | None = None
    count: Count | None = None
    overrides: dict[str, str] = field(default_factory=dict)
    dry_run: bool = False
    recompute: bool = False  # draw a released data set again and compare
    audit: str = ""
    coverage: str = ""
    more_data_sets: int = 0
    posterior: str = ""

    def __post_init__(self) -> None:
        # What means missing belongs to the plan: the same file is then the same table, and the same release.
        object.__setattr__(self, "table", self.table.with_missing(self.plan.missing))

    @property
    def name(self) -> str:
        return self.series or self.plan.series

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the columns that are released or drawn from."""
        return self.table.fingerprint_of(c.name for c in self.plan.columns)

    @property
    def fingerprints(self) -> tuple[str, str]:
        """The fingerprints of these columns: in the order of the rows, and in none."""
        return self.fingerprint, self.table.fingerprint_of_records(c.name for c in self.plan.columns)

    @property
    def id(self) -> str:
        """The identifier of this release."""
        return self.id_under(self.label)

    def id_under(self, label: str) -> str:
        """Its identifier under a label: the same plan, table, series and label are the same release."""
        parts = "\n".join((self.plan.digest, self.fingerprint, self.name, label))
        return hashlib.sha256(parts.encode()).hexdigest()[:24]


def working_directory(release: str) -> Path:
    """What a release needs while it is made; removed with its commit."""
    return private_directory("pending", release)


def purge_pending() -> int:
    """Delete the work of releases that were not finished; they can be made again from their secret.

    Returns
    -------
    int
        How many are being made just now, and keep theirs.
    """
    busy = 0
    for path in private_directory("pending").iterdir():
        try:
            with file_lock(private_directory("locks") / path.name, _refuse_to_wait):
                shutil.rmtree(path, ignore_errors=True)
        except _BeingMade:
            busy += 1
    return busy


class _BeingMade(Exception):
    """A release that holds its lock."""


def _refuse_to_wait() -> None:
    raise _BeingMade


class ReleaseRun:
    """The data set of a reservation, its checks and its archives.

    `drawn` tells whether anything was drawn that depends on the sensitive values: from then on whatever is refused
    tells of that draw.
    """

    def __init__(
        self,
        request: Request,
        frozen: tuple[RiskMap, ...],
        ledger: Ledger,
        reserved: Reservation,
        progress: Progress,
        study: CoverageStudy | None = None,
    ):
        self.study = study
        self.request, self.plan, self.frozen = request, request.plan, frozen
        self.reserved, self.ledger, self.progress = reserved, ledger, progress
        self.drawn = False

    def draw(self) -> None:
        """Draw the data set and check it; again with the same secret, it is the same one.

        Raises
        ------
        InputError, FitError
            If the table does not fit the model, or a fit fails.
        """
        request, reserved, ledger = self.request, self.reserved, self.ledger
        self.table, moved = within_bounds(self.plan, request.table)
        # A cache of its own: a killed run continues here, and nothing of the secret stays elsewhere.
        analysis = self._analysis(Cache(working_directory(request.id)))
        check_rounded(analysis, self.plan)
        for each in analysis.analyses(self.plan.point.likelihood.anchors):
            refuse_copies(request.table, each.selection, each.settings, self.plan.kept)
        self.source: Source = source_of(self.plan, analysis, analysis.run(self.plan.mechanism))
        end_noise(reserved)
        point = self.plan.point
        engine = ENGINES.get(point.likelihood.key)
        self.measurements = {} if engine is None else engine.published(analysis.inputs, point.label)
        self.progress("checking", 0.8)
        drawn = self.source.drawn
        self.synthetic = synthetic_data(self.plan, self.source, drawn, reserved.secret)
        variables, public = compared(self.plan, self.source, self.synthetic)
        self.tables, left_out = coded(variables, public, self.plan.codebook, self.plan.settings.categorical)
        self.check = check_coded(variables, self.tables, left_out)
        balance = ledger.balance(request.name)
        finding = (
            f"{balance.releases:,} release{'' if balance.releases == 1 else 's'} so far; with this one "
            f"{spent_words(balance)} of {balance.limit or 0:g} is spent or reserved; the chain holds"
        )
        self.checks = gate.examine(
            self.plan,
            self.plan.standing(request.table),
            replace(
                self.source.fitted,
                brought=int(moved[analysis.used_rows.complete].sum()),
                guessed_range=any(
                    s.bounds is None and declared_range(self.plan, s) is not None
                    for s in self.plan.outcomes.values()
                ),
                left_out=request.table.rows - self.synthetic.orders.shape[1],
            ),
            self.synthetic,
            self.check,
            gate.ledger_check(finding, reserved.warnings, over_limit(balance)),
            request.overrides,
            self.source.anchor,
        )

    def later(self, which: range, posterior: str = "") -> Synthetic:
        """Data sets beyond those of the release, by their numbers from 0, of the noisy counts that it paid for.

        They follow from these counts and from public columns alone. So only checks that read the files alone are made
        again: another would tell of the table what was not paid for.

        Parameters
        ----------
        posterior : str
            Of the measurements, that they are drawn of; empty for the plan's.

        Raises
        ------
        InputError
            If the counts are not at hand, or each data set of the mechanism is charged.
        FitError
            If a check fails that was not overridden with the release, or another posterior than the plan's has not
            converged.
        """
        self.table, _ = within_bounds(self.plan, self.request.table)
        analysis = self._analysis(Cache(working_directory(self.request.id)))
        other = posterior not in ("", self.plan.settings.measured_posterior)
        if other:
            analysis = analysis.with_settings(measured_posterior=posterior)
        point, names = self.plan.point, [each.settings.outcome for each in analysis.analyses(False)]
        made = ENGINES[point.likelihood.key].later(analysis.inputs, point.label, which, converged=other)
        drawn = dict(zip(names, made, strict=True))
        kept = kept_of(self.plan, analysis)
        synthetic = synthetic_data(self.plan, kept, drawn, self.reserved.secret, which.start)
        overridden = self.reserved.commit.get("overridden", {})
        failed = [
            c for c in file_checks(self.plan, synthetic) if c.status == FAIL and c.key not in overridden
        ]
        if failed:
            why = "; ".join(f"{c.title}: {c.finding}" for c in failed)
            raise FitError(f"These data sets cannot leave ({why}). {failed[0].advice} Nothing was written.")
        return synthetic

    def _analysis(self, cache: Cache) -> AnyAnalysis[Any]:
        """The plan's analysis of the table, with the secret of the release."""
        request, plan, frozen = self.request, self.plan, self.frozen
        seed = int.from_bytes(hashlib.sha256(b"chains" + self.reserved.secret.to_bytes(32)).digest()[:4]) >> 1
        fixed: dict[str, Any] = {
            "seed": seed,
            "chains": self._chains,
            "risk_reference": frozen[0].name if frozen else "current",
            "match_epsilon": None,
        }
        anchor = None
        if plan.point.likelihood.anchors and plan.settings.reads_series:
            anchor = last_releases(self.ledger, request.name, plan, request.id)
        takes_prior = family(plan.settings.model).takes_anchor_prior
        if anchor is not None and plan.settings.anchor_records is None and takes_prior:
            fixed["anchor_records"] = anchor.records
        return analysis_of(
            self.table,
            Settings(**plan.settings.model_dump() | fixed),
            plan.analysed_blocks,
            cache,
            frozen or None,
            progress=self.progress,
            entropy=self.reserved.secret,
            noise=kept_noise(self.reserved),
            anchor=None if anchor is None else anchor.table,
            on_draw=self._mark_drawn,
        )

    @property
    def _chains(self) -> int:
        """At least one for each data set, so that they are independent; more where epsilon rests on their draws."""
        least = LEAST_CHAINS if self.plan.point.rests_on_draw else 1
        return max(self.plan.settings.chains, self.plan.datasets, least)

    def _mark_drawn(self) -> None:
        self.drawn = True

    @property
    def epsilon(self) -> float:
        """The epsilon of one data set: the target, or what an overridden check measured, rounded up."""
        plan, result = self.plan, self.source.fitted.result
        if not gate.above_target(plan, result):
            return plan.target_epsilon
        return math.ceil(gate.measured_epsilon(plan, result) * 10) / 10

    @property
    def numbers(self) -> dict[str, Any]:
        """For later comparisons; confidential, kept in the ledger."""
        return self.source.numbers

    @cached_property
    def look(self) -> Look:
        """What the synthetic table looks like, see `output.look`; confidential."""
        return look_at(self.plan, self.synthetic, self.tables, self.check)

    @cached_property
    def coverage(self) -> Coverage | None:
        """How often intervals hold, where it is known or was asked for: it reads the first released data set alone."""
        plan, request = self.plan, self.request
        if request.coverage:
            return Coverage.model_validate_json(request.coverage)
        if self.study is None:
            return None
        cache = Cache(working_directory(request.id))
        try:
            return coverage_of(plan, self.synthetic.frames[0], self.study, cache, self.progress)
        except (InputError, FitError) as error:
            raise type(error)(
                f"The release passed its checks, but how often its intervals hold could not be studied: {error} Ask "
                "for it again without that study (--coverage)."
            ) from None

    @property
    def kept(self) -> dict[str, Any]:
        """What the ledger keeps, so that the same archives can be made again."""
        overridden = {c.key: c.reason for c in self.checks if c.status == OVERRIDDEN}
        coverage = self.coverage.text() if self.coverage else ""
        return self.numbers | {"overridden": overridden, "audit": self.request.audit, "coverage": coverage}

    def archives(self) -> dict[str, bytes]:
        """Both zip archives, by file name."""
        plan, request = self.plan, self.request
        entries = self.ledger.entries(request.name)
        place = self.ledger.place(request.name, request.id)
        released = report.Released(
            plan,
            plan.standing(request.table),
            self.synthetic,
            self.checks,
            self.epsilon,
            place,
            self.reserved.time,
            self.source.anchor,
            self.source.fitted.result.summary_numbers.counted,
        )
        folder = f"{request.name}-{place.number:03d}"
        public = bundle.releasable_files(plan, self.synthetic)
        if self.measurements:
            public["measurements.json"] = json.dumps(
                self.measurements, ensure_ascii=False, allow_nan=False
            ).encode()
        if self.coverage is not None:
            public["coverage.csv"] = self.coverage.csv()
        public["report.html"] = report.public_report(
            released,
            sorted([*public, "report.html"]),
            self.source.density_scale,
            parse_audit(request.audit.encode(), plan, request.fingerprints) if request.audit else None,
            self.coverage,
        )
        heads = [e.hash for e in entries if e.release == request.id and e.kind == "reserve"]
        earlier = [
            {"number": self.ledger.place(request.name, e.release).number, "time": e.time[:10], **e.details}
            for e in entries
            if e.kind == "commit" and e.release != request.id
        ]
        internal = {
            "plan.json": (plan.canonical() + "\n").encode(),
            "report-INTERNAL.html": report.internal_report(
                released, self.source, self.look, request.id, heads[-1], earlier
            ),
            "records.parquet": bundle.parquet_bytes(self.source.by_record),
            "repeat.sh": _script(request).encode(),
        }
        if plan.frozen is not None:
            internal[f"{plan.frozen.sha256}{SUFFIX}"] = request.risk_map or b""
        return {
            f"{folder}-releasable.zip": bundle.zip_bytes(public, folder),
            f"{folder}-INTERNAL.zip": bundle.zip_bytes(internal, f"{folder}-INTERNAL"),
        }


def _script(request: Request) -> str:
    arguments = ["--series", request.name, "--release", request.label, "--recompute"]
    for key, reason in request.overrides.items():
        arguments += ["--override", key, reason]
    return f"""#!/bin/sh
# Repeats this release from its plan and its table, on the machine whose state directory made it; from the
# directory of the project, with PYTHON naming the interpreter that it is installed for:
#   PYTHON=.venv/bin/python sh .../repeat.sh TABLE OUT
# The same data sets are drawn again and compared with what was released; nothing is charged.
set -eu
[ $# -eq 2 ] || {{ echo "usage: sh repeat.sh TABLE OUT" >&2; exit 2; }}
here=$(cd "$(dirname "$0")" && pwd)
"${{PYTHON:-python3}}" -c "import synth_core" 2>/dev/null || {{
  echo "run this from the directory of the project, with PYTHON=.venv/bin/python" >&2; exit 2; }}
exec "${{PYTHON:-python3}}" -m synth_core apply "$here/plan.json" "$1" --out "$2" {shlex.join(arguments)}
"""
