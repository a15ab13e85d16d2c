// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/subsample/row_source.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace mlo {

WeightedRows::WeightedRows(std::span<const double> probabilities)
    : alias(probabilities), factors(probabilities.size()) {
  double total = 0;
  for (const double p : probabilities) total += p;
  const double n = static_cast<double>(probabilities.size());
  for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = total / (n * probabilities[i]);
}

void WithReplacement::draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) const noexcept {
  rows_->alias.draw(stream, ids);
  constexpr std::size_t ahead = 16;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (k + ahead < ids.size()) __builtin_prefetch(&rows_->factors[ids[k + ahead]]);
    factors[k] = rows_->factors[ids[k]];
  }
}

WithoutReplacement::WithoutReplacement(std::size_t rows) : rows_(rows), cells_(1024, Cell{0, 0, 0}) {
  assert(rows <= std::numeric_limits<RowId>::max());
}

void WithoutReplacement::begin() noexcept {
  drawn_ = 0;
  used_ = 0;
  if (++stamp_ == 0) {  // after 2^32 subsamples the old stamps must not come back to life
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
    // Swap cell drawn_ of the (virtual) identity permutation with a random later one and hand out what it holds.
    // Cell drawn_ is never looked at again, so only the other one is remembered.
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
