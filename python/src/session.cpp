// Copyright (c) the mlo authors. BSD-3-Clause.
#include "python/src/session.hpp"

#include "python/src/errors.hpp"

namespace mlo::python {

using namespace py::literals;

py::object Session::progress() const {
  std::string phase;
  double share = 0, done = 0, accepted = 0, all = 0;
  bool sampling = false, warm = false;
  {
    const std::lock_guard lock(mutex_);
    phase = phase_;
    share = share_;
    if (control_ != nullptr) {
      sampling = true;
      all = static_cast<double>(chain_.steps() * chain_.chains);
      for (const RunControl::Chain& chain : control_->chains) {
        const auto steps = chain.steps.load(std::memory_order_relaxed);
        done += static_cast<double>(steps);
        accepted += static_cast<double>(chain.accepted.load(std::memory_order_relaxed));
        warm = warm || steps < chain_.warmup;
      }
    }
  }
  if (phase.empty() && !sampling) return py::none();
  if (sampling) {
    phase = warm ? "warm-up" : "sampling";
    share = all > 0 ? done / all : 1;
  }
  return py::dict("phase"_a = phase, "share"_a = share, "steps"_a = done, "of"_a = all,
                  "acceptance"_a = done > 0 ? accepted / done : 0.0);
}

void Session::say(const std::string& phase, double share) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
  share_ = share;
}

FitWatcher Session::watcher() {
  FitWatcher watcher;
  watcher.wording = [](std::string_view message) { return in_python(message); };
  watcher.interrupt = &interrupt_;
  watcher.phase = [this](const std::string& phase, double share) { say(phase, share); };
  watcher.sampling = [this](const RunControl& control, const ChainOptions& options) {
    const std::lock_guard lock(mutex_);
    control_ = &control;
    chain_ = options;
  };
  watcher.sampled = [this] {
    const std::lock_guard lock(mutex_);
    control_ = nullptr;
    phase_ = "summarising";
    share_ = 0;
  };
  return watcher;
}

void Session::look(const py::object& callback, std::exception_ptr& raised) {
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (callback.is_none() || asked_) return;
    const py::object now = progress();
    if (!now.is_none()) callback(now);
  } catch (py::error_already_set& error) {
    asked_ = true;
    interrupt_ = true;
    // Of Ctrl-C the work itself says whether there is anything to keep.
    if (!error.matches(PyExc_KeyboardInterrupt) && !raised) raised = std::current_exception();
  }
}

void Session::run(const std::function<void()>& work, const py::object& callback) {
  std::exception_ptr failure, raised;
  {
    const py::gil_scoped_release release;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(end_mutex_);
      done_ = true;
      end_.notify_one();
    });
    std::unique_lock lock(end_mutex_);
    while (!end_.wait_for(lock, std::chrono::milliseconds(100), [&] { return done_; })) {
      lock.unlock();
      {
        const py::gil_scoped_acquire gil;
        look(callback, raised);
      }
      lock.lock();
    }
    lock.unlock();
    worker.join();
  }
  if (raised) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mlo::python
