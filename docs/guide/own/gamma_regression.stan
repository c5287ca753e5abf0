// Gamma regression: x ~ Gamma(shape, shape / mean), log(mean) = Z * beta. For positive, skewed values.
functions {
  real pseudo_log_lik(vector log_lik, vector weights, real bound, vector anchor) {
    array[num_elements(log_lik)] int kept;
    int k = 0;
    for (i in 1 : num_elements(log_lik)) {
      if (weights[i] > 0) {
        k += 1;
        kept[k] = i;
      }
    }
    array[k] int some = kept[1 : k];      // and no term of its own where there is no bound: half the time
    if (bound == 0) return dot_product(weights[some], log_lik[some]) - dot_product(weights[some], anchor[some]);
    return sum(fmin(fmax(weights[some] .* (log_lik[some] - anchor[some]), -bound), bound));
  }

  // log_x is passed in, because it does not change while the parameters do.
  vector record_log_lik(vector x, vector log_x, matrix Z, vector beta, real shape) {
    vector[num_elements(x)] log_mean = Z * beta;
    return shape * (log(shape) - log_mean - x .* exp(-log_mean)) + (shape - 1) * log_x - lgamma(shape);
  }
}
data {
  int<lower=0> N;
  int<lower=1> K;
  vector<lower=0>[N] x;
  matrix[N, K] Z;
  vector<lower=0>[N] weights;
  real<lower=0> censor_bound;
  vector[N] anchor;
  int<lower=0> M;
  vector[M] cdf_at;
  real<lower=0> prior_scale;
}
transformed data {
  vector[N] log_x = log(x);               // record by record: nothing here mixes records
}
parameters {
  vector[K] beta;
  real<lower=0> shape;
}
model {
  beta[1] ~ normal(0, 20 * prior_scale);
  beta[2 : K] ~ normal(0, 5 * prior_scale);
  shape ~ gamma(1, 0.1 / prior_scale);
  target += pseudo_log_lik(record_log_lik(x, log_x, Z, beta, shape), weights, censor_bound, anchor);
}
generated quantities {
  vector[N] log_lik = record_log_lik(x, log_x, Z, beta, shape);
  vector[N] x_rep;
  vector[M] cdf;
  vector[M] ccdf;                         // Pr(X > cdf_at[i]): keeps digits in the upper tail
  {
    vector[N] rate = shape * exp(-Z * beta);
    for (i in 1 : N) {
      x_rep[i] = gamma_rng(shape, rate[i]);
    }
    for (i in 1 : M) {
      cdf[i] = cdf_at[i] > 0 ? gamma_p(shape, rate[i] * cdf_at[i]) : 0;
      ccdf[i] = cdf_at[i] > 0 ? gamma_q(shape, rate[i] * cdf_at[i]) : 1;
    }
  }
}
