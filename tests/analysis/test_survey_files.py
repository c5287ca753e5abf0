"""Survey weights, rules and units where they meet: n of a sample, releases, studies, what leaves and what is said."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.any_analysis import analysis_of
from synth_core.analysis.records.blocks import Block
from synth_core.analysis.records.records import RecordsAnalysis
from synth_core.analysis.records.surrogate import surrogate_table
from synth_core.analysis.result_sentences import explained
from synth_core.analysis.selection import decided_in
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.audit.measured_runs import MeasuredTrials
from synth_core.experiments.audit.neighbours import REPLACED
from synth_core.experiments.studies.databases_like_mine import design_of
from synth_core.mechanisms.noise import SeededNoise
from synth_core.release.making.within_bounds import within_bounds
from synth_core.release.output.dataset import synthetic_data
from synth_core.release.output.source import KeptColumns
from synth_core.release.plan.planning import make_plan
from synth_core.system.cache import Cache
from tests.release.test_whole_records import DECISION

N, RULE = 240, "age < 15 -> pay = 0"
SICK = Block("sick", "categorical", {"categories": ("no", "yes")})
PAY = Block("pay", "lognormal", {"guess": (12.0, 0.8), "unit": 1.0})
OF_PAY = {
    "outcome": "pay",
    "model": "lognormal",
    "predictors": ("age",),
    "weight": "w",
    "weight_total": 24_000.0,
}


def people(seed=1):
    rng = np.random.default_rng(seed)
    age = rng.choice([8, 30, 60], N)
    return Table(
        "people",
        pd.DataFrame(
            {
                "age": age,
                "sick": rng.choice(["no", "yes"], N),
                "pay": np.where(age < 15, 0.0, np.exp(2.5 + 0.5 * rng.normal(size=N))).round(2),
                "w": rng.uniform(50, 150, N).round(1),
                "house": np.arange(N) // 4,
            }
        ),
    )


def records(tmp_path, blocks=(SICK, PAY), table=None, **common):
    common = {"predictors": ("age",), "epsilon": 6.0, "seed": 3} | common
    return RecordsAnalysis(table or people(), blocks, common, Cache(tmp_path / "cache"), noise=SeededNoise(5))


@pytest.mark.parametrize(("key", "spent"), [("laplace", {"epsilon": 6.0}), ("measured", {"rho": 4.5})])
def test_what_leaves_says_what_a_unit_is_promised_and_not_one_of_its_records(tmp_path, key, spent):
    from synth_core.analysis.engines import ENGINES

    whole = records(tmp_path, rules=(RULE,), unit_column="house", unit_size=4)
    told = ENGINES[key].published(whole.inputs, key)
    assert told["spent"] == spent and "one 'house', of at most 4" in told["covers"]
    assert told["rules"] == [RULE]
    alone = ENGINES[key].published(records(tmp_path, rules=(RULE,)).inputs, key)
    assert alone["spent"] == spent and "one record" in alone["covers"]
    # A unit counts as one record: the noise is that of a record, and each of its four counts a quarter.
    assert told["tables"][0]["deviation"] < 1.5 * alone["tables"][0]["deviation"]
    assert sum(told["tables"][0]["counts"]) == pytest.approx(N / 4, abs=40)


@pytest.mark.parametrize("bounds", [None, (1.0, 300.0)])
def test_what_a_rule_decides_is_neither_moved_to_bounds_nor_rounded(tmp_path, bounds):
    """A zero lies beyond the bounds and the guess of a lognormal amount, and is released as the zero that it is."""
    pay = PAY if bounds is None else replace(PAY, options={"bounds": bounds})
    whole = records(tmp_path, (SICK, pay), rules=(RULE,))
    plan = make_plan(whole, whole.run("measured_laplace"), replace(DECISION, clamp=bounds is not None))[0]
    if bounds is None:  # the guess is of an anchor
        plan = plan.model_copy(update={"mechanism": "anchored"})
    table, moved = within_bounds(plan, people(2))
    young = people(2).frame.age < 15
    assert (table.frame.pay[young] == 0).all() and young.sum() > 50
    assert moved.sum() == (0 if bounds is None else int((people(2).frame.pay[~young] < 1).sum()))

    kept = people(2).frame[[c.name for c in plan.columns if c.name not in plan.outcomes]]
    rest = np.full((1, N), 0.2)
    made = synthetic_data(
        plan, KeptColumns(kept, kept), {"sick": np.zeros((1, N)), "pay": np.where(young, 0.0, rest)}, 7
    )
    pay_values = next(v for v in made.variables if v.name == "pay").values
    assert (pay_values[0, young.to_numpy()] == 0).all() and (pay_values[0, ~young.to_numpy()] > 0).all()


def test_values_that_an_anchor_is_simulated_on_are_those_that_are_fitted(tmp_path):
    pay = replace(PAY, missing=())
    frame = people().frame
    frame.loc[frame.index[frame.age > 15][:20], "pay"] = np.nan
    whole = records(tmp_path, (SICK, pay), Table("some lack pay", frame), rules=(RULE,), anchor="pilot")
    made = surrogate_table(whole.table, whole.parts, _anchored_alike(whole), whole._fitted_parts.rng)
    decided = decided_in(made.frame, whole.parts[-1].settings)
    assert (made.frame.pay[~decided.rows].dropna() > 0).all()


def _anchored_alike(whole):
    """Analyses of the earlier parts whose anchors draw the first category."""

    class Anchor:
        class anchor:
            simulate = staticmethod(lambda fits, rng: np.zeros(fits.model.records.n))

    class Part:
        def __init__(self, each):
            self.fits, self.anchored = each.fits, Anchor

    return [Part(each) for each in whole.analyses(False)[:-1]]


def test_a_neighbour_differs_in_a_variable_whose_missing_values_a_rule_names(tmp_path):
    pay = replace(PAY, missing=())
    frame = people().frame.assign(pay=lambda f: f.pay.where(f.age >= 15))
    whole = records(tmp_path, (SICK, pay), Table("t", frame), rules=("age < 15 <-> pay missing",))
    trials = MeasuredTrials(whole, "measured", "Measured", REPLACED, 10)
    from synth_core.experiments.audit.measured_runs import replaced

    row = int(np.argmax(frame.age >= 15))
    codes, values = replaced(trials.public, trials.codes, trials.values, row)
    assert (codes[row] != trials.codes[row]).all() and not np.isnan(values[1][row])
    young = int(np.argmax(frame.age < 15))
    assert replaced(trials.public, trials.codes, trials.values, young)[0][young, 1] == trials.codes[young, 1]


@pytest.mark.parametrize("blocks", [(), (PAY,)])
def test_n_of_survey_weights_is_that_of_the_table_whoever_lacks_a_value(tmp_path, blocks):
    frame = people().frame
    frame.loc[::2, "pay"] = np.nan
    frame.loc[frame.age < 15, "age"] = 20
    frame["pay"] = frame.pay.where(frame.pay != 0, 5.0)
    settings = make_settings(**OF_PAY, guess=(12.0, 0.8))
    analysis = analysis_of(Table("t", frame), settings, blocks, Cache(tmp_path / "cache"))
    (each,) = analysis.analyses(False)
    expected = np.minimum(frame.w[frame.pay.notna()] * N / 24_000, 5)
    np.testing.assert_allclose(each.fits.survey_weights, expected)
    one = int(np.argmax(each.table.frame.pay.notna()))
    smaller = each.for_table(Table("less", each.table.frame.drop(index=one).reset_index(drop=True)))
    np.testing.assert_allclose(
        smaller.fits.survey_weights, expected[1:]
    )  # withheld, no other record is moved


def test_simulated_databases_stand_for_the_same_population_at_any_size(tmp_path):
    frame = people().frame.assign(pay=lambda f: f.pay.where(f.pay > 0, 4.0))
    settings = make_settings(**OF_PAY, draws=200, warmup=200)
    analysis = Analysis(Table("t", frame), settings, Cache(tmp_path / "cache"))
    for rows in (120, 960):
        made = design_of(analysis).simulate(np.random.default_rng(1), rows)
        assert made.w.sum() == pytest.approx(frame.w.sum(), rel=0.1)


def test_units_are_checked_on_all_rows_and_refused_where_none_can_be(tmp_path):
    frame = people().frame
    frame.loc[0, "pay"] = np.nan
    for blocks in ((), (PAY,)):
        settings = make_settings(
            outcome="pay",
            model="lognormal",
            predictors=("age",),
            guess=(12.0, 0.8),
            unit_column="house",
            unit_size=3,
        )
        with pytest.raises(InputError, match=r"ha(s|ve) more than 3 records \(first in row 1\)"):
            _ = analysis_of(Table("t", frame), settings, blocks, Cache(tmp_path / "cache")).used_rows
    with pytest.raises(InputError, match="who belongs to a unit is public"):
        records(tmp_path, unit_column="sick", unit_size=100)
    with pytest.raises(InputError, match="who belongs to a unit is public"):
        make_settings(outcome="pay", model="lognormal", unit_column="pay")


def test_an_anchors_table_needs_no_weights(tmp_path):
    whole = records(tmp_path, rules=(RULE,), weight="w", anchor="group")
    other = Table("group", people(9).frame.drop(columns="w"))
    assert replace(whole, anchor=other)._anchor.rows == N


def test_a_rule_of_a_column_that_is_not_sensitive_is_refused_and_not_forgotten(tmp_path, capsys):
    people().frame.to_csv(tmp_path / "t.csv", index=False)
    given = ["compare", str(tmp_path / "t.csv"), "--outcome", "pay", "--predictors", "age"]
    assert main([*given, "--rule", "age < 15 -> pya = 0"]) == 2
    assert "'pya', which is not sensitive here: pay is" in capsys.readouterr().err


def test_who_is_covered_is_said_before_what_is_said_of_a_record(tmp_path):
    whole = records(tmp_path, rules=(RULE,), unit_column="house", unit_size=4)
    lines = explained(whole.run("measured_laplace").summary_numbers, whole.settings)[1]
    assert lines[1].endswith("Read “one record” below as all of them: a unit counts as one record.")


def test_a_total_below_the_rows_is_refused_where_no_likelihood_reads_it_too(tmp_path):
    with pytest.raises(InputError, match="the table alone has 240 rows"):
        records(tmp_path, rules=(RULE,), weight="w", weight_total=100.0)
