// Copyright (c) the mlo authors. BSD-3-Clause.
// probit: f = log Phi(s eta), s = 2y - 1.
#include <cmath>
#include <numbers>

#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec probit_family;
namespace {

const double log_root_two_pi = 0.5 * std::log(2 * std::numbers::pi);

class ProbitRows final : public CurveRows<LogPhiCurve> {
 public:
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) {
      const double sign = 2 * y[k] - 1;
      out[k] = {sign * eta[k], 1, sign, 0};
    }
  }
};

class Probit final : public Family {
 public:
  Probit() : Family(probit_family) {}

  void check(const Design& design) const override { check_binary(design, spec().name); }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = log_normal_cdf((2 * batch.y[k] - 1) * batch.eta[k]);
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    double total = 0;
    for (std::size_t k = 0; k < batch.eta.size(); ++k)
      total += log_normal_cdf((2 * batch.y[k] - 1) * batch.eta[k]);
    return total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    double total = 0;
    for (std::size_t k = 0; k < batch.eta.size(); ++k) {
      const double sign = 2 * batch.y[k] - 1;
      const double z = sign * batch.eta[k];
      const double value = log_normal_cdf(z);
      const double mills = std::exp(-0.5 * z * z - log_root_two_pi - value);
      total += value;
      out.first[k] = sign * mills;
      out.second[k] = -mills * (z + mills);
    }
    return total;
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    const double mean = mean_response(design);
    // Phi^-1 by Newton's method on log Phi: a few steps are plenty for a first guess.
    double z = 0;
    for (int k = 0; k < 20; ++k) z -= (log_normal_cdf(z) - std::log(mean)) / inverse_mills(z);
    return start_at(design, z);
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    return binary_recedes(y, t, tolerance);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    return std::make_shared<ProbitRows>();
  }
};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& /*numbers*/) {
  return [](Stream& stream, double eta) { return normal(stream) < eta ? 1.0 : 0.0; };
}

}  // namespace

const FamilySpec probit_family{
    .name = "probit",
    .response = "0 or 1",
    .parameters = "coefficients",
    .binary = true,
    .curved = true,
    .make = [](const FamilyNumbers&) -> std::unique_ptr<Family> { return std::make_unique<Probit>(); },
    .simulation = {.numbers = {}, .response = simulated},
    .link = Link::probit,
    .residual_variance = [](double) { return 1.0; },
    .accepts = [](double y) { return y == 0 || y == 1; }};

}  // namespace mlo
