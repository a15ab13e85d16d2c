// Copyright (c) the mlo authors. BSD-3-Clause.
// negative-binomial: a = log k, k = size, t = eta - a, so that e^t = mu / k,
// f = log Gamma(y + k) - log Gamma(k) - log y! + y t - (y + k) softplus(t)
//   = sum_{j < y} log(1 + j / k) - log y! + y eta - (y + k) softplus(t).
// The second form has no differences of large numbers as k grows, where it tends to the Poisson law.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/special.hpp"
#include "mlo/model/curve.hpp"
#include "model/family_parts.hpp"
#include "model/rising.hpp"
#include "model/surfaces.hpp"

namespace mlo {
extern const FamilySpec negative_binomial_family;
namespace {

// log(1 + x) - x / (1 + x), without cancellation for small x.
double log1p_excess(double x) noexcept {
  return x > 0.01 ? std::log1p(x) - x / (1 + x) : x * x / (1 + x) - log1p_rest(x);
}

// sum_{j < y} of g(j), where g is one of
//   log(1 + j / k)     the term's part that is not linear in eta,
//   j / (k + j)        minus its derivative in a,
//   j k / (k + j)^2    its second derivative in a.
// Small counts, the vast majority, use tables that grow with the largest count of a batch. Beyond them the
// Euler-Maclaurin formula is accurate to 1e-13, because g changes slowly where k + j is above 128.
class CountSums {
 public:
  explicit CountSums(double k) noexcept : k_(k) {}

  double logs(double y) noexcept {
    if (y < limit) return at(y).logs;
    // (k + j) log(1 + j / k) - j
    const auto integral = [&](double j) {
      const double x = j / k_;
      return x > 0.01 ? (k_ + j) * std::log1p(x) - j : k_ * (x * x - (1 + x) * log1p_rest(x));
    };
    const auto ends = [&](double j) {
      const double s = k_ + j;
      return -0.5 * std::log1p(j / k_) + 1 / (12 * s) - 2 / (720 * s * s * s);
    };
    return at(limit).logs + integral(y) - integral(limit) + ends(y) - ends(limit);
  }

  double slopes(double y) noexcept {
    if (y < limit) return at(y).slopes;
    const auto antiderivative = [&](double j) {
      const double s = k_ + j, share = k_ / s;
      return k_ * log1p_rest(j / k_) - 0.5 * j / s + share / (12 * s) - 6 * share / (720 * s * s * s);
    };
    return at(limit).slopes + antiderivative(y) - antiderivative(limit);
  }

  double curvatures(double y) noexcept {
    if (y < limit) return at(y).curvatures;
    const auto antiderivative = [&](double j) {
      const double s = k_ + j, share = k_ / s;
      return k_ * log1p_excess(j / k_) - 0.5 * j / s * share + (2 * share - 1) * share / (12 * s) -
             (24 * share - 6) * share / (720 * s * s * s);
    };
    return at(limit).curvatures + antiderivative(y) - antiderivative(limit);
  }

 private:
  static constexpr int limit = 128;
  struct Sums {
    double logs = 0, slopes = 0, curvatures = 0;
  };

  const Sums& at(double y) noexcept {
    const auto wanted = static_cast<std::size_t>(y);
    for (; known_ < wanted; ++known_) {
      const auto j = static_cast<double>(known_);
      const Sums& before = sums_[known_];
      const double s = k_ + j;
      sums_[known_ + 1] = {before.logs + std::log1p(j / k_), before.slopes + j / s,
                           before.curvatures + j / s * (k_ / s)};
    }
    return sums_[wanted];
  }

  double k_;
  std::size_t known_ = 0;  // sums_[0..known_] are filled in
  std::array<Sums, limit + 1> sums_;
};

void subtract(std::span<const double> eta, double a, std::span<double> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = eta[i] - a;
}

void negative_binomial_terms(const Batch& batch, double a, double size, std::span<double> out) noexcept {
  CountSums sums(size);
  subtract(batch.eta, a, out);
  softplus(out, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double y = batch.y[i];
    out[i] = sums.logs(y) - log_factorial(y) + y * batch.eta[i] - (y + size) * out[i];
  }
}

// Without the sums over counts: what changes with eta.
double negative_binomial_sum(const Batch& batch, double a, double size) noexcept {
  std::array<double, 512> soft;
  double total = 0;
  for (std::size_t first = 0; first < batch.eta.size(); first += soft.size()) {
    const std::size_t count = std::min(soft.size(), batch.eta.size() - first);
    const std::span<double> part = std::span(soft).first(count);
    subtract(batch.eta.subspan(first, count), a, part);
    softplus(part, part);
    for (std::size_t i = 0; i < count; ++i)
      total += batch.y[first + i] * batch.eta[first + i] - (batch.y[first + i] + size) * part[i];
  }
  return total;
}

// Needs t = eta - a in out.first. Computes both p = mu / (k + mu) and 1 - p to the last bits, since either
// may be tiny.
void eta_derivatives(const Batch& batch, double size, const BatchDerivatives& out) noexcept {
  sigmoid(out.first, out.second);
  for (double& t : out.first) t = -t;
  sigmoid(out.first, out.first);
  for (std::size_t i = 0; i < batch.eta.size(); ++i) {
    const double y = batch.y[i], p = out.second[i], rest = out.first[i];
    out.first[i] = y * rest - size * p;
    out.second[i] = -(y + size) * p * rest;
  }
}

// f = y (eta - a) - (y + k) log(1 + e^(eta - a)), up to a constant.
class NegativeBinomialRows final : public CurveRows<SoftplusCurve> {
 public:
  explicit NegativeBinomialRows(double size) : size_(size), log_size_(std::log(size)) {}
  void shapes(std::span<const double> eta, std::span<const double> y,
              std::span<RowShape> out) const noexcept override {
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = {eta[k] - log_size_, y[k] + size_, 1, y[k]};
  }

 private:
  double size_, log_size_;
};

class NegativeBinomial final : public Family {
 public:
  explicit NegativeBinomial(std::optional<double> known_size)
      : Family(negative_binomial_family, known_size) {}

  void check(const Design& design) const override { check_counts(design, spec().name); }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    negative_binomial_terms(batch, log_second(batch), second(batch), out);
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    const double size = second(batch);
    double total = negative_binomial_sum(batch, log_second(batch), size);
    if (!estimates_second()) return total;
    CountSums sums(size);
    for (const double y : batch.y) total += sums.logs(y);
    return total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double size = second(batch);
    subtract(batch.eta, log_second(batch), out.first);
    if (estimates_second()) {
      exp(out.first, out.aux);  // mu / k
      softplus(out.first, out.aux_second);
      sigmoid(out.first, out.aux_eta);
    }
    eta_derivatives(batch, size, out);
    if (estimates_second()) size_derivatives(batch, size, out);
    return sum(batch);
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    const double mean = mean_response(design);
    StartingPoint point = start_at(design, std::log(mean));
    double squares = 0;
    for (std::size_t i = 0; i < design.rows; ++i) squares += (design.y(i) - mean) * (design.y(i) - mean);
    const double variance = squares / static_cast<double>(design.rows);
    // By moments, as if the columns explained nothing. That gives too small a size, the side from which
    // Newton's method finds the maximum.
    point.log_second = std::log(mean * mean / std::max(variance - mean, 0.1 * mean));
    return point;
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    return counts_recede(y, t, tolerance);
  }

  // Near 1/k = 0 the log-likelihood is quadratic in 1/k, with information sum mu^2 / 2; without
  // overdispersion its maximum is at 1/k <= 0. If k is so large that 1/k is below 1/200 of its standard
  // error, the data cannot tell it from infinity. A search that runs away passes that point before its steps
  // become short.
  [[nodiscard]] std::string degenerate(const Design& design, double log_size, double slope) const override {
    if (slope < 0) return {};  // one step too far: the way back leads up
    double squares = 0;        // y (y - 1) has the mean mu^2 without overdispersion
    for (std::size_t i = 0; i < design.rows; ++i) squares += design.y(i) * (design.y(i) - 1);
    if (!(std::exp(log_size) > 300 * std::sqrt(std::max(squares, 1.0)))) return {};
    return fmt::format(
        "the response \"{}\" is not overdispersed: size would be infinite, so the likelihood has no finite "
        "maximum; use `family poisson`, or a method that needs no maximum-likelihood fit (`method full`, or "
        "`weights-at map`)",
        design.response);
  }

  [[nodiscard]] std::shared_ptr<const RowCurve> curve() const override {
    if (estimates_second()) return nullptr;
    return std::make_shared<NegativeBinomialRows>(known_second());
  }

  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double log_second, double largest) const override {
    return estimates_second() ? negative_binomial_surface(log_second, largest) : nullptr;
  }

 private:
  // Needs mu / k in out.aux, softplus(t) in out.aux_second, p in out.aux_eta and the derivatives in eta.
  static void size_derivatives(const Batch& batch, double size, const BatchDerivatives& out) noexcept {
    CountSums sums(size);
    for (std::size_t i = 0; i < batch.eta.size(); ++i) {
      const double y = batch.y[i], ratio = out.aux[i], p = out.aux_eta[i];
      // y p (1 - p), and k p^2.
      const double cross = -out.second[i] * (y / (y + size)), square = size * p * p;
      // k (p - softplus(t)): as k grows it falls like 1 / k, while its two parts tend to mu.
      const double gap = -size * (ratio > 0.01 ? out.aux_second[i] - p : log1p_excess(ratio));
      out.aux[i] = y * p + gap - sums.slopes(y);
      out.aux_second[i] = sums.curvatures(y) - cross + gap + square;
      out.aux_eta[i] = cross - square;
    }
  }
};

constexpr std::array<FamilyNumber, 1> numbers{
    {{.name = "size", .help = "the known size: variance mu + mu^2 / size", .usual = {}}}};
constexpr std::array<FamilyNumber, 1> simulation_numbers{
    {{.name = "size", .help = "size of the responses: variance mu + mu^2 / size", .usual = 1}}};

// A Poisson count whose rate has a gamma law with mean e^eta.
std::function<double(Stream&, double)> simulated(const FamilyNumbers& given) {
  return [size = number(given, "size")](Stream& stream, double eta) {
    return draw_count(stream, eta + std::log(gamma(stream, size) / size));
  };
}

constexpr std::array<std::string_view, 1> aliases{"negbinomial"};  // brms' name

}  // namespace

const FamilySpec negative_binomial_family{
    .name = "negative-binomial",
    .aliases = aliases,
    .response = "counts 0, 1, 2, ..., overdispersed: variance mu + mu^2 / size",
    .parameters = "coefficients (log mean) and size, unless it is known (`size`)",
    .numbers = numbers,
    // Proper, as it must be; little mass near 0, and enough at sizes that are practically infinite.
    .second = SecondParameter{.name = "size",
                              .known_by = "size",
                              .usual_prior = [](const ResponseScale&) { return Prior::gamma(2, 0.1); },
                              .needs_prior = true},
    .curved = true,
    .surfaced = true,
    .make = [](const FamilyNumbers& given) -> std::unique_ptr<Family> {
      return std::make_unique<NegativeBinomial>(stated(given, "size"));
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated},
    .link = Link::log,
    .deviance =
        [](double y, double mean, double size) {
          const double own = y > 0 ? y * std::log(y / mean) : 0;
          return 2 * (own - (y + size) * std::log1p((y - mean) / (mean + size)));
        },
    .accepts = [](double y) { return y >= 0 && y == std::floor(y); }};

}  // namespace mlo
