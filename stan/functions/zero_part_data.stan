  // Zero part: logit Pr(x = 0) = Z * gamma by distinct row of the design (zero_k = 0 switches it off).
  int<lower=0> zero_k;                    // k, or 0
  vector[zero_k] zero_center;             // gamma = zero_center + zero_basis * v
  matrix[zero_k, zero_k] zero_basis;
  int<lower=0> n_zero_rows;
  matrix[n_zero_rows, zero_k] zero_rows;  // z * zero_basis
  vector[n_zero_rows] zero_row_center;    // z * zero_center
  vector<lower=0>[n_zero_rows] zero_weight;     // sum of alpha over the zeros of the row
  vector<lower=0>[n_zero_rows] nonzero_weight;  // sum of alpha over its other records
  // Zeros under a censored likelihood: distinct pairs of row and weight.
  int<lower=0> n_zero_censored;
  array[n_zero_censored] int<lower=1> zero_censored_row;
  vector<lower=0>[n_zero_censored] zero_censored_weight;  // alpha
  vector<lower=0>[n_zero_censored] zero_censored_count;   // records that share both
  vector[n_zero_censored] zero_censored_constant;         // minus alpha * the anchor's
