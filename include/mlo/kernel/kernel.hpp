// Copyright (c) the mlo authors. BSD-3-Clause.
// All that the code that runs chains knows about a method: a kernel makes one step.
#pragma once

#include <Eigen/Dense>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mlo/base/random.hpp"
#include "mlo/kernel/step.hpp"

namespace mlo {

struct ChainState {
  Eigen::VectorXd theta;  // working coordinates
  // The log-likelihood of all rows at theta, for kernels that know it; otherwise NaN.
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();
  // The log posterior at theta by the Taylor polynomial of the log-likelihood about the mode, up to a
  // constant, for kernels that have one; otherwise NaN. Nothing depends on it.
  double polynomial = std::numeric_limits<double>::quiet_NaN();
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

// Law: a step depends on the state, the step's id and what save() saves, and on nothing else.
// freeze() ends adaptation: from then on the kernel is a fixed Markov kernel.
// promise() says what the law of the draws is: a kernel cannot leave it open.
template <class K>
concept Kernel = requires(K& kernel, const K& fixed, ChainState& state, const StepId& id,
                          std::vector<double>& out, std::span<const double> in) {
  { fixed.promise() } -> std::same_as<Promise>;
  { kernel.step(state, id) } -> std::same_as<StepInfo>;
  { kernel.freeze() } -> std::same_as<void>;
  { fixed.save(out) } -> std::same_as<void>;
  { kernel.load(in) } -> std::same_as<void>;
};

}  // namespace mlo
