"""The results as a file: every mechanism has a line, with what it is of."""

import csv
import io

from synth_core.analysis.joint_measures import Measures
from synth_core.analysis.policy import Policy
from synth_core.analysis.settings import make_settings
from synth_core.ui.compare.inspector import results_csv
from tests.summary_numbers import numbers, statistic, variable

SETTINGS = make_settings(outcome="pay", model="lognormal", scale=0.5)
NUMBERS = numbers(
    epsilon=6.8, n_datasets=2, ecdf_max=0.04, ecdf_avg=0.001, statistics=(statistic("q90", -0.05),)
)


def lines(policy=Policy(), missing=None, results=None):
    text = results_csv(results or [NUMBERS], missing or {}, SETTINGS, "pay.csv", policy)
    return list(csv.DictReader(io.StringIO(text)))


def test_a_result_with_table_and_settings():
    [line] = lines()
    assert (line["table"], line["epsilon_total"], line["q90_synthetic"]) == ("pay.csv", "13.6", "95.0")
    assert line["guarantee"] == "asymptotic DP"
    assert line["settings"] == "outcome=pay; model=lognormal; scale=0.5"  # what is not as it starts
    assert line["sentence"].endswith("Furthest off is the 90th percentile: 5 % low.")
    assert "verdict" not in line


def test_names_of_a_table_and_of_variables_are_no_formulas():
    joint = Measures(900.0, 0.12, 0.01, 2.0, 0.03, 0.08, ("=sex", "pay;=1+1"))
    both = variable("=sex", ecdf_max=0.02, statistics=(), share=0.4), variable("pay;=1+1", share=0.6)
    text = results_csv([numbers(both, joint=joint)], {"@x": "-1+1"}, SETTINGS, "=1;+2.csv", Policy())
    found = list(csv.DictReader(io.StringIO(text)))
    assert {line["table"] for line in found} == {"'=1;'+2.csv"}
    assert [line["variable"] for line in found[:3]] == ["all", "'=sex", "pay;'=1+1"]
    assert (found[3]["mechanism"], found[3]["failure"]) == ("'@x", "'-1+1")


def test_a_failure_is_a_line_with_its_reason():
    line = lines(missing={"histogram": "needs declared bounds, see Data"})[1]
    assert (line["mechanism"], line["failure"], line["epsilon"]) == (
        "histogram",
        "needs declared bounds, see Data",
        "",
    )
    assert (line["table"], line["settings"]) == (lines()[0]["table"], lines()[0]["settings"])


def test_a_rule_and_what_it_says():
    [line] = lines(Policy(epsilon=1.0))
    assert (line["rule"], line["verdict"]) == ("ε ≤ 1", "fails: ε 13.6 > 1")


def test_several_variables_have_a_line_each_below_that_of_all():
    joint = Measures(900.0, 0.12, 0.01, 2.0, 0.03, 0.08, ("sex", "pay"))
    both = (
        variable("sex", ecdf_max=0.02, statistics=(), share=0.4),
        variable("pay", ecdf_max=0.04, share=0.6),
    )
    found = lines(Policy(percent=3.0, measure="ecdf_max"), results=[numbers(both, joint=joint)])
    assert [line["variable"] for line in found] == ["all", "sex", "pay"]
    assert [line["ecdf_max"] for line in found] == ["0.04", "0.02", "0.04"]
    assert [line["share"] for line in found] == ["", "0.4", "0.6"]
    assert found[0]["verdict"] == "fails: distribution functions of pay off by 4.0 > 3 points"
    assert (found[0]["k_marginal"], found[0]["match_risk"]) == ("900.0", "0.08")
    assert {line["settings"] for line in found} == {"scale=0.5"}  # the model of pay stood beside sex
