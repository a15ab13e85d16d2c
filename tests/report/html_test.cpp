// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/report/html.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/html_parts.hpp"
#include "support/posteriors.hpp"

namespace mlo {
namespace {

using Level = ReportVerdict::Level;
using test::chains_of;
using test::normal_chains;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t out = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The chains must outlive the input.
ReportInput input_of(const std::vector<ChainDraws>& chains, std::vector<std::string> names = {}) {
  for (std::size_t j = names.size(); j < chains[0].dim; ++j) names.push_back("p" + std::to_string(j));
  ReportInput input{.chains = chains};
  RunSummary& s = input.summary;
  s.title = "logistic model of y, 1,000 rows";
  s.parameters = summarise(names, chains);
  s.noise.laplace_sd.assign(names.size(), 1);
  s.noise.sd_ratio.assign(names.size(), 1);
  s.method = {.name = "exact", .promise = Promise::exact, .acceptance = 0.9, .rows_per_step = 2};
  s.data = {1000, 1000, 0};
  s.seconds = {0.5, 0.25, 0.125, 1};
  s.chains = chains.size();
  s.draws = chains[0].size();
  input.command = "mlo fit data.csv \"y ~ x\" --seed 1";
  input.record = {{"seed", "1"}};
  input.version = "0.1.0";
  return input;
}

// Each element that is opened is closed in its order. Void elements and the insides of scripts, styles and
// comments are skipped.
std::string html_problem(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    if (page.compare(at, 4, "<!--") == 0) {
      at = page.find("-->", at);
      if (at == std::string::npos) return "a comment does not end";
      continue;
    }
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) return "a tag does not end";
    const bool closing = page[at + 1] == '/';
    const std::size_t from = at + (closing ? 2 : 1);
    const std::string name = page.substr(from, page.find_first_of(" \n>/", from) - from);
    const bool empty = page[end - 1] == '/' || name == "meta" || name == "input" || name == "!DOCTYPE";
    at = end;
    if (closing) {
      if (open.empty() || open.back() != name) return "</" + name + "> without its beginning";
      open.pop_back();
    } else if (name == "script" || name == "style") {
      at = page.find("</" + name + ">", end);
      if (at == std::string::npos) return name + " does not end";
      ++at;
    } else if (!empty) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> does not end";
}

TEST(HtmlReport, HasTheVerdictTheTableAndTheSectionsInOrder) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 3);
  const std::string page = html_report(input_of(chains));
  EXPECT_EQ(html_problem(page), "");
  std::size_t at = 0;
  for (const char* part : {"id=\"verdict\"", "id=\"coefficients\"", "id=\"forest\"", "id=\"parameters\"",
                           "id=\"pairs\"", "id=\"cost\"", "id=\"record\"", "id=\"data\""}) {
    const std::size_t here = page.find(part, at);
    ASSERT_NE(here, std::string::npos) << part;
    at = here;
  }
  EXPECT_TRUE(has(page, "Exact and converged"));
  EXPECT_TRUE(has(page, "mlo fit data.csv &quot;y ~ x&quot; --seed 1"));
  for (const char* absent :
       {"id=\"predictive\"", "id=\"holdout\"", "id=\"factors\"", "{{policy", " src=", "@import"})
    EXPECT_FALSE(has(page, absent)) << absent;
}

// Nothing of what a user names can become markup or script, nor end the data.
TEST(HtmlReport, EscapesNamesWhereverTheyAre) {
  const std::vector<std::string> names{"<script>alert(1)</script>",
                                       "\" onload=\"alert(2)",
                                       "</script><b>",
                                       "<!-- x",
                                       "naïve 中文 😀",
                                       "bad \xff\xc3 bytes",
                                       "a & b",
                                       "line\nbreak\x01"};
  const std::vector<ChainDraws> chains = normal_chains(2, 100, names.size());
  ReportInput input = input_of(chains, names);
  input.summary.title = "</title><script>alert(3)</script>";
  input.summary.notes = {"<img src=x onerror=alert(4)>"};
  input.summary.warnings = {"<i>w</i>"};
  input.command = "</code><script>";
  input.record = {{"<dt>", "</dl><script>"}};
  input.facts.factors = {{"</summary><script>", "<base>", {"<l1>", "<l2>"}, {0, 1}}};
  input.facts.priors.assign(names.size(), {"</script>", false});
  const std::string page = html_report(input), empty = html_report(input_of(chains));
  EXPECT_EQ(html_problem(page), "");
  EXPECT_EQ(count(page, "<script"), count(empty, "<script"));
  EXPECT_EQ(count(page, "</script"), count(empty, "</script"));
  for (const char* bad : {"<script>alert", "<img", "<i>w", "<base>", "<l1>", "\" onload=\"alert", "<!-- x"})
    EXPECT_FALSE(has(page, bad)) << bad;
  EXPECT_TRUE(has(page, "naïve 中文 😀"));
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_TRUE(has(page, "a &amp; b"));
}

TEST(HtmlReport, AllowsItsOwnScriptsAndStylesOnly) {
  const std::vector<ChainDraws> chains = normal_chains(2, 100, 2);
  const std::string page = html_report(input_of(chains));
  EXPECT_TRUE(has(page, "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "));
  EXPECT_FALSE(has(page, "unsafe"));
  EXPECT_EQ(count(page, "'sha256-"), report_is_interactive() ? 4 : 2);
  const std::string body = page.substr(page.find("<body>"), page.find("id=\"data\"") - page.find("<body>"));
  EXPECT_FALSE(has(body, "style="));
  EXPECT_FALSE(has(body, " onclick"));
}

TEST(HtmlReport, IsSmall) {
  const std::vector<ChainDraws> twenty = normal_chains(4, 1000, 20);
  const std::string small = html_report(input_of(twenty));
  EXPECT_LT(small.size(), 1'500'000);
  EXPECT_FALSE(has(small, "show every"));
  const std::vector<ChainDraws> many = normal_chains(4, 1000, 500);
  const std::string large = html_report(input_of(many));
  EXPECT_LT(large.size(), 5'000'000);
  EXPECT_EQ(count(large, "<tr data-j="), 500);  // the table is whole
  EXPECT_TRUE(has(large, "show every 2nd draw; all else is of all draws"));
  RecordProperty("bytes_20", static_cast<int>(small.size()));
  RecordProperty("bytes_500", static_cast<int>(large.size()));
}

TEST(HtmlReport, TakesAwkwardDraws) {
  const std::vector<double> constant(40, 2.0), missing(40, nan), one(1, 0.5);
  std::vector<double> wave(40);
  for (std::size_t k = 0; k < 40; ++k) wave[k] = std::sin(static_cast<double>(k));
  for (const std::vector<ChainDraws>& chains :
       {chains_of({{wave}}), chains_of({{constant}}), chains_of({{missing}, {missing}}), chains_of({{one}}),
        chains_of({{wave, constant, missing}, {wave, constant, missing}}), normal_chains(9, 30, 2)}) {
    const std::string page = html_report(input_of(chains));
    EXPECT_EQ(html_problem(page), "");
    const std::string body = page.substr(page.find("<body>"), page.find("id=\"data\"") - page.find("<body>"));
    EXPECT_FALSE(has(body, ">nan<") || has(body, "-nan") || has(body, "\"nan")) << body;
  }
  const std::vector<ChainDraws> chains = chains_of({{constant}});
  EXPECT_TRUE(has(html_report(input_of(chains)), "<td class=\"n w1 bad\">\u2013</td>"));
  EXPECT_EQ(report_verdict(input_of(chains)).level, Level::bad);
}

// At the edge of the scale, a dot would be read as a value.
TEST(HtmlReport, AMeanThatIsOffTheScaleIsAnArrowAndNoDot) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 3);
  ReportInput input = input_of(chains, {"(Intercept)", "x", "z"});
  const auto interval = [&](std::size_t j, double low, double mean, double high) {
    ParameterSummary& p = input.summary.parameters[j];
    p.hpd_low = p.q5 = low;
    p.mean = p.median = mean;
    p.hpd_high = p.q95 = high;
  };
  interval(1, -1, -0.5, 0.5);
  interval(2, 0.5, 0.75, 1);
  const auto rows = [&] {
    const std::string page = html_report(input);
    const std::string table = page.substr(page.find("<tbody>"), page.find("</tbody>") - page.find("<tbody>"));
    EXPECT_EQ(html_problem(page), "");
    return std::pair(count(table, "<circle class=\"mean\""), count(table, "<path class=\"mean\""));
  };
  interval(0, -1.1, -0.9, 0.5);  // hardly wider than the others: the scale takes it in
  EXPECT_EQ(rows(), (std::pair<std::size_t, std::size_t>{3, 0}));
  interval(0, -9, -8, -7);
  EXPECT_EQ(rows(), (std::pair<std::size_t, std::size_t>{2, 1}));
  interval(0, -9, -5, -0.5);  // reaches into the scale
  EXPECT_EQ(rows(), (std::pair<std::size_t, std::size_t>{2, 1}));
  interval(0, -0.5, 5, 9);
  EXPECT_EQ(rows(), (std::pair<std::size_t, std::size_t>{2, 1}));
  interval(0, -9, 0.5, 9);
  EXPECT_EQ(rows(), (std::pair<std::size_t, std::size_t>{3, 2}));
}

TEST(HtmlReport, WritesSmallNumbersShort) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 1);
  ReportInput input = input_of(chains, {"distance"});
  ParameterSummary& p = input.summary.parameters[0];
  p.mean = 7.4501e-5;
  p.sd = 2.8e-6;
  p.mcse_mean = 8.3e-8;
  EXPECT_TRUE(has(html_report(input), "<td class=\"n\">7.45e-05</td>"));
  p.sd = 2.8e-9;  // as many digits as the sd says something of
  EXPECT_TRUE(has(html_report(input), "<td class=\"n\">7.4501e-05</td>"));
}

TEST(HtmlReport, ShowsWhatTheRunHasKept) {
  const std::vector<ChainDraws> chains = normal_chains(4, 300, 4);
  ReportInput input = input_of(chains, {"(Intercept)", "fb", "fc", "x"});
  input.facts.factors = {{"f", "a", {"b", "c"}, {1, 2}}};
  input.facts.priors = {{"normal(0, 1)", true}, {"normal(0, 2.5)"}, {"flat"}, {"cauchy(0, 1)"}};
  input.facts.mode = {0, 0.1, 0.2, 0.3};
  input.facts.rows_read = {{0, 1, 2, 4}, {90, 5, 3, 2}};
  input.facts.check = PredictiveCheck{.rows = 100,
                                      .draws = 50,
                                      .binary = true,
                                      .groups = {{0, 0.5, 0.2, 0.25, 0.1, 0.4}},
                                      .statistics = {{"mean", 1, 1, 1, 1, 1}}};
  input.summary.holdout = Scores{.rows = 50,
                                 .log_score = -0.5,
                                 .log_score_error = 0.01,
                                 .auc = 0.81234,
                                 .brier = 0.1,
                                 .deviance = {},
                                 .rmse = {},
                                 .calibration = {{25, 0.2, 0.25}, {25, 0.7, 0.6}},
                                 .accuracy = {},
                                 .classes = {},
                                 .confusion = {}};
  const std::string page = html_report(input);
  EXPECT_EQ(html_problem(page), "");
  for (const char* part :
       {"id=\"predictive\"", "id=\"holdout\"", "id=\"factors\"", "0.8123", ">a (base)<", "difference from a",
        "rows read by a step", "<th scope=\"row\">reading the data</th><td class=\"n\">0.50 s</td>"})
    EXPECT_TRUE(has(page, part)) << part;
  EXPECT_EQ(has(page, "normal(0, 1) at the columns' means"), report_is_interactive());
}

TEST(HtmlReport, CountsAreWrittenBelowTheirBars) {
  const std::vector<ChainDraws> chains = normal_chains(2, 100, 1);
  ReportInput input = input_of(chains);
  const auto ticks = [&](double low, double width) {
    PredictiveCheck check{.rows = 100, .draws = 10};
    for (int k = 0; k < 3; ++k)
      check.groups.push_back({low + k * width, low + (k + 1) * width, 0.3, 0.3, 0.2, 0.4});
    check.statistics = {{"mean", 1, 1, 0.5, 1.5}};
    input.facts.check = check;
    const std::string page = html_report(input);
    const std::size_t from = page.find("id=\"predictive\""), to = page.find("of the responses", from);
    std::vector<std::string> out;
    const std::string start = "text-anchor=\"middle\">";
    for (std::size_t at = page.find(start, from); at < to; at = page.find(start, at + 1))
      out.push_back(page.substr(at + start.size(), page.find('<', at) - at - start.size()));
    out.pop_back();  // the name of the axis
    return out;
  };
  EXPECT_EQ(ticks(-0.5, 1), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(ticks(-0.5, 4),
            (std::vector<std::string>{"0", "5", "10"}));  // bins of several counts: round numbers
  EXPECT_NE(ticks(0.25, 1), (std::vector<std::string>{"0.75", "1.75", "2.75"}));
}

TEST(ReportVerdict, SaysWhetherTheDrawsAreExactAndWhy) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 2);
  ReportInput input = input_of(chains);
  const auto all = [&] {
    std::string out;
    for (const std::string& sentence : report_verdict(input).sentences) out += sentence + '\n';
    return out;
  };
  EXPECT_EQ(report_verdict(input).level, Level::good);
  EXPECT_TRUE(
      has(all(), "The draws are exact: the method exact samples the posterior itself, not an approximation"));
  EXPECT_TRUE(has(all(), "On average a step reads 2 of the 1,000 rows."));
  EXPECT_TRUE(has(all(), "The 4 chains agree: the largest R-hat is"));
  input.summary.method.bound_violations = 1;
  EXPECT_EQ(report_verdict(input).level, Level::bad);
  EXPECT_TRUE(has(all(), "NOT exact: 1 row broke"));
  input.summary.method = {.name = "full", .promise = Promise::exact, .rows_per_step = 1000};
  EXPECT_TRUE(has(all(), "A step reads as many rows as there are, or more"));
  input.summary.method = {.name = "mlo", .promise = Promise::approximate, .rows_per_step = 100};
  input.summary.noise.verdict = NoiseReport::Verdict::not_the_posterior;
  EXPECT_TRUE(has(all(), "The draws are approximate"));
  EXPECT_EQ(report_verdict(input).level, Level::bad);
  input.summary.noise.verdict = NoiseReport::Verdict::inflated;
  EXPECT_EQ(report_verdict(input).level, Level::care);
}

TEST(ReportVerdict, SaysWhetherTheChainsHaveConverged) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 2);
  ReportInput input = input_of(chains);
  input.summary.parameters[1].rhat = 1.02;
  EXPECT_EQ(report_verdict(input).level, Level::care);
  input.summary.parameters[1].rhat = 1.3;
  input.summary.warnings = {"R-hat is 1.300: take more draws."};
  const ReportVerdict verdict = report_verdict(input);
  EXPECT_EQ(verdict.level, Level::bad);
  EXPECT_TRUE(
      has(verdict.sentences[0], "samples the posterior itself, but these chains have not explored it yet."));
  EXPECT_EQ(verdict.headline, "Do not use these draws yet");
  EXPECT_EQ(verdict.next[0], input.summary.warnings[0]);
  input.summary.parameters[1].rhat = 1;
  input.summary.parameters[1].ess_tail = 50;
  input.summary.warnings.clear();
  EXPECT_EQ(report_verdict(input).level, Level::care);
}

TEST(ReportVerdict, SaysWhatTheModelDoesNotImitate) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 2);
  ReportInput input = input_of(chains);
  input.facts.check =
      PredictiveCheck{.rows = 100, .draws = 50, .groups = {}, .statistics = {{"sd", 2.05, 2, 1.9, 2.1, 0.7}}};
  EXPECT_EQ(report_verdict(input).level, Level::good);
  input.facts.check->statistics[0].observed = 2.15;  // outside of the interval, but not by far
  EXPECT_EQ(report_verdict(input).level, Level::good);
  input.facts.check->statistics[0].observed = 2.3;
  EXPECT_EQ(report_verdict(input).level, Level::care);
}

TEST(ReportVerdict, SaysWhetherRowsThatWereHeldOutArePredictedWell) {
  const std::vector<ChainDraws> chains = normal_chains(4, 500, 2);
  ReportInput input = input_of(chains);
  Scores& scores = input.summary.holdout.emplace();
  const auto said = [&](const std::string& words) {
    for (const std::string& sentence : report_verdict(input).sentences)
      if (sentence.find(words) != std::string::npos) return true;
    return false;
  };
  // Shares: errors of half a standard error, and one event where a thousandth was expected.
  scores.brier = 0.2;
  for (int k = 0; k < 10; ++k) {
    const double p = 0.05 + 0.1 * k;
    scores.calibration.push_back({100, p, p + 0.5 * std::sqrt(p * (1 - p) / 100)});
  }
  scores.calibration[0] = {100, 0.00001, 0.01};
  EXPECT_TRUE(said("held out agree with"));
  EXPECT_EQ(report_verdict(input).level, Level::good);
  // Three standard errors in every group.
  for (CalibrationBin& g : scores.calibration) g.observed = g.predicted + 3 * std::sqrt(0.25 / 100);
  EXPECT_TRUE(said("held out differ from"));
  EXPECT_EQ(report_verdict(input).level, Level::care);
  // Of other responses, by the mean squared error: the same errors of numbers whose spread is ten times
  // larger.
  scores.brier.reset();
  scores.rmse = 5;
  EXPECT_TRUE(said("held out agree with"));
  scores.rmse = 0.3;
  EXPECT_TRUE(said("held out differ from"));
  // Too few groups say nothing.
  scores.calibration.resize(4);
  EXPECT_FALSE(said("held out"));
}

// RFC 4648, section 10.
TEST(Base64, IsThatOfTheRfc) {
  const auto of = [](const std::string& text) {
    return html::base64({reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  };
  EXPECT_EQ(of(""), "");
  EXPECT_EQ(of("f"), "Zg==");
  EXPECT_EQ(of("fo"), "Zm8=");
  EXPECT_EQ(of("foo"), "Zm9v");
  EXPECT_EQ(of("foobar"), "Zm9vYmFy");
}

TEST(RunFacts, ComeBackFromJsonAsTheyWere) {
  RunFacts facts;
  EXPECT_EQ(facts_to_json(facts_from_json(facts_to_json(facts), 2)), facts_to_json(facts));
  facts.priors = {{"student_t(3, 0, 1)", false, true}, {.text = "lkj(2)", .correlation_shape = 2.5}};
  EXPECT_EQ(facts_to_json(facts_from_json(facts_to_json(facts), 2)), facts_to_json(facts));
  facts.priors = {{"normal(0, 1)", true}, {"flat", false}};
  facts.mode = {0.5, -1};
  facts.factors = {{"f", "a", {"b"}, {1}}};
  facts.rows_read = {{0, 4}, {7, 8}};
  facts.check = PredictiveCheck{.rows = 3,
                                .draws = 2,
                                .binary = true,
                                .groups = {{0, 1, 2, 3, 4, 5}},
                                .statistics = {{"mean", 1, 2, 3, 4, 5}}};
  const Json json = facts_to_json(facts);
  EXPECT_EQ(facts_to_json(facts_from_json(json, 2)), json);
  EXPECT_THROW(static_cast<void>(facts_from_json(json, 3)), JsonError);
  facts.factors[0].parameters = {2};
  EXPECT_THROW(static_cast<void>(facts_from_json(facts_to_json(facts), 2)), JsonError);
}

TEST(RowsRead, AreCountedInBinsThatDouble) {
  ChainAccount a, b;
  a.rows_sample = {0, 0, 1, 2, 3, 4, 5, 8, 9, 0};
  b.rows_sample = {0, 7, 0, 7};
  b.rows_stride = 1;
  const RowsReadFact fact = rows_read_of({&a, &b});
  EXPECT_EQ(fact.most, (std::vector<std::uint64_t>{0, 1, 2, 4, 8, 16}));
  EXPECT_EQ(fact.steps, (std::vector<std::uint64_t>{5, 1, 1, 2, 4, 1}));
  b.rows_stride = 2;  // a sample of every second step counts as much as it stands for
  EXPECT_EQ(rows_read_of({&a, &b}).steps, (std::vector<std::uint64_t>{3, 1, 1, 3, 1}));
}

}  // namespace
}  // namespace mlo
