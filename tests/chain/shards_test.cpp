// Copyright (c) the mlo authors. BSD-3-Clause.
// Kernels that carry more state than theta, run as chains: threads, interrupts, resumes and counts.
#include "mlo/kernel/shards.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "mlo/chain/run.hpp"
#include "mlo/kernel/block.hpp"
#include "mlo/kernel/consensus.hpp"
#include "mlo/kernel/weierstrass.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

class DividedChains : public ::testing::Test {
 protected:
  static constexpr std::size_t rows = 600;
  static constexpr ChainOptions options{.seed = 3, .chains = 2, .warmup = 250, .draws = 100, .thin = 2};

  DividedChains()
      : model_(testing::design_of(testing::regression_table(rows, 0.2, {1.0}, 4, testing::draw_logistic),
                                  "y ~ x1"),
               make_family("logistic"), {{Prior::normal(0, 3), Prior::normal(0, 3)}, false, Prior::flat()}),
        mode_(find_mode(model_, pool_)),
        shards_(model_, 3, mode_, pool_) {}

  template <class MakeKernel>
  std::vector<ChainRecord> run(const MakeKernel& make_kernel, std::size_t threads,
                               std::vector<ChainRecord> records = {}, std::uint64_t stop_after = 0) {
    RunControl control(options.chains);
    CheckpointOptions checkpoint;
    if (stop_after > 0) {
      checkpoint.every = std::chrono::milliseconds(0);
      checkpoint.save = [&control, stop_after](std::size_t, const ChainRecord& record) {
        if (record.iteration >= stop_after) control.stop = true;
      };
    }
    run_chains(model_, threads, options, records, control, checkpoint, make_kernel,
               [&](std::size_t) { return mode_.theta; });
    return records;
  }

  template <class MakeKernel>
  void expect_an_ordinary_chain(const MakeKernel& make_kernel, std::uint64_t rows_a_step) {
    const auto whole = run(make_kernel, 1);
    const auto threaded = run(make_kernel, 4);             // two for each chain
    for (const std::uint64_t stop_after : {100U, 300U}) {  // in the warm-up, and after it
      const auto interrupted = run(make_kernel, 1, {}, stop_after);
      ASSERT_LT(interrupted[0].iteration, options.steps());
      const auto resumed = run(make_kernel, 2, interrupted);
      for (std::size_t c = 0; c < options.chains; ++c) {
        EXPECT_EQ(whole[c].draws, resumed[c].draws);
        EXPECT_EQ(whole[c].account.rows_read, resumed[c].account.rows_read);
        EXPECT_EQ(whole[c].kernel, resumed[c].kernel);
      }
    }
    for (std::size_t c = 0; c < options.chains; ++c) {
      const ChainRecord& record = whole[c];
      EXPECT_EQ(record.draws, threaded[c].draws);
      EXPECT_EQ(record.size(), options.draws);
      for (const double value : record.log_posteriors) EXPECT_TRUE(std::isnan(value));
      EXPECT_EQ(record.account.rows_read, rows_a_step * record.account.steps);
      EXPECT_GT(record.account.accepted, record.account.steps * 8 / 10);
    }
    EXPECT_NE(whole[0].draws, whole[1].draws);
  }

  ThreadPool pool_{1};
  Glm model_;
  Mode mode_;
  Shards<Glm> shards_;
};

TEST_F(DividedChains, ConsensusIsAnOrdinaryChain) {
  expect_an_ordinary_chain([&](ThreadPool& pool) { return ConsensusKernel(shards_, {.warmup = 250}, pool); },
                           rows);
}

TEST_F(DividedChains, ConsensusWithLearntWeightsIsAnOrdinaryChain) {
  expect_an_ordinary_chain(
      [&](ThreadPool& pool) {
        return ConsensusKernel(shards_, {.weights = ShardWeights::draws, .warmup = 250}, pool);
      },
      rows);
}

TEST_F(DividedChains, WeierstrassIsAnOrdinaryChain) {
  expect_an_ordinary_chain([&](ThreadPool& pool) { return WeierstrassKernel(shards_, {}, pool); }, rows);
}

TEST_F(DividedChains, BlockIsAnOrdinaryChain) {
  const LaplaceProposal proposal(Laplace(mode_.theta, mode_.information), {});
  expect_an_ordinary_chain(
      [&](ThreadPool&) { return BlockKernel(model_, mode_.evaluated_at, mode_.likelihood, proposal, {}); },
      100);
}

}  // namespace
}  // namespace mlo
