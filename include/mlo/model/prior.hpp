// Copyright (c) the mlo authors. BSD-3-Clause.
// Prior densities of one parameter.
#pragma once

#include <string>
#include <string_view>

namespace mlo {

class Prior {
 public:
  enum class Kind { flat, normal, student_t, cauchy, laplace, gamma, beta };

  [[nodiscard]] static Prior flat() { return {Kind::flat, 0, 1, 0}; }
  [[nodiscard]] static Prior normal(double location, double scale);
  [[nodiscard]] static Prior student_t(double freedom, double location, double scale);
  [[nodiscard]] static Prior cauchy(double location, double scale);
  [[nodiscard]] static Prior laplace(double location, double scale);
  [[nodiscard]] static Prior gamma(double shape, double rate);  // on x > 0, mean shape / rate

  [[nodiscard]] static Prior beta(double a, double b);  // on 0 < x < 1, mean a / (a + b)

  // "normal(0, 2.5)", "student_t(3, 0, 2.5)", "cauchy(0, 1)", "laplace(0, 1)", "gamma(2, 0.1)",
  // "exponential(1)", "beta(1, 1)", "flat". `option` names where the text came from. Throws UsageError with
  // the rule and the value.
  [[nodiscard]] static Prior parse(std::string_view text, std::string_view option);

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool proper() const noexcept { return kind_ != Kind::flat; }
  [[nodiscard]] double location() const noexcept { return a_; }
  [[nodiscard]] double scale() const noexcept { return b_; }
  [[nodiscard]] std::string text() const;

  // Normalised; minus infinity outside the support; 0 for flat.
  [[nodiscard]] double log_density(double x) const noexcept;
  // The probability of a positive number; of a proper prior.
  [[nodiscard]] double share_above_zero() const;

  // For mode finding: the value, slope and curvature (minus the second derivative, never negative) of the log
  // density. The kink of laplace is rounded over its scale, so that Newton's method works, and so that the
  // curvature still tells how wide the posterior is if its mode is at the kink. (With a sharper kink it would
  // seem to have no width at all.)
  struct Smooth {
    double value, slope, curvature;
  };
  [[nodiscard]] Smooth smooth(double x) const noexcept;

 private:
  Prior(Kind kind, double a, double b, double freedom);
  Kind kind_;
  double a_;  // location, or the gamma's shape, or the beta's first
  double b_;  // scale, or the gamma's rate, or the beta's second
  double freedom_;
  double constant_;  // log of the normalising constant
};

}  // namespace mlo
