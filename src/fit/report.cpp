// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/report.hpp"

#include <fmt/format.h>

#include <utility>

#include "fit/data_source.hpp"
#include "mlo/base/json.hpp"
#include "mlo/base/special.hpp"
#include "mlo/base/text.hpp"
#include "mlo/method/option_table.hpp"

namespace mlo {
namespace {

std::string quoted_for_shell(const std::string& word) {
  constexpr std::string_view safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=+,-@%";
  if (!word.empty() && word.find_first_not_of(safe) == std::string::npos) return word;
  if (word.find_first_of("\"`$\\!") == std::string::npos) return fmt::format("\"{}\"", word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

std::string word_of(const Json& value) {
  return quoted_for_shell(value.is_string() ? value.get<std::string>() : value.dump());
}

// The value of an option as arguments.
std::string arguments_of(const Option& option, const Json& value) {
  const std::string flag = fmt::format(" --{}", option.name);
  switch (option.type()) {
    case Option::Type::flag:
      return flag;
    case Option::Type::texts: {
      std::string out;
      if (value.is_string()) return fmt::format("{} {}", flag, word_of(value));
      for (const Json& one : value.elements()) out += fmt::format("{} {}", flag, word_of(one));
      return out;
    }
    case Option::Type::pairs: {
      std::string out;
      for (const auto& [name, its] : value.get<std::vector<std::pair<std::string, std::string>>>())
        out += option.rule.prior
                   ? fmt::format("{} {} {}", flag, quoted_for_shell(name), quoted_for_shell(its))
                   : fmt::format("{} {}", flag, quoted_for_shell(fmt::format("{}={}", name, its)));
      return out;
    }
    case Option::Type::real:  // 3, where JSON has 3.0
      return fmt::format("{} {}", flag, value.get<double>());
    default:
      return fmt::format("{} {}", flag, word_of(value));
  }
}

RunFacts in_words(RunFacts facts, const Wording& wording) {
  if (wording) facts.no_check = wording(facts.no_check);
  return facts;
}

RunSummary in_words(RunSummary summary, const Wording& wording) {
  if (!wording) return summary;
  for (std::string& note : summary.notes)  // the note on priors has names of columns, not of options
    if (!note.starts_with("priors: ")) note = wording(note);
  for (std::string& warning : summary.warnings) warning = wording(warning);
  summary.noise.words = wording(summary.noise.words);
  summary.audit.warning = wording(summary.audit.warning);
  return summary;
}

struct Origin {
  std::string version, simd, fingerprint;
};

void fill_record(const FitOptions& options, const Origin& origin, ReportInput& input) {
  const RunSummary& s = input.summary;
  input.version = origin.version;
  input.command = command_of(options);
  if (!options.out.empty())
    input.predict_command = fmt::format("mlo predict {} new.csv", quoted_for_shell(options.out));
  const auto add = [&](const char* label, std::string text) {
    if (!text.empty()) input.record.emplace_back(label, std::move(text));
  };
  add("data", data_words(options));
  add("data fingerprint", origin.fingerprint);
  add("rows", s.data.rows == s.data.used
                  ? grouped(s.data.used)
                  : fmt::format("{} used of {}", grouped(s.data.used), grouped(s.data.rows)));
  add("formula", options.formula);
  add("family", options.family);
  add("method", s.method.name == options.method
                    ? s.method.name
                    : fmt::format("{} (chosen by {})", s.method.name, options.method));
  add("seed", options.seed ? fmt::format("{}", *options.seed) : "");
  add("chains", fmt::format("{} x {} draws after {} steps of warm-up", s.chains, grouped(s.draws),
                            grouped(static_cast<std::uint64_t>(options.warmup.value_or(0)))));
  add("run directory", options.out);
  add("version", origin.version.empty() ? "" : fmt::format("mlo {}", origin.version));
  add("instruction set", origin.simd);
}

}  // namespace

std::string command_of(const FitOptions& options) {
  const Json json = Json::parse(options_to_json(options));
  std::string out = "mlo fit";
  for (const std::string& data : options.data) out += fmt::format(" {}", quoted_for_shell(data));
  out += fmt::format(" {}", quoted_for_shell(options.formula));
  for (const Option& option : option_table())
    if (option.decides_draws && option.group != Option::Group::argument && is_given(option, options))
      out += arguments_of(option, json.at(option.name));
  return out;
}

ReportInput report_input(const FitResult& result, const Wording& wording) {
  ReportInput input{.summary = in_words(result.summary, wording),
                    .chains = result.chains,
                    .facts = in_words(result.facts, wording),
                    .effects = result.effects};
  fill_record(result.options,
              {.version = version(),
               .simd = simd_target(),
               .fingerprint = fmt::format("{:016x}", result.fingerprint)},
              input);
  return input;
}

ReportInput report_input(const KeptRun& run, const Wording& wording) {
  ReportInput input{.summary = in_words(run.summary, wording),
                    .chains = run.chains,
                    .facts = in_words(run.facts, wording),
                    .effects = run.effects};
  fill_record(run.options, {.version = run.version, .simd = run.simd, .fingerprint = run.fingerprint}, input);
  return input;
}

}  // namespace mlo
