// Lognormal regression (Hu, Williams and Savitsky, range restriction, sections 4 and 5), and the two-part
// model that gives zeros a probability of their own: y = t(x) ~ Normal(Z * beta, sigma), t = log or asinh.
//
// The weighted residual sum of squares is a quadratic in beta. It is passed expanded
// around `center` and in the whitened coordinates u, beta = center + basis * u, so that a
// gradient costs O(k^2) whatever the number of records, and nothing cancels in it.
functions {
  #include functions/censoring.stan
  #include functions/zero_part.stan
}
data {
  int<lower=1> k;                         // columns of the design, the intercept included
  vector[k] center;                       // penalised weighted least squares estimate
  matrix[k, k] basis;                     // lower-triangular factor of its covariance
  // Plain pseudo likelihood: weighted sufficient statistics.
  real<lower=0> weight_sum;               // sum of alpha
  real<lower=0> rss;                      // sum of alpha * (y - z * center)^2
  vector[k] rss_slope;                    // basis' * sum of alpha * z * (y - z * center)
  matrix[k, k] rss_curvature;             // basis' * (sum of alpha * z * z') * basis
  // Censored likelihood: distinct records (n_censored = 0 switches it off).
  int<lower=0> n_censored;
  matrix[n_censored, k + 1] censored_rows; // y - z * center, and -z * basis
  vector[n_censored] censored_constant;   // alpha * the parameter-free part of the log density
  vector<lower=0>[n_censored] censored_weight; // alpha
  vector<lower=0>[n_censored] censored_count;  // records that share the row
  array[n_censored] int<lower=1> censored_row; // their row of the zero part
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  #include functions/zero_part_data.stan
  // Prior: beta_j ~ Normal(0, beta_scale_j), sigma ~ half-Student-t(3, 0, sigma_scale).
  vector<lower=0>[k] beta_scale;
  real<lower=0> sigma_scale;
  real<lower=0> zero_scale;
}
transformed data {
  vector[n_censored] half_weight = 0.5 * censored_weight;
}
parameters {
  vector[k] u;
  real<lower=0> sigma;
  vector[zero_k] v;
}
transformed parameters {
  vector[k] beta = center + basis * u;
  vector[zero_k] gamma = zero_center + zero_basis * v;
}
model {
  beta ~ normal(0, beta_scale);           // u -> beta is affine: a constant Jacobian
  sigma ~ student_t(3, 0, sigma_scale);
  target += zero_part_prior(gamma, zero_scale);
  {
    vector[n_zero_rows] logit_zero = zero_row_center + zero_rows * v;
    if (n_censored + n_zero_censored == 0) {
      target += -weight_sum * log(sigma)
                - (rss - 2 * dot_product(rss_slope, u) + quad_form(rss_curvature, u))
                  / (2 * square(sigma));
      target += dot_product(zero_weight, log_inv_logit(logit_zero))
                + dot_product(nonzero_weight, log1m_inv_logit(logit_zero));
    } else {
      vector[n_censored] standardised = censored_rows * (append_row(1, u) / sigma);
      vector[n_censored] terms = censored_constant - (censored_weight * log(sigma)
                                                      + half_weight .* square(standardised));
      if (zero_k > 0) {
        terms += censored_weight .* log1m_inv_logit(logit_zero)[censored_row];
      }
      target += censored_sum(terms, censored_count, censor_bound)
                + censored_sum(zero_censored_weight .* log_inv_logit(logit_zero)[zero_censored_row],
                               zero_censored_count, censor_bound);
    }
  }
}
