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
// each combination of its values, a cell; `part` has of each group its first cell, how many there are, and the first and
// the number of the columns that are not 0 in them. A row's linear predictor is the sum of its cells', one in each group,
// and of what its other columns add: a few additions where a product with all columns takes two operations a column.
template <typename TM>  // a view of data
struct DesignParts {
  const TM& cells;                  // 0 in the columns that are not of the cell's group
  const std::vector<std::vector<int>>& part;
  const std::vector<int>& cell;     // of each row its cells, row after row
  const std::vector<int>& other;    // the other columns, and their values
  const TM& others;
  Eigen::Index n_rows, n_groups;
  ByRow of_cell, of_other;        // what cells and other columns say, one column a predictor
  ByRow cell_slope, other_slope;  // gradients of a sum over the rows

  DesignParts(const TM& cells_, const std::vector<std::vector<int>>& part_, const std::vector<int>& cell_,
              const std::vector<int>& other_, const TM& others_, Eigen::Index n_rows_,
              const Eigen::MatrixXd& coefficients)
      : cells(cells_), part(part_), cell(cell_), other(other_), others(others_), n_rows(n_rows_), n_groups(part_.size()),
        of_cell(cells_.rows(), coefficients.cols()), of_other(other_.size(), coefficients.cols()),
        cell_slope(ByRow::Zero(cells_.rows(), coefficients.cols())),
        other_slope(ByRow::Zero(other_.size(), coefficients.cols())) {
    for (const auto& p : part) {
      for (Eigen::Index j = 0; j < coefficients.cols(); ++j) {  // one by one: packing all costs more than it saves
        const Eigen::VectorXd said =
            cells.block(p[0] - 1, p[2] - 1, p[1], p[3]) * coefficients.col(j).segment(p[2] - 1, p[3]);
        of_cell.col(j).segment(p[0] - 1, p[1]) = said.array();
      }
    }
    for (std::size_t j = 0; j < other.size(); ++j) {
      of_other.row(j) = coefficients.row(other[j] - 1).array();
    }
  }
  // The linear predictors of n rows, of shape (n, n_predictors), into the first rows of `found`.
  void predictor(Eigen::Index first, Eigen::Index n, ByRow& found) const {
    found.topRows(n).setZero();
    of_width(of_cell.cols(), [&](auto wide) {
      each_cell(first, n, [&](Eigen::Index i, Eigen::Index of) {
        const double* from = of_cell.data() + of * wide;
        double* to = found.data() + i * wide;
        for (Eigen::Index p = 0; p < wide; ++p) {
          to[p] += from[p];
        }
      });
      for (std::size_t j = 0; j < other.size(); ++j) {
        const double* from = of_other.data() + j * wide;
        for (Eigen::Index i = 0; i < n; ++i) {
          const double z = others.coeff(first + i, j);
          double* to = found.data() + i * wide;
          for (Eigen::Index p = 0; p < wide; ++p) {
            to[p] += z * from[p];
          }
        }
      }
    });
  }
  // Adds the gradient of a sum whose derivatives by the predictors of n rows are the first rows of `slope`.
  void add(Eigen::Index first, Eigen::Index n, const ByRow& slope) {
    of_width(of_cell.cols(), [&](auto wide) {
      each_cell(first, n, [&](Eigen::Index i, Eigen::Index of) {
        const double* from = slope.data() + i * wide;
        double* to = cell_slope.data() + of * wide;
        for (Eigen::Index p = 0; p < wide; ++p) {
          to[p] += from[p];
        }
      });
      for (std::size_t j = 0; j < other.size(); ++j) {
        double* to = other_slope.data() + j * wide;
        for (Eigen::Index i = 0; i < n; ++i) {
          const double z = others.coeff(first + i, j);
          const double* from = slope.data() + i * wide;
          for (Eigen::Index p = 0; p < wide; ++p) {
            to[p] += z * from[p];
          }
        }
      }
    });
  }
  // By the coefficients, one column a predictor.
  Eigen::MatrixXd slope() const {
    Eigen::MatrixXd found = Eigen::MatrixXd::Zero(cells.cols(), of_cell.cols());
    for (const auto& p : part) {
      for (Eigen::Index j = 0; j < found.cols(); ++j) {
        const Eigen::VectorXd moved = cell_slope.col(j).segment(p[0] - 1, p[1]).matrix();
        found.col(j).segment(p[2] - 1, p[3]) += cells.block(p[0] - 1, p[2] - 1, p[1], p[3]).transpose() * moved;
      }
    }
    for (std::size_t j = 0; j < other.size(); ++j) {
      found.row(other[j] - 1) += other_slope.row(j).matrix();
    }
    return found;
  }

 private:
  // Calls with every row of n and each of its cells.
  template <typename F>
  void each_cell(Eigen::Index first, Eigen::Index n, const F& call) const {
    const int* at = cell.data() + first * n_groups;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index g = 0; g < n_groups; ++g) {
        call(i, *at++ - 1);
      }
    }
  }
  // Calls with the number of predictors, which the compiler knows where it is small: loops over it are unrolled.
  template <typename F>
  static void of_width(Eigen::Index wide, const F& call) {
    switch (wide) {
      case 2: return call(std::integral_constant<Eigen::Index, 2>());
      case 3: return call(std::integral_constant<Eigen::Index, 3>());
      case 4: return call(std::integral_constant<Eigen::Index, 4>());
      case 5: return call(std::integral_constant<Eigen::Index, 5>());
      case 6: return call(std::integral_constant<Eigen::Index, 6>());
      default: return call(wide);
    }
  }
};

constexpr double FAR = 1e3;  // beyond it a logistic function and its slope are 0 or 1

// (cut - middle) * scale, or where there is no cut a place far away.
struct End {
  double cut, some, away;
  double at(double middle, double scale) const { return some * (cut - middle) * scale + away; }
};

// Of a category: of what lies above and below it, and how far they are apart.
struct Ends {
  End above{0.0, 0.0, FAR}, below{0.0, 0.0, -FAR}, apart{0.0, 0.0, FAR};  // a log share of 0: the category apart
};

SYNTH_WIDEST static void less_than_none(const double* __restrict__ above, const double* __restrict__ below,
                                        const double* __restrict__ apart, std::ptrdiff_t n,
                                        double* __restrict__ found) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double a = -std::fabs(above[i]), b = -std::fabs(below[i]), g = -apart[i];
    found[i] = a > -708.0 ? a : -708.0;
    found[n + i] = b > -708.0 ? b : -708.0;
    found[2 * n + i] = g > -708.0 ? g : -708.0;
  }
}

// small: exp(-|above|), exp(-|below|), exp(-apart). Afterwards the slopes, and in the first third of `small` what the
// logarithm of the share is less, beside the smaller ones of above and 0 and of -below and 0.
SYNTH_WIDEST static void slopes_of_intervals(const double* __restrict__ above, const double* __restrict__ below,
                                             const double* __restrict__ apart, std::ptrdiff_t n,
                                             double* __restrict__ small, double* __restrict__ by_above,
                                             double* __restrict__ by_below, double* __restrict__ by_apart,
                                             double* __restrict__ spread) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double a = above[i], b = below[i], g = apart[i];
    const double small_a = small[i], small_b = small[n + i], total_a = 1.0 + small_a, total_b = 1.0 + small_b;
    // 1 - exp(-g), by its series where it would be rounded.
    const double series = g * (1.0 - 0.5 * g * (1.0 - g / 3.0)), plain = 1.0 - small[2 * n + i];
    const double exact = g < 1e-4 ? series : plain, left = exact > 1e-300 ? exact : 1e-300;
    const double both = total_a * total_b, inverse = 1.0 / (both * left);
    by_above[i] = (a > 0.0 ? small_a : 1.0) * total_b * left * inverse;
    by_below[i] = -(b > 0.0 ? 1.0 : small_b) * total_a * left * inverse;
    by_apart[i] = (1.0 - left) * both * inverse;
    spread[i] = a * by_above[i] + b * by_below[i] + g * by_apart[i];
    small[i] = both * both * inverse;
  }
}

// Logarithms of inv_logit(above) - inv_logit(below), where apart = above - below, and their slopes by each of the three:
// of the first n of each array, which have room for more.
struct Intervals {
  Eigen::ArrayXd above, below, apart, log_share, by_above, by_below, by_apart, spread, small;

  void make_room(Eigen::Index n) {
    if (n <= above.size()) {
      return;
    }
    for (Eigen::ArrayXd* each : {&above, &below, &apart, &log_share, &by_above, &by_below, &by_apart, &spread}) {
      each->resize(n);
    }
    small.resize(3 * n);
  }
  void evaluate(Eigen::Index n) {
    less_than_none(above.data(), below.data(), apart.data(), n, small.data());
    exp_in_place(small.data(), 3 * n);
    slopes_of_intervals(above.data(), below.data(), apart.data(), n, small.data(), by_above.data(), by_below.data(),
                        by_apart.data(), spread.data());
    log_in_place(small.data(), n);
    log_share.head(n) = above.head(n).min(0.0) + (-below.head(n)).min(0.0) - small.head(n);
  }
};

}  // namespace synth

// sum over rows and categories of weight .* log_share
//   + sum of count .* clamp(constant + clamped_weight .* log_share[row, category]),
// with log_share the logarithms of the shares that softmax makes of each row of the design times the coefficients.
// linear: design' * weight; row_weight: sums of weight by row; row: of the clamped records, ascending.
template <typename TB, typename TM, typename TV>
inline return_type_t<TB> categorical_sum(const TB& coefficients, const TM& linear, const TV& row_weight,
                                         const TM& cells, const std::vector<std::vector<int>>& part,
                                         const std::vector<int>& cell, const std::vector<int>& other,
                                         const TM& others, const TV& constant, const TV& clamped_weight,
                                         const TV& count, const std::vector<int>& row,
                                         const std::vector<int>& category, const double& bound,
                                         std::ostream* /*messages*/) {
  constexpr Eigen::Index block = 256;  // rows at once: they stay in a core's cache
  const Eigen::MatrixXd value = value_of(coefficients);
  const Eigen::Index n_categories = value.cols();
  synth::DesignParts<TM> design(cells, part, cell, other, others, row_weight.size(), value);
  double sum = (linear.array() * value.array()).sum();
  Eigen::Index j = 0;
  synth::ByRow logit, slope;  // slope: by the logarithms of the shares
  Eigen::ArrayXXd share;
  Eigen::ArrayXd largest, total, log_total, moving;
  for (Eigen::Index first = 0; first < design.n_rows; first += block) {
    const Eigen::Index n = std::min(block, design.n_rows - first);
    logit.resize(n, n_categories);
    design.predictor(first, n, logit);
    share = logit;
    largest = share.col(0);
    for (Eigen::Index c = 1; c < n_categories; ++c) {
      largest = largest.max(share.col(c));
    }
    for (Eigen::Index c = 0; c < n_categories; ++c) {
      share.col(c) = (share.col(c) - largest).max(-708.0);  // beyond it a share is 3e-308
    }
    synth::exp_in_place(share.data(), share.size());
    total = share.col(0);
    for (Eigen::Index c = 1; c < n_categories; ++c) {
      total += share.col(c);
    }
    log_total = total;
    synth::log_in_place(log_total.data(), n);
    log_total += largest;
    moving = row_weight.segment(first, n).array();
    sum -= (moving * log_total).sum();
    slope.resize(n, n_categories);
    slope.setZero();
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
    moving /= total;
    for (Eigen::Index c = 0; c < n_categories; ++c) {
      slope.col(c) -= share.col(c) * moving;
    }
    design.add(first, n, slope);
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
    const TM& cells, const std::vector<std::vector<int>>& part, const std::vector<int>& cell,
    const std::vector<int>& other, const TM& others, const std::vector<int>& row, const std::vector<int>& category,
    const TV& weight, const TV& count, const TV& constant, const double& bound, std::ostream* /*messages*/) {
  if (count.size() == 0) {
    return 0.0;
  }
  const Eigen::VectorXd cut = value_of(threshold), between = value_of(gap);
  const Eigen::Index n_cuts = cut.size(), predictors = gamma.size() > 0 ? 3 : 2;
  const bool some_apart = predictors == 3;
  Eigen::MatrixXd coefficients(beta.size(), predictors);
  coefficients.col(0) = value_of(beta);
  coefficients.col(1) = value_of(delta);
  if (some_apart) {
    coefficients.col(2) = value_of(gamma);
  }
  synth::DesignParts<TM> design(cells, part, cell, other, others, n_rows, coefficients);
  // By category, the one apart first: the cuts above and below and what lies between them, or that they are far away.
  std::vector<synth::Ends> ends(n_cuts + 2);
  std::vector<std::array<double, 4>> by_category(n_cuts + 2, std::array<double, 4>{});  // slopes by its ends
  for (Eigen::Index c = 0; c <= n_cuts; ++c) {
    if (c < n_cuts) {
      ends[c + 1].above = synth::End{cut.coeff(c), 1.0, 0.0};
    }
    if (c > 0) {
      ends[c + 1].below = synth::End{cut.coeff(c - 1), 1.0, 0.0};
    }
    if (c > 0 && c < n_cuts) {
      ends[c + 1].apart = synth::End{between.coeff(c - 1), 1.0, 0.0};
    }
  }
  constexpr Eigen::Index block = 256;  // rows at once: they and their terms stay in a core's cache
  synth::ByRow predictor(std::min<Eigen::Index>(block, n_rows), predictors), slope(predictor.rows(), predictors);
  Eigen::ArrayXd scale, log_apart, log_other, share_apart;
  synth::Intervals found;
  double sum = 0.0;
  Eigen::Index j = 0;
  for (Eigen::Index first = 0; first < n_rows && j < count.size(); first += block) {
    const Eigen::Index n = std::min<Eigen::Index>(block, n_rows - first), from = j;
    while (j < count.size() && row[j] <= first + n) {
      ++j;
    }
    const Eigen::Index m = j - from;
    if (m == 0) {
      continue;
    }
    design.predictor(first, n, predictor);
    scale = synth::exp_of((-predictor.col(1).head(n)).min(700.0));
    if (some_apart) {
      const Eigen::ArrayXd logit = predictor.col(2).head(n), small = synth::exp_of(-logit.abs());
      log_apart = logit.min(0.0) - synth::log_of(1.0 + small);
      log_other = log_apart - logit;
      share_apart = (logit > 0.0).select(Eigen::ArrayXd::Ones(n), small) / (1.0 + small);
    }
    found.make_room(m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const Eigen::Index at = row[from + i] - 1 - first;
      const double middle = predictor.coeff(at, 0), s = scale.coeff(at);
      const synth::Ends& of = ends[category[from + i]];
      found.above.coeffRef(i) = of.above.at(middle, s);
      found.below.coeffRef(i) = of.below.at(middle, s);
      found.apart.coeffRef(i) = of.apart.at(0.0, s);
    }
    found.evaluate(m);
    slope.setZero();
    for (Eigen::Index i = 0; i < m; ++i) {
      const double w = weight.coeff(from + i), many = count.coeff(from + i);
      const Eigen::Index at = row[from + i] - 1 - first, which = category[from + i];
      double log_probability = found.log_share.coeff(i);
      if (some_apart) {
        log_probability += which == 0 ? log_apart.coeff(at) : log_other.coeff(at);
      }
      const double term = constant.coeff(from + i) + w * log_probability;
      if (std::abs(term) > bound) {
        sum += many * (term > 0.0 ? bound : -bound);
        continue;
      }
      sum += many * term;
      const double moving = many * w, scaled = moving * scale.coeff(at);
      double* to = slope.data() + at * predictors;  // by location, -log(scale) and logit
      to[0] -= scaled * (found.by_above.coeff(i) + found.by_below.coeff(i));
      to[1] -= moving * found.spread.coeff(i);
      if (some_apart) {
        to[2] += moving * ((which == 0 ? 1.0 : 0.0) - share_apart.coeff(at));
      }
      by_category[which][0] += scaled * found.by_above.coeff(i);
      by_category[which][1] += scaled * found.by_below.coeff(i);
      by_category[which][2] += scaled * found.by_apart.coeff(i);
    }
    design.add(first, n, slope);
  }
  Eigen::VectorXd by_cut(n_cuts), by_gap(between.size());
  for (Eigen::Index c = 0; c < n_cuts; ++c) {
    by_cut.coeffRef(c) = by_category[c + 1][0] + by_category[c + 2][1];
    if (c > 0) {
      by_gap.coeffRef(c - 1) = by_category[c + 1][2];
    }
  }
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
