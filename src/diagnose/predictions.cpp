// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/predictions.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/diagnose/quantile.hpp"
#include "mlo/model/link.hpp"

namespace mlo {
namespace {

// What responses are simulated with, but for a second parameter that is estimated: the usual values, then
// what the user stated about the family, by the same names or by those of known parameters.
FamilyNumbers simulation_numbers_of(const FamilySpec& family, const FamilyNumbers& stated) {
  FamilyNumbers out;
  const auto set = [&](std::string_view name, double value) {
    const bool second = family.second && name == family.second->known_by;
    const std::string_view simulated = second ? family.second->name : name;
    for (const FamilyNumber& n : family.simulation.numbers)
      if (n.name == simulated) out[std::string(simulated)] = value;
  };
  for (const FamilyNumber& n : family.simulation.numbers) out[std::string(n.name)] = n.usual.value();
  for (const FamilyNumber& n : family.numbers)
    if (n.usual) set(n.name, *n.usual);
  for (const auto& [name, value] : stated) set(name, value);
  return out;
}

}  // namespace

// What one thread needs: the predictors of four rows, and what is made of one of them.
class Predictor::Worker {
 public:
  static constexpr std::size_t rows_at_a_time = 4;

  explicit Worker(const Predictor& predictor)
      : p_(predictor),
        draws_(predictor.draws_->draws()),
        stride_(PosteriorDraws::padded(draws_)),
        eta_(rows_at_a_time * stride_),
        values_(draws_),
        finder_(draws_, {0.5 - 0.5 * predictor.options_.interval, 0.5 + 0.5 * predictor.options_.interval}) {}

  // At most rows_at_a_time rows, from place `at` on.
  void predict(std::size_t first, std::size_t at, std::span<const double> x, std::span<const double> offsets,
               std::span<Prediction> out, const AddToPredictors& more) {
    p_.draws_->predictors(x, offsets, 0, draws_, stride_, eta_);
    for (std::size_t r = 0; r < out.size() && more; ++r)
      more(at + r, 0, std::span(eta_).subspan(r * stride_, draws_));
    for (std::size_t r = 0; r < out.size(); ++r)
      out[r] = prediction(first + r, std::span<const double>(eta_).subspan(r * stride_, draws_));
  }

 private:
  [[nodiscard]] Prediction prediction(std::size_t row, std::span<const double> eta) {
    switch (p_.options_.type) {
      case PredictionType::link:
        return summarised(eta, spread_of(eta));
      case PredictionType::response:
        return of_response(eta);
      case PredictionType::draw:
        if (!simulate(row, eta)) break;
        return summarised(values_, spread_of(values_));
    }
    return not_finite();
  }

  [[nodiscard]] static Prediction not_finite() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan, nan, nan};
  }

  [[nodiscard]] Prediction summarised(std::span<const double> values, const Spread& spread) {
    if (!std::isfinite(spread.mean)) return not_finite();
    std::array<OrderPair, 2> ends;
    finder_.find(values, spread, ends);
    return {spread.mean, spread.sd, ends[0].value(), ends[1].value()};
  }

  // The mean of the inverse link, not the inverse link of the mean. The link is increasing, so the order
  // statistics of the means are the means of the order statistics, which are found among the predictors:
  // these are closer to normal.
  [[nodiscard]] Prediction of_response(std::span<const double> eta) {
    const Link link = p_.family_->link;
    if (!p_.mean_factors_.empty()) {
      // In every draw another factor: the order of the predictors is not that of the means.
      inverse_link(link, eta, values_);
      const auto& factors = p_.mean_factors_;
      for (std::size_t s = 0; s < eta.size(); ++s) values_[s] *= factors[factors.size() == 1 ? 0 : s];
      return summarised(values_, spread_of(values_));
    }
    const Spread spread = spread_of(eta);
    if (link == Link::identity || !std::isfinite(spread.mean)) return summarised(eta, spread);
    inverse_link(link, eta, values_);
    const Spread of_means = spread_of(values_);
    std::array<OrderPair, 2> ends;
    finder_.find(eta, spread, ends);
    for (OrderPair& end : ends) {
      end.below = inverse_link(link, end.below);
      end.above = inverse_link(link, end.above);
    }
    return {of_means.mean, of_means.sd, ends[0].value(), ends[1].value()};
  }

  // One stream per row, read draw after draw.
  [[nodiscard]] bool simulate(std::size_t row, std::span<const double> eta) {
    Stream stream({.seed = p_.options_.seed, .chain = 0, .purpose = Purpose::predict, .iteration = row});
    const auto& responses = p_.responses_;
    try {
      for (std::size_t s = 0; s < eta.size(); ++s)
        values_[s] = plain_response(*p_.family_, responses[responses.size() == 1 ? 0 : s](stream, eta[s]));
    } catch (const UsageError&) {  // too large for a double, or for a count
      return false;
    }
    return true;
  }

  const Predictor& p_;
  std::size_t draws_, stride_;
  std::vector<double> eta_, values_;
  QuantileFinder finder_;
};

std::vector<double> mean_factors(const FamilySpec& family, const FamilyNumbers& numbers,
                                 std::span<const double> second) {
  std::vector<double> out;
  if (family.mean_factor == nullptr) return out;
  for (const double value : second) out.push_back(family.mean_factor(value));
  if (second.empty()) out.push_back(family.mean_factor(numbers.find(family.second->known_by)->second));
  return out;
}

double plain_response(const FamilySpec& family, double y) noexcept {
  return family.counted ? Outcome::of(y).share() : y;
}

std::vector<ResponseLaw> response_laws(const FamilySpec& family, const FamilyNumbers& numbers,
                                       std::span<const double> second, double trials) {
  FamilyNumbers simulated = simulation_numbers_of(family, numbers);
  if (family.counted) simulated["trials"] = trials;
  if (second.empty()) return {family.simulation.response(simulated)};
  std::vector<ResponseLaw> out;
  for (const double value : second) {
    simulated[std::string(family.second->name)] = value;
    out.push_back(family.simulation.response(simulated));
  }
  return out;
}

Predictor::Predictor(const FamilySpec& family, const FamilyNumbers& numbers, const PosteriorDraws& draws,
                     const PredictorOptions& options)
    : family_(&family), draws_(&draws), options_(options) {
  assert(draws.draws() >= 1 && options.interval > 0 && options.interval < 1);
  mean_factors_ = mean_factors(family, numbers, draws.second());
  if (options.type == PredictionType::draw) responses_ = response_laws(family, numbers, draws.second());
}

void Predictor::predict(ThreadPool& pool, std::size_t first, std::span<const double> x,
                        std::span<const double> offsets, std::span<Prediction> out,
                        const AddToPredictors& more) const {
  const std::size_t rows = out.size(), dim = draws_->coefficients();
  assert(x.size() == rows * dim && offsets.size() == rows);
  // A task is large enough that its buffers cost nothing, and small enough that threads end together.
  constexpr std::size_t task_rows = 64 * Worker::rows_at_a_time;
  pool.run((rows + task_rows - 1) / task_rows, [&](std::size_t task) {
    Worker worker(*this);
    const std::size_t end = std::min(rows, (task + 1) * task_rows);
    for (std::size_t r = task * task_rows; r < end; r += Worker::rows_at_a_time) {
      const std::size_t here = std::min(Worker::rows_at_a_time, end - r);
      worker.predict(first + r, r, x.subspan(r * dim, here * dim), offsets.subspan(r, here),
                     out.subspan(r, here), more);
    }
  });
}

}  // namespace mlo
