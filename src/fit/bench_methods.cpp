// Copyright (c) the mlo authors. BSD-3-Clause.
#include "mlo/fit/bench_methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <thread>

#include "fit/data_source.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/poller.hpp"
#include "mlo/base/text.hpp"
#include "mlo/base/timer.hpp"
#include "mlo/data/formula.hpp"
#include "mlo/data/reader.hpp"
#include "mlo/fit/fit.hpp"
#include "mlo/method/option_table.hpp"
#include "mlo/method/plan.hpp"
#include "mlo/method/read_options.hpp"

namespace mlo {
namespace {

[[nodiscard]] bool set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(); }

// Ends a fit some time after it has begun to sample, or when the user wants it to.
class TimeLimit {
 public:
  TimeLimit(double seconds, const std::atomic<bool>* interrupt) {
    watcher_.interrupt = &stop_;
    watcher_.sampling = [this, seconds](const RunControl&, const ChainOptions&) {
      end_ = timer_.seconds() + seconds;
    };
    poller_.emplace(std::chrono::milliseconds(2), [this, interrupt] {
      if (timer_.seconds() >= end_ || set(interrupt)) stop_ = true;
    });
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  [[nodiscard]] const FitWatcher& watcher() const { return watcher_; }

 private:
  const Timer timer_;
  FitWatcher watcher_;
  std::atomic<bool> stop_{false};
  std::atomic<double> end_{std::numeric_limits<double>::infinity()};  // by timer_; known when sampling begins
  std::optional<Poller> poller_;                                      // the last member: it uses the others
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "mlo:subsample-size=5000" as options.
FitOptions options_of(const FitOptions& shared, const std::string& method) {
  FitOptions out = shared;
  std::size_t at = std::min(method.find(':'), method.size());
  out.method = method.substr(0, at);
  while (at < method.size()) {
    const std::size_t end = std::min(method.find(':', at + 1), method.size());
    const std::string setting = method.substr(at + 1, end - at - 1);
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("`methods {}`: \"{}\" must be OPTION=VALUE", method, setting));
    const std::string option = setting.substr(0, equals);
    // Options of the model, which decide the posterior, and those that figures are compared by are the same
    // for all methods.
    const Option* const row = find_option(option);
    if (row == nullptr)
      throw UsageError(fmt::format("`methods {}`: there is no option \"{}\"", method, option));
    if (!row->of_method)
      throw UsageError(
          fmt::format("`methods {}`: `{}` is the same for all methods of a comparison", method, option));
    set_option(out, option, setting.substr(equals + 1));
    at = end;
  }
  return out;
}

MethodResult run(const FitOptions& fit_options, const std::string& name, const Table& table, double seconds,
                 const std::atomic<bool>* interrupt) {
  MethodResult out;
  out.name = name;
  const TimeLimit limit(seconds, interrupt);
  try {
    const FitResult result = fit(fit_options, table, limit.watcher());
    const RunSummary& s = result.summary;
    out.promise = s.method.promise;
    out.setup_seconds = s.seconds.mode;
    out.sample_seconds = s.seconds.sample;
    out.rows_per_step = s.method.rows_per_step;
    out.acceptance = s.method.acceptance;
    out.noise_sd = s.method.noise_sd;
    out.parameters = s.parameters;
    out.rows = s.data.used;
    out.draws = s.draws * s.chains;
    if (s.draws < 4)
      out.failure = fmt::format("only {} draws per chain in {:g} s: too few to compare", s.draws, seconds);
  } catch (const Interrupted&) {
    out.failure = fmt::format(
        "no draws within {:g} s: warm-up alone, {} steps per chain, takes longer; try a larger `seconds` or a "
        "smaller `warmup`",
        seconds, fit_options.warmup.value_or(0));
  } catch (const UsageError& e) {
    out.failure = e.what();
  } catch (const ModelError& e) {
    out.failure = e.what();
  }
  return out;
}

void measure(const std::vector<ParameterSummary>& posterior, const FitOptions& fit_options,
             MethodResult& result) {
  compare_with(posterior, result);
  const double steps = static_cast<double>(result.draws) * static_cast<double>(fit_options.thin.value_or(1));
  const double rows = result.rows_per_step * steps;
  result.ess_per_second = result.ess / result.sample_seconds;
  result.ess_per_million_rows = rows > 0 ? 1e6 * result.ess / rows : std::numeric_limits<double>::infinity();
}

// The posterior, by `exact` if the model allows it, otherwise by `full`: a long run, with a seed of its own.
MethodResult reference(const BenchOptions& options, const Table& table, const std::atomic<bool>* interrupt,
                       Comparison& out) {
  FitOptions o = options.fit;
  o.seed = *o.seed + 1;
  o.draws = options.reference_draws;
  o.thin = 1;
  o.method = "exact";
  try {
    check(o);
  } catch (const UsageError&) {
    o.method = "full";
    check(o);
  }
  constexpr double longer = 10;  // than any of the methods
  MethodResult result = run(o, o.method, table, longer * options.seconds, interrupt);
  if (set(interrupt)) throw Interrupted("interrupted before there was anything to compare with");
  if (!result.failure.empty())
    throw ModelError(
        fmt::format("no posterior to compare with, by `method {}`: {}", o.method, result.failure));
  measure(result.parameters, o, result);
  out.reference = fmt::format("{}, {} draws, at least {} of them effective", o.method, grouped(result.draws),
                              plain_number(result.ess));
  return result;
}

}  // namespace

Comparison bench_methods(const BenchOptions& given, const Table& table, const BenchWatcher& watcher) {
  if (!(given.seconds > 0))
    throw UsageError(fmt::format("`seconds` must be positive (got {})", given.seconds));
  if (given.reference_draws < 100)
    throw UsageError(fmt::format("`reference-draws` must be at least 100 (got {})", given.reference_draws));
  BenchOptions options = given;
  if (!options.fit.seed) options.fit.seed = 1;  // so that a comparison can be repeated
  if (!options.fit.thin) options.fit.thin = 1;  // so that all methods' steps count alike
  if (options.methods.empty())
    for (const MethodSpec& spec : methods())
      if (spec.role != Role::automatic) options.methods.emplace_back(spec.name);
  // A misspelt method is an error, not a result; one that does not suit the model is a result.
  std::vector<FitOptions> each;
  for (std::string& method : options.methods) {
    method = trimmed(method);  // "exact, full"
    each.push_back(options_of(options.fit, method));
    if (find_method(each.back().method) == nullptr)
      throw UsageError(
          fmt::format("`methods` must be among {} (got \"{}\")", method_names(), each.back().method));
  }
  Comparison out;
  const auto number = [](std::int64_t n) { return grouped(static_cast<std::uint64_t>(n)); };
  out.notes.push_back(
      fmt::format("each method: {} chain{}, warm-up {}, then at most {} draws per chain or {:g} s of "
                  "sampling, {} thread{}",
                  options.fit.chains, options.fit.chains == 1 ? "" : "s",
                  number(options.fit.warmup.value_or(0)), number(options.fit.draws), options.seconds,
                  options.fit.threads == 0 ? std::max(1U, std::thread::hardware_concurrency())
                                           : static_cast<unsigned>(options.fit.threads),
                  options.fit.threads == 1 ? "" : "s"));
  out.notes.push_back(options.fit.formula);
  out.notes.push_back(fmt::format("seed {}", *options.fit.seed));
  const auto show = [&](const std::string& method, std::size_t index) {
    if (watcher.method) watcher.method(method, index, options.methods.size());
  };
  show("the posterior", 0);
  const MethodResult posterior = reference(options, table, watcher.interrupt, out);
  out.posterior = posterior.parameters;
  const std::string response = options.fit.formula.substr(
      0, options.fit.formula.find_last_not_of(" ~", options.fit.formula.find('~')) + 1);
  out.title =
      fmt::format("{} model of {}, {} rows, {} parameter{}", options.fit.family, response,
                  grouped(posterior.rows), out.posterior.size(), out.posterior.size() == 1 ? "" : "s");
  for (std::size_t k = 0; k < options.methods.size(); ++k) {
    if (set(watcher.interrupt)) break;
    show(options.methods[k], k + 1);
    MethodResult result = run(each[k], options.methods[k], table, options.seconds, watcher.interrupt);
    if (set(watcher.interrupt)) break;  // cut short: its figures would not be comparable
    if (result.failure.empty()) measure(out.posterior, each[k], result);
    out.methods.push_back(std::move(result));
  }
  out.interrupted = out.methods.size() < options.methods.size();
  return out;
}

Comparison bench_methods(const BenchOptions& options, Reader& reader, const BenchWatcher& watcher) {
  const std::vector<std::string> wanted =
      wanted_columns(options.fit, parse_formula(options.fit.formula, reader.header()), reader.header());
  const Table table = reader.read(wanted, [&](double) {
    if (set(watcher.interrupt)) throw Interrupted("interrupted while reading: nothing to keep");
  });
  return bench_methods(options, table, watcher);
}

Comparison bench_methods(const BenchOptions& options, const BenchWatcher& watcher) {
  const std::unique_ptr<Reader> reader = open_data(options.fit);
  return bench_methods(options, *reader, watcher);
}

}  // namespace mlo
