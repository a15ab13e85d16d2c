// Copyright (c) the mlo authors. BSD-3-Clause.
// Where a kernel gets its rows from. A source is used by one chain; what it shares with others is read-only.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/base/raw_array.hpp"
#include "mlo/model/model.hpp"
#include "mlo/subsample/alias_table.hpp"

namespace mlo {

// Law: begin() starts a new subsample, independent of all earlier ones, given a new stream. The factors make
// sums of terms unbiased: E[ factor * term(id) ] = mean of the terms over all rows, for every draw of a
// subsample.
template <class S>
concept RowSource = requires(S& s, const S& fixed, Stream& stream, std::span<RowId> ids,
                             std::span<double> factors) {
  { s.begin() } -> std::same_as<void>;
  { s.draw(stream, ids, factors) } -> std::same_as<void>;
  { fixed.with_replacement() } -> std::same_as<bool>;
};

// Rows with given probabilities eta, with replacement; factor 1 / (n eta_i). [paper, Algorithm 2] An alias
// table whose cells also hold the factors, so that a draw is one cache miss. To save space a factor is a
// float times one common double; eta is rounded (by a relative 6e-8) to match the factors exactly, so the
// estimate stays unbiased.
class WeightedRows {
 public:
  explicit WeightedRows(std::span<const double> probabilities);
  [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }
  void draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) const noexcept;

 private:
  struct Cell {
    std::uint32_t threshold;  // upper half; the lower half is needed once in 2^32 draws
    RowId alias;
    float own_factor, alias_factor;
  };
  RawArray<Cell> cells_;
  std::vector<std::uint32_t> threshold_low_;
  double unit_ = 1;  // common to all factors
};

class WithReplacement {
 public:
  explicit WithReplacement(std::shared_ptr<const WeightedRows> rows) : rows_(std::move(rows)) {}
  [[nodiscard]] bool with_replacement() const noexcept { return true; }
  void begin() noexcept {}
  void draw(Stream& stream, std::span<RowId> ids, std::span<double> factors) const noexcept {
    rows_->draw(stream, ids, factors);
  }

 private:
  std::shared_ptr<const WeightedRows> rows_;
};
static_assert(RowSource<WithReplacement>);

// Each row equally likely, no row twice in a subsample; factor 1. A Fisher-Yates shuffle that is carried out
// only as far as rows are asked for, and remembers only the cells it has displaced: O(1) per row, whatever n
// is, and a subsample depends only on its stream, not on earlier subsamples.
class WithoutReplacement {
 public:
  explicit WithoutReplacement(std::size_t rows);
  [[nodiscard]] bool with_replacement() const noexcept { return false; }
  void begin() noexcept;
  void draw(Stream& stream, std::span<RowId> ids, std::span<double> factors);

 private:
  // Open addressing; a cell is in use if its stamp is the current subsample's.
  struct Cell {
    RowId key, value;
    std::uint32_t stamp;
  };
  [[nodiscard]] Cell& find(RowId key) noexcept;
  void grow();

  std::size_t rows_;
  std::size_t drawn_ = 0;
  std::size_t used_ = 0;
  std::uint32_t stamp_ = 0;
  std::vector<Cell> cells_;
};
static_assert(RowSource<WithoutReplacement>);

// Where `exact` gets its rows from. Law: ids are independent of each other and of the chain's state, each
// drawn in proportion to its row's bound. So they may be drawn before the chain runs.
template <class S>
concept BoundRows = requires(S& s, Stream& stream, std::span<RowId> ids) {
  { s.draw(stream, ids) } -> std::same_as<void>;
};

}  // namespace mlo
