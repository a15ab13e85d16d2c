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

// What the steps since the draw before have done, per step. Floats: beside the draws they take little room.
struct DrawStatistics {
  float acceptance = 0;  // the share of them that were accepted
  float rows_read = 0;   // their mean
  float noise_sd = 0;    // the mean over those with a finite density; 0 if there were none
  bool operator==(const DrawStatistics&) const = default;

  // Where every call of a kernel's step() is a draw. With one step per draw nothing is divided: a step of
  // `exact` takes no longer than a few divisions.
  [[nodiscard]] static DrawStatistics of(const StepInfo& info) noexcept {
    const auto real = [](std::uint64_t count) {
      return static_cast<float>(static_cast<std::int64_t>(count));
    };
    DrawStatistics out{.acceptance = info.accepted ? 1.0F : 0.0F,
                       .rows_read = real(info.rows_read),
                       .noise_sd = info.finite ? static_cast<float>(info.noise_sd) : 0.0F};
    if (info.steps == 1) return out;
    out.acceptance = real(info.accepted_steps) / real(info.steps);
    out.rows_read /= real(info.steps);
    const std::uint32_t finite = info.steps - info.not_finite_steps;
    if (finite > 1) out.noise_sd /= real(finite);
    return out;
  }
};

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

  // The counts as they were at the last draw.
  struct AtDraw {
    std::uint64_t steps = 0, accepted = 0, not_finite = 0, rows_read = 0;
    double noise_sd_sum = 0;
  } at_draw;

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

  // To be called at every draw, after at least one step. The same as DrawStatistics::of() where each step is
  // a draw.
  [[nodiscard]] DrawStatistics since_last_draw() noexcept {
    const auto since = [](std::uint64_t now, std::uint64_t then) {
      return static_cast<float>(static_cast<std::int64_t>(now - then));
    };
    const float made = since(steps, at_draw.steps), finite = made - since(not_finite, at_draw.not_finite);
    DrawStatistics out{.acceptance = since(accepted, at_draw.accepted),
                       .rows_read = since(rows_read, at_draw.rows_read),
                       .noise_sd = static_cast<float>(noise_sd_sum - at_draw.noise_sd_sum)};
    if (made > 1) {
      out.acceptance /= made;
      out.rows_read /= made;
    }
    if (finite > 1) out.noise_sd /= finite;
    at_draw = {steps, accepted, not_finite, rows_read, noise_sd_sum};
    return out;
  }

 private:
  void sample_rows(std::uint64_t rows);
};

struct ChainDraws {
  std::uint64_t iteration = 0;  // steps made, warm-up included
  std::size_t dim = 0;
  HugeVector<double> draws;  // draw after draw, each of dim parameters in the user's coordinates
  // Group effects, draw after draw, if they are kept: there are many, and seven digits are enough.
  HugeVector<float> effects;
  std::vector<double> log_posteriors;             // one per draw, up to a constant; NaN where nobody knows it
  std::vector<DrawStatistics> statistics;         // one per draw, or none where they are not known
  double warmup_seconds = 0, sample_seconds = 0;  // of this chain alone
  ChainAccount account;

  [[nodiscard]] std::size_t size() const noexcept { return log_posteriors.size(); }
  [[nodiscard]] std::vector<double> parameter(std::size_t j) const;
};

}  // namespace mlo
