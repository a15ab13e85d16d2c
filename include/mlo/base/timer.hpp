// Copyright (c) the mlo authors. BSD-3-Clause.
// Elapsed seconds, by a clock that is never set back.
#pragma once

#include <chrono>

namespace mlo {

class Timer {
 public:
  // Since the timer was made or last started again.
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - started_).count();
  }
  void restart() { started_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point started_ = Clock::now();
};

}  // namespace mlo
