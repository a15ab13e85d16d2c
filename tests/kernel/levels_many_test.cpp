// Copyright (c) the mlo authors. BSD-3-Clause.
// Thousands of levels with three rows each: their effects are far from normal, and what the expansion leaves
// out adds up to many sds of the intercept. Against quadrature over the intercept and the sd: three rows of
// one level are a count, so that the likelihood is a product of four integrals.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/grouped_laws.hpp"

namespace mlo {
namespace {

constexpr std::size_t levels = 4000, rows_of_level = 3, quantities = 3;

testing::GroupedData many_levels() {
  Stream s({.seed = 4, .chain = 0, .purpose = Purpose::simulate, .iteration = 0});
  testing::GroupedData d;
  d.rows = levels * rows_of_level;
  d.columns = 2;
  d.groups = {testing::PlainGroup{.levels = levels}};
  for (std::size_t l = 0; l < levels; ++l) {
    const double effect = normal(s);
    for (std::size_t r = 0; r < rows_of_level; ++r) {
      const double x = r == 0 ? 1 : 0;
      d.x.insert(d.x.end(), {1, x});
      d.groups[0].codes.push_back(static_cast<std::uint32_t>(l));
      d.y.push_back(uniform(s) < 1 / (1 + std::exp(0.4 - 0.7 * x - effect)) ? 1 : 0);
    }
  }
  return d;
}

struct Moments {
  double mean = 0, variance = 0;
};

using AllMoments = std::array<Moments, quantities>;

// Of the coefficients and the log of the sd, on a grid of 5.5 sds about the draws.
AllMoments integrate(const testing::GroupedData& data, const testing::GroupedPriors& priors,
                     const testing::Draws& draws) {
  std::array<std::array<double, rows_of_level>, 2> counts{};  // by the row with x = 1, by the others' ones
  for (std::size_t i = 0; i < data.rows; i += rows_of_level)
    ++counts[data.y[i] > 0.5 ? 1 : 0][static_cast<std::size_t>(data.y[i + 1] + data.y[i + 2])];
  const auto log_posterior = [&](double a, double slope, double log_sd) {
    std::array<std::array<double, rows_of_level>, 2> integrals{};
    for (int k = -70; k <= 70; ++k) {  // the trapezoidal rule, whose error is far below 1e-6 here
      const double z = 0.1 * k, weight = std::exp(-0.5 * z * z), eta = a + std::exp(log_sd) * z;
      const double p = 1 / (1 + std::exp(-eta)), one = 1 / (1 + std::exp(-eta - slope));
      for (std::size_t with = 0; with < 2; ++with) {
        const double first = weight * (with == 1 ? one : 1 - one);
        integrals[with][0] += first * (1 - p) * (1 - p);
        integrals[with][1] += first * p * (1 - p);
        integrals[with][2] += first * p * p;
      }
    }
    const double t = std::exp(log_sd) / priors.sd_scale;
    double sum =
        -0.5 * (a * a + slope * slope) / (priors.scale * priors.scale) + log_sd - 2 * std::log1p(t * t / 3);
    for (std::size_t with = 0; with < 2; ++with)
      for (std::size_t s = 0; s < rows_of_level; ++s) sum += counts[with][s] * std::log(integrals[with][s]);
    return sum;
  };
  constexpr int half = 14;
  std::array<double, quantities> centre{}, step{}, first{}, second{};
  for (std::size_t k = 0; k < quantities; ++k) {
    centre[k] = testing::mean_of(draws[k], [](double x) { return x; }).mean;
    const auto square = [&](double x) { return (x - centre[k]) * (x - centre[k]); };
    step[k] = 5.5 / half * std::sqrt(testing::mean_of(draws[k], square).mean);
  }
  const double top = log_posterior(centre[0], centre[1], centre[2]);
  double mass = 0;
  constexpr int side = 2 * half + 1;
  for (int cell = 0; cell < side * side * side; ++cell) {
    const std::array<double, quantities> away{(cell % side - half) * step[0],
                                              (cell / side % side - half) * step[1],
                                              (cell / (side * side) - half) * step[2]};
    const double weight =
        std::exp(log_posterior(centre[0] + away[0], centre[1] + away[1], centre[2] + away[2]) - top);
    mass += weight;
    for (std::size_t k = 0; k < quantities; ++k) {
      first[k] += weight * away[k];
      second[k] += weight * away[k] * away[k];
    }
  }
  AllMoments out;
  for (std::size_t k = 0; k < quantities; ++k) {
    const double shift = first[k] / mass;
    out[k] = {centre[k] + shift, second[k] / mass - shift * shift};
  }
  return out;
}

// About a reference that is one sd of every effect away. Proposals of the coefficients that the expansion
// alone gives are hardly ever accepted there.
TEST(LevelKernel, HasTheLawOfQuadratureWithThousandsOfTinyLevels) {
  const testing::GroupedData data = many_levels();
  const testing::KernelRun run{.sweeps = 4000, .displaced = 1};
  const testing::KernelDraws kernel = testing::run_kernel(data, run);
  const AllMoments exact = integrate(data, run.priors, kernel.draws);
  double worst = 0;
  for (std::size_t k = 0; k < quantities; ++k) {
    const auto mean = testing::mean_of(kernel.draws[k], [](double x) { return x; });
    const auto square = [&](double x) { return (x - exact[k].mean) * (x - exact[k].mean); };
    const auto variance = testing::mean_of(kernel.draws[k], square);
    worst = std::max({worst, std::abs(mean.mean - exact[k].mean) / mean.error,
                      std::abs(variance.mean - exact[k].variance) / variance.error});
  }
  std::printf("many levels: largest |z| %.2f, accepted %.2f, rows per sweep %.0f\n", worst, kernel.accepted,
              kernel.rows);
  EXPECT_LT(worst, 5);
  EXPECT_GT(kernel.accepted, 0.5);
  EXPECT_EQ(kernel.violations, 0);
}

}  // namespace
}  // namespace mlo
