// Sums of the log probabilities of categories with analytic gradients, for stan/categorical.stan and stan/ordered.stan.
#ifndef SYNTH_CATEGORIES_HPP
#define SYNTH_CATEGORIES_HPP
#ifndef STAN_MODEL_MODEL_HEADER_HPP  // else it is there, precompiled
#include <stan/model/model_header.hpp>
#endif

#include "vector_math.hpp"

namespace stan {
namespace math {

namespace synth {

using ByRow = Eigen::Array<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows of a design in parts, see synth_core/models/design_parts.py: each group of columns of few values is kept once for
// each combination of its values, a cell. A row's linear predictor is the sum of its cells', one in each group, and of
// what its other columns add: a few additions where a product with all columns takes two operations a column.
template <typename TM>  // a view of data
struct DesignParts {
  const TM& cells;                  // 0 in the columns that are not of the cell's group
  const std::vector<int>& cell;     // of each row its cells, row after row
  const std::vector<int>& other;    // the other columns, and their values
  const TM& others;
  Eigen::Index n_rows, n_groups;
  ByRow of_cell, of_other;        // what cells and other columns say, one column a predictor
  ByRow cell_slope, other_slope;  // gradients of a sum over the rows

  DesignParts(const TM& cells_, const std::vector<int>& cell_, const std::vector<int>& other_, const TM& others_,
              Eigen::Index n_rows_, const Eigen::MatrixXd& coefficients)
      : cells(cells_), cell(cell_), other(other_), others(others_), n_rows(n_rows_),
        n_groups(n_rows_ > 0 ? cell_.size() / n_rows_ : 0), of_cell((cells_ * coefficients).array()),
        of_other(other_.size(), coefficients.cols()), cell_slope(ByRow::Zero(cells_.rows(), coefficients.cols())),
        other_slope(ByRow::Zero(other_.size(), coefficients.cols())) {
    for (std::size_t j = 0; j < other.size(); ++j) {
      of_other.row(j) = coefficients.row(other[j] - 1).array();
    }
  }
  // The linear predictors of n rows, of shape (n, n_predictors).
  ByRow predictor(Eigen::Index first, Eigen::Index n) const {
    const Eigen::Index wide = of_cell.cols();
    ByRow found = ByRow::Zero(n, wide);
    const int* at = cell.data() + first * n_groups;
    double* to = found.data();
    for (Eigen::Index i = 0; i < n; ++i, to += wide) {
      for (Eigen::Index g = 0; g < n_groups; ++g) {
        const double* from = of_cell.data() + (*at++ - 1) * wide;
        for (Eigen::Index p = 0; p < wide; ++p) {
          to[p] += from[p];
        }
      }
    }
    if (!other.empty()) {
      found.matrix() += others.middleRows(first, n) * of_other.matrix();
    }
    return found;
  }
  // Adds the gradient of a sum whose derivatives by the predictors of n rows are `slope`.
  void add(Eigen::Index first, const ByRow& slope) {
    const Eigen::Index wide = of_cell.cols();
    const int* at = cell.data() + first * n_groups;
    const double* from = slope.data();
    for (Eigen::Index i = 0; i < slope.rows(); ++i, from += wide) {
      for (Eigen::Index g = 0; g < n_groups; ++g) {
        double* to = cell_slope.data() + (*at++ - 1) * wide;
        for (Eigen::Index p = 0; p < wide; ++p) {
          to[p] += from[p];
        }
      }
    }
    if (!other.empty()) {
      other_slope.matrix() += others.middleRows(first, slope.rows()).transpose() * slope.matrix();
    }
  }
  // By the coefficients, one column a predictor.
  Eigen::MatrixXd slope() const {
    Eigen::MatrixXd found = cells.transpose() * cell_slope.matrix();
    for (std::size_t j = 0; j < other.size(); ++j) {
      found.row(other[j] - 1) += other_slope.row(j).matrix();
    }
    return found;
  }
};

}  // namespace synth

// sum over rows and categories of weight .* log_share
//   + sum of count .* clamp(constant + clamped_weight .* log_share[row, category]),
// with log_share the logarithms of the shares that softmax makes of each row of the design times the coefficients.
// linear: design' * weight; row_weight: sums of weight by row; row: of the clamped records, ascending.
template <typename TB, typename TM, typename TV>
inline return_type_t<TB> categorical_sum(const TB& coefficients, const TM& linear, const TV& row_weight,
                                         const TM& cells, const std::vector<int>& cell, const std::vector<int>& other,
                                         const TM& others, const TV& constant, const TV& clamped_weight,
                                         const TV& count, const std::vector<int>& row,
                                         const std::vector<int>& category, const double& bound,
                                         std::ostream* /*messages*/) {
  constexpr Eigen::Index block = 256;  // rows at once: they stay in a core's cache
  const Eigen::MatrixXd value = value_of(coefficients);
  synth::DesignParts<TM> design(cells, cell, other, others, row_weight.size(), value);
  double sum = (linear.array() * value.array()).sum();
  Eigen::Index j = 0;
  for (Eigen::Index first = 0; first < design.n_rows; first += block) {
    const Eigen::Index n = std::min(block, design.n_rows - first);
    synth::ByRow logit = design.predictor(first, n);
    const Eigen::ArrayXd largest = logit.rowwise().maxCoeff();
    logit.colwise() -= largest;
    synth::ByRow share = logit.max(-708.0);  // beyond it a share is 3e-308
    synth::exp_in_place(share.data(), share.size());
    const Eigen::ArrayXd total = share.rowwise().sum(), log_total = synth::log_of(total);
    Eigen::ArrayXd moving = row_weight.segment(first, n).array();
    sum -= (moving * (largest + log_total)).sum();
    synth::ByRow slope = synth::ByRow::Zero(n, value.cols());  // by the logarithms of the shares
    for (; j < count.size() && row[j] <= first + n; ++j) {
      const Eigen::Index at = row[j] - 1 - first;
      const int which = category[j] - 1;
      const double w = clamped_weight.coeff(j);
      const double term = constant.coeff(j) + w * (logit.coeff(at, which) - log_total.coeff(at));
      if (std::abs(term) > bound) {
        sum += count.coeff(j) * (term > 0.0 ? bound : -bound);
        continue;
      }
      sum += count.coeff(j) * term;
      slope.coeffRef(at, which) += count.coeff(j) * w;
      moving.coeffRef(at) += count.coeff(j) * w;
    }
    share.colwise() *= moving / total;
    slope -= share;
    design.add(first, slope);
  }
  auto ops = make_partials_propagator(coefficients);
  if constexpr (!is_constant_all<TB>::value) {
    partials<0>(ops) = design.slope() + linear;
  }
  return ops.build(sum);
}

// sum of count .* clamp(constant + weight .* log_share), with log_share the logarithm of
//   inv_logit((threshold[category] - location) * scale) - inv_logit((threshold[category - 1] - location) * scale)
// at location = design[row] * beta, scale = exp(-design[row] * delta); the first threshold below is minus, the last above
// plus infinity. gap[j] = threshold[j + 1] - threshold[j], which a difference would round where they lie close:
// the logarithm is log_inv_logit(above) + log_inv_logit(-below) + log1m_exp(-gap * scale).
// Where gamma has elements, category 0 has the logarithm log_inv_logit(design[row] * gamma), and each other category
// log1m_inv_logit(design[row] * gamma) beside its own.
template <typename TT, typename TG, typename TB, typename TD, typename TA, typename TM, typename TV>
inline return_type_t<TT, TG, TB, TD, TA> ordered_sum(
    const TT& threshold, const TG& gap, const TB& beta, const TD& delta, const TA& gamma, const int& n_rows,
    const TM& cells, const std::vector<int>& cell, const std::vector<int>& other, const TM& others,
    const std::vector<int>& row, const std::vector<int>& category, const TV& weight, const TV& count,
    const TV& constant, const double& bound, std::ostream* /*messages*/) {
  const Eigen::VectorXd cut = value_of(threshold), between = value_of(gap);
  const bool some_apart = gamma.size() > 0;
  Eigen::MatrixXd coefficients(beta.size(), some_apart ? 3 : 2);
  coefficients.col(0) = value_of(beta);
  coefficients.col(1) = value_of(delta);
  if (some_apart) {
    coefficients.col(2) = value_of(gamma);
  }
  synth::DesignParts<TM> design(cells, cell, other, others, n_rows, coefficients);
  const synth::ByRow predictor = design.predictor(0, n_rows);
  const Eigen::ArrayXd location = predictor.col(0), scale = (-predictor.col(1)).exp();
  const int n_cuts = cut.size();
  Eigen::VectorXd by_cut = Eigen::VectorXd::Zero(n_cuts), by_gap = Eigen::VectorXd::Zero(between.size());
  synth::ByRow slope = synth::ByRow::Zero(n_rows, coefficients.cols());  // by location, -log(scale) and logit
  Eigen::ArrayXd log_apart, log_other, share_apart;
  if (some_apart) {
    const Eigen::ArrayXd logit = predictor.col(2), small = (-logit.abs()).exp();
    log_apart = logit.min(0.0) - small.log1p();
    log_other = log_apart - logit;
    share_apart = (logit > 0.0).select(Eigen::ArrayXd::Ones(logit.size()), small) / (1.0 + small);
  }
  constexpr double far = 1e3;  // beyond it a logistic function and its slope are 0 or 1
  constexpr Eigen::Index block = 256;  // terms at once: vectorised, and read from memory once
  Eigen::ArrayXd above(block), below(block), apart(block);
  double sum = 0.0;
  for (Eigen::Index first = 0; first < count.size(); first += block) {
    const Eigen::Index n = std::min(block, count.size() - first);
    for (Eigen::Index i = 0; i < n; ++i) {
      const int at = row[first + i] - 1, which = category[first + i] - 1;
      const double s = scale.coeff(at), middle = location.coeff(at);
      above.coeffRef(i) = which >= 0 && which < n_cuts ? (cut.coeff(which) - middle) * s : far;
      below.coeffRef(i) = which > 0 ? (cut.coeff(which - 1) - middle) * s : -far;
      apart.coeffRef(i) = which > 0 && which < n_cuts ? between.coeff(which - 1) * s : far;
    }
    const Eigen::ArrayXd a = above.head(n), b = below.head(n), g = apart.head(n);
    const Eigen::ArrayXd small_a = synth::exp_of(-a.abs()), small_b = synth::exp_of(-b.abs());
    // 1 - exp(-g), which has no vectorised form of its own, by its series where it would be rounded.
    const Eigen::ArrayXd left = (g < 1e-4).select(g * (1.0 - 0.5 * g * (1.0 - g / 3.0)), 1.0 - synth::exp_of(-g));
    const Eigen::ArrayXd total_a = 1.0 + small_a, total_b = 1.0 + small_b;
    const Eigen::ArrayXd log_share = a.min(0.0) + (-b).min(0.0) + (left / (total_a * total_b)).log();
    // Derivatives of the log share by a, b and g.
    const Eigen::ArrayXd by_a = (a > 0.0).select(small_a, 1.0) / total_a;
    const Eigen::ArrayXd by_b = -(b > 0.0).select(Eigen::ArrayXd::Ones(n), small_b) / total_b;
    const Eigen::ArrayXd by_g = (1.0 - left) / left;
    const Eigen::ArrayXd spread = a * by_a + b * by_b + g * by_g;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double w = weight.coeff(first + i), many = count.coeff(first + i);
      const int at = row[first + i] - 1, which = category[first + i] - 1;
      double log_probability = log_share.coeff(i);
      if (some_apart) {
        log_probability += which < 0 ? log_apart.coeff(at) : log_other.coeff(at);
      }
      const double term = constant.coeff(first + i) + w * log_probability;
      if (std::abs(term) > bound) {
        sum += many * (term > 0.0 ? bound : -bound);
        continue;
      }
      sum += many * term;
      const double moving = many * w, scaled = moving * scale.coeff(at);
      if (some_apart) {
        slope.coeffRef(at, 2) += moving * ((which < 0 ? 1.0 : 0.0) - share_apart.coeff(at));
      }
      if (which < 0) {
        continue;
      }
      if (which < n_cuts) {
        by_cut.coeffRef(which) += scaled * by_a.coeff(i);
      }
      if (which > 0) {
        by_cut.coeffRef(which - 1) += scaled * by_b.coeff(i);
      }
      if (which > 0 && which < n_cuts) {
        by_gap.coeffRef(which - 1) += scaled * by_g.coeff(i);
      }
      slope.coeffRef(at, 0) -= scaled * (by_a.coeff(i) + by_b.coeff(i));
      slope.coeffRef(at, 1) -= moving * spread.coeff(i);
    }
  }
  design.add(0, slope);
  const Eigen::MatrixXd by_coefficients = design.slope();
  auto ops = make_partials_propagator(threshold, gap, beta, delta, gamma);
  if constexpr (!is_constant_all<TT>::value) {
    partials<0>(ops) = by_cut;
  }
  if constexpr (!is_constant_all<TG>::value) {
    partials<1>(ops) = by_gap;
  }
  if constexpr (!is_constant_all<TB>::value) {
    partials<2>(ops) = by_coefficients.col(0);
  }
  if constexpr (!is_constant_all<TD>::value) {
    partials<3>(ops) = by_coefficients.col(1);
  }
  if constexpr (!is_constant_all<TA>::value) {
    if (some_apart) {
      partials<4>(ops) = by_coefficients.col(2);
    }
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
