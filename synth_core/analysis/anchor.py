"""What censoring is anchored at: a density that was fixed without the records, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.fits import Fits
from synth_core.analysis.risk_map import RiskMap
from synth_core.analysis.selection import selected
from synth_core.data.design import DesignTransform
from synth_core.errors import FitError, InputError
from synth_core.mechanisms.censoring import IMPOSSIBLE
from synth_core.mechanisms.likelihoods import SERIES_ANCHORS
from synth_core.models import Draws, Model, build_model
from synth_core.system import limits

Array = NDArray[np.float64]
Kind = Literal["guess", "pilot", "counts", "values", "series", "release", "declared", "public", "historical"]
PAID_FROM_THE_TABLE = ("pilot", "counts")  # anchors that read it, at a cost; no other may

_TABLES = {  # what they are, and what follows for the people in them
    "series": ("the released data", " They were paid for when they were released."),
    "release": (
        "the released data",
        " That they were released and charged is declared, and no ledger was asked: if they were not, the people in "
        "them are not covered.",
    ),
    "declared": (
        "the public table",
        " It is declared to be public: if it is not, the people in it are not covered.",
    ),
    "public": ("the public table", ""),
    "historical": (
        "the earlier table",
        " The people in that table are not covered by this ε, unless it is public or was paid for.",
    ),
}
AVERAGED = 20  # draws of another table's fit whose densities are averaged


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
        n, n_draws = model.records.n, _n_draws(self.draws)
        mixture_log_lik, step = np.empty(n), max(1, model.block_elements // n_draws)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            mixture_log_lik[rows] = np.logaddexp.reduce(model.log_lik(self.draws, rows), axis=0) - np.log(
                n_draws
            )
        # A record that the anchor holds for impossible is clamped, by a rule that reads that record alone.
        return np.where(np.isfinite(mixture_log_lik), mixture_log_lik, IMPOSSIBLE)

    def simulate(self, fits: Fits, rng: np.random.Generator) -> Array:
        """One outcome of each record's predictors, drawn from the anchor."""
        which = int(rng.integers(_n_draws(self.draws)))
        return self._model(fits).predict({name: values[which] for name, values in self.draws.items()}, rng)

    def _model(self, fits: Fits, outcome: Array | None = None) -> Model:
        if self.transform is None:
            records = fits.model.records
        else:
            records = selected(fits.table, fits.settings, self.transform).records
        if outcome is not None:
            records = records.with_outcome(outcome)
        return build_model(fits.settings.model, records, **fits.settings.model_options)


def declared_anchor(model: Model, given: Mapping[str, float | tuple[float, ...]]) -> Anchor:
    """The anchor of declared parameter values; raises InputError if they are not the model's."""
    values = {name: np.asarray(value, dtype=float)[None] for name, value in given.items()}
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
    return Anchor("values", "declared parameter values", chosen)


def anchor_of_table(other: Fits | RiskMap, setting: str) -> Anchor:
    """The anchor of a fit to another table; raises FitError if that did not converge.

    Parameters
    ----------
    setting : str
        How the table was named (`Settings.anchor`): the series, a release, public, or none of them.
    """
    if isinstance(other, RiskMap):
        posterior, name, transform = other.posterior, other.name, other.transform
        kind: Kind = "historical"
    else:
        posterior, _ = other.unweighted("fitting the anchor")
        name, transform = other.table.name, other.selection.transform
        kind = _kind(setting, other.table.confidential)
    if posterior.diagnostics.problems:
        raise FitError(
            f"The fit to the anchor's table did not converge ({'; '.join(posterior.diagnostics.problems)})."
        )
    what, after = _TABLES[kind]
    return Anchor(kind, f"{what} {name}", posterior.thinned(AVERAGED), transform, after)


def _kind(setting: str, confidential: bool) -> Kind:
    """What a table is to the people in it. Only of a series is it known that its data were charged."""
    if setting in SERIES_ANCHORS:
        return "series"
    if setting.startswith("release:"):
        return "release"
    if setting.startswith("public:"):
        return "declared" if confidential else "public"
    return "historical" if confidential else "public"


def _n_draws(draws: Draws) -> int:
    return len(next(iter(draws.values())))


def read_anchor_values(path: Path) -> dict[str, float | tuple[float, ...]]:
    """Parameter values from a JSON file {"beta": [...], "sigma": ...}; raises InputError."""
    try:
        if path.stat().st_size > limits.MAX_SETTINGS_BYTES:
            raise InputError(f"The anchor's values in {path} are larger than any that this program needs.")
        found = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
        values = {
            str(k): tuple(map(_number, v)) if isinstance(v, list) else _number(v) for k, v in found.items()
        }
        if not all(np.isfinite(value).all() for value in values.values()):
            raise ValueError
        return values
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"The anchor's values in {path} are not a JSON object of numbers, each name once, such as "
            f'{{"beta": [3.5, 0], "sigma": 0.8}}.'
        ) from None


def _number(value: object) -> float:
    """A number of JSON: no text that looks like one, and neither true nor false."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return float(value)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object of which no name stands twice."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError
    return dict(pairs)
