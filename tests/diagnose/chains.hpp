// Copyright (c) the mlo authors. BSD-3-Clause.
// Chains whose distribution is known, for the tests of the diagnostics.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace mlo::test {

using Chains = std::vector<std::vector<double>>;

// What the library's functions take; valid as long as the chains are.
inline std::vector<std::span<const double>> view(const Chains& chains) {
  return {chains.begin(), chains.end()};
}

inline std::vector<double> pool(const Chains& chains) {
  std::vector<double> all;
  for (const auto& chain : chains) all.insert(all.end(), chain.begin(), chain.end());
  return all;
}

// Standard normal by Box-Muller, on a generator that the C++ standard defines to the bit: the same on every
// system.
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : bits_(seed) {}
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 bits_;
};

struct Ar1 {
  double coefficient = 0;
  std::size_t chains = 4;
  std::size_t draws = 1000;
  std::uint64_t seed = 1;
};

// Stationary, with standard normal marginals and autocorrelation coefficient^lag.
inline Chains ar1(const Ar1& law) {
  Normal normal(law.seed);
  Chains chains(law.chains, std::vector<double>(law.draws));
  for (auto& chain : chains) {
    double x = normal();
    for (double& draw : chain) {
      draw = x;
      x = law.coefficient * x + std::sqrt(1 - law.coefficient * law.coefficient) * normal();
    }
  }
  return chains;
}

template <class Function>
Chains map(Chains chains, Function function) {
  for (std::size_t c = 0; c < chains.size(); ++c) {
    for (double& x : chains[c]) x = function(x, static_cast<double>(c));
  }
  return chains;
}

}  // namespace mlo::test
