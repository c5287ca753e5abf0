// Log-linear model of noisy tables of counts (docs/methods/measured.md): the coefficients of the cells of its terms, and
// slopes along ordered columns. The coordinates are whitened, theta = center + basis * u.
// user header: functions/noisy_tables.hpp
functions {
  // In noisy_tables.hpp, with an analytic gradient; what it gives is said there.
  real noisy_tables_sum(vector added, data array[] int place, data array[] int first, data vector records,
                        data vector count, data vector scale, data int laplace);
}
data {
  int<lower=1> n_parameters;
  int<lower=1> n_table_cells;             // cells of all terms; the other parameters are slopes
  vector[n_parameters] center;            // estimate around which the coordinates are laid
  matrix[n_parameters, n_parameters] basis;  // its product with its transpose is about the covariance
  // How much of each slope each cell of a term has, by rows.
  int<lower=0> n_scores;
  vector[n_scores] score;
  array[n_scores] int<lower=1> score_slope;
  array[n_table_cells + 1] int<lower=1> score_first;
  // Cells of records, see noisy_tables.hpp.
  int<lower=1> n_combinations;
  vector<lower=0>[n_combinations] records;
  array[n_combinations + 1] int<lower=1> first;
  int<lower=1> n_places;
  array[n_places] int<lower=1> place;
  vector[n_table_cells] count;
  vector<lower=0>[n_table_cells] scale;   // 0: not counted
  int<lower=0, upper=1> laplace;
  // Priors: normal, of the coefficients and of their steps along axes that are smoothed.
  vector<lower=0>[n_parameters] deviation;
  int<lower=0> n_steps;
  array[n_steps] int<lower=1> lower_cell;
  array[n_steps] int<lower=1> upper_cell;
  vector<lower=0>[n_steps] step_deviation;
}
transformed data {
  int n_slopes = n_parameters - n_table_cells;
}
parameters {
  vector[n_parameters] u;
}
model {  // theta is not kept: it follows from u
  vector[n_parameters] theta = center + basis * u;
  vector[n_table_cells] added = head(theta, n_table_cells);
  theta ~ normal(0, deviation);
  added[upper_cell] - added[lower_cell] ~ normal(0, step_deviation);
  if (n_slopes > 0) {
    added += csr_matrix_times_vector(n_table_cells, n_slopes, score, score_slope, score_first, tail(theta, n_slopes));
  }
  target += noisy_tables_sum(added, place, first, records, count, scale, laplace);
}
