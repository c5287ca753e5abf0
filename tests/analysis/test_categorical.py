"""A categorical outcome from the table to a release: shares instead of percentiles, categories instead of codes."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.settings import make_settings
from synth_core.analysis.utility import category_distance
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.weights import isolation_risk
from synth_core.release.making.drawing import Request
from synth_core.release.making.releasing import RELEASED, release
from synth_core.release.plan.planning import Decision, make_plan
from synth_core.release.plan.schema import differences

pytestmark = pytest.mark.stan
CATEGORIES = ("single", "married", "widowed", "other")


@pytest.fixture
def table(rng):
    age = rng.integers(18, 80, 300)
    status = np.where(rng.random(300) < age / 100, "married", "single").astype(object)
    status[rng.random(300) < 0.1] = "widowed"
    return Table("people", pd.DataFrame({"status": status, "age": age}))


def settings(**more):
    usual = {"outcome": "status", "predictors": ("age",), "model": "categorical", "categories": CATEGORIES}
    return make_settings(**usual | {"draws": 500, "warmup": 300, "epsilon": 2.0} | more)


@pytest.mark.slow
def test_every_mechanism_of_the_whole_range(table, kept):
    analysis = Analysis(table, settings(), kept)
    for key in (
        "unweighted",
        "weighted",
        "weighted_e",
        "censored",
        "anchored",
        "count_weighted",
        "exponential",
    ):
        result = analysis.run(key)
        assert set(np.unique(result.synthetic)) <= {0.0, 1.0, 2.0, 3.0}
        names = [s.name for s in result.statistics]
        assert names == [f"share of {c}" for c in CATEGORIES]
        mine = [np.mean(table.frame["status"] == c) for c in CATEGORIES]
        np.testing.assert_allclose([s.confidential for s in result.statistics], mine)
        half = 0.5 * sum(abs(s.synthetic - s.confidential) for s in result.statistics)
        assert result.ecdf_max == pytest.approx(half)
        assert result.overlap is None
        if key in ("censored", "anchored"):
            assert result.epsilon == 2.0
            assert result.lipschitz_bound <= 1.0 + 1e-12
    assert analysis.run("unweighted").ecdf_max < 0.15  # expected 0.05, standard error 0.03


def test_count_weights_ask_for_the_same_category(table, kept):
    analysis = Analysis(table, settings(radius=5.0), kept)
    shares = table.frame["status"].map(table.frame["status"].value_counts(normalize=True)).to_numpy()
    np.testing.assert_allclose(analysis.run("count_weighted").weights, shares)
    assert isolation_risk(np.array([1.0, 2.0]), 5.0).max() == 0  # else the radius would not be told apart


def test_what_says_nothing_of_categories_is_refused_in_words(table, kept):
    analysis = Analysis(table, settings(bounds=(0.0, 3.0)), kept)
    for key in ("range_averaged", "range_truncated"):
        with pytest.raises(InputError, match="categories have no order"):
            analysis.run(key)
    with pytest.raises(InputError, match="divide amounts"):
        analysis.run("histogram")
    with pytest.raises(InputError, match="Declare the categories of 'status'"):
        Analysis(table, settings(categories=()), kept).run("unweighted")
    with pytest.raises(InputError, match=r"declared categories \(first in row"):
        Analysis(table, settings(categories=CATEGORIES[:2]), kept).run("unweighted")
    for bad in (("a", "a"), ("a",), ("a", "")):
        with pytest.raises(InputError, match="categor"):
            settings(categories=bad)


def test_distance_is_the_largest_over_all_orders(rng):
    from itertools import permutations

    from synth_core.analysis.utility import ecdf_distance

    a, b = rng.integers(0, 4, 50).astype(float), rng.integers(0, 4, 70).astype(float)
    largest = max(
        ecdf_distance(np.array(order)[a.astype(int)], np.array(order)[b.astype(int)]).ecdf_max
        for order in permutations(range(4))
    )
    assert category_distance(a, b, 4).ecdf_max == pytest.approx(largest)


@pytest.mark.slow
def test_a_release_has_categories_and_its_plan_knows_them(table, cache, tmp_path, monkeypatch):
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    # A fit in a hundred has an R-hat beyond its limit by chance, and is refused.
    monkeypatch.setattr("synth_core.release.ledger.ledger.new_secret", lambda: "1".zfill(64))
    analysis = Analysis(table, settings(draws=1500, chains=1), cache)
    decision = Decision("status", "because", "A. Nalyst", "historical", limit=10.0)
    plan, content = make_plan(analysis, analysis.run("censored"), decision)
    assert plan.columns[0].levels == CATEGORIES
    drifted = table.frame.assign(status=table.frame["status"].replace("widowed", "lost"))
    [said] = differences(plan, Table("later", drifted))
    assert said == "column 'status' has 41 values that are no declared category (first in row 2)"
    outcome = release(Request(plan, content, table))
    assert outcome.state == RELEASED, outcome
    [path] = [p for n, p in outcome.archives.items() if "releasable" in n]
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith("synthetic_1.csv"))
        released = pd.read_csv(io.BytesIO(archive.read(name)))
    assert set(released["status"]) <= set(CATEGORIES)
    assert len(released) == len(table.frame)
