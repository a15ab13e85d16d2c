// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using mlo::ThreadPool;

class ThreadPoolOfSize : public testing::TestWithParam<std::size_t> {};

TEST_P(ThreadPoolOfSize, RunsEveryTaskOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (const std::size_t tasks : {0, 1, 2, 3, 10, 1000}) {
    std::vector<int> runs(tasks);  // not atomic: running a task twice would be a race that TSan reports
    pool.run(tasks, [&](std::size_t task) { ++runs[task]; });
    EXPECT_EQ(runs, std::vector<int>(tasks, 1));
  }
}

TEST_P(ThreadPoolOfSize, SurvivesManySmallRuns) {
  ThreadPool pool(GetParam());
  std::vector<std::size_t> sums(4);
  for (std::size_t run = 0; run < 20'000; ++run) {
    pool.run(sums.size(), [&](std::size_t task) { sums[task] += run; });
  }
  EXPECT_EQ(sums, std::vector<std::size_t>(4, 20'000 * 19'999 / 2));
}

TEST_P(ThreadPoolOfSize, RunsAgainAfterItsThreadsWentToSleep) {
  ThreadPool pool(GetParam());
  for (int run = 0; run < 5; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<int> runs(50);
    pool.run(runs.size(), [&](std::size_t task) { ++runs[task]; });
    EXPECT_EQ(runs, std::vector<int>(50, 1));
  }
}

TEST_P(ThreadPoolOfSize, RethrowsTheExceptionOfTheLowestTaskAfterAllEnded) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 100; ++repeat) {
    std::atomic<int> ended{0};
    try {
      pool.run(40, [&](std::size_t task) {
        ended.fetch_add(1);
        if (task % 10 == 7) throw std::runtime_error(std::to_string(task));
      });
      FAIL() << "no exception came through";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "7");
    }
    EXPECT_EQ(ended.load(), 40);
  }
  // The pool still works.
  std::atomic<int> ended{0};
  pool.run(40, [&](std::size_t) { ended.fetch_add(1); });
  EXPECT_EQ(ended.load(), 40);
}

TEST_P(ThreadPoolOfSize, SumsBlocksToTheSameBits) {
  std::vector<double> x(10'007);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i)) * std::exp2(i % 40);
  const auto block = [&](std::size_t first, std::size_t count) {
    return std::accumulate(x.begin() + static_cast<std::ptrdiff_t>(first),
                           x.begin() + static_cast<std::ptrdiff_t>(first + count), 0.0);
  };
  double by_hand = 0;
  for (std::size_t first = 0; first < x.size(); first += 100) {
    by_hand += block(first, std::min<std::size_t>(100, x.size() - first));
  }
  ThreadPool pool(GetParam());
  EXPECT_EQ(mlo::block_sum(pool, x.size(), 100, 0.0, block), by_hand);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPoolOfSize, testing::Values(1, 2, 3, 7),
                         testing::PrintToStringParamName());

TEST(ThreadPool, UsesItsThreadsAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> arrived{0};
  pool.run(3, [&](std::size_t) {  // ends only if three tasks run at the same time
    arrived.fetch_add(1);
    while (arrived.load() < 3) std::this_thread::yield();
  });
  EXPECT_EQ(arrived.load(), 3);
}

TEST(ThreadPool, OfOneRunsOnTheCallersThreadInOrder) {
  ThreadPool pool(1);
  std::vector<std::size_t> order;
  pool.run(5, [&](std::size_t task) { order.push_back(task); });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadPool, StartsAndEndsWithoutWork) {
  for (int k = 0; k < 100; ++k) const ThreadPool pool(4);
}

TEST(BlockSum, OfNothingIsTheZeroItWasGiven) {
  ThreadPool pool(2);
  EXPECT_EQ(mlo::block_sum(pool, 0, 10, 5.0, [](std::size_t, std::size_t) { return 1.0; }), 5.0);
}

TEST(BlockSum, CoversEveryRowOnceForAnyLengthAndBlock) {
  ThreadPool pool(2);
  for (std::size_t n = 1; n < 50; ++n) {
    for (std::size_t size = 1; size < 60; ++size) {
      std::vector<int> seen(n);
      const std::size_t rows =
          mlo::block_sum(pool, n, size, std::size_t{0}, [&](std::size_t first, std::size_t count) {
            for (std::size_t i = first; i < first + count; ++i) ++seen[i];
            return count;
          });
      ASSERT_EQ(rows, n);
      ASSERT_EQ(seen, std::vector<int>(n, 1));
    }
  }
}

}  // namespace
