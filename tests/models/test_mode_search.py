"""The search for modes by short chains: it finds the mode that chains missed, and finds none where there is one."""

from dataclasses import replace

import numpy as np
import pytest

from synth_core.engine.sampling import Sampler, Start, sample
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from tests.conftest import records_of

pytestmark = pytest.mark.stan
N = 200
SAMPLER = Sampler(chains=2, draws=400, warmup=300, seed=3, search=True)


def two_groups(n_large, bound=1.0):
    """Counts about 20 and about 2,000, each of which is clamped where the mean suits the other."""
    counts = np.where(np.arange(N) < n_large, 2000.0, 20.0)
    model = build_model("poisson", records_of(counts))
    at_best = model.log_lik({"beta": np.log(counts)[:, None]}, slice(None)).diagonal()
    return model, Censoring(bound, anchor=at_best - bound)


def fitted(model, censoring, log_mean, sampler=SAMPLER):
    """A fit whose chains start at a mean, and search."""
    data = model.stan_data(np.ones(N), censoring)
    u = (log_mean - data["center"]) / data["basis"].ravel()
    start = Start(({"u": u},) * sampler.chains, np.ones(1), 0.1)
    return sample(model.executable(), data, model.parameters, sampler, start=start, monitors=model.monitors)


def share_of_large(model, censoring):
    """The share of the mode about 2,000, on a grid of the logarithm of the mean."""
    grid = np.linspace(0, 12, 40_001)[:, None]
    terms = model.log_lik({"beta": grid}, slice(None)) - censoring.anchor
    total = np.clip(terms, -censoring.bound, censoring.bound).sum(axis=1)
    shares = np.exp(total - total.max())
    return shares[grid[:, 0] > 5.3].sum() / shares.sum()


@pytest.mark.parametrize(("n_large", "started_at"), [(106, 20), (94, 2000)])
def test_the_mode_that_all_chains_missed_is_found(n_large, started_at):
    model, censoring = two_groups(n_large)
    large = share_of_large(model, censoring)
    missed = large if started_at == 20 else 1 - large
    fit = fitted(model, censoring, np.log(started_at))
    means = np.exp(fit.draws["beta"][:, 0])
    assert np.all(np.abs(means / started_at - 1) < 0.2)  # both chains are in the smaller one, and agree
    assert missed > 0.9 and fit.diagnostics.unseen > 0.5
    assert "another mode, which no chain was in" in "; ".join(fit.diagnostics.problems)


def test_a_mode_of_next_to_nothing_and_a_single_one_do_not_count():
    model, censoring = two_groups(150)
    assert share_of_large(model, censoring) > 1 - 1e-9
    assert fitted(model, censoring, np.log(2000)).diagnostics.unseen < 1e-6
    model, censoring = two_groups(N)
    assert fitted(model, censoring, np.log(2000)).diagnostics.unseen < 1e-6


def test_the_search_changes_no_draw_of_the_fit():
    model, censoring = two_groups(106)
    secret = replace(SAMPLER, secret=12345, draws=100)
    data = model.stan_data(np.ones(N), censoring)
    given = model.executable(), data, model.parameters
    with_search, without = (sample(*given, replace(secret, search=search)) for search in (True, False))
    np.testing.assert_array_equal(with_search.draws["beta"], without.draws["beta"])


def test_a_search_that_cannot_be_made_is_said(monkeypatch):
    monkeypatch.setattr("synth_core.engine.mode_search._short_chains", _fails)
    model, censoring = two_groups(106)
    assert np.isnan(fitted(model, censoring, np.log(20)).diagnostics.unseen)


def _fails(*arguments):
    raise RuntimeError
