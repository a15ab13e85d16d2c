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
    other_[size_] = shape.other;
    scale_[size_] = shape.scale;
    direction_[size_] = shape.direction;
    from_[size_] = static_cast<double>(shape.direction) * from;
    to_[size_] = static_cast<double>(shape.direction) * to;
    ++size_;
  }
  [[nodiscard]] bool full() const noexcept { return size_ == most; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  void clear() noexcept { size_ = 0; }

  // Rows that are surfaces: with u from here to there.
  struct Second {
    double from = 0, to = 0;
  };
  void evaluate(const LevelReference& reference, const Second& u) noexcept {
    const auto cut = [&](auto& a) { return std::span(a).first(size_); };
    if (reference.has_surface()) {
      std::array<double, most> ttu, tuu, uuu;
      const SurfaceRows rows{cut(e_), cut(other_)};
      reference.surface().changes(JointOrder::three, rows, {cut(from_), cut(to_), u.from, u.to},
                                  cut(change_));
      reference.surface().thirds(rows, {cut(third_), cut(ttu), cut(tuu), cut(uuu)});
      return;
    }
    reference.curve().changes(3, cut(e_), cut(from_), cut(to_), cut(change_));
    reference.curve().third(cut(e_), cut(third_));
  }
  // The remainder's change, and f'''.
  [[nodiscard]] double change(std::size_t r) const noexcept { return scale_[r] * change_[r]; }
  [[nodiscard]] double third(std::size_t r) const noexcept {
    return scale_[r] * direction_[r] * direction_[r] * direction_[r] * third_[r];
  }

 private:
  std::size_t size_ = 0;
  std::array<double, most> e_, other_, scale_, direction_, from_, to_, change_, third_;
};

}  // namespace mlo
