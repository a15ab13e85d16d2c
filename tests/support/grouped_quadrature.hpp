// Copyright (c) the mlo authors. BSD-3-Clause.
// Exact posteriors of small models with one grouping and one effect per level: y ~ 1 + x + (1 | g), or
// y ~ 1 + x + (0 + x | g). Given the coefficients and sigma the levels are independent; a level's likelihood
// depends on its effect only through c = effect + the coefficient of the same column, so it is tabulated over
// c once for each value of the other coefficient and of the second parameter. Trapezoid rule: the error falls
// faster than any power of the steps.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/grouped.hpp"
#include "support/grouped_laws.hpp"

namespace mlo::testing {

struct Axis {
  std::vector<double> at;
  Axis(double low, double high, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k)
      at.push_back(count == 1 ? low
                              : low + (high - low) * static_cast<double>(k) / static_cast<double>(count - 1));
  }
  [[nodiscard]] std::size_t size() const { return at.size(); }
  double operator[](std::size_t k) const { return at[k]; }
};

struct ExactMoments {
  std::vector<double> mean, variance;  // of quantities()
  double border = 0;                   // the largest density at the grid's border, compared with the top
};

// The grid lies about the pilot's means. `fine`: how many points on the axes that need many, compared with
// the usual.
inline ExactMoments integrate(const GroupedData& data, const GroupedPriors& priors, const KernelDraws& run,
                              double fine = 1, std::size_t points_of_level = 250) {
  const PlainGroup& group = data.groups[0];
  const std::size_t levels = group.levels, q = data.columns;
  const bool second = estimates_second(data);
  const std::size_t twin = group.intercept ? 0 : 1, other = 1 - twin;
  const auto spread = [&](std::size_t p, double below, double above, double count) {
    return Axis(run.pilot_mean[p] - below * run.pilot_sd[p], run.pilot_mean[p] + above * run.pilot_sd[p],
                static_cast<std::size_t>(count));
  };
  const Axis as = spread(twin, 7, 7, 39 * fine),
             others = q == 1 ? Axis(0, 0, 1) : spread(other, 6.5, 6.5, 13 + 6 * fine);
  const Axis seconds =
      second ? spread(q, 6.5, 6.5, 15) : Axis(data.known > 0 ? std::log(data.known) : 0, 0, 1);
  const std::size_t first = q + (second ? 1 : 0);
  const Axis logs = spread(first, 8, 9, 43 * fine);
  double low = 1e300, high = -1e300;
  for (std::size_t l = 0; l < levels; ++l) {
    const double sd = run.pilot_sd[first + 1 + l], b = run.pilot_mean[first + 1 + l] + run.pilot_mean[twin];
    low = std::min(low, b - 9 * sd);
    high = std::max(high, b + 9 * sd);
  }
  const Axis cs(low, high, static_cast<std::size_t>(static_cast<double>(points_of_level) * fine));
  // Normal densities of c about a, by (a, log sigma).
  std::vector<double> normals;
  for (const double a : as.at)
    for (const double log_sd : logs.at)
      for (const double c : cs.at) {
        const double r = (c - a) * std::exp(-log_sd);
        normals.push_back(std::exp(-0.5 * r * r - log_sd));
      }
  const std::vector<std::size_t> seen = watched(levels);
  const std::size_t count = first + 1 + seen.size();
  std::vector<std::vector<double>> weights, firsts(count), squares(count);
  std::vector<double> logs_of, value(count), square(count);
  std::vector<double> table(levels * cs.size()), tops(levels);
  std::vector<char> at_border;
  for (std::size_t s = 0; s < seconds.size(); ++s)
    for (std::size_t o = 0; o < others.size(); ++o) {
      std::fill(table.begin(), table.end(), 0);
      for (std::size_t i = 0; i < data.rows; ++i) {
        const double z = group.multiplier(i, 0), w = data.weight.empty() ? 1 : data.weight[i];
        const double rest =
            (q > 1 ? others[o] * data.x[i * q + other] : 0) + (data.offset.empty() ? 0 : data.offset[i]);
        double* const to = table.data() + group.codes[i] * cs.size();
        for (std::size_t c = 0; c < cs.size(); ++c)
          to[c] += w * row_term(data.family, data.y[i], rest + z * cs[c], seconds[s]);
      }
      double common = prior_of_coefficient(priors, others[o]) * (q > 1 ? 1 : 0);
      if (second) common += prior_of_log_second(seconds[s]);
      for (std::size_t l = 0; l < levels; ++l) {
        double* const of = table.data() + l * cs.size();
        tops[l] = *std::max_element(of, of + cs.size());
        for (std::size_t c = 0; c < cs.size(); ++c) of[c] = std::exp(of[c] - tops[l]);
        common += tops[l];
      }
      for (std::size_t a = 0; a < as.size(); ++a)
        for (std::size_t g = 0; g < logs.size(); ++g) {
          const double* const normal_at = normals.data() + (a * logs.size() + g) * cs.size();
          double density = common + prior_of_coefficient(priors, as[a]) + prior_of_log_sd(priors, logs[g]);
          std::size_t watch = 0;
          for (std::size_t l = 0; l < levels; ++l) {
            const double* const of = table.data() + l * cs.size();
            double sum = 0;
            for (std::size_t c = 0; c < cs.size(); ++c) sum += of[c] * normal_at[c];
            density += std::log(sum);
            if (watch == seen.size() || seen[watch] != l) continue;
            double mean = 0, second_moment = 0;
            for (std::size_t c = 0; c < cs.size(); ++c) {
              const double b = cs[c] - as[a], p = of[c] * normal_at[c];
              mean += b * p;
              second_moment += b * b * p;
            }
            value[first + 1 + watch] = mean / sum;
            square[first + 1 + watch] = second_moment / sum;
            ++watch;
          }
          value[twin] = as[a];
          if (q > 1) value[other] = others[o];
          if (second) value[q] = seconds[s];
          value[first] = logs[g];
          for (std::size_t j = 0; j <= first; ++j) square[j] = value[j] * value[j];
          logs_of.push_back(density);
          at_border.push_back(a == 0 || a + 1 == as.size() || g == 0 || g + 1 == logs.size() ||
                              (q > 1 && (o == 0 || o + 1 == others.size())) ||
                              (second && (s == 0 || s + 1 == seconds.size())));
          for (std::size_t j = 0; j < count; ++j) {
            firsts[j].push_back(value[j]);
            squares[j].push_back(square[j]);
          }
        }
    }
  const double top = *std::max_element(logs_of.begin(), logs_of.end());
  ExactMoments out;
  double total = 0;
  std::vector<double> mean(count, 0), moment(count, 0);
  for (std::size_t p = 0; p < logs_of.size(); ++p) {
    const double w = std::isnan(logs_of[p]) ? 0 : std::exp(logs_of[p] - top);
    if (at_border[p] != 0) out.border = std::max(out.border, w);
    total += w;
    for (std::size_t j = 0; j < count; ++j) {
      mean[j] += w * firsts[j][p];
      moment[j] += w * squares[j][p];
    }
  }
  for (std::size_t j = 0; j < count; ++j) {
    out.mean.push_back(mean[j] / total);
    out.variance.push_back(moment[j] / total - out.mean[j] * out.mean[j]);
  }
  return out;
}

}  // namespace mlo::testing
