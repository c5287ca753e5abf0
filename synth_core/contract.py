"""The contract of an own Stan program, checked on the data before the program is used as a model.

Each check compares the program with what its own `log_lik` says it should do; nothing of the
family is assumed. The contract is in docs/own-program.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synth_core import limits
from synth_core.cache import Cache, content_key
from synth_core.contract_steps import Broken, Examiner
from synth_core.design import select
from synth_core.errors import FitError, InputError
from synth_core.models import Model, OwnProgram, build_model
from synth_core.settings import Settings
from synth_core.table import Table
from synth_core.toolchain import limited
from synth_core.toolchain.source import ProgramError

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Check:
    """One promise of the contract: kept or not, in words without confidential values."""

    name: str
    passed: bool
    words: str
    detail: str = ""  # the compiler's own message
    line: int | None = None


@dataclass(frozen=True)
class Report:
    """All checks that were made; a failure that the others rest on ends them."""

    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

    def to_entry(self) -> dict[str, Any]:
        return {"checks": [asdict(check) for check in self.checks]}

    @staticmethod
    def from_entry(entry: dict[str, Any]) -> Report:
        return Report(tuple(Check(**check) for check in entry["checks"]))


class _Failed(Exception):
    """Carries a report past the cache: what failed is examined anew when asked again."""

    def __init__(self, report: Report):
        super().__init__()
        self.report = report


def check_contract(model: OwnProgram, cache: Cache, progress: Progress = lambda text, share: None) -> Report:
    """Check a program on a table's records, or read the report from the cache.

    Parameters
    ----------
    progress : callable
        Called with what is being done; may raise Cancelled.
    """
    limited.require_enabled()
    data = model.stan_data(np.ones(model.records.n))
    key = content_key(kind="contract", program=model.source, data=data, bounds=model.bounds, unit=model.unit)

    def compute() -> dict[str, Any]:
        report = Report(tuple(_examine(model, progress)))
        if not report.passed:
            raise _Failed(report)
        return report.to_entry()

    try:
        entry, _ = cache.get_or_compute(
            key, compute, lambda: progress("waiting for the same check elsewhere", 0.0)
        )
    except _Failed as failed:
        return failed.report
    return Report.from_entry(entry)


def check_table(
    table: Table, settings: Settings, cache: Cache, progress: Progress = lambda text, share: None
) -> Report:
    """Check the program of the settings on a table.

    Raises
    ------
    InputError
        If own programs are off, or the columns cannot be used; what is wrong with the program
        is in the report.
    """
    limited.require_enabled()
    s = settings
    selection = select(table, s.outcome, s.predictors, s.categorical)
    try:
        model = build_model(s.model, selection.records, **s.model_options)
    except ProgramError as error:
        return Report((Check("It is a Stan program", False, str(error), error.detail, error.line),))
    if not isinstance(model, OwnProgram):
        raise InputError("There is no own program among the settings.")
    return check_contract(model, cache, progress)


def require_contract(model: Model, cache: Cache, progress: Progress) -> None:
    """Refuse an own program that does not keep the contract on these data; other models pass."""
    if not isinstance(model, OwnProgram):
        return
    failures = check_contract(model, cache, progress).failures
    if failures:
        raise InputError(f"The own program does not keep the contract. {failures[0].words}")


def _examine(model: OwnProgram, progress: Progress) -> Iterator[Check]:
    """Every check in turn. Those marked carry the ones after them."""
    examiner = Examiner(model, progress)
    steps: list[tuple[str, bool, Callable[[], str]]] = [
        ("It compiles", True, examiner.compiles),
        ("It can be sampled", True, examiner.samples),
        ("Its parameters do not grow with the table", True, examiner.sizes),
        ("log_lik and x_rep are finite", True, examiner.finite),
        ("log_lik is unweighted, uncensored, and of each record alone", True, examiner.alone),
        ("Weights act as a power", True, examiner.power),
        ("Weight 0 removes a record", False, examiner.removal),
        ("Censoring is respected", False, examiner.censoring),
        ("log_lik is the log density of x_rep", False, examiner.density),
        ("cdf is the distribution function of x_rep", False, examiner.distribution),
    ]
    with limited.processor_seconds(limits.OWN_CHECK_SECONDS):
        for done, (name, carries, step) in enumerate(steps):
            progress(f"checking: {name}", done / len(steps))
            try:
                yield Check(name, True, step())
            except (Broken, FitError, ProgramError) as error:
                yield Check(name, False, str(error), getattr(error, "detail", ""))
                if carries:
                    return
