// Copyright (c) the mlo authors. BSD-3-Clause.
// The functions of a formula. A new one is one line of the table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

template <class F>
void each(std::span<double> values, F f) {
  for (double& value : values) value = f(value);
}
void identity(std::span<double>) {}

// In alphabetical order, as the message lists them.
constexpr std::array<Function, 9> functions = {{
    {"abs", [](std::span<double> v) { each(v, [](double x) { return std::fabs(x); }); }},
    {"exp", [](std::span<double> v) { each(v, [](double x) { return std::exp(x); }); }},
    {"I", identity},
    {"log", [](std::span<double> v) { each(v, [](double x) { return std::log(x); }); }},
    {"log10", [](std::span<double> v) { each(v, [](double x) { return std::log10(x); }); }},
    {"log1p", [](std::span<double> v) { each(v, [](double x) { return std::log1p(x); }); }},
    {"log2", [](std::span<double> v) { each(v, [](double x) { return std::log2(x); }); }},
    {"offset", identity},
    {"sqrt", [](std::span<double> v) { each(v, [](double x) { return std::sqrt(x); }); }},
}};

// Functions that R users write: the message says "not supported yet" instead of "unknown".
constexpr std::array<std::string_view, 25> of_r = {
    "as.factor", "as.numeric", "bs",  "C",      "cbind",    "cos", "cut",  "expm1",   "factor",
    "gp",        "ifelse",     "lo",  "mo",     "monotone", "ns",  "poly", "relevel", "round",
    "s",         "scale",      "sin", "strata", "t2",       "te",  "ti"};

}  // namespace

const Function* find_function(std::string_view name) {
  const auto* const found = std::find_if(functions.begin(), functions.end(),
                                         [&](const Function& function) { return function.name == name; });
  return found == functions.end() ? nullptr : found;
}

std::string unknown_function(const std::string& name) {
  std::string known;
  for (const Function& function : functions) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", function.name);
  }
  const bool r = std::find(of_r.begin(), of_r.end(), name) != of_r.end();
  return r ? fmt::format("{}() is not supported yet (supported: {})", name, known)
           : fmt::format("unknown function {}() (known: {})", name, known);
}

}  // namespace mlo::syntax
