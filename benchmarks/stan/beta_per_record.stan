// Baseline: the beta synthesizer as the papers' scripts write it, record by record, with the
// log-likelihoods of every record in generated quantities.
data {
  int<lower=1> n;
  vector<lower=0, upper=1>[n] x;
  vector<lower=0>[n] alpha;
  int<lower=0, upper=1> censored;
  real<lower=0> bound;
}
parameters {
  real<lower=0, upper=1> phi;
  real<lower=0.1> lambda;
}
model {
  lambda ~ pareto(0.1, 1.5);
  for (i in 1 : n) {
    real term = alpha[i] * beta_lpdf(x[i] | lambda * phi, lambda * (1 - phi));
    target += censored == 1 ? fmax(fmin(term, bound), -bound) : term;
  }
}
generated quantities {
  vector[n] log_lik;
  for (i in 1 : n) {
    log_lik[i] = beta_lpdf(x[i] | lambda * phi, lambda * (1 - phi));
  }
}
