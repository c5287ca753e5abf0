"""The functions that users of a release combine estimates with: Python's, R's and the program's own agree."""

import importlib.util
import json
import shutil
import subprocess

import numpy as np
import pytest
from scipy import stats

from synth_core.analysis.combining import RULES, as_normal, degrees_of_freedom, interval
from synth_core.mechanisms.catalogue import find_mechanism
from synth_core.release.output import bundle

STORED = {
    "one": ([2.5], [0.09]),
    "three": ([12.1, 12.4, 11.9], [0.04, 0.04, 0.05]),
    "ten": (list(np.linspace(-1, 2, 10) ** 3), list(np.linspace(0.5, 2, 10))),
}


class Planned:
    """A plan, as far as the functions read it."""

    def __init__(self, mechanism):
        self.point = find_mechanism(mechanism)


def module_of(tmp_path, mechanism):
    """combine.py of a release, as a user imports it."""
    path = tmp_path / "combine.py"
    path.write_bytes(bundle.combining_files(Planned(mechanism))["combine.py"])
    spec = importlib.util.spec_from_file_location("combine_of_user", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("rule", ["u", "u + b/m", "u + b", "u (1 + 2/m)"])
@pytest.mark.parametrize("name", STORED)
def test_python_agrees_with_the_program(tmp_path, rule, name):
    estimates, variances = STORED[name]
    got = module_of(tmp_path, "measured").combine(estimates, variances, rule=rule, level=0.9)
    expected = RULES[rule](np.array(estimates), np.array(variances), 1.0)
    assert got.standard_error == pytest.approx(np.sqrt(expected), rel=1e-12)
    df = degrees_of_freedom(rule, np.array(estimates), np.array(variances))
    assert (got.low, got.high) == pytest.approx(interval(np.array(estimates), expected, 0.9, df), rel=1e-9)
    assert np.sqrt(as_normal(expected, df, 0.9)) == pytest.approx(
        (got.high - got.low) / 2 / stats.norm.isf(0.05)
    )


@pytest.mark.parametrize("degrees", [1, 1.5, 4, 37.2, 800, 5_000, np.inf])
def test_the_quantile_of_users_is_students(tmp_path, degrees):
    of_user = module_of(tmp_path, "measured").quantile
    for share in (0.6, 0.95, 0.975, 0.999):
        expected = stats.t.ppf(share, degrees) if degrees < 1_000 else stats.norm.ppf(share)
        assert of_user(share, degrees) == pytest.approx(expected, rel=1e-5)


def test_rules_are_those_of_the_mechanism(tmp_path):
    several = STORED["three"]
    measured = module_of(tmp_path, "measured")
    assert measured.combine(*several) == measured.combine(*several, rule="u + b")
    with pytest.raises(ValueError, match="No rule is known to hold"):
        measured.combine(*STORED["one"])
    unweighted = module_of(tmp_path, "unweighted")
    assert unweighted.combine(*STORED["one"]) == unweighted.combine(*STORED["one"], rule="u (1 + 2/m)")
    with pytest.raises(ValueError, match="No rule is known to hold"):
        module_of(tmp_path, "weighted").combine(*several)
    wider = measured.combine(*several, factor=2.0)  # measured for what software says, in which b is not
    assert wider.standard_error == pytest.approx(2 * measured.combine(*several, rule="u").standard_error)
    named = measured.combine(*several, rule="u + b", factor=2.0)
    assert named.standard_error == pytest.approx(2 * measured.combine(*several).standard_error)


@pytest.mark.parametrize(
    "mechanism", ["unweighted", "weighted", "anchored", "anchored_weighted", "measured", "histogram"]
)
def test_every_rule_is_one_of_the_functions(tmp_path, mechanism):
    module = module_of(tmp_path, mechanism)
    for rule in (module.RULE_OF_ONE, module.RULE_OF_SEVERAL):
        assert rule in ("", *RULES)


@pytest.mark.parametrize("numbers", [([1, np.nan, 2], [1, 1, 1]), ([1, 2, 3], [np.nan, 1, 1])])
@pytest.mark.parametrize("rule", ["u", "u + b"])
def test_what_is_missing_is_refused_in_words(tmp_path, numbers, rule):
    """It gave intervals that were no numbers, or a division by zero."""
    with pytest.raises(ValueError, match="missing or infinite"):
        module_of(tmp_path, "measured").combine(*numbers, rule=rule)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
def test_r_agrees_with_python(tmp_path):
    """On stored numbers, with every rule, and where a rule is that of the release."""
    module = module_of(tmp_path, "measured")
    (tmp_path / "combine.R").write_bytes(bundle.combining_files(Planned("measured"))["combine.R"])
    lines, expected = [f'source("{tmp_path / "combine.R"}")'], []
    for estimates, variances in STORED.values():
        for rule in ("u", "u + b/m", "u + b", "u (1 + 2/m)", *([""] if len(estimates) > 1 else [])):
            q, u = (", ".join(repr(float(x)) for x in each) for each in (estimates, variances))
            lines.append(
                f'cat(format(unlist(combine(c({q}), c({u}), "{rule}", 0.9, 1.3)), digits = 17), "\\n")'
            )
            expected.append(list(module.combine(estimates, variances, rule, 0.9, 1.3)))
    lines.append('cat(tryCatch(combine(1, 1), error = function(e) "refused"), "\\n")')
    lines += [
        f'cat(tryCatch(combine({numbers}, "u + b"), error = conditionMessage), "\\n")'
        for numbers in ("c(1, NA, 2), c(1, 1, 1)", "c(1, 2, 3), c(1, NA, 1)", "c(1, 2, 3), c(1, Inf, 1)")
    ]
    done = subprocess.run(["Rscript", "-e", "\n".join(lines)], capture_output=True, text=True, check=True)
    *got, refused, estimate, variance, infinite = done.stdout.strip().splitlines()
    assert all("missing or infinite" in each for each in (estimate, variance, infinite))
    np.testing.assert_allclose(
        [json.loads(f"[{','.join(line.split())}]") for line in got], expected, rtol=1e-9
    )
    assert refused.strip() == "refused"
