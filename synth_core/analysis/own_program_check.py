"""The check of the settings' own program on a table, as the page Help and `check-program` ask for it."""

from __future__ import annotations

from synth_core.analysis.selection import selected
from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.models import OwnProgram, build_model
from synth_core.models.own import sandbox
from synth_core.models.own.contract import ContractCheck, ContractReport, Progress, check_contract
from synth_core.models.own.source import ProgramError
from synth_core.system.cache import Cache


def check_table(
    table: Table, settings: Settings, cache: Cache, progress: Progress = lambda text, share: None
) -> ContractReport:
    """Check the program of the settings on a table.

    Raises
    ------
    InputError
        If own programs are off, or the columns cannot be used; what is wrong with the program
        is in the report.
    """
    sandbox.require_enabled()
    s = settings
    selection = selected(table, s)
    try:
        model = build_model(s.model, selection.records, **s.model_options)
    except ProgramError as error:
        return ContractReport(
            (ContractCheck("It is a Stan program", False, str(error), error.detail, error.line),)
        )
    if not isinstance(model, OwnProgram):
        raise InputError("There is no own program among the settings.")
    return check_contract(model, cache, progress)
