// Copyright (c) the mlo authors. BSD-3-Clause.
// Numbers by level of rows that lie in another order: plain loads and stores.
#include "kernel/level_odds.hpp"
#include "mlo/subsample/odds_rows.hpp"

namespace mlo::level_passes {
namespace {

// The width of a register is a constant here: the loops over lanes are unrolled.
template <std::size_t W>
void look_up_of(const OddsFactors& of, const OddsStretch& at, float* out) noexcept {
  if (of.from != nullptr)
    for (std::size_t r = 0; r < at.eights; ++r) {
      const std::uint32_t* const from = of.from + at.first + r * level_lanes;
      for (std::size_t lane = 0; lane < W; ++lane) out[r * W + lane] = of.source[from[lane]];
    }
  for (std::size_t j = 0; j < of.others; ++j) {
    const float* const factors = of.factors[j];
    for (std::size_t r = 0; r < at.eights; ++r) {
      const std::size_t first = at.first + r * level_lanes;
      const std::uint32_t common = of.common[j][first / level_lanes];
      const std::uint32_t* const codes = of.codes[j] + first;
      float* const to = out + r * W;
      if (j > 0 || of.from != nullptr) {
        for (std::size_t lane = 0; lane < W; ++lane) to[lane] *= factors[codes[lane]];
      } else if (common != OddsRows::mixed) {
        for (std::size_t lane = 0; lane < W; ++lane) to[lane] = factors[common];
      } else {
        for (std::size_t lane = 0; lane < W; ++lane) to[lane] = factors[codes[lane]];
      }
    }
  }
}

template <std::size_t W>
void add_of(const OddsFactors& of, const OddsStretch& at, const float* numbers,
            double* const* by_level) noexcept {
  for (std::size_t j = 0; j < of.others; ++j) {
    double* const to = by_level[j] + at.first % level_lanes;
    for (std::size_t r = 0; r < at.eights; ++r) {
      const std::size_t first = at.first + r * level_lanes;
      const std::uint32_t common = of.common[j][first / level_lanes];
      if (common != OddsRows::mixed) {
        for (std::size_t lane = 0; lane < W; ++lane)
          to[common * level_lanes + lane] += static_cast<double>(numbers[r * W + lane]);
        continue;
      }
      const std::uint32_t* const codes = of.codes[j] + first;
      for (std::size_t lane = 0; lane < W; ++lane)
        to[codes[lane] * level_lanes + lane] += static_cast<double>(numbers[r * W + lane]);
    }
  }
}

}  // namespace

void look_up(const OddsFactors& of, const OddsStretch& at, float* out) noexcept {
  if (at.width == 8) return look_up_of<8>(of, at, out);
  if (at.width == 4) return look_up_of<4>(of, at, out);
  if (at.width == 2) return look_up_of<2>(of, at, out);
  look_up_of<1>(of, at, out);
}

void add_by_level(const OddsFactors& of, const OddsStretch& at, const float* numbers,
                  double* const* by_level) noexcept {
  if (at.width == 8) return add_of<8>(of, at, numbers, by_level);
  if (at.width == 4) return add_of<4>(of, at, numbers, by_level);
  if (at.width == 2) return add_of<2>(of, at, numbers, by_level);
  add_of<1>(of, at, numbers, by_level);
}

}  // namespace mlo::level_passes
