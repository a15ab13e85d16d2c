// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/scores.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "mlo/base/special.hpp"
#include "mlo/diagnose/quantile.hpp"
#include "mlo/model/link.hpp"

namespace mlo {
namespace {

// The rows in ascending order of their predictions.
std::vector<std::size_t> by_prediction(std::span<const double> predicted) {
  std::vector<std::size_t> order(predicted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return predicted[a] < predicted[b]; });
  return order;
}

// Calls visit(first, end) for each group of equal predictions, as positions in `order`.
template <class Visit>
void each_tie(std::span<const double> predicted, std::span<const std::size_t> order, const Visit& visit) {
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && predicted[order[end]] == predicted[order[first]]) ++end;
    visit(first, end);
  }
}

// The log predictive density and the mean prediction of some rows, over all draws. The predictors are made
// for some draws at a time and then read across the rows, because a family's terms are computed for many rows
// with the same parameters.
class RowScorer {
 public:
  static constexpr std::size_t most_rows = 64;

  RowScorer(const Family& family, const PosteriorDraws& draws, const AddToPredictors& more)
      : family_(family), draws_(draws), more_(more) {}

  // place: the number of the first row.
  void score(std::size_t place, std::span<const double> x, std::span<const double> offsets,
             std::span<const double> y, std::span<double> log_densities, std::span<double> means) {
    const std::size_t rows = y.size();
    reference(place, x, offsets, y);
    std::vector<double> sums(rows, 0.0), eta(rows), part(rows);
    std::fill(means.begin(), means.end(), 0.0);
    for (std::size_t first = 0; first < draws_.draws(); first += most_draws) {
      const std::size_t count = std::min(most_draws, draws_.draws() - first);
      draws_.predictors(x, offsets, first, count, stride, eta_);
      for (std::size_t r = 0; r < rows && more_; ++r)
        more_(place + r, first, std::span(eta_).subspan(r * stride, count));
      for (std::size_t s = 0; s < count; ++s) {
        for (std::size_t r = 0; r < rows; ++r) eta[r] = eta_[r * stride + s];
        family_.terms({eta, y, log_second(first + s)}, part);
        for (std::size_t r = 0; r < rows; ++r) part[r] -= reference_[r];
        exp(part, part);
        for (std::size_t r = 0; r < rows; ++r) sums[r] += part[r];
        inverse_link(family_.spec().link, eta, part);
        if (const auto factor = family_.spec().mean_factor)
          for (double& mean : part) mean *= factor(second(first + s));
        for (std::size_t r = 0; r < rows; ++r) means[r] += part[r];
      }
    }
    const auto n = static_cast<double>(draws_.draws());
    const std::size_t dim = draws_.coefficients();
    for (std::size_t r = 0; r < rows; ++r) {
      means[r] /= n;
      // Normal numbers only: a sum of subnormal ones has lost digits.
      log_densities[r] = std::isnormal(sums[r])
                             ? reference_[r] + std::log(sums[r] / n)
                             : log_density(place + r, x.subspan(r * dim, dim), offsets[r], y[r]);
    }
  }

 private:
  static constexpr std::size_t most_draws = 512;
  static constexpr std::size_t stride = most_draws + 8;  // a power of 2 would use few sets of the cache

  [[nodiscard]] double log_second(std::size_t draw) const {
    return draws_.second().empty() ? 0 : family_.spec().second->to_working(draws_.second()[draw]);
  }
  [[nodiscard]] double second(std::size_t draw) const {
    return draws_.second().empty() ? family_.known_second() : draws_.second()[draw];
  }

  // The terms at the mean of the draws: densities are summed relative to them. The result is the same for any
  // other reference, but for rounding, as long as the sum neither overflows nor underflows.
  void reference(std::size_t place, std::span<const double> x, std::span<const double> offsets,
                 std::span<const double> y) {
    const std::size_t dim = draws_.coefficients();
    std::vector<double> eta(offsets.begin(), offsets.end());
    for (std::size_t r = 0; r < eta.size(); ++r)
      for (std::size_t j = 0; j < dim; ++j) eta[r] += x[r * dim + j] * draws_.mean(j);
    for (std::size_t r = 0; r < eta.size() && more_; ++r) eta[r] += mean_of_more(place + r);
    reference_.resize(y.size());
    const auto second = draws_.second();
    const double sum = std::accumulate(second.begin(), second.end(), 0.0);
    const double mean = sum / static_cast<double>(second.size());
    family_.terms({eta, y, second.empty() ? 0 : family_.spec().second->to_working(mean)}, reference_);
  }

  // What is added to the predictors of a row: of all draws, and their mean.
  [[nodiscard]] std::vector<double> more_of(std::size_t place) const {
    std::vector<double> out(PosteriorDraws::padded(draws_.draws()), 0.0);
    if (more_) more_(place, 0, std::span(out).first(draws_.draws()));
    return out;
  }
  [[nodiscard]] double mean_of_more(std::size_t place) const {
    const std::vector<double> more = more_of(place);
    const auto end = more.begin() + static_cast<std::ptrdiff_t>(draws_.draws());
    return std::accumulate(more.begin(), end, 0.0) / static_cast<double>(draws_.draws());
  }

  // The slow way, for a row whose densities differ too much from the reference.
  [[nodiscard]] double log_density(std::size_t place, std::span<const double> x, double offset, double y) {
    std::vector<double> terms(draws_.draws());
    const std::vector<double> more = more_of(place);
    for (std::size_t s = 0; s < terms.size(); ++s) {
      double eta = offset + more[s];
      for (std::size_t j = 0; j < x.size(); ++j) eta += x[j] * draws_.coefficient(j, s);
      family_.terms({{&eta, 1}, {&y, 1}, log_second(s)}, {&terms[s], 1});
    }
    return log_mean_exp(terms);
  }

  const Family& family_;
  const PosteriorDraws& draws_;
  const AddToPredictors& more_;
  std::vector<double> eta_ = std::vector<double>(most_rows * stride);
  std::vector<double> reference_;
};

}  // namespace

double area_under_curve(std::span<const double> predicted, std::span<const double> y) {
  assert(predicted.size() == y.size());
  const std::vector<std::size_t> order = by_prediction(predicted);
  double zeros = 0, ones = 0, wins = 0;  // zeros: those with smaller predictions
  each_tie(predicted, order, [&](std::size_t first, std::size_t end) {
    double its_zeros = 0, its_ones = 0;
    for (std::size_t k = first; k < end; ++k) (y[order[k]] == 0 ? its_zeros : its_ones) += 1;
    wins += its_ones * (zeros + 0.5 * its_zeros);
    zeros += its_zeros;
    ones += its_ones;
  });
  return zeros > 0 && ones > 0 ? wins / (zeros * ones) : std::numeric_limits<double>::quiet_NaN();
}

double mean_squared_error(std::span<const double> predicted, std::span<const double> y) {
  assert(predicted.size() == y.size() && !y.empty());
  double sum = 0;
  for (std::size_t k = 0; k < y.size(); ++k) sum += (predicted[k] - y[k]) * (predicted[k] - y[k]);
  return sum / static_cast<double>(y.size());
}

std::vector<CalibrationBin> calibration(std::span<const double> predicted, std::span<const double> y,
                                        std::size_t bins) {
  assert(predicted.size() == y.size() && bins >= 1);
  const std::vector<std::size_t> order = by_prediction(predicted);
  std::vector<CalibrationBin> out(bins);
  each_tie(predicted, order, [&](std::size_t first, std::size_t end) {
    CalibrationBin& bin = out[first * bins / order.size()];
    for (std::size_t k = first; k < end; ++k) {
      ++bin.rows;
      bin.predicted += predicted[order[k]];
      bin.observed += y[order[k]];
    }
  });
  std::erase_if(out, [](const CalibrationBin& bin) { return bin.rows == 0; });
  for (CalibrationBin& bin : out) {
    bin.predicted /= static_cast<double>(bin.rows);
    bin.observed /= static_cast<double>(bin.rows);
  }
  return out;
}

double log_mean_exp(std::span<const double> terms) noexcept {
  assert(!terms.empty());
  const double largest = *std::max_element(terms.begin(), terms.end());
  if (!std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - largest);
  return largest + std::log(sum / static_cast<double>(terms.size()));
}

Scores score(const Family& family, const PosteriorDraws& draws, const ScoredRows& rows, ThreadPool& pool) {
  const std::size_t all = rows.y.size(), dim = draws.coefficients();
  assert(rows.complete.size() == all && draws.draws() >= 1);
  std::vector<double> log_densities(all), means(all);
  constexpr std::size_t block = RowScorer::most_rows;
  pool.run((all + block - 1) / block, [&](std::size_t task) {
    const std::size_t first = task * block, count = std::min(block, all - first);
    std::vector<double> x(count * dim), offsets(count);
    rows.fill(first, x, offsets);
    RowScorer(family, draws, rows.more)
        .score(first, x, offsets, std::span(rows.y).subspan(first, count),
               std::span(log_densities).subspan(first, count), std::span(means).subspan(first, count));
  });
  std::vector<double> y = rows.y;
  std::size_t n = 0;  // of complete rows
  for (std::size_t k = 0; k < all; ++k) {
    if (rows.complete[k] == 0) continue;
    log_densities[n] = log_densities[k];
    means[n] = means[k];
    y[n++] = plain_response(family.spec(), y[k]);
  }
  assert(n >= 1);
  for (std::vector<double>* part : {&log_densities, &means, &y}) part->resize(n);

  Scores out;
  out.rows = n;
  out.missing = all - n;
  const Spread spread = spread_of(log_densities);
  out.log_score = spread.mean;
  out.log_score_error = spread.sd / std::sqrt(static_cast<double>(n));
  const FamilySpec& spec = family.spec();
  if (spec.binary) {
    out.auc = area_under_curve(means, y);
    out.brier = mean_squared_error(means, y);
  } else {
    out.rmse = std::sqrt(mean_squared_error(means, y));
    if (spec.deviance != nullptr) {
      const auto second = draws.second();
      const double sum = std::accumulate(second.begin(), second.end(), 0.0);
      const double value = second.empty() ? family.known_second() : sum / static_cast<double>(second.size());
      double total = 0;
      for (std::size_t k = 0; k < n; ++k) total += spec.deviance(y[k], means[k], value);
      out.deviance = total / static_cast<double>(n);
    }
  }
  out.calibration = calibration(means, y);
  return out;
}

}  // namespace mlo
