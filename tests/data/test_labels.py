"""Names of codes, as a statistical file has them, are in its codebook and in the dictionaries of a release."""

import io

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.opening import opening_model
from synth_core.analysis.settings import make_settings
from synth_core.data.codebook import Codebook, Entry
from synth_core.data.codebook_file import parse_codebook
from synth_core.data.outcome import category_codes
from synth_core.data.table import declared_again, read_table
from synth_core.errors import InputError
from synth_core.release.output.bundle import dictionary_rows, parquet_bytes, with_whole_numbers
from synth_core.release.output.data_dictionary import nist_dictionary, released_codebook
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.system.cache import MemoryCache
from tests.support.typed_files import typed

LABELS = {"region": {1: "North", 2: "South", 9: "Abroad: other"}, "pay": {999999: "Refused"}}


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"region": rng.choice([1.0, 2.0, 9.0], 80), "pay": rng.lognormal(8, 0.5, 80).round()}
    )
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels=LABELS)
    return read_table((tmp_path / "t.sav").read_bytes(), "t.sav")


def test_labels_of_a_file_are_in_its_codebook_and_it_stays_numbers(table):
    region = table.codebook.get("region")
    assert (region.kind, region.categories) == ("number", ("1", "2", "9"))
    assert region.labels == ("North", "South", "Abroad: other")
    assert parse_codebook(table.codebook.to_json().encode(), "b.json").get("region") == region
    assert table.codebook.get("pay").labels == ("Refused",)
    table.check_use("region", kept=True)  # a code without a label is no error


@pytest.mark.stan
def test_the_dictionaries_of_a_release_have_them(table):
    settings = make_settings(
        outcome="pay",
        predictors=("region",),
        categorical=("region",),
        model="lognormal",
        draws=200,
        warmup=200,
    )
    analysis = Analysis(table, settings, MemoryCache())
    plan, _ = make_plan(
        analysis, analysis.run("censored"), Decision("s", "why", "who", "historical", limit=100.0)
    )
    entry = released_codebook(plan).get("region")
    assert dict(zip(entry.categories, entry.labels, strict=True)) == {
        "1": "North", "2": "South", "9": "Abroad: other",
    }  # fmt: skip
    row = next(each for each in dictionary_rows(plan) if each["column"] == "region")
    # As the CSV file has them, and not 1.0 of a column of floating-point numbers; with what they are called.
    assert row["values"] == "1 (North), 2 (South), 9 (Abroad: other)"
    whole = with_whole_numbers(table.frame, plan)
    assert whole["region"].dtype == np.int64 and whole["region"].tolist() == table.frame["region"].tolist()
    assert whole["pay"].dtype == table.frame["pay"].dtype  # a synthetic one has its own
    lacking = with_whole_numbers(
        table.frame.assign(region=table.frame["region"].where(table.frame.index > 5)), plan
    )
    schema = pq.read_schema(io.BytesIO(parquet_bytes(lacking)))
    assert str(schema.field("region").type) == "int64" and lacking["region"].isna().sum() == 6
    halves = table.frame.assign(region=table.frame["region"] + 0.5)
    assert with_whole_numbers(halves, plan)["region"].tolist() == halves["region"].tolist()
    assert nist_dictionary(released_codebook(plan), [table.frame])["region"]["values"]["9"] == "Abroad: other"


@pytest.mark.parametrize("suffix", ["sav", "zsav", "dta"])
def test_labels_of_codes_that_the_file_marks_as_missing_are_no_categories(tmp_path, suffix):
    """Taken for categories, they were drawn as answers, and not as the missing values that they are."""
    frame = pd.DataFrame(
        {"sick": [1.0, 2.0, 9.0, 1.0], "pay": [10.5, 9999.0, 12.5, 9998.0], "who": list("abNa")}
    )
    labels = {"sick": {1: "yes", 2: "no", 9: "refused"}, "pay": {9998: "unknown", 9999: "not asked"}}
    path = str(tmp_path / f"t.{suffix}")
    if suffix == "dta":
        frame = frame.astype(object)
        frame.loc[2, "sick"], frame.loc[[1, 3], "pay"] = "a", ["b", "c"]
        labels = {"sick": {1: "yes", 2: "no", "a": "refused"}, "pay": {"b": "not asked", "c": "unknown"}}
        pyreadstat.write_dta(
            frame, path, variable_value_labels=labels, missing_user_values={"sick": ["a"], "pay": ["b", "c"]}
        )
    else:
        ranges = {"sick": [9], "pay": [{"lo": 9998, "hi": 9999}], "who": ["N"]}
        labels["who"] = {"a": "Anna", "b": "Berta", "N": "nobody"}
        pyreadstat.write_sav(
            frame, path, variable_value_labels=labels, missing_ranges=ranges, compress=suffix == "zsav"
        )
    table = read_table((tmp_path / f"t.{suffix}").read_bytes(), f"t.{suffix}")
    assert table.frame["sick"].isna().tolist() == [False, False, True, False]
    assert table.frame["pay"].isna().tolist() == [False, True, False, True]
    assert not table.codebook.get("pay").categories
    if suffix != "dta":
        assert table.codebook.get("sick").categories == ("1", "2") and table.codebook.get("sick").labels == (
            "yes",
            "no",
        )
        assert table.codebook.get("who").labels in ((), ("Anna", "Berta"))


def test_all_that_a_stata_file_names_may_occur_and_is_declared_so(tmp_path):
    """They had to be typed again from the questionnaire, one of which held a comma; codes with zeros name nothing."""
    names = {1: "never", 2: "some college, no degree", 3: "doctorate"}
    frame = pd.DataFrame({"edu": [1.0, 2.0, 2.0, 1.0], "area": [1.0, 2.0, 12.0, 1.0]})
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        frame, str(path), variable_value_labels={"edu": names}, variable_format={"area": "%02.0f"}
    )
    table = read_table(path.read_bytes(), path.name)
    assert table.codebook.get("edu").categories == tuple(names.values())
    assert table.codebook.get("area").categories == ()
    opened = opening_model(table, "edu")
    assert (opened.model, opened.options) == ("categorical", {"categories": tuple(names.values())})


@pytest.mark.parametrize("names", [("North", "South", "Abroad: other"), ("Abroad: other", "South", "North")])
def test_categories_may_be_declared_by_the_labels_of_the_file(table, names):
    """They were refused: SPSS shows labels, and the file holds codes."""
    codes = {"North": 1, "South": 2, "Abroad: other": 9}
    by_names = category_codes(table, "region", names)
    by_codes = category_codes(table, "region", tuple(str(codes[name]) for name in names))
    np.testing.assert_array_equal(by_names, by_codes)
    with pytest.raises(InputError, match="none of its 2 declared categories"):
        category_codes(table, "region", ("North", "9"))
    book = Codebook(columns=(Entry(column="region", kind="category", categories=names),))
    declared = declared_again(table, book)
    assert set(declared.frame["region"]) == set(names)
    np.testing.assert_array_equal(category_codes(declared, "region", names), by_codes)
    number = declared_again(declared, Codebook(columns=(Entry(column="region", kind="number"),)))
    assert set(number.frame["region"]) == {1, 2, 9}


def test_a_label_that_is_another_code_is_no_name_of_its_own(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0] * 10, "y": [1.0, 2.0] * 10})
    path = str(tmp_path / "t.sav")
    pyreadstat.write_sav(frame, path, variable_value_labels={"x": {1: "2", 2: "1"}, "y": {1: "No", 2: "No"}})
    table = read_table((tmp_path / "t.sav").read_bytes(), "t.sav")
    assert category_codes(table, "x", ("1", "2"))[0] == 0
    with pytest.raises(InputError, match="none of its 2 declared"):
        category_codes(table, "y", ("No", "Yes"))


@pytest.mark.parametrize("suffix", [".sav", ".dta"])
def test_labels_that_stand_for_several_codes_are_refused_with_the_codes(suffix):
    """Each value was said to be no declared category, and the way out was to declare it too."""
    names = {1: "Yes", 2: "No", 3: "No", 9: "Unknown"}
    columns = {"work": [1.0, 2.0, 3.0, 9.0] * 20, "x": range(80)}
    table = typed(suffix, columns, variable_value_labels={"work": names})
    with pytest.raises(InputError, match=r"one to several codes: declare the codes, which are 1, 2, 3, 9\.$"):
        category_codes(table, "work", ("Yes", "No", "Unknown"))
    assert category_codes(table, "work", ("1", "2", "3", "9"))[:4].tolist() == [0, 1, 2, 3]
