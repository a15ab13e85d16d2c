// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mlo {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;
constexpr std::uint64_t two_to_63 = std::uint64_t{1} << 63;

std::string round_trip(const std::string& text) { return Json::parse(text).dump(); }

// The message of the error that `action` throws.
template <class Action>
std::string error_of(const Action& action) {
  try {
    static_cast<void>(action());
  } catch (const JsonError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Json, TextComesBackAsItWas) {
  for (const char* text :
       {"null", "true", "false", "0", "-7", "1.5", "-1e-300", "\"\"", "\"a\\\"\\\\\\n\"", "[]", "{}",
        "[1,[2,{\"a\":[]}],null]", "{\"b\":{\"a\":1},\"a\":\"b\"}", "\"caf\xc3\xa9\""})
    EXPECT_EQ(round_trip(text), text);
  EXPECT_EQ(round_trip(" [ 1 , 2 ] \n"), "[1,2]");
}

TEST(Json, ADoubleKeepsItsPointAndAllItsDigits) {
  EXPECT_EQ(Json(1.0).dump(), "1.0");
  EXPECT_EQ(Json(1).dump(), "1");
  for (const double value : {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, std::numeric_limits<double>::max()})
    EXPECT_EQ(Json::parse(Json(value).dump()).get<double>(), value);
}

TEST(Json, WholeNumbersAreExactToTheirLimits) {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(Json(most).dump(), "18446744073709551615");
  EXPECT_EQ(Json::parse("18446744073709551615").get<std::uint64_t>(), most);
  EXPECT_EQ(Json::parse("9223372036854775808").get<std::uint64_t>(), two_to_63);
  EXPECT_EQ(Json::parse("-9223372036854775808").get<std::int64_t>(), least);
  EXPECT_EQ(Json(least).dump(), "-9223372036854775808");
  EXPECT_EQ(Json::parse("9223372036854775807").get<std::int64_t>(), std::numeric_limits<std::int64_t>::max());
  EXPECT_THROW(static_cast<void>(Json(two_to_63).get<std::int64_t>()), JsonError);
  EXPECT_THROW(static_cast<void>(Json(-1).get<std::uint64_t>()), JsonError);
  EXPECT_THROW(static_cast<void>(Json(256).get<std::uint8_t>()), JsonError);
  EXPECT_THROW(static_cast<void>(Json(-129).get<std::int8_t>()), JsonError);
  EXPECT_EQ(Json(-128).get<std::int8_t>(), -128);
  // Larger ones are doubles to the JSON library, and so to us.
  EXPECT_EQ(Json::parse("18446744073709551616").get<double>(), std::ldexp(1.0, 64));
}

TEST(Json, WhatIsNotFiniteIsNullAndComesBackAsNaN) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Json json;
  json["nan"] = std::nan("");
  json["inf"] = inf;
  json["list"] = std::vector<double>{1, -inf};
  EXPECT_EQ(json.dump(), R"({"nan":null,"inf":null,"list":[1.0,null]})");
  EXPECT_TRUE(json.at("nan").is_null());
  EXPECT_TRUE(std::isnan(json.number("inf")));
  EXPECT_THROW(static_cast<void>(json.get<double>("nan")), JsonError);
  EXPECT_THROW(static_cast<void>(Json::parse("1e999")), JsonError);
}

TEST(Json, MembersKeepTheOrderInWhichTheyWereMade) {
  Json json;
  json["z"] = 1;
  json["a"] = 2;
  json["m"] = 3;
  json["z"] = 4;
  EXPECT_EQ(json.dump(), R"({"z":4,"a":2,"m":3})");
  std::string names;
  const Json again = Json::parse(json.dump());
  for (const auto& [name, value] : again.members()) names += name;
  EXPECT_EQ(names, "zam");
  EXPECT_EQ(round_trip(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
}

TEST(Json, ObjectsAndArraysCanBeWrittenInBraces) {
  const std::string text = "x";
  const Json json{
      {"name", text}, {"sd", {{"low", 0.5}, {"high", 2}}}, {"list", Json::array({1, "b", nullptr})}};
  EXPECT_EQ(json.dump(), R"({"name":"x","sd":{"low":0.5,"high":2},"list":[1,"b",null]})");
  const Json copy{json};
  EXPECT_EQ(copy, json);
  EXPECT_EQ(
      json.dump(2),
      "{\n  \"name\": \"x\",\n  \"sd\": {\n    \"low\": 0.5,\n    \"high\": 2\n  },\n  \"list\": [\n    1,\n"
      "    \"b\",\n    null\n  ]\n}");
}

TEST(Json, TextIsNeverTakenForTrue) {
  EXPECT_TRUE(Json("false").is_string());
  EXPECT_TRUE(Json(std::string_view("x")).is_string());
  EXPECT_TRUE(Json(true).is_bool());
  EXPECT_TRUE(Json(nullptr).is_null());
}

TEST(Json, AnOptionOfAnyTypeComesBackByName) {
  Json json;
  json["bool"] = true;
  json["signed"] = std::int64_t{-3};
  json["unsigned"] = two_to_63;
  json["double"] = 2.0;
  json["string"] = "text";
  json["pairs"] = Pairs{{"a", "normal(0, 1)"}, {"b", "flat"}};
  json["none"] = Pairs{};
  json["given"] = std::optional(0.25);
  json["not given"] = std::optional<std::uint64_t>();
  const Json again = Json::parse(json.dump(2));
  EXPECT_EQ(again, json);
  EXPECT_TRUE(again.get<bool>("bool"));
  EXPECT_EQ(again.get<std::int64_t>("signed"), -3);
  EXPECT_EQ(again.get<std::uint64_t>("unsigned"), two_to_63);
  EXPECT_EQ(again.get<double>("double"), 2);
  EXPECT_EQ(again.get<double>("signed"), -3);
  EXPECT_EQ(again.get<std::string>("string"), "text");
  EXPECT_EQ(again.get<Pairs>("pairs"), (Pairs{{"a", "normal(0, 1)"}, {"b", "flat"}}));
  EXPECT_EQ(again.get<Pairs>("none"), Pairs{});
  EXPECT_EQ(again.get<std::optional<double>>("given"), 0.25);
  EXPECT_EQ(again.get<std::optional<std::uint64_t>>("not given"), std::nullopt);
  EXPECT_THROW(static_cast<void>(again.get<std::optional<double>>("string")), JsonError);
  EXPECT_EQ(again.get<Json>("pairs"), json.at("pairs"));
}

TEST(Json, AnErrorNamesTheMemberAndWhatWasFound) {
  const Json json = Json::parse(R"({"n": "many", "x": 1.5, "b": 1, "pairs": [["a"]], "list": [1, "x"]})");
  EXPECT_EQ(error_of([&] { return json.get<double>("n"); }), R"("n" must be a number (got "many"))");
  EXPECT_EQ(error_of([&] { return json.get<std::uint8_t>("x"); }),
            R"("x" must be a whole number between 0 and 255 (got 1.5))");
  EXPECT_EQ(error_of([&] { return json.get<bool>("b"); }), R"("b" must be true or false (got 1))");
  EXPECT_EQ(error_of([&] { return json.get<std::string>("x"); }), R"("x" must be text (got 1.5))");
  EXPECT_EQ(error_of([&] { return json.get<Pairs>("pairs"); }),
            R"("pairs" must be an array of two (got ["a"]))");
  EXPECT_EQ(error_of([&] { return json.get<Pairs>("n"); }), R"("n" must be an array (got "many"))");
  EXPECT_EQ(error_of([&] { return json.get<std::vector<int>>("list").size(); }),
            R"("list" must be a whole number between -2147483648 and 2147483647 (got "x"))");
  EXPECT_EQ(error_of([&] { return json.get<double>("y"); }), R"(it has no "y")");
  EXPECT_EQ(error_of([] { return Json(3).at("y").is_null(); }),
            R"(3 found where an object with "y" must be)");
  const Json none, one = 1;
  EXPECT_EQ(error_of([&] { return none.members().size(); }), "null found where an object must be");
  EXPECT_EQ(error_of([&] { return one.elements().size(); }), "1 found where an array must be");
  const std::string long_one = error_of([] { return Json(std::string(1000, 'x')).get<double>(); });
  EXPECT_LT(long_one.size(), 120U);
  EXPECT_FALSE(one.contains("y"));
  EXPECT_EQ(json.find("y"), nullptr);
}

TEST(Json, TextThatIsNotJsonIsRefusedWithItsPlace) {
  for (const char* text :
       {"", "nonsense", "{", "[1,]", "{\"a\":}", "{1:2}", "1 2", "NaN", "\"\xff\"", "'a'", "[1"})
    EXPECT_THROW(static_cast<void>(Json::parse(text)), JsonError) << text;
  const std::string message = error_of([] { return Json::parse("{\n\"a\": }").is_null(); });
  EXPECT_NE(message.find("line 2"), std::string::npos) << message;
  EXPECT_EQ(message.find("exception"), std::string::npos) << message;
}

TEST(Json, BytesThatAreNotUtf8AreReplaced) {
  Json json;
  json["caf\xe9"] =
      "a\xff"
      "b";
  EXPECT_EQ(json.dump(),
            "{\"caf\xef\xbf\xbd\":\"a\xef\xbf\xbd"
            "b\"}");
}

TEST(Json, NestingHasALimit) {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text;
    for (std::size_t k = 0; k < depth; ++k) text += open;
    text += "1";
    for (std::size_t k = 0; k < depth; ++k) text += close;
    return text;
  };
  EXPECT_EQ(round_trip(nested(Json::deepest, "[", "]")), nested(Json::deepest, "[", "]"));
  EXPECT_EQ(round_trip(nested(Json::deepest, "{\"a\":", "}")), nested(Json::deepest, "{\"a\":", "}"));
  EXPECT_THROW(static_cast<void>(Json::parse(nested(Json::deepest + 1, "[", "]"))), JsonError);
  EXPECT_THROW(static_cast<void>(Json::parse(std::string(1'000'000, '['))), JsonError);
}

TEST(Json, EqualityIsByValueAndOrder) {
  EXPECT_EQ(Json(5), Json(5U));
  EXPECT_EQ(Json(5), Json(5.0));
  EXPECT_NE(Json(5), Json("5"));
  EXPECT_NE(Json(), Json(false));
  EXPECT_EQ(Json::parse(R"({"a":[1,2]})"), Json::parse(R"({"a":[1,2.0]})"));
  EXPECT_NE(Json::parse(R"({"a":1,"b":2})"), Json::parse(R"({"b":2,"a":1})"));
}

}  // namespace
}  // namespace mlo
