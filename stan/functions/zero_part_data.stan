  // Zero part: logit Pr(x = 0) = Z * gamma (zero_k = 0 switches it off).
  int<lower=0> zero_k;                    // k, or 0
  vector[zero_k] zero_center;             // gamma = zero_center + zero_basis * v
  matrix[zero_k, zero_k] zero_basis;
  int<lower=0> n_zero_cells;              // distinct values of the columns of z that take few
  matrix[n_zero_cells, zero_k] zero_cells;      // z of a cell, 0 in the other columns
  int<lower=0, upper=zero_k> n_zero_others;
  array[n_zero_others] int<lower=1> zero_other; // the other columns of z
  // Unclamped part: the rows, or as few that give the same sums to rounding.
  vector[zero_k] zero_sum;                // sum of alpha * z over the zeros
  int<lower=0> n_zero_nodes;
  array[n_zero_nodes] int<lower=1, upper=n_zero_cells> zero_node_cell;
  matrix[n_zero_others ? n_zero_nodes : 0, n_zero_others] zero_node_others;
  vector<lower=0>[n_zero_nodes] zero_node_weight;  // sum of alpha over all records
  // Clamped part: distinct rows of the design (n_zero_rows = 0 switches it off), and zeros by pairs of row and weight.
  int<lower=0> n_zero_rows;
  array[n_zero_rows] int<lower=1, upper=n_zero_cells> zero_cell;
  matrix[n_zero_others ? n_zero_rows : 0, n_zero_others] zero_others;
  int<lower=0> n_zero_censored;
  array[n_zero_censored] int<lower=1> zero_censored_row;
  vector<lower=0>[n_zero_censored] zero_censored_weight;  // alpha
  vector<lower=0>[n_zero_censored] zero_censored_count;   // records that share both
  vector[n_zero_censored] zero_censored_constant;         // minus alpha * the anchor's
