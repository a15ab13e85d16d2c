// Copyright (c) the mlo authors. BSD-3-Clause.
// The draws of a regression's parameters, laid out for predictions: all draws of a coefficient side by side.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mlo/chain/draws.hpp"

namespace mlo {

class PosteriorDraws {
 public:
  // `coefficients` parameters first, then, if there is one, the second parameter of the family; all in the
  // user's coordinates. Parameters after these are not looked at. The coefficients may also begin at another
  // parameter, `first`. If chains differ in length, only as many draws of each are used as the shortest has.
  PosteriorDraws(std::span<const ChainDraws> chains, std::size_t coefficients, bool second,
                 std::size_t first = 0);

  [[nodiscard]] std::size_t draws() const noexcept { return draws_; }  // of all chains, chain after chain
  [[nodiscard]] std::size_t coefficients() const noexcept { return dim_; }
  [[nodiscard]] double coefficient(std::size_t j, std::size_t draw) const noexcept {
    return values_[j * stride_ + draw];
  }
  [[nodiscard]] double mean(std::size_t j) const noexcept { return means_[j]; }  // of a coefficient
  // One per draw; empty if there is no second parameter.
  [[nodiscard]] std::span<const double> second() const noexcept { return second_; }

  // A multiple of every vector's length, so that the predictors of a row may be written in whole vectors.
  static constexpr std::size_t draws_at_a_time = 16;
  [[nodiscard]] static constexpr std::size_t padded(std::size_t draws) noexcept {
    return (draws + draws_at_a_time - 1) / draws_at_a_time * draws_at_a_time;
  }

  // The linear predictors of some rows for the draws [first, first + count); `first` is a multiple of
  // draws_at_a_time. x: rows of coefficients() numbers each; offsets: one per row; eta: `stride` >=
  // padded(count) numbers per row, of which the first `count` are the predictors. A row's predictors do not
  // depend on the other rows. Columns that are 0 in four rows at a time cost nothing, as most levels of a
  // factor are.
  void predictors(std::span<const double> x, std::span<const double> offsets, std::size_t first,
                  std::size_t count, std::size_t stride, std::span<double> eta) const;

 private:
  std::size_t dim_ = 0, draws_ = 0, stride_ = 0;
  std::vector<double> values_;  // by coefficient, then by draw; `stride_` per coefficient
  std::vector<double> means_, second_;
};

}  // namespace mlo
