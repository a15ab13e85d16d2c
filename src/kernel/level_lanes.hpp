// Copyright (c) the mlo authors. BSD-3-Clause.
// Passes over the levels of a grouping, eight at a time, without reading a row. Ranges are of blocks of eight
// levels. docs/methods/levels.md has the maths, LevelKernel the order of the moves.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "mlo/subsample/level_table.hpp"

namespace mlo::level_passes {

// A grouping as the passes see it. Arrays are ordered as lane_at() says.
struct Levels {
  const double* table = nullptr;
  LevelFields at;
  std::size_t count = 0;  // levels; the last block may have room for more
  // The chain's: d numbers per level
  double *beta = nullptr, *next = nullptr, *ma = nullptr, *linear = nullptr;
  double* bend = nullptr;  // pairs_of(d)
  // and one each. What other groupings add to linear and to bend, their |gamma|^3, the largest |gamma|; the
  // bound of a row, its part by |gamma|^3, the level's rate; the log ratio of a move; 1 if it was accepted.
  double *cell_linear = nullptr, *cell_bend = nullptr, *cubes = nullptr, *others = nullptr;
  double* typical = nullptr;     // about the size of |gamma|, from cubes
  double* cell_first = nullptr;  // the part of cell_linear that is linear in gamma
  double *own = nullptr, *cross = nullptr, *rate = nullptr, *ratio = nullptr, *taken = nullptr;
  // Of levels with curves: the change of phi in a move of the effect; in one of the columns, phi.
  double* phi = nullptr;
  double* chunks = nullptr;  // cells' sums of |gamma|^3, by chunks of a level's cells
  // Levels' own log-likelihoods as polynomials, and which blocks have any: LevelTable's.
  const double* curves = nullptr;
  const char* curved = nullptr;
  bool rides = false;             // whether moves of the columns use them: one grouping's at most
  const double* omega = nullptr;  // d x d: the effects' precision
  double precision = 1;           // the likelihood's
  double length = 0;              // |L'alpha|
  double slack = 1;               // a factor of all bounds
  double direction = 1;           // where rows are products
  // Of products with many levels: the mode with the reference's prior precision, and e^(direction mode).
  double *anchor = nullptr, *anchor_power = nullptr;
  double anchor_omega = 1;
  // Where rows depend on a second parameter by u: |u|, how large it may be, and suprema of mixed derivatives.
  double second = 0, width = 0;
  const double *k31 = nullptr, *k22 = nullptr, *k13 = nullptr, *k04 = nullptr;
  bool product = false;
  bool bounded = true;  // whether there are bounds
  // Whether levels that are outside their box, at either end of a move, are decided by their own rows alone:
  // own is infinite there, and the expansion is no part of their ratio.
  bool apart = false;
  bool all_rows = false;  // whether moves are decided by all rows
  bool crossed = false;
  bool plain = false;  // whether the only effect is an intercept
  bool weighted =
      false;  // whether rows are drawn by their lengths: bounds are own * length + cross * length^4
};

struct Range {
  std::size_t first = 0, last = 0;
};

// The cells of a grouping's levels: which levels of the other groupings, and the rows' derivatives.
struct Cells {
  static constexpr std::size_t most_others = 7;
  const std::uint32_t* starts = nullptr;
  std::size_t others = 0;
  const std::uint32_t* levels[most_others] = {};
  const float* betas[most_others] = {};
  const float *f1 = nullptr, *f2 = nullptr, *f3 = nullptr;
  const float* count = nullptr;  // none: one row each

  static constexpr std::size_t chunk = 256;
  // The first chunk of a level. Every level has room for its last, shorter one.
  [[nodiscard]] std::size_t chunk_of(std::size_t level) const noexcept {
    assert(starts != nullptr);
    return starts[level] / chunk + level;
  }
};
// cell_linear, cell_bend, cubes, others and chunks of the levels, with betas rounded to floats; returns the
// sum of the cells' own polynomials, if there is f1.
double add_cells(const Levels& levels, const Cells& cells, Range range);

// The cell among first..last-1 where the running sum of rows times |gamma|^3 passes `target`; the last one if
// it does not.
std::size_t cell_of(const Cells& cells, std::size_t first, std::size_t last, double target);

// Rows of levels with curves: what is left of a move of the effect, f(e + u + to) - f(e + u + from) - f(e +
// to)
// + f(e + from) - f''(e) u phi, f(x) = -log(1 + e^x). `count` is a multiple of eight.
struct CurvedRows {
  const double *e, *u, *from, *to, *phi;
};
void curved_changes(const CurvedRows& rows, std::size_t count, double* out);

// linear and bend at alpha, typical and anchors.
void prepare(const Levels& levels, const double* alpha, Range range);

// Proposals from the normal law at the mode of the expansion: next, ratio and, with bounds, own, cross and
// rate, which is infinite where all rows should be read. `noise` has d numbers per level of the range;
// `walks`, if given, is 1 for levels that take a step from where they are.
void propose(const Levels& levels, const double* noise, const double* walks, Range range);
// beta = next where log(uniforms) < ratio; returns how many.
double accept(const Levels& levels, const double* uniforms, Range range);

// A move of all effects from beta to next: returns the change of the expansion; own, cross and rate.
double move_of_all(const Levels& levels, Range range);
// next: the effects keep their places in their normal laws as the precision becomes `omega`. Returns the log
// of the Jacobian and of the ratio of the effects' densities, without their determinants.
double rescale(const Levels& levels, const double* omega, Range range);
// With b = beta - ma + the reference's effects: sums of b (d) and of b b' (pairs), added to.
void effect_sums(const Levels& levels, double* sums, double* squares, Range range);
// For sigma of either sign with b / sigma fixed: its precision and its linear term, added to.
struct SignedSums {
  double information = 0, linear = 0;
};
SignedSums signed_sums(const Levels& levels, std::size_t effect, double sigma, Range range);
// next: b of one kind times `ratio`.
void multiply_effect(const Levels& levels, std::size_t effect, double ratio, Range range);

// ma = M alpha; or, added to both, M v and beta += M v.
void apply_m(const Levels& levels, const double* alpha, Range range);
void shift_along_m(const Levels& levels, const double* v, Range range);
// The slope of alpha that the effects and their priors make: added to `sums`, of q numbers.
void coefficient_slopes(const Levels& levels, double* sums, Range range);
// Of |z'beta|: the sum of squares, weighted by rows and reach, the weights, and the largest.
struct Sizes {
  double squares = 0, weights = 0, most = 0;
};
Sizes sizes(const Levels& levels, Range range);
// The levels' shares (in own) of the bound of a move of alpha, and their rates; returns the sum of the rates.
struct ColumnMove {
  double step = 0, length = 0;  // |L'd|, the larger |L'alpha|
  double slack = 1, cross = 0, others = 0, split = 1;
  double whole = 0, second = 0;  // of a move of the second parameter: the larger |u|
  bool first = true;             // the grouping that answers for the columns' own part
};
double column_shares(const Levels& levels, const ColumnMove& move, Range range);
// The same of a move of the second parameter: of the likelihood's precision, or of u, by `step`. The rate is
// infinite where a row's bound is above `whole`: all rows of the level should be read.
void second_shares(const Levels& levels, const ColumnMove& move, Range range);

// The expansion in beta and alpha but for alpha's own part. Of the part without alpha: nothing, or what the
// effects are worth without other groupings, or with them.
enum class Own { none, alone, all };
double polynomial(const Levels& levels, const double* alpha, Own own, Range range);

}  // namespace mlo::level_passes
