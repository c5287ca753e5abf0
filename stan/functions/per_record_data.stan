  int<lower=0> n;                         // terms: records, or those of an anchor's prior
  vector[n] x;                            // outcome / unit
  int<lower=0> n_columns;
  matrix[n, n_columns] design;            // of a family with predictors: a column of ones, then they
  vector<lower=0>[n] weights;             // alpha
  int<lower=0, upper=n> n_clamped;        // the first of them
  vector[n] anchor;                       // log density that is subtracted before a term is clamped
  real<lower=0> censor_bound;             // epsilon / 2, in nats
