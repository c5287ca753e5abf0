// Ordered logit regression with a location and a scale:
//   Pr(x <= c) = inv_logit((threshold[c] - z * beta) * exp(-z * delta)).
// The thresholds are the log odds of cumulative shares, which are those of the record whose predictors are all average.
// A category may stand apart, with a logistic regression of its own: logit Pr(apart) = z * gamma, of the others the rest.
// Shares have logits that sum to 0, contrasts * gamma, as in a multinomial logit. The coordinates are whitened.
// user header: functions/ordered.hpp
functions {
  // In ordered.hpp, with analytic gradients; what it gives is said there.
  real ordered_sum(vector threshold, vector gap, vector beta, vector delta, vector gamma, data matrix rows,
                   data array[] int row, data array[] int category, data vector weight, data vector count, data vector constant,
                   data real bound);
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  int<lower=0> apart_k;                   // k where a category stands apart, else 0
  int<lower=2> n_categories;              // ordered ones; 0 is the one that stands apart
  matrix[n_categories, n_categories - 1] contrasts;  // orthonormal, each column sums to 0
  vector[n_categories - 1 + 2 * (k - 1) + apart_k] center;     // estimate around which the coordinates are laid
  matrix[n_categories - 1 + 2 * (k - 1) + apart_k, n_categories - 1 + 2 * (k - 1) + apart_k] basis;  // factor of its covariance
  int<lower=0> n_rows;                    // distinct rows of the design
  matrix[n_rows, k] rows;
  int<lower=0> n_cells;                   // distinct rows and categories of the records that enter as they are
  array[n_cells] int<lower=1> cell_row;
  array[n_cells] int<lower=0> cell_category;
  vector<lower=0>[n_cells] cell_weight;   // sum of alpha
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  array[n_censored] int<lower=1> censored_row;
  array[n_censored] int<lower=0> censored_category;
  vector<lower=0>[n_censored] censored_weight;      // alpha
  vector<lower=0>[n_censored] censored_count;       // records that share all this
  vector[n_censored] censored_constant;             // minus alpha * the anchor's log probability
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // Prior: (coefficients of the contrasts, beta, delta, gamma) ~ Normal(0, scale).
  vector<lower=0>[n_categories - 1 + 2 * (k - 1) + apart_k] scale;
}
transformed data {
  int n_cuts = n_categories - 1;
  vector[n_cells] one = rep_vector(1, n_cells);
  vector[n_cells] zero = rep_vector(0, n_cells);
}
parameters {
  vector[n_cuts + 2 * (k - 1) + apart_k] u;
}
transformed parameters {
  vector[n_cuts + 2 * (k - 1) + apart_k] coefficients = center + basis * u;
  vector[n_categories] log_share = log_softmax(contrasts * head(coefficients, n_cuts));
  vector[k] beta = append_row(0, coefficients[(n_cuts + 1):(n_cuts + k - 1)]);
  vector[k] delta = append_row(0, coefficients[(n_cuts + k):(n_cuts + 2 * (k - 1))]);
  vector[apart_k] gamma = tail(coefficients, apart_k);
}
model {
  vector[n_cuts] upto;    // log probability of the categories up to this one, and of those above
  vector[n_cuts] beyond;
  vector[n_cuts] threshold;
  vector[n_cuts - 1] gap;
  upto[1] = log_share[1];
  beyond[n_cuts] = log_share[n_categories];
  for (c in 2:n_cuts) {
    upto[c] = log_sum_exp(upto[c - 1], log_share[c]);
    beyond[n_cuts + 1 - c] = log_sum_exp(beyond[n_cuts + 2 - c], log_share[n_cuts + 2 - c]);
  }
  threshold = upto - beyond;
  for (c in 2:n_cuts) {
    gap[c - 1] = log1p_exp(log_share[c] - upto[c - 1]) + log1p_exp(log_share[c] - beyond[c]);
  }
  coefficients ~ normal(0, scale);
  target += ordered_sum(threshold, gap, beta, delta, gamma, rows, cell_row, cell_category, one, cell_weight, zero,
                        positive_infinity());
  target += ordered_sum(threshold, gap, beta, delta, gamma, rows, censored_row, censored_category, censored_weight,
                        censored_count, censored_constant, censor_bound);
}
