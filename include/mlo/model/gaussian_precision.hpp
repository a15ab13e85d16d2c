// Copyright (c) the mlo authors. BSD-3-Clause.
// y_i ~ N(mean, 1/tau) with the mean known: the paper's example for a precision. Working coordinate: tau
// itself, as in the paper, whose random walk moves tau; a step to tau <= 0 has prior density 0 and is
// rejected.
#pragma once

#include <string>
#include <vector>

#include "mlo/data/design.hpp"
#include "mlo/model/family.hpp"
#include "mlo/model/layout.hpp"
#include "mlo/model/model.hpp"

namespace mlo {

class GaussianPrecision {
 public:
  // Throws DataError if every row equals the known mean.
  GaussianPrecision(const Design& design, double mean, Prior prior);
  GaussianPrecision(const Design& design, double mean, Layout layout);
  [[nodiscard]] static Layout layout_of(Prior prior);

  [[nodiscard]] std::size_t dim() const noexcept { return 1; }
  [[nodiscard]] std::size_t rows() const noexcept { return half_squares_.size(); }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool proper_prior() const noexcept { return layout_.proper_prior(); }
  [[nodiscard]] bool all_positive() const noexcept { return layout_.all_positive(); }

  [[nodiscard]] double log_prior(Params theta) const noexcept { return layout_.log_prior(theta); }
  void log_likelihoods(Params theta, Rows rows, std::span<double> terms) const noexcept;
  [[nodiscard]] double log_likelihood(Params theta, Rows rows) const noexcept;
  void log_likelihood_remainders(Params centre, Params from, Params to, std::span<const RowId> ids,
                                 std::span<double> remainders) const noexcept;
  void gradients(Params theta, Rows rows, Eigen::MatrixXd& out) const;
  void add_derivatives(Params theta, Rows rows, Derivatives& d) const;
  void add_prior_derivatives(Params theta, Derivatives& d) const { layout_.add_prior_derivatives(theta, d); }
  [[nodiscard]] Eigen::VectorXd start() const;
  [[nodiscard]] SummedLikelihood summed(const Mode& mode) const;

  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return layout_.names(); }
  void to_user(Params theta, std::span<double> out) const noexcept { layout_.to_user(theta, out); }
  void to_working(Params user, std::span<double> out) const { layout_.to_working(user, out); }
  [[nodiscard]] Eigen::MatrixXd user_jacobian(Params theta) const { return layout_.user_jacobian(theta); }

 private:
  std::vector<double> half_squares_;  // (y_i - mean)^2 / 2
  Layout layout_;
};

}  // namespace mlo
