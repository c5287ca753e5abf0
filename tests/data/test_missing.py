"""Values that mean missing: as pandas would read them, in every format; what is proposed; what is refused."""

import numpy as np
import pandas as pd
import pytest

from synth_core.data.codebook import Codebook, Entry
from synth_core.data.missing import markers_of
from synth_core.data.readers import ReadOptions
from synth_core.data.table import Table, open_table, read_table
from synth_core.errors import InputError
from synth_core.system import limits
from tests.conftest import shared_file
from tests.support.typed_files import file_bytes, typed

FRAME = pd.DataFrame(
    {
        "pay": ["12.5", "N", "-9", " N ", "-9.0", "3"] * 4,
        "flag": ["Y", "N", "Y", "N", "Y", "N"] * 4,
        "count": [1, -9, 3, 4, -90, 6] * 4,
        "rate": [0.5, -9.0, 1.5, 2.5, 3.5, 4.5] * 4,
        "yes": [True, False] * 12,
    }
)


def table(frame=FRAME, **more):
    return Table("t.csv", frame, **more)


def test_real_markers_are_read_as_pandas_reads_them():
    path = shared_file("nist_acs_ma2018.csv")
    found = open_table(str(path)).with_missing(["N"])
    expected = pd.read_csv(path, na_values=["N"])
    pd.testing.assert_frame_equal(found.frame, expected, check_dtype=False, check_column_type=False)
    assert found.column("PINCP").missing == 1100
    assert found.proposed_outcome == "PINCP"


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_every_format_gives_the_same_numbers(kind):
    found = read_table(file_bytes(f".{kind}", FRAME), f"t.{kind}").with_missing(["N", "-9"]).frame
    np.testing.assert_array_equal(found["pay"], [12.5, np.nan, np.nan, np.nan, np.nan, 3] * 4)
    np.testing.assert_array_equal(found["count"], [1, np.nan, 3, 4, -90, 6] * 4)
    np.testing.assert_array_equal(found["rate"], [0.5, np.nan, 1.5, 2.5, 3.5, 4.5] * 4)
    assert found["flag"].isna().tolist() == [False, True] * 12
    assert found["yes"].astype(str).str.upper().tolist() == ["TRUE", "FALSE"] * 12


def test_a_marker_of_one_column_leaves_the_others_alone():
    found = table().with_missing(["pay=N", "pay=-9"])
    assert [c.missing for c in found.columns] == [16, 0, 0, 0, 0]
    named = FRAME.rename(columns={"pay": "a=b"})
    assert table(named).with_missing(["a=b=N"]).column("a=b").missing == 8


def test_a_decimal_comma_is_read_as_such():
    read = read_table(b"x;y\n" + b"1,5;1,0\nN;2,5\n2,5;-9,0\n" * 6, "t.csv", ReadOptions(";", "utf-8", ","))
    found = read.with_missing(["N", "-9"]).frame
    np.testing.assert_array_equal(found["x"], [1.5, np.nan, 2.5] * 6)
    np.testing.assert_array_equal(found["y"], [1, 2.5, np.nan] * 6)


def test_only_what_changes_a_cell_changes_the_fingerprint_and_the_order_does_not_matter():
    plain = table()
    assert plain.with_missing(["X"]).fingerprint == plain.fingerprint
    first, again = plain.with_missing(["N", "-9"]), plain.with_missing(["-9"]).with_missing(["N", "N"])
    assert first.fingerprint == again.fingerprint != plain.fingerprint
    assert set(first.missing) == set(again.missing) == {"N", "-9"}
    assert first.with_missing(["N"]) is first
    assert first.frame["yes"] is not None
    assert plain.frame.equals(FRAME)  # what was read stays as it was


def test_whole_numbers_beyond_exactness_stay_whole():
    large = 2**53 + 1
    frame = pd.DataFrame({"id": [large, -9, large + 2] * 4, "text": [str(large), "N", "7"] * 4})
    found = table(frame).with_missing(["-9", "N"]).frame
    assert found["id"].dropna().tolist() == [large, large + 2] * 4
    assert found["text"].dropna().tolist() == [str(large), "7"] * 4


def test_a_lone_text_among_numbers_is_proposed_and_nothing_else():
    frame = pd.DataFrame(
        {
            "lone": ["1", "2.5", "N", "N"] * 5,
            "mostly": ["N", "N", "N", "7"] * 5,
            "two": ["1", "N", ".", "2"] * 5,
            "flag": ["Y", "N"] * 10,
            "all": ["N"] * 20,
            "long": ["1", "not in the universe", "3", "4"] * 5,
            "number": [1.5, 2, -9, 4] * 5,
        }
    )
    found = table(frame).proposed_missing
    assert {token: [(c.name, c.lone_rows) for c in cs] for token, cs in found.items()} == {
        "N": [("lone", 10), ("mostly", 15)]
    }
    assert table(frame).with_missing(["N"]).proposed_missing == {
        ".": [table(frame).with_missing(["N"]).column("two")]
    }


@pytest.mark.parametrize(
    ("markers", "message"),
    [
        (["pya=N"], "no column 'pya'"),
        (["x" * (limits.MAX_MARKER_LENGTH + 1)], "at most 100 characters"),
        ([str(i) for i in range(limits.MAX_MARKERS + 1)], "At most 50 values"),
    ],
)
def test_markers_that_cannot_be_meant_are_refused(markers, message):
    with pytest.raises(InputError, match=message):
        table().with_missing(markers)


def test_a_plan_keeps_the_markers_of_its_own_columns():
    assert markers_of(["N", "pay=-9", "rate=0"], ["pay"], FRAME.columns) == ("N", "pay=-9")


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".sav", ".dta", ".xpt"])
@pytest.mark.parametrize("codes", [("01", "02"), ("1", "2")])
@pytest.mark.parametrize("marker", ["N", "area=N"])
def test_a_declared_category_stays_one_where_values_mean_missing(suffix, codes, marker):
    """Codes became numbers, one slope for all, once the letters among them meant missing."""
    cells = [(*codes, "N")[i % 3] for i in range(30)]
    options = ReadOptions(codebook=Codebook(columns=(Entry(column="area", kind="category"),)))
    read = typed(suffix, {"pay": range(30), "area": cells}, options).with_missing([marker])
    assert (read.column("area").kind, read.column("area").missing) == ("text", 10)
    assert set(read.frame["area"].dropna()) == set(codes)


def test_a_mark_that_no_cell_has_is_named():
    """A mistyped one changed nothing, without a word."""
    found = table()
    assert found.unmet(["N", "-9"]) == found.unmet(["-9", "-9.0"]) == found.unmet([]) == []
    assert found.unmet(["N", "Refused", "pay=-8", "count=N"]) == ["Refused", "pay=-8", "count=N"]
    of_text = read_table(b"pay,flag\n" + b"52.5,Y\n3.25,N\n-9.0,Y\nR,N\n" * 20, "t.csv")
    assert of_text.unmet(["R", "-9", "flag=N"]) == []  # -9 once R has gone
    assert of_text.unmet(["R", "-8", "flag=Z"]) == ["-8", "flag=Z"]
