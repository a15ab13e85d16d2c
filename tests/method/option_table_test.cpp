// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/method/option_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>

#include "mlo/base/errors.hpp"
#include "mlo/base/files.hpp"
#include "mlo/method/plan.hpp"

namespace mlo {
namespace {

using Strings = std::vector<std::pair<std::string, std::string>>;

// Every field with a value other than its default. A new field makes the assertion below fail: add it here,
// to every_text(), and as a row of the table.
MethodOptions every_method_option() {
  return {"barker",
          11,
          222,
          0.125,
          "control-variates",
          "score",
          "map",
          0.25,
          "yes",
          0.5,
          "hoeffding",
          7,
          3,
          0.75,
          "factorised",
          2,
          true,
          17,
          "random-walk",
          0.375,
          "identity",
          "mode",
          5,
          60,
          70,
          8,
          18446744073709551615ULL,
          9};
}
FitOptions every_option() {
  return {every_method_option(),
          {"my data.csv", "more*.csv"},
          "y ~ `a \"b\"` + x",
          "select * from t",
          "student",
          {{"known-sigma", 0.1},
           {"known-mean", -1.5},
           {"freedom", 3},
           {"phi", 0.5},
           {"size", 1e-300},
           {"zi", 0.25},
           {"shape", 2.5}},
          "normal(0, 1)",
          "flat",
          {{"x", "flat"}, {"sigma", "gamma(1, 2)"}},
          "cauchy(0, 1)",
          "lkj(2)",
          "summary",
          "class b",
          "sd",
          "error",
          0.0625,
          77,
          "w",
          "n",
          ";",
          ",",
          "#",
          "NA,-",
          {{"zip", "text"}, {"a=b", "number"}},
          "run 1",
          "stan-csv,netcdf",
          true,
          true};
}
// The same by the names in the table.
const Strings& every_text() {
  static const Strings texts{{"method", "barker"},
                             {"subsample-size", "11"},
                             {"max-subsample-size", "222"},
                             {"delta", "0.125"},
                             {"estimator", "control-variates"},
                             {"weights", "score"},
                             {"weights-at", "map"},
                             {"uniform-share", "0.25"},
                             {"replacement", "yes"},
                             {"noise-sd", "0.5"},
                             {"bound", "hoeffding"},
                             {"blocks", "7"},
                             {"shards", "3"},
                             {"bandwidth", "0.75"},
                             {"thinning", "factorised"},
                             {"order", "2"},
                             {"audit", "true"},
                             {"audit-every", "17"},
                             {"proposal", "random-walk"},
                             {"proposal-scale", "0.375"},
                             {"proposal-shape", "identity"},
                             {"start", "mode"},
                             {"chains", "5"},
                             {"warmup", "60"},
                             {"draws", "70"},
                             {"thin", "8"},
                             {"seed", "18446744073709551615"},
                             {"threads", "9"},
                             {"data", "my data.csv"},
                             {"data", "more*.csv"},
                             {"sql", "select * from t"},
                             {"formula", "y ~ `a \"b\"` + x"},
                             {"family", "student"},
                             {"known-sigma", "0.1"},
                             {"known-mean", "-1.5"},
                             {"freedom", "3"},
                             {"phi", "0.5"},
                             {"size", "1e-300"},
                             {"zi", "0.25"},
                             {"shape", "2.5"},
                             {"prior", "normal(0, 1)"},
                             {"prior-intercept", "flat"},
                             {"prior-for", "x flat"},
                             {"prior-for", "sigma gamma(1, 2)"},
                             {"prior-sd", "cauchy(0, 1)"},
                             {"prior-cor", "lkj(2)"},
                             {"save-groups", "summary"},
                             {"base", "class b"},
                             {"scale", "sd"},
                             {"missing", "error"},
                             {"holdout", "0.0625"},
                             {"max-levels", "77"},
                             {"row-weights", "w"},
                             {"trials", "n"},
                             {"delimiter", ";"},
                             {"decimal", ","},
                             {"comment", "#"},
                             {"na", "NA,-"},
                             {"type", "zip=text"},
                             {"type", "a=b=number"},
                             {"out", "run 1"},
                             {"format", "stan-csv,netcdf"},
                             {"resume", "true"},
                             {"report", "true"}};
  return texts;
}

// Whether the struct has a field beyond those that are listed above.
template <class T>
concept HasOneMoreMethodField = requires {
  T{"", 0,    0, 0., "", "", "", 0., "", 0., "", 0,    0, 0., "",
    0,  true, 0, "", 0., "", "", 0,  0,  0,  0,  0ULL, 0, {}};
};
template <class T>
concept HasTheseMethodFields = requires {
  T{"", 0, 0, 0., "", "", "", 0., "", 0., "", 0, 0, 0., "", 0, true, 0, "", 0., "", "", 0, 0, 0, 0, 0ULL, 0};
};
template <class T>
concept HasOneMoreFitField = requires {
  T{MethodOptions{},
    {},
    "",
    "",
    "",
    {},
    "",
    "",
    {},
    "",
    "",
    "",
    "",
    "",
    "",
    0.,
    0,
    "",
    "",
    "",
    "",
    "",
    "",
    {},
    "",
    "",
    true,
    true,
    {}};
};
template <class T>
concept HasTheseFitFields = requires {
  T{MethodOptions{},
    {},
    "",
    "",
    "",
    {},
    "",
    "",
    {},
    "",
    "",
    "",
    "",
    "",
    "",
    0.,
    0,
    "",
    "",
    "",
    "",
    "",
    "",
    {},
    "",
    "",
    true,
    true};
};
static_assert(HasTheseMethodFields<MethodOptions> && !HasOneMoreMethodField<MethodOptions>,
              "a field of MethodOptions is not in every_method_option()");
static_assert(HasTheseFitFields<FitOptions> && !HasOneMoreFitField<FitOptions>,
              "a field of FitOptions is not in every_option()");

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(OptionTable, HasARowForEveryField) {
  FitOptions by_table;
  for (const auto& [name, text] : every_text()) set_option(by_table, name, text);
  EXPECT_EQ(options_to_json(by_table), options_to_json(every_option()));  // says which one differs
  EXPECT_TRUE(by_table == every_option());
}

TEST(OptionTable, HasNoRowThatIsNotTestedHere) {
  const FitOptions every = every_option();
  for (const Option& option : option_table()) {
    const auto here = [&](const auto& text) { return text.first == option.name; };
    EXPECT_TRUE(std::any_of(every_text().begin(), every_text().end(), here)) << option.name;
    EXPECT_TRUE(is_given(option, every)) << option.name;
    EXPECT_FALSE(is_given(option, {})) << option.name;
    EXPECT_EQ(find_option(option.name), &option) << "two rows are called " << option.name;
  }
}

TEST(OptionTable, OptionsComeBackFromJsonAsTheyWere) {
  FitOptions expected = every_option();
  const FitOptions back = options_from_json(options_to_json(expected), "run.json");
  // What does not decide the draws is not kept.
  const FitOptions usual;
  expected.threads = usual.threads;
  expected.out = usual.out;
  expected.resume = usual.resume;
  expected.report = usual.report;
  EXPECT_EQ(options_to_json(back), options_to_json(expected));
  EXPECT_TRUE(back == expected);
  for (const Option& option : option_table())
    EXPECT_EQ(option.decides_draws, is_given(option, back)) << option.name;

  EXPECT_TRUE(options_from_json(options_to_json(usual), "run.json") == usual);
}

TEST(OptionTable, JsonThatIsNotOfARunIsRefused) {
  for (const char* text :
       {"{}", "[]", "7", "", "{\"data\": \"a.csv\"}", "{\"data\": 7, \"formula\": \"y ~ x\"}",
        "{\"data\": \"a.csv\", \"formula\": \"y ~ x\", \"draws\": \"many\"}"})
    EXPECT_THROW(static_cast<void>(options_from_json(text, "run.json")), DataError) << text;
  // An option that is newer than the run has its default.
  FitOptions expected;
  expected.data = {"a.csv"};
  expected.formula = "y ~ x";
  EXPECT_TRUE(options_from_json("{\"data\": \"a.csv\", \"formula\": \"y ~ x\"}", "run.json") == expected);
  EXPECT_TRUE(options_from_json("{\"data\": [\"a.csv\"], \"formula\": \"y ~ x\"}", "run.json") == expected);
}

TEST(OptionTable, EveryRowHasAHelpTextAndARuleThatAcceptsItsDefault) {
  EXPECT_NO_THROW(check_values({}));
  for (const Option& option : option_table()) {
    EXPECT_GE(option.help.size(), 5U) << option.name;
    EXPECT_NE(option.help.back(), '.') << option.name;
    if (option.usual.empty()) continue;
    FitOptions o = every_option();
    set_option(o, option.name, option.usual);
    EXPECT_FALSE(is_given(option, o)) << option.name;
    EXPECT_EQ(refusal([&] { check_values(o); }), "") << option.name;
  }
}

TEST(OptionTable, TextThatIsNotAValueIsRefusedByName) {
  FitOptions o;
  const auto set = [&](const char* name, const char* text) {
    return refusal([&] { set_option(o, name, text); });
  };
  EXPECT_EQ(set("draws", "many"), "`draws` must be a whole number of at most 18 digits (got \"many\")");
  EXPECT_EQ(set("draws", "1.5"), "`draws` must be a whole number of at most 18 digits (got \"1.5\")");
  EXPECT_EQ(set("draws", ""), "`draws` must be a whole number of at most 18 digits (got \"\")");
  EXPECT_EQ(set("seed", "-1"), "`seed` must be a whole number from 0 to 18446744073709551615 (got \"-1\")");
  EXPECT_EQ(set("delta", "0.1x"), "`delta` must be a number (got \"0.1x\")");
  EXPECT_EQ(set("freedom", ""), "`freedom` must be a number (got \"\")");
  EXPECT_EQ(set("audit", "yes"), "`audit` must be true or false (got \"yes\")");
  EXPECT_EQ(set("prior-for", "x"), "`prior-for` must be a name and a prior (got \"x\")");
  EXPECT_EQ(set("drows", "1"), "there is no option \"drows\"");
  EXPECT_TRUE(o == FitOptions()) << "what is refused changes nothing";
}

TEST(OptionTable, ThePriorOfANameWithBlanksIsFound) {
  FitOptions o;
  for (const char* text :
       {"x flat", "I(a + b) normal(0, 1)", "`my x`  student_t(3, 0, 1)", "my x cauchy(0,1)"})
    set_option(o, "prior-for", text);
  EXPECT_EQ(o.prior_for, (Strings{{"x", "flat"},
                                  {"I(a + b)", "normal(0, 1)"},
                                  {"`my x`", "student_t(3, 0, 1)"},
                                  {"my x", "cauchy(0,1)"}}));
  for (const char* text : {"", " ", "flat", " flat", "x ", "normal(0, 1)"})
    EXPECT_THROW(set_option(o, "prior-for", text), UsageError) << '"' << text << '"';
  EXPECT_EQ(o.prior_for.size(), 4U);
}

TEST(OptionTable, NumbersMayHaveASign) {
  FitOptions o;
  set_option(o, "known-mean", "+0.5");
  EXPECT_EQ(o.numbers["known-mean"], 0.5);
  set_option(o, "known-mean", "-0.5e1");
  EXPECT_EQ(o.numbers["known-mean"], -5);
  for (const char* text : {"+-0.5", "++1", "+", "-", "1 ", " 1", "0x1"})
    EXPECT_THROW(set_option(o, "known-mean", text), UsageError) << '"' << text << '"';
}

TEST(OptionTable, AValueThatBreaksItsRuleIsRefused) {
  const auto with = [](const char* name, const char* text) {
    return refusal([&] {
      FitOptions o;
      set_option(o, name, text);
      check_values(o);
    });
  };
  EXPECT_EQ(with("chains", "0"), "`chains` must be at least 1 (got 0)");
  EXPECT_EQ(with("chains", "10001"), "`chains` must be at most 10000 (got 10001)");
  EXPECT_EQ(with("draws", "1000000001"), "`draws` must be at most 1000000000 (got 1000000001)");
  EXPECT_EQ(with("order", "4"), "`order` must be at most 3 (got 4)");
  EXPECT_EQ(with("uniform-share", "1.5"), "`uniform-share` must be between 0 and 1 (got 1.5)");
  EXPECT_EQ(with("uniform-share", "nan"), "`uniform-share` must be between 0 and 1 (got nan)");
  EXPECT_EQ(with("delta", "0"), "`delta` must be between 0 and 1, exclusive (got 0)");
  EXPECT_EQ(with("noise-sd", "0"), "`noise-sd` must be positive (got 0)");
  EXPECT_EQ(with("bandwidth", "inf"), "`bandwidth` must be positive and finite (got inf)");
  EXPECT_EQ(with("scale", "big"), "`scale` must be one of none, sd, standard (got \"big\")");
  EXPECT_NE(with("prior", "foo"), "");
  EXPECT_NE(with("prior-for", "x foo"), "");
  EXPECT_EQ(with("uniform-share", "0"), "");
  EXPECT_EQ(with("uniform-share", "1"), "");
  EXPECT_EQ(with("warmup", "0"), "");
}

// A value that the method accepts, and what else must be given for it to have a meaning.
Strings usable(const Option& option, const MethodSpec& method) {
  const bool unequal = method.parts && method.parts->weights != RowWeights::uniform;
  const std::string own = method.role == Role::difference ? "remainder" : unequal ? "mlo" : "uniform";
  const std::string& name = option.name;
  if (name == "weights") return {{name, own}};
  if (name == "replacement") return {{name, unequal ? "yes" : "no"}};
  if (name == "weights-at" || name == "uniform-share") {
    Strings out{{name, name == "weights-at" ? "map" : "0.25"}};
    if (!unequal) out.emplace_back("weights", "mlo");
    return out;
  }
  if (name == "audit-every") return {{name, "17"}, {"audit", "true"}};
  if (name == "proposal-shape") return {{name, "laplace"}, {"proposal", "random-walk"}};
  for (const auto& [its_name, text] : every_text())
    if (its_name == name) return {{name, text}};
  return {};
}

TEST(OptionTable, EachMethodTakesTheOptionsThatItUsesAndNoOthers) {
  for (const MethodSpec& method : methods())
    for (const Option& option : option_table()) {
      if (!option.used_by) continue;
      FitOptions o;
      o.method = method.name;
      for (const auto& [name, text] : usable(option, method)) set_option(o, name, text);
      const std::string words = refusal([&] { check(static_cast<const MethodOptions&>(o)); });
      if (option.used_by(method)) {
        EXPECT_EQ(words, "") << option.name << " with " << method.name;
        continue;
      }
      // The option that is checked, or the one that it needs.
      EXPECT_NE(words.find("has no meaning with `method " + std::string(method.name) + '`'),
                std::string::npos)
          << option.name << " with " << method.name << ": " << words;
    }
}

TEST(OptionTable, SaysWhichMethodsAnOptionIsFor) {
  const auto with = [](const char* method, const char* name, const char* text) {
    return refusal([&] {
      FitOptions o;
      o.method = method;
      set_option(o, name, text);
      check(o);
    });
  };
  EXPECT_EQ(with("full", "delta", "0.1"),
            "`delta` has no meaning with `method full`; it is for mlo-adaptive, austerity and confidence");
  EXPECT_EQ(with("auto", "order", "2"), "`order` has no meaning with `method auto`; it is for exact");
  EXPECT_EQ(
      with("consensus", "proposal", "laplace"),
      "`proposal` has no meaning with `method consensus`, whose shards have proposals of their own; it is for "
      "all methods except consensus and weierstrass");
  EXPECT_EQ(with("uniform", "weights-at", "map"),
            "`weights-at` has no meaning with `method uniform`, whose weights are uniform; it is for mlo, "
            "mlo-adaptive, austerity, barker and penalty");
  EXPECT_EQ(
      with("difference", "weights-at", "map"),
      "`weights-at` has no meaning with `method difference`, whose weights are taken at the mode; it is for "
      "mlo, mlo-adaptive, austerity, barker and penalty");
}

TEST(OptionTable, DocsAreUpToDate) {
  const std::string file = MLO_SOURCE_DIR "/docs/options.md";
  if (std::getenv("MLO_UPDATE_DOCS") != nullptr) write_file(file, options_markdown());
  EXPECT_TRUE(read_file(file) == options_markdown())
      << file
      << " is not what the table of options says. Write it again with\n  MLO_UPDATE_DOCS=1 test_method "
      << "--gtest_filter=OptionTable.DocsAreUpToDate";
}

}  // namespace
}  // namespace mlo
