"""Own programs under anchored censoring: what their contract asks, the anchors that they take, what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synth_core.analysis.anchor import AVERAGED
from synth_core.analysis.anchored import AnchorBuilder
from synth_core.analysis.fits import Fits
from synth_core.analysis.settings import make_settings
from synth_core.cli import main
from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import Records, build_model
from synth_core.models.own import sandbox
from synth_core.models.own.anchor_check import respects_anchor
from synth_core.models.own.contract_checks import Broken, Examiner
from synth_core.models.own.quantities import log_target
from synth_core.ui.state.first_choices import first_choices
from tests.conftest import ROOT
from tests.support.own_programs import ANCHOR_BROKEN, GAMMA, LOGNORMAL, NO_ANCHOR, SWITCHED

pytestmark = pytest.mark.stan
QUICK = {"chains": 2, "draws": 600, "warmup": 400}


@pytest.fixture(autouse=True)
def switched_on(monkeypatch):
    monkeypatch.setenv(sandbox.FLAG, "1")
    for source in (GAMMA, LOGNORMAL, NO_ANCHOR, SWITCHED):
        sandbox.approve(source)


def records(rng, n=120) -> Records:
    z = np.column_stack([np.ones(n), rng.normal(size=n)])
    return Records(rng.gamma(2.0, np.exp(z @ [1.0, 0.5]) / 2.0), z, ("(intercept)", "z"))


def incomes(seed, n=300, name="incomes") -> Table:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return Table(name, pd.DataFrame({"z": z, "x": rng.lognormal(0.5 + 0.4 * z, 0.6)}), False)


def fits_of(cache, program, table=None, **changes) -> Fits:
    given = {"outcome": "x", "predictors": ("z",), "model": "own", "program": program, "epsilon": 2.0}
    settings = make_settings(**given | QUICK | changes)
    # The contract has tests of its own.
    return Fits(table or incomes(1), settings, cache, lambda text, share: None, contract_verified=True)


# -- what is given to a program --------------------------------------------------------------------


def test_plain_and_censored_fits_give_zeros_and_an_anchored_one_its_anchor(rng):
    model = build_model("own", records(rng), program=GAMMA)
    weights, anchor = np.full(120, 0.5), rng.normal(size=120)
    for censoring in (None, Censoring(1.0)):
        assert not model.stan_data(weights, censoring)["anchor"].any()
    np.testing.assert_array_equal(model.stan_data(weights, Censoring(1.0, anchor))["anchor"], anchor)
    with pytest.raises(InputError, match="takes no prior from an anchor"):
        model.stan_data(weights, Censoring(1.0, anchor, model.records.outcome, 0.1))


def test_a_program_without_the_declaration_is_refused_by_its_name_and_runs_otherwise(rng, cache):
    model = build_model("own", records(rng), program=NO_ANCHOR)
    assert not model.takes_anchor and "anchor" not in model.stan_data(np.ones(120), Censoring(1.0))
    with pytest.raises(InputError, match=r"Add 'vector\[N\] anchor;' to its data block"):
        model.stan_data(np.ones(120), Censoring(1.0, np.zeros(120)))
    fits = fits_of(cache, NO_ANCHOR, anchor="public:other.csv")
    with pytest.raises(InputError, match="the program does not declare one"):
        _ = AnchorBuilder(fits, fits, np.random.default_rng).build()


def test_a_pilot_and_a_prior_are_refused_in_words(cache):
    for guess in (None, (2.0, 1.0)):
        fits = fits_of(cache, GAMMA, guess=guess)
        with pytest.raises(
            InputError, match=r"it takes none\. Name another anchor: a public table \(public:FILE\)"
        ):
            _ = AnchorBuilder(fits, None, np.random.default_rng).build()
    fits = fits_of(cache, GAMMA, anchor="public:other.csv", anchor_records=20.0)
    with pytest.raises(InputError, match="cannot count as 20 records"):
        _ = AnchorBuilder(fits, fits, np.random.default_rng).build()


def test_a_number_of_records_chosen_for_another_model_is_left_out_on_the_screen():
    choices = first_choices().with_settings(anchor_records=20.0)
    assert choices.checked().anchor_records == 20.0
    assert choices.checked(model="own", program=GAMMA).anchor_records is None


@pytest.mark.slow
def test_declared_values_are_parameters_of_the_program_or_refused(rng, cache):
    model = build_model("own", records(rng), program=GAMMA)
    assert model.accepts({"beta": np.array([[1.0, 0.5]]), "shape": np.array([2.0])})
    for beta, shape in (([1.0], 2.0), ([1.0, 0.5, 0.0], 2.0), ([1.0, 0.5], -2.0), ([1.0, 0.5], [2.0])):
        assert not model.accepts({"beta": np.array([beta]), "shape": np.array([shape])})
    for values, words in (
        ({"beta": (1.0, 0.0)}, "lack shape"),
        ({"beta": 1.0, "shape": 2.0}, "no parameters of Own"),
    ):
        fits = fits_of(cache, GAMMA, anchor="values", anchor_values=values)
        with pytest.raises(InputError, match=words):
            _ = AnchorBuilder(fits, None, lambda *stream: np.random.default_rng(stream)).build()


# -- the contract ----------------------------------------------------------------------------------


NEEDED, OTHERS = ("compiles", "samples", "sizes", "finite"), ("alone", "power", "removal", "censoring")


def examined(kind, rng, steps) -> Examiner:
    model = build_model("own", records(rng, 300), program=SWITCHED, prior_scale=float(kind))
    examiner = Examiner(model, lambda text, share: None)
    for step in steps:
        getattr(examiner, step)()
    return examiner


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(None, marks=pytest.mark.long), *ANCHOR_BROKEN])
def test_a_program_that_breaks_the_anchor_is_refused(name, rng):
    """Anchors and bounds are drawn anew: what is refused here was in each of 8 tries."""
    kind, words = (1, "") if name is None else ANCHOR_BROKEN[name]
    examiner = examined(kind, rng, NEEDED if name else NEEDED + OTHERS)
    if name is None:
        assert "before each term is clamped" in respects_anchor(examiner)
    else:
        with pytest.raises(Broken, match=words):
            respects_anchor(examiner)


@pytest.mark.long
@pytest.mark.parametrize("name", ANCHOR_BROKEN)
def test_in_a_program_that_breaks_the_anchor_all_else_is_as_it_should_be(name, rng):
    """Of these programs of ours, so that the test above is about the anchor: the steps refuse others elsewhere."""
    examined(ANCHOR_BROKEN[name][0], rng, NEEDED + OTHERS)


# -- anchored fits ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_own_lognormal_at_a_public_table_has_the_target_of_clamped_sums(cache):
    """Against SciPy: the anchor to 1e-8, the target to 1e-9 of its size; nothing is random once the draws are."""
    fits = fits_of(cache, LOGNORMAL, anchor="public:earlier.csv")
    public = fits_of(cache, LOGNORMAL, incomes(2, name="earlier"), anchor="public:earlier.csv")
    found = AnchorBuilder(fits, public, lambda *stream: np.random.default_rng(stream)).build()
    assert found.anchor.kind == "public"
    assert found.prior_outcome is None and found.prior_records == 0
    assert 0.01 < found.weight <= 0.5

    x, model = fits.model.records.outcome, fits.model
    posterior, _ = public.unweighted()
    some = np.linspace(0, posterior.n_draws - 1, AVERAGED).astype(int)
    held = public.selection.transform  # the public table's predictors' mean and deviation
    raw = fits.table.frame["z"].to_numpy()
    z = np.column_stack([np.ones(len(x)), (raw - held.center[-1]) / held.scale[-1]])

    def log_lik(beta, sigma, design):
        return stats.norm.logpdf(np.log(x), design @ beta, sigma) - np.log(x)

    each = [log_lik(posterior.draws["beta"][s], posterior.draws["sigma"][s], z) for s in some]
    anchor = np.logaddexp.reduce(each, axis=0) - np.log(AVERAGED)
    np.testing.assert_allclose(found.log_lik, anchor, rtol=1e-8, atol=1e-8)

    weights = np.full(len(x), found.weight)
    program = sandbox.own_source(LOGNORMAL)
    data, empty = model.stan_data(weights, found.censoring), model.stan_data(0 * weights, found.censoring)
    clamped, constants = 0, []
    for beta, sigma in (([0.5, 0.4], 0.6), ([0.2, 0.0], 0.3), ([-3.0, 2.0], 0.05), ([4.0, 0.0], 5.0)):
        at = {"beta": np.array(beta), "sigma": np.array(sigma)}
        terms = found.weight * (log_lik(at["beta"], sigma, model.records.design) - anchor)
        clamped += int((np.abs(terms) > 1.0).sum())
        prior = log_target(program, empty, at)
        expected = np.clip(terms, -1.0, 1.0).sum()
        # log_lik has 12 digits where it is the anchor's, and terms reach thousands.
        assert log_target(program, data, at) - prior == pytest.approx(expected, rel=1e-9, abs=1e-7)
        ours = (
            stats.norm.logpdf(beta, 0, [20, 5]).sum() + stats.t.logpdf(sigma, 3) + np.log(sigma)
        )  # the Jacobian
        constants.append(prior - ours)
    assert clamped > 100
    assert np.ptp(constants) < 1e-9


@pytest.mark.long
def test_the_command_line_anchors_a_program_at_a_public_table(tmp_path, capsys):
    rng = np.random.default_rng(5)
    for name, n in (("public", 400), ("now", 300)):
        z = rng.normal(size=n)
        frame = pd.DataFrame({"z": z, "x": 10 + 2 * z + 1.5 * rng.standard_t(5, n)})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    program = str(ROOT / "docs" / "guide" / "own" / "student_t.stan")
    command = ["compare", str(tmp_path / "now.csv"), "--outcome", "x", "--predictors", "z", "--program", program,
               "--mechanism", "anchored", "--epsilon", "2", "--anchor", f"public:{tmp_path / 'public.csv'}",
               "--chains", "2", "--draws", "1000", "--warmup", "500", "--format", "json"]  # fmt: skip
    assert main(command) == 0
    (line,) = json.loads(capsys.readouterr().out)["results"]
    assert line["epsilon"] == 2.0
    assert line["guarantee"] == "ε-DP"
    assert "anchored at the public table public.csv" in line["anchor"]
    assert 0 < line["tuned"]["c"] <= 0.5
    assert line["utility"]["ecdf_max"] < 0.15  # 0.28 where this program is censored without an anchor
