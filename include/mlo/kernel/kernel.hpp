// Copyright (c) the mlo authors. BSD-3-Clause.
// What the runner of chains knows of a method: a kernel makes one step.
#pragma once

#include <Eigen/Dense>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"

namespace mlo {

// What a method says about the law of its draws.
enum class Promise { exact, bounded_error, approximate };

struct ChainState {
  Eigen::VectorXd theta;  // working coordinates
  // The log-likelihood of all rows at theta, for kernels that know it; else NaN.
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();
};

// Names a step: all its random numbers are functions of this.
struct StepId {
  std::uint64_t seed = 0;
  std::uint64_t chain = 0;
  std::uint64_t iteration = 0;
  [[nodiscard]] Stream stream(Purpose purpose) const noexcept {
    return Stream({.seed = seed, .chain = chain, .purpose = purpose, .iteration = iteration});
  }
};

struct StepInfo {
  bool accepted = false;
  bool finite = true;  // false: the proposal had no finite density; rejected and counted
  std::uint64_t rows_read = 0;
  double log_ratio = 0;  // (an estimate of) the log acceptance ratio
  double noise_sd =
      0;  // standard deviation of that estimate; 0 when all rows were read, or the test is exact
  std::uint64_t bound_violations =
      0;                   // rows whose bound did not hold; a method is exact only if there are none
  bool audited = false;    // the step's ingredients were compared with all rows
  double audit_error = 0;  // and differed by this much, in the log ratio
};

// Law: a step depends on the state, the step's id and what save() saves, and on nothing else.
// freeze() ends adaptation: from then on the kernel is a fixed Markov kernel.
template <class K>
concept Kernel = requires(K& kernel, const K& fixed, ChainState& state, const StepId& id,
                          std::vector<double>& out, std::span<const double> in) {
  { kernel.step(state, id) } -> std::same_as<StepInfo>;
  { kernel.freeze() } -> std::same_as<void>;
  { fixed.save(out) } -> std::same_as<void>;
  { kernel.load(in) } -> std::same_as<void>;
};

}  // namespace mlo
