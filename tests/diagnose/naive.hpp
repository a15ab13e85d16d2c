// Copyright (c) the mlo authors. BSD-3-Clause.
// The diagnostics straight from their definitions, in O(S^2), sharing no code with the library: ranks by
// counting, autocovariances by their sums, the normal quantile by bisection. Vehtari et al. 2021, in the
// conventions of R's package `posterior`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "diagnose/chains.hpp"

namespace mlo::test::naive {

inline double mean(const std::vector<double>& x) {
  long double sum = 0;
  for (const double v : x) sum += v;
  return static_cast<double>(sum / x.size());
}

inline double variance(const std::vector<double>& x) {
  const long double centre = mean(x);
  long double sum = 0;
  for (const double v : x) sum += (v - centre) * (v - centre);
  return static_cast<double>(sum / (x.size() - 1));
}

// Linear interpolation through the points (k / (n - 1), x_(k)), k = 0 .. n - 1.
inline double quantile(std::vector<double> x, double p) {
  std::sort(x.begin(), x.end());
  const double last = static_cast<double>(x.size() - 1);
  for (std::size_t k = 0; k + 1 < x.size(); ++k) {
    const double left = static_cast<double>(k);
    if (p * last <= left) return x[k];
    if (p * last < left + 1) return x[k] + (p * last - left) * (x[k + 1] - x[k]);
  }
  return x.back();
}

// The z with 1/2 erfc(-z / sqrt 2) = p.
inline double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);  // where erfc keeps its relative precision
  double low = -40;
  double high = 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

inline Chains split(const Chains& chains) {
  Chains halves;
  for (const auto& chain : chains) {
    const std::size_t n = chain.size();
    std::vector<double> first;
    std::vector<double> second;
    for (std::size_t i = 0; i < n; ++i) {
      if (2 * (i + 1) <= n) first.push_back(chain[i]);
      if (2 * i >= n) second.push_back(chain[i]);
    }
    halves.push_back(first);
    halves.push_back(second);
  }
  return halves;
}

inline Chains rank_normalise(const Chains& chains) {
  const std::vector<double> all = pool(chains);
  return map(chains, [&](double x, double) {
    double smaller = 0;
    double equal = 0;
    for (const double other : all) {
      if (other < x) ++smaller;
      if (other == x) ++equal;
    }
    const double average_rank = smaller + (equal + 1) / 2;
    return normal_quantile((average_rank - 3.0 / 8) / (static_cast<double>(all.size()) + 1.0 / 4));
  });
}

inline bool takes_one_value(const Chains& chains) {
  const std::vector<double> all = pool(chains);
  return std::all_of(all.begin(), all.end(), [&](double x) { return x == all[0]; });
}

// The variance within chains, and that of all draws together.
struct Variances {
  double within, pooled;
};
inline Variances variances_of(const Chains& chains) {
  std::vector<double> means;
  std::vector<double> variances;
  for (const auto& chain : chains) {
    means.push_back(mean(chain));
    variances.push_back(variance(chain));
  }
  const auto n = static_cast<double>(chains[0].size());
  const double within = mean(variances);
  return {within, (n - 1) / n * within + variance(means)};
}

inline double rhat_of(const Chains& chains) {
  if (takes_one_value(chains)) return std::numeric_limits<double>::quiet_NaN();
  const auto [within, pooled] = variances_of(chains);
  return std::sqrt(pooled / within);
}

inline double rhat_bulk(const Chains& chains) { return rhat_of(rank_normalise(split(chains))); }

inline double rhat_folded(const Chains& chains) {
  const double median = quantile(pool(chains), 0.5);
  return rhat_of(rank_normalise(split(map(chains, [&](double x, double) { return std::abs(x - median); }))));
}

inline double autocovariance(const std::vector<double>& x, std::size_t lag) {
  const double centre = mean(x);
  double sum = 0;
  for (std::size_t i = 0; i + lag < x.size(); ++i) sum += (x[i] - centre) * (x[i + lag] - centre);
  return sum / static_cast<double>(x.size());
}

inline double ess_of(const Chains& chains) {
  if (takes_one_value(chains)) return std::numeric_limits<double>::quiet_NaN();
  const std::size_t n = chains[0].size();
  const auto [within, pooled] = variances_of(chains);
  std::vector<double> rho(n, 1.0);
  for (std::size_t lag = 1; lag < n; ++lag) {
    std::vector<double> covariances;
    for (const auto& chain : chains) covariances.push_back(autocovariance(chain, lag));
    rho[lag] = 1 - (within - mean(covariances)) / pooled;
  }

  // Initial positive sequence: the pairs before the first one that is not positive or has too few lags after
  // it.
  std::vector<double> pairs;
  std::size_t k = 0;
  while (2 * k + 5 < n && rho[2 * k] + rho[2 * k + 1] > 0) {
    pairs.push_back(rho[2 * k] + rho[2 * k + 1]);
    ++k;
  }
  const double next_pair = rho[2 * k] + rho[2 * k + 1];
  const double next = rho[2 * k] > 0 || next_pair >= 0 ? rho[2 * k] : 0.0;
  // Initial monotone sequence.
  for (std::size_t i = 1; i < pairs.size(); ++i) pairs[i] = *std::min_element(&pairs[i - 1], &pairs[i] + 1);
  double tau = -1 + next;
  for (const double pair : pairs) tau += 2 * pair;
  if (pairs.empty()) tau = 2;  // -1 + 2 rho_0 + rho_0

  const auto size = static_cast<double>(n * chains.size());
  return std::min(size / std::max(tau, std::numeric_limits<double>::min()), size * std::log10(size));
}

inline double ess_bulk(const Chains& chains) { return ess_of(rank_normalise(split(chains))); }

inline double ess_mean(const Chains& chains) { return ess_of(split(chains)); }

inline double ess_tail(const Chains& chains) {
  const auto ess = [&](double p) {
    const double threshold = quantile(pool(chains), p);
    return ess_of(split(map(chains, [&](double x, double) { return x <= threshold ? 1.0 : 0.0; })));
  };
  const double low = ess(0.05);
  const double high = ess(0.95);
  return std::isnan(low) || std::isnan(high) ? low + high : std::min(low, high);
}

inline double mcse_mean(const Chains& chains) { return std::sqrt(variance(pool(chains)) / ess_mean(chains)); }

// The standard error of the variance, by the delta method for its root.
inline double mcse_sd(const Chains& chains) {
  const double centre = mean(pool(chains));
  const Chains squares = map(chains, [&](double x, double) { return (x - centre) * (x - centre); });
  const double second = mean(pool(squares));
  const double fourth = mean(pool(map(squares, [](double x, double) { return x * x; })));
  const double variance_of_variance = (fourth - second * second) / ess_mean(squares);
  return std::sqrt(variance_of_variance / (4 * second));
}

}  // namespace mlo::test::naive
