// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/thread_pool.hpp"

#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace mlo {
namespace {

// Passes over the data follow each other within microseconds, and going to sleep and being woken costs as
// much as a short pass. Spinning for about 50 us before sleeping bridges the gap, and an idle pool still
// sleeps.
constexpr int kLooks = 2000;

void pause_briefly() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

template <class Ready>
void look_for(Ready ready) noexcept {
  for (int look = 0; look < kLooks && !ready(); ++look) pause_briefly();
}

}  // namespace

// A run is a job that threads join. The caller opens it, works on it itself, closes it when no task is left
// to hand out, and waits for the workers that joined. A worker that wakes late finds the job closed and
// delays nobody.
struct ThreadPool::Impl {
  std::vector<std::thread> workers;

  std::mutex mutex;  // guards what follows; the atomics are also read without it while spinning
  std::condition_variable wake;
  std::condition_variable left;
  std::atomic<std::uint64_t> generation{0};  // the job's number
  std::atomic<std::size_t> joined{0};        // workers that are in the job
  bool open = false;
  bool stopping = false;

  // The job: written only while it is closed and nobody is in it.
  std::size_t tasks = 0;
  Call call = nullptr;
  void* body = nullptr;
  alignas(64) std::atomic<std::size_t> next{0};  // on a cache line of its own, because every task writes it

  std::mutex error_mutex;
  std::exception_ptr error;
  std::size_t error_task = 0;

  explicit Impl(std::size_t threads) {
    workers.reserve(threads - 1);
    try {
      for (std::size_t k = 1; k < threads; ++k) workers.emplace_back([this] { serve(); });
    } catch (...) {  // the system has no more threads: end those that started
      stop();
      throw;
    }
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
      announce();
    }
    for (std::thread& worker : workers) worker.join();
  }

  void work() noexcept {
    for (std::size_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) {
      try {
        call(body, task);
      } catch (...) {
        const std::lock_guard lock(error_mutex);
        if (!error || task < error_task) {
          error = std::current_exception();
          error_task = task;
        }
      }
    }
  }

  void serve() {
    std::uint64_t seen = 0;
    while (true) {
      look_for([&] { return generation.load(std::memory_order_relaxed) != seen; });
      std::unique_lock lock(mutex);
      wake.wait(lock, [&] { return generation.load(std::memory_order_relaxed) != seen; });
      seen = generation.load(std::memory_order_relaxed);
      if (stopping) return;
      if (!open) continue;
      joined.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      work();
      lock.lock();
      if (joined.fetch_sub(1, std::memory_order_relaxed) == 1) left.notify_one();
    }
  }

  void announce() {
    generation.fetch_add(1, std::memory_order_relaxed);
    wake.notify_all();
  }

  void run(std::size_t count, Call function, void* argument) {
    const bool shared = count > 1 && !workers.empty();
    {
      const std::lock_guard lock(mutex);
      assert(!open && "run() is not reentrant");
      tasks = count;
      call = function;
      body = argument;
      next.store(0, std::memory_order_relaxed);
      open = shared;
      if (shared) announce();
    }
    work();
    if (shared) {
      {
        const std::lock_guard lock(mutex);
        open = false;
      }
      const auto all_left = [&] { return joined.load(std::memory_order_relaxed) == 0; };
      look_for(all_left);
      std::unique_lock lock(mutex);
      left.wait(lock, all_left);
    }
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
  }
};

ThreadPool::ThreadPool(std::size_t threads) {
  assert(threads >= 1);
  impl_ = std::make_unique<Impl>(threads);
}

ThreadPool::~ThreadPool() = default;

std::size_t ThreadPool::size() const noexcept { return impl_->workers.size() + 1; }

void ThreadPool::run_erased(std::size_t tasks, Call call, void* body) { impl_->run(tasks, call, body); }

}  // namespace mlo
