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
  /**
   * Logits of the distinct rows of the design, see zero_part_data.stan. Rows share what cells say once.
   */
  vector zero_logits(vector gamma, data matrix cells, data array[] int cell, data array[] int other,
                     data matrix others) {
    vector[size(cell)] logit = (cells * gamma)[cell];
    if (size(other)) logit += others * gamma[other];
    return logit;
  }
