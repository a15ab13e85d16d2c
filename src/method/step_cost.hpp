// Copyright (c) the mlo authors. BSD-3-Clause.
// What a step costs, roughly: `auto` chooses by it, and so does the number of steps per draw. Not by a clock,
// or the same options would not give the same draws.
#pragma once

#include <cstddef>
#include <optional>

#include "mlo/kernel/line_slices.hpp"
#include "mlo/kernel/repeated.hpp"
#include "mlo/method/plan.hpp"

namespace mlo {

struct StepCost {
  std::size_t dim;
  double rows;    // read per step
  bool all_rows;  // in order, or at random
  [[nodiscard]] double row_nanoseconds() const noexcept {
    // Measured on the benchmarks: a row in a pass, a row read at random.
    return all_rows ? 3 + 0.6 * static_cast<double>(dim) : 45;
  }
  // A step's own work is 60 ns and 20 per parameter.
  [[nodiscard]] double nanoseconds() const noexcept {
    return (all_rows ? 0 : 60 + 20 * static_cast<double>(dim)) + row_nanoseconds() * rows;
  }
};

// Steps per draw: stated, or chosen after warm-up. `cost`: of a step, without its rows and its slices.
[[nodiscard]] inline RepeatOptions repeats(const Plan& plan, const StepCost& cost, bool independent,
                                           const std::optional<LineSlices>& slices = {}) {
  return {.fixed = plan.choose_steps ? 0U : 1U,
          .independent = independent,
          .draws = plan.chain.draws,
          .step_nanoseconds = 100 + cost.nanoseconds() + (slices ? slices->nanoseconds() : 0),
          .row_nanoseconds = cost.row_nanoseconds()};
}

}  // namespace mlo
