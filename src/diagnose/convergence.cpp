// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/diagnose/convergence.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "diagnose/autocovariance.hpp"
#include "diagnose/convergence_parts.hpp"
#include "diagnose/draws.hpp"
#include "diagnose/rank_normal.hpp"
#include "mlo/diagnose/summary.hpp"

namespace mlo {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

constexpr auto as_is = [](double x) { return x; };

// No figures without draws, or if a draw is not finite.
bool is_empty_or_broken(ChainsView draws) {
  return draws.empty() || draws[0].empty() || !diagnostics::all_finite(draws);
}

std::vector<double> sorted(ChainsView draws) {
  std::vector<double> all = diagnostics::pooled(draws);
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

namespace diagnostics {
namespace {

// std::max drops a NaN in its second argument.
double max_or_nan(double a, double b) { return std::isnan(b) ? b : std::max(a, b); }

// Constant, or with a value that overflowed in a transform.
bool is_degenerate(const Halves& x) {
  const auto [low, high] = std::minmax_element(x.values.begin(), x.values.end());
  return x.values.empty() || *low == *high || !std::isfinite(*high - *low);
}

std::vector<double> means(const Halves& x) {
  std::vector<double> result(x.count());
  for (std::size_t half = 0; half < x.count(); ++half) result[half] = mean(x[half]);
  return result;
}

// The potential scale reduction [Gelman & Rubin 1992], here of halves.
double basic_rhat(const Halves& x) {
  if (x.length < 2 || is_degenerate(x)) return nan;
  double within = 0;
  for (std::size_t half = 0; half < x.count(); ++half) within += variance(x[half]);
  within /= static_cast<double>(x.count());
  const auto n = static_cast<double>(x.length);
  const double between = n * variance(means(x));
  return std::sqrt((between / within + n - 1) / n);
}

double ess_of_indicator(ChainsView draws, double threshold) {
  return ess(split(draws, [=](double x) { return x <= threshold ? 1.0 : 0.0; }));
}

}  // namespace

Halves rank_normalised(ChainsView draws) {
  Halves halves = split(draws, as_is);
  rank_normalise(halves.values);
  return halves;
}

double rhat(ChainsView draws, const Halves& rank_normalised, std::span<const double> sorted) {
  const double median = quantile(sorted, 0.5);
  Halves folded = split(draws, [=](double x) { return std::abs(x - median); });
  rank_normalise(folded.values);
  return max_or_nan(basic_rhat(rank_normalised), basic_rhat(folded));
}

// S / tau with tau = 1 + 2 sum of autocorrelations [Vehtari et al. 2021]: those of all chains together, so
// that chains in different places count as slow mixing. Geyer's (1992) initial positive and initial monotone
// sequences of pairs (rho_2k + rho_2k+1) cut off the noise of long lags.
double ess(const Halves& x) {
  if (x.length < 3 || is_degenerate(x)) return nan;
  const std::size_t n = x.length;
  const std::vector<double> covariance = mean_autocovariance(x);
  const double within = covariance[0] * static_cast<double>(n) / static_cast<double>(n - 1);
  const double total = covariance[0] + variance(means(x));
  if (!(total > 0 && std::isfinite(total))) return nan;  // squares that underflow or overflow
  const auto rho = [&](std::size_t lag) { return 1 - (within - covariance[lag]) / total; };

  std::size_t lag = 0;
  double even = 1;  // rho(lag)
  double pair = even + rho(1);
  double monotone = pair;  // the smallest pair so far
  double sum = 0;          // over the lags below `lag`
  while (lag + 5 < n && pair > 0) {
    monotone = std::min(monotone, pair);
    sum += monotone;
    lag += 2;
    even = rho(lag);
    pair = even + rho(lag + 1);
  }
  // No pair was summed (fewer than 12 draws per chain, or draws that alternate): `posterior` then counts lag
  // 0.
  if (lag == 0) sum = 1;
  // The first even lag beyond the sum enters once, not twice: less variance for antithetic chains.
  const double beyond = pair >= 0 ? even : std::max(even, 0.0);

  const auto draws = static_cast<double>(x.values.size());
  const double tau = -1 + 2 * sum + beyond;
  // An antithetic chain's ESS may exceed S, but its estimate is too noisy to trust above S log10(S).
  return draws / std::max(tau, 1 / std::log10(draws));
}

double ess_tail(ChainsView draws, std::span<const double> sorted) {
  const double low = ess_of_indicator(draws, quantile(sorted, 0.05));
  const double high = ess_of_indicator(draws, quantile(sorted, 0.95));
  return -max_or_nan(-low, -high);
}

}  // namespace diagnostics

double rhat(ChainsView draws) {
  if (is_empty_or_broken(draws)) return nan;
  return diagnostics::rhat(draws, diagnostics::rank_normalised(draws), sorted(draws));
}

double ess_bulk(ChainsView draws) {
  if (is_empty_or_broken(draws)) return nan;
  return diagnostics::ess(diagnostics::rank_normalised(draws));
}

double ess_tail(ChainsView draws) {
  if (is_empty_or_broken(draws)) return nan;
  return diagnostics::ess_tail(draws, sorted(draws));
}

double ess_mean(ChainsView draws) {
  if (is_empty_or_broken(draws)) return nan;
  return diagnostics::ess(diagnostics::split(draws, as_is));
}

double mcse_mean(ChainsView draws) {
  return std::sqrt(diagnostics::variance(diagnostics::pooled(draws))) / std::sqrt(ess_mean(draws));
}

// var(sd) = var(variance) / (4 variance), and the variance is the mean of the squared centred draws.
double mcse_sd(ChainsView draws) {
  if (is_empty_or_broken(draws)) return nan;
  const std::vector<double> all = diagnostics::pooled(draws);
  const double centre = diagnostics::mean(all);
  const auto square = [=](double x) { return (x - centre) * (x - centre); };
  double second = 0;
  double fourth = 0;
  for (const double x : all) {
    second += square(x);
    fourth += square(x) * square(x);
  }
  second /= static_cast<double>(all.size());
  fourth /= static_cast<double>(all.size());
  const double ess = diagnostics::ess(diagnostics::split(draws, square));
  return std::sqrt((fourth - second * second) / ess / (4 * second));
}

}  // namespace mlo
