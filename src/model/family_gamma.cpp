// Copyright (c) the mlo authors. BSD-3-Clause.
// gamma, log link: mean mu = e^eta, variance mu^2 / k, k = shape, a = log k. With u = log y - eta and g(u) =
// e^u - 1 - u, f = -k g(u) + S(k) - log y,   S(k) = k log k - k - log Gamma(k).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/family_parts.hpp"
#include "model/gamma_shape.hpp"
#include "model/surfaces.hpp"

namespace mlo {
extern const FamilySpec gamma_family;
namespace {

// e^u - 1 - u, given e = e^u, without cancellation for small u. The terms left out are below 1e-16 of the
// first.
double excess(double u, double e) noexcept {
  if (std::abs(u) > 0.05) return e - 1 - u;
  double tail = 0;
  for (int m = 9; m >= 2; --m) tail = (1 + u * tail) / m;
  return u * u * tail;
}

class GammaRows final : public CurveRows<ExpCurve> {
 public:
  explicit GammaRows(double shape) : shape_(shape) {}
  // -k y e^-eta is k y e^-e times the curve -e^x at x = -t.
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {0, shape_ * y[k] * std::exp(-eta[k]), -1, -shape_};
  }

 private:
  double shape_;
};

class Gamma final : public Family {
 public:
  explicit Gamma(std::optional<double> known_shape) : Family(gamma_family, known_shape) {}

  void check(const Design& design) const override {
    for (std::size_t i = 0; i < design.rows; ++i)
      if (!(design.y(i) > 0)) refuse_response(design, i, "a gamma model needs numbers above 0");
    if (estimates_second()) check_varies(design, spec().name);
  }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    const double k = second(batch), constant = shape_terms(k).log_constant;
    in_parts(batch, [&](std::size_t first, std::span<const double> u, std::span<const double> e) {
      for (std::size_t i = 0; i < u.size(); ++i)
        out[first + i] = constant - k * excess(u[i], e[i]) - (u[i] + batch.eta[first + i]);
    });
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    const double k = second(batch);
    double total = 0;
    in_parts(batch, [&](std::size_t, std::span<const double> u, std::span<const double> e) {
      for (std::size_t i = 0; i < u.size(); ++i) total += excess(u[i], e[i]);
    });
    const double constant =
        estimates_second() ? static_cast<double>(batch.eta.size()) * shape_terms(k).log_constant : 0;
    return constant - k * total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double k = second(batch);
    const ShapeTerms shape = shape_terms(k);
    double total = 0;
    in_parts(batch, [&](std::size_t first, std::span<const double> u, std::span<const double> e) {
      for (std::size_t i = 0; i < u.size(); ++i) {
        const double g = excess(u[i], e[i]);
        total += g;
        const double slope = k * (g + u[i]);  // k (e^u - 1)
        out.first[first + i] = slope;
        out.second[first + i] = -k * e[i];
        if (!estimates_second()) continue;
        out.aux[first + i] = shape.slope - k * g;
        out.aux_second[first + i] = shape.slope - k * g + shape.curvature;
        out.aux_eta[first + i] = slope;
      }
    });
    const double constant =
        estimates_second() ? static_cast<double>(batch.eta.size()) * shape.log_constant : 0;
    return constant - k * total;
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    const double centre = plain_scale(design).centre;
    StartingPoint point = start_at(design, std::log(centre));
    // By moments, as if the columns explained nothing. That gives too small a shape, the side from which
    // Newton's method finds the maximum. In units of the mean, because the variance of responses near 1e-200
    // is too small for a double.
    double squares = 0;
    for (std::size_t i = 0; i < design.rows; ++i) squares += std::pow(design.y(i) / centre - 1, 2);
    if (squares > 0) point.log_second = std::log(static_cast<double>(design.rows) / squares);
    return point;
  }

  [[nodiscard]] std::string degenerate(const Design& design, double log_shape, double slope) const override {
    // Noise of 1e-9 of the response is a rounding error.
    if (slope < 0 || !(log_shape > std::log(1e18))) return {};
    return fmt::format("the columns predict the response \"{}\" exactly: shape would be infinite",
                       design.response);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    if (estimates_second()) return nullptr;
    return std::make_shared<GammaRows>(known_second());
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> unit_curve() const override {
    return estimates_second() ? std::make_shared<GammaRows>(1) : nullptr;
  }

  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double log_second,
                                                          double /*largest*/) const override {
    return estimates_second() ? gamma_surface(log_second) : nullptr;
  }

 private:
  // Calls visit(first, u, e^u) for parts of the batch.
  template <class Visit>
  static void in_parts(const Batch& batch, const Visit& visit) noexcept {
    std::array<double, batch_rows> u, e;
    for (std::size_t first = 0; first < batch.eta.size(); first += u.size()) {
      const std::size_t count = std::min(u.size(), batch.eta.size() - first);
      const std::span<double> part = std::span(u).first(count);
      log(batch.y.subspan(first, count), part);
      for (std::size_t i = 0; i < count; ++i) part[i] -= batch.eta[first + i];
      exp(part, std::span(e).first(count));
      visit(first, std::span<const double>(part), std::span<const double>(e).first(count));
    }
  }
};

constexpr std::array<FamilyNumber, 1> numbers{
    {{.name = "shape", .help = "the known shape: variance mu^2 / shape", .usual = {}}}};
constexpr std::array<FamilyNumber, 1> simulation_numbers{
    {{.name = "shape", .help = "shape of the responses: variance mu^2 / shape", .usual = 1}}};

// S.
SecondFactor::Alone shape_alone(double log_shape) {
  const ShapeTerms shape = shape_terms(std::exp(log_shape));
  return {shape.log_constant, shape.slope};
}

std::function<double(Stream&, double)> simulated(const FamilyNumbers& given) {
  return [shape = number(given, "shape")](Stream& stream, double eta) {
    const double y = std::exp(eta) * (gamma(stream, shape) / shape);
    if (!(y > 0 && std::isfinite(y)))
      throw UsageError(
          fmt::format("`intercept`, `coefficients` and `shape {}` give a row a response that is 0 or too "
                      "large for double precision",
                      shape));
    return y;
  };
}

}  // namespace

const FamilySpec gamma_family{
    .name = "gamma",
    .response = "positive numbers; variance mu^2 / shape",
    .parameters = "coefficients (log mean) and shape, unless it is known (`shape`)",
    .numbers = numbers,
    // Proper; heavy-tailed, because the shape of a response with little noise is large.
    .second = SecondParameter{.name = "shape",
                              .known_by = "shape",
                              .usual_prior = [](const ResponseScale&) { return Prior::cauchy(0, 10); },
                              .factor = SecondFactor{.power = 1, .alone = shape_alone}},
    .curved = true,
    .surfaced = true,
    .make = [](const FamilyNumbers& given) -> std::unique_ptr<Family> {
      return std::make_unique<Gamma>(stated(given, "shape"));
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated},
    .link = Link::log,
    .deviance = [](double y, double mean, double) { return 2 * ((y - mean) / mean - std::log(y / mean)); },
    .accepts = [](double y) { return y > 0; }};

}  // namespace mlo
