// Copyright (c) the mlo authors. BSD-3-Clause.
// What a step of a chain reports about itself.
#pragma once

#include <algorithm>
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

  // Several steps may count as one: then this is of all of them, the log ratio of the last.
  std::uint32_t steps = 1, accepted_steps = 0, not_finite_steps = 0, audited_steps = 0;
  void add(const StepInfo& one) noexcept {
    accepted = accepted || one.accepted;
    finite = one.finite;
    rows_read += one.rows_read;
    log_ratio = one.log_ratio;
    noise_sd = one.noise_sd;
    bound_violations += one.bound_violations;
    audited = audited || one.audited;
    audit_error = std::max(audit_error, one.audit_error);
    accepted_steps += one.accepted ? 1 : 0;
    not_finite_steps += one.finite ? 0 : 1;
    audited_steps += one.audited ? 1 : 0;
  }
};

}  // namespace mlo
