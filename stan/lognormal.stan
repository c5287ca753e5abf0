// Lognormal regression (Hu, Williams and Savitsky, range restriction, sections 4 and 5), and the two-part
// model that gives zeros a probability of their own: y = t(x) ~ Normal(Z * beta, sigma), t = log or asinh.
//
// The weighted residual sum of squares is a quadratic in beta. It is passed expanded
// around `center` and in the whitened coordinates u, beta = center + basis * u, so that a
// gradient costs O(k^2) whatever the number of records, and nothing cancels in it.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
  #include functions/zero_part.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;                       // penalised weighted least squares estimate
  matrix[k, k] basis;                     // lower-triangular factor of its covariance
  real log_sigma_center;                  // log(sigma) = log_sigma_center + log_sigma_scale * s
  real<lower=0> log_sigma_scale;
  // Unclamped part: weighted sufficient statistics; of records that a prior is made of, if others are clamped.
  real<lower=0> weight_sum;               // sum of alpha
  real<lower=0> rss;                      // sum of alpha * (y - z * center)^2
  vector[k] rss_slope;                    // basis' * sum of alpha * z * (y - z * center)
  matrix[k, k] rss_curvature;             // basis' * (sum of alpha * z * z') * basis
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  matrix[n_censored, k + 1] censored_rows; // y - z * center, and -z * basis
  vector[n_censored] censored_constant;   // alpha * (the parameter-free part of the log density - the anchor's)
  vector<lower=0>[n_censored] censored_weight; // alpha
  vector<lower=0>[n_censored] censored_count;  // records that share the row
  array[n_censored] int<lower=1> censored_row; // their row of the zero part
  int<lower=0, upper=n_censored> n_moving; // the first: settled within the bound, or not settled; the others: beyond it
  // What is settled where u, s and v are no longer than a radius: how many of the first records and of the others.
  int<lower=0> n_radii;
  vector<lower=0>[n_radii] radius;        // rising
  array[n_radii] int<lower=0, upper=n_moving> settled_inside;
  array[n_radii] int<lower=0, upper=n_censored - n_moving> settled_beyond;
  array[n_radii] matrix[k + 1, k + 1] settled_moments; // of those inside: sum of count * alpha * row * row'
  matrix[n_radii, 3] settled_sums;        // and of count * alpha, and of count * constant; sum of those beyond
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  #include functions/zero_part_data.stan
  vector<lower=0>[n_zero_rows] censored_row_weight; // sum of count * alpha by row of the zero part
  // Prior: beta_1 ~ Normal(level, beta_scale_1), beta_j ~ Normal(0, beta_scale_j), sigma ~ half-Student-t(3, 0, sigma_scale).
  real level;                             // of y, and of the prior of the intercept: 0, or the anchor's; center is without
  vector<lower=0>[k] beta_scale;
  real<lower=0> sigma_scale;
  real<lower=0> zero_scale;
  real<lower=0> zero_slope_scale;
}
parameters {
  vector[k] u;
  real s;
  vector[zero_k] v;
}
transformed parameters {
  real log_sigma = log_sigma_center + log_sigma_scale * s;
  vector[k] beta = center + basis * u;
  real sigma = exp(log_sigma);
  vector[zero_k] gamma = zero_center + zero_basis * v;
  beta[1] += level;
}
model {
  center + basis * u ~ normal(0, beta_scale);  // u -> beta is affine: a constant Jacobian
  sigma ~ student_t(3, 0, sigma_scale);
  target += log_sigma;                    // Jacobian of s -> sigma
  target += zero_part_prior(gamma, zero_scale, zero_slope_scale);
  target += -weight_sum * log_sigma
            - (rss - 2 * dot_product(rss_slope, u) + quad_form(rss_curvature, u)) / (2 * square(sigma))
            + zero_part_sum(gamma, zero_cells, zero_node_cell, zero_other, zero_node_others, zero_sum, zero_node_weight);
  if (n_censored + n_zero_censored > 0) {
    target += clamped_two_part(u, log_sigma, gamma, s, v, censored_rows, censored_constant, censored_weight,
                               censored_count, censored_row, n_moving, radius, settled_inside, settled_beyond,
                               settled_moments, settled_sums, censored_row_weight, zero_cells, zero_cell, zero_other, zero_others,
                               zero_censored_constant, zero_censored_weight, zero_censored_count,
                               zero_censored_row, censor_bound);
  }
}
