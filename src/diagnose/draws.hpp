// Copyright (c) the mlo authors. BSD-3-Clause.
// The forms in which the diagnostics use one parameter's draws: pooled over chains, or split in halves.
#pragma once

#include <cassert>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/diagnose/convergence.hpp"

namespace mlo::diagnostics {

[[nodiscard]] bool all_finite(ChainsView draws);
[[nodiscard]] std::vector<double> pooled(ChainsView draws);

[[nodiscard]] double mean(std::span<const double> x);
// Divisor n - 1; NaN for fewer than two values.
[[nodiscard]] double variance(std::span<const double> x);

// Each chain cut in two, so that a drift within one chain counts as a difference between chains.
// Invariant: values = half 0, half 1, ..., each of `length`; halves 2c and 2c + 1 are those of chain c.
struct Halves {
  std::vector<double> values;
  std::size_t length = 0;

  [[nodiscard]] std::size_t count() const { return length == 0 ? 0 : values.size() / length; }
  [[nodiscard]] std::span<const double> operator[](std::size_t half) const {
    return std::span(values).subspan(half * length, length);
  }
};

// The halves of transform(draw); the middle draw of an odd length is left out.
template <class Transform>
[[nodiscard]] Halves split(ChainsView draws, Transform transform) {
  Halves halves;
  if (draws.empty()) return halves;
  halves.length = draws[0].size() / 2;
  halves.values.reserve(2 * halves.length * draws.size());
  for (const std::span<const double> chain : draws) {
    assert(chain.size() == draws[0].size());
    for (const double x : chain.first(halves.length)) halves.values.push_back(transform(x));
    for (const double x : chain.last(halves.length)) halves.values.push_back(transform(x));
  }
  return halves;
}

}  // namespace mlo::diagnostics
