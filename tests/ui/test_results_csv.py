"""The results as a file: every mechanism has a line, with what it is of."""

import csv
import io

from synth_core.analysis.policy import Policy
from synth_core.analysis.settings import make_settings
from synth_core.ui.compare.inspector import results_csv

SETTINGS = make_settings(outcome="pay", model="lognormal", scale=0.5)
SUMMARY = {
    "mechanism": "weighted",
    "weights_from": "current",
    "tuned": {},
    "epsilon": 6.8,
    "n_datasets": 2,
    "epsilon_replace": 1.8,
    "lipschitz_bound": 3.4,
    "oscillation": 0.5,
    "oscillation_joint": 0.6,
    "ecdf_max": 0.04,
    "ecdf_avg": 0.001,
    "match_risk": 0.08,
    "problems": [],
    "preview_khat": None,
    "statistics": [{"name": "q90", "relative_error": -0.05, "synthetic": 95.0}],
}


def lines(policy=Policy(), missing=None):
    text = results_csv([SUMMARY], missing or {}, SETTINGS, "pay.csv", policy)
    return list(csv.DictReader(io.StringIO(text)))


def test_a_result_with_table_and_settings():
    [line] = lines()
    assert (line["table"], line["epsilon_total"], line["q90_synthetic"]) == ("pay.csv", "13.6", "95.0")
    assert line["guarantee"] == "asymptotic DP"
    assert line["settings"] == "outcome=pay; model=lognormal; scale=0.5"  # what is not as it starts
    assert line["sentence"].endswith("Furthest off is the 90th percentile: 5 % low.")
    assert "verdict" not in line


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
    assert (line["rule"], line["verdict"]) == ("ε ≤ 1", "fails: ε 14 > 1")
