// Copyright (c) the mlo authors. BSD-3-Clause.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "cli/command.hpp"
#include "cli/config.hpp"
#include "mlo/base/errors.hpp"
#include "mlo/base/names.hpp"
#include "mlo/fit/fit.hpp"

namespace mlo::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

void on_interrupt(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& interrupt_flag() { return interrupted; }

void catch_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw DataError("standard output", "cannot be written: " + std::generic_category().message(errno));
}

}  // namespace mlo::cli

namespace {

constexpr const char* description =
    "mlo: Bayesian regression for tall data.\n"
    "\n"
    "  mlo demo                                     see it work\n"
    "  mlo describe data.csv                        what is in the data\n"
    "  mlo fit data.csv \"y ~ x1 + x2\" --family logistic --out run1\n"
    "  mlo summary run1                             the table again\n"
    "  mlo report run1                              the verdict and the pictures, for a browser\n"
    "  mlo plot run1 --kind density --out x.svg     one picture\n"
    "  mlo predict run1 new.csv                     predictions of other rows\n"
    "  mlo methods                                  what each method promises and costs\n"
    "  mlo reproduce --quick                        the paper's tables and figures\n"
    "  mlo bench-methods data.csv \"y ~ x1 + x2\"    methods side by side, against the posterior\n"
    "  mlo doctor                                   what this program is and what it finds here\n"
    "  mlo COMMAND --help                           all options of a command\n"
    "\n"
    "Results go to standard output, everything else to standard error.\n"
    "Exit codes: 0 success; 2 usage (options, formula); 3 data or files; 4 the model cannot be fitted;\n"
    "130 interrupted (what was drawn is kept).";

int report(const std::string& command, const std::string& message, mlo::ExitCode code) {
  fmt::print(stderr, "mlo{}{}: {}\n", command.empty() ? "" : " ", command, message);
  return static_cast<int>(code);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* c : app.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(c->get_name());
  return out;
}

// The parser's messages in our words, where its own are hard to understand.
std::string explain(const CLI::ParseError& e, const CLI::App& app) {
  std::string text = e.what();
  const auto after = [&](std::string_view prefix) { return text.substr(prefix.size()); };
  constexpr std::string_view unexpected = "The following argument was not expected: ";
  constexpr std::string_view several = "The following arguments were not expected: ";
  constexpr std::string_view convert = "Could not convert: ";
  if (text.rfind(unexpected, 0) == 0) {
    std::string words = "unknown option or extra argument: " + after(unexpected);
    for (const CLI::App* c : app.get_subcommands()) words += mlo::cli::option_instead(*c, after(unexpected));
    return words;
  }
  if (text.rfind(several, 0) == 0)  // the parser's own list is in reverse
    return fmt::format("unknown options or extra arguments: {}", fmt::join(app.remaining(true), " "));
  if (text.rfind(convert, 0) == 0) {  // "Could not convert: --coefficients = 1,a"
    const std::string rest = after(convert);
    const std::size_t equals = rest.find(" = ");
    if (equals == std::string::npos) return "not a number that this option takes: " + rest;
    return fmt::format("{} takes numbers (got \"{}\")", rest.substr(0, equals), rest.substr(equals + 3));
  }
  // "--draws: 1 required INT missing", "--prior-for: 2 required NAME PRIOR missing",
  // "--draws: At Most 1 required but received 2"
  if (const std::size_t colon = text.find(": "); colon != std::string::npos) {
    const std::string_view rest = std::string_view(text).substr(colon);
    constexpr std::string_view most = ": At Most 1 required but received ";
    if (rest.starts_with(": 1 required ") && rest.ends_with(" missing"))
      return text.substr(0, colon) + " needs a value";
    constexpr std::string_view two = ": 2 required ", missing = " missing";
    if (rest.starts_with(two) && rest.ends_with(missing))
      return fmt::format("{} needs two values: {}", text.substr(0, colon),
                         rest.substr(two.size(), rest.size() - two.size() - missing.size()));
    if (rest.starts_with(most))
      return fmt::format("{} takes one value (got {})", text.substr(0, colon), rest.substr(most.size()));
  }
  if (text == "A subcommand is required")
    return fmt::format("a command is required: {}", fmt::join(command_names(app), ", "));
  return text;
}

int run(int argc, char** argv) {
  using namespace mlo;
  int exit_code = 0;
  CLI::App app{description};
  app.name("mlo");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  cli::add_demo(app, exit_code);
  cli::add_fit(app, exit_code);
  cli::add_summary(app);
  cli::add_report(app);
  cli::add_plot(app);
  cli::add_predict(app);
  cli::add_describe(app);
  cli::add_methods(app);
  cli::add_simulate(app);
  cli::add_reproduce(app);
  cli::add_bench_methods(app, exit_code);
  cli::add_doctor(app);
  const std::string first = argc > 1 ? argv[1] : "";
  const bool known = !app.get_subcommands([&](const CLI::App* c) { return c->get_name() == first; }).empty();
  const auto command = [&] { return known ? first : std::string(); };
  cli::Config config;
  try {
    if (!known && !first.empty() && first[0] != '-')
      throw UsageError(fmt::format("unknown command \"{}\"; {}\nSee mlo --help.", first,
                                   names_instead(first, command_names(app))));
    if (known) cli::speak_for(*app.get_subcommand(first));
    std::vector<std::string> arguments{argv + 1, argv + argc};
    config = cli::read_config(arguments, *app.get_subcommand("fit"));
    if (!config.arguments.empty())
      arguments.insert(arguments.begin() + 1, config.arguments.begin(), config.arguments.end());
    std::reverse(arguments.begin(), arguments.end());  // the order that the parser expects
    app.parse(std::move(arguments));
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string hint = command().empty() ? "mlo --help" : "mlo " + command() + " --help";
    return report(command(), fmt::format("{}\nSee {}.", config.explain(explain(e, app)), hint),
                  ExitCode::usage);
  } catch (const UsageError& e) {
    return report(command(), config.explain(cli::on_command_line(e.what())), e.code());
  } catch (const Error& e) {
    return report(command(), cli::on_command_line(e.what()), e.code());
  } catch (const std::bad_alloc&) {
    return report(command(), "not enough memory", ExitCode::data);
  } catch (const std::exception& e) {
    return report(command(), fmt::format("internal error: {}", e.what()), ExitCode::model);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is a write error with a message, not a crash
  return run(argc, argv);
}
