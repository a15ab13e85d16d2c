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

// The rows' levels: two bytes per row where that is enough.
class LevelCodes {
 public:
  LevelCodes() = default;
  LevelCodes(std::size_t rows, std::size_t levels);
  [[nodiscard]] std::uint32_t operator[](std::size_t row) const noexcept {
    return wide_.empty() ? narrow_[row] : wide_[row];
  }
  void set(std::size_t row, std::uint32_t level) noexcept {
    if (wide_.empty())
      narrow_[row] = static_cast<std::uint16_t>(level);
    else
      wide_[row] = level;
  }
  [[nodiscard]] std::size_t size() const noexcept { return wide_.empty() ? narrow_.size() : wide_.size(); }
  void prefetch(std::size_t row) const noexcept {
    if (wide_.empty())
      __builtin_prefetch(narrow_.data() + row);
    else
      __builtin_prefetch(wide_.data() + row);
  }

 private:
  HugeVector<std::uint16_t> narrow_;
  HugeVector<std::uint32_t> wide_;
};

// The rows' responses: a byte per row where all of them are whole numbers that fit into one.
class RowResponses {
 public:
  void resize(std::size_t rows, bool bytes);
  [[nodiscard]] double operator[](std::size_t row) const noexcept {
    return wide_.empty() ? static_cast<double>(narrow_[row]) : wide_[row];
  }
  void set(std::size_t row, double y) noexcept {
    if (wide_.empty())
      narrow_[row] = static_cast<std::uint8_t>(y);
    else
      wide_[row] = y;
  }
  // Those of rows first, first + 1, ..., as many as there is room for, where they lie or in `room`.
  [[nodiscard]] std::span<const double> read(std::size_t first, std::span<double> room) const noexcept {
    if (!wide_.empty()) return std::span(wide_).subspan(first, room.size());
    for (std::size_t k = 0; k < room.size(); ++k) room[k] = static_cast<double>(narrow_[first + k]);
    return room;
  }
  void sort(std::span<const RowId> order);

 private:
  HugeVector<std::uint8_t> narrow_;
  HugeVector<double> wide_;
};

// One group term: which level a row belongs to, and what multiplies the level's effects.
struct Grouping {
  std::string name;
  std::vector<std::string> level_names, effects;
  bool intercept = true;              // whether effect 0 is multiplied by 1
  bool correlated = true;             // whether the covariance has correlations
  LevelCodes codes;                   // by row
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
  // Numbers by cell have this many zeros at their end: a register may be read from any cell on.
  static constexpr std::size_t pad = 16;
  struct Of {
    std::vector<std::uint32_t> starts;  // one per level and one more
    HugeVector<std::uint32_t> ids;      // the cells of a level
    // The cells' levels in the other groupings, one array after the other, padded.
    HugeVector<std::uint32_t> others;
    [[nodiscard]] std::size_t cells() const noexcept { return ids.size(); }
    [[nodiscard]] const std::uint32_t* levels_in(std::size_t other) const noexcept {
      return others.data() + other * cells();
    }
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
  // The responses of rows first, first + 1, ..., as many as there is room for.
  [[nodiscard]] std::span<const double> responses(std::size_t first, std::span<double> room) const noexcept {
    return y_.read(first, room);
  }
  [[nodiscard]] double offset(std::size_t row) const noexcept { return offset_.empty() ? 0 : offset_[row]; }
  [[nodiscard]] bool weighted() const noexcept { return !weight_.empty(); }
  [[nodiscard]] double weight(std::size_t row) const noexcept { return weight_.empty() ? 1 : weight_[row]; }
  [[nodiscard]] const std::vector<Grouping>& groups() const noexcept { return groups_; }
  // Of groupings that are all plain, if there are several.
  [[nodiscard]] const LevelCells& cells() const noexcept { return cells_; }
  [[nodiscard]] bool plain() const noexcept;
  void prefetch(std::size_t row) const noexcept {
    if (columns_ > 0) {  // the first and the last
      __builtin_prefetch(x(row));
      __builtin_prefetch(x(row) + columns_ - 1);
    }
    for (const Grouping& group : groups_) group.codes.prefetch(row);
  }

 private:
  void take_rows(Design& design);
  void sort_rows(std::span<const RowId> order);
  void make_cells();

  std::size_t rows_ = 0, columns_ = 0;
  HugeVector<float> x_;
  RowResponses y_;
  HugeVector<double> offset_, weight_;
  std::vector<Grouping> groups_;
  LevelCells cells_;
};

}  // namespace mlo
