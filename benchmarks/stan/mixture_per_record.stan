// The mixture of the papers' appendix as it is usually written: a loop over records and components,
// centred coefficients, the simplex itself. The naive baseline of stan/mixture.stan.
data {
  int<lower=1> n;
  int<lower=1> k;
  int<lower=1> n_components;
  vector[n] y;
  matrix[n, k] z;
  vector<lower=0, upper=1>[n] alpha;
  real<lower=0> sigma_lower;
}
parameters {
  real<lower=0> a;
  simplex[n_components] pi_k;
  matrix[k, n_components] beta;
  vector<lower=sigma_lower>[n_components] sigma;
  vector<lower=0>[k] s;
  cholesky_factor_corr[k] L;
}
model {
  a ~ gamma(5, 5);
  pi_k ~ dirichlet(rep_vector(a / n_components, n_components));
  sigma ~ student_t(3, 0, 1);
  s ~ student_t(3, 0, 1);
  L ~ lkj_corr_cholesky(1);
  for (j in 1 : n_components) {
    beta[ : , j] ~ multi_normal_cholesky(rep_vector(0, k), diag_pre_multiply(s, L));
  }
  for (i in 1 : n) {
    vector[n_components] terms;
    for (j in 1 : n_components) {
      terms[j] = log(pi_k[j]) + normal_lpdf(y[i] | z[i] * beta[ : , j], sigma[j]);
    }
    target += alpha[i] * log_sum_exp(terms);
  }
}
