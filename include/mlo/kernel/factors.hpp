// Copyright (c) the mlo authors. BSD-3-Clause.
// exact for generalised linear models whose factors have many levels: sweeps of LevelKernel over the levels,
// instead of one move of all coefficients, whose bounds would ask for most rows.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mlo/kernel/levels.hpp"
#include "mlo/model/factor_glm.hpp"

namespace mlo {

// Law: the posterior of model->glm(). state.theta is a point of that model.
class FactorKernel {
 public:
  // The reference is of model->grouped(); the pool must outlive the kernel.
  FactorKernel(std::shared_ptr<const FactorGlm> model, std::shared_ptr<const LevelReference> reference,
               LevelOptions options, ThreadPool& pool);

  [[nodiscard]] Promise promise() const noexcept { return levels_.promise(); }
  StepInfo step(ChainState& state, const StepId& id);
  void freeze() { levels_.freeze(); }
  void save(std::vector<double>& out) const { levels_.save(out); }
  void load(std::span<const double> in) { levels_.load(in); }

  [[nodiscard]] const LevelKernel::Acceptance& of_levels() const noexcept { return levels_.of_levels(); }

 private:
  std::shared_ptr<const FactorGlm> model_;
  LevelKernel levels_;
  GroupedPoint point_;
  ChainState state_;
  std::vector<double> means_;
};

static_assert(Kernel<FactorKernel>);

}  // namespace mlo
