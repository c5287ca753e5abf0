"""An ordered list of sensitive variables, and the settings that each of them is fitted under."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from synth_core.analysis.presence import PRESENCE, missing_name
from synth_core.analysis.settings import MODEL_OPTIONS, Settings, make_settings
from synth_core.data.earlier_variable import EarlierVariable
from synth_core.data.rules import read_rules
from synth_core.errors import InputError
from synth_core.models import MODELS, OF_CATEGORIES, family
from synth_core.system import limits
from synth_core.system.number_text import rounded_up, significant

MISSING_SHARE = 0.2  # of a variable's epsilon, for whether it is missing: one logit needs less than a value
OF_A_VARIABLE = frozenset({"outcome", "model", "program", "earlier"})
OPTIONS = frozenset(MODEL_OPTIONS - {"program"} | {"guess", "guess_zeros", "anchor_weight", "anchor_records"})


@dataclass(frozen=True)
class Block:
    """A sensitive variable, its family, and what was declared of it.

    Attributes
    ----------
    name : str
    model : str
    options : dict
        Settings of the family and of its pilot's guess; see `OPTIONS`.
    missing : tuple of str, or None
        Texts that mark a missing value beside an empty cell. None: the variable has no missing values of its own, and
        a row where it is empty is left out.
    earlier_scale : float or None
        x enters later blocks as asinh(x / earlier_scale); None takes the asinh scale of the family, else its unit.
    share : float or None
        Of epsilon; None divides what is left equally.
    """

    name: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] | None = None
    earlier_scale: float | None = None
    share: float | None = None


@dataclass(frozen=True)
class Part:
    """What is fitted at once: the values of a variable, or whether it is missing.

    Attributes
    ----------
    block : Block
    settings : Settings
        Of its own analysis, with its share of epsilon and a seed of its own.
    share : float
    of_missing : bool
    """

    block: Block
    settings: Settings
    share: float
    of_missing: bool

    @property
    def name(self) -> str:
        """The column that it models."""
        return self.settings.outcome


def common_of(settings: Settings) -> dict[str, Any]:
    """What all blocks have of settings: everything but the variable, its family and what is declared of it."""
    return settings.model_dump(exclude=set(OF_A_VARIABLE | OPTIONS - {"prior_scale"}))


def settings_alone(block: Block) -> Settings:
    """What is declared of a block alone, as settings: its options may still be texts; raises InputError."""
    return make_settings(outcome=block.name, model=block.model, **block.options)


def settings_of_first(blocks: Sequence[Block], common: dict[str, Any]) -> Settings:
    """What all blocks have, with all of epsilon, naming the first one; raises InputError as `parts_of` does."""
    parts_of(blocks, common)
    first = blocks[0]
    return make_settings(**common | {"outcome": first.name, "model": first.model, **first.options})


def with_shares(blocks: Iterable[Block], shares: Mapping[str, float]) -> tuple[Block, ...]:
    """The blocks with these shares of epsilon, by their names; the others keep theirs."""
    return tuple(replace(block, share=shares.get(block.name, block.share)) for block in blocks)


def shares_of(blocks: Sequence[Block]) -> list[float]:
    """The share of epsilon of each block.

    Raises
    ------
    InputError
        If a share is not positive, or they do not sum to 1.
    """
    given = [block.share for block in blocks if block.share is not None]
    if any(not (math.isfinite(share) and share > 0) for share in given):
        raise InputError("A share of ε must be above 0 (--share).")
    left, n_left = 1.0 - sum(given), len(blocks) - len(given)
    if n_left == 0 and abs(left) > 1e-9:
        raise InputError(f"The shares of ε must sum to 1, and they sum to {sum(given):g} (--share).")
    if n_left and left <= 1e-9:
        missing = ", ".join(f"'{block.name}'" for block in blocks if block.share is None)
        raise InputError(
            f"The shares of ε sum to {sum(given):g}, and nothing is left for {missing} (--share): they must sum to 1."
        )
    return [left / n_left if block.share is None else block.share for block in blocks]


def parts_of(blocks: Sequence[Block], common: dict[str, Any]) -> tuple[Part, ...]:
    """What is fitted, in order: of a variable that may be missing first whether it is, then its value.

    Where a rule says which records lack a value, that is not fitted.

    Parameters
    ----------
    common : dict
        Settings that all have, such as predictors, epsilon and seed.

    Raises
    ------
    InputError
        Naming the block and the rule.
    """
    _check(blocks, common)
    public = common.get("predictors", ())
    known = {
        rule.column for rule in read_rules(common.get("rules", ())) if rule.exactly and rule.decides(public)
    }
    parts: list[Part] = []
    earlier: tuple[EarlierVariable, ...] = ()

    def add(block: Block, share: float, of_missing: bool, **own: Any) -> Settings:
        total = common.get("epsilon", Settings.model_fields["epsilon"].default)
        epsilon = share * total
        if math.isclose(epsilon, limits.EPSILON[0]):  # a third of 0.03 is short of 0.01 by its last bits
            epsilon = limits.EPSILON[0]
        # Whether a part can be fitted under so little is asked of who fits it, see `require_division`.
        place = {"epsilon": max(epsilon, limits.EPSILON[0]) if total >= limits.EPSILON[0] else epsilon}
        place |= {"seed": _seed(common.get("seed", Settings.model_fields["seed"].default), len(parts))}
        try:
            settings = make_settings(**common | {"earlier": earlier} | own | place)
        except InputError as error:
            raise InputError(f"Block '{block.name}': {error}") from None
        settings = settings.model_copy(update={"epsilon": epsilon})
        parts.append(Part(block, settings, share, of_missing))
        return settings

    for block, share in zip(blocks, shares_of(blocks), strict=True):
        value_share = share
        if block.missing is not None and block.name not in known:
            add(
                block,
                MISSING_SHARE * share,
                True,
                outcome=missing_name(block.name),
                model=OF_CATEGORIES,
                categories=PRESENCE,
            )
            value_share = (1 - MISSING_SHARE) * share
        settings = add(block, value_share, False, outcome=block.name, model=block.model, **block.options)
        earlier = (*earlier, _earlier(block, settings))
    return tuple(parts)


def require_division(parts: Sequence[Part]) -> None:
    """Refuse an epsilon of which a part would be fitted under less than can be; raises InputError."""
    total = sum(part.settings.epsilon for part in parts)
    for part in parts:
        own = part.settings.epsilon
        if own < limits.EPSILON[0]:
            enough = rounded_up(limits.EPSILON[0] / part.share, 3)
            raise InputError(
                f"Block '{part.block.name}': An ε of {significant(total)} for a record leaves {significant(own)} for "
                f"it, and the least is {limits.EPSILON[0]:g}: take an ε of {enough} or more, or a larger share."
            )


def _earlier(block: Block, settings: Settings) -> EarlierVariable:
    """How later blocks see a variable: by what was declared of it."""
    usual = settings.asinh_scale if settings.transformation == "asinh" else settings.unit
    return EarlierVariable(
        block.name,
        settings.outcome_categories or (),
        block.earlier_scale or usual,
        family(block.model).has_zeros(settings.options) or settings.bracket_edges.count(0.0) == 2,
        block.missing is not None,
    )


def as_predictors(parts: Sequence[Part]) -> tuple[EarlierVariable, ...]:
    """How each variable enters a design, in order."""
    return tuple(_earlier(part.block, part.settings) for part in parts if not part.of_missing)


def _seed(seed: int, place: int) -> int:
    """Independent draws in each block: the same seed would make like blocks move together."""
    return seed if place == 0 else int(np.random.SeedSequence([seed, place]).generate_state(1)[0] >> 1)


def _check(blocks: Sequence[Block], common: dict[str, Any]) -> None:
    names = [block.name for block in blocks]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"The block '{name}' is named twice. Blocks stand in one order, each conditional on those before it, "
                f"so a variable stands there once."
            )
        if name in common.get("predictors", ()):
            raise InputError(
                f"'{name}' is a sensitive block and a predictor too. Predictors are public and kept as they are; a "
                f"later block is conditional on the earlier ones by itself."
            )
    for block in blocks:
        if block.model not in MODELS:
            raise InputError(
                f"Block '{block.name}': there is no model '{block.model}'; there are: {', '.join(MODELS)}."
            )
        unknown = sorted(block.options.keys() - OPTIONS)
        if unknown:
            raise InputError(
                f"Block '{block.name}': '{unknown[0]}' is no option of a block; there are: "
                f"{', '.join(sorted(OPTIONS))}, missing and earlier_scale."
            )
        uses = MODELS[block.model].uses
        if "bracket_edges" in uses and len(block.options.get("bracket_edges", ())) < 3:
            raise InputError(
                f"Block '{block.name}': declare the edges of its brackets, three or more (bracket_edges=…). Take them "
                f"from knowledge of the variable and not from the table."
            )
        if "categories" in uses and len(block.options.get("categories", ())) < 2:
            raise InputError(
                f"Block '{block.name}': declare its categories, two or more (categories=…). Take them from the "
                f"questionnaire and not from the table: which of them occur is confidential."
            )
        if block.earlier_scale is not None and not (
            math.isfinite(block.earlier_scale) and block.earlier_scale > 0
        ):
            raise InputError(f"Block '{block.name}': earlier_scale must be above 0.")


def scales_in_words(scales: list[tuple[str, str]]) -> str:
    """The scales on which densities of parts are taken, from their names and scales, each scale once.

    Examples
    --------
    >>> scales_in_words([("sex", "probability"), ("pay", "density per 1"), ("work", "probability")])
    'probability (sex, work); density per 1 (pay)'
    """
    names: dict[str, list[str]] = {}
    for name, scale in scales:
        names.setdefault(scale, []).append(name)
    return "; ".join(f"{scale} ({', '.join(those)})" for scale, those in names.items())
