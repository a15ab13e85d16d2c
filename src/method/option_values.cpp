// Copyright (c) the mlo authors. BSD-3-Clause.
// The values of options: set from text, checked, as JSON and back.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <vector>

#include "mlo/base/errors.hpp"
#include "mlo/base/json.hpp"
#include "mlo/base/names.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/model/prior.hpp"

namespace mlo {
namespace {

using Group = Option::Group;
using Pairs = std::vector<std::pair<std::string, std::string>>;

// "mlo-adaptive, austerity and confidence"; "all methods except consensus and weierstrass"
std::string users(const Option& option) {
  std::vector<std::string_view> with, without;
  for (const MethodSpec& m : methods()) (option.used_by(m) ? with : without).push_back(m.name);
  const bool nearly_all = 2 * without.size() < with.size();
  const auto& names = nearly_all ? without : with;
  std::string out = nearly_all ? "all methods except " : "";
  for (std::size_t k = 0; k < names.size(); ++k)
    out += fmt::format("{}{}", k == 0 ? "" : k + 1 == names.size() ? " and " : ", ", names[k]);
  return out;
}

// Why the method has no use for the option, as a clause; "" where the list of users says enough.
std::string_view reason(const Option& option, const MethodSpec& m) {
  if (option.name.starts_with("proposal"))
    return m.shards ? ", whose shards have proposals of their own"
                    : ", whose proposals have the shape of the Laplace fit";
  if ((option.name == "weights-at" || option.name == "uniform-share") && m.parts)
    return m.role == Role::difference ? ", whose weights are taken at the mode"
                                      : ", whose weights are uniform";
  return "";
}

// ---- values

// Calls visit(value) with the field's value; for a number of the family with an optional<double>, written
// back afterwards.
template <class Visit>
void with_value(const Option& option, FitOptions& options, const Visit& visit) {
  std::visit(
      [&](const auto& field) {
        if constexpr (requires { options.*field; }) {
          visit(options.*field);
        } else {
          const auto at = options.numbers.find(option.name);
          std::optional<double> value =
              at == options.numbers.end() ? std::nullopt : std::optional(at->second);
          visit(value);
          if (value) {
            options.numbers[option.name] = *value;
          } else {
            options.numbers.erase(option.name);
          }
        }
      },
      option.field);
}
template <class Visit>
void with_value(const Option& option, const FitOptions& options, const Visit& visit) {
  std::visit(
      [&](const auto& field) {
        if constexpr (requires { options.*field; }) {
          visit(options.*field);
        } else {
          const auto at = options.numbers.find(option.name);
          visit(at == options.numbers.end() ? std::nullopt : std::optional(at->second));
        }
      },
      option.field);
}

void parse(const Option& /*option*/, const std::string& text, std::string& value) { value = text; }
void parse(const Option& option, const std::string& text, bool& value) {
  if (text != "true" && text != "false")
    throw UsageError(fmt::format("`{}` must be true or false (got \"{}\")", option.name, text));
  value = text == "true";
}
template <class T>
requires std::integral<T> || std::floating_point<T>
void parse(const Option& option, const std::string& text, T& value) {
  T parsed{};
  // +0.5, which from_chars does not take; but not +-0.5.
  const bool plus = std::floating_point<T> && text.starts_with('+') && !text.starts_with("+-");
  const auto [stop, error] = std::from_chars(text.data() + (plus ? 1 : 0), text.data() + text.size(), parsed);
  if (error == std::errc() && stop == text.data() + text.size()) {
    value = parsed;
    return;
  }
  constexpr std::string_view kind = std::floating_point<T> ? "a number"
                                    : std::unsigned_integral<T>
                                        ? "a whole number from 0 to 18446744073709551615"
                                        : "a whole number of at most 18 digits";
  throw UsageError(fmt::format("`{}` must be {} (got \"{}\")", option.name, kind, text));
}
template <class T>
void parse(const Option& option, const std::string& text, std::optional<T>& value) {
  T parsed{};
  parse(option, text, parsed);
  value = std::move(parsed);
}
// "COLUMN=text"; each adds one. The name may have a = of its own.
void parse_assignment(const Option& option, const std::string& text, Pairs& value) {
  const std::size_t sign = text.rfind('=');
  if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
    throw UsageError(fmt::format("`{}` must be COLUMN={} (got \"{}\")", option.name,
                                 fmt::join(option.rule.one_of, fmt::format(" or COLUMN=")), text));
  value.emplace_back(text.substr(0, sign), text.substr(sign + 1));
}
// "NAME PRIOR"; each adds one. Both may have blanks, a prior only in its parentheses: "I(a + b) normal(0,
// 1)".
void parse(const Option& option, const std::string& text, Pairs& value) {
  if (!option.rule.prior) return parse_assignment(option, text, value);
  std::size_t blank = text.size();
  for (int depth = 0; blank > 0; --blank) {
    const char c = text[blank - 1];
    depth += c == ')' ? 1 : c == '(' ? -1 : 0;
    if (c == ' ' && depth == 0) break;
  }
  const std::size_t name_end = blank == 0 ? 0 : text.find_last_not_of(' ', blank - 1) + 1;
  if (name_end == 0 || blank == text.size())
    throw UsageError(fmt::format("`{}` must be a name and a prior (got \"{}\")", option.name, text));
  value.emplace_back(text.substr(0, name_end), text.substr(blank));
}

// Each adds one.
void parse(const Option& /*option*/, const std::string& text, std::vector<std::string>& value) {
  value.push_back(text);
}

struct CheckValue {
  const Option& option;

  void operator()(const std::string& text) const {
    const auto& words = option.rule.one_of;
    if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
      throw UsageError(fmt::format("`{}` must be one of {} (got \"{}\"){}", option.name,
                                   fmt::join(words, ", "), text,
                                   did_you_mean(text, std::vector<std::string>(words.begin(), words.end()))));
    if (option.rule.prior) static_cast<void>(Prior::parse(text, fmt::format("`{}`", option.name)));
  }
  void operator()(bool /*value*/) const {}
  void operator()(const std::vector<std::string>& /*texts*/) const {}
  void operator()(std::uint64_t /*value*/) const {}
  void operator()(const Pairs& pairs) const {
    for (const auto& [name, value] : pairs) {
      if (option.rule.prior) {
        static_cast<void>(Prior::parse(value, fmt::format("`{} {}`", option.name, name)));
        continue;
      }
      const auto& words = option.rule.one_of;
      if (std::find(words.begin(), words.end(), value) == words.end())
        throw UsageError(fmt::format("`{}` of \"{}\" must be one of {} (got \"{}\")", option.name, name,
                                     fmt::join(words, ", "), value));
    }
  }
  void operator()(std::int64_t value) const {
    const ValueRule& rule = option.rule;
    if (rule.least && static_cast<double>(value) < *rule.least)
      throw UsageError(fmt::format("`{}` must be at least {} (got {})", option.name, *rule.least, value));
    if (rule.most && static_cast<double>(value) > *rule.most)
      throw UsageError(fmt::format("`{}` must be at most {:.0f} (got {})", option.name, *rule.most, value));
  }
  void operator()(double value) const {
    const ValueRule& rule = option.rule;
    if (rule.positive && !(value > 0 && std::isfinite(value)))
      throw UsageError(fmt::format("`{}` must be positive{} (got {})", option.name,
                                   std::isinf(value) ? " and finite" : "", value));
    if (!rule.least) return;
    const bool inside =
        rule.open ? value > *rule.least && value < *rule.most : value >= *rule.least && value <= *rule.most;
    if (!inside)
      throw UsageError(fmt::format("`{}` must be between {} and {}{} (got {})", option.name, *rule.least,
                                   *rule.most, rule.open ? ", exclusive" : "", value));
  }
  template <class T>
  void operator()(const std::optional<T>& value) const {
    if (value) (*this)(*value);
  }
};

// One text is written without brackets.
template <class T>
Json to_json(const T& value) {
  if constexpr (std::same_as<T, std::vector<std::string>>)
    if (value.size() == 1) return value.front();
  return value;
}
template <class T>
T from_json(const Json& json, const std::string& name) {
  if constexpr (std::same_as<T, std::vector<std::string>>)
    if (json.contains(name) && json.at(name).is_string()) return {json.get<std::string>(name)};
  return json.get<T>(name);
}

}  // namespace

void set_option(FitOptions& options, std::string_view name, const std::string& value) {
  const Option* const option = find_option(name);
  if (option == nullptr) throw UsageError(fmt::format("there is no option \"{}\"", name));
  with_value(*option, options, [&](auto& field) { parse(*option, value, field); });
}

bool is_given(const Option& option, const FitOptions& options) {
  static const FitOptions usual;
  bool given = false;
  with_value(option, options, [&](const auto& value) {
    with_value(option, usual, [&](const auto& its_usual) {
      if constexpr (requires { value == its_usual; }) given = !(value == its_usual);
    });
  });
  return given;
}

void check_values(const FitOptions& options) {
  for (const Option& option : option_table()) with_value(option, options, CheckValue{option});
}

void check_use(const FitOptions& options, const MethodSpec& method) {
  for (const Option& option : option_table())
    if (option.used_by && !option.used_by(method) && is_given(option, options))
      throw UsageError(fmt::format("`{}` has no meaning with `method {}`{}; it is for {}", option.name,
                                   method.name, reason(option, method), users(option)));
}

std::string options_to_json(const FitOptions& options) {
  Json json = Json::object();
  for (const Option& option : option_table())
    if (option.decides_draws)
      with_value(option, options, [&](const auto& value) { json[option.name] = to_json(value); });
  return json.dump(2);
}

FitOptions options_from_json(const std::string& text, const std::string& file) {
  FitOptions options;
  try {
    const Json json = Json::parse(text);
    for (const Option& option : option_table()) {
      // Absent: an option that did not exist when the run was made. Data and formula always did.
      const bool required = option.group == Group::argument;
      if (!option.decides_draws || (!required && !json.contains(option.name))) continue;
      with_value(option, options, [&](auto& value) {
        value = from_json<std::remove_cvref_t<decltype(value)>>(json, option.name);
      });
    }
  } catch (const JsonError& e) {
    throw DataError(file, std::string("not the options of a run of mlo: ") + e.what());
  }
  return options;
}

std::string options_markdown() {
  std::string out =
      "# Options of a fit\n\n"
      "Made from the table of options in `src/method/option_table.cpp`; a test compares. On the command line "
      "an option is\n"
      "`--name value`, in a TOML file `name = value`, in `bench-methods` `method:name=value`, and in "
      "`run.json` `\"name\": "
      "value`.\n";
  constexpr std::array<std::pair<Group, std::string_view>, 3> groups{
      {{Group::model, "Model"}, {Group::method, "Method"}, {Group::run, "Run"}}};
  for (const auto& [group, title] : groups) {
    out += fmt::format("\n## {}\n\n| option | default | |\n|---|---|---|\n", title);
    for (const Option& option : option_table()) {
      if (option.group != group) continue;
      std::string help = option.help;
      for (std::size_t at = help.find('|'); at != std::string::npos; at = help.find('|', at + 2))
        help.insert(at, 1, '\\');
      out += fmt::format("| `{}` | {} | {}{} |\n", option.name, option.usual, help,
                         option.used_by ? fmt::format(". For {}", users(option)) : "");
    }
  }
  return out;
}

}  // namespace mlo
