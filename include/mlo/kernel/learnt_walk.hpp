// Copyright (c) the mlo authors. BSD-3-Clause.
// A proposal for a few parameters that warm-up learns: mostly draws from a normal law with the mean and the
// covariance seen so far, a little wider; sometimes walks.
#pragma once

#include <Eigen/Dense>
#include <cstddef>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"

namespace mlo {

class LearntWalk {
 public:
  LearntWalk() = default;
  // `sd`: a guess of the parameters' spread.
  LearntWalk(std::size_t dim, double sd);

  // Writes a proposal; returns log q(from | to) - log q(to | from).
  double propose(Stream& stream, std::span<const double> from, std::span<double> to) const;
  // The value of one sweep of warm-up.
  void learn(std::span<const double> value);
  void freeze();
  [[nodiscard]] double sd(std::size_t j) const noexcept;

  void save(std::vector<double>& out) const;
  // Returns how many numbers it has read.
  std::size_t load(std::span<const double> in);

 private:
  void settle();
  std::size_t dim_ = 0;
  double count_ = 0;
  bool learnt_ = false;  // whether there is a law to draw from
  Eigen::VectorXd mean_;
  Eigen::MatrixXd squares_;  // sums of products of deviations
  Eigen::VectorXd centre_;   // of the law in use
  Eigen::MatrixXd factor_;   // and the triangle of its covariance
};

}  // namespace mlo
