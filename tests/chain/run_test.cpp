// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/chain/run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/kernel/decision.hpp"
#include "mlo/kernel/full.hpp"
#include "mlo/kernel/repeated.hpp"
#include "mlo/kernel/subsampled.hpp"
#include "mlo/model/glm.hpp"
#include "support/designs.hpp"

namespace mlo {
namespace {

class Chains : public ::testing::Test {
 protected:
  Chains() : model_(make()), mode_(find_mode(model_, pool_)) {}

  static Glm make() {
    Design design = testing::design_of(
        testing::regression_table(9000, 0.2, {1.0, 0.5}, 4, testing::draw_logistic), "y ~ x1 + x2");
    return {std::move(design), make_family("logistic"),
            GlmPriors{std::vector<Prior>(3, Prior::normal(0, 3))}};
  }

  // A run of `full` with an adaptive proposal, the kernel with the most state.
  std::vector<ChainRecord> run(ChainOptions options, std::size_t threads,
                               std::vector<ChainRecord> records = {}, std::uint64_t stop_after = 0) {
    RunControl control(options.chains);
    CheckpointOptions checkpoint;
    if (stop_after > 0) {
      checkpoint.every = std::chrono::milliseconds(0);
      checkpoint.save = [&, stop_after](std::size_t, const ChainRecord& record) {
        if (record.iteration >= stop_after) control.stop = true;
      };
    }
    const AdaptiveProposal proposal(0.02 * Eigen::Matrix3d::Identity(), 1.37);
    run_chains(
        model_, threads, options, records, control, checkpoint,
        [&](ThreadPool& pool) { return FullKernel(model_, proposal, pool); },
        [&](std::size_t) { return mode_.theta; });
    return records;
  }

  ThreadPool pool_{1};
  Glm model_;
  Mode mode_;
};

constexpr ChainOptions small{.seed = 3, .chains = 3, .warmup = 200, .draws = 150, .thin = 2};

TEST_F(Chains, GiveTheSameDrawsForAnyNumberOfThreads) {
  const auto one = run(small, 1);
  for (const std::size_t threads : {2U, 3U, 7U}) {
    const auto many = run(small, threads);
    for (std::size_t c = 0; c < small.chains; ++c) EXPECT_EQ(one[c].draws, many[c].draws);
  }
}

TEST_F(Chains, OneChainIsTheFirstOfSeveral) {
  ChainOptions alone = small;
  alone.chains = 1;
  EXPECT_EQ(run(alone, 2)[0].draws, run(small, 2)[0].draws);
}

TEST_F(Chains, KeepTheAskedForDrawsAndCountOnlyStepsAfterWarmUp) {
  const auto records = run(small, 1);
  for (const ChainRecord& record : records) {
    EXPECT_EQ(record.size(), 150U);
    EXPECT_EQ(record.draws.size(), 450U);
    EXPECT_EQ(record.iteration, 500U);
    EXPECT_EQ(record.account.steps, 300U);
    EXPECT_EQ(record.account.rows_read, 300U * 9000U);
    EXPECT_GT(record.account.accepted, 0U);
    EXPECT_LT(record.account.accepted, 300U);
  }
  EXPECT_NE(records[0].draws, records[1].draws);
}

TEST_F(Chains, ContinueToTheSameDrawsFromACheckpointFileWhereverTheyStopped) {
  const auto whole = run(small, 1);
  const auto folder =
      std::filesystem::temp_directory_path() / ("mlo-chain-test-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  for (const std::uint64_t stop : {64U, 256U, 448U}) {  // in warm-up, and twice after it
    auto part = run(small, 1, {}, stop);
    EXPECT_LT(part[0].iteration, small.steps());
    std::vector<ChainRecord> loaded;
    for (std::size_t c = 0; c < part.size(); ++c) {
      const std::string file = (folder / std::to_string(c)).string();
      write_checkpoint(file, part[c], 77);
      loaded.push_back(read_checkpoint(file, 77));
    }
    const auto rest = run(small, 2, loaded);
    for (std::size_t c = 0; c < small.chains; ++c) {
      EXPECT_EQ(rest[c].draws, whole[c].draws);
      EXPECT_EQ(rest[c].log_posteriors, whole[c].log_posteriors);
      EXPECT_EQ(rest[c].statistics, whole[c].statistics);
      EXPECT_EQ(rest[c].account.accepted, whole[c].account.accepted);
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_F(Chains, AnErrorInOneChainStopsTheOthersAndIsReported) {
  RunControl control(2);
  std::vector<ChainRecord> records;
  CheckpointOptions checkpoint;
  checkpoint.every = std::chrono::milliseconds(0);
  checkpoint.save = [](std::size_t chain, const ChainRecord&) {
    if (chain == 1) throw DataError("full.disk", "cannot be written: No space left on device");
  };
  const RandomWalkProposal proposal(0.02 * Eigen::Matrix3d::Identity());
  EXPECT_THROW(run_chains(
                   model_, 2, {.seed = 1, .chains = 2, .warmup = 0, .draws = 1'000'000}, records, control,
                   checkpoint, [&](ThreadPool& pool) { return FullKernel(model_, proposal, pool); },
                   [&](std::size_t) { return mode_.theta; }),
               DataError);
  EXPECT_LT(records[0].size(), 1'000'000U);
}

// A kernel that does not move, and promises what it is told to promise.
struct Idle {
  Promise says;
  [[nodiscard]] Promise promise() const { return says; }
  StepInfo step(ChainState& /*state*/, const StepId& /*id*/) { return {}; }
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}
};

TEST_F(Chains, ReturnWhatTheirKernelPromises) {
  for (const Promise promise : {Promise::exact, Promise::bounded_error, Promise::approximate})
    for (const std::size_t threads : {1U, 3U}) {
      RunControl control(2);
      std::vector<ChainRecord> records;
      const auto run = [&] {
        return run_chains(
            model_, threads, {.seed = 1, .chains = 2, .warmup = 0, .draws = 5}, records, control, {},
            [&](ThreadPool&) { return Idle{promise}; }, [&](std::size_t) { return mode_.theta; });
      };
      EXPECT_EQ(run(), promise);
      ASSERT_EQ(records[1].size(), 5U);
      EXPECT_EQ(run(), promise);  // continued, with nothing left to do
      EXPECT_EQ(records[1].size(), 5U);
    }
}

// A kernel whose steps `bad_from` to `bad_to` - 1 have two violated bounds each.
struct Violating {
  std::uint64_t bad_from, bad_to;
  [[nodiscard]] static Promise promise() { return Promise::exact; }
  StepInfo step(ChainState& /*state*/, const StepId& id) const {
    StepInfo info;
    if (id.iteration >= bad_from && id.iteration < bad_to) info.bound_violations = 2;
    return info;
  }
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}
};

// What the kernel learnt in warm-up may rest on a step that a wrong bound has decided.
TEST_F(Chains, CountViolationsOfWarmUpToo) {
  const auto violations = [&](Violating kernel) {
    RunControl control(1);
    std::vector<ChainRecord> records;
    run_chains(
        model_, 1, {.seed = 1, .chains = 1, .warmup = 20, .draws = 30}, records, control, {},
        [&](ThreadPool&) { return kernel; }, [&](std::size_t) { return mode_.theta; });
    EXPECT_EQ(records[0].account.steps, 30U);
    return records[0].account.bound_violations;
  };
  EXPECT_EQ(violations({0, 0}), 0U);
  EXPECT_EQ(violations({5, 8}), 6U);    // in warm-up only
  EXPECT_EQ(violations({19, 20}), 2U);  // its last step
  EXPECT_EQ(violations({18, 22}), 8U);
  EXPECT_EQ(violations({40, 50}), 20U);
}

// Accepts every third step, has no finite density in every fifth, and audits every second one.
struct Eventful {
  [[nodiscard]] static Promise promise() { return Promise::exact; }
  StepInfo step(ChainState& /*state*/, const StepId& id) const {
    const std::uint64_t k = id.iteration;
    return {.accepted = k % 3 == 0,
            .finite = k % 5 != 0,
            .rows_read = k,
            .audited = k % 2 == 0,
            .audit_error = k % 2 == 0 ? static_cast<double>(k) : 0};
  }
  void freeze() {}
  void save(std::vector<double>& /*out*/) const {}
  void load(std::span<const double> /*in*/) {}
};

TEST_F(Chains, CountTheStepsOfARepeatedKernelOneByOne) {
  for (const std::uint64_t repeats : {1U, 4U}) {
    RunControl control(1);
    std::vector<ChainRecord> records;
    constexpr std::uint64_t warmup = 10, draws = 90;
    run_chains(
        model_, 1, {.seed = 1, .chains = 1, .warmup = warmup, .draws = draws}, records, control, {},
        [&](ThreadPool&) { return Repeated(Eventful{}, {.fixed = repeats}); },
        [&](std::size_t) { return mode_.theta; });
    ChainAccount expected;
    for (std::uint64_t k = warmup * repeats; k < (warmup + draws) * repeats; ++k) {
      expected.accepted += k % 3 == 0 ? 1 : 0;
      expected.not_finite += k % 5 == 0 ? 1 : 0;
      expected.rows_read += k;
      if (k % 2 == 0) {
        ++expected.audited;
        expected.audit_error = static_cast<double>(k);
      }
    }
    const ChainAccount& found = records[0].account;
    EXPECT_EQ(records[0].size(), draws);
    EXPECT_EQ(found.counted, draws);
    EXPECT_EQ(found.steps, draws * repeats);
    EXPECT_EQ(found.accepted, expected.accepted);
    EXPECT_EQ(found.not_finite, expected.not_finite);
    EXPECT_EQ(found.rows_read, expected.rows_read);
    EXPECT_EQ(found.audited, expected.audited);
    EXPECT_EQ(found.audit_error, expected.audit_error);
    // Rows per step, not per draw: those of a draw's steps are k, k + 1, ...
    ASSERT_EQ(found.rows_sample.size(), draws);
    EXPECT_EQ(found.rows_sample[0], (warmup * repeats + (warmup + 1) * repeats - 1) / 2);
  }
}

TEST_F(Chains, KeepWhatTheStepsOfEachDrawDid) {
  for (const std::uint64_t thin : {1U, 7U})
    for (const std::uint64_t repeats : {1U, 4U}) {
      RunControl control(1);
      std::vector<ChainRecord> records;
      constexpr std::uint64_t warmup = 10, draws = 30;
      run_chains(
          model_, 1, {.seed = 1, .chains = 1, .warmup = warmup, .draws = draws, .thin = thin}, records,
          control, {}, [&](ThreadPool&) { return Repeated(Eventful{}, {.fixed = repeats}); },
          [&](std::size_t) { return mode_.theta; });
      const std::vector<DrawStatistics>& found = records[0].statistics;
      ASSERT_EQ(found.size(), draws);
      const std::uint64_t steps = thin * repeats;
      for (std::uint64_t draw = 0; draw < draws; ++draw) {
        double accepted = 0, rows = 0;
        for (std::uint64_t k = warmup * repeats + draw * steps; k < warmup * repeats + (draw + 1) * steps;
             ++k) {
          accepted += k % 3 == 0 ? 1 : 0;
          rows += static_cast<double>(k);
        }
        EXPECT_FLOAT_EQ(found[draw].acceptance, static_cast<float>(accepted / static_cast<double>(steps)));
        EXPECT_FLOAT_EQ(found[draw].rows_read, static_cast<float>(rows / static_cast<double>(steps)));
        EXPECT_EQ(found[draw].noise_sd, 0);
      }
    }
}

TEST(ChainAccount, TheNoiseOfADrawIsThatOfItsStepsWithAFiniteDensity) {
  ChainAccount account;
  const auto count = [&](double noise_sd, bool finite) {
    StepInfo info;
    info.noise_sd = noise_sd;
    info.finite = finite;
    account.count(info);
  };
  count(1, true);
  count(2, true);
  count(99, false);
  EXPECT_EQ(account.since_last_draw().noise_sd, 1.5F);
  count(4, true);
  EXPECT_EQ(account.since_last_draw().noise_sd, 4);
  count(99, false);
  EXPECT_EQ(account.since_last_draw().noise_sd, 0);
}

TEST(ChainAccount, TheStatisticsOfOneCallAreThoseOfItsCounts) {
  for (const std::uint32_t steps : {1U, 2U, 5U})
    for (std::uint32_t accepted = 0; accepted <= steps; ++accepted)
      for (std::uint32_t bad = 0; bad <= steps; ++bad) {
        StepInfo info;
        info.steps = steps;
        info.accepted = accepted > 0;
        info.accepted_steps = accepted;
        info.finite = bad == 0;
        info.not_finite_steps = bad;
        info.rows_read = 7 * steps + accepted;
        info.noise_sd = 0.75;
        ChainAccount account;
        account.count(info);
        EXPECT_EQ(DrawStatistics::of(info), account.since_last_draw());
      }
}

TEST_F(Chains, CountTheSecondsOfWarmUpAndOfTheDraws) {
  for (const ChainRecord& record : run(small, 1)) {
    EXPECT_GT(record.warmup_seconds, 0);
    EXPECT_GT(record.sample_seconds, 0);
  }
  ChainOptions cold = small;
  cold.warmup = 0;
  for (const ChainRecord& record : run(cold, 1)) EXPECT_LT(record.warmup_seconds, record.sample_seconds);
}

// The draws that outlive a chain are part of its record.
static_assert(std::derived_from<ChainRecord, ChainDraws>);

TEST_F(Chains, HaveDrawsParameterByParameter) {
  const ChainRecord record = run(small, 1)[0];
  for (std::size_t j = 0; j < record.dim; ++j) {
    const std::vector<double> parameter = record.parameter(j);
    ASSERT_EQ(parameter.size(), record.size());
    for (std::size_t k = 0; k < parameter.size(); ++k)
      EXPECT_EQ(parameter[k], record.draws[k * record.dim + j]);
  }
}

// Chains that would never end: all are stopped as soon as the last one has draws, and then all have some.
TEST_F(Chains, TakeTurnsWhereThereAreMoreOfThemThanThreads) {
  RunControl control(3);
  std::vector<ChainRecord> records;
  CheckpointOptions checkpoint;
  checkpoint.every = std::chrono::milliseconds(0);
  checkpoint.save = [&](std::size_t chain, const ChainRecord& record) {
    if (chain == 2 && record.size() > 0) control.stop = true;
  };
  const RandomWalkProposal proposal(0.02 * Eigen::Matrix3d::Identity());
  run_chains(
      model_, 1, {.seed = 1, .chains = 3, .warmup = 10, .draws = 1'000'000'000}, records, control, checkpoint,
      [&](ThreadPool& pool) { return FullKernel(model_, proposal, pool); },
      [&](std::size_t) { return mode_.theta; });
  for (const ChainRecord& record : records) EXPECT_GT(record.size(), 0U);
}

TEST(Checkpoint, RefusesDamageAndOtherRuns) {
  const auto file =
      (std::filesystem::temp_directory_path() / ("mlo-checkpoint-test-" + std::to_string(::getpid())))
          .string();
  ChainRecord record;
  record.iteration = 5;
  record.state.theta = Eigen::Vector2d(1, 2);
  record.dim = 2;
  record.draws = {1, 2, 3, 4};
  record.log_posteriors = {0.5, 0.25};
  record.statistics.resize(2);
  write_checkpoint(file, record, 9);
  EXPECT_EQ(read_checkpoint(file, 9).draws, record.draws);
  EXPECT_THROW(static_cast<void>(read_checkpoint(file, 8)), DataError);
  const std::string bytes = read_file(file);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    write_file(file, flipped);
    EXPECT_THROW(static_cast<void>(read_checkpoint(file, 9)), DataError) << at;
    write_file(file, bytes.substr(0, at));
    EXPECT_THROW(static_cast<void>(read_checkpoint(file, 9)), DataError) << at;
  }
  std::filesystem::remove(file);
}

// With the right hash, as an accident never makes it.
TEST(Checkpoint, RefusesARecordWhosePartsDoNotFit) {
  const auto file =
      (std::filesystem::temp_directory_path() / ("mlo-checkpoint-parts-" + std::to_string(::getpid())))
          .string();
  ChainRecord good;
  good.state.theta = Eigen::Vector2d(1, 2);
  good.dim = 2;
  good.draws = {1, 2, 3, 4};
  good.log_posteriors = {0.5, 0.25};
  good.statistics.resize(2);
  const auto refused = [&](const ChainRecord& record) {
    write_checkpoint(file, record, 9);
    try {
      static_cast<void>(read_checkpoint(file, 9));
    } catch (const DataError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused(good));
  ChainRecord bad = good;
  bad.dim = 3;
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.draws.pop_back();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.log_posteriors.clear();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.statistics.pop_back();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.account.rows_stride = 0;
  EXPECT_TRUE(refused(bad));
  std::filesystem::remove(file);
}

TEST(ChainAccount, KeepsTheMedianOfManyStepsInLittleRoom) {
  ChainAccount account;
  for (std::uint64_t k = 0; k < 1'000'000; ++k) {
    StepInfo info;
    info.rows_read = k % 1000;
    account.count(info);
  }
  EXPECT_LE(account.rows_sample.size(), 1U << 14U);
  std::vector<std::uint64_t> sorted = account.rows_sample;
  std::sort(sorted.begin(), sorted.end());
  // A thinned sample of a cycle of length 1000: the stride, a power of two, visits it evenly up to the
  // greatest common divisor of the two.
  EXPECT_NEAR(static_cast<double>(sorted[sorted.size() / 2]), 500, 10);
}

}  // namespace
}  // namespace mlo
