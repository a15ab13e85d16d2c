// Copyright (c) the mlo authors. BSD-3-Clause.
// Walker's alias table, built by Vose's method in O(n): a draw with given probabilities in O(1).
#pragma once

#include <cstdint>
#include <span>

#include "mlo/base/random.hpp"
#include "mlo/base/raw_array.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

__extension__ using Uint128 = unsigned __int128;  // in g++ and clang; not in ISO C++

class AliasTable {
 public:
  // Weights >= 0, finite, with a positive sum; they need not add up to 1.
  explicit AliasTable(std::span<const double> weights);

  [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }

  // One draw from one 64-bit word: its product with n is 128 bits, of which the upper half is the cell and
  // the lower half the uniform number compared with the cell's threshold. The table is read-only: safe from
  // any thread.
  [[nodiscard]] RowId operator()(std::uint64_t word) const noexcept {
    const auto product = static_cast<Uint128>(word) * cells_.size();
    const auto cell = static_cast<std::size_t>(product >> 64U);
    // By mask, not by branch: the outcome is a coin toss, which no branch predictor can learn.
    const auto stay = -static_cast<RowId>(static_cast<std::uint64_t>(product) < cells_[cell].threshold);
    return (static_cast<RowId>(cell) & stay) | (cells_[cell].alias & ~stay);
  }

  // The share of a cell that belongs to its own row, in units of 2^-64, and the row that has the rest.
  [[nodiscard]] std::uint64_t threshold(std::size_t cell) const noexcept { return cells_[cell].threshold; }
  [[nodiscard]] RowId alias(std::size_t cell) const noexcept { return cells_[cell].alias; }

  // Many draws, with the table's cells prefetched ahead of their use.
  void draw(Stream& stream, std::span<RowId> out) const noexcept;

 private:
  // Threshold and alias side by side: one cache miss per draw.
  struct Cell {
    std::uint64_t threshold;
    RowId alias;
  };
  RawArray<Cell> cells_;
};

}  // namespace mlo
