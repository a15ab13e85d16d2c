// Copyright (c) the mlo authors. BSD-3-Clause.
// The law of group effects: normal with mean 0 and a covariance that is estimated. In working coordinates the
// covariance is a vector without limits: the logs of the standard deviations, then, if the effects are
// correlated, the inverse hyperbolic tangents of the canonical partial correlations (Lewandowski, Kurowicka,
// Joe 2009). In the user's: standard deviations and correlations.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mlo/model/prior.hpp"

namespace mlo {

class GroupCovariance {
 public:
  // One prior per standard deviation, of which the part above 0 holds; `lkj` is the shape of the
  // correlations' law: 1 is uniform over correlation matrices.
  GroupCovariance(std::vector<Prior> priors, bool correlated, double lkj);

  // The number of effects per level.
  [[nodiscard]] std::size_t dim() const noexcept { return priors_.size(); }
  [[nodiscard]] bool correlated() const noexcept { return correlated_ && dim() > 1; }
  // The number of parameters: standard deviations first.
  [[nodiscard]] std::size_t size() const noexcept {
    return dim() + (correlated() ? dim() * (dim() - 1) / 2 : 0);
  }
  [[nodiscard]] const std::vector<Prior>& priors() const noexcept { return priors_; }
  [[nodiscard]] double lkj() const noexcept { return lkj_; }
  void set_prior(std::size_t effect, const Prior& prior) { priors_[effect] = prior; }

  // The lower triangle L of the covariance L L'.
  [[nodiscard]] Eigen::MatrixXd factor(std::span<const double> working) const;
  [[nodiscard]] Eigen::MatrixXd precision(std::span<const double> working) const;
  // The inverse of factor(): the coordinates of a covariance. Without correlations only its diagonal is read.
  void from_covariance(const Eigen::MatrixXd& covariance, std::span<double> working) const;
  // Standard deviations, then correlations (2,1), (3,1), (3,2), ...
  void to_user(std::span<const double> working, std::span<double> out) const;
  void to_working(std::span<const double> user, std::span<double> out) const;

  // In working coordinates, so with the Jacobian; up to a constant.
  [[nodiscard]] double log_prior(std::span<const double> working) const noexcept;
  // log |d(working) / d(covariance)|, up to a constant: what turns a density of working coordinates into one
  // of covariance matrices.
  [[nodiscard]] double log_volume(std::span<const double> working) const noexcept;

 private:
  std::vector<Prior> priors_;
  bool correlated_;
  double lkj_;
};

}  // namespace mlo
