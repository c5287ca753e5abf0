"""Loading: formats, detection, and every kind of bad input with words of its own."""

import io
import tomllib
import zipfile

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from synth_core.data.design import select
from synth_core.data.outcome import category_codes, outcome_column
from synth_core.data.readers import ReadOptions
from synth_core.data.table import Table, open_table, read_table
from synth_core.errors import InputError
from synth_core.system import limits
from tests.conftest import ROOT
from tests.support import mutations

FRAME = pd.DataFrame(
    {
        "income": np.linspace(10.5, 90.25, 40),
        "sex": ["f", "m"] * 20,
        "code": [1, 2, 3, 4] * 10,
        "größe 1": np.arange(40) % 7 + 0.5,
    }
)


CATEGORIES = ("1", "2", "N")


def test_declared_categories_become_codes():
    for column in (["1", "N", None, "2 "], [1.0, 2.0, np.nan, 1.0], [1, 2, 2, 1]):
        table = Table("t", pd.DataFrame({"code": column}))
        found = category_codes(table, "code", CATEGORIES)
        expected = [{"1": 0, "2": 1, "N": 2, "nan": np.nan}[str(v).removesuffix(".0").strip().replace("None", "nan")]
                    for v in column]  # fmt: skip
        np.testing.assert_array_equal(found, expected)
        written = outcome_column(found, CATEGORIES)
        again = Table("t", pd.DataFrame({"code": written}))
        np.testing.assert_array_equal(category_codes(again, "code", CATEGORIES), found)


def test_an_undeclared_category_is_refused_with_its_row_and_without_its_value():
    table = Table("t", pd.DataFrame({"code": ["1", "2", "secret", "N"]}))
    with pytest.raises(
        InputError, match=r"'code' has 1 value that is none of its 3 declared categories \(first in row 3\)"
    ) as found:
        category_codes(table, "code", CATEGORIES)
    assert "secret" not in str(found.value)


def csv(text):
    return text.encode()


def frame_bytes(kind, tmp_path):
    stream = io.BytesIO()
    path = tmp_path / f"t.{kind}"
    plain = FRAME.rename(columns={"größe 1": "size1"})
    if kind == "csv":
        return FRAME.to_csv(index=False).encode(), FRAME
    if kind == "tsv":
        return FRAME.to_csv(index=False, sep="\t").encode(), FRAME
    if kind == "xlsx":
        FRAME.to_excel(stream, index=False)
        return stream.getvalue(), FRAME
    if kind == "parquet":
        FRAME.to_parquet(stream)
        return stream.getvalue(), FRAME
    if kind == "dta":
        plain.to_stata(stream, write_index=False)
        return stream.getvalue(), plain
    if kind in ("sav", "zsav"):
        pyreadstat.write_sav(plain, str(path))
    if kind == "xpt":
        pyreadstat.write_xport(plain, str(path))
    return path.read_bytes(), plain


@pytest.mark.parametrize("kind", ["csv", "tsv", "xlsx", "parquet", "dta", "sav", "zsav", "xpt"])
def test_formats(kind, tmp_path):
    content, expected = frame_bytes(kind, tmp_path)
    table = read_table(content, f"t.{kind}")
    assert list(table.frame.columns) == list(expected.columns)
    np.testing.assert_allclose(table.frame["income"].astype(float), expected["income"])
    assert list(table.frame["sex"].astype(str)) == list(expected["sex"])


@pytest.mark.parametrize("kind", ["sas7bdat", "packed.sas7bdat"])
def test_sas(kind):
    table = read_table(mutations.sound(kind), f"t.{kind}")
    np.testing.assert_allclose(table.frame["income"], np.linspace(10.5, 90.25, 200))
    assert list(table.frame["sex"]) == ["f", "m"] * 100
    assert {c.name: c.kind for c in table.columns}["code"] == "code"


def test_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    FRAME.to_csv(path, index=False)
    assert open_table(str(path)).rows == 40


@pytest.mark.parametrize(
    ("sep", "decimal", "encoding"),
    [
        (";", ",", "utf-8"),
        (";", ",", "cp1252"),
        ("\t", ",", "utf-8"),
        ("|", ".", "utf-16"),
        (",", ".", "utf-8-sig"),
    ],
)
def test_detection(sep, decimal, encoding):
    content = FRAME.to_csv(index=False, sep=sep, decimal=decimal).encode(encoding)
    table = read_table(content, "t.csv")
    np.testing.assert_allclose(table.frame["income"], FRAME["income"])
    assert "größe 1" in table.frame.columns
    assert table.read_options.delimiter == sep
    assert table.decimal == decimal


def test_detection_can_be_corrected():
    content = csv("a;b\n" + "1,5;2\n2,5;3\n" * 8)
    table = read_table(content, "t.csv", ReadOptions(";", "utf-8", ","))
    assert table.frame["a"].iloc[0] == 1.5


def test_description():
    table = read_table(FRAME.assign(empty=np.nan, same=1).to_csv(index=False).encode(), "t.csv")
    kinds = {c.name: c.kind for c in table.columns}
    assert kinds == {
        "income": "number",
        "sex": "text",
        "code": "code",
        "größe 1": "number",
        "empty": "empty",
        "same": "code",
    }
    assert table.column("same").note == "constant"


def test_fingerprint_follows_content():
    first = read_table(FRAME.to_csv(index=False).encode(), "a.csv")
    again = read_table(FRAME.to_csv(index=False).encode(), "b.csv")
    changed = FRAME.copy()
    changed.loc[3, "income"] += 1e-9
    other = read_table(changed.to_csv(index=False).encode(), "a.csv")
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert (
        first.fingerprint
        != read_table(FRAME.rename(columns={"sex": "sax"}).to_csv(index=False).encode(), "a.csv").fingerprint
    )


def test_the_same_records_in_another_order_or_with_more_columns_are_no_other_table():
    first = Table("a", FRAME)
    columns = ("income", "sex")
    shuffled = FRAME.sample(frac=1.0, random_state=1)[["sex", "income"]].reset_index(drop=True)
    with_a_gap = pd.concat([shuffled, pd.DataFrame({"sex": [None], "income": [7.0]})], ignore_index=True)
    for frame in (shuffled, with_a_gap):
        assert Table("b", frame).same_records(first, columns)
        assert Table("b", frame).fingerprint_of(columns) != first.fingerprint_of(columns)
    moved = shuffled.copy()
    moved.loc[3, "income"] += 1e-9
    swapped = shuffled.assign(income=np.roll(shuffled["income"], 1))
    for frame in (moved, swapped, shuffled[["income"]], shuffled.iloc[1:]):
        assert not Table("b", frame).same_records(first, columns)
    numbers = pd.DataFrame({"x": [1, 2, 3]})  # whole in one file, with decimals in another
    assert Table("a", numbers).same_records(Table("b", numbers[::-1].astype(float)), ["x"])


ROWS = "\n".join(f"{i},{i % 3}" for i in range(1, 30))


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "t.csv", "empty"),
        (b"  \n \n", "t.csv", "empty"),
        (b"a,b\n", "t.csv", "no rows"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "t.csv", "not text"),
        (b"\x89PNG", "t.png", "cannot be read"),
        (b"nonsense", "t.parquet", "could not be read"),
        (b"nonsense", "t.xlsx", "could not be read"),
        (b"nonsense", "t.sav", "could not be read"),
        (csv("a,a\n" + ROWS), "t.csv", "more than once"),
        (csv(",b\n" + ROWS), "t.csv", "has no name"),
    ],
)
def test_bad_files(content, name, message):
    with pytest.raises(InputError, match=message):
        read_table(content, name)


def test_messages_do_not_quote_cells():
    secret = "hunter2"
    with pytest.raises(InputError) as caught:
        select(read_table(csv(f"x,z\n{secret},1\n{ROWS}"), "t.csv"), "x")
    assert secret not in str(caught.value)
    assert "row 1" in str(caught.value)


def table_of(**columns):
    return read_table(pd.DataFrame(columns).to_csv(index=False).encode(), "t.csv")


N = 40
X = np.linspace(1, 9, N)


@pytest.mark.parametrize(
    ("columns", "predictors", "message"),
    [
        ({"x": [np.nan] * N, "z": X}, (), "no values"),
        ({"x": [5.0] * N}, (), "constant"),
        ({"x": np.where(np.arange(N) == 3, np.inf, X)}, (), "infinite"),
        ({"x": X[:3]}, (), "complete rows"),
        ({"x": np.where(np.arange(N) < 35, np.nan, X)}, (), "35 more have missing"),
        ({"x": X, "z": ["a"] * N}, ("z",), "one value only"),
        ({"x": X, "z": [f"level {i}" for i in range(N)]}, ("z",), "too few"),
        ({"x": X, "z": X**2, "w": 2 * X**2 + 1}, ("z", "w"), "'w' is a linear combination"),
        ({"x": X, "z": np.where(np.arange(N) == 3, np.inf, X)}, ("z",), "infinite"),
        ({"x": X, "z": X}, ("nothing",), "no column 'nothing'"),
        ({"x": X, "Z": X}, ("z",), "Did you mean 'Z'"),
        ({"x": X, "z": X**2}, ("x",), "cannot be a predictor"),
        ({"x": X, "z": X**2}, ("z", "z"), "more than once"),
        ({"x": pd.date_range("2020-01-01", periods=N).astype(str)}, (), "must be a number"),
    ],
)
def test_bad_choices(columns, predictors, message):
    with pytest.raises(InputError, match=message):
        select(table_of(**columns), "x", predictors)


def test_a_thousand_levels():
    n = 2000
    table = table_of(x=np.arange(n) + 0.5, z=[f"l{i % 1000}" for i in range(n)])
    with pytest.raises(InputError, match=f"1,000 categories; at most {limits.MAX_LEVELS}"):
        select(table, "x", ("z",))


@pytest.mark.parametrize("name", ["=cmd()", "größe 1", "a b", "`tick`", "C(z)", "0", "x:y", "日本"])
def test_odd_names_are_only_names(name):
    rng = np.random.default_rng(1)
    table = table_of(**{"x": X, name: rng.normal(size=N), "sex": ["f", "m"] * (N // 2)})
    chosen = select(table, "x", (name, "sex"))
    assert chosen.records.design_names == ("(intercept)", name, "sex: m")


def test_missing_values_cost_rows_and_are_counted():
    x, z = X.copy(), X**2
    x[:2], z[1:4] = np.nan, np.nan
    chosen = select(table_of(x=x, z=z), "x", ("z",))
    assert chosen.records.n == N - 4
    assert chosen.dropped_by == {"x": 2, "z": 3}
    np.testing.assert_array_equal(chosen.records.outcome, X[4:])


def test_design_is_standardised_and_codes_can_be_categories(rng):
    table = table_of(x=X, z=rng.normal(5, 3, N), code=np.arange(N) % 4)
    number = select(table, "x", ("z", "code")).records.design
    assert number.shape == (N, 3)
    np.testing.assert_allclose(number[:, 1:].mean(0), 0, atol=1e-12)
    np.testing.assert_allclose(number[:, 1:].std(0), 1)
    assert select(table, "x", ("z", "code"), ("code",)).records.design.shape == (N, 5)


def test_the_web_server_refuses_larger_uploads_by_the_same_limit():
    config = tomllib.loads((ROOT / ".streamlit/config.toml").read_text())
    assert config["server"]["maxUploadSize"] == limits.MAX_UPLOAD_MB


def test_a_decimal_comma_in_a_comma_separated_file_is_refused_not_misread():
    for text in ("a,b\n" + "1,5,2,5\n" * 12, "a,b\n" + "1,2,3\n" * 12):
        with pytest.raises(InputError, match=r"Row 1 of t.csv has [34] cells.* decimal comma"):
            read_table(text.encode(), "t.csv")


def test_text_oddities():
    body = "\n".join(f"{i}.5,{i}" for i in range(1, 20))
    assert read_table(("\n\nx,y\n" + body).encode(), "t.csv").rows == 19
    assert (
        read_table(("x,y\n" + body).encode("utf-16-le"), "t.csv", ReadOptions(",", "utf-16", ".")).rows == 19
    )
    assert list(read_table(('x, "y,z"\n' + body).encode(), "t.csv").frame.columns) == ["x", "y,z"]


def test_labelled_and_nested_columns():
    frame = FRAME.assign(one=pd.Categorical(["only"] * 40))
    stream = io.BytesIO()
    frame.to_parquet(stream)
    assert read_table(stream.getvalue(), "t.parquet").column("one").note == "constant"
    stream = io.BytesIO()
    FRAME.assign(nested=[[1, 2]] * 40).to_parquet(stream)
    with pytest.raises(InputError, match="holds lists"):
        read_table(stream.getvalue(), "t.parquet")


def test_a_predictor_of_absurd_scale(rng):
    with pytest.raises(InputError, match="another unit"):
        select(table_of(x=X, z=rng.normal(size=N) * 1e-200), "x", ("z",))


def test_a_category_cannot_meet_a_number(rng):
    text = select(table_of(x=X, z=["a", "b"] * (N // 2)), "x", ("z",))
    with pytest.raises(InputError, match="category in the other"):
        select(table_of(x=X, z=rng.normal(size=N)), "x", ("z",), transform=text.transform)


def test_small_files_that_unpack_to_huge_tables_are_refused_before_they_are(monkeypatch):
    import pyarrow
    import pyarrow.parquet

    stream = io.BytesIO()
    bomb = pyarrow.table({f"c{i}": pyarrow.array([1.0] * 2000).dictionary_encode() for i in range(40)})
    pyarrow.parquet.write_table(bomb, stream)
    assert len(stream.getvalue()) < 40_000
    monkeypatch.setattr(limits, "MAX_UNPACKED_MB", 0.5)
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "read", lambda *a: pytest.fail("it was unpacked"))
    with pytest.raises(InputError, match=r"unpacks to 2,000 rows and 40 columns"):
        read_table(stream.getvalue(), "bomb.parquet")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 3 * 1024**2)
    monkeypatch.setattr(limits, "MAX_UNPACKED_XLSX_MB", 1)
    with pytest.raises(InputError, match="unpacks to more than"):
        read_table(packed.getvalue(), "bomb.xlsx")


@pytest.mark.parametrize("large", [2**53 + 1, -(2**53) - 1, 2**63, 10**25])
def test_whole_numbers_that_would_be_rounded_are_refused(large):
    rows = "".join(f"{i},{i % 7}\n" for i in range(1, 40))
    outcome = read_table(f"x,z\n{rows}{large},3\n".encode(), "t.csv")
    with pytest.raises(InputError, match=r"'x' holds whole numbers beyond .* \(first in row 40\)"):
        select(outcome, "x", ("z",), ())
    if abs(large) >= 2**63:
        return  # cells that no integer type holds are text, and text is a category
    predictor = read_table(f"z,x\n{rows}{large},3\n".encode(), "t.csv")
    with pytest.raises(InputError, match="'z'"):
        select(predictor, "x", ("z",), ())


@pytest.mark.parametrize(
    ("columns", "proposed"),
    [
        ({"NEWID": range(2_000_001, 2_000_041), "pay": np.linspace(1, 9, 40)}, "pay"),
        ({"row": range(1, 41), "pay": [5, 3] * 20, "sum": list(range(40, 0, -2)) * 2}, "sum"),
        ({"record_id": [7, 900, 13, 55] * 10, "pay": [1.5, 2.5, 3.5, 4.5] * 10}, "pay"),
        ({"serialno": [11, 12, 30, 45] * 10, "hours": [k % 13 for k in range(40)]}, "hours"),
        ({"PWGTP": np.linspace(3, 80, 40), "wgt_2": np.linspace(1, 2, 40), "AGEP": [20 + k % 30 for k in range(40)]},
         "AGEP"),
        ({"id": range(40)}, "id"),  # nothing else is there
        ({"id": range(40), "name": list("abcdefghij") * 4}, "name"),
        ({"paid": [k * 7 % 40 for k in range(40)], "code": [1, 2] * 20}, "paid"),
    ],
)  # fmt: skip
def test_neither_an_id_nor_a_weight_is_proposed_as_the_sensitive_variable(columns, proposed):
    content = pd.DataFrame(columns).to_csv(index=False).encode()
    assert read_table(content, "t.csv").proposed_outcome == proposed


def test_ids_and_whole_numbers_are_told():
    table = read_table(pd.DataFrame({"id": range(40), "z": [0.5, 1] * 20, "n": [1, 2, 2, 1] * 10}).to_csv(index=False)
                       .encode(), "t.csv")  # fmt: skip
    found = {c.name: (c.whole, c.identifier, c.note) for c in table.columns}
    assert found == {"id": (True, True, "seems to be an ID"), "z": (False, False, ""), "n": (True, False, "")}


def test_the_largest_exact_whole_number_is_taken():
    rows = "".join(f"{i}\n" for i in range(1, 40))
    table = read_table(f"x\n{rows}{2**53}\n".encode(), "t.csv")
    assert select(table, "x", (), ()).records.outcome[-1] == 2**53


@pytest.mark.parametrize("hidden", ["\x00", "\x1b", "\u202e", "\u2066"])
def test_characters_that_cannot_be_seen_are_refused_in_names_and_categories(hidden):
    stream = io.BytesIO()
    FRAME.rename(columns={"code": f"co{hidden}de"}).to_parquet(stream)
    with pytest.raises(InputError, match=rf"name of column 3 of t.parquet .*U\+{ord(hidden):04X}"):
        read_table(stream.getvalue(), "t.parquet")
    stream = io.BytesIO()
    FRAME.assign(sex=["f", "m", "m", f"{hidden}d"] * 10).to_parquet(stream)
    table = read_table(stream.getvalue(), "t.parquet")
    assert select(table, "income").records.n == 40  # a column that is not used may hold anything
    with pytest.raises(
        InputError, match=rf"'sex' has a category .*U\+{ord(hidden):04X}, first in row 4"
    ) as caught:
        select(table, "income", ("sex",))
    assert hidden not in str(caught.value)


def test_names_of_any_language_stay_and_line_ends_become_spaces():
    names = ["\u05e9\u05db\u05e8\u200f", "\u0645\u06cc\u200c\u062e", "gr\u00f6\u00dfe", "pay\nper\tmonth"]
    stream = io.BytesIO()
    pd.DataFrame({name: X for name in names}).to_excel(stream, index=False)
    table = read_table(stream.getvalue(), "a\u202eb\n.xlsx")
    assert list(table.frame.columns) == [*names[:3], "pay per month"]
    assert table.name == "a\ufffdb .xlsx"


def test_codes_among_predictors_are_those_of_three_to_ten_whole_numbers():
    frame = pd.DataFrame(
        {
            "two": [1, 2] * 20,
            "five": [1, 2, 3, 4, 5] * 8,
            "halves": [0.5, 1, 1.5, 2] * 10,
            "many": range(100, 140),
            "text": ["a", "b", "c", "d"] * 10,
        }
    )
    table = read_table(frame.to_csv(index=False).encode(), "t.csv")
    assert table.codes_among(frame.columns) == ("five",)
    assert table.codes_among(["two", "many"]) == ()


def test_a_column_of_text_is_told_apart_from_numbers_with_a_marker():
    table = read_table(csv("x,y\n" + "a,1\nb,N\n" * 10), "t.csv")
    with pytest.raises(InputError, match=r"'x' must be a number .* holds text only\. Choose another"):
        select(table, "x")
    with pytest.raises(InputError, match=r"10 of its 20 cells are not .* values that mean missing"):
        select(table, "y")
    table = read_table(csv("x,y\n" + '"$1,200",5 %\n' * 10), "t.csv")
    for name in "xy":
        with pytest.raises(InputError, match=r"holds text only\. .* without signs of a currency, percent"):
            select(table, name)


def test_codes_of_one_size_repeat_and_amounts_hardly_do():
    """Pays of 40 people, all between 900 and 1,300, were taken for the codes of 40 categories."""
    frame = pd.DataFrame({"pay": np.arange(900, 1300, 10), "job": np.tile(np.arange(101, 109), 5)})
    found = {column.name: column.narrow for column in Table("t", frame, False).columns}
    assert found["pay"] is False
    jobs = Table("t", pd.DataFrame({"job": np.tile(np.arange(101, 131), 10)}), False)
    assert jobs.columns[0].narrow is True


def test_households_that_stand_together_are_not_what_is_measured():
    """A key of 60 households has more values than an income: the table opened with it as the sensitive variable."""
    house = np.repeat(np.arange(60), 3)
    table = Table("t.csv", pd.DataFrame({"HOUSE": house, "income": np.arange(180) % 50 * 1000}))
    assert table.proposed_outcome == "income" and table.column("HOUSE").identifier
    apart = Table("t.csv", pd.DataFrame({"house": np.arange(180) % 60, "income": np.arange(180) % 50 * 1000}))
    assert not apart.column("house").identifier  # by its name alone it may be what a house is worth


def test_a_directory_is_refused_as_one(tmp_path):
    """It was said not to be there."""
    with pytest.raises(InputError, match="is a directory, not a file"):
        open_table(str(tmp_path))
