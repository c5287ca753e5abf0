"""Predictors of whole records are read as those of one variable: by the file's rows, spellings and codebook."""

import numpy as np
import pytest

from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table
from synth_core.errors import InputError

N = 60
BLOCKS = (Block("pay", "lognormal"),)
DISTRICTS = [f"{10 + i:02d}" for i in range(12)] + ["2A"]


def table(cell, *entries):
    """Of one predictor; the first row is incomplete."""
    rows = [f"{1000 + 7 * i if i else ''};{cell(i)}" for i in range(N)]
    options = ReadOptions(codebook=Codebook(columns=entries))
    return read_table("\n".join(["pay;x", *rows]).encode(), "t.csv", options)


def selection(table, tmp_path, **common):
    common = {"predictors": ("x",)} | common
    return RecordsAnalysis(table, BLOCKS, common, tmp_path).analyses(False)[0].selection


@pytest.mark.parametrize(
    ("cell", "common", "said"),
    [
        (lambda i: "inf" if i == 30 else i % 7, {}, r"infinite values \(first in row 31\)"),
        (lambda i: DISTRICTS[i % 13], {}, r"4 of its 60 cells are none \(first in row 13\)"),
        (lambda i: ("10.1", "10.10", "10.2")[i % 3], {"categorical": ("x",)}, "one code or two"),
        (lambda i: f"{1 + i % 28:02d}.03.2024", {}, "holds dates"),
    ],
)
def test_a_predictor_is_refused_as_one_of_a_single_variable_is(cell, common, said, tmp_path):
    """Rows were those of the complete records, two codes became one, and days became categories."""
    with pytest.raises(InputError, match=said):
        selection(table(cell), tmp_path, **common)


def test_codes_that_are_declared_categories_are_taken(tmp_path):
    """They were refused, with the advice to declare them."""
    declared = table(lambda i: DISTRICTS[i % 13], Entry(column="x", kind="category"))
    found = selection(declared, tmp_path)
    assert found.records.design.shape == (N - 1, 13) and np.sum(~found.complete) == 0
