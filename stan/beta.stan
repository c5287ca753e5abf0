// Beta synthesizer (Hu, Williams and Savitsky, the censoring mechanism, Supp. 1).
// x in (0, 1) ~ Beta(lambda * phi, lambda * (1 - phi)).
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  // Unclamped part: weighted sufficient statistics, so a gradient costs O(1).
  real<lower=0> weight_sum;               // sum of alpha
  real weighted_log_x;                    // sum of alpha * log(x)
  real weighted_log1m_x;                  // sum of alpha * log(1 - x)
  // Clamped part: the records themselves (n_censored = 0 switches it off).
  int<lower=0> n_censored;                // distinct records, or 0
  matrix[n_censored, 3] censored_features; // alpha * (log(x), log(1 - x), 1)
  vector[n_censored] censored_constant;   // minus alpha * the anchor's log density
  vector<lower=0>[n_censored] censored_count; // records that share the row
  int<lower=0, upper=1> one_turn;         // whether their terms rise or fall and turn at most once, see clamped_runs
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // Prior: phi ~ U(0, 1), lambda ~ Pareto(lambda_lower, lambda_shape).
  real<lower=0> lambda_lower;
  real<lower=0> lambda_shape;
}
transformed data {
  array[n_censored] int all_one = rep_array(1, n_censored);
  matrix[n_censored + 1, 5] prefix = rep_matrix(0, n_censored + 1, 5); // sums over the first records
  for (q in 1 : 3) {
    prefix[2 : n_censored + 1, q] = cumulative_sum(censored_count .* censored_features[ : , q]);
  }
  prefix[2 : n_censored + 1, 4] = cumulative_sum(censored_count .* censored_constant);
  prefix[2 : n_censored + 1, 5] = cumulative_sum(censored_count);
}
parameters {
  real<lower=0, upper=1> phi;             // mean
  real<lower=lambda_lower> lambda;        // precision
}
transformed parameters {
  real a = lambda * phi;
  real b = lambda * (1 - phi);
}
model {
  lambda ~ pareto(lambda_lower, lambda_shape);
  target += (a - 1) * weighted_log_x + (b - 1) * weighted_log1m_x - lbeta(a, b) * weight_sum;
  if (n_censored > 0 && one_turn) {
    vector[3] coefficients = [a - 1, b - 1, -lbeta(a, b)]';
    target += clamped_runs(coefficients, censored_features, censored_constant, prefix, censor_bound);
  } else if (n_censored > 0) {
    matrix[1, 3] coefficients = [[a - 1, b - 1, -lbeta(a, b)]];
    target += clamped_linear(coefficients, censored_features, censored_constant, all_one, censored_count,
                             censor_bound);
  }
}
