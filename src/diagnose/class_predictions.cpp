// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/class_predictions.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "mlo/base/special.hpp"
#include "mlo/diagnose/quantile.hpp"

namespace mlo {

ClassPredictor::ClassPredictor(std::span<const ChainDraws> chains, std::size_t width, std::size_t classes) {
  assert(classes >= 2);
  for (std::size_t k = 1; k < classes; ++k) blocks_.emplace_back(chains, width, false, (k - 1) * width);
}

// The predictors of one row, and its probabilities, for all draws.
class ClassPredictor::Worker {
 public:
  explicit Worker(const ClassPredictor& predictor)
      : p_(predictor),
        draws_(predictor.draws()),
        stride_(PosteriorDraws::padded(draws_)),
        values_(predictor.classes() * stride_),
        sums_(draws_) {}

  // Class k's numbers; those of the base are 0 until they are probabilities.
  [[nodiscard]] std::span<double> of(std::size_t k) {
    return std::span(values_).subspan(k * stride_, draws_);
  }

  void load(std::span<const double> x) {
    const double no_offset = 0;
    std::fill_n(values_.begin(), stride_, 0.0);
    for (std::size_t k = 1; k < p_.classes(); ++k)
      p_.blocks_[k - 1].predictors(x, {&no_offset, 1}, 0, draws_, stride_,
                                   std::span(values_).subspan(k * stride_, stride_));
  }

  // The logs of the sums of the exponentials, beside the predictors.
  std::span<const double> log_sums() {
    std::vector<double> largest(draws_, 0.0), term(draws_);
    for (std::size_t k = 1; k < p_.classes(); ++k)
      for (std::size_t s = 0; s < draws_; ++s) largest[s] = std::max(largest[s], of(k)[s]);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (std::size_t k = 0; k < p_.classes(); ++k) {
      for (std::size_t s = 0; s < draws_; ++s) term[s] = of(k)[s] - largest[s];
      exp(term, term);
      for (std::size_t s = 0; s < draws_; ++s) sums_[s] += term[s];
    }
    log(sums_, sums_);
    for (std::size_t s = 0; s < draws_; ++s) sums_[s] += largest[s];
    return sums_;
  }

  // Predictors become probabilities.
  void normalise() {
    log_sums();
    for (std::size_t k = 0; k < p_.classes(); ++k) {
      for (std::size_t s = 0; s < draws_; ++s) of(k)[s] -= sums_[s];
      exp(of(k), of(k));
    }
  }

 private:
  const ClassPredictor& p_;
  std::size_t draws_, stride_;
  std::vector<double> values_, sums_;
};

void ClassPredictor::predict(ThreadPool& pool, const PredictorOptions& options, std::span<const double> x,
                             std::span<Prediction> out) const {
  assert(options.type != PredictionType::draw);
  const std::size_t per_row = outputs(options.type), rows = out.size() / per_row;
  assert(x.size() == rows * width());
  const bool link = options.type == PredictionType::link;
  constexpr std::size_t task_rows = 64;
  pool.run((rows + task_rows - 1) / task_rows, [&](std::size_t task) {
    Worker worker(*this);
    QuantileFinder finder(draws(), {0.5 - 0.5 * options.interval, 0.5 + 0.5 * options.interval});
    for (std::size_t r = task * task_rows; r < std::min(rows, (task + 1) * task_rows); ++r) {
      worker.load(x.subspan(r * width(), width()));
      if (!link) worker.normalise();
      for (std::size_t m = 0; m < per_row; ++m) {
        const std::span<const double> values = worker.of(link ? m + 1 : m);
        const Spread spread = spread_of(values);
        Prediction& p = out[r * per_row + m];
        if (!std::isfinite(spread.mean)) {
          p.mean = std::numeric_limits<double>::quiet_NaN();
          continue;
        }
        std::array<OrderPair, 2> ends;
        finder.find(values, spread, ends);
        p = {spread.mean, spread.sd, ends[0].value(), ends[1].value()};
      }
    }
  });
}

Scores ClassPredictor::score(const ScoredRows& rows, std::span<const std::string> names,
                             ThreadPool& pool) const {
  const std::size_t all = rows.y.size();
  std::vector<double> log_densities(all);
  std::vector<std::size_t> guesses(all);
  constexpr std::size_t block = 64;
  pool.run((all + block - 1) / block, [&](std::size_t task) {
    const std::size_t first = task * block, count = std::min(block, all - first);
    std::vector<double> x(count * width()), offsets(count), terms(draws());
    rows.fill(first, x, offsets);
    Worker worker(*this);
    for (std::size_t i = 0; i < count; ++i) {
      worker.load(std::span(x).subspan(i * width(), width()));
      const std::span<const double> sums = worker.log_sums();
      const std::span<const double> own = worker.of(static_cast<std::size_t>(rows.y[first + i]));
      for (std::size_t s = 0; s < terms.size(); ++s) terms[s] = own[s] - sums[s];
      log_densities[first + i] = log_mean_exp(terms);
      worker.normalise();
      double most = -1;
      for (std::size_t k = 0; k < classes(); ++k) {
        double sum = 0;
        for (const double p : worker.of(k)) sum += p;
        if (sum > most) guesses[first + i] = k;
        most = std::max(most, sum);
      }
    }
  });
  Scores out;
  out.classes.assign(names.begin(), names.end());
  out.confusion.assign(classes() * classes(), 0);
  std::uint64_t right = 0;
  std::vector<double> kept;
  for (std::size_t i = 0; i < all; ++i) {
    if (rows.complete[i] == 0) continue;
    const auto y = static_cast<std::size_t>(rows.y[i]);
    ++out.confusion[y * classes() + guesses[i]];
    if (y == guesses[i]) ++right;
    kept.push_back(log_densities[i]);
  }
  assert(!kept.empty());
  out.rows = kept.size();
  out.missing = all - kept.size();
  const Spread spread = spread_of(kept);
  out.log_score = spread.mean;
  out.log_score_error = spread.sd / std::sqrt(static_cast<double>(kept.size()));
  out.accuracy = static_cast<double>(right) / static_cast<double>(kept.size());
  return out;
}

}  // namespace mlo
