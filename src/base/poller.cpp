// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/poller.hpp"

#include <utility>

namespace mlo {

Poller::Poller(std::chrono::milliseconds period, std::function<void()> poll)
    : thread_([this, period, poll = std::move(poll)] { run(period, poll); }) {}

Poller::~Poller() { join(); }

void Poller::stop() {
  join();
  if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Poller::run(std::chrono::milliseconds period, const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  while (!stopping_.wait_for(lock, period, [this] { return stop_; })) {
    lock.unlock();  // so that stop() can set stop_ while poll runs
    try {
      poll();
    } catch (...) {
      error_ = std::current_exception();
      return;
    }
    lock.lock();
  }
}

void Poller::join() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  stopping_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace mlo
