// Copyright (c) the mlo authors. BSD-3-Clause.
// What the commands share.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace mlo {
struct Comparison;
struct FitOptions;
struct RunSummary;
}  // namespace mlo

namespace mlo::cli {

// Each adds one command to the program, which runs if the command line names it. The exit code is a
// reference, because an interrupted fit has both a result and an exit code of its own.
void add_demo(CLI::App& app, int& exit_code);
void add_fit(CLI::App& app, int& exit_code);
void add_summary(CLI::App& app);
void add_report(CLI::App& app);
void add_plot(CLI::App& app);
void add_predict(CLI::App& app);
void add_describe(CLI::App& app);
void add_methods(CLI::App& app);
void add_simulate(CLI::App& app);
void add_reproduce(CLI::App& app);
void add_bench_methods(CLI::App& app, int& exit_code);
void add_doctor(CLI::App& app);

// What is in the data, and what the formula makes of it, if there is one: mlo describe, mlo fit --dry-run.
void show_description(const FitOptions& options, bool json, bool quiet);

// Set by the first Ctrl-C; the second one ends the program at once.
[[nodiscard]] const std::atomic<bool>& interrupt_flag();
void catch_interrupts();

// Tells on_command_line() which command was called, so that it knows that command's options besides those of
// fit.
void speak_for(const CLI::App& command);
// Turns a message of the library, which names options by `name` or `name value`, into words for the command
// line.
[[nodiscard]] std::string on_command_line(std::string_view message);
[[nodiscard]] RunSummary on_command_line(RunSummary summary);
[[nodiscard]] Comparison on_command_line(Comparison comparison);

// "; did you mean --draws?" for an option that the command does not have, such as --darws or --darws=5; "" if
// none of its options is near.
[[nodiscard]] std::string option_instead(const CLI::App& command, std::string_view unknown);

// The commit that this program was built from, with "-dirty" if files had changed since; empty: not known.
[[nodiscard]] const char* commit();

// Writes results to stdout. A full disk or a closed pipe is an error, not silence.
void print(std::string_view text);

}  // namespace mlo::cli
