// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/chain/sample.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mlo/base/errors.hpp"
#include "mlo/model/autodiff.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

Glm<Logistic> logistic() {
  Design design = testing::design_of(
      testing::regression_table(9000, 0.2, {1.0, 0.5}, 4, testing::draw_logistic), "y ~ x1 + x2");
  return {std::move(design), {}, {std::vector<Prior>(3, Prior::normal(0, 3)), false, Prior::flat()}};
}

TEST(Sample, DifferenceAndFullAgree) {
  const auto model = logistic();
  SampleOptions options{.chain = {.seed = 3, .chains = 2, .warmup = 100, .draws = 2000}, .threads = 2};
  const Samples full = sample_full(model, options);
  options.chain.seed = 4;  // independent draws: the same seed would make nearly the same ones
  const Samples difference = sample_difference(model, options);
  for (std::size_t j = 0; j < 3; ++j) {
    const auto moments = [&](const Samples& samples) {
      double sum = 0, squares = 0, count = 0;
      for (const ChainRecord& chain : samples.chains)
        for (const double x : chain.parameter(j)) {
          sum += x;
          squares += x * x;
          ++count;
        }
      return std::pair(sum / count, std::sqrt(squares / count - sum * sum / count / count));
    };
    const auto [mean_a, sd_a] = moments(full);
    const auto [mean_b, sd_b] = moments(difference);
    // 4,000 draws each, of which more than 2,000 count (nearly independent proposals): errors of sd /
    // sqrt(2,000) and of sd / sqrt(4,000) for the sd; five of their differences'.
    EXPECT_LT(std::abs(mean_a - mean_b), 5 * std::hypot(sd_a, sd_b) / std::sqrt(2000.0)) << j;
    EXPECT_LT(std::abs(sd_a - sd_b), 5 * std::hypot(sd_a, sd_b) / std::sqrt(4000.0)) << j;
  }
  for (const ChainRecord& chain : difference.chains) {
    EXPECT_EQ(chain.size(), 2000U);
    EXPECT_LT(chain.account.noise_sd_sum / static_cast<double>(chain.account.steps), 0.1);
    EXPECT_LT(static_cast<double>(chain.account.rows_read) / static_cast<double>(chain.account.steps), 50);
  }
}

TEST(Sample, DifferenceGivesTheSameDrawsForAnyNumberOfThreads) {
  const auto model = logistic();
  SampleOptions options{.chain = {.seed = 3, .chains = 3, .warmup = 50, .draws = 100}, .threads = 1};
  const Samples one = sample_difference(model, options);
  options.threads = 3;
  const Samples three = sample_difference(model, options);
  for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(one.chains[c].draws, three.chains[c].draws);
}

// y ~ N(mu, 1), with a row that is no number for mu <= 0, where the search starts.
struct Logged {
  std::vector<std::string> names() const { return {"mu"}; }
  std::size_t rows() const { return 100; }
  double log_prior(Params) const { return 0; }
  template <class Scalar>
  Scalar term(std::span<const Scalar> theta, std::size_t i) const {
    using namespace ad;
    return i == 41 ? Scalar(log(theta[0])) : Scalar(-0.5 * square(theta[0] - 3.0));
  }
};

TEST(Sample, SaysWhichRowIsNoNumber) {
  const AutodiffModel<Logged> model(Logged{});
  try {
    static_cast<void>(sample_difference(model, {}));
    FAIL() << "not refused";
  } catch (const ModelError& e) {
    EXPECT_STREQ(e.what(), "row 42: the log density is -inf at the starting point, mu = 0");
  }
}

TEST(Sample, RefusesOptionsThatMakeNoSense) {
  const auto model = logistic();
  EXPECT_THROW(static_cast<void>(sample_difference(model, {}, {.noise_sd = 0})), UsageError);
  EXPECT_THROW(static_cast<void>(sample_difference(model, {}, {.pilot = 1})), UsageError);
  EXPECT_THROW(static_cast<void>(sample_difference(model, {}, {.uniform_share = 0})), UsageError);
}

}  // namespace
}  // namespace mlo
