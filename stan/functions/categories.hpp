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

// Numbers that are added at once, in the registers that a processor has for them.
using Wide = double __attribute__((vector_size(32), aligned(8), may_alias));
constexpr std::ptrdiff_t WIDE = sizeof(Wide) / sizeof(double);

// Rows of predictors, and of tables that they are sums of, are filled up with 0 to `stride` numbers, a multiple of WIDE.
// Of a design's rows, `cell` has `n_groups` numbers each, and `others` n_others columns that are `n_rows` long.
struct PartsOfRows {
  const int* cell;
  const double* others;
  std::ptrdiff_t n, n_groups, n_others, n_rows, stride;
};

// Each row's sum of the rows of a table that its cells name, and of its other columns' products.
SYNTH_WIDEST static void sum_parts(const PartsOfRows rows, const double* of_cell, const double* of_other,
                                   double* __restrict__ found) {
  for (std::ptrdiff_t offset = 0; offset < rows.stride; offset += WIDE) {
    const int* at = rows.cell;
    for (std::ptrdiff_t i = 0; i < rows.n; ++i) {
      Wide sum = {};
      for (std::ptrdiff_t g = 0; g < rows.n_groups; ++g) {
        sum += *reinterpret_cast<const Wide*>(of_cell + (*at++ - 1) * rows.stride + offset);
      }
      for (std::ptrdiff_t j = 0; j < rows.n_others; ++j) {
        sum += rows.others[j * rows.n_rows + i] *
               *reinterpret_cast<const Wide*>(of_other + j * rows.stride + offset);
      }
      *reinterpret_cast<Wide*>(found + i * rows.stride + offset) = sum;
    }
  }
}

// The gradient of that: adds each row of `slope` to the same rows of the tables.
SYNTH_WIDEST static void add_to_parts(const PartsOfRows rows, const double* __restrict__ slope,
                                      double* __restrict__ by_cell, double* __restrict__ by_other) {
  for (std::ptrdiff_t offset = 0; offset < rows.stride; offset += WIDE) {
    const int* at = rows.cell;
    Wide run = {};  // of rows that have the same first cell, as sorted ones do: none waits for the one before
    for (std::ptrdiff_t i = 0; i < rows.n && rows.n_groups > 0; ++i, at += rows.n_groups) {
      const Wide each = *reinterpret_cast<const Wide*>(slope + i * rows.stride + offset);
      run += each;
      for (std::ptrdiff_t g = 1; g < rows.n_groups; ++g) {
        *reinterpret_cast<Wide*>(by_cell + (at[g] - 1) * rows.stride + offset) += each;
      }
      if (i + 1 == rows.n || at[rows.n_groups] != at[0]) {
        *reinterpret_cast<Wide*>(by_cell + (at[0] - 1) * rows.stride + offset) += run;
        run = Wide{};
      }
    }
    for (std::ptrdiff_t j = 0; j < rows.n_others; ++j) {
      Wide sum = {};
      for (std::ptrdiff_t i = 0; i < rows.n; ++i) {
        sum += rows.others[j * rows.n_rows + i] *
               *reinterpret_cast<const Wide*>(slope + i * rows.stride + offset);
      }
      *reinterpret_cast<Wide*>(by_other + j * rows.stride + offset) += sum;
    }
  }
}

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
  Eigen::Index n_rows, n_groups, n_predictors;
  Eigen::Index stride;              // of rows of predictors: how many there are, and what fills them up
  ByRow of_cell, of_other;          // what cells and other columns say, one column a predictor
  ByRow cell_slope, other_slope;    // gradients of a sum over the rows

  DesignParts(const TM& cells_, const std::vector<std::vector<int>>& part_, const std::vector<int>& cell_,
              const std::vector<int>& other_, const TM& others_, Eigen::Index n_rows_,
              const Eigen::MatrixXd& coefficients)
      : cells(cells_), part(part_), cell(cell_), other(other_), others(others_), n_rows(n_rows_), n_groups(part_.size()),
        n_predictors(coefficients.cols()), stride((n_predictors + WIDE - 1) / WIDE * WIDE),
        of_cell(ByRow::Zero(cells_.rows(), stride)), of_other(ByRow::Zero(other_.size(), stride)),
        cell_slope(of_cell), other_slope(of_other) {
    for (const auto& p : part) {
      for (Eigen::Index j = 0; j < n_predictors; ++j) {  // one by one: packing all costs more than it saves
        const Eigen::VectorXd said =
            cells.block(p[0] - 1, p[2] - 1, p[1], p[3]) * coefficients.col(j).segment(p[2] - 1, p[3]);
        of_cell.col(j).segment(p[0] - 1, p[1]) = said.array();
      }
    }
    for (std::size_t j = 0; j < other.size(); ++j) {
      of_other.row(j).head(n_predictors) = coefficients.row(other[j] - 1).array();
    }
  }
  // The linear predictors of n rows, into the first rows of `found`, of `stride` columns.
  void predictor(Eigen::Index first, Eigen::Index n, ByRow& found) const {
    sum_parts(rows(first, n), of_cell.data(), of_other.data(), found.data());
  }
  // Adds the gradient of a sum whose derivatives by the predictors of n rows are the first rows of `slope`.
  void add(Eigen::Index first, Eigen::Index n, const ByRow& slope) {
    add_to_parts(rows(first, n), slope.data(), cell_slope.data(), other_slope.data());
  }
  // By the coefficients, one column a predictor.
  Eigen::MatrixXd slope() const {
    Eigen::MatrixXd found = Eigen::MatrixXd::Zero(cells.cols(), n_predictors);
    for (const auto& p : part) {
      for (Eigen::Index j = 0; j < n_predictors; ++j) {
        const Eigen::VectorXd moved = cell_slope.col(j).segment(p[0] - 1, p[1]).matrix();
        found.col(j).segment(p[2] - 1, p[3]) += cells.block(p[0] - 1, p[2] - 1, p[1], p[3]).transpose() * moved;
      }
    }
    for (std::size_t j = 0; j < other.size(); ++j) {
      found.row(other[j] - 1) += other_slope.row(j).head(n_predictors).matrix();
    }
    return found;
  }

 private:
  PartsOfRows rows(Eigen::Index first, Eigen::Index n) const {
    const double* from = others.size() > 0 ? others.data() + first : nullptr;
    return {cell.data() + first * n_groups, from, n, n_groups, others.cols(), others.rows(), stride};
  }
};

// Of n rows of k logits the largest, and column by column how far below it each is; beyond 708 a share is 3e-308.
SYNTH_WIDEST static void below_largest(const double* logit, std::ptrdiff_t n, std::ptrdiff_t k, std::ptrdiff_t stride,
                                       double* __restrict__ below, double* __restrict__ largest) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    largest[i] = below[i] = logit[i * stride];
  }
  for (std::ptrdiff_t c = 1; c < k; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const double at = logit[i * stride + c];
      below[c * n + i] = at;
      largest[i] = at > largest[i] ? at : largest[i];
    }
  }
  for (std::ptrdiff_t c = 0; c < k; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      const double at = below[c * n + i] - largest[i];
      below[c * n + i] = at > -708.0 ? at : -708.0;
    }
  }
}

// Sums of n rows of k columns.
SYNTH_WIDEST static void sum_columns(const double* column, std::ptrdiff_t n, std::ptrdiff_t k,
                                     double* __restrict__ total) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    total[i] = column[i];
  }
  for (std::ptrdiff_t c = 1; c < k; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      total[i] += column[c * n + i];
    }
  }
}

// Takes from n rows of slopes the columns' shares of `weight`, where `total` is what they sum to.
SYNTH_WIDEST static void take_shares(const double* column, const double* total, std::ptrdiff_t n, std::ptrdiff_t k,
                                     std::ptrdiff_t stride, double* __restrict__ weight, double* __restrict__ slope) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    weight[i] /= total[i];
  }
  for (std::ptrdiff_t c = 0; c < k; ++c) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      slope[i * stride + c] -= column[c * n + i] * weight[i];
    }
  }
}

constexpr double FAR = 1e3;      // beyond it a logistic function and its slope are 0 or 1
constexpr double NOWHERE = 1e300;  // a cut that is not there

// By category, the one apart first: the cuts above and below and what lies between them.
struct Ends {
  Eigen::ArrayXd above, below, apart;

  Ends(const Eigen::VectorXd& cut, const Eigen::VectorXd& gap)
      : above(Eigen::ArrayXd::Constant(cut.size() + 2, NOWHERE)), below(-above), apart(above) {
    above.segment(1, cut.size()) = cut.array();
    below.tail(cut.size()) = cut.array();
    apart.segment(2, gap.size()) = gap.array();
  }
};

// Of n records, whose categories are given: where these end for their rows, on the scale of a logit; the logarithms of
// their shares, and the slopes of what follows from them.
struct Intervals {
  Eigen::ArrayXd above, below, apart, scale, logit, other;  // other: 1 unless the category stands apart
  Eigen::ArrayXd log_share, by_above, by_below, by_apart, by_spread, by_logit, by_location, small;

  void make_room(Eigen::Index n) {
    if (n > above.size()) {
      for (Eigen::ArrayXd* each : {&above, &below, &apart, &scale, &logit, &other, &log_share, &by_above, &by_below,
                                   &by_apart, &by_spread, &by_logit, &by_location}) {
        each->setZero(n);
      }
      small.setZero(3 * n);
    }
  }
};

// Where the ends lie, from what the rows say. Plain loads: vector gathers are slower.
static void lay_ends(const Ends& ends, const int* row, const int* category, Eigen::Index first, Eigen::Index n,
                     const double* predictor, Eigen::Index stride, const double* row_scale, Intervals& found) {
  const double *cut_above = ends.above.data(), *cut_below = ends.below.data(), *gap = ends.apart.data();
  double *__restrict__ above = found.above.data(), *__restrict__ below = found.below.data(),
         *__restrict__ apart = found.apart.data(), *__restrict__ scale = found.scale.data(),
         *__restrict__ logit = found.logit.data(), *__restrict__ other = found.other.data();
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::Index at = row[i] - first, c = category[i];
    const double middle = predictor[at * stride], s = row_scale[at];
    const double a = (cut_above[c] - middle) * s, b = (cut_below[c] - middle) * s, g = gap[c] * s;
    above[i] = a > FAR ? FAR : a;
    below[i] = b < -FAR ? -FAR : b;
    apart[i] = g > FAR ? FAR : g;
    scale[i] = s;
    logit[i] = predictor[at * stride + 2];
    other[i] = c != 0;
  }
}

// Adds the slopes to those of rows and of categories.
static void add_slopes(const Intervals& found, const int* row, const int* category, Eigen::Index first, Eigen::Index n,
                       Eigen::Index stride, double* __restrict__ by_row, double* __restrict__ by_category) {
  const double *by_location = found.by_location.data(), *by_spread = found.by_spread.data(),
               *by_logit = found.by_logit.data(), *by_above = found.by_above.data(),
               *by_below = found.by_below.data(), *by_apart = found.by_apart.data();
  for (Eigen::Index i = 0; i < n; ++i) {
    double *to = by_row + (row[i] - first) * stride, *by = by_category + 3 * category[i];
    to[0] += by_location[i];
    to[1] += by_spread[i];
    to[2] += by_logit[i];
    by[0] += by_above[i];
    by[1] += by_below[i];
    by[2] += by_apart[i];
  }
}

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

// The same where a category stands apart: small: exp(-|logit|), log_total: log(1 + small).
SYNTH_WIDEST static void tell_apart(const double* logit, const double* other, const double* small,
                                    const double* log_total, std::ptrdiff_t n, double* __restrict__ log_share,
                                    double* __restrict__ by_logit) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double at = logit[i], share = (at > 0.0 ? 1.0 : small[i]) / (1.0 + small[i]);
    log_share[i] += ((at < 0.0 ? at : 0.0) - log_total[i]) - other[i] * at;
    by_logit[i] = (1.0 - other[i]) - share;
  }
}

// Logarithms of shares become terms, count * clamp(constant + weight * log share), and their slopes those of the terms: by
// the cuts instead of the ends, and by location, -log(scale) and logit.
SYNTH_WIDEST static void clamp_terms(const double* weight, const double* count, const double* constant, double bound,
                                     const double* scale, std::ptrdiff_t n, double* __restrict__ term,
                                     double* __restrict__ by_above, double* __restrict__ by_below,
                                     double* __restrict__ by_apart, double* __restrict__ by_spread,
                                     double* __restrict__ by_logit, double* __restrict__ by_location) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double plain = constant[i] + weight[i] * term[i];
    const double below = plain > bound ? bound : plain, clamped = below < -bound ? -bound : below;  // NaN stays
    const double moving = clamped == plain ? count[i] * weight[i] : 0.0, scaled = moving * scale[i];
    term[i] = count[i] * clamped;
    by_above[i] *= scaled;
    by_below[i] *= scaled;
    by_apart[i] *= scaled;
    by_spread[i] *= -moving;
    by_logit[i] *= moving;
    by_location[i] = -(by_above[i] + by_below[i]);
  }
}

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
  Eigen::ArrayXXd share(block, n_categories);
  Eigen::ArrayXd largest(block), total(block), log_total, moving;
  logit.resize(block, design.stride);
  slope.resize(block, design.stride);
  for (Eigen::Index first = 0; first < design.n_rows; first += block) {
    const Eigen::Index n = std::min(block, design.n_rows - first);
    design.predictor(first, n, logit);
    synth::below_largest(logit.data(), n, n_categories, design.stride, share.data(), largest.data());
    synth::exp_in_place(share.data(), n * n_categories);
    synth::sum_columns(share.data(), n, n_categories, total.data());
    log_total = synth::log_of(total.head(n)) + largest.head(n);
    moving = row_weight.segment(first, n).array();
    sum -= (moving * log_total).sum();
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
    synth::take_shares(share.data(), total.data(), n, n_categories, design.stride, moving.data(), slope.data());
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
  const synth::Ends ends(cut, between);
  std::vector<double> by_category(3 * (n_cuts + 2), 0.0);  // slopes by its ends
  constexpr Eigen::Index block = 256;  // rows at once: they and their terms stay in a core's cache
  synth::ByRow predictor(std::min<Eigen::Index>(block, n_rows), design.stride), slope(predictor.rows(), design.stride);
  Eigen::ArrayXd scale;
  synth::Intervals found;
  double sum = 0.0;
  Eigen::Index j = 0;
  for (Eigen::Index first = 0; first < n_rows && j < count.size(); first += block) {
    const Eigen::Index n = std::min<Eigen::Index>(block, n_rows - first), from = j;
    j = std::upper_bound(row.begin() + from, row.end(), first + n) - row.begin();
    const Eigen::Index m = j - from;
    if (m == 0) {
      continue;
    }
    design.predictor(first, n, predictor);
    scale = synth::exp_of((-predictor.col(1).head(n)).min(700.0));
    found.make_room(m);
    synth::lay_ends(ends, &row[from], &category[from], first + 1, m, predictor.data(), design.stride, scale.data(),
                    found);
    synth::less_than_none(found.above.data(), found.below.data(), found.apart.data(), m, found.small.data());
    synth::exp_in_place(found.small.data(), 3 * m);
    synth::slopes_of_intervals(found.above.data(), found.below.data(), found.apart.data(), m, found.small.data(),
                               found.by_above.data(), found.by_below.data(), found.by_apart.data(),
                               found.by_spread.data());
    synth::log_in_place(found.small.data(), m);
    found.log_share.head(m) = found.above.head(m).min(0.0) + (-found.below.head(m)).min(0.0) - found.small.head(m);
    if (some_apart) {
      const Eigen::ArrayXd small = synth::exp_of(-found.logit.head(m).abs()), log_total = synth::log_of(1.0 + small);
      synth::tell_apart(found.logit.data(), found.other.data(), small.data(), log_total.data(), m,
                        found.log_share.data(), found.by_logit.data());
    }
    synth::clamp_terms(&weight.coeff(from), &count.coeff(from), &constant.coeff(from), bound, found.scale.data(), m,
                       found.log_share.data(), found.by_above.data(), found.by_below.data(), found.by_apart.data(),
                       found.by_spread.data(), found.by_logit.data(), found.by_location.data());
    sum += found.log_share.head(m).sum();
    slope.setZero();
    synth::add_slopes(found, &row[from], &category[from], first + 1, m, design.stride, slope.data(),
                      by_category.data());
    design.add(first, n, slope);
  }
  Eigen::VectorXd by_cut(n_cuts), by_gap(between.size());
  for (Eigen::Index c = 0; c < n_cuts; ++c) {
    by_cut.coeffRef(c) = by_category[3 * (c + 1)] + by_category[3 * (c + 2) + 1];
    if (c > 0) {
      by_gap.coeffRef(c - 1) = by_category[3 * (c + 1) + 2];
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
