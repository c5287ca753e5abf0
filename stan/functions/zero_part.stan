  /**
   * Prior of the probability of a zero, logit Pr(x = 0) = Z * gamma.
   *
   * @param gamma coefficients, the intercept first; empty without a zero part
   * @param scale of the logistic intercept
   * @param slope_scale of the normal slopes
   */
  real zero_part_prior(vector gamma, real scale, real slope_scale) {
    int k = size(gamma);
    if (k == 0) return 0;
    return logistic_lpdf(gamma[1] | 0, scale) + normal_lpdf(gamma[2 : k] | 0, slope_scale);
  }
