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
    unit : str, optional
        The column of units that were drawn whole: variances are between them; None: of records drawn one by one.
    missing : bool
        Whether the share of missing values is estimated.
    """

    name: str
    median: float
    categories: tuple[str, ...]
    others: tuple[str, ...]
    categorical: tuple[str, ...]
    weight: str | None = None
    unit: str | None = None
    missing: bool = False

    def of(self, frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
        """Estimates by class and column, "mean:pay", each with its variance as ordinary software gives it.

        Rows where the variable, or a column of the regression, is missing are left out, as software does.
        """
        there = frame[frame[self.name].notna()]
        survey, found = self._survey(there), dict[str, tuple[float, float]]()
        if self.categories:
            text = there[self.name].astype(str)
            for category in self.categories:
                found[f"share:{self.name} {category}"] = share_of((text == category).to_numpy(), survey)
        else:
            x = there[self.name].to_numpy(dtype=float)
            estimates = number_estimates(x, self.median, survey)
            found = {f"{kind}:{self.name}": each for kind, each in estimates.items()}
        if self.missing:
            absent = frame[self.name].isna().to_numpy()
            found[f"missing:{self.name}"] = share_of(absent, self._survey(frame))
        whole = there[there[list(self.others)].notna().all(axis=1)]
        first: Any = whole[self.name]
        first = first.astype(str) == self.categories[0] if self.categories else first
        names, columns = columns_of(whole[list(self.others)], self.categorical)
        slopes = regression(first.to_numpy(dtype=float), columns, self._survey(whole))
        # A level that nobody has tells nothing.
        given = [(b, v) if v > 0 else (np.nan, np.nan) for b, v in slopes]
        return found | {f"slope:{self.name} {n}": each for n, each in zip(names, given, strict=True)}

    def _survey(self, frame: pd.DataFrame) -> Survey | None:
        """How the rows were sampled; None where each was drawn by itself and counts once."""
        if self.weight is None and self.unit is None:
            return None
        weights = np.ones(len(frame)) if self.weight is None else frame[self.weight].to_numpy(dtype=float)
        units = None if self.unit is None else np.asarray(pd.factorize(frame[self.unit])[0], dtype=np.int64)
        return Survey(weights, units)


def share_of(there: NDArray[np.bool_], survey: Survey | None = None) -> tuple[float, float]:
    """A share and its variance."""
    if survey is not None:
        return _mean_of(there.astype(float), survey)
    share = float(there.mean())
    return share, share * (1 - share) / len(there)


def _mean_of(x: Array, survey: Survey) -> tuple[float, float]:
    """A weighted mean and its variance, by linearisation."""
    return float(np.average(x, weights=survey.weights)), standard_error(x, survey) ** 2


def number_estimates(x: Array, median: float, survey: Survey | None = None) -> dict[str, tuple[float, float]]:
    """Mean, share of records up to a value, and 90th percentile of a number, with their variances.

    A percentile has Woodruff's interval.
    """
    n, p = len(x), PERCENTILE / 100
    if survey is not None:
        middle, (low, high) = quantile_with_interval(x, survey, p)
        return {
            "mean": _mean_of(x, survey),
            "share": share_of(x <= median, survey),
            "q90": (middle, ((high - low) / (2 * 1.96)) ** 2),
        }
    half = 1.96 * np.sqrt(p * (1 - p) / n)
    low, high = np.quantile(x, [max(0.0, p - half), min(1.0, p + half)])
    return {
        "mean": (float(x.mean()), float(x.var(ddof=1) / n)),
        "share": share_of(x <= median),
        "q90": (float(np.quantile(x, p)), float(((high - low) / (2 * 1.96)) ** 2)),
    }


def regression(x: Array, columns: Array, survey: Survey | None = None) -> list[tuple[float, float]]:
    """Least squares coefficients on columns and a constant, with variances that allow unequal spreads (HC1).

    With survey weights least squares are weighted, and the same variances are those of linearisation (Binder 1983). The
    scores of a unit are summed, and residuals within it may go together (CR1, Liang and Zeger 1986).
    """
    n = len(x)
    design = np.column_stack([np.ones(n), columns])
    weighed = design if survey is None else design * (survey.weights / survey.weights.mean())[:, None]
    inverse = np.linalg.pinv(weighed.T @ design)
    beta = inverse @ weighed.T @ x
    scored = weighed * (x - design @ beta)[:, None]
    between = 1.0
    if survey is not None and survey.units is not None:
        scored = pd.DataFrame(scored).groupby(survey.units).sum().to_numpy()
        between = (n - 1) / n * len(scored) / max(1, len(scored) - 1)
    variance = np.diag(inverse @ (scored.T @ scored) @ inverse) * n / max(1, n - design.shape[1]) * between
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
