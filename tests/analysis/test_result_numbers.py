"""The plain numbers of a result are made once; what is selected from them keeps its names."""

import json
import math
from dataclasses import fields, replace

import numpy as np
import pytest

from synth_core.analysis.result import Result
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.settings import make_settings
from synth_core.analysis.summary import ResultSummary
from synth_core.analysis.utility import Statistic
from synth_core.cli.compare_output import result_json
from synth_core.engine.sampling import Diagnostics
from synth_core.experiments.studies.replicate import numbers
from synth_core.release.run_store import numbers_of
from synth_core.system.entries import from_entry, to_entry
from tests.support.summaries import summary

OUTCOME = np.array([1.0, 2.0, 3.0, 4.0])
STATISTICS = (
    Statistic("mean", 2.5, (2.0, 3.0), 2.0, (1.5, 2.5)),
    Statistic("q90", 4.0, (3.0, 5.0), 5.0, (4.0, 6.0)),
)


def result(mechanism="weighted_final", **more):
    known = {
        "weights": np.array([0.0, 0.5, 1.0, 0.5]),
        "lipschitz_bounds": np.array([0.0, 1.0, 2.0, 1.0]),
        "growth": np.array([1.0, 2.0]),
        "synthetic": np.array([[1.0, 2.0, 3.0, 2.0], [4.0, 3.0, 2.0, 1.0]]),
        "outside": np.empty(0),
        "match_risk": np.array([0.0, 1.0, 0.0, 0.0]),
        "true_match_rate": 0.25,
        "false_match_rate": 0.5,
        "epsilon_promised": None,
        "epsilon_replace": 3.5,
        "n_truncated": 0,
        "n_censored": 1,
        "ecdf_max": 0.25,
        "ecdf_avg": 0.01,
        "ecdf_location": 2.0,
        "overlap": None,
        "statistics": STATISTICS,
        "diagnostics": Diagnostics(1.2, 900.0, 800.0, 0, 2, 2000),
        "seconds": 1.5,
        "tuned": {"k": 1.1, "refits": 3},
    }
    return Result(mechanism, **known | more)


def histogram():
    empty = np.empty(0)
    return result("histogram", weights=empty, lipschitz_bounds=empty, growth=empty, epsilon_promised=5.0, tuned={},
                  diagnostics=None)  # fmt: skip


def test_flat_numbers():
    flat = result().summary_numbers
    assert (flat.lipschitz_bound, flat.bound_mean, flat.epsilon, flat.epsilon_replace) == (2.0, 1.0, 4.0, 3.5)
    assert (flat.n_records, flat.n_datasets, flat.n_zero_weight) == (4, 2, 1)
    assert (flat.weight_mean, flat.weight_min, flat.weight_max) == (0.5, 0.0, 1.0)
    assert (flat.match_risk, flat.synthetic, flat.errors) == (
        0.25,
        {"mean": 2.0, "q90": 5.0},
        {"relative error of the mean": -0.2, "relative error of the q90": 0.25},
    )
    assert len(flat.problems) == 1 and "R-hat" in flat.problems[0]
    assert not any(isinstance(getattr(flat, each.name), np.ndarray) for each in fields(ResultNumbers))


def test_the_histogram_has_no_weights_and_no_bound():
    flat = histogram().summary_numbers
    assert (flat.lipschitz_bound, flat.bound_mean, flat.weight_mean, flat.diagnostics) == (
        None,
        None,
        None,
        None,
    )
    assert (flat.epsilon, flat.n_zero_weight, flat.problems) == (5.0, 0, ())
    assert result_json(histogram(), make_settings(outcome="x", model="beta"))["weights"] is None


PLAIN = {each.name for each in fields(ResultNumbers)}
DERIVED = {"ecdf_max", "ecdf_avg", "n_truncated", "n_censored"}  # of the one variable


@pytest.mark.parametrize("which", [result, histogram])
def test_a_summary_is_read_again_as_it_was_after_a_way_through_text(which):
    made = summary(which(), OUTCOME)
    assert from_entry(ResultSummary, json.loads(json.dumps(to_entry(made)))) == made
    assert (made.privacy is None) == (which is histogram)


def test_a_summary_of_a_sensitive_range_is_read_again_too():
    """λ is a share and no yes or no: its type was wrong, and what was stored of these mechanisms could not be read."""
    made = summary(replace(result(), outside=np.array([0.5, 0.25, 0.125, 1.0])), OUTCOME)
    again = from_entry(ResultSummary, json.loads(json.dumps(to_entry(made))))
    assert again == made and again.privacy.scatter.outside == [0.5, 0.25, 0.125, 1.0]


def test_what_the_run_store_keeps():
    found = numbers_of(result().summary_numbers)
    assert found["relative error of the q90"] == 0.25 and found["converged"] is False
    assert set(found) - PLAIN - DERIVED == {
        "converged",
        "relative error of the mean",
        "relative error of the q90",
    }


@pytest.mark.parametrize("which", [result, histogram])
def test_measures_of_a_study(which):
    found = numbers(which())
    ends = ("", "_lower", "_upper")
    assert set(found) == {
        "lipschitz_bound", "epsilon", "n_truncated", "n_censored", "n_zero_weight", "weight_mean", "bound_mean",
        "ecdf_max", "ecdf_avg", "overlap", "c", "k", "scale", "rhat", "ess", "divergences", "problems",
        *(f"{data}{name}{end}" for data in ("", "data_") for name in ("mean", "q90") for end in ends),
    }  # fmt: skip
    assert all(isinstance(value, int | float) for value in found.values())
    assert (found["data_q90_upper"], found["q90_lower"], found["mean"]) == (5.0, 4.0, 2.0)
    assert math.isnan(found["overlap"]) and math.isnan(found["scale"])
    assert math.isnan(found["lipschitz_bound"]) == (which is histogram)
    assert found["problems"] == (1 if which is result else 0)
