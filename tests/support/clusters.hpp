// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows in two clusters, and the law of Student's model for them by quadrature: posteriors with two modes.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "mlo/data/table.hpp"

namespace mlo::testing {

// y ~ 1, freedom 1, sigma 1, prior normal(0, 10): five rows near 0 and four near 8.
inline Table nine_rows() {
  Table table;
  table.source.name = "test";
  table.rows = 9;
  table.columns.push_back({"y", std::vector<double>{-0.4, -0.1, 0.1, 0.3, 0.6, 7.7, 7.95, 8.2, 8.4}});
  return table;
}

// y ~ 0 + x1 + x2, freedom 1, sigma 0.2, priors normal(0, 10): six rows of the plane x1 - x2, five of 3 x2 -
// x1, each a little off.
inline Table two_planes() {
  const std::vector<double> x1{1.0, -0.8, 0.5, 1.4, -1.2, 0.3, 0.9, -1.1, 0.6, -0.4, 1.3};
  const std::vector<double> x2{0.4, 1.1, -0.9, 0.7, 0.2, -1.3, -0.6, 0.8, 1.2, -1.0, 0.5};
  std::vector<double> y(x1.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double off = 0.12 * std::sin(7.0 * static_cast<double>(i + 1));
    y[i] = (i < 6 ? x1[i] - x2[i] : 3 * x2[i] - x1[i]) + off;
  }
  Table table;
  table.source.name = "test";
  table.rows = y.size();
  table.columns.push_back({"y", y});
  table.columns.push_back({"x1", x1});
  table.columns.push_back({"x2", x2});
  return table;
}

struct Law1 {
  double mean = 0, sd = 0;
  std::vector<double> modes;  // the highest first
  double drop = 0;            // of the log posterior from the first mode to the second
};

// Of the location of Student's law, by the trapezoid rule on a fine grid, which also shows the modes.
inline Law1 location_law(const std::vector<double>& y, double freedom, double sigma, double prior_sd) {
  const auto log_density = [&](double m) {
    double sum = -0.5 * m * m / (prior_sd * prior_sd);
    for (const double v : y)
      sum -= 0.5 * (freedom + 1) * std::log1p((v - m) * (v - m) / (sigma * sigma * freedom));
    return sum;
  };
  constexpr double from = -40, step = 1e-3;
  constexpr std::size_t points = 80001;
  std::vector<double> value(points);
  double top = -1e300;
  for (std::size_t k = 0; k < points; ++k) {
    value[k] = log_density(from + step * static_cast<double>(k));
    top = std::max(top, value[k]);
  }
  Law1 law;
  double total = 0, second = 0;
  std::vector<double> heights;
  for (std::size_t k = 0; k < points; ++k) {
    const double m = from + step * static_cast<double>(k), density = std::exp(value[k] - top);
    total += density;
    law.mean += density * m;
    second += density * m * m;
    if (k == 0 || k + 1 == points || value[k] <= value[k - 1] || value[k] < value[k + 1]) continue;
    const bool higher = heights.empty() || value[k] > heights[0];
    law.modes.insert(higher ? law.modes.begin() : law.modes.end(), m);
    heights.insert(higher ? heights.begin() : heights.end(), value[k]);
  }
  law.mean /= total;
  law.sd = std::sqrt(second / total - law.mean * law.mean);
  if (heights.size() > 1) law.drop = heights[0] - heights[1];
  return law;
}

}  // namespace mlo::testing
