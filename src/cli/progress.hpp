// Copyright (c) the mlo authors. BSD-3-Clause.
// Shows a fit's progress on stderr: one line that changes on a terminal, plain lines every 10 % elsewhere.
#pragma once

#include <optional>
#include <string>

#include "mlo/base/poller.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // The watcher refers to this object, which must outlive the fit.
  [[nodiscard]] FitWatcher watcher();

  // Shows `done` of `all` pieces of work, with the time that is left. To be called from one thread at a time.
  void show_work(const std::string& what, double done, double all);
  // Erases the line that changes, before something else is printed.
  void clear();

 private:
  void show_phase(const std::string& phase, double share);
  void watch_sampling(const RunControl& control, const ChainOptions& options);
  void stop_watching();
  void line(const std::string& text);

  bool quiet_;
  bool terminal_;
  bool line_open_ = false;
  Timer since_shown_;
  std::string last_phase_;
  int last_tenth_ = -1;
  Timer since_work_began_;
  double done_at_start_ = 0;
  std::optional<Poller> poller_;  // while chains run
};

}  // namespace mlo::cli
