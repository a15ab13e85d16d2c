// Copyright (c) the mlo authors. BSD-3-Clause.
// The rows of a model with group effects, sorted by their groups: a level's rows lie together in memory for
// the first grouping, and are listed for the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/data/design.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// One group term: which level a row belongs to, and what multiplies the level's effects.
struct Grouping {
  std::string name;
  std::vector<std::string> level_names, effects;
  bool intercept = true;              // whether effect 0 is multiplied by 1
  bool correlated = true;             // whether the covariance has correlations
  HugeVector<std::uint32_t> codes;    // by row
  HugeVector<float> z;                // multipliers of the effects but the intercept, row after row
  std::vector<std::uint32_t> starts;  // one per level and one more
  HugeVector<RowId> order;            // rows by level; empty: rows lie in this order

  [[nodiscard]] std::size_t levels() const noexcept { return starts.size() - 1; }
  [[nodiscard]] std::size_t dim() const noexcept { return effects.size(); }
  [[nodiscard]] std::size_t size(std::size_t level) const noexcept {
    return starts[level + 1] - starts[level];
  }
  [[nodiscard]] std::size_t row(std::size_t place) const noexcept {
    return order.empty() ? place : order[place];
  }
  // Whether the only effect is an intercept.
  [[nodiscard]] bool plain() const noexcept { return dim() == 1 && intercept; }
  // The multipliers of a row's effects.
  void multipliers(std::size_t row, double* out) const noexcept {
    std::size_t at = 0;
    if (intercept) out[at++] = 1;
    const std::size_t stored = dim() - at;
    for (std::size_t j = 0; j < stored; ++j) out[at + j] = static_cast<double>(z[row * stored + j]);
  }
};

// The cells of crossed groupings: rows whose levels are all the same. For each grouping, its cells by level.
struct LevelCells {
  struct Of {
    std::vector<std::uint32_t> starts;  // one per level and one more
    HugeVector<std::uint32_t> ids;      // the cells of a level
    HugeVector<std::uint32_t> others;   // per cell, the levels of the other groupings, in order
  };
  std::vector<std::uint32_t> starts;  // rows of a cell; one more than cells
  std::vector<Of> of;                 // by grouping
  [[nodiscard]] std::size_t size() const noexcept { return starts.empty() ? 0 : starts.size() - 1; }
};

class LevelRows {
 public:
  // A grouping has at most this many effects per level.
  static constexpr std::size_t most_effects = 8;

  // Takes the design's rows and groups. Columns are working columns as floats: what is fitted is the data
  // rounded to seven digits, the same for all sums and all rows that are read.
  explicit LevelRows(Design& design);

  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] const float* x(std::size_t row) const noexcept { return x_.data() + row * columns_; }
  [[nodiscard]] double y(std::size_t row) const noexcept { return y_[row]; }
  [[nodiscard]] std::span<const double> responses() const noexcept { return y_; }
  [[nodiscard]] double offset(std::size_t row) const noexcept { return offset_.empty() ? 0 : offset_[row]; }
  [[nodiscard]] bool weighted() const noexcept { return !weight_.empty(); }
  [[nodiscard]] double weight(std::size_t row) const noexcept { return weight_.empty() ? 1 : weight_[row]; }
  [[nodiscard]] const std::vector<Grouping>& groups() const noexcept { return groups_; }
  // Of groupings that are all plain, if there are several.
  [[nodiscard]] const LevelCells& cells() const noexcept { return cells_; }
  [[nodiscard]] bool plain() const noexcept;
  void prefetch(std::size_t row) const noexcept {
    const char* const at = reinterpret_cast<const char*>(x(row));
    __builtin_prefetch(at);
    __builtin_prefetch(at + columns_ * sizeof(float) - 1);
  }

 private:
  void make_cells();

  std::size_t rows_ = 0, columns_ = 0;
  HugeVector<float> x_;
  HugeVector<double> y_, offset_, weight_;
  std::vector<Grouping> groups_;
  LevelCells cells_;
};

}  // namespace mlo
