// Copyright (c) the mlo authors. BSD-3-Clause.
// Predictions and scores of responses that are classes (softmax): a probability per class for each draw.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/chain/draws.hpp"
#include "mlo/diagnose/posterior_draws.hpp"
#include "mlo/diagnose/predictions.hpp"
#include "mlo/diagnose/scores.hpp"

namespace mlo {

class ClassPredictor {
 public:
  // The draws have `width` coefficients for each of the classes 1 .. classes - 1, in the user's coordinates;
  // classes >= 2.
  ClassPredictor(std::span<const ChainDraws> chains, std::size_t width, std::size_t classes);

  [[nodiscard]] std::size_t draws() const noexcept { return blocks_[0].draws(); }
  [[nodiscard]] std::size_t width() const noexcept { return blocks_[0].coefficients(); }
  [[nodiscard]] std::size_t classes() const noexcept { return blocks_.size() + 1; }
  // Predictions per row: the probability of every class, or the predictor of every class but the base.
  [[nodiscard]] std::size_t outputs(PredictionType type) const noexcept {
    return type == PredictionType::link ? blocks_.size() : classes();
  }

  // x: width() numbers per row in the user's columns; out: outputs() per row, row after row. A prediction is
  // not finite if a predictor is too large for a double. PredictionType::draw has no meaning here.
  void predict(ThreadPool& pool, const PredictorOptions& options, std::span<const double> x,
               std::span<Prediction> out) const;

  // rows.y: numbers of classes. There must be a complete row. The names are those of the classes.
  [[nodiscard]] Scores score(const ScoredRows& rows, std::span<const std::string> names,
                             ThreadPool& pool) const;

 private:
  class Worker;
  std::vector<PosteriorDraws> blocks_;  // one per class but the base
};

}  // namespace mlo
