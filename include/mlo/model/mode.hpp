// Copyright (c) the mlo authors. BSD-3-Clause.
// The mode of the posterior (MAP) or of the likelihood (MLE), by Newton's method with a line search: first on
// a subsample of the rows, which costs next to nothing, then two or three passes over all of them.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mlo/base/thread_pool.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

enum class ModeOf { posterior, likelihood };

struct ModeOptions {
  ModeOf of = ModeOf::posterior;
  // Newton stops when the next step is shorter than this, in posterior standard deviations, and still takes
  // that step: Newton squares the error, so what is left is about tolerance^2, far below any Monte Carlo
  // error.
  double tolerance = 1e-3;
  int max_iterations = 50;  // over all rows; a posterior that needs more has no usable mode
  std::size_t subset =
      20'000;  // rows of the first, cheap search; skipped when not well below the number of rows
};

struct Mode {
  Eigen::VectorXd theta;
  double value = 0;             // log posterior (or likelihood) at theta, up to a constant
  Eigen::MatrixXd information;  // minus its Hessian there
  double decrement = 0;         // length of the last step, in posterior standard deviations
  double passes = 0;            // over all rows; the subsample's share is counted
  // Where the sums over rows were last taken, and the likelihood's part of them: the start of a further
  // search.
  Eigen::VectorXd evaluated_at;
  Derivatives likelihood;
};

// What the search needs of a model, erased: a call is a pass over rows, so the price of the erasure is
// nothing.
struct ModeProblem {
  std::size_t rows = 0;
  bool flat_direction_possible =
      false;  // whether the objective may have no maximum: a likelihood, or a flat prior
  std::function<Eigen::VectorXd()> start;
  std::function<Derivatives(Params, Rows)> likelihood;
  std::function<void(Params, Derivatives&)> add_prior;  // empty for the likelihood's mode
  std::function<bool(Params direction)> recedes;        // empty: cannot
  // Why there can be no mode, seen from theta and the objective there; or "".
  std::function<std::string(Params, const Derivatives&)> degenerate;
  // Whether columns are levels of factors: in a subsample, rare ones have few rows or none.
  bool levels = false;
  // The first of the parameters are coefficients, which must be of full rank; the others are logarithms.
  std::size_t columns = 0;
  std::vector<std::string> names;
};

// Throws ModelError, naming the columns: rank deficiency, separation, no convergence.
[[nodiscard]] Mode find_mode(const ModeProblem& problem, const ModeOptions& options, const Mode* warm_start);

// A search from a stated point, over some rows that stand for all of them.
struct Climb {
  Eigen::VectorXd start;
  Rows rows;
  double* passes = nullptr;  // the passes of the search are added to it, also where it fails
};
// Empty: Newton's method does not converge from there. Nothing else is checked.
[[nodiscard]] std::optional<Mode> climb(const ModeProblem& problem, const Climb& from,
                                        const ModeOptions& options = {});

// One row from each of `count` equal strata, in file order: reproducible, and fair for files sorted by
// anything. All rows, if count is their number.
[[nodiscard]] std::vector<RowId> stratified_subset(std::size_t rows, std::size_t count);

// The sums of the log-likelihood's derivatives over all rows, the same for any number of threads.
inline constexpr std::size_t rows_per_block = 4096;
// A block of rows has a matrix of its own, so the more parameters, the longer the blocks.
[[nodiscard]] constexpr std::size_t rows_per_matrix(std::size_t dim) noexcept {
  return rows_per_block * (1 + dim * dim / 16384);
}

template <TwiceDifferentiable M>
[[nodiscard]] Derivatives sum_derivatives(const M& model, ThreadPool& pool, Params theta, Rows rows) {
  return block_sum(pool, rows.size(), rows_per_matrix(model.dim()), Derivatives(model.dim()),
                   [&](std::size_t first, std::size_t count) {
                     Derivatives part(model.dim());
                     model.add_derivatives(theta, rows.part(first, count), part);
                     return part;
                   });
}

template <TwiceDifferentiable M>
[[nodiscard]] ModeProblem mode_problem(const M& model, ThreadPool& pool, const ModeOptions& options = {}) {
  ModeProblem problem;
  problem.rows = model.rows();
  problem.start = [&model] { return model.start(); };
  problem.likelihood = [&model, &pool](Params theta, Rows rows) {
    return sum_derivatives(model, pool, theta, rows);
  };
  problem.flat_direction_possible = true;
  if (options.of == ModeOf::posterior) {
    problem.add_prior = [&model](Params theta, Derivatives& d) { model.add_prior_derivatives(theta, d); };
    if constexpr (requires { model.proper_prior(); }) problem.flat_direction_possible = !model.proper_prior();
  }
  if constexpr (requires(Params d, Rows r) { model.recedes(d, r); }) {
    problem.recedes = [&model, &pool](Params direction) {
      std::vector<char> ok((model.rows() + rows_per_block - 1) / rows_per_block);
      pool.run(ok.size(), [&](std::size_t b) {
        const std::size_t first = b * rows_per_block;
        ok[b] = model.recedes(direction, Rows::range(first, std::min(rows_per_block, model.rows() - first)));
      });
      return std::all_of(ok.begin(), ok.end(), [](char c) { return c != 0; });
    };
  }
  problem.columns = model.dim();
  if constexpr (requires { model.columns(); }) problem.columns = model.columns();
  if constexpr (requires(Params t, const Derivatives& d) { model.degenerate(t, d, true); })
    problem.degenerate = [&model, of = options.of](Params theta, const Derivatives& at) {
      return model.degenerate(theta, at, of == ModeOf::posterior);
    };
  if constexpr (requires { model.names(); }) problem.names = model.names();
  if constexpr (requires { model.has_levels(); }) problem.levels = model.has_levels();
  return problem;
}

template <TwiceDifferentiable M>
[[nodiscard]] Mode find_mode(const M& model, ThreadPool& pool, const ModeOptions& options = {},
                             const Mode* warm_start = nullptr) {
  return find_mode(mode_problem(model, pool, options), options, warm_start);
}

}  // namespace mlo
