"""Names of codes, as a statistical file has them, are in its codebook and in the dictionaries of a release."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.data.codebook import parse_codebook
from synth_core.data.table import read_table
from synth_core.release.output.data_dictionary import nist_dictionary, released_codebook
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.system.cache import MemoryCache

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
    assert nist_dictionary(released_codebook(plan), [table.frame])["region"]["values"]["9"] == "Abroad: other"
