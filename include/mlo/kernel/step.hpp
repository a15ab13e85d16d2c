// Copyright (c) the mlo authors. BSD-3-Clause.
// What a step of a chain reports about itself.
#pragma once

#include <cstdint>

namespace mlo {

// What a method says about the law of its draws.
enum class Promise { exact, bounded_error, approximate };

struct StepInfo {
  bool accepted = false;
  bool finite = true;  // false: the proposal had no finite density; rejected and counted
  std::uint64_t rows_read = 0;
  double log_ratio = 0;  // (an estimate of) the log acceptance ratio
  // Standard deviation of that estimate; 0 when all rows were read, or the test is exact.
  double noise_sd = 0;
  // Rows whose bound did not hold; a method is exact only if there are none.
  std::uint64_t bound_violations = 0;
  bool audited = false;    // the step's ingredients were compared with all rows
  double audit_error = 0;  // and differed by this much, in the log ratio
};

}  // namespace mlo
