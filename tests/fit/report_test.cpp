// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <regex>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/fit/simulate.hpp"

namespace mlo {
namespace {

namespace fs = std::filesystem;

class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("mlo-report-" + std::to_string(::getpid()));
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] FitOptions options(const std::string& formula) const {
    FitOptions o;
    o.data = {"simulated"};
    o.formula = formula;
    o.chains = 2;
    o.warmup = 100;
    o.draws = 200;
    o.seed = 5;
    o.threads = 1;
    o.out = directory_;
    return o;
  }

  // y, x1, x2, and a factor with the levels a, b and c.
  [[nodiscard]] static Table table() {
    SimulateOptions data;
    data.rows = 3000;
    data.coefficients = {0.8, -0.4};
    Table out = simulate(data);
    Text text{.levels = {"a", "b", "c"}, .codes = {}};
    for (std::size_t i = 0; i < out.rows; ++i) text.codes.push_back(static_cast<std::uint32_t>(i % 3));
    out.columns.emplace_back("f", std::move(text));
    return out;
  }

  fs::path directory_;
};

TEST_F(Report, KeepsWhatItShowsInTheRun) {
  const FitResult result = fit(options("y ~ x1 + f"), table());
  const KeptRun run = read_run(directory_);
  for (const RunFacts* facts : {&result.facts, &run.facts}) {
    ASSERT_EQ(facts->priors.size(), 4);
    EXPECT_TRUE(facts->priors[0].at_means);
    EXPECT_EQ(facts->priors[1].text.rfind("normal(0, ", 0), 0);
    ASSERT_EQ(facts->factors.size(), 1);
    EXPECT_EQ(facts->factors[0].base, "a");
    EXPECT_EQ(facts->factors[0].levels, (std::vector<std::string>{"b", "c"}));
    EXPECT_EQ(facts->factors[0].parameters, (std::vector<std::size_t>{2, 3}));
    EXPECT_FALSE(facts->rows_read.most.empty());
    ASSERT_TRUE(facts->check.has_value());
    EXPECT_EQ(facts->check->groups.size(), 10);
    // The mode of tall data is close to the mean: within a fifth of an sd with 3,000 rows, plus the error of
    // the mean.
    for (std::size_t j = 0; j < 4; ++j)
      EXPECT_NEAR(facts->mode[j], result.summary.parameters[j].mean, 0.5 * result.summary.parameters[j].sd);
  }
  EXPECT_EQ(facts_to_json(run.facts), facts_to_json(result.facts));
  // The same page from memory and from the directory: all that is shown is kept.
  EXPECT_EQ(html_report(report_input(result)), html_report(report_input(run)));
}

TEST_F(Report, IsWrittenWithTheRunIfItIsAskedFor) {
  FitOptions o = options("y ~ x1 + x2");
  o.report = true;
  FitWatcher watcher;
  watcher.wording = [](std::string_view message) { return std::string(message) + " (reworded)"; };
  const FitResult result = fit(o, table(), watcher);
  const std::string page = read_file(directory_ / "report.html");
  EXPECT_NE(page.find("mlo fit simulated &quot;y ~ x1 + x2&quot;"), std::string::npos);
  EXPECT_NE(page.find("<li>seed 5 (reworded)</li>"), std::string::npos);
  FitOptions nowhere = o;
  nowhere.out.clear();
  EXPECT_THROW(static_cast<void>(fit(nowhere, table())), UsageError);
}

TEST_F(Report, OfARunOfAnEarlierVersionLeavesOutWhatItDoesNotKnow) {
  const FitResult result = fit(options("y ~ x1 + f"), table());
  const std::string file = directory_ / "run.json";
  const Json json = Json::parse(read_file(file));
  Json old = Json::object();
  for (const JsonMember& member : json.members())
    if (member.name != "facts") old[member.name] = member.value;
  write_file(file, old.dump(2));
  const std::string page = html_report(report_input(read_run(directory_)));
  for (const char* absent : {"id=\"predictive\"", "id=\"factors\"", "rows read by a step"})
    EXPECT_EQ(page.find(absent), std::string::npos) << absent;
  EXPECT_NE(page.find("id=\"coefficients\""), std::string::npos);
  old["facts"] = {{"mode", "none"}};
  write_file(file, old.dump(2));
  EXPECT_THROW(static_cast<void>(read_run(directory_)), DataError);
}

TEST_F(Report, HasAPageForEveryFamily) {
  for (const FamilySpec* const family : families()) {
    SimulateOptions data;
    data.family = std::string(family->name);
    data.rows = 400;
    const bool columns = family->simulation.columns;
    data.coefficients = {0.5};
    FitOptions o = options(family->counted ? "cbind(y, failures) ~ x1" : columns ? "y ~ x1" : "y ~ 1");
    o.family = data.family;
    o.out.clear();
    const FitResult result = fit(o, simulate(data));
    const std::string page = html_report(report_input(result));
    EXPECT_NE(page.find("id=\"verdict\""), std::string::npos) << family->name;
    const bool checked = result.facts.check.has_value();
    EXPECT_EQ(checked, family->make != nullptr) << family->name;
    EXPECT_EQ(page.find("id=\"predictive\"") != std::string::npos, checked) << family->name;
  }
}

TEST(CommandOf, IsWhatAShellUnderstands) {
  FitOptions o;
  o.data = {"my data.csv", "b.csv"};
  o.formula = "y ~ x";
  o.seed = 7;
  EXPECT_EQ(command_of(o), "mlo fit \"my data.csv\" b.csv \"y ~ x\" --seed 7");
  o.formula = "y ~ `a b` + I(x^2)";
  o.family = "gaussian";
  o.audit = true;
  o.prior_for = {{"x 1", "normal(0, 2)"}};
  o.types = {{"zip", "text"}};
  o.numbers["freedom"] = 3;
  o.threads = 3;
  o.out = "run";
  EXPECT_EQ(
      command_of(o),
      "mlo fit \"my data.csv\" b.csv 'y ~ `a b` + I(x^2)' --family gaussian --prior-for \"x 1\" \"normal(0, 2)\" "
      "--freedom 3 --type zip=text --audit --seed 7");
  o = {};
  o.data = {"it's $5.csv"};
  o.formula = "y ~ 1";
  EXPECT_EQ(command_of(o), "mlo fit 'it'\\''s $5.csv' \"y ~ 1\"");
}

}  // namespace
}  // namespace mlo
