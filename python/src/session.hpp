// Copyright (c) the mlo authors. BSD-3-Clause.
// Work that takes a while, seen from Python: it runs in a thread of its own without the GIL, while the thread
// that called looks for Ctrl-C and shows progress.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "mlo/fit/fit.hpp"
#include "python/src/gil.hpp"

namespace mlo::python {

class Session {
 public:
  // What there is to say about the progress, if anything: phase, share and the chains' state.
  [[nodiscard]] py::object progress() const;
  // For the work.
  [[nodiscard]] FitWatcher watcher();
  void say(const std::string& phase, double share);
  [[nodiscard]] const std::atomic<bool>& interrupted() const { return interrupt_; }

  // Calls work() in another thread and waits for it. `callback` is None, or is called with progress() ten
  // times a second. An interrupt from Python, or an exception from the callback, asks the work to stop; what
  // it then returns is the result, and an exception other than KeyboardInterrupt is raised after all.
  void run(const std::function<void()>& work, const py::object& callback);

 private:
  void look(const py::object& callback, std::exception_ptr& raised);

  std::atomic<bool> interrupt_{false};
  bool asked_ = false;  // to stop; the calling thread's

  mutable std::mutex mutex_;
  std::string phase_;  // guarded by mutex_, and so are the next
  double share_ = 0;
  const RunControl* control_ = nullptr;  // while chains run
  ChainOptions chain_;

  std::mutex end_mutex_;
  std::condition_variable end_;
  bool done_ = false;
};

// The result of work(session).
template <class Work>
auto run_session(Work work, const py::object& callback) {
  Session session;
  std::optional<decltype(work(session))> result;
  session.run([&] { result.emplace(work(session)); }, callback);
  return std::move(*result);
}

}  // namespace mlo::python
