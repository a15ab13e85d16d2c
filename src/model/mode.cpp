// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/mode.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/base/random.hpp"

namespace mlo {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

std::string name_of(const ModeProblem& problem, Index j) {
  const auto k = static_cast<std::size_t>(j);
  return k < problem.names.size() ? fmt::format("\"{}\"", problem.names[k])
                                  : fmt::format("parameter {}", k + 1);
}

// The columns that carry a direction, largest share first, as words: "x1", "x2" and "x3". Those with less
// than `least` of the largest share are left out.
std::string columns_of(const ModeProblem& problem, const VectorXd& direction, double least = 0.05) {
  std::vector<Index> order;
  const double largest = direction.cwiseAbs().maxCoeff();
  for (Index j = 0; j < direction.size(); ++j)
    if (std::abs(direction[j]) > least * largest) order.push_back(j);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(direction[a]) > std::abs(direction[b]); });
  // The intercept shifts along with a separating column; it is never the cause where there is another.
  if (order.size() > 1)
    std::erase_if(order, [&](Index j) { return name_of(problem, j) == "\"(Intercept)\""; });
  std::string text;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k > 0) text += k + 1 == order.size() ? " and " : ", ";
    text += name_of(problem, order[k]);
  }
  return text;
}

// If the information matrix is singular: the first column that the columns before it determine, and with
// which coefficients, as R reports aliased coefficients. Columns are compared on equal scales.
std::optional<std::string> rank_deficiency(const ModeProblem& problem, const Derivatives& likelihood) {
  const MatrixXd& information = likelihood.information;
  constexpr double tolerance = 1e-11;  // of 1 - R^2; rounding leaves about 1e-14
  const auto p = static_cast<Index>(problem.columns);
  for (Index j = 0; j < p; ++j)
    if (information(j, j) == 0)
      return likelihood.gradient[j] == 0
                 ? fmt::format("the data say nothing about {}: remove it", name_of(problem, j))
                 : fmt::format(
                       "the log-likelihood has a slope but no curvature in {}: its terms are linear in it or "
                       "made of pieces that are (abs, max, min), and there is no mode to expand it at",
                       name_of(problem, j));
  const MatrixXd block = information.topLeftCorner(p, p);
  if (block.diagonal().minCoeff() < 0) return std::nullopt;  // indefinite: says nothing about rank
  const VectorXd scale = block.diagonal().cwiseSqrt().cwiseInverse();
  const MatrixXd correlation = scale.asDiagonal() * block * scale.asDiagonal();
  // The diagonal of a Cholesky factorization without pivoting is what is left of each column after those
  // before it. Away from the mode the observed information may be indefinite: that does not mean a lack of
  // rank, so a column is judged by the size of what is left, not by its sign.
  MatrixXd factor = MatrixXd::Zero(p, p);  // L of L D L'
  VectorXd left(p);
  for (Index j = 0; j < p; ++j) {
    const VectorXd row = factor.row(j).head(j);
    left[j] = correlation(j, j) - row.cwiseProduct(left.head(j)).dot(row);
    if (j > 0 && std::abs(left[j]) <= tolerance) {
      const VectorXd weights =
          Eigen::LDLT<MatrixXd>(correlation.topLeftCorner(j, j)).solve(correlation.col(j).head(j));
      return fmt::format("column {} is a linear combination of {}: remove one of them", name_of(problem, j),
                         columns_of(problem, weights, 1e-6));
    }
    factor(j, j) = 1;
    const Index below = p - j - 1;
    if (below == 0) break;
    factor.col(j).tail(below) = (correlation.col(j).tail(below) -
                                 factor.bottomLeftCorner(below, j) * row.cwiseProduct(left.head(j))) /
                                left[j];
  }
  return std::nullopt;
}

[[noreturn]] void throw_separation(const ModeProblem& problem, const VectorXd& direction) {
  const std::string columns = columns_of(problem, direction);
  const bool several = columns.find(" and ") != std::string::npos;
  throw ModelError(fmt::format(
      "separation: {} {} the response of some rows perfectly, so the likelihood has no finite maximum; remove "
      "{}, or give the coefficients a proper prior (`prior normal(0, 2.5)`) and use a method that needs no "
      "maximum-likelihood fit (`method auto`, or `weights-at map`)",
      columns, several ? "together predict" : "predicts", several ? "one of them" : "the column"));
}

// The objective over some rows, weighed up to stand for all of them.
struct Objective {
  const ModeProblem& problem;
  Rows rows;
  double weight;
  double passes = 0;
  Derivatives likelihood;
  // Whether the prior is weighed up too: then a level with few rows among them stays where the prior puts it,
  // and does not run far out, from where the search over all rows would take long to come back.
  bool weigh_prior = false;

  Derivatives at(const VectorXd& theta) {
    likelihood = problem.likelihood(params(theta), rows);
    passes += 1 / weight;
    return with_prior(theta);
  }
  Derivatives with_prior(const VectorXd& theta) const {
    Derivatives d = likelihood;
    if (weigh_prior && problem.add_prior) problem.add_prior(params(theta), d);
    d.value *= weight;
    d.gradient *= weight;
    d.information *= weight;
    if (!weigh_prior && problem.add_prior) problem.add_prior(params(theta), d);
    return d;
  }
};

bool finite(const Derivatives& d) {
  return std::isfinite(d.value) && d.gradient.allFinite() && d.information.allFinite();
}

struct NewtonStep {
  VectorXd step;
  bool upward_curved = false;  // the information is not positive, by more than rounding: no maximum is near
};

// Newton's step, on equal scales; a ridge where the information is not (numerically) positive definite. Where
// a ridge is not enough the objective curves upward in some direction: there the step has the length it would
// have if it curved down as much, so that it climbs in every direction.
std::optional<NewtonStep> newton_step(const Derivatives& d) {
  const VectorXd diagonal = d.information.diagonal().cwiseAbs().cwiseMax(1e-300);
  const VectorXd scale = diagonal.cwiseSqrt().cwiseInverse();
  const MatrixXd scaled = scale.asDiagonal() * d.information * scale.asDiagonal();
  const VectorXd gradient = scale.asDiagonal() * d.gradient;
  for (const double ridge : {0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 0.1, 1.0}) {
    const Eigen::LLT<MatrixXd> chol(scaled + ridge * MatrixXd::Identity(scaled.rows(), scaled.cols()));
    if (chol.info() != Eigen::Success) continue;
    // A ridge that happens to make the matrix singular gives a step beyond all bounds.
    if (ridge > 1e-6 && chol.matrixLLT().diagonal().minCoeff() < 1e-3) continue;
    const VectorXd step = scale.asDiagonal() * chol.solve(gradient);
    if (step.allFinite()) return NewtonStep{step, ridge > 1e-6};
  }
  if (!scaled.allFinite()) return std::nullopt;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(scaled);
  if (eigen.info() != Eigen::Success) return std::nullopt;
  const VectorXd curvature = eigen.eigenvalues().cwiseAbs().cwiseMax(0.01);
  const VectorXd along = eigen.eigenvectors().transpose() * gradient;
  const VectorXd step = scale.asDiagonal() * (eigen.eigenvectors() * along.cwiseQuotient(curvature));
  if (!step.allFinite()) return std::nullopt;
  return NewtonStep{step, true};
}

// Where the gradient vanishes and the objective curves upward, a minimum or a saddle: a step along the
// direction that curves up most. Either way is up.
VectorXd leave_saddle(const Derivatives& d) {
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(d.information);
  const VectorXd direction = eigen.eigenvectors().col(0);
  const double sign = direction.dot(d.gradient) < 0 ? -1 : 1;
  return sign / std::sqrt(std::max(std::abs(eigen.eigenvalues()[0]), 1e-300)) * direction;
}

// The share of a step with which the line search begins. A logarithm moves by at most 3: where the objective
// flattens out in it, as for the size of counts without overdispersion, a whole step may go beyond all bounds
// and still be an improvement.
double first_length(const ModeProblem& problem, const VectorXd& step) {
  double longest = 3;
  for (auto j = static_cast<Index>(problem.columns); j < step.size(); ++j)
    longest = std::max(longest, std::abs(step[j]));
  return 3 / longest;
}

struct Search {
  VectorXd theta;
  Derivatives derivatives;  // at theta
  VectorXd step;            // the Newton step from there
  double decrement = std::numeric_limits<double>::infinity();
  bool converged = false;
  int iterations = 0;
};

// check(search) is called at every point; it may throw to end the search with the reason.
template <class Check>
Search newton(Objective& objective, VectorXd theta, std::optional<Derivatives> known, double tolerance,
              int max_iterations, const Check& check) {
  Search s;
  s.theta = std::move(theta);
  s.derivatives = known ? std::move(*known) : objective.at(s.theta);
  if (!finite(s.derivatives)) return s;
  for (; s.iterations < max_iterations; ++s.iterations) {
    check(s);
    const auto next_step = newton_step(s.derivatives);
    if (!next_step) return s;
    s.step = next_step->step;
    s.decrement = std::sqrt(std::max(0.0, s.derivatives.gradient.dot(s.step)));
    if (s.decrement < tolerance && !next_step->upward_curved) {
      s.converged = true;
      return s;
    }
    if (s.decrement < tolerance) s.step = leave_saddle(s.derivatives);
    // The value is known to about 1e-14 of itself: a fall below that is noise, not a bad step.
    const double slack = 1e-13 * std::abs(s.derivatives.value);
    bool moved = false;
    double length = first_length(objective.problem, s.step);
    for (int halvings = 0; halvings < 40 && !moved; ++halvings, length /= 2) {
      VectorXd next = s.theta + length * s.step;
      Derivatives d = objective.at(next);
      if (!finite(d) || d.value < s.derivatives.value - slack) continue;
      s.theta = std::move(next);
      s.derivatives = std::move(d);
      moved = true;
    }
    if (!moved) return s;
  }
  return s;
}

// Where a search that has converged ends: after one more step.
void settle(const Search& s, const Objective& objective, Mode& mode) {
  mode.evaluated_at = s.theta;
  mode.likelihood = objective.likelihood;
  mode.theta = s.theta + s.step;
  mode.value = s.derivatives.value + 0.5 * s.decrement * s.decrement;
  mode.information = s.derivatives.information;
  mode.decrement = s.decrement;
}

}  // namespace

std::vector<RowId> stratified_subset(std::size_t rows, std::size_t count) {
  Stream stream({.seed = 0, .chain = 0, .purpose = Purpose::mode, .iteration = 0});
  std::vector<RowId> ids(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t begin = rows * k / count, end = rows * (k + 1) / count;
    ids[k] = static_cast<RowId>(begin + bounded(stream, end - begin));
  }
  return ids;
}

Mode find_mode(const ModeProblem& problem, const ModeOptions& options, const Mode* warm_start) {
  if (problem.rows < problem.columns && problem.flat_direction_possible)
    throw ModelError(fmt::format(
        "only {} row{} for {} coefficients: the data cannot tell them apart, and not all of them have a "
        "proper prior (a maximum-likelihood fit has none); give them priors (`prior normal(0, 2.5)`) and use "
        "`method auto` or `weights-at map`",
        problem.rows, problem.rows == 1 ? "" : "s", problem.columns));
  Mode mode;
  VectorXd start;
  int subset_iterations = 0;
  std::optional<Derivatives> known;
  Objective all{problem, Rows::range(0, problem.rows), 1.0, 0, Derivatives(0)};

  if (warm_start != nullptr) {
    start = warm_start->evaluated_at;
    all.likelihood = warm_start->likelihood;
    known = all.with_prior(start);
  } else {
    start = problem.start();
    if (problem.rows > 4 * options.subset && problem.rows <= std::numeric_limits<RowId>::max()) {
      const std::vector<RowId> ids = stratified_subset(problem.rows, options.subset);
      Objective some{
          problem, Rows(ids),      static_cast<double>(problem.rows) / static_cast<double>(ids.size()),
          0,       Derivatives(0), problem.levels};
      // On a fifth of a standard deviation of the subsample's own error there is nothing left to gain from
      // it.
      const Search s = newton(some, start, std::nullopt, 0.2, 15, [](const Search&) {});
      if (s.converged) start = s.theta + s.step;
      subset_iterations = s.iterations;
      mode.passes += some.passes;
    }
  }

  // Newton needs fewer steps than 8 wherever there is a maximum. After that, ask whether the search runs off
  // to infinity; a maximum "found" where the likelihood only flattens out is separation too.
  const auto refuse_separation = [&](const Search& s) {
    if (!problem.flat_direction_possible || !problem.recedes || subset_iterations + s.iterations < 8) return;
    for (const VectorXd& direction : {s.step, VectorXd(s.theta - start)})
      if (direction.size() > 0 && direction.norm() > 0 && problem.recedes(params(direction)))
        throw_separation(problem, direction.head(static_cast<Index>(problem.columns)));
  };
  // With no more rows than coefficients it is the prior that tells these apart.
  bool rank_known = problem.rows <= problem.columns && !problem.flat_direction_possible;
  const auto check = [&](const Search& s) {
    // Rank can be judged where no curvature is negative: for generalised linear models, everywhere.
    if (!rank_known && all.likelihood.information.diagonal().minCoeff() >= 0) {
      rank_known = true;
      if (const auto reason = rank_deficiency(problem, all.likelihood)) {
        // Weights near 0 can make a matrix of full rank look singular: ask again where they are even.
        const VectorXd even = problem.start();
        if (const auto sure = rank_deficiency(problem, problem.likelihood(params(even), all.rows)))
          throw ModelError(*sure);
      }
    }
    if (problem.degenerate)
      if (const std::string why = problem.degenerate(params(s.theta), s.derivatives); !why.empty())
        throw ModelError(why);
    refuse_separation(s);
  };
  const Search s = newton(all, start, std::move(known), options.tolerance, options.max_iterations, check);
  mode.passes += all.passes;
  if (!s.converged) {
    if (const std::string why = problem.degenerate ? problem.degenerate(params(s.theta), s.derivatives) : "";
        !why.empty())
      throw ModelError(why);
    if (!std::isfinite(s.derivatives.value))
      throw ModelError(
          "mode finding: the log-likelihood is not finite at the starting point; the response or an offset "
          "may be too large for double precision: use another unit");
    throw ModelError(fmt::format(
        "mode finding did not converge in {} iterations: the next step would still be {:.2g} standard "
        "deviations long, mostly in {}",
        s.iterations, s.decrement, s.step.size() > 0 ? columns_of(problem, s.step) : "no direction"));
  }
  refuse_separation(s);
  settle(s, all, mode);
  return mode;
}

std::optional<Mode> climb(const ModeProblem& problem, const Climb& from, const ModeOptions& options) {
  Objective objective{problem, from.rows,
                      static_cast<double>(problem.rows) / static_cast<double>(from.rows.size()), 0,
                      Derivatives(0)};
  const Search s = newton(objective, from.start, std::nullopt, options.tolerance, options.max_iterations,
                          [](const Search&) {});
  if (from.passes != nullptr) *from.passes += objective.passes;
  if (!s.converged) return std::nullopt;
  if (problem.degenerate && !problem.degenerate(params(s.theta), s.derivatives).empty()) return std::nullopt;
  Mode mode;
  mode.passes = objective.passes;
  settle(s, objective, mode);
  return mode;
}

}  // namespace mlo
