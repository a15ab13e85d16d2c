// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/poller.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "mlo/base/timer.hpp"

namespace mlo {
namespace {

using namespace std::chrono_literals;

// Longer than any machine should take, shorter than the tests' time limit: reached only by a failure.
constexpr auto long_time = 60s;

TEST(Poller, CallsAgainAndAgain) {
  std::counting_semaphore<> calls(0);
  const Poller poller(1ms, [&] { calls.release(); });
  for (int k = 0; k < 3; ++k) ASSERT_TRUE(calls.try_acquire_for(long_time));
}

TEST(Poller, EndsWithoutWaitingForItsPeriod) {
  const Timer timer;
  bool called = false;
  {
    const Poller poller(24h, [&] { called = true; });
  }
  EXPECT_FALSE(called);
  EXPECT_LT(timer.seconds(), 3600);
}

TEST(Poller, DoesNotCallAfterItsEnd) {
  std::atomic<int> calls = 0;
  Poller poller(1ms, [&] { ++calls; });
  while (calls == 0) std::this_thread::yield();
  poller.stop();
  const int at_end = calls;
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(calls, at_end);
  poller.stop();  // again: nothing to do
}

TEST(Poller, WaitsForTheCallThatIsUnderWay) {
  std::binary_semaphore began(0);
  std::atomic<bool> finished = false;
  {
    const Poller poller(1ms, [&] {
      if (finished) return;
      began.release();
      std::this_thread::sleep_for(20ms);
      finished = true;
    });
    ASSERT_TRUE(began.try_acquire_for(long_time));
  }
  EXPECT_TRUE(finished);
}

TEST(Poller, AnExceptionEndsThePollingAndIsRethrownOnce) {
  std::atomic<int> calls = 0;
  const auto poll = [&] {
    ++calls;
    throw std::runtime_error("full");
  };
  Poller poller(1ms, poll);
  while (calls == 0) std::this_thread::yield();
  EXPECT_THROW(poller.stop(), std::runtime_error);
  EXPECT_NO_THROW(poller.stop());
  EXPECT_EQ(calls, 1);
  { const Poller dropped(1ms, poll); }  // its destructor does not throw
}

TEST(Timer, NeverRunsBackAndStartsAgainAtZero) {
  Timer timer;
  const double first = timer.seconds();
  EXPECT_GE(first, 0);
  std::this_thread::sleep_for(2ms);
  const double second = timer.seconds();
  EXPECT_GT(second, first);
  timer.restart();
  EXPECT_GE(timer.seconds(), 0);
}

}  // namespace
}  // namespace mlo
