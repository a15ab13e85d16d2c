// Copyright (c) the mlo authors. BSD-3-Clause.
// Simulation-based calibration (Talts et al. 2018) of the kernel of group effects: parameters from the prior,
// data from the parameters, draws from the posterior; the true value's rank among the draws is uniform. 1,000
// replications per family: 100 to 2,000 rows, 5 to 100 levels, one grouping, two, and slopes in turn.
// Chi-square on 16 bins with 15 degrees of freedom, critical value 44.3 (one in 10,000), for an effect, a
// coefficient, an sd, the second parameter and, over the replications that have one, a correlation: 35 tests.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "mlo/kernel/levels.hpp"
#include "support/grouped.hpp"

namespace mlo {
namespace {

constexpr std::size_t draws = 63, thin = 6, warmup = 400, bins = 16;
constexpr double critical = 44.3;

std::size_t replications() {
  const char* const given = std::getenv("MLO_REPLICATIONS");
  return given == nullptr ? 1000 : static_cast<std::size_t>(std::atoi(given));
}

struct Ranks {
  std::array<double, bins> counts{};
  double total = 0;
  void add(std::size_t rank) {
    ++counts[rank * bins / (draws + 1)];
    ++total;
  }
  [[nodiscard]] double chi_square() const {
    double sum = 0;
    for (const double c : counts) sum += (c - total / bins) * (c - total / bins) * bins / total;
    return sum;
  }
};

// A positive draw of student_t(3, 0, scale).
double half_student(Stream& s, double scale) {
  return scale * std::abs(normal(s)) / std::sqrt(2 * gamma(s, 1.5) / 3);
}

enum class Rows { drawn, as_odds };

void expect_calibrated(const std::string& family, Rows rows = Rows::drawn) {
  const testing::GroupedPriors priors{.scale = 0.7, .sd_scale = 0.4, .lkj = 1.5};
  Ranks effect, coefficient, sd, correlation, second;
  double violations = 0;
  for (std::size_t replication = 0; replication < replications(); ++replication) {
    Stream s({.seed = 79, .chain = 0, .purpose = Purpose::simulate, .iteration = replication});
    // One grouping, two, slopes. As odds there are no slopes.
    const std::size_t kind = replication % (rows == Rows::as_odds ? 2 : 3);
    testing::GroupedData d;
    d.family = family;
    d.columns = 2;
    d.rows = 100 + bounded(s, 1901);
    d.groups.push_back(
        {.levels = 5 + bounded(s, std::min<std::size_t>(96, d.rows / 4)), .slopes = kind == 2});
    if (kind == 1) d.groups.push_back({.levels = 5 + bounded(s, std::min<std::size_t>(46, d.rows / 4))});
    const std::array<double, 2> a{0.7 * normal(s), 0.7 * normal(s)};
    const double sigma = gamma(s, 3) / 2;
    // lkj(1.5) in two dimensions: (rho + 1) / 2 ~ beta(1.5, 1.5).
    const double g = gamma(s, 1.5), h = gamma(s, 1.5), rho = 2 * g / (g + h) - 1;
    std::vector<std::vector<double>> sds, b;
    for (const testing::PlainGroup& group : d.groups) {
      sds.emplace_back();
      for (std::size_t j = 0; j < group.dim(); ++j) sds.back().push_back(half_student(s, priors.sd_scale));
      b.emplace_back();
      for (std::size_t l = 0; l < group.levels; ++l) {
        const double z = normal(s);
        b.back().push_back(sds.back()[0] * z);
        if (kind == 2) b.back().push_back(sds.back()[1] * (rho * z + std::sqrt(1 - rho * rho) * normal(s)));
      }
    }
    for (std::size_t i = 0; i < d.rows; ++i) {
      const double x = testing::as_float(normal(s));
      d.x.insert(d.x.end(), {1.0, x});
      double eta = a[0] + a[1] * x;
      for (std::size_t k = 0; k < d.groups.size(); ++k) {
        testing::PlainGroup& group = d.groups[k];
        // Which rows a level has does not depend on its effects: every level has one.
        group.codes.push_back(static_cast<std::uint32_t>(i < group.levels ? i : bounded(s, group.levels)));
        if (kind == 2) group.z.push_back(x);
        for (std::size_t e = 0; e < group.dim(); ++e)
          eta += group.multiplier(i, e) * b[k][group.codes[i] * group.dim() + e];
      }
      d.y.push_back(testing::draw_response(family, s, std::min(eta, 15.0), sigma));
    }
    const auto model = testing::model_of(d, priors);
    ThreadPool pool(1);
    double passes = 0;
    const GroupedPoint at = find_reference(*model, pool, passes);
    LevelOptions options{.most_boost = 1};
    options.odds = rows == Rows::as_odds;
    // Two groupings have no bounds where sigma or a size is estimated.
    options.all_rows = options.odds || ((family == "student" || family == "negative-binomial") && kind == 1);
    const LevelReference::Options parts{.bounds = !options.all_rows, .odds = options.odds};
    LevelKernel kernel(std::make_shared<const LevelReference>(*model, at, pool, parts), options, pool);
    ChainState state;
    state.theta.resize(static_cast<Eigen::Index>(model->dim()));
    model->pack(at, {state.theta.data(), model->dim()});
    std::vector<double> user(model->dim());
    const std::size_t q = 2 + (model->family().estimates_second() ? 1U : 0U), which = replication / 3 % 2;
    const std::size_t last = model->dim() - 1;  // the last level's last effect
    const std::size_t watched_sd = kind == 0 ? 0 : which;
    const double true_sd = kind == 1 ? sds[which][0] : sds[0][watched_sd];
    std::array<std::size_t, 5> below{};
    for (std::size_t k = 0; k < warmup + draws * thin; ++k) {
      if (k == warmup) kernel.freeze();
      violations += static_cast<double>(
          kernel.step(state, {.seed = 8, .chain = replication, .iteration = k}).bound_violations);
      if (k < warmup || (k - warmup) % thin != thin - 1) continue;
      model->to_user({state.theta.data(), model->dim()}, user);
      below[0] += user[last] < b.back().back() ? 1 : 0;
      below[1] += user[which] < a[which] ? 1 : 0;
      below[2] += user[q + watched_sd] < true_sd ? 1 : 0;
      if (kind == 2) below[3] += user[q + 2] < rho ? 1 : 0;
      if (q == 3) below[4] += user[2] < sigma ? 1 : 0;
    }
    effect.add(below[0]);
    coefficient.add(below[1]);
    sd.add(below[2]);
    if (kind == 2) correlation.add(below[3]);
    if (q == 3) second.add(below[4]);
  }
  EXPECT_EQ(violations, 0);
  const auto expect = [&](const Ranks& ranks, const char* what) {
    if (ranks.total == 0) return;
    EXPECT_LT(ranks.chi_square(), critical) << family << ": " << what;
    std::cout << family << (rows == Rows::as_odds ? " as odds, " : ", ") << what << ": chi-square "
              << ranks.chi_square() << " with 15 degrees of freedom, " << ranks.total << " replications\n";
  };
  expect(effect, "an effect");
  expect(coefficient, "a coefficient");
  expect(sd, "an sd");
  expect(correlation, "a correlation");
  expect(second, "the second parameter");
}

TEST(LevelCalibration, Logistic) { expect_calibrated("logistic"); }
TEST(LevelCalibration, LogisticAsOdds) { expect_calibrated("logistic", Rows::as_odds); }
TEST(LevelCalibration, Probit) { expect_calibrated("probit"); }
TEST(LevelCalibration, Poisson) { expect_calibrated("poisson"); }
TEST(LevelCalibration, NegativeBinomial) { expect_calibrated("negative-binomial"); }
TEST(LevelCalibration, Gamma) { expect_calibrated("gamma"); }
TEST(LevelCalibration, Student) { expect_calibrated("student"); }
TEST(LevelCalibration, Gaussian) { expect_calibrated("gaussian"); }

}  // namespace
}  // namespace mlo
