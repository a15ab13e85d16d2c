// Copyright (c) the mlo authors. BSD-3-Clause.
#include "data/design_moments.hpp"

#include <algorithm>
#include <array>

namespace mlo {
namespace {

// Four running sums, because a single one would wait for each addition to finish.
template <class F>
double sum(std::span<const double> values, F f) {
  std::array<double, 4> lanes{};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t k = 0; k < 4; ++k) lanes[k] += f(values[i + k]);
  }
  for (; i < values.size(); ++i) lanes[0] += f(values[i]);
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

}  // namespace

void Moments::add(std::span<const double> block) {
  if (block.empty()) return;
  if (count == 0) first = block[0];
  constant =
      constant && std::all_of(block.begin(), block.end(), [&](double value) { return value == first; });
  const auto n = static_cast<double>(block.size());
  const double block_mean = sum(block, [](double x) { return x; }) / n;
  const double block_deviations = sum(block, [=](double x) { return (x - block_mean) * (x - block_mean); });
  const double total = count + n;
  const double step = block_mean - mean;
  mean += step * (n / total);
  deviations += block_deviations + step * step * (count * (n / total));
  count = total;
}

}  // namespace mlo
