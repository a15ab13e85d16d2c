// Copyright (c) the mlo authors. BSD-3-Clause.
// A fixed set of worker threads for loops over independent tasks.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace mlo {

class ThreadPool {
 public:
  // A pool of `threads` >= 1 including the caller: threads == 1 starts no thread at all.
  explicit ThreadPool(std::size_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] std::size_t size() const noexcept;

  // Calls body(task) for every task in 0..tasks-1, in any order, on the pool's threads and the caller's;
  // returns when all are done. If bodies throw, the exception of the lowest task number is rethrown after all
  // have ended. One run() at a time: it is not reentrant.
  template <class Body>
  void run(std::size_t tasks, Body&& body) {
    run_erased(
        tasks, [](void* b, std::size_t task) { (*static_cast<std::remove_reference_t<Body>*>(b))(task); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void*, std::size_t);
  void run_erased(std::size_t tasks, Call call, void* body);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sums f(first, count) over blocks of `block` rows. The blocks are fixed by n alone and added in block order,
// so the result is the same to the last bit for any number of threads.
template <class Sum, class F>
[[nodiscard]] Sum block_sum(ThreadPool& pool, std::size_t n, std::size_t block, const Sum& zero, F&& f) {
  const std::size_t blocks = (n + block - 1) / block;
  std::vector<std::optional<Sum>> partial(blocks);  // not copies of zero: it may be a large matrix
  pool.run(blocks, [&](std::size_t b) {
    const std::size_t first = b * block;
    partial[b].emplace(f(first, first + block <= n ? block : n - first));
  });
  Sum total = zero;
  for (const std::optional<Sum>& part : partial) total += *part;
  return total;
}

}  // namespace mlo
