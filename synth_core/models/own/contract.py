"""The contract of an own Stan program, checked on the data before the program is used as a model.

Each check compares the program with what its own `log_lik` says it should do; nothing of the
family is assumed. The contract is in docs/guide/own-program.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from synth_core.engine.process_limits import processor_seconds
from synth_core.errors import FitError, InputError
from synth_core.models.base import Model
from synth_core.models.own import sandbox
from synth_core.models.own.anchor_check import respects_anchor
from synth_core.models.own.contract_checks import Broken, Examiner
from synth_core.models.own.model import OwnProgram
from synth_core.models.own.source import ProgramError
from synth_core.system import limits
from synth_core.system.cache import Cache, content_key
from synth_core.system.entries import WAITING, get_or_compute

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class ContractCheck:
    """One promise of the contract: kept or not, in words without confidential values."""

    name: str
    passed: bool
    words: str
    detail: str = ""  # the compiler's own message
    line: int | None = None


@dataclass(frozen=True)
class ContractReport:
    """All checks that were made; a failure that the others rest on ends them."""

    checks: tuple[ContractCheck, ...]

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> list[ContractCheck]:
        return [check for check in self.checks if not check.passed]


class _Failed(Exception):
    """Carries a report past the cache: what failed is examined anew when asked again."""

    def __init__(self, report: ContractReport):
        super().__init__()
        self.report = report


def check_contract(
    model: OwnProgram, cache: Cache, progress: Progress = lambda text, share: None
) -> ContractReport:
    """Check a program on a table's records, or read the report from the cache.

    Parameters
    ----------
    progress : callable
        Called with what is being done; may raise Cancelled.
    """
    sandbox.require_enabled()
    data = model.stan_data(np.ones(model.records.n))
    key = content_key(kind="contract", program=model.source, data=data, bounds=model.bounds, unit=model.unit)

    def compute() -> ContractReport:
        report = ContractReport(tuple(_examine(model, progress)))
        if not report.passed:
            raise _Failed(report)
        return report

    try:
        report, _ = get_or_compute(cache, ContractReport, key, compute, lambda: progress(WAITING, 0.0))
        return report
    except _Failed as failed:
        return failed.report


def require_contract(model: Model, cache: Cache, progress: Progress) -> None:
    """Refuse an own program that does not keep the contract on these data; other models pass."""
    if not isinstance(model, OwnProgram):
        return
    failures = check_contract(model, cache, progress).failures
    if failures:
        raise InputError(f"The own program does not keep the contract. {failures[0].words}")


def _examine(model: OwnProgram, progress: Progress) -> Iterator[ContractCheck]:
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
        ("The anchor is respected", False, lambda: respects_anchor(examiner)),
        ("log_lik is the log density of x_rep", False, examiner.density),
        ("cdf is the distribution function of x_rep", False, examiner.distribution),
    ]
    with processor_seconds(limits.OWN_CHECK_SECONDS):
        for done, (name, carries, step) in enumerate(steps):
            progress(f"checking: {name}", done / len(steps))
            try:
                yield ContractCheck(name, True, step())
            except (Broken, FitError, ProgramError) as error:
                yield ContractCheck(name, False, str(error), getattr(error, "detail", ""))
                if carries:
                    return
