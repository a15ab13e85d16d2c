// Copyright (c) the mlo authors. BSD-3-Clause.
// How a front end watches a run and stops it.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "mlo/chain/control.hpp"

namespace mlo {

// Every member may be empty.
struct SampleWatcher {
  std::function<void(const std::string& phase, double share)> phase;     // "reading flights.csv", 0..1
  std::function<void(const RunControl&, const ChainOptions&)> sampling;  // before the first step
  std::function<void()> sampled;                                         // after the last
  const std::atomic<bool>* interrupt = nullptr;  // set: end early, keep what was drawn

  [[nodiscard]] bool interrupted() const noexcept { return interrupt != nullptr && interrupt->load(); }
};

}  // namespace mlo
