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


# What is found by compiling and running it, under limits. A program of its own takes its time to compile.
COMPILED = {
    "parameters sized by N": (
        changed("  real<lower=0> shape;\n}", "  real<lower=0> shape;\n  vector[N] effect;\n}").replace(
            "shape ~ gamma", "effect ~ normal(0, 1);\n  shape ~ gamma"), "parameter 'effect' depends on the number"),
    "anchor with a bound": (
        changed("vector[N] anchor;", "vector<lower=-100>[N] anchor;"), "Declare the anchor without bounds"),
}  # fmt: skip

# So all other ways to break it are one program: `prior_scale` says which.
_SWITCHES = (
    ("functions {", """functions {
  real down(real y) {
    return y > -1 ? down(y + 1) + 1 : y;
  }"""),
    ("  vector[N] log_x = log(x);", """  vector[N] log_x = log(x);
  real middle = mean(log_x);
  real turns = prior_scale == 32 ? 1 : -1;
  while (turns >= 0) turns = turns / (1 + 1e-9) + 1e-9;"""),
    ("beta[1] ~ normal(0, 20 * prior_scale)", """real at = prior_scale == 10 && censor_bound > 0 ? anchor[1] : 0;
  beta[1] ~ normal(prior_scale == 23 ? middle : at, prior_scale == 23 ? 1 : 20)"""),
    ("normal(0, 5 * prior_scale)", "normal(0, 5)"),
    ("shape ~ gamma(1, 0.1 / prior_scale)", "shape ~ gamma(1, 0.1)"),
    (_TARGET, """{
    vector[N] l = record_log_lik(x, log_x, Z, beta, shape);
    vector[N] a = anchor;
    vector[N] w = weights;
    real b = censor_bound;
    if (prior_scale == 29) l += log_x;
    if (prior_scale == 21) w = rep_vector(1, N);
    if (prior_scale == 22) w = square(weights);
    if (prior_scale == 2 || prior_scale == 4 || prior_scale == 5) a = rep_vector(0, N);
    if (prior_scale == 3 && b < 0.05) a = rep_vector(0, N);
    if (prior_scale == 6) a *= 0.5;
    if (prior_scale == 7) a[1 : N %/% 2] = rep_vector(0, N %/% 2);
    if (prior_scale == 11 && b == 0) target += shape * mean(anchor);
    if (prior_scale == 25 || prior_scale == 26 && b >= 50 || prior_scale == 27 && b < 0.05) b = 0;
    if (prior_scale == 41 && N > 100) b = 0;
    if (prior_scale == 42 && N > 100) w = sqrt(weights);
    vector[N] terms = prior_scale == 9 ? w .* l - a : w .* (l - a);
    for (i in 1 : N) if (w[i] == 0) terms[i] = 0;
    vector[N] over = prior_scale == 8 ? w .* a : rep_vector(0, N);
    if (prior_scale == 28) target += b > 0 ? fmin(fmax(sum(terms), -b), b) : sum(terms);
    else target += b > 0 ? sum(fmin(fmax(terms, -b), b - over)) : sum(terms);
    if (prior_scale == 4 && b > 0) target += sum(fmin(fmax(-w .* anchor, -b), b));
    if (prior_scale == 5) target += -dot_product(w, anchor);
    if (prior_scale == 33) {
      matrix[60000, 60000] hog = rep_matrix(shape, 60000, 60000);
      target += 0 * hog[1, 2];
    }
    if (prior_scale == 34) target += 0 * down(shape);
  }"""),
    (_LOG_LIK, _LOG_LIK + """
  if (prior_scale == 12) log_lik -= anchor;
  if (prior_scale == 20) log_lik = weights .* log_lik;
  if (prior_scale == 24) log_lik -= log(N);
  if (prior_scale == 29) log_lik += log_x;
  if (prior_scale == 31) log_lik += (Z[ : , 1] - Z[ : , 1]) ./ (Z[ : , 1] - 1);"""),
    ("gamma_rng(shape, rate[i]);", "gamma_rng(shape, rate[i]) + (prior_scale == 13 ? 1e-3 * anchor[i] : 0);"),
    ("? gamma_p(shape, rate", "? gamma_p(shape + (prior_scale == 30), rate"),
    ("? gamma_q(shape, rate", "? gamma_q(shape + (prior_scale == 30), rate"),
)  # fmt: skip
SWITCHED = GAMMA
for _old, _new in _SWITCHES:
    SWITCHED = changed(_old, _new, SWITCHED)

BROKEN = {
    "weighted log_lik": (20, "it must be unweighted"),
    "weights ignored": (21, "weights are ignored"),
    "weights squared": (22, "do not act as a power"),
    "data that mix records": (23, "record of weight 0 still counts"),
    "log_lik that mixes records": (24, "asked for a part of the table"),
    "censoring ignored": (25, "censor_bound is ignored"),
    "censoring ignored at large bounds": (26, "is not censored at a bound of"),
    "censoring ignored at small bounds": (27, "is not censored at a bound of"),
    "censoring of the sum": (28, "Censoring is not respected"),
    "constant left out": (29, "not the log density"),
    "another cdf": (30, "not the distribution function of x_rep"),
    "division by zero": (31, "log_lik is not finite"),
    "infinite loop": (32, "processor time"),
    "memory hog": (33, "more than 4 GiB of memory"),
    "endless recursion": (34, "it crashed|processor time|memory"),
}

# Kept on the hundred records of the contract's checks, and on no larger table.
BROKEN_BEYOND_THE_CHECKS = {"not censored": 41, "other weights": 42}


def always(name: str) -> str:
    """The program broken in one way, whatever `prior_scale` is."""
    return changed(f"prior_scale == {BROKEN[name][0]}", "prior_scale > 0", SWITCHED)


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
