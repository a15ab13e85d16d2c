// Copyright (c) the mlo authors. BSD-3-Clause.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include "mlo/base/errors.hpp"
#include "mlo/report/comparison.hpp"
#include "mlo/report/netcdf.hpp"
#include "mlo/report/run_summary.hpp"
#include "mlo/report/stan_csv.hpp"

namespace mlo {
namespace {

RunSummary example() {
  RunSummary s;
  s.title = "logistic model of y, 10 rows, 2 parameters";
  s.notes = {"seed 1"};
  s.parameters = {
      {"(Intercept)", 1.25, 0.5, 0.01, 0.25, 2.25, 1.2, 0.4, 2.1, 900.5, 800.25, 1.001},
      {"I(x, \"odd\")", -3, 0.001, 1e-5, -3.002, -2.998, -3, -3.0016, -2.9984, 950, 850, std::nan("")}};
  s.method = {"mlo", Promise::approximate, 0.25, 100, 99, 7.5, 0, 2};
  s.noise = noise_report(7.5, s.parameters, {0.1, 0.0005});
  s.data = {12, 10, 2};
  s.seconds = {0.5, 0.25, 1, 2};
  s.passes = 3.25;
  s.chains = 4;
  s.draws = 1000;
  s.warnings = {s.noise.words};
  return s;
}

TEST(RunSummary, JsonComesBackAsItWas) {
  const RunSummary s = example();
  const RunSummary again = summary_from_json(as_json(s), "run.json");
  EXPECT_EQ(as_json(again), as_json(s));
  EXPECT_EQ(as_table(again), as_table(s));
  EXPECT_EQ(again.parameters[1].name, s.parameters[1].name);
  EXPECT_TRUE(std::isnan(again.parameters[1].rhat));
}

TEST(RunSummary, ShowsScoresOfHeldOutRowsAndKeepsThem) {
  RunSummary s = example();
  EXPECT_EQ(as_table(s).find("held out"), std::string::npos);
  s.holdout = Scores{.rows = 1234,
                     .missing = 5,
                     .log_score = -0.51234,
                     .log_score_error = 0.0123,
                     .auc = 0.75,
                     .brier = 0.125,
                     .deviance = {},
                     .rmse = {},
                     .calibration = {{617, 0.25, 0.2}, {617, 0.75, 0.8}},
                     .accuracy = {},
                     .classes = {},
                     .confusion = {}};
  const std::string table = as_table(s);
  EXPECT_NE(
      table.find("held out, 1,234 rows: log score -0.5123 per row (error 0.012), AUC 0.7500, Brier score "
                 "0.1250; 5 more had a missing cell\n"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("group 2         617            0.75            0.8\n"), std::string::npos) << table;
  const RunSummary again = summary_from_json(as_json(s), "run.json");
  EXPECT_EQ(as_json(again), as_json(s));
  EXPECT_EQ(as_table(again), table);
  EXPECT_FALSE(again.holdout->rmse);
}

TEST(RunSummary, RefusesWhatIsNotASummary) {
  EXPECT_THROW(static_cast<void>(summary_from_json("{}", "run.json")), DataError);
  EXPECT_THROW(static_cast<void>(summary_from_json("nonsense", "run.json")), DataError);
}

TEST(RunSummary, NamesTheFieldThatIsNotAsItShouldBe) {
  const std::string good = as_json(example());
  const auto message = [&](const std::string& from, const std::string& to) {
    try {
      static_cast<void>(summary_from_json(std::regex_replace(good, std::regex(from), to), "run.json"));
    } catch (const DataError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("\"approximate\"", "\"certain\""),
            "run.json: not a summary written by mlo: unknown promise \"certain\"");
  EXPECT_EQ(message("\"not the posterior\"", "\"fine\""),
            "run.json: not a summary written by mlo: unknown verdict \"fine\"");
  EXPECT_EQ(message("\"used\": 10", "\"used\": -1"),
            "run.json: not a summary written by mlo: \"used\" must be a whole number between 0 and "
            "18446744073709551615 (got -1)");
  EXPECT_EQ(message("\"passes\"", "\"passed\""),
            "run.json: not a summary written by mlo: it has no \"passes\"");
}

TEST(RunSummary, IsNotExactUntilAMethodSaysSo) {
  EXPECT_EQ(RunSummary().method.promise, Promise::approximate);
  EXPECT_EQ(MethodResult().promise, Promise::approximate);
}

TEST(RunSummary, TableShowsTheLaplaceSdAndTheRatioOfANoisyMethod) {
  const std::string table =
      std::regex_replace(as_table(example()), std::regex("\n *"), " ");  // lines are wrapped
  EXPECT_NE(table.find("laplace sd"), std::string::npos);
  EXPECT_NE(table.find("spread of these draws is NOT"), std::string::npos);
  EXPECT_NE(table.find("method mlo (approximate)"), std::string::npos);
}

TEST(RunSummary, CsvQuotesNames) {
  const std::string csv = as_csv(example().parameters);
  EXPECT_NE(csv.find("\n\"I(x, \"\"odd\"\")\",-3,"), std::string::npos);
  EXPECT_EQ(
      csv.rfind("parameter,mean,sd,mcse_mean,hpd_2.5,hpd_97.5,median,q5,q95,ess_bulk,ess_tail,rhat\n", 0),
      0U);
}

TEST(NoiseReport, SaysInWordsHowFarTheSpreadCanBeTrusted) {
  const std::vector<ParameterSummary> p = example().parameters;
  EXPECT_EQ(noise_report(0, p, {0.5, 0.001}).verdict, NoiseReport::Verdict::none);
  EXPECT_EQ(noise_report(0.05, p, {0.5, 0.001}).verdict, NoiseReport::Verdict::harmless);
  EXPECT_EQ(noise_report(1, p, {0.5, 0.001}).verdict, NoiseReport::Verdict::inflated);
  // Methods that allow for noise, or decide in spite of it, are judged by other criteria.
  EXPECT_EQ(noise_report(0.8, p, {0.5, 0.001}, NoiseEffect::corrected).verdict,
            NoiseReport::Verdict::harmless);
  EXPECT_EQ(noise_report(3, p, {0.5, 0.001}, NoiseEffect::corrected).verdict, NoiseReport::Verdict::inflated);
  EXPECT_EQ(noise_report(9, p, {0.5, 0.001}, NoiseEffect::tested).verdict, NoiseReport::Verdict::harmless);
  EXPECT_EQ(noise_report(9, p, {0.4, 0.0008}, NoiseEffect::tested).verdict, NoiseReport::Verdict::inflated);
  const NoiseReport far = noise_report(20, p, {0.1, 0.0005});
  EXPECT_EQ(far.verdict, NoiseReport::Verdict::not_the_posterior);
  EXPECT_DOUBLE_EQ(far.sd_ratio[0], 5);
  EXPECT_DOUBLE_EQ(far.sd_ratio[1], 2);
  EXPECT_NE(far.words.find("2 to 5 times (median 3.5)"), std::string::npos) << far.words;
  const NoiseReport alike = noise_report(20, p, {0.1, 0.0002});
  EXPECT_NE(alike.words.find("It is 5 times that of"), std::string::npos) << alike.words;
}

TEST(StanCsv, TheModelsNameIsAnIdentifier) {
  for (const auto& [family, name] :
       {std::pair("logistic", "logistic"), std::pair("gaussian-mean", "gaussian_mean"),
        std::pair("negative-binomial", "negative_binomial")}) {
    StanCsvHeader header;
    header.family = family;
    const std::string text = stan_csv(header, {});
    EXPECT_NE(text.find(std::string("# model = mlo_") + name + "_model\n"), std::string::npos) << text;
    EXPECT_NE(text.find(std::string("# mlo_family = ") + family + "\n"), std::string::npos) << text;
  }
}

// The rules of brms (2.18, R/rename.R), which leaves signs that Stan's files cannot have.
TEST(StanCsv, NamesAreThoseOfBrms) {
  EXPECT_EQ(stan_names({"(Intercept)", "hour", "originATL", "I(x^2)", "log(x + 1)", "a:b", "factor(m)2",
                        "x.1", "I(a - b)", "I(a * b/c)", "poly(x, 2)1", "x == 3TRUE", "`my x`", "sigma"},
                       13),
            (std::vector<std::string>{"b_Intercept", "b_hour", "b_originATL", "b_IxE2", "b_logxP1", "b_a_b",
                                      "b_factorm2", "b_x_1", "b_IaMb", "b_IaMUbDc", "b_polyx21",
                                      "b_xEQEQ3TRUE", "b_myx", "sigma"}));
}

TEST(StanCsv, NamesDifferAndAreLegalWhateverTheyCameFrom) {
  const std::vector<std::string> hostile{"x y",      "xy", "(xy)", "xy_2", "x__",  "x____", "",   "\xc3\xa4",
                                         "\xc3\xb6", "9",  ".",    "lp__", "a\nb", "#",     "\"", "sigma"};
  for (const std::size_t coefficients : {std::size_t{0}, hostile.size() - 1, hostile.size()}) {
    const std::vector<std::string> names = stan_names(hostile, coefficients);
    ASSERT_EQ(names.size(), hostile.size());
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    for (const std::string& name : names) {
      ASSERT_FALSE(name.empty());
      EXPECT_TRUE(std::isalpha(static_cast<unsigned char>(name[0])) != 0) << name;
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
                std::string::npos)
          << name;
      EXPECT_FALSE(name.ends_with("__")) << name;
    }
  }
}

// rstan takes the time from the only line with these words, and what follows "Adaptation terminated" for the
// state of a sampler of Stan.
TEST(StanCsv, CommentsDoNotLookLikeOnesThatReadersSearchFor) {
  StanCsvHeader header;
  header.formula = "y ~ `Elapsed Time`";
  header.names = {"`Elapsed Time`", "Adaptation terminated"};
  const std::string text = stan_csv(header, {});
  EXPECT_EQ(text.find("Elapsed Time"), text.rfind("Elapsed Time"));
  EXPECT_EQ(text.find("Adaptation terminated"), std::string::npos);
}

TEST(StanCsv, ReadsBackToTheSameDoubles) {
  ChainDraws record;
  record.dim = 2;
  record.draws = {0.1, 1e-300, -1.0 / 3, 12345678.9};
  record.log_posteriors = {-7.25, std::nan("")};
  record.statistics = {{.acceptance = 0.25F}, {.acceptance = 1}};
  record.warmup_seconds = 0.5;
  record.sample_seconds = 1.25;
  const std::string text = stan_csv({.version = "0",
                                     .method = "full",
                                     .promise = "exact",
                                     .family = "logistic",
                                     .formula = "y ~ x",
                                     .data = "d.csv",
                                     .log_posterior = "of all rows",
                                     .seed = 1,
                                     .chain = 1,
                                     .warmup = 10,
                                     .draws = 2,
                                     .thin = 1,
                                     .names = {"(Intercept)", "x"},
                                     .coefficients = 2},
                                    record);
  std::istringstream lines(text);
  std::string line;
  std::vector<std::string> rows;
  while (std::getline(lines, line))
    if (line.empty() || line[0] != '#') rows.push_back(line);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0], "lp__,accept_stat__,treedepth__,divergent__,energy__,b_Intercept,b_x");
  EXPECT_NE(text.find("# \n#  Elapsed Time: 0.500000 seconds (Warm-up)\n"
                      "#                1.250000 seconds (Sampling)\n"
                      "#                1.750000 seconds (Total)\n# \n"),
            std::string::npos);
  double a = 0, b = 0;
  ASSERT_EQ(std::sscanf(rows[1].c_str(), "-7.25,0.25,0,0,7.25,%lf,%lf", &a, &b), 2);
  EXPECT_EQ(a, 0.1);
  EXPECT_EQ(b, 1e-300);
  ASSERT_EQ(std::sscanf(rows[2].c_str(), "nan,1,0,0,nan,%lf,%lf", &a, &b), 2);
  EXPECT_EQ(a, -1.0 / 3);
  EXPECT_EQ(b, 12345678.9);
  const ChainDraws again = draws_of_stan_csv(text, "draws-1.csv", 2);
  EXPECT_EQ(again.draws, record.draws);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again.log_posteriors[0], -7.25);
  EXPECT_TRUE(std::isnan(again.log_posteriors[1]));
  EXPECT_EQ(again.statistics, record.statistics);
  EXPECT_THROW(static_cast<void>(draws_of_stan_csv(text, "draws-1.csv", 3)), DataError);
  EXPECT_THROW(static_cast<void>(draws_of_stan_csv("", "draws-1.csv", 2)), DataError);
}

TEST(StanCsv, StatisticsReadBackToTheSameFloats) {
  std::vector<ChainDraws> chains(2);
  for (ChainDraws& chain : chains) chain.log_posteriors.resize(2);
  chains[0].statistics = {{.rows_read = 1.0F / 3, .noise_sd = 1e-30F}, {.rows_read = 581012, .noise_sd = 0}};
  chains[1].statistics = {{.rows_read = 0.1F}, {.rows_read = 16777216, .noise_sd = 3}};
  std::vector<ChainDraws> again = chains;
  for (ChainDraws& chain : again) chain.statistics.clear();
  add_statistics(statistics_csv(chains), "statistics.csv", again);
  for (std::size_t c = 0; c < 2; ++c) EXPECT_EQ(again[c].statistics, chains[c].statistics);
}

TEST(NetcdfNames, AreRsAsFarAsNetcdfAllows) {
  EXPECT_EQ(netcdf_names({"(Intercept)", "hour", "I(a/b)", "`my x`", "a:b", "chain", "draw", "x ", "x",
                          "\xc3\xa4", "log(x)"}),
            (std::vector<std::string>{"Intercept", "hour", "I(a_b)", "_`my x`", "a:b", "chain_", "draw_", "x",
                                      "x_2", "\xc3\xa4", "log(x)"}));
  EXPECT_EQ(netcdf_names({"a\xe4", "\xff"}), (std::vector<std::string>{"a_", "_"}));  // Latin 1
  const std::vector<std::string> both =
      netcdf_names({std::string(1000, 'a'), std::string(1000, 'a') + "b", ""});
  EXPECT_NE(both[0], both[1]);
  for (const std::string& name : both) EXPECT_LE(name.size(), 256U);
}

TEST(SummaryTable, NumbersHaveTheDigitsThatTheirMonteCarloErrorSupports) {
  struct Case {
    double mean, sd, mcse;
    const char* shown;
  };
  for (const Case& c :
       {Case{0.123456, 0.05, 0.0021, "0.1235"},    // two digits of the error
        Case{0.123456, 0.05, 0.00001, "0.12346"},  // no more than four digits of the sd
        Case{0.123456, 0.05, 0.04, "0.123"},       // two digits of the error, of a poor chain
        Case{0.123456, 0.05, 0.4, "0.123"},        // at least two digits of the sd
        Case{0.123456, 0.05, NAN, "0.1235"},       // an error that is not known
        Case{123456, 5000, 210, "123460"},         // tens
        Case{-0.0001, 0.5, 0.021, "0.000"},        // not -0.000
        Case{12345678901, 50, 2.1, "1.23456789010e+10"}, Case{3.21e-9, 4e-10, 2.1e-11, "3.210e-09"}}) {
    RunSummary s;
    s.parameters.resize(1);
    s.parameters[0].name = "x";
    s.parameters[0].mean = c.mean;
    s.parameters[0].sd = c.sd;
    s.parameters[0].mcse_mean = c.mcse;
    s.method.promise = Promise::exact;
    const std::string table = as_table(s);
    const std::string row = table.substr(table.find("\nx ") + 1);
    std::istringstream cells(row);
    std::string name, mean;
    cells >> name >> mean;
    EXPECT_EQ(mean, c.shown);
  }
}

}  // namespace
}  // namespace mlo
