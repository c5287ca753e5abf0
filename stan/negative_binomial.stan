// Negative binomial regression (Savitsky, Hu and Williams, re-weighting, Supp. 2).
// x ~ NB2(exp(Z * beta), phi); the coordinates are whitened, beta = center + basis * u.
// The printed script leaves reciprocal_phi unbounded; it is bounded below here.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;
  matrix[k, k] basis;
  int<lower=0> n_rows;                    // distinct rows of the design
  matrix[n_rows, k] rows;                 // z * basis
  vector[n_rows] row_center;              // z * center
  // Unclamped part: sums of alpha by distinct value and by row, and of alpha * x by row.
  int<lower=0> n_values;
  vector<lower=0>[n_values] values;
  vector<lower=0>[n_values] value_weight;
  vector<lower=0>[n_rows] row_weight;
  vector<lower=0>[n_rows] row_mass;
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  array[n_censored] int<lower=1> censored_value; // which of the values
  array[n_censored] int<lower=1> censored_row;
  vector<lower=0>[n_censored] censored_weight;  // alpha
  vector[n_censored] censored_constant;         // minus alpha * (log x! and the anchor's log mass)
  vector<lower=0>[n_censored] censored_count;   // records that share all this
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  real log_excess_center;                 // log(1 / phi - 1e-4) = log_excess_center + log_excess_scale * s
  real<lower=0> log_excess_scale;
  real<lower=0> prior_scale;              // 1 is the paper's prior
}
parameters {
  vector[k] u;
  real s;
  vector<lower=0>[k] sigma_beta;
  cholesky_factor_corr[k] L_beta;
}
transformed parameters {
  vector[k] beta = center + basis * u;
  real log_excess = log_excess_center + log_excess_scale * s;
  real reciprocal_phi = 1e-4 + exp(log_excess); // phi up to 10,000: beyond, Poisson, and no digits left
  real phi = 1 / reciprocal_phi;
}
model {
  reciprocal_phi ~ cauchy(0, 5 * prior_scale);
  target += log_excess;                   // Jacobian of s -> reciprocal_phi
  sigma_beta ~ student_t(3, 0, prior_scale);
  L_beta ~ lkj_corr_cholesky(6);
  beta ~ multi_normal_cholesky(rep_vector(0, k), diag_pre_multiply(sigma_beta, L_beta));
  target += negative_binomial_sum(u, phi, rows, row_center, values, value_weight, row_weight, row_mass, censored_value,
                                  censored_row, censored_weight, censored_constant, censored_count, censor_bound);
}
