// Copyright (c) the mlo authors. BSD-3-Clause.
// The functions of a formula and their arguments. A new function of one number is one line of the table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "data/formula_syntax.hpp"

namespace mlo::syntax {
namespace {

template <double (*f)(double)>
void each(std::span<double> values) {
  for (double& value : values) value = f(value);
}
void identity(std::span<double>) {}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// In alphabetical order, as the message lists them.
constexpr std::array<Function, 43> functions = {{
    {"abs", "x", 1, each<std::fabs>},
    {"as.factor", "x"},
    {"as.numeric", "x", 1, identity},
    {"bs", "x, df, knots, degree, intercept, Boundary.knots"},
    {"C", "object, contr, base"},
    {"c", "...", 0},
    {"cbind", "successes, failures", 2},
    {"ceiling", "x", 1, each<std::ceil>},
    {"cos", "x", 1, each<std::cos>},
    {"cut", "x, breaks, labels, right, include.lowest", 2},
    {"days", "x"},
    {"exp", "x", 1, each<std::exp>},
    {"expm1", "x", 1, each<std::expm1>},
    {"factor", "x, levels, labels"},
    {"floor", "x", 1, each<std::floor>},
    {"hour", "x"},
    {"I", "x", 1, identity},
    {"ifelse", "test, yes, no", 3},
    {"is.na", "x"},
    {"log", "x, base", 1, each<std::log>},
    {"log10", "x", 1, each<std::log10>},
    {"log1p", "x", 1, each<std::log1p>},
    {"log2", "x", 1, each<std::log2>},
    {"mday", "x"},
    {"minute", "x"},
    {"month", "x"},
    {"ns", "x, df, knots, intercept, Boundary.knots"},
    {"offset", "x", 1, identity},
    {"pmax", "...", 1},
    {"pmin", "...", 1},
    {"poly", "x, degree, raw", 2},
    {"relevel", "x, ref", 2},
    {"round", "x, digits", 1, each<std::nearbyint>},
    {"scale", "x, center, scale"},
    {"second", "x"},
    {"sign", "x", 1, each<sign>},
    {"sin", "x", 1, each<std::sin>},
    {"sqrt", "x", 1, each<std::sqrt>},
    {"tan", "x", 1, each<std::tan>},
    {"trunc", "x", 1, each<std::trunc>},
    {"wday", "x"},
    {"yday", "x"},
    {"year", "x"},
}};

// Functions that R users write: the message says "not supported" instead of "unknown".
constexpr std::array<std::string_view, 11> of_r = {"exposure", "gp",           "interaction", "mo",
                                                   "monotone", "nchar",        "paste",       "strata",
                                                   "substr",   "model.matrix", "ordered"};

constexpr std::array<std::string_view, 5> smooths = {"lo", "s", "t2", "te", "ti"};

std::vector<std::string_view> split(std::string_view parameters) {
  std::vector<std::string_view> out;
  while (!parameters.empty()) {
    const std::size_t comma = std::min(parameters.find(", "), parameters.size());
    out.push_back(parameters.substr(0, comma));
    parameters.remove_prefix(std::min(comma + 2, parameters.size()));
  }
  return out;
}

bool is_label(const Expression& call, std::string_view label) {
  return std::find(call.labels.begin(), call.labels.end(), label) != call.labels.end();
}

}  // namespace

const Function* find_function(std::string_view name) {
  const auto* const found = std::find_if(functions.begin(), functions.end(), [&](const Function& function) {
    return !name.empty() && function.name == name;
  });
  return found == functions.end() ? nullptr : found;
}

// Labels first; the arguments without one take the parameters that are left, in order.
const Expression* argument(const Expression& call, std::string_view parameter) {
  for (std::size_t i = 0; i < call.arguments.size(); ++i)
    if (call.labels[i] == parameter) return &call.arguments[i];
  std::size_t at = 0;
  for (const std::string_view name : split(find_function(call.name)->parameters)) {
    if (is_label(call, name)) continue;
    while (at < call.arguments.size() && !call.labels[at].empty()) ++at;
    if (at == call.arguments.size()) return nullptr;
    if (name == parameter) return &call.arguments[at];
    ++at;
  }
  return nullptr;
}

std::string wrong_arguments(const Expression& call) {
  const Function& function = *find_function(call.name);
  const std::size_t given = call.arguments.size();
  const auto count = [](std::size_t n) { return fmt::format("{} argument{}", n, n == 1 ? "" : "s"); };
  const bool any = function.parameters == "...";
  const std::vector<std::string_view> names = split(function.parameters);
  for (std::size_t i = 0; i < given; ++i) {
    const std::string& label = call.labels[i];
    if (label.empty()) continue;
    if (any || std::find(names.begin(), names.end(), label) == names.end())
      return fmt::format("{}() has no argument \"{}\"; it is {}({})", call.name, label, call.name,
                         function.parameters);
    if (std::count(call.labels.begin(), call.labels.end(), label) > 1)
      return fmt::format("{}() is given \"{}\" twice", call.name, label);
  }
  if (!any && given > names.size())
    return fmt::format("{}() takes {}{} (got {})", call.name,
                       names.size() > function.required ? "up to " : "", count(names.size()), given);
  if (given < function.required)
    return fmt::format("{}() takes {}{} (got {})", call.name,
                       any || names.size() > function.required ? "at least " : "", count(function.required),
                       given);
  for (std::size_t k = 0; !any && k < function.required; ++k)
    if (argument(call, names[k]) == nullptr)
      return fmt::format("{}() needs its argument \"{}\"; it is {}({})", call.name, names[k], call.name,
                         function.parameters);
  return {};
}

std::string unknown_function(const std::string& name) {
  if (std::find(smooths.begin(), smooths.end(), name) != smooths.end())
    return fmt::format("{}() is not supported; write ns(x, df = 4) or bs(x, df = 5) for a smooth curve",
                       name);
  std::string known;
  for (const Function& function : functions) {
    if (!function.name.empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", function.name);
  }
  const bool r = std::find(of_r.begin(), of_r.end(), name) != of_r.end();
  return r ? fmt::format("{}() is not supported (supported: {})", name, known)
           : fmt::format("unknown function {}() (known: {})", name, known);
}

}  // namespace mlo::syntax
