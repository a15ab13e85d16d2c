// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/alias_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace mlo {

AliasTable::AliasTable(std::span<const double> weights) : cells_(weights.size(), Pages::huge) {
  const std::size_t n = weights.size();
  assert(n > 0 && n <= std::numeric_limits<RowId>::max());
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  assert(total > 0 && std::isfinite(total));

  // share[i] = n p_i, and each cell holds 1. Cells of rows with less than 1 are filled up from rows with
  // more.
  RawArray<double> share(n, Pages::huge);
  std::vector<RowId> small, large;
  for (std::size_t i = 0; i < n; ++i) {
    share[i] = weights[i] / total * static_cast<double>(n);
    (share[i] < 1 ? small : large).push_back(static_cast<RowId>(i));
  }
  constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();
  const auto threshold = [](double probability) {
    return probability >= 1 ? always : static_cast<std::uint64_t>(std::ldexp(probability, 64));
  };
  while (!small.empty() && !large.empty()) {
    const RowId less = small.back(), more = large.back();
    small.pop_back();
    cells_[less] = {threshold(share[less]), more};
    share[more] -= 1 - share[less];
    if (share[more] < 1) {
      large.pop_back();
      small.push_back(more);
    }
  }
  // The remaining shares are 1 up to rounding; each is its own alias, so the 2^-64 that `always` lacks stays
  // with the same row.
  for (const auto* rest : {&small, &large})
    for (const RowId i : *rest) cells_[i] = {always, i};
}

void AliasTable::draw(Stream& stream, std::span<RowId> out) const noexcept {
  constexpr std::size_t batch = 64;
  std::array<std::uint64_t, batch> words;
  for (std::size_t first = 0; first < out.size(); first += batch) {
    const std::size_t count = std::min(batch, out.size() - first);
    stream.fill({words.data(), count});
    for (std::size_t k = 0; k < count; ++k)
      __builtin_prefetch(
          &cells_[static_cast<std::size_t>((static_cast<Uint128>(words[k]) * cells_.size()) >> 64U)]);
    for (std::size_t k = 0; k < count; ++k) out[first + k] = (*this)(words[k]);
  }
}

}  // namespace mlo
