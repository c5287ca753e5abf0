// Multinomial logit regression: Pr(x = c) is proportional to exp(Z * coefficients of c).
// The coefficients sum to 0 over the categories, coefficients = gamma * contrasts' with orthonormal columns, so that the
// prior treats all categories alike. The coordinates are whitened, gamma = center + basis * u.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  int<lower=2> n_categories;
  matrix[n_categories, n_categories - 1] contrasts;  // orthonormal, each column sums to 0
  vector[k * (n_categories - 1)] center;  // estimate around which the coordinates are laid, column by column
  matrix[k * (n_categories - 1), k * (n_categories - 1)] basis;  // lower-triangular factor of its covariance
  int<lower=0> n_rows;                    // distinct rows of the design
  matrix[n_rows, k] rows;
  matrix<lower=0>[n_rows, n_categories] row_weight;  // sum of alpha over the records of the row and the category
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  array[n_censored] int<lower=1> censored_row;      // their row of the design
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
  target += categorical_sum(to_matrix(beta, k, n_categories), rows, row_weight, censored_constant, censored_weight,
                            censored_count, censored_row, censored_category, censor_bound);
}
