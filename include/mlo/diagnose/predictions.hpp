// Copyright (c) the mlo authors. BSD-3-Clause.
// Predictions of rows from the draws of a posterior.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/diagnose/posterior_draws.hpp"
#include "mlo/model/family.hpp"

namespace mlo {

// What is predicted, for each draw.
enum class PredictionType : std::uint8_t {
  link,      // the linear predictor, offset included
  response,  // the mean of the response: the inverse link of the predictor, times a factor for some families
  draw,      // a response, simulated; of trials, one
};

// Over the draws: mean, sd (divisor n - 1) and the equal-tailed interval (R's type 7 quantiles).
struct Prediction {
  double mean = 0, sd = 0, low = 0, high = 0;
};

// Draws a response, given the linear predictor. Throws UsageError if it is too large.
using ResponseLaw = std::function<double(Stream&, double eta)>;
// One law per value of the second parameter; one for all draws if there are no values. numbers: those that
// the user stated about the family. trials: of an outcome, for a family whose responses are outcomes.
[[nodiscard]] std::vector<ResponseLaw> response_laws(const FamilySpec& family, const FamilyNumbers& numbers,
                                                     std::span<const double> second, double trials = 1);
// FamilySpec::mean_factor for these values, or for the one that the user stated. Empty: there is no factor.
[[nodiscard]] std::vector<double> mean_factors(const FamilySpec& family, const FamilyNumbers& numbers,
                                               std::span<const double> second);
// A response as predictions are compared with it: of an outcome, the share of successes.
[[nodiscard]] double plain_response(const FamilySpec& family, double y) noexcept;

// Adds to a row's linear predictors for the draws [first, first + eta.size()) what its columns do not say:
// the effects of its groups. eta has room for PosteriorDraws::padded(eta.size()) numbers. Called by several
// threads at a time.
using AddToPredictors = std::function<void(std::size_t row, std::size_t first, std::span<double> eta)>;

struct PredictorOptions {
  PredictionType type = PredictionType::response;
  double interval = 0.9;   // 0 < interval < 1
  std::uint64_t seed = 1;  // of PredictionType::draw
};

class Predictor {
 public:
  // numbers: those that the user stated about the family. The draws must outlive the predictor.
  Predictor(const FamilySpec& family, const FamilyNumbers& numbers, const PosteriorDraws& draws,
            const PredictorOptions& options);

  // Rows number `first`, first + 1, ... of the data: x has coefficients() numbers per row in the user's
  // columns. A row's prediction depends on the row, the draws and, if it is simulated, the seed and the row's
  // number, and on nothing else. Its mean is not finite if a predicted value is too large for a double.
  // more: may be empty; it is called with the place of a row in `out`, for all draws.
  void predict(ThreadPool& pool, std::size_t first, std::span<const double> x,
               std::span<const double> offsets, std::span<Prediction> out,
               const AddToPredictors& more = {}) const;

 private:
  class Worker;

  const FamilySpec* family_;
  const PosteriorDraws* draws_;
  PredictorOptions options_;
  std::vector<ResponseLaw> responses_;  // of PredictionType::draw
  std::vector<double> mean_factors_;
};

}  // namespace mlo
