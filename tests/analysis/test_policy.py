"""A rule: what passes, what fails and why, and that its words and limits are those that count."""

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.measures import ECDF_MAX, WORST, error_sentence, error_words
from synth_core.analysis.policy import Policy, judge
from synth_core.analysis.settings import make_settings
from synth_core.analysis.utility import AT_ZERO, Statistic
from synth_core.figures.briefing.content import whole_text
from synth_core.figures.compare import promises, results
from synth_core.mechanisms.catalogue import guarantees
from tests.summary_numbers import numbers, statistic, variable
from tests.support.summaries import of_numbers


@pytest.mark.parametrize(
    ("rule", "other", "key", "reasons"),
    [
        ({"epsilon": 1.0}, {}, "none", ("ε 6.8 > 1",)),
        ({"epsilon": 6.8}, {}, "none", ()),  # at the limit
        ({"epsilon": 10.0}, {"n_datasets": 2}, "none", ("ε 13.6 > 10",)),  # all data sets together
        ({"epsilon": 1.0}, {"epsilon": 1.004}, "none", ("ε 1.01 > 1",)),  # never less than it is, and not "1 > 1"
        ({"percent": 5.0}, {}, "none", ("90th percentile off by 6 > 5 %",)),
        ({"percent": 6.0}, {}, "none", ()),
        ({"percent": 6.0, "measure": WORST}, {}, "none", ("mean and percentiles off by 20 > 6 %",)),
        ({"percent": 4.0, "measure": ECDF_MAX}, {}, "none", ("distribution functions off by 4.6 > 4 points",)),
        ({"percent": 5.0, "measure": ECDF_MAX}, {}, "none", ()),
        ({"percent": 5.0, "measure": "q75"}, {}, "none",
         ("the 75th percentile is not among the percentiles that are computed",)),
        ({"guarantee": "strict"}, {}, "asymptotic", ("asymptotic DP is not strict",)),
        ({"guarantee": "strict"}, {}, "weights_seen", ("ε-DP for given weights is not strict",)),
        ({"guarantee": "strict"}, {}, "anchored", ()),
        ({"epsilon": 10.0}, {"problems": ("R-hat is 1.2",)}, "none", ("has not converged",)),
        ({"epsilon": 10.0}, {"preview_khat": 0.3}, "none", ("not judged before the exact fit",)),
        ({"epsilon": 1.0, "percent": 5.0, "guarantee": "strict"}, {}, "none",
         ("ε 6.8 > 1", "90th percentile off by 6 > 5 %", "no guarantee is not strict")),
    ],
)  # fmt: skip
def test_each_reason(rule, other, key, reasons):
    found = judge(Policy(**rule), numbers(**other), guarantees()[key])
    assert (found.passed, found.reasons) == (not reasons, reasons)


@given(st.floats(0.01, 1e4), st.floats(0.01, 1e4))
def test_the_reason_shows_a_number_beyond_the_limit(epsilon, limit):
    found = judge(Policy(epsilon=limit), numbers(epsilon=epsilon), guarantees()["none"])
    assert found.passed == (epsilon <= limit * (1 + 1e-9))
    if not found.passed:
        assert float(found.reasons[0].split()[1]) > limit


def test_an_error_that_is_no_number_does_not_pass():
    nothing = numbers(statistics=(statistic("q90", float("nan")),))
    assert not judge(Policy(percent=5.0), nothing, guarantees()["none"]).passed


@pytest.mark.parametrize(
    ("error", "beside", "rule", "passes", "doubt"),
    [
        (-0.049, 0.05, {}, True, "may be off by up to 9.9 %"),
        (-0.049, 0.0005, {}, True, ""),
        (0.051, 0.05, {}, False, "another one of these settings may pass"),
        (0.2, 0.05, {}, False, ""),
        (0.051, 0.05, {"epsilon": 1.0}, False, ""),  # fails by ε whatever the draw
        (-0.049, 0.05, {"measure": WORST}, True, "may be off by up to 9.9 %"),
        (-0.049, 0.05, {"measure": ECDF_MAX}, True, ""),
    ],
)
def test_a_verdict_within_the_noise_of_one_draw_is_not_sure(error, beside, rule, passes, doubt):
    found = judge(
        Policy(percent=5.0, **rule),
        numbers(statistics=(statistic("q90", error, beside),)),
        guarantees()["none"],
    )
    assert found.passed == passes
    assert (doubt in found.doubt) if doubt else not found.doubt


def test_words():
    assert not Policy().states and Policy().text == ""
    rule = Policy(epsilon=1.0, percent=5.0, guarantee="strict")
    assert rule.text == "ε ≤ 1, 90th percentile within 5 %, a strict guarantee"
    assert Policy(percent=2.5, measure=ECDF_MAX).text == "distribution functions within 2.5 points"


@pytest.mark.parametrize("wrong", [{"epsilon": 0.0}, {"percent": float("nan")}, {"guarantee": "some"}])
def test_a_limit_is_a_number_above_nothing(wrong):
    with pytest.raises(pydantic.ValidationError):
        Policy(**wrong)


SEVERAL = (
    variable("sex", ecdf_max=0.02, statistics=()),
    variable("pay", ecdf_max=0.03, statistics=(statistic("q90", -0.04, 0.005), statistic("mean", 0.01))),
    variable("age", ecdf_max=0.06, statistics=(statistic("q90", 0.07, 0.005), statistic("mean", 0.02))),
)


@pytest.mark.parametrize(
    ("rule", "reasons", "by"),
    [
        ({"percent": 6.0, "measure": ECDF_MAX}, (), 0.06),
        ({"percent": 5.0, "measure": ECDF_MAX}, ("distribution functions of age off by 6.0 > 5 points",), 0.06),
        ({"percent": 2.5, "measure": ECDF_MAX},
         ("distribution functions of age off by 6.0 > 2.5 points, and 1 variable more beyond 2.5",), 0.06),
        ({"percent": 5.0}, ("90th percentile of age off by 7 > 5 %",), 0.07),
        ({"percent": 8.0}, (), 0.07),  # categories have no percentile
        ({"percent": 8.0, "measure": WORST}, (), 0.07),
        ({"epsilon": 6.0, "percent": 8.0}, ("ε 6.8 > 6",), 0.07),
    ],
)  # fmt: skip
def test_of_several_variables_every_one_must_be_within(rule, reasons, by):
    found = judge(Policy(**rule), numbers(SEVERAL), guarantees()["none"])
    naive = [100 * {"sex": 0.02, "pay": 0.03, "age": 0.06}[name] for name in ("sex", "pay", "age")]
    if rule.get("measure") == ECDF_MAX:
        assert found.passed == all(each <= rule["percent"] for each in naive)
    assert (found.passed, found.reasons) == (not reasons, reasons)
    assert found.by == pytest.approx(by)


def test_among_several_the_doubt_is_of_whoever_may_still_pass_or_fail():
    near = (variable("pay", statistics=(statistic("q90", -0.04, 0.02),)), SEVERAL[0])
    found = judge(Policy(percent=5.0), numbers(near))
    assert found.passed and "may be off by up to 6 % (pay)" in found.doubt
    far = (*near, variable("age", statistics=(statistic("q90", 0.2, 0.01),)))
    assert judge(Policy(percent=5.0), numbers(far)).doubt == ""  # another draw of pay does not save age


def test_among_several_a_measure_that_none_has_is_said():
    [reason] = judge(Policy(percent=5.0), numbers(SEVERAL[:1])).reasons
    assert "is not among" in reason


def test_a_variable_may_have_a_limit_of_its_own():
    """The one that is furthest beyond its own limit is named, and the best is chosen by shares of limits."""
    pay = variable("pay", statistics=(statistic("q90", -0.08, 0.015),))
    both = numbers((pay, variable("age", statistics=(statistic("q90", 0.02, 0.001),))))
    rule = Policy(percent=5.0)
    assert not judge(rule, both).passed
    wide = rule.limiting("pay", 10.0)
    assert wide.text == "90th percentile within 5 % (pay 10 %)"
    found = judge(wide, both)
    assert found.passed and found.by == pytest.approx(0.04) and found.doubt == ""
    assert "may be off by up to 9.5 % (pay)" in judge(rule.limiting("pay", 9.0), both).doubt
    narrow = wide.limiting("age", 1.5)
    assert judge(narrow, both).reasons == ("90th percentile of age off by 2 > 1.5 %",)
    assert narrow.limiting("age", None).limiting("pay", None) == rule
    assert "by_variable" not in rule.model_dump() and Policy(**wide.model_dump()) == wide
    with pytest.raises(pydantic.ValidationError):
        Policy(percent=5.0, by_variable=(("pay", -1.0),))


def at_zero(mine, theirs, beside=0.0):
    """A 15th percentile at the zeros: shares at or below 0 in its place."""
    share = Statistic(AT_ZERO, mine, (mine, mine), theirs, (theirs - beside, theirs + beside))
    return Statistic("q15", 900.0, (0.0, 2e3), 0.0, (0.0, 0.0), share)


def test_a_percentile_at_the_zeros_is_judged_and_told_by_the_share_at_or_below_zero():
    """ "-100.0 % (15th percentile)" stood on every row of an income with zeros, and no rule could be kept."""
    off = numbers(statistics=(statistic("mean", 0.01), at_zero(0.14, 0.162)))
    for measure in ("q15", WORST):
        assert judge(Policy(percent=3.0, measure=measure), off).passed
        failed = judge(Policy(percent=2.0, measure=measure), off)
        assert failed.reasons == ("share at or below 0 off by 2.2 > 2 points",)
    assert error_words(off, "q15") == "2.2 points high"
    assert (
        error_words(numbers(statistics=(at_zero(0.14, 0.14 + 3e-17),)), "q15") == "the same"
    )  # a mean of shares
    assert error_sentence(off, "q15") == "The share at or below 0 is 2.2 points high."
    unsure = judge(Policy(percent=2.5, measure="q15"), numbers(statistics=(at_zero(0.14, 0.162, 0.01),)))
    assert unsure.passed and "may be off by up to 3.2 points" in unsure.doubt
    table = results([of_numbers(off)], {"weighted": "Weighted"}, promises_of(off))
    assert table[0]["cells"]["worst"] | {"rank": 0} == {
        "text": "+1.0 % (mean)", "beside": "+2.2 points (share at or below 0)", "sort": 0.01, "rank": 0
    }  # fmt: skip


def test_percent_and_points_have_no_common_maximum():
    """A share off by 2.2 points hid a mean off by 1.8 %, and the other way round: the worst of each is told."""
    off = numbers(statistics=(statistic("mean", -0.018), statistic("q90", 0.01), at_zero(0.14, 0.162)))
    assert error_words(off, WORST) == "1.8 % low and 2.2 points high"
    both = "Furthest off is the mean: 1.8 % low, and in points the share at or below 0: 2.2 points high."
    assert error_sentence(off, WORST) == both
    failed = judge(Policy(percent=1.0, measure=WORST), off)
    assert failed.reasons == (
        "mean and percentiles off by 1.8 > 1 %",
        "share at or below 0 off by 2.2 > 1 points",
    )
    pay = variable("pay", statistics=(statistic("mean", 0.03), at_zero(0.14, 0.162)))
    age = variable("age", statistics=(statistic("mean", 0.05),))
    [of_both, of_one] = judge(Policy(percent=1.0, measure=WORST), numbers((pay, age))).reasons
    assert of_both == "mean and percentiles of age off by 5 > 1 %, and 1 variable more beyond 1"
    assert of_one == "share at or below 0 of pay off by 2.2 > 1 points"
    cells = results([of_numbers(off)], {"weighted": "Weighted"}, promises_of(off))[0]["cells"]
    assert cells["worst"]["text"] == "−1.8 % (mean)"  # a minus, as on the other pages
    assert whole_text(cells["worst"]) == "−1.8 % (mean); +2.2 points (share at or below 0)"  # on slides


def test_a_verdict_says_where_a_share_was_judged_for_a_percentile():
    """ "15th percentile within 5 %" passed by a share, without a word."""
    pay = variable("pay", statistics=(statistic("mean", 0.01), at_zero(0.14, 0.162)))
    both = numbers((pay, variable("age", statistics=(statistic("mean", 0.01), statistic("q15", 0.02)))))
    said = "Where the 15th percentile of pay is at the zeros, the share at or below 0 is judged, in points"
    assert judge(Policy(percent=5.0, measure="q15"), both).notes == (said,)
    assert judge(Policy(percent=1.0, measure="q15"), both).notes == (said,)
    assert judge(Policy(percent=5.0, measure="mean"), both).notes == ()
    assert judge(Policy(epsilon=5.0), both).notes == ()
    promised = promises_of(both, Policy(percent=5.0, measure="q15"))
    [row] = results([of_numbers(both)], {"weighted": "Weighted"}, promised)
    assert row["verdict"]["reason"] == said


def promises_of(off, policy=Policy()):
    return promises([of_numbers(off)], make_settings(outcome="pay", model="lognormal"), policy)


def test_a_limit_of_epsilon_is_said_as_it_was_stated():
    """A loss is rounded up, and a limit is none: 1.004 was stated as 1.01, and failed as 1.004."""
    assert Policy(epsilon=1.004).text == "ε ≤ 1.004"


@pytest.mark.parametrize(
    ("key", "said"), [("measured", True), ("measured_laplace", False), ("anchored", False)]
)
def test_a_verdict_says_which_epsilon_it_judges_where_a_limit_counts_another(key, said):
    """A rule of "ε at most 1" was kept by what a limit by zCDP counted as 2.42, and nothing said why."""
    judged = judge(Policy(epsilon=1.0), numbers(epsilon=1.0), guarantees()[key])
    words = "The rule judges ε = 1; a limit of a series counts ρ = 0.125; 2.42 at δ = 1e-06"
    assert judged.passed and judged.notes == ((words,) if said else ())
    assert judge(Policy(percent=50.0, measure=ECDF_MAX), numbers(), guarantees()[key]).named == ""


def test_a_largest_difference_is_the_same_number_in_the_row_its_sentence_and_the_reason():
    """8.4 points stood in the row and in the reason, and at most 8.5 in the sentence between them."""
    joint = Measures(900.0, 0.12, 0.01, 2.0, 0.03, 0.08, ("sex", "pay"))
    off = numbers([variable("pay", ecdf_max=0.0841), variable("sex", ecdf_max=0.002)], joint=joint)
    rule = Policy(percent=5.0, measure=ECDF_MAX)
    [row] = results([of_numbers(off)], {"weighted": "Weighted"}, promises_of(off))
    assert row["cells"]["gap"]["text"].startswith("8.5 points")
    assert row["parts"][0]["cells"]["gap"] == "8.5 points"
    assert "by at most 8.5 percentage points" in error_sentence(off, ECDF_MAX)
    assert error_words(off, ECDF_MAX).startswith("off by 8.5 points")
    assert judge(rule, off).reasons == ("distribution functions of pay off by 8.5 > 5 points",)


def test_a_rule_of_a_percentile_says_of_which_variables_it_judges():
    """It passed by the 90th percentile of one number, and a category beside it was off by 9 points."""
    pay = variable(name="pay", variable="pay", statistics=(statistic("q90", 0.01),))
    work = variable(name="work", variable="work", statistics=())
    rule = Policy(percent=10.0)
    assert judge(rule, numbers(variables=(pay, work))).unjudged == (
        "The rule judges the 90th percentile of pay alone: work has none"
    )
    assert judge(rule, numbers(variables=(pay,))).unjudged == ""
    assert judge(Policy(percent=10.0, measure=ECDF_MAX), numbers(variables=(pay, work))).unjudged == ""
