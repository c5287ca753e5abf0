"""The key of a fit: it costs nothing, changes with all that could move the fit, and with nothing else."""

import numpy as np
import pandas as pd
import pytest

from synth_core.analysis.analysis import Analysis
from synth_core.analysis.fits import Fits
from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.mechanisms.censoring import Censoring
from synth_core.models.mixture import model as mixture
from synth_core.models.own import contract
from tests.support.own_programs import GAMMA

N = 60
RNG = np.random.default_rng(3)
FRAME = pd.DataFrame({
    "x": np.round(np.where(np.arange(N) % 6, np.exp(RNG.normal(size=N)), 0.0), 3) + 0.0,
    "z": RNG.normal(size=N),
    "other": np.arange(N),
})  # fmt: skip


def fits_of(cache, frame=FRAME, model="mixture", **more):
    given = {"outcome": "x", "predictors": ("z",), "model": model, "zero_part": model == "mixture"} | more
    return Fits(Table("t", frame), make_settings(**given), cache, lambda text, share: None)


@pytest.fixture
def pilots(monkeypatch):
    """The pilot runs that were made, in a process that has made none."""
    made = []
    monkeypatch.setattr(mixture, "_pilots", type(mixture._pilots)())
    monkeypatch.setattr(
        mixture, "run_pilot", lambda *args, **more: made.append(args) or pytest.fail("a pilot run")
    )
    monkeypatch.setattr(mixture, "fit_mixture", lambda *args: made.append(args) or pytest.fail("an EM run"))
    return made


def test_asking_for_a_mixture_runs_no_pilot(cache, pilots):
    fits = fits_of(cache)
    assert not fits.is_cached(np.full(N, 0.5), None)
    assert not fits.is_cached(np.ones(N), Censoring(2.0))
    assert fits.unweighted_key() == fits.fit_key(np.ones(N))
    assert pilots == []


# What moves a fit, and what does not.
SETTINGS = {
    "unit": 2.0,
    "transformation": "asinh",
    "offset": 1.0,
    "asinh_scale": 3.0,
    "components": 4,
    "concentration": 2.0,
    "zero_part": False,
    "prior_scale": 2.0,
    "chains": 3,
    "draws": 500,
    "warmup": 299,
    "seed": 2,
}
SAME = {"scale": 0.5, "epsilon": 1.0, "bounds": (-1.0, 100.0), "percentiles": (50.0,), "datasets": 3}


def test_every_setting_that_moves_a_fit_is_in_its_key(cache):
    positive = FRAME.assign(x=FRAME["x"] + 0.1)  # without a part for zeros there may be none
    weights = np.full(N, 0.5)
    keys = [fits_of(cache, positive).fit_key(weights)]
    keys += [fits_of(cache, positive, **{name: value}).fit_key(weights) for name, value in SETTINGS.items()]
    assert len(set(keys)) == len(SETTINGS) + 1
    assert {fits_of(cache, positive, **{name: value}).fit_key(weights) for name, value in SAME.items()} == {
        keys[0]
    }


def test_weights_and_the_censor_bound_are_in_it(cache):
    fits = fits_of(cache)
    half = np.full(N, 0.5)
    one_less = np.where(np.arange(N) == 7, 0.4, 0.5)
    keys = [fits.fit_key(half), fits.fit_key(one_less),
            fits.fit_key(half, Censoring(2.0)), fits.fit_key(half, Censoring(2.5)),
            fits.fit_key(np.ones(N)), fits.fit_key(np.ones(N), Censoring(2.5)),
            fits.fit_key(half, Censoring(2.0, half)), fits.fit_key(half, Censoring(2.0, half, half, 0.1))]  # fmt: skip
    assert len(set(keys)) == len(keys)
    assert fits.fit_key(half.copy()) == keys[0]


def test_so_are_the_records_in_their_order_and_nothing_else_of_the_table(cache):
    def key(frame, **more):
        return fits_of(cache, frame, **more).unweighted_key()

    moved = FRAME.copy()
    moved.loc[5, "x"] += 1e-9
    first = key(FRAME)
    others = [key(moved), key(FRAME.iloc[::-1]), key(FRAME.iloc[1:]), key(FRAME, predictors=()),
              key(FRAME.assign(z=FRAME["z"] ** 2))]  # fmt: skip
    assert len({first, *others}) == len(others) + 1
    # Two tables with equal records share their fits; another column, or incomplete rows, do not matter.
    assert key(FRAME.drop(columns="other")) == first
    assert key(pd.concat([FRAME, FRAME.tail(3).assign(x=np.nan)])) == first


def test_a_design_held_from_another_table_is_in_it(cache):
    here = Analysis(Table("t", FRAME), fits_of(cache).settings, cache)
    there = here.for_table(Table("u", FRAME.assign(z=2 * FRAME["z"])))
    alone = fits_of(cache, FRAME.assign(z=2 * FRAME["z"]))
    assert alone.unweighted_key() == here.fits.unweighted_key()  # each standardised by itself: equal records
    assert there.fits.unweighted_key() != here.fits.unweighted_key()
    # What depends on the table itself is kept apart, equal records or not.
    assert alone.records_key() != here.fits.records_key()


def test_options_that_a_family_does_not_know_are_not_in_it(cache):
    positive = FRAME.assign(x=FRAME["x"] + 0.1)
    plain = fits_of(cache, positive, model="lognormal")
    other = fits_of(cache, positive, model="lognormal", asinh_scale=3.0, components=7, bounds=(0.0, 9.0))
    assert other.unweighted_key() == plain.unweighted_key()
    assert other.model.options == plain.model.options
    assert fits_of(cache, positive, model="two_part").unweighted_key() != plain.unweighted_key()


def test_the_text_of_an_own_program_is_in_it(cache, monkeypatch):
    monkeypatch.setenv("SYNTH_OWN_PROGRAMS", "1")
    monkeypatch.setattr(contract, "check_contract", lambda *args: contract.ContractReport(()))
    positive = FRAME.assign(x=FRAME["x"] + 0.1)
    first, second = (
        fits_of(cache, positive, model="own", program=text) for text in (GAMMA, GAMMA + "\n// again\n")
    )
    assert first.unweighted_key() != second.unweighted_key()
    # A refit starts from the unweighted fit: it has another key when that one has, and none is made to find it.
    changed = first.with_settings(first.settings.model_copy(update={"warmup": 400}))
    assert changed.fit_key(np.full(N, 0.5)) != first.fit_key(np.full(N, 0.5))
