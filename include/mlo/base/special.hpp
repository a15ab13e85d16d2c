// Copyright (c) the mlo authors. BSD-3-Clause.
// Special functions over arrays, with SIMD through Highway's dynamic dispatch (no -march needed).
// Each function states its largest error in units in the last place (ULP) and, in brackets, the largest
// found; tests/base/special_test.cpp measures it against long double on every instruction set of the machine.
// NaN gives NaN. in and out may be the same array; sizes must agree.
// Each element's result does not depend on its position or on the array's length. It may differ in the last
// bits between instruction sets (those with fused multiply-add and those without).
#pragma once

#include <span>

namespace mlo {

// e^x: 1.25 ULP (1.09), also where the result is subnormal. inf above 709.78, 0 below -745.13.
void exp(std::span<const double> x, std::span<double> out) noexcept;

// log x for x > 0: 1 ULP (0.93). -inf at 0, NaN below.
void log(std::span<const double> x, std::span<double> out) noexcept;

// log(1 + e^x): 2.25 ULP (2.08). Never overflows, and is e^x to the last bits where x is very negative.
void softplus(std::span<const double> x, std::span<double> out) noexcept;

// log(1 + e^b) - log(1 + e^a) for each pair. Error: 1 ULP of the result plus 1.25 (1.06) ULPs of the smaller
// of 1 and e^max(a, b). Subtracting two results of softplus would have the errors of both, however close a
// and b are.
void softplus_difference(std::span<const double> a, std::span<const double> b,
                         std::span<double> out) noexcept;

// 1 / (1 + e^-x): 2.5 ULP (2.38) in both tails.
void sigmoid(std::span<const double> x, std::span<double> out) noexcept;

// sum_i log(1 + e^x_i) with one log for many rows: the product of (1 + e^-|x|) is taken first. Relative error
// below 1e-14 for any length (where the sum is not subnormal).
[[nodiscard]] double sum_softplus(std::span<const double> x) noexcept;

// Both of the above from one e^x per element: fills in sigmoid(x) and returns sum_softplus(x), the same bits.
double sigmoid_and_sum_softplus(std::span<const double> x, std::span<double> out) noexcept;

// log Gamma(x) for one number x > 0. Thread-safe, unlike std::lgamma, which writes to a global.
[[nodiscard]] double log_gamma(double x) noexcept;

// log Phi(z), finite for every finite z, and the inverse Mills ratio phi(z) / Phi(z), for one number.
[[nodiscard]] double log_normal_cdf(double z) noexcept;
[[nodiscard]] double inverse_mills(double z) noexcept;

// The name of the instruction set the dispatcher chose on this machine, e.g. "AVX2"; part of a run's record.
[[nodiscard]] const char* simd_target() noexcept;

}  // namespace mlo
