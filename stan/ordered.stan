// Ordered logit regression with a location and a scale:
//   Pr(x <= c) = inv_logit((threshold[c] - z * beta) * exp(-z * delta)).
// The thresholds are the log odds of cumulative shares, which are those of the record whose predictors are all average.
// A category may stand apart, with a logistic regression of its own: logit Pr(apart) = z * gamma, of the others the rest.
// Shares have logits that sum to 0, contrasts * gamma, as in a multinomial logit.
// The coordinates are whitened, and those of thresholds and beta are of the record in the middle of the predictors:
// threshold = own * exp(middle * delta) + middle * beta, beta = own * exp(middle * delta). Where 0 is a rare predictor, what
// is about its record bends with everything else.
// user header: functions/categories.hpp
functions {
  // Log odds of cumulative shares, then what lies between neighbours, without rounding where it is little.
  vector cuts_and_gaps(vector log_share) {
    int n = num_elements(log_share) - 1;
    vector[n] upto = log_share[1:n];      // log probability of the categories up to this one, and of those above
    vector[n] beyond = log_share[2:(n + 1)];
    for (c in 2:n) {
      upto[c] = log_sum_exp(upto[c - 1], upto[c]);
      beyond[n + 1 - c] = log_sum_exp(beyond[n + 2 - c], beyond[n + 1 - c]);
    }
    vector[n - 1] inner = log_share[2:n];
    return append_row(upto - beyond, log1p_exp(inner - upto[1:(n - 1)]) + log1p_exp(inner - beyond[2:n]));
  }
  vector log_shares(vector cut, vector gap) {
    int n = num_elements(cut);
    vector[n + 1] found = rep_vector(0, n + 1);
    found[1:n] += log_inv_logit(cut);
    found[2:(n + 1)] += log_inv_logit(-cut);
    found[2:n] += log1m_exp(-gap);
    return found;
  }
  // Log of how densely shares lie about cuts, up to a constant: of the determinant of d gamma / d cuts.
  real log_stretch(vector cut, vector log_share) {
    return sum(log_inv_logit(cut)) + sum(log_inv_logit(-cut)) - sum(log_share);
  }
  // In categories.hpp, with analytic gradients; what it gives is said there.
  real ordered_sum(vector threshold, vector gap, vector beta, vector delta, vector gamma, data int n_rows,
                   data matrix cells, data array[,] int part, data array[] int cell, data array[] int other,
                   data matrix others, data array[] int row, data array[] int category, data vector weight,
                   data vector count, data vector constant, data real bound);
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  int<lower=0> apart_k;                   // k where a category stands apart, else 0
  int<lower=2> n_categories;              // ordered ones; 0 is the one that stands apart
  matrix[n_categories, n_categories - 1] contrasts;  // orthonormal, each column sums to 0
  vector[n_categories - 1 + 2 * (k - 1) + apart_k] center;     // estimate around which the coordinates are laid
  matrix[n_categories - 1 + 2 * (k - 1) + apart_k, n_categories - 1 + 2 * (k - 1) + apart_k] basis;  // factor of its covariance
  #include functions/design_parts_data.stan
  int<lower=0> n_kept;                    // distinct rows and categories of the records that enter as they are
  array[n_kept] int<lower=1> kept_row;              // ascending
  array[n_kept] int<lower=0> kept_category;
  vector<lower=0>[n_kept] kept_weight;    // sum of alpha
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  array[n_censored] int<lower=1> censored_row;      // ascending
  array[n_censored] int<lower=0> censored_category;
  vector<lower=0>[n_censored] censored_weight;      // alpha
  vector<lower=0>[n_censored] censored_count;       // records that share all this
  vector[n_censored] censored_constant;             // minus alpha * the anchor's log probability
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  vector[k - 1] middle;                   // of the predictors, where the coordinates are laid
  // Prior: (coefficients of the contrasts, beta, delta, gamma) ~ Normal(0, scale).
  vector<lower=0>[n_categories - 1 + 2 * (k - 1) + apart_k] scale;
}
transformed data {
  int n_cuts = n_categories - 1;
  vector[n_kept] one = rep_vector(1, n_kept);
  vector[n_kept] zero = rep_vector(0, n_kept);
}
parameters {
  vector[n_cuts + 2 * (k - 1) + apart_k] u;
}
transformed parameters {
  vector[n_cuts + 2 * (k - 1) + apart_k] coefficients = center + basis * u;
  vector[n_categories] log_share;
  vector[k] beta;
  vector[k] delta = append_row(0, coefficients[(n_cuts + k):(n_cuts + 2 * (k - 1))]);
  vector[apart_k] gamma = tail(coefficients, apart_k);
  real log_volume;  // of the parameters by the coordinates, up to a constant
  {
    vector[n_categories] share_there = log_softmax(contrasts * head(coefficients, n_cuts));  // in the middle
    vector[2 * n_cuts - 1] there = cuts_and_gaps(share_there);
    real log_factor = dot_product(middle, tail(delta, k - 1));
    real factor = exp(log_factor);
    vector[n_cuts] threshold;
    beta = append_row(0, factor * coefficients[(n_cuts + 1):(n_cuts + k - 1)]);
    threshold = factor * head(there, n_cuts) + dot_product(middle, tail(beta, k - 1));
    log_share = log_shares(threshold, factor * tail(there, n_cuts - 1));
    log_volume = log_stretch(threshold, log_share) - log_stretch(head(there, n_cuts), share_there)
                 + (n_cuts + k - 1) * log_factor;
  }
}
model {
  vector[2 * n_cuts - 1] here = cuts_and_gaps(log_share);
  vector[n_cuts] threshold = head(here, n_cuts);
  vector[n_cuts - 1] gap = tail(here, n_cuts - 1);
  // The prior is of the parameters, not of the coordinates.
  contrasts' * log_share ~ normal(0, head(scale, n_cuts));
  append_row(tail(beta, k - 1), tail(delta, k - 1)) ~ normal(0, scale[(n_cuts + 1):(n_cuts + 2 * (k - 1))]);
  gamma ~ normal(0, tail(scale, apart_k));
  target += log_volume;
  target += ordered_sum(threshold, gap, beta, delta, gamma, n_rows, cells, part, cell, other, others, kept_row,
                        kept_category, one, kept_weight, zero, positive_infinity());
  target += ordered_sum(threshold, gap, beta, delta, gamma, n_rows, cells, part, cell, other, others, censored_row,
                        censored_category, censored_weight, censored_count, censored_constant, censor_bound);
}
