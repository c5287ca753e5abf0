// Beta regression (Hu, Williams and Savitsky, the censoring mechanism, section 5).
// x in (0, 1) ~ Beta(lambda * mu, lambda * (1 - mu)), logit(mu) = Z * beta; the coordinates are
// whitened, beta = center + basis * u.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;                       // estimate around which the coordinates are laid
  matrix[k, k] basis;                     // lower-triangular factor of its covariance
  // Unclamped part: weighted sufficient statistics of each distinct row of the design.
  int<lower=0> n_rows;
  matrix[n_rows, k] rows;                 // z * basis
  vector[n_rows] row_center;              // z * center
  vector<lower=0>[n_rows] row_weight;     // sum of alpha over the records of the row
  vector[n_rows] row_log_x;               // sum of alpha * log(x)
  vector[n_rows] row_log1m_x;             // sum of alpha * log(1 - x)
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  matrix[n_censored, 3] censored_features; // alpha * (log(x), log(1 - x), 1)
  array[n_censored] int<lower=1> censored_row;  // their row of the design
  vector[n_censored] censored_constant;   // minus alpha * the anchor's log density
  vector<lower=0>[n_censored] censored_count;   // records that share all this
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // Prior: beta_1 ~ logistic(0, intercept_scale), beta_j ~ Normal(0, slope_scale), lambda ~ Pareto.
  real<lower=0> intercept_scale;
  real<lower=0> slope_scale;
  real<lower=0> lambda_lower;
  real<lower=0> lambda_shape;
}
parameters {
  vector[k] u;
  real<lower=lambda_lower> lambda;        // precision
}
transformed parameters {
  vector[k] beta = center + basis * u;
}
model {
  lambda ~ pareto(lambda_lower, lambda_shape);
  beta[1] ~ logistic(0, intercept_scale);
  if (k > 1) {
    beta[2 : k] ~ normal(0, slope_scale);
  }
  {
    vector[n_rows] mu = inv_logit(row_center + rows * u);
    vector[n_rows] a = lambda * mu;
    vector[n_rows] b = lambda * (1 - mu);
    vector[n_rows] log_constant = lgamma(a) + lgamma(b) - lgamma(lambda);
    target += dot_product(row_log_x, a - 1) + dot_product(row_log1m_x, b - 1)
              - dot_product(row_weight, log_constant);
    if (n_censored > 0) {
      matrix[n_rows, 3] coefficients = append_col(append_col(a - 1, b - 1), -log_constant);
      target += clamped_linear(coefficients, censored_features, censored_constant, censored_row, censored_count,
                               censor_bound);
    }
  }
}
