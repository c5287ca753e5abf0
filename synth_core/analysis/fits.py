"""Fits, bounds and range probabilities of one table under one set of settings, all cached."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.selection import selected
from synth_core.analysis.settings import MODEL_OPTIONS, Settings, omitted_defaults
from synth_core.data.design import DesignTransform, Selection
from synth_core.data.survey_weights import read_weights, scaled_weights
from synth_core.data.table import Table
from synth_core.data.units import unit_numbers
from synth_core.engine.sampling import Posterior, Sampler, sample
from synth_core.errors import InputError
from synth_core.mechanisms.bounds import Bounds, Rows, lipschitz_bounds, unit_lipschitz_bounds
from synth_core.mechanisms.censoring import Censoring
from synth_core.mechanisms.fast_bounds import bounds_by_extremes
from synth_core.mechanisms.ranges import intervals, truncated_terms
from synth_core.models import Model, Refit, build_model
from synth_core.models.own.contract import require_contract
from synth_core.models.own.target_check import require_target
from synth_core.system import limits
from synth_core.system.cache import Cache, content_key
from synth_core.system.entries import WAITING, get_or_compute
from synth_core.system.plain_paths import plain

Array = NDArray[np.float64]
Progress = Callable[[str, float], None]  # what is being done, share done; may raise Cancelled

SLOW_RECORDS = 20_000  # a censored fit needs every record
# Of a refit of a slow model, which starts where an earlier run has been.
SHORT_WARMUP = 300
_COLUMNS = ("outcome", "predictors", "categorical", "outcome_categories", "earlier", "rules")
_DATA = {"outcome", "predictors", "categorical", "earlier", "rules", "model"} | MODEL_OPTIONS


def tells_nothing(text: str, share: float) -> None:
    """Progress that nobody watches."""


def charges_nothing() -> None:
    """A draw that nobody accounts for."""


def _secret_of(entropy: int, key: str) -> int:
    """The secret of one fit, of 256 bits: a pilot's, a part's and a refit's tell nothing of each other."""
    return int.from_bytes(hashlib.sha256(f"fit {key}".encode() + entropy.to_bytes(32)).digest())


@dataclass(frozen=True)
class ReadRecords:
    """Chosen columns of a table and the model of them, where they are at hand; None is read when asked for."""

    selection: Selection | None = None
    model: Model | None = None


@dataclass(frozen=True, eq=False)
class Fits:
    """What can be computed of a table: pseudo posteriors, their bounds, range probabilities.

    Everything is cached by content, so that mechanisms, sessions and processes share it.

    Attributes
    ----------
    progress : callable
        Where progress is told.
    tail_from : float or None
        Where the tail's sensitive range starts, if it was frozen elsewhere.
    transform : DesignTransform or None
        How predictors become a design, if another table's is held.
    surrogate : Fits or None
        What an anchor is simulated on, if the design is sensitive too.
    sample_rows : int or None
        n of survey weights, the rows of the table that was loaded; None: of this one.
    contract_verified : bool
        Whether an own program kept its contract on the table that this one is simulated from.
    entropy : int or None
        A secret of a release, of 256 bits: every chain of every fit takes what it needs from it, and not from the seed.
    read : ReadRecords
        What other fits have read of the same table and columns already.
    on_draw : callable
        Called before anything is drawn that depends on the outcome: from here on a refusal tells of a draw.
    """

    table: Table
    settings: Settings
    cache: Cache
    progress: Progress
    tail_from: float | None = None
    transform: DesignTransform | None = None
    surrogate: Fits | None = None
    sample_rows: int | None = None
    contract_verified: bool = False
    read: ReadRecords = ReadRecords()
    entropy: int | None = None
    on_draw: Callable[[], None] = charges_nothing

    def with_settings(
        self, settings: Settings, progress: Progress | None = None, cache: Cache | None = None
    ) -> Fits:
        """Fits of this table under other settings; records of the same columns are not read again."""
        mine, known = self.settings, vars(self)  # a cached property stands there once it was asked for
        same_columns = all(getattr(settings, name) == getattr(mine, name) for name in _COLUMNS)
        same_model = same_columns and (settings.model, settings.model_options) == (
            mine.model,
            mine.model_options,
        )
        return replace(
            self,
            settings=settings,
            progress=progress or self.progress,
            cache=cache or self.cache,
            read=ReadRecords(
                known.get("selection", self.read.selection) if same_columns else None,
                known.get("model", self.read.model) if same_model else None,
            ),
        )

    def simulated(self, outcome: Array, **changes: Any) -> Fits:
        """Fits to another outcome of the same predictors, under some other settings; for posteriors alone."""
        model = type(self.model)(self.model.records.with_outcome(outcome), self.model.options)
        other = self.with_settings(self.settings.model_copy(update=changes))
        return replace(other, read=replace(other.read, model=model), on_draw=charges_nothing)

    @cached_property
    def selection(self) -> Selection:
        if self.read.selection is not None:
            return self.read.selection
        return selected(self.table, self.settings, self.transform)

    @cached_property
    def model(self) -> Model:
        if self.read.model is not None:
            return self.read.model
        s = self.settings
        model = build_model(s.model, self.selection.records, **s.model_options)
        if not self.contract_verified:
            require_contract(model, self.cache, self.progress)
        return model

    @cached_property
    def survey_weights(self) -> Array | None:
        """What multiplies each record's log-likelihood, of shape (n_records,); None where survey weights do not."""
        s = self.settings
        if s.weight is None or s.weight_total is None:
            return None
        read = read_weights(self.table, s.weight, self.selection.complete)
        n = self.table.rows if self.sample_rows is None else self.sample_rows
        return scaled_weights(read, s.weight_total, n, s.weight_cap)

    @cached_property
    def units(self) -> NDArray[np.int64] | None:
        """The number of each record's unit, of shape (n_records,); None where a record stands for itself."""
        name = self.settings.unit_column
        return None if name is None else unit_numbers(self.table, name)[self.selection.complete]

    def slow(self, censoring: Censoring | None) -> bool:
        """Whether a fit is worth a preview while it runs."""
        return self.model.slow or (censoring is not None and self.model.records.n > SLOW_RECORDS)

    def posterior(
        self, weights: Array, censoring: Censoring | None = None, text: str = "fitting"
    ) -> tuple[Posterior, str]:
        """The pseudo posterior under these weights, and its key.

        Parameters
        ----------
        weights : array of shape (n_records,)
        censoring : Censoring, optional
            None is the plain pseudo likelihood.
        """
        self.on_draw()
        key = self.fit_key(weights, censoring)
        posterior, _ = get_or_compute(
            self.cache, Posterior, key, lambda: self._sample(weights, censoring, text), self._wait
        )
        return posterior, key

    def fit_key(self, weights: Array, censoring: Censoring | None = None) -> str:
        """Key of a fit, finished or not.

        Of what Stan data are made of and not of the data themselves, which cost a mixture seconds.
        """
        model = self.model
        secret = {} if self.entropy is None else {"secret": _secret_of(self.entropy, "its key")}
        return content_key(
            **secret,
            kind="fit",
            model=model.name,
            options=asdict(model.options),
            records=model.records.digest,
            weights=weights,
            censoring=None if censoring is None else censoring.content,
            sampler=asdict(self._sampler(weights, censoring)),
            origin=self.unweighted_key() if self._continues(weights, censoring) else "",
        )

    def _sample(self, weights: Array, censoring: Censoring | None, text: str) -> Posterior:
        sampler = self._sampler(weights, censoring)
        # From the unweighted fit, not from whatever the cache holds: the same seed, the same numbers.
        previous = self.unweighted()[0].restart if self._continues(weights, censoring) else None
        given = weights, censoring
        model, weights, censoring = self.model.append_prior_records(*given)
        data = model.stan_data(weights, censoring)
        sampler = self.model.adapt_trajectories(sampler, *given, data)  # follows from what the key knows
        if self.entropy is not None:
            # Not by the fit's key, which knows the version of the code: a later one draws the same release again.
            what = [*asdict(self.model.options).items(), given[0], *(given[1].content if given[1] else ())]
            fit = hashlib.sha256()
            for each in (self.model.name, self.model.records.digest, self.settings.seed, *what):
                fit.update(each.tobytes() if isinstance(each, np.ndarray) else repr(each).encode())
            # Where a release promises of a draw; a family with a search of its own, of all parameters, needs no other.
            search = censoring is not None and not model.searches_all
            sampler = replace(sampler, secret=_secret_of(self.entropy, fit.hexdigest()), search=search)
        refit = Refit(weights, sampler.chains, sampler.secret or sampler.seed, previous, censoring, data)
        posterior = sample(
            model.executable(self.progress),
            data,
            model.parameters,
            sampler,
            lambda share: self.progress(text, share),
            model.start(refit),
            model.restart_parameters,
            model.monitors,
        )
        require_target(model, refit, posterior.draws)
        if not model.searches:
            return posterior
        mine, found = model.unseen(refit, posterior.draws), posterior.diagnostics.unseen
        unseen = (
            mine if mine > limits.MAX_UNSEEN else max(found, mine)
        )  # NaN stands: no short chain could run
        return replace(posterior, diagnostics=replace(posterior.diagnostics, unseen=unseen))

    def _sampler(self, weights: Array, censoring: Censoring | None) -> Sampler:
        tuned = self.model.sampler_settings(self.settings.sampler, censoring)
        if self.model.slow and not _is_plain(weights, censoring):
            return replace(tuned, warmup=min(tuned.warmup, SHORT_WARMUP))
        return tuned

    def _continues(self, weights: Array, censoring: Censoring | None) -> bool:
        """Whether a fit starts where the unweighted one ended."""
        model = self.model
        return model.slow and bool(model.restart_parameters) and not _is_plain(weights, censoring)

    def unweighted_key(self) -> str:
        """Key of the unweighted fit."""
        return self.fit_key(np.ones(self.model.records.n))

    def is_cached(self, weights: Array, censoring: Censoring | None) -> bool:
        """Whether this fit need not be sampled."""
        return self.cache.get(self.fit_key(weights, censoring)) is not None

    def unweighted(self, text: str = "fitting Unweighted") -> tuple[Posterior, str]:
        """The posterior with all weights 1."""
        return self.posterior(np.ones(self.model.records.n), text=text)

    def unweighted_bounds(self) -> Bounds:
        """f_i and Delta of the unweighted fit."""
        posterior, key = self.unweighted()
        return self.bounds(posterior, key, np.ones(self.model.records.n))

    @property
    def radius(self) -> float:
        """Within which relative distance another value is as good as the same; 0 among categories."""
        return self.settings.radius if self.model.ordered else 0.0

    def intervals(self) -> Array:
        """The sensitive range of every record, of shape (n_records, 2)."""
        s = self.settings
        if not self.model.ordered:
            raise InputError(
                f"{self.model.label}: categories have no order, so a sensitive range says nothing of them. Take a "
                f"mechanism of the whole range."
            )
        records = self.model.records
        ranges = intervals(records.outcome, s.range, s.tail, s.brackets, self.tail_from, records.first_row)
        width = ranges[:, 1] - ranges[:, 0]
        if self.model.discrete:
            lower, upper = self.model.whole_ends(*ranges.T)
            width = upper - lower
        alone = ~(width > 0)
        if alone.any():
            raise InputError(
                f"The sensitive range of {alone.sum():,} records holds their own value alone "
                f"({records.first_row(alone)}): nothing about it would be protected. Widen the range, or "
                f"use brackets."
            )
        return ranges

    def outside(self, frozen: tuple[Posterior, str, Model] | None = None) -> Array:
        """lambda_i: the probability that a synthetic value leaves the record's range.

        The model's cdf averaged over the unweighted draws, so without simulation noise
        (Range, section 2; the paper simulates 1,000 values).

        Parameters
        ----------
        frozen : (posterior, its key, this table's records in its design), optional
            Unweighted draws of another table; None takes this table's own.
        """
        n, ranges = self.model.records.n, self.intervals()
        posterior, fit_key, evaluated = frozen or (*self.unweighted(), self.model)
        key = content_key(kind="outside", fit=fit_key, intervals=ranges, records=self.records_key())

        def compute() -> dict[str, Any]:
            inside = np.empty(n)
            step = max(1, self.model.block_elements // posterior.n_draws)
            for start in range(0, n, step):
                rows = slice(start, min(start + step, n))
                lower, upper = ranges[rows].T
                mass = evaluated.interval_mass(posterior.draws, lower, upper, rows)
                inside[rows] = mass.mean(axis=0)
                self.progress("averaging over the sensitive ranges", start / n)
            return {"outside": np.clip(1.0 - inside, 0.0, 1.0)}

        entry, _ = self.cache.get_or_compute(key, compute, self._wait)
        return entry["outside"]

    def bounds(
        self,
        posterior: Posterior,
        fit_key: str,
        multiplier: Array,
        truncated: bool = False,
        model: Model | None = None,
        transformed_by: str = "",
        censoring: Censoring | None = None,
        of_records: bool = False,
    ) -> Bounds:
        """Lipschitz bounds of a fit at its own draws, where units of several records are named, of these.

        Cached by fit, records and weights.

        Parameters
        ----------
        multiplier : array of shape (n_records,)
            What each log-likelihood is multiplied by: the weight, or (1 - lambda) times it.
        truncated : bool
            Read them by the range-truncated standard; see `ranges.truncated_terms`.
        model : Model, optional
            This table's records in the design of another table (a frozen risk map's).
        transformed_by : str
            The fingerprint of that table. The fit's key does not tell: tables that differ by a
            shift of a predictor give the same fit and different transforms.
        censoring : Censoring, optional
            What is subtracted from the log-likelihoods, and what every record's term is clamped at; those of a unit are
            added up after it.
        of_records : bool
            Give those of single records, before any clamp.
        """
        evaluated = model or self.model
        n, units = evaluated.records.n, None if of_records else self.units
        if censoring is not None and units is None and not of_records:
            return self.bounds(
                posterior, fit_key, multiplier, truncated, model, transformed_by, censoring, of_records=True
            ).clamped(censoring.bound)
        anchor = None if censoring is None else censoring.anchor
        clamp = None if censoring is None or of_records else censoring.bound
        ranges = self.intervals() if truncated else None
        printed = truncated and self.settings.printed_truncation
        key = content_key(
            kind="bounds",
            fit=fit_key,
            records=self.records_key(),
            weights=multiplier,
            intervals=ranges,
            printed=printed,
            transformed_by=transformed_by,
            anchor=anchor,
            **({} if units is None else {"units": units}),
            **({} if clamp is None else {"clamp": clamp}),
        )

        def log_lik(some: Rows, rows: Rows) -> Array:
            draws = (
                posterior.draws
            )  # of all, the same arrays each time: a model may keep what it made of them
            if not (isinstance(some, slice) and some == slice(None)):
                draws = {name: values[some] for name, values in draws.items()}
            terms = evaluated.log_lik(draws, rows)
            if anchor is not None:
                terms -= anchor[rows]
            if ranges is None:
                return terms
            lower, upper = ranges[rows].T
            mass = evaluated.interval_mass(draws, lower, upper, rows)
            empty = ~(mass > 0).all(axis=0)
            if empty.any():
                row = self.model.records.row(int(np.arange(n)[rows][np.argmax(empty)]))
                raise InputError(
                    f"The sensitive range of {row} has no probability under the model; widen the range."
                )
            return truncated_terms(terms, mass, multiplier[rows] if printed else None)

        def compute() -> Bounds:
            weights = None if printed or bool((multiplier == 1).all()) else multiplier
            more: dict[str, Any] = {
                "check": lambda share: self.progress("computing bounds", share),
                "block_elements": evaluated.block_elements,
            }
            if units is not None:
                return unit_lipschitz_bounds(
                    lambda rows: log_lik(slice(None), rows),
                    units,
                    posterior.n_draws,
                    multiplier,
                    clamp,
                    **more,
                )
            if printed or not evaluated.cheap_log_lik or plain():
                return lipschitz_bounds(
                    lambda rows: log_lik(slice(None), rows), n, posterior.n_draws, weights, **more
                )
            family = evaluated.family(posterior.draws) if ranges is None else None
            return bounds_by_extremes(log_lik, n, posterior.n_draws, weights, evaluated.alike, family, **more)

        return get_or_compute(self.cache, Bounds, key, compute, self._wait)[0]

    def records_key(self) -> Any:
        """What the log-likelihoods depend on, besides the draws."""
        held = None if self.transform is None else [self.transform.center, self.transform.scale]
        said = self.settings.model_dump(include=_DATA - omitted_defaults(self.settings))
        return [self.table.fingerprint, said, held]

    def _wait(self) -> None:
        self.progress(WAITING, 0.0)


def _is_plain(weights: Array, censoring: Censoring | None) -> bool:
    """Whether a fit is the unweighted one."""
    return censoring is None and bool((weights == 1).all())
