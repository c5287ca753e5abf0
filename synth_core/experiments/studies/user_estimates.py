"""What a user estimates from a file, each with its variance: shares, means, percentiles and regressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth_core.analysis.survey_estimates import quantile_with_interval, standard_error
from synth_core.data.survey_weights import Survey

Array = NDArray[np.float64]
PERCENTILE = 90.0


@dataclass(frozen=True)
class Estimated:
    """What a user estimates of one sensitive variable, in regressions on all other columns.

    Attributes
    ----------
    name : str
    median : float
        Of a number in the population: the share of records up to it is estimated.
    categories : tuple of str
        Whose shares are estimated; the first stands for the variable in a regression. Empty for a number.
    others : tuple of str
        The columns of the regression.
    categorical : tuple of str
        Those among them whose numbers are codes.
    weight : str, optional
        The column of survey weights that estimates go by; None: every record counts once.
    """

    name: str
    median: float
    categories: tuple[str, ...]
    others: tuple[str, ...]
    categorical: tuple[str, ...]
    weight: str | None = None

    def of(self, frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
        """Estimates by class and column, "mean:pay", each with its variance as ordinary software gives it.

        Rows where the variable, or a column of the regression, is missing are left out, as software does.
        """
        there = frame[frame[self.name].notna()]
        weights, found = self._weights(there), dict[str, tuple[float, float]]()
        if self.categories:
            text = there[self.name].astype(str)
            for category in self.categories:
                found[f"share:{self.name} {category}"] = share_of((text == category).to_numpy(), weights)
        else:
            x = there[self.name].to_numpy(dtype=float)
            estimates = number_estimates(x, self.median, weights)
            found = {f"{kind}:{self.name}": each for kind, each in estimates.items()}
        whole = there[there[list(self.others)].notna().all(axis=1)]
        first: Any = whole[self.name]
        first = first.astype(str) == self.categories[0] if self.categories else first
        names, columns = columns_of(whole[list(self.others)], self.categorical)
        slopes = regression(first.to_numpy(dtype=float), columns, self._weights(whole))
        # A level that nobody has tells nothing.
        given = [(b, v) if v > 0 else (np.nan, np.nan) for b, v in slopes]
        return found | {f"slope:{self.name} {n}": each for n, each in zip(names, given, strict=True)}

    def _weights(self, frame: pd.DataFrame) -> Array | None:
        return None if self.weight is None else frame[self.weight].to_numpy(dtype=float)


def share_of(there: NDArray[np.bool_], weights: Array | None = None) -> tuple[float, float]:
    """A share and its variance."""
    if weights is not None:
        return _mean_of(there.astype(float), weights)
    share = float(there.mean())
    return share, share * (1 - share) / len(there)


def _mean_of(x: Array, weights: Array) -> tuple[float, float]:
    """A weighted mean and its variance, by linearisation."""
    return float(np.average(x, weights=weights)), standard_error(x, Survey(weights)) ** 2


def number_estimates(x: Array, median: float, weights: Array | None = None) -> dict[str, tuple[float, float]]:
    """Mean, share of records up to a value, and 90th percentile of a number, with their variances.

    A percentile has Woodruff's interval.
    """
    n, p = len(x), PERCENTILE / 100
    if weights is not None:
        middle, (low, high) = quantile_with_interval(x, Survey(weights), p)
        return {
            "mean": _mean_of(x, weights),
            "share": share_of(x <= median, weights),
            "q90": (middle, ((high - low) / (2 * 1.96)) ** 2),
        }
    half = 1.96 * np.sqrt(p * (1 - p) / n)
    low, high = np.quantile(x, [max(0.0, p - half), min(1.0, p + half)])
    return {
        "mean": (float(x.mean()), float(x.var(ddof=1) / n)),
        "share": share_of(x <= median),
        "q90": (float(np.quantile(x, p)), float(((high - low) / (2 * 1.96)) ** 2)),
    }


def regression(x: Array, columns: Array, weights: Array | None = None) -> list[tuple[float, float]]:
    """Least squares coefficients on columns and a constant, with variances that allow unequal spreads (HC1).

    With survey weights least squares are weighted, and the same variances are those of linearisation (Binder 1983).
    """
    n = len(x)
    design = np.column_stack([np.ones(n), columns])
    weighed = design if weights is None else design * (weights / weights.mean())[:, None]
    inverse = np.linalg.pinv(weighed.T @ design)
    beta = inverse @ weighed.T @ x
    scored = weighed * (x - design @ beta)[:, None]
    variance = np.diag(inverse @ (scored.T @ scored) @ inverse) * n / max(1, n - design.shape[1])
    return [(float(b), float(v)) for b, v in zip(beta[1:], variance[1:], strict=True)]


def columns_of(frame: pd.DataFrame, categorical: Sequence[str]) -> tuple[list[str], Array]:
    """Columns of a regression, named: numbers as they are, categories but the first as 0 and 1.

    Examples
    --------
    >>> columns_of(pd.DataFrame({"age": [3, 5], "sex": ["f", "m"]}), ())[0]
    ['age', 'sex m']
    """
    names, parts = [], []
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and name not in categorical:
            names.append(name)
            parts.append(column.to_numpy(dtype=float))
            continue
        text = column.astype(str)
        levels = list(column.cat.categories) if hasattr(column, "cat") else sorted(text.unique())
        for level in levels[1:]:
            names.append(f"{name} {level}")
            parts.append((text == str(level)).to_numpy(dtype=float))
    return names, np.column_stack(parts) if parts else np.zeros((len(frame), 0))
