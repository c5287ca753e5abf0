"""Programs of analysts, kept and broken, made from the worked example by one change each."""

from tests.conftest import ROOT

EXAMPLES = {path.stem: path.read_text() for path in (ROOT / "docs" / "guide" / "own").glob("*.stan")}
GAMMA = EXAMPLES["gamma_regression"]


def changed(old: str, new: str, source: str = GAMMA) -> str:
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times"
    return source.replace(old, new)


_TARGET = "target += pseudo_log_lik(record_log_lik(x, log_x, Z, beta, shape), weights, censor_bound);"
_LOG_LIK = "vector[N] log_lik = record_log_lik(x, log_x, Z, beta, shape);"

# What stanc or a look at the text finds: nothing is compiled.
REFUSED = {
    "syntax": (changed("shape ~ gamma(1, 0.1 / prior_scale);", "shape ~ gamma(1, 0.1 / prior_scale)"),
               r"line 45, column 2: .*';'|Ill-formed"),
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
    "print": (changed(_TARGET, 'print("x = ", x);\n  ' + _TARGET), "Line 45 prints"),
    "too long": (GAMMA + "// " + "x" * 70_000, "longer than 64 KiB"),
    "empty": ("  \n", "is empty"),
}  # fmt: skip

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
        changed(_TARGET, "{\n    real total = pseudo_log_lik(record_log_lik(x, log_x, Z, beta, shape), weights, 0);\n"
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
}  # fmt: skip
