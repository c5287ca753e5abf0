"""Anchored censoring: where the anchor comes from, the constant weight c, and the prior (docs/methods/anchored.md).

Nothing here but a pilot reads the table's outcome: c and the prior come from tables simulated from the anchor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.risk_map import RiskMap
from synth_core.data.design import DesignTransform, select
from synth_core.engine.sampling import Diagnostics
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.bounds import lipschitz_bounds
from synth_core.mechanisms.censoring import IMPOSSIBLE, Censoring
from synth_core.models import Draws, Model, build_model
from synth_core.system import limits

Array = NDArray[np.float64]
Kind = Literal["guess", "pilot", "values", "release", "public", "historical"]

_TABLES = {  # what they are, and what follows for the people in them
    "release": ("the released data", " They were paid for when they were released."),
    "public": ("the public table", ""),
    "historical": (
        "the earlier table",
        " The people in that table are not covered by this ε, unless it is public or was paid for.",
    ),
}
AVERAGED = 20  # draws of another table's fit whose densities are averaged
CLAMPED_QUANTILE = 0.995  # of the simulated records, which c leaves unclamped
REAL_TAILS = 0.5  # the share of that c which is taken: real tails are longer than a model's
GUESS_RECORDS = 4.0  # records that a guess counts as in a prior
LEAST_RECORDS = 2.0  # for each column of the design, in what is learned: below it the result is refused
TABLE_RECORDS = (
    50.0  # that another table counts as, however large: a level may drift by a seventh of a deviation
)
SHARE_WARNED = 0.01  # of records ever clamped, above which another mode may open


@dataclass(frozen=True)
class Anchor:
    """A density that was fixed without the records whose terms it anchors.

    Attributes
    ----------
    kind : str
    name : str
        For the guarantee's text: what the anchor is, in words.
    after : str
        What follows for who is covered and for what it costs.
    draws : dict of arrays of shape (n_draws, ...)
        Parameter values; the anchor's density is the mean of theirs.
    transform : DesignTransform or None
        Predictors to the design that they live in; None is the table's own.
    """

    kind: Kind
    name: str
    draws: Draws
    transform: DesignTransform | None = None
    after: str = ""

    @property
    def sentence(self) -> str:
        """What it is, and who is covered, for the guarantee's explanation."""
        return f"It is anchored at {self.name}.{self.after}"

    def log_lik(self, fits: Fits, outcome: Array | None = None) -> Array:
        """Log-likelihood of the table's records under the anchor, or of other outcomes of theirs: (n_records,)."""
        model = self._model(fits, outcome)
        n, n_draws = model.records.n, _count(self.draws)
        found, step = np.empty(n), max(1, model.block_elements // n_draws)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            found[rows] = np.logaddexp.reduce(model.log_lik(self.draws, rows), axis=0) - np.log(n_draws)
        # A record that the anchor holds for impossible is clamped, by a rule that reads that record alone.
        return np.where(np.isfinite(found), found, IMPOSSIBLE)

    def simulate(self, fits: Fits, rng: np.random.Generator) -> Array:
        """One outcome of each record's predictors, drawn from the anchor."""
        which = int(rng.integers(_count(self.draws)))
        return self._model(fits).predict({name: values[which] for name, values in self.draws.items()}, rng)

    def _model(self, fits: Fits, outcome: Array | None = None) -> Model:
        if self.transform is None:
            records = fits.model.records
        else:
            s = fits.settings
            records = select(fits.table, s.outcome, s.predictors, s.categorical, self.transform).records
        if outcome is not None:
            records = records.with_outcome(outcome)
        return build_model(fits.settings.model, records, **fits.settings.model_options)


@dataclass(frozen=True)
class Anchored:
    """What anchored censoring needs for one table.

    Attributes
    ----------
    anchor : Anchor
    log_lik : array of shape (n_records,)
        Under the anchor, in nats.
    part : array of bool of shape (n_records,)
        The records that the fit reads; the others were a pilot's.
    weight : float
        c.
    prior_outcome : array of shape (n_records,), or None
        None where the model takes no prior from an anchor.
    prior_records : float
        How many records the prior from the anchor counts as.
    bound : float
        Of a term, in nats.
    pilot_weight, pilot_clamped : float
        c of the pilot, and the share of its records that were clamped at some draw.
    pilot_diagnostics : Diagnostics or None
    """

    anchor: Anchor
    log_lik: Array
    part: NDArray[np.bool_]
    weight: float
    prior_outcome: Array | None
    prior_records: float
    bound: float
    pilot_weight: float = 0.0
    pilot_clamped: float = 0.0
    pilot_diagnostics: Diagnostics | None = None

    @property
    def censoring(self) -> Censoring:
        """Of the fit."""
        return Censoring(self.bound, self.log_lik, self.prior_outcome, self.prior_records / len(self.log_lik))

    @property
    def worth(self) -> float:
        """How many records one draw of the fit tells of, beside its own anchor, to the prior of a later one.

        With J = c n records of its own and N in the prior, the draw less its anchor's share is an observation of
        variance (J + N) / J^2 in units of a record's.
        """
        own = self.weight * float(self.part.sum())
        return _rounded(own**2 / (own + self.prior_records))

    @property
    def tuned(self) -> dict[str, int | float]:
        """What was solved for, in numbers."""
        found: dict[str, int | float] = {"c": self.weight}
        if self.anchor.kind == "pilot":
            n = len(self.part)
            read = n - int(self.part.sum()) or n
            found |= {
                "pilot_c": self.pilot_weight,
                "pilot_records": read,
                "pilot_clamped": self.pilot_clamped,
            }
        return found


class Anchoring:
    """From a table, its settings and perhaps another table to `Anchored`.

    Parameters
    ----------
    other : Fits or RiskMap, optional
        Of the table that the anchor is fitted on.
    rng : callable
        Random numbers of a stream: secret in a release.
    """

    def __init__(self, fits: Fits, other: Fits | RiskMap | None, rng: Callable[..., np.random.Generator]):
        self.fits, self.other, self.rng = fits, other, rng
        self.settings = fits.settings

    @cached_property
    def found(self) -> Anchored:
        """Everything that the fit needs; costs a pilot's fit or the other table's, and fits to simulated tables."""
        model, s = self.fits.model, self.settings
        n = model.records.n
        model.require_anchor()
        if s.anchor_records and not model.takes_anchor_prior:
            raise InputError(
                f"{model.label}: it takes no prior from an anchor, so the anchor cannot count as {s.anchor_records:g} "
                f"records. Leave that number (--anchor-records) away."
            )
        if s.anchor == "pilot" or (s.anchor == "series" and self.other is None):  # the first of a series
            return self._after_pilot()
        if s.anchor == "values":
            anchor, worth = Anchor("values", "declared parameter values", self._declared()), GUESS_RECORDS
        else:
            anchor, worth = self._of_other(), TABLE_RECORDS
        records = s.anchor_records if s.anchor_records is not None else worth
        return self._complete(anchor, np.ones(n, dtype=bool), s.epsilon / 2, records)

    def _declared(self) -> Draws:
        given = self.settings.anchor_values or {}
        values = {name: np.asarray(value, dtype=float)[None] for name, value in given.items()}
        model = self.fits.model
        missing = [name for name in model.parameters if name not in values]
        if missing:
            raise InputError(
                f"The anchor's values lack {', '.join(missing)}: {model.label} needs {', '.join(model.parameters)}, "
                f"for the columns {', '.join(model.records.design_names)}."
            )
        chosen = {name: values[name] for name in model.parameters}
        if not model.accepts(chosen):
            raise InputError(
                f"The anchor's values are no parameters of {model.label} for these {model.records.design.shape[1]} "
                f"columns: {', '.join(model.records.design_names)}."
            )
        return chosen

    def _of_other(self) -> Anchor:
        other = self.other
        assert other is not None  # the analysis saw to it
        if isinstance(other, RiskMap):
            posterior, name, transform = other.posterior, other.name, other.transform
            kind: Kind = "historical"
        else:
            posterior, _ = other.unweighted("fitting the anchor")
            name, transform = other.table.name, other.selection.transform
            kind = self._kind(other.table.confidential)
        if posterior.diagnostics.problems:
            raise FitError(
                f"The fit to the anchor's table did not converge ({'; '.join(posterior.diagnostics.problems)})."
            )
        what, after = _TABLES[kind]
        return Anchor(kind, f"{what} {name}", posterior.thinned(AVERAGED), transform, after)

    def _kind(self, confidential: bool) -> Kind:
        """What a table is to the people in it."""
        if self.settings.anchor == "series" or self.settings.anchor.startswith("release:"):
            return "release"
        return "historical" if confidential and not self.settings.anchor.startswith("public:") else "public"

    def _after_pilot(self) -> Anchored:
        """A small fit on a part, anchored at the guess, one draw of which anchors the others."""
        s, model, n = self.settings, self.fits.model, self.fits.model.records.n
        if not model.takes_guess:
            raise InputError(
                f"{model.label}: a pilot starts from a guess, and it takes none. Name another anchor: a public table "
                f"(public:FILE), data that were released before (release:FILE), an earlier table (FILE, or the "
                f"reference), or values of its parameters (values:FILE); for the first release of a series, the "
                f"values or the reference."
            )
        if s.guess is None:
            raise InputError(
                "A pilot starts from a guess, made without looking at the table: a typical value and a spread (on the "
                "page Data, or --guess TYPICAL SPREAD). Or name another anchor."
            )
        guess = Anchor("guess", "a guess", model.guess(*s.guess, s.guess_zeros))
        if s.pilot_share == 0:
            plain = Anchor("values", f"a guess: about {s.guess[0]:g}, spread {s.guess[1]:g}", guess.draws)
            return self._complete(plain, np.ones(n, dtype=bool), s.epsilon / 2, GUESS_RECORDS)
        whole = s.pilot_share == 1
        bound = s.epsilon / (4 if whole else 2)  # the whole table twice, one after the other: half each
        # By row number alone, the same for everyone: who is in the pilot tells nothing.
        size = n if whole else max(1, round(s.pilot_share * n))
        chosen = np.zeros(n, dtype=bool)
        chosen[np.random.default_rng(20).permutation(n)[:size]] = True
        pilot = self._complete(guess, chosen, bound, GUESS_RECORDS)
        weights = np.where(chosen, pilot.weight, 0.0)
        posterior, key = self.fits.posterior(weights, pilot.censoring, "fitting the pilot")
        bounds = self.fits.bounds(posterior, key, weights, anchor=pilot.log_lik).lipschitz_bounds
        which = int(self.rng(51).integers(posterior.n_draws))
        words, after = (
            (f"a pilot on all {n:,} records, charged beside the release", " Each takes half of ε.")
            if whole
            else (
                f"a pilot on {size:,} of the {n:,} records, apart from the others",
                " A record enters one of the two, so together they cost the larger ε and not the sum.",
            )
        )
        draw = {name: values[[which]] for name, values in posterior.draws.items()}
        anchor = Anchor("pilot", words, draw, after=after)
        records = s.anchor_records if s.anchor_records is not None else pilot.worth
        rest = self._complete(anchor, np.ones(n, dtype=bool) if whole else ~chosen, bound, records)
        return replace(
            rest,
            pilot_weight=pilot.weight,
            pilot_clamped=float((bounds[chosen] > bound).mean()),
            pilot_diagnostics=posterior.diagnostics,
        )

    def _complete(
        self,
        anchor: Anchor,
        part: NDArray[np.bool_],
        bound: float,
        prior_records: float,
    ) -> Anchored:
        """c and the prior of a fit to a part, from a table simulated from its anchor."""
        model = self.fits.model
        if not model.takes_anchor_prior:
            prior_records = 0.0
        simulated = anchor.simulate(self.fits, self.rng(52, 3 if anchor.kind == "pilot" else 0))
        pilot = anchor.kind == "guess"
        weight = None if pilot else self.settings.anchor_weight
        if weight is None:
            weight = self._tuned(anchor, simulated, part, bound, prior_records)
        columns = model.records.design.shape[1] if model.uses_predictors else 1
        told, needed = weight * part.sum() + prior_records, LEAST_RECORDS * columns
        if told < needed and not pilot:
            raise InputError(
                _too_vague(anchor, self.settings.epsilon, int(part.sum()), columns, told / needed)
            )
        prior = simulated if model.takes_anchor_prior else None
        return Anchored(anchor, anchor.log_lik(self.fits), part, weight, prior, prior_records, bound)

    def _tuned(
        self,
        anchor: Anchor,
        simulated: Array,
        part: NDArray[np.bool_],
        bound: float,
        prior_records: float,
    ) -> float:
        """Half of the largest c that leaves nearly all records of a table simulated from the anchor unclamped."""
        fits = self.fits.simulated(simulated, chains=2, draws=500, warmup=300)
        n = fits.model.records.n
        at_anchor = anchor.log_lik(self.fits, simulated)
        prior = prior_records / n
        rows, none = np.flatnonzero(part), np.zeros(n)
        text = f"choosing the weight {'of the pilot' if anchor.kind == 'guess' else ''}".strip()

        def largest(c: float) -> float:
            """The quantile of max over draws of |log p(x | theta) - anchor|, times c, over the bound; its log."""
            if fits.model.takes_anchor_prior:
                # The simulated table as a prior and no record beside it: under the priors of an anchored fit.
                at = Censoring(bound, None, simulated, np.where(part, prior + c, prior))
                posterior, _ = fits.posterior(none, at, text)
            else:
                posterior, _ = fits.posterior(np.where(part, c, 0.0), None, text)
            found = lipschitz_bounds(
                lambda block: fits.model.log_lik(posterior.draws, rows[block]) - at_anchor[rows[block]],
                len(rows),
                posterior.n_draws,
                block_elements=fits.model.block_elements,
            ).lipschitz_bounds
            return float(np.log(c * np.quantile(found, CLAMPED_QUANTILE) / bound))

        log_c, excess = 0.0, largest(1.0)
        if excess <= 0:
            return REAL_TAILS
        slope = 0.5  # of log excess on log c, where the data decide
        for _ in range(4):
            previous = log_c, excess
            log_c = min(0.0, log_c - excess / slope)
            excess = largest(math.exp(log_c))
            if abs(excess) < 0.1:
                break
            if log_c != previous[0]:
                slope = float(np.clip((excess - previous[1]) / (log_c - previous[0]), 0.3, 1.2))
        return _rounded(REAL_TAILS * math.exp(log_c - max(excess, 0.0) / slope))


def _rounded(value: float) -> float:
    """To three digits: enough for a weight, and the same in any unit."""
    return float(f"{value:.3g}")


def _count(draws: Draws) -> int:
    return len(next(iter(draws.values())))


def clamped_warning(clamped: int, n_records: int) -> str:
    """What too many clamped records mean; empty where they are few."""
    if clamped <= SHARE_WARNED * n_records:
        return ""
    return (
        f"{clamped / n_records:.1%} of the records were clamped at some draw: above {SHARE_WARNED:.0%} the fit may sit "
        f"in a mode of its own. Lower the weight c"
    )


def _too_vague(anchor: Anchor, epsilon: float, n: int, columns: int, short: float) -> str:
    # c grows with the square of epsilon and with n, so what is told of the table with n squared.
    enough = epsilon / np.sqrt(short)
    return (
        f"At ε = {epsilon:g}, {n:,} records and {columns} columns of predictors there is too little to learn from: "
        f"beside {anchor.name} the records would count as fewer than two for each column. About ε = {enough:.2g}, "
        f"or {n / np.sqrt(short):,.0f} records, would do; or fewer predictors, or an anchor from a larger table."
    )


def read_anchor_values(path: Path) -> dict[str, float | tuple[float, ...]]:
    """Parameter values from a JSON file {"beta": [...], "sigma": ...}; raises InputError."""
    try:
        if path.stat().st_size > limits.MAX_SETTINGS_BYTES:
            raise InputError(f"The anchor's values in {path} are larger than any that this program needs.")
        found = json.loads(path.read_text(encoding="utf-8"))
        values = {str(k): tuple(map(float, v)) if isinstance(v, list) else float(v) for k, v in found.items()}
        if not all(np.isfinite(value).all() for value in values.values()):
            raise ValueError
        return values
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"The anchor's values in {path} are not a JSON object of numbers, such as "
            f'{{"beta": [3.5, 0], "sigma": 0.8}}.'
        ) from None
