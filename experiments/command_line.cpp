// Copyright (c) the mlo authors. BSD-3-Clause.
#include "experiments/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "mlo/base/json.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo::experiments {
namespace {

std::string quoted(const std::string& text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("._-/,+").find(static_cast<char>(c)) != std::string::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (std::string_view("\"\\$`").find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out + '"';
}

std::string word(const Json& value) {
  return quoted(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string command_line(const FitOptions& options) {
  const Json given = Json::parse(options_to_json(options)), usual = Json::parse(options_to_json({}));
  std::string out = "mlo fit";
  for (const std::string& file : options.data) out += ' ' + quoted(file);
  out += ' ' + quoted(options.formula);
  for (const auto& [name, value] : given.members()) {
    if (name == "data" || name == "formula" || value == usual.at(name)) continue;
    if (value.is_array()) {  // --prior-for: pairs
      for (const auto& [parameter, prior] : value.get<std::vector<std::pair<std::string, std::string>>>())
        out += fmt::format(" --{} {} {}", name, quoted(parameter), quoted(prior));
    } else if (value.is_bool()) {
      out += fmt::format(" --{}", name);
    } else {
      out += fmt::format(" --{} {}", name, word(value));
    }
  }
  return out;
}

std::string command_line(const SimulateOptions& o, const std::string& seed) {
  const SimulateOptions usual;
  std::string out = fmt::format("mlo simulate {} --rows {} --coefficients {}", o.family, o.rows,
                                fmt::join(o.coefficients, ","));
  const auto add = [&](const char* name, double value, double otherwise) {
    if (value != otherwise) out += fmt::format(" --{} {}", name, value);
  };
  add("intercept", o.intercept, usual.intercept);
  add("correlation", o.correlation, usual.correlation);
  for (const auto& [name, value] : o.numbers) out += fmt::format(" --{} {}", name, value);
  return out + fmt::format(" --seed {} --out data.csv", seed);
}

}  // namespace mlo::experiments
