// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/expansion.hpp"

#include <fmt/format.h>

#include "mlo/base/errors.hpp"

namespace mlo {

Eigen::VectorXd probe(Params centre, const Eigen::MatrixXd& cholesky, std::uint64_t move, double length) {
  // Iteration 0 of this purpose is the mode's subsample.
  Stream stream({.seed = 0, .chain = 0, .purpose = Purpose::mode, .iteration = 1 + move});
  Eigen::VectorXd z(cholesky.rows());
  normals(stream, {z.data(), static_cast<std::size_t>(z.size())});
  if (length > 0) z *= length / z.norm();
  cholesky.transpose().triangularView<Eigen::Upper>().solveInPlace(z);
  return vector(centre) + z;
}

namespace detail {
namespace {

std::string name_of(const std::vector<std::string>& names, Eigen::Index j) {
  const auto k = static_cast<std::size_t>(j);
  return k < names.size() ? names[k] : fmt::format("parameter {}", k + 1);
}

// What is not finite of the sum, its gradient and its information: the first of them.
std::string culprit(const Derivatives& d, const std::vector<std::string>& names) {
  if (!std::isfinite(d.value)) return fmt::format("the log density is {}", d.value);
  for (Eigen::Index j = 0; j < d.gradient.size(); ++j)
    if (!std::isfinite(d.gradient[j]))
      return fmt::format("the derivative of the log density by {} is {}", name_of(names, j), d.gradient[j]);
  for (Eigen::Index j = 0; j < d.gradient.size(); ++j)
    for (Eigen::Index k = j; k < d.gradient.size(); ++k)
      if (!std::isfinite(d.information(j, k)))
        return fmt::format("the second derivative of the log density by {} and {} is {}", name_of(names, j),
                           name_of(names, k), -d.information(j, k));
  return "nothing";
}

}  // namespace

bool all_finite(const Derivatives& d) {
  return std::isfinite(d.value) && d.gradient.allFinite() && d.information.allFinite();
}

void refuse_terms(const std::string& which, const Derivatives& d, Params theta,
                  const std::vector<std::string>& names, std::string_view where) {
  std::string point;
  for (std::size_t j = 0; j < theta.size(); ++j)
    point +=
        fmt::format("{}{} = {}", j > 0 ? ", " : "", name_of(names, static_cast<Eigen::Index>(j)), theta[j]);
  throw ModelError(fmt::format("{}: {} at {}, {}", which, culprit(d, names), where, point));
}

void refuse_expansion(const Eigen::VectorXd& move, double length, double remainder,
                      const std::vector<std::string>& names) {
  std::string text;
  for (Eigen::Index j = 0; j < move.size(); ++j)
    text += fmt::format("{}{:+.3g} in {}", j > 0 ? ", " : "", move[j], name_of(names, j));
  throw ModelError(
      fmt::format("the log-likelihood is not smooth at the mode: on a move of {} posterior standard "
                  "deviations ({}) it differs by "
                  "{:.3g} from its own quadratic expansion, where less than {:.3g} is expected; a term with "
                  "a kink (abs, max, min, "
                  "a branch on a parameter) cannot be expanded: use the method full",
                  length, text, remainder, 0.5 * length * length / 2));
}

}  // namespace detail
}  // namespace mlo
