// Copyright (c) the mlo authors. BSD-3-Clause.
// Families of generalised linear models: the law of the response y given the linear predictor eta, and for
// some an auxiliary parameter (the log of a scale). Each works on a batch of rows, so that the loops
// vectorise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// Where the search for the mode begins, in working coordinates.
struct StartingPoint {
  std::vector<double> coefficients;
  double aux = 0;
};

// The interface a family has (terms, sum and derivatives are checked by the concept Family in glm.hpp):
//
// name, has_aux       and aux_name, the user's name of e^aux, if there is one
// check(design)       throws DataError where a response breaks the family's rule, with the line
// terms(batch, out)   log p(y | eta), complete with its normalising constant
// sum(batch)          the sum of the terms, up to a constant: what depends on y and known parameters alone
// derivatives(...)    the sum, as above, and the derivatives
// differences(from, to, out)
//                     the terms at `to` less those at `from`, which differ in eta and aux: where a family can
//                     take them together faster, or with less rounding, than two calls of terms
// start(design)       a point from which Newton's method finds its way
// recedes(y, t, tol)  whether the term never falls as eta moves in the direction of t, for any aux
//
// and with has_aux:
//
// degenerate(design, aux, slope)
//                     why the likelihood has no maximum, if the search got as far as this aux, where df/da is
//                     `slope` in all; else ""
// aux_needs_prior     whether the likelihood has a limit other than 0 as aux grows, so that there is no
//                     posterior with a flat prior, and the prior holds where the likelihood does not

struct Logistic {
  static constexpr std::string_view name = "logistic";
  static constexpr bool has_aux = false;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return (2 * y - 1) * t >= -tolerance;
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  void differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static StartingPoint start(const Design& design);
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
  [[nodiscard]] static StartingPoint start(const Design& design);
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
  [[nodiscard]] static StartingPoint start(const Design& design);
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
  [[nodiscard]] static StartingPoint start(const Design& design);
};

struct Gaussian {  // the auxiliary parameter is log sigma
  static constexpr std::string_view name = "gaussian";
  static constexpr bool has_aux = true;
  static constexpr std::string_view aux_name = "sigma";
  static constexpr bool aux_needs_prior = false;
  [[nodiscard]] static bool recedes(double /*y*/, double /*t*/, double /*tolerance*/) { return false; }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static StartingPoint start(const Design& design);
  [[nodiscard]] static std::string degenerate(const Design& design, double aux, double slope);
};

struct StudentKnownScale {  // y = eta + sigma t, t of Student's law
  static constexpr std::string_view name = "student";
  static constexpr bool has_aux = false;
  double freedom = 4;
  double sigma = 1;
  [[nodiscard]] static bool recedes(double /*y*/, double /*t*/, double /*tolerance*/) { return false; }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] StartingPoint start(const Design& design) const;
};

struct Student {  // the auxiliary parameter is log sigma
  static constexpr std::string_view name = "student";
  static constexpr bool has_aux = true;
  static constexpr std::string_view aux_name = "sigma";
  static constexpr bool aux_needs_prior = false;
  double freedom = 4;
  [[nodiscard]] static bool recedes(double /*y*/, double /*t*/, double /*tolerance*/) { return false; }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] StartingPoint start(const Design& design) const;
  [[nodiscard]] static std::string degenerate(const Design& design, double aux, double slope);
};

struct NegativeBinomialKnownSize {  // log link; variance mu + mu^2 / size
  static constexpr std::string_view name = "negative-binomial";
  static constexpr bool has_aux = false;
  double size = 1;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return Poisson::recedes(y, t, tolerance);
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static StartingPoint start(const Design& design);
};

struct NegativeBinomial {  // the auxiliary parameter is log size
  static constexpr std::string_view name = "negative-binomial";
  static constexpr bool has_aux = true;
  static constexpr std::string_view aux_name = "size";
  static constexpr bool aux_needs_prior = true;
  [[nodiscard]] static bool recedes(double y, double t, double tolerance) {
    return Poisson::recedes(y, t, tolerance);
  }
  static void check(const Design& design);
  void terms(const Batch& batch, std::span<double> out) const noexcept;
  [[nodiscard]] double sum(const Batch& batch) const noexcept;
  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept;
  [[nodiscard]] static StartingPoint start(const Design& design);
  [[nodiscard]] static std::string degenerate(const Design& design, double aux, double slope);
};

// log Phi(z), finite for every finite z, and the inverse Mills ratio phi(z) / Phi(z).
[[nodiscard]] double log_normal_cdf(double z) noexcept;
[[nodiscard]] double inverse_mills(double z) noexcept;

// The median, and the median distance from it times 1.4826, which makes it the sd of a normal law. Where half
// of the values are the same: the mean distance.
struct RobustSpread {
  double centre = 0, scale = 0;
};
[[nodiscard]] RobustSpread robust_spread(std::vector<double> values);

}  // namespace mlo
