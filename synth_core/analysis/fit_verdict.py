"""Whether a model fits, in one word, one sentence and what to do, from the numbers of its check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from synth_core.models import MODELS, family
from synth_core.system.number_text import number_of, points_at_most

FITS_WITHIN, ROUGHLY_WITHIN = 0.02, 0.05  # largest difference of the distribution functions
KOLMOGOROV_95 = 1.358  # sqrt(n) times that difference stays below it in 95 % of samples of a true model


@dataclass(frozen=True)
class FitVerdict:
    """What the check of a model says.

    Attributes
    ----------
    level : "fits", "roughly", "misfit" or "unknown"
    difference : float
        Largest difference between the model's distribution function and that of the data, from 0 to 1.
    words, advice : str
        For the page: the verdict as a sentence, and what to do; neither quotes a value.
    longer : bool
        Whether a fit that has not converged may with more draws.
    residuals : float
        Largest difference between the distribution function of the residuals and that of even values, from 0 to 1.
    few : int
        Records of a model that fits for want of more of them: such a difference is within chance. 0: enough.
    """

    level: Literal["fits", "roughly", "misfit", "unknown"]
    difference: float
    words: str
    advice: str
    longer: bool = True
    residuals: float = 0.0
    few: int = 0

    @property
    def largest(self) -> float:
        """The larger of the two differences."""
        return max(self.difference, self.residuals)

    @property
    def points_off(self) -> str:
        """The larger of the two differences in percentage points, whose it is, and where chance is as large."""
        whose = "residuals " if self.residuals > self.difference else ""
        chance = f", by chance among {number_of(self.few, 'record')}" if self.few else ""
        return f"{whose}{points_at_most(self.largest)} points off{chance}"


def fit_verdict(
    difference: float,
    n_records: int,
    problems: Sequence[str] = (),
    model: str = "",
    residuals: float = 0.0,
    by_chance: float | None = None,
    no_order: bool = False,
    longer: bool = True,
) -> FitVerdict:
    """The verdict on an unweighted fit.

    A release is drawn from the model, so the model's own misfit is about the least error that any mechanism can
    have: the limits are those of the error and not of a test, which every model fails once there are enough records.
    Below what chance alone gives at this number of records (Kolmogorov's distance at 95 %) nothing is held against it.

    Parameters
    ----------
    difference : float
        Largest difference between the model's distribution function and that of the data.
    problems : sequence of str
        Why the fit should not be used.
    model : str
        The one that was fitted: it is not advised again.
    residuals : float
        Largest difference between the distribution function of Pr(X <= x_i) and that of even values: a model can
        have the right values of all records together, and too wide or too narrow a spread given the predictors.
    by_chance : float, optional
        What the difference stays below in 95 % of samples of a true model; by default Kolmogorov's distance.
    no_order : bool
        Whether the difference is half the sum of the differences of shares, of categories in no order.
    longer : bool
        Whether more draws may take the problems away.

    Examples
    --------
    >>> fit_verdict(0.08, 9000).level, fit_verdict(0.08, 90).level
    ('misfit', 'fits')
    >>> fit_verdict(0.01, 9000, residuals=0.03).level
    'roughly'
    """
    if problems:
        return FitVerdict(
            "unknown",
            difference,
            f"NOT converged, so nothing can be said: {'; '.join(problems)}.",
            "Take more draws or a longer warm-up (Compare, Sampling), or another model."
            if longer
            else "Take another model, or fewer predictors.",
            longer,
        )
    chance = KOLMOGOROV_95 / math.sqrt(max(n_records, 1))
    usual = chance if by_chance is None else by_chance
    points = f"{points_at_most(difference)} percentage points"
    about = f"its distribution function is up to {points} from that of the data"
    if no_order:
        about = (
            f"{points} of the records would have to change their category, for the shares to be the model's"
        )
    if residuals > difference:
        about += f", and that of its residuals is up to {points_at_most(residuals)} points from even"

    def within(limit: float) -> bool:
        return difference <= max(limit, usual) and residuals <= max(limit, chance)

    if within(FITS_WITHIN):
        few = n_records if max(difference, residuals) > FITS_WITHIN else 0
        told = f"The model fits as far as {number_of(few, 'record')} can tell" if few else "The model fits"
        return FitVerdict(
            "fits", difference, f"{told}: {about}.", "Go on to Compare.", residuals=residuals, few=few
        )
    if within(ROUGHLY_WITHIN):
        advice = (
            "What is drawn from this model is about that far off even without privacy; Measured, which counts records, "
            "needs no such model. Look where dots leave their bars; another model, scale or predictor may do better."
        )
        if difference <= max(FITS_WITHIN, usual):
            advice = (
                "The values of all records together are right, those that records of a kind should have less so. Look "
                "where the bars of the residuals leave their band; another predictor or model may do better."
            )
        return FitVerdict(
            "roughly", difference, f"The model fits roughly: {about}.", advice, residuals=residuals
        )
    found = [each for name, each in MODELS.items() if each.remedy and name != model]
    others = ", ".join(
        each.remedy for each in sorted(found, key=lambda each: each.slow)
    )  # the fast ones first
    scale = "another scale of it, or " if model and "transformation" in family(model).uses else ""
    return FitVerdict(
        "misfit",
        difference,
        f"The model does NOT fit: {about}.",
        f"Choose another model before you believe a privacy number: {scale}{others}; or add predictors.",
        residuals=residuals,
    )
