"""Survey weights: what is refused, and how they are brought to the scale of a pseudo likelihood."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.settings import make_settings
from synth_core.data.survey_weights import effective_records, read_weights, scaled_weights, weight_classes
from synth_core.data.table import Table
from synth_core.errors import InputError

ALL = np.ones(4, dtype=bool)


@pytest.mark.parametrize(
    "weights, why",
    [
        ([1.0, 2.0, 0.0, 7654.0], r"1 survey weight in column 'w' is 0 or below \(first in row 3\)"),
        ([1.0, -2.0, -1.0, 7654.0], r"2 survey weights in column 'w' are 0 or below \(first in row 2\)"),
        ([1.0, np.nan, 3.0, 7654.0], r"is missing \(first in row 2\)"),
        ([1.0, np.inf, 3.0, 7654.0], r"is infinite \(first in row 2\)"),
        ([1.0, 5.4e-79, 3.0, 7654.0], r"is nearer to 0 than any weight \(first in row 2\)"),
        ([1.0, 1e200, 3.0, 7654.0], r"is larger than any population \(first in row 2\)"),
        (["a", "b", "c", "d"], "holds something else"),
        ([1.0, 2.0, "none", 7654.0], r"holds something else \(first in row 3\)"),
        ([None, None, None, None], "holds something else"),
        (
            ["0012.50", "0001.00", "0007.25", "7654.00"],
            "holds what may be codes: declare it a number in the codebook",
        ),
    ],
)
def test_weights_that_are_none_are_refused_by_row_and_without_a_value(weights, why):
    with pytest.raises(InputError, match=why) as refused:
        read_weights(Table("t", pd.DataFrame({"w": weights})), "w", ALL)
    assert "7654" not in str(refused.value)


def test_rows_that_are_left_out_need_no_weight():
    table = Table("t", pd.DataFrame({"w": [1.0, np.nan, 2.0, 5.0]}))
    assert read_weights(table, "w", np.array([True, False, True, True])).tolist() == [1.0, 2.0, 5.0]


def test_the_scale_is_declared_and_no_other_weight_moves_a_record():
    """The mean of the table is not read: another weight of a record changes that record's alone."""
    weights = np.array([10.0, 20.0, 30.0, 40.0])
    scaled = scaled_weights(weights, 80.0, 4, 5.0)
    assert scaled.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert scaled_weights(np.array([1000.0, 20.0, 30.0, 40.0]), 80.0, 4, 5.0).tolist() == [5.0, 1.0, 1.5, 2.0]
    with pytest.raises(InputError, match=r"declared total .* is 3, and the table alone has 4 rows"):
        scaled_weights(weights, 3.0, 4, 5.0)


def test_classes_are_of_quantiles_and_constant_weights_are_one():
    assert (
        weight_classes(np.full(7, 3.0)).tolist() == [1] * 7
        or weight_classes(np.full(7, 3.0)).tolist() == [0] * 7
    )
    assert np.bincount(weight_classes(np.arange(1.0, 101.0))).tolist() == [20] * 5
    assert effective_records(np.full(9, 2.0)) == pytest.approx(9.0)


@pytest.mark.parametrize(
    "given, why",
    [
        ({"weight_total": 100.0}, "no column of them is named"),
        ({"weight": "x"}, "cannot be the survey weight too"),
        (
            {"weight": "w", "weight_basis": "raked"},
            "a record moves the weights of all, and no proof covers that",
        ),
        ({"weight": "w", "weight_basis": "confidential"}, "a block of its own"),
        ({"weight": "w", "weight_total": 0.0}, "weight-total"),
        ({"weight": "w", "weight_total": float("nan")}, "weight-total"),
        ({"weight": "w", "weight_cap": 0.5}, "weight-cap"),
    ],
)
def test_what_has_no_proof_is_refused_with_the_reason(given, why):
    with pytest.raises(InputError, match=why):
        make_settings(outcome="x", model="beta", **given)
