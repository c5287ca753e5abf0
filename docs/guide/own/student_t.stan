// Student-t regression: x ~ Student-t(nu, Z * beta, sigma). For values of either sign with heavy tails.
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

  vector record_log_lik(vector x, matrix Z, vector beta, real sigma, real nu) {
    return lgamma(0.5 * (nu + 1)) - lgamma(0.5 * nu) - 0.5 * log(nu * pi()) - log(sigma)
           - 0.5 * (nu + 1) * log1p(square(x - Z * beta) / (nu * square(sigma)));
  }
}
data {
  int<lower=0> N;
  int<lower=1> K;
  vector[N] x;
  matrix[N, K] Z;
  vector<lower=0>[N] weights;
  real<lower=0> censor_bound;
  vector[N] anchor;
  int<lower=0> M;
  vector[M] cdf_at;
  real<lower=0> prior_scale;
}
parameters {
  vector[K] beta;
  real log_sigma;
  real<lower=1> nu;                       // above 1: the mean exists
}
transformed parameters {
  real sigma = exp(log_sigma);            // on the log scale, whatever the unit of x
}
model {
  beta[1] ~ student_t(3, 0, 100 * prior_scale);
  beta[2 : K] ~ student_t(3, 0, 25 * prior_scale);
  log_sigma ~ normal(0, 5 * prior_scale);
  nu ~ gamma(2, 0.1 / prior_scale);
  target += pseudo_log_lik(record_log_lik(x, Z, beta, sigma, nu), weights, censor_bound, anchor);
}
generated quantities {
  vector[N] log_lik = record_log_lik(x, Z, beta, sigma, nu);
  vector[N] x_rep;
  vector[M] cdf;
  vector[M] ccdf;
  {
    vector[N] location = Z * beta;
    for (i in 1 : N) {
      x_rep[i] = student_t_rng(nu, location[i], sigma);
    }
    for (i in 1 : M) {                    // symmetric: the upper tail is the lower tail of -x
      cdf[i] = student_t_cdf(cdf_at[i] | nu, location[i], sigma);
      ccdf[i] = student_t_cdf(2 * location[i] - cdf_at[i] | nu, location[i], sigma);
    }
  }
}
