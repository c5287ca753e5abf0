// Poisson regression with log link (Savitsky, Williams and Hu 2022, section 4.4).
// x ~ Poisson(exp(Z * beta)); the coordinates are whitened, beta = center + basis * u.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;                       // estimate around which the coordinates are laid
  matrix[k, k] basis;                     // lower-triangular factor of its covariance
  // Unclamped part: distinct rows of the design, and a weighted sufficient statistic.
  int<lower=0> n_rows;
  matrix[n_rows, k] rows;                 // z * basis
  vector[n_rows] row_center;              // z * center
  vector<lower=0>[n_rows] row_weight;     // sum of alpha over the records of the row
  vector[k] slope;                        // basis' * sum of alpha * x * z
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  vector<lower=0>[n_censored] censored_x;
  array[n_censored] int<lower=1> censored_row;  // their row of the design
  vector<lower=0>[n_censored] censored_weight;  // alpha
  vector[n_censored] censored_constant;         // minus alpha * (log x! and the anchor's log mass)
  vector<lower=0>[n_censored] censored_count;   // records that share all this
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // Prior: exp(beta_1) ~ Gamma(shape, rate), conjugate without predictors; beta_j ~ Normal(0, scale).
  real<lower=0> mean_shape;
  real<lower=0> mean_rate;
  real<lower=0> slope_scale;
}
transformed data {
  matrix[n_censored, 2] features = append_col(censored_weight .* censored_x, -censored_weight);
}
parameters {
  vector[k] u;
}
transformed parameters {
  vector[k] beta = center + basis * u;
}
model {
  target += mean_shape * beta[1] - mean_rate * exp(beta[1]);
  if (k > 1) {
    beta[2 : k] ~ normal(0, slope_scale);
  }
  {
    vector[n_rows] eta = row_center + rows * u;
    target += dot_product(slope, u) - dot_product(row_weight, exp(eta));
    if (n_censored > 0) {
      matrix[n_rows, 2] coefficients = append_col(eta, exp(eta));
      target += clamped_linear(coefficients, features, censored_constant, censored_row, censored_count,
                               censor_bound);
    }
  }
}
