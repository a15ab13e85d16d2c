// Copyright (c) the mlo authors. BSD-3-Clause.
// How well a posterior predicts rows that it has not seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/diagnose/posterior_draws.hpp"
#include "mlo/diagnose/predictions.hpp"
#include "mlo/model/family.hpp"

namespace mlo {

// Of predictions and responses, row by row; neither is empty.

// The probability that a row with response 1 has a larger prediction than one with response 0; ties count
// half (Mann and Whitney). NaN unless there are both.
[[nodiscard]] double area_under_curve(std::span<const double> predicted, std::span<const double> y);
// The mean of (prediction - response)^2: of probabilities, Brier's score.
[[nodiscard]] double mean_squared_error(std::span<const double> predicted, std::span<const double> y);

// Rows with neighbouring predictions.
struct CalibrationBin {
  std::uint64_t rows = 0;
  double predicted = 0, observed = 0;  // means of predictions and of responses
};
// About `bins` groups of equal size, by prediction. Rows with equal predictions are in the same bin, so that
// the bins do not depend on the order of the rows; bins without rows are left out.
[[nodiscard]] std::vector<CalibrationBin> calibration(std::span<const double> predicted,
                                                      std::span<const double> y, std::size_t bins = 10);

// log of the mean of e^terms, without overflow or underflow. Not empty.
[[nodiscard]] double log_mean_exp(std::span<const double> terms) noexcept;

struct Scores {
  std::uint64_t rows = 0;
  std::uint64_t missing = 0;             // rows left out: a missing cell, or a level the fit has not seen
  double log_score = 0;                  // the mean over rows of log(mean over draws of p(y | draw))
  double log_score_error = 0;            // its standard error over rows; NaN for a single row
  std::optional<double> auc, brier;      // of responses 0 and 1
  std::optional<double> deviance, rmse;  // of other responses; deviance: the mean per row, at the mean
                                         // prediction; empty if the family has none
  std::vector<CalibrationBin> calibration;
  // Of responses that are classes: the share of rows whose likeliest class is theirs, and the number of rows
  // of class k whose likeliest class is m, confusion[k * classes.size() + m].
  std::optional<double> accuracy;
  std::vector<std::string> classes;
  std::vector<std::uint64_t> confusion;
};

// What is scored. The columns are made when they are needed, some rows at a time: a row with many levels of
// factors is long.
struct ScoredRows {
  std::vector<double> y;       // one per row
  std::vector<char> complete;  // whether a row is scored; the others are counted
  // Writes the user's columns, PosteriorDraws::coefficients() numbers per row, and the offsets of the rows
  // [first, first + offsets.size()). Called by several threads at a time.
  std::function<void(std::size_t first, std::span<double> x, std::span<double> offsets)> fill;
  // May be empty. Its draws begin at a multiple of 512.
  AddToPredictors more{};
};

// There must be a complete row. The result does not depend on the number of threads.
[[nodiscard]] Scores score(const Family& family, const PosteriorDraws& draws, const ScoredRows& rows,
                           ThreadPool& pool);

}  // namespace mlo
