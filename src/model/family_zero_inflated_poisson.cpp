// Copyright (c) the mlo authors. BSD-3-Clause.
// zero-inflated-poisson: 0 with probability zi, otherwise a Poisson count with mean mu = e^eta; s = logit zi.
// With L(x) = log(1 + e^x),
//   y = 0: f = log(zi + (1 - zi) e^-mu) = L(-(s + mu)) - L(-s);
//   y > 0: f = -L(s) + y eta - mu - log y!.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/special.hpp"
#include "model/family_parts.hpp"
#include "model/surfaces.hpp"

namespace mlo {
extern const FamilySpec zero_inflated_poisson_family;
namespace {

double softplus_at(double x) noexcept { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid_at(double x) noexcept {
  const double e = std::exp(-std::abs(x));
  return (x > 0 ? 1 : e) / (1 + e);
}

class ZeroInflatedPoisson final : public Family {
 public:
  explicit ZeroInflatedPoisson(std::optional<double> known_zi)
      : Family(zero_inflated_poisson_family, known_zi) {}

  void check(const Design& design) const override { check_counts(design, spec().name); }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    zero_terms(batch, out);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= log_factorial(batch.y[i]);
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    std::array<double, batch_rows> values;
    double total = 0;
    for (std::size_t first = 0; first < batch.eta.size(); first += values.size()) {
      const std::size_t count = std::min(values.size(), batch.eta.size() - first);
      const std::span<double> part = std::span(values).first(count);
      zero_terms({batch.eta.subspan(first, count), batch.y.subspan(first, count), batch.log_second}, part);
      for (const double f : part) total += f;
    }
    return total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double s = log_second(batch), zi = sigmoid_at(s), rest = sigmoid_at(-s);
    exp(batch.eta, out.first);  // mu
    for (std::size_t i = 0; i < batch.eta.size(); ++i) out.second[i] = -(s + out.first[i]);
    // The slope of L(-(s + mu)), 1 / (1 + e^(s + mu)), is the probability that a zero is a count.
    sigmoid(out.second, out.second);
    for (std::size_t i = 0; i < batch.eta.size(); ++i) {
      const double mu = out.first[i], y = batch.y[i], share = out.second[i];
      if (y > 0) {
        out.first[i] = y - mu;
        out.second[i] = -mu;
      } else {
        out.first[i] = -mu * share;
        out.second[i] = mu * share * (mu * (1 - share) - 1);
      }
      if (!estimates_second()) continue;
      if (y > 0) {
        out.aux[i] = -zi;
        out.aux_second[i] = -zi * rest;
        out.aux_eta[i] = 0;
      } else {
        const double v = share * (1 - share);
        out.aux[i] = rest - share;
        out.aux_second[i] = v - zi * rest;
        out.aux_eta[i] = mu * v;
      }
    }
    return sum(batch);
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    double rows = 0, positive = 0, sum = 0;
    for (std::size_t i = 0; i < design.rows; ++i) {
      const double w = design.weight(i);
      rows += w;
      positive += design.y(i) > 0 ? w : 0;
      sum += w * design.y(i);
    }
    // By moments, as if the columns explained nothing: counts above 0 have the mean mu / (1 - e^-mu).
    const double mean = sum / positive;
    double mu = mean;
    for (int i = 0; i < 50; ++i) mu = mean * -std::expm1(-mu);
    // Not fewer zeros than a Poisson law has, and not so many that it has none.
    mu = std::max(mu, 0.05);
    const double zi = std::clamp(1 - sum / (rows * mu), 0.02, 0.98);
    StartingPoint point = start_at(design, std::log(mu));
    point.log_second = spec().second->to_working(zi);
    return point;
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    return counts_recede(y, t, tolerance);
  }

  // If there are no more zeros than a Poisson law has, the likelihood is largest at zi = 0. Where fewer than
  // 1/200 of a zero is expected besides them, the data cannot tell zi from 0.
  [[nodiscard]] std::string degenerate(const Design& design, double logit_zi, double slope) const override {
    if (slope > 0 || !(std::exp(logit_zi) * static_cast<double>(design.rows) < 0.005)) return {};
    return fmt::format(
        "the response \"{}\" has no more zeros than a Poisson law gives it: zi would be 0, so the likelihood has "
        "no maximum; use `family poisson`, or a method that needs no maximum-likelihood fit (`method full`, or "
        "`weights-at map`)",
        design.response);
  }

  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double logit_zi,
                                                          double /*largest*/) const override {
    return estimates_second() ? zero_inflated_poisson_surface(logit_zi) : nullptr;
  }

 private:
  // Without log y!.
  void zero_terms(const Batch& batch, std::span<double> out) const noexcept {
    const double s = log_second(batch), positive = -softplus_at(s), zero = -softplus_at(-s);
    std::array<double, batch_rows> tails;
    for (std::size_t first = 0; first < out.size(); first += tails.size()) {
      const std::size_t count = std::min(tails.size(), out.size() - first);
      const std::span<double> mu = out.subspan(first, count), tail = std::span(tails).first(count);
      exp(batch.eta.subspan(first, count), mu);
      for (std::size_t i = 0; i < count; ++i) tail[i] = -(s + mu[i]);
      softplus(tail, tail);
      for (std::size_t i = 0; i < count; ++i) {
        const double y = batch.y[first + i];
        mu[i] = y > 0 ? positive + y * batch.eta[first + i] - mu[i] : zero + tail[i];
      }
    }
  }
};

constexpr std::array<std::string_view, 1> aliases{"zip"};
constexpr std::array<FamilyNumber, 1> numbers{
    {{.name = "zi", .help = "the known probability of an additional zero", .usual = {}, .share = true}}};
constexpr std::array<FamilyNumber, 1> simulation_numbers{
    {{.name = "zi", .help = "the probability of an additional zero", .usual = 0.3, .share = true}}};

std::function<double(Stream&, double)> simulated(const FamilyNumbers& given) {
  return [zi = number(given, "zi")](Stream& stream, double eta) {
    return uniform(stream) < zi ? 0 : draw_count(stream, eta);
  };
}

}  // namespace

const FamilySpec zero_inflated_poisson_family{
    .name = "zero-inflated-poisson",
    .aliases = aliases,
    .response = "counts 0, 1, 2, ..., with more zeros: 0 with probability zi, else Poisson",
    .parameters = "coefficients (log mean of the Poisson counts) and zi, unless it is known (`zi`)",
    .numbers = numbers,
    .second = SecondParameter{.name = "zi",
                              .known_by = "zi",
                              .usual_prior = [](const ResponseScale&) { return Prior::beta(1, 1); },
                              .share = true},
    .surfaced = true,
    .log_concave = false,  // the term of a zero is flat where the mean is large
    .make = [](const FamilyNumbers& given) -> std::unique_ptr<Family> {
      return std::make_unique<ZeroInflatedPoisson>(stated(given, "zi"));
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated},
    .link = Link::log,
    .mean_factor = [](double zi) { return 1 - zi; },
    .accepts = [](double y) { return y >= 0 && y == std::floor(y); }};

}  // namespace mlo
