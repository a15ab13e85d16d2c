// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mlo::experiments {
namespace {

double average(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  assert(values.size() >= 2);
  const double centre = average(values);
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return sum / static_cast<double>(values.size() - 1);
}

}  // namespace

Estimate mean(std::span<const double> values) {
  return {average(values), std::sqrt(variance(values) / static_cast<double>(values.size()))};
}

Estimate bias(std::span<const double> estimates, double truth) {
  const Estimate m = mean(estimates);
  return {m.value - truth, m.se};
}

Estimate standard_deviation(std::span<const double> estimates) {
  const double s2 = variance(estimates), centre = average(estimates);
  double fourth = 0;
  for (const double e : estimates) fourth += std::pow(e - centre, 4);
  const auto b = static_cast<double>(estimates.size());
  // Var(s^2) = (m4 - s^4) / B to first order, and d sqrt(s2) = d s2 / (2 s).
  const double s = std::sqrt(s2);
  const double of_s2 = std::sqrt(std::max(0.0, fourth / b - s2 * s2) / b);
  return {s, s > 0 ? of_s2 / (2 * s) : 0};
}

Estimate mean_squared_error(std::span<const double> estimates, double truth) {
  return mean(squared_errors(estimates, truth));
}

Estimate root_mean_squared_error(std::span<const double> estimates, double truth) {
  const Estimate m = mean_squared_error(estimates, truth);
  const double root = std::sqrt(m.value);
  return {root, root > 0 ? m.se / (2 * root) : 0};
}

std::vector<double> squared_errors(std::span<const double> estimates, double truth) {
  std::vector<double> out;
  out.reserve(estimates.size());
  for (const double e : estimates) out.push_back((e - truth) * (e - truth));
  return out;
}

std::vector<double> errors_towards_bias(std::span<const double> estimates, double truth) {
  const double sign = average(estimates) < truth ? -1 : 1;
  std::vector<double> out;
  out.reserve(estimates.size());
  for (const double e : estimates) out.push_back(sign * (e - truth));
  return out;
}

}  // namespace mlo::experiments
