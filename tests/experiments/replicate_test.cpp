// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/replicate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "experiments/command_line.hpp"
#include "experiments/fits.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::experiments {
namespace {

namespace fs = std::filesystem;

class Replicate : public testing::Test {
 protected:
  void SetUp() override {
    settings_.reps = 6;
    settings_.threads = 1;
    const FitOptions base =
        base_fit("gaussian-mean", "y ~ 1", "normal(0, 3)", {.all = 300, .burn_in = 100, .thin = 1});
    experiment_ = {"small",
                   {.family = "gaussian-mean", .rows = 50, .coefficients = {1}},
                   {"mu"},
                   {1},
                   {{"exact", exact_fit(base)}, {"mlo", walk_fit(base, "mlo", 5, 0.3, settings_)}}};
    folder_ = fs::temp_directory_path() /
              (std::string("mlo-replicate-") + testing::UnitTest::GetInstance()->current_test_info()->name() +
               "-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in(const std::string& name) {
    settings_.out = folder_ / name;
    return settings_.out + "/small.csv";
  }
  // The file of a run that was not interrupted.
  std::string undisturbed() {
    const std::string file = in("undisturbed");
    static_cast<void>(replicate(experiment_, settings_, {}));
    return read_file(file);
  }

  Settings settings_;
  Experiment experiment_;
  fs::path folder_;
};

TEST_F(Replicate, IsTheSameForAnyNumberOfThreads) {
  const std::string one = undisturbed();
  settings_.threads = 3;
  const std::string file = in("three");
  static_cast<void>(replicate(experiment_, settings_, {}));
  EXPECT_EQ(read_file(file), one);
}

TEST_F(Replicate, GoesOnAfterAnInterruptToTheSameNumbers) {
  const std::string whole = undisturbed();
  const std::string file = in("interrupted");
  std::atomic<bool> interrupt{false};
  Watcher watcher;
  watcher.interrupt = &interrupt;
  watcher.progress = [&](const std::string&, double done, double all) {
    EXPECT_EQ(all, 6);
    if (done == 3) interrupt = true;
  };
  try {
    static_cast<void>(replicate(experiment_, settings_, watcher));
    FAIL() << "not interrupted";
  } catch (const Interrupted& e) {
    EXPECT_EQ(e.code(), ExitCode::interrupted);
    EXPECT_NE(std::string(e.what()).find("3 of 6 replications of small are kept in " + file),
              std::string::npos)
        << e.what();
  }
  interrupt = false;
  double first = -1;
  watcher.progress = [&](const std::string&, double done, double) {
    if (first < 0) first = done;
  };
  static_cast<void>(replicate(experiment_, settings_, watcher));
  EXPECT_EQ(first, 3) << "what was kept is not made again";
  EXPECT_EQ(read_file(file), whole);
}

TEST_F(Replicate, MakesATornReplicationAgain) {
  const std::string whole = undisturbed();
  const std::string file = in("torn");
  fs::create_directories(settings_.out);
  // Cut within the last number, which is then still a number.
  const std::size_t cut = whole.size() - 2;
  ASSERT_NE(whole[cut - 1], ',');
  write_file(file, whole.substr(0, cut));
  static_cast<void>(replicate(experiment_, settings_, {}));
  EXPECT_EQ(read_file(file), whole);
}

TEST_F(Replicate, MoreReplicationsLeaveTheFirstAsTheyWere) {
  const std::string whole = undisturbed();
  const std::string file = in("grown");
  settings_.reps = 2;
  const Replications two = replicate(experiment_, settings_, {});
  settings_.reps = 6;
  const Replications six = replicate(experiment_, settings_, {});
  EXPECT_EQ(read_file(file), whole);
  EXPECT_EQ(two.size(), 2U);
  EXPECT_EQ(six.estimates("mlo")[1], two.estimates("mlo")[1]);
}

TEST_F(Replicate, RefusesAFileOfOtherSettings) {
  static_cast<void>(undisturbed());
  const auto refused = [&](const std::string& word) {
    try {
      static_cast<void>(replicate(experiment_, settings_, {}));
      ADD_FAILURE() << "not refused: " << word;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("small.csv was made with other settings"), std::string::npos);
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  settings_.seed = 2;
  refused("--seed 2");
  settings_.seed = 1;
  experiment_.cells[1].fit.proposal_scale = 0.7;
  refused("--proposal-scale 0.7");
}

TEST_F(Replicate, ANumberIsThatOfAFitWithItsSeeds) {
  static_cast<void>(in("fit"));
  const Replications found = replicate(experiment_, settings_, {});
  for (const std::size_t b : {0U, 5U}) {
    SimulateOptions data = experiment_.data;
    data.seed = seed_of(1, "small", b, "data");
    const Table table = simulate(data);
    FitOptions options = experiment_.cells[1].fit;
    options.seed = seed_of(1, "small", b, "mlo");
    EXPECT_EQ(found.estimates("mlo")[b], fit(options, table).summary.parameters[0].mean);
    // The conjugate posterior: precision n + 1/9, mean sum y / (n + 1/9). Independent draws of exact: 200.
    double sum = 0;
    for (const double y : table.columns[0].numbers()) sum += y;
    const double precision = 50 + 1.0 / 9;
    EXPECT_LT(std::abs(found.estimates("exact")[b] - sum / precision), 5 / std::sqrt(200 * precision));
  }
  EXPECT_NE(seed_of(1, "small", 0, "mlo"), seed_of(1, "small", 1, "mlo"));
  EXPECT_NE(seed_of(1, "small", 0, "mlo"), seed_of(1, "small", 0, "exact"));
  EXPECT_NE(seed_of(1, "small", 0, "mlo"), seed_of(1, "other", 0, "mlo"));
  EXPECT_NE(seed_of(1, "small", 0, "mlo"), seed_of(2, "small", 0, "mlo"));
}

TEST(Settings, AreNamedWithoutTheCommandsDashes) {
  const auto refused = [](const std::function<void(Settings&)>& change) {
    Settings settings;
    change(settings);
    try {
      check(settings);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refused([](Settings&) {}), "not refused");
  EXPECT_EQ(refused([](Settings& s) { s.reps = 1; }), "`reps` must be between 2 and 1000000 (got 1)");
  EXPECT_EQ(refused([](Settings& s) { s.threads = 1025; }),
            "`threads` must be between 0 and 1024 (got 1025)");
  EXPECT_EQ(refused([](Settings& s) { s.proposal_scale_mean = 0; }),
            "`proposal-scale-mean` must be positive and finite (got 0)");
  EXPECT_EQ(refused([](Settings& s) { s.proposal_precision = "beta"; }),
            "`proposal-precision` must be one of gamma, random-walk (got \"beta\")");
  EXPECT_EQ(refused([](Settings& s) { s.proposal_scale_precision = 2; }),
            "`proposal-scale-precision` must be at most 1 with `proposal-precision gamma`, where it is the "
            "step's standard deviation as a share of tau (got 2)");
  EXPECT_EQ(refused([](Settings& s) {
              s.proposal_precision = "random-walk";
              s.proposal_scale_precision = 2;
            }),
            "not refused");
  EXPECT_EQ(refused([](Settings& s) { s.delta_covertype = 1; }),
            "`delta-covertype` must be between 0 and 1, exclusive (got 1)");
  EXPECT_EQ(refused([](Settings& s) { s.start = "here"; }),
            "`start` must be one of laplace, mode (got \"here\")");
}

TEST(CommandLine, SaysWhatDiffersFromTheDefaults) {
  FitOptions fit;
  fit.data = {"my data.csv"};
  fit.formula = "y ~ x1";
  EXPECT_EQ(command_line(fit), "mlo fit \"my data.csv\" \"y ~ x1\"");
  fit.method = "mlo";
  fit.prior = "normal(0, 3)";
  fit.prior_for = {{"x1", "flat"}};
  fit.weights_at = "-2";
  fit.subsample_size = 10;
  fit.chains = 1;
  EXPECT_EQ(command_line(fit),
            "mlo fit \"my data.csv\" \"y ~ x1\" --prior \"normal(0, 3)\" --prior-for x1 flat --method mlo "
            "--subsample-size 10 --weights-at -2 --chains 1");
  EXPECT_EQ(command_line(
                SimulateOptions{
                    .family = "gaussian", .rows = 9, .coefficients = {1, -0.5}, .numbers = {{"sigma", 2}}},
                "7"),
            "mlo simulate gaussian --rows 9 --coefficients 1,-0.5 --sigma 2 --seed 7 --out data.csv");
}

}  // namespace
}  // namespace mlo::experiments
