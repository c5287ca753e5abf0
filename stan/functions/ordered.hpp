// Sums of the log probabilities of ordered categories with analytic gradients, for stan/ordered.stan.
#ifndef SYNTH_ORDERED_HPP
#define SYNTH_ORDERED_HPP
#ifndef STAN_MODEL_MODEL_HEADER_HPP  // else it is there, precompiled
#include <stan/model/model_header.hpp>
#endif

namespace stan {
namespace math {

// sum of count .* clamp(constant + weight .* log_share), with log_share the logarithm of
//   inv_logit((threshold[category] - location) * scale) - inv_logit((threshold[category - 1] - location) * scale)
// at location = rows[row] * beta, scale = exp(-rows[row] * delta); the first threshold below is minus, the last above
// plus infinity. gap[j] = threshold[j + 1] - threshold[j], which a difference would round where they lie close:
// the logarithm is log_inv_logit(above) + log_inv_logit(-below) + log1m_exp(-gap * scale).
// Where gamma has elements, category 0 has the logarithm log_inv_logit(rows[row] * gamma), and each other category
// log1m_inv_logit(rows[row] * gamma) beside its own.
template <typename TT, typename TG, typename TB, typename TD, typename TA, typename TM, typename TV>
inline return_type_t<TT, TG, TB, TD, TA> ordered_sum(const TT& threshold, const TG& gap, const TB& beta,
                                                     const TD& delta, const TA& gamma, const TM& rows,
                                                     const std::vector<int>& row, const std::vector<int>& category,
                                                     const TV& weight, const TV& count, const TV& constant,
                                                     const double& bound, std::ostream* /*messages*/) {
  const Eigen::VectorXd cut = value_of(threshold), between = value_of(gap);
  const Eigen::VectorXd location = rows * value_of(beta);
  const Eigen::VectorXd scale = (-(rows * value_of(delta)).array()).exp();
  const int n_cuts = cut.size();
  Eigen::VectorXd by_cut = Eigen::VectorXd::Zero(n_cuts), by_gap = Eigen::VectorXd::Zero(between.size());
  Eigen::VectorXd by_location = Eigen::VectorXd::Zero(rows.rows()), by_spread = by_location, by_logit = by_location;
  const bool some_apart = gamma.size() > 0;
  Eigen::ArrayXd log_apart, log_other, share_apart;
  if (some_apart) {
    const Eigen::ArrayXd logit = (rows * value_of(gamma)).array(), small = (-logit.abs()).exp();
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
    const Eigen::ArrayXd small_a = (-a.abs()).exp(), small_b = (-b.abs()).exp();
    // 1 - exp(-g), which has no vectorised form of its own, by its series where it would be rounded.
    const Eigen::ArrayXd left = (g < 1e-4).select(g * (1.0 - 0.5 * g * (1.0 - g / 3.0)), 1.0 - (-g).exp());
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
        by_logit.coeffRef(at) += moving * ((which < 0 ? 1.0 : 0.0) - share_apart.coeff(at));
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
      by_location.coeffRef(at) -= scaled * (by_a.coeff(i) + by_b.coeff(i));
      by_spread.coeffRef(at) -= moving * spread.coeff(i);
    }
  }
  auto ops = make_partials_propagator(threshold, gap, beta, delta, gamma);
  if constexpr (!is_constant_all<TT>::value) {
    partials<0>(ops) = by_cut;
  }
  if constexpr (!is_constant_all<TG>::value) {
    partials<1>(ops) = by_gap;
  }
  if constexpr (!is_constant_all<TB>::value) {
    partials<2>(ops) = rows.transpose() * by_location;
  }
  if constexpr (!is_constant_all<TD>::value) {
    partials<3>(ops) = rows.transpose() * by_spread;
  }
  if constexpr (!is_constant_all<TA>::value) {
    if (some_apart) {
      partials<4>(ops) = rows.transpose() * by_logit;
    }
  }
  return ops.build(sum);
}

}  // namespace math
}  // namespace stan
#endif
