// Copyright (c) the mlo authors. BSD-3-Clause.
// logistic: f = y eta - log(1 + e^eta).
#include <array>
#include <cmath>
#include <numbers>

#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec logistic_family;
namespace {

class LogisticRows final : public CurveRows<SoftplusCurve> {
 public:
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {eta[k], 1, 1, y[k]};
  }
  [[nodiscard]] bool unscaled() const noexcept override { return true; }
};

class Logistic final : public Family {
 public:
  Logistic() : Family(logistic_family) {}

  void check(const Design& design) const override { check_binary(design, spec().name); }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    softplus(batch.eta, out);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = batch.y[k] * batch.eta[k] - out[k];
  }

  void differences(const Batch& from, const Batch& to, std::span<double> out) const noexcept override {
    softplus_difference(from.eta, to.eta, out);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = to.y[k] * (to.eta[k] - from.eta[k]) - out[k];
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    double linear = 0;
    for (std::size_t k = 0; k < batch.eta.size(); ++k) linear += batch.y[k] * batch.eta[k];
    return linear - sum_softplus(batch.eta);
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double softplus_sum = sigmoid_and_sum_softplus(batch.eta, out.second);
    double linear = 0;
    for (std::size_t k = 0; k < batch.eta.size(); ++k) {
      const double p = out.second[k];
      out.first[k] = batch.y[k] - p;
      out.second[k] = -p * (1 - p);
      linear += batch.y[k] * batch.eta[k];
    }
    return linear - softplus_sum;
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    const double mean = mean_response(design);
    return start_at(design, std::log(mean / (1 - mean)));
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    return binary_recedes(y, t, tolerance);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    return std::make_shared<LogisticRows>();
  }
};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& /*numbers*/) {
  return [](Stream& stream, double eta) { return uniform(stream) < 1 / (1 + std::exp(-eta)) ? 1.0 : 0.0; };
}

constexpr std::array<std::string_view, 2> aliases{"binomial", "bernoulli"};  // R's and brms' names

}  // namespace

const FamilySpec logistic_family{
    .name = "logistic",
    .aliases = aliases,
    .response = "0 or 1; text with two levels; cbind(successes, failures); a share of `trials`",
    .parameters = "coefficients (log odds)",
    .binary = true,
    .shares = true,
    .curved = true,
    .make = [](const FamilyNumbers&) -> std::unique_ptr<Family> { return std::make_unique<Logistic>(); },
    .simulation = {.numbers = {}, .response = simulated},
    .link = Link::logit,
    .residual_variance = [](double) { return std::numbers::pi * std::numbers::pi / 3; },
    .accepts = [](double y) { return y == 0 || y == 1; }};

}  // namespace mlo
