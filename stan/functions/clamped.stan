  // In clamped.hpp, with analytic gradients; what each gives is said there.
  real clamped_linear(matrix coefficients, data matrix features, data vector constant, data array[] int row,
                      data vector count, data real bound);
  real clamped_runs(vector coefficients, data matrix features, data vector constant, data matrix prefix,
                    data real bound);
  real clamped_two_part(vector u, real log_sigma, vector v, data matrix rows, data vector constant,
                        data vector weight, data vector count, data array[] int row, data matrix zero_rows,
                        data vector zero_center, data vector zero_constant, data vector zero_weight,
                        data vector zero_count, data array[] int zero_row, data real bound);
  real zero_part_sum(vector v, data matrix rows, data vector center, data vector zero_weight,
                     data vector other_weight);
