// Copyright (c) the mlo authors. BSD-3-Clause.
// Passes over all rows of a logistic model as odds (subsample/odds_rows.hpp), eight levels at a time. With
// t the change of a level's effect from the reference and o_i the odds of a row without it, the
// log-likelihood of the level is Y t - sum of log(1 + o_i e^t).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/level_lanes.hpp"

namespace mlo::level_passes {

// Whose factors fit into four registers.
inline constexpr std::size_t few_levels = 32;

// What the other groupings make of a row's odds.
struct OddsFactors {
  static constexpr std::size_t most_others = 7;
  std::size_t others = 0;
  const std::uint32_t *codes[most_others] = {}, *common[most_others] = {};
  const float* factors[most_others] = {};  // by level: e^t, at least few_levels of them
  // Codes as bytes, if the only other grouping has few levels: its factors are then kept in registers.
  const std::uint8_t* bytes = nullptr;
  // Of all groupings but the first: where a row is in the first's places, and its odds there with the
  // first's effect. The first is then none of the others.
  const std::uint32_t* from = nullptr;
  const float* source = nullptr;
};
// `width` places from `first` on, and the same of the eights after it: the products of their factors, one
// after the other. Plain code: instructions that gather made a sweep 7 % slower.
struct OddsStretch {
  std::size_t first, eights, width;
};
void look_up(const OddsFactors& of, const OddsStretch& at, float* out) noexcept;
// Adds numbers of these places to sums by level, at 8 level + lane: a lane has sums of its own, so that one
// addition need not wait for the one before it.
void add_by_level(const OddsFactors& of, const OddsStretch& at, const float* numbers,
                  double* const* by_level) noexcept;

// A grouping. Numbers by slot unless said otherwise.
struct OddsLevels : OddsFactors {
  const std::uint32_t* starts = nullptr;
  const float* x = nullptr;  // by place: the odds without any effect
  float* odds = nullptr;     // by place: without this grouping's effect
  const double *count = nullptr, *successes = nullptr, *mean = nullptr;  // the prior's mean of t
  double *t = nullptr, *next = nullptr;
  double *logs = nullptr, *next_logs = nullptr;  // sums of log(1 + o e^t)
  // Near its mode at the reference the log-likelihood is a cubic polynomial of s = t + lift: where, and its
  // first three derivatives there (the last two with the other sign).
  const float* centre = nullptr;
  float *slope = nullptr, *bend = nullptr, *skew = nullptr;
  std::size_t count_of_levels = 0;
  double lift = 0;           // what the columns that are the same for all rows add to eta
  double tau = 1;            // the effects' precision
  double reference_tau = 1;  // for the centres alone
};

// odds.
void fill_odds(const OddsLevels& levels, Range range);
// odds; the centres that go with them. The cubic may depend on no number that a move changes which is
// proposed by it: not on t, nor on tau and lift. Centres are the reference's.
void centre_odds(const OddsLevels& levels, float* centre, Range range);
// odds; the cubic; a proposal for each level from the normal law that it and the prior make; the decisions.
// Writes t and logs; returns how many moved. Noise and uniforms are of the range alone.
double sweep_odds(const OddsLevels& levels, const double* noise, const double* uniforms, Range range);
// next_logs, at next; returns the change of the log-likelihood from t and logs.
double move_odds(const OddsLevels& levels, Range range);
// next: the effects keep their places in their laws, which lean as the cubics do, as tau and lift become
// others. Returns the log of the
// Jacobian and of the ratio of the effects' densities, without their determinants.
double rescale_odds(const OddsLevels& levels, double tau, double lift, Range range);
// Of the laws with tau at lift = 0: the sum of the effects' means, and how fast it falls with lift.
struct OddsCentre {
  double sum = 0, fall = 0;
};
OddsCentre centre_of_odds(const OddsLevels& levels, double tau, Range range);
// out = e^(beta - ma), or e^beta if there is no ma; `count` is a multiple of eight.
void factors_of(const double* beta, const double* ma, std::size_t count, float* out);

// A pass over the rows in the places of the first grouping, for the columns.
struct OddsColumns : OddsFactors {
  const std::uint32_t* starts = nullptr;
  std::size_t columns = 0;
  const float* own = nullptr;  // by slot: the first grouping's factor, times what the same columns make
  const float *base = nullptr, *x = nullptr;  // e^eta at the reference; the columns, as OddsRows has them
  // A column at a place; at the same place of the next eight it is level_lanes * columns further on.
  [[nodiscard]] const float* column(std::size_t place, std::size_t j) const noexcept {
    const std::size_t lane = place % level_lanes;
    return x + (place - lane) * columns + j * level_lanes + lane;
  }
};
// Sums over rows of p = o / (1 + o): times the columns, added to `sums`; by slot, written to `slots`; by
// level of the other groupings, added to by_level[j] at 8 level + lane.
void slope_of_odds(const OddsColumns& of, double* sums, double* slots, double* const* by_level, Range range);
// Writes base e^(x'alpha) to `out`; returns the sum of log(1 + that times the factors).
double move_columns(const OddsColumns& of, const float* alpha, float* out, Range range);
// The same sum where x = base e^(x'alpha) is known.
double logs_of_odds(const OddsColumns& of, const float* x, Range range);
// out = x times the factors of the slots, in the places of the first grouping.
void with_own_factors(const std::uint32_t* starts, const float* x, const float* own, float* out, Range range);

}  // namespace mlo::level_passes
