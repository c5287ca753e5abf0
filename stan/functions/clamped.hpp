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

// Terms of a two-part normal regression, with residuals rows * (1, u) and logit Pr(0) = zero_center + zero_rows * v:
//   sum of count .* clamp(constant - weight .* (log_sigma + square(residual) / (2 sigma^2) - log1m_inv_logit(logit)))
//   + sum of zero_count .* clamp(zero_constant + zero_weight .* log_inv_logit(logit)).
// Without a zero part v is empty, and nothing is added to the first.
template <typename TU, typename TS, typename TG, typename TM, typename TV, typename TZ>
inline return_type_t<TU, TS, TG> clamped_two_part(
    const TU& u, const TS& log_sigma, const TG& v, const TM& rows, const TV& constant, const TV& weight,
    const TV& count, const std::vector<int>& row, const TM& zero_rows, const TV& zero_center, const TZ& zero_constant,
    const TZ& zero_weight, const TZ& zero_count, const std::vector<int>& zero_row, const double& bound,
    std::ostream* /*messages*/) {
  const Eigen::Index k = rows.cols() - 1;
  const bool zeros = v.size() > 0;
  Eigen::VectorXd direction(k + 1);
  direction << 1.0, value_of(u);
  Eigen::VectorXd residual = rows * direction;
  const double log_scale = value_of(log_sigma);
  const double inverse_variance = std::exp(-2.0 * log_scale);
  Eigen::VectorXd zero_slope = Eigen::VectorXd::Zero(zeros ? zero_rows.rows() : 0);
  const synth::Logistic part(zeros ? Eigen::ArrayXd(zero_center + zero_rows * value_of(v)) : Eigen::ArrayXd());
  double sum = 0.0, scale_slope = 0.0;
  for (Eigen::Index i = 0; i < residual.size(); ++i) {
    const double r = residual.coeff(i), w = weight.coeff(i);
    const double square = r * r * inverse_variance;
    double term = constant.coeff(i) - w * (log_scale + 0.5 * square);
    if (zeros) {
      term += w * part.log_other.coeff(row[i] - 1);
    }
    const double moving = w * synth::add_clamped(term, count.coeff(i), bound, sum);
    residual.coeffRef(i) = moving * r * inverse_variance;
    scale_slope += moving * (square - 1.0);
    if (zeros) {
      zero_slope.coeffRef(row[i] - 1) -= moving * part.zero.coeff(row[i] - 1);
    }
  }
  for (Eigen::Index j = 0; j < zero_weight.size(); ++j) {
    const int at = zero_row[j] - 1;
    const double term = zero_constant.coeff(j) + zero_weight.coeff(j) * part.log_zero.coeff(at);
    const double moving = zero_weight.coeff(j) * synth::add_clamped(term, zero_count.coeff(j), bound, sum);
    zero_slope.coeffRef(at) += moving * part.other.coeff(at);
  }
  auto ops = make_partials_propagator(u, log_sigma, v);
  if constexpr (!is_constant_all<TU>::value) {
    partials<0>(ops) = -(rows.rightCols(k).transpose() * residual);
  }
  if constexpr (!is_constant_all<TS>::value) {
    partials<1>(ops)[0] = scale_slope;
  }
  if constexpr (!is_constant_all<TG>::value) {
    if (zeros) {
      partials<2>(ops) = zero_rows.transpose() * zero_slope;
    }
  }
  return ops.build(sum);
}

// sum of zero_weight .* log_inv_logit(logit) + other_weight .* log1m_inv_logit(logit), logit = center + rows * v.
template <typename TG, typename TM, typename TV>
inline return_type_t<TG> zero_part_sum(const TG& v, const TM& rows, const TV& center, const TV& zero_weight,
                                       const TV& other_weight, std::ostream* /*messages*/) {
  if (v.size() == 0) {
    return 0.0;
  }
  const Eigen::VectorXd value = value_of(v);
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(value.size());
  double sum = 0.0;
  for (Eigen::Index first = 0; first < rows.rows(); first += synth::BLOCK) {
    const Eigen::Index n = std::min(synth::BLOCK, rows.rows() - first);
    const auto block = rows.middleRows(first, n);
    const Eigen::ArrayXd zeros = zero_weight.segment(first, n), others = other_weight.segment(first, n);
    const synth::Logistic part((center.segment(first, n) + block * value).array());
    sum += (zeros * part.log_zero + others * part.log_other).sum();
    slope += block.transpose() * (zeros * part.other - others * part.zero).matrix();
  }
  auto ops = make_partials_propagator(v);
  if constexpr (!is_constant_all<TG>::value) {
    partials<0>(ops) = slope;
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
