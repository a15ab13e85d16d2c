// Copyright (c) the mlo authors. BSD-3-Clause.
// The options of a reproduction. A setting that the paper states is not an option: it is fixed in the code of
// its table.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mlo::experiments {

struct Settings {
  std::optional<std::int64_t> reps;  // B; empty: 100, 10 if quick
  std::uint64_t seed = 1;
  std::int64_t threads = 0;  // 0: as many as the machine has
  bool quick = false;        // fewer replications, shorter chains
  std::string out;           // empty: mlo-reproduce, mlo-reproduce-quick if quick
  std::string data;          // Covertype, for Table 5

  // What the paper does not state. The defaults are those that come closest to its numbers;
  // docs/reproduction.md shows what other values give.
  double proposal_scale_mean = 0.1;          // Table 1: sd of the random walk of mu
  std::string proposal_precision = "gamma";  // Tables 2, 3, Figure 1: or "random-walk"
  double proposal_scale_precision = 0.05;    // the step's sd as a share of tau; of random-walk its sd
  double proposal_scale_logistic = 1;        // Table 4, Figure 2: of each coefficient; N(theta, 1) is stated
  double proposal_scale_covertype = 2;       // Table 5: times the Laplace fit's covariance factor
  double delta = 0.05;                       // Table 4
  double delta_covertype = 0.1;              // Table 5: reads 14,000 rows per step on average, as stated
  std::string start = "mode";                // or "laplace"

  [[nodiscard]] std::size_t replications() const {
    return static_cast<std::size_t>(reps.value_or(quick ? 10 : 100));
  }
  [[nodiscard]] std::string directory() const {
    return !out.empty() ? out : quick ? "mlo-reproduce-quick" : "mlo-reproduce";
  }
};

// Throws UsageError, naming the option.
void check(const Settings& settings);

// How a front end follows the work. Every member may be empty; calls come from several threads, one at a
// time.
struct Watcher {
  std::function<void(const std::string& what, double done, double all)> progress;
  const std::atomic<bool>* interrupt = nullptr;
  [[nodiscard]] bool interrupted() const { return interrupt != nullptr && interrupt->load(); }
};

}  // namespace mlo::experiments
