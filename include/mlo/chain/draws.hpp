// Copyright (c) the mlo authors. BSD-3-Clause.
// A chain's draws and its counts: what remains when the chain has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mlo/base/huge_vector.hpp"
#include "mlo/kernel/step.hpp"

namespace mlo {

// What the method did, over the steps after warm-up.
struct ChainAccount {
  std::uint64_t counted = 0;  // calls of count()
  std::uint64_t steps = 0;
  std::uint64_t accepted = 0;
  std::uint64_t not_finite = 0;
  std::uint64_t rows_read = 0;
  double noise_sd_sum = 0;
  std::uint64_t bound_violations = 0;  // warm-up's too
  std::uint64_t audited = 0;
  double audit_error = 0;  // the largest

  // Rows read of every `stride`-th step, for the median; halved whenever it is full.
  std::vector<std::uint64_t> rows_sample;
  std::uint64_t rows_stride = 1;  // a power of 2

  void count(const StepInfo& info) {
    if ((counted & (rows_stride - 1)) == 0) sample_rows(info.rows_read / info.steps);
    ++counted;
    steps += info.steps;
    const bool one = info.steps == 1;
    accepted += one ? (info.accepted ? 1 : 0) : info.accepted_steps;
    not_finite += one ? (info.finite ? 0 : 1) : info.not_finite_steps;
    rows_read += info.rows_read;
    if (info.finite) noise_sd_sum += info.noise_sd;
    bound_violations += info.bound_violations;
    if (info.audited) {
      audited += one ? 1 : info.audited_steps;
      audit_error = std::max(audit_error, info.audit_error);
    }
  }

 private:
  void sample_rows(std::uint64_t rows);
};

struct ChainDraws {
  std::uint64_t iteration = 0;  // steps made, warm-up included
  std::size_t dim = 0;
  HugeVector<double> draws;            // draw after draw, each of dim parameters in the user's coordinates
  std::vector<double> log_posteriors;  // one per draw, NaN where the kernel does not know it
  ChainAccount account;

  [[nodiscard]] std::size_t size() const noexcept { return log_posteriors.size(); }
  [[nodiscard]] std::vector<double> parameter(std::size_t j) const;
};

}  // namespace mlo
