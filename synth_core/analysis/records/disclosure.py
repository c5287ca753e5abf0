"""What an intruder who knows a record's public predictors learns of its sensitive values: empirical, no guarantee.

Another intruder may know more, and a record of which nothing was found here is not safe for that reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from synth_core.analysis.records.discretise import Codes, DiscretisedTables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AttributeDisclosure:
    """Attribute disclosure of one sensitive variable, as codes; shares of all confidential records.

    Attributes
    ----------
    target : str
    cap : float
        Correct attribution probability: the mean over records of the share of the record's own code among the synthetic
        records with its predictors, 0 where there are none (Elliot 2014; Taub et al. 2018).
    baseline : float
        The same of an intruder who knows the shares of the codes alone.
    disclosive : float
        Records whose predictors occur with one code only in the confidential table itself.
    disco : float
        Disclosive in synthetic, correct in original: records whose predictors occur with one code only in the synthetic
        table, and that is theirs (Raab, Nowok and Dibben 2024).
    """

    target: str
    cap: float
    baseline: float
    disclosive: float
    disco: float


def attribute_disclosure(tables: DiscretisedTables, n_public: int) -> tuple[AttributeDisclosure, ...]:
    """Attribute disclosure of every sensitive variable, the keys being all public predictors; none without predictors.

    Parameters
    ----------
    n_public : int
        So many of the first columns are public.
    """
    if not n_public:
        return ()
    both = np.vstack([tables.confidential[:, :n_public], tables.synthetic[:, :n_public]])
    keys = np.unique(both, axis=0, return_inverse=True)[1].ravel()
    n, n_keys = len(tables.confidential), int(keys.max()) + 1
    disclosures = []
    for column in range(n_public, len(tables.names)):
        codes = tables.confidential[:, column], tables.synthetic[:, column]
        mine, theirs = (
            _counts(key, code, n_keys, tables.n_codes[column])
            for key, code in zip((keys[:n], keys[n:]), codes, strict=True)
        )
        shares, single = _shares(theirs), (mine > 0).sum(axis=1) == 1
        own = shares[keys[:n], codes[0]]
        disclosures.append(
            AttributeDisclosure(
                tables.names[column],
                float(own.mean()),
                float(((mine.sum(axis=0) / n) ** 2).sum()),
                float(single[keys[:n]].mean()),
                float((own == 1).mean()),
            )
        )
    return tuple(disclosures)


def average_disclosure(sets: Sequence[tuple[AttributeDisclosure, ...]]) -> tuple[AttributeDisclosure, ...]:
    """Means over data sets; what is of the confidential table alone is the same in all."""
    return tuple(
        replace(
            same[0],
            cap=float(np.mean([each.cap for each in same])),
            disco=float(np.mean([each.disco for each in same])),
        )
        for same in zip(*sets, strict=True)
    )


def _counts(keys: Codes, codes: Codes, n_keys: int, n_codes: int) -> Array:
    """Records by key and code, of shape (n_keys, n_codes)."""
    flat = np.bincount(keys * n_codes + codes, minlength=n_keys * n_codes)
    return flat.reshape(n_keys, n_codes).astype(float)


def _shares(counts: Array) -> Array:
    """Within each key; 0 where there are no records."""
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
