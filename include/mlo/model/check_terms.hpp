// Copyright (c) the mlo authors. BSD-3-Clause.
// Checks that a model's terms and their quadratic expansions can be used, before a user-written model is
// sampled. If not, the message says why: it names the row whose term is NaN, for example.
#pragma once

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/base/thread_pool.hpp"
#include "mlo/model/mode.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

// The remainders of the rows first, first + stride, first + 2 stride, ..., as many as `out` holds.
template <ExpandableModel M>
void log_likelihood_remainders(const M& model, Params centre, Params from, Params to, std::size_t first,
                               std::size_t stride, std::span<double> out) {
  std::array<RowId, 256> ids;
  for (std::size_t done = 0; done < out.size(); done += ids.size()) {
    const std::size_t count = std::min(ids.size(), out.size() - done);
    for (std::size_t k = 0; k < count; ++k) ids[k] = static_cast<RowId>(first + (done + k) * stride);
    model.log_likelihood_remainders(centre, from, to, std::span(ids).first(count), out.subspan(done, count));
  }
}

// A point `length` posterior standard deviations from the centre in a random direction; `cholesky` is L of
// the information L L'. Depends on `move` alone. The directions of p successive moves are orthogonal in
// whitened coordinates, so that together they cover the whole space.
[[nodiscard]] Eigen::VectorXd probe(Params centre, const Eigen::MatrixXd& cholesky, std::uint64_t move,
                                    double length);

namespace detail {
[[nodiscard]] bool all_finite(const Derivatives& d);
// `which` is "row 7" or "the prior".
[[noreturn]] void refuse_terms(const std::string& which, const Derivatives& d, Params theta,
                               const std::vector<std::string>& names, std::string_view where);
[[noreturn]] void refuse_expansion(const Eigen::VectorXd& move, double length, double remainder,
                                   const std::vector<std::string>& names);
template <class M>
[[nodiscard]] std::vector<std::string> names_of(const M& model) {
  if constexpr (requires { model.names(); }) {
    return model.names();
  } else {
    return {};
  }
}
}  // namespace detail

// Throws ModelError if the prior or a term, or a first or second derivative of one, is not finite at theta.
// The message names the first such row (counted from 1) and the parameters. `where` says what theta is, e.g.
// "the starting point".
template <TwiceDifferentiable M>
void check_terms(const M& model, ThreadPool& pool, Params theta, std::string_view where) {
  Derivatives prior(model.dim());
  model.add_prior_derivatives(theta, prior);
  if (!detail::all_finite(prior))
    detail::refuse_terms("the prior", prior, theta, detail::names_of(model), where);
  pool.run((model.rows() + rows_per_block - 1) / rows_per_block, [&](std::size_t b) {
    const std::size_t first = b * rows_per_block;
    const std::size_t count = std::min(rows_per_block, model.rows() - first);
    Derivatives sum(model.dim());
    model.add_derivatives(theta, Rows::range(first, count), sum);
    if (detail::all_finite(sum)) return;  // then so is every row
    for (std::size_t i = first; i < first + count; ++i) {
      Derivatives row(model.dim());
      model.add_derivatives(theta, Rows::range(i, 1), row);
      if (!detail::all_finite(row))
        detail::refuse_terms("row " + std::to_string(i + 1), row, theta, detail::names_of(model), where);
    }
    detail::refuse_terms(
        "the sum of rows " + std::to_string(first + 1) + " to " + std::to_string(first + count), sum, theta,
        detail::names_of(model), where);
  });
}

// Throws ModelError if the quadratic expansion of the log-likelihood about the centre does not describe it
// nearby: over a move of h = 1/4 posterior standard deviations, in one of eight random directions, it misses
// more than half of h^2 / 2, the change of a quadratic log posterior. For smooth terms it misses h^3 / 6
// times the skewness of the posterior, which is that much at a skewness of 6; for terms with a kink (abs,
// max, a branch on a parameter) it misses the kink's whole effect. Uses at most 100,000 rows, evenly spaced.
template <ExpandableModel M>
void check_expansion(const M& model, ThreadPool& pool, Params centre, const Eigen::MatrixXd& cholesky) {
  constexpr double length = 0.25;
  const std::size_t rows = model.rows(), stride = (rows + 99'999) / 100'000,
                    used = (rows + stride - 1) / stride;
  for (std::uint64_t direction = 0; direction < 8; ++direction) {
    const Eigen::VectorXd to = probe(centre, cholesky, direction, length);
    const double sum = block_sum(pool, used, rows_per_block, 0.0, [&](std::size_t first, std::size_t count) {
      std::vector<double> r(count);
      log_likelihood_remainders(model, centre, centre, params(to), first * stride, stride, r);
      return std::accumulate(r.begin(), r.end(), 0.0);
    });
    const double remainder = sum * static_cast<double>(rows) / static_cast<double>(used);
    if (!(std::abs(remainder) < 0.5 * length * length / 2))
      detail::refuse_expansion(to - vector(centre), length, remainder, detail::names_of(model));
  }
}

}  // namespace mlo
