// Beta synthesizer (Hu, Williams and Savitsky, the censoring mechanism, Supp. 1).
// x in (0, 1) ~ Beta(lambda * phi, lambda * (1 - phi)); the coordinates are whitened:
// (logit(phi), log(lambda - lambda_lower)) = center + basis * u.
// user header: functions/clamped.hpp
functions {
  #include functions/clamped.stan
}
data {
  vector[2] center;                       // the mode
  matrix[2, 2] basis;                     // lower-triangular factor of the covariance there
  // Unclamped part: weighted sufficient statistics, so a gradient costs O(1).
  real<lower=0> weight_sum;               // sum of alpha
  real weighted_log_x;                    // sum of alpha * log(x)
  real weighted_log1m_x;                  // sum of alpha * log(1 - x)
  // Clamped part: the records themselves (n_censored = 0 switches it off).
  int<lower=0> n_censored;                // distinct records, or 0
  vector<lower=0, upper=1>[n_censored] censored_x;
  vector<lower=0>[n_censored] censored_weight; // alpha
  vector[n_censored] censored_constant;   // minus alpha * the anchor's log density
  vector<lower=0>[n_censored] censored_count; // records that share all this
  real<lower=0> censor_bound;             // epsilon / 2, in nats
  // What is settled where box * (coefficients - box_middle) lies within [-1, 1]: all but the first.
  int<lower=0, upper=n_censored> n_moving;
  vector[3] box_middle;
  matrix[3, 3] box;
  vector[3] settled_features;             // of those within the bound: sum of count * alpha * (log(x), log(1 - x), 1)
  real settled_constant;                  // and of count * constant; and the sum of those beyond it
  // Prior: phi ~ U(0, 1), lambda ~ Pareto(lambda_lower, lambda_shape).
  real<lower=0> lambda_lower;
  real<lower=0> lambda_shape;
}
transformed data {
  vector[3] sums = [weighted_log_x, weighted_log1m_x, weight_sum]';
  array[n_censored] int one = rep_array(1, n_censored);
  matrix[n_censored, 3] features = diag_pre_multiply(
    censored_weight, append_col(append_col(log(censored_x), log1m(censored_x)), rep_vector(1, n_censored)));
  matrix[n_moving, 3] moving = features[1 : n_moving];
  vector[n_moving] moving_constant = censored_constant[1 : n_moving];
  vector[n_moving] moving_count = censored_count[1 : n_moving];
  array[n_moving] int moving_one = one[1 : n_moving];
}
parameters {
  vector[2] u;
}
transformed parameters {
  real phi;                               // mean
  real lambda;                            // precision
  real a;
  real b;
  {
    vector[2] at = center + basis * u;
    phi = inv_logit(at[1]);
    lambda = lambda_lower + exp(at[2]);
    a = lambda * phi;
    b = lambda * inv_logit(-at[1]);       // where phi is near 1, 1 - phi has no digits left
  }
}
model {
  matrix[1, 3] coefficients = [[a - 1, b - 1, -lbeta(a, b)]];
  vector[3] as_vector = coefficients[1]';
  lambda ~ pareto(lambda_lower, lambda_shape);
  target += log_inv_logit(center[1] + basis[1, 1] * u[1]) + log1m_inv_logit(center[1] + basis[1, 1] * u[1])
            + center[2] + basis[2] * u;   // Jacobian of u -> (phi, lambda)
  target += dot_product(sums, as_vector);
  if (n_censored > 0) {
    if (max(abs(box * (as_vector - box_middle))) <= 1) {
      target += settled_constant + dot_product(settled_features, as_vector)
                + clamped_linear(coefficients, moving, moving_constant, moving_one, moving_count, censor_bound);
    } else {
      target += clamped_linear(coefficients, features, censored_constant, one, censored_count, censor_bound);
    }
  }
}
