"""What a weighting scheme is: a function from what is known of the records' risk to their weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Records = NDArray[np.int64]  # by their places in the table


class Evidence(Protocol):
    """What a scheme may read; each is computed when it is first asked for.

    Under a frozen risk map all of it but `outcome` comes from the map's table, so that a record's
    weight depends on that record alone (PPM, Assumptions 1 and 2).
    """

    @property
    def outcome(self) -> Array:
        """x of the records to be weighted, of shape (n_records,), in the analyst's unit."""

    @property
    def counted(self) -> Array:
        """Values of the table that the risk is measured on, of shape (n_reference,)."""

    @property
    def max_abs_log_lik(self) -> Array:
        """f_i = max over draws of |log p(x_i | theta)| of the unweighted fit, of shape (n_records,), in nats."""

    @property
    def oscillation(self) -> Array:
        """max over draws of log p(x_i | theta) minus min, of the unweighted fit, of shape (n_records,), in nats."""

    def span_of(self, measure: str) -> tuple[float, float] | None:
        """Smallest and largest of a measure (`max_abs_log_lik` or `oscillation`), declared or frozen with a map.

        None takes them from the records.
        """

    @property
    def lipschitz_bound(self) -> float:
        """Delta of the unweighted fit, in nats."""


@dataclass(frozen=True)
class Scheme:
    """A weighting scheme.

    Attributes
    ----------
    label, short : str
        In menus, and in the name of a composed mechanism.
    plain : str
        What it does to the records, in a few words for who has not read the papers: "isolated records count less".
    alpha : callable
        Given the evidence, and as keywords the settings that it names: the weights, of shape (n_records,)
        in [0, 1]. Of a scheme that is `single`, the one weight of all records.
    single : bool
        Whether one number weights every record: it is reported, matched and frozen as a number.
    counts : bool
        Whether it reads `Evidence.counted`, which a frozen risk map then has to keep.
    measure : str, optional
        The measure that it rescales by the records' own span, which may be declared instead.
    influential : callable, optional
        Of the evidence: which records' leaving moves the weights of others, the posterior held. None: any may.
    """

    label: str
    short: str
    alpha: Callable[..., Array] | Callable[..., float] | None
    single: bool = False
    counts: bool = False
    measure: str | None = None
    influential: Callable[[Evidence], Records] | None = None
    plain: str = ""

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The settings that `alpha` names."""
        if self.alpha is None:
            return frozenset()
        parameters = inspect.signature(self.alpha).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    @property
    def settings(self) -> frozenset[str]:
        """The settings that move the weights: those that `alpha` names, and the span of what it rescales."""
        return self.keywords | {"risk_span"} if self.measure else self.keywords
