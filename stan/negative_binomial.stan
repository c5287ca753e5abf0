// Negative binomial regression (Savitsky, Hu and Williams, re-weighting, Supp. 2).
// x ~ NB2(exp(Z * beta), phi); the coordinates are whitened, beta = center + basis * u.
// The printed script leaves reciprocal_phi unbounded; it is bounded below here.
functions {
  #include functions/censoring.stan
  // Weighted log mass without the terms that no parameter enters.
  vector nb_terms(vector x, vector eta, real phi) {
    return lgamma(x + phi) - (x + phi) .* log(phi + exp(eta)) + x .* eta;
  }
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;
  matrix[k, k] basis;
  // Distinct rows of the design, and distinct pairs of value and row.
  int<lower=0> n_rows;
  matrix[n_rows, k] rows;                 // z * basis
  vector[n_rows] row_center;              // z * center
  int<lower=0> n_distinct;
  vector<lower=0>[n_distinct] distinct_x;
  array[n_distinct] int<lower=1> distinct_row;
  vector<lower=0>[n_distinct] distinct_weight;  // sum of alpha over their records
  // Clamped part: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  vector<lower=0>[n_censored] censored_x;
  array[n_censored] int<lower=1> censored_row;
  vector<lower=0>[n_censored] censored_weight;  // alpha
  vector[n_censored] censored_constant;         // minus alpha * (log x! and the anchor's log mass)
  vector<lower=0>[n_censored] censored_count;   // records that share all this
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  real<lower=0> prior_scale;              // 1 is the paper's prior
}
parameters {
  vector[k] u;
  real<lower=1e-4> reciprocal_phi;        // phi up to 10,000: beyond, Poisson, and no digits left
  vector<lower=0>[k] sigma_beta;
  cholesky_factor_corr[k] L_beta;
}
transformed parameters {
  vector[k] beta = center + basis * u;
  real phi = 1 / reciprocal_phi;
}
model {
  reciprocal_phi ~ cauchy(0, 5 * prior_scale);
  sigma_beta ~ student_t(3, 0, prior_scale);
  L_beta ~ lkj_corr_cholesky(6);
  beta ~ multi_normal_cholesky(rep_vector(0, k), diag_pre_multiply(sigma_beta, L_beta));
  {
    vector[n_rows] eta = row_center + rows * u;
    real constant = phi * log(phi) - lgamma(phi);
    target += dot_product(distinct_weight, nb_terms(distinct_x, eta[distinct_row], phi))
              + sum(distinct_weight) * constant;
    if (n_censored > 0) {
      target += censored_sum(censored_weight .* (nb_terms(censored_x, eta[censored_row], phi) + constant)
                             + censored_constant,
                             censored_count, censor_bound);
    }
  }
}
