// Clamped sums with analytic gradients, for the Stan programs that name this file as their user header.
//
// Each is the plain Stan form of its comment, checked against it in tests/models/test_stan_targets.py. A term
// beyond the bound is a constant, so its gradient is exactly zero. One pass over the records, no autodiff node a
// record: many times faster than the plain form on thousands of records.
#ifndef SYNTH_CLAMPED_HPP
#define SYNTH_CLAMPED_HPP
#ifndef STAN_MODEL_MODEL_HEADER_HPP  // else it is there, precompiled
#include <stan/model/model_header.hpp>
#endif

namespace stan {
namespace math {

namespace synth {

// Adds count * clamp(term) to `sum`, and returns the count if the term moves: 0 beyond the bound.
inline double add_clamped(double term, double count, double bound, double& sum) {
  if (term > bound) {
    sum += count * bound;
    return 0.0;
  }
  if (term < -bound) {
    sum -= count * bound;
    return 0.0;
  }
  sum += count * term;
  return count;
}

// Pr(0), Pr(other) and their logarithms at some logits: one exponential and one logarithm each, vectorised.
struct Logistic {
  Eigen::ArrayXd zero, other, log_zero, log_other;
  explicit Logistic(const Eigen::ArrayXd& logit) {
    const Eigen::ArrayXd small = (-logit.abs()).exp();
    const Eigen::ArrayXd total = 1.0 + small, log_total = total.log();
    zero = (logit >= 0.0).select(Eigen::ArrayXd::Ones(logit.size()), small) / total;
    other = (logit >= 0.0).select(small, Eigen::ArrayXd::Ones(logit.size())) / total;
    log_zero = logit.min(0.0) - log_total;
    log_other = (-logit).min(0.0) - log_total;
  }
};

constexpr Eigen::Index BLOCK = 256;  // rows at once: read from memory once for value and gradient

// Rows of a design whose columns of few values are kept once a cell, and the others by row.
template <typename TM>  // a view of data: a reference to another type would be one to a copy that is gone
struct DesignRows {
  const TM& cells;
  const std::vector<int>& cell;
  const std::vector<int>& other;
  const TM& others;
  Eigen::VectorXd of_cell, of_other;          // what the cells say at some coefficients; the others' coefficients
  Eigen::VectorXd cell_slope, other_slope;    // gradients of a sum over the rows

  DesignRows(const TM& cells_, const std::vector<int>& cell_, const std::vector<int>& other_, const TM& others_,
             const Eigen::VectorXd& coefficients)
      : cells(cells_), cell(cell_), other(other_), others(others_), of_cell(cells * coefficients),
        of_other(other.size()), cell_slope(Eigen::VectorXd::Zero(cells.rows())),
        other_slope(Eigen::VectorXd::Zero(other.size())) {
    for (std::size_t j = 0; j < other.size(); ++j) {
      of_other.coeffRef(j) = coefficients.coeff(other[j] - 1);
    }
  }
  Eigen::Index size() const { return cell.size(); }
  // The linear predictor of n rows.
  Eigen::ArrayXd predictor(Eigen::Index first, Eigen::Index n) const {
    Eigen::ArrayXd found(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      found.coeffRef(i) = of_cell.coeff(cell[first + i] - 1);
    }
    if (!other.empty()) {
      found += (others.middleRows(first, n) * of_other).array();
    }
    return found;
  }
  // Adds the gradient of a sum whose derivatives by the predictors of n rows are `slope`.
  template <typename T>
  void add(Eigen::Index first, const T& slope) {
    for (Eigen::Index i = 0; i < slope.size(); ++i) {
      cell_slope.coeffRef(cell[first + i] - 1) += slope.coeff(i);
    }
    if (!other.empty()) {
      other_slope += others.middleRows(first, slope.size()).transpose() * slope.matrix();
    }
  }
  // By the coefficients.
  Eigen::VectorXd slope() const {
    Eigen::VectorXd found = cells.transpose() * cell_slope;
    for (std::size_t j = 0; j < other.size(); ++j) {
      found.coeffRef(other[j] - 1) += other_slope.coeff(j);
    }
    return found;
  }
};

}  // namespace synth

// sum of count .* clamp(constant + features .* coefficients[row] summed over the columns).
//
// coefficients: one row a distinct row of the design; features: one row a record.
template <typename TC, typename TF, typename TV>
inline return_type_t<TC> clamped_linear(const TC& coefficients, const TF& features, const TV& constant,
                                        const std::vector<int>& row, const TV& count, const double& bound,
                                        std::ostream* /*messages*/) {
  const Eigen::MatrixXd value = value_of(coefficients);
  Eigen::MatrixXd slope = Eigen::MatrixXd::Zero(value.rows(), value.cols());
  double sum = 0.0;
  for (Eigen::Index i = 0; i < features.rows(); ++i) {
    const int r = row[i] - 1;
    double term = constant.coeff(i);
    for (Eigen::Index q = 0; q < value.cols(); ++q) {
      term += features.coeff(i, q) * value(r, q);
    }
    const double moving = synth::add_clamped(term, count.coeff(i), bound, sum);
    if (moving != 0.0) {
      for (Eigen::Index q = 0; q < value.cols(); ++q) {
        slope(r, q) += moving * features.coeff(i, q);
      }
    }
  }
  auto ops = make_partials_propagator(coefficients);
  if constexpr (!is_constant_all<TC>::value) {
    partials<0>(ops) = slope;
  }
  return ops.build(sum);
}

// The same for records of one design row in an order in which terms rise or fall, and turn at most once, whatever the
// coefficients: those beyond a bound are then runs of records, found by bisection, and sums are differences of `prefix`.
//
// prefix: row i has the sums over the first i records of count .* (features, constant, 1).
template <typename TC, typename TM, typename TV>
inline return_type_t<TC> clamped_runs(const TC& coefficients, const TM& features, const TV& constant, const TM& prefix,
                                      const double& bound, std::ostream* /*messages*/) {
  const Eigen::VectorXd value = value_of(coefficients);
  const Eigen::Index k = value.size(), n = features.rows();
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(k);
  double sum = 0.0;
  auto term = [&](Eigen::Index i) {
    double found = constant.coeff(i);
    for (Eigen::Index q = 0; q < k; ++q) {
      found += features.coeff(i, q) * value.coeff(q);
    }
    return found;
  };
  // The first of [from, to) for which `holds`, which stays true once it is.
  auto first = [](Eigen::Index from, Eigen::Index to, auto holds) {
    while (from < to) {
      const Eigen::Index middle = from + (to - from) / 2;
      if (holds(middle)) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  };
  auto add = [&](Eigen::Index from, Eigen::Index to, double clamped) {  // 0 where the terms are within the bound
    const double count = prefix.coeff(to, k + 1) - prefix.coeff(from, k + 1);
    if (clamped != 0.0) {
      sum += clamped * count;
      return;
    }
    for (Eigen::Index q = 0; q < k; ++q) {
      const double feature = prefix.coeff(to, q) - prefix.coeff(from, q);
      sum += feature * value.coeff(q);
      slope.coeffRef(q) += feature;
    }
    sum += prefix.coeff(to, k) - prefix.coeff(from, k);
  };
  const bool rises = n > 1 && term(1) > term(0);
  const Eigen::Index turn = first(1, n, [&](Eigen::Index i) { return (term(i) > term(i - 1)) != rises; });
  const Eigen::Index ends[3] = {0, turn, n};
  for (int part = 0; part < 2; ++part) {
    const double sign = (part == 0) == rises ? 1.0 : -1.0;  // sign * term rises here
    const Eigen::Index from = ends[part], to = ends[part + 1];
    const Eigen::Index in = first(from, to, [&](Eigen::Index i) { return sign * term(i) >= -bound; });
    const Eigen::Index out = first(in, to, [&](Eigen::Index i) { return sign * term(i) > bound; });
    add(from, in, -sign * bound);
    add(in, out, 0.0);
    add(out, to, sign * bound);
  }
  auto ops = make_partials_propagator(coefficients);
  if constexpr (!is_constant_all<TC>::value) {
    partials<0>(ops) = slope;
  }
  return ops.build(sum);
}

// Terms of a two-part normal regression, with residuals rows * (1, u) and logit Pr(0) = z * gamma, z by `DesignRows`:
//   sum of count .* clamp(constant - weight .* (log_sigma + square(residual) / (2 sigma^2) - log1m_inv_logit(logit)))
//   + sum of zero_count .* clamp(zero_constant + zero_weight .* log_inv_logit(logit)).
// Without a zero part gamma is empty, and nothing is added to the first.
//
// Terms that are known to be within the bound, or beyond it, where u, s and v are as short as they are here are taken
// from the sums of `settled_moments` and `settled_sums`, see lognormal.stan; only the others are looked at.
// row_weight: sum of count .* weight by row of the zero part.
template <typename TU, typename TS, typename TG, typename TX, typename TY, typename TM, typename TV, typename TA,
          typename TW, typename TZ>
inline return_type_t<TU, TS, TG> clamped_two_part(
    const TU& u, const TS& log_sigma, const TG& gamma, const TX& s, const TY& v, const TM& rows, const TV& constant,
    const TV& weight, const TV& count, const std::vector<int>& row, const int& n_moving, const TV& radius,
    const std::vector<int>& settled_inside, const std::vector<int>& settled_beyond, const TA& settled_moments,
    const TM& settled_sums, const TW& row_weight, const TM& cells, const std::vector<int>& cell,
    const std::vector<int>& other, const TM& others, const TZ& zero_constant, const TZ& zero_weight,
    const TZ& zero_count, const std::vector<int>& zero_row, const double& bound, std::ostream* /*messages*/) {
  const Eigen::Index k = rows.cols() - 1, n = rows.rows();
  const bool zeros = gamma.size() > 0;
  Eigen::VectorXd direction(k + 1);
  direction << 1.0, value_of(u);
  const double log_scale = value_of(log_sigma);
  const double inverse_variance = std::exp(-2.0 * log_scale);
  synth::DesignRows<TM> design(cells, cell, other, others, value_of(gamma));
  const synth::Logistic part(design.predictor(0, design.size()));
  double sum = 0.0, scale_slope = 0.0;
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(k);
  Eigen::VectorXd zero_slope = Eigen::VectorXd::Zero(design.size());

  const double apart = std::max({direction.tail(k).norm(), std::fabs(value_of(s)), value_of(v).norm()});
  Eigen::Index level = 0;
  while (level < radius.size() && radius.coeff(level) < apart) {
    ++level;
  }
  const bool some = level < radius.size();
  const Eigen::Index inside = some ? settled_inside[level] : 0, beyond = some ? settled_beyond[level] : 0;
  if (some) {
    const Eigen::VectorXd moved = settled_moments[level] * direction;
    const double squares = direction.dot(moved) * inverse_variance, mass = settled_sums(level, 0);
    sum += settled_sums(level, 1) + settled_sums(level, 2) - mass * log_scale - 0.5 * squares;
    scale_slope += squares - mass;
    slope -= inverse_variance * moved.tail(k);
  }
  if (zeros) {  // as if all terms were within the bound, less those that may not be
    sum += (row_weight.array() * part.log_other).sum();
    zero_slope.array() -= row_weight.array() * part.zero;
    for (Eigen::Index i = inside; i < n; ++i) {
      const double w = count.coeff(i) * weight.coeff(i);
      sum -= w * part.log_other.coeff(row[i] - 1);
      zero_slope.coeffRef(row[i] - 1) += w * part.zero.coeff(row[i] - 1);
    }
  }
  auto look = [&](Eigen::Index from, Eigen::Index to) {
    for (Eigen::Index first = from; first < to; first += synth::BLOCK) {
      const Eigen::Index size = std::min(synth::BLOCK, to - first);
      Eigen::VectorXd residual = rows.middleRows(first, size) * direction;
      for (Eigen::Index j = 0; j < size; ++j) {
        const Eigen::Index i = first + j;
        const double r = residual.coeff(j), w = weight.coeff(i);
        const double square = r * r * inverse_variance;
        double term = constant.coeff(i) - w * (log_scale + 0.5 * square);
        if (zeros) {
          term += w * part.log_other.coeff(row[i] - 1);
        }
        const double moving = w * synth::add_clamped(term, count.coeff(i), bound, sum);
        residual.coeffRef(j) = moving * r * inverse_variance;
        scale_slope += moving * (square - 1.0);
        if (zeros) {
          zero_slope.coeffRef(row[i] - 1) -= moving * part.zero.coeff(row[i] - 1);
        }
      }
      slope -= rows.middleRows(first, size).rightCols(k).transpose() * residual;
    }
  };
  look(inside, n_moving);
  look(n_moving + beyond, n);

  for (Eigen::Index j = 0; j < zero_weight.size(); ++j) {
    const int at = zero_row[j] - 1;
    const double term = zero_constant.coeff(j) + zero_weight.coeff(j) * part.log_zero.coeff(at);
    const double moving = zero_weight.coeff(j) * synth::add_clamped(term, zero_count.coeff(j), bound, sum);
    zero_slope.coeffRef(at) += moving * part.other.coeff(at);
  }
  auto ops = make_partials_propagator(u, log_sigma, gamma);
  if constexpr (!is_constant_all<TU>::value) {
    partials<0>(ops) = slope;
  }
  if constexpr (!is_constant_all<TS>::value) {
    partials<1>(ops)[0] = scale_slope;
  }
  if constexpr (!is_constant_all<TG>::value) {
    if (zeros) {
      design.add(0, zero_slope);
      partials<2>(ops) = design.slope();
    }
  }
  return ops.build(sum);
}

// Terms of a normal mixture regression of records y in rows of a design, m = log sum_k pi_k Normal(y | row * beta_k,
// sigma_k) without log(sqrt(2 * pi)), and logit Pr(0) = z * gamma, z by `DesignRows`, of the same rows:
//   sum of count .* clamp(constant + weight .* (m + log1m_inv_logit(logit))) over the first records, as many as `count`,
//   + sum of weight .* m over the others + sum of zero_count .* clamp(zero_constant + zero_weight .* log_inv_logit(logit)).
// Without a zero part gamma is empty, and nothing is added to m.
template <typename TB, typename TS, typename TP, typename TG, typename TM, typename TV, typename TZ>
inline return_type_t<TB, TS, TP, TG> mixture_sum(
    const TB& beta, const TS& sigma, const TP& log_pi, const TG& gamma, const TM& rows, const TV& response,
    const std::vector<int>& row, const TV& weight, const TV& constant, const TV& count, const TM& cells,
    const std::vector<int>& cell, const std::vector<int>& other, const TM& others, const TZ& zero_constant,
    const TZ& zero_weight, const TZ& zero_count, const std::vector<int>& zero_row, const double& bound,
    std::ostream* /*messages*/) {
  const Eigen::MatrixXd coefficients = value_of(beta);
  const Eigen::ArrayXd spread = value_of(sigma), inverse = spread.inverse();
  const Eigen::ArrayXd level = value_of(log_pi).array() - spread.log();
  const Eigen::Index n = response.size(), n_clamped = count.size(), n_components = spread.size();
  const bool zeros = gamma.size() > 0 && n_clamped + zero_weight.size() > 0;
  const Eigen::MatrixXd mean = rows * coefficients;
  Eigen::MatrixXd mean_slope = Eigen::MatrixXd::Zero(mean.rows(), n_components);
  Eigen::ArrayXd spread_slope = Eigen::ArrayXd::Zero(n_components), share_slope = Eigen::ArrayXd::Zero(n_components);
  synth::DesignRows<TM> design(cells, cell, other, others, value_of(gamma));
  const synth::Logistic part(zeros ? design.predictor(0, design.size()) : Eigen::ArrayXd());
  Eigen::VectorXd zero_slope = Eigen::VectorXd::Zero(design.size());
  double sum = 0.0;
  for (Eigen::Index first = 0; first < n; first += synth::BLOCK) {
    const Eigen::Index size = std::min(synth::BLOCK, n - first);
    Eigen::ArrayXXd standard(size, n_components);
    for (Eigen::Index q = 0; q < n_components; ++q) {
      for (Eigen::Index j = 0; j < size; ++j) {
        standard(j, q) = (response.coeff(first + j) - mean(row[first + j] - 1, q)) * inverse.coeff(q);
      }
    }
    Eigen::ArrayXXd share = -0.5 * standard.square();
    share.rowwise() += level.transpose();
    const Eigen::ArrayXd largest = share.rowwise().maxCoeff();
    share.colwise() -= largest;
    share = share.exp();
    const Eigen::ArrayXd total = share.rowwise().sum(), found = largest + total.log();
    Eigen::ArrayXd moving(size);  // the derivative by m
    for (Eigen::Index j = 0; j < size; ++j) {
      const Eigen::Index i = first + j;
      const double w = weight.coeff(i);
      if (i >= n_clamped) {
        sum += w * found.coeff(j);
        moving.coeffRef(j) = w;
        continue;
      }
      const int at = row[i] - 1;
      const double term = constant.coeff(i) + w * (found.coeff(j) + (zeros ? part.log_other.coeff(at) : 0.0));
      moving.coeffRef(j) = w * synth::add_clamped(term, count.coeff(i), bound, sum);
      if (zeros) {
        zero_slope.coeffRef(at) -= moving.coeff(j) * part.zero.coeff(at);
      }
    }
    share.colwise() *= moving / total;
    share_slope += share.colwise().sum().transpose();
    for (Eigen::Index q = 0; q < n_components; ++q) {
      const Eigen::ArrayXd pull = share.col(q) * standard.col(q);
      spread_slope.coeffRef(q) += ((pull * standard.col(q)).sum() - share.col(q).sum()) * inverse.coeff(q);
      for (Eigen::Index j = 0; j < size; ++j) {
        mean_slope(row[first + j] - 1, q) += pull.coeff(j) * inverse.coeff(q);
      }
    }
  }
  for (Eigen::Index j = 0; j < zero_weight.size(); ++j) {
    const int at = zero_row[j] - 1;
    const double term = zero_constant.coeff(j) + zero_weight.coeff(j) * part.log_zero.coeff(at);
    const double moving = zero_weight.coeff(j) * synth::add_clamped(term, zero_count.coeff(j), bound, sum);
    zero_slope.coeffRef(at) += moving * part.other.coeff(at);
  }
  auto ops = make_partials_propagator(beta, sigma, log_pi, gamma);
  if constexpr (!is_constant_all<TB>::value) {
    partials<0>(ops) = rows.transpose() * mean_slope;
  }
  if constexpr (!is_constant_all<TS>::value) {
    partials<1>(ops) = spread_slope.matrix();
  }
  if constexpr (!is_constant_all<TP>::value) {
    partials<2>(ops) = share_slope.matrix();
  }
  if constexpr (!is_constant_all<TG>::value) {
    if (zeros) {
      design.add(0, zero_slope);
      partials<3>(ops) = design.slope();
    }
  }
  return ops.build(sum);
}

// Log mass of a negative binomial regression of counts, log mean eta = row_center + rows * u by row of the design, without
// what no parameter enters: l = lgamma(x + phi) - lgamma(phi) + phi * log(phi) - (x + phi) * log(phi + exp(eta)) + x * eta.
//   sum of l, weighted, of which value_weight is the sum of weights by value, row_weight by row, and row_mass of weight * x,
//   + sum of count .* clamp(constant + weight .* l).
template <typename TU, typename TP, typename TM, typename TV>
inline return_type_t<TU, TP> negative_binomial_sum(
    const TU& u, const TP& phi, const TM& rows, const TV& row_center, const TV& values, const TV& value_weight,
    const TV& row_weight, const TV& row_mass, const std::vector<int>& value, const std::vector<int>& row,
    const TV& weight, const TV& constant, const TV& count, const double& bound, std::ostream* /*messages*/) {
  const double dispersion = value_of(phi);
  const Eigen::ArrayXd eta = row_center + rows * value_of(u), mean = eta.exp(), log_total = (dispersion + mean).log();
  const double fixed = dispersion * std::log(dispersion) - lgamma(dispersion);
  Eigen::ArrayXd by_value(values.size());
  for (Eigen::Index j = 0; j < values.size(); ++j) {
    by_value.coeffRef(j) = lgamma(values.coeff(j) + dispersion);
  }
  double sum = row_weight.sum() * fixed + (value_weight.array() * by_value).sum();
  sum += (row_mass.array() * eta - (row_mass.array() + dispersion * row_weight.array()) * log_total).sum();
  // The gradient is that of an unclamped sum in which terms beyond the bound have no weight.
  Eigen::ArrayXd of_value = value_weight, of_row = row_weight, mass = row_mass;
  for (Eigen::Index i = 0; i < count.size(); ++i) {
    const int v = value[i] - 1, r = row[i] - 1;
    const double x = values.coeff(v), w = weight.coeff(i);
    const double l = fixed + by_value.coeff(v) - (x + dispersion) * log_total.coeff(r) + x * eta.coeff(r);
    const double moving = w * synth::add_clamped(constant.coeff(i) + w * l, count.coeff(i), bound, sum);
    of_value.coeffRef(v) += moving;
    of_row.coeffRef(r) += moving;
    mass.coeffRef(r) += moving * x;
  }
  auto ops = make_partials_propagator(u, phi);
  const Eigen::ArrayXd both = (mass + dispersion * of_row) / (dispersion + mean);
  if constexpr (!is_constant_all<TU>::value) {
    partials<0>(ops) = rows.transpose() * (mass - both * mean).matrix();
  }
  if constexpr (!is_constant_all<TP>::value) {
    double slope = of_row.sum() * (std::log(dispersion) + 1.0 - digamma(dispersion));
    for (Eigen::Index j = 0; j < values.size(); ++j) {
      slope += of_value.coeff(j) * digamma(values.coeff(j) + dispersion);
    }
    partials<1>(ops)[0] = slope - (of_row * log_total + both).sum();
  }
  return ops.build(sum);
}

// sum of zero_weight .* log_inv_logit(logit) + other_weight .* log1m_inv_logit(logit), logit = z * gamma.
template <typename TG, typename TM, typename TV>
inline return_type_t<TG> zero_part_sum(const TG& gamma, const TM& cells, const std::vector<int>& cell,
                                       const std::vector<int>& other, const TM& others, const TV& zero_weight,
                                       const TV& other_weight, std::ostream* /*messages*/) {
  if (gamma.size() == 0) {
    return 0.0;
  }
  synth::DesignRows<TM> design(cells, cell, other, others, value_of(gamma));
  double sum = 0.0;
  for (Eigen::Index first = 0; first < design.size(); first += synth::BLOCK) {
    const Eigen::Index n = std::min(synth::BLOCK, design.size() - first);
    const Eigen::ArrayXd weight = zero_weight.segment(first, n), both = weight + other_weight.segment(first, n).array();
    // The same as weight * logit - both * log1p_exp(logit): half of what the two logarithms cost.
    const Eigen::ArrayXd logit = design.predictor(first, n), small = (-logit.abs()).exp(), total = 1.0 + small;
    const Eigen::ArrayXd share = total.inverse();
    sum += (weight * logit - both * (logit.max(0.0) + total.log())).sum();
    design.add(first, Eigen::ArrayXd(weight - both * (logit >= 0.0).select(share, small * share)));
  }
  auto ops = make_partials_propagator(gamma);
  if constexpr (!is_constant_all<TG>::value) {
    partials<0>(ops) = design.slope();
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
