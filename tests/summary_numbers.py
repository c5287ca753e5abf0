"""Numbers of a result that nobody computed, for tests of what is said and judged of them."""

from synth_core.analysis.result_numbers import ResultNumbers, VariableNumbers
from synth_core.analysis.utility import Statistic
from synth_core.experiments.explore.point import PointSummary


def statistic(name, error, beside=0.0, confidential=100.0):
    """A statistic with this relative error, and an interval so far to both sides of it."""
    value = confidential * (1 + error)
    ends = (confidential * (1 + error - beside), confidential * (1 + error + beside))
    return Statistic(name, confidential, (confidential, confidential), value, ends)


def variable(name="", **other):
    known = {
        "name": name,
        "variable": name,
        "model": "lognormal",
        "share": 1.0,
        "epsilon": 6.8,
        "lipschitz_bound": 3.4,
        "n_records": 400,
        "n_zero_weight": 0,
        "n_truncated": 0,
        "n_censored": 0,
        "ecdf_max": 0.0451,
        "ecdf_avg": None if name else 0.00067,
        "statistics": (statistic("mean", -0.2), statistic("q90", 0.06)),
        "anchor": "",
        "tuned": {},
        "diagnostics": None,
        "problems": (),
    }
    return VariableNumbers(**known | other)


def numbers(variables=None, **other):
    """Numbers of one variable, or of `variables`; what is a variable's own may be named here for the one."""
    own = {name: other.pop(name) for name in ("ecdf_max", "ecdf_avg", "statistics") if name in other}
    known = {
        "mechanism": "weighted",
        "label": "Weighted",
        "lipschitz_bound": 3.4,
        "epsilon": 6.8,
        "epsilon_replace": 1.86,
        "n_draws": 2000,
        "n_records": 400,
        "n_datasets": 1,
        "variables": tuple(variables or (variable(**own),)),
        "joint": None,
        "weights_from": "current",
        "tuned": {},
        "problems": (),
        "seconds": 0.1,
        "anchor": "",
        "oscillation": 0.5,
        "oscillation_joint": 0.64,
        "match_risk": 0.08,
    }
    return ResultNumbers(**known | other)


def map_point(mechanism="weighted", guarantee="asymptotic", epsilon=1.0, error=0.05, **other):
    """A point of the map that nobody computed, with a band around this error."""
    known = {
        "knobs": {"scale": 1.0},
        "epsilon_replace": None,
        "lipschitz_bound": None,
        "n_records": 400,
        "n_predictive": 100,
        "density_scale": "density",
        "problems": (),
        "bands": {"ecdf_max": (0.8 * error, error, 1.2 * error)},
        "seconds": 1.0,
        "cached": False,
        "id": f"{mechanism}{epsilon}",
    }
    return PointSummary(mechanism=mechanism, guarantee=guarantee, epsilon=epsilon, **known | other)
