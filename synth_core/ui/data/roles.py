"""What each column is to the synthesis: its role, read off the choices, and the choices with another role of it."""

from __future__ import annotations

from dataclasses import replace

from synth_core.analysis.opening import OpeningModel, opening_block, opening_model
from synth_core.data.codebook import ROLE_WORDS
from synth_core.data.declared import OF_KINDS
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.ui.state.choices import Choices

SENSITIVE = "sensitive"
PREDICTOR = "public, predictor"
PUBLIC = "public, kept"
WEIGHT = "weight"
WEIGHT_TOO = "public weight, predictor"
UNIT = "unit"
UNUSED = "not used"
ROLES = (UNUSED, SENSITIVE, PREDICTOR, PUBLIC, WEIGHT, WEIGHT_TOO, UNIT)  # those of `ROLE_WORDS`


def sensitive_names(choices: Choices) -> tuple[str, ...]:
    """The sensitive variables, in the order of synthesis."""
    return tuple(block.name for block in choices.described)


def role_of(choices: Choices, table: Table, name: str) -> str:
    """The role of a column."""
    s = choices.settings
    if name in sensitive_names(choices):
        return SENSITIVE
    if name == s.weight:
        return WEIGHT_TOO if name in s.predictors else WEIGHT
    if name == s.unit_column:
        return UNIT
    if name in s.predictors:
        return PREDICTOR
    return PUBLIC if name in table.public_columns else UNUSED


def offered_roles(table: Table, name: str) -> tuple[str, ...]:
    """The roles that a column may have; none where its codebook rules it out.

    What is kept and not used is declared in the codebook alone, which the examples do not have.
    """
    entry, column = table.codebook.get(name), table.column(name)
    if column.kind == "empty":
        return ()
    if entry is not None and entry.never_used:
        return (UNUSED, UNIT)
    weight = column.kind in ("number", "code")
    return tuple(
        role
        for role in ROLES
        if role in (UNUSED, SENSITIVE, UNIT, PREDICTOR)
        or (role == PUBLIC and entry is not None)
        or (role in (WEIGHT, WEIGHT_TOO) and weight)
    )


def redeclared(table: Table, name: str, role: str) -> str | None:
    """The role that the codebook must declare for this one to hold; None where it need not change.

    A column that is declared sensitive is never kept, and one that is declared public always is.
    """
    entry = table.codebook.get(name)
    before = "" if entry is None else entry.role
    if (
        role == PUBLIC
        or (before == "sensitive" and role in (PREDICTOR, WEIGHT, WEIGHT_TOO))
        or (before == "public" and role in (SENSITIVE, UNUSED, UNIT))
    ):
        wanted = ROLE_WORDS[role]
    else:
        return None
    return wanted if wanted != before else None


def with_role(choices: Choices, table: Table, name: str, role: str) -> Choices:
    """Choices in which a column has a role. Raises InputError where no sensitive variable would be left."""
    now = sensitive_names(choices)
    if role == SENSITIVE and name not in now:
        choices = _added(choices, table, name)
    elif role != SENSITIVE and name in now:
        choices = without(choices, name)
    s = choices.settings
    predictors = tuple(each for each in s.predictors if each != name)
    if role in (PREDICTOR, WEIGHT_TOO):
        predictors = s.predictors if name in s.predictors else (*predictors, name)
    weight = name if role in (WEIGHT, WEIGHT_TOO) else None if s.weight == name else s.weight
    unit = name if role == UNIT else None if s.unit_column == name else s.unit_column
    changed = choices.with_settings(
        predictors=predictors,
        categorical=tuple(each for each in s.categorical if each in predictors),
        weight=weight,
        unit_column=unit,
        strata=None if s.strata == name and role == SENSITIVE else s.strata,
    )
    return changed.by_rules(table)


def _added(choices: Choices, table: Table, name: str) -> Choices:
    """The variable as the last one, described from now on."""
    blocks = (*choices.described, opening_block(table, name))
    return choices.model_copy(update={"blocks": blocks}).describing(name)


def of_kind(choices: Choices, table: Table, name: str, kind: str) -> Choices:
    """Choices in which the model of a sensitive variable is one of the kind that was said of it: of categories, in an
    order or none, or of numbers. Categories that were declared are kept.
    """
    now = {block.name: block.model for block in choices.described}.get(name)
    wanted = OF_KINDS.get(kind)
    if now is None or now == wanted or (wanted is None and now not in OF_KINDS.values()):
        return choices
    found = OpeningModel(wanted) if wanted else opening_model(table, name)
    if name == choices.settings.outcome:
        return choices.with_settings(model=found.model, **found.options)
    block = next(each for each in choices.described if each.name == name)
    kept = {k: v for k, v in block.options.items() if wanted and k == "categories"}
    return with_block(choices, name, model=found.model, options=kept | found.options)


def without(choices: Choices, name: str) -> Choices:
    """This variable is sensitive no more."""
    left = tuple(block for block in choices.whole if block.name != name)
    if not left:
        raise InputError(f"'{name}' is the only sensitive variable: say first which other one is sensitive.")
    if choices.settings.outcome == name:
        choices = choices.describing(left[0].name)
    policy = choices.policy.limiting(name, None)
    if len(left) == 1:  # what is asked of all is asked of it
        policy = policy.model_copy(update={"by_variable": ()})
    return choices.model_copy(update={"blocks": left, "policy": policy})


def moved(choices: Choices, name: str, step: int) -> Choices:
    """Choices with this variable so many places later in the order of synthesis; earlier, if negative."""
    blocks = list(choices.whole)
    i = next(i for i, block in enumerate(blocks) if block.name == name)
    blocks.insert(max(i + step, 0), blocks.pop(i))
    return choices.model_copy(update={"blocks": tuple(blocks)})


def with_block(choices: Choices, name: str, **changes: object) -> Choices:
    """Choices with other declarations of a sensitive variable, such as its share of ε."""
    blocks = tuple(
        replace(block, **changes) if block.name == name else block  # type: ignore[arg-type]
        for block in choices.described
    )
    return choices.model_copy(update={"blocks": blocks})
