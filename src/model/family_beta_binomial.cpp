// Copyright (c) the mlo authors. BSD-3-Clause.
// beta-binomial: y of n trials succeed, with a probability that has a beta law with mean p = 1 / (1 + e^-eta)
// and precision phi; s = log phi. With G(x, m) = log(e^x (e^x + 1) ... (e^x + m - 1)),
//   f = G(s + log p, y) + G(s + log(1 - p), n - y) - G(s, n) + log C(n, y).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/base/special.hpp"
#include "mlo/data/outcome.hpp"
#include "model/family_parts.hpp"
#include "model/rising.hpp"
#include "model/surfaces.hpp"

namespace mlo {
extern const FamilySpec beta_binomial_family;
namespace {

double softplus_at(double x) noexcept { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// G(s, n) for the numbers of trials of a batch, of which few differ.
class TrialSums {
 public:
  explicit TrialSums(double s) noexcept : s_(s) {}
  const RisingSums& operator()(double n) noexcept {
    const auto place = static_cast<std::size_t>(n) % sums_.size();
    if (trials_[place] != n) {
      trials_[place] = n;
      sums_[place] = rising_sums(s_, n);
    }
    return sums_[place];
  }

 private:
  double s_;
  std::array<double, 64> trials_{};  // 0 trials: nothing is known
  std::array<RisingSums, 64> sums_;
};

class BetaBinomial final : public Family {
 public:
  explicit BetaBinomial(std::optional<double> known_phi) : Family(beta_binomial_family, known_phi) {}

  void check(const Design& design) const override {
    bool success = false, failure = false, several = false;
    for (std::size_t i = 0; i < design.rows; ++i) {
      const Outcome at = Outcome::of(design.y(i));
      success = success || at.successes > 0;
      failure = failure || at.successes < at.trials;
      several = several || at.trials > 1;
    }
    if (!success || !failure)
      throw DataError(
          design.source.name,
          fmt::format("response \"{}\": all trials of the {} rows are {}; a {} model needs both "
                      "successes and failures",
                      design.response, design.rows, success ? "successes" : "failures", spec().name));
    if (!several && estimates_second())
      throw DataError(
          design.source.name,
          fmt::format("response \"{}\": all {} rows have one trial, which says nothing about `phi`: "
                      "use `family logistic`",
                      design.response, design.rows));
  }

  void terms(const Batch& batch, std::span<double> out) const noexcept override {
    variable_terms(batch, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Outcome at = Outcome::of(batch.y[i]);
      out[i] +=
          log_factorial(at.trials) - log_factorial(at.successes) - log_factorial(at.trials - at.successes);
    }
  }

  [[nodiscard]] double sum(const Batch& batch) const noexcept override {
    std::array<double, batch_rows> values;
    double total = 0;
    for (std::size_t first = 0; first < batch.eta.size(); first += values.size()) {
      const std::size_t count = std::min(values.size(), batch.eta.size() - first);
      const std::span<double> part = std::span(values).first(count);
      variable_terms({batch.eta.subspan(first, count), batch.y.subspan(first, count), batch.log_second},
                     part);
      for (const double f : part) total += f;
    }
    return total;
  }

  double derivatives(const Batch& batch, const BatchDerivatives& out) const noexcept override {
    const double s = log_second(batch);
    TrialSums trials(s);
    double total = 0;
    for (std::size_t i = 0; i < batch.eta.size(); ++i) {
      const Outcome at = Outcome::of(batch.y[i]);
      const double eta = batch.eta[i], e = std::exp(-std::abs(eta)), both = 1 / (1 + e), soft = std::log1p(e);
      const double p = eta > 0 ? both : e * both, q = eta > 0 ? e * both : both;
      const RisingSums g = rising_sums(s - soft + std::min(eta, 0.0), at.successes);
      const RisingSums h = rising_sums(s - soft - std::max(eta, 0.0), at.trials - at.successes);
      const RisingSums& c = trials(at.trials);
      total += g.value + h.value - c.value;
      out.first[i] = g.slope * q - h.slope * p;
      out.second[i] = g.curvature * q * q + h.curvature * p * p - p * q * (g.slope + h.slope);
      if (!estimates_second()) continue;
      out.aux[i] = g.slope + h.slope - c.slope;
      out.aux_second[i] = g.curvature + h.curvature - c.curvature;
      out.aux_eta[i] = g.curvature * q - h.curvature * p;
    }
    return total;
  }

  [[nodiscard]] StartingPoint start(const Design& design) const override {
    double successes = 0, trials = 0, pairs = 0;
    for (std::size_t i = 0; i < design.rows; ++i) {
      const Outcome at = Outcome::of(design.y(i));
      const double w = design.weight(i);
      successes += w * at.successes;
      trials += w * at.trials;
      pairs += w * at.trials * (at.trials - 1);
    }
    const double p = successes / trials, variance = p * (1 - p);
    double squares = 0;
    for (std::size_t i = 0; i < design.rows; ++i) {
      const Outcome at = Outcome::of(design.y(i));
      squares += design.weight(i) * std::pow(at.successes - at.trials * p, 2);
    }
    StartingPoint point = start_at(design, std::log(p / (1 - p)));
    // By moments, as if the columns explained nothing: the variance of y is n p (1 - p) (1 + (n - 1) rho)
    // with rho = 1 / (1 + phi). That gives too small a phi, the side from which Newton's method finds the
    // maximum.
    const double rho = pairs > 0 ? std::clamp((squares / variance - trials) / pairs, 1e-3, 0.9) : 0.5;
    point.log_second = std::log(1 / rho - 1);
    return point;
  }

  [[nodiscard]] bool recedes(std::span<const double> y, std::span<const double> t,
                             double tolerance) const noexcept override {
    for (std::size_t k = 0; k < y.size(); ++k) {
      const Outcome at = Outcome::of(y[k]);
      if (at.successes > 0 && !(t[k] >= -tolerance)) return false;
      if (at.successes < at.trials && !(t[k] <= tolerance)) return false;
    }
    return true;
  }

  // Near 1/phi = 0 the log-likelihood is quadratic in 1/phi, with information sum n (n - 1) / 2; without
  // overdispersion its maximum is at 1/phi <= 0. If 1/phi is below 1/200 of its standard error, the data
  // cannot tell it from 0.
  [[nodiscard]] std::string degenerate(const Design& design, double log_phi, double slope) const override {
    if (slope < 0) return {};  // one step too far: the way back leads up
    double pairs = 0;
    for (std::size_t i = 0; i < design.rows; ++i) {
      const double n = Outcome::of(design.y(i)).trials;
      pairs += n * (n - 1);
    }
    if (!(std::exp(log_phi) > 150 * std::sqrt(std::max(pairs, 1.0)))) return {};
    return fmt::format(
        "the response \"{}\" is not overdispersed: phi would be infinite, so the likelihood has no finite "
        "maximum; use `family logistic`, or a method that needs no maximum-likelihood fit (`method full`, or "
        "`weights-at map`)",
        design.response);
  }

  [[nodiscard]] std::shared_ptr<const RowSurface> surface(double log_phi, double largest) const override {
    return estimates_second() ? beta_binomial_surface(log_phi, largest) : nullptr;
  }

 private:
  // Without log C(n, y).
  void variable_terms(const Batch& batch, std::span<double> out) const noexcept {
    const double s = log_second(batch);
    TrialSums trials(s);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Outcome at = Outcome::of(batch.y[i]);
      const double eta = batch.eta[i];
      out[i] = rising_sums(s - softplus_at(-eta), at.successes).value +
               rising_sums(s - softplus_at(eta), at.trials - at.successes).value - trials(at.trials).value;
    }
  }
};

constexpr std::array<FamilyNumber, 1> numbers{
    {{.name = "phi",
      .help = "the known precision: variance n p (1 - p) (1 + (n - 1) / (1 + phi))",
      .usual = {}}}};
constexpr std::array<FamilyNumber, 2> simulation_numbers{
    {{.name = "phi", .help = "precision of the responses: small for much overdispersion", .usual = 5},
     {.name = "trials", .help = "number of trials per row", .usual = 10}}};

// Trials with a probability that has a beta law.
std::function<double(Stream&, double)> simulated(const FamilyNumbers& given) {
  const double phi = number(given, "phi"), trials = number(given, "trials");
  if (trials != std::floor(trials) || trials > Outcome::most_trials)
    throw UsageError(
        fmt::format("`trials` must be a whole number up to {} (got {})", Outcome::most_trials, trials));
  return [phi, trials](Stream& stream, double eta) {
    const double p = 1 / (1 + std::exp(-eta));
    // Shapes of 0 have no gamma law.
    const double least = 1e-300, a = gamma(stream, std::max(p * phi, least)),
                 b = gamma(stream, std::max((1 - p) * phi, least));
    const double share = a + b > 0 ? a / (a + b) : (uniform(stream) < p ? 1 : 0);
    double successes = 0;
    for (double k = 0; k < trials; ++k) successes += uniform(stream) < share ? 1 : 0;
    return Outcome{successes, trials}.packed();
  };
}

}  // namespace

const FamilySpec beta_binomial_family{
    .name = "beta-binomial",
    .response = "cbind(successes, failures), or a share of `trials`, overdispersed",
    .parameters = "coefficients (log odds) and phi, unless it is known (`phi`)",
    .numbers = numbers,
    // As for the size of negative-binomial counts, which phi is to shares: proper, as it must be; little mass
    // near 0, and enough at values where the law is practically binomial.
    .second = SecondParameter{.name = "phi",
                              .known_by = "phi",
                              .usual_prior = [](const ResponseScale&) { return Prior::gamma(2, 0.1); },
                              .needs_prior = true},
    .counted = true,
    .surfaced = true,
    .log_concave = false,  // the term of a row that is far from its predictor is flat there
    .make = [](const FamilyNumbers& given) -> std::unique_ptr<Family> {
      return std::make_unique<BetaBinomial>(stated(given, "phi"));
    },
    .simulation = {.numbers = simulation_numbers, .response = simulated},
    .link = Link::logit};

}  // namespace mlo
