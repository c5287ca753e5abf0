  // Distinct rows of the design in parts: each group of columns of few values is kept once for each combination of its
  // values, a cell; the other columns by row.
  int<lower=0> n_rows;
  int<lower=0> n_cells;
  matrix[n_cells, k] cells;               // 0 in the columns that are not of the cell's group
  int<lower=0> n_groups;
  array[n_groups, 4] int<lower=1> part;   // first cell and number of cells, first column and number of columns
  array[n_rows * n_groups] int<lower=1> cell;  // of each row its cell in each group, row after row
  int<lower=0> n_others;
  array[n_others] int<lower=1> other;     // the other columns
  matrix[n_others > 0 ? n_rows : 0, n_others] others;
