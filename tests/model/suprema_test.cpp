// Copyright (c) the mlo authors. BSD-3-Clause.
// The suprema of many rows against those of one row at a time, on every instruction set this machine has:
// never below by more than their slack, or bounds would not be bounds, and hardly above.
#include <cmath>
#include <vector>

#include "mlo/model/curve.hpp"
#include "support/simd_targets.hpp"

namespace mlo {
namespace {

class SupremaOnTarget : public testing::OnTarget {};

// 0 and both signs from 1e-9 on, to `largest`, and points about the critical ones.
std::vector<double> grid(double largest, std::span<const double> critical) {
  std::vector<double> out{0};
  for (double size = 1e-9; size <= largest; size *= std::pow(10.0, 1.0 / 7)) {
    out.push_back(size);
    out.push_back(-size);
  }
  for (const double x : critical)
    for (const double step : {-1e-3, -1e-7, 0.0, 1e-7, 1e-3}) out.push_back(x + step);
  return out;
}

struct Grid {
  std::vector<double> centre, radius;
  explicit Grid(const std::vector<double>& centres) {
    for (const double e : centres)
      for (double size = 1e-12; size <= 1e7; size *= std::sqrt(10.0)) {
        centre.push_back(e);
        radius.push_back(size);
      }
    // No radius at all.
    for (const double e : centres) {
      centre.push_back(e);
      radius.push_back(0);
    }
  }
};

constexpr double tiny = 1e-290;  // below it numbers have fewer digits

// `looser`: the share by which a result may be above the supremum, besides the slack.
template <Curve C>
void expect_bounds(const C& curve, double largest, double unit, double looser = 0) {
  for (const int k : {3, 4}) {
    const Grid at(grid(largest, curve.critical(k)));
    std::vector<double> out(at.centre.size());
    suprema(curve, k, {at.centre, at.radius}, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double e = at.centre[i], radius = at.radius[i];
      const double sup = supremum(curve, k, e, radius);
      ASSERT_GE(out[i], sup * (1 - suprema_slack) - tiny)
          << "derivative " << k << " at " << e << " +- " << radius;
      const double wider = std::max(radius, suprema_reach * unit) + suprema_reach * unit;
      ASSERT_LE(out[i], supremum(curve, k, e, wider) * (1 + looser + suprema_slack) + tiny)
          << "derivative " << k << " at " << e << " +- " << radius;
    }
  }
}

TEST_P(SupremaOnTarget, OfSoftplusAreBounds) { expect_bounds(SoftplusCurve{}, 1e6, 1); }
TEST_P(SupremaOnTarget, OfStudentsLawAreBounds) {
  for (const double freedom : {0.1, 1.0, 4.0, 30.0, 1e4})
    expect_bounds(StudentCurve(freedom), 1e6, std::sqrt(freedom));
}
// e^x: also where it overflows, and where it is 0.
TEST_P(SupremaOnTarget, OfTheExponentialAreBounds) {
  const Grid at(grid(800, {}));
  std::vector<double> out(at.centre.size());
  suprema(ExpCurve{}, 3, {at.centre, at.radius}, out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double sup = std::exp(at.centre[i] + at.radius[i]);
    if (std::isinf(sup)) {
      EXPECT_EQ(out[i], sup);
    } else {
      EXPECT_NEAR(out[i], sup, 1e-14 * sup + tiny) << at.centre[i] << " +- " << at.radius[i];
    }
  }
}
// From a table, so the same on all of them: cells of 1/128 in which f''' and f'''' change by less than 10 %
// up to 8, where they are 1e-13. Beyond they are only bounds.
TEST(Suprema, OfLogPhiAreBounds) {
  for (const int k : {3, 4}) {
    const LogPhiCurve curve;
    const Grid at(grid(1e6, curve.critical(k)));
    std::vector<double> out(at.centre.size());
    suprema(curve, k, {at.centre, at.radius}, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double e = at.centre[i], radius = at.radius[i];
      ASSERT_GE(out[i], supremum(curve, k, e, radius) * (1 - suprema_slack) - tiny) << e << " +- " << radius;
      if (e - radius > 8) {
        ASSERT_LE(out[i], 1e-10) << e << " +- " << radius;
      } else {
        ASSERT_LE(out[i], 1.1 * supremum(curve, k, e, radius + 1.0 / 128)) << e << " +- " << radius;
      }
    }
  }
}

// A block of rows that is made later must have the bounds that were summed.
TEST_P(SupremaOnTarget, DoNotDependOnTheirPosition) {
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform(-6, 6);
  std::vector<double> e(61), radius(61);
  for (std::size_t i = 0; i < e.size(); ++i) {
    e[i] = uniform(generator);
    radius[i] = std::abs(uniform(generator));
  }
  const auto expect_same = [&](const auto& curve) {
    for (const int k : {3, 4}) {
      std::vector<double> all(e.size());
      suprema(curve, k, {e, radius}, all);
      for (std::size_t first = 0; first < e.size(); ++first)
        for (const std::size_t count : {1U, 2U, 3U, 5U, 8U}) {
          if (first + count > e.size()) continue;
          std::vector<double> some(count + 1, -7);
          suprema(curve, k, {std::span(e).subspan(first, count), std::span(radius).subspan(first, count)},
                  std::span(some).first(count));
          for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(some[i], all[first + i]);
          EXPECT_EQ(some[count], -7) << "written past the end";
        }
    }
  };
  expect_same(SoftplusCurve{});
  expect_same(StudentCurve(3));
  expect_same(ExpCurve{});
}

MLO_ON_EVERY_TARGET(SupremaOnTarget);

}  // namespace
}  // namespace mlo
