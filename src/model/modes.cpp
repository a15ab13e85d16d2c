// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "mlo/base/random.hpp"
#include "mlo/data/outcome.hpp"
#include "mlo/model/glm.hpp"

namespace mlo {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// log of the posterior mass around a mode, up to a constant; minus infinity where there is no Laplace fit.
double log_mass(const Mode& mode) {
  const Eigen::LLT<MatrixXd> chol(mode.information);
  if (chol.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  const MatrixXd l = chol.matrixL();
  return mode.value - l.diagonal().array().log().sum();
}

// In standard deviations of the narrower of the two. Newton's method leaves less than 1e-3.
bool same_place(const Mode& a, const Mode& b) {
  constexpr double close = 0.1;
  const VectorXd d = a.theta - b.theta;
  return std::max(d.dot(a.information * d), d.dot(b.information * d)) < close * close;
}

bool higher(const Mode& a, const Mode& b) { return a.value > b.value; }

bool known(const std::vector<Mode>& modes, const Mode& mode) {
  return std::any_of(modes.begin(), modes.end(), [&](const Mode& m) { return same_place(m, mode); });
}

// The predictor that suits a response best, or one near it where that is infinite.
double predictor_of(const FamilySpec& family, double y) {
  if (family.counted) {
    const Outcome at = Outcome::of(y);
    return std::log((at.successes + 0.5) / (at.trials - at.successes + 0.5));
  }
  return family.link == Link::log ? std::log(y + 0.5) : y;
}

// Some rows as matrices, for starts that are least-squares fits to parts of them.
struct SearchedRows {
  const Glm& model;
  std::vector<RowId> ids;
  MatrixXd x;
  VectorXd y;  // on the scale of the predictor, less the offset

  SearchedRows(const Glm& m, std::vector<RowId> rows)
      : model(m),
        ids(std::move(rows)),
        x(static_cast<Index>(ids.size()), static_cast<Index>(m.columns())),
        y(x.rows()) {
    const Design& design = model.design();
    std::vector<double> row(design.dim);
    for (Index k = 0; k < x.rows(); ++k) {
      const std::size_t i = ids[static_cast<std::size_t>(k)];
      design.working_row(i, row);
      x.row(k) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), x.cols());
      y[k] = predictor_of(m.family().spec(), design.y(i)) - (design.has_offset ? design.offset(i) : 0);
    }
  }

  // Least squares over some of the rows. Working columns have unit size; the ridge draws directions that
  // these rows leave open towards `centre`.
  [[nodiscard]] VectorXd fit(std::span<const Index> rows, const VectorXd& centre) const {
    MatrixXd moments = MatrixXd::Identity(x.cols(), x.cols()) * (1e-6 * static_cast<double>(rows.size()));
    VectorXd slope = VectorXd::Zero(x.cols());
    for (const Index k : rows) {
      moments.noalias() += x.row(k).transpose() * x.row(k);
      slope += x.row(k).transpose() * (y[k] - x.row(k).dot(centre));
    }
    return centre + moments.ldlt().solve(slope);
  }

  // A point with these coefficients. A scale that is estimated is that of the nearest quarter of the rows, so
  // that a fit to a part of them can be a narrow one.
  [[nodiscard]] VectorXd point(const VectorXd& coefficients, const VectorXd& mode) const {
    VectorXd theta = mode;
    theta.head(x.cols()) = coefficients;
    if (theta.size() == x.cols() || !model.family().spec().second->scale) return theta;
    std::vector<double> distance(ids.size());
    for (Index k = 0; k < x.rows(); ++k)
      distance[static_cast<std::size_t>(k)] = std::abs(y[k] - x.row(k).dot(coefficients));
    const auto quarter = distance.begin() + static_cast<std::ptrdiff_t>(distance.size() / 4);
    std::nth_element(distance.begin(), quarter, distance.end());
    constexpr double normal_quartile = 0.3186;  // a quarter of normal variates lie within so many sds
    if (*quarter > 0) theta[x.cols()] = std::log(*quarter / normal_quartile);
    return theta;
  }
};

// Fits to the rows with the largest residuals, the smallest and both.
void add_fits_of_the_rest(const SearchedRows& rows, const VectorXd& mode, std::vector<VectorXd>& starts) {
  const VectorXd beta = mode.head(rows.x.cols());
  const VectorXd residual = rows.y - rows.x * beta;
  std::vector<Index> order(rows.ids.size());
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return residual[a] < residual[b]; });
  const std::span<const Index> ordered(order);
  for (const double share : {0.25, 0.45, 0.1}) {
    const auto count = static_cast<std::size_t>(std::ceil(share * static_cast<double>(order.size())));
    starts.push_back(rows.point(rows.fit(ordered.first(count), beta), mode));
    starts.push_back(rows.point(rows.fit(ordered.last(count), beta), mode));
  }
  starts.push_back(rows.point(rows.fit(ordered, beta), mode));
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(residual[a]) > std::abs(residual[b]); });
  starts.push_back(rows.point(rows.fit(ordered.first((order.size() + 2) / 3), beta), mode));
}

// Fits through as many random rows as there are coefficients, as robust regression has them (Rousseeuw 1984):
// if one of these subsets lies within a cluster of rows, so does its fit.
void add_elemental_fits(const SearchedRows& rows, const VectorXd& mode, Stream& stream,
                        std::vector<VectorXd>& starts) {
  const auto p = static_cast<std::size_t>(rows.x.cols()), n = rows.ids.size();
  if (p >= n) return;
  const std::size_t subsets = std::clamp<std::size_t>(40 / p, 4, 16);
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  for (std::size_t s = 0; s < subsets; ++s) {
    for (std::size_t k = 0; k < p; ++k) std::swap(order[k], order[k + bounded(stream, n - k)]);
    starts.push_back(
        rows.point(rows.fit(std::span<const Index>(order).first(p), mode.head(rows.x.cols())), mode));
  }
}

// Far from the mode, in random directions.
void add_far_points(const Mode& mode, Stream& stream, std::vector<VectorXd>& starts) {
  const Eigen::LLT<MatrixXd> chol(mode.information);
  if (chol.info() != Eigen::Success) return;
  for (const double distance : {3.0, 10.0, 30.0}) {
    VectorXd z(mode.theta.size());
    normals(stream, {z.data(), static_cast<std::size_t>(z.size())});
    const VectorXd step = chol.matrixU().solve(distance / std::max(z.norm(), 1e-9) * z);
    starts.push_back(mode.theta + step);
    starts.push_back(mode.theta - step);
  }
}

// How much lower the log posterior is at b than at a, over all rows, judged by some: by at least so much, but
// for one case in a million.
double least_drop(const Glm& model, std::span<const RowId> ids, const Mode& a, const Mode& b) {
  std::vector<double> terms(ids.size());
  model.log_likelihood_differences(params(b.theta), params(a.theta), ids, terms);
  const auto m = static_cast<double>(ids.size()), n = static_cast<double>(model.rows());
  const double mean = std::accumulate(terms.begin(), terms.end(), 0.0) / m;
  double squares = 0;
  for (const double t : terms) squares += (t - mean) * (t - mean);
  const double error = n * std::sqrt(squares) / m * std::sqrt(1 - m / n);
  const double drop = n * mean + model.log_prior(params(a.theta)) - model.log_prior(params(b.theta));
  return drop - 5 * error;
}

// The first mode and those that are found besides it, in no order.
std::vector<Mode> search(const Glm& model, ThreadPool& pool, const Mode& first, const ModesOptions& options,
                         double& passes) {
  const ModeProblem problem = mode_problem(model, pool);
  const std::size_t n = model.rows(), count = std::min(n, std::max(options.subset, 4 * model.columns()));
  const SearchedRows rows(model, stratified_subset(n, count));
  std::vector<VectorXd> starts;
  Stream stream({.seed = 0, .chain = 0, .purpose = Purpose::modes, .iteration = 0});
  add_fits_of_the_rest(rows, first.theta, starts);
  add_far_points(first, stream, starts);
  add_elemental_fits(rows, first.theta, stream, starts);
  // A search costs p^2 per row, as a pass does, and there are fewer rows: this keeps all of them within a few
  // passes over tall data, also where there are many columns.
  starts.resize(std::min(starts.size(), std::max<std::size_t>(1000 / model.columns(), 6)));

  const Rows some(rows.ids);
  // The first mode on these rows, to tell the others from.
  const Mode first_here =
      climb(problem, {.start = first.theta, .rows = some, .passes = &passes}).value_or(first);
  std::vector<Mode> candidates{first_here};
  for (VectorXd& start : starts) {
    if (!start.allFinite()) continue;
    auto mode = climb(problem, {.start = std::move(start), .rows = some, .passes = &passes});
    if (mode && !known(candidates, *mode)) candidates.push_back(std::move(*mode));
  }

  std::vector<Mode> modes{first};
  std::stable_sort(candidates.begin(), candidates.end(), higher);
  // Beyond this number there are as good as infinitely many: one for every choice in every level of a factor.
  constexpr std::size_t most = 12;
  candidates.resize(std::min(candidates.size(), most));
  for (const Mode& candidate : candidates) {
    if (same_place(first_here, candidate)) continue;
    if (least_drop(model, rows.ids, candidates[0], candidate) > options.depth) continue;
    if (count == n) {
      if (!known(modes, candidate)) modes.push_back(candidate);
      continue;
    }
    auto mode = climb(problem, {.start = candidate.theta, .rows = Rows::range(0, n), .passes = &passes});
    if (mode && !known(modes, *mode)) modes.push_back(std::move(*mode));
  }
  return modes;
}

// What a list of modes says of one of them: the parameters that differ most from the highest mode.
std::string place(const AnyModel& model, const Modes& modes, const FoundMode& mode) {
  constexpr std::size_t most = 3;
  const auto user = [&](const Mode& m) {
    VectorXd out(m.theta.size());
    model.to_user(params(m.theta), {out.data(), static_cast<std::size_t>(out.size())});
    return out;
  };
  // By how many standard deviations of the highest mode's fit, over all modes: the same parameters are listed
  // for each.
  const Mode& highest = modes.found[0].mode;
  const MatrixXd jacobian = model.user_jacobian(params(highest.theta));
  const MatrixXd covariance = jacobian * highest.information.inverse() * jacobian.transpose();
  VectorXd difference = VectorXd::Zero(highest.theta.size());
  for (const FoundMode& other : modes.found)
    difference = difference.cwiseMax((user(other.mode) - user(highest)).cwiseAbs());
  difference = difference.cwiseQuotient(covariance.diagonal().cwiseAbs().cwiseMax(1e-300).cwiseSqrt());
  std::vector<Index> order(static_cast<std::size_t>(difference.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return difference[a] > difference[b]; });
  order.resize(std::min(order.size(), most));
  std::sort(order.begin(), order.end());
  const VectorXd at = user(mode.mode);
  std::string out;
  for (const Index j : order)
    out += fmt::format("{}\"{}\" {:.4g}", out.empty() ? "" : ", ", model.names()[static_cast<std::size_t>(j)],
                       at[j]);
  return out;
}

}  // namespace

Modes find_modes(const AnyModel& model, ThreadPool& pool, const ModesOptions& options) {
  Modes out;
  Mode first = find_mode(model, pool);
  out.passes = first.passes;
  const Glm* const glm = model.glm();
  if (glm == nullptr || glm->family().spec().log_concave) {
    out.found.push_back({std::move(first), 1});
    return out;
  }
  std::vector<Mode> modes = search(*glm, pool, first, options, out.passes);
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.value > b.value; });
  std::vector<double> mass;
  mass.reserve(modes.size());
  for (const Mode& mode : modes) mass.push_back(log_mass(mode));
  const double largest = *std::max_element(mass.begin(), mass.end());
  double total = 0;
  for (double& m : mass) total += m = std::exp(m - largest);
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const double share = mass[k] / total;
    const bool deep = modes[k].value < modes[0].value - options.depth;
    if (k == 0 || (!deep && share >= options.least_share)) out.found.push_back({std::move(modes[k]), share});
  }
  return out;
}

std::string modes_words(const AnyModel& model, const Modes& modes) {
  constexpr std::size_t most = 4;
  std::string list;
  for (std::size_t k = 0; k < std::min(most, modes.found.size()); ++k) {
    const FoundMode& mode = modes.found[k];
    list += fmt::format("{}{}", k == 0 ? "" : "; ", place(model, modes, mode));
    if (k > 0)
      list += fmt::format(", where the log posterior is {:.3g} lower",
                          modes.found[0].mode.value - mode.mode.value);
  }
  if (modes.found.size() > most) list += fmt::format("; and {} more", modes.found.size() - most);
  return fmt::format("the posterior has {} modes: {}", modes.found.size(), list);
}

std::string modes_warning(const AnyModel& model, const Modes& modes) {
  if (!modes.several()) return {};
  return modes_words(model, modes) +
         ". Draws may seldom move between them: trust them only if R-hat is fine, and look at them, because a "
         "mean and an sd may say little here. More `chains` and more `warmup` help. There may be "
         "modes that were not found.";
}

}  // namespace mlo
