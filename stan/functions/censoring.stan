  /**
   * Censored pseudo log-likelihood: each weighted term is clamped to [-bound, bound]
   * (Hu, Williams and Savitsky, the censoring mechanism, section 3.5).
   *
   * Beyond the bound a term is a constant, so its gradient is exactly zero there.
   *
   * @param terms alpha_i * log p(x_i | theta), one per distinct record, in nats
   * @param count how many records share each term
   * @param bound epsilon / 2, in nats
   * @return sum over records of the clamped terms
   */
  real censored_sum(vector terms, vector count, real bound) {
    int n = size(terms);
    array[n] int inside;
    int k = 0;
    real constant = 0;
    for (i in 1 : n) {
      if (terms[i] > bound) {
        constant += count[i] * bound;
      } else if (terms[i] < -bound) {
        constant -= count[i] * bound;
      } else {
        k += 1;
        inside[k] = i;
      }
    }
    return constant + dot_product(count[inside[1 : k]], terms[inside[1 : k]]);
  }
