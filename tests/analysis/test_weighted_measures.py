"""Accuracy of the population: every measure by weights is the unweighted one of the table in which each record stands
as often as it weighs; standard errors against naive loops and simulation; the choice, wherever accuracy is read.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.policy import Policy, judge
from synth_core.analysis.records import measures
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.discretise import DiscretisedTables
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.regression import coefficient_intervals, interval_overlap
from synth_core.analysis.result_sentences import sentence
from synth_core.analysis.settings import make_settings
from synth_core.analysis.subgroups import Group, by_group
from synth_core.analysis.summary import ecdf_points, pairs_of, summary_of
from synth_core.analysis.survey_estimates import (
    linearised_error,
    mean_with_interval,
    standard_error,
    weighted_statistics,
)
from synth_core.analysis.utility import Z95, category_distance, ecdf_distance
from synth_core.data.survey_weights import Survey
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.explore.measures import Ruler
from synth_core.experiments.explore.records_point import ruler_of
from synth_core.figures.briefing.content import Chapter, Provenance, briefing
from synth_core.figures.compare import compare_figures
from synth_core.figures.parts import Other
from synth_core.figures.records import record_figures
from synth_core.mechanisms.noise import SeededNoise
from synth_core.system.cache import Cache

N = 60
RNG = np.random.default_rng(1)
V, W = (RNG.integers(1, 9, N).astype(float) for _ in range(2))
X, Y = RNG.lognormal(size=N).round(1), RNG.lognormal(0.3, 1, size=N).round(1)


def stands(values, weights):
    """Each record as often as it weighs."""
    return np.repeat(values, weights.astype(int), axis=0)


def test_distances_are_those_of_the_table_in_which_records_stand_as_often_as_they_weigh():
    found, expected = ecdf_distance(X, Y, (V, W)), ecdf_distance(stands(X, V), stands(Y, W))
    assert vars(found) == pytest.approx(vars(expected), rel=1e-12)
    assert vars(ecdf_distance(X, Y, (3 * V, 0.1 * W))) == pytest.approx(
        vars(ecdf_distance(X, Y, (V, W))), rel=0.2
    )
    assert ecdf_distance(X, Y, (3 * V, 0.1 * W)).ecdf_max == pytest.approx(found.ecdf_max)
    assert found.ecdf_max != pytest.approx(ecdf_distance(X, Y).ecdf_max, abs=1e-3)
    a, b = RNG.integers(0, 4, N).astype(float), RNG.integers(0, 4, N).astype(float)
    expected = category_distance(stands(a, V), stands(b, W), 4)
    assert vars(category_distance(a, b, 4, (V, W))) == pytest.approx(vars(expected), rel=1e-12)


def test_curves_are_those_of_the_table_in_which_records_stand_as_often_as_they_weigh():
    points = ecdf_points(X, 30, W)
    expected = [(stands(X, W) <= at).mean() for at in points.at]
    np.testing.assert_allclose(points.share, expected)
    np.testing.assert_allclose(ecdf_points(X, 30).share, [(at >= X).mean() for at in ecdf_points(X, 30).at])


def codes(seed):
    """Three columns, the last of which differs between the tables."""
    rng = np.random.default_rng(seed)
    public = rng.integers(0, 3, (N, 1))
    mine, theirs = (
        np.hstack([public, rng.integers(0, 3, (N, 1)), rng.choice(3, (N, 1), p=p)])
        for p in ((0.3, 0.3, 0.4), (0.5, 0.3, 0.2))
    )
    return DiscretisedTables(("a", "b", "c"), mine, theirs, (3, 3, 3), (("0", "1", "2"),) * 3, 1)


def test_measures_of_several_columns_are_those_of_the_table_in_which_records_stand_as_often():
    bare = codes(2)
    t = replace(bare, weights=(V / V.mean(), V / V.mean()))
    wide = replace(bare, confidential=stands(bare.confidential, V), synthetic=stands(bare.synthetic, V))
    sets = measures.marginals(3, 1, 2)
    of = (t.confidential, t.synthetic, t.n_codes, sets)
    expected = measures.k_marginal_score(wide.confidential, wide.synthetic, wide.n_codes, sets)
    assert measures.k_marginal_score(*of, weights=t.counted) == pytest.approx(expected)
    assert expected != pytest.approx(measures.k_marginal_score(*of), abs=1)
    worst, mean, pair = measures.association_difference(t)
    assert (worst, mean) == pytest.approx(measures.association_difference(wide)[:2])
    assert pair == measures.association_difference(wide)[2]
    assert measures.propensity(t)[0] == pytest.approx(measures.propensity(wide)[0], rel=1e-3)
    pairs = zip(pairs_of(t, {"b", "c"}), pairs_of(wide, {"b", "c"}), strict=True)
    for mine, theirs in pairs:
        assert mine.association == pytest.approx(theirs.association)
        np.testing.assert_allclose(mine.synthetic, theirs.synthetic)


def test_weighted_measures_of_several_columns_are_those_of_naive_loops():
    """Weights are no whole numbers, and other ones in either table; loops know nothing of arrays of cells."""
    rng = np.random.default_rng(5)
    mine, theirs = rng.lognormal(0, 0.7, N), rng.lognormal(0.2, 0.5, N)
    t = replace(codes(4), weights=(mine / mine.mean(), theirs / theirs.mean()))
    sides = [(t.confidential.tolist(), mine.tolist()), (t.synthetic.tolist(), theirs.tolist())]

    lost = []
    sets = measures.marginals(3, 1, 2, n_public=1)
    for columns in sets:
        shares = []
        for rows, weights in sides:
            cells = {}
            for row, weight in zip(rows, weights, strict=True):
                cell = tuple(row[column] for column in columns)
                cells[cell] = cells.get(cell, 0.0) + weight / sum(weights)
            shares.append(cells)
        every = set(shares[0]) | set(shares[1])
        lost.append(sum(abs(shares[0].get(c, 0.0) - shares[1].get(c, 0.0)) for c in every) / 2)
    score = measures.k_marginal_score(t.confidential, t.synthetic, t.n_codes, sets, weights=t.counted)
    assert score == pytest.approx(1000 * (1 - sum(lost) / len(lost)))

    rows = [
        (row, w / np.mean(of), side)
        for side, (r, of) in enumerate(sides)
        for row, w in zip(r, of, strict=True)
    ]
    design = [[1.0, *(float(row[j] == k) for j in range(3) for k in (1, 2))] for row, _, _ in rows]
    weights, which = [w for _, w, _ in rows], [side for _, _, side in rows]

    def loss(slopes):
        found = sum((slope / measures.SLOPE_SCALE) ** 2 / 2 for slope in slopes[1:])
        for z, w, side in zip(design, weights, which, strict=True):
            at = sum(a * b for a, b in zip(slopes, z, strict=True))
            found += w * (np.log1p(np.exp(at)) - side * at)
        return found

    fit = minimize(loss, np.zeros(7), method="BFGS").x
    total = sum(weights)
    share = sum(w for w, side in zip(weights, which, strict=True) if side) / total
    pmse = 0.0
    for z, w in zip(design, weights, strict=True):
        pmse += w * (1 / (1 + np.exp(-np.dot(fit, z))) - share) ** 2 / total
    assert measures.propensity(t)[0] == pytest.approx(pmse, rel=1e-3)
    plain = replace(t, weights=None)
    assert measures.propensity(plain)[0] != pytest.approx(pmse, rel=0.05)

    # What is expected: public columns as they are, and of the others what weights leave of them, record by record.
    z, d, w = np.array(design)[:, :3], np.array(design)[:, 3:], np.array(weights)
    given = sum(wi * (side - share) * zi for wi, side, zi in zip(w, which, z, strict=True))
    bread = np.linalg.inv(sum(wi * np.outer(zi, zi) for wi, zi in zip(w, z, strict=True)))
    slopes = bread @ sum(wi * np.outer(zi, di) for wi, zi, di in zip(w, z, d, strict=True))
    rest = [di - zi @ slopes for zi, di in zip(z, d, strict=True)]
    first = sum(wi * np.outer(r, r) for wi, r in zip(w, rest, strict=True))
    second = sum(wi**2 * np.outer(r, r) for wi, r in zip(w, rest, strict=True))
    expected = (
        given @ bread @ given + np.trace(np.linalg.inv(first) @ second) * (1 - share) ** 2 * share
    ) / total
    assert measures.propensity(t)[1] == pytest.approx(pmse / expected, rel=1e-3)


def test_the_ratio_of_weighted_propensities_is_1_where_sensitive_columns_are_drawn_anew():
    """200 tables of 400 records whose weights vary: the mean is 1 within 4 errors, and not as if they were equal."""
    rng, ratios, naive = np.random.default_rng(3), [], []
    for _ in range(200):
        public, weights = rng.integers(0, 3, (400, 1)), rng.lognormal(0, 1, 400)
        drawn = [np.hstack([public, rng.integers(0, 3, (400, 2))]) for _ in range(2)]
        t = DiscretisedTables(("a", "b", "c"), *drawn, (3, 3, 3), n_public=1)
        weighted = replace(t, weights=(weights / weights.mean(),) * 2)
        pmse, ratio = measures.propensity(weighted)
        ratios.append(ratio / 2)  # both tables are draws: twice what one redrawn table has
        naive.append(pmse / (measures.propensity(t)[0] / measures.propensity(t)[1]) / 2)
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert np.mean(ratios) == pytest.approx(1.0, abs=4 * error)
    assert np.mean(naive) > 1.5


def test_regressions_are_those_of_the_table_in_which_records_stand_as_often():
    design = np.column_stack([np.ones(N), RNG.normal(size=N), RNG.integers(0, 2, N)])
    every = np.ones(3, dtype=bool)
    low, high = coefficient_intervals(X, design, every, Survey(W))
    expected = np.linalg.lstsq(stands(design, W), stands(X, W))[0]
    np.testing.assert_allclose((low + high) / 2, expected)
    # The naive sandwich, in which a record is one draw however much it weighs.
    residual = X - design @ expected
    bread = np.linalg.inv(sum(w * np.outer(z, z) for w, z in zip(W, design, strict=True)))
    meat = sum(np.outer(w * e * z, w * e * z) for w, e, z in zip(W, residual, design, strict=True))
    error = np.sqrt(np.diag(N / (N - 1) * bread @ meat @ bread))
    np.testing.assert_allclose((high - low) / (2 * 1.959963984540054), error)
    assert interval_overlap(X, X, design, Survey(W)) == pytest.approx(1.0)
    assert interval_overlap(X, Y, design, Survey(W)) != pytest.approx(
        interval_overlap(X, Y, design), abs=1e-3
    )


def test_groups_and_maps_measure_by_weights():
    rows = np.flatnonzero(RNG.random(N) < 0.6)
    survey = Survey(W)
    [found] = by_group(X, Y[None, :], [Group("a", rows)], "q90", 1, survey)
    wide_x, wide_y = stands(X[rows], W[rows]), stands(Y[rows], W[rows])
    assert found.ecdf_max == pytest.approx(ecdf_distance(wide_x, wide_y).ecdf_max)
    quantiles = [np.quantile(each, 0.9, method="inverted_cdf") for each in (wide_x, wide_y)]
    assert [found.statistic.confidential, found.statistic.synthetic] == quantiles
    ruler = Ruler(X, (25.0, 90.0), W)
    wide_x, wide_y = stands(X, W), stands(Y, V)
    quantiles = np.array([np.quantile(each, [0.25, 0.9], method="inverted_cdf") for each in (wide_x, wide_y)])
    distance = ecdf_distance(wide_x, wide_y)
    expected = [distance.ecdf_max, distance.ecdf_avg, abs(wide_y.mean() / wide_x.mean() - 1)]
    np.testing.assert_allclose(ruler.measure(Y, V), [*expected, *np.abs(quantiles[1] / quantiles[0] - 1)])


# -- standard errors -----------------------------------------------------------------------------


def test_errors_of_units_are_of_their_sums():
    units, scores = np.array([3, 3, 7, 7, 7, 9]), np.array([1.0, -2, 0.5, 0.5, 1, -1])
    sums = np.array([-1.0, 2.0, -1.0])
    assert linearised_error(scores, Survey(np.ones(6), units)) == pytest.approx(
        np.sqrt(3 / 2 * (sums**2).sum())
    )
    both = linearised_error(np.column_stack([scores, 2 * scores]), Survey(np.ones(6), units))
    np.testing.assert_allclose(both, np.sqrt(3 / 2 * (sums**2).sum()) * np.array([1, 2]))
    assert np.isnan(linearised_error(scores, Survey(np.ones(6), np.zeros(6, dtype=int))))


def test_intervals_of_clustered_samples_hold_as_often_as_they_say():
    """400 samples of 60 households of 1 to 5 alike persons, drawn by size: .95, standard error .011; by record .75."""
    rng = np.random.default_rng(5)
    size = rng.integers(1, 6, 3000)
    house = np.repeat(np.arange(3000), size)
    pay = np.exp(1 + rng.normal(0, 0.8, 3000)[house] + rng.normal(0, 0.2, len(house)))
    chance, first, truth = size / size.sum(), np.cumsum(size) - size, pay.mean()
    held, alone = 0, 0
    for _ in range(400):
        drawn = rng.choice(3000, 60, p=chance)
        rows = np.concatenate([first[h] + np.arange(size[h]) for h in drawn])
        units, weights = np.repeat(np.arange(60), size[drawn]), np.repeat(1 / chance[drawn], size[drawn])
        for which, survey in ((0, Survey(weights, units)), (1, Survey(weights))):
            low, high = mean_with_interval(pay[rows], survey)[1]
            held, alone = (
                (held + (low <= truth <= high), alone)
                if which == 0
                else (held, alone + (low <= truth <= high))
            )
    assert 0.90 < held / 400 < 0.98 and alone / 400 < 0.85


def test_shares_in_the_place_of_percentiles_are_weighted():
    x = np.where(np.arange(N) < 20, 0.0, X)
    found = weighted_statistics((x, Survey(W)), [(Y, Survey(W))], (25.0, 90.0))
    zero = found[1].instead
    assert zero is not None and zero.confidential == pytest.approx((stands(x, W) <= 0).mean())
    assert found[2].instead is None


# -- the choice ----------------------------------------------------------------------------------


def people(n=300):
    rng = np.random.default_rng(6)
    area = rng.choice(["north", "south"], n)
    pay = rng.lognormal(3 + 0.4 * (area == "north"), 0.7).round(2)
    sick = np.where(rng.random(n) < 0.2 + 0.3 * (pay > 20), "yes", "no")
    return Table("people", pd.DataFrame({"pay": pay, "sick": sick, "area": area, "w": np.ceil(200 / pay)}))


SOURCE = Provenance("people", True, "2026-01-01")
GIVEN = {"predictors": ("area",), "weight": "w", "epsilon": 2.0}


@pytest.fixture(scope="module")
def chosen(tmp_path_factory):
    """The same noisy tables, judged once as a sample and once as a population."""
    cache = Cache(tmp_path_factory.mktemp("cache"))
    settings = make_settings(outcome="pay", model="lognormal", guess=(20.0, 1.0), **GIVEN)
    one = Analysis(people(), settings, cache, noise=SeededNoise(1))
    blocks = (
        Block("sick", "categorical", {"categories": ("no", "yes")}),
        Block("pay", "lognormal", {"guess": (20.0, 1.0)}),
    )
    several = RecordsAnalysis(people(), blocks, GIVEN | {"seed": 3}, cache, noise=SeededNoise(1))
    return {
        (which, of): (analysis, analysis.run("measured"))
        for which, bare in (("one", one), ("several", several))
        for of in ("sample", "population")
        for analysis in [bare.with_settings(accuracy_of=of)]
    }


@pytest.mark.slow
def test_the_choice_moves_accuracy_and_nothing_that_is_drawn(chosen):
    (_, sample), (one, population) = chosen["one", "sample"], chosen["one", "population"]
    np.testing.assert_array_equal(sample.synthetic, population.synthetic)
    assert sample.epsilon == population.epsilon
    pay, w = one.table.frame["pay"].to_numpy(), one.table.frame["w"].to_numpy()
    wide = stands(pay, w), stands(population.synthetic[0], w)
    assert population.ecdf_max == pytest.approx(ecdf_distance(*wide).ecdf_max)
    assert sample.ecdf_max == pytest.approx(ecdf_distance(pay, sample.synthetic[0]).ecdf_max)
    numbers = {each.name: each for each in population.statistics}
    assert numbers["q90"].synthetic == np.quantile(wide[1], 0.9, method="inverted_cdf")
    assert population.statistics == population.population.statistics  # what stands beside is the same
    summary = summary_of(one, population)
    at = summary.ecdf.confidential
    np.testing.assert_allclose(at.share, [(wide[0] <= x).mean() for x in at.at])


def test_the_choice_moves_what_is_said_of_several_variables(chosen):
    (_, sample), (whole, population) = chosen["several", "sample"], chosen["several", "population"]
    pd.testing.assert_frame_equal(sample.synthetic[0], population.synthetic[0])
    w = whole.table.frame["w"].to_numpy()
    sick, pay = (part.distance for part in population.parts)
    mine, theirs = (stands(f["pay"].to_numpy(), w) for f in (whole.table.frame, population.synthetic[0]))
    assert pay == pytest.approx(ecdf_distance(mine, theirs).ecdf_max)
    shares = [
        stands(f["sick"].to_numpy() == "yes", w).mean() for f in (whole.table.frame, population.synthetic[0])
    ]
    assert sick == pytest.approx(abs(shares[0] - shares[1]))
    assert population.measures.k_marginal != sample.measures.k_marginal
    [number] = population.numbers
    assert number.statistics[0].confidential == pytest.approx(mine.mean())
    # A synthetic record with the predictors of another row has the weight of that row.
    rows = np.arange(len(w))[::-1]
    turned = whole.judge(population.synthetic[0].iloc[rows].reset_index(drop=True), rows)
    assert turned.measures.k_marginal == pytest.approx(population.measures.k_marginal)
    assert turned.numbers[0].statistics[0].synthetic == pytest.approx(number.statistics[0].synthetic)


@pytest.mark.parametrize("which", ["one", "several"])
def test_captions_say_whose_accuracy_it_is(chosen, which):
    rule = Policy(measure="ecdf_max", percent=1e-6)
    for of, words, reason in (
        ("sample", "Accuracy is of the sample, each record once.", "functions"),
        ("population", "Accuracy is of the population, by w.", "functions"),
    ):
        analysis, result = chosen[which, of]
        summary, numbers = summary_of(analysis, result), result.summary_numbers
        labels = {"measured": "Measured"}
        made = (
            compare_figures([summary], labels, "pay")
            if which == "one"
            else record_figures([summary], labels, ("", ""))
        )
        assert all(words in each["reading"] for each in made if each["key"] not in ("bounds", "weights"))
        assert words in sentence(numbers, analysis.settings)
        [reason] = judge(rule, numbers).reasons
        assert ("in the population" in reason) == (of == "population")
    assert (
        chosen[which, "sample"][0].settings.whose_accuracy == "Accuracy is of the sample, each record once."
    )
    assert rule.stated("w") == f"{rule.text}, of the population by w" and rule.stated("") == rule.text


def test_points_of_a_map_are_measured_as_the_result_is(chosen):
    for which, of in (("one", "population"), ("several", "population"), ("several", "sample")):
        analysis, result = chosen[which, of]
        drawn = {name: each[0] for name, each in analysis.synthetic(result).items()}
        names, measure = ruler_of(analysis, (90.0,))
        found = dict(zip(names, measure(drawn), strict=True))
        numbers = result.summary_numbers
        assert found["ecdf_max"] == pytest.approx(numbers.ecdf_max)
        if which == "one":
            assert found["q90"] == pytest.approx(abs(numbers.statistics[-1].error))
        # A synthetic record with the predictors of another row has the weight of that row.
        rows = np.arange(analysis.n_records)[::-1]
        turned = ruler_of(analysis, (90.0,), rows)[1]({name: each[rows] for name, each in drawn.items()})
        np.testing.assert_allclose(turned, measure(drawn), rtol=1e-9)


@pytest.mark.parametrize("which", ["one", "several"])
def test_what_is_seen_beside_may_be_of_the_sample(chosen, which):
    now, before = (summary_of(*chosen[which, of]) for of in ("population", "sample"))
    labels, other = {"measured": "Measured"}, Other("A", "now", {"measured": before})
    made = (
        compare_figures([now], labels, "pay", other)
        if which == "one"
        else record_figures([now], labels, ("", ""), other)
    )
    said = "now: Accuracy is of the population, by w. A: Accuracy is of the sample, each record once."
    assert all(said in each["reading"] for each in made if each["key"] not in ("bounds", "weights"))


def test_pages_that_stand_side_by_side_say_whose_accuracy_it_is(chosen):
    chapters = [
        Chapter(of, "", analysis.settings, [summary_of(analysis, result)])
        for of in ("sample", "population")
        for analysis, result in [chosen["one", of]]
    ]
    said = [
        line
        for page in briefing(SOURCE, chapters, False)
        if "Side by side" in page.title
        for line in page.lines
    ]
    assert "sample: Accuracy is of the sample, each record once." in said
    assert "population: Accuracy is of the population, by w." in said


def test_a_population_needs_weights():
    with pytest.raises(
        InputError, match=r"told by survey weights, and no column of them is named \(--weight\)"
    ):
        make_settings(outcome="pay", model="lognormal", accuracy_of="population")


def test_standard_errors_are_those_of_samplics():
    """Estimates and Taylor standard errors of `samplics` 0.6.1 for these values, with and without primary units."""
    rng = np.random.default_rng(11)
    units = np.repeat(np.arange(40), 3)
    weights = np.round(np.exp(rng.normal(3, 0.6, 120)), 2)
    values = np.round(np.exp(rng.normal(2, 0.7, 120) + 0.2 * np.log(weights)), 2)
    assert np.average(values, weights=weights) == pytest.approx(17.385211206315983, rel=1e-12)
    expected = [(values, None, 1.125223133044042), (values, units, 1.299060955594034)]
    for of, together, error in [*expected, (values <= 10, units, 0.04721524825640139)]:
        assert standard_error(of.astype(float), Survey(weights, together)) == pytest.approx(error, rel=1e-12)


def test_standard_errors_within_strata_are_those_of_samplics():
    """Taylor standard errors of `samplics` 0.6.1 for the same values in five strata, with and without units."""
    rng = np.random.default_rng(11)
    units = np.repeat(np.arange(40), 3)
    weights = np.round(np.exp(rng.normal(3, 0.6, 120)), 2)
    values = np.round(np.exp(rng.normal(2, 0.7, 120) + 0.2 * np.log(weights)), 2)
    strata = np.repeat([4, 4, 1, 1, 1, 9, 9, 2], 15)
    for of, together, error in (
        (values, None, 1.1331642237241535),
        (values, units, 1.3312313922845334),
        (values <= 10, None, 0.046779938299714476),
        (values <= 10, units, 0.04918070291697592),
        (values, np.tile(np.repeat(np.arange(5), 3), 8) % 5, None),  # 0 to 4 in each half of a stratum
    ):
        found = standard_error(of.astype(float), Survey(weights, together, strata))
        if error is None:  # units of like names in two strata are two
            other = standard_error(of.astype(float), Survey(weights, together + 10 * strata, strata))
            assert found == pytest.approx(other, rel=1e-12)
        else:
            assert found == pytest.approx(error, rel=1e-12)


def test_a_stratum_with_one_record_is_held_against_all():
    strata, scores = np.array([5, 5, 5, 1, 8, 8]), np.array([1.0, -2, 0.5, 0.7, 1, -1.2])
    variance = 0.0
    for stratum in (1, 5, 8):
        mine = scores[strata == stratum]
        if len(mine) == 1:
            variance += (mine[0] - scores.mean()) ** 2
        else:
            variance += len(mine) * np.var(mine, ddof=1)
    found = linearised_error(scores, Survey(np.ones(6), strata=strata))
    assert found == pytest.approx(np.sqrt(variance))


def naive_error_of_those_there(values, there, weights, units, strata):
    """Of a weighted mean of some records: every unit that was drawn has a sum, 0 where none of its records is there."""
    middle = (weights * values)[there].sum() / weights[there].sum()
    variance = 0.0
    for stratum in set(strata):
        sums = []
        for unit in sorted(set(units[strata == stratum])):
            mine = there & (strata == stratum) & (units == unit)
            sums.append(sum(weights[mine] * (values[mine] - middle)) / weights[there].sum())
        variance += len(sums) * np.var(sums, ddof=1)
    return np.sqrt(variance)


def test_records_with_a_value_are_some_of_those_that_were_drawn(rng):
    strata, units = np.repeat([0, 1, 3], 20), np.tile(np.repeat(np.arange(5), 4), 3)
    weights, values = rng.uniform(1, 5, 60), rng.normal(10 * strata, 2.0)
    there = rng.random(60) < 0.3
    there[:5], there[20:40] = True, False  # of one stratum nobody
    for together in (units, None):
        mine = Survey(weights, together, strata).within(there)
        each = np.arange(60) if together is None else together
        expected = naive_error_of_those_there(values, there, weights, each, strata)
        assert standard_error(values[there], mine) == pytest.approx(expected)
        order = rng.permutation(there.sum())
        assert standard_error(values[there][order], mine.of(order)) == pytest.approx(expected)
    plain = Survey(weights)  # without strata they are a sample by themselves
    assert standard_error(values[there], plain.within(there)) == standard_error(
        values[there], plain.of(there)
    )


def test_intervals_of_a_variable_that_few_have_hold_in_a_stratified_sample():
    """800 samples of 5 households from each of 20 strata, a value in about 8 %: 94 and not 87 of 100 hold."""
    rng = np.random.default_rng(5)
    strata, units = np.repeat(np.arange(20), 50), np.repeat(np.arange(100), 10)
    middle, held = 3 * rng.normal(size=20), {"within": 0, "of": 0}
    shares = rng.beta(1, 2, (800, 100)) / 4
    true = 10 + middle.mean()
    for share in shares:
        there = rng.random(1000) < share[units]
        y = 10 + middle[strata] + rng.normal(size=100)[units] + rng.normal(0, 2, 1000)
        survey = Survey(np.full(1000, 5.0), units, strata)
        for name in held:
            low, high = mean_with_interval(y[there], getattr(survey, name)(there))[1]
            held[name] += low <= true <= high
    assert 740 <= held["within"] <= 778 and held["of"] < held["within"] - 15


def test_intervals_of_stratified_samples_hold_as_often_as_they_say():
    """1,000 samples of 20 records from each of 3 strata far apart: .95, standard error .007; as one sample .999."""
    rng = np.random.default_rng(6)
    strata, weights = np.repeat([0, 1, 2], 20), np.repeat([1.0, 4.0, 2.0], 20)
    middle = np.array([0.0, 3.0, 10.0])
    truth = np.average(middle, weights=[1.0, 4.0, 2.0])
    held = dict.fromkeys(("within", "as one"), 0)
    for _ in range(1000):
        x = rng.normal(middle[strata], 1.0)
        for name, of in (("within", strata), ("as one", None)):
            low, high = mean_with_interval(x, Survey(weights, strata=of))[1]
            held[name] += low <= truth <= high
    assert 0.925 < held["within"] / 1000 < 0.97 and held["as one"] > 995


@pytest.mark.parametrize("whole", [False, True])
def test_strata_narrow_the_intervals_and_move_nothing_else(tmp_path, whole):
    rng = np.random.default_rng(3)
    region = rng.integers(0, 3, 300)
    pay = rng.lognormal(1 + region, 0.3)
    table = Table("t", pd.DataFrame({"pay": pay, "region": region, "w": 1.0 + region}))
    given = {"model": "lognormal", "weight": "w", "guess": (10.0, 1.0), "epsilon": 5.0, "seed": 1}
    found = []
    for strata in (None, "region"):
        if whole:
            common = {k: v for k, v in given.items() if k not in ("model", "guess")} | {"strata": strata}
            blocks = (Block("pay", "lognormal", {"guess": (10.0, 1.0)}),)
            one = RecordsAnalysis(table, blocks, common, Cache(tmp_path), noise=SeededNoise(1))
            numbers = one.run("measured").population[0]
        else:
            settings = make_settings(outcome="pay", strata=strata, **given)
            numbers = (
                Analysis(table, settings, Cache(tmp_path), noise=SeededNoise(1)).run("measured").population
            )
        found.append(numbers.statistics[0])
    apart, within = found
    assert (within.confidential, within.synthetic) == (apart.confidential, apart.synthetic)
    wide, narrow = (np.diff(each.confidential_interval)[0] for each in found)
    own = Survey(table.frame.w.to_numpy(float), strata=region)
    assert narrow == pytest.approx(2 * Z95 * standard_error(pay, own)) and narrow < 0.8 * wide


def test_what_are_no_strata_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^Strata belong to survey weights, .* \(--weight\)"):
        make_settings(outcome="pay", model="lognormal", strata="region")
    with pytest.raises(
        InputError, match="'pay' is the sensitive variable, and strata of a sample are public"
    ):
        make_settings(outcome="pay", model="lognormal", weight="w", strata="pay")
    frame = pd.DataFrame({"pay": np.arange(1.0, 41), "region": ["a", *["b"] * 37, None, None], "w": 1.0})
    settings = make_settings(outcome="pay", model="lognormal", weight="w", strata="region")
    with pytest.raises(InputError, match=r"2 records have no stratum in column 'region' \(first in row 39\)"):
        Analysis(Table("t", frame), settings, Cache(tmp_path))
    with pytest.raises(InputError, match="nowhere"):
        Analysis(Table("t", frame), settings.model_copy(update={"strata": "nowhere"}), Cache(tmp_path))
    blocks = (
        Block("pay", "lognormal"),
        Block("region", "categorical", {"categories": ("a", "b")}, missing=()),
    )
    common = {"weight": "w", "strata": "region"}
    with pytest.raises(
        InputError, match="'region' is the sensitive variable, and strata of a sample are public"
    ):
        RecordsAnalysis(Table("t", frame), blocks, common, Cache(tmp_path))
