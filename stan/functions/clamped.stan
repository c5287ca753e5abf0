  // In clamped.hpp, with analytic gradients; what each gives is said there.
  real clamped_linear(matrix coefficients, data matrix features, data vector constant, data array[] int row,
                      data vector count, data real bound);
  real clamped_two_part(vector u, real log_sigma, vector gamma, real s, vector v, data matrix rows,
                        data vector constant, data vector weight, data vector count, data array[] int row,
                        data int n_moving, data vector radius, data array[] int settled_inside,
                        data array[] int settled_beyond, data array[] matrix settled_moments,
                        data matrix settled_sums, data vector row_weight, data matrix cells, data array[] int cell, data array[] int other, data matrix others,
                        data vector zero_constant, data vector zero_weight, data vector zero_count,
                        data array[] int zero_row, data real bound);
  matrix conditional_coefficients(matrix u, vector s, matrix L, data array[] matrix precision, data matrix shift);
  real mixture_sum(matrix beta, vector sigma, vector log_pi, vector gamma, data matrix rows, data vector response,
                   data array[] int row, data vector weight, data vector constant, data vector count,
                   data matrix cells, data array[] int cell, data array[] int other, data matrix others,
                   data vector zero_constant, data vector zero_weight, data vector zero_count,
                   data array[] int zero_row, data real bound);
  real negative_binomial_sum(vector beta, real phi, data matrix rows, data vector values, data vector value_weight,
                             data vector row_weight, data vector row_mass,
                             data array[] int value, data array[] int row, data vector weight,
                             data vector constant, data vector count, data real bound);
  real zero_part_sum(vector gamma, data matrix cells, data array[] int cell, data array[] int other,
                     data matrix others, data vector zero_sum, data vector weight);
