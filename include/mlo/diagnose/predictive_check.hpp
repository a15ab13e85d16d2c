// Copyright (c) the mlo authors. BSD-3-Clause.
// A posterior predictive check: responses simulated from some of the draws, beside those that were observed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mlo/chain/draws.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/glm.hpp"
#include "mlo/model/grouped.hpp"

namespace mlo {

// The rows are the fit's own, so the check is not a test of predictions: it shows what the model cannot
// imitate.
struct PredictiveCheck {
  std::uint64_t rows = 0;   // looked at: all, or some chosen by the seed
  std::uint64_t draws = 0;  // data sets that were simulated, each from one draw
  bool binary = false;
  // Binary responses: tenths of the rows by their mean prediction, with low and high the least and the
  // largest of them, and shares of ones; with group effects tenths by each draw's predictions, and the means
  // of these figures over the draws. Others: bins of the response, and shares of the rows in them; the
  // first and the last bin also have what lies beyond them.
  struct Group {
    double low = 0, high = 0;
    double observed = 0;
    double predicted = 0, q5 = 0, q95 = 0;  // mean and quantiles over the simulated data sets
  };
  std::vector<Group> groups{};
  struct Statistic {
    std::string name{};  // "mean", "sd", "smallest", "largest", "share of zeros"
    double observed = 0;
    double predicted = 0, q5 = 0, q95 = 0;
    double below = 0;  // the share of the data sets in which it is smaller; equal ones count half
  };
  std::vector<Statistic> statistics{};
};

struct PredictiveCheckOptions {
  std::uint64_t seed = 1;
  std::size_t rows = 2000, draws = 100;  // at most
};

// Empty if responses of this model are not simulated: rows with weights, shares of trials, values too large
// for a double.
[[nodiscard]] std::optional<PredictiveCheck> predictive_check(const Glm& model, const FamilyNumbers& numbers,
                                                              std::span<const ChainDraws> chains,
                                                              const PredictiveCheckOptions& options);
// The same with group effects; also empty if the chains do not hold their draws.
[[nodiscard]] std::optional<PredictiveCheck> predictive_check(const GroupedModel& model,
                                                              const FamilyNumbers& numbers,
                                                              std::span<const ChainDraws> chains,
                                                              const PredictiveCheckOptions& options);

}  // namespace mlo
