"""Programs of analysts, kept and broken, made from the worked example by one change each."""

from tests.conftest import ROOT

EXAMPLES = {path.stem: path.read_text() for path in (ROOT / "docs" / "guide" / "own").glob("*.stan")}
GAMMA = EXAMPLES["gamma_regression"]


def changed(old: str, new: str, source: str = GAMMA) -> str:
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
    return source.replace(old, new)


_TARGET = "target += pseudo_log_lik(record_log_lik(x, log_x, Z, beta, shape), weights, censor_bound, anchor);"
_LOG_LIK = "vector[N] log_lik = record_log_lik(x, log_x, Z, beta, shape);"

# What stanc or a look at the text finds: nothing is compiled.
REFUSED = {
    "syntax": (changed("shape ~ gamma(1, 0.1 / prior_scale);", "shape ~ gamma(1, 0.1 / prior_scale)"),
               r"line 46, column 2: .*';'|Ill-formed"),
    "no log_lik": (changed(_LOG_LIK, ""), "do not declare 'log_lik'"),
    "no x_rep": (changed("vector[N] x_rep;", "").replace("x_rep[i] = gamma_rng(shape, rate[i]);", ""), "'x_rep'"),
    "no weights": (
        changed("vector<lower=0>[N] weights;", "").replace(", weights, cens", ", rep_vector(1, N), cens"),
        "data block does not declare 'weights'",
    ),
    "other data": (changed("matrix[N, K] Z;", "matrix[N, K] Z; vector[N] y;"), "'y', which the app does not give"),
    "weights of another kind": (
        changed("vector<lower=0>[N] weights;", "real weights;").replace(
            ", weights, cens", ", rep_vector(weights, N), cens"),
        "declare 'weights' as a vector",
    ),
    "include": (changed("functions {", "functions {\n  #include /etc/passwd"), "Line 3 reads another file"),
    "foreign function": (changed("functions {", "functions {\n  real secret(real y);").replace(
        "shape ~ gamma(1, 0.1 / prior_scale)", "shape ~ gamma(secret(1), 0.1)"), "without specifying a definition"),
    "print": (changed(_TARGET, 'print("x = ", x);\n  ' + _TARGET), "Line 46 prints"),
    "too long": (GAMMA + "// " + "x" * 70_000, "longer than 64 KiB"),
    "empty": ("  \n", "is empty"),
}  # fmt: skip

NO_ANCHOR = changed("  vector[N] anchor;\n", "").replace(
    "censor_bound, anchor);", "censor_bound, rep_vector(0, N));"
)


# What is found by compiling it and running it under limits.
BROKEN = {
    "weighted log_lik": (
        changed(_LOG_LIK, _LOG_LIK.replace("= record", "= weights .* record")), "it must be unweighted"),
    "weights ignored": (changed(_TARGET, _TARGET.replace("weights", "rep_vector(1, N)")), "weights are ignored"),
    "weights squared": (changed(_TARGET, _TARGET.replace("weights", "square(weights)")), "do not act as a power"),
    "infinite loop": (
        changed("vector[N] log_x = log(x);", "vector[N] log_x = log(x);\n  real turns = 1;\n"
                "  while (turns >= 0) turns = turns / (1 + 1e-9) + 1e-9;").replace(
            _TARGET, "target += 0 * turns;\n  " + _TARGET), "processor time"),
    "memory hog": (
        changed(_TARGET, "matrix[60000, 60000] hog = rep_matrix(shape, 60000, 60000);\n"
                "  target += 0 * hog[1, 2];\n  " + _TARGET), "more than 4 GiB of memory"),
    "division by zero": (
        changed(_LOG_LIK, _LOG_LIK.replace("= record", "= (Z[ : , 1] - Z[ : , 1]) ./ (Z[ : , 1] - 1) + record")),
        "log_lik is not finite"),
    "parameters sized by N": (
        changed("  real<lower=0> shape;\n}", "  real<lower=0> shape;\n  vector[N] effect;\n}").replace(
            "shape ~ gamma", "effect ~ normal(0, 1);\n  shape ~ gamma"), "parameter 'effect' depends on the number"),
    "data that mix records": (
        changed("vector[N] log_x = log(x);", "vector[N] log_x = log(x);\n  real middle = mean(log_x);").replace(
            "beta[1] ~ normal(0, 20 * prior_scale);", "beta[1] ~ normal(middle, 1);"),
        "record of weight 0 still counts"),
    "log_lik that mixes records": (
        changed(_LOG_LIK, _LOG_LIK.replace(";", " - log(N);")), "asked for a part of the table"),
    "censoring ignored": (changed(_TARGET, _TARGET.replace("censor_bound", "0")), "censor_bound is ignored"),
    "censoring ignored at large bounds": (
        changed(_TARGET, _TARGET.replace("censor_bound", "censor_bound >= 50 ? 0 : censor_bound")),
        "is not censored at a bound of"),
    "censoring ignored at small bounds": (
        changed(_TARGET, _TARGET.replace("censor_bound", "censor_bound < 0.05 ? 0 : censor_bound")),
        "is not censored at a bound of"),
    "censoring of the sum": (
        changed(_TARGET, "{\n    real total = pseudo_log_lik(record_log_lik(x, log_x, Z, beta, shape), weights, 0,\n"
                "      anchor);\n"
                "    target += censor_bound > 0 ? fmax(-censor_bound, fmin(censor_bound, total)) : total;\n  }"),
        "Censoring is not respected"),
    "constant left out": (changed("(shape - 1) * log_x - lgamma(shape)", "shape * log_x - lgamma(shape)"),
        "not the log density"),
    "another cdf": (
        changed("? gamma_p(shape, rate[i] * cdf_at[i])", "? gamma_p(shape + 1, rate[i] * cdf_at[i])").replace(
            "? gamma_q(shape, rate", "? gamma_q(shape + 1, rate"), "not the distribution function of x_rep"),
    "endless recursion": (
        changed("functions {", "functions {\n  real down(real y) {\n    return y > -1 ? down(y + 1) + 1 : y;\n"
                "  }").replace(_TARGET, "target += 0 * down(shape);\n  " + _TARGET),
        "it crashed|processor time|memory"),
    "anchor with a bound": (
        changed("vector[N] anchor;", "vector<lower=-100>[N] anchor;"), "Declare the anchor without bounds"),
}  # fmt: skip

# One program for all ways to break the anchor, as each would take its time to compile: `prior_scale` says which.
SWITCHED = changed(
    _TARGET,
    """{
    vector[N] l = record_log_lik(x, log_x, Z, beta, shape);
    vector[N] a = anchor;
    real b = censor_bound;
    if (prior_scale == 2 || prior_scale == 4 || prior_scale == 5) a = rep_vector(0, N);
    if (prior_scale == 3 && b < 0.05) a = rep_vector(0, N);
    if (prior_scale == 6) a *= 0.5;
    if (prior_scale == 7) a[1 : N %/% 2] = rep_vector(0, N %/% 2);
    if (prior_scale == 11 && b == 0) target += shape * mean(anchor);
    vector[N] terms = prior_scale == 9 ? weights .* l - a : weights .* (l - a);
    vector[N] over = prior_scale == 8 ? weights .* a : rep_vector(0, N);
    target += b > 0 ? sum(fmin(fmax(terms, -b), b - over)) : sum(terms);
    if (prior_scale == 4 && b > 0) target += sum(fmin(fmax(-weights .* anchor, -b), b));
    if (prior_scale == 5) target += -dot_product(weights, anchor);
  }""",
    changed(
        "beta[1] ~ normal(0, 20 * prior_scale)",
        "beta[1] ~ normal(prior_scale == 10 && censor_bound > 0 ? anchor[1] : 0, 20)",
    ),
)
SWITCHED = changed(_LOG_LIK, _LOG_LIK + "\n  if (prior_scale == 12) log_lik -= anchor;", SWITCHED)
SWITCHED = changed(
    "gamma_rng(shape, rate[i]);",
    "gamma_rng(shape, rate[i]) + (prior_scale == 13 ? 1e-3 * anchor[i] : 0);",
    SWITCHED,
)
_IGNORED, _WRONG = "The anchor is ignored at a bound of", "The anchor is not respected at a bound of"
ANCHOR_BROKEN = {
    "ignored": (2, _IGNORED),
    "ignored at small bounds": (3, _IGNORED),
    "clamped apart": (4, _IGNORED),  # for what is left is a constant
    "subtracted after the clamp": (5, _IGNORED),  # likewise
    "half of it": (6, _WRONG),
    "of half of the records": (7, _WRONG),
    "within one of the two ends": (8, _WRONG),
    "without its weight": (9, _WRONG),
    "in the prior": (10, "beside the records' own terms depends on the anchor"),
    "without censoring": (11, "where censor_bound is 0"),
    "in log_lik": (12, "log_lik changes with the anchor"),
    "in x_rep": (13, "x_rep changes with the anchor"),
}

# The built-in lognormal's likelihood and priors.
LOGNORMAL = changed(
    "vector record_log_lik(vector x, matrix Z, vector beta, real sigma) {\n"
    "    return -0.5 * square((x - Z * beta) / sigma) - log(sigma) - 0.5 * log(2 * pi());",
    "vector record_log_lik(vector x, matrix Z, vector beta, real sigma) {\n"
    "    return -0.5 * square((log(x) - Z * beta) / sigma) - log(sigma) - 0.5 * log(2 * pi()) - log(x);",
    EXAMPLES["template"],
).replace("beta ~ normal(0, 10 * prior_scale);\n  sigma ~ student_t(3, 0, 5 * prior_scale);",
          "beta[1] ~ normal(0, 20);\n  beta[2 : K] ~ normal(0, 5);\n  sigma ~ student_t(3, 0, 1);",
).replace("normal_rng", "lognormal_rng").replace("normal_cdf", "lognormal_cdf")  # fmt: skip
