// The log density of noisy tables of counts under a log-linear model, with its analytic gradient, for stan/measured.stan.
#ifndef SYNTH_NOISY_TABLES_HPP
#define SYNTH_NOISY_TABLES_HPP
#ifndef STAN_MODEL_MODEL_HEADER_HPP  // else it is there, precompiled
#include <stan/model/model_header.hpp>
#endif

namespace stan {
namespace math {

// Records lie in cells, those of one combination of public values one after another: combination z has the cells from
// first[z] to first[z + 1] - 1 and records[z] records, spread by p(x | z) proportional to exp of the sum of what
// `added` has in the table cells of x; `place` has these, n_tables for each cell. A table cell expects the sum of the
// records of its cells. Where scale[k] is 0 it was not counted; else count[k] is what is expected plus N(0, 1), for a
// whole number, and noise: with `laplace` of Laplace's law of that scale, else normal, and the scale is the deviation
// of both.
template <typename TA, typename TV>
inline return_type_t<TA> noisy_tables_sum(const TA& added, const std::vector<int>& place,
                                          const std::vector<int>& first, const TV& records, const TV& count,
                                          const TV& scale, const int& laplace, std::ostream* /*messages*/) {
  const Eigen::VectorXd value = value_of(added);
  const std::size_t n_cells = first.back() - 1, n_tables = place.size() / n_cells;
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(value.size());
  Eigen::VectorXd held(n_cells);  // records expected in each cell
  for (Eigen::Index z = 0; z < records.size(); ++z) {
    const Eigen::Index begin = first[z] - 1, n = first[z + 1] - first[z];
    auto mine = held.segment(begin, n);
    const int* at = &place[begin * n_tables];
    for (Eigen::Index i = 0; i < n; ++i) {
      double sum = 0.0;
      for (std::size_t t = 0; t < n_tables; ++t) sum += value.coeff(*at++ - 1);
      mine.coeffRef(i) = sum;
    }
    mine = (mine.array() - mine.maxCoeff()).exp();
    mine *= records.coeff(z) / mine.sum();
    at = &place[begin * n_tables];
    for (Eigen::Index i = 0; i < n; ++i) {
      for (std::size_t t = 0; t < n_tables; ++t) expected.coeffRef(*at++ - 1) += mine.coeff(i);
    }
  }
  double sum = 0.0;
  Eigen::VectorXd by_expected = Eigen::VectorXd::Zero(value.size());
  for (Eigen::Index k = 0; k < value.size(); ++k) {
    const double s = scale.coeff(k);
    if (s == 0.0) continue;
    const double away = expected.coeff(k) - count.coeff(k);
    if (!laplace) {
      sum -= 0.5 * away * away / (s * s);
      by_expected.coeffRef(k) = -away / (s * s);
      continue;
    }
    // Laplace's density around a normal one: two halves, whose derivatives by their ends cancel.
    const double right = -away / s + std_normal_lcdf(away - 1.0 / s), left = away / s + std_normal_lcdf(-away - 1.0 / s);
    const double both = log_sum_exp(right, left);
    sum += both;
    by_expected.coeffRef(k) = (std::exp(left - both) - std::exp(right - both)) / s;
  }
  auto ops = make_partials_propagator(added);
  if constexpr (!is_constant_all<TA>::value) {
    Eigen::VectorXd slope = Eigen::VectorXd::Zero(value.size());
    std::vector<double> back;
    for (Eigen::Index z = 0; z < records.size(); ++z) {
      const Eigen::Index begin = first[z] - 1, n = first[z + 1] - first[z];
      const int* at = &place[begin * n_tables];
      back.assign(n, 0.0);
      double mean = 0.0;
      for (Eigen::Index i = 0; i < n; ++i) {
        for (std::size_t t = 0; t < n_tables; ++t) back[i] += by_expected.coeff(*at++ - 1);
        mean += held.coeff(begin + i) * back[i] / records.coeff(z);
      }
      at = &place[begin * n_tables];
      for (Eigen::Index i = 0; i < n; ++i) {
        const double moved = held.coeff(begin + i) * (back[i] - mean);
        for (std::size_t t = 0; t < n_tables; ++t) slope.coeffRef(*at++ - 1) += moved;
      }
    }
    partials<0>(ops) = slope;
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
