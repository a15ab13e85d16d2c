// Copyright (c) the mlo authors. BSD-3-Clause.
// A thread that regularly looks at something: progress to show, a limit that may have been reached.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace mlo {

class Poller {
 public:
  // Calls `poll` on a thread of its own, first after one period and then one period after each call has
  // returned. If poll throws, it is not called again.
  Poller(std::chrono::milliseconds period, std::function<void()> poll);
  // Like stop(), but an exception from poll is lost.
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Waits for a call that is under way, but not for the end of a period; poll is not called afterwards.
  // Rethrows what poll threw, once. Not to be called from poll itself.
  void stop();

 private:
  void run(std::chrono::milliseconds period, const std::function<void()>& poll);
  void join() noexcept;

  std::mutex mutex_;
  std::condition_variable stopping_;  // notified when stop_ becomes true
  bool stop_ = false;                 // guarded by mutex_
  std::exception_ptr error_;          // what poll threw; the thread's until it is joined
  std::thread thread_;                // the last member: it uses the others from its start
};

}  // namespace mlo
