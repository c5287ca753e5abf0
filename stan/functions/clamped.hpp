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
#include <limits>

#include "vector_math.hpp"

namespace stan {
namespace math {

namespace synth {

// standard = (y - mean of its row) * inverse, and term = level - standard^2 / 2.
SYNTH_WIDEST static void standard_residuals(const double* y, const int* row, const double* mean, double inverse,
                                            double level, std::ptrdiff_t n, double* standard, double* term) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    standard[i] = (y[i] - mean[row[i] - 1]) * inverse;
    term[i] = level - 0.5 * standard[i] * standard[i];
  }
}

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
    const Eigen::ArrayXd small = exp_of(-logit.abs());
    const Eigen::ArrayXd total = 1.0 + small, log_total = log_of(total);
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

// Coefficients beta_j of K regressions with a common prior, in the coordinates of mixture.stan, and below them a row with the logarithm of their
// prior and of the Jacobian of u -> beta. With F = diag(s) * L, P = inverse(F * F') and the Cholesky factor C_j of
// precision[j] + P:
//   beta_j = inverse(C_j') * (inverse(C_j) * shift_j + u_j),
//   log prior = -sum(log(diagonal(C_j))) - sum(log(diagonal(F))) - 0.5 * beta_j' * P * beta_j.
template <typename TU, typename TS, typename TL, typename TP, typename TM>
inline Eigen::Matrix<return_type_t<TU, TS, TL>, Eigen::Dynamic, Eigen::Dynamic> conditional_coefficients(
    const TU& u, const TS& s, const TL& L, const std::vector<TP>& precision, const TM& shift,
    std::ostream* /*messages*/) {
  using Eigen::MatrixXd;
  using Eigen::VectorXd;
  const Eigen::Index k = shift.rows(), n_components = shift.cols();
  arena_t<MatrixXd> moved = value_of(u), correlation = value_of(L);
  arena_t<VectorXd> scale = value_of(s);
  const MatrixXd prior_factor = scale.asDiagonal() * correlation;
  const MatrixXd identity = MatrixXd::Identity(k, k);
  arena_t<MatrixXd> inverse_factor = prior_factor.template triangularView<Eigen::Lower>().solve(identity);
  arena_t<MatrixXd> prior_precision = inverse_factor.transpose() * inverse_factor;
  arena_t<MatrixXd> inverses(n_components * k, k), pulled(k, n_components), result(k + 1, n_components);
  const double log_prior_scale = prior_factor.diagonal().array().log().sum();
  for (Eigen::Index j = 0; j < n_components; ++j) {
    const Eigen::LLT<MatrixXd> found(precision[j] + prior_precision);
    if (found.info() != Eigen::Success) {
      throw std::domain_error("conditional_coefficients: the precision of a regression is not positive definite");
    }
    const MatrixXd inverse = found.matrixL().solve(identity);
    pulled.col(j) = inverse * shift.col(j);
    const VectorXd beta = inverse.transpose() * (pulled.col(j) + moved.col(j));
    inverses.middleRows(j * k, k) = inverse;
    result.col(j).head(k) = beta;
    result(k, j) = inverse.diagonal().array().log().sum() - log_prior_scale - 0.5 * beta.dot(prior_precision * beta);
  }
  if constexpr (is_constant_all<TU, TS, TL>::value) {
    return result;
  } else {
    arena_t<promote_scalar_t<var, TU>> arena_u = u;
    arena_t<promote_scalar_t<var, TS>> arena_s = s;
    arena_t<promote_scalar_t<var, TL>> arena_l = L;
    arena_t<Eigen::Matrix<var, Eigen::Dynamic, Eigen::Dynamic>> found = result;
    reverse_pass_callback([=]() mutable {
      // With R = inverse(C): the gradient by precision + P, summed over components, is -(R' * Y + Y' * R) / 2 and
      // symmetric terms of rank two, Y being what a Cholesky factor's gradient takes of u and the pull on it.
      MatrixXd scaled(n_components * k, k), slope = MatrixXd::Zero(k, k);  // slope: by P
      const MatrixXd by_result = found.adj();
      MatrixXd by_u(k, n_components);
      for (Eigen::Index j = 0; j < n_components; ++j) {
        const auto inverse = inverses.middleRows(j * k, k);
        const double by_prior = by_result(k, j);
        const VectorXd beta = result.col(j).head(k);
        by_u.col(j) = inverse * (by_result.col(j).head(k) - by_prior * (prior_precision * beta));
        const VectorXd mean = inverse.transpose() * pulled.col(j), pull = inverse.transpose() * by_u.col(j);
        slope -= 0.5 * (mean * pull.transpose() + pull * mean.transpose() + by_prior * (beta * beta.transpose()));
        Eigen::RowVectorXd before = Eigen::RowVectorXd::Zero(k);
        for (Eigen::Index a = 0; a < k; ++a) {
          const Eigen::RowVectorXd row = inverse.row(a), added = by_u(a, j) * row;
          scaled.row(j * k + a) = 0.5 * by_prior * row + moved(a, j) * (before + 0.5 * added);
          before += added;
        }
      }
      const MatrixXd half = inverses.transpose() * scaled;
      slope -= 0.5 * (half + half.transpose());
      MatrixXd by_factor = -2.0 * (prior_precision * (slope * inverse_factor.transpose()));
      by_factor.diagonal() -= by_result.row(k).sum() * inverse_factor.diagonal();
      arena_u.adj() += by_u;
      for (Eigen::Index b = 0; b < k; ++b) {
        for (Eigen::Index a = b; a < k; ++a) {
          arena_s.adj().coeffRef(a) += by_factor(a, b) * correlation(a, b);
          arena_l.adj().coeffRef(a, b) += by_factor(a, b) * scale(a);
        }
      }
    });
    return found;
  }
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
    Eigen::ArrayXXd standard(size, n_components), share(size, n_components);
    Eigen::ArrayXd largest = Eigen::ArrayXd::Constant(size, -std::numeric_limits<double>::infinity());
    for (Eigen::Index q = 0; q < n_components; ++q) {
      synth::standard_residuals(response.data() + first, row.data() + first, mean.col(q).data(), inverse.coeff(q),
                                level.coeff(q), size, standard.col(q).data(), share.col(q).data());
      largest = largest.max(share.col(q));
    }
    Eigen::ArrayXd total = Eigen::ArrayXd::Zero(size);
    for (Eigen::Index q = 0; q < n_components; ++q) {
      share.col(q) = synth::exp_of(share.col(q) - largest);
      total += share.col(q);
    }
    const Eigen::ArrayXd found = largest + synth::log_of(total);
    Eigen::ArrayXd moving = weight.segment(first, size);  // the derivative by m
    const Eigen::Index clamped = std::max(std::min(n_clamped - first, size), Eigen::Index(0));
    sum += (moving * found).tail(size - clamped).sum();
    for (Eigen::Index j = 0; j < clamped; ++j) {
      const Eigen::Index i = first + j;
      const int at = row[i] - 1;
      const double w = weight.coeff(i);
      const double term = constant.coeff(i) + w * (found.coeff(j) + (zeros ? part.log_other.coeff(at) : 0.0));
      moving.coeffRef(j) = w * synth::add_clamped(term, count.coeff(i), bound, sum);
      if (zeros) {
        zero_slope.coeffRef(at) -= moving.coeff(j) * part.zero.coeff(at);
      }
    }
    moving /= total;
    for (Eigen::Index q = 0; q < n_components; ++q) {
      share.col(q) *= moving;
      const Eigen::ArrayXd pull = share.col(q) * standard.col(q) * inverse.coeff(q);
      const double of_share = share.col(q).sum();
      share_slope.coeffRef(q) += of_share;
      spread_slope.coeffRef(q) += (pull * standard.col(q)).sum() - of_share * inverse.coeff(q);
      for (Eigen::Index j = 0; j < size; ++j) {
        mean_slope(row[first + j] - 1, q) += pull.coeff(j);
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

// Log mass of a negative binomial regression of counts, log mean eta = rows * beta by row of the design, without what
// no parameter enters: l = lgamma(x + phi) - lgamma(phi) + phi * log(phi) - (x + phi) * log(phi + exp(eta)) + x * eta.
//   sum of l, weighted, of which value_weight is the sum of weights by value, row_weight by row, and row_mass of weight * x,
//   + sum of count .* clamp(constant + weight .* l).
template <typename TU, typename TP, typename TM, typename TV>
inline return_type_t<TU, TP> negative_binomial_sum(
    const TU& beta, const TP& phi, const TM& rows, const TV& values, const TV& value_weight,
    const TV& row_weight, const TV& row_mass, const std::vector<int>& value, const std::vector<int>& row,
    const TV& weight, const TV& constant, const TV& count, const double& bound, std::ostream* /*messages*/) {
  const double dispersion = value_of(phi);
  const Eigen::ArrayXd eta = rows * value_of(beta), mean = eta.exp(), log_total = (dispersion + mean).log();
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
  auto ops = make_partials_propagator(beta, phi);
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

// dot_product(zero_sum, gamma) - sum of weight .* log1p_exp(logit), logit = z * gamma.
//
// With zero_sum the sum of zero_weight * z, and weight that of zero_weight and other_weight, the same as
//   sum of zero_weight .* log_inv_logit(logit) + other_weight .* log1m_inv_logit(logit).
template <typename TG, typename TM, typename TS, typename TV>
inline return_type_t<TG> zero_part_sum(const TG& gamma, const TM& cells, const std::vector<int>& cell,
                                       const std::vector<int>& other, const TM& others, const TS& zero_sum,
                                       const TV& weight, std::ostream* /*messages*/) {
  if (gamma.size() == 0) {
    return 0.0;
  }
  const Eigen::VectorXd coefficients = value_of(gamma);
  synth::DesignRows<TM> design(cells, cell, other, others, coefficients);
  double sum = zero_sum.dot(coefficients);
  for (Eigen::Index first = 0; first < design.size(); first += synth::BLOCK) {
    const Eigen::Index n = std::min(synth::BLOCK, design.size() - first);
    const Eigen::ArrayXd mass = weight.segment(first, n), logit = design.predictor(first, n);
    const Eigen::ArrayXd small = synth::exp_of(-logit.abs()), total = 1.0 + small, share = total.inverse();
    sum -= (mass * (logit.max(0.0) + synth::log_of(total))).sum();
    design.add(first, Eigen::ArrayXd(-mass * (logit >= 0.0).select(share, small * share)));
  }
  auto ops = make_partials_propagator(gamma);
  if constexpr (!is_constant_all<TG>::value) {
    partials<0>(ops) = zero_sum + design.slope();
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
