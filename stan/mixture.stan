// Finite normal mixture regression (Savitsky, Williams and Hu 2022, appendix B), the component marginalised:
// y = t(x) ~ sum_k pi_k Normal(Z * beta_k, sigma_k), t = log or asinh; zeros may have a probability of their own.
//
// Coordinates: for fixed responsibilities and sigma the conditional posterior of beta_k given its prior
// covariance is normal, with precision A_k + inverse(Sigma_beta). beta_k is written as its mean plus its factor
// times u_k, so that u_k is nearly standard normal whether the component is well determined by the data (then
// this is the centred form) or empty (then the non-centred one). A_k and A_k * b_k come from a pilot run: they
// choose coordinates only, the Jacobian is in the target, and the posterior does not depend on them.
// Where components overlap their shares, spreads and intercepts move together: these are center + factor * w,
// from the same run; the Jacobian of that is constant.
//
// sigma is bounded below: with tied values the printed prior would give an improper posterior.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
  #include functions/zero_part.stan
}
data {
  int<lower=1> n_components;
  int<lower=1> k;                         // columns of the design, the intercept included
  array[n_components] matrix[k, k] precision;  // A_k: what the data say of beta_k
  matrix[k, n_components] shift;          // A_k * b_k
  int<lower=1, upper=n_components> reference;  // a large component: pi is written relative to its share
  vector[3 * n_components - 1] center;    // of log(pi_j / pi_reference), log(sigma - sigma_lower), first row of u
  cholesky_factor_cov[3 * n_components - 1] factor;
  int<lower=1> n_rows;                    // distinct rows of the design, which are those of the zero part
  matrix[n_rows, k] rows;
  // Distinct pairs of value and row, and their sum of alpha; where terms are clamped, of weight too.
  int<lower=0> n_distinct;
  vector[n_distinct] distinct_y;
  array[n_distinct] int<lower=1, upper=n_rows> distinct_row;
  vector<lower=0>[n_distinct] distinct_weight;    // sum of alpha; alpha where terms are clamped
  // Clamped part: the first of them (0 switches it off).
  int<lower=0, upper=n_distinct> n_censored;
  vector[n_censored] censored_constant;   // alpha * (the parameter-free part of the log density - the anchor's)
  vector<lower=0>[n_censored] censored_count;  // records that share value, row and weight
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  #include functions/zero_part_data.stan
  // Prior: pi ~ Dirichlet(a / K), a ~ Gamma(5 * concentration, 5); beta_k ~ MVN(0, diag(s) Omega diag(s)),
  // s and sigma_k ~ half-Student-t(3, 0, prior_scale), Omega uniform.
  real<lower=0> sigma_lower;
  real<lower=0> prior_scale;
  real<lower=0> concentration;            // prior mean of a
  real<lower=0> zero_scale;
  real<lower=0> zero_slope_scale;
}
parameters {
  real<lower=0> a;
  vector[3 * n_components - 1] w;
  vector[(k - 1) * n_components] u_slopes;
  vector<lower=0>[k] s;
  cholesky_factor_corr[k] L;
  vector[zero_k] v;
}
transformed parameters {
  vector[3 * n_components - 1] block = center + factor * w;
  vector[n_components] log_pi = log_softmax(append_row(  // an empty component moves no other
    append_row(block[1 : reference - 1], 0), block[reference : n_components - 1]));
  vector[n_components] sigma = sigma_lower + exp(block[n_components : 2 * n_components - 1]);
  vector[n_components] pi_k = exp(log_pi);
  matrix[k, n_components] beta;
  vector[zero_k] gamma = zero_center + zero_basis * v;
  real log_prior_beta;                    // with the Jacobian of u -> beta
  {
    matrix[k, n_components] u = append_row(
      block[2 * n_components : ]', to_matrix(u_slopes, k - 1, n_components));
    matrix[k + 1, n_components] found = conditional_coefficients(u, s, L, precision, shift);
    beta = found[1 : k];
    log_prior_beta = sum(found[k + 1]);
  }
}
model {
  a ~ gamma(5 * concentration, 5);        // of shape 1, empty shares run to exp(-100): slow, and no use
  // Dirichlet(a / K), with the Jacobian of the log ratios -> pi, the product of pi
  target += lgamma(a) - n_components * lgamma(a / n_components) + a / n_components * sum(log_pi);
  sigma ~ student_t(3, 0, prior_scale);
  target += sum(block[n_components : 2 * n_components - 1]);  // Jacobian of log(sigma - sigma_lower)
  s ~ student_t(3, 0, prior_scale);
  L ~ lkj_corr_cholesky(1);
  target += log_prior_beta + zero_part_prior(gamma, zero_scale, zero_slope_scale);
  target += mixture_sum(beta, sigma, log_pi, gamma, rows, distinct_y, distinct_row, distinct_weight, censored_constant,
                        censored_count, zero_cells, zero_cell, zero_other, zero_others, zero_censored_constant,
                        zero_censored_weight, zero_censored_count, zero_censored_row, censor_bound)
            + zero_part_sum(gamma, zero_cells, zero_node_cell, zero_other, zero_node_others, zero_sum, zero_node_weight);
}
