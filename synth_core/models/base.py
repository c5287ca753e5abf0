"""What every synthesizer family gives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from synth_core.engine.sampling import Sampler, Start
from synth_core.engine.stan_data import StanData
from synth_core.engine.toolchain import compile_program
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import BLOCK_ELEMENTS, Rows
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import BLOCK_RECORDS, LinearFamily
from synth_core.models.records import Records, distinct_columns

Array = NDArray[np.float64]
Draws = dict[str, Array]
OPEN = (float(np.finfo(float).tiny), 1.0 - 2.0**-53)  # the ends of (0, 1)


def parted(uniform: Array, shares: Array) -> tuple[NDArray[np.int64], Array]:
    """The part of a mixed distribution that each number of (0, 1) falls in, and where in it, again in (0, 1).

    Parameters
    ----------
    uniform : array of shape (n_records,)
    shares : array of shape (n_parts, n_records) or (n_parts, 1)
        They sum to 1.

    Examples
    --------
    >>> part, within = parted(np.array([0.1, 0.6, 0.95]), np.array([[0.2], [0.8]]))
    >>> part.tolist(), within.round(4).tolist()
    ([0, 1, 1], [0.5, 0.5, 0.9375])
    """
    shares = np.broadcast_to(shares, (len(shares), len(uniform)))
    upto = np.cumsum(shares, axis=0)
    part = (uniform > upto[:-1]).sum(axis=0)
    share = np.take_along_axis(shares, part[None], axis=0)[0]
    below = np.take_along_axis(upto, part[None], axis=0)[0] - share
    # A part without mass can only be met by rounding.
    return part, np.clip((uniform - below) / np.maximum(share, OPEN[0]), *OPEN)


_STEPS = np.array([0.2, 0.55, 0.9, 1.3, 1.75, 2.3, 4.5])
# Of the edges of a guess's brackets, in its standard deviations. None is the typical value: many people may have it.
GUESS_STEPS = np.concatenate([-_STEPS[::-1], _STEPS])
HALF = 0.6744897501960817  # half of a standard normal variable lies within it of zero
FAR = 8.0  # spreads of a guess from its typical value: beyond, a value is brought to there before a release


def normal_of_half(low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of the normal distribution with these quartiles; raises InputError."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError("Half of all values lie between two numbers, of which the second is larger.")
    return (low + high) / 2, (high - low) / (2 * HALF)


def short(value: float) -> float:
    """Ten digits, so that 40,000 does not become 40,000.00000000001."""
    return float(f"{value:.10g}")


@dataclass(frozen=True)
class Refit:
    """A fit that is about to be sampled.

    Attributes
    ----------
    weights : array of shape (n_records,)
    chains, seed : int
    previous : dict, optional
        Of a fit to start from: last draws of `restart_parameters` by chain, "inv_metric", "step_size".
    data : dict, optional
        What `stan_data` makes of these weights and this censoring.
    """

    weights: Array
    chains: int
    seed: int
    previous: Draws | None = None
    censoring: Censoring | None = None
    data: StanData | None = None


@dataclass(frozen=True)
class Options:
    """What an analyst may choose of a model; each family says in `uses` which of them it knows.

    Attributes
    ----------
    bounds : declared (lower, upper) of the outcome, in the analyst's unit
    unit : unit in which the density is taken, in the table's unit
    transformation, offset, asinh_scale : of a normal model, see `Transformation`
    components : K of a mixture
    concentration : prior mean of the Dirichlet's concentration a of a mixture's shares: small is sparse
    zero_part : whether zeros have a probability of their own
    categories : declared categories of the outcome, in the order of its codes 0, 1, ...
    bracket_edges : declared edges of brackets of the outcome, ascending; twice the same is that value alone
    prior_scale : multiplies the scales of the priors: 1 is the family's own, larger is vaguer
    program : source of the analyst's own Stan program
    """

    bounds: tuple[float, float] | None = None
    unit: float = 1.0
    transformation: str = "log"
    offset: float = 0.0
    asinh_scale: float = 1.0
    components: int = 5
    concentration: float = 1.0
    zero_part: bool = False
    categories: tuple[str, ...] = ()
    bracket_edges: tuple[float, ...] = ()
    prior_scale: float = 1.0
    program: str | None = None

    def only(self, uses: frozenset[str]) -> Options:
        """These options of a family, and no other: a cached fit is found by what can move it."""
        return Options(**{name: getattr(self, name) for name in (*uses, "prior_scale", "program")})


@dataclass(frozen=True)
class Proposal:
    """What a family is proposed with for a kind of variable.

    Attributes
    ----------
    reason : str
        A sentence for the analyst.
    settings : tuple of (name, value)
        Settings beside the model itself.
    regression : bool, optional
        Only with predictors, or only without; None whatever there is.
    """

    reason: str
    settings: tuple[tuple[str, Any], ...] = ()
    regression: bool | None = None


class Model(ABC):
    """A synthesizer family bound to its options and to one table's records.

    `log_lik` is always unweighted, in nats, on the density scale that `density_scale` says.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    program: str  # file in stan/
    needs_bounds: ClassVar[bool] = False
    uses_predictors: bool = True
    uses: ClassVar[frozenset[str]] = frozenset()  # options beyond the prior's scale
    spread_words: ClassVar[str] = "standard deviation"  # what a guessed spread is
    widest_spread: ClassVar[float] = math.inf  # that a guess may have
    discrete: bool = False
    ordered: ClassVar[bool] = True  # its values are amounts: they have ranges, a radius and percentiles
    ordered_categories: ClassVar[bool] = False  # it models categories of which each is above another
    block_elements: ClassVar[int] = BLOCK_ELEMENTS  # draws x records that log_lik is best asked for at once
    searches: ClassVar[bool] = False  # it knows a search for modes of its own, `unseen`
    cheap_log_lik: ClassVar[bool] = True  # log_lik costs little: bounds may ask for some of it twice
    estimated: ClassVar[bool] = True  # what a fit takes follows from the numbers of records and draws
    slow: ClassVar[bool] = False  # refits have a shorter warm-up, and a preview is shown meanwhile
    parameters: tuple[str, ...]  # Stan variables that log_lik, cdf and predict need
    adapt_delta: ClassVar[float] = 0.8
    metric: ClassVar[str] = (
        "diag_e"  # "unit_e" where the coordinates have no need of another: a short warm-up does
    )
    max_warmup: ClassVar[int | None] = None  # iterations, where only a step size is sought; None: as is set
    takes_anchor: bool = True  # its program subtracts an anchor before it clamps
    takes_anchor_prior: ClassVar[bool] = True  # and takes a prior from it, see `unclamped`
    takes_guess: ClassVar[bool] = True  # `guess` makes parameters of a guess
    needs_guess: ClassVar[bool] = True  # of numbers; else `guess` knows without
    restart_parameters: tuple[str, ...] = ()  # what a later fit needs to start from this one
    proposals: ClassVar[Mapping[str, Proposal]] = {}  # by kind of variable, see `analysis.model_advice.KINDS`
    remedy: ClassVar[str] = (
        ""  # what it is, and what for, where another model does not fit; empty: it is not advised
    )
    bell: ClassVar[bool] = False  # one normal curve on the transformed scale: skewness there is misfit
    # Of a typical value, the scale of asinh that is proposed: on money columns of the ACS and the Consumer Expenditure
    # Survey one bell curve is closest at a half. A mixture has more of them: a full typical value keeps heaps of small
    # values from becoming components of their own.
    asinh_within: ClassVar[float] = 0.5

    def __init__(self, records: Records, options: Options):
        self.records = records
        self.options = options

    @classmethod
    def has_zeros(cls, options: Options) -> bool:
        """Whether zeros have a probability of their own under these options."""
        return False

    @property
    @abstractmethod
    def density_scale(self) -> str:
        """The scale on which the density is taken, in words: Delta and epsilon depend on it."""

    @abstractmethod
    def stan_data(self, weights: Array, censoring: Censoring | None = None) -> StanData:
        """Data of the Stan program for weights of shape (n_records,).

        `censoring` clamps the terms; None is the plain pseudo likelihood.
        """

    def sampler_settings(self, sampler: Sampler, censoring: Censoring | None) -> Sampler:
        """The settings with which this family's chains do best: its acceptance, its metric, no longer a warm-up."""
        warmup = sampler.warmup if self.max_warmup is None else min(sampler.warmup, self.max_warmup)
        return replace(sampler, warmup=warmup, adapt_delta=self.adapt_delta, metric=self.metric)

    def adapt_trajectories(
        self, sampler: Sampler, weights: Array, censoring: Censoring | None, data: Mapping[str, Any]
    ) -> Sampler:
        """Sampler settings changed by what the data for Stan show of this fit; `weights` are those of the records."""
        return sampler

    @property
    def has_density(self) -> NDArray[np.bool_]:
        """Whether each record's term is a log density, which c keeps within the bound, and not a log probability."""
        return np.ones(self.records.n, dtype=bool)

    def slope_scale_of(self, usual: float, censoring: Censoring | None, spread: float = 1.0) -> float:
        """Prior scale of each slope: the family's own, but of an anchored fit all together explain a spread of one.

        Vague slopes of many columns would drown what a small epsilon lets the records say.

        Parameters
        ----------
        spread : float
            Of the linear predictor.
        """
        if censoring is None or censoring.prior_outcome is None:
            return usual
        slopes = max(self.records.design.shape[1] - 1, 1)
        return min(usual, spread * self.options.prior_scale / np.sqrt(slopes))

    def unclamped(self, weights: Array, censoring: Censoring | None) -> list[tuple[Self, Array]]:
        """The likelihoods that enter unclamped, and their weights: these records, or those of an anchor's prior."""
        if censoring is None:
            return [(self, weights)]
        prior_weights = np.broadcast_to(censoring.prior_weight, weights.shape)
        if censoring.prior_outcome is None or not prior_weights.any():
            return []
        prior = type(self)(self.records.with_outcome(censoring.prior_outcome), self.options)
        return [(prior, prior_weights)]

    def append_prior_records(
        self, weights: Array, censoring: Censoring | None
    ) -> tuple[Model, Array, Censoring | None]:
        """What is fitted: where a prior has a design of its own, its records stand below these with weight 0."""
        if censoring is None or censoring.prior_design is None or censoring.prior_outcome is None:
            return self, weights, censoring
        mine, prior = self.records, censoring.prior_outcome
        records = replace(
            mine,
            outcome=np.concatenate([mine.outcome, prior]),
            design=np.vstack([mine.design, censoring.prior_design]),
        )
        below = np.zeros(len(prior))
        joined = Censoring(
            censoring.bound,
            np.concatenate([censoring.offset(mine.n), below]),
            np.concatenate([np.resize(prior, mine.n), prior]),
            np.concatenate([np.zeros(mine.n), below + censoring.prior_weight]),
            padding=mine.n,
        )
        return type(self)(records, self.options), np.concatenate([weights, below]), joined

    def of_records(self, rows: NDArray[np.int64], outcome: Array) -> Self:
        """This family for some of the records, in the same design, with another outcome."""
        return type(self)(
            replace(self.records, outcome=outcome, design=self.records.design[rows]), self.options
        )

    @abstractmethod
    def log_lik(self, draws: Draws, rows: Rows) -> Array:
        """log p(x_i | theta_s) of shape (n_draws, n_rows)."""

    def weighted_sum(self, draws: Draws, weights: Array) -> Array:
        """Sum over records of weight * log p(x_i | theta_s), of shape (n_draws,); weights may be negative."""
        total = np.zeros(len(next(iter(draws.values()))))
        active = np.flatnonzero(weights)
        step = max(1, self.block_elements // len(total))
        for first in range(0, len(active), step):
            rows = active[first : first + step]
            total += self.log_lik(draws, rows) @ weights[rows]
        return total

    @cached_property
    def alike(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """One row of each kind of record with one likelihood, and the kind of every record; None if few are alike."""
        outcome = self.records.outcome
        if len(np.unique(outcome)) > outcome.size / 2:
            return None
        row = self.records.distinct_design[1] if self.uses_predictors else np.zeros(len(outcome))
        kinds = distinct_columns(np.stack([row, outcome]))
        return kinds if len(kinds[0]) <= outcome.size / 2 else None

    def family(self, draws: Draws) -> LinearFamily | None:
        """The log-likelihood as a linear function, in an exponential family of few dimensions; else None."""
        return None

    def _by_design_row(
        self, statistics: tuple[Array, ...], coefficients: Callable[[Array], tuple[Array, ...]]
    ) -> LinearFamily | None:
        """A family whose coefficients differ by design row; None if too few records share one.

        Parameters
        ----------
        coefficients : callable
            Of a design row: for each statistic and for the constant, an array of shape (n_draws,).
        """
        rows, row_of = self.records.distinct_design
        if len(rows) * BLOCK_RECORDS > self.records.n:
            return None
        return LinearFamily(
            np.column_stack(statistics), row_of, lambda cell: np.column_stack(coefficients(rows[cell]))
        )

    @abstractmethod
    def cdf(self, draws: Draws, values: Array, rows: Rows) -> Array:
        """Pr(X <= value_i | theta_s, z_i) of shape (n_draws, n_rows)."""

    @staticmethod
    def whole_ends(lower: Array, upper: Array) -> tuple[Array, Array]:
        """The whole numbers at the ends of intervals; 0.55 * 100 counts as 55, whatever its last bit."""
        slack = 1e-9
        return (
            np.ceil(lower - slack * np.maximum(1.0, np.abs(np.where(np.isinf(lower), 0.0, lower)))),
            np.floor(upper + slack * np.maximum(1.0, np.abs(np.where(np.isinf(upper), 0.0, upper)))),
        )

    def interval_mass(self, draws: Draws, lower: Array, upper: Array, rows: Rows) -> Array:
        """Pr(lower_i <= X <= upper_i | theta_s, z_i) of shape (n_draws, n_rows), ends included."""
        return np.maximum(self.cdf(draws, upper, rows) - self.cdf(draws, lower, rows), 0.0)

    def predict(self, draw: Draws, rng: np.random.Generator) -> Array:
        """One synthetic outcome for every record, independent given the draw, of shape (n_records,).

        `draw` holds one draw: arrays without the leading axis.
        """
        return self.from_uniform(draw, np.clip(rng.random(self.records.n), *OPEN))

    def predictions(self, draw: Draws, rng: np.random.Generator, times: int) -> Array:
        """Several synthetic outcomes for every record, of shape (times, n_records)."""
        return np.stack([self.predict(draw, rng) for _ in range(times)])

    @property
    def spreads(self) -> bool:
        """Whether uniform numbers become its values, so that these can be spread evenly."""
        return type(self).from_uniform is not Model.from_uniform

    def from_uniform(self, draw: Draws, uniform: Array) -> Array:
        """The synthetic outcomes that numbers in (0, 1), one for each record, are turned into.

        A uniform number becomes a value of the record's predictive distribution, near numbers mostly near values.

        Raises
        ------
        InputError
            If the model draws its values by itself.
        """
        raise InputError(f"{self.label} draws its synthetic values by itself: they cannot be spread evenly.")

    def guess(self, typical: float, spread: float, zeros: float) -> Draws:
        """Parameters, one draw, that say no more than a guess in plain terms; slopes are 0.

        Parameters
        ----------
        typical : float
            A typical value of the outcome, in the analyst's unit.
        spread : float
            As `spread_words` says.
        zeros : float
            A typical share of zeros, for models with a zero part.
        """
        raise InputError(f"{self.label} takes no guess: give the anchor as a table or as values.")

    def guess_edges(self, typical: float, spread: float) -> tuple[float, ...]:
        """Edges of brackets of an amount, at `GUESS_STEPS` of a guess; a value alone, such as 0, stands twice.

        Parameters: see `guess`. Raises InputError if the guess is none of this model.
        """
        raise InputError(
            f"{self.label}: no brackets follow from a guess. Declare their edges (--bracket-edges)."
        )

    @classmethod
    def guess_of_half(cls, options: Options, low: float, high: float) -> tuple[float, float]:
        """The guess, a typical value and a spread, of somebody who says between what half of all values lie.

        A normal distribution on the scale of the model has its quartiles there. Raises InputError if they are none.
        """
        middle, spread = normal_of_half(low, high)
        return short(middle), short(spread)

    @classmethod
    def half_of_guess(cls, options: Options, typical: float, spread: float) -> tuple[float, float]:
        """Between what half of all values lie by a guess: the other way round."""
        return typical - HALF * spread, typical + HALF * spread

    @classmethod
    def guess_range(cls, options: Options, typical: float, spread: float) -> tuple[float, float] | None:
        """The range of an amount that a guess leaves possible, at `FAR` of its spreads; None where none follows."""
        return None

    def require_anchor(self) -> None:
        """Refuse anchored censoring where the program knows no anchor."""
        if not self.takes_anchor:
            raise InputError(f"{self.label}: its program knows no anchor; take 'censored' for it.")

    def accepts(self, draws: Draws) -> bool:
        """Whether declared values, one draw, are parameters of this model for the columns of its design."""
        try:
            with np.errstate(all="ignore"):
                likely = self.log_lik(draws, slice(0, 1))
                self.predict({name: value[0] for name, value in draws.items()}, np.random.default_rng(0))
        except (ValueError, IndexError, TypeError):
            return False
        return likely.shape == (1, 1) and not bool(np.isnan(likely).any())

    def executable(self, progress: Callable[[str, float], None] = lambda text, share: None) -> Path:
        """What a fit runs; compiled first if it is not yet, which may be said and cancelled by `progress`."""
        return compile_program(
            self.program, lambda: progress("compiling the model (once, a minute or two)", 0.0)
        )

    def start(self, fit: Refit) -> Start | None:
        """Where the chains of a slow model, or of a fit with many modes, begin; None leaves it to Stan."""
        return None

    @property
    def searches_all(self) -> bool:
        """Whether that search is of all parameters: else short chains look for modes of the others."""
        return self.searches

    def unseen(self, fit: Refit, draws: Draws) -> float:
        """The share of the posterior in modes that the family's own search finds and no draw is of, if it has one."""
        return 0.0

    def from_coordinates(self, coordinates: Array, data: Mapping[str, Any]) -> Draws | None:
        """Parameters at points of the space in which `stan_data` lays "center" and "basis"; None: they are not known.

        With normal points around the centre these are draws of an approximate posterior, for what costs no privacy
        and promises nothing.

        Parameters
        ----------
        coordinates : array of shape (n_draws, n_coordinates)
        data : mapping
            What `stan_data` gave.
        """
        return None

    def monitors(self, draws: Draws) -> Array | None:
        """Quantities of shape (n_draws, n_quantities) by which convergence is judged.

        None: the parameters themselves, which needs them to be identified.
        """
        return None
