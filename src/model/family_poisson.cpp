// Copyright (c) the mlo authors. BSD-3-Clause.
// poisson, log link: f = y eta - e^eta - log y!.
#include <array>
#include <cmath>

#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/family_parts.hpp"

namespace mlo {
extern const FamilySpec poisson_family;
namespace {

class PoissonRows final : public CurveRows<ExpCurve> {
 public:
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {0, std::exp(eta[k]), 1, y[k]};
  }
};

class Poisson final : public Family {
 public:
  Poisson() : Family(poisson_family) {}

  void check(const Design& design) const override { check_counts(design, spec().name); }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    exp(batch.eta, out);
    for (std::size_t k = 0; k < out.size(); ++k)
      out[k] = batch.y[k] * batch.eta[k] - out[k] - log_factorial(batch.y[k]);
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    std::array<double, 512> rate;
    double total = 0;
    for (std::size_t first = 0; first < batch.eta.size(); first += rate.size()) {
      const std::size_t count = std::min(rate.size(), batch.eta.size() - first);
      exp(batch.eta.subspan(first, count), std::span(rate).first(count));
      for (std::size_t k = 0; k < count; ++k) total += batch.y[first + k] * batch.eta[first + k] - rate[k];
    }
    return total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    exp(batch.eta, out.second);
    double total = 0;
    for (std::size_t k = 0; k < batch.eta.size(); ++k) {
      const double rate = out.second[k];
      total += batch.y[k] * batch.eta[k] - rate;
      out.first[k] = batch.y[k] - rate;
      out.second[k] = -rate;
    }
    return total;
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    return start_at(design, std::log(mean_response(design)));
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    return counts_recede(y, t, tolerance);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    return std::make_shared<PoissonRows>();
  }
};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& /*numbers*/) { return draw_count; }

}  // namespace

const FamilySpec poisson_family{
    .name = "poisson",
    .response = "counts 0, 1, 2, ...",
    .parameters = "coefficients (log rate)",
    .curved = true,
    .make = [](const FamilyNumbers&) -> std::unique_ptr<Family> { return std::make_unique<Poisson>(); },
    .simulation = {.numbers = {}, .response = simulated},
    .link = Link::log,
    .deviance = [](double y, double mean,
                   double) { return 2 * ((y > 0 ? y * std::log(y / mean) : 0) - (y - mean)); },
    .accepts = [](double y) { return y >= 0 && y == std::floor(y); }};

}  // namespace mlo
