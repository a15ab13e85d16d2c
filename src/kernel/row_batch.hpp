// Copyright (c) the mlo authors. BSD-3-Clause.
// Rows with their curves, at two values of t: their remainders of order 3.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "mlo/subsample/level_reference.hpp"

namespace mlo {

class RowBatch {
 public:
  static constexpr std::size_t most = 256;

  void add(const LevelReference::Shape& shape, double from, double to) noexcept {
    e_[size_] = shape.e;
    scale_[size_] = shape.scale;
    direction_[size_] = shape.direction;
    from_[size_] = static_cast<double>(shape.direction) * from;
    to_[size_] = static_cast<double>(shape.direction) * to;
    ++size_;
  }
  [[nodiscard]] bool full() const noexcept { return size_ == most; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() noexcept { size_ = 0; }

  void evaluate(const RowCurve& curve) noexcept {
    const auto cut = [&](auto& a) { return std::span(a).first(size_); };
    curve.changes(3, cut(e_), cut(from_), cut(to_), cut(change_));
    curve.third(cut(e_), cut(third_));
  }
  // The remainder's change, and f'''.
  [[nodiscard]] double change(std::size_t r) const noexcept { return scale_[r] * change_[r]; }
  [[nodiscard]] double third(std::size_t r) const noexcept {
    return scale_[r] * direction_[r] * direction_[r] * direction_[r] * third_[r];
  }

 private:
  std::size_t size_ = 0;
  std::array<double, most> e_, scale_, direction_, from_, to_, change_, third_;
};

}  // namespace mlo
