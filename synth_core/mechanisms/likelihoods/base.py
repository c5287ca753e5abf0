"""A likelihood, one axis of the product space: what the posterior is conditioned on, and what that promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.guarantees import Guarantee


@dataclass(frozen=True)
class NamedPoint:
    """A point of the product space that has a name of its own: a weighting scheme under the value that names it."""

    key: str
    label: str
    scheme: str = "none"


class Fit(Protocol):
    """What a likelihood may read to say how the terms of one fit are clamped."""

    @property
    def epsilon(self) -> float:
        """ε of the setting."""

    @property
    def n_records(self) -> int:
        """Records of the fit."""

    @property
    def anchored(self) -> Censoring | None:
        """What the analysis clamps around its anchor; given only to a likelihood that `anchors`."""


@dataclass(frozen=True)
class Likelihood:
    """A likelihood: everything that callers ask of it, said once.

    Attributes
    ----------
    label : str
        In menus and reports.
    plain : str
        What it does to the records, in a few words for who has not read the papers; empty where nothing.
    guarantee : Guarantee, optional
        With ε as set, and no weights. None: ε is measured, and the privacy standard names the guarantee.
    weighted_guarantee : Guarantee, optional
        With weights that were fixed without the table.
    clamp : callable, optional
        How the terms of a fit are clamped; None where they are not.
    no_weights, no_range : str
        Why weights, or a sensitive range, cannot be composed with it: a sentence; empty where they can.
    settings : frozenset of str
        The settings that move it, beside ε.
    declared : frozenset of str
        Of them, those that are declared for one table, or known without reading this one.
    anchors : bool
        Whether an anchor enters, and with it perhaps another table.
    samples : bool
        Whether synthetic values are drawn from a sampled posterior of the model. Else an engine of
        `analysis.engines` makes them, and there are no weights, bounds or draws of parameters.
    model : str
        What stands in the place of the model in reports, where none is sampled.
    method : str
        What is done, in reports, where no model is sampled.
    one_variable : str
        What of it is about one sensitive variable, such as "its sensitive range"; empty where it takes several.
    needs_bounds : bool
        Whether the sensitive variable needs declared bounds.
    seconds : float, optional
        Rough time of one synthesis, where no fit decides it.
    combining : tuple of str
        The combining rules (`analysis.combining`) by which intervals hold, of one and of several data sets, where
        no records are weighted; empty where none was seen to (docs/methods/coverage.md).
    named : tuple of NamedPoint
        Its points that have a name of their own.
    """

    key: str
    label: str
    plain: str = ""
    guarantee: Guarantee | None = None
    weighted_guarantee: Guarantee | None = None
    clamp: Callable[[Fit], Censoring | None] | None = None
    no_weights: str = ""
    no_range: str = ""
    settings: frozenset[str] = frozenset()
    declared: frozenset[str] = frozenset()
    anchors: bool = False
    samples: bool = True
    model: str = ""
    method: str = ""
    one_variable: str = ""
    needs_bounds: bool = False
    seconds: float | None = None
    combining: tuple[str, str] = ("", "")
    named: tuple[NamedPoint, ...] = ()

    @property
    def clamps(self) -> bool:
        """Whether every term of the likelihood is clamped."""
        return self.clamp is not None

    @property
    def epsilon_by_construction(self) -> bool:
        """Whether ε is set, and kept by construction once the weights are given; else it is measured."""
        return self.guarantee is not None

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees that it names."""
        return tuple(each for each in (self.guarantee, self.weighted_guarantee) if each is not None)
