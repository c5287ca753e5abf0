"""Every Stan program's log target against the model written out in SciPy, at random parameters.

Differences between two parameter points are compared, so constants cancel. The likelihood part comes from
`Model.log_lik`, which test_models.py holds against SciPy; weighting and censoring are applied here.
"""

from dataclasses import replace

import cmdstanpy
import numpy as np
import pytest
from scipy import linalg, special, stats

from synth_core.engine.toolchain import compile_program
from synth_core.mechanisms.censoring import Censoring
from synth_core.models import build_model
from synth_core.models import design_parts as design_parts_of_models
from synth_core.models import zero_part as zero_part_of_models
from tests.conftest import records_of
from tests.models.test_calibration import correlation
from tests.support.marks import slow_but

N, POINTS, SCALE = 30, 4, 0.7
CASES = ["plain", "weighted", "censored", "anchored", "anchored with a prior", "a prior of another design"]


def half_t(x, scale):
    return np.sum(stats.t(3, scale=scale).logpdf(x))


def whitened(data, beta, prefix=""):
    return linalg.solve_triangular(data[f"{prefix}basis"], beta - data[f"{prefix}center"], lower=True)


def conditional(data, beta, covariance, j=0):
    """u of a regression's beta in the coordinates of mixture.stan, and beta's log prior with the Jacobian."""
    c = linalg.cholesky(data["precision"][j] + linalg.inv(covariance), lower=True)
    log_prior = stats.multivariate_normal(np.zeros(len(beta)), covariance).logpdf(beta)
    return c.T @ beta - linalg.solve(c, data["shift"][:, j]), log_prior - np.log(np.diag(c)).sum()


def lognormal(rng, data, k):
    beta, sigma = rng.normal(1, 0.5, k), rng.uniform(0.4, 1.5)
    scale = np.r_[SCALE * 20, data["beta_scale"][1:]]  # of the slopes: 5, or of an anchored fit less
    prior = stats.norm(data["level"] * np.eye(k)[0], scale).logpdf(beta).sum() + half_t(sigma, SCALE)
    s = (np.log(sigma) - data["log_sigma_center"]) / data["log_sigma_scale"]
    prior += np.log(sigma)  # Jacobian of the logarithm
    return (
        {"beta": beta, "sigma": sigma},
        {"u": whitened(data, beta - data["level"] * np.eye(k)[0]), "s": s, "v": []},
        prior,
    )


def two_part(rng, data, k):
    draw, stan, prior = lognormal(rng, data, k)
    gamma, extra = zero_part(rng, data, k)
    return draw | {"gamma": gamma}, stan | {"v": whitened(data, gamma, "zero_")}, prior + extra


def zero_part(rng, data, k):
    gamma = rng.normal(-0.5, 0.5, k)
    prior = (
        stats.logistic(0, SCALE).logpdf(gamma[0])
        + stats.norm(0, data["zero_slope_scale"]).logpdf(gamma[1:]).sum()
    )
    return gamma, prior


def beta(rng, data, k):
    phi, precision = rng.uniform(0.2, 0.8), rng.uniform(0.5, 4)
    draw = {"a": precision * phi, "b": precision * (1 - phi)}
    return draw, *beta_coordinates(data, phi, precision)


def beta_coordinates(data, phi, precision):
    """Of a mean and a precision, and their prior with the Jacobian."""
    u = whitened(data, np.array([special.logit(phi), np.log(precision - 0.1)]))
    prior = stats.pareto(1.5 / SCALE, scale=0.1).logpdf(precision)
    return {"u": u}, prior + np.log(phi * (1 - phi)) + np.log(precision - 0.1)


def beta_regression(rng, data, k):
    beta, precision = rng.normal(0, 0.5, k), rng.uniform(0.5, 4)
    prior = stats.pareto(1.5 / SCALE, scale=0.1).logpdf(precision)
    prior += (
        stats.logistic(0, SCALE).logpdf(beta[0]) + stats.norm(0, data["slope_scale"]).logpdf(beta[1:]).sum()
    )
    return {"beta": beta, "lambda": precision}, {"u": whitened(data, beta), "lambda": precision}, prior


def poisson(rng, data, k):
    beta = rng.normal(1, 0.3, k)
    mean = np.exp(beta[0])  # Gamma on exp(beta_1), in the coordinate beta_1
    prior = stats.gamma(1.0, scale=SCALE / 1e-3).logpdf(mean) + beta[0]
    prior += stats.norm(0, data["slope_scale"]).logpdf(beta[1:]).sum()
    return {"beta": beta}, {"u": whitened(data, beta)}, prior


def negative_binomial(rng, data, k):
    beta, reciprocal, scales = rng.normal(1, 0.3, k), rng.uniform(0.1, 1), rng.uniform(0.3, 1, k)
    omega = correlation(rng, k, 6.0)
    factor = linalg.cholesky(omega, lower=True)
    covariance = scales[:, None] * omega * scales
    prior = stats.cauchy(0, 5 * SCALE).logpdf(reciprocal) + half_t(scales, SCALE)
    u, log_prior = conditional(data, beta, covariance)
    prior += log_prior + lkj(factor, 6.0)
    s = (np.log(reciprocal - 1e-4) - data["log_excess_center"]) / data["log_excess_scale"]
    prior += np.log(reciprocal - 1e-4)  # Jacobian of the logarithm
    stan = {"u": u, "s": s, "sigma_beta": scales, "L_beta": factor}
    return {"beta": beta, "phi": 1 / reciprocal}, stan, prior


def categorical(rng, data, k):
    gamma = rng.normal(0, 0.7, (k, data["n_categories"] - 1))
    scale = SCALE * np.r_[5.0, np.full(k - 1, 1.25)]  # 2.5 for two standard deviations
    if data["coefficient_scale"][1] != scale[1]:  # of an anchored fit
        scale[1:] = data["coefficient_scale"][1:]
    prior = stats.norm(0, scale[:, None]).logpdf(gamma).sum()
    flat = gamma.ravel(order="F")
    return {"beta": (gamma @ data["contrasts"].T).ravel(order="F")}, {"u": whitened(data, flat)}, prior


def ordered(rng, data, k):
    share = rng.normal(0, 0.7, data["n_categories"] - 1)
    slopes = np.r_[rng.normal(0, 0.5, k - 1), rng.normal(0, 0.3, k - 1)]
    gamma = rng.normal(0, 0.6, data["apart_k"])
    own = np.sqrt(2) * np.r_[5.0, np.full(k - 1, 1.25)][: len(gamma)]
    spread = 0.5 / np.sqrt(max(k - 1, 1))
    scale = SCALE * np.r_[np.full(len(share), 5.0), np.full(k - 1, 2.5), np.full(k - 1, spread), own]
    first = len(share)
    if data["scale"][first] != scale[first]:  # of an anchored fit: slopes by the number of columns
        ends = slice(first, first + 2 * (k - 1)), slice(first + 2 * (k - 1) + 1, None)
        for part in ends:
            scale[part] = data["scale"][part]
    flat = np.r_[share, slopes, gamma]
    draw = {
        "log_share": special.log_softmax(data["contrasts"] @ share),
        "beta": np.r_[0.0, slopes[: k - 1]],
        "delta": np.r_[0.0, slopes[k - 1 :]],
        "gamma": gamma,
    }
    # In coordinates of the record in the middle of the predictors, with the Jacobian by finite differences.
    at = np.r_[ordered_about(-data["middle"], data, flat), gamma]
    step = 1e-5 * np.eye(first + 2 * (k - 1), len(at))
    moves = [
        ordered_about(data["middle"], data, at + e) - ordered_about(data["middle"], data, at - e)
        for e in step
    ]
    volume = np.linalg.slogdet(np.array(moves) / 2e-5)[1]
    return draw, {"u": whitened(data, at)}, stats.norm(0, scale).logpdf(flat).sum() + volume


def ordered_about(middle, data, flat):
    """Logits of shares, beta and delta of the record at 0, from those of the record that has 0 at minus `middle`."""
    share, beta, delta, _ = np.split(flat, np.cumsum([data["n_categories"] - 1, *[data["k"] - 1] * 2]))
    factor = np.exp(middle @ delta)
    upto = np.cumsum(special.softmax(data["contrasts"] @ share))[:-1]
    upto = special.expit(special.logit(upto) * factor + middle @ beta * factor)
    return np.r_[data["contrasts"].T @ np.log(np.diff(np.r_[0.0, upto, 1.0])), beta * factor, delta]


def lkj(factor, eta):
    """log density of the Cholesky factor of a correlation matrix, without its constant."""
    k = len(factor)
    powers = k - np.arange(2, k + 1) + 2 * eta - 2
    return powers @ np.log(np.diag(factor)[1:])


def mixture(rng, data, k):
    n_components = data["n_components"]
    concentration, shares = rng.uniform(0.5, 2), rng.dirichlet(np.full(n_components, 2.0))
    sigma, scales = rng.uniform(0.4, 1.5, n_components), rng.uniform(0.3, 1, k)
    omega = correlation(rng, k, 1.0)
    factor = linalg.cholesky(omega, lower=True)
    covariance = scales[:, None] * omega * scales
    beta = rng.normal(1, 0.5, (k, n_components))
    prior = (
        stats.gamma(5 * 1.5, scale=1 / 5).logpdf(concentration) + half_t(sigma, SCALE) + half_t(scales, SCALE)
    )
    prior += stats.dirichlet(np.full(n_components, concentration / n_components)).logpdf(shares)
    prior += np.log(shares).sum()  # Jacobian of the log ratios
    u = np.empty_like(beta)
    for j in range(n_components):
        u[:, j], log_prior = conditional(data, beta[:, j], covariance, j)
        prior += log_prior
    prior += lkj(factor, 1.0)
    gamma, extra = zero_part(rng, data, k)
    reference = data["reference"] - 1
    block = np.concatenate([np.delete(np.log(shares / shares[reference]), reference),
                            np.log(sigma - data["sigma_lower"]), u[0]])  # fmt: skip
    prior += np.log(sigma - data["sigma_lower"]).sum()  # Jacobian of the logarithm
    stan = {"a": concentration, "w": linalg.solve(data["factor"], block - data["center"]), "u_slopes": u[1:].ravel("F"),
            "s": scales, "L": factor, "v": whitened(data, gamma, "zero_")}  # fmt: skip
    draw = {"pi_k": shares, "beta": beta, "sigma": sigma, "gamma": gamma}
    return draw, stan, prior + extra


FAMILIES = {
    "lognormal": (lognormal, {"unit": 2.0, "offset": 1.0}),
    "two_part": (two_part, {"transformation": "asinh", "asinh_scale": 2.0}),
    "mixture": (mixture, {"components": 3, "concentration": 1.5, "zero_part": True, "unit": 3.0}),
    "beta": (beta, {"bounds": (0.0, 60.0)}),
    "beta_regression": (beta_regression, {"bounds": (0.0, 60.0)}),
    "poisson": (poisson, {}),
    "negative_binomial": (negative_binomial, {}),
    "categorical": (categorical, {"categories": tuple("abcd")}),
    "ordered": (ordered, {"categories": tuple("abcd")}),
    "bracketed": (ordered, {"bracket_edges": (0.0, 0.0, 3.0, 5.0, 20.0), "unit": 2.0}),
}
TARGETS = [(family, case) for family in FAMILIES for case in CASES]
OF_CODES = {"categorical", "ordered"}


def free_angles(factor):
    """The unconstrained coordinates of a Cholesky factor of a correlation matrix (Stan reference manual, 10.12)."""
    left = np.sqrt(1 - np.cumsum(np.tril(factor, -1) ** 2, axis=1) + np.tril(factor, -1) ** 2)
    return np.arctanh((factor / left)[np.tril_indices(len(factor), -1)])


def correlation_factor(free):
    """Its inverse."""
    k = int((1 + np.sqrt(1 + 8 * len(free))) / 2)
    canonical = np.eye(k)
    canonical[np.tril_indices(k, -1)] = np.tanh(free)
    left = np.cumprod(np.sqrt(1 - np.tril(canonical, -1) ** 2), axis=1)
    return canonical * np.column_stack([np.ones(k), left[:, :-1]])


def assert_gradient_agrees(program, stan, data, at):
    """The analytic gradient of a target in C++ against central differences, up to five a name."""
    step = 1e-5
    for name in ("u", "s", "w", "u_slopes", "L", "phi", "v"):
        columns = [c for c in at.columns if c.split(".")[0] in (f"g_{name}", name)]
        free, constrained = np.array(stan.get(name, []), dtype=float), np.asarray
        if name == "L" and free.size:
            free, constrained = free_angles(free), correlation_factor
        for place in range(min(free.size, 5)):
            ends = []
            for sign in (1, -1):
                moved = free.copy()
                moved.flat[place] += sign * step
                values = stan | {name: constrained(moved).tolist()}
                ends.append(program.log_prob(values, data=data, jacobian=False, sig_figs=17)["lp__"].iloc[0])
            slope = (ends[0] - ends[1]) / (2 * step)
            value = free.flat[place]  # the gradient is on the unconstrained scale
            positive = name == "s" and np.ndim(stan["s"]) == 1  # of the mixture
            scale = value * (1 - value) if name == "phi" else value if positive else 1.0
            np.testing.assert_allclose(at[columns[place]].iloc[0], slope * scale, rtol=2e-3, atol=2e-3)


def assert_priors_are_the_family_s_own(family, data):
    """Slopes of an anchored fit are narrower."""
    usual = {
        "beta_scale": 5.0,
        "zero_slope_scale": 2.5,
        "slope_scale": {"poisson": 5.0}.get(family, 2.5),
        "coefficient_scale": 1.25,
    }
    for name in usual.keys() & data.keys():
        if name != "zero_slope_scale" or data["zero_k"]:
            assert np.ravel(data[name])[-1] == usual[name] * SCALE


def with_prior(censoring, model, apart, rng):
    """The censoring with an anchor's prior of weight 0.2, and the model whose likelihood that is."""
    family, design = model.name, model.records.design
    other = (
        np.where(rng.random(N) < 0.2, 0.0, 2.0)
        if family in ("two_part", "mixture")
        else rng.poisson(4.0, N) + 1.0
    )
    other = other % 4 if family in OF_CODES else other
    if apart:
        other = other[: N - 3]
        design = np.column_stack([np.ones(N - 3), rng.normal(size=(N - 3, design.shape[1] - 1)).round(1)])
    censoring = replace(
        censoring, prior_outcome=other, prior_weight=0.2, prior_design=design if apart else None
    )
    return censoring, type(model)(records_of(other, design), model.options)


@pytest.mark.stan
@pytest.mark.parametrize(
    ("family", "case"),
    slow_but(
        [
            each
            for each in TARGETS
            if each[0] != "mixture" or each[1] in ("censored", "anchored with a prior")
        ],
        TARGETS,
    ),
)
def test_target_is_prior_plus_weighted_and_clamped_likelihood(family, case, rng, monkeypatch):
    for parts in (zero_part_of_models, design_parts_of_models):
        monkeypatch.setattr(parts, "FEW_VALUES", 2)  # the second column, of three, is no cell
    monkeypatch.setattr(design_parts_of_models, "MOST_CELLS", 1)  # the first and the third are no group
    point, options = FAMILIES[family]
    z = np.column_stack([np.ones(N), np.repeat([-1.0, 0.0, 1.0], N // 3), rng.integers(0, 2, N)])
    x = rng.poisson(5.0, N) + 1.0
    if family in ("two_part", "mixture"):
        x[::4] = 0.0
    x = x % 4 if family in OF_CODES else x
    model = build_model(family, records_of(x, z), prior_scale=SCALE, **options)
    weights = np.ones(N) if case == "plain" else rng.choice([0.0, 0.3, 0.8, 1.0], N)
    censoring, prior_model = None, None
    if case not in ("plain", "weighted"):
        censoring = Censoring(0.3 if "bounds" in options else 1.2)
    if case.startswith(("anchored", "a prior")):
        censoring = replace(
            censoring,
            anchor=rng.normal(-1.0, 1.0, N)[
                np.unique(np.c_[x, z[:, : 1 if family == "beta" else None]], axis=0, return_inverse=True)[1]
            ],
        )
    if case.endswith(("with a prior", "of another design")):
        censoring, prior_model = with_prior(censoring, model, case == "a prior of another design", rng)
    fitted, its_weights, its_censoring = model.append_prior_records(weights, censoring)
    data = fitted.stan_data(its_weights, its_censoring)
    if prior_model is None:
        assert_priors_are_the_family_s_own(family, data)
    program = cmdstanpy.CmdStanModel(exe_file=str(compile_program(model.program)))
    expected, found, clamped = [], [], 0
    for _ in range(POINTS):
        draw, stan, prior = point(rng, data, z.shape[1])
        draw = {k: np.asarray(v)[None] for k, v in draw.items()}
        terms = model.log_lik(draw, slice(0, N))[0]
        if censoring is not None and censoring.anchor is not None:
            terms = terms - censoring.anchor
        terms = np.where(weights == 0, 0.0, weights * terms)
        if censoring is not None:
            clamped += int((np.abs(terms) > censoring.bound).sum())
            terms = np.clip(terms, -censoring.bound, censoring.bound)
        extra = 0.0 if prior_model is None else 0.2 * prior_model.log_lik(draw, slice(None))[0].sum()
        expected.append(prior + extra + terms.sum())
        stan = {name: np.asarray(value).tolist() for name, value in stan.items()}
        at = program.log_prob(stan, data=data, jacobian=False, sig_figs=17)
        found.append(at["lp__"].iloc[0])
    assert_gradient_agrees(program, stan, data, at)
    assert censoring is None or clamped > 3  # else the test would say nothing of censoring
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-7, atol=1e-7)


@pytest.mark.stan
@pytest.mark.parametrize("case", ["one weight", "weights", "part of the records", "anchored", "one record"])
@pytest.mark.parametrize("bound", slow_but([0.05, 3.0], [0.05, 0.6, 3.0, 50.0]))
def test_settled_terms_of_a_beta_model_are_their_sum(case, bound, rng):
    """Near the centre and far from it: against NumPy, with ties and with gradients."""
    n = 1 if case == "one record" else 40
    x = np.r_[rng.beta(0.5, 0.5, n // 2), rng.beta(2, 3, n - n // 2)]
    x[n // 4 : n // 2] = x[: n // 2 - n // 4]
    model = build_model("beta", records_of(x, np.ones((n, 1))), bounds=(0.0, 1.0), prior_scale=SCALE)
    weights = rng.choice([0.2, 0.7, 1.0], n) if case == "weights" else np.full(n, 0.9)
    if case == "part of the records":
        weights[::3] = 0.0
    anchor = stats.beta(1.4, 0.8).logpdf(x) + 0.2 * np.sin(9 * x) if case == "anchored" else None
    data = model.stan_data(weights, Censoring(bound, anchor))
    program = cmdstanpy.CmdStanModel(exe_file=str(compile_program(model.program)))
    found, expected, near = [], [], []
    for distance in (0.0, 0.3, 1.0, 2.5, 6.0, 12.0):
        direction = rng.normal(size=2)
        u = distance * direction / np.linalg.norm(direction)
        at = data["center"] + data["basis"] @ u
        phi, precision = special.expit(at[0]), 0.1 + np.exp(at[1])
        a, b = precision * phi, precision * (1 - phi)
        coefficients = np.array([a - 1, b - 1, -special.betaln(a, b)])
        near.append(np.abs(data["box"] @ (coefficients - data["box_middle"])).max() <= 1)
        terms = stats.beta(a, b).logpdf(x) - (0.0 if anchor is None else anchor)
        stan, prior = beta_coordinates(data, phi, precision)
        expected.append(np.clip(weights * terms, -bound, bound).sum() + prior)
        at = program.log_prob(stan, data=data, jacobian=False, sig_figs=17)
        found.append(at["lp__"].iloc[0])
        assert_gradient_agrees(program, stan, data, at)
    assert near[0] and (bound < 1 or not near[-1])
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-8, atol=1e-8)


@pytest.mark.stan
@pytest.mark.parametrize("continuous", [0, 1, 2])
def test_zero_part_of_many_rows(continuous, rng):
    """Few rows stand for many of one cell, at coefficients of any size: to rounding what SciPy sums over all."""
    n = 600
    z = np.column_stack([np.ones(n), rng.integers(0, 2, n), rng.normal(size=(n, 2))[:, :continuous]])
    x = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(1.0, 0.5, n))
    model, weights = build_model("two_part", records_of(x, z)), rng.choice([0.0, 0.4, 1.0], n)
    data = model.stan_data(weights)
    active = len(np.unique(z[weights > 0], axis=0))
    few = {0: 2, 1: active // 5, 2: active}[continuous]
    assert data["n_zero_nodes"] <= few
    assert data["n_zero_rows"] == 0
    program = cmdstanpy.CmdStanModel(exe_file=str(compile_program(model.program)))
    found, expected = [], []
    for size in (0.0, 1.0, 3.0, -3.0):
        gamma = data["zero_center"] + data["zero_basis"] @ (size * rng.normal(size=z.shape[1]))
        gamma[0] += 150 * size  # probabilities of nearly 0 and 1
        logit = z @ gamma
        terms = np.where(x == 0, special.log_expit(logit), special.log_expit(-logit))
        prior = stats.logistic.logpdf(gamma[0]) + stats.norm(0, 2.5).logpdf(gamma[1:]).sum()
        expected.append(weights @ terms + prior)
        stan = {"u": np.zeros(z.shape[1]).tolist(), "s": 0.0, "v": whitened(data, gamma, "zero_").tolist()}
        at = program.log_prob(stan, data=data, jacobian=False, sig_figs=17)
        found.append(at["lp__"].iloc[0])
    assert_gradient_agrees(program, stan, data, at)
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-12, atol=1e-9)
