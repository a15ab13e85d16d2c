// Copyright (c) the mlo authors. BSD-3-Clause.
// The table of options: one row per option feeds the command line, TOML files, run.json, bench-methods, help,
// the docs' reference and, one day, other front ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "mlo/method/methods.hpp"
#include "mlo/method/options.hpp"

namespace mlo {

// What values an option takes. `words` say it; `holds` decides.
struct ValueRule {
  std::vector<std::string_view> one_of{};
  std::optional<double> least{}, most{};
  bool open = false;      // whether least and most themselves are excluded
  bool positive = false;  // and finite
  bool prior = false;     // the text of a prior
};

struct Option {
  enum class Group : std::uint8_t { argument, model, method, run };
  // The type of the value, for a front end.
  enum class Type : std::uint8_t { text, texts, integer, natural, real, flag, pairs };
  using Field =
      std::variant<std::string FitOptions::*, std::optional<std::string> FitOptions::*,
                   std::vector<std::string> FitOptions::*, std::int64_t FitOptions::*,
                   std::optional<std::int64_t> FitOptions::*, std::optional<std::uint64_t> FitOptions::*,
                   std::optional<double> FitOptions::*, bool FitOptions::*,
                   std::vector<std::pair<std::string, std::string>> FitOptions::*,
                   std::monostate>;  // a number of the family, FitOptions::numbers[name]

  std::string name;  // "subsample-size"
  Group group = Group::method;
  Field field;
  std::string help;     // one line or two; ends with "Default: ..." where the default is not a plain value
  std::string usual{};  // the default, where it is a plain value
  ValueRule rule{};
  // Which methods it is for; empty: all.
  std::function<bool(const MethodSpec&)> used_by{};
  bool decides_draws = true;  // part of run.json, from which a run is resumed
  bool of_method = false;     // may differ between the methods of a comparison (bench-methods)

  [[nodiscard]] Type type() const;
};

[[nodiscard]] std::span<const Option> option_table();
// Null if there is no option of that name.
[[nodiscard]] const Option* find_option(std::string_view name);

// Sets an option from text; one that may be given several times gets one more value. Throws UsageError: no
// such option, or not a value of its type.
void set_option(FitOptions& options, std::string_view name, const std::string& value);
// Whether it differs from the default.
[[nodiscard]] bool is_given(const Option& option, const FitOptions& options);

// Throws UsageError if a value breaks its rule, or the chosen method has no use for an option.
void check_values(const FitOptions& options);
void check_use(const FitOptions& options, const MethodSpec& method);

// JSON of the options that decide the draws (not threads, out or resume), and back. Throws DataError naming
// the file.
[[nodiscard]] std::string options_to_json(const FitOptions& options);
[[nodiscard]] FitOptions options_from_json(const std::string& json, const std::string& file);

// The reference of all options, as docs/options.md has it.
[[nodiscard]] std::string options_markdown();

}  // namespace mlo
