// Copyright (c) the mlo authors. BSD-3-Clause.
// The kernel of group effects against a random walk on all rows and against quadrature. The kernel's
// reference is displaced: about a good one the expansion alone would nearly do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "mlo/kernel/levels.hpp"
#include "support/grouped.hpp"

namespace mlo::testing {

// What is compared: coefficients, log second parameter, log sds, atanh correlations, some effects.
using Draws = std::vector<std::vector<double>>;  // by quantity

struct MeanAndError {
  double mean = 0, error = 0;
};
// From 40 batches.
template <class F>
MeanAndError mean_of(const std::vector<double>& draws, const F& f) {
  constexpr std::size_t batches = 40;
  const std::size_t size = draws.size() / batches;
  MeanAndError out;
  std::vector<double> means(batches, 0);
  for (std::size_t k = 0; k < batches * size; ++k) means[k / size] += f(draws[k]) / static_cast<double>(size);
  for (const double m : means) out.mean += m / batches;
  for (const double m : means) out.error += (m - out.mean) * (m - out.mean);
  out.error = std::sqrt(out.error / (batches * (batches - 1)));
  return out;
}

// The levels of a grouping whose effects are compared.
inline std::vector<std::size_t> watched(std::size_t levels) {
  std::vector<std::size_t> out{0};
  if (levels > 2) out.push_back(levels / 2);
  if (levels > 1) out.push_back(levels - 1);
  return out;
}

struct KernelRun {
  LevelOptions options{};
  GroupedPriors priors{};
  std::size_t sweeps = 20000;
  double displaced = 1;  // posterior sds
};
struct KernelDraws {
  Draws draws;
  std::vector<std::string> names;
  double violations = 0, rows = 0, levels_accepted = 0, scales_accepted = 0, accepted = 0;
  // Of all parameters, from the pilot; for a grid.
  std::vector<double> pilot_mean, pilot_sd;
};

inline std::vector<double> quantities(const GroupedModel& model, const Eigen::VectorXd& theta) {
  std::vector<double> user(model.main_parameters()), out;
  model.to_user({theta.data(), static_cast<std::size_t>(theta.size())}, user);
  const std::size_t q = model.rows().columns();
  std::size_t at = 0;
  for (; at < q; ++at) out.push_back(user[at]);
  if (model.family().estimates_second()) out.push_back(std::log(user[at++]));
  for (const GroupCovariance& c : model.covariances())
    for (std::size_t j = 0; j < c.size(); ++j, ++at)
      out.push_back(j < c.dim() ? std::log(user[at]) : std::atanh(user[at]));
  for (std::size_t k = 0; k < model.covariances().size(); ++k) {
    const std::size_t d = model.covariances()[k].dim(), levels = model.rows().groups()[k].levels();
    for (const std::size_t l : watched(levels))
      for (std::size_t a = 0; a < d; ++a) out.push_back(theta[static_cast<Eigen::Index>(at + l * d + a)]);
    at += levels * d;
  }
  return out;
}

inline std::vector<std::string> quantity_names(const GroupedModel& model) {
  std::vector<std::string> out = model.names();
  for (std::size_t k = 0; k < model.covariances().size(); ++k)
    for (const std::size_t l : watched(model.rows().groups()[k].levels()))
      for (std::size_t a = 0; a < model.covariances()[k].dim(); ++a)
        out.push_back(model.effect_name(k, l, a));
  return out;
}

// A reference that is wrong by about `displaced` posterior sds in every coefficient, every effect and the
// second parameter, with the pilot's means and sds.
inline GroupedPoint displaced_point(const GroupedModel& model, const std::vector<double>& mean,
                                    const std::vector<double>& sd, double displaced) {
  GroupedPoint at, spread;
  model.unpack(mean, at);
  model.unpack(sd, spread);
  for (std::size_t j = 0; j < at.coefficients.size(); ++j)
    at.coefficients[j] += displaced * spread.coefficients[j] * (j % 2 == 0 ? 1 : -1);
  at.log_second += displaced * spread.log_second;
  for (std::size_t k = 0; k < at.effects.size(); ++k)
    for (std::size_t r = 0; r < at.effects[k].size(); ++r)
      at.effects[k][r] += displaced * spread.effects[k][r] * ((r + k) % 3 == 0 ? -1 : 1);
  return at;
}

inline KernelDraws run_kernel(const GroupedData& data, const KernelRun& run) {
  const auto model = model_of(data, run.priors);
  ThreadPool pool(1);
  double passes = 0;
  const GroupedPoint found = find_reference(*model, pool, passes);
  const LevelReference::Options of{.bounds = !run.options.all_rows, .odds = run.options.odds};
  Eigen::VectorXd theta(static_cast<Eigen::Index>(model->dim()));
  model->pack(found, {theta.data(), model->dim()});
  KernelDraws out;
  out.names = quantity_names(*model);
  ChainState state;
  state.theta = theta;
  {
    LevelOptions usual = run.options;
    usual.remainders = true;
    usual.bound_factor = 1;
    LevelKernel pilot(std::make_shared<const LevelReference>(*model, found, pool, of), usual, pool);
    Eigen::VectorXd sum = 0 * theta, squares = sum;
    constexpr std::size_t steps = 600;
    for (std::size_t k = 0; k < 200 + steps; ++k) {
      static_cast<void>(pilot.step(state, {.seed = 3, .chain = 1, .iteration = k}));
      if (k < 200) continue;
      sum += state.theta / steps;
      squares += state.theta.cwiseAbs2() / steps;
    }
    const Eigen::VectorXd sd = (squares - sum.cwiseAbs2()).cwiseMax(1e-12).cwiseSqrt();
    out.pilot_mean.assign(sum.data(), sum.data() + sum.size());
    out.pilot_sd.assign(sd.data(), sd.data() + sd.size());
  }
  const auto reference = std::make_shared<const LevelReference>(
      *model, displaced_point(*model, out.pilot_mean, out.pilot_sd, run.displaced), pool, of);
  LevelKernel kernel(reference, run.options, pool);
  constexpr std::size_t warmup = 600;
  const auto steps = static_cast<double>(run.sweeps);
  for (std::size_t k = 0; k < warmup + run.sweeps; ++k) {
    if (k == warmup) kernel.freeze();
    const StepInfo info = kernel.step(state, {.seed = 42, .chain = 0, .iteration = k});
    out.violations += static_cast<double>(info.bound_violations);
    if (k < warmup) continue;
    out.rows += static_cast<double>(info.rows_read) / steps;
    out.accepted += (info.accepted ? 1 : 0) / steps;
    const std::vector<double> now = quantities(*model, state.theta);
    out.draws.resize(now.size());
    for (std::size_t j = 0; j < now.size(); ++j) out.draws[j].push_back(now[j]);
  }
  out.levels_accepted = kernel.of_levels().accepted / std::max(1.0, kernel.of_levels().tried);
  out.scales_accepted = kernel.of_scales().accepted / std::max(1.0, kernel.of_scales().tried);
  return out;
}

// The largest |z| of means and second moments, and which it is.
struct Worst {
  double z = 0;
  std::string what = "nothing";
  double squares = 0, count = 0;
  void see(double value, const std::string& name) {
    squares += value * value;
    ++count;
    if (!(std::abs(value) <= z)) {
      z = std::abs(value);
      what = name;
    }
  }
  [[nodiscard]] double rms() const { return std::sqrt(squares / count); }
};

inline Worst compare(const KernelDraws& kernel, const Draws& walk) {
  Worst out;
  EXPECT_EQ(kernel.draws.size(), walk.size());
  for (std::size_t j = 0; j < walk.size(); ++j) {
    const double centre = mean_of(walk[j], [](double x) { return x; }).mean;
    const auto z_of = [&](const auto& f) {
      const MeanAndError a = mean_of(kernel.draws[j], f), b = mean_of(walk[j], f);
      return (a.mean - b.mean) / std::hypot(a.error, b.error);
    };
    out.see(z_of([](double x) { return x; }), "mean of " + kernel.names[j]);
    out.see(z_of([&](double x) { return (x - centre) * (x - centre); }), "variance of " + kernel.names[j]);
  }
  return out;
}

inline Worst compare(const KernelDraws& kernel, const std::vector<double>& mean,
                     const std::vector<double>& variance) {
  Worst out;
  EXPECT_EQ(kernel.draws.size(), mean.size());
  for (std::size_t j = 0; j < mean.size(); ++j) {
    const MeanAndError first = mean_of(kernel.draws[j], [](double x) { return x; });
    const MeanAndError second =
        mean_of(kernel.draws[j], [&](double x) { return (x - mean[j]) * (x - mean[j]); });
    out.see((first.mean - mean[j]) / first.error, "mean of " + kernel.names[j]);
    out.see((second.mean - variance[j]) / second.error, "variance of " + kernel.names[j]);
  }
  return out;
}

inline void report(const char* what, const KernelDraws& kernel, const Worst& worst) {
  std::printf("%s: largest |z| %.2f (%s), rms %.2f of %g; rows per sweep %.0f, accepted %.2f %.2f %.2f\n",
              what, worst.z, worst.what.c_str(), worst.rms(), worst.count, kernel.rows, kernel.accepted,
              kernel.levels_accepted, kernel.scales_accepted);
}

}  // namespace mlo::testing
