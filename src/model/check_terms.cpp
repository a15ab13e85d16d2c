// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/model/check_terms.hpp"

#include <fmt/format.h>

#include "mlo/base/errors.hpp"

namespace mlo {

Eigen::VectorXd probe(Params centre, const Eigen::MatrixXd& cholesky, std::uint64_t move, double length) {
  const auto p = static_cast<std::uint64_t>(cholesky.rows());
  // Iteration 0 of this purpose is the mode's subsample.
  Stream stream({.seed = 0, .chain = 0, .purpose = Purpose::mode, .iteration = 1 + move / p});
  Eigen::MatrixXd normal(cholesky.rows(), cholesky.rows());
  normals(stream, {normal.data(), p * p});
  const Eigen::MatrixXd frame = Eigen::HouseholderQR<Eigen::MatrixXd>(normal).householderQ();
  Eigen::VectorXd v = frame.col(static_cast<Eigen::Index>(move % p)) * length;
  cholesky.transpose().triangularView<Eigen::Upper>().solveInPlace(v);
  return vector(centre) + v;
}

namespace detail {
namespace {

std::string name_of(const std::vector<std::string>& names, Eigen::Index j) {
  const auto k = static_cast<std::size_t>(j);
  return k < names.size() ? names[k] : fmt::format("parameter {}", k + 1);
}

// A NaN is written without its sign, which depends on the compiler.
std::string number(double x) { return std::isnan(x) ? "nan" : fmt::format("{}", x); }

// The first thing that is not finite. No parameter is named, because a NaN in one derivative spreads to all
// of them.
std::string culprit(const Derivatives& d) {
  if (!std::isfinite(d.value)) return "the log density is " + number(d.value);
  for (const double slope : d.gradient)
    if (!std::isfinite(slope))
      return fmt::format("the log density is {}, but its derivative is {}", d.value, number(slope));
  for (const double curvature : d.information.reshaped())
    if (!std::isfinite(curvature))
      return fmt::format("the log density is {}, but its second derivative is {}", d.value,
                         number(-curvature));
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
  throw ModelError(fmt::format("{}: {} at {}, {}", which, culprit(d), where, point));
}

void refuse_expansion(const Eigen::VectorXd& move, double length, double remainder,
                      const std::vector<std::string>& names) {
  std::string text;
  for (Eigen::Index j = 0; j < move.size(); ++j)
    text += fmt::format("{}{:+.3g} in {}", j > 0 ? ", " : "", move[j], name_of(names, j));
  throw ModelError(
      fmt::format("the log-likelihood is not smooth at the mode: on a move of {} posterior standard "
                  "deviations ({}) it differs by {:.3g} from its own quadratic expansion, where less than "
                  "{:.3g} is expected; a term with a kink (abs, max, min, a branch on a parameter) cannot be "
                  "expanded: use `method full`",
                  length, text, remainder, 0.5 * length * length / 2));
}

}  // namespace detail
}  // namespace mlo
