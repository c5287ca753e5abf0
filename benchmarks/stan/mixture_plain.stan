// The mixture of stan/mixture.stan without a zero part and without clamping, in plain Stan: the same coordinates, the same
// target, an autodiff node for every number. What its C++ functions are measured against.
data {
  int<lower=1> n_components;
  int<lower=1> k;
  array[n_components] matrix[k, k] precision;
  matrix[k, n_components] shift;
  int<lower=1, upper=n_components> reference;
  vector[3 * n_components - 1] center;
  cholesky_factor_cov[3 * n_components - 1] factor;
  int<lower=1> n_rows;
  matrix[n_rows, k] rows;
  int<lower=0> n_distinct;
  vector[n_distinct] distinct_y;
  array[n_distinct] int<lower=1, upper=n_rows> distinct_row;
  vector<lower=0>[n_distinct] distinct_weight;
  real<lower=0> sigma_lower;
  real<lower=0> prior_scale;
  real<lower=0> concentration;
}
parameters {
  real<lower=0> a;
  vector[3 * n_components - 1] w;
  vector[(k - 1) * n_components] u_slopes;
  vector<lower=0>[k] s;
  cholesky_factor_corr[k] L;
}
transformed parameters {
  vector[3 * n_components - 1] block = center + factor * w;
  vector[n_components] log_pi = log_softmax(append_row(
    append_row(block[1 : reference - 1], 0), block[reference : n_components - 1]));
  vector[n_components] sigma = sigma_lower + exp(block[n_components : 2 * n_components - 1]);
  matrix[k, n_components] beta;
  matrix[k, k] prior_covariance = quad_form_diag(multiply_lower_tri_self_transpose(L), s);
  real log_jacobian = 0;
  {
    matrix[k, n_components] u = append_row(
      block[2 * n_components : ]', to_matrix(u_slopes, k - 1, n_components));
    for (j in 1 : n_components) {
      matrix[k, k] C = cholesky_decompose(precision[j] + inverse_spd(prior_covariance));
      beta[ : , j] = mdivide_left_tri_low(C, shift[ : , j]) + u[ : , j];
      beta[ : , j] = mdivide_left(C', beta[ : , j]);
      log_jacobian -= sum(log(diagonal(C)));
    }
  }
}
model {
  matrix[n_rows, n_components] mean = rows * beta;
  a ~ gamma(5 * concentration, 5);
  target += lgamma(a) - n_components * lgamma(a / n_components) + a / n_components * sum(log_pi);
  sigma ~ student_t(3, 0, prior_scale);
  target += sum(block[n_components : 2 * n_components - 1]);
  s ~ student_t(3, 0, prior_scale);
  L ~ lkj_corr_cholesky(1);
  for (j in 1 : n_components) {
    beta[ : , j] ~ multi_normal(rep_vector(0, k), prior_covariance);
  }
  target += log_jacobian;
  for (i in 1 : n_distinct) {
    vector[n_components] terms;
    for (j in 1 : n_components) {
      terms[j] = log_pi[j] + normal_lupdf(distinct_y[i] | mean[distinct_row[i], j], sigma[j]);
    }
    target += distinct_weight[i] * log_sum_exp(terms);
  }
}
