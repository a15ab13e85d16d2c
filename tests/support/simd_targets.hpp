// Copyright (c) the mlo authors. BSD-3-Clause.
// Tests that run on every instruction set this machine has: TEST_P(Name, ...) with `class Name : public
// OnTarget {}` and MLO_ON_EVERY_TARGET(Name).
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace mlo::testing {

class OnTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { choose(GetParam()); }
  void TearDown() override { choose(0); }  // 0: what the machine has

 private:
  static void choose(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

#define MLO_ON_EVERY_TARGET(Suite)                                                               \
  INSTANTIATE_TEST_SUITE_P(All, Suite, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), \
                           [](const auto& target) { return hwy::TargetName(target.param); })

// Numbers of either sign with sizes from 0.1 to 2: sums cancel, products do not underflow.
template <class T>
std::vector<T> signed_numbers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<T> size(T(0.1), T(2));
  std::vector<T> out(count);
  for (T& v : out) v = (generator() & 1U) != 0 ? size(generator) : -size(generator);
  return out;
}

// A sum in long double, and that of the absolute values, in which its rounding errors are measured.
struct ReferenceSum {
  long double value = 0, size = 0;
  void add(long double term) {
    value += term;
    size += term < 0 ? -term : term;
  }
};

// |got - value| <= roundings x unit x size: each term of the sum goes through at most `roundings` roundings.
// unit: half the spacing at 1, 2^-53 for doubles, 2^-24 for floats.
inline ::testing::AssertionResult within_roundings(double got, const ReferenceSum& sum, std::size_t roundings,
                                                   long double unit) {
  const long double error = got < sum.value ? sum.value - got : got - sum.value;
  const long double bound = static_cast<long double>(roundings) * unit * sum.size;
  if (error <= bound) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << got << " instead of " << static_cast<double>(sum.value) << ": off by "
         << static_cast<double>(error) << ", more than " << static_cast<double>(bound);
}

}  // namespace mlo::testing
