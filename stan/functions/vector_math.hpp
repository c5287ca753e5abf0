// Exponentials and logarithms of many numbers at once, for the sums in C++ beside this file.
#ifndef SYNTH_VECTOR_MATH_HPP
#define SYNTH_VECTOR_MATH_HPP
#ifndef STAN_MODEL_MODEL_HEADER_HPP  // else it is there, precompiled
#include <stan/model/model_header.hpp>
#endif
#include <cstdint>
#include <cstring>

namespace stan {
namespace math {
namespace synth {

// Loops that the compiler turns into vector instructions, the widest that the processor has: chosen when the program
// starts. Eigen's are two numbers at a time in a program for any processor. Products and sums are not fused, so that every
// processor rounds in the same way.
#if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SYNTH_WIDEST \
  __attribute__((optimize("fp-contract=off"), target_clones("avx512f", "avx2", "default")))
#else
#define SYNTH_WIDEST
#endif

// exp(x) to a unit in the last place, x from -708 to 709.
SYNTH_WIDEST static void exp_in_place(double* x, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double at = x[i];
    const double shifted = at * 1.4426950408889634 + 0x1.8p52;  // its last bits: how many times two is a factor
    const double times = shifted - 0x1.8p52;
    const double r = (at - times * 0x1.62e42fee00000p-1) - times * 0x1.a39ef35793c76p-33;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r * r + r + 1.0;
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    std::memcpy(&power, &bits, sizeof power);
    x[i] = sum * power;
  }
}

// log(x) to a unit or two in the last place, x at least 1 and finite.
SYNTH_WIDEST static void log_in_place(double* x, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    std::uint64_t bits;
    std::memcpy(&bits, &x[i], sizeof bits);
    const std::uint64_t halvings = (bits - 0x3fe6a09e667f3bcd) >> 52;  // until it is below the root of two
    bits -= halvings << 52;
    double m, times;
    std::memcpy(&m, &bits, sizeof m);
    const std::uint64_t number = halvings | 0x4330000000000000;
    std::memcpy(&times, &number, sizeof times);
    times -= 0x1p52;
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double sum = 1.0 / 19.0;
    sum = sum * z + 1.0 / 17.0;
    sum = sum * z + 1.0 / 15.0;
    sum = sum * z + 1.0 / 13.0;
    sum = sum * z + 1.0 / 11.0;
    sum = sum * z + 1.0 / 9.0;
    sum = sum * z + 1.0 / 7.0;
    sum = sum * z + 1.0 / 5.0;
    sum = sum * z + 1.0 / 3.0;
    x[i] = times * 0x1.62e42fee00000p-1 + (times * 0x1.a39ef35793c76p-33 + (2.0 * s * z * sum + 2.0 * s));
  }
}

// exp(x) of logarithms of shares, 3e-308 where x is below -708.
inline Eigen::ArrayXd exp_of(const Eigen::ArrayXd& x) {
  Eigen::ArrayXd found = x.max(-708.0);
  exp_in_place(found.data(), found.size());
  return found;
}

inline Eigen::ArrayXd log_of(Eigen::ArrayXd x) {
  log_in_place(x.data(), x.size());
  return x;
}

}  // namespace synth
}  // namespace math
}  // namespace stan
#endif
