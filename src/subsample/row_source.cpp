// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/row_source.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>

namespace mlo {

WeightedRows::WeightedRows(std::span<const double> probabilities)
    : cells_(probabilities.size(), Pages::huge), threshold_low_(probabilities.size()) {
  const double n = static_cast<double>(probabilities.size());
  double total = 0;
  for (const double p : probabilities) total += p;
  std::vector<double> rounded(
      probabilities.size());  // eta, up to a constant, according to the rounded factors
  double rounded_total = 0;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    cells_[i].own_factor = static_cast<float>(total / (n * probabilities[i]));
    rounded_total += rounded[i] = 1 / static_cast<double>(cells_[i].own_factor);
  }
  unit_ = rounded_total / n;  // 1 / (n eta_i) = own_factor * unit_
  const AliasTable table(rounded);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    cells_[i].threshold = static_cast<std::uint32_t>(table.threshold(i) >> 32U);
    threshold_low_[i] = static_cast<std::uint32_t>(table.threshold(i));
    cells_[i].alias = table.alias(i);
    cells_[i].alias_factor = cells_[table.alias(i)].own_factor;
  }
}

// Two overlapping stages: while the cells of one chunk are fetched from memory, the random numbers of the
// next are made.
void WeightedRows::draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) const noexcept {
  constexpr std::size_t chunk = 16;
  struct Pending {
    std::array<std::uint64_t, chunk> uniform;
    std::array<std::size_t, chunk> cell;
    std::size_t first = 0, count = 0;
  };
  std::array<Pending, 2> stages;
  const auto ask = [&](Pending& p, std::size_t first) {
    p.first = first;
    p.count = std::min(chunk, ids.size() - first);
    stream.fill({p.uniform.data(), p.count});
    for (std::size_t k = 0; k < p.count; ++k) {
      // As in AliasTable: the upper half of word * n is the cell, the lower half the uniform number.
      const auto product = static_cast<Uint128>(p.uniform[k]) * cells_.size();
      p.cell[k] = static_cast<std::size_t>(product >> 64U);
      p.uniform[k] = static_cast<std::uint64_t>(product);
      __builtin_prefetch(&cells_[p.cell[k]]);
    }
  };
  const auto answer = [&](const Pending& p) {
    for (std::size_t k = 0; k < p.count; ++k) {
      const Cell& cell = cells_[p.cell[k]];
      const auto high = static_cast<std::uint32_t>(p.uniform[k] >> 32U);
      bool own = high < cell.threshold;
      if (high == cell.threshold) [[unlikely]]
        own = static_cast<std::uint32_t>(p.uniform[k]) < threshold_low_[p.cell[k]];
      // By mask, not by branch: the outcome is a coin toss, which no branch predictor can learn.
      const auto stay = -static_cast<RowId>(own);
      ids[p.first + k] = (static_cast<RowId>(p.cell[k]) & stay) | (cell.alias & ~stay);
      const float factor[2] = {cell.alias_factor, cell.own_factor};
      factors[p.first + k] = unit_ * static_cast<double>(factor[own ? 1 : 0]);
    }
  };
  std::size_t now = 0;
  if (!ids.empty()) ask(stages[0], 0);
  for (std::size_t first = chunk; first < ids.size(); first += chunk, now ^= 1U) {
    ask(stages[now ^ 1U], first);
    answer(stages[now]);
  }
  if (!ids.empty()) answer(stages[now]);
}

WithoutReplacement::WithoutReplacement(std::size_t rows) : rows_(rows), cells_(1024, Cell{0, 0, 0}) {
  assert(rows <= std::numeric_limits<RowId>::max());
}

void WithoutReplacement::begin() noexcept {
  drawn_ = 0;
  used_ = 0;
  if (++stamp_ == 0) {  // after 2^32 subsamples, old stamps must not become valid again
    for (Cell& cell : cells_) cell.stamp = 0;
    stamp_ = 1;
  }
}

// The cell of a key, or the free cell where it would go.
WithoutReplacement::Cell& WithoutReplacement::find(RowId key) noexcept {
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = (key * std::uint64_t{0x9E3779B97F4A7C15}) >> (64 - std::countr_zero(cells_.size()));
  while (cells_[at].stamp == stamp_ && cells_[at].key != key) at = (at + 1) & mask;
  return cells_[at];
}

void WithoutReplacement::grow() {
  std::vector<Cell> old(2 * cells_.size(), Cell{0, 0, 0});
  old.swap(cells_);
  const std::uint32_t current = stamp_;
  stamp_ = 1;
  for (const Cell& cell : old)
    if (cell.stamp == current) find(cell.key) = {cell.key, cell.value, stamp_};
}

void WithoutReplacement::draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) {
  assert(drawn_ + ids.size() <= rows_);
  for (RowId& id : ids) {
    // Swap cell drawn_ of the (virtual) identity permutation with a random later one and hand out what it
    // holds. Cell drawn_ is never looked at again, so only the other one is remembered.
    const auto pick = static_cast<RowId>(drawn_ + bounded(stream, rows_ - drawn_));
    const auto here = static_cast<RowId>(drawn_);
    const Cell& front = find(here);
    const RowId value = front.stamp == stamp_ ? front.value : here;
    if (pick == here) {
      id = value;
    } else {
      if (2 * (used_ + 1) > cells_.size()) grow();
      Cell& back = find(pick);
      if (back.stamp == stamp_) {
        id = back.value;
        back.value = value;
      } else {
        id = pick;
        back = {pick, value, stamp_};
        ++used_;
      }
    }
    ++drawn_;
  }
  std::fill(factors.begin(), factors.end(), 1.0);
}

}  // namespace mlo
