// Negative binomial regression (Savitsky, Hu and Williams, re-weighting, Supp. 2).
// x ~ NB2(exp(Z * beta), phi); beta in the coordinates of mixture.stan, of one regression: sigma_beta is a funnel with
// beta itself where a slope may be 0, and with beta / sigma_beta where the data say much.
// The printed script leaves reciprocal_phi unbounded; it is bounded below here.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  array[1] matrix[k, k] precision;        // A: what the data say of beta
  matrix[k, 1] shift;                     // A * b, b an estimate of beta
  int<lower=0> n_rows;                    // distinct rows of the design
  matrix[n_rows, k] rows;
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
  vector[k] beta;
  real log_prior_beta;                    // with the Jacobian of u -> beta
  {
    matrix[k + 1, 1] both = conditional_coefficients(to_matrix(u, k, 1), sigma_beta, L_beta, precision, shift);
    beta = both[1 : k, 1];
    log_prior_beta = both[k + 1, 1];
  }
  real log_excess = log_excess_center + log_excess_scale * s;
  real reciprocal_phi = 1e-4 + exp(log_excess); // phi up to 10,000: beyond, Poisson, and no digits left
  real phi = 1 / reciprocal_phi;
}
model {
  reciprocal_phi ~ cauchy(0, 5 * prior_scale);
  target += log_excess;                   // Jacobian of s -> reciprocal_phi
  sigma_beta ~ student_t(3, 0, prior_scale);
  L_beta ~ lkj_corr_cholesky(6);
  target += log_prior_beta;               // beta ~ MVN(0, diag(s) Omega diag(s))
  target += negative_binomial_sum(beta, phi, rows, values, value_weight, row_weight, row_mass, censored_value,
                                  censored_row, censored_weight, censored_constant, censored_count, censor_bound);
}
