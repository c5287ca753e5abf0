"""The codebook: declared, proposed, written, read back, and checked."""

import io
import json
from functools import partial

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth_core.data.codebook import ROLE_WORDS, Codebook, Entry
from synth_core.data.codebook_file import cell_of, parse_codebook, texts_of
from synth_core.data.outcome import numeric_outcome
from synth_core.data.readers import ReadOptions
from synth_core.data.table import declared_again, read_table
from synth_core.errors import InputError
from tests.support.marks import slow_but


def declared(*entries):
    return ReadOptions(codebook=Codebook(columns=entries))


def test_a_declared_kind_overrules_the_reader():
    content = b"code;x\n" + b"01;1.234\n02;2.345\n" * 20
    options = declared(
        Entry(column="code", kind="number"), Entry(column="x", kind="number", decimal=",", thousands=".")
    )
    table = read_table(content, "t.csv", options)
    np.testing.assert_array_equal(table.frame["code"][:2], [1, 2])
    np.testing.assert_array_equal(table.frame["x"][:2], [1234, 2345])
    as_text = read_table(content, "t.csv", declared(Entry(column="x", kind="category")))
    assert list(as_text.frame["x"][:2]) == ["1.234", "2.345"]


def test_missing_marks_of_a_column_are_of_that_column():
    content = b"a,b\n" + b"1,9\n9,1\n" * 20
    table = read_table(content, "t.csv", declared(Entry(column="a", kind="number", missing=("9",))))
    assert table.frame["a"].isna().sum() == 20 and table.frame["b"].notna().all()


def test_a_file_that_breaks_its_codebook_is_refused_by_row_and_without_the_value():
    content = b"a\n" + b"1\n" * 30 + b"secret\n"
    with pytest.raises(InputError, match=r"'a' is declared a number .*1 of its cells .*row 31") as refused:
        read_table(content, "t.csv", declared(Entry(column="a", kind="number")))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ('{"columns": [{"column": "a", "kind": "amount"}]}', "entry of column 'a' is wrong: kind"),
        ('{"columns": [{"column": "a"}, {"column": "a"}]}', "column 'a' has two entries"),
        ('{"columns": [{"column": "a", "decimal": ".", "thousands": "."}]}', "are the same"),
        ('{"columns": [{"column": "a", "categories": ["x", "x"]}]}', "a category stands twice"),
        ('{"columns": [{"column": "a", "bounds": [2, 1]}]}', "lower bound is not below"),
        ('{"columns": [{"column": "a", "weight": 3}]}', "weight"),
        (
            '{"columns": [{"column": "a", "role": "Public"}]}',
            "role: .* 'sensitive', 'public', 'weight' or 'unit'",
        ),
        ('{"columns": [{"column": "a", "column": "b"}]}', "'column' stands twice"),
        ('{"columns": "a"}', "one list"),
        ("[1]", "no JSON object"),
        ("nonsense", "could not be read"),
    ],
)
def test_a_wrong_codebook_is_refused_by_column_and_rule(content, rule):
    with pytest.raises(InputError, match=rule):
        parse_codebook(content.encode(), "book.json")


def test_every_way_to_write_a_codebook():
    entry = Entry(column="edu", kind="ordered", categories=("1", "2"), labels=("low", "high"), missing=("N",))
    book = Codebook(columns=(entry, Entry(column="inc", kind="number", bounds=(0.0, 5e6))))
    assert parse_codebook(book.to_json().encode(), "b.json") == book
    rows = "column,kind,categories,labels,missing,bounds\nedu,ordered,1|2,low|high,N,\ninc,number,,,,0 to 5000000\n"
    assert parse_codebook(rows.encode(), "b.csv") == book
    nist = {
        "edu": {"description": "d", "values": {"N": "N/A (child)", "1": "low", "2": "high"}},
        "inc": {"description": "d", "values": {"N": "N/A", "min": 0, "max": 500, "501": "more"}},
        "wgt": {"description": "A sampling weight", "values": {"min": 1, "max": 9}},
        "kids": {"description": "d", "values": {"N": "N/A", "0": "None", "min": 1, "max": 19}},
    }
    found = parse_codebook(json.dumps(nist).encode(), "dictionary.json")
    edu, inc, weight, kids = found.columns
    assert (kids.bounds, kids.categories, kids.labels) == ((0, 19), ("0",), ("None",))
    assert (edu.categories, edu.labels, edu.missing) == (("1", "2"), ("low", "high"), ("N",))
    assert (inc.kind, inc.bounds, inc.missing, weight.role) == ("number", (0, 501), ("N",), "weight")
    ddi = """<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
      <var name="edu"><varFormat type="character"/>
        <catgry><catValu>1</catValu><labl>low</labl></catgry>
        <catgry><catValu>2</catValu><labl>high</labl></catgry>
        <catgry missing="Y"><catValu>N</catValu></catgry></var>
      <var name="inc" intrvl="contin"><varFormat type="numeric"/><valrng><range min="0" max="500"/></valrng></var>
      <var name="w" wgt="wgt"><varFormat type="numeric"/></var></dataDscr></codeBook>"""
    edu, inc, weight = parse_codebook(ddi.encode(), "study.xml").columns
    assert (edu.kind, edu.categories, edu.missing) == ("category", ("1", "2"), ("N",))
    assert (inc.kind, inc.bounds, weight.role) == ("number", (0, 500), "weight")


def test_a_codebook_that_a_spreadsheet_saved_is_read():
    """With semicolons, spaces beside the bars, empty rows and letters of Windows-1252 it was refused."""
    rows = "column;kind;decimal;categories;labels\r\ngröße;ordered;;1 | 2;klein | groß\r\ninc;number;,;;\r\n;;;;\r\n"
    size, inc = parse_codebook(rows.encode("cp1252"), "b.csv").columns
    assert (size.column, size.categories, size.labels) == ("größe", ("1", "2"), ("klein", "groß"))
    assert (inc.decimal, parse_codebook(rows.encode("utf-8-sig"), "b.csv").columns) == (",", (size, inc))


@pytest.mark.parametrize(
    "cells", ["1 to 3,no; yes; maybe", '"1, 2, 3","no, yes, maybe"', "1|2|3,no|yes|maybe"]
)
def test_categories_are_parted_as_one_writes_them(cells):
    """Commas were taken for a part of the only category."""
    rows = f'column,kind,categories,labels,missing\nsize,ordered,{cells},"N, -9"\n'
    [entry] = parse_codebook(rows.encode(), "b.csv").columns
    assert (entry.categories, entry.labels) == (("1", "2", "3"), ("no", "yes", "maybe"))
    assert entry.missing == ("N", "-9")


@given(st.lists(st.text("ab ,;", min_size=1, max_size=5), max_size=3))
def test_texts_of_a_cell_are_read_as_they_were_written(texts):
    kept = [each.strip() for each in texts if each.strip()]
    assert texts_of(cell_of(kept)) == tuple(kept)


def test_xml_that_would_unfold_is_refused():
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><codeBook><var name="&b;"/></codeBook>'
    with pytest.raises(InputError, match="no XML that can be read"):
        parse_codebook(bomb, "study.xml")


def test_the_digest_is_of_what_is_declared():
    one = Codebook(columns=(Entry(column="a", note="why"), Entry(column="b")))
    assert one.digest == Codebook(columns=(Entry(column="b"), Entry(column="a"))).digest
    assert one.digest != Codebook(columns=(Entry(column="a", kind="number"), Entry(column="b"))).digest


def statistical(kind, tmp_path, frame, **labels):
    path = tmp_path / f"t.{kind}"
    write = {
        "sav": pyreadstat.write_sav,
        "zsav": partial(pyreadstat.write_sav, compress=True),
        "dta": pyreadstat.write_dta,
        "xpt": pyreadstat.write_xport,
    }
    write[kind](frame, str(path), **labels)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_numbers_of_which_some_have_labels_stay_numbers(kind, tmp_path):
    frame = pd.DataFrame({"inc": [*np.arange(30.0), 999.0, 998.0]})
    labels = {"inc": {999: "Refused", 998: "Unknown"}}
    table = read_table(statistical(kind, tmp_path, frame, variable_value_labels=labels), f"t.{kind}")
    assert table.column("inc").kind == "number"
    assert np.isnan(numeric_outcome(table.with_missing(["999", "998"]), "inc")).sum() == 2


def test_labels_of_a_stata_file_are_its_categories_where_each_is_of_one_code(tmp_path):
    frame = pd.DataFrame({"sex": [1, 2] * 15, "mar": [1, 8, 9] * 10})
    labels = {"sex": {1: "male", 2: "female"}, "mar": {1: "yes", 8: "Unknown", 9: "Unknown"}}
    table = read_table(statistical("dta", tmp_path, frame, variable_value_labels=labels), "t.dta")
    assert set(table.frame["sex"]) == {"male", "female"}
    assert set(table.frame["mar"]) == {1, 8, 9}


def test_blank_text_is_missing_in_every_format(tmp_path):
    frame = pd.DataFrame({"t": ["a", "", " ", "b"] * 10, "x": np.arange(40.0)})
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    book = io.BytesIO()
    frame.to_excel(book, index=False)
    for content, name in (
        (frame.to_csv(index=False).encode(), "t.csv"),
        (buffer.getvalue(), "t.parquet"),
        (book.getvalue(), "t.xlsx"),
        (statistical("sav", tmp_path, frame), "t.sav"),
        (statistical("dta", tmp_path, frame), "t.dta"),
    ):
        assert read_table(content, name).frame["t"].isna().sum() == 20, name


WORDS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=8)


@settings(max_examples=15, deadline=None)
@given(
    texts=st.lists(WORDS, min_size=3, max_size=3),
    numbers=st.lists(st.integers(-(10**9), 10**9), min_size=3, max_size=3),
    decimals=st.lists(
        st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3)), min_size=3, max_size=3
    ),
    codes=st.lists(st.from_regex(r"[0-9]{1,3}", fullmatch=True), min_size=3, max_size=3),
    there=st.lists(st.booleans(), min_size=36, max_size=36),
)
@pytest.mark.parametrize(
    "kind", slow_but(["csv", "dta"], ["csv", "tsv", "xlsx", "parquet", "sav", "zsav", "dta", "xpt"])
)
def test_what_a_codebook_declares_is_read_back_from_every_format(
    kind, texts, numbers, decimals, codes, there, tmp_path_factory
):
    """Texts, whole numbers, decimals, codes with leading zeros, numbers and codes of which some are missing."""
    frame = pd.DataFrame({"t": texts * 12, "n": numbers * 12, "d": decimals * 12, "c": codes * 12})
    frame["some"] = np.where(there, frame["d"], np.nan)
    frame["mark"] = np.where(there, frame["c"], "no answer")
    options = declared(
        Entry(column="t", kind="category"),
        Entry(column="n", kind="number"),
        Entry(column="d", kind="number"),
        Entry(column="c", kind="category"),
        Entry(column="some", kind="number"),
        Entry(column="mark", kind="ordered", categories=tuple(dict.fromkeys(codes)), missing=("no answer",)),
    )
    stream = io.BytesIO()
    if kind in ("csv", "tsv"):
        stream.write(frame.to_csv(index=False, sep="," if kind == "csv" else "\t").encode())
    elif kind == "xlsx":
        frame.to_excel(stream, index=False)
    elif kind == "parquet":
        frame.to_parquet(stream)
    else:
        stream.write(statistical(kind, tmp_path_factory.mktemp("t"), frame))
    table = read_table(stream.getvalue(), f"t.{kind}", options)
    assert list(table.frame["t"]) == list(frame["t"])
    np.testing.assert_array_equal(table.frame["n"].astype(float), frame["n"])
    np.testing.assert_array_equal(table.frame["d"].astype(float), frame["d"])
    assert list(table.frame["c"]) == list(frame["c"])
    np.testing.assert_array_equal(table.frame["some"].astype(float), frame["some"])
    assert list(table.frame["mark"].fillna("-")) == list(frame["c"].where(there, "-"))
    assert table.beyond_declared("mark", table.codebook.get("mark")) is None
    written = table.as_written(["c"], np.ones(36, bool))
    assert list(written["c"]) == list(frame["c"])
    if kind in ("csv", "tsv"):
        written = table.as_written(["t", "n"], np.ones(36, bool))
        assert list(written["t"]) == list(frame["t"]) and list(written["n"]) == list(frame["n"].astype(str))


def test_a_table_that_was_read_takes_a_codebook_as_if_it_had_been_there(tmp_path):
    """Against the same file read with the codebook at once, as text and as a typed file."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "code": rng.choice(["1", "2", "9"], 40),
            "pay": rng.integers(1, 9, 40) * 1000,
            "at": ["N", "1,5"] * 20,
        }
    )
    book = Codebook(
        columns=(
            Entry(column="code", kind="category", categories=("1", "2"), missing=("9",)),
            Entry(column="at", kind="number", decimal=",", missing=("N",)),
            Entry(column="gone", kind="number"),
        )
    )
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    for content, name in (
        (frame.to_csv(index=False, sep=";").encode(), "t.csv"),
        (path.read_bytes(), "t.parquet"),
    ):
        plain = read_table(content, name).with_missing(["pay=3000"])
        again, at_once = declared_again(plain, book), read_table(content, name, ReadOptions(codebook=book))
        assert again.fingerprint == at_once.with_missing(["pay=3000"]).fingerprint != plain.fingerprint
        assert again.missing == ("pay=3000",) and again.codebook.get("code") == book.get("code")
        assert declared_again(again, book) is again
    with pytest.raises(InputError, match="'at' is declared a number"):
        declared_again(plain, Codebook(columns=(Entry(column="at", kind="number"),)))


def test_days_of_a_typed_file_are_written_as_days(tmp_path):
    days = pd.DataFrame({"day": pd.to_datetime(["2024-01-31", None, "2024-02-01"] * 12), "n": range(36)})
    days.to_parquet(tmp_path / "t.parquet")
    table = read_table((tmp_path / "t.parquet").read_bytes(), "t.parquet")
    written = table.as_written(["day"], np.ones(36, bool))["day"]
    assert written[0] == "2024-01-31" and written.isna()[1]


def test_a_table_of_another_codebook_is_another_one_to_a_worker():
    content = b"a,b\n" + b"1,x\n2,y\n" * 20
    plain = read_table(content, "t.csv")
    public = read_table(content, "t.csv", declared(Entry(column="b", role="public")))
    assert plain.fingerprint == public.fingerprint and plain.identity != public.identity
    assert plain.identity == read_table(content, "t.csv").identity


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b'{"columns":' + b"[" * 100_000, "c.json", "could not be read as json"),
        (
            b'{"columns": [{"column": "x", "kind": "number", "bounds": [0, Infinity]}]}',
            "c.json",
            "two finite numbers",
        ),
        (
            b'{"x": {"description": "", "values": {"min": null, "max": 5}}}',
            "c.json",
            "'x' is wrong.*two finite numbers",
        ),
        (b"column,kind\n" + b"x" * 200_000, "c.csv", "could not be read as csv"),
        (b"column,kind,kind\nx,number,text\n", "c.csv", "two columns named 'kind'"),
        (
            b'{"columns": [{"column": "x"}, {"column": " "}]}',
            "c.json",
            "entry number 2 is wrong: its column has no name",
        ),
        (
            b"<codeBook><var name='x'/><var ID='V2'/></codeBook>",
            "c.xml",
            "entry number 2 is wrong: its column has no",
        ),
    ],
)
def test_a_codebook_that_is_damaged_or_has_no_ends_is_refused_in_words(content, name, said):
    """Each was a traceback, at once or when its codebook was written, or the last of two columns counted."""
    with pytest.raises(InputError, match=said):
        parse_codebook(content, name)


@pytest.mark.parametrize(
    "content",
    [
        b"column,kind,missing\rx,number,-9\r",
        b"Column, Kind, Missing\nx, number, -9\n",
        "column\tkind\tmissing\nx\tnumber\t-9\n".encode("utf-16"),
    ],
)
def test_a_codebook_is_read_as_spreadsheet_programs_save_it(content):
    assert parse_codebook(content, "c.csv").columns == (Entry(column="x", kind="number", missing=("-9",)),)


def test_ends_that_a_data_dictionary_writes_as_texts_are_numbers():
    content = b'{"x": {"description": "", "values": {"min": "0", "max": "5"}}}'
    assert parse_codebook(content, "c.json").get("x").bounds == (0, 5)


def ddi(inside):
    variable = f'<var name="x" intrvl="contin">{inside}</var>'
    return parse_codebook(f"<codeBook>{variable}</codeBook>".encode(), "c.xml").get("x")


def test_ranges_of_values_that_mean_missing_are_read_from_xml():
    """They were passed over, and -9 to -1 were values."""
    assert ddi('<invalrng><range min="-3" max="-1"/><item VALUE="99"/></invalrng>').missing == (
        "99",
        "-3",
        "-2",
        "-1",
    )
    assert ddi('<catgry missing="true"><catValu>9</catValu></catgry>').missing == ("9",)
    for ends in ('max="-1"', 'min="-1.5" max="0"', 'min="0" max="1e9"', 'min="5" max="1"'):
        with pytest.raises(InputError, match="column 'x' is wrong: a range of values that mean missing"):
            ddi(f"<invalrng><range {ends}/></invalrng>")


def test_of_several_ranges_of_values_the_outer_ends_are_the_bounds():
    """The last range counted alone."""
    assert ddi('<valrng><range min="0" max="5"/><range min="70" max="90"/></valrng>').bounds == (0, 90)


@pytest.mark.parametrize(("said", "role"), ROLE_WORDS.items())
def test_a_role_may_be_written_as_the_screen_says_it(said, role):
    """The screen says "public, kept" of what a codebook had to call public."""
    found = parse_codebook(f'column,kind,role\nage,number,"{said}"\n'.encode(), "book.csv")
    assert found.columns[0].role == role
    assert parse_codebook(found.to_json().encode(), "book.json") == found


def test_labels_of_ddi_in_several_languages_are_not_joined_and_space_around_a_name_is_none():
    content = (
        b"<codeBook><var name=' x '><catgry><catValu>1</catValu><labl xml:lang='en'>Yes</labl>"
        b"<labl xml:lang='de'>Ja</labl></catgry></var></codeBook>"
    )
    assert parse_codebook(content, "c.xml").get("x").labels == ("Yes",)
    assert parse_codebook(b"column,kind\n x , number \n", "c.csv").get("x").kind == "number"
