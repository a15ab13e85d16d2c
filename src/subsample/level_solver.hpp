// Copyright (c) the mlo authors. BSD-3-Clause.
// Linear systems in the effects of all levels: information of the likelihood plus the precisions of the
// effects. Conjugate gradients with the levels' own blocks as preconditioner, which solves one grouping at
// once.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "mlo/subsample/level_reference.hpp"

namespace mlo {

class LevelSolver {
 public:
  using Effects = std::vector<std::vector<double>>;  // by grouping, as GroupedPoint::effects

  // The reference's sums by level must be there.
  LevelSolver(const GroupedModel& model, const LevelReference& reference, ThreadPool& pool);

  // H^-1 right, with a relative error of about `tolerance` in the norm of the preconditioner.
  [[nodiscard]] Effects solve(const Effects& right, double tolerance) const;
  // H v of the effects.
  [[nodiscard]] Effects product(const Effects& v) const;
  // By the levels' own blocks alone.
  [[nodiscard]] Effects precondition(const Effects& r) const;

 private:
  const GroupedModel* model_;
  const LevelReference* reference_;
  ThreadPool* pool_;
  double precision_;
  std::vector<Eigen::MatrixXd> omega_;        // by grouping
  std::vector<std::vector<double>> inverse_;  // of the levels' blocks
};

}  // namespace mlo
