// Copyright (c) the mlo authors. BSD-3-Clause.
// How long chains run, and how they are watched and stopped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mlo {

struct ChainOptions {
  std::uint64_t seed = 0;
  std::size_t chains = 4;
  std::size_t warmup = 1000;
  std::size_t draws = 1000;  // kept, of each chain
  std::size_t thin = 1;      // steps per kept draw
  // What progress calls a step.
  const char* step_name = "step";
  [[nodiscard]] std::uint64_t steps() const noexcept { return warmup + draws * thin; }
};

// Shared between the run and whoever watches it; every member may be read and set from any thread.
struct RunControl {
  std::atomic<bool> stop{false};  // set: the chains end after their current step and keep what they have
  const std::atomic<bool>* interrupt =
      nullptr;                // the same, owned by the front end (a signal handler sets it)
  struct alignas(64) Chain {  // a cache line each: they are written every step, by different threads
    std::atomic<std::uint64_t> steps{0}, accepted{0};
  };
  std::vector<Chain> chains;
  explicit RunControl(std::size_t n, const std::atomic<bool>* interrupted = nullptr)
      : interrupt(interrupted), chains(n) {}
  [[nodiscard]] bool stopped() const noexcept {
    return stop.load(std::memory_order_relaxed) ||
           (interrupt != nullptr && interrupt->load(std::memory_order_relaxed));
  }
};

}  // namespace mlo
