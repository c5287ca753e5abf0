// Template of a synthesizer of your own. Replace what is marked HERE; keep the names of the data
// and of the generated quantities: the app knows them by name. As it stands it is a normal regression.
functions {
  // Sum of the weighted log-likelihoods less the anchor's, each kept within [-bound, bound] when
  // bound > 0 (censoring, anchored censoring). The anchor is 0 when bound is.
  // A record of weight 0 adds nothing, even where its log-likelihood is infinite. Copy it as it is.
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

  // HERE: log p(x_i | parameters) of every record, in full: no constant may be left out, because
  // privacy is measured by its size. One vector for all records is faster than a loop.
  vector record_log_lik(vector x, matrix Z, vector beta, real sigma) {
    return -0.5 * square((x - Z * beta) / sigma) - log(sigma) - 0.5 * log(2 * pi());
  }
}
data {
  int<lower=0> N;                         // records; the app also evaluates parts of the table
  int<lower=1> K;                         // columns of the design
  vector[N] x;                            // sensitive values, in the unit chosen on the Data page
                                          // (for counts: array[N] int<lower=0> x)
  matrix[N, K] Z;                         // design: a column of ones, then standardised predictors
  vector<lower=0>[N] weights;    // privacy weights, alpha
  real<lower=0> censor_bound;             // epsilon / 2 in nats; 0 means no censoring
  vector[N] anchor;                       // log-likelihoods to be subtracted before; 0 unless anchored
  int<lower=0> M;                         // N when the app asks for the cdf, else 0
  vector[M] cdf_at;                       // the value at which record i's cdf is asked for
  real<lower=0> prior_scale;              // 1, or what the model check multiplies the priors' scales by
}
parameters {
  // HERE: no size may depend on N or M.
  vector[K] beta;
  real<lower=0> sigma;
}
model {
  // HERE: priors, made without looking at x.
  beta ~ normal(0, 10 * prior_scale);
  sigma ~ student_t(3, 0, 5 * prior_scale);
  target += pseudo_log_lik(record_log_lik(x, Z, beta, sigma), weights, censor_bound, anchor);
}
generated quantities {
  vector[N] log_lik = record_log_lik(x, Z, beta, sigma);  // unweighted, uncensored
  vector[N] x_rep;                        // one predictive draw a record
  vector[M] cdf;                          // optional: Pr(X <= cdf_at[i]), for sensitive ranges
  {
    vector[N] mean = Z * beta;
    for (i in 1 : N) {
      x_rep[i] = normal_rng(mean[i], sigma);
    }
    for (i in 1 : M) {
      cdf[i] = normal_cdf(cdf_at[i] | mean[i], sigma);
    }
  }
}
