  #include functions/censoring.stan
  /**
   * Pseudo log-likelihood with one term a record: alpha_i * (log p(x_i | theta) - anchor_i), the first n_clamped of
   * them clamped to [-bound, bound], the others as they are.
   *
   * @param log_density log p(x_i | theta), in nats
   * @param weights alpha
   * @param anchor log density that is subtracted before a term is clamped
   * @param n_clamped how many terms are clamped
   * @param bound epsilon / 2, in nats
   * @return sum over records
   */
  real per_record_sum(vector log_density, vector weights, vector anchor, int n_clamped, real bound) {
    int n = size(log_density);
    vector[n] terms = weights .* (log_density - anchor);
    return censored_sum(head(terms, n_clamped), ones_vector(n_clamped), bound) + sum(tail(terms, n - n_clamped));
  }
