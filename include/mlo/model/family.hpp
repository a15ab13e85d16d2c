// Copyright (c) the mlo authors. BSD-3-Clause.
// Families of generalised linear models: the law of the response y given the linear predictor eta, and for
// some an auxiliary parameter (the log of a scale). Each works on a batch of rows, so that the loops
// vectorise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "mlo/data/design.hpp"

namespace mlo {

// A batch of rows: what a family sees of them.
struct Batch {
  std::span<const double> eta;
  std::span<const double> y;
  double aux = 0;  // the auxiliary parameter, in working coordinates; unused by most
};

// Derivatives of the row terms f with respect to eta and the auxiliary parameter a. The last three are used
// only by families with has_aux.
struct BatchDerivatives {
  std::span<double> first, second;             // df/deta, d2f/deta2
  std::span<double> aux, aux_second, aux_eta;  // df/da, d2f/da2, d2f/da deta
};

// The interface a family has (checked by the concept Family in glm.hpp):
//   name, has_aux, check(design)          throws DataError where a response breaks the family's rule, with
//   the line terms(batch, out)                     log p(y | eta), complete with its normalising constant
//   sum(batch)                            the sum of the terms, up to the constant part that depends on y
//   alone derivatives(batch, out)               the sum, as above, and the derivatives start(mean_y) a first
//   guess of the intercept recedes(y, t, tolerance)              whether the term never falls as eta moves in
//   the direction of t

struct Logistic {
  static constexpr std::string_view name = "logistic";
  static constexpr bool has_aux = false;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return (2 * y - 1) * t >= -tolerance;
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static double start(double mean_y);
};

struct Probit {
  static constexpr std::string_view name = "probit";
  static constexpr bool has_aux = false;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return (2 * y - 1) * t >= -tolerance;
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static double start(double mean_y);
};

struct Poisson {  // log link
  static constexpr std::string_view name = "poisson";
  static constexpr bool has_aux = false;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return y > 0 ? t >= -tolerance && t <= tolerance : t <= tolerance;
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static double start(double mean_y);
};

struct GaussianMean {  // sigma known
  static constexpr std::string_view name = "gaussian-mean";
  static constexpr bool has_aux = false;
  double sigma = 1;
  [[nodiscard]] static bool recedes(double /*y*/, double /*t*/, double /*tolerance*/) { return false; }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static double start(double mean_y) { return mean_y; }
};

struct Gaussian {  // the auxiliary parameter is log sigma
  static constexpr std::string_view name = "gaussian";
  static constexpr bool has_aux = true;
  static constexpr std::string_view aux_name = "sigma";
  [[nodiscard]] static bool recedes(double /*y*/, double /*t*/, double /*tolerance*/) { return false; }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static double start(double mean_y) { return mean_y; }
};

// log Phi(z), finite for every finite z, and the inverse Mills ratio phi(z) / Phi(z).
[[nodiscard]] double log_normal_cdf(double z) noexcept;
[[nodiscard]] double inverse_mills(double z) noexcept;

}  // namespace mlo
