// Copyright (c) the mlo authors. BSD-3-Clause.
// What a grouping's levels add up to (LevelSums), as the kernel reads it: in blocks of eight levels, a field
// after the other, so that eight levels are computed at once and a block is one stretch of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/model/level_rows.hpp"
#include "mlo/subsample/level_curve.hpp"

namespace mlo {

struct LevelSums;

// Numbers by level, `width` of them for each, in the order of LevelTable's blocks.
inline constexpr std::size_t level_lanes = 8;
[[nodiscard]] constexpr std::size_t lane_blocks(std::size_t levels) noexcept {
  return (levels + level_lanes - 1) / level_lanes;
}
[[nodiscard]] constexpr std::size_t lane_at(std::size_t level, std::size_t part, std::size_t width) noexcept {
  return (level / level_lanes * width + part) * level_lanes + level % level_lanes;
}
// Symmetric forms keep their entries with a >= b (>= e).
[[nodiscard]] constexpr std::size_t pairs_of(std::size_t d) noexcept { return d * (d + 1) / 2; }
[[nodiscard]] constexpr std::size_t triples_of(std::size_t d) noexcept { return d * (d + 1) * (d + 2) / 6; }
[[nodiscard]] constexpr std::size_t pair_at(std::size_t a, std::size_t b) noexcept { return pairs_of(a) + b; }
[[nodiscard]] constexpr std::size_t triple_at(std::size_t a, std::size_t b, std::size_t e) noexcept {
  return triples_of(a) + pairs_of(b) + e;
}

// Where a block's fields begin; LevelSums says what they are.
struct LevelFields {
  LevelFields() = default;
  LevelFields(std::size_t effects, std::size_t columns) noexcept;
  std::size_t d = 1, q = 0;
  std::size_t g = 0, h = 0, c = 0, hx = 0, s = 0, m = 0, b = 0, factor = 0;
  std::size_t reach = 0, span = 0, box = 0, k3 = 0, k4 = 0, k3_all = 0, k4_all = 0, scale = 0, count = 0;
  std::size_t sum_length = 0, sum_fourth = 0;
  std::size_t radius = 0, tilt = 0, start = 0, up = 0, down = 0, limit = 0, least = 0,
              most = 0;  // of the level's curve
  std::size_t open = 0;  // 1; or 0 for levels that are tiny, and for those that only fill the last block
  std::size_t width = 0;
};

class LevelTable {
 public:
  LevelTable() = default;
  // `effects`: the reference's.
  LevelTable(const LevelSums& sums, const Grouping& group, std::span<const double> effects);

  [[nodiscard]] const LevelFields& fields() const noexcept { return fields_; }
  [[nodiscard]] std::size_t levels() const noexcept { return levels_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return lane_blocks(levels_); }
  [[nodiscard]] const double* data() const noexcept { return data_.data(); }
  // Coefficients of the levels' curves, term after term; null: there are none. And whether a block has any.
  [[nodiscard]] const double* curves() const noexcept { return curves_.empty() ? nullptr : curves_.data(); }
  [[nodiscard]] const char* curved() const noexcept { return curved_.data(); }
  [[nodiscard]] bool has_curve(std::size_t level) const noexcept {
    return !curves_.empty() && at(level, fields_.radius) > 0;
  }
  [[nodiscard]] LevelCurve curve(std::size_t level) const noexcept;
  [[nodiscard]] double at(std::size_t level, std::size_t field) const noexcept {
    return data_[lane_at(level, field, fields_.width)];
  }

 private:
  LevelFields fields_;
  std::size_t levels_ = 0;
  HugeVector<double> data_, curves_;
  std::vector<char> curved_;
};

}  // namespace mlo
