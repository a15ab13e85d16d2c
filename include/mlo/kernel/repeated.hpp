// Copyright (c) the mlo authors. BSD-3-Clause.
// Several steps of a kernel as one, so that a draw differs from the one before: as many as the acceptance in
// warm-up asks for and their cost allows. The cost is counted in rows read, not by a clock: the same options
// give the same draws on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mlo/kernel/kernel.hpp"

namespace mlo {

struct RepeatOptions {
  std::uint64_t fixed = 0;  // steps per draw; 0: chosen after warm-up
  bool independent = true;  // an accepted step forgets the one before; otherwise steps are walks
  std::size_t draws = 1000;
  // What a step costs, roughly.
  double step_nanoseconds = 100, row_nanoseconds = 45;
};

// How many steps it takes until nine draws in ten have moved; three times as many where steps are often
// refused, because then half of them are walks. All within 0.15 s per chain.
[[nodiscard]] inline std::uint64_t steps_per_draw(const RepeatOptions& options, double acceptance,
                                                  double rows_per_step) noexcept {
  constexpr double budget = 1.5e8;  // nanoseconds
  constexpr double most = 50, for_walks = 10, often_accepted = 0.9;
  const double kept = std::clamp(1 - acceptance, 1e-6, 1.0);
  double wanted = for_walks;
  if (options.independent) {
    wanted = kept < 1 ? std::ceil(std::log(0.1) / std::log(kept) - 1e-9) : most;
    if (acceptance < often_accepted) wanted *= 3;
  }
  const double step = options.step_nanoseconds + options.row_nanoseconds * rows_per_step;
  const double affordable = budget / (step * static_cast<double>(std::max<std::size_t>(options.draws, 1)));
  return static_cast<std::uint64_t>(std::clamp(std::min(wanted, affordable), 1.0, most));
}

template <Kernel K>
class Repeated {
 public:
  Repeated(K kernel, const RepeatOptions& options)
      : kernel_(std::move(kernel)), options_(options), repeats_(std::max<std::uint64_t>(options.fixed, 1)) {}

  [[nodiscard]] Promise promise() const noexcept { return kernel_.promise(); }

  StepInfo step(ChainState& state, const StepId& id) {
    if (repeats_ == 1) {
      const StepInfo info = kernel_.step(state, id);
      if (!frozen_) {
        seen_ = forget * seen_ + 1;
        accepted_ = forget * accepted_ + (info.accepted ? 1 : 0);
        rows_ = forget * rows_ + static_cast<double>(info.rows_read);
      }
      return info;
    }
    StepInfo all;
    all.steps = static_cast<std::uint32_t>(repeats_);
    for (std::uint64_t k = 0; k < repeats_; ++k) {
      // Numbers that no other step has: warm-up's are below id.iteration.
      const StepInfo info =
          kernel_.step(state, {.seed = id.seed, .chain = id.chain, .iteration = id.iteration * repeats_ + k});
      all.add(info);
    }
    return all;
  }

  void freeze() {
    kernel_.freeze();
    if (!frozen_ && options_.fixed == 0 && seen_ > 0)
      repeats_ = steps_per_draw(options_, accepted_ / seen_, rows_ / seen_);
    frozen_ = true;
  }
  void save(std::vector<double>& out) const {
    out.insert(out.end(), {static_cast<double>(repeats_), frozen_ ? 1.0 : 0.0, seen_, accepted_, rows_});
    kernel_.save(out);
  }
  void load(std::span<const double> in) {
    repeats_ = static_cast<std::uint64_t>(in[0]);
    frozen_ = in[1] != 0;
    seen_ = in[2];
    accepted_ = in[3];
    rows_ = in[4];
    kernel_.load(in.subspan(5));
  }
  [[nodiscard]] std::uint64_t repeats() const noexcept { return repeats_; }

 private:
  static constexpr double forget = 0.997;  // what warm-up began with counts less
  K kernel_;
  RepeatOptions options_;
  std::uint64_t repeats_;
  bool frozen_ = false;
  double seen_ = 0, accepted_ = 0, rows_ = 0;
};

}  // namespace mlo
