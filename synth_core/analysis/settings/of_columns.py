"""Settings of which columns are read: the sensitive variable, and what it is conditional on."""

from __future__ import annotations

from pydantic import BaseModel

from synth_core.analysis.settings.field import setting
from synth_core.data.earlier_variable import EarlierVariable


class ColumnSettings(BaseModel):
    """The sensitive variable and its predictors."""

    outcome: str = setting(..., "the sensitive variable", named="sensitive variable")
    predictors: tuple[str, ...] = setting((), "non-sensitive columns, kept as they are")
    categorical: tuple[str, ...] = setting((), "numeric predictors that are categories")
    earlier: tuple[EarlierVariable, ...] = setting(
        (), "sensitive variables that the outcome is conditional on"
    )
