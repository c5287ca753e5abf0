// Multinomial logit regression: Pr(x = c) is proportional to exp(Z * coefficients of c).
// The coefficients sum to 0 over the categories, coefficients = gamma * contrasts' with orthonormal columns, so that the
// prior treats all categories alike. The coordinates are whitened, gamma = center + basis * u.
// user header: functions/categories.hpp
functions {
  // In categories.hpp, with an analytic gradient; what it gives is said there.
  real categorical_sum(matrix coefficients, data matrix linear, data vector row_weight, data matrix cells,
                       data array[,] int part, data array[] int cell, data array[] int other, data matrix others,
                       data vector constant, data vector clamped_weight, data vector count, data array[] int row,
                       data array[] int category, data real bound);
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  int<lower=2> n_categories;
  matrix[n_categories, n_categories - 1] contrasts;  // orthonormal, each column sums to 0
  vector[k * (n_categories - 1)] center;  // estimate around which the coordinates are laid, column by column
  matrix[k * (n_categories - 1), k * (n_categories - 1)] basis;  // lower-triangular factor of its covariance
  #include functions/design_parts_data.stan
  vector<lower=0>[n_rows] row_weight;     // sum of alpha over the records of the row that enter as they are
  matrix[k, n_categories] linear;         // sum of alpha times the row, by category
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  array[n_censored] int<lower=1> censored_row;      // their row of the design, ascending
  array[n_censored] int<lower=1> censored_category;
  vector<lower=0>[n_censored] censored_weight;      // alpha
  vector<lower=0>[n_censored] censored_count;       // records that share all this
  vector[n_censored] censored_constant;             // minus alpha * the anchor's log probability
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // Prior: gamma ~ Normal(0, scale), one scale for the intercepts and one for the slopes.
  vector<lower=0>[k] coefficient_scale;
}
transformed data {
  vector[k * (n_categories - 1)] scale = to_vector(rep_matrix(coefficient_scale, n_categories - 1));
}
parameters {
  vector[k * (n_categories - 1)] u;
}
transformed parameters {
  vector[k * (n_categories - 1)] gamma = center + basis * u;
  vector[k * n_categories] beta = to_vector(to_matrix(gamma, k, n_categories - 1) * contrasts');  // category by category
}
model {
  gamma ~ normal(0, scale);
  target += categorical_sum(to_matrix(beta, k, n_categories), linear, row_weight, cells, part, cell, other, others,
                            censored_constant, censored_weight, censored_count, censored_row, censored_category,
                            censor_bound);
}
