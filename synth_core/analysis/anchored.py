"""What an anchored fit needs: its anchor, the weight c and the prior; perhaps after a pilot (docs/methods/anchored.md).

Nothing here but a pilot reads the table's outcome: c and the prior come from tables simulated from the anchor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.anchor import AVERAGED, Anchor, anchor_of_table, declared_anchor
from synth_core.analysis.anchor_weight import anchor_weight, normal_draws, rounded
from synth_core.analysis.counts import (
    counting_model,
    greatest_share,
    noisy_margins,
    shares_given,
    spread_draws,
    within_brackets,
)
from synth_core.analysis.fits import Fits
from synth_core.analysis.requirements import UNSAID, require_anchor, require_pilot
from synth_core.analysis.risk_map import RiskMap
from synth_core.data.survey_weights import effective_records
from synth_core.data.units import whole_unit_rows
from synth_core.engine.sampling import Diagnostics
from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Draws
from synth_core.models.bracketed import Bracketed
from synth_core.system import limits
from synth_core.system.number_text import ceiling, percent

Array = NDArray[np.float64]

GUESS_RECORDS = 4.0  # records that a guess counts as in a prior
TABLE_RECORDS = (
    50.0  # that another table counts as, however large: a level may drift by a seventh of a deviation
)
LEAST_RECORDS = 2.0  # for each parameter, in what is learned: below it the result is refused
PILOT_ROWS = 20  # seed of who is in a pilot
PILOT_SEED = 7  # added to the seed of the sampler
SHARE_WARNED = 0.01  # of records ever clamped, above which another mode may open


@dataclass(frozen=True)
class Anchored:
    """What anchored censoring needs for one table.

    Attributes
    ----------
    anchor : Anchor
    log_lik : array of shape (n_records,)
        Under the anchor, in nats.
    rows : array of bool of shape (n_rows,)
        The rows of the table that the fit reads, missing values too; the others were a pilot's.
    part : array of bool of shape (n_records,)
        The same of the records.
    weight : float
        c.
    prior_outcome : array of shape (n_records,), or None
        None where the model takes no prior from an anchor.
    prior_design : array of shape (n_prior, n_columns), or None
        Of the outcomes of the prior, where the design of the table is sensitive too; else None.
    n_read : int
        How many records the fit reads; where the design is sensitive, as many as of its surrogate; with survey weights
        as many of equal weight as tell as much.
    prior_records : float
        How many records the prior from the anchor counts as.
    bound : float
        Of a term, in nats.
    counts_worth : float
        How many records noisy counts of the table tell as much as.
    pilot_weight, pilot_clamped : float
        c of the pilot, and the share of its records that were clamped at some draw.
    pilot_diagnostics : Diagnostics or None
    """

    anchor: Anchor
    log_lik: Array
    rows: NDArray[np.bool_]
    part: NDArray[np.bool_]
    weight: float
    prior_outcome: Array | None
    prior_records: float
    bound: float
    n_read: int
    prior_design: Array | None = None
    counts_worth: float = 0.0
    pilot_weight: float = 0.0
    pilot_clamped: float = 0.0
    pilot_diagnostics: Diagnostics | None = None

    def held_on(self, fits: Fits) -> Anchored:
        """This anchor, weight and prior for another table with as many rows."""
        complete = fits.selection.complete
        return replace(self, log_lik=self.anchor.log_lik(fits), part=self.rows[complete])

    @property
    def censoring(self) -> Censoring:
        """How the terms of the fit are clamped."""
        n_prior = len(self.log_lik) if self.prior_outcome is None else len(self.prior_outcome)
        return Censoring(
            self.bound, self.log_lik, self.prior_outcome, self.prior_records / n_prior, self.prior_design
        )

    @property
    def worth(self) -> float:
        """How many records one draw of the fit tells of, beside its own anchor, to the prior of a later one.

        With J = c n records of its own and N in the prior, the draw less its anchor's share is an observation of
        variance (J + N) / J^2 in units of a record's. Noisy counts that tell as much as W records are of this table
        too: around them the draw is an observation of variance (N^2 / W + J) / (J + N)^2 + 1 / (J + N).
        """
        own, prior = self.weight * self.n_read, self.prior_records
        if self.counts_worth > 0:
            around = (prior**2 / self.counts_worth + own) / (own + prior) ** 2
            return rounded(1 / (around + 1 / (own + prior)))
        return rounded(own**2 / (own + prior))

    @property
    def tuned(self) -> dict[str, int | float]:
        """What was solved for, in numbers."""
        settings: dict[str, int | float] = {"c": self.weight}
        if self.anchor.kind == "pilot":
            n = len(self.part)
            read = n - int(self.part.sum()) or n
            settings |= {
                "pilot_c": self.pilot_weight,
                "pilot_records": read,
                "pilot_clamped": self.pilot_clamped,
            }
        if self.anchor.kind == "counts":
            settings |= {"fit_epsilon": 2 * self.bound, "anchor_records": self.prior_records}
        return settings


class AnchorBuilder:
    """Builds the anchor of a fit from a table, its settings and perhaps another table.

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
        # What tables are simulated on: the records' own predictors, unless these are sensitive too.
        self.source = fits.surrogate or fits
        self.rows = np.ones(fits.table.rows, dtype=bool)  # of the table: everybody

    def build(self) -> Anchored:
        """Everything that the fit needs; costs a pilot's fit or the other table's, and fits to simulated tables."""
        model, s = self.fits.model, self.settings
        require_anchor(model, s)
        if s.earlier and self.fits.surrogate is None:  # c and the prior would read their confidential values
            raise InputError(
                "Earlier sensitive variables belong to whole records: name them as blocks (--block)."
            )
        if s.anchor_records and not model.takes_anchor_prior:
            raise InputError(
                f"{model.label}: it takes no prior from an anchor, so the anchor cannot count as {s.anchor_records:g} "
                f"records. Leave that number (--anchor-records) away."
            )
        first = s.reads_series and self.other is None  # of the series
        if s.weighs_likelihood and (s.anchor == "counts" or (first and s.reads_counts)):
            raise InputError(
                "Noisy counts are of the sample, and survey weights in the likelihood make the fit one of the "
                "population: take a pilot or another anchor; or measured synthesis, which counts by class of weight."
            )
        if s.anchor == "pilot" or (first and not s.reads_counts):
            return self._after_pilot()
        if s.anchor == "counts" or (first and s.reads_counts):
            return self._after_counts()
        if s.anchor == "values":
            anchor, worth = declared_anchor(model, s.anchor_values or {}), GUESS_RECORDS
        else:
            assert self.other is not None  # the analysis saw to it
            anchor, worth = anchor_of_table(self.other, s.anchor), TABLE_RECORDS
        records = s.anchor_records if s.anchor_records is not None else worth
        return self._complete(anchor, self.rows, s.record_epsilon / 2, records)

    def _after_pilot(self) -> Anchored:
        """A small fit on a part, anchored at the guess, one draw of which anchors the others."""
        s, model, n = self.settings, self.fits.model, self.fits.model.records.n
        require_pilot(model, s)
        guess = Anchor("guess", "a guess", model.guess(*(s.guess or UNSAID), s.guess_zeros))
        if s.pilot_share == 0:
            about = f"about {s.guess[0]:g}, spread {s.guess[1]:g}" if s.guess else "all categories alike"
            plain = Anchor("values", f"a guess: {about}", guess.draws)
            return self._complete(plain, self.rows, s.record_epsilon / 2, GUESS_RECORDS)
        whole = s.pilot_share == 1
        bound = s.record_epsilon / (
            4 if whole else 2
        )  # the whole table twice, one after the other: half each
        # By row number alone, the same for everyone: who is in the pilot tells nothing, nor whose value is missing.
        # Of units of several records all are, or none.
        units = range(len(self.rows)) if s.unit_column is None else self.fits.table.frame[s.unit_column]
        rows = whole_unit_rows(pd.Series(units), s.pilot_share, PILOT_ROWS)
        pilot = self._complete(guess, rows, bound, GUESS_RECORDS)
        if not pilot.part.any() or not (whole or (~rows)[self.fits.selection.complete].any()):
            raise InputError(
                "No record with a value is in the pilot, or none is left beside it: another pilot share."
            )
        chosen, size = pilot.part, int(pilot.part.sum())
        survey = self.fits.survey_weights
        weights = np.where(chosen, pilot.weight if survey is None else pilot.weight * survey, 0.0)
        # Random numbers of its own: what the others draw must not follow from what the pilot drew.
        own = self.fits.with_settings(
            s.model_copy(update={"seed": 1 + (s.seed + PILOT_SEED) % limits.SEED[1]})
        )
        posterior, key = own.posterior(weights, pilot.censoring, "fitting the pilot")
        bounds = own.bounds(
            posterior, key, weights, censoring=pilot.censoring, of_records=True
        ).lipschitz_bounds
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
        rest = self._complete(anchor, rows if whole else ~rows, bound, records)
        return replace(
            rest,
            pilot_weight=pilot.weight,
            pilot_clamped=float((bounds[chosen] > bound).mean()),
            pilot_diagnostics=posterior.diagnostics,
        )

    def _after_counts(self) -> Anchored:
        """Noisy counts of all records, which cost a share of epsilon; a table simulated from them is the prior."""
        s, source, cells = self.settings, self.source, counting_model(self.fits)
        n_tables = max(1, len(s.predictors) + len(s.earlier))
        share = min(s.counts_share, greatest_share(n_tables))
        self.fits.on_draw()
        counts = noisy_margins(self.fits, share * s.record_epsilon, self.rng(53))
        rng = self.rng(54)
        shares = shares_given(counts, source, cells.order_scores)
        codes, within = spread_draws(shares, rng), rng.random(len(shares))
        if isinstance(cells, Bracketed):
            within = within_brackets(cells.edges, shares, codes, within)
        simulated = cells.outcomes(codes, within)
        of = s.outcome
        if cells is not self.fits.model:
            of = f"brackets of {of}" if s.bracket_edges else f"brackets of {of} that a guess makes"
        anchor = Anchor(
            "counts",
            f"noisy counts of {of}" + (", by each predictor" if s.predictors or s.earlier else ""),
            self._fitted(simulated),
            after=f" They cost {percent(share, 0)} of ε, and the fit the rest.",
        )
        # A simulated record counts as a record: the table that is simulated stands in for the confidential one.
        records = s.anchor_records if s.anchor_records is not None else rounded(counts.total)
        bound = (1 - share) * s.record_epsilon / 2
        anchored = self._complete(anchor, self.rows, bound, records, simulated, counts.worth)
        return replace(anchored, counts_worth=counts.worth)

    def _fitted(self, simulated: Array) -> Draws:
        """Parameters that fit a simulated table: their centre where that is known, else draws."""
        try:
            copies = self.source.simulated(simulated)
        except InputError as error:
            raise InputError(
                f"{self.fits.model.label} does not take every value between the edges of the brackets: {error}"
            ) from None
        model, text = copies.model, "fitting the anchor"
        if not model.takes_anchor_prior:
            return copies.unweighted(text)[0].thinned(AVERAGED)
        # The simulated table as a prior and no record beside it: what an anchored fit without records would be.
        none, prior = np.zeros(model.records.n), Censoring(0.0, None, simulated, 1.0)
        return normal_draws(model, none, prior, 0) or copies.posterior(none, prior, text)[0].thinned(AVERAGED)

    def _complete(
        self,
        anchor: Anchor,
        rows: NDArray[np.bool_],
        bound: float,
        prior_records: float,
        simulated: Array | None = None,
        worth: float = np.inf,
    ) -> Anchored:
        """c and the prior of a fit to some rows of the table, from a table simulated from its anchor.

        Parameters
        ----------
        simulated : array of shape (n_records,), optional
            That table's outcomes; else they are drawn from the anchor.
        worth : float
            How many records the anchor tells as much as, at most.
        """
        model, source = self.fits.model, self.source
        part = rows[source.selection.complete]
        if not model.takes_anchor_prior:
            prior_records = 0.0
        if simulated is None:
            simulated = anchor.simulate(source, self.rng(52, 3 if anchor.kind == "pilot" else 0))
        pilot = anchor.kind == "guess"
        weight = None if pilot else self.settings.anchor_weight
        if weight is None:
            weight = anchor_weight(source, anchor, simulated, part, bound, prior_records)
        columns = model.records.design.shape[1] if model.uses_predictors else 1
        beside = len(model.parameters) - 1  # such as a spread, which a few records leave as vague as a level
        survey = source.survey_weights
        n_read = int(part.sum()) if survey is None else round(effective_records(survey[part]))
        told, needed = weight * n_read + min(prior_records, worth), LEAST_RECORDS * (columns + beside)
        if told < needed and not pilot:
            raise InputError(
                _too_vague(anchor, self.settings.epsilon, int(part.sum()), columns, told / needed)
            )
        return Anchored(
            anchor,
            anchor.log_lik(self.fits),
            rows,
            rows[self.fits.selection.complete],
            weight,
            simulated if model.takes_anchor_prior else None,
            prior_records,
            bound,
            n_read,
            None if source is self.fits else source.model.records.design,
        )


def clamped_warning(share: float) -> str:
    """What a share of clamped records means, of those that the fit reads; empty where they are few."""
    if share <= SHARE_WARNED:
        return ""
    return (
        f"{ceiling(100 * share, 1)} % of the records were clamped at some draw: above "
        f"{percent(SHARE_WARNED, 0)} the fit may sit in a mode of its own. Lower the weight c"
    )


def _too_vague(anchor: Anchor, epsilon: float, n: int, columns: int, short: float) -> str:
    # c grows with the square of epsilon and with n, so what is told of the table with n squared.
    more = math.ceil(10 / np.sqrt(short)) / 10
    return (
        f"At ε = {epsilon:g} for this fit, {n:,} records and {columns} columns of predictors there is too little to "
        f"learn from: beside {anchor.name} the records would count as fewer than two for each parameter. About "
        f"{more:g} times as much ε, or {n / np.sqrt(short):,.0f} records in the place of these, would do for this "
        f"variable; or fewer predictors, or another anchor, such as noisy counts or a larger table."
    )
