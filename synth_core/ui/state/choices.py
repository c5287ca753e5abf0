"""What one browser has chosen, as one frozen value, and what a newcomer starts with.

A choice may be half-made (one of two bounds, a threshold without its map), so nothing is validated
here but types; `Choices.checked` gives validated settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from synth_core.analysis.opening import opening_of
from synth_core.analysis.policy import Policy
from synth_core.analysis.records.blocks import OPTIONS, Block
from synth_core.analysis.settings import MODEL_OPTIONS, OF_A_SURVEY, Settings, make_settings
from synth_core.data.declared import declared_rules
from synth_core.data.rules import read_rules
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import MECHANISMS
from synth_core.models import OwnProgram, family
from synth_core.release.plan.settings_file import Scenario
from synth_core.system import limits

FIRST_EXAMPLE = "401ksubs"
USUAL_MECHANISMS, OPENING_EPSILON = ("unweighted", "weighted", "measured"), 1.0  # the last one is strict
MAPPED = ("unweighted", "weighted", "exponential", "count_weighted")  # at first, on the map
MAY_BE_NONE = {
    "settings.match_epsilon",
    "settings.weight",
    "settings.unit_column",
    "settings.strata",
    "settings.weight_total",
    "settings.anchor_weight",
    "settings.anchor_records",
    "explore.same",
    "lower_bound",
    "upper_bound",
    "guess_typical",
    "guess_spread",
    "span_low",
    "span_high",
    "policy.epsilon",
    "policy.percent",
    "beside",
    "group_by",
}
OF_A_PILOT = {"guess", "guess_zeros", "anchor_weight", "anchor_records"}
Grid = tuple[float, float, int]  # from, to, steps
# Settings that speak of one table; another one starts with their defaults.
FRESH = (MODEL_OPTIONS - {"program"}) | {
    "categorical",
    *OF_A_SURVEY,
    "anchor",
    "anchor_values",
    "guess_zeros",
    "pilot_share",
    "counts_share",
    "count_together",
    "choose_more",
}


class Sweeps(BaseModel):
    """The grid of each setting that the page Find settings can sweep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scale: Grid = (0.1, 2.0, 13)
    shift: Grid = (0.0, 0.3, 4)
    epsilon: Grid = (0.25, 16.0, 13)
    radius: Grid = (0.1, 0.5, 3)
    range_a: Grid = (0.2, 0.8, 3)
    range_b: Grid = (1.2, 2.4, 3)


class ExploreChoices(BaseModel):
    """What the page Find settings asks for; at first forty points on the first example."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanisms: tuple[str, ...] = MAPPED
    swept: tuple[str, ...] = ("scale", "epsilon")
    sweeps: Sweeps = Sweeps()
    measure: str = "ecdf_max"
    percentile: int = 90
    question: Literal["accuracy", "epsilon", "same"] = "accuracy"
    difference: float = 0.05  # largest difference of distribution functions
    squared: float = 0.001  # average squared difference
    percent: float = 5.0  # relative error
    share: int = 90  # percent of releases in which the accuracy is to hold
    target: float = 4.0  # epsilon
    same: str | None = None  # the mechanism whose epsilon is to be reached
    divided: bool = False  # of whole records: ε is divided among the variables before it is searched for
    accuracies: tuple[tuple[str, float], ...] = ()  # of whole records: the difference asked of each variable
    rivals: tuple[str, ...] = ()  # other synthesizers beside the map
    rival_runs: int = limits.RIVAL_RUNS  # of each at each epsilon
    rival_budget: Literal["rho", "epsilon"] = "rho"  # what an epsilon of the map is for them
    edges: tuple[float, ...] = ()  # of their bins, declared
    edges_of: str = ""  # the variable that they are of

    def edges_for(self, outcome: str) -> tuple[float, ...]:
        """The edges that were declared of this variable."""
        return self.edges if self.edges_of == outcome else ()


class Choices(BaseModel):
    """Everything that one browser has chosen.

    Attributes
    ----------
    settings : Settings
        As chosen and not validated. Its pairs (bounds, guess, span) and risk reference are not read: see `checked`.
    mechanisms, composed : tuple of str
        Those compared, and those that were composed here.
    lower_bound, upper_bound : float or None
        Declared bounds of the outcome; they count once both are there.
    guess_typical, guess_spread : float or None
        What a pilot starts from; they count once both are there.
    span_low, span_high : float or None
        Declared span of the risk; it counts once both are there, and where no reference table gives one.
    program_draft : str
        What stands in the editor of own programs (page Help).
    policy : Policy
        The rule that each row of Compare is held against.
    scenarios, beside : tuple of Scenario, str or None
        Those that were pinned, of unlike names, and the name of the one that is shown beside the present choices.
    blocks : tuple of Block
        All sensitive variables of whole records, in the order of synthesis. Of the one that the settings name, order,
        share and missing values count here, and its model there: see `whole`. Empty: there is that one only, which no
        rule decides and which is in every record.
    group_by, group_statistic : str or None, str
        The predictor within whose groups accuracy is shown, and the statistic that it is shown of.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    settings: Settings
    mechanisms: tuple[str, ...] = ("unweighted", "weighted")
    composed: tuple[str, ...] = ()
    lower_bound: float | None = None
    upper_bound: float | None = None
    guess_typical: float | None = None
    guess_spread: float | None = None
    span_low: float | None = None
    span_high: float | None = None
    program_draft: str = ""
    policy: Policy = Policy()
    scenarios: tuple[Scenario, ...] = ()
    beside: str | None = None
    blocks: tuple[Block, ...] = ()
    group_by: str | None = None
    group_statistic: str = "median"
    explore: ExploreChoices = ExploreChoices()

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The declared bounds of the outcome, once both are declared."""
        return _both(self.lower_bound, self.upper_bound)

    @property
    def guess(self) -> tuple[float, float] | None:
        """A typical value and a spread, once both are given."""
        return _both(self.guess_typical, self.guess_spread)

    @property
    def span(self) -> tuple[float, float] | None:
        """Smallest and largest risk, once both are declared."""
        return _both(self.span_low, self.span_high)

    @property
    def whole(self) -> tuple[Block, ...]:
        """The blocks of whole records as they are described now; see `blocks`."""
        if all(block.name != self.settings.outcome for block in self.blocks):
            return ()
        return tuple(self._described(b) if b.name == self.settings.outcome else b for b in self.blocks)

    def _described(self, block: Block) -> Block:
        """A block with the model and the options that the settings hold."""
        kept = self.settings.model_copy(update={"bounds": self.bounds, "guess": self.guess})
        uses = family(kept.model).uses | OF_A_PILOT
        uses |= {"bracket_edges"} if kept.reads_counts else set()  # what a number is counted by
        uses |= set() if "categories" in uses else {"bounds"}  # of any number: none is released beyond them
        options = {name: getattr(kept, name) for name in uses & OPTIONS}
        usual = {name: Settings.model_fields[name].default for name in options}
        return replace(block, model=kept.model, options={k: v for k, v in options.items() if v != usual[k]})

    def describing(self, name: str) -> Choices:
        """Choices with the same blocks, and the settings of another of them."""
        kept = self.model_copy(update={"blocks": self.whole})
        block = next(each for each in self.blocks if each.name == name)
        given = {k: Settings.model_fields[k].default for k in OPTIONS - {"prior_scale"}} | block.options
        bounds, guess = given.pop("bounds"), given.pop("guess")
        chosen = kept.with_settings(outcome=name, model=block.model, **given)
        return chosen.model_copy(update=pairs(bounds, guess))

    def with_settings(self, **changes: Any) -> Choices:
        """Choices with other settings, not validated; a guess says the same of the variable under another model."""
        changed = self.settings.model_copy(update=changes)
        return self.model_copy(update={"settings": changed} | self._guess_under(changed))

    def with_bounds(self, bounds: tuple[float, float] | None) -> Choices:
        """Choices with other bounds of the outcome, or with none."""
        lower, upper = bounds or (None, None)
        return self.model_copy(update={"lower_bound": lower, "upper_bound": upper})

    def _guess_under(self, changed: Settings) -> dict[str, float | None]:
        """What the guess of the same half of all values is under another model: none where that has no such half."""
        if self.guess is None or changed.outcome != self.settings.outcome:
            return {}
        before, after = family(self.settings.model), family(changed.model)
        half = before.half_of_guess(self.settings.options, *self.guess)
        size = max(map(abs, half))  # the last digits of one and the same half may differ from call to call
        if np.allclose(half, after.half_of_guess(changed.options, *self.guess), rtol=0, atol=1e-9 * size):
            return {}
        try:
            typical, spread = after.guess_of_half(changed.options, *as_typed(half))
        except InputError:
            return {"guess_typical": None, "guess_spread": None}
        held = spread <= after.widest_spread
        return {"guess_typical": typical if held else None, "guess_spread": spread if held else None}

    @property
    def described(self) -> tuple[Block, ...]:
        """Every sensitive variable as it is described now, a single one too."""
        return self.whole or (self._described(Block(self.settings.outcome, self.settings.model)),)

    def by_rules(self, table: Table) -> Choices:
        """Choices in which what a rule decides is of whole records, and may be missing where a rule says it is.

        A single variable that needs neither is of the settings alone, which every mechanism takes.
        """
        blocks = self.described
        rules = read_rules(declared_rules(table.codebook, [b.name for b in blocks], self.settings.rules))
        absent = {rule.column for rule in rules if rule.missing}
        blocks = tuple(
            replace(block, missing=()) if block.name in absent and block.missing is None else block
            for block in blocks
        )
        if len(blocks) == 1:
            alone = replace(blocks[0], share=None)  # all of ε
            blocks = (alone,) if rules or alone.missing is not None else ()
        return self if blocks == self.whole else self.model_copy(update={"blocks": blocks})

    @property
    def shown_beside(self) -> Scenario | None:
        """The scenario that is shown beside the present choices."""
        return next((each for each in self.scenarios if each.name == self.beside), None)

    def with_mechanisms(self, *keys: str) -> Choices:
        """These mechanisms; those that no paper names stay on offer."""
        composed = dict.fromkeys((*self.composed, *(key for key in keys if key not in MECHANISMS)))
        return self.model_copy(update={"mechanisms": tuple(keys), "composed": tuple(composed)})

    def for_table(
        self,
        changes: dict[str, Any],
        bounds: tuple[float, float] | None = None,
        guess: tuple[float, float] | None = None,
    ) -> Choices:
        """The choices that outlast a table, with the columns and the model of another one."""
        fresh = {name: Settings.model_fields[name].default for name in FRESH}
        chosen = self.with_settings(**fresh | changes)
        explore = chosen.explore.model_copy(update={"edges": (), "edges_of": ""})
        policy = chosen.policy.model_copy(update={"by_variable": ()})
        fresh_parts = {"group_by": None, "blocks": (), "explore": explore, "policy": policy}
        return chosen.model_copy(update=pairs(bounds, guess) | fresh_parts)

    def opening(self, table: Table) -> Choices:
        """The choices that outlast a table, with the variables and models that another one opens with."""
        found = opening_of(table)
        chosen = self.for_table(found.settings, found.bounds)
        explore = chosen.explore
        if explore.mechanisms == MAPPED:  # nobody chose them: a map begins with what Compare has
            explore = explore.model_copy(update={"mechanisms": chosen.mechanisms})
        return chosen.model_copy(update={"blocks": found.blocks, "explore": explore}).by_rules(table)

    def checked(self, reference: str = "current", confidential: bool = True, **changes: Any) -> Settings:
        """The choices as validated settings.

        Parameters
        ----------
        reference : str
            Name of the table that the risk map is frozen on.
        confidential : bool
            Of the table: its bounds are then declared, never taken from it.
        changes
            Settings that differ from the choices.

        Raises
        ------
        InputError
            That names the setting and the rule.
        """
        declared = {"bounds": self.bounds, "guess": self.guess, "risk_reference": reference}
        declared["risk_span"] = self.span if reference == "current" else None
        values = self.settings.model_dump() | declared | changes
        if values["anchor"] != "values":
            values["anchor_values"] = None  # they came with settings whose anchor was changed since
        if values["model"] != OwnProgram.name:
            values["program"] = None  # kept among the choices for when it is chosen again
        if values["weight"] is None:
            values |= {"weight_total": None, "strata": None, "accuracy_of": "sample"}  # likewise
        if values["unit_column"] is None:
            values["unit_size"] = 1
        chosen = family(values["model"])
        if not chosen.takes_anchor_prior:
            values["anchor_records"] = None  # likewise
        if chosen.needs_bounds and values["bounds"] is None and confidential:
            raise InputError(
                f"The {chosen.label} model needs declared bounds of '{values['outcome']}'; give them on the "
                f"Data page."
            )
        return make_settings(**values)


def as_typed(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends as they were typed: of their way through a model's scale eight digits are left, and of a zero none."""
    size = max(map(abs, ends))
    low, high = (0.0 if abs(end) < 1e-8 * size else float(f"{end:.8g}") for end in ends)
    return low, high


def _both(first: float | None, second: float | None) -> tuple[float, float] | None:
    """A pair once it is whole."""
    return None if first is None or second is None else (first, second)


def pairs(
    bounds: tuple[float, float] | None,
    guess: tuple[float, float] | None,
    span: tuple[float, float] | None = None,
) -> dict[str, float | None]:
    """Bounds, a guess and a span of the risk as the choices hold them."""
    lower, upper = bounds or (None, None)
    typical, spread = guess or (None, None)
    low, high = span or (None, None)
    return {
        "lower_bound": lower,
        "upper_bound": upper,
        "guess_typical": typical,
        "guess_spread": spread,
        "span_low": low,
        "span_high": high,
    }


def value_at(choices: Choices, place: str) -> Any:
    """What stands at a place, such as "settings.scale", "mechanisms" or "settings.range.0"."""
    value: Any = choices
    for name in place.split("."):
        value = value[int(name)] if isinstance(value, tuple) else getattr(value, name)
    return value


def replaced(choices: Any, place: str, value: Any) -> Any:
    """Choices with another value at a place; a list, as widgets give it, becomes a tuple."""
    name, _, rest = place.partition(".")
    if isinstance(choices, tuple):
        items, i = list(choices), int(name)
        items[i] = replaced(items[i], rest, value) if rest else value
        return tuple(items)
    old = getattr(choices, name)
    new = replaced(old, rest, value) if rest else tuple(value) if isinstance(value, list) else value
    if isinstance(old, Settings) and rest:
        changed = rest.partition(".")[0]
        return choices.with_settings(**{changed: getattr(new, changed)})
    return choices.model_copy(update={name: new})


def may_be_none(place: str) -> bool:
    """Whether an empty widget is a choice of its own at this place."""
    return place in MAY_BE_NONE
